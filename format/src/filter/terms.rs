//! The settings of a filter builder, and the filter blocks that it returns.

use std::sync::Arc;

use base::order::PrefixExtractor;
use kernel::filter::BitsPerKey;

use crate::handle::BlockHandle;
use crate::index_builder::IndexConfig;

/// The kinds of filter that are written.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Algorithm {
    /// Format versions below 5.
    LegacyBloom,
    LocalBloom,
    Ribbon,
}

/// What goes into a filter, and how large it gets.
#[derive(Clone)]
pub struct FilterConfig {
    pub algorithm: Algorithm,
    pub bits_per_key: BitsPerKey,
    pub whole_keys: bool,
    /// Prefixes of keys in its domain go in too.
    pub prefix: Option<Arc<dyn PrefixExtractor>>,
    /// Choose the number of probes for the size a filter really gets, not for the size asked for
    /// (`optimize_filters_for_memory`). RocksDB also bends sizes to what its allocator hands out; with
    /// glibc's size classes that changes nothing below 128 KiB, and we leave it.
    pub fit_probes: bool,
    /// Look for memory gone bad while a filter was built (`detect_filter_construct_corruption`).
    pub verify: bool,
}

/// How a filter is cut into partitions.
#[derive(Clone)]
pub struct PartitionConfig {
    /// Bytes of a partition.
    pub size: u64,
    /// Cut where a partition is full; otherwise only where the index is cut too.
    pub decoupled: bool,
    /// The shape of the index over the partitions: that of the table's index.
    pub index: IndexConfig,
}

/// What a filter came to, once written.
#[derive(Clone, Copy, Debug, Default)]
pub struct FilterSummary {
    /// The filter, or the index over its partitions.
    pub handle: BlockHandle,
    /// Payload bytes of all its blocks.
    pub size: u64,
    /// Hashes that went in.
    pub entries: u64,
}

/// A block that the filter wants written.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum FilterBlock {
    Filter,
    PartitionIndex,
}
