//! The readers that keep a version for long: iterators and compactions. The counts only explain why the files of an old
//! version are not deleted; nothing depends on them.
//!
//! A point read also keeps a version while it runs. Point reads are not counted, because their cost is a few hundred
//! nanoseconds.

use std::sync::atomic::{AtomicU64, Ordering};

/// A kind of reader.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum ReaderKind {
    /// An iterator of the application.
    Iterator,
    /// A running compaction. Its version is the version that the inputs were picked from.
    Compaction,
}

#[derive(Debug, Default)]
struct Count {
    readers: AtomicU64,
    /// The tick at which `readers` was last raised from 0.
    since: AtomicU64,
}

/// The readers of one version.
#[derive(Debug, Default)]
pub struct Readers {
    counts: [Count; 2],
}

/// A copy of a version has no reader yet.
impl Clone for Readers {
    fn clone(&self) -> Readers {
        Readers::default()
    }
}

impl Readers {
    fn count(&self, reader: ReaderKind) -> &Count {
        &self.counts[reader as usize]
    }

    /// Counts a reader that begins. `ticks` is called only for the first reader, and returns the time in any unit.
    #[inline]
    pub fn begin(&self, reader: ReaderKind, ticks: impl FnOnce() -> u64) {
        let count = self.count(reader);
        if count.readers.fetch_add(1, Ordering::Relaxed) == 0 {
            count.since.store(ticks(), Ordering::Relaxed);
        }
    }

    /// Counts the end of a reader that began.
    #[inline]
    pub fn end(&self, reader: ReaderKind) {
        let before = self.count(reader).readers.fetch_sub(1, Ordering::Relaxed);
        base::invariant!(before > 0, "a {reader:?} of a version ends and did not begin");
    }

    /// Returns the number of readers, and the tick since which the version has had such a reader without a break. `None`
    /// without readers.
    pub fn now(&self, reader: ReaderKind) -> Option<(u64, u64)> {
        let count = self.count(reader);
        let readers = count.readers.load(Ordering::Relaxed);
        (readers > 0).then(|| (readers, count.since.load(Ordering::Relaxed)))
    }
}

/// A reader that is counted until the value is dropped.
#[derive(Debug)]
pub struct Reading<'a>(&'a Readers, ReaderKind);

impl Readers {
    /// Counts a reader until the returned value is dropped.
    #[must_use = "the reader is counted until the value is dropped"]
    pub fn read_by(&self, reader: ReaderKind, ticks: impl FnOnce() -> u64) -> Reading<'_> {
        self.begin(reader, ticks);
        Reading(self, reader)
    }
}

impl Drop for Reading<'_> {
    fn drop(&mut self) {
        self.0.end(self.1);
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_version_is_kept_since_its_first_reader_without_a_break() {
        let readers = Readers::default();
        assert_eq!(readers.now(ReaderKind::Iterator), None);
        readers.begin(ReaderKind::Iterator, || 10);
        readers.begin(ReaderKind::Iterator, || 20);
        readers.begin(ReaderKind::Compaction, || 25);
        readers.end(ReaderKind::Iterator);
        assert_eq!(readers.now(ReaderKind::Iterator), Some((1, 10)));
        readers.end(ReaderKind::Iterator);
        assert_eq!(readers.now(ReaderKind::Iterator), None);
        readers.begin(ReaderKind::Iterator, || 30);
        assert_eq!(readers.now(ReaderKind::Iterator), Some((1, 30)));
        assert_eq!(readers.now(ReaderKind::Compaction), Some((1, 25)));
        assert_eq!(readers.clone().now(ReaderKind::Iterator), None);
    }
}
