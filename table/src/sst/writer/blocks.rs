//! From finished data blocks to the file and the index.
//!
//! While a dictionary is to be sampled, blocks are held back uncompressed, each with the key of its index
//! entry; then the dictionary is made from a spread of them, and all are written.

use base::Result;
use base::key::InternalOrder;
use compress::Compression;
use env::writer::FileWriter;
use format::block_builder::CutPolicy;
use format::filter::{Algorithm, FilterBuilder, FilterConfig, PartitionConfig};
use format::handle::BlockHandle;
use format::index_builder::{IndexBuilder, IndexConfig, IndexKind, PreparedEntry, Shortening};
use kernel::filter::BitsPerKey;

use super::options::{BlockKind, WriterOptions};
use super::packer::{Packed, Packer};
use super::sink::{Padding, Sink};
use crate::options::{BlockBasedTableOptions, FilterChoice, IndexShortening, IndexType};

/// Data blocks and index entries on their way out.
pub(super) struct Blocks {
    pub(super) sink: Sink,
    pub(super) index: IndexBuilder,
    entry: PreparedEntry,
    data_packer: Packer,
    index_packer: Option<Packer>,
    packed: Vec<u8>,
    pub(super) stats: DataStats,
}

/// What the properties tell about data blocks.
#[derive(Clone, Copy, Debug, Default)]
pub(super) struct DataStats {
    pub(super) blocks: u64,
    pub(super) rejected: u64,
    pub(super) bypassed: u64,
    /// Offset behind the last one.
    pub(super) end: u64,
    pub(super) uncompressed: u64,
}

impl Blocks {
    pub(super) fn new(file: FileWriter, options: &WriterOptions) -> Result<Blocks> {
        let table = &*options.table;
        let packer = || Packer::new(options.compression, &options.compression_options);
        let indexed = options.compression != Compression::None && table.enable_index_compression;
        let base_context = if table.format_version >= 6 { (options.context_seed & 0x7fff_ffff).max(1) } else { 0 };
        let padding = Padding {
            align: if table.block_align { table.block_size.min(4096) } else { 0 },
            super_block: table.super_block_alignment_size as u64,
            super_block_padding: (table.super_block_alignment_size as u64)
                .checked_div(table.super_block_alignment_space_overhead_ratio as u64)
                .unwrap_or(0),
        };
        Ok(Blocks {
            sink: Sink::new(file, table.checksum, base_context, padding, options.warm.clone()),
            index: IndexBuilder::new(index_kind(options), index_config(options)),
            entry: PreparedEntry::default(),
            data_packer: packer()?,
            index_packer: if indexed { Some(packer()?) } else { None },
            packed: Vec::new(),
            stats: DataStats::default(),
        })
    }

    /// Whether keys go to the filter as they are added.
    #[inline]
    pub(super) fn takes_keys_now(&self) -> bool {
        true
    }

    pub(super) fn is_buffering(&self) -> bool {
        false
    }

    pub(super) fn must_stop_buffering(&self) -> bool {
        false
    }

    pub(super) fn stop_buffering(&mut self, _: &WriterOptions, _: Option<&mut FilterBuilder>) -> Result<()> {
        Ok(())
    }

    pub(super) fn bytes_in_flight(&self) -> u64 {
        0
    }

    /// Sizes that the block would have, compressed fast and well; 0 if it is not sampled.
    pub(super) fn sample(&mut self, _payload: &[u8]) -> Result<(u64, u64)> {
        Ok((0, 0))
    }

    pub(super) fn dictionary(&self) -> &[u8] {
        &[]
    }

    /// Takes a finished data block; its buffer may have grown a trailer afterwards.
    pub(super) fn data_block(&mut self, payload: &mut Vec<u8>, last_key: &[u8], next_key: Option<&[u8]>) -> Result<()> {
        self.index.prepare(last_key, next_key, &mut self.entry);
        let size = payload.len() as u64;
        let (handle, gap) = match self.data_packer.pack(payload, &mut self.packed)? {
            Packed::Compressed(kind) => self.sink.write_data(&mut self.packed, kind, Some(payload))?,
            raw => {
                self.stats.rejected += u64::from(raw == Packed::Rejected);
                self.stats.bypassed += u64::from(raw == Packed::Bypassed);
                self.sink.write_data(payload, 0, None)?
            }
        };
        self.stats.blocks += 1;
        self.stats.end = self.sink.offset();
        self.stats.uncompressed += size;
        self.index.add(&self.entry, handle, gap);
        Ok(())
    }
}

/// Writes a block of the index, compressed where that is wanted and pays.
pub(super) fn write_index_block(
    sink: &mut Sink,
    packer: Option<&mut Packer>,
    packed: &mut Vec<u8>,
    payload: &mut Vec<u8>,
) -> Result<BlockHandle> {
    if let Some(packer) = packer
        && let Packed::Compressed(kind) = packer.pack(payload, packed)?
    {
        return sink.write(BlockKind::Index, packed, kind, Some(payload));
    }
    sink.write(BlockKind::Index, payload, 0, None)
}

impl Blocks {
    /// The parts that the index needs to be written: it, and where it goes.
    pub(super) fn for_index(&mut self) -> (&mut IndexBuilder, &mut Sink, Option<&mut Packer>, &mut Vec<u8>) {
        (&mut self.index, &mut self.sink, self.index_packer.as_mut(), &mut self.packed)
    }

    /// The kind that data blocks are compressed to, if they are.
    pub(super) fn data_kind(&self) -> Compression {
        self.data_packer.kind()
    }
}

fn index_kind(options: &WriterOptions) -> IndexKind {
    let table = &*options.table;
    match (table.index_type, &options.prefix_extractor) {
        (IndexType::BinarySearchWithFirstKey, _) => IndexKind::BinarySearchWithFirstKey,
        (IndexType::TwoLevelIndexSearch, _) => IndexKind::TwoLevel(CutPolicy::new(
            table.metadata_block_size,
            table.block_size_deviation.max(0) as u64,
            false,
        )),
        (IndexType::HashSearch, Some(prefix)) => IndexKind::Hash(prefix.clone()),
        // A hash index without prefixes was refused.
        (IndexType::BinarySearch | IndexType::HashSearch, _) => IndexKind::BinarySearch,
    }
}

fn index_config(options: &WriterOptions) -> IndexConfig {
    let table = &*options.table;
    IndexConfig {
        order: InternalOrder::new(options.order.user.clone()),
        restart_interval: table.index_block_restart_interval.max(1) as usize,
        user_keys: table.format_version >= 3,
        delta_values: has_delta_values(table),
        shortening: match table.index_shortening {
            IndexShortening::None => Shortening::None,
            IndexShortening::Separators => Shortening::Separators,
            IndexShortening::SeparatorsAndSuccessor => Shortening::SeparatorsAndSuccessor,
        },
        timestamp_size: options.order.user.timestamp_size(),
        persist_timestamps: options.persist_timestamps,
        uniform_cv_threshold: table.uniform_cv_threshold,
    }
}

/// Offsets do not follow from sizes where blocks are padded.
pub(super) fn has_delta_values(table: &BlockBasedTableOptions) -> bool {
    table.format_version >= 4 && !table.block_align
}

/// The filter that the policy wants for this table, if any.
pub(super) fn filter_builder(options: &WriterOptions) -> Option<FilterBuilder> {
    let table = &*options.table;
    let policy = table.filter_policy.as_ref().filter(|_| !options.skip_filter)?;
    let (algorithm, bits) = match policy.choose(table.format_version, options.filter_level)? {
        FilterChoice::LegacyBloom { whole_bits_per_key } => (Algorithm::LegacyBloom, f64::from(whole_bits_per_key)),
        FilterChoice::FastLocalBloom { millibits_per_key } => {
            (Algorithm::LocalBloom, f64::from(millibits_per_key) / 1000.0)
        }
        FilterChoice::Ribbon { millibits_per_key } => (Algorithm::Ribbon, f64::from(millibits_per_key) / 1000.0),
    };
    let config = FilterConfig {
        algorithm,
        bits_per_key: BitsPerKey::new(bits)?,
        whole_keys: table.whole_key_filtering,
        prefix: options.prefix_extractor.clone(),
        fit_probes: table.optimize_filters_for_memory,
        verify: table.detect_filter_construct_corruption,
    };
    if !table.partition_filters {
        return Some(FilterBuilder::full(config));
    }
    let partitions = PartitionConfig {
        size: partition_size(table),
        decoupled: table.decouple_partitioned_filters,
        index: index_config(options),
    };
    Some(FilterBuilder::partitioned(config, partitions))
}

/// Bytes at which a filter partition is full: the lower bound of what the deviation allows.
fn partition_size(table: &BlockBasedTableOptions) -> u64 {
    let percent = 100 - table.block_size_deviation.clamp(0, 100) as u64;
    (table.metadata_block_size.saturating_mul(percent) + 99) / 100
}
