//! Translates the options for the builders in `format`.

use base::key::InternalOrder;
use format::block_builder::CutPolicy;
use format::filter::{Algorithm, FilterBuilder, FilterConfig, PartitionConfig};
use format::index_builder::{IndexConfig, IndexKind, Shortening};
use kernel::filter::BitsPerKey;
use mem::cache::{Reservation, Role};

use super::options::WriterOptions;
use super::sink::Padding;
use crate::options::{BlockBasedTableOptions, Charged, FilterChoice, IndexShortening, IndexType};

/// Returns the rules for the start of data blocks.
pub(super) fn padding(table: &BlockBasedTableOptions) -> Padding {
    Padding {
        align: if table.block_align { table.block_size.min(4096) } else { 0 },
        super_block: table.super_block_alignment_size as u64,
        super_block_padding: (table.super_block_alignment_size as u64)
            .checked_div(table.super_block_alignment_space_overhead_ratio as u64)
            .unwrap_or(0),
    }
}

pub(super) fn index_kind(options: &WriterOptions) -> IndexKind {
    let table = &*options.table;
    match (table.index_type, &options.prefix_extractor) {
        (IndexType::BinarySearchWithFirstKey, _) => IndexKind::BinarySearchWithFirstKey,
        (IndexType::TwoLevelIndexSearch, _) => IndexKind::TwoLevel(CutPolicy::new(
            table.metadata_block_size,
            table.block_size_deviation.max(0) as u64,
            false,
        )),
        (IndexType::HashSearch, Some(prefix)) => IndexKind::Hash(prefix.clone()),
        // The options check rejects a hash index without a prefix extractor.
        (IndexType::BinarySearch | IndexType::HashSearch, _) => IndexKind::BinarySearch,
    }
}

pub(super) fn index_config(options: &WriterOptions) -> IndexConfig {
    let table = &*options.table;
    IndexConfig {
        order: InternalOrder::new(options.order.user.clone()),
        restart_interval: table.index_block_restart_interval.max(1) as usize,
        user_keys: table.format_version >= 3,
        delta_values: has_delta_values(options),
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

/// Returns true if index values may be stored as size differences. With padding or with embedded blobs between blocks,
/// the offset of a block does not follow from the sizes of blocks.
pub(super) fn has_delta_values(options: &WriterOptions) -> bool {
    let table = &*options.table;
    table.format_version >= 4 && !table.block_align && options.embedded_blob_min_size.is_none()
}

/// Returns the filter builder of the filter policy for this table. Returns `None` if the table gets no filter.
pub(super) fn filter_builder(options: &WriterOptions) -> Option<FilterBuilder> {
    let table = &*options.table;
    let policy = table.filter_policy.as_ref().filter(|_| !options.place.skip_filter)?;
    let (algorithm, bits) = match policy.choose(table.format_version, options.place.filter_level)? {
        FilterChoice::LegacyBloom { whole_bits_per_key } => {
            (Algorithm::LegacyBloom, f64::from(whole_bits_per_key))
        }
        FilterChoice::FastLocalBloom { millibits_per_key } => {
            (Algorithm::LocalBloom, f64::from(millibits_per_key) / 1000.0)
        }
        FilterChoice::Ribbon { millibits_per_key } => {
            (Algorithm::Ribbon, f64::from(millibits_per_key) / 1000.0)
        }
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

/// Returns the number of bytes at which a filter partition is full: the smallest size that the allowed
/// deviation permits.
fn partition_size(table: &BlockBasedTableOptions) -> u64 {
    // A writer without a database has the options of the user as they are.
    let percent = 100 - table.block_size_deviation.clamp(0, 100) as u64;
    table.metadata_block_size.saturating_mul(percent).div_ceil(100)
}

/// Returns a reservation for the memory of the filter, if `cache_usage_options` asks for it.
pub(super) fn filter_charge(options: &WriterOptions) -> Option<Reservation> {
    let wanted = options.table.cache_usage_options.filter_construction == Charged::Enabled;
    let ledger = options.resources.ledger.clone().filter(|_| wanted)?;
    Reservation::new(ledger, Role::FilterConstruction, 0).ok()
}
