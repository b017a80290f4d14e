//! Switches memtables and rolls the WAL, for the leader of a write group.
//!
//! The caller leads the writers, so no write is between its WAL append and its publication.

use base::{Result, SequenceNumber, WalNumber};
use mem::memtable::MemTable;
use mem::write_buffer::WriteBufferManager;

use super::FlushRequests;
use crate::apply::OwnMemtable;
use crate::event::{Event, Events, FlushReason, Named};
use crate::family::{Charge, Family, FamilySet, OwnImmutable, STATS_FAMILY};
use crate::files::{Numbers, Recycle};
use crate::sequence::LastSequence;
use crate::sync::Arc;
use crate::wal::WalSet;

/// The column families, the WALs, and the memory of the memtables, as the write path changes them.
pub(super) struct Switcher {
    pub families: Arc<FamilySet>,
    pub wals: Arc<WalSet>,
    pub numbers: Arc<Numbers>,
    pub recycle: Arc<Recycle>,
    pub sequence: Arc<LastSequence>,
    pub buffers: Arc<WriteBufferManager>,
    pub events: Arc<Events>,
    pub flush_requests: Arc<dyn FlushRequests>,
    /// True if all column families are flushed together.
    pub atomic_flush: bool,
    /// Bytes of a new WAL that are reserved in the file system.
    pub preallocate_bytes: u64,
}

impl Switcher {
    /// Returns the column families that have entries in memory.
    pub(super) fn with_data(&self) -> Vec<Arc<Family>> {
        let has_data = |f: &Arc<Family>| {
            let pin = f.pin();
            !pin.mem.is_empty() || !pin.imm.is_empty()
        };
        self.families.all().into_iter().filter(has_data).collect()
    }

    /// Rolls the WAL, switches the active memtables of these column families that are not empty, and requests a
    /// flush. `last_seq` is the newest sequence number.
    ///
    /// # Errors
    /// A failure to roll the WAL. Then no memtable is switched.
    pub(super) fn switch(
        &self,
        last_seq: SequenceNumber,
        victims: &[Arc<Family>],
        reason: FlushReason,
    ) -> Result<()> {
        base::invariant!(
            self.sequence.visible() <= last_seq,
            "memtables end at the sequence number {last_seq}, and readers see {} already",
            self.sequence.visible()
        );
        let mut victims = victims.to_vec();
        victims.extend(self.lagging_statistics(&victims, reason));
        if victims.iter().any(|f| !f.pin().mem.is_empty()) {
            self.roll_wal()?;
        }
        let wal = self.wals.active_number();
        base::invariant!(
            victims.iter().all(|family| family.state().wal_number <= wal),
            "a column family needs a WAL that is newer than the active WAL {wal}"
        );
        self.switch_after(last_seq, &victims, Vec::new(), wal);
        self.flush_requests.flush_due(&victims, reason);
        Ok(())
    }

    /// Returns the column family with the history of the statistics, if a flush of `victims` leaves the old WALs to it alone.
    /// It has few entries, so it would keep the WALs for a long time. As in RocksDB (`DBImpl::MaybeFlushStatsCF`), a flush that the
    /// write path starts counts the WALs that its victims need before the flush.
    fn lagging_statistics(&self, victims: &[Arc<Family>], reason: FlushReason) -> Option<Arc<Family>> {
        let statistics = self.families.by_name(STATS_FAMILY)?;
        let is_victim = |family: &Family| victims.iter().any(|victim| victim.id() == family.id());
        if victims.is_empty() || is_victim(&statistics) || statistics.pin().mem.is_empty() {
            return None;
        }
        let is_automatic = matches!(
            reason,
            FlushReason::WriteBufferFull | FlushReason::WriteBufferManager | FlushReason::WalFull
        );
        let oldest = statistics.state().wal_number;
        let needs_the_wal = |family: &Arc<Family>| {
            let needs_none = !is_automatic && is_victim(family);
            let state = family.state();
            let is_empty = state.mem.is_empty() && state.immutable_memtables.is_empty();
            !needs_none && !is_empty && state.wal_number <= oldest
        };
        let others = self.families.all();
        let mut others = others.iter().filter(|family| family.id() != statistics.id());
        (!others.any(needs_the_wal)).then_some(statistics)
    }

    /// Switches the memtables of these column families. Does not roll the WAL and does not request a flush.
    /// With `together`, no flush takes a memtable alone: all immutable memtables wait for one flush with one commit.
    pub(super) fn switch_quietly(&self, last_seq: SequenceNumber, victims: &[Arc<Family>], together: bool) {
        base::invariant!(
            self.sequence.visible() <= last_seq,
            "memtables end at the sequence number {last_seq}, and readers see {} already",
            self.sequence.visible()
        );
        if together {
            victims.iter().for_each(|family| family.state().reserve_together());
        }
        self.switch_all(last_seq, victims, Vec::new(), (self.wals.active_number(), together));
    }

    /// Switches the memtables of these column families. `last_seq` is the newest sequence number. `own` has filled memtables
    /// of some of the column families. `wal` is the oldest WAL that the new active memtables need.
    pub(super) fn switch_after(
        &self,
        last_seq: SequenceNumber,
        victims: &[Arc<Family>],
        own: Vec<OwnMemtable>,
        wal: WalNumber,
    ) {
        self.switch_all(last_seq, victims, own, (wal, false));
    }

    fn switch_all(
        &self,
        last_seq: SequenceNumber,
        victims: &[Arc<Family>],
        mut own: Vec<OwnMemtable>,
        (wal, together): (WalNumber, bool),
    ) {
        self.pass_empty_families(wal, victims);
        let group = self.atomic_flush.then(|| self.families.last_group() + 1);
        for family in victims {
            let own = own_of(&self.buffers, family, &mut own);
            self.switch_one(last_seq, family, own, (wal, together), group);
        }
        base::invariant!(
            own.is_empty(),
            "{} filled memtables belong to no column family that is switched",
            own.len()
        );
        if let Some(group) = group {
            self.families.group_switched(group);
        }
    }

    fn switch_one(
        &self,
        last_seq: SequenceNumber,
        family: &Arc<Family>,
        own: Option<OwnImmutable>,
        (wal, together): (WalNumber, bool),
        group: Option<u64>,
    ) {
        let mut state = family.state();
        if state.mem.is_empty() && own.is_none() {
            return;
        }
        // A filled memtable with the id of the active memtable takes its place.
        let active = own.as_ref().is_none_or(|own| own.mem.id() != state.mem_id).then(|| state.mem.clone());
        let switched = [active, own.as_ref().map(|own| own.mem.clone())];
        let newest_id = own.as_ref().map_or(state.mem_id, |own| own.mem.id());
        base::invariant!(
            newest_id >= state.mem_id,
            "the filled memtable {newest_id} is older than the active memtable {}",
            state.mem_id
        );
        let fresh = family.parts().new_memtable(newest_id + 1, last_seq);
        let charge = family.buffer_immutable(&self.buffers);
        match own {
            None => state.switch(fresh, wal, charge, group),
            Some(own) => {
                // Two memtables become immutable at once. The older one takes no writes from now on.
                state.mem.make_immutable();
                state.switch_with(own, fresh, wal, charge, group);
            }
        }
        if together {
            // Under the same lock: a flush that was queued before must not take the memtable.
            state.reserve_together();
        }
        let old_super_version = family.install(&mut state);
        let immutable_memtables = state.immutable_memtables.len();
        drop(state);
        drop(old_super_version);
        self.events.info(format_args!(
            "[{}] New memtable created with log file: #{}. Immutable memtables: {immutable_memtables}.",
            family.name(),
            wal.get()
        ));
        for old in switched.into_iter().flatten().filter(|mem| !mem.is_empty()) {
            self.report_switch(family, &old);
        }
    }

    fn report_switch(&self, family: &Family, old: &MemTable) {
        old.make_immutable();
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

    /// Records in each column family with an empty active memtable that it needs no WAL older than the active WAL after the
    /// flush of its immutable memtables. A memtable that became immutable before the WAL failed names the failed WAL.
    pub(super) fn pass_failed_wal(&self) {
        let wal = self.wals.active_number();
        self.families.all().iter().for_each(|family| family.state().need_no_wal_below(wal));
    }

    /// Records in each column family without data in memory that it needs no WAL older than `wal`. Skips the
    /// `victims`.
    pub(super) fn pass_empty_families(&self, wal: WalNumber, victims: &[Arc<Family>]) {
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
        let number = WalNumber::of_file(self.numbers.take());
        let recycled = self.recycle.take();
        self.wals.roll(number, recycled, self.preallocate_bytes)?;
        base::invariant!(
            self.wals.active_number() == number,
            "WAL {number} was begun, and the active WAL is {}",
            self.wals.active_number()
        );
        Ok(())
    }

    /// Writes these batches, which repeat prepared sections, to a WAL without other records, and starts a new WAL after it.
    /// Returns the WAL of the batches; `None` without batches.
    ///
    /// # Errors
    /// An error of the file system.
    pub(super) fn repeat_sections(&self, batches: &[(SequenceNumber, Vec<u8>)]) -> Result<Option<WalNumber>> {
        if batches.is_empty() {
            return Ok(None);
        }
        self.wals.mark_repeats();
        for (seq, batch) in batches {
            self.wals.append(batch, *seq, &self.families.timestamped())?;
        }
        let wal = self.wals.active_number();
        self.roll_wal()?;
        base::invariant!(
            wal < self.wals.active_number(),
            "WAL {wal} has prepared sections, and stays active"
        );
        Ok(Some(wal))
    }

    /// Frees the flushed memtables that exceed `max_write_buffer_size_to_maintain`; with `all`, all flushed
    /// memtables.
    pub(super) fn trim_histories(&self, all: bool) {
        let kept = |family: &Arc<Family>| !family.pin().history.is_empty();
        self.families.all().iter().filter(|family| kept(family)).for_each(|family| family.trim_history(all));
    }
}

/// Takes the own memtable of a column family, and reports its memory to the write-buffer manager.
fn own_of(
    buffers: &Arc<WriteBufferManager>,
    family: &Family,
    own: &mut Vec<OwnMemtable>,
) -> Option<OwnImmutable> {
    let at = own.iter().position(|(other, _)| other.id() == family.id())?;
    let (_, mem) = own.swap_remove(at);
    let bytes = mem.memory_used();
    let charged = buffers.enabled() || buffers.charges_cache();
    let charge = charged.then(|| {
        buffers.reserve(bytes);
        buffers.schedule_free(bytes);
        Arc::new(Charge { bytes, buffers: buffers.clone() })
    });
    Some(OwnImmutable { mem, charge })
}
