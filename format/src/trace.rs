//! Traces: files of the calls of a database. A replay repeats the calls.
//!
//! ```text
//! record: time in microseconds u64 │ type u8 │ length u32 │ payload
//! begin   "feedcafedeadbeef\tTrace Version: 0.2\tRocksDB Version: 11.8\tFormat: Timestamp OpType Payload\n"
//! write   map u64 │ batch          get   map u64 │ column family u32 │ key          end   nothing
//! seek    map u64 │ column family u32 │ key │ lower bound │ upper bound
//! multi   map u64 │ number of keys u32 │ column families │ keys
//! ```
//! A bit of the map is set for each part that follows. Each part of bytes begins with its length. Empty bounds are left out.
//! Traces of the version 0.1 have no map: a write is the batch alone, and a get or a seek is a column family and a key.
//!
//! Traces of the block cache and of file operations have the same records with other types, and a shorter first record: the magic
//! number, and the two numbers of the release.
//!
//! Facts: RocksDB `trace_replay/trace_replay.cc`, `trace_replay/block_cache_tracer.cc`, `trace_replay/io_tracer.cc`,
//! `include/rocksdb/trace_record.h`.

use base::coding::{Cursor, put_slice, put_u32, put_u64};
use base::{Error, FamilyId, Result};

/// The bytes of a record before its payload.
pub const RECORD_HEADER_LEN: usize = 13;

const MAGIC: &[u8] = b"feedcafedeadbeef";
const RELEASE: [u32; 2] = [11, 8];
const HEADER: &[u8] =
    b"feedcafedeadbeef\tTrace Version: 0.2\tRocksDB Version: 11.8\tFormat: Timestamp OpType Payload\n";

/// The oldest version with a map of parts, as [`Header::version`] shows versions.
const VERSION_WITH_MAPS: u32 = 2;

/// The type of a record.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
#[repr(u8)]
pub enum RecordType {
    /// The first record of a file.
    Begin = 1,
    /// The last record of a trace of calls.
    End = 2,
    /// A write batch.
    Write = 3,
    /// A read of one key.
    Get = 4,
    /// A seek of an iterator.
    Seek = 5,
    /// A backward seek of an iterator.
    SeekForPrev = 6,
    /// An access to an index block.
    IndexBlock = 7,
    /// An access to a filter block.
    FilterBlock = 8,
    /// An access to a data block.
    DataBlock = 9,
    /// A file operation.
    FileOperation = 12,
    /// A read of several keys.
    MultiGet = 13,
}

/// Appends a record with this time, in microseconds since 1970.
pub fn put_record(out: &mut Vec<u8>, micros: u64, kind: RecordType, payload: &[u8]) {
    put_u64(out, micros);
    out.push(kind as u8);
    put_u32(out, payload.len() as u32);
    out.extend_from_slice(payload);
}

/// The payload of the first record of a trace of calls.
pub fn header() -> &'static [u8] {
    HEADER
}

/// Returns the payload of the first record of a trace of the block cache or of file operations.
pub fn short_header() -> Vec<u8> {
    let mut payload = Vec::new();
    put_slice(&mut payload, MAGIC);
    RELEASE.iter().for_each(|number| put_u32(&mut payload, *number));
    payload
}

/// Starts a payload. `parts` are the numbers of the parts.
fn payload(parts: &[u8]) -> Vec<u8> {
    let mut bytes = Vec::new();
    put_u64(&mut bytes, parts.iter().fold(0, |map, part| map | 1 << part));
    bytes
}

/// Returns the payload of a write. `batch` is the stored form of a write batch.
pub fn write_payload(batch: &[u8]) -> Vec<u8> {
    let mut bytes = payload(&[1]);
    put_slice(&mut bytes, batch);
    bytes
}

/// Returns the payload of a read of one key.
pub fn get_payload(family: FamilyId, key: &[u8]) -> Vec<u8> {
    let mut bytes = payload(&[2, 3]);
    put_u32(&mut bytes, family.get());
    put_slice(&mut bytes, key);
    bytes
}

/// Returns the payload of a seek. `bounds` are the lower and the upper bound of the iterator; an empty bound is no bound.
pub fn seek_payload(family: FamilyId, key: &[u8], bounds: [&[u8]; 2]) -> Vec<u8> {
    let mut parts = vec![4, 5];
    parts.extend([6, 7].into_iter().zip(bounds).filter(|(_, bound)| !bound.is_empty()).map(|(part, _)| part));
    let mut bytes = payload(&parts);
    put_u32(&mut bytes, family.get());
    put_slice(&mut bytes, key);
    bounds.into_iter().filter(|bound| !bound.is_empty()).for_each(|bound| put_slice(&mut bytes, bound));
    bytes
}

/// Returns the payload of a read of several keys.
pub fn multi_get_payload<'a>(keys: impl Iterator<Item = (FamilyId, &'a [u8])>) -> Vec<u8> {
    let (mut count, mut families, mut texts) = (0, Vec::new(), Vec::new());
    for (family, key) in keys {
        count += 1;
        put_u32(&mut families, family.get());
        put_slice(&mut texts, key);
    }
    let mut bytes = payload(&[8, 9, 10]);
    put_u32(&mut bytes, count);
    put_slice(&mut bytes, &families);
    put_slice(&mut bytes, &texts);
    bytes
}

/// The content of a record of a file operation. A part that is `None` is left out.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct FileOperation<'a> {
    /// RocksDB's name of the call.
    pub name: &'a str,
    /// The duration in nanoseconds.
    pub nanos: u64,
    /// The status of the call: "OK", or an error.
    pub status: &'a str,
    /// The name of the file without its directory.
    pub file: &'a [u8],
    /// The size of the file in bytes, for calls that ask for the size or set the size.
    pub file_size: Option<u64>,
    /// The bytes that were read or written.
    pub len: Option<u64>,
    /// The offset of the first byte.
    pub offset: Option<u64>,
}

impl FileOperation<'_> {
    /// Returns the payload of the record.
    pub fn payload(&self) -> Vec<u8> {
        let parts = [self.file_size, self.len, self.offset];
        let map = (0..).zip(parts).fold(0, |map, (bit, part)| map | u64::from(part.is_some()) << bit);
        let mut bytes = Vec::new();
        put_u64(&mut bytes, map);
        put_slice(&mut bytes, self.name.as_bytes());
        put_u64(&mut bytes, self.nanos);
        put_slice(&mut bytes, self.status.as_bytes());
        put_slice(&mut bytes, self.file);
        parts.into_iter().flatten().for_each(|part| put_u64(&mut bytes, part));
        // The map of the parts that a request adds. Requests add no part.
        put_u64(&mut bytes, 0);
        bytes
    }
}

/// The content of a record of an access to the block cache.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct BlockAccess<'a> {
    /// The type of the record: [`RecordType::IndexBlock`], [`RecordType::FilterBlock`] or [`RecordType::DataBlock`].
    pub block: RecordType,
    /// The key of the block in the cache.
    pub key: &'a [u8],
    /// The bytes of memory that the block takes.
    pub size: u64,
    /// The number of the column family.
    pub family: u64,
    /// The name of the column family.
    pub family_name: &'a [u8],
    /// The level of the file.
    pub level: u32,
    /// The number of the file.
    pub file: u64,
    /// The caller, with RocksDB's numbers (`TableReaderCaller`).
    pub caller: u8,
    /// True if the block was in the cache.
    pub is_hit: bool,
    /// True if the read does not insert the block.
    pub no_insert: bool,
    /// The lookup of a key or of several keys. `None` for all other callers.
    pub get: Option<GetAccess<'a>>,
}

/// The lookup that an access belongs to.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct GetAccess<'a> {
    /// The number of the lookup in the trace.
    pub id: u64,
    /// True if the lookup has a snapshot of the application.
    pub from_snapshot: bool,
    /// The internal key that the lookup seeks.
    pub key: &'a [u8],
    /// For a data block: the bytes of the found entry, the number of entries of the block, and true if the block has the key.
    pub data: Option<(u64, u64, bool)>,
}

impl BlockAccess<'_> {
    /// Returns the payload of the record.
    pub fn payload(&self) -> Vec<u8> {
        let mut bytes = Vec::new();
        put_slice(&mut bytes, self.key);
        put_u64(&mut bytes, self.size);
        put_u64(&mut bytes, self.family);
        put_slice(&mut bytes, self.family_name);
        put_u32(&mut bytes, self.level);
        put_u64(&mut bytes, self.file);
        bytes.extend([self.caller, u8::from(self.is_hit), u8::from(self.no_insert)]);
        let Some(get) = &self.get else { return bytes };
        put_u64(&mut bytes, get.id);
        bytes.push(u8::from(get.from_snapshot));
        put_slice(&mut bytes, get.key);
        if let Some((size, keys, exists)) = get.data {
            put_u64(&mut bytes, size);
            put_u64(&mut bytes, keys);
            bytes.push(u8::from(exists));
        }
        bytes
    }
}

/// One record of a trace.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct Record<'a> {
    /// The time of the call in microseconds since 1970.
    pub micros: u64,
    /// The number of the record type. A reader skips types that it does not know.
    pub kind: u8,
    /// The content.
    pub payload: &'a [u8],
}

impl<'a> Record<'a> {
    /// Decodes a record with its header.
    ///
    /// # Errors
    /// Corruption if the bytes are shorter than the record.
    pub fn decode(bytes: &'a [u8]) -> Result<Record<'a>> {
        let mut at = Cursor::new(bytes);
        let micros = at.u64();
        let micros = at.need("the time of a trace record", micros)?;
        let kind = at.u8();
        let kind = at.need("the type of a trace record", kind)?;
        let len = at.u32();
        let len = at.need("the length of a trace record", len)?;
        let payload = at.take(len as usize);
        let payload = at.need("the payload of a trace record", payload)?;
        Ok(Record { micros, kind, payload })
    }

    /// Returns true if the record has this type.
    pub fn is(&self, kind: RecordType) -> bool {
        self.kind == kind as u8
    }
}

/// The content of the first record of a trace of calls.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct Header {
    /// The time of the start in microseconds since 1970.
    pub micros: u64,
    /// The version of the trace without its point: 2 for "0.2".
    pub version: u32,
}

impl Header {
    /// Decodes the first record of a trace.
    ///
    /// # Errors
    /// Corruption if the record is not the first record of a trace of calls.
    pub fn decode(record: &Record<'_>) -> Result<Header> {
        if !record.is(RecordType::Begin) {
            return Err(Error::corruption("Corrupted trace file. Incorrect header."));
        }
        if !record.payload.starts_with(MAGIC) {
            return Err(Error::corruption("Corrupted trace file. Incorrect magic."));
        }
        let text = String::from_utf8_lossy(record.payload);
        let mut parts = text.split('\t').skip(1);
        let mut version = |name: &str| parts.next()?.strip_prefix(name).and_then(number);
        let wrong = || Error::corruption("Corrupted trace file. Incorrect version format.");
        let trace = version("Trace Version: ").ok_or_else(wrong)?;
        version("RocksDB Version: ").ok_or_else(wrong)?;
        Ok(Header { micros: record.micros, version: trace })
    }
}

/// Converts "0.2" to 2. `None` if the text is not two numbers.
fn number(text: &str) -> Option<u32> {
    let (major, minor) = text.split_once('.')?;
    let digits = |text: &str| !text.is_empty() && text.bytes().all(|byte| byte.is_ascii_digit());
    if digits(major) && digits(minor) { format!("{major}{minor}").parse().ok() } else { None }
}

/// A recorded call.
#[derive(Clone, Debug, PartialEq, Eq)]
pub enum Query<'a> {
    /// A write. The bytes are the stored form of a write batch.
    Write(&'a [u8]),
    /// A read of one key.
    Get(FamilyId, &'a [u8]),
    /// A seek of an iterator.
    Seek(Seek<'a>),
    /// A read of several keys.
    MultiGet(Vec<(FamilyId, &'a [u8])>),
}

/// A recorded seek.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct Seek<'a> {
    /// The column family of the iterator.
    pub family: FamilyId,
    /// The key to seek.
    pub key: &'a [u8],
    /// The lower bound of the iterator; empty for none.
    pub lower: &'a [u8],
    /// The upper bound of the iterator; empty for none.
    pub upper: &'a [u8],
    /// True for a seek to the last key at or before `key`.
    pub is_for_prev: bool,
}

impl<'a> Query<'a> {
    /// Decodes the call of a record in a trace of this version.
    ///
    /// # Errors
    /// NotSupported if the record is not a call. Corruption if the payload is damaged. InvalidArgument for a read of several
    /// keys without a key.
    pub fn decode(record: &Record<'a>, version: u32) -> Result<Query<'a>> {
        let is_for_prev = record.is(RecordType::SeekForPrev);
        let parts = || Parts::new(record.payload, version);
        if record.is(RecordType::Write) {
            let batch = if version < VERSION_WITH_MAPS { record.payload } else { parts()?.bytes(1)? };
            Ok(Query::Write(batch))
        } else if record.is(RecordType::Get) {
            let mut parts = parts()?;
            Ok(Query::Get(parts.family(2)?, parts.bytes(3)?))
        } else if record.is(RecordType::Seek) || is_for_prev {
            let mut parts = parts()?;
            let (family, key) = (parts.family(4)?, parts.bytes(5)?);
            let (lower, upper) = (parts.bytes(6)?, parts.bytes(7)?);
            Ok(Query::Seek(Seek { family, key, lower, upper, is_for_prev }))
        } else if record.is(RecordType::MultiGet) {
            if version < VERSION_WITH_MAPS {
                return Err(Error::corruption("MultiGet is not supported."));
            }
            let mut parts = parts()?;
            let (count, families, keys) = (parts.u32(8)?, parts.bytes(9)?, parts.bytes(10)?);
            several(count, families, keys).map(Query::MultiGet)
        } else {
            Err(Error::not_supported("Unsupported trace type."))
        }
    }
}

/// Decodes the two lists of a read of several keys.
fn several<'a>(count: u32, families: &'a [u8], keys: &'a [u8]) -> Result<Vec<(FamilyId, &'a [u8])>> {
    if count == 0 {
        return Err(Error::invalid_argument("Empty MultiGet cf_ids or keys."));
    }
    let (mut families, mut keys) = (Cursor::new(families), Cursor::new(keys));
    // The count may be damaged, so the list grows with the keys that exist.
    let mut pairs = Vec::new();
    for _ in 0..count {
        let family = families.u32();
        let family = families.need("the column families of a trace record", family)?;
        let key = keys.slice();
        pairs.push((FamilyId::new(family), keys.need("the keys of a trace record", key)?));
    }
    Ok(pairs)
}

/// Reads the parts of a payload in the order of their numbers.
struct Parts<'a> {
    map: u64,
    at: Cursor<'a>,
}

impl<'a> Parts<'a> {
    /// Without a map, all parts but the bounds are there.
    fn new(payload: &'a [u8], version: u32) -> Result<Self> {
        let mut at = Cursor::new(payload);
        if version < VERSION_WITH_MAPS {
            return Ok(Parts { map: 1 << 2 | 1 << 3 | 1 << 4 | 1 << 5, at });
        }
        let map = at.u64();
        let map = at.need("the map of a trace record", map)?;
        Ok(Parts { map, at })
    }

    fn has(&self, part: u8) -> bool {
        self.map >> part & 1 != 0
    }

    /// Returns 0 if the part is left out.
    fn u32(&mut self, part: u8) -> Result<u32> {
        if !self.has(part) {
            return Ok(0);
        }
        let number = self.at.u32();
        self.at.need("a number of a trace record", number)
    }

    fn family(&mut self, part: u8) -> Result<FamilyId> {
        self.u32(part).map(FamilyId::new)
    }

    /// Returns no bytes if the part is left out.
    fn bytes(&mut self, part: u8) -> Result<&'a [u8]> {
        if !self.has(part) {
            return Ok(&[]);
        }
        let bytes = self.at.slice();
        self.at.need("a part of a trace record", bytes)
    }
}

#[cfg(test)]
mod tests;
