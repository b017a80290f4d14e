//! Databases that Ironstone writes with `compat` under the library of the named release, and back.
//!
//! `IRONSTONE_RELEASES` is a folder with libraries `librocksdb-X.Y.Z.so` of older releases; `.ci/fetch-releases` makes the
//! folder. Two releases in one process would share static objects, so each library gets a process.

use std::collections::BTreeMap;
use std::path::{Path, PathBuf};
use std::process::Command;

use ironstone::{Db, Family, FamilyDescriptor, Iter, Options, ReadOptions, WriteBatch};

const LIBRARY: &str = "IRONSTONE_RELEASE_LIBRARY";
const NAME: &str = "releases::every_release_opens_reads_and_writes_what_compat_writes";

/// The first releases whose C interface loads OPTIONS files.
const OLDEST: (u32, u32) = (7, 5);

/// The sets of options, each with the first release that has all of its options.
const SETS: &[((u32, u32), &str)] = &[
    (OLDEST, ""),
    (
        OLDEST,
        "compression=kLZ4Compression;block_based_table_factory={format_version=5;filter_policy=bloomfilter:10:false;\
         index_type=kTwoLevelIndexSearch;partition_filters=true;metadata_block_size=512};prefix_extractor=rocksdb.FixedPrefix.3",
    ),
    (
        OLDEST,
        "compression=kZSTD;compression_opts={max_dict_bytes=4096;zstd_max_train_bytes=16384};\
         block_based_table_factory={filter_policy=ribbonfilter:10;checksum=kXXH3;data_block_index_type=kDataBlockBinaryAndHash}",
    ),
    (OLDEST, "compaction_style=kCompactionStyleUniversal;num_levels=4;compression=kZlibCompression"),
    (OLDEST, "enable_blob_files=true;min_blob_size=100;blob_compression_type=kLZ4Compression"),
    (OLDEST, "recycle_log_file_num=2;wal_compression=kZSTD;track_and_verify_wals_in_manifest=true"),
    (OLDEST, "comparator=rocksdb.ReverseBytewiseComparator;memtable_whole_key_filtering=true"),
    ((9, 11), "track_and_verify_wals=true;compression=kSnappyCompression"),
];

type Rows = BTreeMap<String, Vec<(Vec<u8>, Vec<u8>)>>;

#[test]
fn every_release_opens_reads_and_writes_what_compat_writes() {
    if let Some(library) = std::env::var_os(LIBRARY).map(PathBuf::from) {
        let index = std::env::var("IRONSTONE_RELEASE_SET").unwrap().parse::<usize>().unwrap();
        return visit(&library, SETS[index].1);
    }
    let Some(folder) = std::env::var_os("IRONSTONE_RELEASES").map(PathBuf::from) else {
        eprintln!("SKIPPED {NAME}: set IRONSTONE_RELEASES to a folder with libraries of RocksDB");
        return;
    };
    let mut libraries: Vec<_> = std::fs::read_dir(folder).unwrap().map(|e| e.unwrap().path()).collect();
    libraries.sort();
    let mut visits = 0;
    for library in &libraries {
        let Some(release) = release_of(library).filter(|release| *release >= OLDEST) else { continue };
        for (index, (since, set)) in SETS.iter().enumerate().filter(|(_, (since, _))| *since <= release) {
            let test = std::env::current_exe().unwrap();
            let child = Command::new(test)
                .args(["--exact", NAME])
                .env(LIBRARY, library)
                .env("IRONSTONE_RELEASE_SET", index.to_string())
                .output()
                .unwrap();
            let words = String::from_utf8_lossy(&child.stdout);
            assert!(child.status.success(), "{library:?} since {since:?}, options {set:?}\n{words}");
            visits += 1;
        }
    }
    assert!(visits > 0, "no library of release 7.5 or newer");
    println!("{visits} databases were read and written by their release");
}

/// Returns the release in the name `librocksdb-X.Y.Z.so`.
fn release_of(library: &Path) -> Option<(u32, u32)> {
    let name = library.file_name()?.to_str()?.strip_prefix("librocksdb-")?;
    let mut numbers = name.split('.');
    Some((numbers.next()?.parse().ok()?, numbers.next()?.parse().ok()?))
}

/// Writes a database for the release, lets the release read and write the database, and reads the database again.
fn visit(library: &Path, set: &str) {
    let (major, minor) = release_of(library).unwrap();
    let scratch = tempfile::tempdir().unwrap();
    let dir = scratch.path().join("db");
    let mut options = Options::default();
    options
        .update(
            "create_if_missing=true;create_missing_column_families=true;avoid_flush_during_shutdown=true;\
             merge_operator=stringappend;write_buffer_size=65536;max_bytes_for_level_base=100000",
        )
        .unwrap();
    options.update(set).unwrap();
    options.update(&format!("compat={major}.{minor}")).unwrap();
    let open = || {
        let other = FamilyDescriptor::new("other", options.family.clone());
        let db = Db::open_with_families(&dir, options.clone(), vec![other]).unwrap();
        let families = [db.default_family(), db.family("other").unwrap()];
        (db, families)
    };
    let (db, families) = open();
    fill(&db, &families);
    let mut rows = rows_of(&families);
    drop(families);
    db.close().unwrap();
    drop(db);
    let row = (&b"\xf0by the release"[..], &b"a value"[..]);
    let theirs = peer::visit(library, &dir, row).unwrap_or_else(|words| panic!("{words}"));
    assert!(theirs == rows, "the release reads other rows: {:?}", theirs.keys());
    for own in rows.values_mut() {
        let at = match set.contains("ReverseBytewise") {
            true => 0,
            false => own.len(),
        };
        own.insert(at, (row.0.to_vec(), row.1.to_vec()));
    }
    let (db, families) = open();
    assert!(rows_of(&families) == rows, "Ironstone reads other rows after the release");
    drop(families);
    db.close().unwrap();
}

/// Writes puts, merges, deletions and range deletions into SST files of several levels, and some into the WAL only.
fn fill(db: &Db, families: &[Family]) {
    for round in 0..4u32 {
        for family in families {
            let mut batch = WriteBatch::new();
            for i in 0..400u32 {
                let key = format!("key{:04}", i * 7 % 400);
                let value = format!("{round}.{i}.").repeat(1 + i as usize % 40);
                match i % 10 {
                    0 => batch.merge_in(family.id(), key.as_bytes(), value.as_bytes()),
                    1 if round > 1 => batch.delete_in(family.id(), key.as_bytes()),
                    _ => batch.put_in(family.id(), key.as_bytes(), value.as_bytes()),
                };
            }
            let deleted = [format!("key{:04}", round * 20), format!("key{:04}", round * 20 + 9)];
            if family.options().comparator.name().starts_with("leveldb") {
                batch.delete_range_in(family.id(), deleted[0].as_bytes(), deleted[1].as_bytes());
            }
            db.write(batch).unwrap();
        }
        match round {
            0 | 2 => families.iter().for_each(|family| family.flush().unwrap()),
            1 => families.iter().for_each(|f| f.compact_range(None, None, &Default::default()).unwrap()),
            // The last round stays in the WAL.
            _ => {}
        }
    }
}

/// Returns all keys of an iterator, with their values.
pub(crate) fn entries(mut iter: Iter) -> Vec<(Vec<u8>, Vec<u8>)> {
    let mut rows = Vec::new();
    iter.seek_to_first();
    while iter.valid() {
        rows.push((iter.key().to_vec(), iter.value().to_vec()));
        iter.next();
    }
    iter.status().unwrap();
    rows
}

fn rows_of(families: &[Family]) -> Rows {
    let rows = families.iter().map(|family| {
        let options = ReadOptions { total_order_seek: true, ..ReadOptions::default() };
        (family.name().to_string(), entries(family.iter_with(options).unwrap()))
    });
    rows.collect()
}
