//! The part of a column family that jobs change, under its lock.

use base::key::InternalOrder;
use base::{EpochNumber, SequenceNumber, WalNumber};
use lsm::version::{Edit, Version};
use mem::memtable::MemTable;
use mem::write_buffer::WriteBufferManager;

use super::{Era, Last, Parts};
use crate::sync::{Arc, Weak};

/// A memtable that takes no more writes and waits for its flush.
#[derive(Clone)]
pub struct ImmutableMemtable {
    pub mem: Arc<MemTable>,
    /// Each memtable of the column family has a larger id than the memtable before.
    pub id: u64,
    /// The WAL that was started when this memtable became immutable. After the flush of this memtable, the
    /// column family needs no older WAL.
    pub next_wal: WalNumber,
    /// The epoch number of its SST file in level 0. A switch assigns it, so files of concurrent flushes are in the
    /// order of their memtables. 0 means that the flush assigns the epoch number, as in a recovery.
    pub epoch: EpochNumber,
    /// Set if this immutable memtable must be flushed in one commit with memtables of other column
    /// families. Only one flush takes it: the flush with `force_atomic_flush`, until this flush fails, or
    /// the flush of a resume after a failed WAL, until this flush succeeds.
    pub together: bool,
    /// True if a flush job has taken the memtable.
    pub flushing: bool,
    /// The memory that is charged for the memtable. The last owner releases it.
    pub charge: Option<Arc<Charge>>,
    /// With `atomic_flush`: memtables of different column families with one group number are flushed in one
    /// commit. See [`super::FamilySet::last_group`].
    pub atomic_group: Option<u64>,
}

/// The memory that the write buffer manager counts for an immutable memtable.
pub struct Charge {
    pub bytes: usize,
    pub buffers: Arc<WriteBufferManager>,
}

impl Drop for Charge {
    fn drop(&mut self) {
        self.buffers.free(self.bytes);
    }
}

/// A memtable that was filled apart from the active memtable.
pub struct OwnImmutable {
    pub mem: Arc<MemTable>,
    pub charge: Option<Arc<Charge>>,
}

/// The memtables of one flush, oldest first.
pub struct FlushPick {
    pub memtables: Vec<ImmutableMemtable>,
}

impl FlushPick {
    /// Returns the id of the newest memtable, or 0 if the flush has no memtable.
    pub fn newest_id(&self) -> u64 {
        base::invariant!(
            self.memtables.is_sorted_by(|a, b| a.id < b.id),
            "the memtables of a flush are not in the order of their ids"
        );
        self.memtables.last().map_or(0, |m| m.id)
    }

    /// Returns the epoch number of the SST file of these memtables. It is unknown if none was assigned.
    pub fn epoch(&self) -> EpochNumber {
        base::invariant!(
            self.memtables.is_sorted_by(|a, b| a.epoch < b.epoch),
            "the epoch numbers of the memtables of a flush do not ascend"
        );
        self.memtables.last().map_or(EpochNumber::UNKNOWN, |m| m.epoch)
    }

    /// Returns the oldest timestamp that can be read after these memtables are an SST file, if SST files have no
    /// timestamps: the timestamp after the newest timestamp. RocksDB: `MaybeIncreaseFullHistoryTsLowToAboveCutoffUDT`.
    pub fn history_mark(&self, parts: &Parts) -> Option<Vec<u8>> {
        if parts.stored.timestamps {
            return None;
        }
        let newest = self.memtables.iter().filter_map(|immutable| immutable.mem.newest_timestamp()).max()?;
        Some(newest.saturating_add(1).to_le_bytes().to_vec())
    }

    /// Returns the oldest WAL that the column family needs after these memtables are flushed.
    pub fn next_wal(&self) -> WalNumber {
        base::invariant!(
            self.memtables.is_sorted_by(|a, b| a.next_wal <= b.next_wal || b.next_wal == WalNumber::ZERO),
            "a newer memtable of a flush needs an older WAL"
        );
        self.memtables.last().map_or(WalNumber::ZERO, |m| m.next_wal)
    }
}

/// The state of one column family, under the lock of [`super::Family`].
pub struct State {
    pub mem: Arc<MemTable>,
    pub mem_id: u64,
    /// Oldest first.
    pub immutable_memtables: Vec<ImmutableMemtable>,
    /// The newest flushed memtables, which are kept for `max_write_buffer_size_to_maintain`, oldest first.
    pub history: Vec<ImmutableMemtable>,
    /// Flushed memtables that a reader may still hold: a super version, an iterator or a pinned value.
    flushed: Vec<Weak<MemTable>>,
    /// The limit for the memory of all memtables while `history` is kept; 0 keeps no history.
    history_bytes_max: usize,
    pub version: Arc<Version>,
    /// Versions that were installed and may still be read.
    pub(super) versions: Vec<Weak<Version>>,
    pub super_version_number: u64,
    /// The column family needs no WAL below this number.
    pub wal_number: WalNumber,
    /// The WAL number that the MANIFEST has for the column family. It grows only at a flush, and at the end of a
    /// recovery, after older WALs are synced. If it grew earlier, a power failure could tear an older WAL, and the
    /// open would reject this column family, whose SST files would be newer than the torn WAL.
    pub recorded_wal_number: WalNumber,
    pub next_epoch: EpochNumber,
    /// The history below this timestamp may be gone: compaction may have merged its entries.
    pub full_history_ts_low: Option<Vec<u8>>,
    /// The last sequence number of the database at the newest ingestion into the column family; 0 without an ingestion.
    pub(super) ingested_at: SequenceNumber,
    /// The era of the installed super version, and of the next one if no commit ends the era.
    pub(super) era: Arc<Era>,
    /// Eras that have ended and may have readers.
    pub(super) ended_eras: Vec<Weak<Era>>,
    /// True if a flush was requested, although fewer memtables than `min_write_buffer_number_to_merge` wait.
    pub flush_requested: bool,
    /// True if the column family waits in the queue of flushes.
    pub flush_queued: bool,
    /// True if the column family waits in the queue of compactions.
    pub compaction_queued: bool,
}

impl State {
    pub(super) fn new(
        mem: Arc<MemTable>,
        version: Arc<Version>,
        wal_number: WalNumber,
        next_epoch: EpochNumber,
        history_bytes_max: usize,
    ) -> Self {
        base::invariant!(next_epoch.is_known(), "a column family begins with the epoch number 0");
        State {
            mem,
            mem_id: 1,
            immutable_memtables: Vec::new(),
            history: Vec::new(),
            flushed: Vec::new(),
            history_bytes_max,
            versions: vec![Arc::downgrade(&version)],
            version,
            super_version_number: 1,
            wal_number,
            recorded_wal_number: wal_number,
            next_epoch,
            full_history_ts_low: None,
            ingested_at: SequenceNumber::ZERO,
            era: Arc::default(),
            ended_eras: Vec::new(),
            flush_requested: false,
            flush_queued: false,
            compaction_queued: false,
        }
    }

    /// Makes the active memtable immutable, and makes `fresh` the active memtable.
    pub fn switch(
        &mut self,
        fresh: Arc<MemTable>,
        next_wal: WalNumber,
        charge: Option<Arc<Charge>>,
        atomic_group: Option<u64>,
    ) {
        base::invariant!(fresh.is_empty(), "the memtable after memtable {} has entries", self.mem_id);
        base::invariant!(
            self.mem.largest_seq() <= fresh.earliest_seq(),
            "a memtable from sequence number {} follows a memtable up to {}",
            fresh.earliest_seq(),
            self.mem.largest_seq()
        );
        self.push_immutable(fresh, next_wal, charge, atomic_group);
        self.check();
        self.trim_history(0);
    }

    /// Returns the id of a filled memtable that becomes immutable after the active memtable. If the active memtable
    /// is empty, the filled memtable takes its id.
    pub fn next_immutable_id(&self) -> u64 {
        self.mem_id + u64::from(!self.mem.is_empty())
    }

    /// Does the work of [`State::switch`], and puts a filled memtable between the active memtable and `fresh`. Requests a
    /// flush.
    ///
    /// The filled memtable has the id that [`State::next_immutable_id`] returned. If this is the id of the active memtable, the
    /// active memtable leaves: it had no entries. It may have a derived range tombstone since, and loses it: the tombstone says
    /// nothing that older entries do not say.
    pub fn switch_with(
        &mut self,
        own: OwnImmutable,
        fresh: Arc<MemTable>,
        next_wal: WalNumber,
        charge: Option<Arc<Charge>>,
        atomic_group: Option<u64>,
    ) {
        let id = own.mem.id();
        base::invariant!(
            id == self.mem_id || id == self.mem_id + 1,
            "a filled memtable has the id {id}, and the active memtable has the id {}",
            self.mem_id
        );
        if id == self.mem_id {
            self.mem = own.mem;
        } else {
            self.push_immutable(own.mem, next_wal, charge, atomic_group);
        }
        self.push_immutable(fresh, next_wal, own.charge, atomic_group);
        self.flush_requested = true;
        self.check();
        self.trim_history(0);
    }

    /// Makes the active memtable immutable, and `fresh` the active memtable.
    fn push_immutable(
        &mut self,
        fresh: Arc<MemTable>,
        next_wal: WalNumber,
        charge: Option<Arc<Charge>>,
        atomic_group: Option<u64>,
    ) {
        let last = self.immutable_memtables.last();
        base::invariant!(
            last.is_none_or(|last| next_wal == WalNumber::ZERO || last.next_wal <= next_wal),
            "memtable {} needs the WALs below {next_wal}, and an older memtable needs newer WALs",
            self.mem_id
        );
        let mem = std::mem::replace(&mut self.mem, fresh);
        let epoch = self.take_epoch();
        self.immutable_memtables.push(ImmutableMemtable {
            mem,
            id: self.mem_id,
            next_wal,
            epoch,
            together: false,
            flushing: false,
            charge,
            atomic_group,
        });
        self.mem_id += 1;
    }

    /// Records that no entry of the column family is in a WAL older than `wal` after the flush of its immutable memtables. Does
    /// nothing if the active memtable has entries. The caller is the leader.
    pub fn need_no_wal_below(&mut self, wal: WalNumber) {
        if self.mem.is_empty()
            && let Some(newest) = self.immutable_memtables.last_mut()
        {
            newest.next_wal = newest.next_wal.max(wal);
        }
    }

    /// Checks the order of the immutable memtables and of the history.
    fn check(&self) {
        for list in [&self.immutable_memtables, &self.history] {
            base::invariant!(
                list.is_sorted_by(|older, newer| older.id < newer.id),
                "the memtables of a column family are not in the order of their ids"
            );
            base::invariant!(
                list.is_sorted_by(|older, newer| older.mem.largest_seq() <= newer.mem.earliest_seq()),
                "the sequence numbers of two memtables overlap"
            );
        }
        let newest = self.immutable_memtables.last();
        base::invariant!(
            newest.is_none_or(|newest| newest.id < self.mem_id),
            "the active memtable {} is older than an immutable memtable",
            self.mem_id
        );
        let oldest = self.immutable_memtables.first();
        base::invariant!(
            self.history.last().zip(oldest).is_none_or(|(flushed, waits)| flushed.id < waits.id),
            "a memtable of the history is newer than a memtable that waits for its flush"
        );
    }

    /// Returns true if enough memtables wait for a flush, or if any waits and a flush was requested. `up_to_group`
    /// is the argument of [`State::pick_flush`].
    pub fn flush_due(&self, min_to_merge: usize, up_to_group: Option<u64>) -> bool {
        let waiting = self.next_flush(up_to_group).len();
        waiting > 0 && (self.flush_requested || waiting >= min_to_merge.max(1))
    }

    /// Raises `full_history_ts_low` to `mark`, if `mark` is higher.
    pub fn raise_history_mark(&mut self, mark: Vec<u8>, order: &InternalOrder) {
        base::invariant!(
            self.full_history_ts_low.as_ref().is_none_or(|now| now.len() == mark.len()),
            "the history of a column family ends at a timestamp of {} bytes",
            mark.len()
        );
        let is_higher = |now: &Vec<u8>| order.user.compare_timestamp(&mark, now).is_gt();
        if self.full_history_ts_low.as_ref().is_none_or(is_higher) {
            self.full_history_ts_low = Some(mark);
        }
    }

    /// Returns true if an automatic flush would write entries whose timestamps the application wants in memory: entries at
    /// `full_history_ts_low` or newer, if SST files have no timestamps. RocksDB: `ShouldPostponeFlushToRetainUDT`.
    pub fn retains_timestamps(&self, parts: &Parts) -> bool {
        let low = self.full_history_ts_low.as_deref().and_then(<[u8]>::first_chunk::<8>);
        let Some(low) = low.filter(|_| !parts.stored.timestamps && !self.flush_requested) else {
            return false;
        };
        let low = u64::from_le_bytes(*low);
        self.immutable_memtables
            .iter()
            .any(|immutable| immutable.mem.newest_timestamp().is_some_and(|ts| ts >= low))
    }

    /// Returns the id of the oldest memtable that is not in an SST file. Without immutable memtables, this is the active memtable.
    pub fn oldest_memtable(&self) -> u64 {
        self.immutable_memtables.first().map_or(self.mem_id, |oldest| oldest.id)
    }

    /// Returns the id of the newest immutable memtable.
    pub fn newest_immutable(&self) -> Option<u64> {
        self.immutable_memtables.iter().map(|m| m.id).max()
    }

    /// Returns true if a memtable with this id or a smaller id is not flushed.
    pub fn has_immutable_up_to(&self, id: u64) -> bool {
        self.immutable_memtables.iter().any(|m| m.id <= id)
    }

    /// Returns the indexes of the immutable memtables that [`State::pick_flush`] takes.
    fn next_flush(&self, up_to_group: Option<u64>) -> std::ops::Range<usize> {
        if up_to_group.is_some() && self.is_flushing() {
            return 0..0;
        }
        let closed = |m: &ImmutableMemtable| {
            m.together || up_to_group.is_some_and(|last| m.atomic_group.is_some_and(|group| group > last))
        };
        let from = self
            .immutable_memtables
            .iter()
            .position(|m| !m.flushing || closed(m))
            .unwrap_or(self.immutable_memtables.len());
        let len = self.immutable_memtables[from..].iter().take_while(|m| !m.flushing && !closed(m)).count();
        base::invariant!(
            from + len <= self.immutable_memtables.len(),
            "a flush takes {len} memtables from {from} of {}",
            self.immutable_memtables.len()
        );
        from..from + len
    }

    /// Returns true if a flush job has taken an immutable memtable.
    pub fn is_flushing(&self) -> bool {
        self.immutable_memtables.iter().any(|m| m.flushing)
    }

    /// Takes the oldest adjacent immutable memtables that no job has. With `up_to_group`, takes only
    /// memtables of atomic groups up to this group, and takes none while a job has an immutable memtable.
    /// Without it, another job may be flushing older memtables: see [`State::turn`].
    pub fn pick_flush(&mut self, up_to_group: Option<u64>) -> FlushPick {
        if up_to_group.is_some() && self.is_flushing() {
            return FlushPick { memtables: Vec::new() };
        }
        let next = self.next_flush(up_to_group);
        base::invariant!(
            self.immutable_memtables[next.clone()].iter().all(|m| !m.flushing),
            "a memtable is picked for two flushes"
        );
        self.immutable_memtables[next.clone()].iter_mut().for_each(|m| m.flushing = true);
        let memtables = self.immutable_memtables[next].to_vec();
        self.flush_requested = false;
        FlushPick { memtables }
    }

    /// Reserves the immutable memtables that no job has for one flush of several column families.
    pub fn reserve_together(&mut self) {
        self.immutable_memtables.iter_mut().filter(|m| !m.flushing).for_each(|m| m.together = true);
    }

    /// Returns true if [`State::reserve_together`] has reserved a memtable.
    pub fn is_reserved_together(&self) -> bool {
        self.immutable_memtables.iter().any(|m| m.together)
    }

    /// Undoes [`State::reserve_together`]: any flush may take the memtables.
    pub fn release_together(&mut self) {
        self.immutable_memtables.iter_mut().for_each(|m| m.together = false);
        self.flush_requested |= !self.immutable_memtables.is_empty();
    }

    /// Takes all immutable memtables that no job has, including memtables that [`State::reserve_together`]
    /// keeps.
    pub fn pick_together(&mut self) -> FlushPick {
        self.immutable_memtables.iter_mut().for_each(|m| m.together = false);
        self.pick_flush(None)
    }

    /// Decides whether the SST files of a pick may be committed. They must wait for older memtables: the WAL number
    /// of the commit would release the WAL of an older memtable, and readers search immutable memtables before SST
    /// files. `None` means that a job is flushing an older memtable. False means that this job has failed, and that
    /// the pick must be given back.
    pub fn turn(&self, pick: &FlushPick) -> Option<bool> {
        let first = pick.memtables.first().map_or(0, |m| m.id);
        match self.immutable_memtables.iter().find(|m| m.id < first) {
            None => Some(true),
            Some(older) if older.flushing => None,
            Some(_) => Some(false),
        }
    }

    /// Gives a pick back after its flush failed.
    pub fn unpick_flush(&mut self, pick: &FlushPick) {
        base::invariant!(
            pick.memtables
                .iter()
                .all(|m| self.immutable_memtables.iter().any(|i| i.id == m.id && i.flushing)),
            "a memtable is given back that no flush has picked"
        );
        for immutable in &mut self.immutable_memtables {
            if pick.memtables.iter().any(|m| m.id == immutable.id) {
                immutable.flushing = false;
            }
        }
        self.flush_requested = true;
    }

    /// Removes memtables whose entries are in the version now.
    pub fn remove_flushed(&mut self, pick: &FlushPick) {
        self.take_flushed(pick);
    }

    /// Does the work of [`State::remove_flushed`], but keeps the memtables in the history while the history
    /// has room.
    pub fn keep_flushed(&mut self, pick: &FlushPick) {
        let flushed = self.take_flushed(pick);
        if self.history_bytes_max > 0 {
            self.history.extend(flushed);
            self.trim_history(0);
        }
    }

    fn take_flushed(&mut self, pick: &FlushPick) -> Vec<ImmutableMemtable> {
        let flushed = |s: &ImmutableMemtable| pick.memtables.iter().any(|m| m.id == s.id);
        let (flushed, immutable): (Vec<ImmutableMemtable>, _) =
            std::mem::take(&mut self.immutable_memtables).into_iter().partition(flushed);
        base::invariant!(
            immutable.first().zip(flushed.last()).is_none_or(|(oldest, newest)| newest.id < oldest.id),
            "a memtable is flushed before an older memtable"
        );
        base::invariant!(
            // The entries of a recovery were flushed before its commit: its memtable has the id 0.
            flushed.len() == pick.memtables.len() || pick.newest_id() == 0,
            "a flush of {} memtables removes {}",
            pick.memtables.len(),
            flushed.len()
        );
        base::invariant!(
            flushed.iter().all(|m| m.flushing),
            "a memtable is removed that no flush has picked"
        );
        base::invariant!(
            pick.next_wal() == WalNumber::ZERO || self.wal_number <= pick.next_wal(),
            "the oldest WAL that a column family needs falls from {} to {}",
            self.wal_number,
            pick.next_wal()
        );
        base::invariant!(
            self.recorded_wal_number <= self.wal_number,
            "the MANIFEST says that a column family needs no WAL below {}, and it needs WAL {}",
            self.recorded_wal_number,
            self.wal_number
        );
        self.flushed.retain(|mem| mem.strong_count() > 0);
        self.flushed.extend(flushed.iter().map(|immutable| Arc::downgrade(&immutable.mem)));
        self.immutable_memtables = immutable;
        self.wal_number = self.wal_number.max(pick.next_wal());
        self.recorded_wal_number = self.recorded_wal_number.max(pick.next_wal());
        flushed
    }

    /// Replaces flushed memtables by the files of `edit` in the eras that have ended. The caller drops the result after it releases the
    /// lock of the column family.
    #[must_use]
    pub(crate) fn replace_flushed_of_eras(&mut self, pick: &FlushPick, edit: &Edit) -> Vec<Last> {
        self.ended_eras.retain(|era| era.strong_count() > 0);
        let eras = self.ended_eras.iter().filter_map(Weak::upgrade);
        eras.filter_map(|era| era.replace_flushed(pick, edit)).collect()
    }

    /// Returns the flushed memtables that are still in memory. Their entries are in SST files.
    pub fn held_memtables(&self) -> Vec<Arc<MemTable>> {
        self.flushed.iter().filter_map(Weak::upgrade).collect()
    }

    /// Returns true if the oldest memtable of the history must be removed: the history without it, together
    /// with `active` bytes of the active memtable, still fills the limit.
    pub fn history_is_due(&self, active: usize) -> bool {
        let bytes = |list: &[ImmutableMemtable]| list.iter().map(|s| s.mem.memory_used()).sum::<usize>();
        match self.history.split_first() {
            None => false,
            Some((_, newer)) => {
                bytes(&self.immutable_memtables) + bytes(newer) + active >= self.history_bytes_max
            }
        }
    }

    /// Removes the oldest memtables of the history until the rest fits. Returns true if a memtable was removed.
    pub fn trim_history(&mut self, active: usize) -> bool {
        let before = self.history.len();
        while self.history_is_due(active) {
            self.history.remove(0);
        }
        self.history.len() < before
    }

    /// Notes an ingestion after the write with the sequence number `last_seq`. The entries of the ingested files were
    /// in no memtable. So the history must not answer for them: it is removed, and
    /// [`in_memory_since`](super::SuperVersion::in_memory_since) is `last_seq` at least.
    pub fn note_ingestion(&mut self, last_seq: SequenceNumber) {
        self.history.clear();
        self.ingested_at = self.ingested_at.max(last_seq);
    }

    pub(super) fn immutable_newest_first(&self) -> Arc<[Arc<MemTable>]> {
        newest_first(&self.immutable_memtables)
    }

    pub(super) fn history_newest_first(&self) -> Arc<[Arc<MemTable>]> {
        newest_first(&self.history)
    }

    /// Returns the next epoch number. Each call returns a larger number; the first number is 1 or the number
    /// after recovery.
    pub fn take_epoch(&mut self) -> EpochNumber {
        base::invariant!(self.next_epoch.is_known(), "a column family gives the epoch number 0");
        let epoch = self.next_epoch;
        self.next_epoch = self.next_epoch.next();
        epoch
    }
}

fn newest_first(list: &[ImmutableMemtable]) -> Arc<[Arc<MemTable>]> {
    list.iter().rev().map(|s| s.mem.clone()).collect()
}
