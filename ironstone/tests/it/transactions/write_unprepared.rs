//! The write-unprepared policy: large batches are in memtables and SST files before prepare.

use std::path::Path;

use ironstone::{
    Kind, ReadOptions, Transaction, TransactionDb, TransactionDbOptions, TransactionOptions,
    TransactionState, TxnDbWritePolicy, WriteOptions,
};

use super::write_prepared::{names, quiet, rows, rows_backward, text, value};
use super::{crash, impatient, with};

/// Opens a database in which each write moves the previous write into the database.
fn open(path: &Path) -> TransactionDb {
    TransactionDb::open(path, quiet(), options(TxnDbWritePolicy::WriteUnprepared)).unwrap()
}

fn options(write_policy: TxnDbWritePolicy) -> TransactionDbOptions {
    let unprepared = write_policy == TxnDbWritePolicy::WriteUnprepared;
    let default_write_batch_flush_threshold = i64::from(unprepared);
    TransactionDbOptions { write_policy, default_write_batch_flush_threshold, ..impatient(false) }
}

fn named(db: &TransactionDb, name: &str) -> Transaction {
    let transaction = db.begin();
    transaction.set_name(name.as_bytes()).unwrap();
    transaction
}

fn own(transaction: &Transaction, key: &str) -> Option<String> {
    text(transaction.get(key.as_bytes()).unwrap())
}

#[test]
fn large_batch_is_in_the_database_and_only_its_transaction_sees_it() {
    let scratch = tempfile::tempdir().unwrap();
    let db = open(scratch.path());
    db.put(b"a", b"old").unwrap();
    db.merge(b"m", b"old").unwrap();
    let before = db.latest_sequence();
    let transaction = named(&db, "x");
    transaction.put(b"a", b"x").unwrap();
    assert_eq!((db.latest_sequence(), transaction.wal_number()), (before, 0));
    transaction.merge(b"m", b"x").unwrap();
    assert_eq!(db.latest_sequence(), before + 1, "the second write puts the first into the database");
    assert!(transaction.wal_number() > 0);
    transaction.delete(b"gone").unwrap();
    transaction.put(b"b", b"x").unwrap();
    assert_eq!(transaction.to_batch().count(), 1);
    let snapshot = db.snapshot();
    for step in ["memtable", "level 0", "compacted"] {
        match step {
            "level 0" => db.flush().unwrap(),
            "compacted" => db.compact_range(None, None, &Default::default()).unwrap(),
            _ => {}
        }
        assert_eq!(
            rows(db.iter().unwrap()),
            [("a".into(), "old".into()), ("m".into(), "old".into())],
            "{step}"
        );
        let all = [("a", "x"), ("b", "x"), ("m", "old,x")].map(|(k, v)| (k.to_string(), v.to_string()));
        assert_eq!(rows(transaction.iter().unwrap()), all, "{step}");
        assert_eq!(rows_backward(transaction.iter().unwrap()), all, "{step}");
        assert_eq!(own(&transaction, "a").as_deref(), Some("x"), "{step}");
        assert_eq!(own(&transaction, "m").as_deref(), Some("old,x"), "{step}");
        let found =
            transaction.multi_get_in(&db.default_family(), &[b"b", b"gone", b"a"], &ReadOptions::default());
        let found: Vec<_> = found.into_iter().map(|value| text(value.unwrap())).collect();
        assert_eq!(found, [Some("x".to_string()), None, Some("x".to_string())], "{step}");
    }
    transaction.commit().unwrap();
    assert_eq!(value(&db, "a").as_deref(), Some("x"));
    assert_eq!(value(&db, "m").as_deref(), Some("old,x"));
    assert_eq!(text(snapshot.get(b"a").unwrap()).as_deref(), Some("old"));
    let crashed = crash(scratch.path());
    assert_eq!(value(&open(crashed.path()), "b").as_deref(), Some("x"));
}

#[test]
fn reads_at_a_snapshot_see_the_sections_of_the_transaction() {
    let scratch = tempfile::tempdir().unwrap();
    let db = open(scratch.path());
    db.put(b"other", b"1").unwrap();
    let transaction = named(&db, "x");
    transaction.set_snapshot();
    db.put(b"other", b"2").unwrap();
    for key in [b"a", b"b"] {
        transaction.put(key, b"x").unwrap();
    }
    db.put(b"z", b"2").unwrap();
    let options =
        ReadOptions { snapshot: transaction.snapshot().map(|s| s.held()), ..ReadOptions::default() };
    let family = db.default_family();
    let seen = |key: &[u8]| text(transaction.get_in(&family, key, &options).unwrap());
    assert_eq!(seen(b"a").as_deref(), Some("x"), "above the snapshot");
    assert_eq!((seen(b"other").as_deref(), seen(b"z")), (Some("1"), None));
    let shown = [("a", "x"), ("b", "x"), ("other", "1")].map(|(k, v)| (k.to_string(), v.to_string()));
    assert_eq!(rows(transaction.iter_in(&family, options.clone()).unwrap()), shown);
    assert_eq!(rows_backward(transaction.iter_in(&family, options).unwrap()), shown);
    assert_eq!(transaction.put(b"other", b"x").unwrap_err().kind(), Kind::Busy);
    transaction.put(b"a", b"again").unwrap();
}

#[test]
fn large_batch_needs_a_name_and_waits_for_iterators() {
    let scratch = tempfile::tempdir().unwrap();
    let db = open(scratch.path());
    let transaction = db.begin();
    transaction.put(b"a", b"x").unwrap();
    assert_eq!(transaction.put(b"b", b"x").unwrap_err().kind(), Kind::InvalidArgument);
    transaction.set_name(b"x").unwrap();
    let before = db.latest_sequence();
    let iter = transaction.iter().unwrap();
    transaction.put(b"b", b"x").unwrap();
    assert_eq!(db.latest_sequence(), before);
    drop(iter);
    transaction.put(b"c", b"x").unwrap();
    assert_eq!(db.latest_sequence(), before + 1);
    let unlimited = TransactionOptions { write_batch_flush_threshold: 0, ..TransactionOptions::default() };
    let transaction = with(unlimited, &db);
    for key in [b"d", b"e", b"f"] {
        transaction.put(key, b"x").unwrap();
    }
    assert_eq!(transaction.to_batch().count(), 3);
    transaction.commit().unwrap();
    assert_eq!(value(&db, "f").as_deref(), Some("x"));
}

#[test]
fn a_rollback_to_a_save_point_restores_the_older_writes() {
    let scratch = tempfile::tempdir().unwrap();
    let db = open(scratch.path());
    db.put(b"a", b"old").unwrap();
    let transaction = named(&db, "x");
    transaction.put(b"a", b"1").unwrap();
    transaction.set_save_point();
    transaction.set_save_point();
    transaction.put(b"a", b"2").unwrap();
    transaction.put(b"b", b"2").unwrap();
    transaction.set_save_point();
    transaction.delete(b"a").unwrap();
    transaction.put(b"c", b"3").unwrap();
    assert_eq!((own(&transaction, "a"), own(&transaction, "b").as_deref()), (None, Some("2")));
    transaction.rollback_to_save_point().unwrap();
    assert_eq!((own(&transaction, "a").as_deref(), own(&transaction, "c")), (Some("2"), None));
    db.put(b"c", b"other").unwrap(); // the lock is released
    transaction.rollback_to_save_point().unwrap();
    assert_eq!((own(&transaction, "a").as_deref(), own(&transaction, "b")), (Some("1"), None));
    transaction.put(b"d", b"4").unwrap();
    transaction.pop_save_point().unwrap();
    assert_eq!(transaction.pop_save_point().unwrap_err().kind(), Kind::NotFound);
    transaction.commit().unwrap();
    for db in [db, open(crash(scratch.path()).path())] {
        let all = [("a", "1"), ("c", "other"), ("d", "4")].map(|(k, v)| (k.to_string(), v.to_string()));
        assert_eq!(rows(db.iter().unwrap()), all);
    }
}

#[test]
fn rollback_leaves_a_key_that_another_transaction_wrote_after_a_save_point() {
    let scratch = tempfile::tempdir().unwrap();
    let db = open(scratch.path());
    let transaction = named(&db, "x");
    transaction.set_save_point();
    transaction.put(b"a", b"x").unwrap();
    transaction.put(b"b", b"x").unwrap();
    transaction.rollback_to_save_point().unwrap();
    let other = named(&db, "y");
    other.put(b"a", b"y").unwrap();
    transaction.rollback().unwrap();
    assert_eq!(transaction.state(), TransactionState::Started);
    other.commit().unwrap();
    assert_eq!(rows(db.iter().unwrap()), [("a".to_string(), "y".to_string())]);
}

#[test]
fn transaction_that_is_dropped_or_crashes_before_prepare_leaves_nothing() {
    let scratch = tempfile::tempdir().unwrap();
    let db = open(scratch.path());
    db.put(b"a", b"old").unwrap();
    let write = |name: &str, prefix: &str| {
        let transaction = named(&db, name);
        for key in ["a", "m", "n", "o"].map(|key| format!("{prefix}{key}")) {
            transaction.merge(key.as_bytes(), name.as_bytes()).unwrap();
        }
        transaction
    };
    drop(write("dropped", ""));
    assert_eq!(rows(db.iter().unwrap()), [("a".to_string(), "old".to_string())]);
    let prepared = write("prepared", "p");
    prepared.prepare().unwrap();
    let unprepared = write("unprepared", "");
    // The WAL of the sections must stay, although all entries are in SST files.
    db.flush().unwrap();
    db.put(b"filler", b"1").unwrap();
    db.flush().unwrap();
    db.compact_range(None, None, &Default::default()).unwrap();
    let mut crashed = crash(scratch.path());
    drop((prepared, unprepared));
    for open_number in 0..3 {
        let again = open(crashed.path());
        let found = [("a", "old"), ("filler", "1")].map(|(k, v)| (k.to_string(), v.to_string()));
        assert_eq!(rows(again.iter().unwrap()), found, "open {open_number}");
        assert_eq!(names(&again), ["prepared"], "open {open_number}");
        let recovered = again.transaction_by_name(b"prepared").unwrap();
        assert_eq!(own(&recovered, "pa").as_deref(), Some("prepared"), "open {open_number}");
        assert_eq!(own(&recovered, "po").as_deref(), Some("prepared"), "open {open_number}");
        if open_number == 2 {
            recovered.commit().unwrap();
            assert_eq!(value(&again, "pn").as_deref(), Some("prepared"));
        }
        drop(recovered);
        let next = crash(crashed.path());
        drop(again);
        crashed = next;
    }
    assert_eq!(value(&open(crashed.path()), "pn").as_deref(), Some("prepared"));
}

#[test]
fn wal_of_a_stricter_policy_is_read_and_others_are_refused() {
    use TxnDbWritePolicy::{WriteCommitted, WritePrepared, WriteUnprepared};
    for (writer, reader, accepted) in [
        (WriteUnprepared, WritePrepared, false),
        (WriteUnprepared, WriteCommitted, false),
        (WritePrepared, WriteUnprepared, true),
        (WriteCommitted, WriteUnprepared, false),
    ] {
        let scratch = tempfile::tempdir().unwrap();
        let db = TransactionDb::open(scratch.path(), quiet(), options(writer)).unwrap();
        let transaction = named(&db, "x");
        for key in [b"a", b"b"] {
            transaction.put(key, b"1").unwrap();
        }
        transaction.prepare().unwrap();
        let crashed = crash(scratch.path());
        let opened = TransactionDb::open(crashed.path(), quiet(), options(reader));
        match opened {
            Ok(db) => {
                assert!(accepted, "{writer:?} read by {reader:?}");
                assert_eq!(names(&db), ["x"]);
                assert_eq!(own(&db.transaction_by_name(b"x").unwrap(), "b").as_deref(), Some("1"));
            }
            Err(error) => {
                assert!(!accepted, "{writer:?} read by {reader:?}: {error}");
                assert_eq!(error.kind(), Kind::NotSupported);
            }
        }
    }
    let threshold = TransactionDbOptions { default_write_batch_flush_threshold: 1, ..impatient(false) };
    let scratch = tempfile::tempdir().unwrap();
    assert_eq!(
        TransactionDb::open(scratch.path(), quiet(), threshold).unwrap_err().kind(),
        Kind::NotSupported
    );
    let db = super::open(scratch.path());
    let own = TransactionOptions { write_batch_flush_threshold: 1, ..TransactionOptions::default() };
    assert_eq!(db.begin_with(&WriteOptions::default(), &own).unwrap_err().kind(), Kind::NotSupported);
}

#[test]
fn prepared_transaction_still_has_its_save_points() {
    let scratch = tempfile::tempdir().unwrap();
    let db = open(scratch.path());
    let transaction = db.begin();
    transaction.set_name(b"x").unwrap();
    transaction.put(b"a", b"1").unwrap();
    transaction.set_save_point();
    transaction.put(b"b", b"1").unwrap();
    transaction.set_save_point();
    transaction.prepare().unwrap();
    assert!(transaction.rollback_to_save_point().is_err());
    transaction.pop_save_point().unwrap();
    transaction.pop_save_point().unwrap();
    assert_eq!(transaction.pop_save_point().unwrap_err().kind(), Kind::NotFound);
    transaction.commit().unwrap();
    assert_eq!(rows(db.iter().unwrap()).len(), 2);
}

/// A rollback to a save point releases the lock of a key that is in a section. A recovery, or a rollback after it, must not write the
/// old value of the key over the section of another transaction.
#[test]
fn rollback_after_recovery_keeps_what_others_wrote_after_a_save_point() {
    for prepares in [false, true] {
        let scratch = tempfile::tempdir().unwrap();
        let db = open(scratch.path());
        db.put(b"k", b"old").unwrap();
        let (transaction, other) = (named(&db, "x"), named(&db, "y"));
        transaction.put(b"own", b"x").unwrap();
        transaction.set_save_point();
        transaction.put(b"k", b"x").unwrap();
        transaction.put(b"l", b"x").unwrap();
        transaction.rollback_to_save_point().unwrap();
        other.put(b"k", b"other").unwrap();
        other.put(b"l", b"other").unwrap();
        other.prepare().unwrap();
        if prepares {
            transaction.prepare().unwrap();
        }
        let copy = crash(scratch.path());
        let recovered = open(copy.path());
        assert_eq!(recovered.transaction_by_name(b"x").is_some(), prepares);
        recovered.transaction_by_name(b"x").iter().for_each(|found| found.rollback().unwrap());
        recovered.transaction_by_name(b"y").unwrap().commit().unwrap();
        assert_eq!(
            rows(recovered.iter().unwrap()),
            [("k".into(), "other".into()), ("l".into(), "other".into())],
            "{prepares}"
        );
    }
}

#[test]
fn expired_transaction_keeps_its_locks_after_a_part_of_it_is_in_the_database() {
    for per_key in [false, true] {
        let scratch = tempfile::tempdir().unwrap();
        let settings = TransactionDbOptions {
            use_per_key_point_lock_mgr: per_key,
            ..options(TxnDbWritePolicy::WriteUnprepared)
        };
        let db = TransactionDb::open(scratch.path(), quiet(), settings).unwrap();
        db.put(b"k", b"old").unwrap();
        let expired = with(TransactionOptions { expiration: 0, ..Default::default() }, &db);
        expired.set_name(b"expired").unwrap();
        expired.put(b"k", b"section").unwrap();
        expired.put(b"batch", b"x").unwrap();
        assert!(expired.wal_number() > 0, "the put of k is in a section");
        let thief = named(&db, "thief");
        for key in [b"k".as_slice(), b"batch"] {
            assert_eq!(thief.put(key, b"thief").unwrap_err().kind(), Kind::TimedOut);
        }
        assert_eq!(expired.state(), TransactionState::Started);
        assert_eq!(expired.commit().unwrap_err().kind(), Kind::Expired);
        drop(expired);
        thief.put(b"k", b"thief").unwrap();
        thief.put(b"batch", b"thief").unwrap();
        assert_eq!(value(&db, "k").as_deref(), Some("old"));
        thief.commit().unwrap();
        assert_eq!(value(&db, "k").as_deref(), Some("thief"));
    }
}

#[test]
fn expired_transaction_can_lose_its_locks_again_after_its_sections_are_rolled_back() {
    let scratch = tempfile::tempdir().unwrap();
    let db = open(scratch.path());
    let expired = with(TransactionOptions { expiration: 0, ..Default::default() }, &db);
    expired.set_name(b"expired").unwrap();
    expired.put(b"k", b"section").unwrap();
    expired.put(b"batch", b"x").unwrap();
    assert!(expired.wal_number() > 0, "the put of k is in a section");
    expired.rollback().unwrap();
    expired.put(b"k", b"again").unwrap();
    let thief = named(&db, "thief");
    thief.put(b"k", b"thief").unwrap();
    assert_eq!(expired.state(), TransactionState::LocksStolen);
}

#[test]
fn transaction_that_lost_a_lock_writes_no_section() {
    let scratch = tempfile::tempdir().unwrap();
    let db = open(scratch.path());
    db.put(b"k", b"old").unwrap();
    let expired = with(TransactionOptions { expiration: 0, ..Default::default() }, &db);
    expired.set_name(b"expired").unwrap();
    expired.put(b"k", b"expired").unwrap();
    let thief = named(&db, "thief");
    thief.put(b"k", b"thief").unwrap();
    thief.put(b"z", b"thief").unwrap();
    expired.put(b"b", b"expired").unwrap();
    expired.put(b"c", b"expired").unwrap();
    assert_eq!((expired.state(), expired.wal_number()), (TransactionState::LocksStolen, 0));
    assert_eq!(own(&expired, "k").as_deref(), Some("expired"));
    assert_eq!(expired.commit().unwrap_err().kind(), Kind::Expired);
    drop(expired);
    assert_eq!(value(&db, "k").as_deref(), Some("old"), "readers see no section");
    thief.commit().unwrap();
    assert_eq!(value(&db, "k").as_deref(), Some("thief"));
}
