//! The two-level index: partitions, and a top level that leads to them.
//!
//! A partition ends at its size limit, or where a coupled filter partition ends. All partitions have the
//! same form of keys, so no partition is finished before the last entry is added.

use std::collections::VecDeque;
use std::sync::Arc;

use base::Result;

use super::shortened::{ShortenedIndex, TwoForms};
use super::terms::{IndexBlock, IndexConfig, IndexSummary, PreparedEntry, ValueForms};
use crate::block_builder::CutPolicy;
use crate::handle::BlockHandle;

/// Builds a two-level index. The builder of coupled filter partitions uses it too.
pub struct PartitionedIndex {
    config: Arc<IndexConfig>,
    cut: CutPolicy,
    /// The partitions, each with its last separator. The last partition is being built and may be empty.
    partitions: VecDeque<(Vec<u8>, ShortenedIndex)>,
    keys_have_trailers: bool,
    cut_requested: bool,
    /// True if a partition has ended and the filter has not ended its partition yet.
    cut_filter: bool,
    handle_scratch: Vec<u8>,
    finished_size: u64,
}

impl PartitionedIndex {
    pub(super) fn new(config: Arc<IndexConfig>, cut: CutPolicy) -> Self {
        let first = ShortenedIndex::new(config.clone(), false);
        PartitionedIndex {
            keys_have_trailers: first.keys_have_trailers(),
            partitions: VecDeque::from([(Vec::new(), first)]),
            cut,
            cut_requested: false,
            cut_filter: false,
            handle_scratch: Vec::new(),
            finished_size: 0,
            config,
        }
    }

    /// Returns the current partition. There is always one, because the constructor makes it and `finish` ends
    /// the use of the builder.
    fn current(&mut self) -> &mut (Vec<u8>, ShortenedIndex) {
        if self.partitions.is_empty() {
            self.start_partition();
        }
        let last = self.partitions.len() - 1;
        &mut self.partitions[last]
    }

    fn start_partition(&mut self) {
        let mut partition = ShortenedIndex::new(self.config.clone(), false);
        if self.keys_have_trailers {
            partition.keep_trailers();
        }
        self.partitions.push_back((Vec::new(), partition));
        self.cut_requested = false;
    }

    pub(super) fn prepare(&mut self, last_key: &[u8], next_key: Option<&[u8]>, entry: &mut PreparedEntry) {
        self.current().1.prepare(last_key, next_key, entry);
        entry.keys_have_trailers |= self.keys_have_trailers;
        entry.last_key.clear();
        // The last block never starts a partition. So no partition has only one entry.
        if next_key.is_some() {
            entry.last_key.extend_from_slice(last_key);
        }
    }

    pub(super) fn add(&mut self, entry: &PreparedEntry, handle: BlockHandle, full: bool) {
        if !entry.last_key.is_empty() {
            self.maybe_cut(&entry.last_key, handle);
        }
        let (key, partition) = self.current();
        partition.add(entry, handle, full);
        key.clear();
        key.extend_from_slice(&entry.separator);
        self.keys_have_trailers |= partition.keys_have_trailers();
        if entry.last_key.is_empty() {
            self.cut_filter = true;
        }
    }

    fn maybe_cut(&mut self, key: &[u8], handle: BlockHandle) {
        let mut value = std::mem::take(&mut self.handle_scratch);
        value.clear();
        handle.encode(&mut value);
        let (cut, requested) = (self.cut, self.cut_requested);
        let partition = &self.current().1;
        if !partition.is_empty() && (requested || cut.cuts(partition.measured_block(), key, &value)) {
            self.finished_size += partition.estimate();
            self.cut_filter = true;
            self.start_partition();
        }
        self.handle_scratch = value;
    }

    /// Returns true if the keys of the index must be stored with trailers. The result can change from false
    /// to true until the last entry is added.
    pub fn keys_have_trailers(&self) -> bool {
        self.keys_have_trailers
    }

    /// Requests that the partition ends as soon as possible, because the filter partition is full.
    pub(crate) fn request_cut(&mut self) {
        self.cut_requested = true;
    }

    /// Returns true if a partition ended since the last call.
    pub(crate) fn take_cut(&mut self) -> bool {
        std::mem::take(&mut self.cut_filter)
    }

    /// Returns the last separator of the current partition.
    pub(crate) fn partition_key(&self) -> &[u8] {
        self.partitions.back().map_or(&[], |(key, _)| key)
    }

    /// Returns the estimated size in bytes. Each entry of the top level counts as 70 bytes.
    pub(super) fn estimate(&self) -> u64 {
        let finished = self.partitions.len().saturating_sub(1) as u64;
        let current = self.partitions.back().map_or(0, |(_, partition)| partition.estimate());
        let next = match self.finished_size.checked_div(finished) {
            Some(average) => 2 * (average + 70),
            None => 2 * current,
        };
        self.finished_size + current + finished * 70 + next
    }

    pub(super) fn finish(
        &mut self,
        write: &mut dyn FnMut(IndexBlock, &mut Vec<u8>) -> Result<BlockHandle>,
    ) -> Result<IndexSummary> {
        if self.partitions.back().is_some_and(|(_, partition)| partition.is_empty()) {
            self.partitions.pop_back();
        }
        let mut summary =
            IndexSummary { partitions: self.partitions.len() as u64, ..IndexSummary::default() };
        let mut top = TwoForms::new(&self.config, -1.0);
        let mut values = ValueForms::after_none();
        for (key, mut partition) in self.partitions.drain(..) {
            if self.keys_have_trailers {
                partition.keep_trailers();
            }
            let block = partition.finish_block(&mut summary);
            summary.size += block.len() as u64;
            values.encode(write(IndexBlock::Index, block)?, None);
            top.add(&key, &values, false, self.keys_have_trailers);
        }
        let block = top.finish(self.keys_have_trailers, &mut summary);
        summary.top_level_size = block.len() as u64;
        summary.size += summary.top_level_size;
        summary.handle = write(IndexBlock::Index, block)?;
        Ok(summary)
    }
}
