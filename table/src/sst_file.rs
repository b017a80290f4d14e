//! Writes external tables: SST files that are made outside of a database, for ingestion into a database.
//!
//! Every sequence number in an external table is 0, and user keys are strictly ascending. Two properties mark
//! the table as external. The table has the format of the options: block-based, plain, or cuckoo. At ingestion, the MANIFEST records one sequence number for all its entries. Facts:
//! RocksDB `table/sst_file_writer.cc`.

#[cfg(test)]
mod tests;

use std::sync::Arc;

use base::key::append_internal;
use base::{Error, Result, SequenceNumber, ValueType};
use env::writer::FileWriter;
use format::properties::Properties;

use crate::any::AnyWriter;
use crate::sst::{FinishedTable, WriterOptions};

/// The database id in the properties of external tables.
pub const DB_ID: &str = "SST Writer";

/// An external table being written.
pub struct SstFileWriter {
    writer: AnyWriter,
    timestamp_size: usize,
    strip_timestamp: bool,
    options: WriterOptions,
    /// The last internal key that was added. `ranges` are the user keys that bound all range tombstones.
    key: Vec<u8>,
    ranges: Option<(Vec<u8>, Vec<u8>)>,
    info: ExternalFileInfo,
}

/// The content of an external table. Keys are user keys; they are empty if there are none. They have no
/// timestamps if timestamps are not persisted.
#[derive(Clone, Debug, Default, PartialEq, Eq)]
pub struct ExternalFileInfo {
    /// The smallest user key of the entries. Empty if the file has only range tombstones.
    pub smallest_key: Vec<u8>,
    /// The largest user key of the entries. Empty if the file has only range tombstones.
    pub largest_key: Vec<u8>,
    /// The smallest start of the range tombstones. Empty if there is none.
    pub smallest_range_del_key: Vec<u8>,
    /// The largest end of the range tombstones. Empty if there is none.
    pub largest_range_del_key: Vec<u8>,
    /// The size of the file in bytes.
    pub file_size: u64,
    /// The number of entries without range tombstones.
    pub num_entries: u64,
    /// The number of range tombstones.
    pub num_range_del_entries: u64,
    /// The version of the file. Always 2.
    pub version: i32,
    /// The facts that an ingestion otherwise reads from the file. `finish` sets the field.
    pub prepared_file_info: Option<Arc<PreparedFileInfo>>,
}

/// The facts about an SST file that an ingestion needs. With these facts, an ingestion does not open the file. RocksDB's
/// `PreparedFileInfo`.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct PreparedFileInfo {
    file_size: u64,
    /// The smallest and the largest internal key, range tombstones included.
    bounds: (Vec<u8>, Vec<u8>),
    properties: Arc<Properties>,
    blobs: BlobReferences,
}

/// Whether entries of an SST file refer to blob files.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum BlobReferences {
    /// No entry refers to a blob file.
    None,
    /// An entry may refer to a blob file.
    Some,
}

impl PreparedFileInfo {
    /// Makes a description of a file of `file_size` bytes. `bounds` are the smallest and the largest internal key.
    pub fn new(
        file_size: u64,
        bounds: (Vec<u8>, Vec<u8>),
        properties: Arc<Properties>,
        blobs: BlobReferences,
    ) -> PreparedFileInfo {
        PreparedFileInfo { file_size, bounds, properties, blobs }
    }

    /// Returns the size of the file in bytes.
    pub fn file_size(&self) -> u64 {
        self.file_size
    }

    /// Returns the smallest and the largest internal key. The largest key may be the exclusive end of a range tombstone.
    pub fn bounds(&self) -> (&[u8], &[u8]) {
        (&self.bounds.0, &self.bounds.1)
    }

    /// Returns the table properties. For a file of a database, the sequence numbers are those of the MANIFEST.
    pub fn properties(&self) -> &Arc<Properties> {
        &self.properties
    }

    /// Returns whether entries refer to blob files.
    pub fn blobs(&self) -> BlobReferences {
        self.blobs
    }
}

impl SstFileWriter {
    /// Starts a table. Replaces the options that identify a database: the database id is [`DB_ID`], the age
    /// of entries is unknown, and the level is unknown. `file_number` counts the files of a session from 1.
    /// Choose the compression of the last level.
    ///
    /// # Errors
    /// The errors of [`AnyWriter::new`].
    pub fn new(file: FileWriter, mut options: WriterOptions) -> Result<SstFileWriter> {
        options.external = true;
        options.identity.db_id = DB_ID.to_string();
        options.place.level = None;
        options.place.filter_level = crate::options::FilterLevel::Unknown;
        options.place.skip_filter = false;
        options.times.oldest_ancestor = 0;
        options.times.oldest_key = 0;
        options.times.newest_key = 0;
        options.file_creation_time = 0;
        options.target_file_size = 0;
        let timestamp_size = options.order.user.timestamp_size();
        Ok(SstFileWriter {
            writer: AnyWriter::new(file, options.clone())?,
            timestamp_size,
            strip_timestamp: timestamp_size > 0 && !options.persist_timestamps,
            options,
            key: Vec::new(),
            ranges: None,
            info: ExternalFileInfo { version: 2, ..ExternalFileInfo::default() },
        })
    }

    /// Adds an entry. If the order has timestamps, the key ends with its timestamp. Value types: `Value`,
    /// `Merge`, `WideColumnEntity` (its serialized form), `Deletion`, and with timestamps
    /// `DeletionWithTimestamp`.
    ///
    /// # Errors
    /// InvalidArgument if the key is not above the previous key, is too long, or has a value type that is not
    /// allowed. Otherwise the errors of the file.
    pub fn add(&mut self, user_key: &[u8], value_type: ValueType, value: &[u8]) -> Result<()> {
        use ValueType::{Deletion, DeletionWithTimestamp, Merge, Value, WideColumnEntity};
        if !matches!(value_type, Value | Merge | WideColumnEntity | Deletion | DeletionWithTimestamp) {
            return Err(Error::invalid_argument(format!("{} in an external table", value_type.word())));
        }
        check_len("key", user_key, 8)?;
        check_len("value", value, 0)?;
        self.check_timestamp(user_key, "only minimum timestamp is accepted.")?;
        if self.info.num_entries > 0
            && self.options.order.user.compare(user_key, base::key::user_key(&self.key)).is_le()
        {
            return Err(Error::invalid_argument("Keys must be added in strict ascending order."));
        }
        self.key.clear();
        append_internal(&mut self.key, user_key, SequenceNumber::ZERO, value_type);
        self.writer.add(&self.key, value)?;
        if self.info.num_entries == 0 {
            self.info.smallest_key = user_key.to_vec();
        }
        self.info.num_entries += 1;
        Ok(())
    }

    /// Adds a value.
    ///
    /// # Errors
    /// InvalidArgument if the key does not come after the key before. IoError if the file system fails.
    pub fn put(&mut self, user_key: &[u8], value: &[u8]) -> Result<()> {
        self.add(user_key, ValueType::Value, value)
    }

    /// Adds a merge operand. Fails like [`put`](Self::put).
    pub fn merge(&mut self, user_key: &[u8], value: &[u8]) -> Result<()> {
        self.add(user_key, ValueType::Merge, value)
    }

    /// Adds a point tombstone. Fails like [`put`](Self::put).
    pub fn delete(&mut self, user_key: &[u8]) -> Result<()> {
        let value_type =
            if self.timestamp_size > 0 { ValueType::DeletionWithTimestamp } else { ValueType::Deletion };
        self.add(user_key, value_type, &[])
    }

    /// Adds a range tombstone from `start` (included) to `end` (excluded). Tombstones may be in any order. An
    /// empty range does nothing.
    ///
    /// # Errors
    /// InvalidArgument if `end` comes before `start`.
    pub fn delete_range(&mut self, start: &[u8], end: &[u8]) -> Result<()> {
        check_len("key", start, 8)?;
        check_len("end key", end, 0)?;
        let order = &self.options.order.user;
        match order.compare_without_timestamp(start, end) {
            std::cmp::Ordering::Greater => {
                return Err(Error::invalid_argument("end key comes before start key"));
            }
            std::cmp::Ordering::Equal => return Ok(()),
            std::cmp::Ordering::Less => {}
        }
        self.check_timestamp(start, "only minimum timestamp is accepted for start key.")?;
        self.check_timestamp(end, "only minimum timestamp is accepted for end key.")?;
        self.writer.add_range_tombstone(start, end, SequenceNumber::ZERO)?;
        let order = &self.options.order.user;
        let (smallest, largest) = self.ranges.get_or_insert_with(|| (start.to_vec(), end.to_vec()));
        if order.compare(start, smallest).is_lt() {
            *smallest = start.to_vec();
        }
        if order.compare(end, largest).is_gt() {
            *largest = end.to_vec();
        }
        self.info.num_range_del_entries += 1;
        Ok(())
    }

    fn check_timestamp(&self, user_key: &[u8], words: &str) -> Result<()> {
        let Some(at) = user_key.len().checked_sub(self.timestamp_size) else {
            return Err(Error::invalid_argument("Timestamp size mismatch"));
        };
        if self.strip_timestamp && user_key[at..].iter().any(|&byte| byte != 0) {
            return Err(Error::invalid_argument(format!(
                "persist_user_defined_timestamps flag is set to false, {words}"
            )));
        }
        Ok(())
    }

    /// Returns true if the table has no entries and no range tombstones.
    pub fn is_empty(&self) -> bool {
        self.writer.is_empty()
    }

    /// Returns the bytes of the file so far.
    pub fn file_size(&self) -> u64 {
        self.writer.file_size()
    }

    /// Writes the rest of the table. Does not sync or close the file.
    ///
    /// # Errors
    /// InvalidArgument for a table without entries. Otherwise the errors of the file.
    pub fn finish(self) -> Result<(ExternalFileInfo, FinishedTable, FileWriter)> {
        if self.writer.is_empty() {
            return Err(Error::invalid_argument("Cannot create sst file with no entries"));
        }
        let strip = if self.strip_timestamp { self.timestamp_size } else { 0 };
        let shown = |key: &[u8]| base::key::without_timestamp(key, strip).to_vec();
        let mut info = self.info;
        if info.num_entries > 0 {
            info.smallest_key = shown(&info.smallest_key);
            info.largest_key = shown(base::key::user_key(&self.key));
        }
        if let Some((smallest, largest)) = &self.ranges {
            info.smallest_range_del_key = shown(smallest);
            info.largest_range_del_key = shown(largest);
        }
        let (table, file) = self.writer.finish()?;
        info.file_size = table.file_size;
        info.prepared_file_info = table.bounds.clone().map(|bounds| {
            let properties = Arc::new(table.properties.clone());
            Arc::new(PreparedFileInfo::new(table.file_size, bounds, properties, BlobReferences::None))
        });
        Ok((info, table, file))
    }

    /// Abandons the table. Returns the file as it is.
    pub fn abandon(self) -> FileWriter {
        self.writer.abandon()
    }
}

fn check_len(what: &str, bytes: &[u8], more: usize) -> Result<()> {
    if bytes.len() > u32::MAX as usize - more {
        return Err(Error::invalid_argument(format!("{what} is too large")));
    }
    Ok(())
}
