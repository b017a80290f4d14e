//! Internal keys: a user key, followed by its sequence number and value type.
//!
//! ```text
//! +--------------------+------------------------------------------------------------+
//! | user key (n bytes) | u64, little-endian: sequence number << 8, plus value type  |
//! +--------------------+------------------------------------------------------------+
//! ```
//! Order: user keys ascending, then trailers descending, so that the newest entry of a key comes first. If the
//! comparator has timestamps, the last `timestamp_size` bytes of the user key are the timestamp. Facts: RocksDB
//! `db/dbformat.h`. Printed form: `a#7,SET`.

use std::cmp::Ordering;
use std::fmt;

use crate::error::{Error, Result};
use crate::order::Order;

pub use crate::ids::SequenceNumber;

/// The largest sequence number. A reader at this number sees every entry.
pub const MAX_SEQUENCE: SequenceNumber = SequenceNumber::MAX;

/// The bytes of the trailer after each user key.
pub const TRAILER_LEN: usize = 8;

/// The type of an entry. The numbers are on disk.
#[derive(Clone, Copy, Debug, PartialEq, Eq, PartialOrd, Ord, Hash)]
#[repr(u8)]
pub enum ValueType {
    /// A point tombstone.
    Deletion = 0x0,
    /// A value.
    Value = 0x1,
    /// A merge operand.
    Merge = 0x2,
    /// Data for the WAL only. `LogData`, `Noop`, `Family*` and `*Xid` are in write batches only.
    LogData = 0x3,
    /// `Deletion` with the number of its column family.
    FamilyDeletion = 0x4,
    /// `Value` with the number of its column family.
    FamilyValue = 0x5,
    /// `Merge` with the number of its column family.
    FamilyMerge = 0x6,
    /// A point tombstone that deletes exactly one older value of the key.
    SingleDeletion = 0x7,
    /// `SingleDeletion` with the number of its column family.
    FamilySingleDeletion = 0x8,
    /// Starts the section of a prepared transaction. The memtables do not hold the section before the commit.
    BeginPrepareXid = 0x9,
    /// Ends the section of a prepared transaction, with the name of the transaction.
    EndPrepareXid = 0xA,
    /// Commits the prepared transaction with this name.
    CommitXid = 0xB,
    /// Rolls back the prepared transaction with this name.
    RollbackXid = 0xC,
    /// Does nothing. The batch of a transaction starts with this record; prepare replaces the record by `BeginPrepareXid`.
    Noop = 0xD,
    /// `RangeDeletion` with the number of its column family.
    FamilyRangeDeletion = 0xE,
    /// A range tombstone: the key is the start, and the value is the end.
    RangeDeletion = 0xF,
    /// `BlobIndex` with the number of its column family.
    FamilyBlobIndex = 0x10,
    /// A reference to a value in a blob file.
    BlobIndex = 0x11,
    /// Starts the section of a prepared transaction. The memtables hold the section already (write-prepared).
    BeginPersistedPrepareXid = 0x12,
    /// Starts a part of a transaction that is not prepared yet (write-unprepared).
    BeginUnprepareXid = 0x13,
    /// A point tombstone of a key with a timestamp. In memtables and SST files; a WAL holds `Deletion`.
    DeletionWithTimestamp = 0x14,
    /// Commits the prepared transaction with this name, at a timestamp.
    CommitXidAndTimestamp = 0x15,
    /// A wide-column entity.
    WideColumnEntity = 0x16,
    /// `WideColumnEntity` with the number of its column family.
    FamilyWideColumnEntity = 0x17,
    /// A value followed by eight bytes: the sequence number that the value may take in the last level.
    ValuePreferredSeqno = 0x18,
    /// `ValuePreferredSeqno` with the number of its column family.
    FamilyValuePreferredSeqno = 0x19,
}

/// The largest value type that is stored. A seek key has this type and sorts before every entry with the same
/// sequence number.
pub const TYPE_FOR_SEEK: u8 = ValueType::ValuePreferredSeqno as u8;

impl ValueType {
    /// Returns true if the record of a write batch names its column family: the id is after this byte.
    #[inline]
    pub const fn names_family(self) -> bool {
        use ValueType::*;
        matches!(
            self,
            FamilyValue
                | FamilyDeletion
                | FamilySingleDeletion
                | FamilyMerge
                | FamilyRangeDeletion
                | FamilyBlobIndex
                | FamilyWideColumnEntity
                | FamilyValuePreferredSeqno
        )
    }

    /// Returns the value type with this number, or `None`. The value types that only write batches have are included.
    pub const fn from_u8(byte: u8) -> Option<ValueType> {
        use ValueType::*;
        const ALL: [ValueType; 26] = [
            Deletion,
            Value,
            Merge,
            LogData,
            FamilyDeletion,
            FamilyValue,
            FamilyMerge,
            SingleDeletion,
            FamilySingleDeletion,
            BeginPrepareXid,
            EndPrepareXid,
            CommitXid,
            RollbackXid,
            Noop,
            FamilyRangeDeletion,
            RangeDeletion,
            FamilyBlobIndex,
            BlobIndex,
            BeginPersistedPrepareXid,
            BeginUnprepareXid,
            DeletionWithTimestamp,
            CommitXidAndTimestamp,
            WideColumnEntity,
            FamilyWideColumnEntity,
            ValuePreferredSeqno,
            FamilyValuePreferredSeqno,
        ];
        if (byte as usize) < ALL.len() { Some(ALL[byte as usize]) } else { None }
    }

    /// Returns true if a data block or the point entries of a memtable may have this value type.
    #[inline]
    pub const fn is_point(self) -> bool {
        use ValueType::*;
        matches!(
            self,
            Deletion
                | Value
                | Merge
                | SingleDeletion
                | BlobIndex
                | DeletionWithTimestamp
                | WideColumnEntity
                | ValuePreferredSeqno
        )
    }

    /// Returns the word in printed keys.
    pub const fn word(self) -> &'static str {
        use ValueType::*;
        match self {
            Deletion => "DEL",
            Value => "SET",
            Merge => "MERGE",
            SingleDeletion => "SINGLEDEL",
            RangeDeletion => "RANGEDEL",
            BlobIndex => "BLOB",
            DeletionWithTimestamp => "DELTS",
            WideColumnEntity => "ENTITY",
            ValuePreferredSeqno => "TIMED",
            _ => "BATCHONLY",
        }
    }
}

/// Returns the trailer as a number. A newer entry has a larger trailer.
#[inline]
pub const fn pack(seq: SequenceNumber, value_type: u8) -> u64 {
    (seq.get() << 8) | value_type as u64
}

/// Returns the sequence number in a trailer.
#[inline]
pub const fn sequence_of(trailer: u64) -> SequenceNumber {
    SequenceNumber::new(trailer >> 8)
}

/// Appends `user_key` and its trailer to `out`.
#[inline]
pub fn append_internal(out: &mut Vec<u8>, user_key: &[u8], seq: SequenceNumber, value_type: ValueType) {
    append_with_trailer(out, user_key, pack(seq, value_type as u8));
}

/// Appends `user_key` and a trailer that is already packed.
#[inline]
pub fn append_with_trailer(out: &mut Vec<u8>, user_key: &[u8], trailer: u64) {
    out.reserve(user_key.len() + TRAILER_LEN);
    out.extend_from_slice(user_key);
    out.extend_from_slice(&trailer.to_le_bytes());
}

/// Returns the key for the seek of a reader at `seq`. It sorts before every entry of `user_key` that the reader may
/// see.
pub fn seek_key(user_key: &[u8], seq: SequenceNumber) -> Vec<u8> {
    let mut key = Vec::with_capacity(user_key.len() + TRAILER_LEN);
    append_with_trailer(&mut key, user_key, pack(seq, TYPE_FOR_SEEK));
    key
}

/// The internal key that a reader seeks, as [`seek_key`] makes it. A user key of up to 56 bytes needs no allocation.
///
/// ```
/// use ironstone_base::key::{SeekKey, SequenceNumber, seek_key};
/// for len in [0, 56, 57, 1000] {
///     let (key, seq) = (vec![b'k'; len], SequenceNumber::MAX);
///     assert_eq!(SeekKey::new(&key, seq).bytes(), seek_key(&key, seq));
/// }
/// ```
#[derive(Debug)]
pub struct SeekKey {
    len: usize,
    short: [u8; SeekKey::SHORT],
    /// The key, if it is longer than `short`.
    long: Vec<u8>,
}

impl SeekKey {
    const SHORT: usize = 64;

    /// Makes the key that sorts before every entry of `user_key` that a reader at `seq` may see.
    #[inline]
    pub fn new(user_key: &[u8], seq: SequenceNumber) -> SeekKey {
        let len = user_key.len() + TRAILER_LEN;
        let mut key = SeekKey { len, short: [0; SeekKey::SHORT], long: Vec::new() };
        if len <= SeekKey::SHORT {
            key.short[..user_key.len()].copy_from_slice(user_key);
            key.short[user_key.len()..len].copy_from_slice(&pack(seq, TYPE_FOR_SEEK).to_le_bytes());
        } else {
            key.long = seek_key(user_key, seq);
        }
        key
    }

    /// The internal key.
    #[inline]
    pub fn bytes(&self) -> &[u8] {
        self.short.get(..self.len).unwrap_or(&self.long)
    }
}

/// Returns a user key with the newest timestamp. The key sorts before all entries of the user key. The newest
/// timestamp has all bits set. RocksDB assumes the same for every comparator (`kTsMax`).
pub fn with_newest_timestamp(key: &[u8], timestamp_size: usize) -> Vec<u8> {
    padded(key, timestamp_size, 0xff)
}

/// Returns a user key with the oldest timestamp. The key sorts after all other entries of the user key. The oldest
/// timestamp has no bit set.
pub fn with_oldest_timestamp(key: &[u8], timestamp_size: usize) -> Vec<u8> {
    padded(key, timestamp_size, 0)
}

fn padded(key: &[u8], timestamp_size: usize, byte: u8) -> Vec<u8> {
    let mut out = Vec::with_capacity(key.len() + timestamp_size + TRAILER_LEN);
    out.extend_from_slice(key);
    out.resize(key.len() + timestamp_size, byte);
    out
}

/// Splits a user key into the key without its timestamp, and the timestamp. No writer produces a key that is shorter than a
/// timestamp, but a file with wrong bytes may hold such a key: the whole key is then the timestamp.
#[inline]
pub fn split_timestamp(user_key: &[u8], timestamp_size: usize) -> (&[u8], &[u8]) {
    user_key.split_at(user_key.len().saturating_sub(timestamp_size))
}

/// Returns a user key without its timestamp, as [`split_timestamp`] splits the key.
#[inline]
pub fn without_timestamp(user_key: &[u8], timestamp_size: usize) -> &[u8] {
    split_timestamp(user_key, timestamp_size).0
}

/// Returns the timestamp of a user key, as [`split_timestamp`] splits the key.
#[inline]
pub fn timestamp(user_key: &[u8], timestamp_size: usize) -> &[u8] {
    split_timestamp(user_key, timestamp_size).1
}

/// Returns the user key of an internal key. Empty if the internal key is shorter than a trailer.
#[inline]
pub fn user_key(internal: &[u8]) -> &[u8] {
    match internal.len().checked_sub(TRAILER_LEN) {
        Some(n) => &internal[..n],
        None => &[],
    }
}

/// Returns the trailer of an internal key. 0 if the internal key is shorter than a trailer.
#[inline]
pub fn trailer(internal: &[u8]) -> u64 {
    match internal.last_chunk::<TRAILER_LEN>() {
        Some(bytes) => u64::from_le_bytes(*bytes),
        None => 0,
    }
}

/// Returns the sequence number of an internal key. Call only for a key that was checked.
#[inline]
pub fn sequence(internal: &[u8]) -> SequenceNumber {
    sequence_of(trailer(internal))
}

/// Splits an internal key into user key, sequence number, and number of the value type. Call only for a key that was
/// checked.
#[inline]
pub fn split(internal: &[u8]) -> (&[u8], SequenceNumber, u8) {
    let t = trailer(internal);
    (user_key(internal), sequence_of(t), t as u8)
}

/// The parts of an internal key.
#[derive(Clone, Copy, PartialEq, Eq)]
pub struct Parsed<'a> {
    /// The user key, with its timestamp if the column family has timestamps.
    pub user_key: &'a [u8],
    /// The sequence number.
    pub seq: SequenceNumber,
    /// The value type.
    pub value_type: ValueType,
}

/// Checks and splits an internal key from disk.
///
/// # Errors
/// Corruption if the key is shorter than a trailer, or if an SST file cannot have its value type.
#[inline]
pub fn parse(internal: &[u8]) -> Result<Parsed<'_>> {
    let Some(bytes) = internal.last_chunk::<TRAILER_LEN>() else {
        return Err(Error::corruption(format!(
            "internal key of {} bytes is shorter than its trailer",
            internal.len()
        )));
    };
    let t = u64::from_le_bytes(*bytes);
    match ValueType::from_u8(t as u8) {
        Some(value_type) if value_type.is_point() || value_type == ValueType::RangeDeletion => Ok(Parsed {
            user_key: &internal[..internal.len() - TRAILER_LEN],
            seq: sequence_of(t),
            value_type,
        }),
        _ => Err(Error::corruption(format!("internal key with unknown value type {:#x}", t as u8))),
    }
}

/// Value types that only the boundary key of a file may have. A file boundary can cut a range tombstone between two
/// entries of one user key. The tombstone then starts at a boundary key. Among keys with the same sequence
/// number, the type of the boundary key sorts first. This type is one above the last type that a release knows (11.8: `kTypeMaxValid`, 0x1a), so older
/// releases wrote smaller numbers.
const BOUNDARY_KINDS: std::ops::RangeInclusive<u8> = 0x14..=0x1a;

/// Checks an internal key that is a boundary of a file. Its value type may be one that no entry has.
///
/// # Errors
/// Corruption if the key is shorter than a trailer, or if no release writes its value type.
pub fn check_boundary(internal: &[u8]) -> Result<()> {
    match internal.last_chunk::<TRAILER_LEN>() {
        Some(trailer) if BOUNDARY_KINDS.contains(&trailer[0]) => Ok(()),
        _ => parse(internal).map(|_| ()),
    }
}

impl fmt::Display for Parsed<'_> {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        write!(f, "{}#{},{}", self.user_key.escape_ascii(), self.seq, self.value_type.word())
    }
}

impl fmt::Debug for Parsed<'_> {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        fmt::Display::fmt(self, f)
    }
}

/// The order of internal keys: the order of user keys, then the newest entry first.
#[derive(Clone, Debug)]
pub struct InternalOrder {
    /// The order of the user keys.
    pub user: Order,
}

impl InternalOrder {
    /// Makes the order of internal keys from the order of user keys.
    pub fn new(user: Order) -> Self {
        InternalOrder { user }
    }

    /// Compares two internal keys: by user key, then the newer sequence number first, then the larger value type first.
    #[inline]
    pub fn compare(&self, a: &[u8], b: &[u8]) -> Ordering {
        self.user.compare(user_key(a), user_key(b)).then_with(|| trailer(b).cmp(&trailer(a)))
    }

    /// Compares two internal keys. The right key is split already.
    #[inline]
    pub fn compare_split(&self, a: &[u8], b_user: &[u8], b_trailer: u64) -> Ordering {
        self.user.compare(user_key(a), b_user).then_with(|| b_trailer.cmp(&trailer(a)))
    }

    /// Shortens `start` to a key that is at least `start` and less than `limit` (internal keys), for index entries.
    /// RocksDB: `InternalKeyComparator::FindShortestSeparator`.
    pub fn shortest_separator(&self, start: &mut Vec<u8>, limit: &[u8]) {
        let mut short = user_key(start).to_vec();
        self.user.shortest_separator(&mut short, user_key(limit));
        self.replace_if_shorter(start, short);
    }

    /// Shortens `key` to a key that is at least `key`.
    pub fn short_successor(&self, key: &mut Vec<u8>) {
        let mut short = user_key(key).to_vec();
        self.user.short_successor(&mut short);
        self.replace_if_shorter(key, short);
    }

    fn replace_if_shorter(&self, key: &mut Vec<u8>, mut short: Vec<u8>) {
        let own = user_key(key);
        if short.len() <= own.len() && self.user.compare(own, &short).is_lt() {
            short.extend_from_slice(&pack(MAX_SEQUENCE, TYPE_FOR_SEEK).to_le_bytes());
            *key = short;
        }
    }
}
