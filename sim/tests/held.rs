//! Memory after the close of a database: the close frees all memory of the database.

#![allow(clippy::disallowed_methods, reason = "a program")]

use env::Env;
use ironstone::{CompactRangeOptions, FamilyDescriptor, Options};

#[global_allocator]
static HEAP: ironstone_fuzz::meter::Total = ironstone_fuzz::meter::Total;

/// Opens a database on disk with the threads of the process, runs every kind of work, and closes the database.
fn life(dir: &std::path::Path, compression: &str) {
    let mut options = Options::default();
    options
        .update(&format!(
            "create_if_missing=true;compression={compression};memtable_prefix_bloom_size_ratio=0.1;\
             memtable_whole_key_filtering=true;block_based_table_factory={{block_size=1000;block_cache=1M;\
             filter_policy=bloomfilter:10:false}};"
        ))
        .unwrap();
    options.db.env = Env::posix();
    let families = vec![FamilyDescriptor::new("default", options.family.clone())];
    let db = ironstone::Db::open_with_families(dir, options, families).unwrap();
    for round in 0..3 {
        for key in 0..500 {
            db.put(format!("{key:04}").as_bytes(), format!("{round} {key} ").repeat(20).as_bytes()).unwrap();
        }
        db.flush().unwrap();
    }
    db.compact_range(None, None, &CompactRangeOptions::default()).unwrap();
    for key in 0..500 {
        assert!(db.get(format!("{key:04}").as_bytes()).unwrap().is_some());
    }
    // For the next open to recover.
    db.put(b"last", &[b'v'; 5000]).unwrap();
    db.close().unwrap();
}

#[test]
fn a_closed_database_holds_no_memory() {
    let dir = tempfile::tempdir().unwrap();
    let lives = || {
        ["kZlibCompression", "kZSTD", "kLZ4Compression", "kBZip2Compression"]
            .map(|c| life(&dir.path().join("db"), c))
    };
    // The first life starts threads, looks up names of options, and stores the checksums of verified OPTIONS texts.
    lives();
    let before = ironstone_fuzz::meter::held();
    for round in 0..3 {
        lives();
        let after = ironstone_fuzz::meter::held();
        // A single zlib stream would hold 300 KB.
        assert!(after < before + (16 << 10), "round {round}: {after} bytes held, {before} before");
        assert!(after < 256 << 10, "round {round}: {after} bytes held");
    }
}
