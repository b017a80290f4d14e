//! The second half of an open for writing: adds the SST files of the replay to the versions, starts a WAL, the
//! write path and the jobs, and deletes orphan files.

use base::ids::JobId;
use base::{EpochNumber, FamilyId, Result, SequenceNumber, WalNumber};
use env::posix::Tenant;
use format::proof::Extent;
use mem::write_buffer::WriteBufferManager;

use super::context::{Opening, Shared};
use super::opened::{Opened, Writing};
use super::setup::{Caches, family_dirs, manifest_settings, wal_preallocate, wal_settings};
use super::shared_dirs::spare_files_of_others;
use crate::commit::{Atomicity, Change, Committer};
use crate::errors::ErrorState;
use crate::family::{Family, FamilySet, FlushPick, ImmutableMemtable};
use crate::files::{Live, Obsolete, Recycle, purge_lost, sweep};
use crate::jobs::{FilePurger, JobContext, Jobs};
use crate::manifest::{Manifest, ManifestEnd, Recovered};
use crate::options::DbOptions;
use crate::output::OutputFile;
use crate::prepared::{Numbering, Section};
use crate::read::{Reads, RowCache};
use crate::recovery::{Replayed, encoded_parts, flush_family, has_no_files, keep_wal};
use crate::schedule::{Schedule, ScheduleParts};
use crate::sync::{Arc, AtomicBool, OnceLock};
use crate::upkeep::Upkeep;
use crate::wal::{WalSet, sync_first};
use crate::write::stall::Controller;
use crate::write::{LowPriLimit, WriteSettings, Writer, WriterParts, wal_bytes_max};

/// The files that a session appends to, and the files that it will delete.
struct Logs {
    committer: Arc<Committer>,
    wals: Arc<WalSet>,
    obsolete: Arc<Obsolete>,
}

impl Opening {
    pub(super) fn begin_writing(
        &mut self,
        shared: Shared,
        recovered: Recovered,
        replayed: Replayed,
        found_wals: &[WalNumber],
        caches: Caches,
        job: JobId,
    ) -> Result<Opened> {
        base::invariant!(
            !self.read_only && self.lock.is_some(),
            "an open without the LOCK of {} begins to write",
            self.paths.db.display()
        );
        let Logs { committer, wals, obsolete } =
            self.begin_logs(&shared, &recovered, replayed, found_wals, job)?;
        let Shared { tools, families, tables, .. } = &shared;
        let o = &self.options;
        let context = Arc::new(JobContext {
            tools: tools.clone(),
            families: families.clone(),
            wals: wals.clone(),
            recycle: Arc::new(Recycle::new(o.recycle_log_file_num, wals.active_number())),
            committer: committer.clone(),
            tables: tables.clone(),
            obsolete: obsolete.clone(),
            errors: Arc::new(ErrorState::new(o.paranoid_checks)),
            controller: Arc::new(Controller::default()),
            atomic_flush: o.atomic_flush,
            writer: OnceLock::new(),
        });
        let schedule = Schedule::new(ScheduleParts {
            tools: tools.clone(),
            families: families.clone(),
            errors: context.errors.clone(),
            controller: context.controller.clone(),
            atomic_flush: o.atomic_flush,
        });
        let errors = context.errors.clone();
        let jobs = Jobs::new(context.clone(), schedule.clone());
        let upkeep =
            Upkeep::new(context.clone(), schedule.clone(), jobs.failures.clone(), jobs.purge.clone());
        schedule.size_pools();
        let unlogged = Arc::new(AtomicBool::new(false));
        let reads = self.reads(&shared, unlogged.clone());
        let writer = new_writer(self, &context, &schedule, &jobs, &reads, unlogged)?;
        self.sweep(&shared, &recovered, &committer, &jobs.purge, found_wals)?;
        let tenant = self.tenant();
        tools.keep_times(families);
        if self.is_new {
            tools.times.spread(self.env.clock.now_seconds());
        }
        jobs.start(&writer);
        add_owner(&self.options, &writer);
        upkeep.start();
        if self.options.open_files_async {
            jobs.table_opener.open_tables();
        }
        let Shared { tools, families, tables, release_notifier } = shared;
        Ok(Opened {
            tools,
            families,
            wals,
            committer,
            tables,
            obsolete,
            errors,
            release_notifier,
            reads,
            writing: Some(Writing { writer, schedule, jobs, upkeep }),
            caches,
            lock: self.lock.take(),
            missing: Vec::new(),
            read_up_to: None,
            tail: None,
            manifest_tail: self.manifest_tail.clone(),
            tenant,
        })
    }

    /// Begins the WAL and the MANIFEST of this session. First writes what the replay found: SST files, or the WALs that are
    /// kept, and the sections that are not decided. The MANIFEST names these files when the call returns.
    fn begin_logs(
        &self,
        shared: &Shared,
        recovered: &Recovered,
        replayed: Replayed,
        found_wals: &[WalNumber],
        job: JobId,
    ) -> Result<Logs> {
        let Shared { tools, families, release_notifier, .. } = shared;
        let o = &self.options;
        let obsolete = Arc::new(Obsolete::new(release_notifier.clone()));
        let (committer, reuses) = new_committer(self, shared, recovered, &obsolete);
        let wals = Arc::new(WalSet::new(self.env.clone(), wal_settings(o, &self.paths)?));
        committer.set_wals(wals.clone());
        let may_keep = o.avoid_flush_during_recovery && self.overrides.mode.is_none();
        let must_flush = replayed.damaged || replayed.has_changed_timestamps || replayed.has_read_blobs;
        let keep_wals = may_keep && replayed.files.is_empty() && !must_flush;
        self.trim_last_wal(found_wals)?;
        // If the open keeps the replayed WALs, they have the undecided parts, and the new WAL gets none.
        let needs_parts = self.components.write_policy.numbering() == Numbering::PerBatch && !keep_wals;
        let undecided = if needs_parts { encoded_parts(&replayed.prepared) } else { Vec::new() };
        // As in RocksDB, the SST files of the replay have smaller numbers than the new WAL.
        let written = self.write_replayed(shared, replayed.files, keep_wals, job)?;
        let sections_wal = (!undecided.is_empty()).then(|| WalNumber::of_file(tools.numbers.take()));
        let wal = WalNumber::of_file(tools.numbers.take());
        base::invariant!(
            found_wals.last().is_none_or(|last| *last < wal)
                && sections_wal.is_none_or(|sections| sections < wal),
            "the new WAL {} has a smaller number than an older WAL",
            wal
        );
        let oldest = found_wals.first().filter(|_| keep_wals).copied().unwrap_or(wal);
        let changes = recovery_changes(written, oldest);
        if keep_wals {
            keep_replayed(self, &wals, &replayed.extents, &replayed.proved)?;
        }
        let mut sections = replayed.prepared;
        if let Some(sections_wal) = sections_wal {
            wals.roll(sections_wal, None, wal_preallocate(o, families))?;
            append_parts_again(shared, &wals, &undecided)?;
            sections.iter_mut().for_each(|section| section.wal = sections_wal);
        }
        wals.roll(wal, None, wal_preallocate(o, families))?;
        base::invariant!(
            wals.active_number() == wal,
            "WAL {} was begun, and the active WAL is {}",
            wal,
            wals.active_number()
        );
        if replayed.stopped_at.is_some() {
            record_hole(shared, &wals)?;
        }
        if self.components.write_policy.numbering() == Numbering::PerEntry {
            sections
                .iter_mut()
                .try_for_each(|section| section.keep_families(|id| families.get(id).is_some()))?;
            append_again(shared, &wals, &mut sections)?;
        }
        committer.prepared().recover(sections);
        commit_recovery(&committer, &wals, changes, recovered, reuses)?;
        self.events.debug(format_args!(
            "[JOB {job}] The open writes to {} and {}",
            self.paths.manifest(committer.manifest_number()).display(),
            self.paths.wal(wals.active_number()).display()
        ));
        Ok(Logs { committer, wals, obsolete })
    }

    fn write_settings(&self, families: &FamilySet) -> WriteSettings {
        let o = &self.options;
        WriteSettings {
            pipelined: o.enable_pipelined_write || (o.unordered_write && !o.atomic_flush),
            concurrent_memtable: o.allow_concurrent_memtable_write,
            two_queues_pipelined: o.two_write_queues && o.enable_pipelined_write,
            atomic_flush: o.atomic_flush,
            recycles_wals: o.recycle_log_file_num > 0,
            numbering: self.components.write_policy.numbering(),
            manual_wal_flush: o.manual_wal_flush,
            rate_limiter: o.rate_limiter.clone(),
            group_bytes_max: o.max_write_batch_group_size_bytes,
            preallocate_bytes: wal_preallocate(o, families),
            yield_us_max: if o.enable_write_thread_adaptive_yield {
                o.write_thread_max_yield_usec
            } else {
                0
            },
            yield_us_slow: o.write_thread_slow_yield_usec,
        }
    }

    pub(super) fn reads(&self, shared: &Shared, unlogged: Arc<AtomicBool>) -> Reads {
        Reads {
            tables: shared.tables.clone(),
            sequence: shared.tools.sequence.clone(),
            clock: self.env.clock.clone(),
            unlogged,
            stats: shared.tools.stats.clone(),
            row_cache: self.options.row_cache.as_ref().map(|cache| {
                let statistics = shared.tools.stats.statistics().cloned();
                Arc::new(RowCache::new(cache.clone(), &shared.tools.db_session_id, statistics))
            }),
        }
    }

    /// Enters the executor. The threads of the executor free spare memory when the last database closes.
    pub(super) fn tenant(&self) -> Option<Tenant> {
        super::follow::tenant(&self.env)
    }

    /// Frees the space that the earlier session reserved after the end of the newest WAL.
    fn trim_last_wal(&self, wals: &[WalNumber]) -> Result<()> {
        let Some(last) = wals.last() else { return Ok(()) };
        let path = self.paths.wal(*last);
        let size = self.env.fs.file_size(&path)?;
        self.env.fs.truncate(&path, size)
    }

    /// Flushes the memtables of the replay, unless the WALs are kept. Returns the SST files of each column family, after
    /// the SST files that the replay wrote already.
    fn write_replayed(
        &self,
        shared: &Shared,
        files: Vec<(FamilyId, OutputFile)>,
        keep_wals: bool,
        job: JobId,
    ) -> Result<Vec<(Arc<Family>, Vec<OutputFile>)>> {
        let mut by_family: Vec<(FamilyId, Vec<OutputFile>)> = Vec::new();
        for (id, file) in files {
            match by_family.iter_mut().find(|(f, _)| *f == id) {
                Some((_, list)) => list.push(file),
                None => by_family.push((id, vec![file])),
            }
        }
        let mut written = Vec::new();
        for family in shared.families.all() {
            let mut own = Vec::new();
            if let Some(at) = by_family.iter().position(|(id, _)| *id == family.id()) {
                own = by_family.swap_remove(at).1;
            }
            if !keep_wals {
                own.extend(flush_family(&shared.tools, &shared.tables, job, &family)?);
            }
            written.push((family, own));
        }
        base::invariant!(
            by_family.is_empty(),
            "the replay wrote SST files for {} column families that do not exist",
            by_family.len()
        );
        Ok(written)
    }

    /// Deletes the orphan files, if the end of the MANIFEST was proved. Otherwise deletes only the files that this
    /// open made obsolete, and moves the orphan files to `lost/`. The open that creates the database leaves SST files that
    /// its directories already have. If the end of the MANIFEST is in doubt, the open
    /// deletes no file: it moves the obsolete MANIFEST and the replayed WALs to `lost/` too.
    fn sweep(
        &self,
        shared: &Shared,
        recovered: &Recovered,
        committer: &Committer,
        purge: &FilePurger,
        replayed: &[WalNumber],
    ) -> Result<()> {
        if recovered.end.is_in_doubt() {
            self.events.warn(format_args!(
                "MANIFEST-{:06} ends in the middle of a record; it and unreferenced files are kept",
                recovered.number
            ));
        }
        let tables = shared.families.all().into_iter().flat_map(|f| {
            let version = f.pin().version.clone();
            version.files().map(|(_, file)| file.number).collect::<Vec<_>>()
        });
        let blobs = shared.families.all().into_iter().flat_map(|f| {
            let version = f.pin().version.clone();
            version.blobs().keys().copied().collect::<Vec<_>>()
        });
        let oldest_wal = shared.families.all().iter().map(|f| f.state().wal_number).min().unwrap_or_default();
        let by_families = oldest_wal.max(committer.min_wal_to_keep());
        let live = Live {
            tables: tables.collect(),
            blobs: blobs.collect(),
            min_wal: committer.prepared().oldest_needed(by_families),
            manifest: committer.manifest_number(),
            newer_from: shared.tools.numbers.peek(),
            keep_info_logs: self.options.keep_log_file_num,
        };
        let family_dirs = family_dirs(&self.descriptors);
        let mut found = sweep(&*self.env.fs, &self.paths, &family_dirs, Some(&live))?;
        if has_no_files(recovered.next_file_number) {
            // Files of another database, whose options name the same directory.
            found.tables.clear();
            found.blobs.clear();
        }
        spare_files_of_others(&mut found, self, &shared.tools.db_id);
        match recovered.end {
            ManifestEnd::Torn | ManifestEnd::Unreadable { .. } | ManifestEnd::Lost(_) => {
                self.set_aside(&mut found, None, &[]);
                found.others.clear();
            }
            ManifestEnd::Complete => self.set_aside(&mut found, Some(recovered.number), replayed),
            ManifestEnd::Proved => {
                let now_s = self.env.clock.now_seconds();
                for dir in self.paths.all().into_iter().chain(family_dirs.iter().map(|dir| &**dir)) {
                    purge_lost(&*self.env.fs, dir, now_s);
                }
            }
        }
        purge.delete_swept(found);
        self.track_files(shared)
    }
}

impl Opening {
    /// Reports to the SST file manager all SST files and blob files, and the trash that an earlier process left.
    ///
    /// # Errors
    /// An error of listing a directory.
    fn track_files(&self, shared: &Shared) -> Result<()> {
        let Some(manager) = &self.options.sst_file_manager else { return Ok(()) };
        manager.set_statistics(self.options.statistics.clone());
        for family in shared.families.all() {
            let pin = family.pin_owned();
            for (_, file) in pin.version.files() {
                manager.on_add(&pin.parts.table_path(file.number, file.path_id), file.size);
            }
            for blob in pin.version.blobs().values() {
                manager.on_add(&pin.parts.blob_path(blob.number), blob.file_size());
            }
        }
        let dirs = family_dirs(&self.descriptors);
        self.paths.all_with(&dirs).into_iter().try_for_each(|dir| manager.collect_trash(dir))
    }
}

/// Returns one change for each column family with new SST files. `oldest` is the oldest WAL that is needed after these
/// changes.
fn recovery_changes(written: Vec<(Arc<Family>, Vec<OutputFile>)>, oldest: WalNumber) -> Vec<Change> {
    let mut changes = Vec::new();
    for (family, files) in written {
        if files.is_empty() {
            let mut state = family.state();
            state.wal_number = state.wal_number.max(oldest);
            continue;
        }
        let edit = crate::output::edit_of(files.iter());
        let immutable = ImmutableMemtable {
            mem: family.pin().mem.clone(),
            id: 0,
            next_wal: oldest,
            epoch: EpochNumber::UNKNOWN,
            together: false,
            flushing: true,
            charge: None,
            atomic_group: None,
        };
        let flushed = Some(FlushPick { memtables: vec![immutable] });
        // For a column family whose SST files have no timestamps, the flush raised `full_history_ts_low`.
        let raised = !family.parts().stored.timestamps;
        let full_history_ts_low = raised.then(|| family.state().full_history_ts_low.clone()).flatten();
        changes.push(Change { flushed, full_history_ts_low, ..Change::new(family, edit) });
    }
    changes
}

/// Makes the committer of this session. It continues the old MANIFEST, or its first commit starts a new MANIFEST. Returns true as the
/// second value if it continues the old MANIFEST.
fn new_committer(
    opening: &Opening,
    shared: &Shared,
    recovered: &Recovered,
    obsolete: &Arc<Obsolete>,
) -> (Arc<Committer>, bool) {
    let Shared { tools, families, .. } = shared;
    let settings = manifest_settings(&opening.options, &opening.paths);
    let reused = opening.reuse_manifest(recovered, families);
    let reuses = reused.is_some();
    let manifest = reused.unwrap_or_else(|| Manifest::new(opening.env.clone(), settings, recovered.number));
    base::invariant!(
        manifest.number() == recovered.number,
        "MANIFEST {} is continued, and MANIFEST {} was read",
        manifest.number(),
        recovered.number
    );
    let committer = Committer::new(
        manifest.with_stats(tools.stats.clone()),
        tools.numbers.clone(),
        families.clone(),
        tools.sequence.clone(),
        obsolete.clone(),
        opening.options.write_dbid_to_manifest.then(|| tools.db_id.clone()),
        recovered.min_log_number_to_keep,
    );
    (Arc::new(committer), reuses)
}

/// Makes the writer of this session.
fn new_writer(
    opening: &Opening,
    context: &JobContext,
    schedule: &Arc<Schedule>,
    jobs: &Jobs,
    reads: &Reads,
    unlogged: Arc<AtomicBool>,
) -> Result<Arc<Writer>> {
    sync_first(&context.wals, context.tools.direct.clone());
    let o = &opening.options;
    let buffers = o
        .write_buffer_manager
        .clone()
        .unwrap_or_else(|| Arc::new(WriteBufferManager::new(o.db_write_buffer_size, None, false)));
    Ok(Arc::new(Writer::new(WriterParts {
        env: opening.env.clone(),
        settings: opening.write_settings(&context.families),
        families: context.families.clone(),
        wals: context.wals.clone(),
        numbers: context.tools.numbers.clone(),
        recycle: context.recycle.clone(),
        sequence: context.tools.sequence.clone(),
        errors: context.errors.clone(),
        controller: context.controller.clone(),
        buffers,
        events: opening.events.clone(),
        flush_requests: schedule.clone(),
        faults: jobs.failures.clone(),
        wal_bytes_max: wal_bytes_max(o.max_total_wal_size, &context.families.all()),
        unlogged,
        merger: Arc::new(reads.clone()),
        stats: context.tools.stats.clone(),
        direct: context.tools.direct.clone(),
        low_pri: LowPriLimit::new(opening.env.clock.clone())?,
    })))
}

/// Lets other databases with the same write buffer manager request flushes of this database.
fn add_owner(options: &DbOptions, writer: &Arc<Writer>) {
    if let Some(shared) = &options.write_buffer_manager {
        let owner = Arc::downgrade(writer);
        shared.add_owner(owner);
    }
}

/// Adds the replayed WALs to the live WALs. Their entries stay unflushed.
fn keep_replayed(opening: &Opening, wals: &WalSet, replayed: &[Extent], proved: &[WalNumber]) -> Result<()> {
    base::invariant!(
        replayed.is_sorted_by(|older, newer| older.number < newer.number),
        "{} replayed WALs are not in the order of their numbers",
        replayed.len()
    );
    for whole in replayed {
        let wal = WalNumber::of_file(whole.number);
        let size = keep_wal(&opening.env, &opening.paths, whole, proved.contains(&wal))?;
        wals.add_recovered(wal, size, *whole);
    }
    Ok(())
}

/// Makes the new WAL and the changes of the recovery durable in the MANIFEST. `reuses`: this session continues the MANIFEST of
/// the earlier session.
fn commit_recovery(
    committer: &Committer,
    wals: &WalSet,
    changes: Vec<Change>,
    recovered: &Recovered,
    reuses: bool,
) -> Result<()> {
    // The MANIFEST names the oldest WAL that is needed, so the name of this WAL must be durable first.
    wals.sync_dir()?;
    committer.record_wal_numbers();
    if !changes.is_empty() {
        committer.commit(changes, Atomicity::Each)?;
    } else if !reuses {
        committer.roll(Vec::new())?;
    }
    if reuses && committer.manifest_number() == recovered.number {
        committer.continue_manifest(recovered.wals.clone())?;
    }
    base::invariant!(
        committer.min_wal_to_keep() <= wals.active_number(),
        "the MANIFEST keeps WALs from {} on, and the active WAL is {}",
        committer.min_wal_to_keep(),
        wals.active_number()
    );
    // Forget the MANIFEST of the earlier session: `sweep` decides whether it is deleted.
    committer.take_old_manifests();
    Ok(())
}

/// Writes prepared sections to the active WAL again and syncs it, so that the sections need no older WAL.
fn append_again(shared: &Shared, wals: &WalSet, sections: &mut [Section]) -> Result<()> {
    if sections.is_empty() {
        return Ok(());
    }
    let seq = shared.tools.sequence.visible() + 1;
    for section in sections {
        wals.append(&section.encoded(seq), seq, &shared.families.timestamped())?;
        section.wal = wals.active_number();
    }
    wals.sync()
}

/// Writes parts of sections to the active WAL, which has no other records, and syncs it. The entries of the parts
/// are in SST files, and each column family needs only newer WALs. So a replay of this WAL applies no entry.
fn append_parts_again(shared: &Shared, wals: &WalSet, parts: &[(SequenceNumber, Vec<u8>)]) -> Result<()> {
    for (seq, part) in parts {
        wals.append(part, *seq, &shared.families.timestamped())?;
    }
    wals.sync()
}

/// Writes an empty write batch after a replay that stopped at a hole.
fn record_hole(shared: &Shared, wals: &WalSet) -> Result<()> {
    // With this record, the next recovery finds the expected sequence number and continues after the hole.
    let mut record = Vec::new();
    format::batch::begin(&mut record);
    let next = shared.tools.sequence.visible() + 1;
    format::batch::set_sequence(&mut record, next);
    wals.append(&record, next, &[])?;
    wals.sync()
}
