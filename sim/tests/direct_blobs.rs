//! Databases with `enable_blob_direct_write`. Ironstone opens databases of RocksDB, closed and as a crash of the process leaves
//! them. RocksDB opens closed databases of Ironstone.
//!
//! `IRONSTONE_PEER` names RocksDB's library; without the variable each test prints that it was skipped.

#![allow(clippy::disallowed_methods, clippy::disallowed_types, reason = "a rig")]

use std::collections::BTreeMap;
use std::path::Path;

use ironstone::{Db, Options, Secondary};
use peer::{Library, VARIABLE, Writing};

type Rows = BTreeMap<Vec<u8>, Vec<u8>>;

const DB: &str = "create_if_missing=true;allow_concurrent_memtable_write=false";
const FAMILY: &str =
    "enable_blob_files=true;enable_blob_direct_write=true;min_blob_size=100;blob_direct_write_partitions=2";

fn options() -> Options {
    let mut options = Options::default();
    options.update("create_if_missing=true;enable_blob_files=true;min_blob_size=100").unwrap();
    options
}

fn value(n: u32) -> Vec<u8> {
    // One value of three is small.
    let len = if n.is_multiple_of(3) { 20 } else { 100 + (n as usize * 37) % 3000 };
    (0..len).map(|at| (n as usize * 31 + at * 7) as u8).collect()
}

fn our_rows(db: &Db) -> Rows {
    db.range::<[u8], _>(..).map(|row| row.map(|(k, v)| (k, v.to_vec())).unwrap()).collect()
}

/// Copies the files of an open database: what a crash of its process leaves.
fn copy(from: &Path, to: &Path) {
    std::fs::create_dir(to).unwrap();
    for entry in std::fs::read_dir(from).unwrap() {
        let entry = entry.unwrap();
        if entry.file_name() != "LOCK" && entry.file_type().unwrap().is_file() {
            std::fs::copy(entry.path(), to.join(entry.file_name())).unwrap();
        }
    }
}

/// The bytes of all WALs. The values of a part that is only in WALs have more than 100,000 bytes.
fn wal_bytes(dir: &Path) -> u64 {
    let entries = std::fs::read_dir(dir).unwrap().map(Result::unwrap);
    let wals = entries.filter(|entry| entry.path().extension().is_some_and(|end| end == "log"));
    wals.map(|wal| wal.metadata().unwrap().len()).sum()
}

/// Writes with RocksDB: a part that is flushed, and a part that is only in a WAL and in blob files. Returns the rows.
fn write(db: &peer::Db, family: &peer::Family, from: u32) -> Rows {
    let mut rows = Rows::new();
    for n in from..from + 300 {
        if n == from + 100 {
            db.flush(std::slice::from_ref(family)).unwrap();
        }
        let key = (n % 250).to_be_bytes();
        db.put(family, &key, &value(n), Writing::default()).unwrap();
        rows.insert(key.to_vec(), value(n));
    }
    rows
}

#[test]
fn we_open_what_a_crash_of_rocksdb_leaves() {
    let Some(library) = Library::for_test(std::env::var_os(VARIABLE)) else { return };
    for compression in ["kNoCompression", "kZSTD", "kLZ4Compression"] {
        let scratch = tempfile::tempdir().unwrap();
        let at = |name: &str| scratch.path().join(name);
        let text = format!("{FAMILY};blob_compression_type={compression}");
        let families = [("default".to_string(), text)];
        let (theirs, family) = peer::Db::open(&library, &at("theirs"), DB, &families, false).unwrap();
        let mut rows = write(&theirs, &family[0], 0);
        let secondary = Secondary::open(at("theirs"), options()).unwrap();
        assert!(our_rows(&secondary.view()) == rows, "a secondary instance, {compression}");
        for n in [7, 1000] {
            let key = [n as u8; 3];
            theirs.put(&family[0], &key, &value(n + 1), Writing::default()).unwrap();
            rows.insert(key.to_vec(), value(n + 1));
            secondary.try_catch_up_with_primary().unwrap();
            assert!(our_rows(&secondary.view()) == rows, "a catch-up, {compression}");
        }
        copy(&at("theirs"), &at("killed"));
        assert!(wal_bytes(&at("killed")) < 40_000, "the WALs have the values, {compression}");
        assert!(our_rows(&Db::open_read_only(at("killed"), options()).unwrap()) == rows, "{compression}");
        let ours = Db::open(at("killed"), options()).unwrap();
        assert!(our_rows(&ours) == rows, "{compression}");
        drop(ours);
        assert!(our_rows(&Db::open(at("killed"), options()).unwrap()) == rows, "{compression}");
        drop((family, theirs));
        assert!(our_rows(&Db::open(at("theirs"), options()).unwrap()) == rows, "closed, {compression}");
    }
}

fn their_rows(library: &Library, dir: &Path, text: &str) -> (Rows, peer::Db, Vec<peer::Family>) {
    let families = [("default".to_string(), text.to_string())];
    let (theirs, family) = peer::Db::open(library, dir, DB, &families, false).unwrap();
    let mut iter = theirs.iter(&family[0], &peer::Reading::default());
    let mut rows = Rows::new();
    iter.seek_to_first();
    while let Some((key, value)) = iter.row() {
        assert_eq!(theirs.get(&family[0], &key, &peer::Reading::default()).unwrap().as_ref(), Some(&value));
        rows.insert(key, value);
        iter.next();
    }
    iter.status().unwrap();
    drop(iter);
    (rows, theirs, family)
}

/// Writes with Ironstone: overwrites, deletions, an entity and a flush. The last entries are only in a memtable.
fn write_ours(db: &Db, from: u32, rows: &mut Rows) {
    for n in from..from + 300 {
        if n == from + 100 {
            db.flush().unwrap();
        }
        let key = (n % 250).to_be_bytes();
        db.put(&key, &value(n)).unwrap();
        rows.insert(key.to_vec(), value(n));
        if n % 17 == 0 {
            db.delete(&key).unwrap();
            rows.remove(&key[..]);
        }
    }
    // RocksDB returns the default column of an entity.
    db.put_entity(b"entity", &[(b"", &value(1000)), (b"more", &value(1001))]).unwrap();
    rows.insert(b"entity".to_vec(), value(1000));
}

#[test]
fn rocksdb_reads_what_we_closed() {
    let Some(library) = Library::for_test(std::env::var_os(VARIABLE)) else { return };
    for compression in ["kNoCompression", "kZSTD", "kLZ4Compression"] {
        let text = format!(
            "{FAMILY};blob_compression_type={compression};blob_file_size=100000;enable_blob_garbage_collection=true;\
             blob_garbage_collection_age_cutoff=0.5"
        );
        let scratch = tempfile::tempdir().unwrap();
        let dir = scratch.path().join("db");
        let mut options = Options::default();
        options
            .update(&format!("{DB};{text};file_checksum_gen_factory=FileChecksumGenCrc32cFactory"))
            .unwrap();
        let mut rows = Rows::new();
        for round in 0..3 {
            let ours = Db::open(&dir, options.clone()).unwrap();
            write_ours(&ours, round * 400, &mut rows);
            assert!(wal_bytes(&dir) < 40_000, "the WALs have the values, {compression}");
            assert!(our_rows(&ours) == rows, "round {round}, {compression}");
            ours.close().unwrap();
            drop(ours);
            let (found, theirs, family) = their_rows(&library, &dir, &text);
            assert!(found == rows, "RocksDB reads {} of {} rows, {compression}", found.len(), rows.len());
            // RocksDB checks the garbage of each blob file when it moves values.
            rows.extend(write(&theirs, &family[0], round * 400 + 350));
            theirs.flush(&family).unwrap();
            if round > 0 {
                theirs.compact(&family[0], None, None, peer::Compaction::default());
            }
            theirs.wait_for_compact().unwrap();
            theirs.verify_checksum().unwrap();
            drop((family, theirs));
            assert!(their_rows(&library, &dir, &text).0 == rows, "after a compaction, {compression}");
        }
        let ours = Db::open(&dir, options).unwrap();
        ours.compact_range(None, None, &ironstone::CompactRangeOptions::default()).unwrap();
        ours.verify_file_checksums().unwrap();
        assert!(our_rows(&ours) == rows, "after the last compaction, {compression}");
    }
}
