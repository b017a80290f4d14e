//! The parts that all steps of an open share, and the first steps: check the options and the directories, take the
//! LOCK.

use std::path::Path;

use base::map::HashSet;
use base::{Error, Result};
use env::Env;
use env::fs::refuse_empty_path;
use env::logger::{Logger, NullLogger};
use format::names::ARCHIVE_DIR;

use super::follow::Before;
use super::request::{OpenRequest, Overrides};
use super::setup::{family_dirs, family_gaps, logger, make_dir};
use crate::components::{Components, FamilyDescriptor};
use crate::event::{Events, watched};
use crate::family::{Family, FamilySet};
use crate::files::{DbLock, Paths, refuse_foreign};
use crate::manifest::SharedTail;
use crate::options::{DbOptions, FamilyOptions, refuse, validate};
use crate::output::JobTools;
use crate::prepared::TwoPhase;
use crate::release_notifier::ReleaseNotifier;
use crate::source::TableCache;
use crate::sync::Arc;

/// The state of the MANIFEST that an open reads.
#[derive(Clone, Copy, PartialEq, Eq)]
pub(super) enum ManifestState {
    /// The newest state.
    Newest,
    /// The newest state, which names SST files that are missing or damaged.
    LacksTables,
    /// The newest state whose SST files all open.
    NewestComplete,
}

/// A database that is being opened.
pub struct Opening {
    pub(super) read_only: bool,
    pub(super) overrides: Overrides,
    pub(super) options: DbOptions,
    pub(super) paths: Arc<Paths>,
    pub(super) descriptors: Vec<FamilyDescriptor>,
    /// The number of descriptors from the caller. The column families that only the MANIFEST names follow.
    pub(super) named: usize,
    pub(super) others: Option<FamilyOptions>,
    pub(super) components: Components,
    pub(super) env: Env,
    pub(super) events: Arc<Events>,
    pub(super) lock: Option<DbLock>,
    /// The open files and column families of an earlier read-only open.
    pub(super) before: Option<Before>,
    /// The column families of `before` that the caller names, and that the writer dropped.
    pub(super) kept: Vec<Arc<Family>>,
    /// The tail of the MANIFEST, if the reader follows a writer.
    pub(super) manifest_tail: Option<SharedTail>,
    pub(super) state: ManifestState,
    /// True if this open created the database.
    pub(super) is_new: bool,
}

impl Opening {
    /// Checks the options and the directories, takes the LOCK, and opens the info log.
    ///
    /// # Errors
    /// InvalidArgument and NotSupported for options; `IoError` if another process has the LOCK.
    pub fn new(request: OpenRequest, read_only: bool, overrides: Overrides) -> Result<Self> {
        let OpenRequest { path, mut options, mut components, mut families, others } = request;
        refuse_empty_path(&path)?;
        if families.is_empty() {
            families.push(FamilyDescriptor::new("default", FamilyOptions::default()));
        }
        if !families.iter().any(|f| f.name == "default") {
            return Err(Error::invalid_argument("Default column family not specified"));
        }
        if read_only {
            options.validate()?;
        } else {
            validate(&options, families.iter().map(|family| (family.name.as_str(), &family.options)))?;
        }
        refuse(&if read_only { options.unsupported_for_reading() } else { options.unsupported() })?;
        for family in &families {
            if read_only {
                family.options.validate_without_cache(&family.name, &options)?;
            }
            refuse(&family_gaps(&family.name, &family.options, read_only))?;
        }
        if options.memory_budget_bytes > 0 && options.memory_budget.is_none() {
            components.block_cache = Some(options.make_memory_budget(options.memory_budget_bytes)?);
        }
        let arenas = options.memory_budget.as_ref().and_then(|budget| budget.arenas_max());
        if let Some(arenas) = arenas.filter(|_| options.env.executor.has_threads()) {
            env::posix::limit_arenas(arenas);
        }
        // The same column family may be named twice, as in RocksDB. The first descriptor counts.
        let mut names = HashSet::default();
        families.retain(|family| names.insert(family.name.clone()));
        let mut mended = Vec::new();
        options.sanitize(&path, &mut mended);
        let paths = Arc::new(Paths::new(&path, &options));
        let mut env = options.env.clone();
        env.fs = watched(env.fs, env.clock.clone(), &components.listeners);
        let logger: Arc<dyn Logger> = Arc::new(NullLogger);
        let events = Events::new(logger, env.clock.clone(), Vec::new());
        let (named, descriptors) = (families.len(), families);
        let mut opening = Opening {
            read_only,
            overrides,
            options,
            paths,
            descriptors,
            named,
            others,
            components,
            env,
            events,
            lock: None,
            before: None,
            kept: Vec::new(),
            manifest_tail: None,
            state: ManifestState::Newest,
            is_new: false,
        };
        opening.check_existence(&path)?;
        opening.prepare(&mended)?;
        Ok(opening)
    }

    /// Takes over the open files of a read-only open of the same database.
    #[must_use]
    pub fn after(mut self, before: Option<Before>) -> Self {
        self.before = before;
        self
    }

    /// Continues the read of the MANIFEST at this tail, and leaves the new tail there.
    #[must_use]
    pub fn following(mut self, manifest_tail: SharedTail) -> Self {
        self.manifest_tail = Some(manifest_tail);
        self
    }

    /// Checks the options `create_if_missing` and `error_if_exists`. A read-only open needs an existing database.
    fn check_existence(&self, path: &Path) -> Result<()> {
        let current = self.paths.current();
        // A directory that does not exist has no MANIFEST.
        let exists = match self.exists() {
            Err(error) if error.is_not_found() => false,
            exists => exists?,
        };
        if !exists && self.read_only {
            self.env.fs.open_sequential(&current)?;
        }
        if !exists && !self.options.create_if_missing {
            return Err(Error::invalid_argument(format!(
                "{}: does not exist (create_if_missing is false)",
                current.display()
            )));
        }
        if exists && self.options.error_if_exists && !self.read_only && !self.overrides.exists {
            return Err(Error::invalid_argument(format!(
                "{}: exists (error_if_exists is true)",
                path.display()
            )));
        }
        Ok(())
    }

    /// Checks and creates the directories, takes the LOCK, and opens the info log.
    fn prepare(&mut self, mended: &[String]) -> Result<()> {
        refuse_foreign(&*self.env.fs, &self.paths, &family_dirs(&self.descriptors))?;
        if !self.read_only {
            for dir in self.paths.all_with(&family_dirs(&self.descriptors)) {
                make_dir(&self.env, dir)?;
            }
            self.lock = Some(DbLock::take(&*self.env.fs, &self.paths.db)?);
            if self.options.WAL_ttl_seconds > 0 || self.options.WAL_size_limit_MB > 0 {
                self.env.fs.create_dir_all(&self.paths.wal.join(ARCHIVE_DIR))?;
            }
        }
        let logger = logger(&self.options, &self.paths, self.read_only)?;
        self.events = Events::new(logger, self.env.clock.clone(), self.components.listeners.clone());
        mended.iter().for_each(|line| self.events.warn(format_args!("{line}")));
        Ok(())
    }
}

/// The parts that every open database has, also a read-only database.
pub(super) struct Shared {
    pub(super) tools: Arc<JobTools>,
    pub(super) families: Arc<FamilySet>,
    pub(super) tables: Arc<TableCache>,
    pub(super) release_notifier: Arc<ReleaseNotifier>,
}

impl Shared {
    /// Returns whether the database takes prepared transactions.
    pub(super) fn two_phase(&self) -> TwoPhase {
        two_phase(&self.tools.options.load())
    }
}

/// Returns whether a database with these options takes prepared transactions.
pub(super) fn two_phase(options: &DbOptions) -> TwoPhase {
    if options.allow_2pc { TwoPhase::Allowed } else { TwoPhase::Refused }
}
