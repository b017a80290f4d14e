//! Durable marks: a WAL itself stores how much of it was synced.
//!
//! ```text
//! LogData record of a batch, the last record of the batch
//! +0  u8 3 | varint32 length                 the framing of the batch
//! at least one entry:
//!        varint64 WAL number; 0 is the WAL that contains the mark
//!        varint64 number of bytes of that WAL, from its start, that were synced
//!        u32      digest of all whole physical records below that offset
//!  in the first batch after an edit of the MANIFEST:
//!        varint64 0, varint64 0, u32 1        the next entry is for the MANIFEST
//!        entry with the MANIFEST number: it is durable up to this offset, the edit included
//!  in the first batch of a WAL, if older WALs were not synced when it was started:
//!        varint64 0, varint64 0, u32 0        the next entries were written, durable or not
//!        entries of those WALs, the whole size of each
//!  in the first batch of a WAL that repeats prepared sections (a resume has written it):
//!        varint64 0, varint64 0, u32 2        this mark alone
//!  4 bytes 'I' 'D' 'M' D1                     magic at the end: a record without marks is recognized at once
//! ```
//! The marks are log data of the batch. RocksDB keeps log data in the WAL and does not insert it into memtables. So
//! RocksDB reads the same entries from such a batch (tried with 7.8 and 11.8). A batch from another source can end with
//! the magic bytes: a batch of another WAL, or log data of the application. Such a batch must be followed by a record
//! of empty log data, or a reader would take its end for marks of this WAL. The marks of a damaged WAL show which
//! damage no crash can have caused.
//!
//! The digest is computed from the checksums in the record headers, which cover the payloads. It costs one
//! multiplication for each record, for the writer and for the reader. An empty WAL has digest 0.

use base::FileNumber;
use base::coding::{Cursor, put_u32, put_varint64};

use crate::batch::{self, Batch, Record};

/// The last bytes of log data that contains marks.
pub const MARK_MAGIC: [u8; 4] = *b"IDM\xd1";

/// A running digest of the records of a WAL or MANIFEST.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub struct Digest(u64);

impl Digest {
    /// Adds a physical record, by the checksum in its header.
    #[inline]
    pub(super) fn add(&mut self, stored_crc: u32) {
        const ODD: u64 = 0x9E37_79B9_7F4A_7C15;
        let mixed = (self.0 ^ u64::from(stored_crc)).wrapping_add(1).wrapping_mul(ODD);
        self.0 = mixed ^ (mixed >> 32);
    }

    /// Returns 32 bits of the digest, which marks and proofs store.
    pub fn value(self) -> u32 {
        (self.0 >> 32) as u32 ^ self.0 as u32
    }
}

/// A mark: a WAL or a MANIFEST is durable up to `bytes`, and its records up to there have this digest.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct Mark {
    /// The number of the WAL or of the MANIFEST. 0 is the WAL that contains the mark.
    pub file_number: FileNumber,
    /// The number of bytes from the start of the file.
    pub bytes: u64,
    /// The digest of all whole physical records in these bytes.
    pub digest: u32,
}

/// The entry before marks of WALs that were written, durable or not.
const WRITTEN: Mark = Mark { file_number: FileNumber::ZERO, bytes: 0, digest: 0 };

/// The entry before the mark of the MANIFEST.
const MANIFEST: Mark = Mark { file_number: FileNumber::ZERO, bytes: 0, digest: 1 };

/// The mark of a WAL that repeats the prepared sections of older WALs. A resume writes such a WAL before the MANIFEST says
/// that no older WAL is needed. If an older WAL is needed, the sections of this WAL do not count.
pub const REPEATS: Mark = Mark { file_number: FileNumber::ZERO, bytes: 0, digest: 2 };

/// Appends a record of log data with these marks to the records of a batch.
pub fn put_marks(out: &mut Vec<u8>, marks: &Marks) {
    let Marks { durable, manifest, written, repeats } = marks;
    let mut blob = Vec::with_capacity(48 + (durable.len() + written.len()) * 12);
    let of_manifest = manifest.map(|mark| [MANIFEST, mark]).into_iter().flatten();
    let between = (!written.is_empty()).then_some(WRITTEN);
    let repeats = repeats.then_some(REPEATS).into_iter();
    for mark in repeats
        .chain(durable.iter().copied())
        .chain(of_manifest)
        .chain(between)
        .chain(written.iter().copied())
    {
        put_varint64(&mut blob, mark.file_number.get());
        put_varint64(&mut blob, mark.bytes);
        put_u32(&mut blob, mark.digest);
    }
    blob.extend_from_slice(&MARK_MAGIC);
    batch::log_data(out, &blob);
}

/// Returns true if log data, or a batch, ends with the magic of marks.
#[inline]
pub fn is_mark(bytes: &[u8]) -> bool {
    bytes.ends_with(&MARK_MAGIC)
}

/// Returns a batch without the marks at its end: the batch as the application wrote it.
pub fn without_marks(bytes: &[u8]) -> &[u8] {
    if !is_mark(bytes) {
        return bytes;
    }
    let last = Batch::new(bytes).ok().and_then(|batch| batch.records().last());
    let Some(Ok(Record::LogData(blob))) = last else { return bytes };
    let mut encoded = Vec::new();
    batch::log_data(&mut encoded, blob);
    bytes.strip_suffix(&encoded[..]).unwrap_or(bytes)
}

/// The marks in one record of log data.
#[derive(Clone, Debug, Default, PartialEq, Eq)]
pub struct Marks {
    /// The durable parts of WALs.
    pub durable: Vec<Mark>,
    /// The durable part of the MANIFEST with that number.
    pub manifest: Option<Mark>,
    /// The written sizes of older WALs, durable or not.
    pub written: Vec<Mark>,
    /// True for [`REPEATS`].
    pub repeats: bool,
}

/// Returns the marks in log data. Returns `None` if there are none, or if the log data is malformed.
pub fn parse_marks(blob: &[u8]) -> Option<Marks> {
    let mut c = Cursor::new(blob.strip_suffix(&MARK_MAGIC)?);
    let (mut marks, mut behind) = (Marks::default(), None);
    while !c.is_empty() {
        let mark =
            Mark { file_number: FileNumber::new(c.varint64()?), bytes: c.varint64()?, digest: c.u32()? };
        match behind {
            _ if mark == REPEATS => marks.repeats = true,
            _ if mark == WRITTEN || mark == MANIFEST => behind = Some(mark),
            None => marks.durable.push(mark),
            Some(MANIFEST) => marks.manifest = Some(mark),
            Some(_) => marks.written.push(mark),
        }
    }
    (marks != Marks::default()).then_some(marks)
}

/// Returns the marks at the end of a batch, if there are any. Cost: a comparison of four bytes. Only a batch
/// that ends with the magic is read.
pub fn marks_of(record: &[u8]) -> Option<Marks> {
    if !is_mark(record) {
        return None;
    }
    let last = Batch::new(record).ok()?.records().map_while(Result::ok).last()?;
    match last {
        Record::LogData(blob) => parse_marks(blob),
        _ => None,
    }
}
