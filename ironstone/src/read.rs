//! Reads of one column family: get, multi-get, iterators, ranges.

use std::ops::{Bound, RangeBounds};

use base::{Pinned, Result};

use crate::iter::Range;
use crate::{Answered, Family, Iter, ReadOptions};

impl Family {
    /// Returns the value of a key, or `None` if the key has no value. The value is a view into a memtable or a
    /// cached block: nothing is copied.
    ///
    /// The view keeps its memtable or block in memory, also after the memtable is flushed. A memtable has up to
    /// `write_buffer_size` bytes. To keep a value for a long time, copy the value with `to_vec`. The property
    /// `rocksdb.size-all-mem-tables` counts the memtables that views keep.
    ///
    /// # Errors
    /// Corruption and I/O errors, with file and offset; the failure of a merge operator.
    ///
    /// ```
    /// # let db = ironstone::Db::open("data", ironstone::Options::in_memory())?;
    /// db.put(b"k", b"v")?;
    /// assert_eq!(db.get(b"k")?.as_deref(), Some(&b"v"[..]));
    /// assert!(db.get(b"absent")?.is_none());
    /// # Ok::<(), ironstone::Error>(())
    /// ```
    #[inline]
    pub fn get(&self, key: &[u8]) -> Result<Option<Pinned>> {
        self.get_with(key, ReadOptions::defaults())
    }

    /// Returns the value of a key, with options.
    ///
    /// # Errors
    /// The errors of [`Self::get`]. Incomplete if the read tier does not allow the I/O that the read needs. TimedOut
    /// after the deadline.
    ///
    /// ```
    /// # use ironstone::{ReadOptions, ReadTier};
    /// # let db = ironstone::Db::open("data", ironstone::Options::in_memory())?;
    /// let without_io = ReadOptions { read_tier: ReadTier::BlockCache, ..ReadOptions::default() };
    /// assert!(db.get_with(b"k", &without_io)?.is_none());
    /// # Ok::<(), ironstone::Error>(())
    /// ```
    #[inline]
    pub fn get_with(&self, key: &[u8], options: &ReadOptions) -> Result<Option<Pinned>> {
        self.db.get(&self.inner, key, options)
    }

    /// Returns the value of a key together with the subcode of the answer. The subcode says whether the read merged
    /// more operands than `merge_operand_count_threshold`.
    ///
    /// # Errors
    /// The errors of [`Self::get_with`].
    ///
    /// ```
    /// # use ironstone::ReadOptions;
    /// # let db = ironstone::Db::open("data", ironstone::Options::in_memory())?;
    /// db.put(b"k", b"v")?;
    /// let answer = db.get_answered(b"k", &ReadOptions::default())?;
    /// assert_eq!(answer.value.as_deref(), Some(&b"v"[..]));
    /// # Ok::<(), ironstone::Error>(())
    /// ```
    pub fn get_answered(&self, key: &[u8], options: &ReadOptions) -> Result<Answered> {
        self.db.get_answered(&self.inner, key, options)
    }

    /// Returns the values of several keys, in the order of the keys. All values belong to one sequence number. One
    /// call is cheaper than a loop of [`Self::get`].
    ///
    /// ```
    /// # let db = ironstone::Db::open("data", ironstone::Options::in_memory())?;
    /// db.put(b"a", b"1")?;
    /// let found = db.multi_get(&[b"a", b"b"]);
    /// assert_eq!(found[0].as_ref().unwrap().as_deref(), Some(&b"1"[..]));
    /// assert!(found[1].as_ref().unwrap().is_none());
    /// # Ok::<(), ironstone::Error>(())
    /// ```
    pub fn multi_get(&self, keys: &[&[u8]]) -> Vec<Result<Option<Pinned>>> {
        self.multi_get_with(keys, ReadOptions::defaults())
    }

    /// Returns the values of several keys, with options. After `value_size_soft_limit` bytes of values, the answers
    /// for the other keys are Aborted.
    ///
    /// ```
    /// # use ironstone::ReadOptions;
    /// # let db = ironstone::Db::open("data", ironstone::Options::in_memory())?;
    /// let found = db.multi_get_with(&[b"a", b"b"], &ReadOptions::default());
    /// assert_eq!(found.len(), 2);
    /// # Ok::<(), ironstone::Error>(())
    /// ```
    pub fn multi_get_with(&self, keys: &[&[u8]], options: &ReadOptions) -> Vec<Result<Option<Pinned>>> {
        self.db.multi_get(&self.inner, keys, options)
    }

    /// Returns the values of several keys, each together with the subcode of its answer. See
    /// [`Self::get_answered`].
    ///
    /// ```
    /// # use ironstone::ReadOptions;
    /// # let db = ironstone::Db::open("data", ironstone::Options::in_memory())?;
    /// let found = db.multi_get_answered(&[b"a", b"b"], &ReadOptions::default());
    /// assert!(found.iter().all(|answer| answer.as_ref().unwrap().value.is_none()));
    /// # Ok::<(), ironstone::Error>(())
    /// ```
    pub fn multi_get_answered(&self, keys: &[&[u8]], options: &ReadOptions) -> Vec<Result<Answered>> {
        self.db.multi_get_answered(&self.inner, keys, options)
    }

    /// Returns false if the key certainly does not exist, and true if the key may exist. Does no I/O. Also returns
    /// the value, if memory holds the value.
    ///
    /// ```
    /// # let db = ironstone::Db::open("data", ironstone::Options::in_memory())?;
    /// db.put(b"k", b"v")?;
    /// let (may_exist, value) = db.key_may_exist(b"k");
    /// assert!(may_exist);
    /// assert_eq!(value.as_deref(), Some(&b"v"[..]));
    /// assert!(!db.key_may_exist(b"absent").0);
    /// # Ok::<(), ironstone::Error>(())
    /// ```
    pub fn key_may_exist(&self, key: &[u8]) -> (bool, Option<Pinned>) {
        self.key_may_exist_with(key, ReadOptions::defaults())
    }

    /// Returns false if the key certainly does not exist, with options: for example at a snapshot or at a timestamp.
    /// The call never does I/O, whatever `read_tier` says.
    ///
    /// ```
    /// # let db = ironstone::Db::open("data", ironstone::Options::in_memory())?;
    /// let snapshot = db.snapshot();
    /// db.put(b"k", b"v")?;
    /// assert!(!db.key_may_exist_with(b"k", &snapshot.options()).0);
    /// # Ok::<(), ironstone::Error>(())
    /// ```
    pub fn key_may_exist_with(&self, key: &[u8], options: &ReadOptions) -> (bool, Option<Pinned>) {
        self.db.key_may_exist(&self.inner, key, options)
    }

    /// Returns the merge operands of a key, oldest first. A plain value below the operands is the first element.
    ///
    /// # Errors
    /// The errors of [`Self::get_with`].
    ///
    /// ```
    /// # use ironstone::{Db, Options, ReadOptions};
    /// # let mut options = Options::in_memory();
    /// # options.update("merge_operator=stringappend")?;
    /// # let db = Db::open("data", options)?;
    /// db.put(b"k", b"a")?;
    /// db.merge(b"k", b"b")?;
    /// let operands = db.get_merge_operands(b"k", &ReadOptions::default())?;
    /// assert_eq!((&operands[0][..], &operands[1][..]), (&b"a"[..], &b"b"[..]));
    /// # Ok::<(), ironstone::Error>(())
    /// ```
    pub fn get_merge_operands(&self, key: &[u8], options: &ReadOptions) -> Result<Vec<Pinned>> {
        self.db.reads().operands(&self.inner, key, options)
    }

    /// Returns an iterator over the entries that are visible now.
    ///
    /// # Errors
    /// NotSupported, if the options do not fit an iterator. Errors of opening SST files are in the status of the iterator
    /// after its first positioning.
    ///
    /// ```
    /// # let db = ironstone::Db::open("data", ironstone::Options::in_memory())?;
    /// db.put(b"b", b"2")?;
    /// let mut iter = db.iter()?;
    /// iter.seek(b"a");
    /// assert!(iter.valid());
    /// assert_eq!((iter.key(), iter.value()), (&b"b"[..], &b"2"[..]));
    /// iter.next();
    /// assert!(!iter.valid());
    /// iter.status()?; // the end, not an error
    /// # Ok::<(), ironstone::Error>(())
    /// ```
    pub fn iter(&self) -> Result<Iter> {
        self.iter_with(ReadOptions::default())
    }

    /// Returns an iterator, with options.
    ///
    /// # Errors
    /// The errors of [`Self::iter`]. InvalidArgument for options that do not fit the column family.
    ///
    /// ```
    /// # use ironstone::ReadOptions;
    /// # let db = ironstone::Db::open("data", ironstone::Options::in_memory())?;
    /// db.put(b"a", b"1")?;
    /// db.put(b"b", b"2")?;
    /// let below_b = ReadOptions { iterate_upper_bound: Some(b"b".to_vec()), ..ReadOptions::default() };
    /// let mut iter = db.iter_with(below_b)?;
    /// iter.seek_to_last();
    /// assert_eq!(iter.key(), b"a");
    /// # Ok::<(), ironstone::Error>(())
    /// ```
    pub fn iter_with(&self, options: ReadOptions) -> Result<Iter> {
        self.db.iter(&self.inner, options)
    }

    /// Returns a loop over all keys of a range, in the order of the column family's comparator. A prefix extractor does
    /// not limit the loop. The range may include or exclude both ends. If the iterator cannot be made, the first item is
    /// the error.
    ///
    /// ```
    /// # let db = ironstone::Db::open("data", ironstone::Options::in_memory())?;
    /// db.put(b"a", b"1")?;
    /// db.put(b"n", b"2")?;
    /// for entry in db.range(b"a"..b"n") {
    ///     let (key, value) = entry?;
    ///     assert_eq!((&key[..], &value[..]), (&b"a"[..], &b"1"[..]));
    /// }
    /// # Ok::<(), ironstone::Error>(())
    /// ```
    pub fn range<'k, K: AsRef<[u8]> + ?Sized + 'k, R: RangeBounds<&'k K>>(&self, range: R) -> Range {
        Range::new(self, range.start_bound().map(|key| *key), range.end_bound().map(|key| *key))
    }

    /// Returns a loop over all keys, in key order. If the iterator cannot be made, the first item is the error.
    ///
    /// ```
    /// # let db = ironstone::Db::open("data", ironstone::Options::in_memory())?;
    /// db.put(b"a", b"1")?;
    /// db.put(b"b", b"2")?;
    /// assert_eq!(db.rows().count(), 2);
    /// # Ok::<(), ironstone::Error>(())
    /// ```
    pub fn rows(&self) -> Range {
        Range::new::<[u8]>(self, Bound::Unbounded, Bound::Unbounded)
    }
}
