//! One memory limit for a database: the options that the limit sets.

use base::{Error, Result};
use mem::budget::MemoryBudget;
use mem::cache::CacheOptions;
use mem::write_buffer::WriteBufferManager;
use std::sync::Arc;
use table::options::Charged;
use table::sst::BlockCache;

use super::{DbOptions, FamilyOptions, TableFactory};

/// The least memory of a budget: 8 MiB.
pub const BUDGET_MEMORY_MIN: u64 = 8 << 20;

/// Returns the bytes that all memtables of a budget may have: a quarter.
fn memtable_bytes(budget: u64) -> usize {
    usize::try_from(budget).unwrap_or(usize::MAX) / 4
}

impl DbOptions {
    /// Makes a memory budget with its block cache and write buffer manager, and lowers buffers that do not fit. Returns the block
    /// cache, which all column families must use.
    ///
    /// # Errors
    /// InvalidArgument for less than [`BUDGET_MEMORY_MIN`] bytes.
    pub fn make_memory_budget(&mut self, bytes: u64) -> Result<Arc<BlockCache>> {
        check(bytes)?;
        self.memory_budget_bytes = bytes;
        let memtables = memtable_bytes(bytes);
        let bytes = usize::try_from(bytes).unwrap_or(usize::MAX);
        // The other three sixteenths are memory that the allocator keeps free.
        let cache = BlockCache::new(CacheOptions::hyper_clock(bytes - bytes / 16 * 3))?;
        let buffer = (bytes / 256).max(64 << 10);
        self.compaction_readahead_size = self.compaction_readahead_size.min(buffer);
        self.writable_file_max_buffer_size = self.writable_file_max_buffer_size.min(buffer);
        self.db_write_buffer_size = memtables;
        self.write_buffer_manager =
            Some(Arc::new(WriteBufferManager::new(memtables, Some(cache.clone()), true)));
        self.memory_budget = Some(MemoryBudget::new(bytes, cache.clone()));
        Ok(cache)
    }
}

impl FamilyOptions {
    /// Makes a column family draw from a memory budget of `bytes`: index and filter blocks are in the block cache, and write buffers
    /// fit into the share of the memtables.
    ///
    /// # Errors
    /// NotSupported for tables that are not block-based.
    pub fn fit_memory_budget(&mut self, bytes: u64) -> Result<()> {
        let TableFactory::BlockBased(table) = &mut self.table_factory else {
            return Err(Error::not_supported("a memory budget for tables that are not block-based"));
        };
        table.no_block_cache = false;
        table.cache_index_and_filter_blocks = true;
        table.cache_usage_options.filter_construction = Charged::Enabled;
        table.cache_usage_options.compression_dictionary_building_buffer = Charged::Enabled;
        self.write_buffer_size = self.write_buffer_size.min(memtable_bytes(bytes) / 3);
        Ok(())
    }
}

/// Checks the size of a budget.
pub(super) fn check(bytes: u64) -> Result<()> {
    if bytes >= BUDGET_MEMORY_MIN {
        return Ok(());
    }
    Err(Error::invalid_argument(format!(
        "a memory budget of {bytes} bytes; at least {BUDGET_MEMORY_MIN} bytes are needed"
    )))
}
