//! WAL filters: what an open replays if the application skips, replaces or rejects records.

use std::path::Path;
use std::sync::Arc;

use base::SequenceNumber;
use ironstone::{Batch, Db, FamilyId, FileNumber, Kind, Options, WalFilter, WalFilterDecision, WriteBatch};

/// A filter that decides by the key of the first entry.
struct ByKey(&'static [u8], WalFilterDecision);

impl WalFilter for ByKey {
    fn name(&self) -> &str {
        "by-key"
    }

    fn families(&self, families: &[(FamilyId, String, FileNumber)]) {
        assert!(families.iter().any(|(id, name, _)| *id == FamilyId::DEFAULT && name == "default"));
    }

    fn record(&self, _: FileNumber, path: &Path, batch: &Batch<'_>) -> WalFilterDecision {
        assert!(path.extension().is_some_and(|end| end == "log"));
        // A header of 12 bytes and one put, as the application wrote the batch: without the marks of the WAL.
        assert_eq!(batch.bytes().len(), 12 + 1 + 2 + 4);
        let first = batch.records().next().map(|record| record.unwrap());
        match first.as_ref().and_then(|record| record.entry()) {
            Some((_, key, _)) if key == self.0 => self.1.clone(),
            _ => WalFilterDecision::ContinueProcessing,
        }
    }
}

/// Writes the keys a, b and c, one WAL record for each, and opens the database with a filter.
fn open(change: &str, key: &'static [u8], decision: WalFilterDecision) -> (Options, ironstone::Result<Db>) {
    let mut options = Options::in_memory();
    options.update("avoid_flush_during_shutdown=true").unwrap();
    options.update(change).unwrap();
    let db = Db::open("data", options.clone()).unwrap();
    for key in [b"a", b"b", b"c"] {
        db.put(key, b"old").unwrap();
    }
    db.close().unwrap();
    drop(db);
    let filter: Arc<dyn WalFilter> = Arc::new(ByKey(key, decision));
    let opened = Db::open("data", Options { wal_filter: Some(filter), ..options.clone() });
    (options, opened)
}

fn rows(db: &Db) -> Vec<(Vec<u8>, Vec<u8>)> {
    db.rows().map(|row| row.map(|(key, value)| (key, value.to_vec())).unwrap()).collect()
}

fn old(keys: &[&[u8]]) -> Vec<(Vec<u8>, Vec<u8>)> {
    keys.iter().map(|key| (key.to_vec(), b"old".to_vec())).collect()
}

/// Checks the rows, and checks the rows again after an open without a filter: no WAL is replayed twice.
#[track_caller]
fn stays(change: &str, key: &'static [u8], decision: WalFilterDecision, want: Vec<(Vec<u8>, Vec<u8>)>) {
    let (options, db) = open(change, key, decision);
    let db = db.unwrap();
    assert_eq!(rows(&db), want);
    assert!(db.latest_sequence() >= SequenceNumber::new(3), "sequence numbers are not given out again");
    drop(db);
    assert_eq!(rows(&Db::open("data", options).unwrap()), want);
}

#[test]
fn a_record_is_skipped_or_ends_the_replay() {
    for change in ["", "avoid_flush_during_recovery=true"] {
        stays(change, b"z", WalFilterDecision::IgnoreCurrentRecord, old(&[b"a", b"b", b"c"]));
        stays(change, b"b", WalFilterDecision::IgnoreCurrentRecord, old(&[b"a", b"c"]));
        stays(change, b"b", WalFilterDecision::StopReplay, old(&[b"a"]));
        stays(change, b"a", WalFilterDecision::StopReplay, old(&[]));
    }
}

#[test]
fn a_record_is_replaced_by_at_most_as_many_entries() {
    let mut one = WriteBatch::new();
    one.put(b"b", b"new");
    let replace = WalFilterDecision::Replace(one.bytes().to_vec());
    let want = [(b"a", b"old"), (b"b", b"new"), (b"c", b"old")].map(|(k, v)| (k.to_vec(), v.to_vec()));
    stays("", b"b", replace, want.to_vec());
    one.put(b"b2", b"new");
    let (_, opened) = open("", b"b", WalFilterDecision::Replace(one.bytes().to_vec()));
    let error = opened.unwrap_err();
    assert_eq!(error.kind(), Kind::NotSupported);
    assert!(error.to_string().contains("More than original # of records returned by Wal Filter : by-key"));
}

#[test]
fn a_record_that_the_filter_rejects_is_damage() {
    for mode in ["kAbsoluteConsistency", "kTolerateCorruptedTailRecords", "kPointInTimeRecovery"] {
        let (options, opened) =
            open(&format!("wal_recovery_mode={mode}"), b"b", WalFilterDecision::CorruptedRecord);
        assert_eq!(opened.unwrap_err().kind(), Kind::Corruption, "{mode}");
        assert_eq!(rows(&Db::open("data", options).unwrap()), old(&[b"a", b"b", b"c"]), "nothing changed");
    }
}
