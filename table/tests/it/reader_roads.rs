//! Cases of a table iterator that ordinary scans do not reach.

use std::ops::ControlFlow;
use std::path::{Path, PathBuf};
use std::sync::atomic::{AtomicI64, Ordering};
use std::sync::{Arc, Mutex};

use base::ValueType;
use base::iter::InternalIterator;
use base::key::{InternalOrder, append_internal, seek_key, user_key};
use base::order::{BuiltinPrefix, Order};
use base::{Error, Result, SequenceNumber};
use env::fs::RandomRead;
use ironstone_table::options::{BlockBasedTableOptions, FilterPolicy};
use ironstone_table::sst::{BlockCache, OpenOptions, Pace, ReadCtx, Reader, TableIter, WriterOptions};
use mem::cache::{CacheOptions, Kind};

use crate::reader_support::{open, options};
use crate::support::write;

fn key(user: &[u8]) -> Vec<u8> {
    let mut key = Vec::new();
    append_internal(&mut key, user, SequenceNumber::new(5), ValueType::Value);
    key
}

/// Returns a table of many small blocks.
fn table(order: Order, prefix: Option<BuiltinPrefix>, users: &[Vec<u8>]) -> (Vec<u8>, OpenOptions) {
    let table = BlockBasedTableOptions {
        block_size: 100,
        filter_policy: Some(FilterPolicy::bloom(20.0)),
        ..BlockBasedTableOptions::default()
    };
    let mut read = options(order.clone());
    let mut written = WriterOptions {
        order: InternalOrder::new(order),
        table: Arc::new(table),
        ..WriterOptions::default()
    };
    if let Some(prefix) = prefix {
        read.prefix_extractor = Some(Arc::new(prefix));
        written.prefix_extractor = Some(Arc::new(prefix));
    }
    let (bytes, _) = write(written, |writer| {
        for user in users {
            writer.add(&key(user), &[7; 40]).unwrap();
        }
    });
    (bytes, read)
}

#[test]
fn an_upper_bound_without_a_timestamp_ends_no_scan_of_timestamped_keys_early() {
    let order = Order::by_name("leveldb.BytewiseComparator.u64ts").unwrap();
    let users: Vec<Vec<u8>> = (0..100)
        .map(|i| [format!("a longish key {i:03}").as_bytes(), &9u64.to_le_bytes()].concat())
        .collect();
    let (bytes, read) = table(order, None, &users);
    let reader = open("/t.sst", bytes, &read).unwrap();
    for (bound, expected) in [("b", 100), ("a longish key 050", 50), ("a longish key 999", 100)] {
        let ctx = ReadCtx { upper_bound: Some(bound.into()), ..ReadCtx::default() };
        let mut iter = reader.iter(&ctx);
        iter.seek_to_first();
        let mut count = 0;
        while iter.valid() {
            count += usize::from(user_key(iter.key())[..bound.len().min(17)] < *bound.as_bytes());
            iter.next();
        }
        iter.status().unwrap();
        assert_eq!(count, expected, "{bound}");
    }
}

#[test]
fn auto_prefix_mode_hides_nothing_from_a_backward_seek() {
    let users: Vec<Vec<u8>> = ["aa1", "aa2", "cc1"].map(|k| k.as_bytes().to_vec()).to_vec();
    let (bytes, read) = table(Order::Bytewise, Some(BuiltinPrefix::Fixed(2)), &users);
    let reader = open("/t.sst", bytes, &read).unwrap();
    let ctx = ReadCtx { auto_prefix_mode: true, upper_bound: Some(b"bb9".to_vec()), ..ReadCtx::default() };
    let mut iter = reader.iter(&ctx);
    iter.seek(&seek_key(b"bb1", SequenceNumber::new(9)));
    assert!(!iter.valid() && iter.status().is_ok(), "the filter knows of no bb");
    iter.seek_for_prev(&seek_key(b"bb1", SequenceNumber::new(9)));
    assert!(iter.valid());
    assert_eq!(user_key(iter.key()), b"aa2");
}

#[test]
fn a_filter_of_other_prefixes_than_todays_hides_nothing() {
    let users: Vec<Vec<u8>> = ["aa1", "bc1"].map(|k| k.as_bytes().to_vec()).to_vec();
    let (bytes, read) = table(Order::Bytewise, Some(BuiltinPrefix::Fixed(2)), &users);
    let reader = open("/t.sst", bytes, &read).unwrap();
    let found = |today: usize| {
        let ctx =
            ReadCtx { prefix_extractor: Some(Arc::new(BuiltinPrefix::Fixed(today))), ..ReadCtx::default() };
        let mut iter = reader.iter(&ctx);
        iter.seek(&seek_key(b"bb1", SequenceNumber::new(9)));
        iter.valid()
    };
    assert!(found(1), "bc1 has the prefix b");
    assert!(!found(2), "nothing has the prefix bb");
}

/// A file with one read that fails.
#[derive(Debug)]
struct Flaky {
    bytes: Vec<u8>,
    path: PathBuf,
    until_failure: AtomicI64,
}

impl RandomRead for Flaky {
    fn read_at(&self, offset: u64, buffer: &mut [u8]) -> Result<usize> {
        if self.until_failure.fetch_sub(1, Ordering::Relaxed) == 0 {
            return Err(Error::io("reading", &self.path, std::io::Error::other("the cable is loose")));
        }
        let rest = self.bytes.get(offset as usize..).unwrap_or_default();
        let n = rest.len().min(buffer.len());
        buffer[..n].copy_from_slice(&rest[..n]);
        Ok(n)
    }
    fn size(&self) -> Result<u64> {
        Ok(self.bytes.len() as u64)
    }
    fn path(&self) -> &Path {
        &self.path
    }
}

#[test]
fn after_a_failed_read_a_scan_ends_with_the_error_and_a_new_one_shows_every_row() {
    let users: Vec<Vec<u8>> = (0..400).map(|i| format!("key{i:04}").into_bytes()).collect();
    let (bytes, read) = table(Order::Bytewise, None, &users);
    let size = bytes.len() as u64;
    let file = Arc::new(Flaky { bytes, path: "/t.sst".into(), until_failure: AtomicI64::new(i64::MAX) });
    let reader = Arc::new(Reader::open(file.clone(), size, &read).unwrap());
    let mut failures = 0;
    for failing in 0..8 {
        // Without checksums, no other check finds a block that was not read.
        let ctx = ReadCtx { verify_checksums: false, ..ReadCtx::default() };
        let mut iter = reader.iter(&ctx);
        file.until_failure.store(failing, Ordering::Relaxed);
        let mut seen = Vec::new();
        iter.seek_to_first();
        loop {
            while iter.valid() {
                seen.push(user_key(iter.key()).to_vec());
                iter.next();
            }
            if iter.status().is_ok() {
                break;
            }
            failures += 1;
            let mut next = seen.last().cloned().unwrap_or_default();
            next.push(0);
            iter.seek(&seek_key(&next, SequenceNumber::new(9)));
        }
        assert!(seen == users, "read {failing} failed: {} rows of {}", seen.len(), users.len());
    }
    assert!(failures > 3, "{failures} reads failed");
}

/// A file that records the offset and length of each read and each prefetch.
#[derive(Debug)]
struct Recording {
    bytes: Vec<u8>,
    path: PathBuf,
    reads: Mutex<Vec<(u64, u64)>>,
    announced: Mutex<Vec<(u64, u64)>>,
}

impl RandomRead for Recording {
    fn read_at(&self, offset: u64, buffer: &mut [u8]) -> Result<usize> {
        self.reads.lock().unwrap().push((offset, buffer.len() as u64));
        let rest = self.bytes.get(offset as usize..).unwrap_or_default();
        let n = rest.len().min(buffer.len());
        buffer[..n].copy_from_slice(&rest[..n]);
        Ok(n)
    }
    fn size(&self) -> Result<u64> {
        Ok(self.bytes.len() as u64)
    }
    fn path(&self) -> &Path {
        &self.path
    }
    fn prefetch(&self, offset: u64, length: u64) -> bool {
        self.announced.lock().unwrap().push((offset, length));
        true
    }
}

/// Scans a table of 4000 entries from its start with `ctx`, up to the bound if there is one. Returns the
/// reads and the prefetches.
fn scan(ctx: &ReadCtx, pace: Option<Pace>) -> (Vec<(u64, u64)>, Vec<(u64, u64)>, Pace) {
    let users: Vec<Vec<u8>> = (0..4000).map(|i| format!("key{i:04}").into_bytes()).collect();
    let (bytes, read) = table(Order::Bytewise, None, &users);
    let size = bytes.len() as u64;
    let (reads, announced) = (Mutex::default(), Mutex::default());
    let file = Arc::new(Recording { bytes, path: "/t.sst".into(), reads, announced });
    let reader = Arc::new(Reader::open(file.clone(), size, &read).unwrap());
    file.reads.lock().unwrap().clear();
    let mut iter = reader.iter(ctx);
    if let Some(pace) = pace {
        iter.keep_pace(pace);
    }
    iter.seek_to_first();
    let within =
        |iter: &TableIter| ctx.upper_bound.as_ref().is_none_or(|bound| user_key(iter.key()) < &bound[..]);
    while iter.valid() && within(&iter) {
        iter.next();
    }
    iter.status().unwrap();
    let (reads, announced) = (file.reads.lock().unwrap().clone(), file.announced.lock().unwrap().clone());
    (reads, announced, iter.pace())
}

#[test]
fn reading_ahead_stops_at_the_block_with_the_upper_bound() {
    let bound = |auto_readahead_size, readahead_size| ReadCtx {
        upper_bound: Some(b"key0500".to_vec()),
        auto_readahead_size,
        readahead_size,
        ..ReadCtx::default()
    };
    for readahead_size in [0, 100_000] {
        let bytes =
            |trimmed| scan(&bound(trimmed, readahead_size), None).0.iter().map(|(_, len)| len).sum::<u64>();
        let (trimmed, whole) = (bytes(true), bytes(false));
        // 500 entries of a little more than 40 bytes each, plus at most one block.
        assert!(
            trimmed < 500 * 70 && trimmed + 1000 < whole,
            "{trimmed} and {whole} bytes, {readahead_size} ahead"
        );
    }
}

#[test]
fn a_pace_handed_over_saves_the_next_table_the_slow_start() {
    let (first, _, pace) = scan(&ReadCtx::default(), None);
    let (second, _, _) = scan(&ReadCtx::default(), Some(pace));
    assert!(second.len() + 3 < first.len(), "{} reads, then {}", first.len(), second.len());
    assert!(second[0].1 > first[0].1);
}

#[test]
fn a_compaction_leaves_what_is_far_ahead_to_the_system() {
    let ctx = |for_compaction| ReadCtx { readahead_size: 2 << 20, for_compaction, ..ReadCtx::default() };
    let (whole, announced, _) = scan(&ctx(false), None);
    assert_eq!((whole.len(), announced.len()), (1, 0), "one window holds the table");
    let (parts, announced, _) = scan(&ctx(true), None);
    assert_eq!(announced, whole, "the system is asked once for what the window held");
    assert!(parts.len() > 1 && parts.iter().all(|(_, len)| *len < 140 << 10), "{parts:?}");
    for pair in parts.windows(2) {
        let [(at, len), (next, next_len)] = [pair[0], pair[1]];
        let end = at + len;
        assert!(
            at < next && next <= end && end < next + next_len,
            "the cut block, and what follows: {parts:?}"
        );
    }
}

#[test]
fn with_async_io_what_follows_the_window_is_announced() {
    let (plain, none, _) = scan(&ReadCtx::default(), None);
    let (reads, announced, _) = scan(&ReadCtx { async_io: true, ..ReadCtx::default() }, None);
    assert_eq!((plain, none.len()), (reads.clone(), 0));
    assert!(!announced.is_empty());
    // Each prefetched range is within a later read. That read starts with the block at which the prefetch
    // started.
    for (offset, len) in announced {
        assert!(
            reads.iter().any(|&(at, n)| at <= offset && offset + len <= at + n),
            "{offset}+{len} in {reads:?}"
        );
    }
}

#[test]
fn a_multi_get_that_has_begun_has_announced_each_block_and_read_none() {
    let users: Vec<Vec<u8>> = (0..4000).map(|i| format!("key{i:04}").into_bytes()).collect();
    let (bytes, read) = table(Order::Bytewise, None, &users);
    let size = bytes.len() as u64;
    let (reads, announced) = (Mutex::default(), Mutex::default());
    let file = Arc::new(Recording { bytes, path: "/t.sst".into(), reads, announced });
    let reader = Reader::open(file.clone(), size, &read).unwrap();
    file.reads.lock().unwrap().clear();
    let keys: Vec<Vec<u8>> =
        users.iter().step_by(100).map(|user| seek_key(user, SequenceNumber::new(9))).collect();
    let keys: Vec<&[u8]> = keys.iter().map(Vec::as_slice).collect();
    let ctx = ReadCtx::default();
    for announces in [false, true] {
        let begun = reader.begin_multi_get(&keys, &ctx, announces).unwrap();
        let read_first: u64 = file.reads.lock().unwrap().iter().map(|(_, len)| len).sum();
        assert_eq!(read_first, 0, "the filter and the index are in memory");
        let announced = std::mem::take(&mut *file.announced.lock().unwrap());
        let mut found = vec![false; keys.len()];
        let failed = reader.finish_multi_get(begun, &keys, &ctx, |i, entry| {
            found[i] = entry.user_key == user_key(keys[i]);
            ControlFlow::Break(())
        });
        assert!(failed.is_empty() && found == vec![true; keys.len()]);
        let read = std::mem::take(&mut *file.reads.lock().unwrap());
        assert_eq!(read.len(), keys.len(), "each key is in a block of its own");
        assert_eq!(announced, if announces { read } else { Vec::new() });
    }
}

/// Returns a table of a hundred blocks, and a cache of one shard with room for some of the blocks.
fn cached(kind: Kind, capacity: usize) -> (Arc<Reader>, Arc<BlockCache>) {
    let users: Vec<Vec<u8>> = (0..200).map(|i| format!("key {i:03}").into_bytes()).collect();
    let (bytes, mut read) = table(Order::Bytewise, None, &users);
    let options = CacheOptions { kind, num_shard_bits: 0, ..CacheOptions::hyper_clock(capacity) };
    let cache = BlockCache::new(options).unwrap();
    read.cache = Some(cache.clone());
    (open("/t.sst", bytes, &read).unwrap(), cache)
}

const KINDS: [Kind; 2] = [
    Kind::HyperClock { estimated_entry_charge: 0 },
    Kind::Lru { high_pri_pool_ratio: 0.5, low_pri_pool_ratio: 0.0 },
];

fn look_up(reader: &Reader, ctx: &ReadCtx) -> Result<()> {
    reader.get(&seek_key(b"key 050", SequenceNumber::new(9)), ctx, |_| ControlFlow::Break(()))
}

#[test]
fn reads_that_do_not_fill_the_cache_leave_it_as_it_is() {
    for kind in KINDS {
        let (reader, cache) = cached(kind, 1 << 20);
        let ctx = ReadCtx { fill_cache: false, ..ReadCtx::default() };
        look_up(&reader, &ReadCtx::default()).unwrap();
        let filled = cache.usage();
        for _ in 0..3 {
            look_up(&reader, &ctx).unwrap();
            assert!(
                reader
                    .multi_get(&[&seek_key(b"key 050", SequenceNumber::new(9))], &ctx, |_, _| {
                        ControlFlow::Break(())
                    })
                    .is_empty()
            );
            let mut iter = reader.iter(&ctx);
            iter.seek(&seek_key(b"key 050", SequenceNumber::new(9)));
            assert!(iter.valid());
        }
        assert_eq!(cache.usage(), filled);
        look_up(&reader, &ReadCtx::default()).unwrap();
        assert!(cache.usage() > filled, "a search array is charged");
    }
}

#[test]
fn a_large_block_gets_its_search_array_after_more_searches_than_a_small_block() {
    let users: Vec<Vec<u8>> = (0..1500).map(|i| format!("key {i:04}").into_bytes()).collect();
    let large = BlockBasedTableOptions { block_size: 64 << 10, ..BlockBasedTableOptions::default() };
    let written = WriterOptions { table: Arc::new(large), ..WriterOptions::default() };
    let (bytes, _) = write(written, |writer| {
        for user in &users {
            writer.add(&key(user), &[7; 40]).unwrap();
        }
    });
    let cache = BlockCache::new(CacheOptions { num_shard_bits: 0, ..CacheOptions::hyper_clock(8 << 20) });
    let cache = cache.unwrap();
    let read = OpenOptions { cache: Some(cache.clone()), ..options(Order::Bytewise) };
    let reader = open("/t.sst", bytes, &read).unwrap();
    let search = || {
        let found = reader.get(&seek_key(b"key 0050", SequenceNumber::new(9)), &ReadCtx::default(), |_| {
            ControlFlow::Break(())
        });
        found.unwrap();
        cache.usage()
    };
    let loaded = search();
    let searches = (1..100).find(|_| search() != loaded).expect("the block gets an array");
    assert!((4..40).contains(&searches), "an array after {searches} searches of a loaded block");
    let with_array = cache.usage();
    assert_eq!(search(), with_array);
}

#[test]
fn a_block_that_was_searched_twice_outlives_a_scan() {
    for kind in KINDS {
        let (reader, _cache) = cached(kind, 8 << 10);
        look_up(&reader, &ReadCtx::default()).unwrap();
        look_up(&reader, &ReadCtx::default()).unwrap();
        let mut iter = reader.iter(&ReadCtx::default());
        iter.seek(&seek_key(b"key 100", SequenceNumber::new(9)));
        while iter.valid() {
            iter.next();
        }
        look_up(&reader, &ReadCtx { cache_only: true, ..ReadCtx::default() }).unwrap();
    }
}
