//! Commits that fill separate memtables, and ingested batches.

use std::path::Path;
use std::sync::{Arc, Mutex};

use base::SequenceNumber;
use ironstone::event::{Event, Listener};
use ironstone::stats::Ticker;
use ironstone::{
    Db, Family, FamilyDescriptor, Kind, Options, ReadOptions, Statistics, Transaction, TransactionDb,
    TransactionOptions, WriteBatchWithIndex, WriteBatchWithIndexOptions, WriteOptions,
};

use super::write_prepared::rows;
use super::{crash, impatient, open, options, with};

fn large() -> TransactionOptions {
    TransactionOptions { commit_bypass_memtable: true, ..TransactionOptions::default() }
}

/// Writes, prepares and commits one transaction in two column families.
fn transfer(db: &TransactionDb, other: &Family, name: &str, options: TransactionOptions) -> Transaction {
    let transaction = with(options, db);
    transaction.set_name(name.as_bytes()).unwrap();
    for i in 0..200u32 {
        let key = format!("k{:03}", i * 7 % 60);
        match i % 5 {
            0 => transaction.delete(key.as_bytes()).unwrap(),
            1 => transaction.put_in(other, key.as_bytes(), name.as_bytes()).unwrap(),
            2 => transaction.merge(key.as_bytes(), name.as_bytes()).unwrap(),
            _ => transaction.put(key.as_bytes(), format!("{name}{i}").as_bytes()).unwrap(),
        }
    }
    transaction.prepare().unwrap();
    transaction.with_commit_time_batch(|batch| {
        batch.put(b"committed", name.as_bytes()).put(b"k003", b"older than the transaction");
    });
    transaction
}

fn all(db: &TransactionDb, other: &Family) -> [Vec<(String, String)>; 2] {
    [rows(db.iter().unwrap()), rows(other.iter().unwrap())]
}

fn create(path: &Path, text: &str) -> (TransactionDb, Family) {
    let mut options = options();
    options.update("WAL_ttl_seconds=1000000").unwrap();
    options.update(text).unwrap();
    let db = TransactionDb::open(path, options, impatient(false)).unwrap();
    let other = db.create_family(FamilyDescriptor::new("other", super::options().family)).unwrap();
    (db, other)
}

#[test]
fn large_commit_equals_the_ordinary_commit() {
    let settings = [
        "write_buffer_size=65536",
        "enable_pipelined_write=true",
        "atomic_flush=true",
        "memtable_factory=vector",
        "memtable_protection_bytes_per_key=8",
        "inplace_update_support=true;allow_concurrent_memtable_write=false",
        "allow_concurrent_memtable_write=false;max_write_buffer_size_to_maintain=1000000",
    ];
    for text in settings {
        let [ours, plain] = [tempfile::tempdir().unwrap(), tempfile::tempdir().unwrap()];
        let (a, a_other) = create(ours.path(), text);
        let (b, b_other) = create(plain.path(), text);
        for round in 0..4 {
            if round == 3 {
                // The last commits stay in the WALs and in memtables.
                for db in [&a, &b] {
                    db.wait_for_compact().unwrap();
                    db.pause_background_work().unwrap();
                }
            }
            let name = format!("t{round}");
            for db in [&a, &b] {
                db.put(b"k001", name.as_bytes()).unwrap();
            }
            transfer(&a, &a_other, &name, large()).commit().unwrap();
            transfer(&b, &b_other, &name, TransactionOptions::default()).commit().unwrap();
            assert_eq!(a.latest_sequence(), b.latest_sequence(), "{text}");
            assert_eq!(all(&a, &a_other), all(&b, &b_other), "{text}");
        }
        let updates = |db: &TransactionDb| -> Vec<_> {
            let updates = db.updates_since(SequenceNumber::new(1)).unwrap().map(|update| update.unwrap());
            updates.map(|update| (update.sequence, update.batch.bytes().to_vec())).collect()
        };
        assert_eq!(updates(&a), updates(&b), "{text}: the WALs have the same batches");
        let crashed = [crash(ours.path()), crash(plain.path())].map(|copy| {
            let families = vec![FamilyDescriptor::new("other", options().family)];
            let db =
                TransactionDb::open_with(copy.path(), options(), impatient(false), Some(families)).unwrap();
            let other = db.family("other").unwrap();
            all(&db, &other)
        });
        assert_eq!(crashed[0], all(&b, &b_other), "{text}");
        assert_eq!(crashed[0], crashed[1], "{text}");
        for db in [&a, &b] {
            db.continue_background_work().unwrap();
        }
    }
}

#[test]
fn snapshot_before_a_large_commit_does_not_see_it_after_flush_and_compaction() {
    let scratch = tempfile::tempdir().unwrap();
    let db = open(scratch.path());
    db.put(b"k", b"old").unwrap();
    let snapshot = db.snapshot();
    let transaction = with(large(), &db);
    transaction.set_name(b"x").unwrap();
    transaction.put(b"k", b"new").unwrap();
    transaction.prepare().unwrap();
    assert_eq!(db.get(b"k").unwrap().as_deref(), Some(&b"old"[..]));
    transaction.commit().unwrap();
    let check = || {
        assert_eq!(db.get(b"k").unwrap().as_deref(), Some(&b"new"[..]));
        assert_eq!(snapshot.get(b"k").unwrap().as_deref(), Some(&b"old"[..]));
    };
    check();
    db.flush().unwrap();
    check();
    db.compact_range(None, None, &Default::default()).unwrap();
    check();
}

#[test]
fn thresholds_decide_which_commits_are_large() {
    let cases = [
        (TransactionOptions { large_txn_commit_optimize_threshold: 3, ..Default::default() }, [0, 1]),
        (TransactionOptions { large_txn_commit_optimize_byte_threshold: 60, ..Default::default() }, [0, 1]),
        (TransactionOptions::default(), [0, 0]),
        (large(), [1, 1]),
    ];
    for (of, expected) in cases {
        let found = [2, 3].map(|records: u8| {
            let scratch = tempfile::tempdir().unwrap();
            let mut options = options();
            let statistics = Arc::new(Statistics::default());
            options.db.statistics = Some(statistics.clone());
            let db = TransactionDb::open(scratch.path(), options, impatient(false)).unwrap();
            let transaction = with(of.clone(), &db);
            transaction.set_name(b"x").unwrap();
            (0..records).for_each(|i| transaction.put(&[i], &[i; 15]).unwrap());
            transaction.prepare().unwrap();
            transaction.commit().unwrap();
            statistics.ticker(Ticker::NumberWbwiIngest)
        });
        assert_eq!(found, expected, "{of:?}");
    }
}

/// A reader without a snapshot that pins a super version before the commit must see nothing of the commit.
#[test]
fn large_commit_and_its_commit_time_batch_are_in_one_memtable() {
    let scratch = tempfile::tempdir().unwrap();
    let db = open(scratch.path());
    db.pause_background_work().unwrap();
    let transaction = with(large(), &db);
    transaction.set_name(b"x").unwrap();
    transaction.put(b"a", b"1").unwrap();
    transaction.prepare().unwrap();
    transaction.with_commit_time_batch(|batch| {
        batch.put(b"b", b"2");
    });
    transaction.commit().unwrap();
    let properties =
        ["num-immutable-mem-table", "num-entries-imm-mem-tables", "num-entries-active-mem-table"];
    let found = properties.map(|name| db.property(&format!("rocksdb.{name}")).unwrap());
    assert_eq!(found, ["1", "2", "0"]);
    let expected = [("a", "1"), ("b", "2")].map(|(key, value)| (key.to_string(), value.to_string()));
    assert_eq!(rows(db.iter().unwrap()), expected);
    db.continue_background_work().unwrap();
}

/// Scans a column family when a memtable of the default column family becomes immutable.
#[derive(Default)]
struct Scans(Mutex<Option<Family>>);

impl Listener for Scans {
    fn on_event(&self, event: &Event) {
        if let Event::MemtableSealed { family, .. } = event
            && family.name == "default"
            && let Some(family) = self.0.lock().unwrap().take()
        {
            assert!(rows(family.iter().unwrap()).iter().all(|(key, _)| key != "k2000"));
        }
    }
}

/// Commits `k2000` in the column family `other`, and scans `other` after its place in the super version is decided and before
/// it is taken. Returns the database, `other` and the number of derived range tombstones.
fn commit_during_a_scan(path: &Path, keys: std::ops::Range<u32>, text: &str) -> (TransactionDb, Family, u64) {
    let mut options = options();
    let statistics = Arc::new(Statistics::default());
    options.db.statistics = Some(statistics.clone());
    let scans = Arc::new(Scans::default());
    options.listeners.push(scans.clone());
    let db = TransactionDb::open(path, options, impatient(false)).unwrap();
    let mut family = super::options().family;
    family.update("disable_auto_compactions=true").unwrap();
    family.update(text).unwrap();
    let other = db.create_family(FamilyDescriptor::new("other", family)).unwrap();
    other.put(b"a", b"first").unwrap();
    keys.clone().for_each(|i| other.put(format!("k{i:04}").as_bytes(), b"old").unwrap());
    other.put(b"z", b"last").unwrap();
    other.flush().unwrap();
    keys.for_each(|i| other.delete(format!("k{i:04}").as_bytes()).unwrap());
    other.flush().unwrap();
    let transaction = with(large(), &db);
    transaction.set_name(b"x").unwrap();
    transaction.put(b"k", b"1").unwrap();
    transaction.put_in(&other, b"k2000", b"live").unwrap();
    transaction.prepare().unwrap();
    *scans.0.lock().unwrap() = Some(other.clone());
    transaction.commit().unwrap();
    assert!(scans.0.lock().unwrap().is_none(), "the listener scanned");
    (db, other, statistics.ticker(Ticker::ReadPathRangeTombstonesInserted))
}

fn survivors() -> Vec<(String, String)> {
    [("a", "first"), ("k2000", "live"), ("z", "last")].map(|(k, v)| (k.to_string(), v.to_string())).to_vec()
}

#[test]
fn scan_during_a_large_commit_hides_no_key_from_later_scans() {
    let scratch = tempfile::tempdir().unwrap();
    let (db, other, _) = commit_during_a_scan(scratch.path(), 0..4000, "");
    assert_eq!(rows(other.iter().unwrap()), survivors());
    assert_eq!(rows(other.iter().unwrap()), survivors());
    drop(db);
}

#[test]
fn scan_during_a_large_commit_may_derive_a_range_tombstone() {
    let scratch = tempfile::tempdir().unwrap();
    let text = "min_tombstones_for_range_conversion=2";
    let (db, other, derived) = commit_during_a_scan(scratch.path(), 1990..2010, text);
    assert_eq!(derived, 1);
    assert_eq!(rows(other.iter().unwrap()), survivors());
    other.flush().unwrap();
    assert_eq!(rows(other.iter().unwrap()), survivors());
    drop(db);
}

fn indexed(overwrite_key: bool) -> WriteBatchWithIndex {
    WriteBatchWithIndex::with_options(WriteBatchWithIndexOptions {
        overwrite_key,
        ..WriteBatchWithIndexOptions::default()
    })
}

#[test]
fn ingested_batch_is_flushed_and_survives_a_crash() {
    let scratch = tempfile::tempdir().unwrap();
    let db = Db::open(scratch.path(), options()).unwrap();
    db.put(b"a", b"old").unwrap();
    db.put(b"c", b"old").unwrap();
    let mut batch = indexed(true);
    batch.put(b"a", b"1").unwrap();
    batch.put(b"a", b"2").unwrap();
    batch.delete(b"c").unwrap();
    let unlogged = WriteOptions { disableWAL: true, ..WriteOptions::default() };
    batch.ingest(&db, &unlogged).unwrap();
    assert_eq!(rows(db.iter().unwrap()), [("a".to_string(), "2".to_string())]);
    assert_eq!(db.latest_sequence(), SequenceNumber::new(5));
    db.wait_for_compact().unwrap();
    let crashed = crash(scratch.path());
    let again = Db::open(crashed.path(), options()).unwrap();
    assert_eq!(rows(again.iter().unwrap()), [("a".to_string(), "2".to_string())]);
}

#[test]
fn ingestion_refuses_what_rocksdb_refuses() {
    let scratch = tempfile::tempdir().unwrap();
    let db = Db::open(scratch.path(), Options { ..options() }).unwrap();
    let mut batch = indexed(true);
    batch.put(b"a", b"1").unwrap();
    let logged = batch.ingest(&db, &WriteOptions::default()).unwrap_err();
    let unlogged = WriteOptions { disableWAL: true, ..WriteOptions::default() };
    let mut all_records = indexed(false);
    all_records.put(b"a", b"1").unwrap();
    let kept = all_records.ingest(&db, &unlogged).unwrap_err();
    assert_eq!([logged.kind(), kept.kind()], [Kind::NotSupported; 2]);
    indexed(true).ingest(&db, &unlogged).unwrap();
    assert!(db.get_with(b"a", &ReadOptions::default()).unwrap().is_none());
}

#[test]
fn a_database_with_locks_takes_no_ingested_batch() {
    let scratch = tempfile::tempdir().unwrap();
    let db = open(scratch.path());
    let mut batch = WriteBatchWithIndex::with_options(WriteBatchWithIndexOptions {
        overwrite_key: true,
        ..WriteBatchWithIndexOptions::default()
    });
    batch.put(b"k", b"ingested").unwrap();
    let unlogged = WriteOptions { disableWAL: true, ..WriteOptions::default() };
    assert_eq!(batch.ingest(&db, &unlogged).unwrap_err().kind(), Kind::NotSupported);
    assert!(db.get(b"k").unwrap().is_none());
}
