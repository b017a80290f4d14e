//! Erases the blocks of an obsolete table from the block cache (`uncache_aggressiveness`).
//!
//! No read of the current version needs these blocks. Without this work they leave the cache by age, and newer blocks wait for
//! their room. The walk does not read the file. The walk finds only blocks whose handles are in memory. Source: the
//! destructor of RocksDB's `BlockBasedTable`, and `UncacheAggressivenessAdvisor`.

use format::index::Index;

use super::file_source::Source;
use super::filter_reader::FilterBlocks;
use super::index_reader::IndexReader;
use super::read_ctx::ReadCtx;
use super::reader::Reader;

/// Decides how long a walk over the blocks of a table goes on: while enough of the blocks were in the cache.
struct Advisor {
    useless_min: u32,
    threshold: f64,
    useful: u32,
    useless: u32,
}

impl Advisor {
    /// An aggressiveness of 1 stops at the first block that is not in the cache. Each further step lowers the needed share of
    /// cached blocks by 1 %.
    fn new(aggressiveness: u32) -> Self {
        base::invariant!(aggressiveness > 0, "blocks are erased with an aggressiveness of 0");
        let steps = i32::try_from(aggressiveness - 1).unwrap_or(i32::MAX);
        Advisor { useless_min: aggressiveness.min(3), threshold: 0.99f64.powi(steps), useful: 0, useless: 0 }
    }

    fn goes_on(&self) -> bool {
        if self.useless < self.useless_min {
            return true;
        }
        let tried = f64::from(self.useful) + f64::from(self.useless - self.useless_min) + 1.5;
        (f64::from(self.useful) + 1.0) / tried >= self.threshold
    }

    fn report(&mut self, is_erased: bool) {
        let count = if is_erased { &mut self.useful } else { &mut self.useless };
        *count = count.saturating_add(1);
    }
}

impl Reader {
    /// Erases the blocks of this table from the block cache. Reads nothing from the file. With `aggressiveness` 1, the walk over
    /// the data blocks stops at the first block that is not cached; with a larger value the walk accepts more such blocks. 0 does
    /// nothing. Reads that use the table go on.
    pub fn uncache(&self, aggressiveness: u32) {
        if aggressiveness > 0 && self.source.cache.is_some() {
            Walk { source: &self.source, aggressiveness }.erase_all(&self.index, &self.filter.blocks);
        }
    }
}

/// The walk over the blocks of one table.
struct Walk<'a> {
    source: &'a Source,
    aggressiveness: u32,
}

impl Walk<'_> {
    fn erase_all(&self, index: &IndexReader, filter: &FilterBlocks) {
        match filter {
            FilterBlocks::None => {}
            FilterBlocks::Full(full) => self.erase_top(full),
            FilterBlocks::Partitioned(top) => {
                self.erase_partitions(top);
                self.erase_top(top);
            }
        }
        self.erase_data(index);
        if index.partitioned {
            self.erase_partitions(index);
        }
        self.erase_top(index);
    }

    /// Erases the data blocks. Stops at the first partition of the index that is not in memory, as RocksDB does.
    fn erase_data(&self, reader: &IndexReader) {
        let mut advisor = Advisor::new(self.aggressiveness);
        let ctx = in_memory();
        let Ok(root) = reader.root(self.source, &ctx) else { return };
        let Ok(index) = reader.as_index(self.source, &root) else { return };
        if !reader.partitioned {
            self.erase_blocks(index, &mut advisor);
            return;
        }
        for at in 0..index.len() {
            let Ok(handle) = self.source.handle_in(index, at) else { return };
            let Ok(block) = reader.partition(self.source, handle, &ctx) else { return };
            let Ok(partition) = reader.as_index(self.source, &block) else { return };
            self.erase_blocks(partition, &mut advisor);
        }
    }

    /// Erases the partitions of an index or a filter.
    fn erase_partitions(&self, top: &IndexReader) {
        let Ok(root) = top.root(self.source, &in_memory()) else { return };
        if let Ok(index) = top.as_index(self.source, &root) {
            self.erase_blocks(index, &mut Advisor::new(self.aggressiveness));
        }
    }

    /// Erases the blocks of one index block, as far as the advisor goes on.
    fn erase_blocks(&self, index: &Index, advisor: &mut Advisor) {
        for at in 0..index.len() {
            if !advisor.goes_on() {
                return;
            }
            let Ok(handle) = self.source.handle_in(index, at) else { return };
            advisor.report(self.source.erase_cached(handle));
        }
    }

    /// Erases the top block of an index or a filter.
    fn erase_top(&self, reader: &IndexReader) {
        self.source.erase_cached(reader.handle);
    }
}

/// The context of reads without I/O.
fn in_memory() -> ReadCtx {
    ReadCtx { cache_only: true, fill_cache: false, ..ReadCtx::default() }
}

#[cfg(test)]
mod tests {
    use super::*;

    /// Returns the number of blocks that a walk tries if none of them is cached, or if the first `useful` ones are.
    fn tries(aggressiveness: u32, useful: u32) -> u32 {
        let mut advisor = Advisor::new(aggressiveness);
        let mut tried = 0;
        while advisor.goes_on() && tried < 100_000 {
            advisor.report(tried < useful);
            tried += 1;
        }
        tried
    }

    #[test]
    fn a_larger_aggressiveness_accepts_more_blocks_that_are_not_cached() {
        assert_eq!([1, 2, 3].map(|aggressiveness| tries(aggressiveness, 0)), [1, 2, 3]);
        assert_eq!(tries(1, 10), 11);
        let many = [100, 200, 300, 400, 500].map(|aggressiveness| tries(aggressiveness, 0));
        assert!(many.is_sorted() && many[0] < 10 && many[4] > 100, "{many:?}");
    }
}
