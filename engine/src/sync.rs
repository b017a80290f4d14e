//! Locks, atomics and threads of `env::sync`. Tests can replace them by those of a schedule explorer.

pub use env::sync::*;

use base::{FileNumber, WalNumber};

/// A file number that threads share.
#[derive(Debug)]
pub struct AtomicFileNumber {
    number: AtomicU64,
}

impl AtomicFileNumber {
    /// Makes the shared number.
    pub fn new(number: FileNumber) -> Self {
        AtomicFileNumber { number: AtomicU64::new(number.get()) }
    }

    /// Returns the number.
    pub fn load(&self) -> FileNumber {
        FileNumber::new(self.number.load(Ordering::Acquire))
    }

    /// Replaces the number. Returns the old number.
    pub fn swap(&self, number: FileNumber) -> FileNumber {
        FileNumber::new(self.number.swap(number.get(), Ordering::AcqRel))
    }

    /// Raises the number to `number`, if it is smaller.
    pub fn raise(&self, number: FileNumber) {
        self.number.fetch_max(number.get(), Ordering::AcqRel);
    }

    /// Returns the number, and advances to the next number.
    pub fn take(&self) -> FileNumber {
        FileNumber::new(self.number.fetch_add(1, Ordering::AcqRel))
    }
}

/// The number of a WAL that threads share.
#[derive(Debug)]
pub struct AtomicWalNumber {
    number: AtomicFileNumber,
}

impl AtomicWalNumber {
    /// Makes the shared number.
    pub fn new(number: WalNumber) -> Self {
        AtomicWalNumber { number: AtomicFileNumber::new(number.file()) }
    }

    /// Returns the number.
    pub fn load(&self) -> WalNumber {
        WalNumber::of_file(self.number.load())
    }

    /// Replaces the number. Returns the old number.
    pub fn swap(&self, number: WalNumber) -> WalNumber {
        WalNumber::of_file(self.number.swap(number.file()))
    }

    /// Raises the number to `number`, if it is smaller.
    pub fn raise(&self, number: WalNumber) {
        self.number.raise(number.file());
    }
}
