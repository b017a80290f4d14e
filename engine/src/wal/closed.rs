//! Closed WALs: how they become durable. The set of WALs is in the parent module.

use base::{Error, Result, WalNumber};
use env::Append;
use format::proof::Extent;

use super::active::Active;

/// A WAL that takes no more records.
pub(super) struct Closed {
    pub number: WalNumber,
    pub size: u64,
    /// The part up to the end of the last record.
    pub whole: Extent,
    pub written_over: bool,
    pub state: ClosedState,
}

/// The durability of a closed WAL.
pub(super) enum ClosedState {
    /// Some bytes are not synced. The next sync takes the file.
    Unsynced(Box<dyn Append>),
    /// A thread that holds `WalSet::syncing` has the file, and syncs it.
    InSync,
    /// Synced. The name may still need a sync of the directory.
    Durable,
    /// The WAL failed before it was durable. The WAL will never be durable, so its entries must become SST
    /// files.
    Failed {
        error: Error,
        /// True if buffered records of the WAL were not written to the file.
        lost_gathered: bool,
        /// The end of the WAL that was not written to the file: buffered records, or a record whose append failed.
        unwritten: Vec<u8>,
    },
    /// Not durable and not needed: its entries are in SST files, or the database is closed.
    Abandoned,
}

impl ClosedState {
    /// Closes a WAL after a failed append or sync, and returns its state. `error` is the error of the failed WALs; `None`: no
    /// entry of these WALs is still needed. The file is never synced again, because the failed call left an unknown
    /// state.
    pub fn after_failure(mut old: Active, error: Option<Error>, manual_flush: bool) -> ClosedState {
        // The result of the close does not matter: the failed call may have lost records at the end of the file already.
        let _ = old.file.close();
        match error {
            _ if old.durable.bytes == old.writer.offset() => ClosedState::Durable,
            Some(error) => {
                let lost_gathered = manual_flush && !old.pending.is_empty();
                ClosedState::Failed { error, lost_gathered, unwritten: std::mem::take(&mut old.pending) }
            }
            None => ClosedState::Abandoned,
        }
    }

    /// Takes the file of an unsynced WAL, and sets the next state. Other states do not change.
    pub fn take_file(&mut self, next: ClosedState) -> Option<Box<dyn Append>> {
        base::invariant!(
            !matches!(next, ClosedState::Unsynced(_)),
            "a WAL that is {self:?} becomes {next:?} without its file"
        );
        if !matches!(self, ClosedState::Unsynced(_)) {
            return None;
        }
        match std::mem::replace(self, next) {
            ClosedState::Unsynced(file) => Some(file),
            _ => None,
        }
    }
}

impl std::fmt::Debug for ClosedState {
    fn fmt(&self, f: &mut std::fmt::Formatter<'_>) -> std::fmt::Result {
        f.write_str(match self {
            ClosedState::Unsynced(_) => "unsynced",
            ClosedState::InSync => "in a sync",
            ClosedState::Durable => "durable",
            ClosedState::Failed { .. } => "failed",
            ClosedState::Abandoned => "abandoned",
        })
    }
}

impl Closed {
    /// Returns true if the bytes of the WAL are synced; its name may still need a sync of the directory.
    /// Returns false while a sync runs, after a failed sync, and if no sync was tried.
    pub fn is_durable(&self) -> bool {
        matches!(self.state, ClosedState::Durable)
    }

    /// Returns true if a sync of the WAL is running or has not begun.
    pub fn is_unsynced(&self) -> bool {
        matches!(self.state, ClosedState::Unsynced(_) | ClosedState::InSync)
    }

    /// Takes the file of an unsynced WAL for a sync.
    pub fn begin_sync(&mut self) -> Option<Unsynced> {
        let file = self.state.take_file(ClosedState::InSync)?;
        base::invariant!(
            self.whole.bytes == self.size,
            "WAL {} has {} bytes, and {} bytes of records",
            self.number,
            self.size,
            self.whole.bytes
        );
        Some(Unsynced { number: self.number, size: self.size, written_over: self.written_over, file })
    }

    /// Records that all entries of a failed WAL are in SST files.
    pub fn mark_flushed(&mut self) {
        if let ClosedState::Failed { .. } = self.state {
            self.state = ClosedState::Abandoned;
        }
    }

    /// Returns true if the WAL failed with buffered records that were not written to the file.
    pub fn lost_gathered(&self) -> bool {
        matches!(self.state, ClosedState::Failed { lost_gathered: true, .. })
    }

    /// Returns the end of a failed WAL that was not written to the file.
    pub fn unwritten(&self) -> &[u8] {
        match &self.state {
            ClosedState::Failed { unwritten, .. } => unwritten,
            _ => &[],
        }
    }

    /// Returns the error of a failed WAL.
    pub fn failure(&self) -> Option<Error> {
        match &self.state {
            ClosedState::Failed { error, .. } => Some(error.clone()),
            _ => None,
        }
    }
}

/// The file of a closed WAL during its sync.
pub(super) struct Unsynced {
    pub number: WalNumber,
    pub size: u64,
    pub written_over: bool,
    pub file: Box<dyn Append>,
}

impl Unsynced {
    /// Makes the WAL durable, and returns its file. After an error the file is closed.
    pub fn sync(mut self, use_fsync: bool) -> Result<Box<dyn Append>> {
        let whole = if self.written_over { cut(&mut *self.file, self.size) } else { Ok(()) };
        let done = whole.and_then(|()| {
            let done = if use_fsync { self.file.fsync() } else { self.file.sync() };
            done.map_err(|e| e.doing("syncing a closed WAL"))
        });
        match done {
            Ok(()) => Ok(self.file),
            Err(error) => {
                let _ = self.file.close();
                Err(error)
            }
        }
    }
}

/// Cuts a recycled file at the end of its WAL, and so removes the records of the older WAL. RocksDB takes
/// these records for damage if it verifies WALs, or in a recovery mode that allows no torn record.
pub(super) fn cut(file: &mut dyn Append, size: u64) -> Result<()> {
    file.flush()
        .and_then(|()| file.truncate(size))
        .map_err(|e| e.doing("cutting a WAL that was written over an older one"))
}

#[cold]
pub(super) fn closed_error() -> Error {
    Error::shutdown_in_progress("the WAL is closed")
}
