//! Makes room before a group is appended to the WAL: switches full memtables, rolls the WAL, delays writers, and keeps the pace of a
//! flush.
//!
//! Only the leader switches memtables, and only between groups. So a batch is never split between two memtables of
//! a column family or between two WALs. [`FlushRequests`] passes the immutable memtables to the background jobs.

use base::stats::{
    Cause, HistogramKind, PerfCounter, PerfLevel, PerfTimer, Step, Ticker, perf_add, perf_timing,
};
use base::{Error, FamilyId, Result, WalNumber};
use lsm::pressure;
use mem::write_buffer::MemtableOwner;

use super::Writer;
use super::group::{Flags, LeaderState};
use crate::errors::ErrorState;
use crate::event::FlushReason;
use crate::family::Family;
use crate::stats::{DatabaseCounter, StallReason};
use crate::sync::{Arc, Ordering};

/// Receives the flush requests of the write path.
pub trait FlushRequests: Send + Sync {
    /// Requests a flush of these column families, which have immutable memtables.
    fn flush_due(&self, families: &[Arc<Family>], reason: FlushReason);

    /// Requests a job that searches for empty key ranges after many deletions.
    fn look_for_empty_ranges(&self);
}

/// The length of one sleep in a pause for a flush, in microseconds.
const PAUSE_STEP_US: u64 = 500;
/// A write group of this many bytes pauses for at most [`PAUSE_US`]; a larger group pauses longer.
const PACED_BYTES_PER_PAUSE: u64 = 16 << 10;
/// The longest pause of a small write group.
const PAUSE_US: u64 = 5_000;
/// The longest pause of any write group.
const PAUSE_US_MAX: u64 = 50_000;

impl Writer {
    /// Makes room for a group of `bytes`, or waits for room.
    ///
    /// # Errors
    /// The background error, if it stops all column families. Incomplete, if the group would have to wait and has
    /// `no_slowdown`, or if a background error ends the wait. A failure to roll the WAL.
    #[inline]
    pub(super) fn ensure_room(&self, leader_state: &mut LeaderState, bytes: u64, flags: Flags) -> Result<()> {
        self.errors.check()?;
        if self.controller.has_locks() {
            let flags = flags.no_slowdown;
            let held_us = self.controller.hold_while_locked(&self.env, &self.queue, leader_state, flags)?;
            self.count_stall(held_us);
            self.errors.check()?;
        }
        let time = PerfTimer::start(PerfCounter::WriteSchedulingFlushesCompactionsTime);
        if self.memtable_full.load(Ordering::Relaxed) {
            self.switch_full(leader_state, bytes, flags)?;
        }
        if self.switcher.wals.total_bytes() > self.wal_bytes_max.load(Ordering::Relaxed) {
            self.relieve_wals(leader_state)?;
        }
        if self.switcher.buffers.should_flush()
            || self.errors.is_partly_stopped() && self.switcher.buffers.should_stall()
        {
            self.relieve_buffers(leader_state)?;
        }
        time.stop();
        let ends_wait = |families: &[FamilyId], waited_us: u64| {
            self.errors.ends_stalls(families).or_else(|| lacks_space(&self.errors, families, waited_us))
        };
        match self.controller.admit(
            &self.env,
            &self.queue,
            leader_state,
            bytes,
            flags.no_slowdown,
            &ends_wait,
        ) {
            Ok(0) => {}
            Ok(held_us) => self.count_stall(held_us),
            Err(error) => return self.errors.check().and(Err(error)),
        }
        if self.switcher.buffers.should_stall() {
            self.wait_for_buffers(leader_state, flags)?;
        }
        self.errors.check()
    }

    #[cold]
    fn count_stall(&self, micros: u64) {
        self.record_stall(&self.controller.reasons_of_wait(), micros);
    }

    fn record_stall(&self, reasons: &[StallReason], micros: u64) {
        self.stats.slow.stalled(reasons, micros);
        if perf_timing(PerfLevel::EnableWait) {
            perf_add(PerfCounter::WriteDelayTime, micros * 1000);
        }
        self.stats.database.add_alone(DatabaseCounter::StallMicros, micros);
        self.stats.add(Ticker::StallMicros, micros);
        self.stats.measure(HistogramKind::WriteStall, micros);
    }

    /// Switches the full memtables. If no memtable is full, a memtable is ahead of a flush: the group pauses.
    #[cold]
    fn switch_full(&self, leader_state: &mut LeaderState, bytes: u64, flags: Flags) -> Result<()> {
        self.memtable_full.store(false, Ordering::Relaxed);
        self.switcher.trim_histories(false);
        let mut reason = None;
        let full: Vec<_> = self
            .switcher
            .families
            .all()
            .into_iter()
            .filter(|f| {
                let pin = f.pin();
                let why = pin.parts.is_full(&pin.mem);
                reason = reason.or(why);
                why.is_some()
            })
            .collect();
        let Some(reason) = reason else {
            if !flags.no_slowdown {
                keep_pace(self, bytes);
            }
            return Ok(());
        };
        let victims = if self.settings.atomic_flush { self.switcher.with_data() } else { full };
        self.switch(leader_state, &victims, reason)
    }

    /// Flushes the column families that need the oldest WAL, because the WALs exceed their size limit. Does this
    /// once for each oldest WAL.
    #[cold]
    fn relieve_wals(&self, leader_state: &mut LeaderState) -> Result<()> {
        let Some((oldest, _)) = self.switcher.wals.list().first().copied() else { return Ok(()) };
        base::invariant!(
            oldest <= self.switcher.wals.active_number(),
            "the oldest WAL {oldest} is newer than the active WAL {}",
            self.switcher.wals.active_number()
        );
        if self.relieved_wal.swap(oldest) == oldest {
            return Ok(());
        }
        let victims: Vec<_> = if self.settings.atomic_flush {
            self.switcher.with_data()
        } else {
            self.switcher.with_data().into_iter().filter(|f| f.state().wal_number <= oldest).collect()
        };
        let switched = self.switch(leader_state, &victims, FlushReason::WalFull);
        if switched.is_err() {
            self.relieved_wal.swap(WalNumber::ZERO);
        }
        switched
    }

    /// Switches memtables because the memtables of all databases use too much memory: the active memtable with the
    /// oldest entry, and the active memtables of all stopped column families. If the memtables of stopped column
    /// families stayed active, they would count as active memory, and each later write would switch another small
    /// memtable. If column families are stopped and writers would stall, switches all active memtables: stopped
    /// column families cannot free memory, so the others must.
    #[cold]
    fn relieve_buffers(&self, leader_state: &mut LeaderState) -> Result<()> {
        let candidates = self.switcher.with_data();
        if self.settings.atomic_flush {
            return self.switch(leader_state, &candidates, FlushReason::WriteBufferManager);
        }
        let held = self.errors.held();
        let active = candidates.into_iter().filter(|f| !f.pin().mem.is_empty());
        let (mut victims, others): (Vec<_>, Vec<_>) = active.partition(|f| held.contains(&f.id()));
        if !held.is_empty() && self.switcher.buffers.should_stall() {
            victims.extend(others);
        } else {
            victims.extend(others.into_iter().min_by_key(|f| f.pin().mem.first_seq()));
        }
        self.switch(leader_state, &victims, FlushReason::WriteBufferManager)
    }

    #[cold]
    fn wait_for_buffers(&self, leader_state: &mut LeaderState, flags: Flags) -> Result<()> {
        if flags.no_slowdown {
            return Err(super::group::would_stall());
        }
        // Free the flushed memtables that are kept for reads of the history. A wait for flushes would not free
        // their memory.
        self.switcher.trim_histories(true);
        if !self.switcher.buffers.should_stall() {
            return Ok(());
        }
        if self.controller.is_closing() {
            return Err(Error::shutdown_in_progress("stalled writes"));
        }
        // The memtable that was switched last may be too small, and immutable memtables may wait for others to be flushed with.
        let families = self.switcher.with_data();
        if families.iter().any(waits_for_flush) {
            self.switch(leader_state, &families, FlushReason::WriteBufferManager)?;
        }
        self.stats.database.add(DatabaseCounter::BufferManagerStops, 1);
        let start = self.env.clock.now_nanos();
        let ends = || {
            let waited_us = self.env.clock.nanos_since(start) / 1000;
            self.ends_wait_for_buffers().or_else(|| lacks_space(&self.errors, &self.errors.held(), waited_us))
        };
        // Flushes may end while the memtables stay above the limit: the memory of the empty memtables alone can be above it. Then the writer
        // goes on, because no wait frees memory.
        let can_free = || {
            let own = flushes_can_free(&self.errors, &self.switcher.with_data());
            self.switcher.buffers.request_flushes(self) || own
        };
        let is_over = || self.controller.is_closing() || ends().is_some() || !can_free();
        let help = || self.env.executor.help() || self.env.executor.pass_time();
        let step = Step::begin_closed(Cause::Stall);
        self.queue.hold_back(leader_state, || self.switcher.buffers.wait_while_stalled(&is_over, &help));
        step.stop();
        let waited_us = self.env.clock.nanos_since(start) / 1000;
        let trigger = pressure::Cause::WriteBufferManagerLimit;
        self.stats.slow.stalled(&[StallReason { family: None, trigger, stopped: true }], waited_us);
        match ends() {
            Some(error) if self.switcher.buffers.should_stall() => {
                self.errors.check().and(Err(Error::incomplete(error.to_string())))
            }
            _ if self.controller.is_closing() && self.switcher.buffers.should_stall() => {
                Err(Error::shutdown_in_progress("stalled writes"))
            }
            _ => Ok(()),
        }
    }

    /// Returns the background error that ends a wait for memory. The wait ends when no flush can free
    /// memory: no resume can clear the error, and the stopped column families are all column families or
    /// hold the whole memory limit.
    fn ends_wait_for_buffers(&self) -> Option<Error> {
        let concerns_all = self.errors.ends_stalls(&[]);
        concerns_all.or_else(|| {
            let mut lost = self.errors.unrecoverable();
            let held = lost
                .iter()
                .filter_map(|(id, _)| self.switcher.families.get(*id))
                .map(|family| family.buffered());
            if held.sum::<usize>() < self.switcher.buffers.buffer_size() {
                None
            } else {
                lost.pop().map(|(_, error)| error)
            }
        })
    }
}

/// Returns true if the column family has entries in memory for which no flush is requested.
fn waits_for_flush(family: &Arc<Family>) -> bool {
    let state = family.state();
    !state.mem.is_empty() || !state.flush_requested && state.flush_due(1, None)
}

/// Returns true if flushes of these column families, which have entries in memory, can free memory: at least one of them has no error
/// that no resume is trying to clear.
fn flushes_can_free(errors: &ErrorState, families: &[Arc<Family>]) -> bool {
    let lost = errors.unrecoverable();
    families.iter().any(|family| lost.iter().all(|(id, _)| *id != family.id()))
}

impl MemtableOwner for Writer {
    /// Leads before all waiting writers: the leader may wait for the memory too. Switches no memtable while `lock_wal` has locked writes.
    fn request_flush(&self) -> bool {
        if self.closing.load(Ordering::Acquire)
            || self.controller.is_closing()
            || self.errors.check().is_err()
        {
            return false;
        }
        self.switcher.trim_histories(true);
        let families = self.switcher.with_data();
        if families.iter().any(waits_for_flush) && !self.controller.has_locks() {
            let reason = FlushReason::WriteBufferManager;
            // A failure is a background error of this database: its own writers get it.
            let _ = self.alone_ahead(|leader_state| self.switch_as_leader(leader_state, &families, reason));
        }
        flushes_can_free(&self.errors, &families)
    }
}

/// Pauses while the active memtable of a column family is ahead of the flush that the writers would have to wait for. The pause
/// is short, also if the flush does not advance: the rest of the active memtable takes the writes.
fn keep_pace(writer: &Writer, bytes: u64) {
    let families = writer.switcher.families.all();
    let ahead =
        || families.iter().find(|family| family.flush_pace().is_ahead(family.pin().mem.memory_used()));
    let Some(first) = ahead() else { return };
    let start = writer.env.clock.now_nanos();
    let waited_us = || writer.env.clock.nanos_since(start) / 1000;
    let step = Step::begin_closed(Cause::Stall);
    let pause_us = (bytes / PACED_BYTES_PER_PAUSE + 1).saturating_mul(PAUSE_US).min(PAUSE_US_MAX);
    while waited_us() < pause_us && ahead().is_some() && !writer.controller.is_closing() {
        writer.env.clock.sleep_micros(PAUSE_STEP_US);
    }
    step.stop();
    let trigger = pressure::Cause::MemtableLimit;
    let reason = StallReason { family: Some(first.id()), trigger, stopped: false };
    writer.record_stall(&[reason], waited_us());
}

/// Returns the error about missing space that ends the wait of a stalled writer after one second. If space
/// comes back earlier, the resume clears the error, and the writer continues.
fn lacks_space(errors: &ErrorState, families: &[FamilyId], waited_us: u64) -> Option<Error> {
    const WAIT_US_MAX: u64 = 1_000_000;
    if waited_us > WAIT_US_MAX { errors.lacks_space(families) } else { None }
}

/// The default size limit of the WALs counts at most this many column families. RocksDB counts all column families:
/// with 10,000 column families, an idle column family with one entry kept 5 TB of WALs.
const FAMILIES_COUNTED: u64 = 8;

/// Returns the limit for the total size of all live WALs in bytes. If `option` is 0, the limit is four times the
/// size that all memtables may have. Of many column families, only the eight with the largest memtables count. A database
/// with one column family has no limit, as in RocksDB: a flush by `write_buffer_size` makes all its WALs obsolete.
pub fn wal_bytes_max(option: u64, families: &[Arc<Family>]) -> u64 {
    if families.len() < 2 {
        return u64::MAX;
    }
    if option > 0 {
        return option;
    }
    let buffers = families.iter().map(|f| {
        let parts = f.parts();
        parts.pick.buffers.write_buffer_size.saturating_mul(parts.pick.buffers.max_write_buffer_number as u64)
    });
    let (sum, largest) =
        buffers.fold((0u64, 0), |(sum, largest), bytes| (sum.saturating_add(bytes), bytes.max(largest)));
    sum.min(largest.saturating_mul(FAMILIES_COUNTED)).saturating_mul(4)
}
