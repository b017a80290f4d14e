//! Locks, atomics and threads of `env::sync`. Tests can replace them by those of a schedule explorer.

pub use env::sync::*;

use base::FileNumber;

/// A file number that threads share.
#[derive(Debug)]
pub struct AtomicFileNumber {
    number: AtomicU64,
}

impl AtomicFileNumber {
    /// Makes the shared number.
    pub fn new(FileNumber(number): FileNumber) -> Self {
        AtomicFileNumber { number: AtomicU64::new(number) }
    }

    /// Returns the number.
    pub fn load(&self) -> FileNumber {
        FileNumber(self.number.load(Ordering::Acquire))
    }

    /// Replaces the number. Returns the old number.
    pub fn swap(&self, FileNumber(number): FileNumber) -> FileNumber {
        FileNumber(self.number.swap(number, Ordering::AcqRel))
    }

    /// Raises the number to `number`, if it is smaller.
    pub fn raise(&self, FileNumber(number): FileNumber) {
        self.number.fetch_max(number, Ordering::AcqRel);
    }

    /// Returns the number, and advances to the next number.
    pub fn take(&self) -> FileNumber {
        FileNumber(self.number.fetch_add(1, Ordering::AcqRel))
    }
}
