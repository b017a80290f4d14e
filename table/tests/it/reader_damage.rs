//! Damaged tables give an error or the right answer, and never a panic.

use std::ops::ControlFlow;
use std::path::Path;

use base::iter::InternalIterator;
use ironstone_table::sst::{OpenOptions, ReadCtx};

use crate::reader_support::{open, options_for};

/// A deterministic random number generator (xorshift).
struct Dice(u64);

impl Dice {
    fn below(&mut self, n: usize) -> usize {
        self.0 ^= self.0 << 13;
        self.0 ^= self.0 >> 7;
        self.0 ^= self.0 << 17;
        (self.0 % n.max(1) as u64) as usize
    }
}

fn golden(database: &str) -> Vec<(String, Vec<u8>, OpenOptions)> {
    let dir = Path::new(env!("CARGO_MANIFEST_DIR")).join("../fixtures/golden").join(database);
    let mut found = Vec::new();
    for entry in std::fs::read_dir(dir).unwrap().flatten() {
        let path = entry.path();
        if path.extension().is_some_and(|e| e == "sst") {
            let bytes = std::fs::read(&path).unwrap();
            let options = options_for(&path, &bytes).unwrap();
            found.push((path.display().to_string(), bytes, options));
        }
    }
    found
}

/// Calls all functions of a reader, with or without checksums.
fn use_up(name: &str, bytes: Vec<u8>, options: &OpenOptions, verify: bool) {
    let Ok(reader) = open(name, bytes, options) else { return };
    let ctx = ReadCtx { verify_checksums: verify, total_order_seek: true, ..ReadCtx::default() };
    let mut iter = reader.iter(&ctx);
    let mut keys = Vec::new();
    iter.seek_to_first();
    // A cycle in corrupt data must not make an endless loop.
    for _ in 0..100_000 {
        if !iter.valid() {
            break;
        }
        keys.push(iter.key().to_vec());
        let _ = (iter.value().len(), iter.pin_value());
        iter.next();
    }
    let _ = iter.status();
    iter.seek_to_last();
    for _ in 0..100_000 {
        if !iter.valid() {
            break;
        }
        iter.prev();
    }
    for key in keys.iter().step_by(7) {
        iter.seek(key);
        iter.seek_for_prev(key);
        let _ = reader.get(key, &ctx, |_| ControlFlow::Continue(()));
        let _ = reader.approximate_offset_of(key, &ctx);
    }
    let keys: Vec<&[u8]> = keys.iter().step_by(5).map(|k| &k[..]).collect();
    let _ = reader.multi_get(&keys, &ctx, |_, _| ControlFlow::Continue(()));
    let _ = reader.verify_checksums(&ctx);
    let _ = reader.anchors(10, &ctx);
}

const KINDS: [&str; 14] = [
    "fv-2",
    "fv-4",
    "fv-7",
    "block-separated-hash",
    "block-hash",
    "index-partitioned",
    "index-first-key-restart",
    "index-partitioned-coupled",
    "filter-ribbon",
    "filter-bloom-legacy",
    "comp-zstd-dict",
    "comp-lz4-dict",
    "ingest-embedded-blobs",
    "cksum-none",
];

#[test]
fn flipped_bytes_never_panic() {
    let mut dice = Dice(0x9e37_79b9_7f4a_7c15);
    for kind in KINDS {
        for (name, bytes, options) in golden(kind).into_iter().take(2) {
            for round in 0..40 {
                let mut bad = bytes.clone();
                for _ in 0..=dice.below(4) {
                    let at = dice.below(bad.len());
                    bad[at] = dice.below(256) as u8;
                }
                use_up(&name, bad, &options, round % 2 == 0);
            }
        }
    }
}

#[test]
fn cut_files_never_panic_and_do_not_open() {
    let mut dice = Dice(12345);
    for kind in KINDS {
        for (name, bytes, options) in golden(kind).into_iter().take(1) {
            for _ in 0..20 {
                let cut = bytes[..dice.below(bytes.len())].to_vec();
                assert!(open(&name, cut, &options).is_err());
            }
            // The file system returns fewer bytes than the length of the file.
            let file = std::sync::Arc::new(crate::reader_support::Bytes {
                path: name.clone().into(),
                bytes: bytes[..bytes.len() / 2].to_vec(),
            });
            assert!(ironstone_table::sst::Reader::open(file, bytes.len() as u64, &options).is_err());
        }
    }
}

#[test]
fn a_damaged_data_block_is_named_by_file_and_offset() {
    let (name, mut bytes, options) = golden("fv-7").remove(0);
    bytes[20] ^= 0x40;
    let reader = open(&name, bytes, &options).unwrap();
    let mut iter = reader.iter(&ReadCtx { total_order_seek: true, ..ReadCtx::default() });
    iter.seek_to_first();
    assert!(!iter.valid());
    let error = iter.status().unwrap_err();
    assert!(error.is_corruption());
    assert_eq!((error.path(), error.offset()), (Some(Path::new(&name)), Some(0)), "{error}");
    assert!(reader.verify_checksums(&ReadCtx::default()).unwrap_err().is_corruption());
}
