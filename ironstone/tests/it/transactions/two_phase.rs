//! Two-phase commit through crashes: nothing prepared is lost, and nothing unprepared survives.

use std::path::Path;
use std::sync::Arc;
use std::sync::atomic::{AtomicBool, AtomicUsize, Ordering};

use base::SequenceNumber;
use env::hook::{Call, Hook, Hooked, Op, Verdict};
use ironstone::{Db, FamilyDescriptor, Kind, Transaction, TransactionDb, TransactionState, WriteOptions};

use super::{crash, impatient, open, options};

fn prepared(db: &TransactionDb, name: &str, key: &str) -> Transaction {
    let transaction = db.begin();
    transaction.set_name(name.as_bytes()).unwrap();
    transaction.put(key.as_bytes(), name.as_bytes()).unwrap();
    transaction.prepare().unwrap();
    transaction
}

fn names(db: &TransactionDb) -> Vec<String> {
    let prepared = db.all_prepared_transactions();
    prepared.iter().map(|t| String::from_utf8(t.name()).unwrap()).collect()
}

fn value(db: &TransactionDb, key: &str) -> Option<String> {
    db.get(key.as_bytes()).unwrap().map(|value| String::from_utf8(value.to_vec()).unwrap())
}

fn wals(path: &Path) -> usize {
    let names = std::fs::read_dir(path).unwrap().map(|entry| entry.unwrap().file_name());
    names.filter(|name| name.to_string_lossy().ends_with(".log")).count()
}

#[test]
fn prepared_transaction_is_invisible_until_its_commit() {
    let scratch = tempfile::tempdir().unwrap();
    let db = open(scratch.path());
    let before = db.latest_sequence();
    let transaction = prepared(&db, "x", "k");
    assert_eq!((value(&db, "k"), db.latest_sequence()), (None, before), "a section takes no sequence number");
    assert_eq!(transaction.state(), TransactionState::Prepared);
    assert_eq!(names(&db), ["x"]);
    assert_eq!(transaction.prepare().unwrap_err().message(), "Transaction has already been prepared.");
    transaction.commit().unwrap();
    assert_eq!(value(&db, "k").as_deref(), Some("x"));
    assert_eq!(db.latest_sequence(), before + 1);
    assert!(names(&db).is_empty() && db.transaction_by_name(b"x").is_none());
    assert_eq!(transaction.put(b"k", b"2").unwrap_err().kind(), Kind::InvalidArgument);
    assert_eq!(transaction.commit().unwrap_err().message(), "Transaction has already been committed.");
    assert!(transaction.rollback().is_err());
}

/// RocksDB takes these writes and writes them only to the memtables: a crash after the commit loses them.
#[test]
fn write_after_prepare_survives_with_the_commit() {
    let scratch = tempfile::tempdir().unwrap();
    let db = open(scratch.path());
    db.put(b"deleted", b"0").unwrap();
    let transaction = prepared(&db, "x", "k");
    transaction.delete(b"deleted").unwrap();
    transaction.put(b"k", b"after").unwrap();
    transaction.with_commit_time_batch(|batch| _ = batch.put(b"at commit", b"1"));
    // The lock of the key is held, and the value is not visible.
    assert_eq!((value(&db, "deleted").as_deref(), value(&db, "k")), (Some("0"), None));
    let before = crash(scratch.path());
    transaction.commit().unwrap();
    let after = crash(scratch.path());
    drop((transaction, db));
    for path in [scratch.path(), after.path()] {
        let db = open(path);
        assert_eq!((value(&db, "deleted"), value(&db, "k").as_deref()), (None, Some("after")));
        assert_eq!(value(&db, "at commit").as_deref(), Some("1"));
        assert!(names(&db).is_empty());
    }
    // A crash before the commit keeps what was prepared. The recovered transaction takes writes as well.
    let db = open(before.path());
    let recovered = db.transaction_by_name(b"x").unwrap();
    assert_eq!(recovered.get(b"k").unwrap().as_deref(), Some(&b"x"[..]));
    recovered.put(b"more", b"1").unwrap();
    recovered.commit().unwrap();
    drop((recovered, db));
    let again = crash(before.path());
    let db = open(again.path());
    assert_eq!((value(&db, "k").as_deref(), value(&db, "more").as_deref()), (Some("x"), Some("1")));
    assert_eq!(value(&db, "deleted").as_deref(), Some("0"));
}

#[test]
fn names_are_unique_among_live_transactions() {
    let scratch = tempfile::tempdir().unwrap();
    let db = open(scratch.path());
    let (first, second) = (db.begin(), db.begin());
    assert_eq!(
        first.prepare().unwrap_err().message(),
        "Cannot prepare a transaction that has not been named."
    );
    first.set_name(b"x").unwrap();
    assert_eq!(first.set_name(b"y").unwrap_err().message(), "Transaction has already been named.");
    assert_eq!(second.set_name(b"x").unwrap_err().message(), "Duplicate txn name x");
    assert!(second.set_name(b"").is_err() && second.set_name(&[b'n'; 513]).is_err());
    drop(first);
    second.set_name(b"x").unwrap();
    assert_eq!(db.transaction_by_name(b"x").unwrap().id(), second.id());
}

#[test]
fn a_crash_keeps_prepared_transactions_and_no_other() {
    let scratch = tempfile::tempdir().unwrap();
    let db = open(scratch.path());
    db.put(b"plain", b"1").unwrap();
    let _waits = prepared(&db, "waits", "a");
    prepared(&db, "committed", "b").commit().unwrap();
    prepared(&db, "rolled back", "c").rollback().unwrap();
    let unprepared = db.begin();
    unprepared.set_name(b"unprepared").unwrap();
    unprepared.put(b"d", b"1").unwrap();
    let crashed = crash(scratch.path());
    let again = open(crashed.path());
    assert_eq!(names(&again), ["waits"]);
    assert_eq!(value(&again, "a"), None);
    assert_eq!(value(&again, "b").as_deref(), Some("committed"));
    assert_eq!((value(&again, "c"), value(&again, "d")), (None, None));
    assert_eq!(value(&again, "plain").as_deref(), Some("1"));
    let recovered = again.transaction_by_name(b"waits").unwrap();
    assert_eq!(recovered.get(b"a").unwrap().as_deref(), Some(&b"waits"[..]));
    recovered.commit().unwrap();
    assert_eq!(value(&again, "a").as_deref(), Some("waits"));
    drop((recovered, again));
    let last = open(crashed.path());
    assert_eq!(value(&last, "a").as_deref(), Some("waits"));
    assert!(names(&last).is_empty());
}

#[test]
fn prepared_transaction_survives_flushes_and_many_opens() {
    let scratch = tempfile::tempdir().unwrap();
    {
        let db = open(scratch.path());
        let transaction = prepared(&db, "x", "k");
        for i in 0..5 {
            db.put(b"other", &[i; 100]).unwrap();
            db.flush().unwrap();
        }
        assert!(wals(scratch.path()) > 1, "the WAL of the section stays");
        // Drop the handle without a commit or a rollback.
        drop(transaction);
        assert!(names(&db).is_empty());
    }
    for round in 0..4 {
        let db = open(scratch.path());
        assert_eq!(names(&db), ["x"], "open {round}");
        assert_eq!(value(&db, "k"), None);
        db.put(b"other", &[round; 10]).unwrap();
        if round % 2 == 0 {
            db.flush().unwrap();
        }
    }
    let db = open(scratch.path());
    db.transaction_by_name(b"x").unwrap().rollback().unwrap();
    db.put(b"other", b"1").unwrap();
    db.flush().unwrap();
    assert_eq!(wals(scratch.path()), 1, "no WAL is kept for a transaction that is decided");
    drop(db);
    assert!(names(&open(scratch.path())).is_empty());
}

#[test]
fn wal_of_a_committed_section_is_kept_until_the_commit_is_flushed() {
    let scratch = tempfile::tempdir().unwrap();
    let db = open(scratch.path());
    let other = db.create_family(FamilyDescriptor::new("other", options().family)).unwrap();
    let transaction = prepared(&db, "x", "k");
    other.put(b"o", b"1").unwrap();
    db.flush().unwrap();
    // The commit is in a newer WAL than the section.
    transaction.commit().unwrap();
    db.engine().flush(&[db.engine().family("other").unwrap()], &Default::default()).unwrap();
    let crashed = crash(scratch.path());
    let again = open(crashed.path());
    assert_eq!(value(&again, "k").as_deref(), Some("x"));
    drop((again, transaction, other, db));
    assert_eq!(value(&open(scratch.path()), "k").as_deref(), Some("x"));
}

/// A disk without space for MANIFEST records, or for the second SST file after `sst_files` was set to 0.
#[derive(Debug)]
struct FullDisk {
    rejects_manifest: AtomicBool,
    sst_files: AtomicUsize,
}

impl Hook for FullDisk {
    fn name(&self) -> &'static str {
        "full disk"
    }

    fn before(&self, call: &Call<'_>) -> Verdict {
        let name = call.path.file_name().unwrap_or_default().to_string_lossy();
        let fails = match call.op {
            Op::Append if name.starts_with("MANIFEST") => self.rejects_manifest.load(Ordering::Relaxed),
            Op::Create if name.ends_with(".sst") => self.sst_files.fetch_add(1, Ordering::Relaxed) == 1,
            _ => false,
        };
        match fails {
            // ENOSPC: a resume can clear the error.
            true => {
                Verdict::Fail(base::Error::io("writing", call.path, std::io::Error::from_raw_os_error(28)))
            }
            false => Verdict::Go,
        }
    }
}

/// The flush of the column family of the commit fails at the MANIFEST. A resume flushes the default column family, and
/// fails at the other. Recovery then replays the commit and needs the WAL of its section.
#[test]
fn wal_of_a_committed_section_is_kept_if_the_flush_of_the_commit_fails() {
    let scratch = tempfile::tempdir().unwrap();
    let disk = Arc::new(FullDisk { rejects_manifest: false.into(), sst_files: 2.into() });
    let mut hooked = options();
    hooked.db.max_bgerror_resume_count = 0;
    hooked.db.env.fs = Arc::new(Hooked::new(hooked.db.env.fs.clone(), disk.clone()));
    let db = TransactionDb::open(scratch.path(), hooked, impatient(false)).unwrap();
    let other = db.create_family(FamilyDescriptor::new("other", options().family)).unwrap();
    let flush_default = || {
        db.put(b"default", b"1").unwrap();
        db.flush().unwrap();
    };
    let flush_other = || db.engine().flush(&[db.engine().family("other").unwrap()], &Default::default());

    let transaction = db.begin();
    transaction.set_name(b"x").unwrap();
    transaction.put_in(&other, b"k", b"x").unwrap();
    transaction.prepare().unwrap();
    other.put(b"o", b"1").unwrap();
    flush_default();
    flush_other().unwrap();
    transaction.commit().unwrap();
    flush_default();
    db.put(b"default", b"2").unwrap();

    disk.rejects_manifest.store(true, Ordering::Relaxed);
    assert_eq!(flush_other().unwrap_err().kind(), Kind::IoError);
    disk.rejects_manifest.store(false, Ordering::Relaxed);
    disk.sst_files.store(0, Ordering::Relaxed);
    assert_eq!(db.resume().unwrap_err().kind(), Kind::IoError);

    let crashed = crash(scratch.path());
    let again = open(crashed.path());
    let value = again.family("other").unwrap().get(b"k").unwrap().map(|value| value.to_vec());
    assert_eq!(value.as_deref(), Some(&b"x"[..]), "the acknowledged commit is lost");
}

#[test]
fn commit_time_batch_is_written_with_the_commit() {
    let scratch = tempfile::tempdir().unwrap();
    let db = open(scratch.path());
    let transaction = prepared(&db, "x", "k");
    transaction.with_commit_time_batch(|batch| {
        batch.put(b"log position", b"42").put(b"k", b"before");
    });
    transaction.commit().unwrap();
    let crashed = crash(scratch.path());
    for db in [db, open(crashed.path())] {
        assert_eq!(value(&db, "log position").as_deref(), Some("42"));
        assert_eq!(
            value(&db, "k").as_deref(),
            Some("x"),
            "the writes of the transaction come after the batch"
        );
        assert_eq!(db.latest_sequence(), SequenceNumber::new(3));
    }
    let db = open(tempfile::tempdir().unwrap().path());
    let unprepared = db.begin();
    unprepared.with_commit_time_batch(|batch| {
        batch.put(b"a", b"1");
    });
    unprepared.put(b"b", b"1").unwrap();
    assert_eq!(unprepared.commit().unwrap_err().kind(), Kind::InvalidArgument);
}

#[test]
fn plain_database_refuses_prepared_transactions() {
    let scratch = tempfile::tempdir().unwrap();
    let db = open(scratch.path());
    let _transaction = prepared(&db, "x", "k");
    let crashed = crash(scratch.path());
    let error = Db::open(crashed.path(), options()).unwrap_err();
    assert_eq!(error.kind(), Kind::NotSupported);
    assert!(error.message().starts_with("WAL contains prepared transactions."), "{error}");
    assert_eq!(names(&open(crashed.path())), ["x"], "the refused open changed nothing");
    // No column family needs the WAL of the section any more.
    db.put(b"other", b"1").unwrap();
    db.flush().unwrap();
    let crashed = crash(scratch.path());
    let error = Db::open(crashed.path(), options()).unwrap_err();
    assert!(error.message().ends_with("Prepared: x"), "{error}");
    drop(Db::open_read_only(crashed.path(), options()).unwrap());
    assert_eq!(names(&open(crashed.path())), ["x"]);
    open(crashed.path()).transaction_by_name(b"x").unwrap().commit().unwrap();
    open(crashed.path()).flush().unwrap();
    assert_eq!(Db::open(crashed.path(), options()).unwrap().get(b"k").unwrap().as_deref(), Some(&b"x"[..]));
}

#[test]
fn records_of_a_dropped_column_family_are_skipped_at_recovery() {
    let scratch = tempfile::tempdir().unwrap();
    let db = open(scratch.path());
    let other = db.create_family(FamilyDescriptor::new("other", options().family)).unwrap();
    let transaction = db.begin();
    transaction.set_name(b"x").unwrap();
    transaction.put_in(&other, b"o", b"1").unwrap();
    transaction.put(b"k", b"1").unwrap();
    transaction.prepare().unwrap();
    db.drop_family(&other).unwrap();
    let crashed = crash(scratch.path());
    let again = open(crashed.path());
    again.transaction_by_name(b"x").unwrap().commit().unwrap();
    assert_eq!(value(&again, "k").as_deref(), Some("1"));
}

#[test]
fn sequence_numbers_after_recovery_continue() {
    let scratch = tempfile::tempdir().unwrap();
    let db = open(scratch.path());
    for i in 0..20 {
        let transaction = prepared(&db, &format!("t{i}"), &format!("k{i}"));
        if i % 3 == 0 {
            transaction.commit().unwrap();
        } else if i % 3 == 1 {
            transaction.rollback().unwrap();
        }
        db.put(b"plain", b"1").unwrap();
    }
    let last = db.latest_sequence();
    let crashed = crash(scratch.path());
    let again = open(crashed.path());
    assert_eq!(again.latest_sequence(), last);
    assert_eq!(names(&again).len(), 6, "a handle that is dropped without a decision decides nothing");
}

#[test]
fn synced_prepare_is_in_the_proof_of_a_close() {
    let scratch = tempfile::tempdir().unwrap();
    {
        let db = open(scratch.path());
        let synced = WriteOptions { sync: true, ..WriteOptions::default() };
        let transaction = db.begin_with(&synced, &Default::default()).unwrap();
        transaction.set_name(b"x").unwrap();
        transaction.put(b"k", b"1").unwrap();
        transaction.prepare().unwrap();
        db.put(b"a", b"1").unwrap();
        db.flush().unwrap();
    }
    // The open must detect the loss of a WAL that only the prepared transaction needs.
    let oldest = std::fs::read_dir(scratch.path())
        .unwrap()
        .map(|entry| entry.unwrap().path())
        .filter(|path| path.extension().is_some_and(|e| e == "log"))
        .min()
        .unwrap();
    std::fs::remove_file(oldest).unwrap();
    let error = TransactionDb::open(scratch.path(), options(), super::impatient(false)).unwrap_err();
    assert_eq!(error.kind(), Kind::Corruption, "{error}");
}

/// A replay of the commit gives each record of the section a sequence number. The commit of the recovered transaction has only the records of
/// existing column families.
#[test]
fn recovered_transaction_forgets_the_records_of_a_dropped_family() {
    let scratch = tempfile::tempdir().unwrap();
    {
        let db = open(scratch.path());
        let dropped = db.create_family(FamilyDescriptor::new("dropped", options().family)).unwrap();
        let transaction = db.begin();
        transaction.set_name(b"x").unwrap();
        for key in [b"a", b"b"] {
            transaction.put_in(&dropped, key, b"1").unwrap();
        }
        transaction.put(b"k", b"prepared").unwrap();
        transaction.prepare().unwrap();
        db.drop_family(&dropped).unwrap();
    }
    let db = open(scratch.path());
    db.transaction_by_name(b"x").unwrap().commit().unwrap();
    db.put(b"k", b"newer").unwrap();
    let crashed = crash(scratch.path());
    let db = open(crashed.path());
    assert_eq!((value(&db, "k").as_deref(), names(&db).len()), (Some("newer"), 0));
}

/// A prepared transaction holds locks and a WAL, so its end must not wait. RocksDB limits only the prepare.
#[test]
fn commit_and_rollback_with_low_pri_do_not_wait_for_compactions() {
    let scratch = tempfile::tempdir().unwrap();
    let mut options = options();
    options.update("soft_pending_compaction_bytes_limit=0;hard_pending_compaction_bytes_limit=0").unwrap();
    let db = TransactionDb::open(scratch.path(), options, impatient(false)).unwrap();
    let low = WriteOptions { low_pri: true, no_slowdown: true, ..WriteOptions::default() };
    for name in ["committed", "rolled back"] {
        let transaction = db.begin();
        transaction.set_name(name.as_bytes()).unwrap();
        transaction.put(name.as_bytes(), b"1").unwrap();
        transaction.set_write_options(low);
        assert_eq!(transaction.prepare().unwrap_err().kind(), Kind::Incomplete);
        transaction.set_write_options(WriteOptions::default());
        transaction.prepare().unwrap();
        transaction.set_write_options(low);
        if name == "committed" { transaction.commit().unwrap() } else { transaction.rollback().unwrap() }
    }
    assert_eq!((value(&db, "committed").as_deref(), value(&db, "rolled back")), (Some("1"), None));
    assert!(names(&db).is_empty());
}
