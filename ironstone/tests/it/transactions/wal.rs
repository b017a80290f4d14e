//! Readers of WALs with transactions: the stream of updates, the check and the repair.

use std::collections::BTreeMap;
use std::path::Path;

use base::SequenceNumber;
use ironstone::{
    Db, Marker, Options, Record, Transaction, TransactionDb, TransactionDbOptions, TxnDbWritePolicy,
    WriteBatch, fsck, repair,
};

use super::write_prepared::{names, quiet, rows};
use super::{crash, impatient};

const POLICIES: [TxnDbWritePolicy; 3] =
    [TxnDbWritePolicy::WriteCommitted, TxnDbWritePolicy::WritePrepared, TxnDbWritePolicy::WriteUnprepared];

fn archiving() -> Options {
    let mut options = quiet();
    options.db.WAL_ttl_seconds = 1 << 30;
    options
}

fn open(path: &Path, options: Options, write_policy: TxnDbWritePolicy) -> TransactionDb {
    let unprepared = write_policy == TxnDbWritePolicy::WriteUnprepared;
    let default_write_batch_flush_threshold = i64::from(unprepared);
    let transactions =
        TransactionDbOptions { write_policy, default_write_batch_flush_threshold, ..impatient(false) };
    TransactionDb::open(path, options, transactions).unwrap()
}

fn begun(db: &TransactionDb, name: &str, keys: &[&str]) -> Transaction {
    let transaction = db.begin();
    transaction.set_name(name.as_bytes()).unwrap();
    for key in keys {
        transaction.put(key.as_bytes(), name.as_bytes()).unwrap();
    }
    transaction
}

/// Applies a stream of updates, as a consumer of the WAL does.
#[derive(Default)]
struct Consumer {
    rows: BTreeMap<String, String>,
    sections: BTreeMap<Vec<u8>, Vec<(String, String)>>,
    section: Option<Vec<(String, String)>>,
}

impl Consumer {
    fn take(&mut self, batch: &WriteBatch) {
        let text = |bytes: &[u8]| String::from_utf8(bytes.to_vec()).unwrap();
        for record in batch.iter() {
            match record.unwrap() {
                Record::Put { key, value, .. } => match &mut self.section {
                    Some(section) => section.push((text(key), text(value))),
                    None => drop(self.rows.insert(text(key), text(value))),
                },
                Record::Delete { key, .. } => drop(self.rows.remove(&text(key))),
                Record::Marker(
                    Marker::BeginPrepare | Marker::BeginPersistedPrepare | Marker::BeginUnprepare,
                ) => self.section = Some(Vec::new()),
                Record::Marker(Marker::EndPrepare(name)) => {
                    let section = self.section.take().unwrap();
                    self.sections.entry(name.to_vec()).or_default().extend(section);
                }
                Record::Marker(Marker::Commit(name)) => {
                    self.rows.extend(self.sections.remove(name).unwrap_or_default())
                }
                Record::Marker(Marker::Rollback(name)) => drop(self.sections.remove(name)),
                _ => {}
            }
        }
    }
}

#[test]
fn updates_have_every_transaction_of_every_policy() {
    for policy in POLICIES {
        let scratch = tempfile::tempdir().unwrap();
        let db = open(scratch.path(), archiving(), policy);
        db.put(b"a", b"plain").unwrap();
        let first = begun(&db, "first", &["k1", "k2", "k3", "k1"]);
        first.prepare().unwrap();
        db.put(b"b", b"plain").unwrap();
        let mut batch = WriteBatch::new();
        batch.put(b"c", b"1").put(b"d", b"1").put(b"c", b"2").put(b"e", b"1");
        db.write(batch).unwrap();
        db.flush().unwrap();
        let second = begun(&db, "second", &["l1", "l2"]);
        second.prepare().unwrap();
        first.commit().unwrap();
        db.put(b"f", b"plain").unwrap();
        db.flush().unwrap();
        second.rollback().unwrap();
        begun(&db, "third", &["m1", "m2", "m3"]).commit().unwrap();
        begun(&db, "fourth", &["n1", "n2", "n3"]).rollback().unwrap();
        db.put(b"g", b"plain").unwrap();
        let mut consumer = Consumer::default();
        let mut last = 0;
        for update in db.updates_since(SequenceNumber::new(1)).unwrap() {
            let update = update.unwrap_or_else(|error| panic!("{policy:?}: {error}"));
            assert!(update.sequence >= SequenceNumber::new(last), "{policy:?}");
            last = update.sequence.get();
            consumer.take(&update.batch);
        }
        let found: Vec<_> = consumer.rows.into_iter().collect();
        assert_eq!(found, rows(db.iter().unwrap()), "{policy:?}");
        // The stream may start in the middle. The commit of a section that was not read must not end the stream.
        for seq in 1..=db.latest_sequence().get() {
            let plain = |record: &Record<'_>| matches!(record, Record::Put { key, .. } if *key == b"g");
            let updates = db.updates_since(SequenceNumber::new(seq)).unwrap().map(|update| update.unwrap());
            let last = updates.last().unwrap();
            assert!(last.batch.iter().flatten().any(|record| plain(&record)), "{policy:?} from {seq}");
        }
    }
}

#[test]
fn check_and_repair_keep_prepared_transactions_of_every_policy() {
    for policy in POLICIES {
        for damage in ["nothing", "MANIFEST", "CURRENT", "an SST file"] {
            let scratch = tempfile::tempdir().unwrap();
            let db = open(scratch.path(), quiet(), policy);
            db.put(b"a", b"plain").unwrap();
            let waits = begun(&db, "waits", &["k1", "k2", "a2"]);
            waits.prepare().unwrap();
            // No column family needs the WAL of the section.
            for key in [b"b", b"c", b"d"] {
                db.put(key, b"plain").unwrap();
                db.flush().unwrap();
            }
            let open_ended = begun(&db, "open", &["o1", "o2", "o3"]);
            db.put(b"e", b"plain").unwrap();
            let crashed = crash(scratch.path());
            drop((waits, open_ended));
            for entry in std::fs::read_dir(crashed.path()).unwrap() {
                let path = entry.unwrap().path();
                if path.file_name().unwrap().to_str().unwrap().starts_with(damage) {
                    std::fs::remove_file(path).unwrap();
                }
            }
            if damage == "an SST file" {
                // A repair without damage of the MANIFEST writes a new MANIFEST too.
                let (path, _) = db.table_properties().unwrap().pop_first().unwrap();
                let path = crashed.path().join(path.file_name().unwrap());
                let mut bytes = std::fs::read(&path).unwrap();
                bytes[2] ^= 1;
                std::fs::write(path, bytes).unwrap();
            }
            let report = fsck(crashed.path(), quiet(), Vec::new()).unwrap();
            assert_eq!(report.is_sound(), damage == "nothing", "{policy:?} {damage}: {report:#?}");
            let report = repair(crashed.path(), quiet(), Vec::new()).unwrap();
            let what = format!("{policy:?} without {damage}: {report:#?}");
            let db = open(crashed.path(), quiet(), policy);
            let plain: Vec<_> = rows(db.iter().unwrap()).into_iter().map(|(key, _)| key).collect();
            assert_eq!(plain, ["a", "b", "c", "d", "e"], "{what}");
            assert_eq!(names(&db), ["waits"], "{what}");
            db.transaction_by_name(b"waits").unwrap().commit().unwrap();
            assert_eq!(rows(db.iter().unwrap()).len(), 8, "{what}");
        }
    }
    // A plain open rejects a database with prepared transactions.
    let scratch = tempfile::tempdir().unwrap();
    let db = open(scratch.path(), quiet(), TxnDbWritePolicy::WriteUnprepared);
    begun(&db, "waits", &["k"]).prepare().unwrap();
    assert!(Db::open(crash(scratch.path()).path(), quiet()).is_err());
}
