//! Measures the calls of the crate `rocksdb` in nanoseconds for each key. The calls are put, a batch of 100, get,
//! get_pinned, a multi_get of 32, an iterator, and seek. Keys have 16 bytes, and values have 100 bytes. Each figure
//! is the best of three runs.

#[cfg(feature = "ours")]
use ours as rocksdb;
#[cfg(feature = "theirs")]
use theirs as rocksdb;

use std::hint::black_box;
use std::time::Instant;

use rocksdb::{IteratorMode, Options, WriteBatch, DB};

const RUNS: usize = 3;

fn key(n: u64) -> [u8; 16] {
    let mixed = n.wrapping_mul(0x9E37_79B9_7F4A_7C15) >> 1; // scatters the numbers, without duplicates
    let mut key = [b'k'; 16];
    key[..8].copy_from_slice(&mixed.to_be_bytes());
    key
}

/// Prints the time for each of `count` keys in the best run.
fn measure(name: &str, count: u64, mut run: impl FnMut(usize)) {
    let mut best = f64::MAX;
    for at in 0..RUNS {
        let begin = Instant::now();
        run(at);
        best = best.min(begin.elapsed().as_nanos() as f64 / count as f64);
    }
    println!("{name}\t{best:.0}");
}

fn main() {
    let count: u64 = std::env::args().nth(1).and_then(|n| n.parse().ok()).unwrap_or(500_000);
    let scratch = std::env::temp_dir().join(format!("rocksdb-bench-{}", std::process::id()));
    let mut options = Options::default();
    options.create_if_missing(true);
    options.set_write_buffer_size(256 << 20);
    let open = |name: &str| DB::open(&options, scratch.join(name)).unwrap();
    let value = [7u8; 100];

    measure("put", count, |run| {
        let db = open(&format!("put{run}"));
        (0..count).for_each(|n| db.put(key(n), value).unwrap());
    });
    measure("batch of 100", count, |run| {
        let db = open(&format!("batch{run}"));
        for first in (0..count).step_by(100) {
            let mut batch = WriteBatch::default();
            (first..(first + 100).min(count)).for_each(|n| batch.put(key(n), value));
            db.write(batch).unwrap();
        }
    });

    let db = open("batch0");
    db.flush().unwrap();
    db.compact_range(None::<&[u8]>, None::<&[u8]>);
    measure("get", count, |_| (0..count).for_each(|n| drop(black_box(db.get(key(n)).unwrap()))));
    measure("get_pinned", count, |_| (0..count).for_each(|n| drop(black_box(db.get_pinned(key(n)).unwrap()))));
    measure("multi_get of 32", count, |_| {
        for first in (0..count).step_by(32) {
            drop(black_box(db.multi_get((first..(first + 32).min(count)).map(key))));
        }
    });
    measure("iterator", count, |_| assert_eq!(db.iterator(IteratorMode::Start).count() as u64, count));
    measure("raw iterator", count, |_| {
        let mut iter = db.raw_iterator();
        iter.seek_to_first();
        while let Some(item) = iter.item() {
            black_box(item);
            iter.next();
        }
    });
    measure("seek", count, |_| {
        let mut iter = db.raw_iterator();
        (0..count).for_each(|n| {
            iter.seek(key(n));
            assert!(iter.valid());
        });
    });
    drop(db);
    std::fs::remove_dir_all(&scratch).unwrap();
}
