//! Properties and size estimates of one column family, by RocksDB's names.

use std::collections::BTreeMap;

use base::Result;
use engine::options::SizeApproximationOptions;

use crate::Family;

impl Family {
    /// Returns a property as text, or `None` if there is no property of this name. Properties of the whole database
    /// have the same value for each column family.
    ///
    /// ```
    /// # let db = ironstone::Db::open("data", ironstone::Options::in_memory())?;
    /// assert_eq!(db.property("rocksdb.num-files-at-level0").as_deref(), Some("0"));
    /// assert!(db.property("no such property").is_none());
    /// # Ok::<(), ironstone::Error>(())
    /// ```
    pub fn property(&self, name: &str) -> Option<String> {
        self.db.properties().text(&self.inner, name)
    }

    /// Returns a property as a number, or `None` if there is no property of this name or the property is not a
    /// number.
    ///
    /// ```
    /// # let db = ironstone::Db::open("data", ironstone::Options::in_memory())?;
    /// db.put(b"k", b"v")?;
    /// assert_eq!(db.int_property("rocksdb.num-entries-active-mem-table"), Some(1));
    /// # Ok::<(), ironstone::Error>(())
    /// ```
    pub fn int_property(&self, name: &str) -> Option<u64> {
        self.db.properties().number(&self.inner, name)
    }

    /// Returns a property as a map (`rocksdb.cfstats`, `rocksdb.dbstats` and others), or `None` if there is no
    /// property of this name or the property is not a map.
    ///
    /// ```
    /// # let db = ironstone::Db::open("data", ironstone::Options::in_memory())?;
    /// assert!(db.property_map("rocksdb.cfstats").is_some());
    /// # Ok::<(), ironstone::Error>(())
    /// ```
    pub fn property_map(&self, name: &str) -> Option<BTreeMap<String, String>> {
        self.db.properties().map(&self.inner, name)
    }

    /// Returns about how many bytes of SST files hold the keys in `[begin, end)`.
    ///
    /// # Errors
    /// Errors of opening SST files and of reading their index blocks.
    ///
    /// ```
    /// # let db = ironstone::Db::open("data", ironstone::Options::in_memory())?;
    /// db.put(b"b", b"2")?;
    /// db.flush()?;
    /// assert!(db.approximate_size(b"a", b"c")? > 0);
    /// # Ok::<(), ironstone::Error>(())
    /// ```
    pub fn approximate_size(&self, begin: &[u8], end: &[u8]) -> Result<u64> {
        self.db.reads().approximate_size(&self.inner, begin, end, &SizeApproximationOptions::default())
    }

    /// Returns about how many bytes each range `[begin, end)` holds, in the order of the ranges. The options choose
    /// memtables, SST files, or both. RocksDB: `GetApproximateSizes`.
    ///
    /// # Errors
    /// The errors of [`Self::approximate_size`]. InvalidArgument if the options choose neither memtables nor files.
    ///
    /// ```
    /// # use ironstone::SizeApproximationOptions;
    /// # let db = ironstone::Db::open("data", ironstone::Options::in_memory())?;
    /// db.put(b"b", b"2")?;
    /// let both = SizeApproximationOptions { include_memtables: true, ..SizeApproximationOptions::default() };
    /// let sizes = db.approximate_sizes(&[(b"a", b"c"), (b"c", b"d")], &both)?;
    /// assert!(sizes[0] > 0);
    /// assert_eq!(sizes[1], 0);
    /// # Ok::<(), ironstone::Error>(())
    /// ```
    pub fn approximate_sizes(
        &self,
        ranges: &[(&[u8], &[u8])],
        options: &SizeApproximationOptions,
    ) -> Result<Vec<u64>> {
        let size = |(begin, end): &(&[u8], &[u8])| {
            self.db.reads().approximate_size(&self.inner, begin, end, options)
        };
        ranges.iter().map(size).collect()
    }

    /// Returns about how many entries and bytes the memtables hold in `[begin, end)`. The result is exact if the
    /// range has few entries. The result is 0 if `end` is not after `begin`. Cost: about two lookups.
    ///
    /// ```
    /// # let db = ironstone::Db::open("data", ironstone::Options::in_memory())?;
    /// db.put(b"b", b"2")?;
    /// assert_eq!(db.approximate_memtable_stats(b"a", b"c").0, 1);
    /// # Ok::<(), ironstone::Error>(())
    /// ```
    pub fn approximate_memtable_stats(&self, begin: &[u8], end: &[u8]) -> (u64, u64) {
        self.db.reads().memtable_stats(&self.inner, begin, end)
    }
}
