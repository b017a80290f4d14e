//! A column family: the same verbs as on the database.

use std::collections::BTreeMap;
use std::ops::RangeBounds;
use std::sync::Arc;

use base::{Pinned, Result};
use engine::options::{CompactRangeOptions, FamilyOptions, FlushOptions, WriteOptions};

use crate::iter::{Range, bounds};
use crate::{Answered, Iter, ReadOptions};

/// A handle to a column family. Cheap to clone; stays usable for reading after the family is dropped.
#[derive(Clone)]
pub struct Family {
    db: engine::db::Db,
    inner: Arc<engine::family::Family>,
}

impl Family {
    pub(crate) fn new(db: engine::db::Db, inner: Arc<engine::family::Family>) -> Self {
        Family { db, inner }
    }

    pub(crate) fn inner(&self) -> &Arc<engine::family::Family> {
        &self.inner
    }

    /// Its name.
    pub fn name(&self) -> &str {
        self.inner.name()
    }

    /// Its number, as write batches carry it.
    pub fn id(&self) -> base::FamilyId {
        self.inner.id()
    }

    /// Sets the value of a key.
    ///
    /// # Errors
    /// The background error while writes are stopped, to all families or to this one; errors of the write-ahead log.
    #[inline]
    pub fn put(&self, key: &[u8], value: &[u8]) -> Result<()> {
        self.put_with(key, value, &WriteOptions::default())
    }

    /// As [`Self::put`], with options.
    ///
    /// # Errors
    /// As there; Incomplete if `no_slowdown` is set and the write would wait.
    #[inline]
    pub fn put_with(&self, key: &[u8], value: &[u8], options: &WriteOptions) -> Result<()> {
        self.db.put(&self.inner, key, value, options)
    }

    /// Deletes a key; one that is not there is fine.
    ///
    /// # Errors
    /// As [`Self::put`].
    pub fn delete(&self, key: &[u8]) -> Result<()> {
        self.delete_with(key, &WriteOptions::default())
    }

    /// As [`Self::delete`], with options.
    ///
    /// # Errors
    /// As there.
    pub fn delete_with(&self, key: &[u8], options: &WriteOptions) -> Result<()> {
        self.db.delete(&self.inner, key, options)
    }

    /// Deletes a key that was put exactly once since it was last deleted; cheaper to compact. On any other
    /// key the result is undefined.
    ///
    /// # Errors
    /// As [`Self::put`].
    pub fn single_delete(&self, key: &[u8]) -> Result<()> {
        self.single_delete_with(key, &WriteOptions::default())
    }

    /// As [`Self::single_delete`], with options.
    ///
    /// # Errors
    /// As there.
    pub fn single_delete_with(&self, key: &[u8], options: &WriteOptions) -> Result<()> {
        self.db.single_delete(&self.inner, key, options)
    }

    /// Adds an operand for the family's merge operator.
    ///
    /// # Errors
    /// As [`Self::put`]; NotSupported if the family has no operator.
    pub fn merge(&self, key: &[u8], operand: &[u8]) -> Result<()> {
        self.merge_with(key, operand, &WriteOptions::default())
    }

    /// As [`Self::merge`], with options.
    ///
    /// # Errors
    /// As there.
    pub fn merge_with(&self, key: &[u8], operand: &[u8], options: &WriteOptions) -> Result<()> {
        self.db.merge(&self.inner, key, operand, options)
    }

    /// Deletes the keys in `[begin, end)` with one record.
    ///
    /// # Errors
    /// As [`Self::put`]; InvalidArgument if the end is before the begin.
    pub fn delete_range(&self, begin: &[u8], end: &[u8]) -> Result<()> {
        self.delete_range_with(begin, end, &WriteOptions::default())
    }

    /// As [`Self::delete_range`], with options.
    ///
    /// # Errors
    /// As there.
    pub fn delete_range_with(&self, begin: &[u8], end: &[u8], options: &WriteOptions) -> Result<()> {
        self.db.delete_range(&self.inner, begin, end, options)
    }

    /// The value of a key as a view into the memtable or cached block it lies in; `None` if there is none.
    ///
    /// # Errors
    /// Corruption or I/O errors, naming file and offset; a failed merge.
    #[inline]
    pub fn get(&self, key: &[u8]) -> Result<Option<Pinned>> {
        self.get_with(key, &ReadOptions::default())
    }

    /// As [`Self::get`], with options.
    ///
    /// # Errors
    /// As there; Incomplete if the read tier forbids what is needed.
    #[inline]
    pub fn get_with(&self, key: &[u8], options: &ReadOptions) -> Result<Option<Pinned>> {
        self.db.get(&self.inner, key, options)
    }

    /// As [`Self::get_with`], with the subcode of the answer: whether more operands were merged than
    /// `merge_operand_count_threshold`.
    ///
    /// # Errors
    /// As there.
    pub fn get_answered(&self, key: &[u8], options: &ReadOptions) -> Result<Answered> {
        self.db.get_answered(&self.inner, key, options)
    }

    /// As [`Self::multi_get_with`], with the subcodes of the answers.
    pub fn multi_get_answered(&self, keys: &[&[u8]], options: &ReadOptions) -> Vec<Result<Answered>> {
        self.db.multi_get_answered(&self.inner, keys, options)
    }

    /// The values of several keys, looked up together; answers in the order asked.
    pub fn multi_get(&self, keys: &[&[u8]]) -> Vec<Result<Option<Pinned>>> {
        self.multi_get_with(keys, &ReadOptions::default())
    }

    /// As [`Self::multi_get`], with options.
    pub fn multi_get_with(&self, keys: &[&[u8]], options: &ReadOptions) -> Vec<Result<Option<Pinned>>> {
        self.db.multi_get(&self.inner, keys, options)
    }

    /// Whether a key may exist, told without I/O: false is certain. With the value if it was at hand.
    pub fn key_may_exist(&self, key: &[u8]) -> (bool, Option<Pinned>) {
        self.db.key_may_exist(&self.inner, key, &ReadOptions::default())
    }

    /// The merge operands of a key, oldest first; a plain value counts as the first.
    ///
    /// # Errors
    /// As [`Self::get`].
    pub fn get_merge_operands(&self, key: &[u8], options: &ReadOptions) -> Result<Vec<Pinned>> {
        self.db.reads().operands(&self.inner, key, options)
    }

    /// An iterator over what is visible now.
    ///
    /// # Errors
    /// Errors of opening tables.
    pub fn iter(&self) -> Result<Iter> {
        self.iter_with(ReadOptions::default())
    }

    /// As [`Self::iter`], with options.
    ///
    /// # Errors
    /// As there; InvalidArgument for options that do not fit the family.
    pub fn iter_with(&self, options: ReadOptions) -> Result<Iter> {
        self.db.iter(&self.inner, options)
    }

    /// A loop over a range of keys.
    ///
    /// An error of making the iterator comes as the first item.
    pub fn range<'k, K: AsRef<[u8]> + ?Sized + 'k, R: RangeBounds<&'k K>>(&self, range: R) -> Range {
        let (lower, upper, after) = bounds(range.start_bound(), range.end_bound());
        let options =
            ReadOptions { iterate_lower_bound: lower, iterate_upper_bound: upper, ..ReadOptions::default() };
        Range::new(self.iter_with(options), after)
    }

    /// A loop over all keys.
    pub fn rows(&self) -> Range {
        Range::new(self.iter(), None)
    }

    /// Writes the memtable to a table and waits for it.
    ///
    /// # Errors
    /// The background error that prevents it.
    pub fn flush(&self) -> Result<()> {
        self.db.flush(&[self.inner.clone()], &FlushOptions::default())
    }

    /// Compacts the keys in `[begin, end]`; `None` is unbounded.
    ///
    /// # Errors
    /// Those of the jobs; NotSupported for options whose feature is missing.
    pub fn compact_range(
        &self,
        begin: Option<&[u8]>,
        end: Option<&[u8]>,
        options: &CompactRangeOptions,
    ) -> Result<()> {
        self.db.compact_range(&self.inner, begin, end, options)
    }

    /// The options as they are now.
    pub fn options(&self) -> Arc<FamilyOptions> {
        self.inner.options()
    }

    /// Changes options while open, by RocksDB's names.
    ///
    /// # Errors
    /// InvalidArgument for an option that does not exist or cannot change, or a bad value; nothing is changed.
    pub fn set_options(&self, changes: &[(&str, &str)]) -> Result<()> {
        self.db.set_options(&self.inner, changes)
    }

    /// A property of this family by RocksDB's name; `None` if there is none of that name.
    pub fn property(&self, name: &str) -> Option<String> {
        self.db.property(&self.inner, name)
    }

    /// A numeric property, as [`Family::property`].
    pub fn int_property(&self, name: &str) -> Option<u64> {
        self.db.int_property(&self.inner, name)
    }

    /// A property that is a map, as [`Family::property`].
    pub fn property_map(&self, name: &str) -> Option<BTreeMap<String, String>> {
        self.db.property_map(&self.inner, name)
    }
}

impl std::fmt::Debug for Family {
    fn fmt(&self, f: &mut std::fmt::Formatter<'_>) -> std::fmt::Result {
        write!(f, "{:?}", self.inner)
    }
}
