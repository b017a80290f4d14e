//! Makes room before a group is appended to the WAL: switches full memtables, rolls the WAL, and delays writers.
//!
//! Only the leader switches memtables, and only between groups. So a batch is never split between two memtables of
//! a column family or between two WALs. [`FlushRequests`] passes the immutable memtables to the background jobs.

use base::stats::{Cause, HistogramKind, PerfCounter, PerfTimer, Step, Ticker, perf_add};
use base::{Error, FamilyId, Result, SequenceNumber};
use lsm::pressure;
use mem::memtable::MemTable;

use super::Writer;
use super::filled::own_of;
use super::group::{Flags, LeaderState};
use crate::apply::OwnMemtable;
use crate::event::{Event, FlushReason, Named};
use crate::family::{Family, SealedOwn};
use crate::stats::{DatabaseCounter, StallReason};
use crate::sync::{Arc, Ordering};

/// Receives the flush requests of the write path.
pub trait FlushRequests: Send + Sync {
    /// Requests a flush of these column families, which have immutable memtables.
    fn flush_due(&self, families: &[Arc<Family>], reason: FlushReason);
}

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
            self.switch_full(leader_state)?;
        }
        if self.wals.total_bytes() > self.wal_bytes_max.load(Ordering::Relaxed) {
            self.relieve_wals(leader_state)?;
        }
        if self.buffers.should_flush() || self.errors.is_partly_stopped() && self.buffers.should_stall() {
            self.relieve_buffers(leader_state)?;
        }
        time.stop();
        let give_up = |families: &[FamilyId], waited_us: u64| {
            self.errors.ends_stalls(families).or_else(|| self.lacks_space(families, waited_us))
        };
        match self.controller.admit(&self.env, &self.queue, leader_state, bytes, flags.no_slowdown, &give_up)
        {
            Ok(0) => {}
            Ok(held_us) => self.count_stall(held_us),
            Err(error) => return self.errors.check().and(Err(error)),
        }
        if self.buffers.should_stall() {
            self.wait_for_buffers(leader_state, flags)?;
        }
        self.errors.check()
    }

    #[cold]
    fn count_stall(&self, micros: u64) {
        self.stats.slow.stalled(&self.controller.reasons_of_wait(), micros);
        perf_add(PerfCounter::WriteDelayTime, micros * 1000);
        self.stats.database.add_alone(DatabaseCounter::StallMicros, micros);
        self.stats.add(Ticker::StallMicros, micros);
        self.stats.measure(HistogramKind::WriteStall, micros);
    }

    #[cold]
    fn switch_full(&self, leader_state: &mut LeaderState) -> Result<()> {
        self.memtable_full.store(false, Ordering::Relaxed);
        self.trim_histories(false);
        let mut reason = None;
        let full: Vec<_> = self
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
        let Some(reason) = reason else { return Ok(()) };
        let victims = if self.settings.atomic_flush { self.with_data() } else { full };
        self.seal(leader_state, &victims, reason)
    }

    /// Frees the flushed memtables that exceed `max_write_buffer_size_to_maintain`; with `all`, all flushed
    /// memtables.
    fn trim_histories(&self, all: bool) {
        let kept = |family: &Arc<Family>| !family.pin().history.is_empty();
        self.families.all().iter().filter(|family| kept(family)).for_each(|family| family.trim_history(all));
    }

    /// Flushes the column families that need the oldest WAL, because the WALs exceed their size limit. Does this
    /// once for each oldest WAL.
    #[cold]
    fn relieve_wals(&self, leader_state: &mut LeaderState) -> Result<()> {
        let Some((oldest, _)) = self.wals.list().first().copied() else { return Ok(()) };
        if self.relieved_wal.swap(oldest.0, Ordering::Relaxed) == oldest.0 {
            return Ok(());
        }
        let victims: Vec<_> = if self.settings.atomic_flush {
            self.with_data()
        } else {
            self.with_data().into_iter().filter(|f| f.state().wal_number <= oldest.0).collect()
        };
        let sealed = self.seal(leader_state, &victims, FlushReason::WalFull);
        if sealed.is_err() {
            self.relieved_wal.store(0, Ordering::Relaxed);
        }
        sealed
    }

    /// Switches memtables because the memtables of all databases use too much memory: the active memtable with the
    /// oldest entry, and the active memtables of all stopped column families. If the memtables of stopped column
    /// families stayed active, they would count as active memory, and each later write would switch another small
    /// memtable. If column families are stopped and writers would stall, switches all active memtables: stopped
    /// column families cannot free memory, so the others must.
    #[cold]
    fn relieve_buffers(&self, leader_state: &mut LeaderState) -> Result<()> {
        let candidates = self.with_data();
        if self.settings.atomic_flush {
            return self.seal(leader_state, &candidates, FlushReason::WriteBufferManager);
        }
        let held = self.errors.held();
        let active = candidates.into_iter().filter(|f| !f.pin().mem.is_empty());
        let (mut victims, others): (Vec<_>, Vec<_>) = active.partition(|f| held.contains(&f.id()));
        if !held.is_empty() && self.buffers.should_stall() {
            victims.extend(others);
        } else {
            victims.extend(others.into_iter().min_by_key(|f| f.pin().mem.first_seq()));
        }
        self.seal(leader_state, &victims, FlushReason::WriteBufferManager)
    }

    #[cold]
    fn wait_for_buffers(&self, leader_state: &mut LeaderState, flags: Flags) -> Result<()> {
        if flags.no_slowdown {
            return Err(super::group::would_stall());
        }
        // Free the flushed memtables that are kept for reads of the history. A wait for flushes would not free
        // their memory.
        self.trim_histories(true);
        if !self.buffers.should_stall() {
            return Ok(());
        }
        if self.controller.is_closing() {
            return Err(Error::shutdown_in_progress("stalled writes"));
        }
        self.stats.database.add(DatabaseCounter::BufferManagerStops, 1);
        let start = self.env.clock.now_nanos();
        let ends = || {
            let waited_us = self.env.clock.now_nanos().saturating_sub(start) / 1000;
            self.ends_wait_for_buffers().or_else(|| self.lacks_space(&self.errors.held(), waited_us))
        };
        let give_up = || self.controller.is_closing() || ends().is_some();
        let help = || self.env.executor.help() || self.env.executor.pass_time();
        let step = Step::begin_closed(Cause::Stall);
        self.queue.hold_back(leader_state, || self.buffers.wait_while_stalled(&give_up, &help));
        step.stop();
        let waited_us = self.env.clock.now_nanos().saturating_sub(start) / 1000;
        let trigger = pressure::Cause::WriteBufferManagerLimit;
        self.stats.slow.stalled(&[StallReason { family: None, trigger, stopped: true }], waited_us);
        match ends() {
            Some(error) if self.buffers.should_stall() => {
                self.errors.check().and(Err(Error::incomplete(error.to_string())))
            }
            _ if self.controller.is_closing() && self.buffers.should_stall() => {
                Err(Error::shutdown_in_progress("stalled writes"))
            }
            _ => Ok(()),
        }
    }

    /// Returns the error about missing space that ends the wait of a stalled writer after one second. If space
    /// comes back earlier, the resume clears the error, and the writer continues.
    fn lacks_space(&self, families: &[FamilyId], waited_us: u64) -> Option<Error> {
        const WAIT_US_MAX: u64 = 1_000_000;
        if waited_us > WAIT_US_MAX { self.errors.lacks_space(families) } else { None }
    }

    /// Returns the background error that ends a wait for memory. The wait ends when no flush can free
    /// memory: no resume can clear the error, and the stopped column families are all column families or
    /// hold the whole memory limit.
    fn ends_wait_for_buffers(&self) -> Option<Error> {
        let concerns_all = self.errors.ends_stalls(&[]);
        concerns_all.or_else(|| {
            let mut lost = self.errors.unrecoverable();
            let held =
                lost.iter().filter_map(|(id, _)| self.families.get(*id)).map(|family| family.buffered());
            if held.sum::<usize>() < self.buffers.buffer_size() {
                None
            } else {
                lost.pop().map(|(_, error)| error)
            }
        })
    }

    /// Returns the column families that have entries in memory.
    pub(super) fn with_data(&self) -> Vec<Arc<Family>> {
        let has_data = |f: &Arc<Family>| {
            let pin = f.pin();
            !pin.mem.is_empty() || !pin.imm.is_empty()
        };
        self.families.all().into_iter().filter(has_data).collect()
    }

    /// Rolls the WAL, switches the active memtables of these column families that are not empty, and requests a
    /// flush. Only the leader may call this function.
    ///
    /// # Errors
    /// A failure to roll the WAL. Then no memtable is switched.
    pub(super) fn seal(
        &self,
        leader_state: &mut LeaderState,
        victims: &[Arc<Family>],
        reason: FlushReason,
    ) -> Result<()> {
        let _step = Step::begin(Cause::MemtableSwitch);
        self.publisher.wait_for(leader_state.ticket);
        base::invariant!(
            self.sequence.visible() <= leader_state.last_seq,
            "memtables end at the sequence number {}, and readers see {} already",
            leader_state.last_seq,
            self.sequence.visible()
        );
        if victims.iter().any(|f| !f.pin().mem.is_empty()) {
            self.roll_wal()?;
        }
        let wal = self.wals.active_number().0;
        base::invariant!(
            victims.iter().all(|family| family.state().wal_number <= wal),
            "a column family needs a WAL that is newer than the active WAL {wal}"
        );
        self.switch_behind(leader_state.last_seq, victims, Vec::new(), wal);
        self.flush_requests.flush_due(victims, reason);
        Ok(())
    }

    /// Switches the memtables of these column families. Does not roll the WAL and does not request a flush.
    pub(super) fn switch_quietly(&self, leader_state: &LeaderState, victims: &[Arc<Family>]) {
        self.switch_behind(leader_state.last_seq, victims, Vec::new(), self.wals.active_number().0);
    }

    /// Switches these column families. `last_seq` is the newest sequence number. `own` has filled memtables of some
    /// of the column families. `wal` is the oldest WAL that the new active memtables need.
    pub(super) fn switch_behind(
        &self,
        last_seq: SequenceNumber,
        victims: &[Arc<Family>],
        mut own: Vec<OwnMemtable>,
        wal: u64,
    ) {
        self.pass_empty_families(wal, victims);
        let group = self.settings.atomic_flush.then(|| self.families.last_group() + 1);
        for family in victims {
            let own = own_of(&self.buffers, family, &mut own);
            self.switch_one(last_seq, family, own, wal, group);
        }
        base::invariant!(
            own.is_empty(),
            "{} filled memtables belong to no column family that is switched",
            own.len()
        );
        if let Some(group) = group {
            self.families.group_sealed(group);
        }
    }

    fn switch_one(
        &self,
        last_seq: SequenceNumber,
        family: &Arc<Family>,
        own: Option<SealedOwn>,
        wal: u64,
        group: Option<u64>,
    ) {
        let mut state = family.state();
        if state.mem.is_empty() && own.is_none() {
            return;
        }
        // A filled memtable with the id of the active memtable takes its place.
        let active = own.as_ref().is_none_or(|own| own.mem.id() != state.mem_id).then(|| state.mem.clone());
        let sealed = [active, own.as_ref().map(|own| own.mem.clone())];
        let newest_id = own.as_ref().map_or(state.mem_id, |own| own.mem.id());
        let fresh = family.parts().new_memtable(newest_id + 1, last_seq);
        let charge = family.buffer_immutable(&self.buffers);
        match own {
            None => state.seal(fresh, wal, charge, group),
            Some(own) => {
                // Two memtables become immutable at once. The older one takes no writes from now on.
                state.mem.seal();
                state.seal_with(own, fresh, wal, charge, group);
            }
        }
        let old_super_version = family.install(&mut state);
        drop(state);
        drop(old_super_version);
        for old in sealed.into_iter().flatten().filter(|sealed| !sealed.is_empty()) {
            self.report_switch(family, &old);
        }
    }

    fn report_switch(&self, family: &Family, old: &MemTable) {
        old.seal();
        if self.events.has_listeners() {
            let counts = old.counts();
            self.events.emit(&Event::MemtableSealed {
                family: Named { id: family.id(), name: family.name().to_string() },
                first_sequence: old.first_seq(),
                earliest_sequence: old.earliest_seq(),
                num_entries: counts.with_tombstones(),
                num_deletes: counts.deletes,
            });
        }
    }

    /// Records in each column family without data in memory that it needs no WAL older than `wal`. Skips the
    /// `victims`.
    pub(super) fn pass_empty_families(&self, wal: u64, victims: &[Arc<Family>]) {
        for family in self.families.all() {
            if victims.iter().any(|v| v.id() == family.id()) {
                continue;
            }
            let mut state = family.state();
            if state.mem.is_empty() && state.immutable_memtables.is_empty() {
                base::invariant!(
                    state.wal_number <= wal,
                    "{family:?} needs WAL {}, and the active WAL is {wal}",
                    state.wal_number
                );
                state.wal_number = state.wal_number.max(wal);
            }
        }
    }

    /// Rolls the WAL. Keeps the active WAL if it is empty and has not failed.
    pub(super) fn roll_wal(&self) -> Result<()> {
        if self.wals.active_is_empty() && !self.wals.is_poisoned() {
            return Ok(());
        }
        let number = self.numbers.take();
        let recycled = self.recycle.take();
        self.wals.roll(number, recycled, self.settings.preallocate_bytes)
    }
}

/// The default size limit of the WALs counts at most this many column families. RocksDB counts all column families:
/// with 10,000 column families, an idle column family with one entry kept 5 TB of WALs.
const FAMILIES_COUNTED: u64 = 8;

/// Returns the limit for the total size of all live WALs in bytes. If `option` is 0, the limit is four times the
/// size that all memtables may have. Of many column families, only the eight with the largest memtables count.
pub fn wal_bytes_max(option: u64, families: &[Arc<Family>]) -> u64 {
    if option > 0 {
        return option;
    }
    let buffers = families.iter().map(|f| {
        let parts = f.parts();
        parts.pick.write_buffer_size.saturating_mul(parts.pick.max_write_buffer_number as u64)
    });
    let (sum, largest) =
        buffers.fold((0u64, 0), |(sum, largest), bytes| (sum.saturating_add(bytes), bytes.max(largest)));
    sum.min(largest.saturating_mul(FAMILIES_COUNTED)).saturating_mul(4)
}
