//! The second phase of an ingestion: flush what overlaps, place the files, commit.
//!
//! ```text
//!  flush overlapping memtables ─► lead the writers ─► overlap again? ── yes ─► give up the lead, flush again
//!                                       │ no
//!                                       └─► sync WAL ─► place ─► reserve ranges ─► commit ─► publish ─► end of the lead
//! ```
//! The WAL is synced before the commit: otherwise a power failure could keep the files and lose older writes. While the
//! ranges are reserved, no compaction starts to write these ranges on these levels. Facts: RocksDB
//! `db/db_impl/db_impl.cc` (`IngestExternalFiles`).

use base::stats::{HistogramKind, PerfCounter, PerfTimer};
use base::{EpochNumber, Error, FileNumber, JobId, Level, Order, Result, SequenceNumber};
use lsm::file_meta::FileMetaData;
use lsm::pick::{Running, View};
use lsm::table_file::TableFile;
use lsm::version::{Edit, KeyRange};
use table::unique_id::UniqueId;

use super::context::JobContext;
use super::failures::Failures;
use super::flush::Flushes;
use super::purge::FilePurger;
use crate::commit::{Atomicity, Change};
use crate::event::{ErrorReason, Event, ExternalFileIngested, FlushReason};
use crate::family::{Family, NoConversions, SuperVersion};
use crate::ingest::{
    Placement, PlacementRequest, Prepared, PreparedFile, ReplaceRange, UserRange, note_timestamps,
    overlaps_memtables, place,
};
use crate::output::named;
use crate::schedule::Schedule;
use crate::sequence::Snapshots;
use crate::sync::{Arc, Ordering};
use crate::write::{ErrorSink, Writer, alone_unlocked};

/// How often overlapping memtables are flushed before the flush blocks all writers.
const FLUSHES_MAX: usize = 8;

/// How often files are placed without holding the lock of the queues. Later attempts hold the lock.
const PLACINGS_MAX: usize = 8;

/// A file ingested behind the existing data has this epoch number (RocksDB: `kReservedEpochNumberForFileIngestedBehind`).
const EPOCH_BEHIND: EpochNumber = EpochNumber::FIRST;

/// The places of the files of one column family, and the SST files that an atomic replace removes.
struct Placed {
    places: Vec<Placement>,
    replaced: Vec<(Level, Arc<TableFile>)>,
}

/// Places prepared SST files in the levels of their column families, and commits them.
pub struct Ingestions {
    context: Arc<JobContext>,
    schedule: Arc<Schedule>,
    purge: Arc<FilePurger>,
    failures: Arc<Failures>,
    flushes: Arc<Flushes>,
}

impl Ingestions {
    /// Makes the runner of ingestions. `flushes` flushes memtables whose keys overlap an ingested file.
    pub fn new(
        context: Arc<JobContext>,
        schedule: Arc<Schedule>,
        purge: Arc<FilePurger>,
        failures: Arc<Failures>,
        flushes: Arc<Flushes>,
    ) -> Self {
        Self { context, schedule, purge, failures, flushes }
    }

    /// Ingests prepared files into their column families, all in one commit. Returns when the files are visible.
    ///
    /// # Errors
    /// The background error; Aborted if this thread has called `lock_wal`; InvalidArgument if a flush is needed and
    /// `allow_blocking_flush` is not set; errors of [`place`]; errors of the WAL and the MANIFEST. After an error the database is as before.
    pub fn ingest(&self, mut jobs: Vec<Prepared>) -> Result<()> {
        let families: Vec<_> = jobs.iter().map(|job| job.family.clone()).collect();
        let Some(writer) = self.context.writer() else {
            return Err(Error::shutdown_in_progress("the database is closing"));
        };
        writer.controller().check_may_wait()?;
        for attempt in 0.. {
            self.context.check_families(&families)?;
            let overlapping = self.overlapping(&jobs)?;
            let block = attempt >= FLUSHES_MAX;
            if !overlapping.is_empty() && !block {
                self.flushes.flush_and_wait(&overlapping, FlushReason::ExternalFileIngestion)?;
            }
            let began = self.context.tools.stats.begin();
            let blocking = PerfTimer::start(PerfCounter::FileIngestionBlockingLiveWritesNanos);
            let ended = alone_unlocked(&writer, |leader| {
                let _conversions: Vec<_> = families.iter().map(NoConversions::new).collect();
                if block {
                    self.flush_as_leader(&writer, leader, &families)?;
                }
                if !self.overlapping(&jobs)?.is_empty() {
                    return Ok(false);
                }
                self.commit_ingestion(&mut jobs, &mut leader.last_seq).map(|()| true)
            })?;
            drop(blocking);
            if ended? {
                self.context.tools.stats.end(began, HistogramKind::IngestExternalFileRunTime);
                break;
            }
            if block {
                return Err(Error::try_again(
                    "Inconsistent memtable state detected when flushed before run.",
                ));
            }
        }
        self.ingested(&jobs);
        Ok(())
    }

    /// Returns the column families whose memtables have entries in the range of a file.
    fn overlapping(&self, jobs: &[Prepared]) -> Result<Vec<Arc<Family>>> {
        let mut found = Vec::new();
        for job in jobs {
            let family = &job.family;
            if family.is_dropped() {
                return Err(Error::column_family_dropped(family.name()));
            }
            let pin = family.pin_owned();
            let immutable: Vec<_> =
                family.state().immutable_memtables.iter().map(|memtable| memtable.mem.clone()).collect();
            let overlaps = match job.replace {
                Some(_) => !pin.mem.is_empty() || !immutable.is_empty(),
                None => {
                    let order = family.order();
                    let ranges = job.files.iter().map(|file| UserRange::of(order, &file.external));
                    overlaps_memtables(order, &pin, &immutable, ranges)?
                }
            };
            if !overlaps {
                continue;
            }
            if family.order().user.timestamp_size() > 0 {
                return Err(Error::invalid_argument(
                    "Column family enables user-defined timestamps, please make sure the key range (without timestamp) of \
                     external file does not overlap with key range in the memtables.",
                ));
            }
            if !job.options.allow_blocking_flush {
                return Err(Error::invalid_argument("External file requires flush"));
            }
            found.push(family.clone());
        }
        Ok(found)
    }

    /// Flushes while no writer can write. Used if writers fill the range again after each flush.
    fn flush_as_leader(
        &self,
        writer: &Writer,
        leader: &mut crate::write::group::LeaderState,
        families: &[Arc<Family>],
    ) -> Result<()> {
        writer.switch_as_leader(leader, families, FlushReason::ExternalFileIngestion)?;
        let ready = || {
            if let Err(error) = self.context.check_families(families) {
                return Some(Err(error));
            }
            if self.context.tools.shutting_down.load(Ordering::Acquire) {
                return Some(Err(Error::shutdown_in_progress("the database is closing")));
            }
            let flushed = families.iter().all(|f| f.is_dropped() || f.state().immutable_memtables.is_empty());
            flushed.then_some(Ok(()))
        };
        // Run no other job on this thread: the job may wait to become the leader, and this thread is the leader.
        match self.context.tools.env.executor.has_threads() {
            true => self.schedule.pool().wait_for_others(ready),
            false => self.schedule.pool().wait_until(ready),
        }
    }

    /// Places the files and commits. The caller is the leader, so no writer writes during the call.
    fn commit_ingestion(&self, jobs: &mut [Prepared], last_seq: &mut SequenceNumber) -> Result<()> {
        self.context.wals.sync().inspect_err(|error| self.failures.wal_found_failed(error))?;
        let reservation = self.context.tools.take_job_id();
        let mut newest = *last_seq;
        base::invariant!(
            self.context.tools.sequence.visible() <= *last_seq,
            "an ingestion begins after the sequence number {last_seq}, and readers see {} already",
            self.context.tools.sequence.visible()
        );
        let (mut changes, mut replaced) = (Vec::with_capacity(jobs.len()), Vec::new());
        let done = jobs.iter_mut().try_for_each(|job| {
            let placed = self.place_files(job, &mut newest, reservation)?;
            replaced.extend(placed.replaced.iter().map(|(_, file)| file.clone()));
            changes.push(self.change_of(job, &placed)?);
            Ok(())
        });
        changes.iter_mut().for_each(|change| change.ingested_at = Some(newest));
        // The new version has entries that are not visible yet. Without this, a compaction could drop the older entries
        // that a snapshot taken before the publish must see.
        let visible = self.context.tools.sequence.visible();
        let kept = Snapshots::keep(&self.context.tools.snapshots, visible);
        let done = done.and_then(|()| self.commit_changes(jobs, changes));
        match &done {
            Ok(()) => {
                base::invariant!(
                    *last_seq <= newest,
                    "an ingestion moves the last sequence number from {last_seq} to {newest}"
                );
                *last_seq = newest;
                self.context.tools.sequence.publish(newest);
            }
            Err(_) => {
                let _state = self.schedule.queues();
                replaced.iter().for_each(|file| file.set_being_compacted(false));
            }
        }
        drop(kept);
        self.unreserve(jobs, reservation);
        done
    }

    fn commit_changes(&self, jobs: &mut [Prepared], changes: Vec<Change>) -> Result<()> {
        base::invariant!(
            jobs.len() == changes.len(),
            "an ingestion into {} column families has {} changes",
            jobs.len(),
            changes.len()
        );
        match self.context.committer.commit(changes, Atomicity::AllOrNone) {
            Ok(committed) => {
                jobs.iter_mut().for_each(Prepared::keep_files);
                self.purge.committed(&committed);
                Ok(())
            }
            Err(error) => {
                // A later open may find the record in the MANIFEST.
                jobs.iter_mut().for_each(Prepared::keep_files);
                self.failures.failed(error.clone(), ErrorReason::ManifestWrite);
                Err(error)
            }
        }
    }

    /// Chooses the places of the files of one column family, and reserves their ranges.
    fn place_files(&self, job: &Prepared, newest: &mut SequenceNumber, reservation: JobId) -> Result<Placed> {
        let snapshots = self.context.tools.snapshots.count() > 0;
        for attempt in 0.. {
            let state = self.schedule.queues();
            let pin = job.family.pin_owned();
            let running = state.running_of(job.family.id());
            let held = (attempt >= PLACINGS_MAX).then_some(state);
            let request = PlacementRequest {
                prepared: job,
                view: View {
                    version: &pin.version,
                    running: &running,
                    oldest_snapshot: self.schedule.oldest_snapshot(),
                    full_history_ts_low: None,
                    young_after: None,
                },
                parts: &pin.parts,
                tables: &self.context.tables,
                last_seq: *newest,
                force_seq: job.options.snapshot_consistency && snapshots,
                now_s: self.context.tools.env.clock.now_seconds(),
            };
            let replaced = replaced_files(job, &pin, &running)?;
            let (places, last_seq) = place(&request)?;
            let mut state = held.unwrap_or_else(|| self.schedule.queues());
            let same = Arc::ptr_eq(&pin.version, &job.family.pin_owned().version);
            let taken = replaced.iter().any(|(_, file)| is_taken(file));
            if !same || taken || state.running_of(job.family.id()) != running {
                continue;
            }
            let own = state.compaction.reserved.entry(job.family.id()).or_default();
            own.extend(reserved(job, &places).map(|running| (reservation, running)));
            base::invariant!(
                replaced.iter().all(|(_, file)| !is_taken(file)),
                "one of {} files that an ingestion replaces is being compacted",
                replaced.len()
            );
            replaced.iter().for_each(|(_, file)| file.set_being_compacted(true));
            *newest = last_seq;
            return Ok(Placed { places, replaced });
        }
        unreachable!("the last attempt holds the lock")
    }

    fn unreserve(&self, jobs: &[Prepared], reservation: JobId) {
        let mut state = self.schedule.queues();
        jobs.iter().for_each(|job| state.unreserve(job.family.id(), reservation));
    }

    /// Returns the change of the version that adds the files of one column family.
    fn change_of(&self, job: &mut Prepared, placed: &Placed) -> Result<Change> {
        let now_s = self.context.tools.env.clock.now_seconds();
        let (write_seq, behind) = (job.options.write_global_seqno, job.options.ingest_behind);
        let keeps_seq = job.options.allow_db_generated_files;
        let mut edit = Edit {
            deleted: placed.replaced.iter().map(|(level, file)| (*level, file.number)).collect(),
            ..Edit::default()
        };
        base::invariant!(
            job.files.len() == placed.places.len(),
            "{} ingested files have {} places",
            job.files.len(),
            placed.places.len()
        );
        let family = job.family.clone();
        for (file, place) in job.files.iter_mut().zip(&placed.places) {
            if write_seq && file.external.stored_seq != place.seq {
                file.store_seq(&self.context.tools, place.seq)?;
            }
            let epoch = if behind { EPOCH_BEHIND } else { family.state().take_epoch() };
            let mut meta = meta_of(file, place, keeps_seq, &family.order().user);
            meta.epoch_number = epoch;
            (meta.times.oldest_ancester, meta.times.creation) = (now_s, now_s);
            edit.added.push((place.level, Arc::new(meta.into())));
        }
        // A snapshot does not see entries with newer sequence numbers.
        let keeps_older_snapshots = placed.replaced.is_empty()
            && !keeps_seq
            && placed.places.iter().all(|place| place.seq > SequenceNumber::ZERO);
        Ok(Change { keeps_older_snapshots, ..Change::new(family, edit) })
    }

    /// Finishes a committed ingestion: removes the external files, opens the tables, plans compactions, and emits events. As in
    /// RocksDB, a listener gets the change of a write stall before the event of the files that cause it.
    fn ingested(&self, jobs: &[Prepared]) {
        let pins: Vec<_> = jobs.iter().map(|job| job.family.pin_owned()).collect();
        for (job, pin) in jobs.iter().zip(&pins) {
            let last = pin.version.last_level();
            for file in &job.files {
                if job.options.move_files
                    && let Err(error) = self.context.tools.env.fs.unlink(&file.external.path)
                {
                    self.context.tools.events.warn(format_args!(
                        "the ingested file is in the database, but the original could not be removed: {error}"
                    ));
                }
            }
            let mut totals = job.family.stats.lock();
            totals.ingested.files += job.files.len() as u64;
            for file in &job.files {
                totals.ingested.bytes += file.external.size;
                totals.ingested.keys += file.external.properties.num_entries;
                let in_l0 = pin.version.level(Level::ZERO).position(file.pending.number).is_some();
                totals.ingested.l0_files += u64::from(in_l0);
            }
            drop(totals);
            for (level, meta) in pin.version.files() {
                let own = job.files.iter().any(|file| file.pending.number == meta.number);
                if own && (job.options.prefetch_lmax_index_and_filter_blocks || level != last) {
                    // Ignore errors: a read opens the table again, and reports the error.
                    let _ = self.context.tables.get(&pin.parts, level, meta);
                }
            }
        }
        jobs.iter().for_each(|job| self.schedule.reconsider(&job.family));
        for (job, pin) in jobs.iter().zip(&pins) {
            job.files.iter().for_each(|file| self.report_ingested(job, file, pin));
        }
        self.purge.schedule();
    }

    fn report_ingested(&self, job: &Prepared, file: &PreparedFile, pin: &SuperVersion) {
        let number = file.pending.number;
        let found = pin.version.files().find(|(_, meta)| meta.number == number);
        let (level, seq) =
            found.map_or((Level::ZERO, SequenceNumber::ZERO), |(level, meta)| (level, meta.largest_seq));
        let global_seqno = if job.options.allow_db_generated_files { SequenceNumber::ZERO } else { seq };
        self.context.tools.events.info(format_args!(
            "[AddFile] External SST file {} was ingested in {level} with path {} (global_seqno={global_seqno})",
            file.external.path.display(),
            file.path.display()
        ));
        self.context.tools.events.emit(&Event::ExternalFileIngested(ExternalFileIngested {
            family: named(&job.family),
            external_file_path: file.external.path.clone(),
            internal_file_path: file.path.clone(),
            level,
            global_seqno,
            properties: file.external.properties.clone(),
        }));
    }
}

/// Returns the reservation of the key ranges of placed files. It has the form of running compactions on the levels of
/// the files.
fn reserved<'a>(job: &'a Prepared, places: &'a [Placement]) -> impl Iterator<Item = Running> + 'a {
    base::invariant!(
        job.files.len() == places.len(),
        "{} files of an ingestion have {} places",
        job.files.len(),
        places.len()
    );
    job.files.iter().zip(places).map(|(file, place)| {
        let user = |internal: &[u8]| base::key::user_key(internal).to_vec();
        let bounds = Some((user(&file.external.smallest), user(&file.external.largest)));
        Running {
            start_level: place.level,
            output_level: place.level,
            range: KeyRange { bounds },
            manual: false,
            intra_l0: false,
            proximal: None,
        }
    })
}

/// Returns true if a job has the file. `delete_files_in_ranges` marks the files that it deletes, and is not among the
/// running compactions. A quarantined file is in no job.
fn is_taken(file: &TableFile) -> bool {
    file.being_compacted() && !file.is_quarantined()
}

/// Returns the SST files that an atomic replace removes.
fn replaced_files(
    job: &Prepared,
    pin: &SuperVersion,
    running: &[Running],
) -> Result<Vec<(Level, Arc<TableFile>)>> {
    let invalid = |words: &str| Err(Error::invalid_argument(words));
    let version = &pin.version;
    match &job.replace {
        None => Ok(Vec::new()),
        Some(ReplaceRange::All) if !running.is_empty() => {
            invalid("Atomic replace range (full) overlaps with pending compaction")
        }
        Some(ReplaceRange::All) if version.files().any(|(_, file)| is_taken(file)) => {
            invalid("Atomic replace range (full) overlaps with pending compaction")
        }
        Some(ReplaceRange::All) => Ok(version.files().map(|(level, file)| (level, file.clone())).collect()),
        Some(ReplaceRange::Keys { start, end }) => {
            let order = version.order();
            let own = KeyRange { bounds: Some((start.clone(), end.clone())) };
            if running.iter().any(|running| running.range.meets(order, &own)) {
                return invalid("Atomic replace range overlaps with pending compaction");
            }
            let mut found = Vec::new();
            for (level, file) in version.files() {
                let compare = |a: &[u8], b: &[u8]| order.user.compare_without_timestamp(a, b);
                let (first, last) = (file.smallest_user_key(), file.largest_user_key());
                let ends = compare(last, start);
                let before = ends.is_lt() || ends.is_eq() && file.largest_is_exclusive();
                if before || compare(first, end).is_ge() {
                    continue;
                }
                let inside = compare(last, end);
                let inside = inside.is_lt() || inside.is_eq() && file.largest_is_exclusive();
                if compare(first, start).is_lt() || !inside {
                    return invalid("Atomic replace range partially overlaps with existing file");
                }
                if is_taken(file) {
                    return invalid("Atomic replace range overlaps with pending compaction");
                }
                found.push((level, file.clone()));
            }
            Ok(found)
        }
    }
}

fn meta_of(file: &PreparedFile, place: &Placement, keeps_seq: bool, order: &Order) -> FileMetaData {
    let external = &file.external;
    let properties = &external.properties;
    let smallest = with_seq(&external.smallest, place.seq);
    let largest = with_seq(&external.largest, place.seq);
    let mut meta = FileMetaData::new(file.pending.number, external.size, &smallest, &largest);
    (meta.smallest_seq, meta.largest_seq) =
        if keeps_seq { (external.smallest_seq, external.largest_seq) } else { (place.seq, place.seq) };
    meta.marked_for_compaction = properties.num_range_deletions == 1 && properties.num_entries == 1;
    meta.unique_id = unique_id_of(properties);
    meta.tail_size = properties.tail_size(external.size);
    meta.temperature = file.temperature;
    meta.checksum.value = file.checksum.clone();
    meta.checksum.function = file.checksum_name.clone();
    note_timestamps(&mut meta, properties, order);
    meta
}

/// Returns the unique id of an SST file as the MANIFEST stores it, from the table properties. (0, 0): the file has no
/// id.
pub(super) fn unique_id_of(properties: &format::properties::Properties) -> [u64; 2] {
    let session = std::str::from_utf8(&properties.db_session_id).unwrap_or_default();
    let id = UniqueId::new(&properties.db_id, session, FileNumber::new(properties.original_file_number));
    id.map_or([0, 0], UniqueId::short)
}

/// Gives a boundary the global sequence number, if the sequence number of the boundary is 0.
fn with_seq(internal: &[u8], seq: SequenceNumber) -> Vec<u8> {
    let (user, own, value_type) = base::key::split(internal);
    let seq = if own.is_zero() { seq } else { own };
    let mut out = Vec::with_capacity(internal.len());
    base::key::append_with_trailer(&mut out, user, base::key::pack(seq, value_type));
    out
}
