//! Appends records in their final layout to a buffer.
//!
//! These functions do not count records and do not check sizes. The batch that owns the buffer does both
//! (`KEY_LEN_MAX`, `VALUE_LEN_MAX`). `timestamp` is stored after the key; it is empty for column families
//! without timestamps.

use base::FamilyId;
use base::coding::{put_u64, put_varint32};
use base::key::ValueType;

/// Starts an empty batch in `out`: a header of zeros.
pub fn begin(out: &mut Vec<u8>) {
    out.extend_from_slice(&[0; super::HEADER_LEN]);
}

/// Appends a put. The value replaces all older entries of the key.
#[inline]
pub fn put(out: &mut Vec<u8>, family: FamilyId, key: &[u8], timestamp: &[u8], value: &[u8]) {
    out.reserve(key.len() + timestamp.len() + value.len() + 16);
    tag(out, family, ValueType::Value, ValueType::FamilyValue);
    slices(out, &[key, timestamp]);
    slices(out, &[value]);
}

/// Appends a deletion of one key.
#[inline]
pub fn delete(out: &mut Vec<u8>, family: FamilyId, key: &[u8], timestamp: &[u8]) {
    tag(out, family, ValueType::Deletion, ValueType::FamilyDeletion);
    slices(out, &[key, timestamp]);
}

/// Appends a single deletion: the key must have been put exactly once since its last deletion.
#[inline]
pub fn single_delete(out: &mut Vec<u8>, family: FamilyId, key: &[u8], timestamp: &[u8]) {
    tag(out, family, ValueType::SingleDeletion, ValueType::FamilySingleDeletion);
    slices(out, &[key, timestamp]);
}

/// Appends a merge operand for the merge operator of the column family.
#[inline]
pub fn merge(out: &mut Vec<u8>, family: FamilyId, key: &[u8], timestamp: &[u8], operand: &[u8]) {
    tag(out, family, ValueType::Merge, ValueType::FamilyMerge);
    slices(out, &[key, timestamp]);
    slices(out, &[operand]);
}

/// Deletes the keys in `[begin, end)`. Both ends get the same timestamp.
pub fn delete_range(out: &mut Vec<u8>, family: FamilyId, begin: &[u8], end: &[u8], timestamp: &[u8]) {
    tag(out, family, ValueType::RangeDeletion, ValueType::FamilyRangeDeletion);
    slices(out, &[begin, timestamp]);
    slices(out, &[end, timestamp]);
}

/// Puts an entity. `entity` is encoded by [`crate::wide`].
pub fn put_entity(out: &mut Vec<u8>, family: FamilyId, key: &[u8], entity: &[u8]) {
    tag(out, family, ValueType::WideColumnEntity, ValueType::FamilyWideColumnEntity);
    slices(out, &[key]);
    slices(out, &[entity]);
}

/// Puts a value with the time at which it was written, in seconds since 1970. If this time is `u64::MAX`, the
/// caller writes a plain put instead, as RocksDB does.
pub fn timed_put(out: &mut Vec<u8>, family: FamilyId, key: &[u8], value: &[u8], write_unix_s: u64) {
    tag(out, family, ValueType::ValuePreferredSeqno, ValueType::FamilyValuePreferredSeqno);
    slices(out, &[key]);
    put_varint32(out, (value.len() + 8) as u32);
    out.extend_from_slice(value);
    put_u64(out, write_unix_s);
}

/// Puts a blob index. `index` is encoded by [`crate::blob::BlobIndex`].
pub fn put_blob_index(out: &mut Vec<u8>, family: FamilyId, key: &[u8], index: &[u8]) {
    tag(out, family, ValueType::BlobIndex, ValueType::FamilyBlobIndex);
    slices(out, &[key]);
    slices(out, &[index]);
}

/// Adds bytes that only the WAL stores. They are not counted.
pub fn log_data(out: &mut Vec<u8>, blob: &[u8]) {
    out.push(ValueType::LogData as u8);
    slices(out, &[blob]);
}

/// Appends a decoded record in its canonical form.
pub fn append(out: &mut Vec<u8>, record: &super::Record<'_>) {
    use super::Record;
    match *record {
        Record::Put { family, key, value } => put(out, family, key, b"", value),
        Record::Delete { family, key } => delete(out, family, key, b""),
        Record::SingleDelete { family, key } => single_delete(out, family, key, b""),
        Record::Merge { family, key, operand } => merge(out, family, key, b"", operand),
        Record::DeleteRange { family, begin, end } => delete_range(out, family, begin, end, b""),
        Record::PutBlobIndex { family, key, index } => put_blob_index(out, family, key, index),
        Record::PutEntity { family, key, entity } => put_entity(out, family, key, entity),
        Record::TimedPut { family, key, stored } => {
            tag(out, family, ValueType::ValuePreferredSeqno, ValueType::FamilyValuePreferredSeqno);
            slices(out, &[key]);
            slices(out, &[stored]);
        }
        Record::LogData(blob) => log_data(out, blob),
        Record::Marker(m) => marker(out, m),
    }
}

/// Appends a marker of two-phase commit, or a placeholder. It is not counted.
pub fn marker(out: &mut Vec<u8>, marker: super::Marker<'_>) {
    use super::Marker::*;
    out.push(marker.tag() as u8);
    match marker {
        BeginPrepare | BeginPersistedPrepare | BeginUnprepare | Noop => {}
        EndPrepare(xid) | Commit(xid) | Rollback(xid) => slices(out, &[xid]),
        CommitWithTimestamp { timestamp, xid } => {
            slices(out, &[timestamp]);
            slices(out, &[xid]);
        }
    }
}

#[inline]
fn tag(out: &mut Vec<u8>, family: FamilyId, plain: ValueType, in_family: ValueType) {
    if family == FamilyId::DEFAULT {
        out.push(plain as u8);
    } else {
        out.push(in_family as u8);
        put_varint32(out, family.get());
    }
}

/// Appends one length-prefixed slice that consists of parts.
#[inline]
fn slices(out: &mut Vec<u8>, parts: &[&[u8]]) {
    let len: usize = parts.iter().map(|p| p.len()).sum();
    debug_assert!(len <= u32::MAX as usize);
    put_varint32(out, len as u32);
    for part in parts {
        out.extend_from_slice(part);
    }
}
