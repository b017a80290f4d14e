//! Optimistic transactions, with both validation policies.

use ironstone::{
    Family, Kind, LockMode, OccValidationPolicy, OptimisticTransactionDb, OptimisticTransactionDbOptions,
    OptimisticTransactionOptions, ReadOptions, Transaction, Validation, WriteBatchWithIndex,
    WriteBatchWithIndexOptions, WriteOptions,
};

use super::options;

fn both(test: impl Fn(&OptimisticTransactionDb)) {
    for validate_policy in [OccValidationPolicy::ValidateSerial, OccValidationPolicy::ValidateParallel] {
        let scratch = tempfile::tempdir().unwrap();
        let transactions = OptimisticTransactionDbOptions {
            validate_policy,
            occ_lock_buckets: 64,
            ..OptimisticTransactionDbOptions::default()
        };
        let db = OptimisticTransactionDb::open_with(scratch.path(), options(), transactions, None).unwrap();
        test(&db);
    }
}

fn with_snapshot(db: &OptimisticTransactionDb) -> Transaction {
    db.begin_with(&WriteOptions::default(), &OptimisticTransactionOptions { set_snapshot: true })
}

fn guard(transaction: &Transaction, family: &Family, key: &[u8], validation: Validation) {
    let options = ReadOptions::default();
    transaction.get_for_update_in(family, key, &options, LockMode::Exclusive, validation).unwrap();
}

#[test]
fn commit_after_another_write_of_the_key_is_busy() {
    both(|db| {
        db.put(b"k", b"0").unwrap();
        let (first, second) = (db.begin(), db.begin());
        first.put(b"k", b"1").unwrap();
        second.put(b"k", b"2").unwrap();
        second.put(b"j", b"2").unwrap();
        first.commit().unwrap();
        assert_eq!(second.commit().unwrap_err().kind(), Kind::Busy);
        assert_eq!(db.get(b"k").unwrap().as_deref(), Some(&b"1"[..]));
        assert_eq!(db.get(b"j").unwrap(), None, "nothing of a failed commit is written");
        second.rollback().unwrap();
        second.put(b"j", b"3").unwrap();
        second.commit().unwrap();
        assert_eq!(db.get(b"j").unwrap().as_deref(), Some(&b"3"[..]));
    });
}

#[test]
fn read_for_update_conflicts_and_plain_read_does_not() {
    both(|db| {
        let (reader, guarded) = (db.begin(), db.begin());
        reader.get(b"k").unwrap();
        reader.put(b"a", b"1").unwrap();
        guarded.get_for_update(b"k").unwrap();
        guarded.put(b"b", b"1").unwrap();
        db.delete(b"k").unwrap();
        reader.commit().unwrap();
        assert_eq!(guarded.commit().unwrap_err().kind(), Kind::Busy);
    });
}

#[test]
fn undone_read_for_update_does_not_conflict() {
    both(|db| {
        let family = db.default_family();
        let transaction = db.begin();
        guard(&transaction, &family, b"k", Validation::Check);
        guard(&transaction, &family, b"k", Validation::Check);
        transaction.undo_get_for_update_in(&family, b"k");
        assert_eq!(transaction.num_keys(), 1, "one read for update is left");
        transaction.undo_get_for_update_in(&family, b"k");
        assert_eq!(transaction.num_keys(), 0);
        guard(&transaction, &family, b"skipped", Validation::Skip);
        db.put(b"k", b"1").unwrap();
        db.put(b"skipped", b"1").unwrap();
        transaction.put(b"x", b"1").unwrap();
        transaction.commit().unwrap();
    });
}

#[test]
fn a_snapshot_moves_the_conflict_boundary_to_its_sequence_number() {
    both(|db| {
        let transaction = with_snapshot(db);
        db.put(b"k", b"1").unwrap();
        // Without the snapshot this write would be tracked after the other writer.
        transaction.put(b"k", b"2").unwrap();
        assert_eq!(transaction.commit().unwrap_err().kind(), Kind::Busy);
        let snapshot = transaction.snapshot().unwrap();
        assert_eq!(snapshot.get(b"k").unwrap(), None);
        transaction.rollback().unwrap();
        transaction.clear_snapshot();
        transaction.put(b"k", b"2").unwrap();
        transaction.commit().unwrap();
    });
}

#[test]
fn untracked_write_has_no_conflict() {
    both(|db| {
        let transaction = with_snapshot(db);
        db.put(b"k", b"1").unwrap();
        transaction.put_untracked_in(&db.default_family(), b"k", b"2").unwrap();
        transaction.commit().unwrap();
        assert_eq!(db.get(b"k").unwrap().as_deref(), Some(&b"2"[..]));
    });
}

#[test]
fn rollback_to_save_point_forgets_keys_and_snapshot() {
    both(|db| {
        let transaction = db.begin();
        transaction.put(b"a", b"1").unwrap();
        transaction.set_save_point();
        transaction.set_snapshot();
        transaction.put(b"b", b"1").unwrap();
        transaction.put(b"a", b"2").unwrap();
        assert_eq!((transaction.num_keys(), transaction.num_puts()), (2, 3));
        transaction.rollback_to_save_point().unwrap();
        assert_eq!((transaction.num_keys(), transaction.num_puts()), (1, 1));
        assert!(transaction.snapshot().is_none());
        assert_eq!(transaction.rollback_to_save_point().unwrap_err().kind(), Kind::NotFound);
        db.put(b"b", b"9").unwrap();
        transaction.commit().unwrap();
        assert_eq!(db.get(b"a").unwrap().as_deref(), Some(&b"1"[..]));
        assert_eq!(db.get(b"b").unwrap().as_deref(), Some(&b"9"[..]));
    });
}

#[test]
fn a_commit_with_too_short_history_returns_try_again() {
    for validate_policy in [OccValidationPolicy::ValidateSerial, OccValidationPolicy::ValidateParallel] {
        let scratch = tempfile::tempdir().unwrap();
        let mut options = options();
        // One byte of history: flushed memtables are freed at the next check.
        options.family.max_write_buffer_size_to_maintain = 1;
        let transactions =
            OptimisticTransactionDbOptions { validate_policy, ..OptimisticTransactionDbOptions::default() };
        let db = OptimisticTransactionDb::open_with(scratch.path(), options, transactions, None).unwrap();
        let transaction = with_snapshot(&db);
        transaction.put(b"k", b"1").unwrap();
        for i in 0..4 {
            db.put(format!("other{i}").as_bytes(), &[0; 1000]).unwrap();
            db.flush().unwrap();
        }
        assert_eq!(transaction.commit().unwrap_err().kind(), Kind::TryAgain);
    }
}

#[test]
fn history_of_flushed_memtables_is_checked() {
    both(|db| {
        let (clean, conflicting) = (with_snapshot(db), with_snapshot(db));
        clean.put(b"a", b"1").unwrap();
        conflicting.put(b"k", b"1").unwrap();
        db.put(b"k", b"2").unwrap();
        db.flush().unwrap();
        assert_eq!(conflicting.commit().unwrap_err().kind(), Kind::Busy);
        clean.commit().unwrap();
    });
}

#[test]
fn calls_that_need_locks_are_refused() {
    both(|db| {
        let transaction = db.begin();
        assert_eq!(
            transaction.set_name(b"x").unwrap_err().to_string(),
            "Invalid argument: Optimistic transactions cannot be named."
        );
        assert_eq!(transaction.prepare().unwrap_err().kind(), Kind::InvalidArgument);
        assert_eq!(transaction.set_commit_timestamp(1).unwrap_err().kind(), Kind::NotSupported);
    });
}

#[test]
fn counters_of_concurrent_transactions_lose_no_increment() {
    both(|db| {
        const THREADS: u64 = 4;
        const EACH: u64 = 50;
        std::thread::scope(|scope| {
            for _ in 0..THREADS {
                scope.spawn(|| {
                    for _ in 0..EACH {
                        loop {
                            let transaction = db.begin();
                            let now = transaction.get_for_update(b"n").unwrap();
                            let now =
                                now.map_or(0, |n| String::from_utf8(n.to_vec()).unwrap().parse().unwrap());
                            let next: u64 = now + 1;
                            transaction.put(b"n", next.to_string().as_bytes()).unwrap();
                            match transaction.commit() {
                                Ok(()) => break,
                                Err(error) => assert_eq!(error.kind(), Kind::Busy, "{error}"),
                            }
                        }
                    }
                });
            }
        });
        let total = (THREADS * EACH).to_string();
        assert_eq!(db.get(b"n").unwrap().as_deref(), Some(total.as_bytes()));
    });
}

#[test]
fn range_deletions_are_refused_outside_of_the_base_database() {
    let scratch = tempfile::tempdir().unwrap();
    let db = OptimisticTransactionDb::open(scratch.path(), super::options()).unwrap();
    db.put(b"b", b"1").unwrap();
    assert_eq!(db.delete_range(b"a", b"c").unwrap_err().kind(), Kind::NotSupported);
    let mut batch = ironstone::WriteBatch::new();
    batch.put(b"d", b"1").delete_range(b"a", b"c");
    assert_eq!(db.write(&mut batch).unwrap_err().kind(), Kind::NotSupported);
    assert_eq!((db.get(b"b").unwrap().is_some(), db.get(b"d").unwrap().is_some()), (true, false));
    let transaction = db.begin();
    transaction.get_for_update(b"b").unwrap();
    transaction.put(b"e", b"1").unwrap();
    db.base().delete_range(b"a", b"c").unwrap();
    assert_eq!(transaction.commit().unwrap_err().kind(), Kind::Busy);
}

/// RocksDB rejects the ingestion in each database with transactions. Here it is a write outside of a transaction.
#[test]
fn an_ingested_batch_is_a_conflict_for_the_transactions_that_use_its_keys() {
    both(|db| {
        let (user, other) = (with_snapshot(db), with_snapshot(db));
        guard(&user, &db.default_family(), b"k", Validation::Check);
        user.put(b"j", b"1").unwrap();
        other.put(b"l", b"1").unwrap();
        let overwrite = WriteBatchWithIndexOptions { overwrite_key: true, ..Default::default() };
        let mut batch = WriteBatchWithIndex::with_options(overwrite);
        batch.put(b"k", b"ingested").unwrap();
        batch.ingest(db, &WriteOptions { disableWAL: true, ..WriteOptions::default() }).unwrap();
        assert_eq!(user.commit().unwrap_err().kind(), Kind::Busy);
        other.commit().unwrap();
        assert_eq!(db.get(b"k").unwrap().as_deref(), Some(&b"ingested"[..]));
        assert!(db.get(b"j").unwrap().is_none());
    });
}
