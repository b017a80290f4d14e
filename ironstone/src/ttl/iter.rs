//! Iterators over a TTL database. They show the values without the times of the writes.

use base::Result;

use super::operators::check;
use crate::Iter;

/// An iterator over a column family of a TTL database. The positioning calls are those of [`Iter`].
///
/// ```
/// # use ironstone::{Options, ReadOptions, ttl::TtlDb};
/// let db = TtlDb::open("data", Options::in_memory(), 60)?;
/// db.put(b"a", b"1")?;
/// db.put(b"b", b"2")?;
/// let mut iter = db.iter_with(ReadOptions::default())?;
/// iter.seek_to_first();
/// while iter.valid() {
///     assert_eq!(iter.value()?.len(), 1); // without the time of the write
///     iter.next();
/// }
/// iter.status()?;
/// # Ok::<(), ironstone::Error>(())
/// ```
pub struct TtlIter {
    pub(super) iter: Iter,
}

impl TtlIter {
    /// Returns true if the iterator stands on a key.
    ///
    /// ```
    /// # use ironstone::{Options, ReadOptions, ttl::TtlDb};
    /// let db = TtlDb::open("data", Options::in_memory(), 60)?;
    /// db.put(b"a", b"1")?;
    /// db.put(b"b", b"2")?;
    /// let mut iter = db.iter_with(ReadOptions::default())?;
    /// assert!(!iter.valid()); // not positioned yet
    /// iter.seek_to_first();
    /// assert!(iter.valid());
    /// # Ok::<(), ironstone::Error>(())
    /// ```
    pub fn valid(&self) -> bool {
        self.iter.valid()
    }

    /// Returns `Ok` at either end of the data.
    ///
    /// # Errors
    /// The error that ended the iteration.
    ///
    /// ```
    /// # use ironstone::{Options, ReadOptions, ttl::TtlDb};
    /// let db = TtlDb::open("data", Options::in_memory(), 60)?;
    /// db.put(b"a", b"1")?;
    /// db.put(b"b", b"2")?;
    /// let mut iter = db.iter_with(ReadOptions::default())?;
    /// iter.seek(b"z");
    /// assert!(!iter.valid());
    /// iter.status()?; // the end of the data is no error
    /// # Ok::<(), ironstone::Error>(())
    /// ```
    pub fn status(&self) -> Result<()> {
        self.iter.status()
    }

    /// Returns the current key.
    ///
    /// ```
    /// # use ironstone::{Options, ReadOptions, ttl::TtlDb};
    /// let db = TtlDb::open("data", Options::in_memory(), 60)?;
    /// db.put(b"a", b"1")?;
    /// db.put(b"b", b"2")?;
    /// let mut iter = db.iter_with(ReadOptions::default())?;
    /// iter.seek_to_first();
    /// assert_eq!(iter.key(), b"a");
    /// # Ok::<(), ironstone::Error>(())
    /// ```
    pub fn key(&self) -> &[u8] {
        self.iter.key()
    }

    /// Returns the current value, without its time.
    ///
    /// # Errors
    /// Corruption if the value has no time.
    ///
    /// ```
    /// # use ironstone::{Options, ReadOptions, ttl::TtlDb};
    /// let db = TtlDb::open("data", Options::in_memory(), 60)?;
    /// db.put(b"a", b"1")?;
    /// db.put(b"b", b"2")?;
    /// let mut iter = db.iter_with(ReadOptions::default())?;
    /// iter.seek_to_first();
    /// assert_eq!(iter.value()?, b"1");
    /// # Ok::<(), ironstone::Error>(())
    /// ```
    pub fn value(&self) -> Result<&[u8]> {
        let stored = self.iter.value();
        Ok(&stored[..check(stored)?])
    }

    /// Returns the time when the current value was written, in seconds since 1970. RocksDB: `ttl_timestamp`.
    ///
    /// # Errors
    /// Corruption if the value has no time.
    ///
    /// ```
    /// # use ironstone::{Options, ReadOptions, ttl::TtlDb};
    /// let db = TtlDb::open("data", Options::in_memory(), 60)?;
    /// db.put(b"a", b"1")?;
    /// db.put(b"b", b"2")?;
    /// let mut iter = db.iter_with(ReadOptions::default())?;
    /// iter.seek_to_first();
    /// assert!(iter.written_at()? > 0);
    /// # Ok::<(), ironstone::Error>(())
    /// ```
    pub fn written_at(&self) -> Result<i32> {
        let stored = self.iter.value();
        let time = stored[check(stored)?..].first_chunk().copied().unwrap_or_default();
        Ok(i32::from_le_bytes(time))
    }

    /// Moves to the first key.
    ///
    /// ```
    /// # use ironstone::{Options, ReadOptions, ttl::TtlDb};
    /// let db = TtlDb::open("data", Options::in_memory(), 60)?;
    /// db.put(b"a", b"1")?;
    /// db.put(b"b", b"2")?;
    /// let mut iter = db.iter_with(ReadOptions::default())?;
    /// iter.seek_to_first();
    /// assert_eq!(iter.key(), b"a");
    /// # Ok::<(), ironstone::Error>(())
    /// ```
    pub fn seek_to_first(&mut self) {
        self.iter.seek_to_first();
    }

    /// Moves to the last key.
    ///
    /// ```
    /// # use ironstone::{Options, ReadOptions, ttl::TtlDb};
    /// let db = TtlDb::open("data", Options::in_memory(), 60)?;
    /// db.put(b"a", b"1")?;
    /// db.put(b"b", b"2")?;
    /// let mut iter = db.iter_with(ReadOptions::default())?;
    /// iter.seek_to_last();
    /// assert_eq!(iter.key(), b"b");
    /// # Ok::<(), ironstone::Error>(())
    /// ```
    pub fn seek_to_last(&mut self) {
        self.iter.seek_to_last();
    }

    /// Moves to the first key at or after `target`.
    ///
    /// ```
    /// # use ironstone::{Options, ReadOptions, ttl::TtlDb};
    /// let db = TtlDb::open("data", Options::in_memory(), 60)?;
    /// db.put(b"a", b"1")?;
    /// db.put(b"b", b"2")?;
    /// let mut iter = db.iter_with(ReadOptions::default())?;
    /// iter.seek(b"aa");
    /// assert_eq!(iter.key(), b"b");
    /// # Ok::<(), ironstone::Error>(())
    /// ```
    pub fn seek(&mut self, target: &[u8]) {
        self.iter.seek(target);
    }

    /// Moves to the last key at or before `target`.
    ///
    /// ```
    /// # use ironstone::{Options, ReadOptions, ttl::TtlDb};
    /// let db = TtlDb::open("data", Options::in_memory(), 60)?;
    /// db.put(b"a", b"1")?;
    /// db.put(b"b", b"2")?;
    /// let mut iter = db.iter_with(ReadOptions::default())?;
    /// iter.seek_for_prev(b"aa");
    /// assert_eq!(iter.key(), b"a");
    /// # Ok::<(), ironstone::Error>(())
    /// ```
    pub fn seek_for_prev(&mut self, target: &[u8]) {
        self.iter.seek_for_prev(target);
    }

    /// Moves to the next key.
    ///
    /// ```
    /// # use ironstone::{Options, ReadOptions, ttl::TtlDb};
    /// let db = TtlDb::open("data", Options::in_memory(), 60)?;
    /// db.put(b"a", b"1")?;
    /// db.put(b"b", b"2")?;
    /// let mut iter = db.iter_with(ReadOptions::default())?;
    /// iter.seek_to_first();
    /// iter.next();
    /// assert_eq!(iter.key(), b"b");
    /// # Ok::<(), ironstone::Error>(())
    /// ```
    pub fn next(&mut self) {
        self.iter.next();
    }

    /// Moves to the previous key.
    ///
    /// ```
    /// # use ironstone::{Options, ReadOptions, ttl::TtlDb};
    /// let db = TtlDb::open("data", Options::in_memory(), 60)?;
    /// db.put(b"a", b"1")?;
    /// db.put(b"b", b"2")?;
    /// let mut iter = db.iter_with(ReadOptions::default())?;
    /// iter.seek_to_last();
    /// iter.prev();
    /// assert_eq!(iter.key(), b"a");
    /// # Ok::<(), ironstone::Error>(())
    /// ```
    pub fn prev(&mut self) {
        self.iter.prev();
    }
}
