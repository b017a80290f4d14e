//! Decides when a cached data block gets its search array.
//!
//! ```text
//! array     a pass over the block and a copy of the block: some 13,000 instructions for a block of 4 KiB
//! saving    some hundred instructions for each later search of the block
//! ```
//! So an array is useful only if the block stays in the cache for many more searches. Two rules approximate this:
//!
//! - **Size.** A search earns [`EARNED_BYTES`] of blocks with arrays. A block of the default size gets its array at the second
//!   search, a larger block after more searches.
//! - **Loads.** A search of a block without an array adds 1 to the credit, and a load of a block from the file takes
//!   [`LOAD_COST`]. Without credit, no array is made. If the cache is too small for the blocks that are read, loads are
//!   frequent, and the blocks leave the cache before their arrays are useful.
//!
//! The credit has two bounds. A new reader has the largest credit, so that the first searches of a file that fits into the cache
//! make arrays. A reader whose loads end has credit again after [`CREDIT_MAX`] searches.
//!
//! Measured with 300,000 keys in random order and a cache for 0.84 of the blocks, by `multi_get` of 32: the arrays took 4,700 of
//! 16,200 instructions for each key.

use std::sync::atomic::{AtomicI64, AtomicUsize, Ordering};

/// The bytes of blocks whose search arrays one search earns.
const EARNED_BYTES: usize = 5 << 10;
/// The number of searches that one load takes from the credit.
const LOAD_COST: i64 = 8;
/// The largest credit, and the largest debt.
const CREDIT_MAX: i64 = 512;

/// The state of the decision for one table reader. If two threads count at once, a count can be lost.
pub(super) struct ArrayBudget {
    /// Bytes of blocks whose search arrays the searches since the last array have earned.
    earned_bytes: AtomicUsize,
    credit: AtomicI64,
}

impl Default for ArrayBudget {
    fn default() -> ArrayBudget {
        ArrayBudget { earned_bytes: AtomicUsize::new(0), credit: AtomicI64::new(CREDIT_MAX) }
    }
}

impl ArrayBudget {
    /// Counts the load of a data block from the file.
    #[inline]
    pub(super) fn loaded(&self) {
        self.add(-LOAD_COST);
    }

    /// Counts a search of a block of `len` bytes without a search array. Returns true if the block should get its array.
    #[cold]
    pub(super) fn earns(&self, len: usize) -> bool {
        if self.add(1) <= 0 {
            return false;
        }
        let earned = self.earned_bytes.load(Ordering::Relaxed) + EARNED_BYTES;
        let earns = earned >= len;
        self.earned_bytes.store(if earns { 0 } else { earned }, Ordering::Relaxed);
        earns
    }

    fn add(&self, change: i64) -> i64 {
        let before = self.credit.load(Ordering::Relaxed);
        base::invariant!(before.abs() <= CREDIT_MAX, "the credit {before} for arrays is out of its bounds");
        let credit = (before + change).clamp(-CREDIT_MAX, CREDIT_MAX);
        self.credit.store(credit, Ordering::Relaxed);
        credit
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_large_block_needs_more_searches() {
        let budget = ArrayBudget::default();
        assert!(budget.earns(4096) && budget.earns(4096));
        assert!((0..12).all(|_| !budget.earns(64 << 10)) && budget.earns(64 << 10));
    }

    #[test]
    fn frequent_loads_make_no_array_and_rare_loads_do() {
        let budget = ArrayBudget::default();
        // One search for each load: after the first credit, no block gets an array.
        let arrays = (0..10_000).filter(|_| {
            budget.loaded();
            budget.earns(4096)
        });
        assert!(arrays.count() < 100);
        // The loads end.
        let before = (0..10_000).position(|_| budget.earns(4096));
        assert!(before.is_some_and(|searches| searches as i64 <= CREDIT_MAX));
        // A hundred searches for each load.
        let arrays = (0..10_000).filter(|search| {
            if search % 100 == 0 {
                budget.loaded();
            }
            budget.earns(4096)
        });
        assert!(arrays.count() > 9_000);
    }
}
