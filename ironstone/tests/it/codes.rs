//! Status codes and edge cases as in RocksDB 11.8.1. Each answer comes from a comparison of both engines.

use ironstone::{Db, FamilyDescriptor, FamilyOptions, Kind, Options};

fn open(dir: &std::path::Path, text: &str) -> Db {
    let mut options = Options::default();
    options.update(&format!("create_if_missing=true;{text}")).unwrap();
    Db::open(dir, options).unwrap()
}

#[test]
fn a_live_change_of_the_database_is_looked_up_among_mutable_options_alone() {
    let scratch = tempfile::tempdir().unwrap();
    let db = open(scratch.path(), "");
    for (name, value, kind) in [
        ("create_if_missing", "false", Kind::NotFound),
        ("wal_dir", "elsewhere", Kind::NotFound),
        ("no_such_option", "1", Kind::NotFound),
        ("max_subcompactions", "few", Kind::InvalidArgument),
    ] {
        assert_eq!(db.set_db_options(&[(name, value)]).unwrap_err().kind(), kind, "{name}={value}");
    }
    for (name, value) in [("num_levels", "3"), ("no_such_option", "1"), ("write_buffer_size", "many")] {
        assert_eq!(
            db.set_options(&[(name, value)]).unwrap_err().kind(),
            Kind::InvalidArgument,
            "{name}={value}"
        );
    }
    db.set_db_options(&[("bytes_per_sync", "5000")]).unwrap();
}

#[test]
fn option_text_names_the_databases_old_and_derived_options_too() {
    let mut options = Options::default();
    options.update("rate_limiter_bytes_per_sec=1000000;skip_log_error_on_recovery=true").unwrap();
    assert!(options.db.rate_limiter.is_some());
    options.update("no_such_option=1").unwrap_err();
}

#[test]
fn calls_on_a_dropped_family_fail_with_its_name() {
    let scratch = tempfile::tempdir().unwrap();
    let db = open(scratch.path(), "");
    let family = db.create_family(FamilyDescriptor::new("gone", FamilyOptions::default())).unwrap();
    family.put(b"k", b"v").unwrap();
    db.drop_family(&family).unwrap();
    assert_eq!(family.flush().unwrap_err().kind(), Kind::ColumnFamilyDropped);
    let changed = family.set_options(&[("write_buffer_size", "100000")]);
    assert_eq!(changed.unwrap_err().kind(), Kind::ColumnFamilyDropped);
    assert_eq!(family.put(b"k", b"w").unwrap_err().kind(), Kind::InvalidArgument);
    assert_eq!(db.drop_family(&family).unwrap_err().kind(), Kind::InvalidArgument);
    assert_eq!(family.get(b"k").unwrap().unwrap(), b"v");
}

#[test]
fn a_merge_without_operator_is_refused_at_the_call() {
    let scratch = tempfile::tempdir().unwrap();
    let db = open(scratch.path(), "");
    assert_eq!(db.merge(b"k", b"v").unwrap_err().kind(), Kind::NotSupported);
    assert!(db.get(b"k").unwrap().is_none());
}

#[test]
fn an_open_of_a_missing_database_is_an_io_error_for_reading_and_an_invalid_argument_for_writing() {
    let scratch = tempfile::tempdir().unwrap();
    let nowhere = scratch.path().join("nowhere");
    let kind = |outcome: ironstone::Result<Db>| outcome.err().map(|e| e.kind());
    assert_eq!(kind(Db::open_read_only(&nowhere, Options::default())), Some(Kind::IoError));
    assert_eq!(kind(Db::open(&nowhere, Options::default())), Some(Kind::InvalidArgument));
    assert!(!nowhere.exists());
}

#[test]
fn a_refreshed_iterator_forgets_its_snapshot() {
    let scratch = tempfile::tempdir().unwrap();
    let db = open(scratch.path(), "");
    db.put(b"a", b"1").unwrap();
    let snapshot = db.snapshot();
    let mut iter = snapshot.iter().unwrap();
    db.put(b"b", b"2").unwrap();
    let count = |iter: &mut ironstone::Iter| {
        iter.seek_to_first();
        let mut n = 0;
        while iter.valid() {
            n += 1;
            iter.next();
        }
        n
    };
    assert_eq!(count(&mut iter), 1);
    iter.refresh().unwrap();
    assert_eq!(count(&mut iter), 2);
    iter.refresh_at(Some(snapshot.held())).unwrap();
    assert_eq!(count(&mut iter), 1);
    iter.refresh_at(None).unwrap();
    assert_eq!(count(&mut iter), 2);
}

#[test]
fn vector_memtables_take_concurrent_insertions() {
    let scratch = tempfile::tempdir().unwrap();
    let db = open(scratch.path(), "memtable_factory=vector;allow_concurrent_memtable_write=true");
    std::thread::scope(|scope| {
        for t in 0..4 {
            let db = &db;
            scope.spawn(move || (0..200).for_each(|i| db.put(format!("{t}.{i}").as_bytes(), b"v").unwrap()));
        }
    });
    assert_eq!(db.rows().count(), 800);
}

#[test]
fn a_database_opens_with_an_empty_wal_whose_size_is_in_the_manifest() {
    let scratch = tempfile::tempdir().unwrap();
    for text in [
        "wal_compression=kZSTD",
        "wal_compression=kZSTD;recycle_log_file_num=3",
        "track_and_verify_wals=true",
    ] {
        for _ in 0..4 {
            let db = open(scratch.path(), &format!("track_and_verify_wals_in_manifest=true;{text}"));
            db.sync_wal().unwrap();
            db.close().unwrap();
        }
    }
}
