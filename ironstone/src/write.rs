//! Writes to one column family: put, delete, single delete, merge, range delete.
//!
//! Each call here has one entry. [`Db::write`](crate::Db::write) writes a batch of entries, also of several column
//! families. Path of a write: this file, `engine::db`, `engine::write`, `engine::wal`.

use base::Result;
use engine::options::WriteOptions;

use crate::Family;

impl Family {
    /// Sets the value of a key. Replaces an older value.
    ///
    /// # Errors
    /// The background error, if a background error stopped writes to this column family; errors of the WAL.
    ///
    /// ```
    /// # let db = ironstone::Db::open("data", ironstone::Options::in_memory())?;
    /// db.put(b"k", b"v")?;
    /// assert_eq!(db.get(b"k")?.as_deref(), Some(&b"v"[..]));
    /// # Ok::<(), ironstone::Error>(())
    /// ```
    #[inline]
    pub fn put(&self, key: &[u8], value: &[u8]) -> Result<()> {
        self.put_with(key, value, &WriteOptions::default())
    }

    /// Sets the value of a key, with options.
    ///
    /// # Errors
    /// The errors of [`Self::put`]. Incomplete if `no_slowdown` is set and the write would have to wait.
    ///
    /// ```
    /// # use ironstone::WriteOptions;
    /// # let db = ironstone::Db::open("data", ironstone::Options::in_memory())?;
    /// let durable = WriteOptions { sync: true, ..WriteOptions::default() };
    /// db.put_with(b"k", b"v", &durable)?;
    /// # Ok::<(), ironstone::Error>(())
    /// ```
    #[inline]
    pub fn put_with(&self, key: &[u8], value: &[u8], options: &WriteOptions) -> Result<()> {
        self.db.put(&self.inner, key, value, options)
    }

    /// Deletes a key. Does nothing visible if the key does not exist.
    ///
    /// # Errors
    /// The errors of [`Self::put`].
    ///
    /// ```
    /// # let db = ironstone::Db::open("data", ironstone::Options::in_memory())?;
    /// db.put(b"k", b"v")?;
    /// db.delete(b"k")?;
    /// assert!(db.get(b"k")?.is_none());
    /// # Ok::<(), ironstone::Error>(())
    /// ```
    pub fn delete(&self, key: &[u8]) -> Result<()> {
        self.delete_with(key, &WriteOptions::default())
    }

    /// Deletes a key, with options.
    ///
    /// # Errors
    /// The errors of [`Self::put_with`].
    ///
    /// ```
    /// # use ironstone::WriteOptions;
    /// # let db = ironstone::Db::open("data", ironstone::Options::in_memory())?;
    /// db.delete_with(b"k", &WriteOptions { sync: true, ..WriteOptions::default() })?;
    /// # Ok::<(), ironstone::Error>(())
    /// ```
    pub fn delete_with(&self, key: &[u8], options: &WriteOptions) -> Result<()> {
        self.db.delete(&self.inner, key, options)
    }

    /// Deletes a key that was put exactly once since its last deletion. Compaction removes the value and this
    /// deletion together, earlier than after [`Self::delete`]. For any other key the result is undefined.
    ///
    /// # Errors
    /// The errors of [`Self::put`].
    ///
    /// ```
    /// # let db = ironstone::Db::open("data", ironstone::Options::in_memory())?;
    /// db.put(b"k", b"v")?;
    /// db.single_delete(b"k")?;
    /// assert!(db.get(b"k")?.is_none());
    /// # Ok::<(), ironstone::Error>(())
    /// ```
    pub fn single_delete(&self, key: &[u8]) -> Result<()> {
        self.single_delete_with(key, &WriteOptions::default())
    }

    /// Deletes a key that was put exactly once since its last deletion, with options.
    ///
    /// # Errors
    /// The errors of [`Self::put_with`].
    ///
    /// ```
    /// # use ironstone::WriteOptions;
    /// # let db = ironstone::Db::open("data", ironstone::Options::in_memory())?;
    /// db.put(b"k", b"v")?;
    /// db.single_delete_with(b"k", &WriteOptions { sync: true, ..WriteOptions::default() })?;
    /// # Ok::<(), ironstone::Error>(())
    /// ```
    pub fn single_delete_with(&self, key: &[u8], options: &WriteOptions) -> Result<()> {
        self.db.single_delete(&self.inner, key, options)
    }

    /// Adds an operand for the merge operator of the column family. A read applies the operand to the older value.
    ///
    /// # Errors
    /// The errors of [`Self::put`]. NotSupported if the column family has no merge operator.
    ///
    /// ```
    /// # use ironstone::{Db, Options};
    /// let mut options = Options::in_memory();
    /// options.update("merge_operator=uint64add")?;
    /// let db = Db::open("data", options)?;
    /// db.merge(b"hits", &2u64.to_le_bytes())?;
    /// db.merge(b"hits", &3u64.to_le_bytes())?;
    /// assert_eq!(db.get(b"hits")?.as_deref(), Some(&5u64.to_le_bytes()[..]));
    /// # Ok::<(), ironstone::Error>(())
    /// ```
    pub fn merge(&self, key: &[u8], operand: &[u8]) -> Result<()> {
        self.merge_with(key, operand, &WriteOptions::default())
    }

    /// Adds an operand for the merge operator, with options.
    ///
    /// # Errors
    /// The errors of [`Self::merge`] and [`Self::put_with`].
    ///
    /// ```
    /// # use ironstone::{Db, Options, WriteOptions};
    /// # let mut options = Options::in_memory();
    /// # options.update("merge_operator=uint64add")?;
    /// # let db = Db::open("data", options)?;
    /// let durable = WriteOptions { sync: true, ..WriteOptions::default() };
    /// db.merge_with(b"hits", &2u64.to_le_bytes(), &durable)?;
    /// # Ok::<(), ironstone::Error>(())
    /// ```
    pub fn merge_with(&self, key: &[u8], operand: &[u8], options: &WriteOptions) -> Result<()> {
        self.db.merge(&self.inner, key, operand, options)
    }

    /// Deletes the keys in `[begin, end)` with one entry. The cost does not depend on the number of keys.
    ///
    /// # Errors
    /// The errors of [`Self::put`]. InvalidArgument if `end` is before `begin`.
    ///
    /// ```
    /// # let db = ironstone::Db::open("data", ironstone::Options::in_memory())?;
    /// db.put(b"a", b"1")?;
    /// db.put(b"c", b"3")?;
    /// db.delete_range(b"a", b"c")?;
    /// assert!(db.get(b"a")?.is_none());
    /// assert!(db.get(b"c")?.is_some());
    /// # Ok::<(), ironstone::Error>(())
    /// ```
    pub fn delete_range(&self, begin: &[u8], end: &[u8]) -> Result<()> {
        self.delete_range_with(begin, end, &WriteOptions::default())
    }

    /// Deletes the keys in `[begin, end)` with one entry, with options.
    ///
    /// # Errors
    /// The errors of [`Self::delete_range`] and [`Self::put_with`].
    ///
    /// ```
    /// # use ironstone::WriteOptions;
    /// # let db = ironstone::Db::open("data", ironstone::Options::in_memory())?;
    /// db.delete_range_with(b"a", b"c", &WriteOptions { sync: true, ..WriteOptions::default() })?;
    /// # Ok::<(), ironstone::Error>(())
    /// ```
    pub fn delete_range_with(&self, begin: &[u8], end: &[u8], options: &WriteOptions) -> Result<()> {
        self.db.delete_range(&self.inner, begin, end, options)
    }
}
