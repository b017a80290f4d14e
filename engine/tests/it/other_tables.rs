//! Column families with plain tables and cuckoo tables, and memtables that options name.

use std::path::Path;

use env::Env;
use ironstone_engine::batch::WriteBatch;
use ironstone_engine::db::{Db, OpenRequest};
use ironstone_engine::options::file::{ReadConfig, load_latest};
use ironstone_engine::options::{
    CompactRangeOptions, FamilyOptions, FlushOptions, ReadOptions, WriteOptions,
};

use crate::basic::{get, options, put, scan};

const PLAIN: &str = "prefix_extractor=fixed:1;table_factory={id=PlainTable;encoding_type=kPrefix}";
const CUCKOO: &str = "table_factory=CuckooTable";

fn try_open(env: &Env, db: &str, family: &str) -> base::Result<Db> {
    let (mut db_options, mut family_options) = (options(env), FamilyOptions::default());
    db_options.update(db).unwrap();
    family_options.update(family).unwrap();
    Db::open(OpenRequest::new("/db", db_options, family_options))
}

fn open(env: &Env, family: &str) -> Db {
    try_open(env, "", family).unwrap()
}

fn flush(db: &Db) -> base::Result<()> {
    db.flush(&[db.default_family().unwrap()], &FlushOptions::default())
}

#[test]
fn entries_survive_flush_compaction_and_reopen() {
    for family in [PLAIN, CUCKOO, "table_factory={id=PlainTable;store_index_in_file=true}"] {
        let env = Env::memory(1);
        let db = open(&env, family);
        for round in 0..3 {
            for n in 0..50 {
                put(&db, &format!("k{:03}", (n * 7 + round * 20) % 100), &format!("v{round}{n:04}"));
            }
            flush(&db).unwrap();
        }
        let rows = scan(&db);
        assert_eq!(rows.len(), 100);
        let family_handle = db.default_family().unwrap();
        db.compactions().compact_range(&family_handle, None, None, &CompactRangeOptions::default()).unwrap();
        assert_eq!(scan(&db), rows, "{family}");
        db.files().verify_checksum().unwrap();
        drop(family_handle);
        db.close().unwrap();
        drop(db);
        // The file itself has its kind: the options of the next open name another kind.
        for next in ["", family, "table_factory=AdaptiveTableFactory"] {
            let db = open(&env, next);
            assert_eq!(scan(&db), rows, "{family}, {next}");
            assert_eq!(get(&db, &rows[7].0).as_ref(), Some(&rows[7].1));
            assert_eq!(get(&db, "k0"), None);
        }
    }
}

#[test]
fn a_range_deletion_is_refused_before_the_wal() {
    for (family, name) in [(PLAIN, "PlainTable"), (CUCKOO, "CuckooTable")] {
        let env = Env::memory(1);
        let db = open(&env, family);
        put(&db, "a", "1");
        let mut batch = WriteBatch::new();
        batch.delete_range(b"a", b"b");
        let error = db.write(&mut batch, &WriteOptions::default()).unwrap_err();
        assert_eq!(error.kind(), base::Kind::NotSupported);
        let words = format!("DeleteRange not supported for table type {name} in CF default");
        assert!(error.to_string().contains(&words), "{error}");
        put(&db, "b", "2");
        drop(db);
        assert_eq!(scan(&open(&env, family)).len(), 2);
    }
}

#[test]
fn scans_convert_no_tombstones_that_the_table_cannot_hold() {
    for family in ["table_factory=PlainTable", CUCKOO] {
        let env = Env::memory(1);
        let db = open(&env, &format!("{family};min_tombstones_for_range_conversion=2"));
        ["a", "b", "c", "d"].into_iter().for_each(|key| put(&db, key, "1"));
        flush(&db).unwrap();
        let all = db.default_family().unwrap();
        for key in ["a", "b", "c"] {
            db.delete(&all, key.as_bytes(), &WriteOptions::default()).unwrap();
        }
        assert_eq!(scan(&db).len(), 1);
        flush(&db).unwrap_or_else(|error| panic!("{family}: {error}"));
        assert_eq!(scan(&db).len(), 1);
    }
}

#[test]
fn values_that_a_cuckoo_table_cannot_hold_are_in_a_block_based_table() {
    let env = Env::memory(1);
    let db = open(&env, CUCKOO);
    put(&db, "a", "1");
    put(&db, "b", "22");
    flush(&db).unwrap();
    for key in ["c", "d"] {
        put(&db, key, "4");
    }
    flush(&db).unwrap();
    let kinds = |db: &Db| {
        let family = db.default_family().unwrap();
        let tables = db.files().table_properties(&family, None).unwrap();
        let mut kinds: Vec<bool> =
            tables.values().map(|table| table.user("rocksdb.cuckoo.hash.num").is_some()).collect();
        kinds.sort_unstable();
        kinds
    };
    assert_eq!(kinds(&db), [false, true]);
    drop(db);
    let db = open(&env, CUCKOO);
    assert_eq!(get(&db, "b").as_deref(), Some("22"));
    assert_eq!(scan(&db).len(), 4);
    // When the entries fit again, a compaction writes cuckoo tables again.
    put(&db, "b", "2");
    flush(&db).unwrap();
    db.compactions()
        .compact_range(&db.default_family().unwrap(), None, None, &CompactRangeOptions::default())
        .unwrap();
    assert_eq!(kinds(&db), [true]);
    assert_eq!(get(&db, "b").as_deref(), Some("2"));
}

#[test]
fn hash_memtables_keep_the_rules_of_rocksdb() {
    for name in ["prefix_hash:10", "hash_linkedlist:10"] {
        let env = Env::memory(1);
        let family = format!("prefix_extractor=fixed:1;memtable_factory={name}");
        let error = try_open(&env, "", &family).err().unwrap();
        assert!(error.to_string().contains("Memtable doesn't allow concurrent writes"), "{error}");
        let one_writer = "allow_concurrent_memtable_write=false";
        let db = try_open(&env, one_writer, &family).unwrap();
        for key in ["b2", "a1", "b1"] {
            put(&db, key, key);
        }
        let keys = |total_order_seek: bool| {
            let reading = ReadOptions { total_order_seek, ..ReadOptions::default() };
            let mut iter = db.iter(&db.default_family().unwrap(), reading).unwrap();
            let (mut forward, mut backward) = (Vec::new(), Vec::new());
            iter.seek_to_first();
            while iter.valid() {
                forward.push(String::from_utf8(iter.key().to_vec()).unwrap());
                iter.next();
            }
            iter.seek_to_last();
            while iter.valid() {
                backward.insert(0, String::from_utf8(iter.key().to_vec()).unwrap());
                iter.prev();
            }
            assert_eq!(forward, backward);
            forward
        };
        assert_eq!(keys(true), ["a1", "b1", "b2"]);
        assert!(keys(false).is_empty(), "the first key has no bucket");
        let mut iter = db.iter(&db.default_family().unwrap(), ReadOptions::default()).unwrap();
        iter.seek(b"b");
        assert_eq!(iter.key(), b"b1");
        drop((iter, db));
        let kept = |env: &Env| {
            let (_, file) = load_latest(env, Path::new("/db"), &ReadConfig::default()).unwrap();
            file.families[0].1.get("memtable_factory").unwrap()
        };
        assert!(kept(&env).contains("bucket_count=10;"));
        // Without a prefix extractor, RocksDB uses its skip list.
        let db = try_open(&env, one_writer, &format!("memtable_factory={name}")).unwrap();
        assert_eq!(scan(&db).len(), 3);
        drop(db);
        assert_eq!(kept(&env), "SkipListFactory");
    }
}

#[test]
fn a_resident_file_is_charged_to_the_block_cache() {
    let env = Env::memory(1);
    let db = open(&env, PLAIN);
    put(&db, "k", &"v".repeat(100_000));
    flush(&db).unwrap();
    drop(db);
    for (resident, charged) in [("false", false), ("true", true)] {
        let db = try_open(&env, &format!("allow_mmap_reads={resident}"), PLAIN).unwrap();
        let usage =
            db.properties().text(&db.default_family().unwrap(), "rocksdb.block-cache-pinned-usage").unwrap();
        assert_eq!(usage.parse::<u64>().unwrap() > 100_000, charged);
        assert_eq!(get(&db, "k").map(|value| value.len()), Some(100_000));
    }
}

#[test]
fn options_that_a_table_cannot_have_fail_the_open() {
    let env = Env::memory(1);
    for (family, words) in [
        ("table_factory=PlainTable;ttl=100", "TTL is only supported in Block-Based Table format."),
        (
            "table_factory=CuckooTable;periodic_compaction_seconds=9",
            "Periodic Compaction is only supported in Block-Based Table format.",
        ),
        ("table_factory={id=CuckooTable;hash_table_ratio=0}", "hash_table_ratio"),
        ("table_factory={id=PlainTable;hash_table_ratio=-1}", "hash_table_ratio"),
    ] {
        let error = try_open(&env, "", family).err().unwrap();
        assert!(error.to_string().contains(words), "{error}");
    }
}
