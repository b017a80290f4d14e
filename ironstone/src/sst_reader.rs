//! Reads one SST file without a database.
//!
//! Not here: writing SST files (`sst_file`); the reads themselves (`engine::sst_reader`).

use std::path::Path;
use std::sync::Arc;

use base::{Pinned, Result, ValueType};
use engine::sst_reader::{SstIter, SstReader};

use crate::{Options, ReadOptions, TableProperties};

pub use engine::sst_reader::{SstEntries, SstEntry};

/// An open SST file of a database or of [`SstFileWriter`](crate::SstFileWriter), of any table kind. RocksDB's
/// `SstFileReader`. Any thread may use the value; a clone is another handle of the same open file.
///
/// Range tombstones of the file hide no key. Blob files are not read: a lookup of a value in a blob file is Corruption,
/// and an iterator shows the blob index as the value. Both are as in RocksDB.
///
/// ```
/// use ironstone::{Options, SstFileReader, SstFileWriter};
///
/// let options = Options::in_memory();
/// let mut file = SstFileWriter::create("1.sst", &options.db, &options.family)?;
/// file.put(b"a", b"1")?;
/// file.delete(b"b")?;
/// file.finish()?;
///
/// let reader = SstFileReader::open("1.sst", &options)?;
/// assert_eq!(reader.get(b"a")?.as_deref(), Some(&b"1"[..]));
/// assert!(reader.get(b"b")?.is_none());
/// assert_eq!(reader.properties().num_entries, 2);
/// reader.verify_checksums(&Default::default())?;
/// # Ok::<(), ironstone::Error>(())
/// ```
#[derive(Clone)]
pub struct SstFileReader {
    inner: SstReader,
}

impl SstFileReader {
    /// Opens the file at `path` as a file of a column family with `options.family`. Blocks go through
    /// `options.block_cache`; without a block cache, each read reads the file. RocksDB's `SstFileReader::Open`.
    ///
    /// # Errors
    /// Corruption or NotSupported for a file that is no whole SST file of a known kind; InvalidArgument for a file of
    /// another comparator; IoError of the file system. Each error names the file.
    ///
    /// ```
    /// # use ironstone::{Options, SstFileReader, SstFileWriter};
    /// # let options = Options::in_memory();
    /// # let mut file = SstFileWriter::create("1.sst", &options.db, &options.family)?;
    /// # for key in [b"a", b"b", b"c"] { file.put(key, b"1")?; }
    /// # file.finish()?;
    /// let reader = SstFileReader::open("1.sst", &options)?;
    /// assert_eq!(reader.properties().num_entries, 3);
    /// # Ok::<(), ironstone::Error>(())
    /// ```
    pub fn open(path: impl AsRef<Path>, options: &Options) -> Result<SstFileReader> {
        let cache = options.block_cache.clone();
        Ok(SstFileReader { inner: SstReader::open(path.as_ref(), &options.db, &options.family, cache)? })
    }

    /// Returns the value of a key, or `None` if the file has no value of the key.
    ///
    /// # Errors
    /// The errors of [`SstFileReader::get_with`].
    ///
    /// ```
    /// # use ironstone::{Options, SstFileReader, SstFileWriter};
    /// # let options = Options::in_memory();
    /// # let mut file = SstFileWriter::create("1.sst", &options.db, &options.family)?;
    /// # for key in [b"a", b"b", b"c"] { file.put(key, b"1")?; }
    /// # file.finish()?;
    /// let reader = SstFileReader::open("1.sst", &options)?;
    /// assert_eq!(reader.get(b"a")?.as_deref(), Some(&b"1"[..]));
    /// assert!(reader.get(b"z")?.is_none());
    /// # Ok::<(), ironstone::Error>(())
    /// ```
    pub fn get(&self, key: &[u8]) -> Result<Option<Pinned>> {
        self.get_with(key, &ReadOptions::default())
    }

    /// Returns the value of a key, with options. With timestamps, `options.timestamp` bounds the read.
    ///
    /// # Errors
    /// MergeInProgress if the file has merge operands of the key and no value below the operands. Corruption for a
    /// value in a blob file. InvalidArgument for a wrong timestamp. NotSupported for an option that needs a database.
    /// Errors of the file.
    ///
    /// ```
    /// # use ironstone::{Options, SstFileReader, SstFileWriter};
    /// # let options = Options::in_memory();
    /// # let mut file = SstFileWriter::create("1.sst", &options.db, &options.family)?;
    /// # for key in [b"a", b"b", b"c"] { file.put(key, b"1")?; }
    /// # file.finish()?;
    /// let reader = SstFileReader::open("1.sst", &options)?;
    /// let options = ironstone::ReadOptions { fill_cache: false, ..Default::default() };
    /// assert!(reader.get_with(b"b", &options)?.is_some());
    /// # Ok::<(), ironstone::Error>(())
    /// ```
    pub fn get_with(&self, key: &[u8], options: &ReadOptions) -> Result<Option<Pinned>> {
        self.inner.get(key, options)
    }

    /// Returns the values of several keys, in the order of the keys. The filter is probed and the blocks are read for all
    /// keys together.
    ///
    /// ```
    /// # use ironstone::{Options, SstFileReader, SstFileWriter};
    /// # let options = Options::in_memory();
    /// # let mut file = SstFileWriter::create("1.sst", &options.db, &options.family)?;
    /// # file.put(b"a", b"1")?;
    /// # file.finish()?;
    /// let reader = SstFileReader::open("1.sst", &options)?;
    /// let found = reader.multi_get(&[b"b", b"a"], &Default::default());
    /// assert!(found[0].as_ref().unwrap().is_none());
    /// assert_eq!(found[1].as_ref().unwrap().as_deref(), Some(&b"1"[..]));
    /// # Ok::<(), ironstone::Error>(())
    /// ```
    pub fn multi_get(&self, keys: &[&[u8]], options: &ReadOptions) -> Vec<Result<Option<Pinned>>> {
        self.inner.multi_get(keys, options)
    }

    /// Returns an iterator over the keys as a reader sees them: the newest entry of each key, no tombstones. Bounds, prefixes,
    /// a snapshot and a timestamp act as in a database.
    ///
    /// # Errors
    /// InvalidArgument for a wrong timestamp; NotSupported for an option that needs a database.
    ///
    /// ```
    /// # use ironstone::{Options, ReadOptions, SstFileReader, SstFileWriter};
    /// # let options = Options::in_memory();
    /// # let mut file = SstFileWriter::create("1.sst", &options.db, &options.family)?;
    /// # for key in [b"a", b"b", b"c"] { file.put(key, b"1")?; }
    /// # file.finish()?;
    /// let reader = SstFileReader::open("1.sst", &options)?;
    /// let mut iter = reader.iter(ReadOptions { iterate_upper_bound: Some(b"c".to_vec()), ..Default::default() })?;
    /// iter.seek_to_last();
    /// assert_eq!(iter.key(), b"b");
    /// # Ok::<(), ironstone::Error>(())
    /// ```
    pub fn iter(&self, options: ReadOptions) -> Result<SstFileIter> {
        Ok(SstFileIter { inner: self.inner.iter(options)? })
    }

    /// Returns the point entries of the file as they are stored, older entries and tombstones included. Blocks do not enter
    /// the block cache. RocksDB's `NewTableIterator`.
    ///
    /// ```
    /// # use ironstone::{Options, SstFileReader, SstFileWriter, ValueType};
    /// # let options = Options::in_memory();
    /// # let mut file = SstFileWriter::create("1.sst", &options.db, &options.family)?;
    /// # file.delete(b"a")?;
    /// # file.finish()?;
    /// let reader = SstFileReader::open("1.sst", &options)?;
    /// let entry = reader.entries().next().unwrap()?;
    /// assert_eq!((&entry.user_key[..], entry.value_type), (&b"a"[..], ValueType::Deletion));
    /// # Ok::<(), ironstone::Error>(())
    /// ```
    pub fn entries(&self) -> SstEntries {
        self.inner.entries()
    }

    /// Returns the table properties of the file.
    ///
    /// ```
    /// # use ironstone::{Options, SstFileReader, SstFileWriter};
    /// # let options = Options::in_memory();
    /// # let mut file = SstFileWriter::create("1.sst", &options.db, &options.family)?;
    /// # for key in [b"a", b"b", b"c"] { file.put(key, b"1")?; }
    /// # file.finish()?;
    /// let reader = SstFileReader::open("1.sst", &options)?;
    /// assert_eq!(reader.properties().num_deletions, 0);
    /// # Ok::<(), ironstone::Error>(())
    /// ```
    pub fn properties(&self) -> Arc<TableProperties> {
        self.inner.properties().clone()
    }

    /// Reads the whole file and verifies the checksum of each block. Plain and cuckoo tables have no checksums: order and
    /// number of their entries are verified.
    ///
    /// # Errors
    /// Corruption with file and offset; errors of the file.
    ///
    /// ```
    /// # use ironstone::{Options, SstFileReader, SstFileWriter};
    /// # let options = Options::in_memory();
    /// # let mut file = SstFileWriter::create("1.sst", &options.db, &options.family)?;
    /// # for key in [b"a", b"b", b"c"] { file.put(key, b"1")?; }
    /// # file.finish()?;
    /// let reader = SstFileReader::open("1.sst", &options)?;
    /// reader.verify_checksums(&Default::default())?;
    /// # Ok::<(), ironstone::Error>(())
    /// ```
    pub fn verify_checksums(&self, options: &ReadOptions) -> Result<()> {
        self.inner.verify_checksums(options)
    }

    /// Counts the point entries of the file, and compares the count with the table properties.
    ///
    /// # Errors
    /// Corruption if the counts differ; errors of the file.
    ///
    /// ```
    /// # use ironstone::{Options, SstFileReader, SstFileWriter};
    /// # let options = Options::in_memory();
    /// # let mut file = SstFileWriter::create("1.sst", &options.db, &options.family)?;
    /// # file.put(b"a", b"1")?;
    /// # file.finish()?;
    /// SstFileReader::open("1.sst", &options)?.verify_num_entries(&Default::default())?;
    /// # Ok::<(), ironstone::Error>(())
    /// ```
    pub fn verify_num_entries(&self, options: &ReadOptions) -> Result<()> {
        self.inner.verify_num_entries(options)
    }
}

/// A position in an SST file. Not valid until it is positioned. After a loop, check [`SstFileIter::status`].
///
/// ```
/// # use ironstone::{Options, SstFileReader, SstFileWriter};
/// # let options = Options::in_memory();
/// # let mut file = SstFileWriter::create("1.sst", &options.db, &options.family)?;
/// # for key in [b"a", b"b", b"c"] { file.put(key, b"1")?; }
/// # file.finish()?;
/// let mut iter = SstFileReader::open("1.sst", &options)?.iter(Default::default())?;
/// iter.seek_to_first();
/// while iter.valid() {
///     assert_eq!(iter.value(), b"1");
///     iter.next();
/// }
/// iter.status()?;
/// # Ok::<(), ironstone::Error>(())
/// ```
pub struct SstFileIter {
    inner: SstIter,
}

impl SstFileIter {
    /// Returns true if the iterator is on an entry.
    ///
    /// ```
    /// # use ironstone::{Options, SstFileReader, SstFileWriter};
    /// # let options = Options::in_memory();
    /// # let mut file = SstFileWriter::create("1.sst", &options.db, &options.family)?;
    /// # for key in [b"a", b"b", b"c"] { file.put(key, b"1")?; }
    /// # file.finish()?;
    /// let mut iter = SstFileReader::open("1.sst", &options)?.iter(Default::default())?;
    /// assert!(!iter.valid()); // not positioned yet
    /// iter.seek_to_first();
    /// assert!(iter.valid());
    /// # Ok::<(), ironstone::Error>(())
    /// ```
    pub fn valid(&self) -> bool {
        self.inner.valid()
    }

    /// Returns `Ok` at either end of the data.
    ///
    /// # Errors
    /// The error that ended the iteration.
    ///
    /// ```
    /// # use ironstone::{Options, SstFileReader, SstFileWriter};
    /// # let options = Options::in_memory();
    /// # let mut file = SstFileWriter::create("1.sst", &options.db, &options.family)?;
    /// # for key in [b"a", b"b", b"c"] { file.put(key, b"1")?; }
    /// # file.finish()?;
    /// let mut iter = SstFileReader::open("1.sst", &options)?.iter(Default::default())?;
    /// iter.seek(b"z");
    /// assert!(!iter.valid());
    /// iter.status()?; // the end of the data is no error
    /// # Ok::<(), ironstone::Error>(())
    /// ```
    pub fn status(&self) -> Result<()> {
        self.inner.status()
    }

    /// Moves to the first key.
    ///
    /// ```
    /// # use ironstone::{Options, SstFileReader, SstFileWriter};
    /// # let options = Options::in_memory();
    /// # let mut file = SstFileWriter::create("1.sst", &options.db, &options.family)?;
    /// # for key in [b"a", b"b", b"c"] { file.put(key, b"1")?; }
    /// # file.finish()?;
    /// let mut iter = SstFileReader::open("1.sst", &options)?.iter(Default::default())?;
    /// iter.seek_to_first();
    /// assert_eq!(iter.key(), b"a");
    /// # Ok::<(), ironstone::Error>(())
    /// ```
    pub fn seek_to_first(&mut self) {
        if !self.inner.is_over() {
            self.inner.seek_to_first();
        }
    }

    /// Moves to the last key.
    ///
    /// ```
    /// # use ironstone::{Options, SstFileReader, SstFileWriter};
    /// # let options = Options::in_memory();
    /// # let mut file = SstFileWriter::create("1.sst", &options.db, &options.family)?;
    /// # for key in [b"a", b"b", b"c"] { file.put(key, b"1")?; }
    /// # file.finish()?;
    /// let mut iter = SstFileReader::open("1.sst", &options)?.iter(Default::default())?;
    /// iter.seek_to_last();
    /// assert_eq!(iter.key(), b"c");
    /// # Ok::<(), ironstone::Error>(())
    /// ```
    pub fn seek_to_last(&mut self) {
        if !self.inner.is_over() {
            self.inner.seek_to_last();
        }
    }

    /// Moves to the first key at or after `target`.
    ///
    /// ```
    /// # use ironstone::{Options, SstFileReader, SstFileWriter};
    /// # let options = Options::in_memory();
    /// # let mut file = SstFileWriter::create("1.sst", &options.db, &options.family)?;
    /// # for key in [b"a", b"b", b"c"] { file.put(key, b"1")?; }
    /// # file.finish()?;
    /// let mut iter = SstFileReader::open("1.sst", &options)?.iter(Default::default())?;
    /// iter.seek(b"aa");
    /// assert_eq!(iter.key(), b"b");
    /// # Ok::<(), ironstone::Error>(())
    /// ```
    pub fn seek(&mut self, target: &[u8]) {
        if !self.inner.is_over() {
            self.inner.seek(target);
        }
    }

    /// Moves to the last key at or before `target`.
    ///
    /// ```
    /// # use ironstone::{Options, SstFileReader, SstFileWriter};
    /// # let options = Options::in_memory();
    /// # let mut file = SstFileWriter::create("1.sst", &options.db, &options.family)?;
    /// # for key in [b"a", b"b", b"c"] { file.put(key, b"1")?; }
    /// # file.finish()?;
    /// let mut iter = SstFileReader::open("1.sst", &options)?.iter(Default::default())?;
    /// iter.seek_for_prev(b"aa");
    /// assert_eq!(iter.key(), b"a");
    /// # Ok::<(), ironstone::Error>(())
    /// ```
    pub fn seek_for_prev(&mut self, target: &[u8]) {
        if !self.inner.is_over() {
            self.inner.seek_for_prev(target);
        }
    }

    /// Moves to the next key. Does nothing if the iterator is not valid.
    ///
    /// ```
    /// # use ironstone::{Options, SstFileReader, SstFileWriter};
    /// # let options = Options::in_memory();
    /// # let mut file = SstFileWriter::create("1.sst", &options.db, &options.family)?;
    /// # for key in [b"a", b"b", b"c"] { file.put(key, b"1")?; }
    /// # file.finish()?;
    /// let mut iter = SstFileReader::open("1.sst", &options)?.iter(Default::default())?;
    /// iter.seek_to_first();
    /// iter.next();
    /// assert_eq!(iter.key(), b"b");
    /// # Ok::<(), ironstone::Error>(())
    /// ```
    #[allow(clippy::should_implement_trait)]
    pub fn next(&mut self) {
        self.inner.next();
    }

    /// Moves to the previous key. Does nothing if the iterator is not valid.
    ///
    /// ```
    /// # use ironstone::{Options, SstFileReader, SstFileWriter};
    /// # let options = Options::in_memory();
    /// # let mut file = SstFileWriter::create("1.sst", &options.db, &options.family)?;
    /// # for key in [b"a", b"b", b"c"] { file.put(key, b"1")?; }
    /// # file.finish()?;
    /// let mut iter = SstFileReader::open("1.sst", &options)?.iter(Default::default())?;
    /// iter.seek_to_last();
    /// iter.prev();
    /// assert_eq!(iter.key(), b"b");
    /// # Ok::<(), ironstone::Error>(())
    /// ```
    pub fn prev(&mut self) {
        self.inner.prev();
    }

    /// Returns the current key, without timestamp. Empty if the iterator is not valid.
    ///
    /// ```
    /// # use ironstone::{Options, SstFileReader, SstFileWriter};
    /// # let options = Options::in_memory();
    /// # let mut file = SstFileWriter::create("1.sst", &options.db, &options.family)?;
    /// # for key in [b"a", b"b", b"c"] { file.put(key, b"1")?; }
    /// # file.finish()?;
    /// let mut iter = SstFileReader::open("1.sst", &options)?.iter(Default::default())?;
    /// assert_eq!(iter.key(), b"");
    /// iter.seek_to_first();
    /// assert_eq!(iter.key(), b"a");
    /// # Ok::<(), ironstone::Error>(())
    /// ```
    pub fn key(&self) -> &[u8] {
        self.inner.key()
    }

    /// Returns the current value; of an entity the default column; of a value in a blob file the blob index. Empty if
    /// the iterator is not valid.
    ///
    /// ```
    /// # use ironstone::{Options, SstFileReader, SstFileWriter};
    /// # let options = Options::in_memory();
    /// # let mut file = SstFileWriter::create("1.sst", &options.db, &options.family)?;
    /// # for key in [b"a", b"b", b"c"] { file.put(key, b"1")?; }
    /// # file.finish()?;
    /// let mut iter = SstFileReader::open("1.sst", &options)?.iter(Default::default())?;
    /// iter.seek_to_first();
    /// assert_eq!(iter.value(), b"1");
    /// # Ok::<(), ironstone::Error>(())
    /// ```
    pub fn value(&self) -> &[u8] {
        self.inner.value()
    }

    /// Returns the timestamp of the current entry; empty without timestamps.
    ///
    /// ```
    /// # use ironstone::{Options, SstFileReader, SstFileWriter};
    /// # let options = Options::in_memory();
    /// # let mut file = SstFileWriter::create("1.sst", &options.db, &options.family)?;
    /// # for key in [b"a", b"b", b"c"] { file.put(key, b"1")?; }
    /// # file.finish()?;
    /// let mut iter = SstFileReader::open("1.sst", &options)?.iter(Default::default())?;
    /// iter.seek_to_first();
    /// assert!(iter.timestamp().is_empty()); // the file has no timestamps
    /// # Ok::<(), ironstone::Error>(())
    /// ```
    pub fn timestamp(&self) -> &[u8] {
        self.inner.timestamp()
    }

    /// Returns the value type of the current entry. `None` if the iterator is not valid.
    ///
    /// ```
    /// # use ironstone::{Options, SstFileReader, SstFileWriter};
    /// # let options = Options::in_memory();
    /// # let mut file = SstFileWriter::create("1.sst", &options.db, &options.family)?;
    /// # for key in [b"a", b"b", b"c"] { file.put(key, b"1")?; }
    /// # file.finish()?;
    /// let mut iter = SstFileReader::open("1.sst", &options)?.iter(Default::default())?;
    /// iter.seek_to_first();
    /// assert_eq!(iter.value_type(), Some(ironstone::ValueType::Value));
    /// # Ok::<(), ironstone::Error>(())
    /// ```
    pub fn value_type(&self) -> Option<ValueType> {
        self.inner.value_type()
    }

    /// Returns the current value, kept in memory after the next move.
    ///
    /// ```
    /// # use ironstone::{Options, SstFileReader, SstFileWriter};
    /// # let options = Options::in_memory();
    /// # let mut file = SstFileWriter::create("1.sst", &options.db, &options.family)?;
    /// # for key in [b"a", b"b", b"c"] { file.put(key, b"1")?; }
    /// # file.finish()?;
    /// let mut iter = SstFileReader::open("1.sst", &options)?.iter(Default::default())?;
    /// iter.seek_to_first();
    /// let value = iter.pinned_value();
    /// iter.next();
    /// assert_eq!(&value[..], b"1");
    /// # Ok::<(), ironstone::Error>(())
    /// ```
    pub fn pinned_value(&self) -> Pinned {
        self.inner.pin_value()
    }
}
