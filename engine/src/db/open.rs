//! Opening: check, lock, recover, and only then change anything on disk.

use std::path::{Path, PathBuf};

use base::ids::JobId;
use base::{Error, FamilyId, FileNumber, Kind, Result};
use env::Env;
use env::logger::{Logger, NullLogger};
use env::posix::Tenant;
use format::names::{self, FileName};
use format::proof::Proof;

use super::begin::WritingParts;
use super::beside::TRIES_MAX;
use super::families::family_dirs;
use super::proved::Found;
use super::session::{host_id, new_session_id};
use super::setup::{
    Caches, family_gaps, log_family, logger, make_dir, manifest_settings, replay_memory_max, request_of,
    tables_max, write_options_file,
};
use super::stats_family::add_stats_family;
use super::{Db, Inner};
use crate::commit::Committer;
use crate::components::{Components, FamilyDescriptor};
use crate::errors::ErrorState;
use crate::event::{Event, Events, watched};
use crate::family::{Family, FamilySet};
use crate::files::{DbLock, Numbers, Obsolete, Paths, check_largest, refuse_foreign, sweep};
use crate::manifest::{Manifest, Recovered, write_identity};
use crate::options::{DbOptions, FamilyOptions, MemtableFactory, WalRecoveryMode, refuse};
use crate::output::{FlushPriority, JobTools};
use crate::prepared::TwoPhase;
use crate::read::Reads;
use crate::recovery::{
    Replay, ReplaySettings, Replayed, build_families, create_database, new_db_id, tell_lost, undecided,
};
use crate::release_notifier::ReleaseNotifier;
use crate::sequence::{LastSequence, Snapshots};
use crate::source::{TableCache, TableCacheSettings};
use crate::stats::Stats;
use crate::sync::{Arc, ArcSwap, AtomicBool, AtomicU64, Flag, Mutex, OnceLock};
use crate::wal::{WalSet, WalSettings};

/// A database to open.
pub struct OpenRequest {
    pub path: PathBuf,
    pub options: DbOptions,
    pub components: Components,
    /// Must name every family that exists, unless opened for reading only. Without one, the default
    /// family with default options.
    pub families: Vec<FamilyDescriptor>,
    /// What families that exist and are not named are opened with; `None`: all must be named.
    pub others: Option<FamilyOptions>,
}

impl OpenRequest {
    /// The default family alone.
    pub fn new(path: impl Into<PathBuf>, options: DbOptions, family: FamilyOptions) -> Self {
        let families = vec![FamilyDescriptor::new("default", family)];
        OpenRequest { path: path.into(), options, components: Components::default(), families, others: None }
    }
}

impl Db {
    /// Opens a database for reading and writing.
    ///
    /// # Errors
    /// InvalidArgument if it does not exist (or exists, with `error_if_exists`), for families not named
    /// or not there, or another comparator; `IoError` if it is open elsewhere; Corruption with file and
    /// offset; NotSupported naming a feature that is missing.
    pub fn open(request: OpenRequest) -> Result<Db> {
        Opening::new(request, false, Overrides::default())?.open()
    }

    /// Opens a database for reading only: nothing on disk changes, no lock is taken, logs are replayed
    /// into memory.
    ///
    /// # Errors
    /// As [`Db::open`], but `IoError` if it does not exist.
    pub fn open_read_only(request: OpenRequest) -> Result<Db> {
        Opening::new(request, true, Overrides::default())?.open()
    }
}

/// What an opening does otherwise than its options say. The options stay the caller's, and so does the OPTIONS file.
#[derive(Clone, Copy, Debug, Default)]
pub(super) struct Overrides {
    /// The database exists, whatever `error_if_exists` says.
    pub exists: bool,
    /// Recovery replays the WALs by this mode and flushes their entries. So no WAL stays at which the mode
    /// of the options would stop later.
    pub mode: Option<WalRecoveryMode>,
}

pub(super) struct Opening {
    pub(super) read_only: bool,
    pub(super) overrides: Overrides,
    pub(super) options: DbOptions,
    pub(super) paths: Arc<Paths>,
    pub(super) descriptors: Vec<FamilyDescriptor>,
    /// How many of them the caller named; behind those are the ones that a MANIFEST has.
    named: usize,
    pub(super) others: Option<FamilyOptions>,
    components: Components,
    pub(super) env: Env,
    pub(super) events: Arc<Events>,
    lock: Option<DbLock>,
}

impl Opening {
    pub(super) fn new(request: OpenRequest, read_only: bool, overrides: Overrides) -> Result<Self> {
        let OpenRequest { path, mut options, components, mut families, mut others } = request;
        if families.is_empty() {
            families.push(FamilyDescriptor::new("default", FamilyOptions::default()));
        }
        if !families.iter().any(|f| f.name == "default") {
            return Err(Error::invalid_argument("Default column family not specified"));
        }
        options.validate()?;
        refuse(&if read_only { options.unsupported_for_reading() } else { options.unsupported() })?;
        for options in families.iter_mut().map(|f| &mut f.options).chain(&mut others) {
            if read_only && matches!(options.memtable_factory, MemtableFactory::Other { .. }) {
                // Logs are replayed into whatever there is.
                options.memtable_factory = MemtableFactory::default();
            }
        }
        for family in &families {
            family.options.validate(&family.name, &options)?;
            refuse(&family_gaps(&family.name, &family.options, read_only))?;
        }
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
        };
        opening.check_existence(&path)?;
        opening.prepare(&mended)?;
        Ok(opening)
    }

    /// Whether what is asked for fits what is there.
    fn check_existence(&self, path: &Path) -> Result<()> {
        let current = self.paths.current();
        // A directory that is not there yet has no MANIFEST.
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
        }
        let logger = logger(&self.options, &self.paths, self.read_only)?;
        self.events = Events::new(logger, self.env.clock.clone(), self.components.listeners.clone());
        mended.iter().for_each(|line| self.events.warn(format_args!("{line}")));
        Ok(())
    }

    pub(super) fn open(mut self) -> Result<Db> {
        self.header();
        let mut outcome = self.recover_all();
        for _ in 1..TRIES_MAX {
            match &outcome {
                Err(error) if self.read_only && error.kind() == Kind::TryAgain => {
                    outcome = self.recover_all()
                }
                _ => break,
            }
        }
        if let Err(error) = &outcome {
            self.events.error(format_args!("Opening failed: {error}"));
            self.events.logger().flush();
        }
        crate::output::forget_spares(&self.env);
        outcome
    }

    fn header(&self) {
        self.events.header(format_args!(
            "Ironstone {}, compatible with RocksDB version: 11.8.1",
            env!("CARGO_PKG_VERSION")
        ));
        self.events.header(format_args!("DB SUMMARY"));
        self.events.header(format_args!("Path: {}", self.paths.db.display()));
        self.events.headers(|| self.options.log_lines());
        let families = self.descriptors.iter().map(|f| (f.name.as_str(), &f.options));
        let hints = crate::options::changed_hints(&self.options, families);
        if !hints.is_empty() {
            self.events.header(format_args!("Options without effect: {}", hints.join(", ")));
        }
    }

    fn recover_all(&mut self) -> Result<Db> {
        // Of an attempt before, that a writer has overtaken.
        self.descriptors.truncate(self.named);
        let db_id = self.identity()?;
        let Found { mut recovered, proof, lost } = self.read_manifest(&db_id)?;
        let db_id = recovered.db_id.clone().unwrap_or(db_id);
        add_stats_family(&mut self.descriptors, &recovered);
        self.name_others(&recovered)?;
        let caches = Caches::new(&self.components);
        let requested = self
            .descriptors
            .iter()
            .map(|d| request_of(d, &self.options, &self.paths.db, &caches, &self.events, self.read_only))
            .collect::<Result<Vec<_>>>()?;
        requested.iter().enumerate().for_each(|(at, request)| log_family(&self.events, request, at));
        let release_notifier = Arc::new(ReleaseNotifier::default());
        let (families, missing) = build_families(&recovered, &requested, &release_notifier, !self.read_only)?;
        if !missing.is_empty() && (self.read_only || !self.options.create_missing_column_families) {
            let names: Vec<_> = missing.iter().map(|i| requested[*i].name.as_str()).collect();
            return Err(Error::invalid_argument(format!("Column family not found: {}", names.join(", "))));
        }
        let shared = self.shared(&recovered, families, db_id, release_notifier)?;
        if let Some((error, bytes)) = lost {
            tell_lost(&shared.tools, error, bytes);
        }
        let logs = self.logs_to_replay(&recovered, &shared);
        let oldest = min_wal(&recovered, &shared);
        if self.needs_newer_than(&recovered, oldest) {
            return Err(Error::try_again("a writer made logs obsolete before they were read"));
        }
        let logs = logs?;
        self.check_prepared(&recovered, &shared)?;
        let job = shared.tools.take_job_id();
        let replayed = self.replay(&recovered, &shared, &logs, proof.unwrap_or_default(), job);
        let overtaken = match &replayed {
            // What is missing of a log that is still needed is not written yet.
            Ok(replayed) => {
                replayed.in_doubt.is_some_and(|log| self.needs_newer_than(&recovered, log.max(oldest)))
            }
            Err(_) => self.is_overtaken(&recovered),
        };
        if overtaken {
            return Err(Error::try_again("a writer made logs obsolete while they were read"));
        }
        let replayed = replayed?;
        if let Some((error, bytes)) = self.told_by_logs(&mut recovered, &replayed)? {
            tell_lost(&shared.tools, error, bytes);
        }
        let last_seq = recovered.last_sequence.max(replayed.last_seq).max(largest_seq(&shared.families));
        shared.tools.sequence.publish(last_seq);
        if !self.options.open_files_async {
            self.load_tables(&recovered, &shared)?;
        }
        let db = if self.read_only {
            self.assemble(shared, None, caches)
        } else {
            self.begin_writing(shared, recovered, replayed, &logs, caches, job)?
        };
        for index in missing {
            db.add_family(&self.descriptors[index])?;
        }
        db.keep_history()?;
        if !self.read_only {
            write_options_file(&db.inner.tools, &db.inner.families)?;
        }
        self.events.info(format_args!("DB pointer {:p}", Arc::as_ptr(&db.inner)));
        Ok(db)
    }

    /// Families that exist and were not named, in the order of their ids.
    fn name_others(&mut self, recovered: &Recovered) -> Result<()> {
        let Some(options) = self.others.clone() else { return Ok(()) };
        let is_named = |name: &str| self.descriptors.iter().any(|d| d.name == name);
        let unnamed = recovered.families.values().filter(|f| !is_named(&f.name));
        let unnamed: Vec<_> = unnamed.map(|f| FamilyDescriptor::new(&f.name, options.clone())).collect();
        refuse_foreign(&*self.env.fs, &self.paths, &family_dirs(&unnamed))?;
        if !self.read_only {
            for dir in family_dirs(&unnamed) {
                make_dir(&self.env, &dir)?;
            }
        }
        self.descriptors.extend(unnamed);
        Ok(())
    }

    /// The id that IDENTITY holds. A database that does not exist is made here.
    fn identity(&self) -> Result<String> {
        let path = self.paths.db.join(names::IDENTITY);
        let known = match self.env.fs.read_all(&path, 4096) {
            Ok(content) => Some(names::parse_identity(&content).map_err(|e| e.file(&path))?),
            Err(error) if error.is_not_found() => None,
            Err(error) => return Err(error),
        };
        let id = known.clone().filter(|id| !id.is_empty()).unwrap_or_else(|| new_db_id(&self.env));
        if self.read_only {
            return Ok(id);
        }
        if !self.exists()? {
            create_database(
                &self.env,
                &self.paths,
                self.options.write_dbid_to_manifest.then_some(id.as_str()),
            )?;
        }
        if known.as_deref() != Some(id.as_str()) && self.options.write_identity_file {
            write_identity(&self.env, &self.paths.db, &id)?;
        }
        Ok(id)
    }

    fn shared(
        &self,
        recovered: &Recovered,
        families: Vec<Arc<Family>>,
        db_id: String,
        release_notifier: Arc<ReleaseNotifier>,
    ) -> Result<Shared> {
        let found = sweep(&*self.env.fs, &self.paths, &family_dirs(&self.descriptors), None)?;
        check_largest(found.largest_number, recovered.next_file_number)
            .map_err(|e| e.doing("opening the database").file(&self.paths.db))?;
        let known = [recovered.next_file_number, found.largest_number, recovered.number.0];
        let next = known.into_iter().fold(0, u64::max) + 1;
        let session: Arc<str> = Arc::from(new_session_id(&self.env));
        let stats = Stats::new(self.options.statistics.clone(), self.env.clock.clone());
        let tools = Arc::new(JobTools {
            env: self.env.clone(),
            paths: self.paths.clone(),
            numbers: Numbers::new(next),
            options: ArcSwap::from_pointee(self.options.clone()),
            db_id,
            db_session_id: session.to_string(),
            db_host_id: host_id(&self.env, &self.options.db_host_id),
            sequence: Arc::new(LastSequence::new(recovered.last_sequence)),
            snapshots: Arc::new(Snapshots::default()),
            events: self.events.clone(),
            shutting_down: Arc::new(Flag::new(false)),
            next_job: AtomicU64::new(1),
            stats: stats.clone(),
            flush_priority: Arc::new(FlushPriority::new(self.env.executor.processors())),
            options_file: Mutex::default(),
        });
        let settings = TableCacheSettings {
            tables_max: tables_max(self.options.max_open_files),
            direct_reads: self.options.use_direct_reads,
            advise_random: self.options.advise_random_on_open,
            verify_unique_id: self.options.verify_sst_unique_id_in_manifest,
            db_id: Arc::from(tools.db_id.as_str()),
            db_session_id: session,
            rate_limiter: self.options.rate_limiter.clone(),
            stats,
        };
        let families = Arc::new(FamilySet::new(families, recovered.max_family));
        Ok(Shared { tools, families, tables: TableCache::new(self.env.clone(), settings), release_notifier })
    }

    /// Logs that may hold data not in tables, ascending.
    fn logs_to_replay(&self, recovered: &Recovered, shared: &Shared) -> Result<Vec<FileNumber>> {
        if self.options.best_efforts_recovery {
            self.pass_logs(&shared.families, &shared.tools.numbers)?;
            return Ok(Vec::new());
        }
        let min = min_wal(recovered, shared);
        let mut logs: Vec<_> = self
            .env
            .fs
            .list(&self.paths.wal)?
            .iter()
            .filter_map(|name| match FileName::parse(name) {
                Some(FileName::Wal(n)) if n.0 >= min || n.0 == recovered.prev_log_number => Some(n),
                _ => None,
            })
            .collect();
        logs.sort_unstable();
        for log in &logs {
            shared.tools.numbers.mark_used(log.0);
        }
        if self.options.track_and_verify_wals_in_manifest {
            for (number, synced) in recovered.wals.range(min..) {
                let path = self.paths.wal(FileNumber(*number));
                let size = self.env.fs.file_size(&path).map_err(|_| {
                    Error::corruption(format!("Missing WAL with log number: {number}")).file(&path)
                })?;
                if synced.is_some_and(|synced| size < synced) {
                    return Err(Error::corruption(format!(
                        "Size mismatch: WAL (log number: {number}) in MANIFEST is {} bytes, while actual size is {size} bytes",
                        synced.unwrap_or(0)
                    ))
                    .file(&path));
                }
            }
        }
        Ok(logs)
    }

    /// Checks that an open without `allow_2pc` deletes no WAL that only a prepared transaction needs. RocksDB deletes it.
    ///
    /// # Errors
    /// NotSupported, naming the transactions.
    fn check_prepared(&self, recovered: &Recovered, shared: &Shared) -> Result<()> {
        if self.read_only || shared.two_phase() == TwoPhase::Allowed {
            return Ok(());
        }
        let (from, to) = (recovered.min_log_number_to_keep, min_wal(recovered, shared));
        let mut wals: Vec<FileNumber> = self
            .env
            .fs
            .list(&self.paths.wal)?
            .iter()
            .filter_map(|name| match FileName::parse(name) {
                Some(FileName::Wal(number)) if number.0 >= from => Some(number),
                _ => None,
            })
            .collect();
        wals.sort_unstable();
        if wals.first().is_none_or(|first| first.0 >= to) {
            return Ok(());
        }
        let names = undecided(&self.env, &self.paths, &wals)?;
        if names.is_empty() {
            return Ok(());
        }
        let names: Vec<_> = names.iter().map(|name| String::from_utf8_lossy(name)).collect();
        Err(Error::not_supported(format!(
            "WAL contains prepared transactions. Open with TransactionDB::Open(). Prepared: {}",
            names.join(", ")
        )))
    }

    fn replay(
        &self,
        recovered: &Recovered,
        shared: &Shared,
        logs: &[FileNumber],
        proof: Proof,
        job: JobId,
    ) -> Result<Replayed> {
        let settings = ReplaySettings {
            mode: self.overrides.mode.unwrap_or(self.options.wal_recovery_mode),
            paranoid_checks: self.options.paranoid_checks,
            verify_predecessors: self.options.track_and_verify_wals,
            may_flush: !self.read_only,
            memory_max: replay_memory_max(&self.options),
            last_seq: recovered.last_sequence,
            min_wal: min_wal(recovered, shared),
            manifest: recovered.number,
            max_family: (recovered.end_in_doubt && !self.read_only).then_some(FamilyId(recovered.max_family)),
            proved: proof.wals,
            proved_closed: proof.closed,
            accept_lost: self.options.open_despite_lost_writes,
            two_phase: shared.two_phase(),
        };
        let replay = Replay::new(&shared.tools, &shared.families, settings, job);
        if logs.is_empty() {
            return replay.run(logs);
        }
        self.events.emit(&Event::RecoveryStarted { job, wal_files: logs.iter().map(|n| n.0).collect() });
        let replayed = replay.run(logs);
        self.events.emit(&Event::RecoveryFinished { job, error: replayed.as_ref().err().cloned() });
        replayed
    }

    /// Opens SST files now, so that missing or damaged files are known. Opens every file, or only some
    /// files if `max_open_files` sets a limit.
    fn load_tables(&self, recovered: &Recovered, shared: &Shared) -> Result<()> {
        const SOME: usize = 16;
        let limit = if self.options.max_open_files == -1 { usize::MAX } else { SOME };
        for family in shared.families.all() {
            let pin = family.pin_owned();
            for (level, file) in pin.version.files().take(limit) {
                if let Err(error) = shared.tables.get_at_open(&pin.parts, level, file) {
                    if error.is_not_found() && self.is_compacted_away(recovered, file.number) {
                        return Err(Error::try_again(
                            "a writer made tables obsolete before they were opened",
                        ));
                    }
                    if self.options.paranoid_checks {
                        return Err(error);
                    }
                    self.events.warn(format_args!("{error}"));
                }
            }
        }
        Ok(())
    }

    pub(super) fn reads(&self, shared: &Shared, unlogged: Arc<AtomicBool>) -> Reads {
        Reads {
            tables: shared.tables.clone(),
            sequence: shared.tools.sequence.clone(),
            clock: self.env.clock.clone(),
            unlogged,
            stats: shared.tools.stats.clone(),
        }
    }

    pub(super) fn assemble(&mut self, shared: Shared, parts: Option<WritingParts>, caches: Caches) -> Db {
        let reads = parts.as_ref().map_or_else(|| self.reads(&shared, Arc::default()), |p| p.reads.clone());
        let Shared { tools, families, tables, release_notifier } = shared;
        let (writing, logs, committer, obsolete, errors) = match parts {
            Some(p) => (Some(p.writing), p.logs, p.committer, p.obsolete, p.errors),
            None => {
                let settings = manifest_settings(&self.options, &self.paths);
                let manifest = Manifest::new(self.env.clone(), settings, FileNumber(0));
                let obsolete = Arc::new(Obsolete::new(release_notifier.clone()));
                let committer = Committer::new(
                    manifest,
                    tools.numbers.clone(),
                    families.clone(),
                    tools.sequence.clone(),
                    obsolete.clone(),
                    None,
                    0,
                );
                let wal = WalSettings::plain(self.paths.wal.clone());
                let logs = Arc::new(WalSet::new(self.env.clone(), wal));
                (
                    None,
                    logs,
                    Arc::new(committer),
                    obsolete,
                    Arc::new(ErrorState::new(self.options.paranoid_checks)),
                )
            }
        };
        let executor = &self.env.executor;
        let tenant =
            executor.has_threads().then(|| Tenant::enter(executor.clone(), mem::arena::forget_spares));
        Db {
            inner: Arc::new(Inner {
                tools,
                families,
                logs,
                committer,
                tables,
                obsolete,
                errors,
                release_notifier,
                reads,
                writing,
                caches,
                close: Default::default(),
                changes: Mutex::new(()),
                lock: Mutex::new(self.lock.take()),
                history: Default::default(),
                guard: OnceLock::new(),
                tenant,
            }),
        }
    }
}

/// What every opened database has, whether it is written to or not.
pub(super) struct Shared {
    pub(super) tools: Arc<JobTools>,
    pub(super) families: Arc<FamilySet>,
    pub(super) tables: Arc<TableCache>,
    pub(super) release_notifier: Arc<ReleaseNotifier>,
}

impl Shared {
    /// Whether the database takes prepared transactions.
    pub(super) fn two_phase(&self) -> TwoPhase {
        two_phase(&self.tools.options.load())
    }
}

/// Whether a database with these options takes prepared transactions.
pub(super) fn two_phase(options: &DbOptions) -> TwoPhase {
    if options.allow_2pc { TwoPhase::Allowed } else { TwoPhase::Refused }
}

/// Logs below it are not needed and may be missing.
fn min_wal(recovered: &Recovered, shared: &Shared) -> u64 {
    if shared.two_phase() == TwoPhase::Allowed {
        return recovered.min_log_number_to_keep;
    }
    let by_families = shared.families.all().iter().map(|f| f.state().wal_number).min().unwrap_or(0);
    recovered.min_log_number_to_keep.max(by_families)
}

fn largest_seq(families: &FamilySet) -> u64 {
    let of_family =
        |f: &Arc<Family>| f.pin().version.files().map(|(_, file)| file.largest_seq).max().unwrap_or(0);
    families.all().iter().map(of_family).max().unwrap_or(0)
}
