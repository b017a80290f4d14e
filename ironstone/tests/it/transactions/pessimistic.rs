//! Pessimistic transactions: locks, snapshots, expiration, and writes outside of transactions.

use std::sync::Mutex;

use ironstone::{
    CompactRangeOptions, FamilyDescriptor, Kind, LockMode, ReadOptions, Snapshot, Subcode, Transaction,
    TransactionDb, TransactionDbOptions, TransactionNotifier, TransactionOptions, TransactionState,
    TxnDbWritePolicy, Validation, WriteBatch, WriteOptions,
};

use super::{impatient, open, options, with};

fn both(test: impl Fn(&TransactionDb)) {
    for per_key in [false, true] {
        let scratch = tempfile::tempdir().unwrap();
        test(&TransactionDb::open(scratch.path(), options(), impatient(per_key)).unwrap());
    }
}

fn lock(db: &TransactionDb, transaction: &Transaction, key: &[u8], mode: LockMode) -> Result<(), Subcode> {
    let options = ReadOptions::default();
    let locked = transaction.lock_for_update_in(&db.default_family(), key, &options, mode, Validation::Check);
    locked.map_err(|error| error.subcode())
}

#[test]
fn exclusive_lock_keeps_others_away_until_the_end() {
    both(|db| {
        let (first, second) = (db.begin(), db.begin());
        first.put(b"k", b"1").unwrap();
        let error = second.put(b"k", b"2").unwrap_err();
        assert_eq!((error.kind(), error.subcode()), (Kind::TimedOut, Subcode::LockTimeout));
        assert_eq!(second.waiting_for().transactions, [first.id()]);
        assert_eq!(second.waiting_for().key, b"k");
        assert_eq!(second.num_puts(), 0);
        let error = db.put(b"k", b"3").unwrap_err();
        assert_eq!((error.kind(), error.subcode()), (Kind::TimedOut, Subcode::LockTimeout));
        first.commit().unwrap();
        second.put(b"k", b"2").unwrap();
        drop(second);
        db.put(b"k", b"3").unwrap();
        assert!(db.lock_status_data().is_empty());
    });
}

#[test]
fn shared_locks_admit_readers_and_one_of_them_upgrades_alone() {
    both(|db| {
        let (a, b, c) = (db.begin(), db.begin(), db.begin());
        lock(db, &a, b"k", LockMode::Shared).unwrap();
        lock(db, &b, b"k", LockMode::Shared).unwrap();
        assert_eq!(lock(db, &c, b"k", LockMode::Exclusive), Err(Subcode::LockTimeout));
        assert_eq!(a.put(b"k", b"1").unwrap_err().subcode(), Subcode::LockTimeout);
        let status = db.lock_status_data();
        assert_eq!((status.len(), status[0].exclusive, status[0].holders.len()), (1, false, 2));
        b.rollback().unwrap();
        a.put(b"k", b"1").unwrap();
        assert!(db.lock_status_data()[0].exclusive);
        assert_eq!(lock(db, &c, b"k", LockMode::Shared), Err(Subcode::LockTimeout));
        a.commit().unwrap();
        lock(db, &c, b"k", LockMode::Shared).unwrap();
    });
}

#[test]
fn write_after_the_snapshot_is_busy_and_releases_the_lock() {
    both(|db| {
        db.put(b"k", b"0").unwrap();
        let transaction = with(TransactionOptions { set_snapshot: true, ..Default::default() }, db);
        db.put(b"k", b"1").unwrap();
        assert_eq!(transaction.put(b"k", b"2").unwrap_err().kind(), Kind::Busy);
        assert_eq!(transaction.num_keys(), 0);
        db.put(b"k", b"3").unwrap();
        // The check reads SST files too, so the history is never too short.
        db.put(b"j", b"1").unwrap();
        db.flush().unwrap();
        db.compact_range(None, None, &Default::default()).unwrap();
        assert_eq!(transaction.get_for_update(b"j").unwrap_err().kind(), Kind::Busy);
        transaction.put(b"untouched", b"1").unwrap();
        transaction.commit().unwrap();
    });
}

#[test]
fn check_finds_the_newest_write_in_sst_files() {
    let scratch = tempfile::tempdir().unwrap();
    let mut options = options();
    options.family.max_write_buffer_size_to_maintain = 1;
    let db = TransactionDb::open(scratch.path(), options, impatient(false)).unwrap();
    db.put(b"old", b"1").unwrap();
    let transaction = with(TransactionOptions { set_snapshot: true, ..Default::default() }, &db);
    db.put(b"new", b"1").unwrap();
    db.merge(b"merged", b"1").unwrap();
    db.delete(b"gone").unwrap();
    for i in 0..4 {
        db.put(format!("other{i}").as_bytes(), &[0; 1000]).unwrap();
        db.flush().unwrap();
    }
    for key in [&b"new"[..], b"merged", b"gone"] {
        assert_eq!(transaction.put(key, b"2").unwrap_err().kind(), Kind::Busy, "{key:?}");
    }
    transaction.put(b"old", b"2").unwrap();
    transaction.put(b"never", b"2").unwrap();
    transaction.commit().unwrap();
}

#[test]
fn rollback_to_save_point_releases_the_new_locks_only() {
    both(|db| {
        let (transaction, other) = (db.begin(), db.begin());
        transaction.put(b"a", b"1").unwrap();
        transaction.set_save_point();
        transaction.put(b"b", b"1").unwrap();
        transaction.put(b"a", b"2").unwrap();
        transaction.set_save_point();
        transaction.put(b"c", b"1").unwrap();
        transaction.pop_save_point().unwrap();
        transaction.rollback_to_save_point().unwrap();
        other.put(b"b", b"x").unwrap();
        other.put(b"c", b"x").unwrap();
        assert_eq!(other.put(b"a", b"x").unwrap_err().subcode(), Subcode::LockTimeout);
        transaction.commit().unwrap();
        assert_eq!(db.get(b"a").unwrap().as_deref(), Some(&b"1"[..]));
    });
}

#[test]
fn undo_of_a_read_for_update_unlocks_unless_the_key_was_written() {
    both(|db| {
        let family = db.default_family();
        let (transaction, other) = (db.begin(), db.begin());
        transaction.get_for_update(b"read").unwrap();
        transaction.get_for_update(b"written").unwrap();
        transaction.put(b"written", b"1").unwrap();
        transaction.undo_get_for_update_in(&family, b"read");
        transaction.undo_get_for_update_in(&family, b"written");
        transaction.get_for_update(b"before").unwrap();
        transaction.set_save_point();
        transaction.undo_get_for_update_in(&family, b"before");
        other.put(b"read", b"1").unwrap();
        assert!(other.put(b"written", b"1").is_err());
        assert!(other.put(b"before", b"1").is_err(), "the read for update is older than the save point");
    });
}

#[test]
fn expired_transaction_loses_its_locks_and_its_commit() {
    both(|db| {
        let expiring = with(TransactionOptions { expiration: 0, ..Default::default() }, db);
        expiring.put(b"k", b"1").unwrap();
        let thief = db.begin();
        thief.put(b"k", b"2").unwrap();
        assert_eq!(expiring.state(), TransactionState::LocksStolen);
        assert_eq!(expiring.commit().unwrap_err().kind(), Kind::Expired);
        drop(expiring);
        assert!(db.put(b"k", b"3").is_err(), "the end of the expired transaction left the lock");
        thief.commit().unwrap();
        assert_eq!(db.get(b"k").unwrap().as_deref(), Some(&b"2"[..]));
    });
}

#[test]
fn max_num_locks_counts_the_keys_of_a_column_family() {
    for per_key in [false, true] {
        let scratch = tempfile::tempdir().unwrap();
        let limited = TransactionDbOptions { max_num_locks: 2, ..impatient(per_key) };
        let db = TransactionDb::open(scratch.path(), options(), limited).unwrap();
        let other = db.create_family(FamilyDescriptor::new("other", options().family)).unwrap();
        let transaction = db.begin();
        transaction.put(b"a", b"1").unwrap();
        transaction.put(b"b", b"1").unwrap();
        transaction.put(b"a", b"2").unwrap();
        let error = transaction.put(b"c", b"1").unwrap_err();
        assert_eq!((error.kind(), error.subcode()), (Kind::Aborted, Subcode::LockLimit));
        transaction.put_in(&other, b"c", b"1").unwrap();
        transaction.commit().unwrap();
        db.put(b"c", b"1").unwrap();
    }
}

#[test]
fn batch_outside_of_a_transaction_locks_all_its_keys() {
    both(|db| {
        let transaction = db.begin();
        transaction.put(b"b", b"1").unwrap();
        let mut batch = WriteBatch::new();
        batch.put(b"a", b"2").delete(b"b").put(b"a", b"3");
        assert_eq!(db.write(batch.clone()).unwrap_err().kind(), Kind::TimedOut);
        assert_eq!(db.get(b"a").unwrap(), None);
        assert_eq!(db.default_family().put(b"b", b"9").unwrap_err().kind(), Kind::TimedOut);
        db.write_without_locks(&mut batch, &WriteOptions::default()).unwrap();
        transaction.commit().unwrap();
        assert_eq!(db.get(b"b").unwrap().as_deref(), Some(&b"1"[..]));
        assert_eq!(db.delete_range(b"a", b"z").unwrap_err().kind(), Kind::NotSupported);
        let mut ranges = WriteBatch::new();
        ranges.delete_range(b"a", b"z");
        assert_eq!(db.write(ranges).unwrap_err().kind(), Kind::InvalidArgument);
    });
}

#[test]
fn dropped_column_family_takes_no_locks() {
    both(|db| {
        let other = db.create_family(FamilyDescriptor::new("other", options().family)).unwrap();
        let transaction = db.begin();
        transaction.put_in(&other, b"a", b"1").unwrap();
        db.drop_family(&other).unwrap();
        let error = transaction.put_in(&other, b"b", b"1").unwrap_err();
        assert_eq!(error.to_string(), "Invalid argument: Column family id not found: 1");
        assert!(transaction.commit().is_err());
        assert!(db.lock_status_data().is_empty());
    });
}

#[test]
fn options_that_are_not_built_are_refused_by_name() {
    let scratch = tempfile::tempdir().unwrap();
    let policy = TransactionDbOptions {
        write_policy: TxnDbWritePolicy::WritePrepared,
        ..TransactionDbOptions::default()
    };
    let db = TransactionDb::open(scratch.path(), options(), policy).unwrap();
    let bypass = TransactionOptions { commit_bypass_memtable: true, ..Default::default() };
    let error = db.begin_with(&WriteOptions::default(), &bypass).unwrap_err();
    assert!(error.message().contains("commit_bypass_memtable"), "{error}");
}

#[test]
fn limits_of_a_transaction_hold() {
    both(|db| {
        let small = with(TransactionOptions { max_write_batch_size: 60, ..Default::default() }, db);
        small.put(b"a", &[0; 20]).unwrap();
        assert_eq!(small.put(b"b", &[0; 60]).unwrap_err().subcode(), Subcode::MemoryLimit);
        small.commit().unwrap();
        assert_eq!(db.get(b"b").unwrap(), None);
        // The header has 12 bytes, RocksDB's placeholder 1 byte, and the record 5 bytes.
        for (limit, fits) in [(1, false), (17, false), (18, true)] {
            let exact = with(TransactionOptions { max_write_batch_size: limit, ..Default::default() }, db);
            assert_eq!(exact.put(b"e", b"1").is_ok(), fits, "a limit of {limit} bytes");
        }
        let prepares = with(TransactionOptions { skip_prepare: false, ..Default::default() }, db);
        prepares.put(b"c", b"1").unwrap();
        let error = prepares.commit().unwrap_err();
        assert_eq!((error.kind(), error.subcode()), (Kind::InvalidArgument, Subcode::TxnNotPrepared));
    });
}

#[derive(Default)]
struct Seen(Mutex<Vec<u64>>);

impl TransactionNotifier for Seen {
    fn snapshot_created(&self, snapshot: &Snapshot) {
        self.0.lock().unwrap().push(snapshot.sequence().get());
    }
}

#[test]
fn snapshot_on_next_operation_is_taken_by_the_operation() {
    both(|db| {
        let transaction = db.begin();
        let seen = std::sync::Arc::new(Seen::default());
        transaction.set_snapshot_on_next_operation(Some(seen.clone()));
        assert!(transaction.snapshot().is_none());
        db.put(b"k", b"1").unwrap();
        transaction.put(b"k", b"2").unwrap();
        assert_eq!(*seen.0.lock().unwrap(), [db.latest_sequence().get()]);
        assert_eq!(transaction.snapshot().unwrap().sequence(), db.latest_sequence());
    });
}

#[test]
fn commit_takes_a_snapshot_of_exactly_its_state() {
    both(|db| {
        for timestamp in [10, 20] {
            let transaction = db.begin();
            transaction.put(b"k", timestamp.to_string().as_bytes()).unwrap();
            let snapshot =
                transaction.commit_and_try_create_snapshot(None, Some(timestamp)).unwrap().unwrap();
            assert_eq!(snapshot.timestamp(), timestamp);
            assert_eq!(snapshot.sequence(), db.latest_sequence());
        }
        db.put(b"k", b"30").unwrap();
        let read = |timestamp| {
            let snapshot = db.timestamped_snapshot(timestamp).unwrap();
            snapshot.get(b"k").unwrap().unwrap().to_vec()
        };
        assert_eq!((read(10), read(20)), (b"10".to_vec(), b"20".to_vec()));
        assert!(db.create_timestamped_snapshot(5).is_err());
        assert!(db.create_timestamped_snapshot(20).is_err(), "there are writes since");
        db.create_timestamped_snapshot(30).unwrap();
        assert_eq!(db.timestamped_snapshots(10, 30).unwrap().len(), 2);
        db.release_timestamped_snapshots_older_than(30);
        assert!(db.timestamped_snapshot(20).is_none());
        assert_eq!(db.latest_timestamped_snapshot().unwrap().timestamp(), 30);
    });
}

#[test]
fn transactions_after_close_answer_with_an_error() {
    both(|db| {
        let transaction = db.begin();
        transaction.put(b"k", b"1").unwrap();
        transaction.set_name(b"x").unwrap();
        db.close().unwrap();
        assert!(transaction.prepare().is_err());
        assert!(transaction.commit().is_err());
        transaction.rollback().unwrap_or_default();
    });
}

#[test]
fn handles_are_dropped_in_any_order() {
    let scratch = tempfile::tempdir().unwrap();
    let db = open(scratch.path());
    let (transaction, clone) = (db.begin(), db.clone());
    transaction.put(b"k", b"1").unwrap();
    let mut iter = transaction.iter().unwrap();
    drop(db);
    drop(clone);
    transaction.commit().unwrap();
    let snapshot = {
        transaction.set_snapshot();
        transaction.snapshot().unwrap()
    };
    drop(transaction);
    iter.seek_to_first();
    iter.status().unwrap();
    drop(iter);
    assert_eq!(snapshot.get(b"k").unwrap().as_deref(), Some(&b"1"[..]));
    drop(snapshot);
    assert_eq!(open(scratch.path()).get(b"k").unwrap().as_deref(), Some(&b"1"[..]));
}

#[test]
fn every_way_to_create_or_drop_a_family_checks_its_options_and_its_locks() {
    let scratch = tempfile::tempdir().unwrap();
    let db = open(scratch.path());
    let stamped = |name: &str, order: &str| {
        let mut options = super::options();
        options.update(&format!("comparator={order}")).unwrap();
        ironstone::FamilyDescriptor::new(name, options.family)
    };
    let plain = |name: &str| ironstone::FamilyDescriptor::new(name, super::options().family);
    let prepared =
        TransactionDbOptions { write_policy: ironstone::TxnDbWritePolicy::WritePrepared, ..impatient(false) };
    let other = tempfile::tempdir().unwrap();
    let other = TransactionDb::open(other.path(), super::options(), prepared).unwrap();
    let refused = vec![plain("a"), stamped("b", "leveldb.BytewiseComparator.u64ts")];
    assert_eq!(other.create_families(refused).unwrap_err().kind(), Kind::NotSupported);
    assert_eq!(
        other.families().len(),
        1,
        "the options are checked before the first column family is created"
    );
    db.put(b"k", b"1").unwrap();
    let target = scratch.path().join("export");
    let export = ironstone::Checkpoint::new(&db).export_column_family(&db, target).unwrap();
    let how = ironstone::ImportColumnFamilyOptions::default();
    let imported = db.create_family_with_import(plain("imported"), &how, &[&export]).unwrap();
    let history = |family: &ironstone::Family| family.options().max_write_buffer_size_to_maintain;
    assert_ne!(history(&db), 0);
    assert_eq!(history(&imported), history(&db));
    let made = db.create_families(vec![plain("a"), plain("b")]).unwrap();
    assert_eq!(history(&made[0]), history(&db));
    let transaction = db.begin();
    transaction.put_in(&made[0], b"k", b"1").unwrap();
    transaction.put_in(&imported, b"k", b"1").unwrap();
    db.drop_families(&[made[0].clone(), imported]).unwrap();
    assert!(db.lock_status_data().is_empty());
}

#[test]
fn a_write_without_locks_takes_no_keys_of_a_family_with_timestamps() {
    let scratch = tempfile::tempdir().unwrap();
    let mut options = super::options();
    options.update("comparator=leveldb.BytewiseComparator.u64ts").unwrap();
    let db = TransactionDb::open(scratch.path(), options, impatient(false)).unwrap();
    let mut batch = ironstone::WriteBatch::new();
    batch.put_at(db.id(), b"k", &7u64.to_le_bytes(), b"1");
    let refused = db.write_without_locks(&mut batch, &WriteOptions::default()).unwrap_err();
    assert_eq!(refused.kind(), Kind::NotSupported);
}

#[test]
fn a_value_and_its_single_deletion_after_the_snapshot_conflict_after_their_flush_too() {
    for compacts in [false, true] {
        let scratch = tempfile::tempdir().unwrap();
        let mut options = options();
        // The check needs the SST files: the memory keeps the newest flushed memtable only.
        options.update("max_write_buffer_size_to_maintain=1;disable_auto_compactions=true").unwrap();
        let db = TransactionDb::open(scratch.path(), options, impatient(false)).unwrap();
        let family = db.default_family();
        let transaction =
            with(TransactionOptions { set_snapshot: true, ..TransactionOptions::default() }, &db);
        let later = with(TransactionOptions::default(), &db);
        db.put(b"k", b"1").unwrap();
        if compacts {
            db.flush().unwrap();
        }
        db.single_delete(b"k").unwrap();
        for filler in [b"x", b"y", b"z"] {
            db.flush().unwrap();
            db.put(filler, b"1").unwrap();
        }
        if compacts {
            db.compact_range(None, None, &CompactRangeOptions::default()).unwrap();
        }
        later.set_snapshot();
        assert_eq!(transaction.put(b"k", b"2").unwrap_err().kind(), Kind::Busy, "compacts: {compacts}");
        assert_eq!(later.get_in(&family, b"k", &ReadOptions::default()).unwrap(), None);
        later.put(b"k", b"3").unwrap();
        later.commit().unwrap();
        drop(transaction);
        db.compact_range(None, None, &CompactRangeOptions::default()).unwrap();
        assert_eq!(db.get(b"k").unwrap().as_deref(), Some(&b"3"[..]));
    }
}

#[test]
fn an_entry_above_the_read_timestamp_conflicts_after_its_flush_too() {
    let scratch = tempfile::tempdir().unwrap();
    let mut options = options();
    // The check needs the SST files: the memory keeps the newest flushed memtable only.
    options.update("max_write_buffer_size_to_maintain=1;disable_auto_compactions=true").unwrap();
    options.update("comparator=leveldb.BytewiseComparator.u64ts").unwrap();
    let db = TransactionDb::open(scratch.path(), options, impatient(false)).unwrap();
    let (family, options) = (db.default_family(), ReadOptions::default());
    let write = |key: &[u8], time| {
        let transaction = with(TransactionOptions::default(), &db);
        transaction.put(key, b"1").unwrap();
        transaction.set_commit_timestamp(time).unwrap();
        transaction.commit().unwrap();
    };
    write(b"k", 10);
    for (filler, time) in [(b"x", 11), (b"y", 12), (b"z", 13)] {
        db.flush().unwrap();
        write(filler, time);
    }
    let early = with(TransactionOptions::default(), &db);
    early.set_read_timestamp_for_validation(9).unwrap();
    assert_eq!(early.put(b"k", b"2").unwrap_err().kind(), Kind::Busy);
    let read = early.get_for_update_in(&family, b"k", &options, LockMode::Exclusive, Validation::Check);
    assert_eq!(read.unwrap_err().kind(), Kind::Busy);
    // A lock from before the snapshot says nothing about older entries.
    let locked = with(TransactionOptions::default(), &db);
    locked.put_untracked_in(&family, b"k", b"2").unwrap();
    locked.set_snapshot();
    locked.set_read_timestamp_for_validation(9).unwrap();
    assert_eq!(locked.put(b"k", b"3").unwrap_err().kind(), Kind::Busy);
    drop(locked);
    let late = with(TransactionOptions::default(), &db);
    late.set_read_timestamp_for_validation(10).unwrap();
    late.put(b"k", b"2").unwrap();
}

#[test]
fn writes_of_the_base_database_lock_no_keys_and_delete_ranges() {
    both(|db| {
        let transaction = db.begin();
        transaction.put(b"k", b"1").unwrap();
        assert_eq!(db.put(b"k", b"2").unwrap_err().kind(), Kind::TimedOut);
        let base = db.base();
        base.put(b"k", b"2").unwrap();
        assert_eq!(db.get(b"k").unwrap().as_deref(), Some(&b"2"[..]));
        base.delete_range(b"a", b"z").unwrap();
        assert!(db.get(b"k").unwrap().is_none());
        let mut batch = WriteBatch::new();
        batch.put(b"x", b"1").delete_range(b"a", b"m");
        base.write(&mut batch).unwrap();
        assert_eq!(db.delete_range(b"a", b"z").unwrap_err().kind(), Kind::NotSupported);
        transaction.commit().unwrap();
        assert_eq!(db.get(b"k").unwrap().as_deref(), Some(&b"1"[..]));
    });
}

#[test]
fn a_family_of_a_transaction_database_is_clipped_without_locks() {
    both(|db| {
        for key in [b"a", b"m", b"z"] {
            db.put(key, b"v").unwrap();
        }
        let transaction = db.begin();
        transaction.put(b"z", b"1").unwrap();
        db.clip(b"b", b"n").unwrap();
        let left = [b"a", b"m", b"z"].map(|key| db.get(key).unwrap().is_some());
        assert_eq!(left, [false, true, false]);
    });
}
