//! Builds the filter blocks of a table from its keys.
//!
//! `kernel::filter` defines the bits of a filter. This module decides what is added to a filter (whole keys,
//! prefixes or both, without timestamps), and how a filter is divided into partitions with an index. A filter
//! without keys is not written. Facts: RocksDB `table/block_based/full_filter_block.cc`,
//! `partitioned_filter_block.cc`, `filter_policy.cc`.

mod bits;
mod partitioned;
mod terms;
#[cfg(test)]
mod tests;

use base::Result;

use crate::handle::BlockHandle;
use crate::index_builder::PartitionedIndex;

use bits::Bits;
use partitioned::PartitionedFilter;
pub use terms::{Algorithm, FilterBlock, FilterConfig, FilterSummary, PartitionConfig};

/// Builds a full or a partitioned filter.
pub struct FilterBuilder(Kind);

enum Kind {
    Full(Bits),
    Partitioned(Box<PartitionedFilter>),
}

impl FilterBuilder {
    /// Makes a builder of one filter for the whole table.
    pub fn full(config: FilterConfig) -> Self {
        FilterBuilder(Kind::Full(Bits::new(config)))
    }

    /// Makes a builder of filter partitions and of their top level.
    pub fn partitioned(config: FilterConfig, partitions: PartitionConfig) -> Self {
        FilterBuilder(Kind::Partitioned(Box::new(PartitionedFilter::new(Bits::new(config), partitions))))
    }

    /// Adds a key without timestamp. `previous` is the key that was added before. `index` is the two-level
    /// index that coupled partitions follow.
    ///
    /// # Errors
    /// Corruption if memory changed while a partition was built.
    #[inline]
    pub fn add(&mut self, key: &[u8], previous: &[u8], index: Option<&mut PartitionedIndex>) -> Result<()> {
        match &mut self.0 {
            Kind::Full(bits) => {
                bits.add(key);
                Ok(())
            }
            Kind::Partitioned(filter) => filter.add(key, previous, index),
        }
    }

    /// Returns true if coupled partitions must get index entries and keys in their true order.
    pub fn is_coupled(&self) -> bool {
        matches!(&self.0, Kind::Partitioned(filter) if filter.is_coupled())
    }

    /// Returns true if nothing was added.
    pub fn is_empty(&self) -> bool {
        match &self.0 {
            Kind::Full(bits) => bits.len() == 0,
            Kind::Partitioned(filter) => filter.is_empty(),
        }
    }

    /// Returns the bytes of memory of the builder.
    pub fn memory_usage_bytes(&self) -> usize {
        match &self.0 {
            Kind::Full(bits) => bits.memory_usage_bytes(),
            Kind::Partitioned(filter) => filter.memory_usage_bytes(),
        }
    }

    /// Returns the bytes of additional scratch memory that building needs.
    pub fn scratch_bytes(&self) -> usize {
        match &self.0 {
            Kind::Full(bits) => bits.scratch_bytes(),
            Kind::Partitioned(_) => 0,
        }
    }

    /// Builds a Bloom filter instead of a Ribbon filter, because there is no memory for a Ribbon filter.
    pub fn refuse_ribbon(&mut self) {
        match &mut self.0 {
            Kind::Full(bits) => bits.refuse_ribbon(),
            Kind::Partitioned(filter) => filter.refuse_ribbon(),
        }
    }

    /// Returns the approximate size of the filter in bytes.
    pub fn estimate(&self) -> u64 {
        match &self.0 {
            Kind::Full(bits) => bits.payload_len(bits.len()) as u64,
            Kind::Partitioned(filter) => filter.estimate(),
        }
    }

    /// Passes the blocks to `write` in the order in which they must be written. `write` returns the handle of
    /// each block. `last_key` is the last key of the table, without timestamp. `keys_have_trailers` must be
    /// the value of the index.
    ///
    /// # Errors
    /// The errors of `write`. Corruption if memory changed while a filter was built.
    pub fn finish(
        &mut self,
        last_key: &[u8],
        index: Option<&mut PartitionedIndex>,
        keys_have_trailers: bool,
        write: &mut dyn FnMut(FilterBlock, &mut Vec<u8>) -> Result<BlockHandle>,
    ) -> Result<FilterSummary> {
        match &mut self.0 {
            Kind::Full(bits) => {
                let entries = bits.len() as u64;
                let mut payload = Vec::new();
                bits.build(&mut payload)?;
                let size = payload.len() as u64;
                Ok(FilterSummary { handle: write(FilterBlock::Filter, &mut payload)?, size, entries })
            }
            Kind::Partitioned(filter) => filter.finish(last_key, index, keys_have_trailers, write),
        }
    }
}
