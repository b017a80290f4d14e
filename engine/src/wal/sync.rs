//! Syncs of the WALs: closed WALs first, oldest to newest, then the directory if it has new names, then the active WAL.
//!
//! Before each WAL, the files that its records refer to are synced ([`super::BeforeWalSync`]).
//!
//! No failed sync is repeated. The first failure poisons the WALs.

use base::{Error, Result, WalNumber};
use env::fs::Syncer;
use format::proof::Extent;
use format::wal::WalPosition;

use super::WalSet;
use super::active::Active;
use super::closed::{Closed, ClosedState, Unsynced};
use super::shared::Shared;
use crate::sync::{Arc, Ordering};

/// The outcome of [`WalSet::sync_up_to`] and [`WalSet::sync_together`].
#[derive(Debug)]
pub enum SharedSync {
    /// Another thread made the records durable.
    Durable,
    /// This thread synced.
    Synced,
    /// The sync of this thread failed, and poisoned the WALs.
    Failed(Error),
    /// The WALs had failed before, or the sync of another thread failed: this is the error.
    FailedBefore(Error),
}

impl SharedSync {
    /// Returns the error, if the records are not durable.
    pub fn into_result(self) -> Result<()> {
        match self {
            SharedSync::Durable | SharedSync::Synced => Ok(()),
            SharedSync::Failed(error) | SharedSync::FailedBefore(error) => Err(error),
        }
    }
}

/// Reserves space of the active WAL before a sync, if the reserved space is used up. Returns true: the sync is always wanted.
fn begin_sync(active: &mut Active) -> bool {
    active.reserved.before_sync(&mut *active.file, active.writer.offset())
}

impl WalSet {
    /// Makes every record appended so far durable: syncs all live WALs and the directory with their names. Other
    /// threads may append to the active WAL meanwhile.
    ///
    /// # Errors
    /// An error of the file system, which poisons the WALs. The error of a failed WAL that is still needed.
    pub fn sync(&self) -> Result<()> {
        self.sync_if(begin_sync)
    }

    /// Makes every record durable as [`WalSet::sync`] does, but skips the active WAL if it is already durable.
    pub fn settle(&self) -> Result<()> {
        self.sync_if(|active| active.writer.offset() > active.durable.bytes)
    }

    fn sync_if(&self, wanted: impl FnOnce(&mut Active) -> bool) -> Result<()> {
        let _turn = self.active_sync.lock();
        self.sync_in_turn(wanted)
    }

    /// Syncs. The caller holds `active_sync`. Of two concurrent syncs of one file, one can report a lost write and the other
    /// success. So only one thread syncs the active WAL at a time, and a thread first looks whether an earlier sync failed.
    fn sync_in_turn(&self, wanted: impl FnOnce(&mut Active) -> bool) -> Result<()> {
        self.check()?;
        // A resume has started and not finished: its flushes failed, or have not run yet.
        if let Some(error) = self.closed.lock().iter().find_map(Closed::failure) {
            return Err(error);
        }
        // Look at the active WAL first. If it is closed after this lookup, the list of closed WALs has it.
        let active: Option<(Option<Arc<dyn Syncer>>, Extent)> = match &mut *self.active.lock() {
            None => None,
            Some(active) => {
                let flushed = active.hand_over(0).and_then(|()| active.file.flush());
                flushed.map_err(|e| self.poison(e.doing("flushing the WAL")))?;
                let upto = Extent {
                    number: active.number.file(),
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
            && active.number.file() == upto.number
            && upto.bytes > active.durable.bytes
        {
            active.note_durable(upto, &closed);
        }
        Ok(())
    }

    /// Returns the end of the newest record.
    pub fn end(&self) -> WalPosition {
        let active = self.active.lock();
        active.as_ref().map_or_else(WalPosition::default, |active| WalPosition {
            number: active.number,
            bytes: active.writer.offset(),
        })
    }

    /// Makes the records up to `end` durable. Threads that call this function or [`WalSet::sync_together`] concurrently share
    /// a sync. Other threads may append meanwhile.
    pub fn sync_up_to(&self, end: WalPosition) -> SharedSync {
        if self.is_durable(end) {
            return SharedSync::Durable;
        }
        self.sync_together()
    }

    /// Makes every record appended so far durable, as [`WalSet::sync`] does, with a sync of this thread or of another thread
    /// that starts after this call. See [`super::shared`].
    pub fn sync_together(&self) -> SharedSync {
        // The error that this thread found before its sync.
        let mut found = false;
        let shared = self.shared_syncs.share(&*self.env.clock, || {
            let _turn = self.active_sync.lock();
            found = self.check().is_err();
            self.sync_in_turn(begin_sync)
        });
        match shared {
            Shared::Led(Ok(())) => SharedSync::Synced,
            Shared::Led(Err(error)) if found => SharedSync::FailedBefore(error),
            Shared::Led(Err(error)) => SharedSync::Failed(error),
            Shared::Followed(Ok(())) => SharedSync::Durable,
            Shared::Followed(Err(error)) => SharedSync::FailedBefore(error),
        }
    }

    fn is_durable(&self, end: WalPosition) -> bool {
        if let Some(active) = &*self.active.lock()
            && active.number == end.number
        {
            return end.bytes <= active.durable.bytes;
        }
        self.closed.lock().iter().any(|wal| wal.number == end.number && wal.is_durable())
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
    pub fn sync_closed(&self) -> Result<Vec<(WalNumber, u64)>> {
        self.check()?;
        let syncing = self.syncing.lock();
        // The thread that held the lock before may have failed.
        self.check()?;
        let mut synced = Vec::new();
        loop {
            let unsynced = self.take_unsynced();
            // After the WAL is taken, so that all of its records are appended. The last call is for the active WAL.
            let referred = self.before_sync.get().map_or(Ok(()), |first| first.before_wal_sync());
            let Some(unsynced) = unsynced else {
                referred.map_err(|error| super::fail_references(self, error))?;
                break;
            };
            let (number, size) = (unsynced.number, unsynced.size);
            let done = referred
                .map_err(|error| super::fail_references(self, error))
                .and_then(|()| unsynced.sync(self.settings.use_fsync));
            let mut closed = self.closed.lock();
            let Some(wal) = closed.iter_mut().find(|wal| wal.number == number) else { continue };
            base::invariant!(
                matches!(wal.state, ClosedState::InSync),
                "WAL {} was synced, and its state is {:?}",
                wal.number,
                wal.state
            );
            // Never repeat the sync. The state after a failed sync is unknown, and a second sync could
            // return success although data is lost.
            let mut file = match done {
                Ok(file) => file,
                Err(error) => {
                    let (lost_gathered, unwritten) = (false, Vec::new());
                    wal.state = ClosedState::Failed { error: error.clone(), lost_gathered, unwritten };
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
}
