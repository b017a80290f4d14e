//! The limits of a write batch: its size, and its part for the WAL. Also sets the timestamps of all its keys.

use base::{Error, FamilyId, Kind, Result, Subcode};
use format::batch as encoding;
use format::batch::{HEADER_LEN, KEY_LEN_MAX, Record, VALUE_LEN_MAX};

use super::WriteBatch;

/// Where the part of a batch for the WAL ends.
#[derive(Clone, Copy, Debug)]
pub(super) struct WalEnd {
    len: usize,
    count: u32,
}

impl WalEnd {
    /// Moves the end of the WAL part to this place if the end is after it.
    pub(super) fn limit(&mut self, len: usize, count: u32) {
        if self.len > len {
            *self = WalEnd { len, count };
        }
    }
}

/// Returns the error of a record that a batch rejects. The texts are RocksDB's.
#[cold]
pub(super) fn too_large(key_len: usize, value_len: usize) -> Error {
    Error::invalid_argument(match (key_len > KEY_LEN_MAX, value_len > VALUE_LEN_MAX) {
        (true, _) => "key is too large",
        (false, true) => "value is too large",
        (false, false) => "the write batch has too many records",
    })
}

impl WriteBatch {
    /// Makes a batch with a limit for its bytes, header included. 0 means no limit. If a record exceeds the limit,
    /// [`WriteBatch::status`] and the write of the batch return Aborted with the subcode `MemoryLimit`.
    pub fn with_max_bytes(bytes_max: usize) -> Self {
        WriteBatch { bytes_max, ..WriteBatch::new() }
    }

    /// Returns an error if the batch cannot be written. Does not look at the database.
    ///
    /// # Errors
    /// InvalidArgument for a key or value that is too large. Corruption for two columns of the same name. Aborted
    /// with the subcode `MemoryLimit` if the batch is larger than its limit. A rollback to a save point removes
    /// these errors.
    pub fn status(&self) -> Result<()> {
        if let Some(error) = &self.fault {
            return Err(error.clone());
        }
        if self.bytes_max > 0 && self.bytes.len() > self.bytes_max {
            let error = Error::new(Kind::Aborted, "the write batch is larger than its limit");
            return Err(error.with_subcode(Subcode::MemoryLimit));
        }
        Ok(())
    }

    /// Ends the part of the batch that goes to the WAL. Later records go only to memtables: a crash before the flush
    /// loses them. RocksDB: `MarkWalTerminationPoint`.
    pub fn mark_wal_termination_point(&mut self) {
        self.wal_end = Some(WalEnd { len: self.bytes.len(), count: self.count() });
    }

    /// Returns the bytes and the records before the WAL termination point. `None`: no point was marked.
    pub fn wal_termination_point(&self) -> Option<(usize, u32)> {
        self.wal_end.as_ref().map(|end| (end.len, end.count))
    }

    /// Returns true if the WAL gets only a part of the batch.
    #[inline]
    pub(crate) fn has_wal_end(&self) -> bool {
        self.wal_end.is_some()
    }

    /// Returns the part of the batch that goes to the WAL, with its own count.
    pub(crate) fn wal_part(&self) -> Vec<u8> {
        let mut part = self.bytes.clone();
        if let Some(end) = self.wal_end.as_ref().filter(|end| end.len < part.len()) {
            base::invariant!(
                end.len >= HEADER_LEN && end.count <= self.count(),
                "the WAL part of a batch has {} bytes and {} of {} entries",
                end.len,
                end.count,
                self.count()
            );
            part.truncate(end.len.max(HEADER_LEN));
            encoding::set_count(&mut part, end.count);
        }
        part
    }

    /// Gives every key of a column family with timestamps this timestamp, in place of the older timestamp.
    /// `size_of` returns the length of the timestamps of a column family; 0 means no timestamps. Removes all save
    /// points. RocksDB: `UpdateTimestamps`.
    ///
    /// # Errors
    /// InvalidArgument if a column family has timestamps of another length, or if only some of its keys have room for a
    /// timestamp. Corruption if a key is shorter than its timestamp. After an error the batch is unchanged.
    pub fn update_timestamps(&mut self, timestamp: &[u8], size_of: impl Fn(FamilyId) -> usize) -> Result<()> {
        let mut out = WriteBatch { bytes_max: self.bytes_max, ..WriteBatch::new() };
        let mut unchanged = Vec::new();
        for record in self.iter() {
            let record = record?;
            let size = record.family().map_or(0, &size_of);
            if size > 0 && size != timestamp.len() {
                return Err(Error::invalid_argument("timestamp size mismatch"));
            }
            let given = match (record.family(), &self.timestamps) {
                (Some(family), Some(timestamps)) if size > 0 => timestamps.carried(family)?,
                _ => false,
            };
            if let Some(family) = record.family().filter(|family| size == 0 && !unchanged.contains(family)) {
                unchanged.push(family);
            }
            add_stamped(&mut out, &record, timestamp, size, given)?;
        }
        if let Some(timestamps) = &self.timestamps {
            out.timestamps.get_or_insert_default().replace_families(timestamps, &unchanged);
        }
        encoding::set_sequence(&mut out.bytes, self.sequence());
        out.fault = self.fault.take();
        *self = out;
        Ok(())
    }

    /// States that the last record of `family`, added with `len` zero bytes as its timestamp, has no timestamp yet. Until
    /// [`WriteBatch::update_timestamps`] sets the timestamp, the write of the batch fails.
    pub fn expect_timestamp(&mut self, family: FamilyId, len: usize) {
        if let Some(timestamps) = self.timestamps.as_deref_mut() {
            timestamps.add_room(family, len);
        }
    }
}

/// Adds a record with a new timestamp. `size` is the length of the timestamps of its column family. With
/// `given`, its key ends with an older timestamp.
fn add_stamped(
    batch: &mut WriteBatch,
    record: &Record<'_>,
    timestamp: &[u8],
    size: usize,
    given: bool,
) -> Result<()> {
    let without = |key: &'_ [u8]| -> Result<usize> {
        let cut = if given { size } else { 0 };
        key.len().checked_sub(cut).ok_or_else(|| Error::corruption("a key is shorter than its timestamp"))
    };
    base::invariant!(
        size == 0 || timestamp.len() == size,
        "a timestamp of {} bytes is given to keys with timestamps of {size}",
        timestamp.len()
    );
    if size == 0 {
        return add_as_is(batch, record);
    }
    match *record {
        Record::Put { family, key, value } => {
            batch.put_at(family, &key[..without(key)?], timestamp, value);
        }
        Record::Delete { family, key } => {
            batch.delete_at(family, &key[..without(key)?], timestamp);
        }
        Record::SingleDelete { family, key } => {
            batch.single_delete_at(family, &key[..without(key)?], timestamp);
        }
        Record::Merge { family, key, operand } => {
            batch.merge_at(family, &key[..without(key)?], timestamp, operand);
        }
        Record::DeleteRange { family, begin, end } => {
            let (begin, end) = (&begin[..without(begin)?], &end[..without(end)?]);
            batch.delete_range_at(family, begin, end, timestamp);
        }
        _ => return add_as_is(batch, record),
    }
    Ok(())
}

/// Adds a record unchanged.
fn add_as_is(batch: &mut WriteBatch, record: &Record<'_>) -> Result<()> {
    match *record {
        Record::Put { family, key, value } => batch.put_in(family, key, value),
        Record::Delete { family, key } => batch.delete_in(family, key),
        Record::SingleDelete { family, key } => batch.single_delete_in(family, key),
        Record::Merge { family, key, operand } => batch.merge_in(family, key, operand),
        Record::DeleteRange { family, begin, end } => batch.delete_range_in(family, begin, end),
        Record::PutEntity { family, key, entity } => batch.put_encoded_entity_in(family, key, entity),
        Record::LogData(blob) => batch.put_log_data(blob),
        Record::Marker(marker) => batch.marker(marker),
        Record::PutBlobIndex { .. } | Record::TimedPut { .. } => {
            return Err(Error::not_supported("new timestamps for blob indexes and timed puts"));
        }
    };
    Ok(())
}
