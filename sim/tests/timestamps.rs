//! Databases without timestamps in their SST files, between Ironstone and RocksDB.
//!
//! `IRONSTONE_PEER` names RocksDB's library; without the variable each test prints that it was skipped.

#![allow(clippy::disallowed_methods, clippy::disallowed_types, reason = "a rig")]

use std::path::Path;

use ironstone::{Db, FamilyId, Kind, Options, ReadOptions, WriteBatch, WriteOptions};
use peer::{Library, Reading, VARIABLE, Writing};

const FAMILY: &str = "comparator=leveldb.BytewiseComparator.u64ts;persist_user_defined_timestamps=false";

fn options() -> Options {
    let mut options = Options::default();
    options.update("create_if_missing=true;allow_concurrent_memtable_write=false").unwrap();
    options.update(FAMILY).unwrap();
    options
}

fn their_db(library: &Library, path: &Path) -> (peer::Db, peer::Family) {
    let text =
        "create_if_missing=true;allow_concurrent_memtable_write=false;avoid_flush_during_shutdown=true";
    let families = [("default".to_string(), FAMILY.to_string())];
    let (db, mut families) = peer::Db::open(library, path, text, &families, false).unwrap();
    (db, families.remove(0))
}

fn their_put(library: &Library, db: &peer::Db, key: &[u8], timestamp: u64, value: &[u8]) {
    let mut batch = WriteBatch::new();
    batch.put_at(FamilyId::DEFAULT, key, &timestamp.to_le_bytes(), value);
    db.write(&peer::Batch::from_bytes(library, batch.bytes()), Writing::default()).unwrap();
}

fn their_get(db: &peer::Db, family: &peer::Family, key: &[u8], timestamp: u64) -> Option<Vec<u8>> {
    let reading = Reading { timestamp: Some(timestamp.to_le_bytes().to_vec()), ..Reading::default() };
    db.get(family, key, &reading).unwrap()
}

fn our_get(db: &Db, key: &[u8], timestamp: u64) -> Result<Option<Vec<u8>>, Kind> {
    let options = ReadOptions { timestamp: Some(timestamp.to_le_bytes().to_vec()), ..ReadOptions::default() };
    db.get_with(key, &options).map(|value| value.map(|v| v.to_vec())).map_err(|error| error.kind())
}

#[test]
fn they_read_our_files_and_our_wal() {
    let Some(library) = Library::for_test(std::env::var_os(VARIABLE)) else { return };
    let scratch = tempfile::tempdir().unwrap();
    {
        let mut options = options();
        options.db.avoid_flush_during_shutdown = true;
        let db = Db::open(scratch.path(), options).unwrap();
        for (key, time, value) in [(b"a", 1u64, b"a1"), (b"a", 3, b"a3"), (b"b", 2, b"b2")] {
            db.put_with_ts(key, &time.to_le_bytes(), value, &WriteOptions::default()).unwrap();
        }
        db.delete_range_with_ts(b"b", b"c", &4u64.to_le_bytes(), &WriteOptions::default()).unwrap();
        db.flush().unwrap();
        db.put_with_ts(b"a", &7u64.to_le_bytes(), b"a7", &WriteOptions::default()).unwrap();
        db.close().unwrap();
    }
    let (theirs, family) = their_db(&library, scratch.path());
    // The open of RocksDB flushed the WAL, so history before timestamp 8 is gone.
    assert_eq!(their_get(&theirs, &family, b"a", 8).unwrap(), b"a7");
    assert_eq!(their_get(&theirs, &family, b"b", 9), None);
}

#[test]
fn we_read_their_files_and_their_wal_and_continue() {
    let Some(library) = Library::for_test(std::env::var_os(VARIABLE)) else { return };
    let scratch = tempfile::tempdir().unwrap();
    {
        let (theirs, family) = their_db(&library, scratch.path());
        their_put(&library, &theirs, b"a", 1, b"a1");
        their_put(&library, &theirs, b"a", 3, b"a3");
        their_put(&library, &theirs, b"b", 2, b"b2");
        theirs.flush(std::slice::from_ref(&family)).unwrap();
        their_put(&library, &theirs, b"a", 7, b"a7");
    }
    {
        let ours = Db::open_read_only(scratch.path(), options()).unwrap();
        assert_eq!(ours.full_history_ts_low(), Some(4u64.to_le_bytes().to_vec()));
        assert_eq!(our_get(&ours, b"a", 2), Err(Kind::InvalidArgument));
        assert_eq!(our_get(&ours, b"a", 5), Ok(Some(b"a3".to_vec())));
        assert_eq!(our_get(&ours, b"a", 7), Ok(Some(b"a7".to_vec())));
        assert_eq!(our_get(&ours, b"b", 7), Ok(Some(b"b2".to_vec())));
    }
    let ours = Db::open(scratch.path(), options()).unwrap();
    assert_eq!(our_get(&ours, b"a", 8), Ok(Some(b"a7".to_vec())));
    ours.put_with_ts(b"b", &9u64.to_le_bytes(), b"b9", &WriteOptions::default()).unwrap();
    ours.flush().unwrap();
    ours.compact_range(None, None, &Default::default()).unwrap();
    ours.close().unwrap();
    drop(ours);
    let (theirs, family) = their_db(&library, scratch.path());
    assert_eq!(their_get(&theirs, &family, b"a", 10).unwrap(), b"a7");
    assert_eq!(their_get(&theirs, &family, b"b", 10).unwrap(), b"b9");
}

const PLAIN: &str = "comparator=leveldb.BytewiseComparator";

/// Keys around the length of a timestamp, two of each length.
fn keys() -> Vec<Vec<u8>> {
    let key = |(len, last): (usize, u8)| [vec![b'u'; len - 1], vec![last]].concat();
    [1, 7, 8, 9, 20].into_iter().flat_map(|len| [(len, b'1'), (len, b'2')]).map(key).collect()
}

fn their_plain_db(library: &Library, path: &Path) -> (peer::Db, peer::Family) {
    let text =
        "create_if_missing=true;allow_concurrent_memtable_write=false;avoid_flush_during_shutdown=true";
    let families = [("default".to_string(), PLAIN.to_string())];
    let (db, mut families) = peer::Db::open(library, path, text, &families, false).unwrap();
    (db, families.remove(0))
}

/// Writes keys without timestamps: one half is flushed, the other half is in the WAL.
fn their_plain_keys(library: &Library, path: &Path) {
    let (db, family) = their_plain_db(library, path);
    for (at, key) in keys().iter().enumerate() {
        if at == keys().len() / 2 {
            db.flush(std::slice::from_ref(&family)).unwrap();
        }
        db.put(&family, key, b"old", Writing::default()).unwrap();
    }
}

fn our_plain_keys(path: &Path) {
    let mut options = options();
    options.update(PLAIN).unwrap();
    options.update("persist_user_defined_timestamps=true;avoid_flush_during_shutdown=true").unwrap();
    let db = Db::open(path, options).unwrap();
    for (at, key) in keys().iter().enumerate() {
        if at == keys().len() / 2 {
            db.flush().unwrap();
        }
        db.put(key, b"old").unwrap();
    }
    db.close().unwrap();
}

#[test]
fn both_turn_timestamps_on_over_files_of_the_other() {
    let Some(library) = Library::for_test(std::env::var_os(VARIABLE)) else { return };
    for ours_first in [false, true] {
        let scratch = tempfile::tempdir().unwrap();
        match ours_first {
            true => our_plain_keys(scratch.path()),
            false => their_plain_keys(&library, scratch.path()),
        }
        if ours_first {
            let (theirs, family) = their_db(&library, scratch.path());
            for key in keys() {
                assert_eq!(their_get(&theirs, &family, &key, 1).as_deref(), Some(&b"old"[..]));
                their_put(&library, &theirs, &key, 5, b"new");
            }
        }
        {
            let mut options = options();
            options.db.avoid_flush_during_shutdown = true;
            let ours = Db::open(scratch.path(), options).unwrap();
            for key in keys() {
                let expected = if ours_first { b"new" } else { b"old" };
                assert_eq!(our_get(&ours, &key, 9), Ok(Some(expected.to_vec())));
                ours.put_with_ts(&key, &9u64.to_le_bytes(), b"newer", &WriteOptions::default()).unwrap();
            }
            ours.close().unwrap();
        }
        let (theirs, family) = their_db(&library, scratch.path());
        for key in keys() {
            assert_eq!(their_get(&theirs, &family, &key, 10).as_deref(), Some(&b"newer"[..]));
        }
    }
}

#[test]
fn both_turn_timestamps_off_over_files_of_the_other() {
    let Some(library) = Library::for_test(std::env::var_os(VARIABLE)) else { return };
    let scratch = tempfile::tempdir().unwrap();
    {
        let (theirs, family) = their_db(&library, scratch.path());
        for (at, key) in keys().iter().enumerate() {
            if at == keys().len() / 2 {
                theirs.flush(std::slice::from_ref(&family)).unwrap();
            }
            their_put(&library, &theirs, key, 3, b"old");
        }
    }
    let mut plain = options();
    plain.update(PLAIN).unwrap();
    plain.update("persist_user_defined_timestamps=true").unwrap();
    {
        let ours = Db::open(scratch.path(), plain.clone()).unwrap();
        for key in keys() {
            assert_eq!(ours.get(&key).unwrap().as_deref(), Some(&b"old"[..]));
        }
        ours.compact_range(None, None, &Default::default()).unwrap();
        ours.close().unwrap();
    }
    {
        let mut stamped = options();
        stamped.db.avoid_flush_during_shutdown = true;
        let ours = Db::open(scratch.path(), stamped).unwrap();
        for key in keys() {
            assert_eq!(our_get(&ours, &key, 9), Ok(Some(b"old".to_vec())));
            ours.put_with_ts(&key, &9u64.to_le_bytes(), b"new", &WriteOptions::default()).unwrap();
        }
        ours.close().unwrap();
    }
    let (theirs, family) = their_plain_db(&library, scratch.path());
    for key in keys() {
        let found = theirs.get(&family, &key, &Reading::default()).unwrap();
        assert_eq!(found.as_deref(), Some(&b"new"[..]));
    }
}
