use std::collections::HashMap;
use std::sync::atomic::AtomicU64;

use super::*;

/// A value that knows its expected content and counts the living values.
struct Counted {
    value: u64,
    alive: Arc<AtomicUsize>,
}

impl Counted {
    fn new(value: u64, alive: &Arc<AtomicUsize>) -> Self {
        alive.fetch_add(1, Ordering::SeqCst);
        Counted { value, alive: alive.clone() }
    }
}

impl Drop for Counted {
    fn drop(&mut self) {
        self.alive.fetch_sub(1, Ordering::SeqCst);
    }
}

fn key(n: u64) -> CacheKey {
    CacheKey::new(7, n * 4096)
}

fn options(kind: Kind, capacity: usize, shard_bits: i32) -> CacheOptions {
    CacheOptions {
        num_shard_bits: shard_bits,
        metadata_charge: MetadataCharge::None,
        kind,
        ..CacheOptions::hyper_clock(capacity)
    }
}

fn kinds() -> [Kind; 4] {
    [
        Kind::HyperClock { estimated_entry_charge: 0 },
        Kind::HyperClock { estimated_entry_charge: 100 },
        Kind::Lru { high_pri_pool_ratio: 0.5, low_pri_pool_ratio: 0.0 },
        Kind::Lru { high_pri_pool_ratio: 0.3, low_pri_pool_ratio: 0.3 },
    ]
}

fn each(capacity: usize, run: impl Fn(Arc<Cache<u64>>)) {
    for kind in kinds() {
        for bits in [0, 2] {
            run(Cache::new(options(kind, capacity, bits)).unwrap());
        }
    }
}

/// Room for all values of a test. It is small under Miri, which interprets each access to a slot.
const ROOM: usize = if cfg!(miri) { 16 << 10 } else { 1 << 20 };

fn put(cache: &Cache<u64>, n: u64) -> Handle<u64> {
    cache.insert(&key(n), n, 100, Priority::Low, Role::DataBlock).unwrap()
}

#[test]
fn an_inserted_value_is_found_until_it_is_erased() {
    let all = if cfg!(miri) { 60 } else { 1000 };
    each(ROOM, |cache| {
        for n in 0..all {
            assert_eq!(*put(&cache, n), n);
        }
        for n in 0..all {
            let h = cache.lookup(&key(n)).unwrap();
            assert_eq!((*h, h.charge(), h.key(), h.role()), (n, 100, key(n), Role::DataBlock));
        }
        assert_eq!(cache.lookup(&key(all)).as_deref(), None);
        assert_eq!((cache.usage(), cache.occupancy()), (all as usize * 100, all as usize));
        assert!(cache.erase(&key(5)));
        assert!(!cache.erase(&key(5)));
        assert!(cache.lookup(&key(5)).is_none());
        let left = all as usize - 1;
        assert_eq!((cache.usage(), cache.occupancy(), cache.pinned_usage()), (left * 100, left, 0));
    });
}

#[test]
fn a_handle_keeps_its_value_through_erasure_and_the_end_of_the_cache() {
    for kind in kinds() {
        let alive = Arc::new(AtomicUsize::new(0));
        let cache: Arc<Cache<Counted>> = Cache::new(options(kind, 10_000, 0)).unwrap();
        let put = |n| cache.insert(&key(n), Counted::new(n, &alive), 100, Priority::Low, Role::Misc).unwrap();
        let one = put(1);
        let two = put(2);
        drop(put(3));
        let lone = cache.standalone(Counted::new(4, &alive), 50, Role::Misc).unwrap();
        assert!(cache.erase(&key(1)));
        assert_eq!(cache.usage(), 350, "erased but pinned is still charged");
        assert_eq!(cache.pinned_usage(), 250);
        let again = one.clone();
        drop(one);
        assert_eq!((again.value, alive.load(Ordering::SeqCst)), (1, 4));
        drop(again);
        assert_eq!((cache.usage(), alive.load(Ordering::SeqCst)), (250, 3));
        drop(cache);
        assert_eq!(alive.load(Ordering::SeqCst), 2, "only what handles keep");
        let other = two.clone();
        assert_eq!((two.value, other.value, lone.value), (2, 2, 4));
        drop((two, lone));
        assert_eq!(alive.load(Ordering::SeqCst), 1);
        drop(other);
        assert_eq!(alive.load(Ordering::SeqCst), 0);
    }
}

#[test]
fn a_second_insertion_replaces_the_first() {
    each(ROOM, |cache| {
        let old = put(&cache, 1);
        let insert =
            |n, value| cache.insert_or_replace(&key(n), value, 100, Priority::Low, Role::DataBlock).unwrap();
        let (new, is_replaced) = insert(1, 111);
        let (other, is_other_replaced) = insert(2, 222);
        assert_eq!((is_replaced, is_other_replaced), (true, false));
        cache.erase_unref(other);
        assert_eq!((*old, *new, *cache.lookup(&key(1)).unwrap()), (1, 111, 111));
        drop(old);
        assert_eq!((cache.usage(), cache.occupancy()), (100, 1));
        cache.erase_unref(new);
        assert!(cache.lookup(&key(1)).is_none());
        assert_eq!((cache.usage(), cache.occupancy()), (0, 0));
    });
}

#[test]
fn erase_unref_spares_a_newer_entry_of_the_key() {
    each(ROOM, |cache| {
        let old = put(&cache, 1);
        drop(put(&cache, 1));
        cache.erase_unref(old);
        assert!(cache.lookup(&key(1)).is_some());
    });
}

#[test]
#[cfg_attr(miri, ignore = "too large to interpret")]
fn usage_stays_within_capacity_while_nothing_is_pinned() {
    each(40_000, |cache| {
        for n in 0..5000 {
            drop(put(&cache, n));
            assert!(cache.usage() <= 40_000);
        }
        assert!(cache.usage() > 30_000, "{} is used", cache.usage());
        assert!(cache.evictions() > 4000);
        cache.set_capacity(10_000);
        assert!(cache.usage() <= 10_000 + 400);
        cache.erase_unreferenced();
        assert_eq!((cache.usage(), cache.occupancy()), (0, 0));
    });
}

#[test]
fn pinned_entries_make_a_lenient_cache_grow_and_a_strict_one_refuse() {
    // Five times as many values as fit.
    let (held, more) = if cfg!(miri) { (20, 40) } else { (200, 100) };
    each(held * 20, |cache| {
        let handles: Vec<_> = (0..held as u64).map(|n| put(&cache, n)).collect();
        assert_eq!(cache.usage(), held * 100);
        assert_eq!(cache.pinned_usage(), held * 100);
        assert!(handles.iter().zip(0..).all(|(h, n)| **h == n));
        cache.set_strict_capacity_limit(true);
        let e = cache.insert(&key(999), 1, 100, Priority::Low, Role::Misc).unwrap_err();
        assert_eq!((e.kind(), e.subcode()), (base::Kind::Aborted, Subcode::MemoryLimit));
        drop(handles);
        // The usage of a clock shard falls when the shard gets its next insertions.
        for n in 1000..1000 + more {
            assert!(cache.insert(&key(n), 1, 100, Priority::Low, Role::Misc).is_ok());
        }
        assert!(cache.usage() <= held * 20);
    });
}

#[test]
fn an_insertion_that_a_strict_cache_refuses_leaves_what_was_under_the_key() {
    for kind in kinds() {
        let cache: Arc<Cache<u64>> = Cache::new(options(kind, 1000, 0)).unwrap();
        cache.set_strict_capacity_limit(true);
        let held = cache.insert(&key(1), 7, 600, Priority::Low, Role::Misc).unwrap();
        assert!(cache.insert(&key(1), 8, 600, Priority::Low, Role::Misc).is_err());
        assert_eq!(cache.lookup(&key(1)).as_deref(), Some(&7));
        drop(held);
        assert_eq!(*cache.insert(&key(1), 8, 600, Priority::Low, Role::Misc).unwrap(), 8);
        assert_eq!((cache.lookup(&key(1)).as_deref(), cache.usage()), (Some(&8), 600));
    }
}

#[test]
#[cfg_attr(miri, ignore = "too large to interpret")]
fn hit_entries_outlive_a_scan() {
    for kind in kinds() {
        let cache: Arc<Cache<u64>> = Cache::new(options(kind, 100_000, 0)).unwrap();
        for n in 0..200 {
            drop(put(&cache, n));
        }
        for _ in 0..3 {
            for n in 0..200 {
                drop(cache.lookup(&key(n)));
            }
        }
        for n in 10_000..11_000 {
            let h = cache.insert(&key(n), n, 100, Priority::Bottom, Role::BlobValue).unwrap();
            drop(h);
        }
        let stayed = (0..200).filter(|&n| cache.lookup(&key(n)).is_some()).count();
        assert!(stayed > 150, "{kind:?}: {stayed} of 200 stayed");
    }
}

#[test]
fn lru_evicts_the_oldest_of_the_lowest_pool() {
    let kind = Kind::Lru { high_pri_pool_ratio: 0.4, low_pri_pool_ratio: 0.3 };
    let cache: Arc<Cache<u64>> = Cache::new(options(kind, 1000, 0)).unwrap();
    let put = |n, priority| drop(cache.insert(&key(n), n, 100, priority, Role::Misc).unwrap());
    for n in 0..3 {
        put(n, Priority::Bottom);
        put(10 + n, Priority::Low);
        put(20 + n, Priority::High);
    }
    put(30, Priority::High);
    let present = || {
        let mut all = Vec::new();
        cache.apply_to_all(&mut |_, v, _, _| all.push(*v));
        all.sort_unstable();
        all
    };
    assert_eq!(cache.shards().next().unwrap().lru_usages(), [300, 300, 400]);
    put(31, Priority::High);
    assert_eq!(present(), [1, 2, 10, 11, 12, 20, 21, 22, 30, 31]);
    // The high pool is full, so 20 moves to the low pool. Therefore 10 moves to the young end of the bottom
    // pool, after 1 and 2.
    for n in 32..35 {
        put(n, Priority::High);
    }
    assert_eq!(present(), [11, 12, 20, 21, 22, 30, 31, 32, 33, 34]);
    // A hit brings an entry to the high pool.
    drop(cache.lookup(&key(11)));
    put(40, Priority::Bottom);
    put(41, Priority::Bottom);
    assert!(present().contains(&11));
}

#[test]
fn roles_are_counted() {
    each(10 << 20, |cache| {
        drop(put(&cache, 1));
        drop(cache.insert(&key(2), 2, 500, Priority::High, Role::IndexBlock).unwrap());
        let r = cache.reserve(Role::WriteBuffer, 300 << 10).unwrap();
        let usage = cache.role_usage();
        assert_eq!(usage[Role::DataBlock as usize], RoleUsage { count: 1, bytes: 100 });
        assert_eq!(usage[Role::IndexBlock as usize], RoleUsage { count: 1, bytes: 500 });
        assert_eq!(usage[Role::WriteBuffer as usize], RoleUsage { count: 2, bytes: 300 << 10 });
        drop(r);
        assert_eq!(cache.role_usage()[Role::WriteBuffer as usize], RoleUsage::default());
    });
    assert!(Role::ALL.iter().enumerate().all(|(i, r)| *r as usize == i && !r.name().is_empty()));
}

#[test]
#[cfg_attr(miri, ignore = "too large to interpret")]
fn reservations_push_entries_out_and_are_bounded_when_strict() {
    each(4 << 20, |cache| {
        for n in 0..30_000 {
            drop(put(&cache, n));
        }
        assert_eq!(cache.usage(), 3_000_000);
        let mut r = cache.reserve(Role::FilterConstruction, 3 << 20).unwrap();
        assert!(cache.usage() <= (4 << 20) + 400, "{}", cache.usage());
        assert!(cache.occupancy() < 12_000);
        cache.set_strict_capacity_limit(true);
        assert!(r.set(5 << 20).is_err());
        assert_eq!(r.bytes(), 3 << 20);
        r.set(1 << 20).unwrap();
        assert!(cache.reserve(Role::Misc, 1 << 20).is_ok());
        drop(r);
        cache.erase_unreferenced();
        assert_eq!(cache.usage(), 0);
    });
}

#[test]
fn apply_to_all_sees_every_entry_once() {
    let all = if cfg!(miri) { 40 } else { 500 };
    each(ROOM, |cache| {
        for n in 0..all {
            drop(put(&cache, n));
        }
        let mut seen = HashMap::new();
        cache.apply_to_all(&mut |k, v, charge, role| {
            assert_eq!((charge, role), (100, Role::DataBlock));
            *seen.entry((*k, *v)).or_insert(0) += 1;
        });
        assert_eq!(seen.len() as u64, all);
        assert!(seen.iter().all(|((k, v), n)| *n == 1 && *k == key(*v)));
        assert_eq!(cache.pinned_usage(), 0);
    });
}

#[test]
fn options_out_of_range_are_refused() {
    let lru = |high, low| Kind::Lru { high_pri_pool_ratio: high, low_pri_pool_ratio: low };
    for (kind, bits) in [(lru(1.1, 0.0), 0), (lru(0.6, 0.6), 0), (lru(f64::NAN, 0.0), 0), (lru(0.5, 0.0), 20)]
    {
        assert!(Cache::<u64>::new(options(kind, 1000, bits)).is_err());
    }
    let shards = |o: CacheOptions| Cache::<u64>::new(o).unwrap().num_shards();
    assert_eq!(shards(CacheOptions::default()), 1);
    assert_eq!(shards(CacheOptions::hyper_clock(1 << 30)), 32);
    assert_eq!(shards(CacheOptions::hyper_clock(1 << 40)), 64);
    assert_eq!(shards(CacheOptions::lru(8 << 20)), 16);
    assert_eq!(shards(CacheOptions::lru(1000)), 1);
}

#[test]
fn overhead_is_charged_by_default() {
    let cache: Arc<Cache<u64>> = Cache::new(CacheOptions::hyper_clock(1 << 20)).unwrap();
    drop(put(&cache, 1));
    assert!((150..400).contains(&cache.usage()), "{}", cache.usage());
    assert!(cache.table_bytes() > 0);
    let lru: Arc<Cache<u64>> = Cache::new(CacheOptions::lru(1 << 20)).unwrap();
    drop(put(&lru, 1));
    assert_eq!(lru.usage(), cache.usage() + 12, "two neighbours and a list");
}

/// The address space is counted for the whole process. Other tests may disturb some rounds, but not all of
/// them.
#[test]
#[cfg(all(target_os = "linux", not(miri)))]
fn an_array_that_ends_inside_of_a_page_frees_all_its_address_space() {
    let pages = || -> usize {
        std::fs::read_to_string("/proc/self/statm").unwrap().split(' ').next().unwrap().parse().unwrap()
    };
    // A bucket has 64 bytes and room for four entries.
    let entries = (crate::arena::chunk::HUGE_PAGE / 64 + 1) * 4;
    let grown = (0..8).map(|_| {
        let before = pages();
        (0..512).for_each(|_| drop(super::index::Index::for_entries(entries)));
        pages().saturating_sub(before) * 4096
    });
    // A leak would be about one huge page for each array.
    let least = grown.min().unwrap();
    assert!(least < 256 << 20, "{least} bytes");
}

#[test]
fn a_value_may_hold_handles_and_reservations_of_its_cache() {
    struct Holder {
        _reservation: Option<Reservation>,
        _inner: Option<Handle<Holder>>,
    }
    for kind in kinds() {
        let cache: Arc<Cache<Holder>> = Cache::new(options(kind, ROOM, 0)).unwrap();
        let entries = if cfg!(miri) { 24 } else { 3000 };
        for n in 0..entries {
            let inner = cache.lookup(&key(n / 2));
            // Each reservation holds a reference to the cache. With many of them the cache would not be
            // freed.
            let reservation = (n % 100 == 0).then(|| cache.reserve(Role::Misc, 1000).unwrap());
            let value = Holder { _reservation: reservation, _inner: inner };
            drop(cache.insert(&key(n), value, 1000, Priority::Low, Role::Misc).unwrap());
        }
        cache.set_capacity(0);
        for n in (0..entries).rev() {
            cache.erase(&key(n));
        }
        assert_eq!((cache.usage(), cache.occupancy()), (0, 0));
    }
}

/// Threads look up, insert, erase, clone and drop over a small range of keys. Every value that a thread finds
/// must be right and alive. At the end no value may be left.
#[test]
fn many_threads_see_only_right_values() {
    let rounds: u64 = if cfg!(miri) { 60 } else { 60_000 };
    for kind in kinds() {
        let alive = Arc::new(AtomicUsize::new(0));
        let cache: Arc<Cache<Counted>> = Cache::new(options(kind, 20_000, 1)).unwrap();
        let hits = AtomicU64::new(0);
        std::thread::scope(|scope| {
            for thread in 0..4u64 {
                let (cache, alive, hits) = (&cache, &alive, &hits);
                scope.spawn(move || {
                    let mut x = thread.wrapping_mul(0x9e37_79b9_7f4a_7c15) | 1;
                    let mut kept: Vec<Handle<Counted>> = Vec::new();
                    for _ in 0..rounds {
                        x ^= x << 13;
                        x ^= x >> 7;
                        x ^= x << 17;
                        // The cube makes low keys frequent.
                        let r = (x >> 20) % 64;
                        let n = r * r * r / 900;
                        match x % 16 {
                            0 => drop(cache.erase(&key(n))),
                            1 => kept.truncate(kept.len() / 2),
                            2 => {
                                if let Some(h) = kept.pop() {
                                    cache.erase_unref(h);
                                }
                            }
                            3 if x % 1024 < 16 => cache.erase_unreferenced(),
                            4 if x % 1024 < 16 => cache.apply_to_all(&mut |k, v, _, _| {
                                assert_eq!(*k, key(v.value));
                            }),
                            _ => {
                                let h = cache.lookup(&key(n)).unwrap_or_else(|| {
                                    let value = Counted::new(n, alive);
                                    cache.insert(&key(n), value, 100, Priority::Low, Role::Misc).unwrap()
                                });
                                assert_eq!((h.value, h.key()), (n, key(n)));
                                hits.fetch_add(1, Ordering::Relaxed);
                                if x % 7 == 0 {
                                    kept.push(h.clone());
                                }
                                kept.truncate(30);
                            }
                        }
                    }
                    assert!(kept.iter().all(|h| h.key() == key(h.value)));
                });
            }
        });
        assert_eq!(cache.occupancy(), alive.load(Ordering::SeqCst));
        assert_eq!(cache.pinned_usage(), 0);
        assert_eq!(cache.usage(), cache.occupancy() * 100);
        drop(cache);
        assert_eq!(alive.load(Ordering::SeqCst), 0);
        assert!(hits.load(Ordering::Relaxed) > rounds);
    }
}

/// Other threads drop handles while the cache is dropped.
#[test]
fn the_last_handle_frees_an_erased_value() {
    let rounds = if cfg!(miri) { 5 } else { 300 };
    for kind in kinds() {
        for _ in 0..rounds {
            let alive = Arc::new(AtomicUsize::new(0));
            let cache: Arc<Cache<Counted>> = Cache::new(options(kind, 10_000, 1)).unwrap();
            let handles: Vec<_> = (0..20)
                .map(|n| {
                    let v = Counted::new(n, &alive);
                    cache.insert(&key(n), v, 100, Priority::Low, Role::Misc).unwrap()
                })
                .collect();
            std::thread::scope(|scope| {
                let mut handles = handles;
                let half = handles.split_off(10);
                scope.spawn(move || drop(handles));
                scope.spawn(move || drop(half));
                scope.spawn(move || drop(cache));
            });
            assert_eq!(alive.load(Ordering::SeqCst), 0);
        }
    }
}

#[test]
fn the_index_finds_through_overflow_and_growth() {
    let index = index::Index::for_entries(if cfg!(miri) { 32 } else { 64 });
    let mut x = 1u32;
    let mut words = Vec::new();
    for entry in 0..index.limit() as u32 {
        x = x.wrapping_mul(1_664_525).wrapping_add(1_013_904_223);
        // A third of the words share one bucket.
        let hash = if entry % 3 == 0 { x >> 12 } else { x };
        words.push((hash, entry));
        index.insert(hash, entry);
    }
    let found = |index: &index::Index, (hash, entry): (u32, u32)| {
        index.find(hash, |e| (e == entry).then_some(())).is_some()
    };
    assert!(words.iter().all(|w| found(&index, *w)));
    let larger = index::Index::for_entries(if cfg!(miri) { 200 } else { 1000 });
    larger.fill_from(&index);
    assert!(words.iter().all(|w| found(&larger, *w)));
    for (i, w) in words.iter().enumerate() {
        assert!(index.remove(w.0, w.1));
        assert!(!index.remove(w.0, w.1));
        assert!(!found(&index, *w));
        assert!(words[i + 1..].iter().all(|w| found(&index, *w)));
    }
    assert_eq!(index.find(5, Some), None, "nothing is left behind");
}

#[test]
#[cfg_attr(miri, ignore = "too large to interpret")]
fn keys_of_neighbouring_blocks_spread() {
    let mut shards = [0; 16];
    let mut homes = [0; 64];
    for file in 0..8u64 {
        for block in 0..1000u64 {
            let (low, high) = CacheKey::new(0x1234_5678_0000 + file, block * 4096).hash();
            shards[(low >> 28) as usize] += 1;
            homes[(high >> 26) as usize] += 1;
        }
    }
    assert!(shards.iter().all(|n| (350..650).contains(n)), "{shards:?}");
    assert!(homes.iter().all(|n| (70..190).contains(n)), "{homes:?}");
}

#[test]
#[cfg_attr(miri, ignore = "too large to interpret")]
fn a_cache_takes_the_largest_capacity_and_entry_charge() {
    let edges = [1, i64::MAX as usize, usize::MAX];
    for capacity in edges {
        for charge in [0, 1, i64::MAX as usize, usize::MAX] {
            let kind = Kind::HyperClock { estimated_entry_charge: charge };
            let cache =
                Cache::<u32>::new(CacheOptions { kind, ..CacheOptions::hyper_clock(capacity) }).unwrap();
            let key = CacheKey::new(1, 1);
            drop(cache.insert(&key, 7, 1, Priority::High, Role::DataBlock).unwrap());
            assert_eq!(cache.capacity(), capacity);
            assert!(cache.occupancy() <= 1);
        }
    }
}

/// The hash tables of 4,096 shards, of 128 GiB each, are larger than the address space of a process.
#[cfg(all(target_os = "linux", target_pointer_width = "64", not(miri)))]
#[test]
fn a_cache_whose_hash_tables_have_no_memory_is_an_error() {
    for estimated_entry_charge in [1, 4096] {
        let kind = Kind::HyperClock { estimated_entry_charge };
        let options = CacheOptions { kind, num_shard_bits: 12, ..CacheOptions::hyper_clock(usize::MAX >> 1) };
        let error = Cache::<u64>::new(options).map(drop).unwrap_err();
        assert_eq!((error.kind(), error.subcode()), (base::Kind::Aborted, base::Subcode::MemoryLimit));
    }
}

#[test]
fn cache_goes_on_with_its_index_if_there_is_no_memory_for_a_larger_one() {
    for kind in kinds() {
        let cache = Cache::new(options(kind, 1 << 30, 0)).unwrap();
        put(&cache, 0);
        cache.shards().for_each(|shard| shard.lacks_memory.store(true, Ordering::Relaxed));
        let held: Vec<_> = (1..10_000).map(|n| put(&cache, n)).collect();
        assert!(held.iter().zip(1..).all(|(handle, n)| **handle == n), "{kind:?}: a handle keeps its value");
        drop(held);
        let found = |cache: &Cache<u64>| (0..10_000).filter(|n| cache.lookup(&key(*n)).is_some()).count();
        put(&cache, 10_000);
        assert!(cache.lookup(&key(10_000)).is_some(), "{kind:?}: a new entry takes the place of an old one");
        let before = found(&cache);
        cache.shards().for_each(|shard| shard.lacks_memory.store(false, Ordering::Relaxed));
        (20_000..30_000).for_each(|n| drop(put(&cache, n)));
        let after = (20_000..30_000).filter(|n| cache.lookup(&key(*n)).is_some()).count();
        assert!(before > 0 && after > before.min(9_000), "{kind:?}: {before} and {after} entries are found");
    }
}
