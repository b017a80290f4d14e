//! Writes a plain table: entries in order go in, a file comes out.
//!
//! For the same options the file is byte for byte RocksDB 11.8.1's file. Source: RocksDB
//! `table/plain/plain_table_builder.cc`.

use base::coding::put_varint32;
use base::key::{TRAILER_LEN, trailer, user_key};
use base::{Error, Result, ValueType};
use env::writer::FileWriter;
use format::footer::TableKind;
use format::metaindex::Metaindex;
use format::properties::Properties;
use kernel::filter::bloom_plain::Layout;
use kernel::hash::slice_hash;

use super::index::IndexBuilder;
use super::row::RowEncoder;
use super::{FILE_SIZE_MAX, PROBES, names, prefix_of};
use crate::flat::meta;
use crate::options::EncodingType;
use crate::sst::writer::{Collectors, Counts, finished, mark_external};
use crate::sst::{FinishedTable, WriterOptions};

/// A plain table being written. After an error the table is lost: drop the writer and delete the file.
pub struct PlainWriter {
    file: FileWriter,
    options: WriterOptions,
    encoder: RowEncoder,
    /// The index and the hashes of the Bloom filter. `None` if the file does not store them.
    index: Option<(IndexBuilder, Vec<u32>)>,
    offset: u64,
    row: Vec<u8>,
    counts: Counts,
    collectors: Collectors,
    first_key: Vec<u8>,
    last_key: Vec<u8>,
}

impl PlainWriter {
    /// Starts a table at the start of `file`.
    ///
    /// # Errors
    /// InvalidArgument for options that contradict each other. NotSupported for an order with timestamps.
    pub fn new(file: FileWriter, options: WriterOptions) -> Result<PlainWriter> {
        let table = &options.other.plain;
        table.validate()?;
        if options.order.user.timestamp_size() > 0 {
            return Err(Error::not_supported("user-defined timestamps in a plain table"));
        }
        let hashed = options.prefix_extractor.is_some();
        let index = table.store_index_in_file.then(|| {
            let ratio = if hashed { table.hash_table_ratio } else { 0.0 };
            (IndexBuilder::new(table.index_sparseness, ratio), Vec::new())
        });
        let encoding = if hashed { table.encoding_type } else { EncodingType::Plain };
        let user_key_len = (table.user_key_len > 0).then_some(table.user_key_len as usize);
        Ok(PlainWriter {
            file,
            encoder: RowEncoder::new(encoding, user_key_len, table.index_sparseness),
            index,
            offset: 0,
            row: Vec::new(),
            counts: Counts::default(),
            collectors: Collectors::new(&options),
            first_key: Vec::new(),
            last_key: Vec::new(),
            options,
        })
    }

    /// Adds an entry.
    ///
    /// # Errors
    /// NotSupported for a range tombstone, for a user key whose length is not `user_key_len`, and for an
    /// entry that makes the file larger than 2 GiB. Errors of the file.
    pub fn add(&mut self, key: &[u8], value: &[u8]) -> Result<()> {
        if key.len() < TRAILER_LEN {
            return Err(Error::invalid_argument("a key without a trailer in a table"));
        }
        if trailer(key) as u8 == ValueType::RangeDeletion as u8 {
            return Err(Error::not_supported("Range deletion unsupported"));
        }
        let user = user_key(key);
        let extractor = self.options.prefix_extractor.as_deref();
        base::invariant!(
            self.last_key.is_empty() || self.options.order.compare(&self.last_key, key).is_lt(),
            "the key {key:02x?} is out of order"
        );
        self.row.clear();
        self.encoder.encode(key, value, extractor, &mut self.row)?;
        let end = self.offset + self.row.len() as u64;
        if end > FILE_SIZE_MAX {
            return Err(Error::not_supported(format!(
                "a plain table of {end} bytes: readers take at most {FILE_SIZE_MAX} bytes"
            )));
        }
        if let Some((index, hashes)) = &mut self.index {
            let prefix = extractor.map(|extractor| prefix_of(extractor, user));
            hashes.push(slice_hash(prefix.as_deref().unwrap_or(user)));
            index.add(prefix.as_deref().unwrap_or_default(), self.offset as u32, true);
        }
        self.file.append(&self.row)?;
        self.offset = end;
        base::invariant!(self.file.size() == end, "the file has {} bytes, the rows {end}", self.file.size());
        self.counts.add(trailer(key), key.len(), value.len());
        if self.first_key.is_empty() {
            self.first_key = key.to_vec();
        }
        self.last_key.clear();
        self.last_key.extend_from_slice(key);
        if !self.collectors.is_empty() {
            self.collectors.add(&self.options, key, value, self.offset);
        }
        Ok(())
    }

    /// Returns the order of the keys.
    pub fn order(&self) -> &base::key::InternalOrder {
        &self.options.order
    }

    /// Returns the number of entries so far.
    pub fn entries(&self) -> u64 {
        self.counts.entries
    }

    /// Returns the bytes of the file so far.
    pub fn file_size(&self) -> u64 {
        self.offset
    }

    /// Returns the bytes of memory for the index and the filter.
    pub fn memory_bytes(&self) -> usize {
        self.index.as_ref().map_or(0, |(index, hashes)| index.memory_bytes() + hashes.capacity() * 4)
    }

    /// Writes the rest of the table. Does not sync or close the file.
    ///
    /// # Errors
    /// Errors of the file.
    pub fn finish(mut self) -> Result<(FinishedTable, FileWriter)> {
        base::invariant!(
            self.first_key.is_empty() == self.last_key.is_empty(),
            "a plain table has a first key without a last key"
        );
        let mut properties = self.initial_properties();
        let mut metaindex = Metaindex::default();
        if let Some((index, hashes)) = self.index.take().filter(|_| self.counts.entries > 0) {
            self.write_bloom(&hashes, &mut properties, &mut metaindex)?;
            let index = index.finish();
            properties.index_size = index.len() as u64;
            metaindex.insert(names::INDEX, meta::write_block(&mut self.file, &mut self.offset, &index)?);
        }
        self.collectors.finish(&mut properties);
        let needs_compaction = self.collectors.need_compact();
        meta::write(&mut self.file, &mut self.offset, TableKind::PlainLegacy, &properties, metaindex)?;
        let bounds = (!self.first_key.is_empty()).then_some((self.first_key, self.last_key));
        let done = finished(&self.options, properties, &self.counts, (self.offset, bounds));
        let checksum = self.file.checksum();
        Ok((FinishedTable { needs_compaction, file_checksum: checksum, ..done }, self.file))
    }

    fn initial_properties(&self) -> Properties {
        let (options, table) = (&self.options, &self.options.other.plain);
        let text = |text: &str| text.as_bytes().to_vec();
        let mut properties = Properties {
            num_entries: self.counts.entries,
            num_deletions: self.counts.deletions,
            num_merge_operands: self.counts.merge_operands,
            raw_key_size: self.counts.raw_key_size,
            raw_value_size: self.counts.raw_value_size,
            data_size: self.offset,
            num_data_blocks: 1,
            fixed_key_len: u64::from(table.user_key_len),
            // RocksDB stores the encoding of the options, even if there is no prefix extractor.
            format_version: u64::from(table.encoding_type == EncodingType::Prefix),
            column_family_id: u64::from(options.place.family.get()),
            column_family_name: text(&options.place.family_name),
            db_id: text(&options.identity.db_id),
            db_session_id: text(&options.identity.db_session_id),
            db_host_id: text(&options.identity.db_host_id),
            original_file_number: options.file_number.get(),
            prefix_extractor_name: (options.prefix_extractor.as_ref())
                .map_or_else(|| text("nullptr"), |extractor| text(&extractor.name())),
            ..Properties::default()
        };
        let encoding =
            if options.prefix_extractor.is_some() { table.encoding_type } else { EncodingType::Plain };
        let mut user = |name: &str, value: Vec<u8>| properties.user_collected.insert(text(name), value);
        user(names::ENCODING, (encoding as u32).to_le_bytes().to_vec());
        if table.store_index_in_file {
            user(names::BLOOM_VERSION, b"1".to_vec());
        }
        mark_external(options, &mut properties);
        properties
    }

    fn write_bloom(
        &mut self,
        hashes: &[u32],
        properties: &mut Properties,
        metaindex: &mut Metaindex,
    ) -> Result<()> {
        let bits_per_key = u64::from(self.options.other.plain.bloom_bits_per_key.unsigned_abs());
        if bits_per_key == 0 {
            return Ok(());
        }
        let bits = u32::try_from(hashes.len() as u64 * bits_per_key).unwrap_or(u32::MAX);
        let layout = Layout::new(bits, PROBES, self.options.other.bloom_locality);
        let mut bits = vec![0; layout.len_bytes()];
        hashes.iter().for_each(|hash| layout.add(&mut bits, *hash));
        let mut blocks = Vec::new();
        put_varint32(&mut blocks, layout.lines());
        properties.user_collected.insert(names::BLOOM_BLOCKS.into(), blocks);
        properties.filter_size = bits.len() as u64;
        metaindex.insert(names::BLOOM, meta::write_block(&mut self.file, &mut self.offset, &bits)?);
        Ok(())
    }

    /// Abandons the table. Returns the file as it is.
    pub fn abandon(self) -> FileWriter {
        self.file
    }
}
