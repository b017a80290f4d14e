//! Writes embedded blobs: large values between the blocks of their SST file.
//!
//! ```text
//! key#seq,SET large value ─► sink (payload, trailer) ─► key#seq,BLOB blob index (file 0, offset, size)
//! ```
//! The limit applies to each column of an entity separately. Merge operands and tombstones stay as they are. A blob is
//! not compressed. The counterpart is [`crate::sst::EmbeddedIter`]. Source: RocksDB
//! `table/block_based/block_based_table_builder.cc`.

use base::coding::put_varint64;
use base::key::{self, TRAILER_LEN, ValueType, pack};
use base::{Error, FileNumber, Result};
use compress::Compression;
use format::blob::BlobRef;
use format::properties::{Properties, names};
use format::wide::{self, Column};

use super::sink::Sink;

/// Writes the embedded blobs of one table, and makes the entries that refer to them.
pub(super) struct Embedder {
    size_min: u64,
    /// The number of blobs, and the sum of their sizes in bytes.
    count: u64,
    bytes: u64,
    /// The end of the last embedded blob in the file.
    end: u64,
    /// The current entry, if it was changed.
    key: Vec<u8>,
    value: Vec<u8>,
}

impl Embedder {
    /// Makes the embedder of values from `size_min` bytes on.
    pub(super) fn new(size_min: u64) -> Self {
        Embedder { size_min, count: 0, bytes: 0, end: 0, key: Vec::new(), value: Vec::new() }
    }

    /// Returns the stored form of a point entry whose value or columns are large, after it has written the blobs. Returns `None`
    /// for other entries.
    ///
    /// # Errors
    /// Corruption if an entity does not decode. InvalidArgument for a value of 4 GiB. Errors of the file.
    pub(super) fn embed(
        &mut self,
        sink: &mut Sink,
        key: &[u8],
        value: &[u8],
    ) -> Result<Option<(&[u8], &[u8])>> {
        let value_type = ValueType::from_u8(key::trailer(key) as u8);
        let changed = match value_type {
            Some(ValueType::Value) if self.is_large(value) => {
                self.value.clear();
                self.blob(sink, value)?.encode(&mut self.value);
                self.set_key(key, ValueType::BlobIndex);
                true
            }
            Some(ValueType::WideColumnEntity) => {
                let changed = self.embed_columns(sink, value)?;
                self.set_key(key, ValueType::WideColumnEntity);
                changed
            }
            _ => false,
        };
        Ok(changed.then_some((&self.key[..], &self.value[..])))
    }

    /// Embeds the large columns of an entity. Returns false if it has none.
    fn embed_columns(&mut self, sink: &mut Sink, entity: &[u8]) -> Result<bool> {
        let columns = wide::decode(entity)?;
        let mut indexes = Vec::new();
        for (at, column) in columns.iter().enumerate() {
            if !column.is_blob && self.is_large(column.value) {
                let mut index = Vec::new();
                self.blob(sink, column.value)?.encode(&mut index);
                indexes.push((at, index));
            }
        }
        if indexes.is_empty() {
            return Ok(false);
        }
        let mut stored = columns.clone();
        for (at, index) in &indexes {
            stored[*at] = Column { name: columns[*at].name, value: index, is_blob: true };
        }
        self.value.clear();
        wide::encode(&stored, &mut self.value)?;
        Ok(true)
    }

    fn is_large(&self, value: &[u8]) -> bool {
        value.len() as u64 >= self.size_min
    }

    fn set_key(&mut self, key: &[u8], value_type: ValueType) {
        self.key.clear();
        self.key.extend_from_slice(key);
        let at = self.key.len() - TRAILER_LEN;
        self.key[at..].copy_from_slice(&pack(key::sequence(key), value_type as u8).to_le_bytes());
        base::invariant!(
            key::user_key(&self.key) == key::user_key(key) && key::sequence(&self.key) == key::sequence(key),
            "the entry {:02x?} refers to the blob of the entry {key:02x?}",
            self.key
        );
    }

    fn blob(&mut self, sink: &mut Sink, payload: &[u8]) -> Result<BlobRef> {
        if payload.len() > u32::MAX as usize {
            return Err(Error::invalid_argument("Embedded blob value is too large"));
        }
        let offset = sink.write_blob(payload)?;
        base::invariant!(
            offset >= self.end && offset + payload.len() as u64 <= sink.offset(),
            "an embedded blob of {} bytes is at {offset}, and the blob before ends at {}",
            payload.len(),
            self.end
        );
        self.end = offset + payload.len() as u64;
        self.count += 1;
        self.bytes += payload.len() as u64;
        Ok(BlobRef {
            file_number: FileNumber::ZERO,
            offset,
            size: payload.len() as u64,
            compression: Compression::None as u8,
        })
    }

    /// Adds the property of tables with embedded blobs. Does nothing if the table has no embedded blob.
    pub(super) fn put_into(&self, properties: &mut Properties) {
        if self.count == 0 {
            return;
        }
        let mut stats = Vec::new();
        put_varint64(&mut stats, self.count);
        put_varint64(&mut stats, self.bytes);
        properties.user_collected.insert(names::EMBEDDED_BLOB_STATS.as_bytes().to_vec(), stats);
    }
}
