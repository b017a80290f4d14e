//! The files of a database: directories, file numbers, and the files that are obsolete.
//!
//! A version holds its SST files, and a reader pins a version. An SST file that left the current version waits in
//! `obsolete` until no version holds the file; then the file is deleted. `directories` says which files belong to the
//! database. If the end of the MANIFEST is in doubt, an open deletes nothing. If the end is not proved, an open moves
//! orphan files to `lost/`.

mod directories;
mod lock;
mod lost;
mod obsolete;
mod paths;
mod recycle;
mod sweep;

pub use directories::{Directory, info_logs_in, refuse_foreign};
pub use lock::DbLock;
pub use lost::{LOST_DIR, empty as empty_lost, lost_name, move_aside, purge as purge_lost};
pub use obsolete::{Obsolete, Records, Retired, Waiting};
pub use paths::Paths;
pub use recycle::Recycle;
pub use sweep::{Live, Sweep, sweep};

use std::collections::BTreeSet;

use base::{Error, FileNumber, Result};
use format::names;

use crate::sync::{Arc, AtomicFileNumber, Mutex};

/// The counter that gives every new file its number, and the numbers of the SST files that are being written.
///
/// Invariant: no number exceeds [`names::FILE_NUMBER_MAX`], so the counter cannot wrap. Recovery rejects larger numbers.
pub struct Numbers {
    next: AtomicFileNumber,
    pending: Mutex<BTreeSet<FileNumber>>,
}

impl Numbers {
    /// Makes the counter. `next` is the number of the next file.
    pub fn new(next: FileNumber) -> Arc<Self> {
        base::invariant!(next > FileNumber::ZERO, "the next file of a database has the number {next}");
        Arc::new(Numbers { next: AtomicFileNumber::new(next), pending: Mutex::default() })
    }

    /// Returns the number of the next file.
    pub fn peek(&self) -> FileNumber {
        self.next.load()
    }

    /// Assigns the next file number. No number is assigned twice.
    ///
    /// # Panics
    /// If the number exceeds [`names::FILE_NUMBER_MAX`].
    pub fn take(&self) -> FileNumber {
        let number = self.next.take();
        assert!(number <= names::FILE_NUMBER_MAX, "file number {number} is too large");
        number
    }

    /// Records that a file has this number. Later files get larger numbers.
    pub fn mark_used(&self, number: FileNumber) {
        assert!(number <= names::FILE_NUMBER_MAX, "file number {number} is too large");
        self.next.raise(number.next());
        base::invariant!(
            number < self.peek(),
            "file number {number} is in use, and the next file number is {}",
            self.peek()
        );
    }

    /// Returns a new number for an SST file that is being written. A sweep keeps the file while the returned guard
    /// lives.
    pub fn take_pending(self: &Arc<Self>) -> Pending {
        let mut pending = self.pending.lock();
        let number = self.take();
        base::invariant!(
            pending.last().is_none_or(|last| *last < number),
            "file number {} is given after a newer number",
            number
        );
        pending.insert(number);
        Pending { number, owner: self.clone() }
    }

    /// Returns the smallest number of an SST file that is being written.
    pub fn smallest_pending(&self) -> Option<FileNumber> {
        let smallest = self.pending.lock().first().copied();
        base::invariant!(
            smallest.is_none_or(|smallest| smallest < self.peek()),
            "file {smallest:?} is being written, and the next file number is {}",
            self.peek()
        );
        smallest
    }
}

/// Rejects a file name with a number that this database cannot have written: the number is above 2^61 and far above
/// `next_file_number` of the MANIFEST. A database that continued after this number would run out of file numbers.
///
/// # Errors
/// Corruption with the number.
pub fn check_largest(largest: FileNumber, next_file_number: FileNumber) -> Result<()> {
    if largest > names::FILE_NUMBER_PLAUSIBLE_MAX && largest > next_file_number.plus(names::FILE_NUMBERS_LEFT)
    {
        return Err(Error::corruption(format!(
            "a file has the number {largest}, but the MANIFEST has given numbers below {next_file_number} only. \
             Remove the file: the database did not write the file"
        )));
    }
    Ok(())
}

/// The guard of a number that [`Numbers::take_pending`] returned.
pub struct Pending {
    pub number: FileNumber,
    owner: Arc<Numbers>,
}

impl Drop for Pending {
    fn drop(&mut self) {
        let was_pending = self.owner.pending.lock().remove(&self.number);
        base::invariant!(was_pending, "file number {} is released twice", self.number);
    }
}
