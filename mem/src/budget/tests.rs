use std::sync::Arc;
use std::sync::atomic::{AtomicUsize, Ordering};

use base::Order;
use base::SequenceNumber;
use base::key::InternalOrder;

use parking_lot::Mutex;

use super::{Holder, MemoryBudget, STEP};
use crate::cache::{Cache, CacheOptions, Ledger, Role};
use crate::memtable::{MemTable, MemTableOptions};

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

/// A ledger that counts its bytes. At the first discharge, it calls a function.
#[derive(Default)]
struct Interrupted {
    bytes: AtomicUsize,
    at_discharge: Mutex<Option<Box<dyn FnOnce() + Send>>>,
}

impl Ledger for Interrupted {
    fn charge(&self, _: Role, bytes: usize, _: bool) -> base::Result<()> {
        self.bytes.fetch_add(bytes, Ordering::Relaxed);
        Ok(())
    }

    fn discharge(&self, _: Role, bytes: usize) {
        let at_discharge = self.at_discharge.lock().take();
        if let Some(at_discharge) = at_discharge {
            at_discharge();
        }
        self.bytes.fetch_sub(bytes, Ordering::Relaxed);
    }
}

#[test]
fn a_share_that_grows_during_a_reduction_is_charged() {
    let ledger = Arc::new(Interrupted::default());
    let budget = MemoryBudget::new(64 << 20, ledger.clone());
    let large = budget.take(Holder::JobBuffers, 20 * STEP);
    let taken = Arc::new(Mutex::new(None));
    let (own, of_budget) = (taken.clone(), budget.clone());
    *ledger.at_discharge.lock() = Some(Box::new(move || {
        *own.lock() = Some(of_budget.take(Holder::Iterators, 18 * STEP));
    }));
    drop(large);
    assert!(ledger.bytes.load(Ordering::Relaxed) >= 18 * STEP, "{:?}", ledger.bytes);
    drop(taken.lock().take());
}

#[test]
fn pinned_blocks_are_limited_and_not_charged_again() {
    let cache = cache();
    let budget = MemoryBudget::new(64 << 20, cache.clone());
    let most = budget.kept_max();
    let seeks = budget.take(Holder::PinnedBlocks, most / 4 * 3);
    assert_eq!((cache.usage(), budget.kept()), (0, most / 4 * 3));
    assert!(budget.has_room(false, || false));
    let step = budget.take(Holder::PinnedBlocks, most / 4);
    assert!(!budget.has_room(false, || false) && budget.has_room(true, || false));
    let more = budget.take(Holder::PinnedBlocks, 1);
    assert!(!budget.has_room(true, || true));
    drop((seeks, step, more));
    assert_eq!(budget.kept(), 0);
}

#[test]
fn a_step_in_the_newest_super_version_has_room_although_memtables_are_kept() {
    let budget = MemoryBudget::new(64 << 20, cache());
    let _memtables = budget.take(Holder::KeptMemtables, budget.kept_max() + 1);
    let _blocks = budget.take(Holder::PinnedBlocks, budget.kept_max() / 4);
    assert!(!budget.has_room(true, || false));
    assert!(!budget.has_room(false, || true));
    assert!(budget.has_room(true, || true));
}

#[test]
fn a_memtable_is_charged_from_its_flush_until_its_last_keeper_leaves() {
    let cache = cache();
    let budget = MemoryBudget::new(64 << 20, cache.clone());
    let charged = || budget.held(Holder::KeptMemtables);
    let mem =
        MemTable::new(MemTableOptions::new(InternalOrder::new(Order::Bytewise)), 1, SequenceNumber::ZERO);
    let first = mem.keep(&budget);
    mem.make_immutable();
    assert_eq!(charged(), 0);
    mem.set_flushed();
    assert_eq!(charged(), mem.memory_used());
    let second = mem.keep(&budget);
    drop(first);
    assert_eq!(charged(), mem.memory_used());
    drop(second);
    assert_eq!(charged(), 0);
    let third = mem.keep(&budget);
    assert_eq!(charged(), mem.memory_used());
    drop(third);
    assert_eq!(charged(), 0);
}

#[test]
fn a_small_budget_has_one_arena_and_a_large_budget_any_number() {
    let arenas = |bytes: usize| MemoryBudget::new(bytes, cache()).arenas_max();
    assert_eq!([8 << 20, 64 << 20, 256 << 20, 1 << 30].map(arenas), [Some(1), Some(1), Some(4), Some(16)]);
    assert_eq!(arenas(2 << 30), None);
}

#[test]
fn free_memory_is_returned_once_in_a_quarter_of_a_second() {
    let budget = MemoryBudget::new(64 << 20, cache());
    assert!(budget.must_return_free_memory(1_000_000));
    assert!(!budget.must_return_free_memory(1_249_999));
    assert!(budget.must_return_free_memory(1_250_000));
    let large = MemoryBudget::new(2 << 30, cache());
    assert!(!large.must_return_free_memory(1_000_000));
}
