//! `compact_range`: flushes the range, then compacts it level by level, on the thread of the caller.

use std::panic::{AssertUnwindSafe, catch_unwind};

use base::stats::Uncounted;
use base::{Error, FamilyId, JobId, Level, Result, SequenceNumber, Subcode, key};
use lsm::cut::PartitionerContext;
use lsm::pick::manual::{Request, Step, plan};
use lsm::pick::score::Scores;
use lsm::pick::{BlobGc, Running, Style, View};
use lsm::version::Edit;
use table::sst::ReadCtx;

use super::compact::Compactions;
use super::context::JobContext;
use super::failures::Failures;
use super::flush::Flushes;
use super::purge::FilePurger;
use crate::commit::Change;
use crate::errors::caught;
use crate::event::FlushReason;
use crate::family::{Family, Parts};
use crate::ingest::{UserRange, overlaps_level, overlaps_memtables};
use crate::options::{BlobGarbageCollectionPolicy, BottommostLevelCompaction, CompactRangeOptions};
use crate::schedule::{Schedule, set_aside};
use crate::sync::{Arc, Flag, Ordering};

/// The work that a manual compaction did.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub struct ManualResult {
    pub steps: usize,
    pub bytes_written: u64,
}

/// Compactions and moves of files that a caller asks for. They run on the thread of the caller.
pub struct ManualCompactions {
    pub(super) context: Arc<JobContext>,
    pub(super) schedule: Arc<Schedule>,
    pub(super) purge: Arc<FilePurger>,
    pub(super) failures: Arc<Failures>,
    flushes: Arc<Flushes>,
    pub(super) compactions: Arc<Compactions>,
}

impl ManualCompactions {
    /// Returns the running compactions of a column family: the number of the job, and what the job reserves. Cost: one lock.
    pub fn running(&self, family: FamilyId) -> Vec<(JobId, Running)> {
        self.schedule.queues().compaction.reserved.get(&family).cloned().unwrap_or_default()
    }

    /// Makes the runner of manual compactions. `flushes` flushes the range first, and `compactions` runs each
    /// step.
    pub fn new(
        context: Arc<JobContext>,
        schedule: Arc<Schedule>,
        purge: Arc<FilePurger>,
        failures: Arc<Failures>,
        flushes: Arc<Flushes>,
        compactions: Arc<Compactions>,
    ) -> Self {
        Self { context, schedule, purge, failures, flushes, compactions }
    }

    /// Compacts the user keys in `[begin, end]`, which carry no timestamps. `None` is unbounded.
    ///
    /// # Errors
    /// InvalidArgument if the column family does not have the path, if `full_history_ts_low` is invalid, lower than
    /// the current value, or given with a range. NotSupported for `change_level` if files or compactions on other
    /// levels prevent the move. Incomplete if the compaction is canceled. CompactionTooLarge if the SST file manager has
    /// no space for the output files. Errors of the jobs.
    pub fn compact_range(
        &self,
        family: &Arc<Family>,
        begin: Option<&[u8]>,
        end: Option<&[u8]>,
        options: &CompactRangeOptions,
    ) -> Result<ManualResult> {
        self.compact(family, begin, end, options, None)
    }

    /// Rewrites all SST files of the column family without the entries and range tombstones whose timestamp is newer than
    /// `newest`. RocksDB: `DB::OpenAndTrimHistory`.
    ///
    /// An automatic compaction keeps the newer entries, and its output files would not be rewritten. So no automatic compaction
    /// runs during this call.
    ///
    /// # Errors
    /// InvalidArgument if `newest` does not have the length of a timestamp; errors of the jobs.
    pub fn trim_history(&self, family: &Arc<Family>, newest: &[u8]) -> Result<ManualResult> {
        let size = family.order().user.timestamp_size();
        if newest.len() != size || size == 0 {
            return Err(Error::invalid_argument(format!(
                "the timestamp to trim to has {} bytes; column family {} has timestamps of {size}",
                newest.len(),
                family.name()
            )));
        }
        let options = CompactRangeOptions {
            bottommost_level_compaction: BottommostLevelCompaction::ForceOptimized,
            exclusive_manual_compaction: true,
            ..CompactRangeOptions::default()
        };
        self.compact(family, None, None, &options, Some(newest))
    }

    fn compact(
        &self,
        family: &Arc<Family>,
        begin: Option<&[u8]>,
        end: Option<&[u8]>,
        options: &CompactRangeOptions,
        trim_timestamp: Option<&[u8]>,
    ) -> Result<ManualResult> {
        self.check_allowed(&options.canceled)?;
        let (paths, style) = {
            let parts = family.parts();
            (parts.pick.paths.len(), parts.pick.style)
        };
        if options.target_path_id as usize >= paths {
            return Err(Error::invalid_argument("Invalid target path ID"));
        }
        if options.change_level && style == Style::Fifo {
            return Err(Error::not_supported("FIFO compaction does not support change_level."));
        }
        if let Some(low) = options.full_history_ts_low.as_ref().filter(|low| !low.is_empty()) {
            if begin.is_some() || end.is_some() {
                return Err(Error::invalid_argument(
                    "Cannot specify compaction range with full_history_ts_low",
                ));
            }
            Self::check_history_ts(family, low)?;
            self.raise_full_history_ts_low(family, low)?;
        }
        let range = match (begin, end) {
            (Some(begin), Some(end)) => Some(UserRange::of_keys(family.order(), begin, end)),
            _ => None,
        };
        if self.needs_flush(family, range)? {
            let flushed = match options.allow_write_stall {
                true => vec![family.clone()],
                false => self.flushes.wait_for_stall_end(std::slice::from_ref(family))?,
            };
            self.flushes.flush_and_wait(&flushed, FlushReason::ManualCompaction)?;
        }
        let canceled = self.begin_manual(&options.canceled, options.exclusive_manual_compaction)?;
        let options = CompactRangeOptions { canceled: Some(canceled.clone()), ..options.clone() };
        let (begin, end) = family.with_timestamps(begin, end);
        let range = (begin.as_deref(), end.as_deref());
        let outcome =
            caught("a manual compaction", || self.all_levels(family, range, &options, trim_timestamp));
        self.end_manual(&canceled, options.exclusive_manual_compaction);
        self.schedule.reconsider(family);
        self.schedule.pool().notify();
        let (done, level) = self.with_abort_subcode(outcome)?;
        if let Some(level) = level.filter(|_| options.change_level) {
            // A running job could add files to the target level, or take the files of the source level.
            self.disable_manual();
            self.schedule.pause();
            let moved = caught("a move of files", || self.refit_level(family, level, options.target_level));
            self.schedule.unpause();
            self.enable_manual();
            moved?;
        }
        Ok(done)
    }

    /// Checks that a manual compaction may start now. Does not wait.
    ///
    /// # Errors
    /// Incomplete if manual compactions are disabled, if all compactions are aborted, or if the caller canceled this
    /// compaction.
    fn check_allowed(&self, canceled: &Option<Arc<Flag>>) -> Result<()> {
        let state = self.schedule.queues();
        let canceled = canceled.as_ref().is_some_and(|flag| flag.load(Ordering::Acquire));
        if state.manual.disabled > 0 || canceled {
            return Err(canceled_error());
        }
        state.check_abort()
    }

    /// Returns true if the memtables have entries in the range. Without a range, the memtables are always flushed.
    ///
    /// # Errors
    /// Errors of the memtables.
    fn needs_flush(&self, family: &Family, range: Option<UserRange>) -> Result<bool> {
        let Some(range) = range else { return Ok(true) };
        let pin = family.pin_owned();
        let immutable: Vec<_> =
            family.state().immutable_memtables.iter().map(|memtable| memtable.mem.clone()).collect();
        overlaps_memtables(family.order(), &pin, &immutable, [range])
    }

    /// Returns the first level that has entries in the range. With both ends, the SST files are read: a file whose keys
    /// are around the range does not count. A partition boundary inside of the range needs a compaction without entries,
    /// so the bounds of the files decide then. They also decide if an SST file cannot be read.
    fn first_level(&self, family: &Family, begin: Option<&[u8]>, end: Option<&[u8]>) -> Option<Level> {
        let pin = family.pin_owned();
        let version = &pin.version;
        let size = family.order().user.timestamp_size();
        let range = begin.zip(end).filter(|(begin, end)| !has_partition_boundary(&pin.parts, begin, end));
        let range = range.map(|(begin, end)| {
            let (begin, end) = (key::without_timestamp(begin, size), key::without_timestamp(end, size));
            UserRange::of_keys(family.order(), begin, end)
        });
        // The range has keys of many prefixes.
        let ctx = ReadCtx { fill_cache: false, total_order_seek: true, ..ReadCtx::default() };
        version.levels().find(|&level| {
            let read = range.as_ref().and_then(|range| {
                overlaps_level((version, level), (&self.context.tables, &pin.parts), range, &ctx).ok()
            });
            read.unwrap_or_else(|| version.overlaps(level, begin, end))
        })
    }

    /// Starts a manual compaction. Returns the flag that cancels it: the flag of the caller, if the caller
    /// passed one.
    pub(super) fn begin_manual(&self, canceled: &Option<Arc<Flag>>, exclusive: bool) -> Result<Arc<Flag>> {
        let canceled = canceled.clone().unwrap_or_default();
        self.schedule.pool().wait_until(|| {
            let mut state = self.schedule.queues();
            if state.closing {
                return Some(Err(Error::shutdown_in_progress("the database is closing")));
            }
            if let Err(error) = state.check_abort() {
                return Some(Err(error));
            }
            if state.manual.disabled > 0 || canceled.load(Ordering::Acquire) {
                return Some(Err(canceled_error()));
            }
            if state.manual.exclusive > 0 || (exclusive && state.manual.running > 0) {
                return None;
            }
            state.manual.running += 1;
            state.manual.exclusive += usize::from(exclusive);
            state.manual.flags.push(canceled.clone());
            base::invariant!(
                state.manual.exclusive <= 1 && (state.manual.exclusive == 0 || state.manual.running == 1),
                "{} manual compactions run concurrently with an exclusive compaction",
                state.manual.running
            );
            Some(Ok(()))
        })?;
        if exclusive {
            // No automatic compaction starts from now on. Wait for the compactions that have a slot.
            self.schedule.pool().wait_until(|| {
                let state = self.schedule.queues();
                // Close removes queued compactions from the pool, but their slots stay reserved.
                (state.closing || state.compaction.scheduled == 0).then_some(())
            });
        }
        Ok(canceled)
    }

    pub(super) fn end_manual(&self, canceled: &Arc<Flag>, exclusive: bool) {
        let mut state = self.schedule.queues();
        base::invariant!(
            state.manual.running > 0 && state.manual.exclusive >= usize::from(exclusive),
            "a manual compaction ends that did not begin"
        );
        state.manual.running -= 1;
        state.manual.exclusive -= usize::from(exclusive);
        if let Some(at) = state.manual.flags.iter().position(|flag| Arc::ptr_eq(flag, canceled)) {
            state.manual.flags.swap_remove(at);
        }
        self.schedule.start_due(&mut state);
        drop(state);
        self.schedule.pool().notify();
    }

    /// Cancels the running manual compactions, and rejects new manual compactions until
    /// [`ManualCompactions::enable_manual`] was called as often. Also sets the cancel flags that callers passed.
    /// Returns when no manual compaction runs.
    pub fn disable_manual(&self) {
        {
            let mut state = self.schedule.queues();
            state.manual.disabled += 1;
            state.manual.flags.iter().for_each(|flag| flag.store(true, Ordering::Release));
        }
        self.schedule.pool().notify();
        self.schedule.pool().wait_until(|| (self.schedule.queues().manual.running == 0).then_some(()));
    }

    /// Undoes one `disable_manual`. An extra call undoes the next `disable_manual`, as in RocksDB.
    pub fn enable_manual(&self) {
        let mut state = self.schedule.queues();
        state.manual.disabled -= 1;
    }

    /// Checks the timestamp of [`Self::raise_full_history_ts_low`].
    ///
    /// # Errors
    /// InvalidArgument if the column family has no timestamps, or if `low` does not have their length.
    pub fn check_history_ts(family: &Family, low: &[u8]) -> Result<()> {
        match family.order().user.timestamp_size() {
            0 => Err(Error::invalid_argument("Timestamp is not enabled in this column family")),
            size if size != low.len() => Err(Error::invalid_argument("ts_low size mismatch")),
            _ => Ok(()),
        }
    }

    /// Raises the oldest timestamp that must stay readable to `low`. Later compactions may drop older entries of a
    /// key below this timestamp. The new value is durable when the call returns.
    ///
    /// # Errors
    /// InvalidArgument if the column family has no timestamps, if `low` has another length, or if the current value
    /// is higher.
    pub fn raise_full_history_ts_low(&self, family: &Arc<Family>, low: &[u8]) -> Result<()> {
        let change = Change {
            full_history_ts_low: Some(low.to_vec()),
            ..Change::new(family.clone(), Edit::default())
        };
        let committed = self.context.committer.commit_one(change)?;
        self.purge.committed(&committed);
        // Memtables that waited for a higher `full_history_ts_low` may be flushed now.
        self.schedule.reconsider(family);
        Ok(())
    }

    /// Compacts the range from the first level that has files in it: level 0 to the base level, then level
    /// by level to the last level with files (with dynamic level sizes: to the last level). Returns the
    /// output level of the last step.
    fn all_levels(
        &self,
        family: &Arc<Family>,
        (begin, end): (Option<&[u8]>, Option<&[u8]>),
        options: &CompactRangeOptions,
        trim_timestamp: Option<&[u8]>,
    ) -> Result<(ManualResult, Option<Level>)> {
        let mut done = ManualResult::default();
        let parts = family.parts();
        let num_levels = family.pin().version.num_levels();
        let base = |level: Level| Request {
            begin: begin.map(<[u8]>::to_vec),
            end: end.map(<[u8]>::to_vec),
            input_level: level,
            output_path_id: options.target_path_id,
            max_subcompactions: options.max_subcompactions,
            blob_gc: blob_gc(options),
            trim_timestamp: trim_timestamp.map(<[u8]>::to_vec),
            ..Request::default()
        };
        if parts.pick.style == Style::Fifo {
            self.one_level(family, base(Level::ZERO), options, &mut done)?;
            return Ok((done, Some(Level::ZERO)));
        }
        if parts.pick.style == Style::Universal && num_levels > 1 {
            // All files together, to the last level. The range is not used.
            let last = parts.pick.last_output_level(&family.pin().version);
            let request = Request { all_levels: true, output_level: Some(last), ..base(Level::ZERO) };
            self.one_level(family, request, options, &mut done)?;
            return Ok((done, Some(last)));
        }
        let Some(first) = self.first_level(family, begin, end) else {
            return Ok((done, None));
        };
        if num_levels == 1 {
            self.one_level(family, base(Level::ZERO), options, &mut done)?;
            return Ok((done, Some(Level::ZERO)));
        }
        let made_from = self.context.tools.numbers.peek();
        let dynamic = parts.pick.sizes.level_compaction_dynamic_level_bytes;
        let mut level = first;
        loop {
            let last = {
                // Released before the compaction: a pinned version keeps its obsolete files.
                let pin = family.pin();
                let filled = pin.version.last_filled_level().unwrap_or_default();
                if dynamic { pin.version.last_level() } else { filled }
            };
            if level > Level::ZERO && level >= last {
                break;
            }
            let output = self.one_level(family, base(level), options, &mut done)?;
            level = match output {
                Some(output) => output,
                None if level == Level::ZERO => self.base_level(family),
                None => level.below(),
            };
        }
        let filter = parts.code.compaction_filter.is_some() || parts.code.compaction_filter_factory.is_some();
        let (rewrite, made_now_too) = match options.bottommost_level_compaction {
            BottommostLevelCompaction::Skip => (false, false),
            BottommostLevelCompaction::IfHaveCompactionFilter => (filter, false),
            BottommostLevelCompaction::Force => (true, true),
            BottommostLevelCompaction::ForceOptimized => (true, false),
        };
        if rewrite {
            let request = Request {
                output_level: Some(level),
                max_file_number: (!made_now_too).then_some(made_from),
                ..base(level)
            };
            self.one_level(family, request, options, &mut done)?;
        }
        Ok((done, Some(level)))
    }

    /// Returns the level that a compaction of level 0 writes to now.
    fn base_level(&self, family: &Family) -> Level {
        let pin = family.pin_owned();
        let view = View {
            version: &pin.version,
            running: &[],
            oldest_snapshot: SequenceNumber::ZERO,
            full_history_ts_low: None,
            young_after: None,
        };
        Scores::compute(&view, &pin.parts.pick, self.context.tools.env.clock.now_seconds())
            .base_level
            .max(Level::new(1))
    }

    /// Compacts the part of the range on one level, in steps. Returns the output level, or `None` if the level had no
    /// input files.
    fn one_level(
        &self,
        family: &Arc<Family>,
        mut request: Request,
        options: &CompactRangeOptions,
        done: &mut ManualResult,
    ) -> Result<Option<Level>> {
        let mut output_level = None;
        loop {
            self.check_canceled(options)?;
            let (job, rest) = match self.schedule.pool().wait_until(|| self.step(family, &request, options)) {
                Ok(Some(planned)) => planned,
                Ok(None) => return Ok(output_level),
                Err(error) => return Err(error),
            };
            output_level = Some(job.task.output.level);
            let limiter = family.options().compaction_thread_limiter.clone();
            let task = limiter.as_ref().and_then(|limiter| limiter.start(true));
            // RocksDB compacts in a background thread.
            let uncounted = Uncounted::begin();
            let compacted = self.compactions.compact_in_space(&job);
            drop((task, uncounted));
            self.schedule.release(&job);
            if let Err(error) = &compacted {
                self.compactions.compaction_failed(&job, error.clone());
            }
            drop(job);
            self.purge.purge();
            self.schedule.pool().notify();
            let compacted = compacted?;
            done.steps += 1;
            done.bytes_written += compacted.bytes_written;
            match rest {
                Some(rest) => request.begin = Some(rest),
                None => return Ok(output_level),
            }
        }
    }

    /// Plans the next step and reserves its files. Returns `None` while a running job has one of the files. Returns
    /// `Some(Ok(None))` if nothing is left to compact.
    #[allow(clippy::type_complexity)]
    fn step(
        &self,
        family: &Arc<Family>,
        request: &Request,
        options: &CompactRangeOptions,
    ) -> Option<Result<Option<(crate::compaction::Job, Option<Vec<u8>>)>>> {
        if let Err(error) = self
            .context
            .check_families(std::slice::from_ref(family))
            .and_then(|()| self.check_canceled(options))
        {
            return Some(Err(error));
        }
        if family.is_dropped() {
            return Some(Err(Error::column_family_dropped(family.name())));
        }
        let mut state = self.schedule.queues();
        if state.closing {
            return Some(Err(Error::shutdown_in_progress("the database is closing")));
        }
        let pin = family.pin_owned();
        let running = state.running_of(family.id());
        let ts_low = family.state().full_history_ts_low.clone();
        let view = View {
            version: &pin.version,
            running: &running,
            oldest_snapshot: self.schedule.oldest_snapshot(),
            full_history_ts_low: ts_low.as_deref(),
            young_after: None,
        };
        match plan(&view, &pin.parts.pick, request, self.context.tools.env.clock.now_seconds()) {
            Step::Nothing => Some(Ok(None)),
            // If no running job conflicts with the step, a quarantined file does. A wait would never end.
            Step::Conflict if running.is_empty() => quarantined(&pin.version, request).map(Err),
            Step::Conflict => None,
            Step::Do(task, rest) => {
                let job = self.schedule.reserve(&mut state, family, *task, options.canceled.clone());
                Some(Ok(Some((job, rest))))
            }
        }
    }

    fn check_canceled(&self, options: &CompactRangeOptions) -> Result<()> {
        match &options.canceled {
            Some(flag) if flag.load(Ordering::Acquire) => Err(canceled_error()),
            _ => Ok(()),
        }
    }
}

/// Returns true if the SST partitioner of the column family wants a boundary between two user keys.
fn has_partition_boundary(parts: &Parts, begin: &[u8], end: &[u8]) -> bool {
    let Some(factory) = &parts.code.partitioner_factory else { return false };
    let context = PartitionerContext {
        is_full_compaction: false,
        is_manual_compaction: true,
        output_level: None,
        smallest_user_key: begin,
        largest_user_key: end,
    };
    let ask = || {
        factory.create(&context).is_some_and(|mut partitioner| !partitioner.can_do_trivial_move(begin, end))
    };
    // A factory that panics fails the compaction later.
    catch_unwind(AssertUnwindSafe(ask)).unwrap_or(true)
}

/// Returns the error for a range that needs a quarantined file. The error names a quarantined file in the
/// range, or else a quarantined file that must be compacted together with the range.
fn quarantined(version: &lsm::version::Version, request: &Request) -> Option<Error> {
    let (begin, end) = (request.begin.as_deref(), request.end.as_deref());
    let mut inside = version.levels().flat_map(|level| version.overlapping(level, begin, end));
    let anywhere = || version.files().find(|(_, f)| f.is_quarantined()).map(|(_, f)| f.number);
    let number = inside.find(|f| f.is_quarantined()).map(|f| f.number).or_else(anywhere)?;
    Some(set_aside(number))
}

fn canceled_error() -> Error {
    Error::incomplete("the compaction was canceled").with_subcode(Subcode::ManualCompactionPaused)
}

/// Returns the handling of values in old blob files that the options of a manual compaction ask for. An age cutoff
/// outside of 0.0 to 1.0 means the option of the column family.
fn blob_gc(options: &CompactRangeOptions) -> BlobGc {
    let cutoff = options.blob_garbage_collection_age_cutoff;
    let cutoff = (0.0..=1.0).contains(&cutoff).then_some(cutoff);
    match (options.blob_garbage_collection_policy, cutoff) {
        (BlobGarbageCollectionPolicy::Force, cutoff) => BlobGc::Force(cutoff),
        (BlobGarbageCollectionPolicy::Disable, _) => BlobGc::Disable,
        (BlobGarbageCollectionPolicy::UseDefault, Some(cutoff)) => BlobGc::Cutoff(cutoff),
        (BlobGarbageCollectionPolicy::UseDefault, None) => BlobGc::Options,
    }
}
