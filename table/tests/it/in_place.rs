//! Data blocks that are read directly into the memory that they keep.

use std::ops::ControlFlow;
use std::path::Path;
use std::sync::atomic::{AtomicBool, AtomicUsize, Ordering};
use std::sync::{Arc, Mutex};

use base::iter::InternalIterator;
use base::key::{append_internal, seek_key};
use base::order::Order;
use base::stats::{HistogramKind, Statistics};
use base::{Result, SequenceNumber, ValueType};
use compress::Compression;
use env::fs::RandomRead;
use ironstone_table::options::BlockBasedTableOptions;
use ironstone_table::sst::{BlockCache, OpenOptions, ReadCtx, Reader, WriterOptions};
use mem::cache::CacheOptions;

use crate::reader_support::{Bytes, check_all_paths, get, options};
use crate::support::write;

/// A file in memory that ends early if `end` is set, and that may reject prefetches.
#[derive(Debug)]
struct Disk {
    file: Bytes,
    end: AtomicUsize,
    rejects: AtomicBool,
    reads: Mutex<Vec<(u64, u64)>>,
    prefetches: Mutex<Vec<(u64, u64)>>,
}

impl RandomRead for Disk {
    fn read_at(&self, offset: u64, buffer: &mut [u8]) -> Result<usize> {
        self.reads.lock().unwrap().push((offset, buffer.len() as u64));
        let got = self.file.read_at(offset, buffer)?;
        Ok(got.min(self.end.load(Ordering::Relaxed).saturating_sub(offset as usize)))
    }
    fn size(&self) -> Result<u64> {
        self.file.size()
    }
    fn path(&self) -> &Path {
        self.file.path()
    }
    fn prefetch(&self, offset: u64, length: u64) -> bool {
        self.prefetches.lock().unwrap().push((offset, length));
        !self.rejects.load(Ordering::Relaxed)
    }
}

fn user(i: usize) -> Vec<u8> {
    format!("key{i:04}").into_bytes()
}

/// Returns a table with one block for each value. The compressor stores a block as it is if the value is random.
fn table(compression: Compression, values: &[Vec<u8>]) -> Vec<u8> {
    let table = BlockBasedTableOptions { block_size: 10, ..BlockBasedTableOptions::default() };
    let mut options = WriterOptions { table: Arc::new(table), ..WriterOptions::default() };
    options.block_compression.kind = compression;
    let (bytes, _) = write(options, |writer| {
        for (i, value) in values.iter().enumerate() {
            let mut key = Vec::new();
            append_internal(&mut key, &user(i), SequenceNumber::new(5), ValueType::Value);
            writer.add(&key, value).unwrap();
        }
    });
    bytes
}

fn opened(bytes: Vec<u8>, cache: usize) -> (Arc<Disk>, Arc<Reader>) {
    opened_with(bytes, cache, None)
}

fn opened_with(
    bytes: Vec<u8>,
    cache: usize,
    statistics: Option<Arc<Statistics>>,
) -> (Arc<Disk>, Arc<Reader>) {
    let size = bytes.len();
    let disk = Disk {
        file: Bytes { path: "/000001.sst".into(), bytes },
        end: AtomicUsize::new(size),
        rejects: AtomicBool::new(false),
        reads: Mutex::default(),
        prefetches: Mutex::default(),
    };
    let disk = Arc::new(disk);
    let cache = (cache > 0).then(|| BlockCache::new(CacheOptions::hyper_clock(cache)).unwrap());
    let read = OpenOptions { cache, statistics, ..options(Order::Bytewise) };
    let reader = Reader::open(disk.clone(), size as u64, &read).unwrap();
    disk.reads.lock().unwrap().clear();
    (disk, Arc::new(reader))
}

fn value_of(reader: &Reader, i: usize) -> Vec<u8> {
    get(reader, &seek_key(&user(i), SequenceNumber::new(9))).remove(0).1
}

fn random(len: usize, seed: usize) -> Vec<u8> {
    let mut state = seed as u64 * 2 + 1;
    let mut next = || {
        state = state.wrapping_mul(6_364_136_223_846_793_005).wrapping_add(1_442_695_040_888_963_407);
        (state >> 56) as u8
    };
    (0..len).map(|_| next()).collect()
}

/// Compressed and uncompressed blocks alternate. The reader expects the compression type of the block before, so each guess is wrong.
#[test]
fn a_wrong_guess_of_the_compression_changes_no_answer() {
    let values: Vec<Vec<u8>> =
        (0..60).map(|i| if i % 2 == 0 { vec![i as u8; 300] } else { random(300, i) }).collect();
    for cache in [0, 4 << 10, 1 << 20] {
        let (_, reader) = opened(table(Compression::Lz4, &values), cache);
        for round in 0..3 {
            for i in 0..values.len() {
                let i = i * 7 % values.len();
                assert_eq!(value_of(&reader, i), values[i], "round {round}, value {i}");
            }
        }
        let rows = check_all_paths(&reader, &Order::Bytewise);
        assert!(rows.iter().map(|(_, value)| value).eq(&values));
        let keys: Vec<Vec<u8>> = (0..60).map(|i| seek_key(&user(i), SequenceNumber::new(9))).collect();
        let keys: Vec<&[u8]> = keys.iter().map(Vec::as_slice).step_by(3).collect();
        let mut found = vec![Vec::new(); keys.len()];
        let failed = reader.multi_get(&keys, &ReadCtx::default(), |i, entry| {
            found[i] = entry.value.to_vec();
            ControlFlow::Break(())
        });
        assert!(failed.is_empty());
        assert!(found.iter().eq(values.iter().step_by(3)));
    }
}

/// The trailer is part of the memory of the block, and each of its bits is checked.
#[test]
fn each_wrong_bit_of_a_block_read_in_place_is_found() {
    let values: Vec<Vec<u8>> = (0..4).map(|i| random(40, i)).collect();
    let bytes = table(Compression::None, &values);
    let (disk, reader) = opened(bytes.clone(), 0);
    assert_eq!(value_of(&reader, 1), values[1]);
    let (offset, len) = disk.reads.lock().unwrap()[0];
    for bit in 0..len as usize * 8 {
        let mut damaged = bytes.clone();
        damaged[offset as usize + bit / 8] ^= 1 << (bit % 8);
        let (_, reader) = opened(damaged, 0);
        assert_eq!(value_of(&reader, 3), values[3], "the next block is expected to be uncompressed");
        let key = seek_key(&user(1), SequenceNumber::new(9));
        let found = reader.get(&key, &ReadCtx::default(), |_| ControlFlow::Break(()));
        assert!(found.unwrap_err().is_corruption(), "bit {bit}");
    }
}

#[test]
fn a_file_that_ends_inside_of_a_block_read_in_place_is_corruption() {
    let values: Vec<Vec<u8>> = (0..4).map(|i| random(40, i)).collect();
    let (disk, reader) = opened(table(Compression::None, &values), 0);
    assert_eq!(value_of(&reader, 0), values[0]);
    assert_eq!(value_of(&reader, 3), values[3]);
    let (offset, len) = *disk.reads.lock().unwrap().last().unwrap();
    disk.end.store((offset + len - 1) as usize, Ordering::Relaxed);
    let key = seek_key(&user(3), SequenceNumber::new(9));
    let error = reader.get(&key, &ReadCtx::default(), |_| ControlFlow::Break(())).unwrap_err();
    assert!(error.is_corruption(), "{error}");
    let text = error.to_string();
    assert!(text.contains("truncated block") && text.contains("000001.sst"), "{text}");
    let failed = reader.multi_get(&[&key], &ReadCtx::default(), |_, _| ControlFlow::Break(()));
    assert!(failed[0].1.to_string().contains("truncated block"), "{}", failed[0].1);
}

/// Reads the table from its start to its end. Returns the reads and the prefetches.
fn scanned(rejects: bool, value_len: usize) -> (Vec<(u64, u64)>, Vec<(u64, u64)>) {
    let values: Vec<Vec<u8>> = (0..40).map(|i| random(value_len, i)).collect();
    let (disk, reader) = opened(table(Compression::None, &values), 0);
    disk.rejects.store(rejects, Ordering::Relaxed);
    let mut iter = reader.iter(&ReadCtx::default());
    iter.seek_to_first();
    for value in &values {
        assert!(iter.valid() && iter.value() == value);
        iter.next();
    }
    assert!(!iter.valid() && iter.status().is_ok());
    (disk.reads.lock().unwrap().clone(), disk.prefetches.lock().unwrap().clone())
}

#[test]
fn a_scan_of_large_blocks_reads_each_block_once_and_lets_the_system_read_ahead() {
    let (reads, prefetches) = scanned(false, 40_000);
    assert_eq!(reads.len(), 40, "each block is read once, and in place: {reads:?}");
    for pair in prefetches.windows(2) {
        assert!(pair[0].0 + pair[0].1 <= pair[1].0, "no byte is prefetched twice: {prefetches:?}");
    }
    let (reads, prefetches) = scanned(true, 40_000);
    assert_eq!(prefetches.len(), 1, "a system that rejects a prefetch is not asked again");
    assert!(reads.len() < 20, "the window reads several blocks at once: {reads:?}");
    let (reads, _) = scanned(false, 4_000);
    assert!(reads.len() < 10, "the window reads several small blocks at once: {reads:?}");
}

/// A jump begins a new read-ahead, although the system has prefetched the end of the file already.
#[test]
fn a_second_scan_of_large_blocks_reads_ahead_again() {
    let values: Vec<Vec<u8>> = (0..40).map(|i| random(40_000, i)).collect();
    let (disk, reader) = opened(table(Compression::None, &values), 0);
    let mut iter = reader.iter(&ReadCtx::default());
    for round in 0..2 {
        disk.prefetches.lock().unwrap().clear();
        iter.seek_to_first();
        while iter.valid() {
            iter.next();
        }
        assert!(disk.prefetches.lock().unwrap().len() > 3, "round {round}");
    }
}

/// At the end of the file, no byte is left to read ahead, and no sample is taken.
#[test]
fn each_prefetch_of_a_compaction_is_one_sample() {
    let values: Vec<Vec<u8>> = (0..40).map(|i| random(40_000, i)).collect();
    let statistics = Arc::new(Statistics::new());
    let (disk, reader) = opened_with(table(Compression::None, &values), 0, Some(statistics.clone()));
    let ctx = ReadCtx { for_compaction: true, readahead_size: 300_000, ..ReadCtx::default() };
    let mut iter = reader.iter(&ctx);
    iter.seek_to_first();
    while iter.valid() {
        iter.next();
    }
    let samples = statistics.histogram_data(HistogramKind::CompactionPrefetchBytes);
    let prefetches = disk.prefetches.lock().unwrap();
    // The first window is read before the reader knows that the blocks are not compressed.
    assert!(prefetches.len() > 3, "{prefetches:?}");
    assert!(samples.min > 0.0, "{samples:?}");
}

#[test]
fn a_read_without_io_starts_no_prefetch() {
    let values: Vec<Vec<u8>> = (0..4).map(|i| random(40_000, i)).collect();
    let (disk, reader) = opened(table(Compression::None, &values), 0);
    assert_eq!(value_of(&reader, 0), values[0]);
    disk.reads.lock().unwrap().clear();
    let ctx = ReadCtx { cache_only: true, readahead_size: 100_000, ..ReadCtx::default() };
    let mut iter = reader.iter(&ctx);
    iter.seek_to_first();
    assert!(!iter.valid() && iter.status().is_err());
    assert!(disk.reads.lock().unwrap().is_empty() && disk.prefetches.lock().unwrap().is_empty());
}
