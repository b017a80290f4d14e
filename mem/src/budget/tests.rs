use std::sync::Arc;

use super::{Holder, MemoryBudget, STEP};
use crate::cache::{Cache, CacheOptions};

fn cache() -> Arc<Cache<Vec<u8>>> {
    Cache::new(CacheOptions {
        metadata_charge: crate::cache::MetadataCharge::None,
        ..CacheOptions::lru(64 << 20)
    })
    .unwrap()
}

#[test]
fn shares_take_room_of_the_cache_and_return_it() {
    let cache = cache();
    let budget = MemoryBudget::new(64 << 20, cache.clone());
    let mut share = budget.take(Holder::JobBuffers, 10 * STEP + 1);
    assert_eq!((cache.usage(), budget.held(Holder::JobBuffers)), (11 * STEP, 10 * STEP + 1));
    share.set(STEP);
    assert_eq!((cache.usage(), share.bytes()), (STEP, STEP));
    drop(share);
    assert!(cache.usage() <= 4 * STEP);
    drop(budget);
    assert_eq!(cache.usage(), 0);
}

#[test]
fn pinned_blocks_are_limited_and_not_charged_again() {
    let cache = cache();
    let budget = MemoryBudget::new(64 << 20, cache.clone());
    let most = budget.kept_max();
    let first = budget.try_keep(Holder::PinnedBlocks, most - 1, most).unwrap();
    assert_eq!(cache.usage(), 0);
    assert!(budget.try_keep(Holder::KeptMemtables, 2, most).is_none());
    assert_eq!(budget.kept(), most - 1);
    drop(first);
    assert!(budget.try_keep(Holder::KeptMemtables, 2, most).is_some());
}
