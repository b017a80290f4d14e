//! Jobs find long runs of deleted keys, so that the first scan does not step over the whole run.

use base::Level;
use base::stats::{PerfCounter, PerfLevel, perf_counter, set_perf_level};
use env::Env;
use ironstone_engine::db::Db;
use ironstone_engine::options::{
    CompactRangeOptions, CompactionOptions, FamilyOptions, FlushOptions, ReadOptions, WriteOptions,
};

use crate::basic::open;

/// The keys 1 to 20,000 are deleted. A place is added after 8,192 tombstones, so 3,616 of them may be unknown.
const DELETED: u64 = 20_000;
const UNKNOWN_MAX: u64 = 4_000;

fn key(i: u64) -> Vec<u8> {
    format!("{i:06}").into_bytes()
}

fn family() -> FamilyOptions {
    FamilyOptions { disable_auto_compactions: true, ..FamilyOptions::default() }
}

fn filled(env: &Env) -> Db {
    let db = open(env, family());
    let family = db.default_family().unwrap();
    for i in 0..=DELETED + 1 {
        db.put(&family, &key(i), b"value", &WriteOptions::default()).unwrap();
    }
    db
}

fn delete(db: &Db, keys: impl Iterator<Item = u64>) {
    let family = db.default_family().unwrap();
    keys.for_each(|i| db.delete(&family, &key(i), &WriteOptions::default()).unwrap());
}

fn run_jobs(env: &Env) {
    while env.executor.help() {}
}

/// Seeks the first deleted key, and returns the number of tombstones that the seek stepped over.
fn tombstones_of_first_seek(db: &Db) -> u64 {
    let family = db.default_family().unwrap();
    let mut iter = db.iter(&family, ReadOptions::default()).unwrap();
    set_perf_level(PerfLevel::EnableCount);
    let before = perf_counter(PerfCounter::InternalDeleteSkippedCount);
    iter.seek(&key(1));
    let steps = perf_counter(PerfCounter::InternalDeleteSkippedCount) - before;
    set_perf_level(PerfLevel::Disable);
    assert_eq!(iter.key(), key(DELETED + 1));
    steps
}

#[test]
fn the_first_seek_skips_what_jobs_found_during_the_deletions() {
    for is_descending in [false, true] {
        let env = Env::memory(1);
        let db = filled(&env);
        for part in 0..20 {
            let part = if is_descending { 19 - part } else { part };
            let keys = part * 1_000 + 1..=part * 1_000 + 1_000;
            match is_descending {
                true => delete(&db, keys.rev()),
                false => delete(&db, keys),
            }
            run_jobs(&env);
        }
        let steps = tombstones_of_first_seek(&db);
        assert!(steps < UNKNOWN_MAX, "descending {is_descending}: {steps}");
    }
}

#[test]
fn a_live_key_among_deleted_keys_is_found_after_the_jobs() {
    let env = Env::memory(1);
    let db = filled(&env);
    delete(&db, (1..=DELETED).filter(|i| *i != 9_000));
    run_jobs(&env);
    let family = db.default_family().unwrap();
    db.put(&family, &key(4_000), b"new", &WriteOptions::default()).unwrap();
    let mut iter = db.iter(&family, ReadOptions::default()).unwrap();
    iter.seek(&key(1));
    for expected in [4_000, 9_000, DELETED + 1] {
        assert_eq!(iter.key(), key(expected));
        iter.next();
    }
    assert!(!iter.valid());
}

#[test]
fn the_first_seek_after_a_replay_of_many_deletions_skips_most_of_them() {
    let env = Env::memory(1);
    let db = filled(&env);
    delete(&db, 1..=DELETED);
    db.close().unwrap();
    drop(db);
    let db = open(&env, family());
    run_jobs(&env);
    let steps = tombstones_of_first_seek(&db);
    assert!(steps < UNKNOWN_MAX, "{steps}");
}

#[test]
fn the_first_seek_after_a_compaction_of_many_tombstones_skips_them() {
    let env = Env::memory(1);
    let db = filled(&env);
    let handle = db.default_family().unwrap();
    db.compactions().compact_range(&handle, None, None, &CompactRangeOptions::default()).unwrap();
    delete(&db, 1..=DELETED);
    db.flush(std::slice::from_ref(&handle), &FlushOptions::default()).unwrap();
    db.close().unwrap();
    drop((handle, db));
    let db = open(&env, family());
    let handle = db.default_family().unwrap();
    run_jobs(&env);
    let above: Vec<_> = handle.pin().version.level(Level::ZERO).iter().map(|file| file.number).collect();
    db.compactions()
        .compact_files(&handle, &above, Level::new(1), None, &CompactionOptions::default())
        .unwrap();
    run_jobs(&env);
    let steps = tombstones_of_first_seek(&db);
    assert!(steps < 300, "{steps}");
}

#[test]
fn the_first_seek_after_a_flush_of_many_tombstones_skips_them() {
    let env = Env::memory(1);
    let db = filled(&env);
    delete(&db, 1..=DELETED);
    run_jobs(&env);
    let handle = db.default_family().unwrap();
    db.flush(&[handle], &FlushOptions::default()).unwrap();
    run_jobs(&env);
    let steps = tombstones_of_first_seek(&db);
    assert!(steps < 300, "{steps}");
}
