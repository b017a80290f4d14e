//! Column families with timestamps: compactions, range deletions, and the rules of calls with and without timestamps.

use std::sync::mpsc::{Receiver, Sender, channel};
use std::sync::{Arc, Mutex};

use base::SequenceNumber;
use base::stats::{
    PerfCounter, PerfLevel, Statistics, Ticker, perf_context_reset, perf_counter, set_perf_level,
};
use base::{Kind, Level};
use env::executor::Threads;
use ironstone_engine::batch::WriteBatch;
use ironstone_engine::components::FamilyDescriptor;
use ironstone_engine::db::{Db, OpenRequest};
use ironstone_engine::event::{Event, Listener};
use ironstone_engine::family::Family;
use ironstone_engine::options::{
    BottommostLevelCompaction, CompactRangeOptions, DbOptions, FamilyOptions, FlushOptions, ReadOptions,
    WriteOptions,
};

use crate::basic;
use crate::directories::export;
use crate::stalls::Gate;

/// Creates a database in memory. Its default column family has 64-bit timestamps, small SST files and no automatic
/// compactions.
fn open(env: &env::Env) -> (Db, Arc<Family>) {
    let db = basic::open(env, options());
    let family = db.default_family().unwrap();
    (db, family)
}

fn options() -> FamilyOptions {
    let mut options = FamilyOptions::default();
    for (name, value) in [
        ("comparator", "leveldb.BytewiseComparator.u64ts"),
        ("compression", "kNoCompression"),
        ("disable_auto_compactions", "true"),
        ("target_file_size_base", "4096"),
    ] {
        options.set(name, value).unwrap();
    }
    options
}

fn write(db: &Db, fill: impl FnOnce(&mut WriteBatch) -> &mut WriteBatch) -> base::Result<()> {
    let mut batch = WriteBatch::new();
    fill(&mut batch);
    db.write(&mut batch, &WriteOptions::default())
}

fn put(db: &Db, family: &Family, key: &str, timestamp: u64, value: &[u8]) {
    write(db, |batch| batch.put_at(family.id(), key.as_bytes(), &timestamp.to_le_bytes(), value)).unwrap();
}

fn flush(db: &Db, family: &Arc<Family>) {
    db.flush(std::slice::from_ref(family), &FlushOptions::default()).unwrap();
}

fn at(timestamp: u64) -> ReadOptions {
    ReadOptions { timestamp: Some(timestamp.to_le_bytes().to_vec()), ..ReadOptions::default() }
}

/// Returns every key with its newest timestamp.
fn newest(db: &Db, family: &Arc<Family>) -> Vec<(String, u64)> {
    let mut iter = db.iter(family, at(u64::MAX)).unwrap();
    iter.seek_to_first();
    let mut out = Vec::new();
    while iter.valid() {
        let key = String::from_utf8(iter.key().to_vec()).unwrap();
        out.push((key, u64::from_le_bytes(iter.timestamp().try_into().unwrap())));
        iter.next();
    }
    iter.status().unwrap();
    out
}

#[test]
fn a_get_skips_files_whose_entries_are_newer_than_its_timestamp() {
    let env = env::Env::memory(77);
    let statistics = Arc::new(Statistics::new());
    let db_options = DbOptions { statistics: Some(statistics.clone()), ..basic::options(&env) };
    let db = Db::open(OpenRequest::new("/db", db_options, options())).unwrap();
    let family = db.default_family().unwrap();
    put(&db, &family, "1", 10, b"value1");
    put(&db, &family, "3", 20, b"value3");
    flush(&db, &family);
    put(&db, &family, "2", 30, b"value2");
    put(&db, &family, "4", 40, b"value4");
    flush(&db, &family);
    let counts = || {
        [Ticker::TimestampFilterTableChecked, Ticker::TimestampFilterTableFiltered]
            .map(|t| statistics.ticker(t))
    };
    let get = |key: &str, time| db.get(&family, key.as_bytes(), &at(time)).unwrap().map(|v| v.to_vec());
    assert_eq!((get("3", 1), counts()), (None, [2, 2]));
    assert_eq!((get("3", 25), counts()), (Some(b"value3".to_vec()), [4, 3]));
    let multi_get = |time| {
        let found = db.multi_get(&family, &[b"1", b"3"], &at(time)).into_iter();
        found.map(|value| value.unwrap().map(|v| v.to_vec())).collect::<Vec<_>>()
    };
    // The key "3" is within the ranges of both files, and the key "1" is within the range of the older file.
    assert_eq!((multi_get(1), counts()), (vec![None, None], [7, 6]));
    let values = vec![Some(b"value1".to_vec()), Some(b"value3".to_vec())];
    assert_eq!((multi_get(25), counts()), (values, [10, 7]));
    // A range deletion acts at its own timestamp, also in a file whose keys are newer.
    let end = 15u64.to_le_bytes();
    write(&db, |batch| batch.delete_range_at(family.id(), b"1", b"2", &end)).unwrap();
    put(&db, &family, "1", 50, b"new");
    flush(&db, &family);
    assert_eq!(get("1", 12), Some(b"value1".to_vec()));
    assert_eq!(get("1", 16), None);
    assert_eq!(get("1", 50), Some(b"new".to_vec()));
    assert_eq!(multi_get(16), [None, None]);
    assert_eq!(multi_get(50), [Some(b"new".to_vec()), Some(b"value3".to_vec())]);
}

#[test]
fn a_get_that_returns_the_timestamp_counts_as_a_plain_get() {
    let statistics = Arc::new(Statistics::new());
    let db_options =
        DbOptions { statistics: Some(statistics.clone()), ..basic::options(&env::Env::memory(78)) };
    let db = Db::open(OpenRequest::new("/db", db_options, options())).unwrap();
    let family = db.default_family().unwrap();
    for (key, time) in [("1", 10), ("3", 20), ("2", 30), ("4", 40)] {
        put(&db, &family, key, time, b"value");
        if key >= "3" {
            flush(&db, &family);
        }
    }
    set_perf_level(PerfLevel::EnableCount);
    let counts = |read: &dyn Fn()| {
        let tickers = [
            Ticker::TimestampFilterTableChecked,
            Ticker::TimestampFilterTableFiltered,
            Ticker::NumberKeysRead,
            Ticker::BytesRead,
        ];
        let before = tickers.map(|ticker| statistics.ticker(ticker));
        perf_context_reset();
        read();
        let counted: Vec<u64> = tickers.iter().zip(before).map(|(t, n)| statistics.ticker(*t) - n).collect();
        (counted, perf_counter(PerfCounter::GetReadBytes))
    };
    for (key, time) in [("3", 1), ("3", 25), ("2", 25), ("2", 35), ("x", 50)] {
        let plain = counts(&|| drop(db.get(&family, key.as_bytes(), &at(time)).unwrap()));
        let stamped = counts(&|| drop(db.reads().get_stamped(&family, key.as_bytes(), &at(time)).unwrap()));
        assert_eq!(stamped, plain, "{key} at {time}");
    }
    set_perf_level(PerfLevel::Disable);
}

fn forced(max_subcompactions: u32) -> CompactRangeOptions {
    CompactRangeOptions {
        max_subcompactions,
        bottommost_level_compaction: BottommostLevelCompaction::Force,
        ..CompactRangeOptions::default()
    }
}

/// Writes 20 keys with 100 entries each to two overlapping level-0 files.
fn fill_two_files(db: &Db, family: &Arc<Family>) {
    for half in 0..2u64 {
        for key in 0..20 {
            for version in 0..50u64 {
                put(db, family, &format!("key{key:02}"), half * 50 + version + 1, &[b'v'; 100]);
            }
        }
        flush(db, family);
    }
}

#[test]
fn subcompactions_keep_every_version_of_a_key() {
    let env = env::Env::memory(1);
    let (db, family) = open(&env);
    fill_two_files(&db, &family);
    let before = newest(&db, &family);
    assert_eq!(before.len(), 20);
    db.compactions().compact_range(&family, None, None, &forced(4)).unwrap();
    assert_eq!(newest(&db, &family), before);
    let mut iter = db.files().versions(&family).unwrap();
    iter.seek_to_first();
    let mut count = 0;
    while iter.valid() {
        count += 1;
        iter.next();
    }
    assert_eq!(count, 2000, "no version may be dropped: no history mark is set");
}

#[test]
fn range_deletions_and_newer_versions_can_be_compacted() {
    let env = env::Env::memory(2);
    let (db, family) = open(&env);
    write(&db, |batch| batch.delete_range_at(family.id(), b"key00", b"key99", &1u64.to_le_bytes())).unwrap();
    for half in 0..2 {
        (half..90).step_by(2).for_each(|key| put(&db, &family, &format!("key{key:02}"), 2, &[b'v'; 500]));
        flush(&db, &family);
    }
    db.compactions().compact_range(&family, None, None, &CompactRangeOptions::default()).unwrap();
    // Newer entries of the first key of an SST file, and of a few keys after it.
    (10..20).for_each(|key| put(&db, &family, &format!("key{key:02}"), 3, &[b'w'; 500]));
    flush(&db, &family);
    db.compactions().compact_range(&family, None, None, &forced(1)).unwrap();
    let rows = newest(&db, &family);
    assert_eq!(rows.len(), 90);
    assert!(rows[10..20].iter().all(|row| row.1 == 3) && rows[20..].iter().all(|row| row.1 == 2));
    // The same with several subcompactions, which cut the range deletion.
    (10..80).for_each(|key| put(&db, &family, &format!("key{key:02}"), 4, &[b'x'; 500]));
    flush(&db, &family);
    db.compactions().compact_range(&family, None, None, &forced(3)).unwrap();
    assert_eq!(newest(&db, &family).iter().filter(|row| row.1 == 4).count(), 70);
}

#[test]
fn ranges_of_keys_are_given_without_timestamps() {
    let env = env::Env::memory(3);
    let (db, family) = open(&env);
    for half in 0..2u64 {
        for key in 0..40 {
            put(&db, &family, &format!("long-key-{key:02}"), half + 1, &[b'v'; 1000]);
        }
        flush(&db, &family);
    }
    // The last eight bytes of the bounds are no timestamps: without them all bounds are the key "lon".
    let compact = |end: &[u8]| {
        db.compactions().compact_range(&family, None, Some(end), &CompactRangeOptions::default())
    };
    let level = |level| family.pin_owned().version.level(level).len();
    compact(b"lona").unwrap();
    assert_eq!(level(Level::ZERO), 2, "no key lies before the end");
    compact(b"long-key-99").unwrap();
    assert_eq!(level(Level::ZERO), 0);
    let before = newest(&db, &family);
    let ranges: [(Option<&[u8]>, Option<&[u8]>); 1] = [(Some(b"long-key-10"), Some(b"long-key-29"))];
    db.files().delete_files_in_ranges(&family, &ranges, true).unwrap();
    let left = newest(&db, &family);
    let outside = |rows: &[(String, u64)]| {
        let inside = "long-key-10".to_string()..="long-key-29".to_string();
        rows.iter().filter(|r| !inside.contains(&r.0)).cloned().collect::<Vec<_>>()
    };
    assert_eq!(outside(&left), outside(&before), "no key outside of the range is deleted");
    assert!(left.len() < before.len(), "the range holds whole SST files");
}

/// The code of the error of each write without timestamp, single and in batches.
fn writes_without(db: &Db, family: &Family) -> Vec<Option<Kind>> {
    let code = |outcome: base::Result<()>| outcome.err().map(|error| error.kind());
    let (id, options) = (family.id(), WriteOptions::default());
    let (k, l) = (&b"user-key-0001"[..], &b"user-key-0002"[..]);
    let mut entity = Vec::new();
    format::wide::encode(&[], &mut entity).unwrap();
    vec![
        code(db.put(family, k, b"v", &options)),
        code(db.delete(family, k, &options)),
        code(db.single_delete(family, k, &options)),
        code(db.merge(family, k, b"v", &options)),
        code(db.delete_range(family, k, l, &options)),
        code(write(db, |batch| batch.put_in(id, k, b"v"))),
        code(write(db, |batch| batch.delete_in(id, k))),
        code(write(db, |batch| batch.single_delete_in(id, k))),
        code(write(db, |batch| batch.merge_in(id, k, b"v"))),
        code(write(db, |batch| batch.delete_range_in(id, k, l))),
        code(write(db, |batch| batch.put_encoded_entity_in(id, k, &entity))),
        // A record with a timestamp does not hide a record without timestamp.
        code(write(db, |batch| batch.put_at(id, k, &[1; 8], b"v").put_in(id, l, b"v"))),
        code(write(db, |batch| batch.put_in(id, l, b"v").put_at(id, k, &[1; 8], b"v"))),
    ]
}

/// The code of the error of each write with a timestamp.
fn writes_with(db: &Db, family: &Family, timestamp: &[u8]) -> Vec<Option<Kind>> {
    let code = |outcome: base::Result<()>| outcome.err().map(|error| error.kind());
    let id = family.id();
    let (k, l) = (&b"key-0001"[..], &b"key-0002"[..]);
    vec![
        code(write(db, |batch| batch.put_at(id, k, timestamp, b"v"))),
        code(write(db, |batch| batch.delete_at(id, k, timestamp))),
        code(write(db, |batch| batch.single_delete_at(id, k, timestamp))),
        code(write(db, |batch| batch.merge_at(id, k, timestamp, b"v"))),
        code(write(db, |batch| batch.delete_range_at(id, k, l, timestamp))),
    ]
}

fn with_merge_operator(mut options: FamilyOptions) -> FamilyOptions {
    options.set("merge_operator", "stringappend").unwrap();
    options
}

#[test]
fn a_write_without_timestamp_is_rejected_in_a_family_with_timestamps() {
    let env = env::Env::memory(4);
    let db = basic::open(&env, with_merge_operator(options()));
    let family = db.default_family().unwrap();
    let rejected = Some(Kind::InvalidArgument);
    assert!(writes_without(&db, &family).iter().all(|code| *code == rejected));
    assert_eq!(db.latest_sequence(), SequenceNumber::ZERO, "nothing was written");
    assert!(writes_with(&db, &family, &[7; 8]).iter().all(Option::is_none));
    for length in [0, 1, 7, 9] {
        assert!(writes_with(&db, &family, &vec![7; length]).iter().all(|code| *code == rejected), "{length}");
    }
}

#[test]
fn a_timestamp_is_rejected_in_a_family_without_timestamps() {
    let env = env::Env::memory(5);
    let db = basic::open(&env, with_merge_operator(FamilyOptions::default()));
    let family = db.default_family().unwrap();
    for length in [0, 8] {
        let codes = writes_with(&db, &family, &vec![7; length]);
        assert!(codes.iter().all(|code| *code == Some(Kind::InvalidArgument)), "{length}");
    }
    assert_eq!(db.latest_sequence(), SequenceNumber::ZERO, "nothing was written");
}

#[test]
fn one_batch_writes_families_with_and_without_timestamps() {
    let env = env::Env::memory(6);
    let (db, stamped) = open(&env);
    let other = FamilyDescriptor::new("plain", FamilyOptions::default());
    let plain = db.admin().create_family(other).unwrap();
    let mut both = WriteBatch::new();
    both.put_in(plain.id(), b"a", b"1").put_at(stamped.id(), b"a", &[1; 8], b"2");
    db.write(&mut both, &WriteOptions::default()).unwrap();
    // The same entries in two batches. One batch is appended to the second batch, in both orders.
    let (mut first, mut second) = (WriteBatch::new(), WriteBatch::new());
    first.put_in(plain.id(), b"b", b"1");
    second.put_at(stamped.id(), b"b", &[1; 8], b"2");
    write(&db, |batch| batch.append(&first).append(&second)).unwrap();
    write(&db, |batch| batch.append(&second).append(&first)).unwrap();
    // A batch that is read from bytes is taken as it is.
    db.write(&mut WriteBatch::from_bytes(both.bytes()).unwrap(), &WriteOptions::default()).unwrap();
    // A rollback forgets the record without timestamp.
    write(&db, |batch| {
        batch.put_at(stamped.id(), b"c", &[1; 8], b"3");
        batch.set_save_point();
        batch.put_in(stamped.id(), b"user-key-0001", b"v");
        batch.rollback_to_save_point().unwrap();
        batch
    })
    .unwrap();
    let keys: Vec<_> = newest(&db, &stamped).into_iter().map(|row| row.0).collect();
    assert_eq!(keys, ["a", "b", "c"]);
    let rejected = write(&db, |batch| batch.append(&first).append(&first).put_in(stamped.id(), b"x", b""));
    assert_eq!(rejected.unwrap_err().kind(), Kind::InvalidArgument);
}

#[test]
fn a_multi_get_finds_each_of_several_keys_at_its_timestamp() {
    let env = env::Env::memory(7);
    let (db, family) = open(&env);
    let keys: [&[u8]; 5] = [b"e", b"a", b"c", b"missing", b"b"];
    for flushed in [false, true] {
        for key in ["a", "b", "c", "e"] {
            put(&db, &family, key, 5, format!("{key}5").as_bytes());
            put(&db, &family, key, 9, format!("{key}9").as_bytes());
        }
        if flushed {
            flush(&db, &family);
        }
        for timestamp in [4, 5, 8, 9] {
            let one_by_one =
                keys.map(|key| db.get(&family, key, &at(timestamp)).unwrap().map(|v| v.to_vec()));
            assert_eq!(one_by_one.iter().flatten().count(), if timestamp < 5 { 0 } else { 4 });
            let together = db.multi_get(&family, &keys, &at(timestamp));
            let together: Vec<_> = together.into_iter().map(|v| v.unwrap().map(|v| v.to_vec())).collect();
            assert_eq!(together, one_by_one, "at {timestamp}");
        }
    }
}

#[test]
fn history_below_the_mark_cannot_be_read() {
    let env = env::Env::memory(7);
    let (db, family) = open(&env);
    for (timestamp, value) in [(5, b"a"), (10, b"b"), (20, b"c")] {
        put(&db, &family, "k", timestamp, value);
        flush(&db, &family);
    }
    let mut older = db.iter(&family, at(6)).unwrap();
    db.compactions().increase_full_history_ts_low(&family, &15u64.to_le_bytes()).unwrap();
    let invalid = |error: base::Error| assert_eq!(error.kind(), Kind::InvalidArgument, "{error}");
    let check = |db: &Db, family: &Arc<Family>| {
        for timestamp in [0, 4, 6, 14] {
            invalid(db.get(family, b"k", &at(timestamp)).unwrap_err());
            let answers = db.multi_get(family, &[b"k", b"l"], &at(timestamp));
            answers.into_iter().for_each(|answer| invalid(answer.unwrap_err()));
            invalid(db.iter(family, at(timestamp)).map(drop).unwrap_err());
        }
        let get = |timestamp| db.get(family, b"k", &at(timestamp)).unwrap().unwrap().to_vec();
        assert_eq!((get(15), get(19), get(20)), (b"b".to_vec(), b"b".to_vec(), b"c".to_vec()));
    };
    check(&db, &family);
    // An iterator that is older than the change pins its super version, and so the old entries.
    older.seek_to_first();
    assert_eq!(older.value(), b"a");
    invalid(older.refresh().unwrap_err());
    db.compactions().compact_range(&family, None, None, &CompactRangeOptions::default()).unwrap();
    check(&db, &family);
    let lower = db.compactions().increase_full_history_ts_low(&family, &14u64.to_le_bytes());
    invalid(lower.unwrap_err());
    drop((older, family, db));
    let (db, family) = open(&env);
    check(&db, &family);
}

#[test]
fn compaction_with_a_mark_of_another_length_is_rejected() {
    let env = env::Env::memory(7);
    let (db, family) = open(&env);
    put(&db, &family, "k", 5, b"a");
    let plain = FamilyOptions::default();
    let plain = db.admin().create_family(FamilyDescriptor::new("plain", plain)).unwrap();
    db.put(&plain, b"k", b"a", &WriteOptions::default()).unwrap();
    for (family, mark) in [(&family, vec![1; 4]), (&family, vec![1; 9]), (&plain, vec![1; 8])] {
        let options =
            CompactRangeOptions { full_history_ts_low: Some(mark), ..CompactRangeOptions::default() };
        let error = db.compactions().compact_range(family, None, None, &options).unwrap_err();
        assert_eq!(error.kind(), Kind::InvalidArgument, "{error}");
        assert_eq!(db.compactions().full_history_ts_low(family), None);
    }
}

#[test]
fn files_with_history_are_not_rewritten_again_and_again() {
    let env = env::Env::memory(8);
    let mut options = options();
    options.set("disable_auto_compactions", "false").unwrap();
    let db = basic::open(&env, options);
    let family = db.default_family().unwrap();
    let snapshot = db.snapshot();
    (0..50).for_each(|key| put(&db, &family, &format!("key{key:02}"), key, b"value"));
    flush(&db, &family);
    db.compactions().compact_range(&family, None, None, &forced(1)).unwrap();
    // The release marks bottommost files with sequence numbers. All of them hold history, so none is rewritten.
    drop(snapshot);
    let files = |family: &Family| {
        family.pin_owned().version.files().map(|(level, file)| (level, file.number)).collect::<Vec<_>>()
    };
    let before = files(&family);
    db.background().wait_for_compact().unwrap();
    assert_eq!(files(&family), before);
    let meta = |family: &Family| {
        let version = family.pin_owned().version.clone();
        let bounds =
            version.files().map(|(_, file)| (file.timestamps.min.clone(), file.timestamps.max.clone()));
        let (min, max): (Vec<_>, Vec<_>) = bounds.unzip();
        (min.into_iter().min(), max.into_iter().max())
    };
    let bounds = (Some(0u64.to_le_bytes().to_vec()), Some(49u64.to_le_bytes().to_vec()));
    assert_eq!(meta(&family), bounds);
    drop((family, db));
    let (_db, family) = open(&env);
    assert_eq!(meta(&family), bounds, "the MANIFEST holds the timestamps");
}

#[test]
fn a_flush_does_not_merge_across_a_range_deletion() {
    let env = env::Env::memory(9);
    let db = basic::open(&env, with_merge_operator(options()));
    let family = db.default_family().unwrap();
    let (id, stamp) = (family.id(), 1u64.to_le_bytes());
    write(&db, |batch| {
        batch.merge_at(id, b"k", &stamp, b"old").delete_range_at(id, b"a", b"z", &stamp);
        batch.merge_at(id, b"k", &stamp, b"new").put_at(id, b"l", &stamp, b"old");
        batch.delete_range_at(id, b"a", b"z", &stamp).merge_at(id, b"l", &stamp, b"new")
    })
    .unwrap();
    let get = |key: &[u8]| db.get(&family, key, &at(1)).unwrap().map(|value| value.to_vec());
    assert_eq!((get(b"k"), get(b"l")), (None, Some(b"new".to_vec())));
    flush(&db, &family);
    assert_eq!((get(b"k"), get(b"l")), (None, Some(b"new".to_vec())));
}

/// A listener that holds the first automatic compaction until a thread waits for a job.
struct HoldsCompaction {
    begun: Sender<()>,
    waits: Mutex<Receiver<()>>,
}

impl Listener for HoldsCompaction {
    fn on_event(&self, event: &Event) {
        let Event::CompactionStarted(started) = event else { return };
        if started.reason == "ManualCompaction" {
            return;
        }
        let waits = self.waits.lock().unwrap();
        while waits.try_recv().is_ok() {}
        // Ignore the error: the receiver takes only the first message.
        let _ = self.begun.send(());
        waits.recv().unwrap();
    }
}

#[test]
fn a_trim_concurrent_with_a_compaction_leaves_no_newer_entry() {
    let mut env = env::Env::memory(78);
    let (db, family) = open(&env);
    for time in 1..=24 {
        put(&db, &family, &format!("{}", time % 3), time, b"value");
        if time % 4 == 0 {
            flush(&db, &family);
        }
    }
    drop(family);
    db.close().unwrap();
    let (tell, waits) = channel();
    env.executor = Arc::new(Gate { threads: Threads::new(), waits: tell });
    let (tell, begun) = channel();
    let listener = Arc::new(HoldsCompaction { begun: tell, waits: Mutex::new(waits) });
    let mut automatic = options();
    automatic.set("disable_auto_compactions", "false").unwrap();
    let mut request = OpenRequest::new("/db", basic::options(&env), automatic);
    request.components.listeners.push(listener);
    let db = Db::open(request).unwrap();
    begun.recv().unwrap();
    let family = db.default_family().unwrap();
    db.compactions().trim_history(&family, &11u64.to_le_bytes()).unwrap();
    let wanted = [("0", 9), ("1", 10), ("2", 11)].map(|(key, time)| (key.to_owned(), time));
    assert_eq!(newest(&db, &family), wanted);
}

#[test]
fn an_import_knows_that_the_keys_of_its_files_have_no_timestamps() {
    let env = env::Env::memory(78);
    let mut options = options();
    options.set("persist_user_defined_timestamps", "false").unwrap();
    let database = DbOptions { allow_concurrent_memtable_write: false, ..basic::options(&env) };
    let db = Db::open(OpenRequest::new("db", database, options.clone())).unwrap();
    let family = db.default_family().unwrap();
    put(&db, &family, "a", 1, b"1");
    put(&db, &family, "b", 2, b"2");
    flush(&db, &family);
    let copy = FamilyDescriptor::new("copy", options.clone());
    let copy = db.admin().create_family_with_import(copy, &[export(&db)], false).unwrap();
    let facts = |family: &Arc<Family>| {
        let files = family.pin_owned().version.files().map(|(_, file)| file.clone()).collect::<Vec<_>>();
        files
            .iter()
            .map(|file| {
                let ends = (file.timestamps.min.clone(), file.timestamps.max.clone());
                (file.user_defined_timestamps_persisted, ends, file.smallest.to_vec(), file.largest.to_vec())
            })
            .collect::<Vec<_>>()
    };
    assert!(!facts(&family)[0].0);
    assert_eq!(facts(&copy), facts(&family));
    assert_eq!(newest(&db, &copy), newest(&db, &family));
}

/// The timestamp of an entry can be older than that of an entry with a smaller sequence number.
#[test]
fn merge_in_an_iterator_uses_no_entry_that_the_snapshot_does_not_see() {
    for is_operand in [false, true] {
        let mut options = options();
        options.set("merge_operator", "stringappend").unwrap();
        let db = basic::open(&env::Env::memory(5), options);
        let family = db.default_family().unwrap();
        let merge = |at: u64, operand: &[u8]| {
            write(&db, |batch| batch.merge_at(family.id(), b"k", &at.to_le_bytes(), operand)).unwrap();
        };
        put(&db, &family, "k", 6, b"a");
        merge(10, b"b");
        let snapshot = db.snapshot();
        if is_operand {
            merge(8, b"unseen");
        } else {
            put(&db, &family, "k", 8, b"unseen");
        }
        let read = || ReadOptions { snapshot: Some(snapshot.clone()), ..at(10) };
        assert_eq!(db.get(&family, b"k", &read()).unwrap().as_deref(), Some(&b"a,b"[..]));
        let mut iter = db.iter(&family, read()).unwrap();
        iter.seek_to_first();
        assert_eq!(iter.value(), b"a,b", "forward, operand {is_operand}");
        iter.next();
        assert!(!iter.valid());
        iter.seek_to_last();
        assert_eq!(iter.value(), b"a,b", "backward, operand {is_operand}");
    }
}
