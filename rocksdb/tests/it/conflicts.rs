//! The texts of errors of transactions: programs compare the whole text with RocksDB's text.

use rocksdb::{OptimisticTransactionDB, SingleThreaded, TransactionDB, TransactionOptions, WriteOptions};

#[test]
fn commit_of_an_optimistic_conflict_has_the_text_of_rocksdb() {
    let dir = tempfile::tempdir().unwrap();
    let db: OptimisticTransactionDB<SingleThreaded> =
        OptimisticTransactionDB::open_default(dir.path()).unwrap();
    let txn = db.transaction();
    txn.put(b"k", b"1").unwrap();
    db.put(b"k", b"2").unwrap();
    assert_eq!(txn.commit().unwrap_err().into_string(), "Resource busy: ");
}

#[test]
fn write_of_a_locked_key_has_the_text_of_rocksdb() {
    let dir = tempfile::tempdir().unwrap();
    let db: TransactionDB<SingleThreaded> = TransactionDB::open_default(dir.path()).unwrap();
    let first = db.transaction();
    first.put(b"k", b"1").unwrap();
    let mut options = TransactionOptions::default();
    options.set_lock_timeout(0);
    let second = db.transaction_opt(&WriteOptions::default(), &options);
    let text = "Operation timed out: Timeout waiting to lock key";
    assert_eq!(second.put(b"k", b"2").unwrap_err().into_string(), text);
    assert_eq!(second.get_for_update(b"k", true).unwrap_err().into_string(), text);
}

#[test]
fn commit_without_a_prepare_has_the_text_of_rocksdb() {
    let dir = tempfile::tempdir().unwrap();
    let db: TransactionDB<SingleThreaded> = TransactionDB::open_default(dir.path()).unwrap();
    let mut options = TransactionOptions::default();
    options.set_skip_prepare(false);
    let txn = db.transaction_opt(&WriteOptions::default(), &options);
    txn.put(b"k", b"1").unwrap();
    assert_eq!(txn.commit().unwrap_err().into_string(), "Invalid argument: Txn not prepared");
}
