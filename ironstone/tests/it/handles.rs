//! Handles that are dropped in any order and on any thread; readers, writers, flushes and compactions at the same
//! time.

use std::sync::Arc;
use std::sync::atomic::{AtomicBool, AtomicU64, Ordering};

use ironstone::{
    CompactRangeOptions, Db, FamilyDescriptor, FamilyOptions, FlushOptions, Options, ReadOptions, WriteBatch,
};

fn small() -> Options {
    let mut options = Options::default();
    options
        .update(
            "create_if_missing=true;write_buffer_size=65536;level0_file_num_compaction_trigger=2;\
             target_file_size_base=20000;max_bytes_for_level_base=40000;max_subcompactions=2;max_background_jobs=4;\
             block_based_table_factory={block_size=500;block_cache=20000;filter_policy=bloomfilter:10:false}",
        )
        .unwrap();
    options
}

fn filled(path: &std::path::Path) -> Db {
    let db = Db::open(path, small()).unwrap();
    for i in 0..500u32 {
        db.put(format!("key{i:05}").as_bytes(), &[i as u8; 100]).unwrap();
    }
    db.flush().unwrap();
    db
}

#[test]
fn iterators_snapshots_families_and_values_outlive_the_database_handle() {
    let scratch = tempfile::tempdir().unwrap();
    let db = filled(scratch.path());
    let family = db.create_family(FamilyDescriptor::new("other", small().family)).unwrap();
    family.put(b"a", b"1").unwrap();
    let snapshot = db.snapshot();
    let mut iter = db.iter().unwrap();
    let value = db.get(b"key00007").unwrap().unwrap();
    let range = db.range(&b"key00010"[..]..&b"key00020"[..]);
    drop(db);
    iter.seek_to_first();
    assert_eq!(iter.key(), b"key00000");
    assert_eq!(snapshot.get(b"key00001").unwrap().as_deref(), Some(&[1; 100][..]));
    family.put(b"b", b"2").unwrap();
    assert_eq!(family.get(b"b").unwrap().as_deref(), Some(&b"2"[..]));
    drop(family);
    drop(snapshot);
    assert_eq!(range.count(), 10);
    drop(iter);
    assert_eq!(&value[..], &[7; 100][..]);
    // Only a value is left, so the directory can be opened again.
    let db = Db::open(scratch.path(), small()).unwrap();
    assert_eq!(db.family("other").unwrap().get(b"b").unwrap().as_deref(), Some(&b"2"[..]));
    drop(value);
}

#[test]
fn handles_of_another_open_are_rejected() {
    let scratch = tempfile::tempdir().unwrap();
    let (a, b) = (filled(&scratch.path().join("a")), filled(&scratch.path().join("b")));
    let of_a = a.create_family(FamilyDescriptor::new("f", small().family)).unwrap();
    let of_b = b.create_family(FamilyDescriptor::new("f", small().family)).unwrap();
    for family in [&of_a, &of_b] {
        family.put(b"k", b"v").unwrap();
        family.flush().unwrap();
    }
    let snapshot = a.snapshot();
    let invalid =
        |error: ironstone::Error| assert_eq!(error.kind(), ironstone::Kind::InvalidArgument, "{error}");
    let check = |b: &Db, of_b: &ironstone::Family| {
        invalid(b.drop_family(&of_a).unwrap_err());
        invalid(b.flush_families(&[of_b.clone(), of_a.clone()], &FlushOptions::default()).unwrap_err());
        invalid(b.enable_auto_compaction(&[of_a.clone()]).unwrap_err());
        invalid(b.get_with(b"key00001", &snapshot.options()).unwrap_err());
        invalid(snapshot.get_in(of_b, b"k").unwrap_err());
        invalid(snapshot.multi_get_in(of_b, &[b"k"]).remove(0).unwrap_err());
        invalid(snapshot.iter_in(of_b).map(drop).unwrap_err());
        assert!(of_b.get(b"k").unwrap().is_some());
    };
    check(&b, &of_b);
    // Handles of an earlier open of the same directory.
    drop(of_b);
    a.close().unwrap();
    let families = vec![FamilyDescriptor::new("f", small().family)];
    let again = Db::open_with_families(scratch.path().join("a"), small(), families).unwrap();
    check(&again, &again.family("f").unwrap());
}

#[test]
fn handles_may_be_dropped_by_other_threads() {
    let scratch = tempfile::tempdir().unwrap();
    for _ in 0..5 {
        let db = filled(scratch.path());
        let (snapshot, mut iter, family) = (db.snapshot(), db.iter().unwrap(), db.default_family());
        let value = db.get(b"key00007").unwrap().unwrap();
        std::thread::scope(|scope| {
            scope.spawn(move || {
                iter.seek_to_last();
                assert!(iter.valid());
                drop(iter);
            });
            scope.spawn(move || drop(snapshot));
            scope.spawn(move || assert_eq!(value.len(), 100));
            scope.spawn(move || drop(family));
            drop(db);
        });
    }
}

#[test]
fn a_closed_database_answers_with_an_error() {
    let scratch = tempfile::tempdir().unwrap();
    let db = filled(scratch.path());
    let (mut iter, snapshot) = (db.iter().unwrap(), db.snapshot());
    db.close().unwrap();
    assert!(db.put(b"a", b"b").is_err());
    assert!(db.flush().is_err());
    let _ = db.get(b"key00001");
    iter.seek_to_first();
    let _ = (iter.valid(), iter.status());
    let _ = snapshot.get(b"key00001");
    db.close().unwrap();
    drop((iter, snapshot, db));
    Db::open(scratch.path(), small()).unwrap();
}

/// Each batch writes one number under all keys of a group. A reader at one sequence number must see one number in a
/// group, and later reads never see a smaller number.
#[test]
fn readers_see_whole_batches_while_all_else_continues() {
    const GROUPS: u64 = 4;
    const KEYS: u64 = 8;
    for text in [
        "enable_pipelined_write=false",
        "enable_pipelined_write=true",
        "allow_concurrent_memtable_write=false",
    ] {
        let scratch = tempfile::tempdir().unwrap();
        let mut options = small();
        options.update(text).unwrap();
        let db = Db::open(scratch.path(), options).unwrap();
        let key = |group: u64, i: u64| format!("g{group}k{i}").into_bytes();
        let write = |db: &Db, group: u64, n: u64| {
            let mut batch = WriteBatch::new();
            let mut value = n.to_be_bytes().to_vec();
            value.resize(400, n as u8);
            (0..KEYS).for_each(|i| {
                batch.put(&key(group, i), &value);
            });
            db.write_with(batch, &Default::default()).unwrap();
        };
        (0..GROUPS).for_each(|g| write(&db, g, 0));
        let stop = Arc::new(AtomicBool::new(false));
        let written: Vec<AtomicU64> = (0..GROUPS).map(|_| AtomicU64::new(0)).collect();
        let number = |value: &[u8]| u64::from_be_bytes(value[..8].try_into().unwrap());
        std::thread::scope(|scope| {
            let writers: Vec<_> = (0..GROUPS)
                .map(|g| {
                    let (db, written) = (db.clone(), &written);
                    scope.spawn(move || {
                        for n in 1..250 {
                            write(&db, g, n);
                            written[g as usize].store(n, Ordering::Release);
                        }
                    })
                })
                .collect();
            for reader in 0..3u64 {
                let (db, stop, written) = (db.clone(), stop.clone(), &written);
                scope.spawn(move || {
                    let mut last = [0; GROUPS as usize];
                    while !stop.load(Ordering::Relaxed) {
                        for g in 0..GROUPS {
                            let least = written[g as usize].load(Ordering::Acquire).max(last[g as usize]);
                            let snapshot = db.snapshot();
                            let keys: Vec<Vec<u8>> = (0..KEYS).map(|i| key(g, i)).collect();
                            let seen: Vec<u64> = match reader {
                                0 => {
                                    keys.iter().map(|k| number(&snapshot.get(k).unwrap().unwrap())).collect()
                                }
                                1 => {
                                    let slices: Vec<&[u8]> = keys.iter().map(Vec::as_slice).collect();
                                    let answers = db.multi_get_with(&slices, &snapshot.options());
                                    answers.into_iter().map(|v| number(&v.unwrap().unwrap())).collect()
                                }
                                _ => {
                                    let options = ReadOptions {
                                        iterate_lower_bound: Some(key(g, 0)),
                                        iterate_upper_bound: Some(key(g + 1, 0)),
                                        ..ReadOptions::default()
                                    };
                                    let mut iter = db.iter_with(options).unwrap();
                                    let mut seen = Vec::new();
                                    iter.seek_to_last();
                                    while iter.valid() {
                                        seen.push(number(iter.value()));
                                        iter.prev();
                                    }
                                    iter.status().unwrap();
                                    seen
                                }
                            };
                            assert_eq!(seen.len(), KEYS as usize);
                            assert!(seen.iter().all(|n| *n == seen[0]), "{text}: torn: {seen:?}");
                            assert!(seen[0] >= least, "{text}: {} after {least}", seen[0]);
                            last[g as usize] = seen[0];
                        }
                    }
                });
            }
            let (busy, stopped) = (db.clone(), stop.clone());
            scope.spawn(move || {
                while !stopped.load(Ordering::Relaxed) {
                    busy.flush().unwrap();
                    busy.compact_range(None, None, &CompactRangeOptions::default()).unwrap();
                }
            });
            writers.into_iter().for_each(|w| w.join().unwrap());
            stop.store(true, Ordering::Relaxed);
        });
        db.wait_for_compact().unwrap();
        assert_eq!(db.engine().background().error().map(|e| e.to_string()), None);
        db.verify_checksum().unwrap();
    }
}

#[test]
fn memory_that_a_value_keeps_is_counted() {
    let mut options = Options::in_memory();
    options.update("disable_auto_compactions=true").unwrap();
    let db = Db::open("data", options).unwrap();
    let property = |name: &str| db.int_property(name).unwrap();
    for i in 0..1000u32 {
        db.put(&i.to_be_bytes(), &[1; 1000]).unwrap();
    }
    let value = db.get(&7u32.to_be_bytes()).unwrap().unwrap();
    db.flush().unwrap();
    let (current, all) =
        (property("rocksdb.cur-size-all-mem-tables"), property("rocksdb.size-all-mem-tables"));
    assert!(current < 100_000 && all > 1_000_000, "{current} {all}");
    assert_eq!(value.len(), 1000);
    drop(value);
    assert_eq!(property("rocksdb.size-all-mem-tables"), property("rocksdb.cur-size-all-mem-tables"));
}

#[test]
fn the_default_family_may_be_the_last_of_the_named_families() {
    let scratch = tempfile::tempdir().unwrap();
    let named = || {
        vec![
            FamilyDescriptor::new("a", FamilyOptions::default()),
            FamilyDescriptor::new("default", FamilyOptions::default()),
        ]
    };
    for create_missing_column_families in [true, false] {
        let mut options = Options::default();
        options.db.create_if_missing = true;
        options.db.create_missing_column_families = create_missing_column_families;
        let db = Db::open_with_families(scratch.path(), options, named()).unwrap();
        db.family("a").unwrap().put(b"k", b"v").unwrap();
        db.close().unwrap();
    }
}

#[test]
fn a_family_that_is_named_twice_gets_the_options_of_its_first_descriptor() {
    let scratch = tempfile::tempdir().unwrap();
    let named = || {
        ["default", "default", "a", "a"].into_iter().enumerate().map(|(at, name)| {
            let options = FamilyOptions { write_buffer_size: (at + 1) << 20, ..FamilyOptions::default() };
            FamilyDescriptor::new(name, options)
        })
    };
    for _ in 0..2 {
        let mut options = Options::default();
        options.db.create_if_missing = true;
        options.db.create_missing_column_families = true;
        let db = Db::open_with_families(scratch.path(), options, named().collect()).unwrap();
        let size = |name: &str| db.family(name).unwrap().options().write_buffer_size;
        assert_eq!((size("default"), size("a")), (1 << 20, 3 << 20));
        db.family("a").unwrap().put(b"k", b"v").unwrap();
        db.close().unwrap();
    }
}
