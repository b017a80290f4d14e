//! The live WALs: the active WAL, which takes records, and the closed WALs with unflushed entries.
//!
//! ```text
//!  closed: 000004.log  000009.log          active: 000012.log ◄── append (leader of a write group)
//!     │ sync_closed, before a flush              │ sync: closed WALs first, oldest to newest, then the
//!     ▼                                          ▼       directory if it has new names, then this WAL
//!  obsolete if every column family needs only newer WALs ──► deleted, archived or recycled (`files`)
//! ```
//! The first batch after a sync carries a mark (`format::wal::Mark`) of the synced bytes. With the mark, a later recovery
//! distinguishes damage from a torn end. The first mark of a WAL also names the synced bytes of the closed WALs. The first
//! batch of a WAL names the written bytes of closed WALs that are not synced yet: a crash may keep this batch and lose the
//! ends of the closed WALs.
//!
//! The first failed append or sync poisons the live WALs: they take no more records. No record is appended after bytes
//! that may be lost, and no failed sync is repeated. A resume starts a new WAL and switches all memtables. Until all
//! these memtables are flushed, the failed WAL is still needed, and every request for a sync gets its error.

mod active;
mod closed;
pub mod compression;
pub mod gather;
mod reserved;
mod settings;
mod shared;
mod sync;

use std::collections::VecDeque;
use std::path::{Path, PathBuf};

use base::{Error, FamilyId, Result, SequenceNumber, WalNumber};
use env::{AppendHints, Env};
use format::names;
use format::proof::Extent;
use format::wal::{Framing, Mark, Predecessor, is_mark};
use mem::budget::Holder;

use self::active::{Active, PENDING_BYTES, mark};
use self::closed::{Closed, ClosedState, closed_error, cut};
pub use self::settings::{MakeCompressor, WalSettings};
use self::shared::SharedSyncs;
pub use self::sync::SharedSync;
use crate::ranks;
use crate::sync::{
    Arc, AtomicBool, AtomicU64, AtomicUsize, AtomicWalNumber, OnceLock, Ordering, RankedMutex,
};

/// Makes durable what the records of the WALs refer to.
pub trait BeforeWalSync: Send + Sync {
    /// Called before each sync of WALs, by one or several threads. All records that the sync makes durable are appended.
    ///
    /// # Errors
    /// An error of the file system, also of an earlier call that failed. The error poisons the WALs.
    fn before_wal_sync(&self) -> Result<()>;

    /// Called when a resume ends a failure. No record that becomes durable later refers to a file that has failed.
    fn forget_failures(&self);
}

/// The active WAL and the closed WALs of one database.
pub struct WalSet {
    env: Env,
    settings: WalSettings,
    active: RankedMutex<Option<Active>>,
    closed: RankedMutex<VecDeque<Closed>>,
    /// Held while closed WALs are synced or released, before `closed`. A sync of a WAL can take a second: the leader that
    /// begins a WAL takes `closed` only, and never waits for this sync.
    syncing: RankedMutex<()>,
    /// Held while a thread syncs the active WAL.
    active_sync: RankedMutex<()>,
    /// The threads that share a sync: see [`WalSet::sync_up_to`].
    shared_syncs: SharedSyncs,
    /// How many file names were made in the directory, and how many of them are durable.
    names_made: AtomicU64,
    names_synced: AtomicU64,
    /// The size of all live WALs in bytes.
    total_bytes: AtomicU64,
    active_number: AtomicWalNumber,
    /// `WalSettings::buffer_bytes_max` and `bytes_per_sync`, which may change.
    buffer_bytes_max: AtomicUsize,
    bytes_per_sync: AtomicU64,
    failed: RankedMutex<Option<Error>>,
    has_failed: AtomicBool,
    before_sync: OnceLock<Arc<dyn BeforeWalSync>>,
    /// The durable size of the MANIFEST, and whether no batch carries it yet.
    manifest: RankedMutex<Option<Mark>>,
    manifest_mark_due: AtomicBool,
}

/// The records of a closed WAL.
#[derive(Clone, Debug)]
pub struct ClosedWal {
    pub number: WalNumber,
    /// The size of all records in bytes.
    pub size: u64,
    /// The last bytes of these records, if they are not in the file.
    pub unwritten: Vec<u8>,
}

/// Returns the closed WALs from `from` on, oldest first, for a read of their records. A failed WAL may have records that are not
/// in its file.
pub fn closed_from(wals: &WalSet, from: WalNumber) -> Vec<ClosedWal> {
    let of = |wal: &Closed| ClosedWal {
        number: wal.number,
        size: wal.whole.bytes,
        unwritten: wal.unwritten().to_vec(),
    };
    wals.closed.lock().iter().filter(|wal| wal.number >= from).map(of).collect()
}

/// A WAL that no column family needs.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct ObsoleteWal {
    pub number: WalNumber,
    pub size: u64,
}

impl WalSet {
    /// Makes the set without an active WAL and without closed WALs. Creates no file.
    pub fn new(env: Env, settings: WalSettings) -> Self {
        WalSet {
            env,
            buffer_bytes_max: AtomicUsize::new(settings.buffer_bytes_max),
            bytes_per_sync: AtomicU64::new(settings.bytes_per_sync),
            settings,
            active: RankedMutex::new(&ranks::ACTIVE_WAL, None),
            closed: RankedMutex::new(&ranks::CLOSED_WALS, VecDeque::new()),
            syncing: RankedMutex::new(&ranks::WAL_SYNC, ()),
            active_sync: RankedMutex::new(&ranks::ACTIVE_SYNC, ()),
            shared_syncs: SharedSyncs::default(),
            names_made: AtomicU64::new(1),
            names_synced: AtomicU64::new(0),
            total_bytes: AtomicU64::new(0),
            active_number: AtomicWalNumber::new(WalNumber::ZERO),
            failed: RankedMutex::new(&ranks::WAL_FAILURE, None),
            has_failed: AtomicBool::new(false),
            before_sync: OnceLock::new(),
            manifest: RankedMutex::new(&ranks::MANIFEST_MARK, None),
            manifest_mark_due: AtomicBool::new(false),
        }
    }

    /// Records the durable size of the MANIFEST. The next write batch carries this size as a mark. With the
    /// mark, a later open can distinguish a corrupt edit from an edit that was never synced, even if the edit and
    /// its seal are both damaged.
    pub fn note_manifest(&self, durable: &Extent) {
        *self.manifest.lock() = mark(durable.number, durable);
        self.manifest_mark_due.store(true, Ordering::Release);
    }

    /// Changes the size of the buffer for `manual_wal_flush`, and the number of bytes between two write-backs.
    pub fn set_limits(&self, buffer_bytes_max: usize, bytes_per_sync: u64) {
        self.buffer_bytes_max.store(buffer_bytes_max, Ordering::Relaxed);
        self.bytes_per_sync.store(bytes_per_sync, Ordering::Relaxed);
    }

    /// Returns the path of the WAL with this number in the WAL directory. The file may not exist.
    pub fn path(&self, number: WalNumber) -> PathBuf {
        self.settings.dir.join(names::wal(number))
    }

    pub fn dir(&self) -> &Path {
        &self.settings.dir
    }

    /// Adds a WAL of an earlier session that has unflushed entries. The file has `size` bytes and is synced.
    /// `whole` is the part that recovery read; bytes that a crash left may follow.
    pub fn add_recovered(&self, number: WalNumber, size: u64, whole: Extent) {
        base::invariant!(
            whole.number == number.file(),
            "WAL {} is recovered with the extent of WAL {}",
            number,
            whole.number
        );
        let closed = Closed { number, size, whole, written_over: false, state: ClosedState::Durable };
        let mut wals = self.closed.lock();
        base::invariant!(
            wals.back().is_none_or(|last| last.number < number),
            "WAL {} is recovered after a newer WAL",
            number
        );
        wals.push_back(closed);
        drop(wals);
        self.total_bytes.fetch_add(size, Ordering::Relaxed);
    }

    /// Returns the number of the active WAL.
    #[inline]
    pub fn active_number(&self) -> WalNumber {
        self.active_number.load()
    }

    /// Returns the size of all live WALs in bytes.
    #[inline]
    pub fn total_bytes(&self) -> u64 {
        self.total_bytes.load(Ordering::Relaxed)
    }

    /// Returns the number and size of each live WAL, oldest first, the active WAL last.
    pub fn list(&self) -> Vec<(WalNumber, u64)> {
        let mut wals: Vec<_> = self.closed.lock().iter().map(|c| (c.number, c.size)).collect();
        if let Some(active) = &*self.active.lock() {
            wals.push((active.number, active.writer.offset()));
        }
        base::invariant!(
            wals.is_sorted_by(|(older, _), (newer, _)| older < newer),
            "the WALs are not in the order of their numbers"
        );
        wals
    }

    /// Writes buffered records to the files, and returns the number and size of each live WAL, oldest first, the
    /// active WAL last. No append changes the sizes meanwhile.
    ///
    /// # Errors
    /// A failure of the file system. The failure poisons the WALs.
    pub fn flushed_extents(&self) -> Result<Vec<(WalNumber, u64)>> {
        self.check()?;
        // Lock order as in `roll`: active, then closed. So no WAL is missed that becomes closed meanwhile.
        let mut slot = self.active.lock();
        let mut wals: Vec<_> = self.closed.lock().iter().map(|c| (c.number, c.size)).collect();
        if let Some(active) = &mut *slot {
            active
                .hand_over(0)
                .and_then(|()| active.file.flush())
                .map_err(|e| self.poison(e.doing("flushing the WAL")))?;
            wals.push((active.number, active.writer.offset()));
        }
        base::invariant!(
            wals.is_sorted_by(|(older, _), (newer, _)| older < newer),
            "the WALs are not in the order of their numbers"
        );
        Ok(wals)
    }

    /// Returns true if the active WAL has no batch yet.
    pub fn active_is_empty(&self) -> bool {
        self.active.lock().as_ref().is_none_or(|a| a.last_seq_recorded.is_zero())
    }

    /// Appends one write batch and writes the bytes to the file (unless the WAL is flushed manually).
    /// Returns the number of bytes in the WAL. `first_seq` is the sequence number in the header of the
    /// batch. `timestamped` names the column families with timestamps whose keys may be in the batch. A
    /// batch of another WAL, or log data of the application, can end like a mark. Such a batch gets empty
    /// log data at its end, and readers then find no mark.
    ///
    /// # Errors
    /// An error of the file system, with the file name of the WAL. The error poisons the WALs.
    pub fn append(
        &self,
        batch: &[u8],
        first_seq: SequenceNumber,
        timestamped: &[(FamilyId, u16)],
    ) -> Result<u64> {
        self.check()?;
        let mut slot = self.active.lock();
        let Some(active) = &mut *slot else { return Err(closed_error()) };
        base::invariant!(batch.len() >= format::batch::HEADER_LEN, "a batch of {} bytes", batch.len());
        base::invariant!(
            active.last_seq_recorded <= first_seq,
            "WAL {}: the sequence number {first_seq} follows {}",
            active.number,
            active.last_seq_recorded
        );
        base::invariant!(
            first_seq <= base::key::MAX_SEQUENCE,
            "the sequence number {first_seq} has more than 56 bits"
        );
        base::invariant!(
            active.number == self.active_number(),
            "WAL {} takes a record, and the active WAL is {}",
            active.number,
            self.active_number()
        );
        base::invariant!(
            active.durable.bytes <= active.writer.offset(),
            "{} bytes of a WAL of {} bytes are durable",
            active.durable.bytes,
            active.writer.offset()
        );
        let before = active.writer.offset();
        if !timestamped.is_empty() {
            active.note_timestamps(timestamped);
        }
        let manifest_due = self.manifest_mark_due.load(Ordering::Acquire);
        let has_marks = !active.marks.is_empty() || !active.written.is_empty() || active.repeats;
        let framed = if has_marks || manifest_due {
            let manifest = (manifest_due && self.manifest_mark_due.swap(false, Ordering::AcqRel))
                .then(|| *self.manifest.lock());
            active.append_marked(batch, manifest.flatten())
        } else if is_mark(batch) {
            active.append_covered(batch)
        } else {
            active.writer.append(&mut active.pending, batch)
        };
        let written = framed.and_then(|()| {
            active.last_seq_recorded = first_seq;
            if !self.settings.manual_flush
                || active.pending.len() >= self.buffer_bytes_max.load(Ordering::Relaxed)
            {
                active.hand_over(self.bytes_per_sync.load(Ordering::Relaxed))?;
            }
            base::invariant!(
                active.writer.offset() > before,
                "a record leaves the end of the WAL at {before}"
            );
            Ok(active.writer.offset() - before)
        });
        match written {
            Ok(bytes) => {
                self.total_bytes.fetch_add(bytes, Ordering::Relaxed);
                Ok(bytes)
            }
            Err(error) => Err(self.poison(error.doing("appending to the WAL").file(active.file.path()))),
        }
    }

    /// Writes the buffered records to the file (`flush_wal`).
    ///
    /// # Errors
    /// An error of the file system, which poisons the WALs. The error of a failed WAL whose buffered records were
    /// lost, until the entries of this WAL are in SST files.
    pub fn flush(&self) -> Result<()> {
        self.check()?;
        self.check_gathered()?;
        let mut slot = self.active.lock();
        let Some(active) = &mut *slot else { return Ok(()) };
        active
            .hand_over(self.bytes_per_sync.load(Ordering::Relaxed))
            .map_err(|e| self.poison(e.doing("flushing the WAL")))
    }

    /// Starts WAL `number` and closes the active WAL. If `recycled` is set, the new WAL reuses the file of that
    /// WAL. `preallocate_bytes` is the space that a sync of the new WAL reserves at a time; 0 reserves nothing.
    ///
    /// # Errors
    /// An error of the file system. If the new file cannot be made, the old WAL stays active. If the buffered
    /// records of the old WAL or the first bytes of the new WAL cannot be written, the error poisons the WALs.
    pub fn roll(&self, number: WalNumber, recycled: Option<WalNumber>, preallocate_bytes: u64) -> Result<()> {
        base::invariant!(
            number > self.active_number(),
            "WAL {} follows WAL {}",
            number,
            self.active_number()
        );
        base::invariant!(
            recycled.is_none_or(|old| old < number),
            "WAL {} is written over a newer WAL",
            number
        );
        base::invariant!(
            recycled.is_none() || self.settings.recyclable,
            "WAL {} is written over an old WAL, and its records do not carry its number",
            number
        );
        let hints = AppendHints::default();
        let path = self.path(number);
        let file = match recycled {
            Some(old) => self.env.fs.reuse(&self.path(old), &path, &hints)?,
            None => self.env.fs.create(&path, &hints)?,
        };
        self.names_made.fetch_add(1, Ordering::AcqRel);
        let framing = if self.settings.recyclable {
            Framing::Recyclable { wal_number: number }
        } else {
            Framing::Classic
        };
        let share = self.settings.memory_budget.as_ref();
        let share = share.map(|budget| budget.take(Holder::WalBuffer, PENDING_BYTES));
        let mut active = Active::new(number, framing, file, share, preallocate_bytes);
        active.written_over = recycled.is_some();
        if let Some(make) = &self.settings.compressor {
            active.writer.set_compression(&mut active.pending, make()?);
        }
        let mut slot = self.active.lock();
        if let Some(mut old) = slot.take() {
            if !self.has_failed.load(Ordering::Acquire)
                && let Err(error) = old.hand_over(0).and_then(|()| old.file.flush())
            {
                *slot = Some(old);
                return Err(self.poison(error.doing("flushing the WAL before a new one")));
            }
            self.retire(old, &mut active);
        }
        active.hand_over(0).map_err(|e| self.poison(e.doing("beginning a WAL")))?;
        *slot = Some(active);
        self.active_number.swap(number);
        Ok(())
    }

    /// Adds the old WAL to the closed WALs. The caller has written its buffered records, unless a WAL failed. The first records
    /// of the new WAL name the old WAL and the closed WALs that are not synced.
    fn retire(&self, old: Active, active: &mut Active) {
        let size = old.writer.offset();
        // The size of a failed WAL is not known.
        if self.settings.note_predecessor && !self.has_failed.load(Ordering::Acquire) {
            let predecessor = Predecessor {
                wal_number: old.number,
                size_bytes: size,
                last_seqno_recorded: old.last_seq_recorded,
            };
            active.writer.predecessor(&mut active.pending, &predecessor);
        }
        base::invariant!(
            old.durable.bytes <= size,
            "{} bytes of WAL {} are durable, and the WAL has {size} bytes",
            old.durable.bytes,
            old.number
        );
        let (number, whole) =
            (old.number, Extent { number: old.number.file(), bytes: size, digest: old.writer.digest() });
        let (durable_bytes, written_over) = (old.durable.bytes, old.written_over);
        let state = if self.has_failed.load(Ordering::Acquire) {
            let error = self.failed.lock().clone();
            ClosedState::after_failure(old, error, self.settings.manual_flush)
        } else {
            base::invariant!(old.pending.is_empty(), "WAL {number} is closed with gathered records");
            ClosedState::Unsynced(old.file)
        };
        let mut closed = self.closed.lock();
        base::invariant!(
            closed.back().is_none_or(|last| last.number < number),
            "WAL {number} is closed after a newer WAL"
        );
        closed.push_back(Closed { number, size, whole, written_over, state });
        // The first batch of the new WAL names the written bytes of the closed WALs that are not synced. This is
        // not needed if the old WAL is the only closed WAL, has records, and is durable up to its end. A reused
        // file is always named: it ends at an old record. The new WAL can then begin with a larger sequence number
        // than the next number of the old WAL, because an ingestion takes a sequence number without a record.
        if size == 0 || durable_bytes < size || written_over || closed.len() > 1 {
            let unsynced = closed.iter().filter(|wal| wal.is_unsynced());
            active.written = unsynced.filter_map(|wal| mark(wal.number.file(), &wal.whole)).collect();
        }
    }

    /// Marks the active WAL, which has no batch yet, as a WAL that repeats the prepared sections of older WALs
    /// ([`format::wal::REPEATS`]). Its first batch carries the mark, also if another thread syncs the WAL before this batch.
    pub fn mark_repeats(&self) {
        if let Some(active) = &mut *self.active.lock() {
            base::invariant!(
                active.last_seq_recorded.is_zero(),
                "WAL {} repeats sections, and has other records already",
                active.number
            );
            active.repeats = true;
        }
    }

    /// Removes the closed WALs below `min_to_keep` from the set, and returns them.
    pub fn release(&self, min_to_keep: WalNumber) -> Vec<ObsoleteWal> {
        // Wait for a running sync: the sync must not cut the file after the file is recycled.
        let _syncing = self.syncing.lock();
        let mut closed = self.closed.lock();
        let mut gone = Vec::new();
        while let Some(wal) = closed.front()
            && wal.number < min_to_keep
        {
            let Some(mut wal) = closed.pop_front() else { break };
            base::invariant!(wal.number != self.active_number(), "the active WAL {} is released", wal.number);
            // A clamp: the size of a WAL has records that no append counted, such as the record of its predecessor.
            self.total_bytes.fetch_sub(wal.size.min(self.total_bytes()), Ordering::Relaxed);
            if let ClosedState::Unsynced(file) = &mut wal.state {
                // Its entries are in SST files, so an error of the close does not matter.
                let _ = file.close();
            }
            gone.push(ObsoleteWal { number: wal.number, size: wal.size });
        }
        gone
    }

    /// Accepts records again, after a resume has started a new WAL. Syncs fail while the failed WAL is needed.
    pub fn clear_failure(&self) {
        if let Some(first) = self.before_sync.get() {
            first.forget_failures();
        }
        *self.failed.lock() = None;
        self.has_failed.store(false, Ordering::Release);
    }

    /// Returns true if a failure has poisoned the WALs.
    pub fn is_poisoned(&self) -> bool {
        self.has_failed.load(Ordering::Acquire)
    }

    /// Returns true if a WAL has failed, and not all of its entries are in SST files.
    pub fn needs_failed(&self) -> bool {
        self.is_poisoned() || self.closed.lock().iter().any(|wal| wal.failure().is_some())
    }

    /// Writes the buffered records, and closes all files. Syncs nothing.
    ///
    /// # Errors
    /// An error of the file system. The failure that poisoned the WALs, if acknowledged writes were still buffered.
    pub fn close(&self) -> Result<()> {
        let mut outcome = self.check_gathered();
        if let Some(mut active) = self.active.lock().take() {
            if self.is_poisoned() {
                let lost = self.settings.manual_flush && !active.pending.is_empty();
                outcome = outcome.and(if lost { self.check() } else { Ok(()) });
            } else {
                outcome = outcome.and(active.hand_over(0));
                if active.written_over && outcome.is_ok() {
                    outcome = cut(&mut *active.file, active.writer.offset());
                }
            }
            outcome = outcome.and(active.file.close());
        }
        let _syncing = self.syncing.lock();
        for wal in self.closed.lock().iter_mut() {
            if let Some(mut file) = wal.state.take_file(ClosedState::Abandoned) {
                if wal.written_over && !self.is_poisoned() {
                    outcome = outcome.and(cut(&mut *file, wal.size));
                }
                outcome = outcome.and(file.close());
            }
        }
        outcome
    }

    /// Marks the failed WALs as not needed: all entries that were in memory at the failure are in SST files.
    pub fn mark_failed_flushed(&self) {
        self.closed.lock().iter_mut().for_each(Closed::mark_flushed);
    }

    /// Returns the error of acknowledged writes that were still in the memory buffer when their WAL failed. Until
    /// these writes are flushed to SST files, a crash loses them.
    fn check_gathered(&self) -> Result<()> {
        let closed = self.closed.lock();
        closed.iter().filter(|wal| wal.lost_gathered()).find_map(Closed::failure).map_or(Ok(()), Err)
    }

    #[inline]
    fn check(&self) -> Result<()> {
        if self.has_failed.load(Ordering::Acquire)
            && let Some(error) = &*self.failed.lock()
        {
            return Err(error.clone());
        }
        Ok(())
    }

    #[cold]
    fn poison(&self, error: Error) -> Error {
        self.failed.lock().get_or_insert_with(|| error.clone());
        self.has_failed.store(true, Ordering::Release);
        error
    }
}

/// Calls `first` before each sync of WALs from now on. Has an effect once.
pub fn sync_first(wals: &WalSet, first: Arc<dyn BeforeWalSync>) {
    let _ = wals.before_sync.set(first);
}

/// Records that a file that records of the WALs refer to has failed. The WALs take no more records, and no closed WAL is synced
/// from here on: its records may refer to lost values. Returns the error.
#[cold]
pub fn fail_references(wals: &WalSet, error: Error) -> Error {
    let error = wals.poison(error);
    for wal in wals.closed.lock().iter_mut() {
        let failed =
            ClosedState::Failed { error: error.clone(), lost_gathered: false, unwritten: Vec::new() };
        if let Some(mut file) = wal.state.take_file(failed) {
            // The entries of the WAL are in memtables, and a resume flushes all memtables.
            let _ = file.close();
        }
    }
    error
}

/// Returns the memory of the active WAL's buffer in bytes.
pub fn buffer_bytes(wals: &WalSet) -> usize {
    wals.active.lock().as_ref().map_or(0, |active| active.pending.capacity())
}
