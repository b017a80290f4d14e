//! The rule that ends a block: RocksDB's `FlushBlockBySizePolicy`.

use super::BlockBuilder;

/// Ends a block at its target size. Ends a nearly full block earlier if the next entry does not fit.
#[derive(Clone, Copy, Debug)]
pub struct CutPolicy {
    size: usize,
    /// A block above this size is nearly full. 0: blocks do not end early.
    nearly_full: usize,
    /// True if a block must never exceed `size`, trailer included (aligned blocks).
    align: bool,
}

impl CutPolicy {
    /// Makes the rule. `size` is in bytes, `deviation` in percent of `size`.
    pub fn new(size: u64, deviation: u64, align: bool) -> Self {
        let nearly_full = size.saturating_mul(100 - deviation.min(100)).div_ceil(100);
        CutPolicy { size: size as usize, nearly_full: nearly_full as usize, align }
    }

    /// Returns true if the block must end before this entry.
    #[inline]
    pub fn cuts(&self, block: &BlockBuilder, key: &[u8], value: &[u8]) -> bool {
        if block.is_empty() {
            return false;
        }
        let size = block.estimate();
        // Most calls return here: the block is far from full, whatever the overhead of the entry is.
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
