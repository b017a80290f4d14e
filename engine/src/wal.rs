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

mod closed;
pub mod compression;
mod reserved;

use std::collections::VecDeque;
use std::path::{Path, PathBuf};

use base::map::HashSet;
use base::{Error, FamilyId, FileNumber, Result, SequenceNumber};
use env::fs::Syncer;
use env::{Append, AppendHints, Env};
use format::batch::log_data;
use format::names;
use format::proof::Extent;
use format::wal::{Framing, Mark, Marks, Predecessor, StreamCompressor, Writer, is_mark, put_marks};

use self::closed::{Closed, ClosedState, Unsynced, closed_error, cut};
use self::reserved::Reserved;
use crate::sync::{Arc, AtomicBool, AtomicU64, AtomicUsize, Mutex, Ordering};

/// The settings of the WALs.
#[derive(Clone)]
pub struct WalSettings {
    pub dir: PathBuf,
    /// Record headers carry the WAL number, so that obsolete WALs can be recycled.
    pub recyclable: bool,
    /// Records stay in a memory buffer until `flush_wal`, or until the buffer has `buffer_bytes_max` bytes.
    pub manual_flush: bool,
    pub buffer_bytes_max: usize,
    pub use_fsync: bool,
    /// Number of bytes after which write-back is started; 0 never starts write-back.
    pub bytes_per_sync: u64,
    /// Record the size and the last sequence number of each WAL in the next WAL (`track_and_verify_wals`).
    pub note_predecessor: bool,
    /// Makes the compressor of each new WAL. `None` means no compression.
    pub compressor: Option<MakeCompressor>,
}

impl WalSettings {
    /// Returns RocksDB's default settings.
    pub fn plain(dir: PathBuf) -> Self {
        WalSettings {
            dir,
            recyclable: false,
            manual_flush: false,
            buffer_bytes_max: 1 << 20,
            use_fsync: false,
            bytes_per_sync: 0,
            note_predecessor: false,
            compressor: None,
        }
    }
}

/// Makes the compressor of one WAL. A compressor keeps state between records, so each WAL has its own compressor.
pub type MakeCompressor = Arc<dyn Fn() -> Result<Box<dyn StreamCompressor>> + Send + Sync>;

struct Active {
    number: FileNumber,
    writer: Writer,
    file: Box<dyn Append>,
    reserved: Reserved,
    /// The file is a recycled WAL.
    written_over: bool,
    /// Framed records that are not yet written to the file. Empty between calls, except with `manual_flush`.
    pending: Vec<u8>,
    /// The part of the WAL that is known durable.
    durable: Extent,
    /// The marks for the next batch. Empty if nothing became durable since the last marks.
    marks: Vec<Mark>,
    /// The written sizes of closed WALs, for the marks of the first batch.
    written: Vec<Mark>,
    closed_told: bool,
    write_back_from: u64,
    last_seq_recorded: SequenceNumber,
    timestamped: HashSet<FamilyId>,
}

/// The active WAL and the closed WALs of one database.
pub struct WalSet {
    env: Env,
    settings: WalSettings,
    active: Mutex<Option<Active>>,
    closed: Mutex<VecDeque<Closed>>,
    /// Held while closed WALs are synced or released, before `closed`. A sync of a WAL can take a second: the leader that
    /// begins a WAL takes `closed` only, and never waits for this sync.
    syncing: Mutex<()>,
    /// How many file names were made in the directory, and how many of them are durable.
    names_made: AtomicU64,
    names_synced: AtomicU64,
    /// The size of all live WALs in bytes.
    total_bytes: AtomicU64,
    active_number: AtomicU64,
    /// `WalSettings::buffer_bytes_max` and `bytes_per_sync`, which may change.
    buffer_bytes_max: AtomicUsize,
    bytes_per_sync: AtomicU64,
    failed: Mutex<Option<Error>>,
    has_failed: AtomicBool,
    /// The durable size of the MANIFEST, and whether no batch carries it yet.
    manifest: Mutex<Option<Mark>>,
    manifest_untold: AtomicBool,
}

/// A WAL that no column family needs.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct ObsoleteWal {
    pub number: FileNumber,
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
            active: Mutex::new(None),
            closed: Mutex::new(VecDeque::new()),
            syncing: Mutex::new(()),
            names_made: AtomicU64::new(1),
            names_synced: AtomicU64::new(0),
            total_bytes: AtomicU64::new(0),
            active_number: AtomicU64::new(0),
            failed: Mutex::new(None),
            has_failed: AtomicBool::new(false),
            manifest: Mutex::new(None),
            manifest_untold: AtomicBool::new(false),
        }
    }

    /// Records the durable size of the MANIFEST. The next write batch carries this size as a mark. With the
    /// mark, a later open can tell a damaged edit from an edit that was never synced, even if the edit and
    /// its seal are both damaged.
    pub fn note_manifest(&self, durable: &Extent) {
        *self.manifest.lock() = mark(durable.number, durable);
        self.manifest_untold.store(true, Ordering::Release);
    }

    /// Changes the size of the buffer for `manual_wal_flush`, and the number of bytes between two write-backs.
    pub fn set_limits(&self, buffer_bytes_max: usize, bytes_per_sync: u64) {
        self.buffer_bytes_max.store(buffer_bytes_max, Ordering::Relaxed);
        self.bytes_per_sync.store(bytes_per_sync, Ordering::Relaxed);
    }

    /// Returns the path of the WAL with this number in the WAL directory. The file may not exist.
    pub fn path(&self, number: FileNumber) -> PathBuf {
        self.settings.dir.join(names::wal(number))
    }

    pub fn dir(&self) -> &Path {
        &self.settings.dir
    }

    /// Adds a WAL of an earlier session that has unflushed entries. The file has `size` bytes and is synced.
    /// `whole` is the part that recovery read; bytes that a crash left may follow.
    pub fn add_recovered(&self, number: FileNumber, size: u64, whole: Extent) {
        base::invariant!(
            whole.number == number.0,
            "WAL {} is recovered with the extent of WAL {}",
            number.0,
            whole.number
        );
        let closed = Closed { number, size, whole, written_over: false, state: ClosedState::Durable };
        let mut wals = self.closed.lock();
        base::invariant!(
            wals.back().is_none_or(|last| last.number < number),
            "WAL {} is recovered after a newer WAL",
            number.0
        );
        wals.push_back(closed);
        drop(wals);
        self.total_bytes.fetch_add(size, Ordering::Relaxed);
    }

    /// Returns the number of the active WAL.
    #[inline]
    pub fn active_number(&self) -> FileNumber {
        FileNumber(self.active_number.load(Ordering::Acquire))
    }

    /// Returns the size of all live WALs in bytes.
    #[inline]
    pub fn total_bytes(&self) -> u64 {
        self.total_bytes.load(Ordering::Relaxed)
    }

    /// Returns the number and size of each live WAL, oldest first, the active WAL last.
    pub fn list(&self) -> Vec<(FileNumber, u64)> {
        let mut wals: Vec<_> = self.closed.lock().iter().map(|c| (c.number, c.size)).collect();
        if let Some(active) = &*self.active.lock() {
            wals.push((active.number, active.writer.offset()));
        }
        base::invariant!(
            wals.is_sorted_by(|a, b| a.0 < b.0),
            "the WALs are not in the order of their numbers"
        );
        wals
    }

    /// Writes buffered records to the files, and returns the number and size of each live WAL, oldest first, the
    /// active WAL last. No append changes the sizes meanwhile.
    ///
    /// # Errors
    /// A failure of the file system. The failure poisons the WALs.
    pub fn flushed_extents(&self) -> Result<Vec<(FileNumber, u64)>> {
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
            wals.is_sorted_by(|a, b| a.0 < b.0),
            "the WALs are not in the order of their numbers"
        );
        Ok(wals)
    }

    /// Returns true if the active WAL has no batch yet.
    pub fn active_is_empty(&self) -> bool {
        self.active.lock().as_ref().is_none_or(|a| a.last_seq_recorded == 0)
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
            active.number.0,
            active.last_seq_recorded
        );
        base::invariant!(
            first_seq <= base::key::MAX_SEQUENCE,
            "the sequence number {first_seq} has more than 56 bits"
        );
        base::invariant!(
            active.number == self.active_number(),
            "WAL {} takes a record, and the active WAL is {}",
            active.number.0,
            self.active_number().0
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
        let untold = self.manifest_untold.load(Ordering::Acquire);
        let framed = if !active.marks.is_empty() || !active.written.is_empty() || untold {
            let manifest =
                (untold && self.manifest_untold.swap(false, Ordering::AcqRel)).then(|| *self.manifest.lock());
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

    /// Makes every record appended so far durable: syncs all live WALs and the directory with their names. Other
    /// threads may append to the active WAL meanwhile.
    ///
    /// # Errors
    /// An error of the file system, which poisons the WALs. The error of a failed WAL that is still needed.
    pub fn sync(&self) -> Result<()> {
        self.sync_if(|wal| wal.reserved.before_sync(&mut *wal.file, wal.writer.offset()))
    }

    /// Makes every record durable as [`WalSet::sync`] does, but skips the active WAL if it is already durable.
    pub fn settle(&self) -> Result<()> {
        self.sync_if(|active| active.writer.offset() > active.durable.bytes)
    }

    fn sync_if(&self, wanted: impl FnOnce(&mut Active) -> bool) -> Result<()> {
        self.check()?;
        // A resume has started and not finished: its flushes failed, or have not run yet.
        if let Some(error) = self.closed.lock().iter().find_map(Closed::failure) {
            return Err(error);
        }
        // Look at the active WAL first. If it is closed after this look-up, the list of closed WALs has it.
        let active: Option<(Option<Arc<dyn Syncer>>, Extent)> = match &mut *self.active.lock() {
            None => None,
            Some(active) => {
                let flushed = active.hand_over(0).and_then(|()| active.file.flush());
                flushed.map_err(|e| self.poison(e.doing("flushing the WAL")))?;
                let upto = Extent {
                    number: active.number.0,
                    bytes: active.writer.offset(),
                    digest: active.writer.digest(),
                };
                base::invariant!(
                    active.durable.bytes <= upto.bytes,
                    "{} bytes of a WAL of {} bytes are durable",
                    active.durable.bytes,
                    upto.bytes
                );
                Some((wanted(active).then(|| active.file.syncer()), upto))
            }
        };
        self.sync_closed()?;
        let Some((syncer, upto)) = active else { return Ok(()) };
        if let Some(syncer) = syncer {
            syncer.sync().map_err(|e| self.poison(e.doing("syncing the WAL")))?;
        }
        self.sync_dir()?;
        let closed = self.closed_extents();
        if let Some(active) = &mut *self.active.lock()
            && active.number.0 == upto.number
            && upto.bytes > active.durable.bytes
        {
            active.note_durable(upto, &closed);
        }
        Ok(())
    }

    fn closed_extents(&self) -> Vec<Extent> {
        let closed = self.closed.lock();
        let durable = closed.iter().filter(|c| c.is_durable());
        durable.map(|c| c.whole).collect()
    }

    /// Returns the durable part of each live WAL, oldest first. Empty while the name of a WAL may not be durable.
    pub fn durable(&self) -> Vec<Extent> {
        if self.names_synced.load(Ordering::Acquire) < self.names_made.load(Ordering::Acquire) {
            return Vec::new();
        }
        let mut wals = self.closed_extents();
        base::invariant!(
            wals.is_sorted_by(|a, b| a.number < b.number),
            "the closed WALs are not in the order of their numbers"
        );
        wals.extend(self.active.lock().as_ref().map(|active| active.durable));
        wals
    }

    /// Makes closed WALs durable, and closes their files. A flush does this first: its SST file must not hold the
    /// entries of a batch for one column family while a crash can still lose the entries for another. Returns the
    /// WALs that this call synced.
    pub fn sync_closed(&self) -> Result<Vec<(FileNumber, u64)>> {
        self.check()?;
        let syncing = self.syncing.lock();
        // The thread that held the lock before may have failed.
        self.check()?;
        let mut synced = Vec::new();
        while let Some(unsynced) = self.take_unsynced() {
            let (number, size) = (unsynced.number, unsynced.size);
            let done = unsynced.sync(self.settings.use_fsync);
            let mut closed = self.closed.lock();
            let Some(wal) = closed.iter_mut().find(|wal| wal.number == number) else { continue };
            base::invariant!(
                matches!(wal.state, ClosedState::InSync),
                "WAL {} was synced, and its state is {:?}",
                wal.number.0,
                wal.state
            );
            // Never repeat the sync. The state after a failed sync is unknown, and a second sync could
            // return success although data is lost.
            let mut file = match done {
                Ok(file) => file,
                Err(error) => {
                    wal.state = ClosedState::Failed { error: error.clone(), lost_gathered: false };
                    return Err(self.poison(error));
                }
            };
            wal.state = ClosedState::Durable;
            drop(closed);
            file.close().map_err(|e| self.poison(e.doing("closing a WAL")))?;
            synced.push((number, size));
        }
        drop(syncing);
        // Sync the directory also if another thread has synced the files: it may not have synced the directory yet.
        self.sync_dir()?;
        Ok(synced)
    }

    /// Takes the file of the oldest closed WAL that is not synced. The caller holds `syncing`.
    fn take_unsynced(&self) -> Option<Unsynced> {
        let mut closed = self.closed.lock();
        closed.iter_mut().find_map(Closed::begin_sync)
    }

    /// Returns how many file names were made so far, for [`WalSet::note_names_durable`].
    pub fn names_made(&self) -> u64 {
        self.names_made.load(Ordering::Acquire)
    }

    /// Records that another thread synced the directory after `made` file names were created.
    pub fn note_names_durable(&self, made: u64) {
        base::invariant!(
            made <= self.names_made.load(Ordering::Acquire),
            "{made} names of WALs are durable, and {} were made",
            self.names_made.load(Ordering::Acquire)
        );
        self.names_synced.fetch_max(made, Ordering::AcqRel);
    }

    /// Returns when all file names that exist now are durable. This thread or another thread syncs the directory.
    ///
    /// # Errors
    /// An error of the file system, which poisons the WALs.
    pub fn sync_dir(&self) -> Result<()> {
        let made = self.names_made.load(Ordering::Acquire);
        if self.names_synced.load(Ordering::Acquire) < made {
            let synced = self.env.fs.open_dir(&self.settings.dir).and_then(|dir| dir.sync());
            synced.map_err(|e| self.poison(e.doing("syncing the directory of WALs")))?;
            self.names_synced.fetch_max(made, Ordering::AcqRel);
        }
        Ok(())
    }

    /// Starts WAL `number` and closes the active WAL. If `recycled` is set, the new WAL reuses the file of that
    /// WAL. `preallocate_bytes` is the space that a sync of the new WAL reserves at a time; 0 reserves nothing.
    ///
    /// # Errors
    /// An error of the file system. If the new file cannot be made, the old WAL stays active. If the buffered
    /// records of the old WAL or the first bytes of the new WAL cannot be written, the error poisons the WALs.
    pub fn roll(
        &self,
        number: FileNumber,
        recycled: Option<FileNumber>,
        preallocate_bytes: u64,
    ) -> Result<()> {
        base::invariant!(
            number > self.active_number(),
            "WAL {} follows WAL {}",
            number.0,
            self.active_number().0
        );
        base::invariant!(
            recycled.is_none_or(|old| old < number),
            "WAL {} is written over a newer WAL",
            number.0
        );
        base::invariant!(
            recycled.is_none() || self.settings.recyclable,
            "WAL {} is written over an old WAL, and its records do not carry its number",
            number.0
        );
        let hints = AppendHints::default();
        let path = self.path(number);
        let file = match recycled {
            Some(old) => self.env.fs.reuse(&self.path(old), &path, &hints)?,
            None => self.env.fs.create(&path, &hints)?,
        };
        self.names_made.fetch_add(1, Ordering::AcqRel);
        let framing = if self.settings.recyclable {
            Framing::Recyclable { wal_number: number.0 }
        } else {
            Framing::Classic
        };
        let mut active = Active {
            number,
            writer: Writer::new(framing),
            file,
            reserved: Reserved::nothing(preallocate_bytes),
            written_over: recycled.is_some(),
            pending: Vec::with_capacity(4096),
            durable: Extent { number: number.0, bytes: 0, digest: Some(0) },
            marks: Vec::new(),
            written: Vec::new(),
            closed_told: false,
            write_back_from: 0,
            last_seq_recorded: 0,
            timestamped: HashSet::default(),
        };
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
            let size = old.writer.offset();
            if self.settings.note_predecessor {
                let predecessor = Predecessor {
                    wal_number: old.number.0,
                    size_bytes: size,
                    last_seqno_recorded: old.last_seq_recorded,
                };
                active.writer.predecessor(&mut active.pending, &predecessor);
            }
            base::invariant!(
                old.durable.bytes <= size,
                "{} bytes of WAL {} are durable, and the WAL has {size} bytes",
                old.durable.bytes,
                old.number.0
            );
            let has_failed = self.has_failed.load(Ordering::Acquire);
            let state = if has_failed {
                // Never sync this file again: the failed call left an unknown state. Ignore an error of the close.
                let _ = old.file.close();
                let lost_gathered = self.settings.manual_flush && !old.pending.is_empty();
                match self.failed.lock().clone() {
                    _ if old.durable.bytes == size => ClosedState::Durable,
                    Some(error) => ClosedState::Failed { error, lost_gathered },
                    None => ClosedState::Abandoned,
                }
            } else {
                base::invariant!(
                    old.pending.is_empty(),
                    "WAL {} is closed with gathered records",
                    old.number.0
                );
                ClosedState::Unsynced(old.file)
            };
            let mut closed = self.closed.lock();
            base::invariant!(
                closed.back().is_none_or(|last| last.number < old.number),
                "WAL {} is closed after a newer WAL",
                old.number.0
            );
            closed.push_back(Closed {
                number: old.number,
                size,
                whole: Extent { number: old.number.0, bytes: size, digest: old.writer.digest() },
                written_over: old.written_over,
                state,
            });
            // The first batch of the new WAL names the written bytes of the closed WALs that are not synced. This
            // is not needed if the old WAL is the only closed WAL, has records, and is durable up to its end.
            if size == 0 || old.durable.bytes < size || closed.len() > 1 {
                let unsynced = closed.iter().filter(|wal| wal.is_unsynced());
                active.written = unsynced.filter_map(|wal| mark(wal.number.0, &wal.whole)).collect();
            }
        }
        active.hand_over(0).map_err(|e| self.poison(e.doing("beginning a WAL")))?;
        *slot = Some(active);
        self.active_number.store(number.0, Ordering::Release);
        Ok(())
    }

    /// Removes the closed WALs below `min_to_keep` from the set, and returns them.
    pub fn release(&self, min_to_keep: u64) -> Vec<ObsoleteWal> {
        // Wait for a running sync: the sync must not cut the file after the file is recycled.
        let _syncing = self.syncing.lock();
        let mut closed = self.closed.lock();
        let mut gone = Vec::new();
        while let Some(wal) = closed.front()
            && wal.number.0 < min_to_keep
        {
            let Some(mut wal) = closed.pop_front() else { break };
            base::invariant!(
                wal.number != self.active_number(),
                "the active WAL {} is released",
                wal.number.0
            );
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

impl Active {
    /// Appends a batch with the waiting marks at its end: the first batch of a WAL, or the first after a sync.
    #[cold]
    fn append_marked(&mut self, batch: &[u8], manifest: Option<Mark>) -> Result<()> {
        let (durable, written) = (std::mem::take(&mut self.marks), std::mem::take(&mut self.written));
        let mut marks = Vec::new();
        put_marks(&mut marks, &Marks { durable, manifest, written });
        self.writer.append_parts(&mut self.pending, &[batch, &marks])
    }

    /// Appends a batch whose end looks like a mark and is not a mark of this WAL, and empty log data after it.
    #[cold]
    fn append_covered(&mut self, batch: &[u8]) -> Result<()> {
        let mut cover = Vec::new();
        log_data(&mut cover, &[]);
        self.writer.append_parts(&mut self.pending, &[batch, &cover])
    }

    /// Records that the WAL is durable up to `upto`. The next batch carries this size as a mark. The first call
    /// also adds marks for the `closed` WALs.
    fn note_durable(&mut self, upto: Extent, closed: &[Extent]) {
        base::invariant!(
            upto.number == self.number.0 && upto.bytes <= self.writer.offset(),
            "{} bytes of WAL {} are durable, and WAL {} has {} bytes",
            upto.bytes,
            upto.number,
            self.number.0,
            self.writer.offset()
        );
        base::invariant!(
            self.durable.bytes <= upto.bytes,
            "the durable size of WAL {} falls from {} to {}",
            self.number.0,
            self.durable.bytes,
            upto.bytes
        );
        base::invariant!(
            closed.iter().all(|older| older.number < self.number.0),
            "a closed WAL is newer than the active WAL {}",
            self.number.0
        );
        self.durable = upto;
        self.marks.clear();
        self.marks.extend(mark(0, &upto));
        if !std::mem::replace(&mut self.closed_told, true) {
            self.marks.extend(closed.iter().filter_map(|of| mark(of.number, of)));
        }
    }

    fn hand_over(&mut self, bytes_per_sync: u64) -> Result<()> {
        if !self.pending.is_empty() {
            self.file.append(&self.pending)?;
            self.pending.clear();
        }
        let end = self.writer.offset();
        base::invariant!(
            self.write_back_from <= end,
            "write-back of WAL {} reached {}, and the WAL has {end} bytes",
            self.number.0,
            self.write_back_from
        );
        if bytes_per_sync > 0 && end - self.write_back_from >= bytes_per_sync {
            self.file.range_sync(self.write_back_from, end - self.write_back_from, false)?;
            self.write_back_from = end;
        }
        Ok(())
    }

    fn note_timestamps(&mut self, families: &[(FamilyId, u16)]) {
        let new: Vec<_> = families.iter().copied().filter(|(id, _)| self.timestamped.insert(*id)).collect();
        if !new.is_empty() {
            self.writer.timestamp_sizes(&mut self.pending, &new);
        }
    }
}

fn mark(wal_number: u64, of: &Extent) -> Option<Mark> {
    base::invariant!(
        wal_number == 0 || wal_number == of.number,
        "a mark of file {wal_number} has the size of file {}",
        of.number
    );
    Some(Mark { wal_number, bytes: of.bytes, digest: of.digest? })
}
