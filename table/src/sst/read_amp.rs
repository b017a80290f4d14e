//! Measures how many bytes of the loaded data blocks are used (`read_amp_bytes_per_bit`).
//!
//! ```text
//! block    | entry | entry     | entry | ...
//! bits       0 . 1 . 2 . 3 . 4 . 5 ...          one bit for 2^shift bytes
//! ```
//! An entry whose value is read sets its first bit. If the bit was not set before, the bytes of all bits of the entry count as
//! useful. The bits of a block begin at a place that differs from block to block, so an entry that is shorter than the bytes
//! of a bit counts by chance. The sum over many blocks is an estimate without bias.
//!
//! The bits are kept by the table, not by the block: a block in the cache is one allocation without room for them. The bits of
//! a block live until the block is loaded again or the table is closed. Facts: RocksDB `table/block_based/block.h`,
//! `BlockReadAmpBitmap`.

use std::collections::BTreeMap;
use std::ops::Range;
use std::sync::Arc;
use std::sync::atomic::{AtomicU32, Ordering};

use base::stats::{Statistics, Ticker};
use env::sync::Mutex;
use format::block::Block;

/// The used bytes of the data blocks of one table.
pub(super) struct ReadAmp {
    statistics: Arc<Statistics>,
    shift: u32,
    /// The bits of each block, by the offset of the block in the file.
    blocks: Mutex<BTreeMap<u64, Arc<Bits>>>,
}

/// The used bytes of one data block.
pub(super) struct Bits {
    statistics: Arc<Statistics>,
    shift: u32,
    /// The place of the first bit, in bytes before the block.
    begin: usize,
    words: Vec<AtomicU32>,
}

impl ReadAmp {
    /// Starts to measure. Returns `None` if the option is 0 or there are no statistics. Numbers of bytes that are no power of
    /// two act as the next lower power.
    pub fn new(bytes_per_bit: u32, statistics: Option<&Arc<Statistics>>) -> Option<ReadAmp> {
        let shift = bytes_per_bit.checked_ilog2()?;
        Some(ReadAmp { statistics: statistics?.clone(), shift, blocks: Mutex::default() })
    }

    /// Counts a block that was loaded from the file. No byte of the block is used yet.
    pub fn loaded(&self, offset: u64, block: &Block) {
        if block.is_empty() {
            return;
        }
        self.statistics.add(Ticker::ReadAmpTotalReadBytes, block.entries_bytes() as u64);
        self.blocks.lock().insert(offset, self.bits(offset, block));
    }

    /// Returns the bits of a block. A block that another table loaded into the cache gets its bits here.
    pub(crate) fn of_block(&self, offset: u64, block: &Block) -> Arc<Bits> {
        self.blocks.lock().entry(offset).or_insert_with(|| self.bits(offset, block)).clone()
    }

    fn bits(&self, offset: u64, block: &Block) -> Arc<Bits> {
        let bits = (block.entries_bytes() >> self.shift) + 1;
        let words = (0..bits.div_ceil(32)).map(|_| AtomicU32::new(0)).collect();
        // Fibonacci hashing spreads the offsets.
        let spread = offset.wrapping_mul(0x9E37_79B9_7F4A_7C15) >> 32;
        let begin = (spread & ((1 << self.shift) - 1)) as usize;
        base::invariant!(
            begin < 1 << self.shift,
            "the first bit of a block stands for {begin} bytes before the block"
        );
        Arc::new(Bits { statistics: self.statistics.clone(), shift: self.shift, begin, words })
    }
}

impl Bits {
    /// Counts a read of the value of an entry of the block.
    #[cold]
    pub fn mark(&self, entry: Range<usize>) {
        base::invariant!(entry.start <= entry.end, "an entry is at {entry:?} of its block");
        let unit = 1usize << self.shift;
        let first = (entry.start + unit - self.begin - 1) >> self.shift;
        let after = (entry.end.saturating_sub(1) + unit - self.begin) >> self.shift;
        if first >= after {
            return;
        }
        let Some(word) = self.words.get(first / 32) else { return };
        let bit = 1u32 << (first % 32);
        if word.fetch_or(bit, Ordering::Relaxed) & bit == 0 {
            self.statistics.add(Ticker::ReadAmpEstimateUsefulBytes, ((after - first) as u64) << self.shift);
        }
    }
}

#[cfg(test)]
mod tests {
    use format::block_builder::{BlockBuilder, BlockConfig};

    use super::*;

    #[test]
    fn an_entry_counts_once_and_the_sum_is_near_the_bytes_of_the_block() {
        let statistics = Arc::new(Statistics::default());
        let amp = ReadAmp::new(8, Some(&statistics)).unwrap();
        let mut builder = BlockBuilder::new(BlockConfig { restart_interval: 1, ..BlockConfig::default() });
        (0..400u32).for_each(|i| builder.add(format!("key{i:05}trailer_").as_bytes(), &[7; 41]));
        let block = Block::parse(builder.finish()).unwrap();
        amp.loaded(4096, &block);
        let total = statistics.ticker(Ticker::ReadAmpTotalReadBytes);
        assert_eq!(total, block.entries_bytes() as u64);
        let useful = || statistics.ticker(Ticker::ReadAmpEstimateUsefulBytes);
        let size = block.entries_bytes() / 400;
        let read = |entries: Range<usize>| {
            let bits = amp.of_block(4096, &block);
            entries.for_each(|i| bits.mark(i * size..(i + 1) * size));
        };
        read(0..100);
        let quarter = useful();
        assert!(quarter.abs_diff(total / 4) < 16, "{quarter} of {total}");
        read(0..100);
        assert_eq!(useful(), quarter, "the entries were used before");
        read(0..400);
        assert!(useful().abs_diff(total) < 16, "{} of {total}", useful());
        // A block that is loaded again is not used.
        amp.loaded(4096, &block);
        read(0..100);
        assert!(useful().abs_diff(total + quarter) < 16);
    }

    #[test]
    fn nothing_is_measured_without_the_option_or_without_statistics() {
        let statistics = Arc::new(Statistics::default());
        assert!(ReadAmp::new(0, Some(&statistics)).is_none());
        assert!(ReadAmp::new(8, None).is_none());
        assert_eq!(ReadAmp::new(7, Some(&statistics)).unwrap().shift, 2, "4 is the next lower power");
    }
}
