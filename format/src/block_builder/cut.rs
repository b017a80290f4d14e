//! When a block is full: RocksDB's `FlushBlockBySizePolicy`.

use super::BlockBuilder;

/// Closes a block at its size, or earlier where one more entry would overfill a block that is nearly full.
#[derive(Clone, Copy, Debug)]
pub struct CutPolicy {
    size: usize,
    /// A block above this is nearly full. 0 for no early closing.
    nearly_full: usize,
    /// Blocks must never exceed `size`, trailer included (aligned blocks).
    align: bool,
}

impl CutPolicy {
    /// `size` in bytes; `deviation` in percent of it.
    pub fn new(size: u64, deviation: u64, align: bool) -> Self {
        let nearly_full = size.saturating_mul(100 - deviation.min(100)).div_ceil(100);
        CutPolicy { size: size as usize, nearly_full: nearly_full as usize, align }
    }

    /// Whether to close the block before adding this entry.
    #[inline]
    pub fn cuts(&self, block: &BlockBuilder, key: &[u8], value: &[u8]) -> bool {
        if block.is_empty() {
            return false;
        }
        let size = block.estimate();
        // Most rows end here: far from full, whatever the entry's overhead.
        if !self.align && size <= self.nearly_full && size < self.size {
            return false;
        }
        size >= self.size || self.nearly_full != 0 && self.overfills(block, key, value)
    }

    fn overfills(&self, block: &BlockBuilder, key: &[u8], value: &[u8]) -> bool {
        let after = block.estimate_after(key, value);
        if self.align {
            return after + crate::trailer::LEN > self.size;
        }
        after > self.size && block.estimate() > self.nearly_full
    }
}
