//! Column families whose SST files have no timestamps (`persist_user_defined_timestamps=false`).

use ironstone::{Db, Family, Kind, Options, ReadOptions, WriteOptions};

const TEXT: &str = "comparator=leveldb.BytewiseComparator.u64ts;persist_user_defined_timestamps=false;\
                    disable_auto_compactions=true;merge_operator=stringappend";

fn options(text: &str) -> Options {
    let mut options = Options::in_memory();
    options.update("allow_concurrent_memtable_write=false").unwrap();
    options.update(text).unwrap();
    options
}

fn put(db: &Family, key: &[u8], ts: u64, value: &[u8]) {
    db.put_with_ts(key, &ts.to_le_bytes(), value, &WriteOptions::default()).unwrap();
}

fn at(ts: u64) -> ReadOptions {
    ReadOptions { timestamp: Some(ts.to_le_bytes().to_vec()), ..ReadOptions::default() }
}

fn get(db: &Family, key: &[u8], ts: u64) -> Result<Option<String>, Kind> {
    let found = db.get_with(key, &at(ts)).map_err(|error| error.kind())?;
    Ok(found.map(|value| String::from_utf8(value.to_vec()).unwrap()))
}

fn some(text: &str) -> Result<Option<String>, Kind> {
    Ok(Some(text.to_string()))
}

#[test]
fn a_flush_keeps_the_newest_entry_and_raises_the_oldest_readable_timestamp() {
    let options = options(TEXT);
    let db = Db::open("data", options.clone()).unwrap();
    assert_eq!(db.newest_timestamp().unwrap(), None);
    put(&db, b"a", 1, b"a1");
    put(&db, b"a", 5, b"a5");
    put(&db, b"b", 2, b"b2");
    db.merge_with_ts(b"m", &3u64.to_le_bytes(), b"x", &WriteOptions::default()).unwrap();
    db.merge_with_ts(b"m", &4u64.to_le_bytes(), b"y", &WriteOptions::default()).unwrap();
    put(&db, b"d", 1, b"gone");
    db.delete_range_with_ts(b"d", b"e", &3u64.to_le_bytes(), &WriteOptions::default()).unwrap();
    assert_eq!(get(&db, b"a", 3), some("a1"));
    db.flush().unwrap();
    let check = |db: &Db| {
        assert_eq!(db.full_history_ts_low(), Some(6u64.to_le_bytes().to_vec()));
        assert_eq!(get(db, b"a", 3), Err(Kind::InvalidArgument));
        assert_eq!(get(db, b"a", 6), some("a5"));
        assert_eq!(get(db, b"b", 6), some("b2"));
        assert_eq!(get(db, b"m", 6), some("x,y"));
        assert_eq!(get(db, b"d", 6), Ok(None));
        assert_eq!(db.newest_timestamp().unwrap(), Some(5u64.to_le_bytes().to_vec()));
        let mut iter = db.iter_with(at(9)).unwrap();
        let mut keys = Vec::new();
        iter.seek_to_last();
        while iter.valid() {
            assert_eq!(iter.timestamp(), [0; 8]);
            keys.push(iter.key().to_vec());
            iter.prev();
        }
        assert_eq!(keys, [b"m", b"b", b"a"]);
    };
    check(&db);
    drop(db);
    let db = Db::open("data", options).unwrap();
    check(&db);
    put(&db, b"a", 8, b"a8");
    assert_eq!((get(&db, b"a", 7), get(&db, b"a", 8)), (some("a5"), some("a8")));
    assert_eq!(db.newest_timestamp().unwrap(), Some(8u64.to_le_bytes().to_vec()));
    db.flush().unwrap();
    db.compact_range(None, None, &Default::default()).unwrap();
    assert_eq!(get(&db, b"a", 9), some("a8"));
    let files = db.live_files();
    let properties = ironstone::SstFileReader::open(&files[0].path, &options_of(&db)).unwrap().properties();
    assert_eq!(properties.user_defined_timestamps_persisted, 0);
}

fn options_of(db: &Db) -> Options {
    let mut options = options(TEXT);
    options.db.env = db.db_options().env.clone();
    options
}

#[test]
fn wal_replay_restores_timestamps_and_a_flush_at_the_open_raises_the_mark() {
    let mut options = options(TEXT);
    options.db.avoid_flush_during_shutdown = true;
    options.db.avoid_flush_during_recovery = true;
    let db = Db::open("data", options.clone()).unwrap();
    put(&db, b"a", 1, b"a1");
    put(&db, b"a", 5, b"a5");
    drop(db);
    let db = Db::open("data", options.clone()).unwrap();
    assert_eq!((get(&db, b"a", 3), get(&db, b"a", 5)), (some("a1"), some("a5")));
    drop(db);
    options.db.avoid_flush_during_recovery = false;
    for _ in 0..2 {
        let db = Db::open("data", options.clone()).unwrap();
        assert_eq!(get(&db, b"a", 3), Err(Kind::InvalidArgument));
        assert_eq!(get(&db, b"a", 6), some("a5"));
    }
}

#[test]
fn automatic_flushes_wait_while_the_application_wants_the_timestamps() {
    let mut options = options(TEXT);
    options.update("write_buffer_size=65536;max_write_buffer_number=8").unwrap();
    let db = Db::open("data", options).unwrap();
    db.increase_full_history_ts_low(&10u64.to_le_bytes()).unwrap();
    for i in 0..100u32 {
        put(&db, &i.to_be_bytes(), 20, &[b'v'; 1000]);
    }
    let waiting = || db.int_property("rocksdb.num-immutable-mem-table").unwrap();
    assert!(waiting() > 0);
    assert_eq!(db.live_files().len(), 0);
    assert_eq!(get(&db, &5u32.to_be_bytes(), 15), Ok(None));
    db.increase_full_history_ts_low(&30u64.to_le_bytes()).unwrap();
    db.wait_for_compact().unwrap();
    assert_eq!(waiting(), 0);
    assert!(!db.live_files().is_empty());
}

#[test]
fn timestamps_are_turned_on_and_off_over_existing_files() {
    let mut plain = options("comparator=leveldb.BytewiseComparator");
    plain.db.avoid_flush_during_shutdown = false;
    let db = Db::open("data", plain.clone()).unwrap();
    db.put(b"a", b"1").unwrap();
    db.put(b"b", b"1").unwrap();
    db.flush().unwrap();
    drop(db);

    let mut stamped = plain.clone();
    stamped.update("comparator=leveldb.BytewiseComparator.u64ts").unwrap();
    assert_eq!(Db::open("data", stamped.clone()).err().unwrap().kind(), Kind::InvalidArgument);
    stamped.update("persist_user_defined_timestamps=false").unwrap();
    let db = Db::open("data", stamped.clone()).unwrap();
    assert_eq!(get(&db, b"a", 0), some("1"));
    put(&db, b"a", 4, b"2");
    assert_eq!((get(&db, b"a", 3), get(&db, b"a", 4)), (some("1"), some("2")));
    db.flush().unwrap();
    drop(db);
    let mut persisted = stamped.clone();
    persisted.update("persist_user_defined_timestamps=true").unwrap();
    assert_eq!(Db::open("data", persisted).err().unwrap().kind(), Kind::InvalidArgument);

    let db = Db::open("data", plain).unwrap();
    assert_eq!(db.get(b"a").unwrap().as_deref(), Some(&b"2"[..]));
    assert_eq!(db.get(b"b").unwrap().as_deref(), Some(&b"1"[..]));
}

#[test]
fn options_that_rocksdb_refuses_with_it_are_refused() {
    for text in ["allow_concurrent_memtable_write=true", "atomic_flush=true"] {
        let mut options = options(TEXT);
        options.update(text).unwrap();
        assert_eq!(Db::open("data", options).err().unwrap().kind(), Kind::NotSupported, "{text}");
    }
    let db = Db::open("data", options("")).unwrap();
    assert_eq!(db.newest_timestamp().unwrap_err().kind(), Kind::InvalidArgument);
}

#[test]
fn a_flush_brings_no_deleted_value_back_if_the_timestamps_of_a_key_go_back() {
    let db = Db::open("data", options(TEXT)).unwrap();
    for key in [&b"b"[..], b"bbbbbbbbb"] {
        put(&db, key, 9, b"deleted");
    }
    db.delete_range_with_ts(b"a", b"z", &10u64.to_le_bytes(), &WriteOptions::default()).unwrap();
    for key in [&b"b"[..], b"bbbbbbbbb"] {
        put(&db, key, 4, b"older");
        assert_eq!(get(&db, key, 20), Ok(None));
    }
    db.flush().unwrap();
    for key in [&b"b"[..], b"bbbbbbbbb"] {
        assert_eq!(get(&db, key, 20), Ok(None));
    }
}
