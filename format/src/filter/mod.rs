//! Builds the filter blocks of a table out of its keys.
//!
//! What a filter's bits are is `kernel::filter`'s affair; here is what goes into one (whole keys, prefixes
//! or both, without timestamps), and how filters are cut into partitions with an index over them.
//! A filter without keys is not written at all. Facts: RocksDB `table/block_based/full_filter_block.cc`,
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
    pub fn full(config: FilterConfig) -> Self {
        FilterBuilder(Kind::Full(Bits::new(config)))
    }

    pub fn partitioned(config: FilterConfig, partitions: PartitionConfig) -> Self {
        FilterBuilder(Kind::Partitioned(Box::new(PartitionedFilter::new(Bits::new(config), partitions))))
    }

    /// Adds a key, without timestamp; `previous` is the one added before, `index` the two-level index that
    /// coupled partitions follow.
    ///
    /// # Errors
    /// Corruption if memory went bad while a partition was built.
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

    /// Whether coupled partitions must see index entries and keys in their true order.
    pub fn is_coupled(&self) -> bool {
        matches!(&self.0, Kind::Partitioned(filter) if filter.is_coupled())
    }

    /// Whether nothing was added.
    pub fn is_empty(&self) -> bool {
        match &self.0 {
            Kind::Full(bits) => bits.len() == 0,
            Kind::Partitioned(filter) => filter.is_empty(),
        }
    }

    /// Bytes held.
    pub fn memory_usage_bytes(&self) -> usize {
        match &self.0 {
            Kind::Full(bits) => bits.memory_usage_bytes(),
            Kind::Partitioned(filter) => filter.memory_usage_bytes(),
        }
    }

    /// Bytes of scratch memory that building needs, beyond what is held.
    pub fn scratch_bytes(&self) -> usize {
        match &self.0 {
            Kind::Full(bits) => bits.scratch_bytes(),
            Kind::Partitioned(_) => 0,
        }
    }

    /// There is no memory for a Ribbon filter: build Bloom.
    pub fn refuse_ribbon(&mut self) {
        match &mut self.0 {
            Kind::Full(bits) => bits.refuse_ribbon(),
            Kind::Partitioned(filter) => filter.refuse_ribbon(),
        }
    }

    /// About how many bytes the filter will take.
    pub fn estimate(&self) -> u64 {
        match &self.0 {
            Kind::Full(bits) => bits.payload_len(bits.len()) as u64,
            Kind::Partitioned(filter) => filter.estimate(),
        }
    }

    /// Gives out the blocks in the order in which they must be written; `write` says where each went.
    /// `last_key` is the last key of the table, without timestamp; `keys_have_trailers` as in the index.
    ///
    /// # Errors
    /// What `write` returns; Corruption if memory went bad while a filter was built.
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
