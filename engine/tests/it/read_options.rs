//! Read options that limit a read, or change its result.

use std::sync::Arc;
use std::time::Duration;

use base::stats::{Statistics, Ticker};
use base::{Kind, Subcode};
use env::Env;
use env::hook::{Call, Hook, Hooked, Op, Verdict};
use env::rate::{IoPriority, Mode, RateLimiter, RateOptions};
use ironstone_engine::db::{Db, DbIterator, OpenRequest};
use ironstone_engine::options::{
    CompactRangeOptions, DbOptions, FamilyOptions, FlushOptions, ReadOptions, ReadTier, WriteOptions,
};

use crate::basic::{flush, open, options, put, scan};

/// Creates a database with twenty keys in an SST file with about one key in each block, without a block cache.
fn uncached(env: &env::Env, db: DbOptions) -> Db {
    let mut family = FamilyOptions::default();
    family.set("compression", "kNoCompression").unwrap();
    family.set("table_factory", "{block_size=64;no_block_cache=true}").unwrap();
    let db = Db::open(OpenRequest::new("/db", DbOptions { env: env.clone(), ..db }, family)).unwrap();
    (0..20).for_each(|i| put(&db, &format!("key{i:02}"), &"v".repeat(60)));
    flush(&db);
    db
}

/// A disk on which every read of a file takes half a millisecond.
#[derive(Debug)]
struct SlowReads(Arc<dyn env::Clock>);

impl Hook for SlowReads {
    fn name(&self) -> &'static str {
        "slow"
    }

    fn before(&self, call: &Call<'_>) -> Verdict {
        if call.op == Op::Read {
            self.0.sleep_micros(500);
        }
        Verdict::Go
    }
}

#[test]
fn an_access_that_takes_longer_than_io_timeout_times_out() {
    let env = env::Env::memory(41);
    let db = uncached(&env, options(&env));
    let family = db.default_family().unwrap();
    let with = |micros| ReadOptions { io_timeout: Duration::from_micros(micros), ..ReadOptions::default() };
    // The simulated clock only moves in a sleep, so no access takes any time.
    assert!(db.get(&family, b"key03", &with(1)).unwrap().is_some());
    drop((family, db));
    let slow = Arc::new(Hooked::new(env.fs.clone(), Arc::new(SlowReads(env.clock.clone()))));
    let slow = DbOptions { env: env::Env { fs: slow, ..env.clone() }, ..options(&env) };
    let slow = Db::open(OpenRequest::new("/db", slow, FamilyOptions::default())).unwrap();
    let family = slow.default_family().unwrap();
    let timed_out = |error: base::Error| error.kind() == Kind::TimedOut;
    assert!(timed_out(slow.get(&family, b"key03", &with(499)).unwrap_err()));
    assert!(
        slow.multi_get(&family, &[b"key03", b"key09"], &with(499))
            .into_iter()
            .all(|r| r.is_err_and(timed_out))
    );
    let mut iter = slow.iter(&family, with(499)).unwrap();
    iter.seek(b"key03");
    assert!(timed_out(iter.status().unwrap_err()));
    assert!(slow.get(&family, b"key03", &with(501)).unwrap().is_some());
}

#[test]
fn reads_with_a_priority_are_charged_to_the_rate_limiter() {
    let env = env::Env::memory(42);
    let rate = RateOptions { mode: Mode::AllIo, ..RateOptions::new(1 << 30) };
    let limiter = Arc::new(RateLimiter::new(rate, env.clock.clone()).unwrap());
    let statistics = Arc::new(Statistics::new());
    let db = uncached(
        &env,
        DbOptions {
            rate_limiter: Some(limiter.clone()),
            statistics: Some(statistics.clone()),
            ..options(&env)
        },
    );
    let family = db.default_family().unwrap();
    let charged = |read: &dyn Fn(ReadOptions)| {
        let before = limiter.total_bytes_through(IoPriority::User);
        read(ReadOptions { rate_limiter_priority: Some(IoPriority::User), ..ReadOptions::default() });
        limiter.total_bytes_through(IoPriority::User) - before
    };
    assert!(charged(&|o| assert!(db.get(&family, b"key03", &o).unwrap().is_some())) > 60);
    assert!(charged(&|o| assert_eq!(db.multi_get(&family, &[b"key03", b"key17"], &o).len(), 2)) > 120);
    assert!(
        charged(&|o| {
            let mut iter = db.iter(&family, o).unwrap();
            iter.seek_to_first();
            while iter.valid() {
                iter.next();
            }
        }) > 20 * 60
    );
    assert_eq!(
        charged(&|_| assert!(db.get(&family, b"key03", &ReadOptions::default()).unwrap().is_some())),
        0
    );
    assert!(statistics.ticker(Ticker::RateLimiterBytesRead) > 20 * 60);
    assert!(statistics.ticker(Ticker::RateLimiterRequestsRead) > 3);
    // The flush was charged to the rate limiter too, and counted.
    assert!(statistics.ticker(Ticker::RateLimiterBytesWrite) > 20 * 60);
}

#[test]
fn writes_with_a_priority_charge_their_wal_bytes() {
    let env = env::Env::memory(43);
    let limiter = Arc::new(RateLimiter::new(RateOptions::new(1 << 30), env.clock.clone()).unwrap());
    let db_options = DbOptions { rate_limiter: Some(limiter.clone()), ..options(&env) };
    let db = Db::open(OpenRequest::new("/db", db_options, FamilyOptions::default())).unwrap();
    let family = db.default_family().unwrap();
    let with = |priority| WriteOptions { rate_limiter_priority: Some(priority), ..WriteOptions::default() };
    db.put(&family, b"a", &[b'v'; 100], &with(IoPriority::User)).unwrap();
    let through = limiter.total_bytes_through(IoPriority::User);
    assert!(through > 100, "{through}");
    db.put(&family, b"b", b"v", &WriteOptions::default()).unwrap();
    db.put(&family, b"b", b"v", &with(IoPriority::Total)).unwrap();
    assert_eq!(limiter.total_bytes_through(IoPriority::User), through);
    for (options, says) in [
        (with(IoPriority::High), "only allows Env::IO_TOTAL and Env::IO_USER"),
        (WriteOptions { disableWAL: true, ..with(IoPriority::User) }, "rate-limiting automatic WAL flush"),
    ] {
        let error = db.put(&family, b"c", b"v", &options).unwrap_err();
        assert!(error.kind() == Kind::InvalidArgument && error.to_string().contains(says), "{error}");
    }
}

#[test]
fn more_merge_operands_than_the_threshold_are_reported_by_the_subcode() {
    let env = env::Env::memory(44);
    let mut family = FamilyOptions::default();
    family.set("merge_operator", "stringappend").unwrap();
    let db = open(&env, family);
    let family = db.default_family().unwrap();
    for operand in ["1", "2", "3"] {
        db.merge(&family, b"k", operand.as_bytes(), &WriteOptions::default()).unwrap();
    }
    put(&db, "plain", "v");
    for (threshold, subcode) in [
        (None, Subcode::None),
        (Some(3), Subcode::None),
        (Some(2), Subcode::MergeOperandThresholdExceeded),
        (Some(0), Subcode::MergeOperandThresholdExceeded),
    ] {
        let options = ReadOptions { merge_operand_count_threshold: threshold, ..ReadOptions::default() };
        let answered = db.get_answered(&family, b"k", &options).unwrap();
        assert_eq!(
            (answered.value.as_deref(), answered.subcode),
            (Some(&b"1,2,3"[..]), subcode),
            "{threshold:?}"
        );
        let all = db.multi_get_answered(&family, &[b"none", b"k", b"plain"], &options);
        let all: Vec<_> = all.into_iter().map(|a| a.unwrap().subcode).collect();
        assert_eq!(all, [Subcode::None, subcode, Subcode::None], "{threshold:?}");
    }
}

#[test]
fn an_auto_refresh_iterator_releases_old_tables_and_keeps_its_snapshot() {
    for follow in [true, false] {
        let env = env::Env::memory(45);
        let db = open(&env, FamilyOptions { disable_auto_compactions: true, ..FamilyOptions::default() });
        (0..9).for_each(|i| put(&db, &format!("k{i}"), "old"));
        flush(&db);
        let family = db.default_family().unwrap();
        let snapshot = db.snapshot();
        let options = ReadOptions {
            snapshot: Some(snapshot),
            auto_refresh_iterator_with_snapshot: follow,
            ..ReadOptions::default()
        };
        let mut iter = db.iter(&family, options).unwrap();
        iter.seek_to_first();
        iter.next();
        (0..9).for_each(|i| put(&db, &format!("k{i}"), "new"));
        put(&db, "k15", "new");
        flush(&db);
        db.compactions().compact_range(&family, None, None, &CompactRangeOptions::default()).unwrap();
        let before = iter.super_version_number();
        let mut seen = vec![String::from_utf8_lossy(iter.key()).into_owned()];
        iter.next();
        assert_eq!(iter.super_version_number() > before, follow);
        while iter.valid() {
            assert_eq!(iter.value(), b"old");
            seen.push(String::from_utf8_lossy(iter.key()).into_owned());
            iter.next();
        }
        iter.status().unwrap();
        assert_eq!(seen, ["k1", "k2", "k3", "k4", "k5", "k6", "k7", "k8"]);
        iter.seek_to_last();
        iter.prev();
        assert_eq!((iter.key(), iter.value()), (&b"k7"[..], &b"old"[..]));
    }
}

#[test]
fn pinned_keys_and_values_outlive_the_iterator() {
    for (restart_interval, in_table, pinned) in [(16, false, "1"), (16, true, "0"), (1, true, "1")] {
        let env = env::Env::memory(46);
        let mut family = FamilyOptions::default();
        family.set("table_factory", &format!("{{block_restart_interval={restart_interval}}}")).unwrap();
        let db = open(&env, family);
        (0..9).for_each(|i| put(&db, &format!("key{i}"), &format!("value{i}")));
        if in_table {
            flush(&db);
        }
        let family = db.default_family().unwrap();
        for pin_data in [true, false] {
            let mut iter = db.iter(&family, ReadOptions { pin_data, ..ReadOptions::default() }).unwrap();
            let property = |iter: &ironstone_engine::iter::Iter, name: &str| {
                String::from_utf8(iter.property(&format!("rocksdb.iterator.{name}")).unwrap()).unwrap()
            };
            assert_eq!(property(&iter, "is-key-pinned"), "Iterator is not valid.");
            iter.seek(b"key3");
            assert!(iter.prepare_value());
            let told = (property(&iter, "is-key-pinned"), property(&iter, "is-value-pinned"));
            let expected = if pin_data { (pinned, "1") } else { ("0", "0") };
            assert_eq!((&*told.0, &*told.1), expected, "restarts {restart_interval}, table {in_table}");
            assert_eq!(property(&iter, "internal-key"), "key3");
            assert_eq!(property(&iter, "super-version-number"), iter.super_version_number().to_string());
            assert!(iter.property("rocksdb.iterator.no-such").is_none());
            let held = (iter.pinned_key(), iter.pinned_value());
            iter.next();
            drop(iter);
            assert_eq!((&*held.0, &*held.1), (&b"key3"[..], &b"value3"[..]));
        }
    }
}

#[test]
fn the_block_cache_tier_opens_no_table() {
    let env = env::Env::memory(47);
    let few = || DbOptions { max_open_files: 20, skip_stats_update_on_db_open: true, ..options(&env) };
    let db = Db::open(OpenRequest::new("/db", few(), FamilyOptions::default())).unwrap();
    put(&db, "a", "1");
    db.delete_range(&db.default_family().unwrap(), b"x", b"y", &WriteOptions::default()).unwrap();
    flush(&db);
    drop(db);
    let db = Db::open(OpenRequest::new("/db", few(), FamilyOptions::default())).unwrap();
    let family = db.default_family().unwrap();
    let cached = ReadOptions { read_tier: ReadTier::BlockCache, ..ReadOptions::default() };
    let incomplete = |error: base::Error| error.kind() == Kind::Incomplete;
    let read = || {
        let got = db.get(&family, b"a", &cached);
        let many = db.multi_get(&family, &[b"a"], &cached).pop().unwrap();
        let mut iter = db.iter(&family, cached.clone()).unwrap();
        iter.seek_to_first();
        let seen = iter.status().map(|()| iter.valid().then(|| iter.pinned_value()));
        [got, many, seen]
    };
    assert!(read().into_iter().all(|r| r.is_err_and(incomplete)));
    assert!(db.key_may_exist(&family, b"a", &ReadOptions::default()).0);
    db.get(&family, b"a", &ReadOptions::default()).unwrap();
    assert!(read().into_iter().all(|r| r.unwrap().as_deref() == Some(&b"1"[..])));
}

fn limited(db: &Db, max_skippable_internal_keys: u64) -> DbIterator {
    let options = ReadOptions { max_skippable_internal_keys, ..ReadOptions::default() };
    db.iter(&db.default_family().unwrap(), options).unwrap()
}

fn delete(db: &Db, key: &str) {
    db.delete(&db.default_family().unwrap(), key.as_bytes(), &WriteOptions::default()).unwrap();
}

fn stopped(iter: &DbIterator) -> Vec<u8> {
    assert_eq!(iter.status().unwrap_err().kind(), Kind::Incomplete);
    assert!(!iter.valid());
    iter.property("rocksdb.iterator.internal-key").unwrap()
}

/// As in RocksDB, hidden entries before the end or before the upper bound are no failure of a step forward.
#[test]
fn a_step_forward_fails_only_if_an_entry_follows_the_hidden_entries() {
    let db = open(&Env::memory(41), FamilyOptions::default());
    put(&db, "a", "1");
    ["b", "c"].iter().for_each(|key| delete(&db, key));
    let mut iter = limited(&db, 1);
    iter.seek_to_first();
    iter.next();
    assert!(!iter.valid());
    iter.status().unwrap();
    put(&db, "d", "1");
    let mut iter = limited(&db, 1);
    iter.seek_to_first();
    iter.next();
    assert_eq!(stopped(&iter), b"c");
    let mut iter = limited(&db, 2);
    iter.seek_to_first();
    iter.next();
    assert_eq!(iter.key(), b"d");
    let options = ReadOptions {
        max_skippable_internal_keys: 1,
        iterate_upper_bound: Some(b"d".to_vec()),
        ..ReadOptions::default()
    };
    let mut iter = db.iter(&db.default_family().unwrap(), options).unwrap();
    iter.seek(b"b");
    assert!(!iter.valid());
    iter.status().unwrap();
}

#[test]
fn a_step_backward_counts_each_entry_of_a_key() {
    let db = open(&Env::memory(42), FamilyOptions::default());
    put(&db, "a", "1");
    put(&db, "b", "1");
    put(&db, "b", "2");
    delete(&db, "b");
    put(&db, "c", "1");
    let mut iter = limited(&db, 2);
    iter.seek_to_last();
    assert_eq!(iter.key(), b"c");
    iter.prev();
    assert_eq!(stopped(&iter), b"b");
    let mut iter = limited(&db, 4);
    iter.seek_to_last();
    iter.prev();
    assert_eq!(iter.key(), b"a");
    // The entries of the shown key count too.
    put(&db, "b", "3");
    let mut iter = limited(&db, 3);
    iter.seek_for_prev(b"b");
    assert_eq!((iter.key(), iter.value()), (&b"b"[..], &b"3"[..]));
    let mut iter = limited(&db, 2);
    iter.seek_for_prev(b"b");
    assert_eq!(stopped(&iter), b"b");
}

/// RocksDB: `DBIter::ReverseToBackward` skips the entries of the shown key.
#[test]
fn a_change_of_the_direction_counts_the_shown_entry() {
    let db = open(&Env::memory(44), FamilyOptions::default());
    put(&db, "a", "1");
    delete(&db, "b");
    put(&db, "c", "1");
    for (limit, found) in [(1, false), (2, true)] {
        let mut iter = limited(&db, limit);
        iter.seek(b"c");
        iter.prev();
        assert_eq!(iter.valid(), found, "limit {limit}");
        assert_eq!(iter.status().is_ok(), found, "limit {limit}");
    }
}

#[test]
fn an_iterator_of_the_memtable_tier_shows_the_entries_of_memtables() {
    let db = open(&Env::memory(45), FamilyOptions::default());
    let family = db.default_family().unwrap();
    put(&db, "a", "1");
    put(&db, "b", "1");
    db.flush(&[family.clone()], &FlushOptions::default()).unwrap();
    put(&db, "b", "2");
    delete(&db, "a");
    put(&db, "c", "2");
    let options = |read_tier| ReadOptions { read_tier, ..ReadOptions::default() };
    let mut iter = db.iter(&family, options(ReadTier::Memtable)).unwrap();
    let mut seen = Vec::new();
    iter.seek_to_first();
    while iter.valid() {
        seen.push((iter.key().to_vec(), iter.value().to_vec()));
        iter.next();
    }
    iter.status().unwrap();
    assert_eq!(seen, [(b"b".to_vec(), b"2".to_vec()), (b"c".to_vec(), b"2".to_vec())]);
    iter.seek_to_last();
    assert_eq!(iter.key(), b"c");
    db.flush(&[family.clone()], &FlushOptions::default()).unwrap();
    let mut iter = db.iter(&family, options(ReadTier::Memtable)).unwrap();
    iter.seek_to_first();
    assert!(!iter.valid());
    let refused = db.iter(&family, options(ReadTier::Persisted)).err().unwrap();
    assert_eq!(refused.kind(), Kind::NotSupported);
}

/// Iterators remember empty key ranges. The range of an iterator that reads no SST file could have keys in SST files.
#[test]
fn an_iterator_of_the_memtable_tier_hides_no_keys_of_sst_files() {
    let db = open(&Env::memory(46), FamilyOptions::default());
    let family = db.default_family().unwrap();
    put(&db, "d0500x", "1");
    put(&db, "z", "1");
    db.flush(&[family.clone()], &FlushOptions::default()).unwrap();
    (0..3000).for_each(|i| delete(&db, &format!("d{i:04}")));
    let mut iter =
        db.iter(&family, ReadOptions { read_tier: ReadTier::Memtable, ..ReadOptions::default() }).unwrap();
    iter.seek_to_first();
    assert!(!iter.valid());
    iter.seek_to_last();
    assert!(!iter.valid());
    assert_eq!(scan(&db).len(), 2);
    let mut iter = db.iter(&family, ReadOptions::default()).unwrap();
    iter.seek_to_last();
    iter.prev();
    assert_eq!(iter.key(), b"d0500x");
}

#[test]
fn the_key_of_an_entry_above_the_snapshot_is_where_an_iteration_stops() {
    let db = open(&Env::memory(43), FamilyOptions::default());
    put(&db, "z", "1");
    let snapshot = Some(db.snapshot());
    ["a", "b", "c"].iter().for_each(|key| put(&db, key, "1"));
    let options = ReadOptions { snapshot, max_skippable_internal_keys: 1, ..ReadOptions::default() };
    let mut iter = db.iter(&db.default_family().unwrap(), options).unwrap();
    iter.seek_to_first();
    assert_eq!(stopped(&iter), b"b");
}
