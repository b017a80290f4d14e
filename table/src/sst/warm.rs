//! Puts the data blocks of a new SST file into the block cache while the file is written (`prepopulate_block_cache`).
//!
//! Not here: index and filter blocks. The first open of the file reads these blocks.

use std::sync::Arc;

use base::order::Order;
use base::stats::{Statistics, Ticker};
use format::block::{Block, HeadOrder};
use mem::cache::{Priority, Role};

use super::block_cache::{BlockCache, CachedBlock};
use super::cache_key::CacheKeyBase;
use super::spare;
use super::writer::{BlockKind, WarmCache};
use crate::unique_id::UniqueId;

/// The warmer of one SST file.
pub struct BlockWarmer {
    cache: Arc<BlockCache>,
    keys: CacheKeyBase,
    heads: Option<HeadOrder>,
    /// Bytes of checksum for each entry (`block_protection_bytes_per_key`).
    protection: u8,
    priority: Priority,
    statistics: Option<Arc<Statistics>>,
}

impl BlockWarmer {
    /// Makes the warmer of the file with the unique id `id`. `order` and `protection` must be those of the later reader.
    pub fn new(
        cache: Arc<BlockCache>,
        id: &UniqueId,
        order: &Order,
        protection: u8,
        priority: Priority,
        statistics: Option<Arc<Statistics>>,
    ) -> BlockWarmer {
        let (keys, heads) = (CacheKeyBase::new(id), HeadOrder::of(order));
        BlockWarmer { cache, keys, heads, protection, priority, statistics }
    }
}

impl WarmCache for BlockWarmer {
    fn block_written(&self, kind: BlockKind, offset: u64, payload: &[u8]) {
        if kind != BlockKind::Data {
            return;
        }
        let Ok(block) = Block::parse_into(payload, self.heads, self.protection, spare::take) else { return };
        let block = CachedBlock::Data(block);
        let charge = block.memory_bytes();
        base::invariant!(charge > 0, "a block without memory is put into the block cache");
        // A full cache with a strict limit rejects the block. The first reader then reads the block from the file.
        let kept = self.cache.insert(&self.keys.at(offset), block, charge, self.priority, Role::DataBlock);
        let Some(statistics) = &self.statistics else { return };
        if kept.is_err() {
            return statistics.add(Ticker::BlockCacheAddFailures, 1);
        }
        for (ticker, count) in [
            (Ticker::BlockCacheAdd, 1),
            (Ticker::BlockCacheDataAdd, 1),
            (Ticker::BlockCacheDataBytesInsert, charge as u64),
            (Ticker::BlockCacheBytesWrite, charge as u64),
        ] {
            statistics.add(ticker, count);
        }
    }
}
