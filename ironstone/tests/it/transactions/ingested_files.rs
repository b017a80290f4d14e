//! Ingested SST files are writes outside of transactions. RocksDB 11.8.1 looks for conflicts in memtables first, so it misses
//! the entries of an ingested file if an older entry of the key is in a memtable that was flushed.

use std::path::Path;

use ironstone::{
    Db, FlushOptions, IngestExternalFileOptions, Kind, OptimisticTransactionDb,
    OptimisticTransactionDbOptions, OptimisticTransactionOptions, SstFileWriter, TransactionOptions,
    WriteOptions,
};

use super::{open, options, with};

/// Ingests a file with a put of the key `k` and a range deletion of all keys from `l` to `n`.
fn ingest(db: &Db, scratch: &Path) {
    let path = scratch.join("ingested.sst");
    let options = options();
    let mut file = SstFileWriter::create(&path, &options.db, &options.family).unwrap();
    file.put(b"k", b"ingested").unwrap();
    file.delete_range(b"l", b"n").unwrap();
    file.finish().unwrap();
    db.ingest_external_files([&path], &IngestExternalFileOptions::default()).unwrap();
}

/// Writes old values, and flushes them. The flushed memtable stays in the history.
fn write_old_values(db: &Db) {
    for key in [b"k", b"m", b"z"] {
        db.put(key, b"old").unwrap();
    }
    db.flush_with(&FlushOptions::default()).unwrap();
}

#[test]
fn an_ingested_file_is_a_conflict_for_a_transaction_with_an_older_snapshot() {
    let scratch = tempfile::tempdir().unwrap();
    let db = open(&scratch.path().join("db"));
    write_old_values(&db);
    let snapshot = TransactionOptions { set_snapshot: true, ..TransactionOptions::default() };
    let older = with(snapshot.clone(), &db);
    ingest(&db, scratch.path());
    for key in [b"k", b"m"] {
        assert_eq!(older.put(key, b"own").unwrap_err().kind(), Kind::Busy, "{}", key.escape_ascii());
    }
    older.put(b"z", b"own").unwrap();
    let newer = with(snapshot, &db);
    newer.put(b"k", b"own").unwrap();
    newer.put(b"m", b"own").unwrap();
}

#[test]
fn an_optimistic_transaction_that_began_before_an_ingestion_must_try_again() {
    let scratch = tempfile::tempdir().unwrap();
    let transactions = OptimisticTransactionDbOptions::default();
    let path = scratch.path().join("db");
    let db = OptimisticTransactionDb::open_with(&path, options(), transactions, None).unwrap();
    write_old_values(&db);
    let snapshot = OptimisticTransactionOptions { set_snapshot: true };
    let begin = || {
        let transaction = db.begin_with(&WriteOptions::default(), &snapshot);
        transaction.put(b"k", b"own").unwrap();
        transaction
    };
    let older = begin();
    ingest(&db, scratch.path());
    let error = older.commit().unwrap_err();
    assert!(error.kind() == Kind::TryAgain || error.kind() == Kind::Busy, "{error}");
    assert_eq!(db.get(b"k").unwrap().as_deref(), Some(&b"ingested"[..]));
    begin().commit().unwrap();
    assert_eq!(db.get(b"k").unwrap().as_deref(), Some(&b"own"[..]));
}
