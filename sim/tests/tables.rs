//! Plain tables, cuckoo tables and the memtables by name, between Ironstone and RocksDB.
//!
//! `IRONSTONE_PEER` names RocksDB's library; without the variable each test prints that it was skipped.

#![allow(clippy::disallowed_methods, clippy::disallowed_types, reason = "a rig")]

use std::collections::BTreeMap;
use std::path::Path;

use ironstone::{CompactRangeOptions, Db, Options, ReadOptions};
use peer::{Compaction, Library, Reading, VARIABLE, Writing};
use testkit::chance::Chance;

type Rows = BTreeMap<Vec<u8>, Vec<u8>>;

/// RocksDB's cuckoo tables need memory maps. RocksDB's hash memtables take no concurrent writers.
const DATABASE: &str = "create_if_missing=true;allow_mmap_reads=true;allow_concurrent_memtable_write=false";

const PLAIN: &[&str] = &[
    "table_factory={id=PlainTable;hash_table_ratio=0}",
    "table_factory={id=PlainTable;hash_table_ratio=0;store_index_in_file=true;user_key_len=8}",
    "prefix_extractor=fixed:3;table_factory={id=PlainTable;index_sparseness=4}",
    "prefix_extractor=fixed:3;table_factory={id=PlainTable;encoding_type=kPrefix;index_sparseness=3}",
    "prefix_extractor=fixed:3;table_factory={id=PlainTable;encoding_type=kPrefix;store_index_in_file=true}",
    "prefix_extractor=fixed:3;bloom_locality=1;table_factory={id=PlainTable;store_index_in_file=true}",
    "prefix_extractor=fixed:3;bloom_locality=1;memtable_factory=prefix_hash:100;table_factory=PlainTable",
    "prefix_extractor=fixed:3;memtable_factory=hash_linkedlist:100;table_factory=PlainTable",
];

const CUCKOO: &[&str] = &[
    "table_factory=CuckooTable",
    "table_factory={id=CuckooTable;use_module_hash=false;identity_as_first_hash=true;cuckoo_block_size=2}",
    "memtable_factory=vector:12;table_factory={id=CuckooTable;hash_table_ratio=0.5}",
];

fn options(family: &str) -> Options {
    let mut options = Options::default();
    options.db.update(DATABASE).unwrap();
    options.family.update(family).unwrap();
    options
}

fn their_db(library: &Library, path: &Path, family: &str) -> (peer::Db, peer::Family) {
    let families = [("default".to_string(), family.to_string())];
    let (db, mut families) = peer::Db::open(library, path, DATABASE, &families, false).unwrap();
    (db, families.remove(0))
}

fn key(n: u64) -> Vec<u8> {
    format!("{:03}{n:05}", n % 37).into_bytes()
}

fn value(chance: &mut Chance) -> Vec<u8> {
    format!("{:020}", chance.below(1 << 40)).into_bytes()
}

/// The next step of a writer.
enum Change {
    Put(Vec<u8>, Vec<u8>),
    Delete(Vec<u8>),
    Flush,
}

fn changes(chance: &mut Chance, rows: &mut Rows) -> Vec<Change> {
    let mut changes = Vec::new();
    for step in 0..600 {
        let key = key(chance.below(500));
        if chance.below(4) == 0 {
            rows.remove(&key);
            changes.push(Change::Delete(key));
        } else {
            let value = value(chance);
            rows.insert(key.clone(), value.clone());
            changes.push(Change::Put(key, value));
        }
        if step % 250 == 249 {
            changes.push(Change::Flush);
        }
    }
    changes
}

fn we_write(db: &Db, changes: Vec<Change>) {
    for change in changes {
        match change {
            Change::Put(key, value) => db.put(&key, &value).unwrap(),
            Change::Delete(key) => db.delete(&key).unwrap(),
            Change::Flush => db.flush().unwrap(),
        }
    }
}

fn they_write(db: &peer::Db, family: &peer::Family, changes: Vec<Change>) {
    for change in changes {
        match change {
            Change::Put(key, value) => db.put(family, &key, &value, Writing::default()).unwrap(),
            Change::Delete(key) => db.delete(family, &key, Writing::default()).unwrap(),
            Change::Flush => db.flush(std::slice::from_ref(family)).unwrap(),
        }
    }
}

fn we_read(db: &Db, rows: &Rows) {
    let ours: Rows = db.range::<[u8], _>(..).map(|row| row.map(|(k, v)| (k, v.to_vec())).unwrap()).collect();
    assert!(ours == *rows);
    let mut iter = db.iter_with(ReadOptions { total_order_seek: true, ..ReadOptions::default() }).unwrap();
    iter.seek_to_last();
    for key in rows.keys().rev() {
        assert_eq!(iter.key(), &key[..]);
        iter.prev();
    }
    assert!(!iter.valid());
    iter.status().unwrap();
    for n in 0..520 {
        assert_eq!(db.get(&key(n)).unwrap().map(|v| v.to_vec()).as_ref(), rows.get(&key(n)));
    }
}

/// RocksDB's iterators over plain tables only go forward from the first key, or inside of one prefix.
fn they_read(db: &peer::Db, family: &peer::Family, rows: &Rows) {
    let mut iter = db.iter(family, &Reading { total_order: true, ..Reading::default() });
    let mut theirs = Rows::new();
    iter.seek_to_first();
    while let Some((key, value)) = iter.row() {
        theirs.insert(key, value);
        iter.next();
    }
    iter.status().unwrap();
    assert!(theirs == *rows);
    for n in 0..520 {
        assert_eq!(db.get(family, &key(n), &Reading::default()).unwrap().as_ref(), rows.get(&key(n)));
    }
}

fn in_turns(library: &Library, family: &str, seed: u64) {
    let scratch = tempfile::tempdir().unwrap();
    let mut chance = Chance::new(seed);
    let mut rows = Rows::new();
    let path = scratch.path().join("db");
    for turn in 0..3 {
        let db = Db::open(&path, options(family)).unwrap();
        we_read(&db, &rows);
        we_write(&db, changes(&mut chance, &mut rows));
        if turn == 1 {
            db.compact_range(None, None, &CompactRangeOptions::default()).unwrap();
        }
        we_read(&db, &rows);
        db.close().unwrap();
        drop(db);
        let (db, handle) = their_db(library, &path, family);
        they_read(&db, &handle, &rows);
        they_write(&db, &handle, changes(&mut chance, &mut rows));
        if turn == 1 {
            db.compact(&handle, None, None, Compaction::default());
        }
        they_read(&db, &handle, &rows);
        drop((db, handle));
    }
}

#[test]
fn plain_tables_go_between_both_in_turns() {
    let Some(library) = Library::for_test(std::env::var_os(VARIABLE)) else { return };
    for (seed, family) in PLAIN.iter().enumerate() {
        eprintln!("{family}");
        in_turns(&library, family, seed as u64);
    }
}

#[test]
fn cuckoo_tables_go_between_both_in_turns() {
    let Some(library) = Library::for_test(std::env::var_os(VARIABLE)) else { return };
    for (seed, family) in CUCKOO.iter().enumerate() {
        eprintln!("{family}");
        in_turns(&library, family, 100 + seed as u64);
    }
}

/// The kind of a file decides how it is read, and the options decide the kind of new files.
#[test]
fn tables_of_all_kinds_are_in_one_database() {
    let scratch = tempfile::tempdir().unwrap();
    let (mut chance, mut rows) = (Chance::new(7), Rows::new());
    let kinds = ["", PLAIN[3], CUCKOO[0], PLAIN[0], CUCKOO[1], "table_factory=AdaptiveTableFactory"];
    for family in kinds {
        let db =
            Db::open(scratch.path(), options(&format!("disable_auto_compactions=true;{family}"))).unwrap();
        we_read(&db, &rows);
        we_write(&db, changes(&mut chance, &mut rows));
        we_read(&db, &rows);
        db.close().unwrap();
    }
}
