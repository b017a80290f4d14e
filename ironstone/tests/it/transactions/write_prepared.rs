//! The write-prepared policy: entries are in memtables and SST files before the commit, and no reader sees them.

use std::collections::BTreeMap;
use std::path::Path;

use env::Executor;
use ironstone::{
    Db, Kind, RollbackDeletionType, Snapshot, Transaction, TransactionDb, TransactionDbOptions,
    TransactionDbWriteOptimizations, TransactionState, TxnDbWritePolicy, WriteBatch, WriteOptions,
};

use super::{crash, impatient, options};

mod random;

fn transactions(policy: TxnDbWritePolicy) -> TransactionDbOptions {
    let rollback_merge_operands = policy != TxnDbWritePolicy::WriteCommitted;
    // With `WriteUnprepared`, nearly each write moves the earlier writes into the database.
    let default_write_batch_flush_threshold = i64::from(policy == TxnDbWritePolicy::WriteUnprepared) * 40;
    TransactionDbOptions {
        write_policy: policy,
        rollback_merge_operands,
        default_write_batch_flush_threshold,
        ..impatient(false)
    }
}

/// Options without background compactions, so that a copy of the directory is a consistent state.
pub fn quiet() -> ironstone::Options {
    let mut options = options();
    options.update("disable_auto_compactions=true").unwrap();
    options
}

fn open(path: &Path) -> TransactionDb {
    open_as(path, TxnDbWritePolicy::WritePrepared)
}

fn open_as(path: &Path, policy: TxnDbWritePolicy) -> TransactionDb {
    TransactionDb::open(path, quiet(), transactions(policy)).unwrap()
}

fn prepared(db: &TransactionDb, name: &str, key: &str) -> Transaction {
    let transaction = db.begin();
    transaction.set_name(name.as_bytes()).unwrap();
    transaction.put(key.as_bytes(), name.as_bytes()).unwrap();
    transaction.prepare().unwrap();
    transaction
}

pub fn text(value: Option<ironstone::Pinned>) -> Option<String> {
    value.map(|value| String::from_utf8(value.to_vec()).unwrap())
}

pub fn value(db: &TransactionDb, key: &str) -> Option<String> {
    text(db.get(key.as_bytes()).unwrap())
}

/// The rows of an iterator, as text.
pub fn rows(iter: impl Into<AnyIter>) -> Vec<(String, String)> {
    let mut iter = iter.into();
    iter.run(false)
}

/// Returns the rows of a backward iteration in ascending order.
pub fn rows_backward(iter: impl Into<AnyIter>) -> Vec<(String, String)> {
    let mut rows = iter.into().run(true);
    rows.reverse();
    rows
}

/// An iterator over a database or over a transaction.
pub enum AnyIter {
    Database(Box<ironstone::Iter>),
    Transaction(Box<ironstone::BaseDeltaIter>),
}

impl From<ironstone::Iter> for AnyIter {
    fn from(iter: ironstone::Iter) -> Self {
        AnyIter::Database(Box::new(iter))
    }
}

impl From<ironstone::BaseDeltaIter> for AnyIter {
    fn from(iter: ironstone::BaseDeltaIter) -> Self {
        AnyIter::Transaction(Box::new(iter))
    }
}

macro_rules! all_rows {
    ($iter:expr, $backward:expr) => {{
        let mut rows = Vec::new();
        if $backward {
            $iter.seek_to_last()
        } else {
            $iter.seek_to_first()
        }
        while $iter.valid() {
            let text = |bytes: &[u8]| String::from_utf8(bytes.to_vec()).unwrap();
            rows.push((text($iter.key()), text($iter.value())));
            if $backward { $iter.prev() } else { $iter.next() }
        }
        $iter.status().unwrap();
        rows
    }};
}

impl AnyIter {
    fn run(&mut self, backward: bool) -> Vec<(String, String)> {
        match self {
            AnyIter::Database(iter) => all_rows!(iter, backward),
            AnyIter::Transaction(iter) => all_rows!(iter, backward),
        }
    }
}

pub fn names(db: &TransactionDb) -> Vec<String> {
    let prepared = db.all_prepared_transactions();
    prepared.iter().map(|t| String::from_utf8(t.name()).unwrap()).collect()
}

#[test]
fn prepared_entries_are_flushed_and_not_seen() {
    let scratch = tempfile::tempdir().unwrap();
    let db = open(scratch.path());
    db.put(b"k", b"old").unwrap();
    let before = db.latest_sequence();
    let transaction = prepared(&db, "x", "k");
    assert_eq!(db.latest_sequence(), before + 1, "a section takes a sequence number");
    let snapshot = db.snapshot();
    for step in ["memtable", "level 0", "compacted"] {
        match step {
            "level 0" => db.flush().unwrap(),
            "compacted" => db.compact_range(None, None, &Default::default()).unwrap(),
            _ => {}
        }
        assert_eq!(value(&db, "k").as_deref(), Some("old"), "{step}");
        assert_eq!(text(transaction.get(b"k").unwrap()).as_deref(), Some("x"), "{step}: its own write");
        let rows: Vec<_> = db.range::<[u8], _>(..).map(|row| row.unwrap().1.to_vec()).collect();
        assert_eq!(rows, [b"old".to_vec()], "{step}");
    }
    transaction.commit().unwrap();
    assert_eq!(value(&db, "k").as_deref(), Some("x"));
    for compact in [false, true] {
        if compact {
            db.put(b"k2", b"1").unwrap();
            db.compact_range(None, None, &Default::default()).unwrap();
        }
        assert_eq!(
            text(snapshot.get(b"k").unwrap()).as_deref(),
            Some("old"),
            "the snapshot is before the commit"
        );
    }
    drop(snapshot);
    db.compact_range(None, None, &Default::default()).unwrap();
    assert_eq!(value(&db, "k").as_deref(), Some("x"));
}

#[test]
fn transaction_with_a_key_twice_takes_two_sequence_numbers() {
    let scratch = tempfile::tempdir().unwrap();
    let db = open(scratch.path());
    let before = db.latest_sequence();
    let transaction = db.begin();
    transaction.set_name(b"x").unwrap();
    for value in [b"1", b"2"] {
        transaction.put(b"a", value).unwrap();
        transaction.put(b"b", value).unwrap();
    }
    transaction.prepare().unwrap();
    assert_eq!(db.latest_sequence(), before + 2);
    transaction.commit().unwrap();
    assert_eq!(db.latest_sequence(), before + 3);
    assert_eq!((value(&db, "a").as_deref(), value(&db, "b").as_deref()), (Some("2"), Some("2")));
    let mut batch = WriteBatch::new();
    batch.put(b"a", b"3").put(b"b", b"3").put(b"c", b"3").put(b"a", b"4");
    db.write(batch).unwrap();
    assert_eq!(db.latest_sequence(), before + 5, "a batch outside of a transaction counts the same");
    assert_eq!(value(&db, "a").as_deref(), Some("4"));
    drop((transaction, db));
    let db = open(scratch.path());
    assert_eq!((value(&db, "a").as_deref(), value(&db, "b").as_deref()), (Some("4"), Some("3")));
}

#[test]
fn a_rollback_restores_the_older_values() {
    let scratch = tempfile::tempdir().unwrap();
    let db = open(scratch.path());
    db.put(b"put", b"old").unwrap();
    db.put(b"deleted", b"old").unwrap();
    db.merge(b"merged", b"old").unwrap();
    let family = db.default_family();
    family.put_entity(b"entity", &[(b"column", b"old")]).unwrap();
    let transaction = prepared(&db, "x", "new");
    transaction.rollback().unwrap();
    let transaction = db.begin();
    transaction.set_name(b"y").unwrap();
    transaction.put(b"put", b"y").unwrap();
    transaction.delete(b"deleted").unwrap();
    transaction.merge(b"merged", b"y").unwrap();
    transaction.put(b"entity", b"y").unwrap();
    transaction.prepare().unwrap();
    db.flush().unwrap();
    transaction.rollback().unwrap();
    assert_eq!(transaction.state(), TransactionState::RolledBack);
    for reopened in [false, true] {
        let crashed = crash(scratch.path());
        let db = if reopened { open(crashed.path()) } else { db.clone() };
        assert_eq!(value(&db, "new"), None, "{reopened}");
        assert_eq!(value(&db, "put").as_deref(), Some("old"), "{reopened}");
        assert_eq!(value(&db, "deleted").as_deref(), Some("old"), "{reopened}");
        assert_eq!(value(&db, "merged").as_deref(), Some("old"), "{reopened}");
        let columns = db.default_family().get_entity(b"entity").unwrap().unwrap();
        assert_eq!(columns.get(b"column"), Some(&b"old"[..]), "{reopened}");
        assert!(names(&db).is_empty());
    }
}

#[test]
fn snapshot_finds_a_conflict_with_a_commit_after_it() {
    let scratch = tempfile::tempdir().unwrap();
    let db = open(scratch.path());
    let transaction = prepared(&db, "x", "k");
    let reader = db.begin();
    reader.set_snapshot();
    transaction.commit().unwrap();
    // The entry is older than the snapshot, and its commit is newer.
    assert_eq!(reader.put(b"k", b"1").unwrap_err().kind(), Kind::Busy);
    db.flush().unwrap();
    assert_eq!(reader.put(b"k", b"1").unwrap_err().kind(), Kind::Busy);
    reader.set_snapshot();
    reader.put(b"k", b"1").unwrap();
}

#[test]
fn prepared_sections_survive_crashes_and_many_opens() {
    let scratch = tempfile::tempdir().unwrap();
    let mut db = open(scratch.path());
    db.merge(b"k", b"old").unwrap();
    let transaction = db.begin();
    transaction.set_name(b"x").unwrap();
    transaction.merge(b"k", b"x").unwrap();
    transaction.put(b"other", b"x").unwrap();
    transaction.prepare().unwrap();
    let mut directory = scratch;
    drop(transaction);
    for round in 0..5 {
        if round % 2 == 0 {
            db.put(b"filler", &[round; 10]).unwrap();
            db.flush().unwrap();
        }
        if round == 3 {
            db.compact_range(None, None, &Default::default()).unwrap();
        }
        let crashed = crash(directory.path());
        drop(db);
        directory = crashed;
        db = open(directory.path());
        assert_eq!(names(&db), ["x"], "open {round}");
        assert_eq!((value(&db, "k").as_deref(), value(&db, "other")), (Some("old"), None), "open {round}");
    }
    let recovered = db.transaction_by_name(b"x").unwrap();
    assert_eq!(text(recovered.get(b"other").unwrap()).as_deref(), Some("x"));
    recovered.commit().unwrap();
    drop(recovered);
    for _ in 0..2 {
        assert_eq!(value(&db, "k").as_deref(), Some("old,x"));
        assert_eq!(value(&db, "other").as_deref(), Some("x"));
        drop(db);
        db = open(directory.path());
        assert!(names(&db).is_empty());
    }
}

#[test]
fn calls_that_the_policy_does_not_support_are_rejected() {
    let scratch = tempfile::tempdir().unwrap();
    {
        let db = open(scratch.path());
        let kind = |error: ironstone::Result<()>| error.unwrap_err().kind();
        let mut batch = WriteBatch::new();
        batch.delete_range(b"a", b"b");
        assert!(db.write(batch.clone()).is_err());
        let unlocked = db.write_without_locks(&mut batch, &WriteOptions::default());
        assert_eq!(kind(unlocked), Kind::InvalidArgument);
        let tailing = ironstone::ReadOptions { tailing: true, ..Default::default() };
        assert_eq!(db.iter_with(tailing).err().unwrap().kind(), Kind::NotSupported);
        let transaction = prepared(&db, "x", "k");
        transaction.with_commit_time_batch(|batch| batch.put(b"c", b"1").count());
        assert_eq!(kind(transaction.commit()), Kind::InvalidArgument);
        assert_eq!(transaction.state(), TransactionState::Prepared);
        assert_eq!(kind(transaction.set_commit_timestamp(1)), Kind::NotSupported);
        assert!(db.create_timestamped_snapshot(1).is_err());
        let mut options = options();
        options.db.unordered_write = true;
        let refused =
            TransactionDb::open(scratch.path(), options, transactions(TxnDbWritePolicy::WritePrepared));
        assert_eq!(refused.unwrap_err().kind(), Kind::NotSupported);
    }
    let committed = TransactionDb::open(scratch.path(), options(), impatient(false));
    assert_eq!(committed.unwrap_err().kind(), Kind::NotSupported, "the WAL is of another policy");
    assert_eq!(Db::open(scratch.path(), options()).unwrap_err().kind(), Kind::NotSupported);
    assert_eq!(names(&open(scratch.path())), ["x"]);
}

/// RocksDB's rules: `TransactionTest.DeleteRangeSupportTest`.
#[test]
fn a_range_deletion_needs_the_guarantees_of_its_policy() {
    let policies = [
        TxnDbWritePolicy::WriteCommitted,
        TxnDbWritePolicy::WritePrepared,
        TxnDbWritePolicy::WriteUnprepared,
    ];
    let flags = [(false, false), (false, true), (true, false), (true, true)];
    for (policy, flags) in policies.into_iter().flat_map(|policy| flags.map(|flags| (policy, flags))) {
        let scratch = tempfile::tempdir().unwrap();
        let (skip_concurrency_control, skip_duplicate_key_check) = flags;
        let guarantees =
            TransactionDbWriteOptimizations { skip_concurrency_control, skip_duplicate_key_check };
        let db = open_as(scratch.path(), policy);
        for key in ["a", "b", "c"] {
            db.put(key.as_bytes(), b"old").unwrap();
        }
        let snapshot = db.snapshot();
        let mut batch = WriteBatch::new();
        batch.put(b"b", b"new").delete_range(b"a", b"c").put(b"d", b"new");
        let written = db.write_with_optimizations(&mut batch, &WriteOptions::default(), &guarantees);
        let taken = flags.0 && (flags.1 || policy == TxnDbWritePolicy::WriteCommitted);
        assert_eq!(
            written.err().map(|e| e.kind()),
            (!taken).then_some(Kind::InvalidArgument),
            "{policy:?} {flags:?}"
        );
        let expected = if taken {
            [None, None, Some("old"), Some("new")]
        } else {
            [Some("old"), Some("old"), Some("old"), None]
        };
        let found = |db: &TransactionDb| ["a", "b", "c", "d"].map(|key| value(db, key));
        assert_eq!(found(&db).each_ref().map(Option::as_deref), expected, "{policy:?} {flags:?}");
        assert_eq!(text(snapshot.get(b"b").unwrap()).as_deref(), Some("old"));
        drop(snapshot);
        // The copy has the writes only in its WAL.
        let copy = crash(scratch.path());
        let replayed = open_as(copy.path(), policy);
        assert_eq!(
            found(&replayed).each_ref().map(Option::as_deref),
            expected,
            "{policy:?} {flags:?}, replayed"
        );
        db.flush().unwrap();
        assert_eq!(found(&db).each_ref().map(Option::as_deref), expected, "{policy:?} {flags:?}, flushed");
    }
}

#[test]
fn commit_time_batch_is_written_with_the_commit() {
    for policy in [TxnDbWritePolicy::WritePrepared, TxnDbWritePolicy::WriteUnprepared] {
        let scratch = tempfile::tempdir().unwrap();
        let db = open_as(scratch.path(), policy);
        let options = ironstone::TransactionOptions {
            use_only_the_last_commit_time_batch_for_recovery: true,
            ..Default::default()
        };
        let transaction = super::with(options, &db);
        transaction.set_name(b"x").unwrap();
        transaction.put(b"k", b"x").unwrap();
        transaction.prepare().unwrap();
        transaction
            .with_commit_time_batch(|batch| batch.put(b"position", b"7").put(b"position", b"8").count());
        assert_eq!(value(&db, "position"), None);
        transaction.commit().unwrap();
        for db in [db, open_as(crash(scratch.path()).path(), policy)] {
            assert_eq!(value(&db, "position").as_deref(), Some("8"), "{policy:?}");
            assert_eq!(value(&db, "k").as_deref(), Some("x"), "{policy:?}");
        }
    }
}

#[test]
fn wal_of_the_other_policy_is_refused() {
    let scratch = tempfile::tempdir().unwrap();
    {
        let db = super::open(scratch.path());
        let _waits = prepared(&db, "x", "k");
    }
    let refused =
        TransactionDb::open(scratch.path(), options(), transactions(TxnDbWritePolicy::WritePrepared));
    assert!(refused.unwrap_err().message().contains("WriteCommitted txn tag"));
}

#[test]
fn plain_open_reads_a_wal_of_the_policy_without_sections() {
    let scratch = tempfile::tempdir().unwrap();
    {
        let db = open(scratch.path());
        let mut batch = WriteBatch::new();
        for key in [b"a", b"b", b"c", b"a"] {
            batch.merge(key, b"1");
        }
        db.write(batch).unwrap();
        db.put(b"b", b"2").unwrap();
    }
    let crashed = crash(scratch.path());
    let db = Db::open(crashed.path(), options()).unwrap();
    let rows: Vec<_> = db
        .range::<[u8], _>(..)
        .map(|row| row.unwrap())
        .map(|(k, v)| [k.to_vec(), v.to_vec()].concat())
        .collect();
    assert_eq!(rows, [b"a1,1".to_vec(), b"b2".to_vec(), b"c1".to_vec()]);
}

thread_local! {
    static LIVE: std::cell::RefCell<Vec<Transaction>> = const { std::cell::RefCell::new(Vec::new()) };
}

/// RocksDB: `rollback_deletion_type_callback`.
#[test]
fn a_rollback_deletes_a_key_without_value_as_the_callback_decides() {
    for policy in [TxnDbWritePolicy::WritePrepared, TxnDbWritePolicy::WriteUnprepared] {
        let dir = tempfile::tempdir().unwrap();
        let is_single = |family: &ironstone::Family, key: &[u8]| {
            assert_eq!(family.name(), "default");
            key.starts_with(b"single")
        };
        let callback = Some(RollbackDeletionType::new(is_single));
        let settings = || TransactionDbOptions {
            rollback_deletion_type_callback: callback.clone(),
            ..transactions(policy)
        };
        let deletions = |db: &TransactionDb, from| {
            let updates = db.updates_since(from).unwrap();
            let batches = updates.map(|update| update.unwrap().batch);
            let shown: Vec<_> =
                batches.map(|batch| format!("{:?}", batch.iter().collect::<Vec<_>>())).collect();
            let shown = shown.concat();
            (shown.matches("(SingleDelete {").count(), shown.matches("(Delete {").count())
        };
        let db = TransactionDb::open(dir.path(), quiet(), settings()).unwrap();
        db.put(b"single-old", b"old").unwrap();
        let begin = |name: &str| {
            let transaction = db.begin();
            transaction.set_name(name.as_bytes()).unwrap();
            for key in ["single-old", "single-new", "new-1", "new-2"] {
                transaction.put(key.as_bytes(), name.as_bytes()).unwrap();
            }
            transaction.prepare().unwrap();
            transaction
        };
        let before = db.latest_sequence();
        begin("first").rollback().unwrap();
        assert_eq!(deletions(&db, before + 1), (1, 2), "{policy:?}");
        assert_eq!(value(&db, "single-old").as_deref(), Some("old"));
        assert_eq!(value(&db, "single-new"), None);
        // A rollback after a crash asks the callback too.
        let prepared = begin("second");
        let copy = crash(dir.path());
        prepared.rollback().unwrap();
        let db = TransactionDb::open(copy.path(), quiet(), settings()).unwrap();
        let before = db.latest_sequence();
        db.transaction_by_name(b"second").unwrap().rollback().unwrap();
        assert_eq!(deletions(&db, before + 1), (1, 2), "{policy:?}");
        assert_eq!(value(&db, "single-old").as_deref(), Some("old"));
    }
    let callback = Some(RollbackDeletionType::new(|_, _| true));
    let committed = TransactionDbOptions { rollback_deletion_type_callback: callback, ..impatient(false) };
    let error = TransactionDb::open("data", ironstone::Options::in_memory(), committed).err().unwrap();
    assert!(error.to_string().contains("rollback_deletion_type_callback"), "{error}");
}

/// Recovery reads the commit of `first` before the section of `second`. The sequence numbers that `first` released are newer than
/// the section that recovery restores.
#[test]
fn a_section_that_recovery_restores_delays_the_compaction_of_the_last_level_until_its_decision() {
    let machine = testkit::machine::Machine::new(1);
    let open = || {
        let mut options = options();
        options.db.env = machine.env.clone();
        let transactions = transactions(TxnDbWritePolicy::WritePrepared);
        TransactionDb::open("/db", options, transactions).unwrap()
    };
    let run_jobs = || {
        let jobs = (0..1000).take_while(|_| machine.executor.help()).count();
        assert!(jobs < 1000, "the jobs do not end");
    };
    let sequences = |db: &TransactionDb| {
        run_jobs();
        let files = db.live_files();
        let by_key = files.iter().map(|file| (file.smallest_key.clone(), file.largest_sequence.get()));
        by_key.collect::<BTreeMap<_, _>>()
    };
    let db = open();
    prepared(&db, "first", "a").commit().unwrap();
    drop(prepared(&db, "second", "b"));
    db.put(b"c", b"1").unwrap();
    db.flush().unwrap();
    db.put(b"z", b"1").unwrap();
    db.flush().unwrap();
    let before = sequences(&db);
    drop(db);
    let db = open();
    assert_eq!(sequences(&db), before);
    db.transaction_by_name(b"second").unwrap().commit().unwrap();
    let after = sequences(&db);
    assert_eq!((before[b"a".as_slice()] > 0, after[b"a".as_slice()]), (true, 0), "{before:?} {after:?}");
    assert_eq!((value(&db, "a").as_deref(), value(&db, "b").as_deref()), (Some("first"), Some("second")));
}
