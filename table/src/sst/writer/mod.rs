//! Writes a block-based table: entries in order go in, a file comes out.
//!
//! ```text
//! add ─ cut? ─► data block ─► packer (compress) ─► sink (trailer, checksum) ─► file
//!   │              └ key of the index entry           └ handle ─► index
//!   ├─► filter (hash of the key)
//!   └─► counts, collectors
//! finish: filter, index, dictionary, range deletions, properties, metaindex, footer
//! ```
//! For the same options, the output is byte for byte the output of RocksDB 11.8.1, except for the random
//! context number and the choices of compressors. Facts: RocksDB
//! `table/block_based/block_based_table_builder.cc`.

mod batch;
mod blocks;
mod collect;
mod embed;
mod held;
mod options;
mod packer;
mod plan;
mod sample;
mod sink;
mod tail;

use base::key::{MAX_SEQUENCE, TRAILER_LEN, append_internal, pack, trailer, user_key, without_timestamp};
use base::{Error, Result, SequenceNumber, ValueType};
use env::writer::FileWriter;
use format::block::{Block, BlockIter, KeyRewrite};
use format::block_builder::{BlockBuilder, BlockConfig, CutPolicy};
use format::filter::FilterBuilder;
use format::properties::Properties;
use mem::cache::Reservation;

use crate::options::{DataBlockIndexType, Validation};
use crate::unique_id::UniqueId;
use blocks::Blocks;
pub(crate) use collect::{Collectors, Counts, mark_external};
use embed::Embedder;

pub use options::{
    BlockCompression, BlockKind, Collecting, CollectorContext, CollectorFactory, DataTimes, FAMILY_UNKNOWN,
    Identity, Resources, TablePlace, TablePropertiesCollector, WarmCache, WriterOptions,
};

/// A table being written.
///
/// Keys are internal keys, each once, in the order of the table. The caller guarantees this; only builds with
/// the feature `invariants` check it. After an error the table is lost: drop the writer and delete the file.
pub struct Writer {
    options: WriterOptions,
    cut: CutPolicy,
    data: BlockBuilder,
    /// The last point key that was added. Empty before the first key.
    last_key: Vec<u8>,
    range_deletions: BlockBuilder,
    filter: Option<FilterBuilder>,
    blocks: Blocks,
    counts: Counts,
    collectors: Collectors,
    bounds: Bounds,
    timestamp_size: usize,
    filter_charge: Option<Reservation>,
    /// Writes embedded blobs, if the options ask for them.
    embedder: Option<Embedder>,
}

/// The facts about a finished table.
#[derive(Clone, Debug)]
pub struct FinishedTable {
    /// The properties, as they were stored.
    pub properties: Properties,
    /// The size of the file in bytes.
    pub file_size: u64,
    /// Bytes after the data blocks. An open of the table reads these bytes.
    pub tail_size: u64,
    /// Bytes of all blocks before compression.
    pub pre_compression_size: u64,
    /// The smallest and the largest internal key, range tombstones included. The end of a range tombstone
    /// counts as its largest key, with the largest sequence number, although it is not covered. `None` for a
    /// table without entries.
    pub bounds: Option<(Vec<u8>, Vec<u8>)>,
    /// The smallest and the largest internal key of point entries. `None` if there are none.
    pub point_bounds: Option<(Vec<u8>, Vec<u8>)>,
    /// The largest sequence number. 0 for a table without entries.
    pub largest_seqno: SequenceNumber,
    /// The smallest sequence number. `u64::MAX` for a table without entries.
    pub smallest_seqno: SequenceNumber,
    /// The unique id for the MANIFEST. `None` if the options do not identify the table.
    pub unique_id: Option<UniqueId>,
    /// CRC-32C of the whole file, if the file writer computes it.
    pub file_checksum: Option<u32>,
    /// True if a collector wants the table to be compacted soon.
    pub needs_compaction: bool,
}

impl Writer {
    /// Starts a table at the start of `file`.
    ///
    /// # Errors
    /// InvalidArgument for options that contradict each other. NotSupported for a compression type that this
    /// build does not have.
    pub fn new(file: FileWriter, options: WriterOptions) -> Result<Writer> {
        let table = &*options.table;
        table.validate_without_cache(Validation {
            has_prefix_extractor: options.prefix_extractor.is_some(),
            bytewise_order: options.order.user.is_bytewise(),
            compressed_by: (options.block_compression.kind != compress::Compression::None)
                .then_some("compression"),
            disables_compression: false,
            merges_unordered_writes: false,
        })?;
        let strip_timestamp =
            if options.persist_timestamps { 0 } else { options.order.user.timestamp_size() };
        let hashed = table.data_block_index_type == DataBlockIndexType::BinaryAndHash
            && !options.order.user.different_bytes_may_be_equal();
        let mut data = BlockBuilder::new(BlockConfig {
            restart_interval: table.block_restart_interval.max(1) as usize,
            delta_keys: table.use_delta_encoding,
            hash_util_ratio: hashed.then_some(table.data_block_hash_table_util_ratio),
            strip_timestamp,
            separated: table.separate_key_value_in_data_block,
            ..BlockConfig::default()
        });
        data.reserve((table.block_size as usize).min(1 << 20) + 1024);
        let filter = plan::filter_builder(&options);
        Ok(Writer {
            cut: CutPolicy::new(
                table.block_size,
                table.block_size_deviation.max(0) as u64,
                table.block_align,
            ),
            data,
            last_key: Vec::new(),
            range_deletions: BlockBuilder::new(BlockConfig {
                restart_interval: 1,
                strip_timestamp,
                ..BlockConfig::default()
            }),
            blocks: Blocks::new(file, &options, filter.as_ref().is_some_and(FilterBuilder::is_coupled))?,
            filter,
            counts: Counts::default(),
            collectors: Collectors::new(&options),
            bounds: Bounds::default(),
            timestamp_size: options.order.user.timestamp_size(),
            filter_charge: plan::filter_charge(&options),
            embedder: options.embedded_blob_min_size.map(Embedder::new),
            options,
        })
    }

    /// Adds an entry. A key of type `RangeDeletion` is a range tombstone; its end is the value.
    ///
    /// # Errors
    /// InvalidArgument for a value type that a table cannot have. Otherwise the errors of the file.
    #[inline]
    pub fn add(&mut self, key: &[u8], value: &[u8]) -> Result<()> {
        let tag = trailer(key);
        if !is_point(tag as u8) || key.len() < TRAILER_LEN || self.embedder.is_some() {
            return self.add_unusual(key, value);
        }
        self.add_point(key, value)
    }

    /// Adds a point entry in its stored form.
    #[inline]
    fn add_point(&mut self, key: &[u8], value: &[u8]) -> Result<()> {
        base::invariant!(
            self.last_key.is_empty() || self.options.order.compare(&self.last_key, key).is_lt(),
            "the key {key:02x?} is out of order: the key before is {:02x?}",
            self.last_key
        );
        if self.cut.cuts(&self.data, key, value) {
            self.flush(Some(key))?;
        }
        if let Some(filter) = &mut self.filter {
            let key = without_timestamp(user_key(key), self.timestamp_size);
            if !self.blocks.holds_key(key) {
                let last = without_timestamp(user_key(&self.last_key), self.timestamp_size);
                filter.add(key, last, self.blocks.index.partitions())?;
            }
        }
        if self.blocks.index.wants_keys() {
            self.blocks.index.on_key(key);
        }
        self.data.add_after(&self.last_key, key, value);
        if self.last_key.is_empty() {
            self.bounds.first_point(key);
        }
        self.last_key.clear();
        self.last_key.extend_from_slice(key);
        self.counts.add(trailer(key), key.len(), value.len());
        if !self.collectors.is_empty() {
            self.collectors.add(&self.options, key, value, self.blocks.sink.offset());
        }
        Ok(())
    }

    #[cold]
    fn add_unusual(&mut self, key: &[u8], value: &[u8]) -> Result<()> {
        let tag = trailer(key);
        if key.len() >= TRAILER_LEN
            && is_point(tag as u8)
            && let Some(mut embedder) = self.embedder.take()
        {
            let embedded = embedder.embed(&mut self.blocks.sink, key, value);
            let added = embedded.and_then(|changed| match changed {
                None => self.add_point(key, value),
                Some((key, value)) => self.add_point(key, value),
            });
            self.embedder = Some(embedder);
            return added;
        }
        if key.len() < TRAILER_LEN || tag as u8 != ValueType::RangeDeletion as u8 {
            return Err(Error::invalid_argument(format!("a key of value type {:#x} in a table", tag as u8)));
        }
        let stored_end = match self.options.persist_timestamps {
            true => value,
            false => without_timestamp(value, self.timestamp_size),
        };
        self.range_deletions.add(key, stored_end);
        self.bounds.range(&self.options.order, key, value);
        self.counts.add(tag, key.len(), value.len());
        if !self.collectors.is_empty() {
            self.collectors.add(&self.options, key, value, self.blocks.sink.offset());
        }
        Ok(())
    }

    /// Adds a range tombstone of the user keys from `start` (included) to `end` (excluded). Tombstones may be
    /// in any order.
    ///
    /// # Errors
    /// None at present.
    pub fn add_range_tombstone(&mut self, start: &[u8], end: &[u8], seq: SequenceNumber) -> Result<()> {
        let mut key = Vec::new();
        append_internal(&mut key, start, seq, ValueType::RangeDeletion);
        self.add_unusual(&key, end)
    }

    /// Finishes the data block. `next_key` is the next key, if there is one.
    fn flush(&mut self, next_key: Option<&[u8]>) -> Result<()> {
        if self.data.is_empty() {
            return Ok(());
        }
        base::invariant!(!self.last_key.is_empty(), "a data block has entries and the table has no last key");
        base::invariant!(
            next_key.is_none_or(|next| self.options.order.compare(&self.last_key, next).is_lt()),
            "the next block starts before the end of this block"
        );
        let payload = self.data.finish();
        let stripped = if self.options.persist_timestamps { 0 } else { self.timestamp_size };
        base::invariant!(
            reads_back(payload, &self.last_key, stripped),
            "the last key of a finished data block is not {:02x?}",
            self.last_key
        );
        let (fast, slow) = self.blocks.sampler.see(payload)?;
        if !self.collectors.is_empty() {
            self.collectors.block_added(payload.len() as u64, fast, slow);
        }
        self.blocks.data_block(payload, &self.last_key, next_key)?;
        self.data.reset();
        if self.blocks.holds_enough() {
            self.blocks.release(&self.options, self.filter.as_mut())?;
        }
        self.charge_filter();
        Ok(())
    }

    /// Charges the memory of the filter, if the options ask for it. A rejected charge has no consequence.
    fn charge_filter(&mut self) {
        if let (Some(charge), Some(filter)) = (&mut self.filter_charge, &self.filter) {
            let _ = charge.set(filter.memory_usage_bytes());
        }
    }

    /// Returns the order of the keys.
    pub fn order(&self) -> &base::key::InternalOrder {
        &self.options.order
    }

    /// Returns the number of point entries and range tombstones so far.
    pub fn entries(&self) -> u64 {
        self.counts.entries
    }

    /// Returns true if no entry was added.
    pub fn is_empty(&self) -> bool {
        self.counts.entries == 0
    }

    /// Returns the bytes of the file so far, without the current block and the tail.
    pub fn file_size(&self) -> u64 {
        self.blocks.sink.offset() + self.blocks.bytes_in_flight()
    }

    /// Returns the approximate size of the file if the table were finished now.
    pub fn estimated_size(&self) -> u64 {
        self.file_size() + self.data.estimate() as u64 + self.estimated_tail_size()
    }

    /// Returns the approximate size of the tail after the data blocks. The estimate is usually too large.
    pub(crate) fn estimated_tail_size(&self) -> u64 {
        let filter = self.filter.as_ref().map_or(0, FilterBuilder::estimate);
        let ranges = if self.range_deletions.is_empty() { 0 } else { self.range_deletions.estimate() as u64 };
        // Properties and metaindex have at most about 3 KiB; the footer has 53 bytes.
        self.blocks.index.estimate() + filter + ranges + self.blocks.dictionary().len() as u64 + 3072 + 53
    }

    /// Sets the encoded sequence-to-time map, which is known only at the end.
    pub(crate) fn set_seqno_to_time(&mut self, encoded: Vec<u8>) {
        self.options.seqno_to_time = encoded;
    }

    /// Writes the rest of the table. Does not sync or close the file.
    ///
    /// # Errors
    /// The errors of the file. Corruption if a check found that memory changed.
    pub fn finish(mut self) -> Result<(FinishedTable, FileWriter)> {
        self.flush(None)?;
        self.blocks.finish(&self.options, self.filter.as_mut())?;
        tail::finish(self)
    }

    /// Abandons the table. Returns the file as it is.
    pub fn abandon(self) -> FileWriter {
        self.blocks.sink.into_file()
    }
}

/// Returns true if the last entry of a finished data block, found by its last restart point, has this key. The block does not store
/// the last `stripped` bytes of user keys.
fn reads_back(payload: &[u8], last_key: &[u8], stripped: usize) -> bool {
    let Ok(block) = Block::parse(payload) else { return false };
    let mut entries =
        BlockIter::rewriting(block, KeyRewrite { timestamp_pad: stripped, ..KeyRewrite::default() });
    entries.seek_to_last();
    let stored = |key| without_timestamp(user_key(key), stripped);
    entries.valid()
        && stored(entries.key()) == stored(last_key)
        && trailer(entries.key()) == trailer(last_key)
}

/// Returns the facts about a finished table without blocks, from the size of the file and the first and last
/// keys.
pub(crate) fn finished(
    options: &WriterOptions,
    properties: Properties,
    counts: &Counts,
    (file_size, bounds): (u64, Option<(Vec<u8>, Vec<u8>)>),
) -> FinishedTable {
    FinishedTable {
        properties,
        file_size,
        // RocksDB records no tail for tables without blocks.
        tail_size: 0,
        pre_compression_size: file_size,
        point_bounds: bounds.clone(),
        bounds,
        largest_seqno: counts.largest_seqno,
        smallest_seqno: counts.smallest_seqno,
        unique_id: UniqueId::new(
            options.identity.db_id.as_bytes(),
            &options.identity.db_session_id,
            options.file_number,
        ),
        file_checksum: None,
        needs_compaction: false,
    }
}

/// The value types of point entries, as one bit each.
const POINTS: u32 = {
    use ValueType::*;
    1 << Deletion as u32
        | 1 << Value as u32
        | 1 << Merge as u32
        | 1 << SingleDeletion as u32
        | 1 << BlobIndex as u32
        | 1 << DeletionWithTimestamp as u32
        | 1 << WideColumnEntity as u32
        | 1 << ValuePreferredSeqno as u32
};

#[inline]
fn is_point(value_type: u8) -> bool {
    value_type < 32 && POINTS >> value_type & 1 != 0
}

/// The bounds of the added entries. The last point key is in the writer.
#[derive(Default)]
struct Bounds {
    first_point: Vec<u8>,
    ranges: Option<(Vec<u8>, Vec<u8>)>,
}

impl Bounds {
    #[cold]
    fn first_point(&mut self, key: &[u8]) {
        base::invariant!(self.first_point.is_empty(), "a table has two first keys");
        self.first_point = key.to_vec();
    }

    fn range(&mut self, order: &base::key::InternalOrder, start: &[u8], end: &[u8]) {
        let mut last = end.to_vec();
        last.extend_from_slice(&pack(MAX_SEQUENCE, ValueType::RangeDeletion as u8).to_le_bytes());
        match &mut self.ranges {
            None => self.ranges = Some((start.to_vec(), last)),
            Some((smallest, largest)) => {
                if order.compare(start, smallest).is_lt() {
                    *smallest = start.to_vec();
                }
                if order.compare(&last, largest).is_gt() {
                    *largest = last;
                }
            }
        }
    }

    fn points(&self, last_key: &[u8]) -> Option<(Vec<u8>, Vec<u8>)> {
        base::invariant!(
            last_key.is_empty() == self.first_point.is_empty(),
            "a table has a first key without a last key"
        );
        (!last_key.is_empty()).then(|| (self.first_point.clone(), last_key.to_vec()))
    }

    fn all(&self, order: &base::key::InternalOrder, last_key: &[u8]) -> Option<(Vec<u8>, Vec<u8>)> {
        match (self.points(last_key), self.ranges.clone()) {
            (Some((first, last)), Some((start, end))) => {
                base::invariant!(
                    order.compare(&first, &last).is_le(),
                    "the first key of the table is after the last key"
                );
                base::invariant!(
                    order.user.compare_without_timestamp(user_key(&start), user_key(&end)).is_le(),
                    "the range tombstones of the table end before their start"
                );
                Some((
                    if order.compare(&first, &start).is_le() { first } else { start },
                    if order.compare(&last, &end).is_ge() { last } else { end },
                ))
            }
            (points, ranges) => points.or(ranges),
        }
    }
}
