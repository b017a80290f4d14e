//! External SST files: written outside of a database, to be ingested into one.
//!
//! Not here: the ingestion (`ingest`).

use std::path::Path;

use base::{Error, Result, ValueType};
use engine::ingest::ExternalWriter;
use engine::options::{DbOptions, FamilyOptions};

pub use table::sst_file::ExternalFileInfo;

use crate::wide::encode_entity;

/// Writes one external SST file. Keys must be added in ascending order of the comparator, each key once.
///
/// If the column family has timestamps, use the calls with a timestamp; the other calls fail. The file is durable when
/// [`SstFileWriter::finish`] returns. If a writer is dropped before, the incomplete file stays. Cost: the memory of one block
/// and of the index and filter.
///
/// ```
/// use ironstone::{Db, IngestExternalFileOptions, Options, SstFileWriter};
///
/// let options = Options::in_memory();
/// let mut file = SstFileWriter::create("new.sst", &options.db, &options.family)?;
/// file.put(b"a", b"1")?;
/// file.put(b"b", b"2")?;
/// let info = file.finish()?;
/// assert_eq!((info.num_entries, &info.largest_key[..]), (2, &b"b"[..]));
///
/// let db = Db::open("data", options)?;
/// db.ingest_external_files(["new.sst"], &IngestExternalFileOptions::default())?;
/// assert_eq!(db.get(b"b")?.as_deref(), Some(&b"2"[..]));
/// # Ok::<(), ironstone::Error>(())
/// ```
pub struct SstFileWriter {
    inner: ExternalWriter,
    timestamp_size: usize,
}

/// The options of [`SstFileWriter::create_with_embedded_blobs`]. RocksDB's `SstFileWriterEmbeddedBlobOptions`.
///
/// ```
/// # use ironstone::EmbeddedBlobOptions;
/// assert_eq!(EmbeddedBlobOptions::default().min_blob_size, 2048);
/// let embedded = EmbeddedBlobOptions { min_blob_size: 100 };
/// ```
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct EmbeddedBlobOptions {
    /// The size in bytes from which a value, or a column of an entity, is an embedded blob. Default: 2048.
    pub min_blob_size: u64,
}

impl Default for EmbeddedBlobOptions {
    fn default() -> Self {
        EmbeddedBlobOptions { min_blob_size: 2048 }
    }
}

impl SstFileWriter {
    /// Creates the file at `path` for a column family with these options. A file of this name is replaced. The
    /// compression is that of the last level. RocksDB's `SstFileWriter::Open`.
    ///
    /// # Errors
    /// InvalidArgument or NotSupported for options that the table cannot have; IoError of the file system.
    ///
    /// ```
    /// # use ironstone::{Options, SstFileWriter};
    /// let options = Options::in_memory();
    /// let mut file = SstFileWriter::create("new.sst", &options.db, &options.family)?;
    /// file.put(b"a", b"1")?;
    /// assert_eq!(file.finish()?.num_entries, 1);
    /// # Ok::<(), ironstone::Error>(())
    /// ```
    pub fn create(path: impl AsRef<Path>, db: &DbOptions, family: &FamilyOptions) -> Result<SstFileWriter> {
        let timestamp_size = family.comparator.timestamp_size();
        Ok(SstFileWriter { inner: ExternalWriter::create(path.as_ref(), db, family)?, timestamp_size })
    }

    /// Creates the file as [`SstFileWriter::create`] does, with embedded blobs: values of at least
    /// `embedded.min_blob_size` bytes are stored between the blocks of the file, each with its own checksum and without
    /// compression. A reader of keys does not read such values. The limit applies to each column of an entity
    /// separately. Merge operands are never embedded. RocksDB's `SstFileWriter::OpenWithEmbeddedBlobs`; RocksDB reads
    /// the file from 11.6 on.
    ///
    /// # Errors
    /// The errors of [`SstFileWriter::create`]; InvalidArgument if the table is not block-based, or if its `format_version` is
    /// below 7.
    ///
    /// ```
    /// # use ironstone::{Db, EmbeddedBlobOptions, IngestExternalFileOptions, Options, SstFileWriter};
    /// let mut options = Options::in_memory();
    /// options.update("block_based_table_factory={format_version=7}")?;
    /// let embedded = EmbeddedBlobOptions { min_blob_size: 1000 };
    /// let mut file = SstFileWriter::create_with_embedded_blobs("new.sst", &options.db, &options.family, &embedded)?;
    /// file.put(b"large", &[7; 5000])?;
    /// file.put(b"small", b"1")?;
    /// file.finish()?;
    /// let db = Db::open("data", options)?;
    /// db.ingest_external_files(["new.sst"], &IngestExternalFileOptions::default())?;
    /// assert_eq!(db.get(b"large")?.map(|value| value.len()), Some(5000));
    /// # Ok::<(), ironstone::Error>(())
    /// ```
    pub fn create_with_embedded_blobs(
        path: impl AsRef<Path>,
        db: &DbOptions,
        family: &FamilyOptions,
        embedded: &EmbeddedBlobOptions,
    ) -> Result<SstFileWriter> {
        let timestamp_size = family.comparator.timestamp_size();
        let size_min = embedded.min_blob_size;
        let inner = ExternalWriter::create_with_embedded_blobs(path.as_ref(), db, family, size_min)?;
        Ok(SstFileWriter { inner, timestamp_size })
    }

    /// Adds a key with its value.
    ///
    /// ```
    /// # use ironstone::{Options, SstFileWriter};
    /// # let scratch = tempfile::tempdir()?;
    /// # let options = Options::default();
    /// # let mut writer = SstFileWriter::create(scratch.path().join("1.sst"), &options.db, &options.family)?;
    /// writer.put(b"a", b"1")?;
    /// assert!(writer.put(b"a", b"2").is_err()); // keys are added in ascending order
    /// # Ok::<(), Box<dyn std::error::Error>>(())
    /// ```
    ///
    /// # Errors
    /// InvalidArgument if the key is not above the key before, or after `finish`; IoError of the file system.
    pub fn put(&mut self, key: &[u8], value: &[u8]) -> Result<()> {
        self.add(key, &[], ValueType::Value, value)
    }

    /// Adds a key with its value and a timestamp. RocksDB: `Put` with a timestamp.
    ///
    /// ```
    /// # use ironstone::{Options, SstFileWriter};
    /// let mut options = Options::in_memory();
    /// options.update("comparator=leveldb.BytewiseComparator.u64ts")?;
    /// let mut writer = SstFileWriter::create("file.sst", &options.db, &options.family)?;
    /// writer.put_with_ts(b"k", &7u64.to_le_bytes(), b"1")?;
    /// assert!(writer.put(b"l", b"1").is_err()); // the column family has timestamps
    /// # Ok::<(), ironstone::Error>(())
    /// ```
    ///
    /// # Errors
    /// The errors of [`SstFileWriter::put`]; InvalidArgument for a timestamp of another length.
    pub fn put_with_ts(&mut self, key: &[u8], timestamp: &[u8], value: &[u8]) -> Result<()> {
        self.add(key, timestamp, ValueType::Value, value)
    }

    /// Adds a wide-column entity: a key with its columns, as names and values. The columns may have any order.
    ///
    /// ```
    /// # use ironstone::{Options, SstFileWriter};
    /// # let options = Options::in_memory();
    /// # let mut writer = SstFileWriter::create("file.sst", &options.db, &options.family)?;
    /// writer.put_entity(b"ada", &[(b"born", b"1815"), (b"", b"Ada Lovelace")])?;
    /// assert_eq!(writer.finish()?.num_entries, 1);
    /// # Ok::<(), ironstone::Error>(())
    /// ```
    ///
    /// # Errors
    /// The errors of [`SstFileWriter::put`]; Corruption if two columns have the same name.
    pub fn put_entity(&mut self, key: &[u8], columns: &[(&[u8], &[u8])]) -> Result<()> {
        let entity = encode_entity(columns)?;
        self.add(key, &[], ValueType::WideColumnEntity, &entity)
    }

    /// Adds a merge operand.
    ///
    /// ```
    /// # use ironstone::{Options, SstFileWriter};
    /// # let scratch = tempfile::tempdir()?;
    /// # let options = Options::default();
    /// # let mut writer = SstFileWriter::create(scratch.path().join("1.sst"), &options.db, &options.family)?;
    /// writer.merge(b"a", b"1")?;
    /// assert_eq!(writer.finish()?.num_entries, 1);
    /// # Ok::<(), Box<dyn std::error::Error>>(())
    /// ```
    ///
    /// # Errors
    /// The errors of [`SstFileWriter::put`].
    pub fn merge(&mut self, key: &[u8], operand: &[u8]) -> Result<()> {
        self.add(key, &[], ValueType::Merge, operand)
    }

    /// Adds a point tombstone: after the ingestion the key is deleted.
    ///
    /// ```
    /// # use ironstone::{Options, SstFileWriter};
    /// # let scratch = tempfile::tempdir()?;
    /// # let options = Options::default();
    /// # let mut writer = SstFileWriter::create(scratch.path().join("1.sst"), &options.db, &options.family)?;
    /// writer.delete(b"a")?; // the ingestion deletes the key
    /// assert_eq!(writer.finish()?.num_entries, 1);
    /// # Ok::<(), Box<dyn std::error::Error>>(())
    /// ```
    ///
    /// # Errors
    /// The errors of [`SstFileWriter::put`].
    pub fn delete(&mut self, key: &[u8]) -> Result<()> {
        self.add(key, &[], ValueType::Deletion, &[])
    }

    /// Adds a point tombstone with a timestamp. Keys of the column family have timestamps.
    ///
    /// # Errors
    /// The errors of [`SstFileWriter::put`].
    ///
    /// ```
    /// use ironstone::{Options, SstFileWriter};
    ///
    /// let mut options = Options::in_memory();
    /// options.update("comparator=leveldb.BytewiseComparator.u64ts")?;
    /// let mut writer = SstFileWriter::create("file.sst", &options.db, &options.family)?;
    /// writer.delete_with_ts(b"k", &7u64.to_le_bytes())?;
    /// assert_eq!(writer.finish()?.num_entries, 1);
    /// # Ok::<(), ironstone::Error>(())
    /// ```
    pub fn delete_with_ts(&mut self, key: &[u8], timestamp: &[u8]) -> Result<()> {
        self.add(key, timestamp, ValueType::DeletionWithTimestamp, &[])
    }

    /// Adds a range tombstone for the keys in `[begin, end)`. Range tombstones may come in any order, and do not delete
    /// keys of the same file. An empty range adds nothing.
    ///
    /// ```
    /// # use ironstone::{Options, SstFileWriter};
    /// # let scratch = tempfile::tempdir()?;
    /// # let options = Options::default();
    /// # let mut writer = SstFileWriter::create(scratch.path().join("1.sst"), &options.db, &options.family)?;
    /// writer.delete_range(b"a", b"f")?;
    /// assert_eq!(writer.finish()?.num_range_del_entries, 1);
    /// # Ok::<(), Box<dyn std::error::Error>>(())
    /// ```
    ///
    /// # Errors
    /// InvalidArgument if `end` is before `begin`; else as [`SstFileWriter::put`].
    pub fn delete_range(&mut self, begin: &[u8], end: &[u8]) -> Result<()> {
        self.check_timestamp(&[])?;
        self.inner.entries()?.delete_range(begin, end)
    }

    /// Adds a range tombstone with a timestamp for the keys in `[begin, end)`. RocksDB: `DeleteRange` with a timestamp.
    ///
    /// ```
    /// # use ironstone::{Options, SstFileWriter};
    /// # let mut options = Options::in_memory();
    /// # options.update("comparator=leveldb.BytewiseComparator.u64ts")?;
    /// # let mut writer = SstFileWriter::create("file.sst", &options.db, &options.family)?;
    /// writer.delete_range_with_ts(b"a", b"f", &7u64.to_le_bytes())?;
    /// assert_eq!(writer.finish()?.num_range_del_entries, 1);
    /// # Ok::<(), ironstone::Error>(())
    /// ```
    ///
    /// # Errors
    /// The errors of [`SstFileWriter::delete_range`]; InvalidArgument for a timestamp of another length.
    pub fn delete_range_with_ts(&mut self, begin: &[u8], end: &[u8], timestamp: &[u8]) -> Result<()> {
        self.check_timestamp(timestamp)?;
        self.inner.entries()?.delete_range(&[begin, timestamp].concat(), &[end, timestamp].concat())
    }

    fn add(&mut self, key: &[u8], timestamp: &[u8], value_type: ValueType, value: &[u8]) -> Result<()> {
        self.check_timestamp(timestamp)?;
        match timestamp.is_empty() {
            true => self.inner.entries()?.add(key, value_type, value),
            false => self.inner.entries()?.add(&[key, timestamp].concat(), value_type, value),
        }
    }

    fn check_timestamp(&self, timestamp: &[u8]) -> Result<()> {
        match timestamp.len() == self.timestamp_size {
            true => Ok(()),
            false => Err(Error::invalid_argument("Timestamp size mismatch")),
        }
    }

    /// Returns the bytes that the file has so far. 0 after `finish`.
    ///
    /// ```
    /// # use ironstone::{Options, SstFileWriter};
    /// # let scratch = tempfile::tempdir()?;
    /// # let options = Options::default();
    /// # let mut writer = SstFileWriter::create(scratch.path().join("1.sst"), &options.db, &options.family)?;
    /// writer.put(b"a", &[7; 100_000])?;
    /// writer.put(b"b", b"1")?;
    /// assert!(writer.file_size() > 0);
    /// # Ok::<(), Box<dyn std::error::Error>>(())
    /// ```
    pub fn file_size(&self) -> u64 {
        self.inner.file_size()
    }

    /// Writes the rest of the file, and makes the content of the file durable. Returns a description of the file.
    ///
    /// ```
    /// # use ironstone::{Options, SstFileWriter};
    /// # let scratch = tempfile::tempdir()?;
    /// # let options = Options::default();
    /// # let mut writer = SstFileWriter::create(scratch.path().join("1.sst"), &options.db, &options.family)?;
    /// assert!(writer.finish().is_err()); // no entry
    /// # let mut writer = SstFileWriter::create(scratch.path().join("2.sst"), &options.db, &options.family)?;
    /// writer.put(b"a", b"1")?;
    /// assert_eq!(writer.finish()?.smallest_key, b"a");
    /// # Ok::<(), Box<dyn std::error::Error>>(())
    /// ```
    ///
    /// # Errors
    /// InvalidArgument for a file without entries: the writer still takes entries. IoError of the file system: the file is removed.
    pub fn finish(&mut self) -> Result<ExternalFileInfo> {
        self.inner.finish()
    }
}
