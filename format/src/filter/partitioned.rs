//! A filter in partitions. A partition contains the keys up to the key of its index entry.
//!
//! A key is looked up in the first partition whose index key is at or after the key. A prefix seek may reach
//! either partition at a boundary. So the first prefix after the boundary is also added to the partition
//! before it, and the last prefix before the boundary is also added to the partition after it.

use std::collections::VecDeque;

use base::key::append_internal;
use base::{Result, SequenceNumber, ValueType};

use super::bits::Bits;
use super::terms::{FilterBlock, FilterSummary, PartitionConfig};
use crate::handle::BlockHandle;
use crate::index_builder::{IndexSummary, PartitionedIndex, TwoForms, ValueForms};

pub(super) struct PartitionedFilter {
    bits: Bits,
    config: PartitionConfig,
    keys_per_partition: usize,
    /// The finished partitions: the internal key of the index entry, and the filter.
    partitions: VecDeque<(Vec<u8>, Vec<u8>)>,
    entries: u64,
    finished_size: usize,
}

impl PartitionedFilter {
    pub(super) fn new(bits: Bits, config: PartitionConfig) -> Self {
        PartitionedFilter {
            keys_per_partition: keys_per_partition(&bits, config.size as usize),
            bits,
            config,
            partitions: VecDeque::new(),
            entries: 0,
            finished_size: 0,
        }
    }

    pub(super) fn is_coupled(&self) -> bool {
        !self.config.decoupled
    }

    pub(super) fn is_empty(&self) -> bool {
        self.partitions.is_empty() && self.bits.len() == 0
    }

    pub(super) fn memory_usage_bytes(&self) -> usize {
        self.bits.memory_usage_bytes() + self.finished_size
    }

    pub(super) fn refuse_ribbon(&mut self) {
        self.bits.refuse_ribbon();
    }

    pub(super) fn estimate(&self) -> u64 {
        (self.finished_size + self.bits.payload_len(self.bits.len()) + 70 * (self.partitions.len() + 1))
            as u64
    }

    pub(super) fn add(
        &mut self,
        key: &[u8],
        previous: &[u8],
        mut index: Option<&mut PartitionedIndex>,
    ) -> Result<()> {
        if self.wants_cut(index.as_deref_mut()) {
            if let Some(prefix) = self.bits.prefix(key) {
                self.bits.add_last_prefix(&prefix);
            }
            self.cut(previous, index)?;
            if let Some(prefix) = self.bits.prefix(previous) {
                self.bits.add_alone(&prefix);
            }
        }
        self.bits.add(key);
        Ok(())
    }

    fn wants_cut(&self, index: Option<&mut PartitionedIndex>) -> bool {
        let is_full = self.bits.len() >= self.keys_per_partition;
        match index {
            Some(index) if !self.config.decoupled => {
                if is_full {
                    index.request_cut();
                }
                index.take_cut()
            }
            _ => is_full,
        }
    }

    fn cut(&mut self, last_key: &[u8], index: Option<&mut PartitionedIndex>) -> Result<()> {
        self.entries += self.bits.len() as u64;
        let mut filter = Vec::new();
        self.bits.build(&mut filter)?;
        self.finished_size += filter.len();
        let key = match index {
            Some(index) if !self.config.decoupled => index.partition_key().to_vec(),
            _ => {
                let mut user_key = last_key.to_vec();
                user_key.resize(last_key.len() + self.config.index.timestamp_size, 0);
                let mut key = Vec::new();
                append_internal(&mut key, &user_key, SequenceNumber::ZERO, ValueType::Deletion);
                key
            }
        };
        self.partitions.push_back((key, filter));
        Ok(())
    }

    pub(super) fn finish(
        &mut self,
        last_key: &[u8],
        index: Option<&mut PartitionedIndex>,
        keys_have_trailers: bool,
        write: &mut dyn FnMut(FilterBlock, &mut Vec<u8>) -> Result<BlockHandle>,
    ) -> Result<FilterSummary> {
        if self.bits.len() > 0 {
            self.cut(last_key, index)?;
        }
        let mut top = TwoForms::new(&self.config.index, -1.0);
        let mut values = ValueForms::after_none();
        let mut size = self.finished_size;
        for (key, mut filter) in self.partitions.drain(..) {
            values.encode(write(FilterBlock::Filter, &mut filter)?, None);
            top.add(&key, &values, false, keys_have_trailers);
        }
        let block = top.finish(keys_have_trailers, &mut IndexSummary::default());
        size += block.len();
        let handle = write(FilterBlock::PartitionIndex, block)?;
        Ok(FilterSummary { handle, size: size as u64, entries: self.entries })
    }
}

/// Returns the number of keys of a partition with this size in bytes.
fn keys_per_partition(bits: &Bits, size: usize) -> usize {
    let mut keys = bits.entries_in(size);
    // If the size is below the size of the smallest filter, use the smallest filter.
    let mut larger = (size + 4).max(16);
    while keys == 0 {
        keys = bits.entries_in(larger);
        larger += larger / 4;
        if larger > 100_000 {
            keys = size.max(1);
        }
    }
    // The first prefix after the boundary is added after the count.
    if keys > 1 && bits.has_prefixes() { keys - 1 } else { keys }
}
