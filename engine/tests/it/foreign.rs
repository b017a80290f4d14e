//! Handles of another database, or of an earlier open: every call with a handle rejects them.

use std::sync::Arc;

use base::{FileNumber, Kind, Level};
use ironstone_engine::batch::WriteBatch;
use ironstone_engine::components::FamilyDescriptor;
use ironstone_engine::db::{Db, OpenRequest};
use ironstone_engine::family::Family;
use ironstone_engine::options::{
    CompactRangeOptions, CompactionOptions, DbOptions, FamilyOptions, FlushOptions, ReadOptions, WriteOptions,
};

/// Opens the database at `path` with the column family `f`, and returns both.
fn open(env: &env::Env, path: &str) -> (Db, Arc<Family>) {
    let options = DbOptions {
        create_if_missing: true,
        create_missing_column_families: true,
        env: env.clone(),
        ..DbOptions::default()
    };
    let mut family = FamilyOptions::default();
    family.set("disable_auto_compactions", "true").unwrap();
    family.set("merge_operator", "stringappend").unwrap();
    let mut request = OpenRequest::new(path, options, family.clone());
    request.families.push(FamilyDescriptor::new("f", family));
    let db = Db::open(request).unwrap();
    let family = db.family("f").unwrap();
    (db, family)
}

fn fill(db: &Db, family: &Arc<Family>) {
    for key in 0..100u8 {
        db.put(family, &[key], b"value", &WriteOptions::default()).unwrap();
    }
    db.flush(std::slice::from_ref(family), &FlushOptions::default()).unwrap();
    db.compactions().compact_range(family, None, None, &CompactRangeOptions::default()).unwrap();
}

fn rows(db: &Db, family: &Arc<Family>) -> usize {
    let mut iter = db.iter(family, ReadOptions::default()).unwrap();
    iter.seek_to_first();
    let mut count = 0;
    while iter.valid() {
        count += 1;
        iter.next();
    }
    iter.status().unwrap();
    count
}

/// Calls everything that takes a column family. Returns the name of each call and the code of its error.
fn calls(db: &Db, f: &Arc<Family>) -> Vec<(&'static str, Option<Kind>)> {
    let code = |outcome: base::Result<()>| outcome.err().map(|error| error.kind());
    let write = WriteOptions::default();
    let range: [(Option<&[u8]>, Option<&[u8]>); 1] = [(None, None)];
    let number = f.pin_owned().version.files().next().map_or(FileNumber::new(1), |(_, file)| file.number);
    let keys: [&[u8]; 1] = [&[1]];
    let mut multi = db.multi_get(f, &keys, &ReadOptions::default());
    vec![
        ("put", code(db.put(f, b"k", b"v", &write))),
        ("delete", code(db.delete(f, b"k", &write))),
        ("single_delete", code(db.single_delete(f, b"k", &write))),
        ("merge", code(db.merge(f, b"k", b"v", &write))),
        ("delete_range", code(db.delete_range(f, b"k", b"l", &write))),
        ("get", code(db.get(f, &[1], &ReadOptions::default()).map(drop))),
        ("get_answered", code(db.get_answered(f, &[1], &ReadOptions::default()).map(drop))),
        ("multi_get", code(multi.remove(0).map(drop))),
        (
            "multi_get_families",
            code(db.together().multi_get(&[(f, &[1])], &ReadOptions::default()).remove(0).map(drop)),
        ),
        (
            "iterators",
            code(db.together().iterators(std::slice::from_ref(f), &ReadOptions::default()).map(drop)),
        ),
        ("iter", code(db.iter(f, ReadOptions::default()).map(drop))),
        ("versions", code(db.files().versions(f).map(drop))),
        ("table_properties", code(db.files().table_properties(f, None).map(drop))),
        ("trim_history", code(db.compactions().trim_history(f, &[0; 8]))),
        ("flush", code(db.flush(std::slice::from_ref(f), &FlushOptions::default()))),
        (
            "compact_range",
            code(db.compactions().compact_range(f, None, None, &CompactRangeOptions::default())),
        ),
        (
            "compact_files",
            code(
                db.compactions()
                    .compact_files(f, &[number], Level::new(6), None, &CompactionOptions::default())
                    .map(drop),
            ),
        ),
        ("suggest_compact_range", code(db.compactions().suggest_compact_range(f, None, None))),
        ("promote_l0", code(db.compactions().promote_l0(f, Level::new(1)))),
        ("set_options", code(db.admin().set_options(f, &[("write_buffer_size", "100000")]))),
        ("increase_full_history_ts_low", code(db.compactions().increase_full_history_ts_low(f, &[0; 8]))),
        ("delete_files_in_ranges", code(db.files().delete_files_in_ranges(f, &range, true))),
        ("drop_family", code(db.admin().drop_family(f))),
    ]
}

fn assert_all_rejected(db: &Db, family: &Arc<Family>) {
    for (name, code) in calls(db, family) {
        assert_eq!(code, Some(Kind::InvalidArgument), "{name}");
    }
    assert_eq!(db.properties().text(family, "rocksdb.num-files-at-level6"), None);
    assert!(db.key_may_exist(family, &[1], &ReadOptions::default()).0, "nothing is certain");
}

#[test]
fn a_family_of_another_database_is_rejected_and_nothing_is_lost() {
    let env = env::Env::memory(1);
    let (a, in_a) = open(&env, "/a");
    let (b, in_b) = open(&env, "/b");
    fill(&a, &in_a);
    b.put(&in_b, b"k", b"v", &WriteOptions::default()).unwrap();
    assert_all_rejected(&b, &in_a);
    drop((in_a, in_b));
    a.close().unwrap();
    drop(a);
    b.close().unwrap();
    drop(b);
    let (a, in_a) = open(&env, "/a");
    assert_eq!(rows(&a, &in_a), 100);
    let (b, in_b) = open(&env, "/b");
    assert_eq!(rows(&b, &in_b), 1);
}

#[test]
fn a_family_of_an_earlier_open_is_rejected_and_nothing_is_lost() {
    let env = env::Env::memory(2);
    let (db, old) = open(&env, "/db");
    fill(&db, &old);
    db.close().unwrap();
    drop(db);
    let (db, family) = open(&env, "/db");
    assert_all_rejected(&db, &old);
    drop(old);
    assert_eq!(rows(&db, &family), 100);
}

#[test]
fn a_snapshot_of_another_database_is_rejected() {
    let env = env::Env::memory(3);
    let (a, _) = open(&env, "/a");
    let (b, family) = open(&env, "/b");
    b.put(&family, b"k", b"v", &WriteOptions::default()).unwrap();
    let at = |db: &Db| ReadOptions { snapshot: Some(db.snapshot()), ..ReadOptions::default() };
    let invalid = |error: base::Error| assert_eq!(error.kind(), Kind::InvalidArgument, "{error}");
    invalid(b.get(&family, b"k", &at(&a)).unwrap_err());
    invalid(b.multi_get(&family, &[b"k"], &at(&a)).remove(0).unwrap_err());
    invalid(b.iter(&family, at(&a)).map(drop).unwrap_err());
    invalid(b.reads().operands(&family, b"k", &at(&a)).map(drop).unwrap_err());
    assert!(b.get(&family, b"k", &at(&b)).unwrap().is_some());
}

#[test]
fn a_batch_carries_numbers_of_families_and_no_handles() {
    // Both databases have a column family with the number 1, so the batch can be written to both.
    let env = env::Env::memory(4);
    let (a, in_a) = open(&env, "/a");
    let (b, in_b) = open(&env, "/b");
    for db in [&a, &b] {
        let mut batch = WriteBatch::new();
        batch.put_in(in_a.id(), b"k", b"v");
        db.write(&mut batch, &WriteOptions::default()).unwrap();
    }
    assert_eq!((rows(&a, &in_a), rows(&b, &in_b)), (1, 1));
}
