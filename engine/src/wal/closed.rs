//! WALs that take no more records, and their way to the disk. The set of WALs is one level up.

use base::{Error, FileNumber, Result};
use env::Append;
use format::proof::Extent;

/// A WAL that takes no more records.
pub(super) struct Closed {
    pub number: FileNumber,
    pub size: u64,
    /// Up to the end of its last record.
    pub whole: Extent,
    /// Synced, name and all but the directory.
    pub durable: bool,
    /// `None` once synced, or for WALs from before this open, which recovery has read.
    pub file: Option<Box<dyn Append>>,
    /// A thread that holds `WalSet::syncing` has the file, and syncs it.
    pub in_sync: bool,
    pub written_over: bool,
    /// The error of the WAL, if the WAL failed before it was durable. The WAL will never be durable, so its
    /// entries must become SST files.
    pub failed: Option<Error>,
    /// The WAL failed while it had gathered records that were not handed to the system.
    pub gathered: bool,
}

/// The file of a closed WAL on its way to the disk.
pub(super) struct Unsynced {
    pub number: FileNumber,
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
