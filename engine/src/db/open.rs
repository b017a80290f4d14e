//! Opening: check, lock, recover, and only then change anything on disk.

use std::path::{Path, PathBuf};

use base::ids::JobId;
use base::{Error, FamilyId, FileNumber, Result};
use env::Env;
use env::logger::{FileLogger, LogFileOptions, Logger, NullLogger};
use format::names::{self, FileName};
use format::proof::Proof;
use lsm::version::Edit;
use mem::cache::{Cache, CacheOptions};
use mem::write_buffer::WriteBufferManager;
use table::sst::BlockCache;

use super::proved::Found;
use super::session::{host_id, new_session_id};
use super::families::family_dirs;
use super::stats_family::add_stats_family;
use super::{Db, Inner, Writing};
use crate::background::{Background, BackgroundParts};
use crate::bell::Bell;
use crate::commit::{Change, Committer};
use crate::components::{Components, FamilyDescriptor};
use crate::errors::ErrorState;
use crate::event::{Event, Events};
use crate::family::{Family, FamilySet, FlushPick, Parts, Sealed};
use crate::files::{DbLock, Live, Numbers, Obsolete, Paths, Recycle, purge_lost, sweep};
use crate::manifest::{Manifest, ManifestSettings, Recovered, write_identity};
use crate::options::{CompressionType, DbOptions, FamilyOptions, MemtableFactory, TableFactory, file, refuse};
use crate::output::{JobTools, OutputFile};
use crate::read::Reads;
use crate::recovery::{
    Replay, ReplaySettings, Replayed, RequestedFamily, build_families, create_database, flush_family, new_db_id, tell_lost,
};
use crate::sequence::{LastSequence, Snapshots};
use crate::source::{TableCache, TableCacheSettings};
use crate::stats::Stats;
use crate::sync::{Arc, ArcSwap, AtomicBool, AtomicU64, Flag, Mutex};
use crate::wal::{LiveLogs, WalSettings};
use crate::write::stall::Controller;
use crate::write::{WriteSettings, Writer, WriterParts, wal_bytes_max};

/// A database to open.
pub struct OpenRequest {
    pub path: PathBuf,
    pub options: DbOptions,
    pub components: Components,
    /// Must name every family that exists, unless opened for reading only. Without one, the default
    /// family with default options.
    pub families: Vec<FamilyDescriptor>,
}

impl OpenRequest {
    /// The default family alone.
    pub fn new(path: impl Into<PathBuf>, options: DbOptions, family: FamilyOptions) -> Self {
        let families = vec![FamilyDescriptor::new("default", family)];
        OpenRequest { path: path.into(), options, components: Components::default(), families }
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
        Opening::new(request, false)?.open()
    }

    /// Opens a database for reading only: nothing on disk changes, no lock is taken, logs are replayed
    /// into memory.
    ///
    /// # Errors
    /// As [`Db::open`], but `IoError` if it does not exist.
    pub fn open_read_only(request: OpenRequest) -> Result<Db> {
        Opening::new(request, true)?.open()
    }
}

pub(super) struct Opening {
    read_only: bool,
    pub(super) options: DbOptions,
    pub(super) paths: Arc<Paths>,
    pub(super) descriptors: Vec<FamilyDescriptor>,
    components: Components,
    pub(super) env: Env,
    pub(super) events: Arc<Events>,
    lock: Option<DbLock>,
}

impl Opening {
    fn new(request: OpenRequest, read_only: bool) -> Result<Self> {
        let OpenRequest { path, mut options, components, mut families } = request;
        if families.is_empty() {
            families.push(FamilyDescriptor::new("default", FamilyOptions::default()));
        }
        if !families.iter().any(|f| f.name == "default") {
            return Err(Error::invalid_argument("Default column family not specified"));
        }
        options.validate()?;
        refuse(&if read_only { options.unsupported_for_reading() } else { options.unsupported() })?;
        for family in &mut families {
            if read_only && matches!(family.options.memtable_factory, MemtableFactory::Other { .. }) {
                // Logs are replayed into whatever there is.
                family.options.memtable_factory = MemtableFactory::default();
            }
            family.options.validate(&family.name, &options)?;
            refuse(&family_gaps(&family.name, &family.options, read_only))?;
        }
        let mut mended = Vec::new();
        options.sanitize(&path, &mut mended);
        let paths = Arc::new(Paths::new(&path, &options));
        let env = options.env.clone();
        let logger: Arc<dyn Logger> = Arc::new(NullLogger);
        let events = Events::new(logger, env.clock.clone(), Vec::new());
        let mut opening = Opening { read_only, options, paths, descriptors: families, components, env, events, lock: None };
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
            return Err(Error::invalid_argument(format!("{}: does not exist (create_if_missing is false)", current.display())));
        }
        if exists && self.options.error_if_exists && !self.read_only {
            return Err(Error::invalid_argument(format!("{}: exists (error_if_exists is true)", path.display())));
        }
        Ok(())
    }

    /// Directories, lock and LOG.
    fn prepare(&mut self, mended: &[String]) -> Result<()> {
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

    fn open(mut self) -> Result<Db> {
        self.header();
        let outcome = self.recover_all();
        if let Err(error) = &outcome {
            self.events.error(format_args!("Opening failed: {error}"));
            self.events.logger().flush();
        }
        outcome
    }

    fn header(&self) {
        self.events.header(format_args!("Ironstone {}, compatible with RocksDB version: 11.8.1", env!("CARGO_PKG_VERSION")));
        self.events.header(format_args!("DB SUMMARY"));
        self.events.header(format_args!("Path: {}", self.paths.db.display()));
        self.events.headers(|| self.options.log_lines());
    }

    fn recover_all(&mut self) -> Result<Db> {
        let db_id = self.identity()?;
        let Found { recovered, proof, lost } = self.read_manifest(&db_id)?;
        let db_id = recovered.db_id.clone().unwrap_or(db_id);
        add_stats_family(&mut self.descriptors, &recovered);
        let block_cache = block_cache(&self.components, &self.descriptors)?;
        let requested = self
            .descriptors
            .iter()
            .map(|d| request_of(d, &self.options, &self.paths.db, &block_cache, &self.events, self.read_only))
            .collect::<Result<Vec<_>>>()?;
        let bell = Arc::new(Bell::default());
        let (families, missing) = build_families(&recovered, &requested, &bell, !self.read_only, &self.options)?;
        if !missing.is_empty() && (self.read_only || !self.options.create_missing_column_families) {
            let names: Vec<_> = missing.iter().map(|i| requested[*i].name.as_str()).collect();
            return Err(Error::invalid_argument(format!("Column family not found: {}", names.join(", "))));
        }
        let shared = self.shared(&recovered, families, db_id, bell)?;
        if let Some((error, bytes)) = lost {
            tell_lost(&shared.tools, error, bytes);
        }
        let logs = self.logs_to_replay(&recovered, &shared)?;
        let job = shared.tools.take_job_id();
        let replayed = self.replay(&recovered, &shared, &logs, proof.unwrap_or_default(), job)?;
        let last_seq = recovered.last_sequence.max(replayed.last_seq).max(largest_seq(&shared.families));
        shared.tools.sequence.publish(last_seq);
        if !self.options.open_files_async {
            self.load_tables(&shared)?;
        }
        let db = if self.read_only {
            self.assemble(shared, None, block_cache)
        } else {
            self.begin_writing(shared, recovered, replayed, &logs, block_cache, job)?
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
            create_database(&self.env, &self.paths, self.options.write_dbid_to_manifest.then_some(id.as_str()))?;
        }
        if known.as_deref() != Some(id.as_str()) && self.options.write_identity_file {
            write_identity(&self.env, &self.paths.db, &id)?;
        }
        Ok(id)
    }

    fn shared(&self, recovered: &Recovered, families: Vec<Arc<Family>>, db_id: String, bell: Arc<Bell>) -> Result<Shared> {
        let found = sweep(&*self.env.fs, &self.paths, &family_dirs(&self.descriptors), None)?;
        let known = [recovered.next_file_number, found.largest_number, recovered.number.0];
        let next = known.into_iter().fold(0, u64::max).saturating_add(1);
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
            options_file: Mutex::default(),
        });
        let settings = TableCacheSettings {
            tables_max: tables_max(self.options.max_open_files),
            direct_reads: self.options.use_direct_reads,
            advise_random: self.options.advise_random_on_open,
            verify_unique_id: self.options.verify_sst_unique_id_in_manifest,
            db_session_id: session,
            rate_limiter: self.options.rate_limiter.clone(),
            stats,
        };
        let families = Arc::new(FamilySet::new(families, recovered.max_family));
        Ok(Shared { tools, families, tables: TableCache::new(self.env.clone(), settings), bell })
    }

    /// Logs that may hold data not in tables, ascending.
    fn logs_to_replay(&self, recovered: &Recovered, shared: &Shared) -> Result<Vec<FileNumber>> {
        if self.options.best_efforts_recovery {
            self.pass_logs(&shared.families, &shared.tools.numbers)?;
            return Ok(Vec::new());
        }
        let min = min_log(recovered, shared);
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

    fn replay(
        &self,
        recovered: &Recovered,
        shared: &Shared,
        logs: &[FileNumber],
        proof: Proof,
        job: JobId,
    ) -> Result<Replayed> {
        let settings = ReplaySettings {
            mode: self.options.wal_recovery_mode,
            paranoid_checks: self.options.paranoid_checks,
            verify_predecessors: self.options.track_and_verify_wals,
            may_flush: !self.read_only,
            memory_max: replay_memory_max(&self.options),
            last_seq: recovered.last_sequence,
            min_log: min_log(recovered, shared),
            proved: proof.wals,
            proved_closed: proof.closed,
            accept_lost: self.options.open_despite_lost_writes,
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

    /// Opens tables now, so that what is missing or damaged is known: all, or some of them where
    /// `max_open_files` bounds them.
    fn load_tables(&self, shared: &Shared) -> Result<()> {
        const SOME: usize = 16;
        let limit = if self.options.max_open_files == -1 { usize::MAX } else { SOME };
        for family in shared.families.all() {
            let pin = family.pin_owned();
            for (level, file) in pin.version.files().take(limit) {
                if let Err(error) = shared.tables.get_at_open(&pin.parts, level, file) {
                    if self.options.paranoid_checks {
                        return Err(error);
                    }
                    self.events.warn(format_args!("{error}"));
                }
            }
        }
        Ok(())
    }

    fn begin_writing(
        &mut self,
        shared: Shared,
        recovered: Recovered,
        replayed: Replayed,
        logs: &[FileNumber],
        block_cache: Arc<BlockCache>,
        job: JobId,
    ) -> Result<Db> {
        let Shared { tools, families, tables, bell } = &shared;
        let o = &self.options;
        let obsolete = Arc::new(Obsolete::new(bell.clone()));
        let reused = self.reuse_manifest(&recovered);
        let reuses = reused.is_some();
        let new = || Manifest::new(self.env.clone(), manifest_settings(o, &self.paths), recovered.number);
        let manifest = reused.unwrap_or_else(new).with_stats(tools.stats.clone());
        let db_id = o.write_dbid_to_manifest.then(|| tools.db_id.clone());
        let min_log = recovered.min_log_number_to_keep;
        let committer = Arc::new(Committer::new(
            manifest,
            tools.numbers.clone(),
            families.clone(),
            tools.sequence.clone(),
            obsolete.clone(),
            db_id,
            min_log,
        ));
        let live_logs = Arc::new(LiveLogs::new(self.env.clone(), wal_settings(o, &self.paths)?));
        let keep_logs = o.avoid_flush_during_recovery && replayed.files.is_empty() && !replayed.damaged;
        self.trim_last_log(logs)?;
        let changes = self.recovery_changes(&shared, replayed.files, keep_logs, replayed.max_log, job)?;
        if keep_logs {
            for whole in &replayed.extents {
                let log = FileNumber(whole.number);
                live_logs.add_recovered(log, self.sync_old_log(log)?, *whole);
            }
        }
        live_logs.roll(tools.numbers.take(), None, wal_preallocate(o, families))?;
        if replayed.stopped_at.is_some() {
            // So that the next recovery finds the number it expects and goes on from here.
            let mut record = Vec::new();
            format::batch::begin(&mut record);
            let next = tools.sequence.visible() + 1;
            format::batch::set_sequence(&mut record, next);
            live_logs.append(&record, next, &[])?;
            live_logs.sync()?;
        }
        if !changes.is_empty() {
            committer.commit(changes, false)?;
        } else if !reuses {
            committer.roll(Vec::new())?;
        }
        if reuses && committer.manifest_number() == recovered.number {
            committer.go_on(recovered.wals.clone())?;
        }
        // The session before made it: whether it may go is the sweep's to say.
        committer.take_old_manifests();
        let errors = Arc::new(ErrorState::new(o.paranoid_checks));
        let controller = Arc::new(Controller::default());
        let recycle = Arc::new(Recycle::new(o.recycle_log_file_num, live_logs.active_number()));
        let background = Background::new(BackgroundParts {
            tools: tools.clone(),
            families: families.clone(),
            logs: live_logs.clone(),
            recycle: recycle.clone(),
            committer: committer.clone(),
            tables: tables.clone(),
            obsolete: obsolete.clone(),
            errors: errors.clone(),
            controller: controller.clone(),
            atomic_flush: o.atomic_flush,
        });
        background.size_pools();
        let buffers = o.write_buffer_manager.clone().unwrap_or_else(|| {
            Arc::new(WriteBufferManager::new(o.db_write_buffer_size, None, false))
        });
        let unlogged = Arc::new(AtomicBool::new(false));
        let reads = self.reads(&shared, unlogged.clone());
        let writer = Arc::new(Writer::new(WriterParts {
            env: self.env.clone(),
            settings: WriteSettings {
                pipelined: o.enable_pipelined_write || (o.unordered_write && !o.atomic_flush),
                concurrent_memtable: o.allow_concurrent_memtable_write,
                atomic_flush: o.atomic_flush,
                recycles_logs: o.recycle_log_file_num > 0,
                manual_wal_flush: o.manual_wal_flush,
                rate_limiter: o.rate_limiter.clone(),
                group_bytes_max: o.max_write_batch_group_size_bytes,
                preallocate_bytes: wal_preallocate(o, families),
                yield_us_max: if o.enable_write_thread_adaptive_yield { o.write_thread_max_yield_usec } else { 0 },
                yield_us_slow: o.write_thread_slow_yield_usec,
            },
            families: families.clone(),
            logs: live_logs.clone(),
            numbers: tools.numbers.clone(),
            recycle,
            sequence: tools.sequence.clone(),
            errors: errors.clone(),
            controller,
            buffers,
            events: self.events.clone(),
            bell: background.clone(),
            faults: background.clone(),
            wal_bytes_max: wal_bytes_max(o.max_total_wal_size, &families.all()),
            unlogged,
            merger: Arc::new(reads.clone()),
            stats: tools.stats.clone(),
        }));
        self.sweep(&shared, &recovered, &committer, &background, logs)?;
        let parts = WritingParts { writer, background, logs: live_logs, committer, obsolete, errors, reads };
        let db = self.assemble(shared, Some(parts), block_cache);
        if let Some(writing) = &db.inner.writing {
            writing.background.start(&writing.writer);
            if self.options.open_files_async {
                writing.background.open_tables();
            }
        }
        Ok(db)
    }

    /// The newest old log may have preallocated space, or bytes of an older one, behind its end.
    fn trim_last_log(&self, logs: &[FileNumber]) -> Result<()> {
        let Some(last) = logs.last() else { return Ok(()) };
        let path = self.paths.wal(*last);
        let size = self.env.fs.file_size(&path)?;
        self.env.fs.truncate(&path, size)
    }

    /// A log that stays: what the session before did not sync must not be lost behind what this one
    /// will. Its size.
    fn sync_old_log(&self, log: FileNumber) -> Result<u64> {
        let mut file = self.env.fs.reopen(&self.paths.wal(log), &env::AppendHints::default())?;
        file.sync()?;
        let size = file.size();
        file.close()?;
        Ok(size)
    }

    /// What replay brought, as changes of the trees: one for each family that has any.
    fn recovery_changes(
        &self,
        shared: &Shared,
        files: Vec<(FamilyId, OutputFile)>,
        keep_logs: bool,
        max_log: u64,
        job: JobId,
    ) -> Result<Vec<Change>> {
        let next_log = max_log.saturating_add(1);
        let mut changes = Vec::new();
        let mut by_family: Vec<(FamilyId, Vec<OutputFile>)> = Vec::new();
        for (id, file) in files {
            match by_family.iter_mut().find(|(f, _)| *f == id) {
                Some((_, list)) => list.push(file),
                None => by_family.push((id, vec![file])),
            }
        }
        for family in shared.families.all() {
            let mut own = Vec::new();
            if let Some(at) = by_family.iter().position(|(id, _)| *id == family.id()) {
                own = by_family.swap_remove(at).1;
            }
            if !keep_logs {
                own.extend(flush_family(&shared.tools, job, &family)?);
                if max_log > 0 && own.is_empty() {
                    let mut state = family.state();
                    state.log_number = state.log_number.max(next_log);
                }
            }
            if own.is_empty() {
                continue;
            }
            let added = own.iter().map(|f| (0, f.meta.clone())).collect();
            let sealed = Sealed {
                mem: family.pin().mem.clone(),
                id: 0,
                next_log,
                epoch: 0,
                together: false,
                flushing: true,
                charge: None,
                atomic_group: None,
            };
            let flushed = Some(FlushPick { memtables: vec![sealed] });
            let edit = Edit { added, ..Edit::default() };
            changes.push(Change { flushed, ..Change::new(family.clone(), edit) });
        }
        Ok(changes)
    }

    /// Deletes what nobody refers to, if the MANIFEST's end was proved; else only what this opening itself made
    /// obsolete, and moves the rest aside. With an end in doubt everything stays.
    fn sweep(
        &self,
        shared: &Shared,
        recovered: &Recovered,
        committer: &Committer,
        background: &Background,
        replayed: &[FileNumber],
    ) -> Result<()> {
        if recovered.end_in_doubt {
            self.events.warn(format_args!(
                "MANIFEST-{:06} ends in the middle of a record; unreferenced files are kept",
                recovered.number.0
            ));
            return Ok(());
        }
        let tables = shared.families.all().into_iter().flat_map(|f| {
            let version = f.pin().version.clone();
            version.files().map(|(_, file)| file.number.0).collect::<Vec<_>>()
        });
        let oldest_log = shared.families.all().iter().map(|f| f.state().log_number).min().unwrap_or(0);
        let live = Live {
            tables: tables.collect(),
            blobs: Default::default(),
            min_log: oldest_log.max(committer.min_log_to_keep()),
            manifest: committer.manifest_number(),
            newer_from: shared.tools.numbers.peek(),
            keep_old_logs: self.options.keep_log_file_num,
        };
        let family_dirs = family_dirs(&self.descriptors);
        let mut found = sweep(&*self.env.fs, &self.paths, &family_dirs, Some(&live))?;
        if recovered.end_proved {
            let now_s = self.env.clock.now_seconds();
            for dir in self.paths.all().into_iter().chain(family_dirs.iter().map(|dir| &**dir)) {
                purge_lost(&*self.env.fs, dir, now_s);
            }
        } else {
            self.set_aside(&mut found, recovered.number, replayed);
        }
        background.delete_swept(found);
        Ok(())
    }

    fn reads(&self, shared: &Shared, unlogged: Arc<AtomicBool>) -> Reads {
        Reads {
            tables: shared.tables.clone(),
            sequence: shared.tools.sequence.clone(),
            clock: self.env.clock.clone(),
            unlogged,
            stats: shared.tools.stats.clone(),
        }
    }

    fn assemble(&mut self, shared: Shared, parts: Option<WritingParts>, block_cache: Arc<BlockCache>) -> Db {
        let reads = parts.as_ref().map_or_else(|| self.reads(&shared, Arc::default()), |p| p.reads.clone());
        let Shared { tools, families, tables, bell } = shared;
        let (writing, logs, committer, obsolete, errors) = match parts {
            Some(p) => {
                (Some(Writing { writer: p.writer, background: p.background }), p.logs, p.committer, p.obsolete, p.errors)
            }
            None => {
                let settings = manifest_settings(&self.options, &self.paths);
                let manifest = Manifest::new(self.env.clone(), settings, FileNumber(0));
                let obsolete = Arc::new(Obsolete::new(bell.clone()));
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
                let logs = Arc::new(LiveLogs::new(self.env.clone(), wal));
                (None, logs, Arc::new(committer), obsolete, Arc::new(ErrorState::new(self.options.paranoid_checks)))
            }
        };
        Db {
            inner: Arc::new(Inner {
                tools,
                families,
                logs,
                committer,
                tables,
                obsolete,
                errors,
                bell,
                reads,
                writing,
                block_cache,
                closed: AtomicBool::new(false),
                changes: Mutex::new(()),
                lock: Mutex::new(self.lock.take()),
                history: Default::default(),
            }),
        }
    }
}

struct Shared {
    tools: Arc<JobTools>,
    families: Arc<FamilySet>,
    tables: Arc<TableCache>,
    bell: Arc<Bell>,
}

struct WritingParts {
    writer: Arc<Writer>,
    background: Arc<Background>,
    logs: Arc<LiveLogs>,
    committer: Arc<Committer>,
    obsolete: Arc<Obsolete>,
    errors: Arc<ErrorState>,
    reads: Reads,
}

/// Makes a directory whose name survives: a database that was synced must not vanish with it.
pub(super) fn make_dir(env: &Env, dir: &Path) -> Result<()> {
    if env.fs.exists(dir)? {
        return Ok(());
    }
    env.fs.create_dir_all(dir)?;
    let mut at = dir;
    while let Some(parent) = at.parent().filter(|p| !p.as_os_str().is_empty()) {
        env.fs.open_dir(parent)?.sync()?;
        at = parent;
    }
    Ok(())
}

fn logger(options: &DbOptions, paths: &Paths, read_only: bool) -> Result<Arc<dyn Logger>> {
    if let Some(logger) = &options.info_log {
        return Ok(logger.clone());
    }
    if read_only {
        return Ok(Arc::new(NullLogger));
    }
    let log_dir = (!options.db_log_dir.is_empty()).then(|| PathBuf::from(&options.db_log_dir));
    let settings = LogFileOptions {
        level: options.info_log_level,
        max_log_file_size: options.max_log_file_size as u64,
        log_file_time_to_roll: options.log_file_time_to_roll as u64,
        keep_log_file_num: options.keep_log_file_num.max(1),
    };
    let (fs, clock) = (options.env.fs.clone(), options.env.clock.clone());
    Ok(Arc::new(FileLogger::open(fs, clock, &paths.db, log_dir.as_deref(), settings)?))
}

/// The cache of families that bring none.
fn block_cache(components: &Components, families: &[FamilyDescriptor]) -> Result<Arc<BlockCache>> {
    if let Some(cache) = &components.block_cache {
        return Ok(cache.clone());
    }
    let bytes = families
        .iter()
        .filter_map(|f| match &f.options.table_factory {
            TableFactory::BlockBased(table) => Some(table.block_cache.0),
            TableFactory::Other { .. } => None,
        })
        .max()
        .unwrap_or(32 << 20);
    Cache::new(CacheOptions::hyper_clock(usize::try_from(bytes).unwrap_or(usize::MAX)))
}

/// What a family's options ask for and is not built.
fn family_gaps(name: &str, options: &FamilyOptions, read_only: bool) -> Vec<String> {
    if read_only { options.unsupported_for_reading(name) } else { options.unsupported(name) }
}

/// A family's options checked, mended, told to the LOG and turned into parts.
pub(super) fn request_of(
    d: &FamilyDescriptor,
    db: &DbOptions,
    dir: &Path,
    cache: &Arc<BlockCache>,
    events: &Events,
    read_only: bool,
) -> Result<RequestedFamily> {
    let cache = d.block_cache.clone().unwrap_or_else(|| cache.clone());
    let mut options = d.options.clone();
    options.validate(&d.name, db)?;
    refuse(&family_gaps(&d.name, &options, read_only))?;
    let mut mended = Vec::new();
    options.sanitize(db, false, &mut mended);
    db.compat.cap(&mut options)?;
    mended.iter().for_each(|line| events.warn(format_args!("{line}")));
    events.header(format_args!("--------------- Options for column family [{}]:", d.name));
    events.headers(|| options.log_lines(Some(&cache)));
    let parts = Parts::resolve(&options, db, dir, Some(cache))?;
    Ok(RequestedFamily {
        name: d.name.clone(),
        options: Arc::new(options),
        parts: Arc::new(parts),
    })
}

/// What `max_open_files` leaves for tables; RocksDB takes ten for other files.
pub(super) fn tables_max(max_open_files: i32) -> Option<usize> {
    usize::try_from(max_open_files).ok().map(|n| n.saturating_sub(10).max(1))
}

/// Bytes of memtables at which replay writes them to tables, so that the write buffer manager's budget holds before
/// there is a writer to heed it: as RocksDB, an eighth below the budget.
fn replay_memory_max(o: &DbOptions) -> Option<usize> {
    const LEAST: usize = 64 << 10;
    let (budget, used) = match &o.write_buffer_manager {
        Some(manager) => (manager.buffer_size(), manager.memory_usage()),
        None => (o.db_write_buffer_size, 0),
    };
    let bounded = o.enforce_write_buffer_manager_during_recovery && budget > 0;
    bounded.then(|| (budget - budget / 8).saturating_sub(used).max(LEAST))
}

/// Logs below it are not needed and may be missing.
fn min_log(recovered: &Recovered, shared: &Shared) -> u64 {
    let by_families = shared.families.all().iter().map(|f| f.state().log_number).min().unwrap_or(0);
    recovered.min_log_number_to_keep.max(by_families)
}

pub(super) fn manifest_settings(o: &DbOptions, paths: &Paths) -> ManifestSettings {
    ManifestSettings {
        dir: paths.db.clone(),
        preallocate_bytes: if o.allow_fallocate { o.manifest_preallocation_size as u64 } else { 0 },
        max_file_size: o.max_manifest_file_size,
        max_space_amp_pct: u64::try_from(o.max_manifest_space_amp_pct).unwrap_or(0),
        use_fsync: o.use_fsync,
    }
}

fn wal_settings(o: &DbOptions, paths: &Paths) -> Result<WalSettings> {
    Ok(WalSettings {
        recyclable: o.recycle_log_file_num > 0,
        manual_flush: o.manual_wal_flush,
        buffer_bytes_max: o.writable_file_max_buffer_size,
        use_fsync: o.use_fsync,
        bytes_per_sync: o.wal_bytes_per_sync,
        note_predecessor: o.track_and_verify_wals,
        compressor: (o.wal_compression == CompressionType::ZSTD).then(crate::wal::compressor),
        ..WalSettings::plain(paths.wal.clone())
    })
}

/// A tenth more than a memtable holds, bounded by what logs may hold at all.
/// The system is asked for a log's space in pieces of at most so many bytes. Space for a whole memtable of a gigabyte,
/// of which a tenth was used, cost 0.35 s to ask for on a tmpfs and 0.17 s to give back.
const WAL_PIECE: u64 = 16 << 20;

fn wal_preallocate(o: &DbOptions, families: &FamilySet) -> u64 {
    if !o.allow_fallocate {
        return 0;
    }
    let buffer = families.all().iter().map(|f| f.parts().pick.write_buffer_size).max().unwrap_or(64 << 20);
    let bytes = buffer.saturating_add(buffer / 10).min(WAL_PIECE);
    [o.max_total_wal_size, o.db_write_buffer_size as u64].into_iter().filter(|n| *n > 0).fold(bytes, u64::min)
}

fn largest_seq(families: &FamilySet) -> u64 {
    let of_family = |f: &Arc<Family>| f.pin().version.files().map(|(_, file)| file.largest_seq).max().unwrap_or(0);
    families.all().iter().map(of_family).max().unwrap_or(0)
}

/// Writes the OPTIONS file anew: at open and whenever families or options change.
pub(super) fn write_options_file(tools: &JobTools, families: &FamilySet) -> Result<()> {
    let numbers = (tools.numbers.take(), tools.numbers.take());
    let all: Vec<_> = families.all().iter().map(|f| (f.name().to_string(), f.options())).collect();
    let named = all.iter().map(|(name, options)| (name.as_str(), &**options));
    let written = file::persist(&tools.env, &tools.paths.db, numbers, &tools.options.load(), named)?;
    *tools.options_file.lock() = Some(written);
    Ok(())
}
