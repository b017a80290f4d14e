//! Makes room before a group is appended to the WAL: switches full memtables, rolls the WAL, delays writers, keeps the pace of a flush, and
//! waits for the memory that several databases share ([`MemtableOwner`]).
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
        switch_for_memory(self, leader_state)?;
        if !self.switcher.buffers.should_stall() {
            return Ok(());
        }
        // Flushes may end while the memtables stay above the limit: the memory of the empty memtables alone can be above it. Then the
        // write continues, because no wait frees memory.
        let can_free = || {
            let own = flushes_can_free(&self.errors, &self.switcher.with_data());
            self.switcher.buffers.request_flushes(self) || own
        };
        if flags.no_slowdown {
            return if can_free() { Err(super::group::would_stall()) } else { Ok(()) };
        }
        if self.controller.is_closing() {
            return Err(Error::shutdown_in_progress("stalled writes"));
        }
        self.stats.database.add(DatabaseCounter::BufferManagerStops, 1);
        let start = self.env.clock.now_nanos();
        let ends = || {
            let waited_us = self.env.clock.nanos_since(start) / 1000;
            self.ends_wait_for_buffers().or_else(|| lacks_space(&self.errors, &self.errors.held(), waited_us))
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

/// Switches memtables because writers wait for memory. While the database has immutable memtables, and the flushes of all databases can
/// free enough, only requests these flushes: immutable memtables may wait for `min_write_buffer_number_to_merge`. Otherwise switches all
/// active memtables: the memtable that [`Writer::relieve_buffers`] switched may free too little, and readers may keep flushed memtables.
fn switch_for_memory(writer: &Writer, leader_state: &mut LeaderState) -> Result<()> {
    // Flushed memtables that are kept for reads of the history are freed without a flush.
    writer.switcher.trim_histories(true);
    let buffers = &writer.switcher.buffers;
    if !buffers.should_stall() {
        return Ok(());
    }
    let families = writer.switcher.with_data();
    let is_too_little = buffers.mutable_usage() >= buffers.buffer_size();
    let has_immutable = families.iter().any(|family| !family.pin().imm.is_empty());
    if (is_too_little || !has_immutable) && families.iter().any(|family| !family.pin().mem.is_empty()) {
        return writer.switch(leader_state, &families, FlushReason::WriteBufferManager);
    }
    let waiting: Vec<_> = families.into_iter().filter(lacks_request).collect();
    if !waiting.is_empty() {
        writer.switcher.flush_requests.flush_due(&waiting, FlushReason::WriteBufferManager);
    }
    Ok(())
}

/// Runs `f` as the leader before all waiting writers, if no leader works now.
fn lead_if_free(writer: &Writer, f: impl FnOnce(&mut LeaderState)) {
    if let Some(mut leader_state) = writer.queue.try_enter_ahead() {
        // A panic of `f` and a closed database leave the memtables as they are.
        let _ = writer.as_leader(&mut leader_state, f);
        writer.queue.leave_ahead(leader_state);
    }
}

/// Returns true if immutable memtables of the column family wait, and no flush is requested for them.
fn lacks_request(family: &Arc<Family>) -> bool {
    let state = family.state();
    !state.flush_requested && state.flush_due(1, None)
}

/// Returns false if each column family has an error that no resume tries to clear. Without such an error, a flush can free memory.
fn flushes_can_free(errors: &ErrorState, families: &[Arc<Family>]) -> bool {
    let lost = errors.unrecoverable();
    families.iter().any(|family| lost.iter().all(|(id, _)| *id != family.id()))
}

impl MemtableOwner for Writer {
    /// Switches no memtable while a leader works: this leader soon ends, or waits for the memory too and lends its lead. The stalled writer
    /// calls again. Switches no memtable while `lock_wal` has locked writes either.
    fn request_flush(&self) -> bool {
        let is_over = || self.controller.is_closing() || self.errors.ends_stalls(&[]).is_some();
        if self.closing.load(Ordering::Acquire) || is_over() {
            return false;
        }
        let mut families = self.switcher.with_data();
        if self.controller.is_locked() {
            families.retain(|family| !family.pin().imm.is_empty());
        } else {
            lead_if_free(self, |leader_state| {
                if !self.controller.is_locked() && !is_over() {
                    // A failure is a background error of this database: its own writers get it.
                    let _ = switch_for_memory(self, leader_state);
                }
            });
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
