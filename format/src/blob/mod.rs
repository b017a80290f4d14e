//! Blob files store values separately from their keys. A table then contains a blob index instead of the
//! value.
//!
//! ```text
//! header (30)                              footer (32, only when the file was finished)
//! +0  u32  magic 0x00248F37                +0  u32  magic
//! +4  u32  version 1                       +4  u64  blob count
//! +8  u32  column family                   +12 u64  expiration low, 0
//! +12 u8   flags: bit 0 has_ttl, 0         +20 u64  expiration high, 0
//! +13 u8   compression                     +28 u32  masked CRC32C of bytes 0..28
//! +14 u64  expiration low, 0
//! +22 u64  expiration high, 0
//!
//! record (32 + key + value), back to back
//! +0  u64  key size      +8 u64 stored value size      +16 u64 expiration, 0
//! +24 u32  masked CRC32C of bytes 0..24
//! +28 u32  masked CRC32C of key and stored value
//! +32 key, stored value
//!
//! index = u8 kind | fields
//!   0 inlined with TTL   varint64 expiration, value to the end
//!   1 blob               varint64 file, varint64 offset of the value, varint64 stored size, u8 compression
//!   2 blob with TTL      varint64 expiration, then as 1
//! ```
//! The index kinds with a TTL come from the old stacked BlobDB. File number 0 means "this table's own file"
//! and is legal only in tables with embedded blobs. RocksDB source: `db/blob/blob_log_format.cc`,
//! `db/blob/blob_index.h`.

use base::coding::{Cursor, put_u32, put_u64, put_varint64};
use base::{Error, FamilyId, FileNumber, Result};
use kernel::checksum::crc32c;

/// The first four bytes of a header and of a footer, as a little-endian integer.
pub const MAGIC: u32 = 0x0024_8F37;
/// The only version of blob files. [`Header::decode`] rejects other versions.
pub const VERSION: u32 = 1;
/// Size of the header of a blob file in bytes.
pub const HEADER_LEN: usize = 30;
/// Size of the footer of a blob file in bytes.
pub const FOOTER_LEN: usize = 32;
/// Size of the header of a record in bytes; key and stored value follow.
pub const RECORD_HEADER_LEN: usize = 32;

/// Returns the number of bytes of a record in its file. Blob statistics count this number.
pub fn record_len(key_len: usize, stored_value_len: u64) -> u64 {
    (RECORD_HEADER_LEN as u64).saturating_add(key_len as u64).saturating_add(stored_value_len)
}

/// The header of a blob file.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub struct Header {
    /// The column family of the file.
    pub family: FamilyId,
    /// RocksDB's compression byte. All blobs of a file have the same.
    pub compression: u8,
    /// True if the blobs of the file expire. Only the old stacked BlobDB writes such files.
    pub has_ttl: bool,
    /// The lowest and the highest expiration in seconds since 1970; zeros without TTL.
    pub expiration: (u64, u64),
}

impl Header {
    /// Appends the [`HEADER_LEN`] bytes of the header. The header has no checksum.
    pub fn encode(&self, out: &mut Vec<u8>) {
        put_u32(out, MAGIC);
        put_u32(out, VERSION);
        put_u32(out, self.family.get());
        out.push(u8::from(self.has_ttl));
        out.push(self.compression);
        put_u64(out, self.expiration.0);
        put_u64(out, self.expiration.1);
    }

    /// Decodes the header of a blob file from its first bytes. Bytes after the header are ignored.
    ///
    /// # Errors
    /// Corruption if the bytes are too short for a header, or if the magic number or the version is wrong.
    /// The header has no checksum.
    pub fn decode(bytes: &[u8]) -> Result<Self> {
        const WHAT: &str = "blob file header";
        let mut c = Cursor::new(bytes);
        if c.need(WHAT, c.clone().u32())? != MAGIC {
            return Err(Error::corruption("blob file header: magic number mismatch").at(0));
        }
        c.u32();
        let version = c.u32();
        let version = c.need(WHAT, version)?;
        if version != VERSION {
            return Err(Error::corruption(format!("blob file header: unknown version {version}")).at(4));
        }
        let family = c.u32().map(FamilyId::new);
        let flags = c.u8();
        let compression = c.u8();
        let expiration = c.u64().zip(c.u64());
        Ok(Header {
            family: c.need(WHAT, family)?,
            compression: c.need(WHAT, compression)?,
            has_ttl: c.need(WHAT, flags)? & 1 == 1,
            expiration: c.need(WHAT, expiration)?,
        })
    }
}

/// The footer of a complete blob file.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub struct Footer {
    /// The number of records in the file.
    pub blob_count: u64,
    /// The lowest and the highest expiration in seconds since 1970; zeros without TTL.
    pub expiration: (u64, u64),
}

impl Footer {
    /// Appends the [`FOOTER_LEN`] bytes of the footer, with its checksum.
    pub fn encode(&self, out: &mut Vec<u8>) {
        let start = out.len();
        put_u32(out, MAGIC);
        put_u64(out, self.blob_count);
        put_u64(out, self.expiration.0);
        put_u64(out, self.expiration.1);
        let crc = crc32c::mask(crc32c::value(&out[start..]));
        put_u32(out, crc);
    }

    /// Decodes the footer of a blob file from its last [`FOOTER_LEN`] bytes.
    ///
    /// # Errors
    /// Corruption if the length is not exactly that of a footer, or if the magic number or the checksum is
    /// wrong.
    pub fn decode(bytes: &[u8]) -> Result<Self> {
        let Some(bytes) = bytes.first_chunk::<FOOTER_LEN>().filter(|_| bytes.len() == FOOTER_LEN) else {
            return Err(Error::corruption("blob file footer: unexpected size"));
        };
        let mut c = Cursor::new(bytes);
        if c.u32() != Some(MAGIC) {
            return Err(Error::corruption("blob file footer: magic number mismatch"));
        }
        let footer = Footer {
            blob_count: c.u64().unwrap_or_default(),
            expiration: (c.u64().unwrap_or_default(), c.u64().unwrap_or_default()),
        };
        if c.u32() != Some(crc32c::mask(crc32c::value(&bytes[..FOOTER_LEN - 4]))) {
            return Err(Error::corruption("blob file footer: checksum mismatch").at(28));
        }
        Ok(footer)
    }
}

/// The header of each record, before key and value.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub struct RecordHeader {
    /// The size of the key in bytes.
    pub key_len: u64,
    /// The size of the stored value in bytes, compressed or not.
    pub value_len: u64,
    /// The expiration in seconds since 1970; 0 without TTL.
    pub expiration: u64,
    /// The masked CRC32C of the key and the stored value.
    pub blob_crc: u32,
}

impl RecordHeader {
    /// Returns the header of the record for `key` and its stored value.
    pub fn of(key: &[u8], stored_value: &[u8]) -> Self {
        RecordHeader {
            key_len: key.len() as u64,
            value_len: stored_value.len() as u64,
            expiration: 0,
            blob_crc: crc32c::mask(crc32c::extend(crc32c::value(key), stored_value)),
        }
    }

    /// Appends the [`RECORD_HEADER_LEN`] bytes of the record header, with its own checksum and the checksum
    /// of key and value.
    pub fn encode(&self, out: &mut Vec<u8>) {
        let start = out.len();
        put_u64(out, self.key_len);
        put_u64(out, self.value_len);
        put_u64(out, self.expiration);
        let crc = crc32c::mask(crc32c::value(&out[start..]));
        put_u32(out, crc);
        put_u32(out, self.blob_crc);
    }

    /// Decodes a record header. Bytes after the header are ignored.
    ///
    /// # Errors
    /// Corruption if the bytes are too short for a record header or the checksum is wrong.
    pub fn decode(bytes: &[u8]) -> Result<Self> {
        let Some(bytes) = bytes.first_chunk::<RECORD_HEADER_LEN>() else {
            return Err(Error::corruption("blob record header is truncated"));
        };
        let mut c = Cursor::new(bytes);
        let mut next = || c.u64().unwrap_or_default();
        let (key_len, value_len, expiration) = (next(), next(), next());
        if c.u32() != Some(crc32c::mask(crc32c::value(&bytes[..24]))) {
            return Err(Error::corruption("blob record header: checksum mismatch").at(24));
        }
        Ok(RecordHeader { key_len, value_len, expiration, blob_crc: c.u32().unwrap_or_default() })
    }

    /// Checks the key and the stored value against the header.
    ///
    /// # Errors
    /// Corruption if a length or the checksum is wrong.
    pub fn verify(&self, key: &[u8], stored_value: &[u8]) -> Result<()> {
        if self.key_len != key.len() as u64 || self.value_len != stored_value.len() as u64 {
            return Err(Error::corruption(format!(
                "blob record: key of {} and value of {} bytes, the header says {} and {}",
                key.len(),
                stored_value.len(),
                self.key_len,
                self.value_len
            )));
        }
        if self.blob_crc != RecordHeader::of(key, stored_value).blob_crc {
            return Err(Error::corruption("blob record: checksum mismatch"));
        }
        Ok(())
    }
}

/// Appends a complete record. The offset of the value in `out` then is the length of `out` minus the length
/// of the value.
pub fn append_record(out: &mut Vec<u8>, key: &[u8], stored_value: &[u8]) {
    RecordHeader::of(key, stored_value).encode(out);
    out.extend_from_slice(key);
    out.extend_from_slice(stored_value);
}

/// The blob index: says where a value is stored. A table contains it as an entry of value type `BlobIndex`.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum BlobIndex<'a> {
    /// The value itself, with an expiration in seconds since 1970.
    Inlined { expiration: u64, value: &'a [u8] },
    /// The position of the value in a blob file.
    Blob(BlobRef),
    /// The position of the value in a blob file, with an expiration in seconds since 1970.
    BlobTtl { expiration: u64, blob: BlobRef },
}

/// The position of a value in a blob file.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub struct BlobRef {
    /// The number of the blob file; 0 is the table's own file.
    pub file_number: FileNumber,
    /// The offset of the value (not of its record).
    pub offset: u64,
    /// The size of the stored value in bytes.
    pub size: u64,
    /// RocksDB's compression byte.
    pub compression: u8,
}

impl<'a> BlobIndex<'a> {
    /// Decodes a blob index: the value of an entry of type `BlobIndex`.
    ///
    /// # Errors
    /// Corruption for an unknown kind, missing fields or bytes after the last field.
    pub fn decode(bytes: &'a [u8]) -> Result<Self> {
        let mut c = Cursor::new(bytes);
        let kind = c.u8();
        let kind = c.need("blob index", kind)?;
        let expiration = |c: &mut Cursor<'a>| {
            c.varint64().ok_or_else(|| Error::corruption("blob index: corrupted expiration").at(1))
        };
        Ok(match kind {
            0 => BlobIndex::Inlined { expiration: expiration(&mut c)?, value: c.rest() },
            1 => BlobIndex::Blob(BlobRef::decode(&mut c)?),
            2 => BlobIndex::BlobTtl { expiration: expiration(&mut c)?, blob: BlobRef::decode(&mut c)? },
            _ => return Err(Error::corruption(format!("unknown blob index type: {kind}")).at(0)),
        })
    }

    /// Appends the kind and the fields. The value of an inlined blob index has no length: the value ends
    /// where the entry ends.
    pub fn encode(&self, out: &mut Vec<u8>) {
        match self {
            BlobIndex::Inlined { expiration, value } => {
                out.push(0);
                put_varint64(out, *expiration);
                out.extend_from_slice(value);
            }
            BlobIndex::Blob(blob) => {
                out.push(1);
                blob.encode_fields(out);
            }
            BlobIndex::BlobTtl { expiration, blob } => {
                out.push(2);
                put_varint64(out, *expiration);
                blob.encode_fields(out);
            }
        }
    }

    /// Returns the position in a file, or `None` if the value is inlined.
    pub fn blob(&self) -> Option<BlobRef> {
        match *self {
            BlobIndex::Inlined { .. } => None,
            BlobIndex::Blob(blob) | BlobIndex::BlobTtl { blob, .. } => Some(blob),
        }
    }
}

impl BlobRef {
    /// Appends a blob index of the kind "blob".
    pub fn encode(&self, out: &mut Vec<u8>) {
        BlobIndex::Blob(*self).encode(out);
    }

    fn encode_fields(&self, out: &mut Vec<u8>) {
        put_varint64(out, self.file_number.get());
        put_varint64(out, self.offset);
        put_varint64(out, self.size);
        out.push(self.compression);
    }

    fn decode(c: &mut Cursor<'_>) -> Result<Self> {
        match (c.varint64(), c.varint64(), c.varint64(), c.u8(), c.is_empty()) {
            (Some(file_number), Some(offset), Some(size), Some(compression), true) => {
                Ok(BlobRef { file_number: FileNumber::new(file_number), offset, size, compression })
            }
            _ => Err(Error::corruption("blob index: corrupted blob offset").at(c.offset() as u64)),
        }
    }
}

#[cfg(test)]
mod tests;
