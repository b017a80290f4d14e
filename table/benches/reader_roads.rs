//! Measures the operations on an open table whose blocks are all in the cache, in nanoseconds: get,
//! multi_get, seek, next, prev, and a lookup that the filter ends.
//!
//! `cargo bench -p ironstone-table --bench reader_roads [rows]`. Keys have 16 bytes, as db_bench makes them,
//! values have 100 bytes, and the Bloom filter has ten bits for each key. The result is the best of several
//! runs, because other processes use the machine.

#![allow(clippy::disallowed_methods, clippy::disallowed_types, reason = "a bench")]

use std::hint::black_box;
use std::ops::ControlFlow;
use std::path::Path;
use std::sync::Arc;

use base::SequenceNumber;
use base::iter::InternalIterator;
use base::key::{pack, seek_key};
use compress::Compression;
use env::ReadHints;
use env::writer::FileWriter;
use ironstone_table::options::{BlockBasedTableOptions, FilterPolicy};
use ironstone_table::sst::{BlockCache, OpenOptions, ReadCtx, Reader, Writer, WriterOptions};
use mem::cache::CacheOptions;

fn user_key(i: u64) -> Vec<u8> {
    let mut key = i.to_be_bytes().to_vec();
    key.extend_from_slice(b"00000000");
    key
}

fn measure(what: &str, count: usize, mut f: impl FnMut()) {
    let best = (0..7)
        .map(|_| {
            let start = cpu_nanos();
            f();
            (cpu_nanos() - start) / count as f64
        })
        .fold(f64::MAX, f64::min);
    println!("{what:24} {best:8.1} ns");
}

/// Returns the processor time of this thread. Waits on a busy machine do not count.
fn cpu_nanos() -> f64 {
    let stat = std::fs::read_to_string("/proc/thread-self/schedstat").unwrap_or_default();
    stat.split(' ').next().and_then(|n| n.parse().ok()).unwrap_or_default()
}

/// A deterministic random number generator (xorshift).
struct Dice(u64);

impl Dice {
    fn below(&mut self, n: u64) -> u64 {
        self.0 ^= self.0 << 13;
        self.0 ^= self.0 >> 7;
        self.0 ^= self.0 << 17;
        self.0 % n
    }
}

fn main() {
    let rows = std::env::args().filter_map(|a| a.parse().ok()).next().unwrap_or(1_000_000u64);
    let table = Arc::new(BlockBasedTableOptions {
        filter_policy: Some(FilterPolicy::bloom(10.0)),
        ..BlockBasedTableOptions::default()
    });
    let world = env::Env::memory(1);
    let path = Path::new("/table.sst");
    let file = world.fs.create(path, &Default::default()).unwrap();
    let mut options = WriterOptions { table: table.clone(), ..WriterOptions::default() };
    options.block_compression.kind = Compression::None;
    let mut writer =
        Writer::new(FileWriter::new(file, env::writer::WriterOptions::default()), options).unwrap();
    let mut dice = Dice(7);
    for i in 0..rows {
        let mut key = user_key(i * 2);
        key.extend_from_slice(&pack(SequenceNumber::new(i + 1), 1).to_le_bytes());
        let mut value = [0; 100];
        value.iter_mut().for_each(|b| *b = dice.below(256) as u8);
        writer.add(&key, &value).unwrap();
    }
    let (finished, mut file) = writer.finish().unwrap();
    file.close().unwrap();
    let size = finished.file_size;
    let file = world.fs.open_random(path, &ReadHints::default()).unwrap();
    let cache = BlockCache::new(CacheOptions::hyper_clock(1 << 30)).unwrap();
    let options = OpenOptions { table, cache: Some(cache.clone()), ..OpenOptions::default() };
    let reader = Arc::new(Reader::open(file, size, &options).unwrap());
    let ctx = ReadCtx::default();

    let mut iter = reader.iter(&ctx);
    let scan = |iter: &mut ironstone_table::sst::TableIter| {
        iter.seek_to_first();
        let mut n = 0;
        while iter.valid() {
            black_box((iter.key().len(), iter.value().len()));
            n += 1;
            iter.next();
        }
        assert_eq!(n, rows);
    };
    let start = cpu_nanos();
    scan(&mut iter);
    println!("first scan, a row        {:8.1} ns", (cpu_nanos() - start) / rows as f64);
    println!("file {size}, cache {} bytes", cache.usage());
    measure("next", rows as usize, || scan(&mut iter));
    measure("prev", rows as usize, || {
        iter.seek_to_last();
        while iter.valid() {
            black_box(iter.key().len());
            iter.prev();
        }
    });

    const COUNT: usize = 200_000;
    let keys: Vec<Vec<u8>> = (0..COUNT)
        .map(|_| seek_key(&user_key(dice.below(rows) * 2), SequenceNumber::new(u64::MAX >> 8)))
        .collect();
    let absent: Vec<Vec<u8>> = (0..COUNT)
        .map(|_| seek_key(&user_key(dice.below(rows) * 2 + 1), SequenceNumber::new(u64::MAX >> 8)))
        .collect();
    measure("get", COUNT, || {
        for key in &keys {
            let mut found = false;
            reader
                .get(key, &ctx, |entry| {
                    found = black_box(entry.value.len()) == 100;
                    ControlFlow::Break(())
                })
                .unwrap();
            assert!(found);
        }
    });
    measure("get, pinned", COUNT, || {
        for key in &keys {
            reader
                .get(key, &ctx, |entry| {
                    black_box(entry.value.pin());
                    ControlFlow::Break(())
                })
                .unwrap();
        }
    });
    measure("get, absent", COUNT, || {
        for key in &absent {
            reader.get(key, &ctx, |_| ControlFlow::Break(())).unwrap();
        }
    });
    measure("seek", COUNT, || {
        for key in &keys {
            iter.seek(key);
            assert!(iter.valid());
        }
    });
    measure("new iterator and seek", COUNT, || {
        for key in &keys {
            let mut iter = reader.iter(&ctx);
            iter.seek(key);
            assert!(iter.valid());
        }
    });
    let mut sorted: Vec<Vec<&[u8]>> = keys.chunks(32).map(|c| c.iter().map(|k| &k[..]).collect()).collect();
    sorted.iter_mut().for_each(|batch| batch.sort());
    measure("multi_get of 32, a key", COUNT, || {
        for batch in &sorted {
            let mut found = 0;
            let failed = reader.multi_get(batch, &ctx, |_, entry| {
                found += usize::from(black_box(entry.value.len()) == 100);
                ControlFlow::Break(())
            });
            assert!(failed.is_empty() && found == batch.len());
        }
    });
}
