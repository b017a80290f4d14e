//! The settings of a filter builder, and the filter blocks that it returns.

use std::sync::Arc;

use base::order::PrefixExtractor;
use kernel::filter::BitsPerKey;

use crate::handle::BlockHandle;
use crate::index_builder::IndexConfig;

/// The kinds of filters that can be written.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Algorithm {
    /// The legacy Bloom filter of format versions below 5.
    LegacyBloom,
    /// The Bloom filter of format version 5 and later. A query reads one cache line.
    LocalBloom,
    /// The Ribbon filter: smaller than a Bloom filter, and slower to build.
    Ribbon,
}

/// The content and the size of a filter.
#[derive(Clone)]
pub struct FilterConfig {
    /// The kind of filter.
    pub algorithm: Algorithm,
    /// The requested size of the filter for each key.
    pub bits_per_key: BitsPerKey,
    /// True if whole keys, without timestamps, are added to the filter.
    pub whole_keys: bool,
    /// The prefix extractor whose prefixes are added too. `None`: no prefixes.
    pub prefix: Option<Arc<dyn PrefixExtractor>>,
    /// True if the number of probes is chosen for the real size of a filter instead of the requested size
    /// (`optimize_filters_for_memory`). RocksDB also adapts sizes to its allocator. With the size classes of
    /// glibc this has no effect below 128 KiB, so it is not done here.
    pub fit_probes: bool,
    /// True if a check looks for memory that changed while a filter was built
    /// (`detect_filter_construct_corruption`).
    pub verify: bool,
}

/// How a filter is divided into partitions.
#[derive(Clone)]
pub struct PartitionConfig {
    /// Size of a partition in bytes.
    pub size: u64,
    /// True if a partition ends when it is full. If false, it ends only where an index partition ends.
    pub decoupled: bool,
    /// The form of the index over the partitions, which is the form of the table's index.
    pub index: IndexConfig,
}

/// The facts about a written filter.
#[derive(Clone, Copy, Debug, Default)]
pub struct FilterSummary {
    /// The handle of the filter, or of the index over its partitions.
    pub handle: BlockHandle,
    /// Payload bytes of all blocks of the filter.
    pub size: u64,
    /// Number of hashes in the filter.
    pub entries: u64,
}

/// The kind of a block that the filter builder passes to `write`.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum FilterBlock {
    /// A full filter, or one partition.
    Filter,
    /// The index over the partitions of a filter.
    PartitionIndex,
}
