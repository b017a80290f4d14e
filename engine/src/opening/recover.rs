//! The steps of an open, in their order: identity, MANIFEST, column families, WALs, SST files.
//!
//! These steps change no file, unless the open creates the database.

use base::ids::JobId;
use base::map::HashSet;
use base::{Arrange, Error, FileNumber, Kind, Result, SequenceNumber, WalNumber};
use format::names::{self, FileName};
use format::proof::Proof;

use super::context::{ManifestState, Opening, Shared};
use super::follow::ReadUpTo;
use super::opened::Opened;
use super::overtaken::TRIES_MAX;
use super::proved::Found;
use super::session::{host_id, new_session_id};
use super::setup::{
    Caches, FamilyUse, check_new_name, family_dirs, log_family, make_dir, manifest_settings,
    replay_memory_max, request_of, tables_max,
};
use super::stats_family::add_stats_family;
use crate::commit::Committer;
use crate::components::FamilyDescriptor;
use crate::direct::{DirectBlobs, DirectSettings};
use crate::errors::ErrorState;
use crate::event::Event;
use crate::family::{Family, FamilySet, write_times_kept_s};
use crate::files::{Numbers, Obsolete, Sweep, check_largest, refuse_foreign, sweep};
use crate::manifest::{Manifest, Recovered, write_identity};
use crate::output::{FlushPriority, JobTools};
use crate::prepared::{Numbering, TwoPhase};
use crate::recovery::{
    EarlierFiles, Replay, ReplaySettings, Replayed, RequestedFamily, build_families, create_database,
    new_db_id, report_lost, undecided,
};
use crate::release_notifier::ReleaseNotifier;
use crate::sequence::{LastSequence, SEQNOS_BEFORE_CREATION, Snapshots};
use crate::source::{TableCache, TableCacheSettings};
use crate::stats::Stats;
use crate::sync::{Arc, ArcSwap, AtomicU64, AtomicUsize, Flag, Mutex};
use crate::wal::{WalSet, WalSettings};

impl Opening {
    /// Opens the database, and passes the opened parts to `assemble`. A read-only open starts again if a writer has
    /// deleted or recycled files that it needs. The first open of a reader that follows a writer reads the newest complete
    /// state if SST files of the newest state are missing or damaged, as in RocksDB (`ReactiveVersionSet`).
    ///
    /// # Errors
    /// An error of a step, or of `assemble`. The info log gets the error. Incomplete if the reader has a view already, and
    /// SST files of the newest state are missing or damaged.
    pub fn run<T>(mut self, assemble: impl Fn(Opened) -> Result<T>) -> Result<T> {
        self.header();
        let mut outcome = self.recover_all().and_then(&assemble);
        for _ in 1..TRIES_MAX {
            match &outcome {
                Err(error) if self.read_only && error.kind() == Kind::TryAgain => {
                    outcome = self.recover_all().and_then(&assemble)
                }
                _ => break,
            }
        }
        if let Err(error) = &outcome
            && self.state == ManifestState::LacksTables
            && self.manifest_tail.is_some()
        {
            self.events.warn(format_args!("SST files of the newest state do not open: {error}"));
            outcome = match self.before {
                None => {
                    self.state = ManifestState::NewestComplete;
                    self.recover_all().and_then(&assemble)
                }
                Some(_) => Err(Error::incomplete(error.to_string())),
            };
        }
        if let Err(error) = &outcome {
            self.events.error(format_args!("Opening failed: {error}"));
        }
        self.events.logger().flush();
        crate::output::forget_spares(&self.env);
        outcome
    }

    fn header(&self) {
        // Programs read the release from the fifth field of this line.
        self.events.header(format_args!("RocksDB version: 11.8.1 (Ironstone {})", env!("CARGO_PKG_VERSION")));
        self.events.header(format_args!("DB SUMMARY"));
        self.events.header(format_args!("Path: {}", self.paths.db.display()));
        self.events.headers(|| self.options.log_lines());
        let families = self.descriptors.iter().map(|f| (f.name.as_str(), &f.options));
        let hints = crate::options::changed_hints(&self.options, families);
        if !hints.is_empty() {
            self.events.header(format_args!("Options without effect: {}", hints.join(", ")));
        }
        // Programs look for these lines. The build supports every CPU of its kind; `kernel` chooses the code at run
        // time.
        let cpu = if cfg!(target_arch = "x86_64") { "x86" } else { std::env::consts::ARCH };
        let crc =
            format_args!("Fast CRC32 supported: chosen at run time; by the build: Not supported on {cpu}");
        self.events.header(crc);
        self.events.header(format_args!("Jemalloc supported: 0"));
    }

    fn recover_all(&mut self) -> Result<Opened> {
        // Remove the descriptors that an earlier attempt added.
        base::invariant!(
            self.named <= self.descriptors.len(),
            "the caller named {} column families, and {} are left",
            self.named,
            self.descriptors.len()
        );
        self.descriptors.truncate(self.named);
        let db_id = self.identity()?;
        let Found { mut recovered, proof, lost } = self.read_manifest(&db_id)?;
        let db_id = recovered.db_id.clone().unwrap_or(db_id);
        add_stats_family(&mut self.descriptors, &recovered);
        self.name_others(&recovered)?;
        self.keep_dropped(&recovered, &db_id);
        let caches = Caches::new(&self.components);
        let requested = requested_families(self, &caches)?;
        // A database accepts the handles of the column families with its own notifier only.
        let release_notifier = self.kept.first().map(|kept| kept.release_notifier()).unwrap_or_default();
        let before = self.before.as_ref().filter(|before| before.db_id == db_id);
        let earlier = before.map(|before| EarlierFiles::of(&before.families)).unwrap_or_default();
        let (families, missing) =
            build_families(&recovered, &requested, &release_notifier, &earlier, !self.read_only)?;
        check_missing(self, missing.iter().map(|i| &*requested[*i].name))?;
        let shared = self.shared(&recovered, families, db_id, release_notifier)?;
        if let Some((error, bytes)) = lost {
            report_lost(&shared.tools, error, bytes);
        }
        let wals = self.wals_to_replay(&recovered, &shared);
        let oldest = min_wal(&recovered, &shared);
        if self.other_writer().needs_newer_than(&recovered, oldest) {
            return Err(Error::try_again(
                "another process deleted obsolete WALs before this process read them; try again",
            ));
        }
        let wals = wals?;
        self.check_prepared(&recovered, &shared)?;
        let job = shared.tools.take_job_id();
        let replayed = self.replay(&recovered, &shared, &wals, proof.unwrap_or_default(), job);
        check_overtaken(self, &recovered, &replayed, oldest)?;
        let replayed = replayed?;
        if let Some((error, bytes)) = self.check_manifest_marks(&mut recovered, &replayed)? {
            report_lost(&shared.tools, error, bytes);
        }
        let last_seq = recovered.last_sequence.max(replayed.last_seq).max(largest_seq(&shared.families));
        shared.tools.sequence.publish(last_seq);
        // Only after the replay: the memtables of these column families are shared with the earlier open.
        shared.families.keep(&self.kept);
        if !self.options.open_files_async {
            let loaded = self.load_tables(&recovered, &shared);
            if loaded.as_ref().is_err_and(Error::is_missing_or_damaged) {
                self.state = ManifestState::LacksTables;
            }
            loaded?;
        }
        let missing = missing.into_iter().map(|index| self.descriptors[index].clone()).collect();
        if self.read_only {
            let needed = oldest;
            let oldest = (!self.overrides.skip_wals).then_some(oldest);
            let is_older = self.state == ManifestState::NewestComplete;
            let read_up_to = ReadUpTo::new(&recovered, oldest, &replayed.extents).of_older_state(is_older);
            let read_up_to = Some(read_up_to);
            let tail = replayed.tail;
            return Ok(Opened {
                missing,
                read_up_to,
                tail,
                ..self.opened_for_reading(shared, caches, needed)
            });
        }
        Ok(Opened { missing, ..self.begin_writing(shared, recovered, replayed, &wals, caches, job)? })
    }

    /// Returns the parts of a database that is open for reading only. `min_wal` is the oldest WAL that a recovery needs.
    fn opened_for_reading(&mut self, shared: Shared, caches: Caches, min_wal: WalNumber) -> Opened {
        base::invariant!(self.read_only, "an open for writing gets the parts of an open for reading");
        let reads = self.reads(&shared, Arc::default());
        let Shared { tools, families, tables, release_notifier } = shared;
        let settings = manifest_settings(&self.options, &self.paths);
        let manifest = Manifest::new(self.env.clone(), settings, FileNumber::ZERO);
        let obsolete = Arc::new(Obsolete::new(release_notifier.clone()));
        let committer = Committer::new(
            manifest,
            tools.numbers.clone(),
            families.clone(),
            tools.sequence.clone(),
            obsolete.clone(),
            None,
            min_wal,
        );
        Opened {
            tools,
            families,
            wals: Arc::new(WalSet::new(self.env.clone(), WalSettings::plain(self.paths.wal.clone()))),
            committer: Arc::new(committer),
            tables,
            obsolete,
            errors: Arc::new(ErrorState::new(self.options.paranoid_checks)),
            release_notifier,
            reads,
            writing: None,
            caches,
            lock: self.lock.take(),
            missing: Vec::new(),
            read_up_to: None,
            tail: None,
            manifest_tail: self.manifest_tail.clone(),
            tenant: self.tenant(),
        }
    }

    /// Adds descriptors for existing column families that the caller did not name, in the order of their ids. They
    /// get the options `others`.
    fn name_others(&mut self, recovered: &Recovered) -> Result<()> {
        let Some(options) = self.others.clone() else { return Ok(()) };
        let named: HashSet<_> = self.descriptors.iter().map(|d| d.name.as_str()).collect();
        let unnamed = recovered.families.values().filter(|f| !named.contains(f.name.as_str()));
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

    /// Moves the column families that the writer dropped since the earlier open from the descriptors to `kept`. The id decides: a
    /// column family that the writer made later under the same name is another column family.
    fn keep_dropped(&mut self, recovered: &Recovered, db_id: &str) {
        let Some(before) = self.before.as_ref().filter(|before| before.db_id == db_id) else { return };
        let is_dropped = |family: &&Arc<Family>| !recovered.families.contains_key(&family.id());
        for family in before.families.iter().filter(is_dropped) {
            let named = self.descriptors.iter().take(self.named).position(|d| d.name == family.name());
            if let Some(at) = named {
                self.descriptors.remove(at);
                self.named -= 1;
                self.kept.push(family.clone());
            }
        }
    }

    /// Returns the database id from IDENTITY, or a new id. Creates the database if it does not exist.
    fn identity(&mut self) -> Result<String> {
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
            let keeps_times = self.descriptors.iter().any(|family| write_times_kept_s(&family.options) > 0);
            let last_sequence = if keeps_times { SEQNOS_BEFORE_CREATION } else { SequenceNumber::ZERO };
            let db_id = self.options.write_dbid_to_manifest.then_some(id.as_str());
            create_database(&self.env, &self.paths, db_id, last_sequence)?;
            self.is_new = true;
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
        let found = match &self.before {
            // A catch-up makes no file, so it needs no free number. The first open checked the names of the files.
            Some(_) => Sweep::default(),
            None => sweep(&*self.env.fs, &self.paths, &family_dirs(&self.descriptors), None)?,
        };
        check_largest(found.largest_number, recovered.next_file_number)
            .map_err(|e| e.doing("opening the database").file(&self.paths.db))?;
        // RocksDB skips two file numbers at each open: one after the read of the MANIFEST, and one after the listing of
        // the files (`VersionEditHandler::CheckIterationResult`, `DBImpl::MaybeUpdateNextFileNumber`).
        let known = [recovered.next_file_number.next(), found.largest_number, recovered.number];
        let next = known.into_iter().fold(FileNumber::ZERO, FileNumber::max).next();
        let session: Arc<str> = Arc::from(new_session_id(&self.env));
        let stats = Stats::new(self.options.statistics.clone(), self.env.clock.clone());
        if self.events.watches_slow_operations() {
            let events = self.events.clone();
            stats.slow.watch(move |operation| events.slow_operation(operation));
        }
        let sequence = Arc::new(LastSequence::new(recovered.last_sequence));
        let numbers = Numbers::new(next);
        let direct = Arc::new(DirectBlobs::new(
            self.env.clone(),
            numbers.clone(),
            self.events.clone(),
            self.options.statistics.clone(),
            DirectSettings {
                use_fsync: self.options.use_fsync,
                bytes_per_sync: self.options.bytes_per_sync,
                strict_bytes_per_sync: self.options.strict_bytes_per_sync,
                file_checksum: self.options.file_checksum_gen_factory.is_some(),
                ids: (db_id.clone(), session.to_string()),
            },
        ));
        let tools = Arc::new(JobTools {
            env: self.env.clone(),
            paths: self.paths.clone(),
            numbers,
            options: ArcSwap::from_pointee(self.options.clone()),
            db_id,
            db_session_id: session.to_string(),
            db_host_id: host_id(&self.env, &self.options.db_host_id),
            snapshots: Arc::new(Snapshots::new(sequence.clone())),
            sequence,
            times: Arc::default(),
            events: self.events.clone(),
            shutting_down: Arc::new(Flag::new(false)),
            next_job: AtomicU64::new(1),
            stats: stats.clone(),
            flush_priority: Arc::new(FlushPriority::new(self.env.executor.processors())),
            options_file: Mutex::default(),
            families_unwritten: AtomicUsize::new(0),
            compaction_service: self.components.compaction_service.clone(),
            memory_budget: self.options.memory_budget.clone(),
            direct,
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
        if self.components.write_policy.numbering() == Numbering::PerBatch {
            tools.sequence.undecided().enable();
        }
        let families = Arc::new(FamilySet::new(families, recovered.max_family));
        let tables = TableCache::new(self.env.clone(), settings);
        tables.blobs().read_direct(tools.direct.clone());
        Ok(Shared { tools, families, tables, release_notifier })
    }

    /// Returns the WALs that may have entries without SST files, in ascending order.
    fn wals_to_replay(&self, recovered: &Recovered, shared: &Shared) -> Result<Vec<WalNumber>> {
        if self.overrides.skip_wals {
            return Ok(Vec::new());
        }
        if self.options.best_efforts_recovery {
            self.pass_wals(&shared.families, &shared.tools.numbers)?;
            return Ok(Vec::new());
        }
        let min = min_wal(recovered, shared);
        let mut wals: Vec<_> = self
            .env
            .fs
            .list(&self.paths.wal)?
            .iter()
            .filter_map(|name| match FileName::parse(name) {
                Some(FileName::Wal(n)) if n >= min || n == recovered.prev_log_number => Some(n),
                _ => None,
            })
            .collect();
        wals.arrange();
        for wal in &wals {
            shared.tools.numbers.mark_used(wal.file());
        }
        if self.options.track_and_verify_wals_in_manifest {
            for (number, synced) in recovered.wals.range(min..) {
                let path = self.paths.wal(*number);
                let size = self.env.fs.file_size(&path).map_err(|error| match error.is_not_found() {
                    true => Error::corruption(format!("Missing WAL with log number: {number}")).file(&path),
                    false => error,
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
        Ok(wals)
    }

    /// Checks that an open without `allow_2pc` deletes no WAL that only a prepared transaction needs. RocksDB deletes it.
    ///
    /// # Errors
    /// NotSupported, with the names of the transactions.
    fn check_prepared(&self, recovered: &Recovered, shared: &Shared) -> Result<()> {
        if self.read_only || shared.two_phase() == TwoPhase::Allowed {
            return Ok(());
        }
        let (from, to) = (recovered.min_log_number_to_keep, min_wal(recovered, shared));
        let mut wals: Vec<WalNumber> = self
            .env
            .fs
            .list(&self.paths.wal)?
            .iter()
            .filter_map(|name| match FileName::parse(name) {
                Some(FileName::Wal(number)) if number >= from => Some(number),
                _ => None,
            })
            .collect();
        wals.arrange();
        if wals.first().is_none_or(|first| *first >= to) {
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
        wals: &[WalNumber],
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
            max_family: (recovered.end.is_in_doubt() && !self.read_only).then_some(recovered.max_family),
            proved: proof.wals,
            proved_closed: proof.closed,
            accept_lost: self.options.open_despite_lost_writes,
            two_phase: shared.two_phase(),
            policy: self.components.write_policy,
        };
        let replay = Replay::new(&shared.tools, &shared.tables, &shared.families, settings, job)
            .with_filter(self.components.wal_filter.clone());
        if wals.is_empty() {
            return replay.run(wals);
        }
        base::invariant!(wals.is_sorted_by(|a, b| a < b), "the WALs are replayed out of order");
        self.events
            .emit(&Event::RecoveryStarted { job, wal_files: wals.iter().map(|wal| wal.file()).collect() });
        let replayed = replay.run(wals);
        self.events.emit(&Event::RecoveryFinished { job, error: replayed.as_ref().err().cloned() });
        replayed
    }
}

/// Returns the column families that the caller requested, with their options. Writes the options to the info log.
fn requested_families(opening: &Opening, caches: &Caches) -> Result<Vec<RequestedFamily>> {
    let call = if opening.read_only { FamilyUse::OpenForReading } else { FamilyUse::Open };
    let requested = opening
        .descriptors
        .iter()
        .map(|d| request_of(d, &opening.options, &opening.paths.db, caches, &opening.events, call))
        .collect::<Result<Vec<_>>>()?;
    for (at, request) in requested.iter().enumerate() {
        log_family(&opening.events, request, at);
    }
    Ok(requested)
}

/// Checks the names of the requested column families that the MANIFEST does not have.
fn check_missing<'a>(opening: &Opening, missing: impl Iterator<Item = &'a str>) -> Result<()> {
    let names: Vec<&str> = missing.collect();
    if !names.is_empty() && (opening.read_only || !opening.options.create_missing_column_families) {
        return Err(Error::invalid_argument(format!("Column family not found: {}", names.join(", "))));
    }
    names.into_iter().try_for_each(check_new_name)
}

/// Fails if another process deleted or recycled a WAL that the replay needed.
fn check_overtaken(
    opening: &Opening,
    recovered: &Recovered,
    replayed: &Result<Replayed>,
    oldest: WalNumber,
) -> Result<()> {
    let overtaken = match replayed {
        // Records of the WAL `in_doubt` may be missing. If the WAL is still needed, the writer has not written these
        // records yet, and the open succeeds without them.
        Ok(replayed) => replayed
            .in_doubt
            .is_some_and(|wal| opening.other_writer().needs_newer_than(recovered, wal.max(oldest))),
        Err(_) => opening.other_writer().has_overtaken(recovered),
    };
    base::invariant!(
        opening.read_only || !overtaken,
        "another process overtook an open for writing of {}",
        opening.paths.db.display()
    );
    if overtaken {
        return Err(Error::try_again(
            "another process deleted obsolete WALs during the read of the WALs; try again",
        ));
    }
    Ok(())
}

/// Returns the number of the oldest WAL that is needed. Older WALs may be missing.
fn min_wal(recovered: &Recovered, shared: &Shared) -> WalNumber {
    if shared.two_phase() == TwoPhase::Allowed {
        return recovered.min_log_number_to_keep;
    }
    let by_families = shared.families.all().iter().map(|f| f.state().wal_number).min().unwrap_or_default();
    recovered.min_log_number_to_keep.max(by_families)
}

fn largest_seq(families: &FamilySet) -> SequenceNumber {
    let of_family = |f: &Arc<Family>| {
        f.pin().version.files().map(|(_, file)| file.largest_seq).max().unwrap_or(SequenceNumber::ZERO)
    };
    families.all().iter().map(of_family).max().unwrap_or(SequenceNumber::ZERO)
}
