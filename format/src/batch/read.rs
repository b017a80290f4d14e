//! Reads the records of a batch. Any bytes give records, and then an end or an error.

use base::coding::{Cursor, get_u64};
use base::key::{SequenceNumber, ValueType};
use base::{Error, FamilyId, Result};

use super::HEADER_LEN;

/// One record of a batch. Its slices borrow from the batch. Keys include a timestamp if the column family has
/// timestamps.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Record<'a> {
    /// Sets the value of a key.
    Put { family: FamilyId, key: &'a [u8], value: &'a [u8] },
    /// Deletes a key.
    Delete { family: FamilyId, key: &'a [u8] },
    /// Deletes a key that was put exactly once since its last deletion.
    SingleDelete { family: FamilyId, key: &'a [u8] },
    /// Adds a merge operand to a key.
    Merge { family: FamilyId, key: &'a [u8], operand: &'a [u8] },
    /// Deletes the keys in `[begin, end)`.
    DeleteRange { family: FamilyId, begin: &'a [u8], end: &'a [u8] },
    /// Sets the value of a key to a value in a blob file. `index` is an encoded [`crate::blob::BlobIndex`].
    PutBlobIndex { family: FamilyId, key: &'a [u8], index: &'a [u8] },
    /// Sets the columns of a key. `entity` is encoded by [`crate::wide`].
    PutEntity { family: FamilyId, key: &'a [u8], entity: &'a [u8] },
    /// A value with the time at which it was written. `stored` is the value, followed by eight bytes of time
    /// (seconds since 1970). The reader has checked that the eight bytes exist; see [`Record::split_timed`].
    TimedPut { family: FamilyId, key: &'a [u8], stored: &'a [u8] },
    /// Bytes that are stored in the WAL and not in the memtable. Not counted.
    LogData(&'a [u8]),
    /// A record of two-phase commit, or the placeholder. Not counted.
    Marker(Marker<'a>),
}

/// The records of two-phase commit, and the placeholder. They are not counted.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Marker<'a> {
    /// For the write-committed policy.
    BeginPrepare,
    /// For the write-prepared policy.
    BeginPersistedPrepare,
    /// For the write-unprepared policy.
    BeginUnprepare,
    /// Ends the prepared section of the transaction with this name.
    EndPrepare(&'a [u8]),
    /// Commits the prepared transaction with this name.
    Commit(&'a [u8]),
    /// Commits the prepared transaction with the name `xid` at a timestamp.
    CommitWithTimestamp { timestamp: &'a [u8], xid: &'a [u8] },
    /// Rolls back the prepared transaction with this name.
    Rollback(&'a [u8]),
    /// A placeholder without data. In a recovery of write-prepared transactions, it is the end of a sub-batch.
    Noop,
}

impl Marker<'_> {
    /// Returns the value type that starts the record of the marker in a batch.
    pub fn tag(&self) -> ValueType {
        match self {
            Marker::BeginPrepare => ValueType::BeginPrepareXid,
            Marker::BeginPersistedPrepare => ValueType::BeginPersistedPrepareXid,
            Marker::BeginUnprepare => ValueType::BeginUnprepareXid,
            Marker::EndPrepare(_) => ValueType::EndPrepareXid,
            Marker::Commit(_) => ValueType::CommitXid,
            Marker::CommitWithTimestamp { .. } => ValueType::CommitXidAndTimestamp,
            Marker::Rollback(_) => ValueType::RollbackXid,
            Marker::Noop => ValueType::Noop,
        }
    }
}

impl<'a> Record<'a> {
    /// Returns true if the header counts the record. Such a record takes a sequence number.
    #[inline]
    pub fn is_counted(&self) -> bool {
        !matches!(self, Record::LogData(_) | Record::Marker(_))
    }

    /// Returns the column family of a counted record.
    #[inline]
    pub fn family(&self) -> Option<FamilyId> {
        match *self {
            Record::Put { family, .. }
            | Record::Delete { family, .. }
            | Record::SingleDelete { family, .. }
            | Record::Merge { family, .. }
            | Record::DeleteRange { family, .. }
            | Record::PutBlobIndex { family, .. }
            | Record::PutEntity { family, .. }
            | Record::TimedPut { family, .. } => Some(family),
            Record::LogData(_) | Record::Marker(_) => None,
        }
    }

    /// Returns the memtable entry of a counted record: value type, key (of a range: its begin) and value (of
    /// a range: its end). In a column family with timestamps the caller must change `Deletion` to
    /// `DeletionWithTimestamp`.
    #[inline]
    pub fn entry(&self) -> Option<(ValueType, &'a [u8], &'a [u8])> {
        Some(match *self {
            Record::Put { key, value, .. } => (ValueType::Value, key, value),
            Record::Delete { key, .. } => (ValueType::Deletion, key, &[]),
            Record::SingleDelete { key, .. } => (ValueType::SingleDeletion, key, &[]),
            Record::Merge { key, operand, .. } => (ValueType::Merge, key, operand),
            Record::DeleteRange { begin, end, .. } => (ValueType::RangeDeletion, begin, end),
            Record::PutBlobIndex { key, index, .. } => (ValueType::BlobIndex, key, index),
            Record::PutEntity { key, entity, .. } => (ValueType::WideColumnEntity, key, entity),
            Record::TimedPut { key, stored, .. } => (ValueType::ValuePreferredSeqno, key, stored),
            Record::LogData(_) | Record::Marker(_) => return None,
        })
    }

    /// Returns the record with `timestamp` in place of the last bytes of its key, and of both ends of a
    /// range. `keys` holds the new keys. A key that is shorter than the timestamp is unchanged.
    pub fn stamped<'b>(&'b self, timestamp: &[u8], keys: &'b mut Vec<u8>) -> Record<'b> {
        self.with_keys(keys, |key, out| {
            let kept = key.len().checked_sub(timestamp.len());
            out.extend_from_slice(&key[..kept.unwrap_or(key.len())]);
            out.extend_from_slice(if kept.is_some() { timestamp } else { b"" });
        })
    }

    /// Returns the record with other keys. `put` appends the new key for a key, and for both ends of a range.
    /// `keys` holds the new keys. A record without a key is unchanged.
    pub fn with_keys<'b>(
        &'b self,
        keys: &'b mut Vec<u8>,
        mut put: impl FnMut(&[u8], &mut Vec<u8>),
    ) -> Record<'b> {
        keys.clear();
        let Some((value_type, key, value)) = self.entry() else { return *self };
        put(key, keys);
        let at = keys.len();
        if value_type == ValueType::RangeDeletion {
            put(value, keys);
        }
        let (key, end) = keys.split_at(at);
        match *self {
            Record::Put { family, value, .. } => Record::Put { family, key, value },
            Record::Delete { family, .. } => Record::Delete { family, key },
            Record::SingleDelete { family, .. } => Record::SingleDelete { family, key },
            Record::Merge { family, operand, .. } => Record::Merge { family, key, operand },
            Record::DeleteRange { family, .. } => Record::DeleteRange { family, begin: key, end },
            Record::PutBlobIndex { family, index, .. } => Record::PutBlobIndex { family, key, index },
            Record::PutEntity { family, entity, .. } => Record::PutEntity { family, key, entity },
            Record::TimedPut { family, stored, .. } => Record::TimedPut { family, key, stored },
            Record::LogData(_) | Record::Marker(_) => *self,
        }
    }

    /// Splits the `stored` bytes of a timed put into the value and the write time in seconds since 1970.
    /// Returns `None` if the bytes are too short.
    pub fn split_timed(stored: &[u8]) -> Option<(&[u8], u64)> {
        let at = stored.len().checked_sub(8)?;
        Some((&stored[..at], get_u64(stored, at)?))
    }
}

/// The bytes of a batch, which have at least a header.
#[derive(Clone, Copy, Debug)]
pub struct Batch<'a> {
    bytes: &'a [u8],
}

impl<'a> Batch<'a> {
    /// Takes the bytes of a batch. Reads no record.
    ///
    /// # Errors
    /// Corruption if the bytes are shorter than a header.
    pub fn new(bytes: &'a [u8]) -> Result<Self> {
        if bytes.len() < HEADER_LEN {
            return Err(Error::corruption("malformed WriteBatch (too small)"));
        }
        Ok(Batch { bytes })
    }

    /// Returns all bytes of the batch, with the header.
    pub fn bytes(&self) -> &'a [u8] {
        self.bytes
    }

    /// Returns the sequence number in the header: the sequence number of the first counted record.
    pub fn sequence(&self) -> SequenceNumber {
        super::sequence(self.bytes)
    }

    /// Returns the number of counted records that the header states. [`Batch::verify`] compares the number
    /// with the records.
    pub fn count(&self) -> u32 {
        super::count(self.bytes)
    }

    /// Returns an iterator over the records. The iterator ends after the first record that does not decode.
    #[inline]
    pub fn records(&self) -> Records<'a> {
        Records { cursor: Cursor::new(&self.bytes[HEADER_LEN..]), failed: false }
    }

    /// Reads every record and compares the number of counted records with the header.
    ///
    /// # Errors
    /// Corruption with the offset of the first corrupt record, or "WriteBatch has wrong count".
    pub fn verify(&self) -> Result<()> {
        let mut counted = 0u64;
        for record in self.records() {
            counted += u64::from(record?.is_counted());
        }
        if counted != u64::from(self.count()) {
            return Err(Error::corruption(format!(
                "WriteBatch has wrong count: the header says {} entries, the batch has {counted}",
                self.count()
            )));
        }
        Ok(())
    }
}

/// The records of a batch in order. After an error the iterator ends.
#[derive(Clone, Debug)]
pub struct Records<'a> {
    cursor: Cursor<'a>,
    failed: bool,
}

impl<'a> Records<'a> {
    /// Makes an iterator over the records of a batch. `records` are the bytes after the header.
    pub fn behind_header(records: &'a [u8]) -> Records<'a> {
        Records { cursor: Cursor::new(records), failed: false }
    }

    /// Returns the offset of the next record from the start of the batch.
    #[inline]
    pub fn offset(&self) -> usize {
        HEADER_LEN + self.cursor.offset()
    }

    fn read(&mut self) -> Result<Record<'a>> {
        let at = self.offset();
        let Some(byte) = self.cursor.u8() else { return Err(bad("tag", at)) };
        let Some(tag) = ValueType::from_u8(byte) else { return Err(unknown(byte, at)) };
        use ValueType::*;
        let family = if tag.names_family() {
            FamilyId::new(self.cursor.varint32().ok_or_else(|| bad("column family", at))?)
        } else {
            FamilyId::DEFAULT
        };
        let mut slice = |what| self.cursor.slice().ok_or_else(|| bad(what, at));
        Ok(match tag {
            Value | FamilyValue => Record::Put { family, key: slice("Put")?, value: slice("Put")? },
            Deletion | FamilyDeletion => Record::Delete { family, key: slice("Delete")? },
            SingleDeletion | FamilySingleDeletion => {
                Record::SingleDelete { family, key: slice("SingleDelete")? }
            }
            Merge | FamilyMerge => Record::Merge { family, key: slice("Merge")?, operand: slice("Merge")? },
            RangeDeletion | FamilyRangeDeletion => {
                Record::DeleteRange { family, begin: slice("DeleteRange")?, end: slice("DeleteRange")? }
            }
            BlobIndex | FamilyBlobIndex => {
                Record::PutBlobIndex { family, key: slice("BlobIndex")?, index: slice("BlobIndex")? }
            }
            WideColumnEntity | FamilyWideColumnEntity => {
                Record::PutEntity { family, key: slice("PutEntity")?, entity: slice("PutEntity")? }
            }
            ValuePreferredSeqno | FamilyValuePreferredSeqno => {
                let (key, stored) = (slice("TimedPut")?, slice("TimedPut")?);
                if stored.len() < 8 {
                    return Err(bad("TimedPut write time", at));
                }
                Record::TimedPut { family, key, stored }
            }
            LogData => Record::LogData(slice("log data")?),
            BeginPrepareXid => Record::Marker(Marker::BeginPrepare),
            BeginPersistedPrepareXid => Record::Marker(Marker::BeginPersistedPrepare),
            BeginUnprepareXid => Record::Marker(Marker::BeginUnprepare),
            EndPrepareXid => Record::Marker(Marker::EndPrepare(slice("EndPrepare XID")?)),
            CommitXid => Record::Marker(Marker::Commit(slice("Commit XID")?)),
            CommitXidAndTimestamp => Record::Marker(Marker::CommitWithTimestamp {
                timestamp: slice("commit timestamp")?,
                xid: slice("Commit XID")?,
            }),
            RollbackXid => Record::Marker(Marker::Rollback(slice("Rollback XID")?)),
            Noop => Record::Marker(Marker::Noop),
            DeletionWithTimestamp => return Err(unknown(byte, at)),
        })
    }
}

impl<'a> Iterator for Records<'a> {
    type Item = Result<Record<'a>>;

    #[inline]
    fn next(&mut self) -> Option<Self::Item> {
        if self.failed || self.cursor.is_empty() {
            return None;
        }
        let record = self.read();
        self.failed = record.is_err();
        Some(record)
    }
}

#[cold]
fn bad(what: &str, at: usize) -> Error {
    Error::corruption(format!("bad WriteBatch {what}")).at(at as u64)
}

#[cold]
fn unknown(tag: u8, at: usize) -> Error {
    Error::corruption(format!("unknown WriteBatch tag: {tag}")).at(at as u64)
}
