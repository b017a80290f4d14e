//! `cargo bench -p ironstone-mem --bench cache [-- entries]`: nanoseconds for a lookup, and for an insertion
//! that evicts, for each kind of cache.

#![allow(clippy::disallowed_methods, clippy::disallowed_types, reason = "a bench")]

use std::hint::black_box;
use std::sync::Arc;
use std::time::Instant;

use ironstone_mem::cache::{Cache, CacheKey, CacheOptions, Kind, Priority, Role};

type Block = [u64; 4];

fn key(n: u64) -> CacheKey {
    CacheKey::new(0x1234_5678_9abc_def0 ^ (n >> 10), n * 4096)
}

struct Draw(u64);

impl Draw {
    fn next(&mut self) -> u64 {
        self.0 ^= self.0 << 13;
        self.0 ^= self.0 >> 7;
        self.0 ^= self.0 << 17;
        self.0 >> 11
    }
}

/// Returns the best of many batches: the cost of the code without interference by other processes.
fn best(batches: u64, mut batch: impl FnMut(u64) -> u64) -> f64 {
    let one = |b: u64, batch: &mut dyn FnMut(u64) -> u64| {
        let start = Instant::now();
        let operations = batch(b);
        start.elapsed().as_nanos() as f64 / operations as f64
    };
    (0..batches).map(|b| one(b, &mut batch)).fold(f64::MAX, f64::min)
}

fn lookups(cache: &Cache<Block>, entries: u64, stride: u64, seed: u64) -> f64 {
    let mut draw = Draw(seed | 1);
    best(300, |_| {
        let mut found = 0u64;
        for _ in 0..10_000 {
            let n = draw.next() % entries * stride;
            if let Some(h) = cache.lookup(&key(n)) {
                found += black_box(h[0]) & 1;
            }
        }
        black_box(found);
        10_000
    })
}

fn main() {
    let entries = std::env::args().filter_map(|a| a.parse().ok()).next().unwrap_or(100_000);
    let threads = std::thread::available_parallelism().map_or(1, usize::from);
    println!("{entries} entries; ns an operation; {threads} threads where it says all");
    for (name, kind) in [
        ("hyper_clock, growing", Kind::HyperClock { estimated_entry_charge: 0 }),
        ("hyper_clock, fixed", Kind::HyperClock { estimated_entry_charge: 8192 }),
        ("lru", Kind::Lru { high_pri_pool_ratio: 0.5, low_pri_pool_ratio: 0.0 }),
    ] {
        let capacity = entries as usize * 9000;
        let options = CacheOptions { kind, ..CacheOptions::hyper_clock(capacity) };
        let cache: Arc<Cache<Block>> = Cache::new(options).expect("good options");
        let put = |n| cache.insert(&key(n), [n; 4], 8192, Priority::Low, Role::DataBlock);
        for n in 0..entries {
            drop(put(n));
        }
        let hit = lookups(&cache, entries, 1, 1);
        let hot = lookups(&cache, 16, 1, 2);
        let miss = lookups(&cache, entries, 1_000_003, 3);
        let all: f64 = std::thread::scope(|s| {
            let cache = &cache;
            let run = |t| s.spawn(move || lookups(cache, entries, 1, t as u64 + 9));
            let jobs: Vec<_> = (0..threads).map(run).collect();
            jobs.into_iter().filter_map(|j| j.join().ok()).sum::<f64>() / threads as f64
        });
        let insert = best(20, |b| {
            let each = entries / 20 + 1;
            (0..each).for_each(|n| drop(put(entries + b * each + n)));
            each
        });
        println!(
            "{name:22} hit {hit:6.1}  hot {hot:6.1}  miss {miss:6.1}  hit, all {all:6.1}  insert {insert:6.1}"
        );
    }
}
