//! RocksDB's batches, damaged batches and round trips.

use super::*;
use crate::test_vectors::{damaged, db_vectors, hex, to_hex};
use base::FamilyId;
use base::SequenceNumber;
use proptest::prelude::*;
use serde_json::{Value, json};

fn shown(record: Record<'_>, tag: u8) -> Value {
    let (op, mut fields) = match record {
        Record::Put { key, value, .. } => ("Put", json!({"key": to_hex(key), "value": to_hex(value)})),
        Record::Delete { key, .. } => ("Delete", json!({"key": to_hex(key)})),
        Record::SingleDelete { key, .. } => ("SingleDelete", json!({"key": to_hex(key)})),
        Record::Merge { key, operand, .. } => {
            ("Merge", json!({"key": to_hex(key), "value": to_hex(operand)}))
        }
        Record::DeleteRange { begin, end, .. } => {
            ("DeleteRange", json!({"begin": to_hex(begin), "end": to_hex(end)}))
        }
        Record::PutBlobIndex { key, index, .. } => {
            ("PutBlobIndex", json!({"key": to_hex(key), "value": to_hex(index)}))
        }
        Record::PutEntity { key, entity, .. } => {
            ("PutEntity", json!({"key": to_hex(key), "value": to_hex(entity)}))
        }
        Record::TimedPut { key, stored, .. } => {
            let (value, time) = Record::split_timed(stored).unwrap();
            ("TimedPut", json!({"key": to_hex(key), "value": to_hex(value), "write_unix_time": time}))
        }
        Record::LogData(blob) => ("LogData", json!({"blob": to_hex(blob)})),
        Record::Marker(Marker::BeginPrepare) => ("BeginPrepare", json!({})),
        Record::Marker(Marker::BeginPersistedPrepare) => ("BeginPersistedPrepare", json!({})),
        Record::Marker(Marker::BeginUnprepare) => ("BeginUnprepare", json!({})),
        Record::Marker(Marker::EndPrepare(xid)) => ("EndPrepare", json!({"xid": to_hex(xid)})),
        Record::Marker(Marker::Commit(xid)) => ("Commit", json!({"xid": to_hex(xid)})),
        Record::Marker(Marker::Rollback(xid)) => ("Rollback", json!({"xid": to_hex(xid)})),
        Record::Marker(Marker::Noop) => ("Noop", json!({})),
        Record::Marker(Marker::CommitWithTimestamp { timestamp, xid }) => {
            ("CommitWithTimestamp", json!({"ts": to_hex(timestamp), "xid": to_hex(xid)}))
        }
    };
    fields["op"] = json!(op);
    fields["tag"] = json!(tag);
    if let Some(family) = record.family() {
        fields["cf"] = json!(family.get());
    }
    fields
}

/// Returns `None` if a value is large: the vectors contain only the length and the checksum of large values.
fn strip_large(ops: &Value) -> Option<&Value> {
    let large = ops.as_array().unwrap().iter().any(|op| op["value"].is_object());
    (!large).then_some(ops)
}

fn check(bytes: &[u8], decoded: &Value) {
    let batch = Batch::new(bytes).unwrap();
    assert_eq!(batch.sequence(), SequenceNumber::new(decoded["sequence"].as_u64().unwrap()));
    assert_eq!(u64::from(batch.count()), decoded["count"].as_u64().unwrap());
    batch.verify().unwrap();
    let mut again = bytes[..HEADER_LEN].to_vec();
    let mut ops = Vec::new();
    let mut records = batch.records();
    while let Some(record) = {
        let at = records.offset();
        records.next().map(|r| (at, r))
    } {
        let (at, record) = (record.0, record.1.unwrap());
        append(&mut again, &record);
        ops.push(shown(record, bytes[at]));
    }
    assert_eq!(again, bytes, "the appended records are RocksDB's bytes");
    if let Some(expected) = strip_large(&decoded["ops"]) {
        assert_eq!(&Value::Array(ops), expected);
    }
}

#[test]
fn rocksdb_batches_read_and_write_alike() {
    for vector in db_vectors("write_batches") {
        check(&hex(&vector["hex"]), &vector["decoded"]);
    }
}

#[test]
fn damaged_batches_give_records_or_errors() {
    for vector in db_vectors("write_batches") {
        for bytes in damaged(&hex(&vector["hex"])) {
            if let Ok(batch) = Batch::new(&bytes) {
                let _ = batch.verify();
                assert!(batch.records().count() <= bytes.len());
            }
        }
    }
}

#[test]
fn family_tags_are_written_only_for_other_families() {
    let mut out = Vec::new();
    put(&mut out, FamilyId::DEFAULT, b"k", b"", b"v");
    put(&mut out, FamilyId::new(200), b"k", b"", b"v");
    assert_eq!(out, b"\x01\x01k\x01v\x05\xc8\x01\x01k\x01v");
}

#[test]
fn timestamps_follow_the_keys() {
    let mut out = Vec::new();
    begin(&mut out);
    put(&mut out, FamilyId::new(1), b"k", b"TTTTTTTT", b"v");
    delete_range(&mut out, FamilyId::new(1), b"a", b"b", b"TTTTTTTT");
    let records: Vec<_> = Batch::new(&out).unwrap().records().map(Result::unwrap).collect();
    assert_eq!(records[0], Record::Put { family: FamilyId::new(1), key: b"kTTTTTTTT", value: b"v" });
    assert_eq!(
        records[1],
        Record::DeleteRange { family: FamilyId::new(1), begin: b"aTTTTTTTT", end: b"bTTTTTTTT" }
    );
}

#[test]
fn wrong_count_is_corruption() {
    let mut out = Vec::new();
    begin(&mut out);
    put(&mut out, FamilyId::DEFAULT, b"k", b"", b"v");
    let error = Batch::new(&out).unwrap().verify().unwrap_err();
    assert!(error.is_corruption() && error.message().starts_with("WriteBatch has wrong count"));
    set_count(&mut out, 1);
    Batch::new(&out).unwrap().verify().unwrap();
}

#[test]
fn the_error_of_an_unknown_tag_has_its_offset() {
    let mut out = vec![0; HEADER_LEN];
    log_data(&mut out, b"x");
    out.push(99);
    let error = Batch::new(&out).unwrap().verify().unwrap_err();
    assert_eq!(error.to_string(), "Corruption: unknown WriteBatch tag: 99 at offset 15");
}

proptest! {
    #[test]
    fn random_bytes_never_panic(bytes in prop::collection::vec(any::<u8>(), 0..200)) {
        if let Ok(batch) = Batch::new(&bytes) {
            let _ = batch.verify();
        }
    }

    #[test]
    fn records_come_back(
        entries in prop::collection::vec((0u8..8, 0u32..300, prop::collection::vec(any::<u8>(), 0..40),
            prop::collection::vec(any::<u8>(), 8..300)), 0..20)
    ) {
        let records: Vec<Record<'_>> = entries.iter().map(|(kind, family, key, value)| {
            let family = FamilyId::new(*family);
            match kind {
                0 => Record::Put { family, key, value },
                1 => Record::Delete { family, key },
                2 => Record::SingleDelete { family, key },
                3 => Record::Merge { family, key, operand: value },
                4 => Record::DeleteRange { family, begin: key, end: value },
                5 => Record::TimedPut { family, key, stored: value },
                6 => Record::LogData(value),
                _ => Record::Marker(Marker::EndPrepare(key)),
            }
        }).collect();
        let mut out = Vec::new();
        begin(&mut out);
        records.iter().for_each(|r| append(&mut out, r));
        let back: Vec<_> = Batch::new(&out).unwrap().records().map(Result::unwrap).collect();
        prop_assert_eq!(back, records);
    }
}
