//! RocksDB's version edits, old and future edits, and damaged ones.

use super::*;
use crate::test_vectors::{damaged, db_vectors, hex, to_hex};
use base::key;
use base::{SequenceNumber, WalNumber};
use proptest::prelude::*;
use serde_json::{Value, json};

fn ikey(bytes: &[u8]) -> Value {
    let k = key::parse(bytes).unwrap();
    json!({"user_key": to_hex(k.user_key), "seq": k.seq.get(), "type": k.value_type as u8})
}

fn file(f: &NewFile, min_wal: Option<WalNumber>) -> Value {
    let mut custom = vec![
        json!(["oldest_ancester_time", f.times.oldest_ancester]),
        json!(["file_creation_time", f.times.creation]),
        json!(["epoch_number", f.epoch_number.get()]),
    ];
    let mut add = |present: bool, field: Value| {
        if present {
            custom.push(field);
        }
    };
    let has_sum = f.checksum.function != UNKNOWN_CHECKSUM_FUNC_NAME;
    add(has_sum, json!(["file_checksum", to_hex(&f.checksum.value)]));
    add(has_sum, json!(["file_checksum_func_name", f.checksum.function]));
    add(f.path_id != 0, json!(["path_id", f.path_id]));
    add(f.temperature != 0, json!(["temperature", f.temperature]));
    add(f.marked_for_compaction, json!(["need_compaction", 1]));
    add(min_wal.is_some(), json!(["min_log_number_to_keep_hack", min_wal.map(|wal| wal.get())]));
    let blob = f.oldest_blob_file_number.map(FileNumber::get);
    add(blob.is_some(), json!(["oldest_blob_file_number", blob]));
    add(f.unique_id != [0, 0], json!(["unique_id", f.unique_id]));
    let size = f.compensated_range_deletion_size;
    add(size != 0, json!(["compensated_range_deletion_size", size]));
    add(f.tail_size != 0, json!(["tail_size", f.tail_size]));
    add(!f.user_defined_timestamps_persisted, json!(["udt_persisted", 0]));
    add(!f.timestamps.min.is_empty(), json!(["min_timestamp", to_hex(&f.timestamps.min)]));
    add(!f.timestamps.max.is_empty(), json!(["max_timestamp", to_hex(&f.timestamps.max)]));
    add(!f.file_open_metadata.is_empty(), json!(["file_open_metadata", to_hex(&f.file_open_metadata)]));
    json!({
        "level": f.level.get(), "number": f.number.get(), "file_size": f.file_size,
        "smallest": ikey(&f.smallest), "largest": ikey(&f.largest),
        "smallest_seqno": f.smallest_seqno.get(), "largest_seqno": f.largest_seqno.get(), "custom": custom,
    })
}

/// Returns the fields in the vectors' format, in the order in which they are written.
fn shown(e: &VersionEdit) -> Vec<Value> {
    let mut out = Vec::new();
    let mut add = |name: &str, value: Option<Value>| out.extend(value.map(|v| json!([name, v])));
    add("db_id", e.db_id.as_ref().map(|v| json!(v)));
    add("comparator", e.comparator.as_ref().map(|v| json!(v)));
    add("log_number", e.wal_number.map(|v| json!(v.get())));
    add("prev_log_number", e.prev_log_number.map(|v| json!(v.get())));
    add("next_file_number", e.next_file_number.map(|v| json!(v.get())));
    add("max_column_family", e.max_column_family.map(|v| json!(v.get())));
    add("min_log_number_to_keep", e.min_log_number_to_keep.map(|v| json!(v.get())));
    add("last_sequence", e.last_sequence.map(|v| json!(v.get())));
    for (level, key) in &e.compact_cursors {
        add("compact_cursor", Some(json!({"level": level.get(), "key": ikey(key)})));
    }
    for (level, number) in &e.deleted_files {
        add("deleted_file", Some(json!({"level": level.get(), "number": number.get()})));
    }
    for (i, f) in e.new_files.iter().enumerate() {
        let min_wal = if i == 0 { e.min_log_number_to_keep } else { None };
        add("new_file4", Some(file(f, min_wal)));
    }
    for b in &e.blobs.additions {
        add(
            "blob_file_addition",
            Some(json!({
                "number": b.blob_file_number.get(), "total_blob_count": b.total_blob_count,
                "total_blob_bytes": b.total_blob_bytes,
                "checksum_method": String::from_utf8(b.checksum_method.clone()).unwrap(),
                "checksum_value": to_hex(&b.checksum_value), "custom": [],
            })),
        );
    }
    for b in &e.blobs.garbages {
        add(
            "blob_file_garbage",
            Some(json!({
                "number": b.blob_file_number.get(), "garbage_blob_count": b.garbage_blob_count,
                "garbage_blob_bytes": b.garbage_blob_bytes, "custom": [],
            })),
        );
    }
    for w in &e.wals.additions {
        let mut fields = json!({"number": w.number.get()});
        if let Some(size) = w.synced_size_bytes {
            fields["synced_size"] = json!(size);
        }
        add("wal_addition2", Some(fields));
    }
    add("wal_deletion2", e.wals.deletion.map(|v| json!(v.get())));
    add("column_family", (e.family.id.get() != 0).then(|| json!(e.family.id.get())));
    add("column_family_add", e.family.add.as_ref().map(|v| json!(v)));
    add("column_family_drop", e.family.drop.then_some(Value::Null));
    add("in_atomic_group", e.remaining_entries.map(|v| json!(v)));
    add("full_history_ts_low", e.full_history_ts_low.as_ref().map(|v| to_hex(v)));
    add("persist_user_defined_timestamps", e.persist_user_defined_timestamps.map(|v| json!(u8::from(v))));
    add("last_compacted_manifest_file_size", e.last_compacted_manifest_file_size.map(|v| json!(v)));
    out
}

fn records() -> Vec<(String, Vec<u8>, Value)> {
    let mut all = Vec::new();
    for manifest in db_vectors("manifest_files") {
        for record in manifest["records"].as_array().unwrap() {
            let name = format!("{}@{}", manifest["name"], record["offset"]);
            all.push((name, hex(&record["hex"]), record["edit"].clone()));
        }
    }
    for edit in db_vectors("version_edits") {
        all.push((edit["name"].to_string(), hex(&edit["hex"]), edit["edit"].clone()));
    }
    all
}

#[test]
fn rocksdb_edits_read_and_write_alike() {
    for (name, bytes, expected) in records() {
        let edit = VersionEdit::decode(&bytes).unwrap();
        let mut again = Vec::new();
        edit.encode(0, &mut again).unwrap();
        assert_eq!(to_hex(&again), to_hex(&bytes), "{name}");
        if edit.subcompaction_progress.is_none() {
            assert_eq!(Value::Array(shown(&edit)), expected, "{name}");
        }
    }
}

#[test]
fn progress_of_subcompactions_is_read() {
    let (_, bytes, expected) = records().into_iter().find(|(n, ..)| n.contains("progress")).unwrap();
    let progress = VersionEdit::decode(&bytes).unwrap().subcompaction_progress.unwrap();
    let fields = &expected[0][1];
    assert_eq!(to_hex(&progress.next_internal_key), fields[0][1]);
    assert_eq!(json!(progress.num_processed_input_records), fields[1][1]);
    assert_eq!(json!(progress.output_level.num_processed_output_records), fields[2][1][0][1]);
    let mut written = fields[2][1][1][1][0].clone();
    assert_eq!(written["level"].take(), json!(u32::MAX), "the number that stands for the level");
    let mut read = file(&progress.output_level.output_files[0], None);
    assert_eq!(read["level"].take(), json!(0));
    assert_eq!(read, written);
    assert_eq!(progress.proximal_output_level.output_files.len(), 1);
}

#[test]
fn old_tags_and_future_tags_read_as_rocksdb_reads_them() {
    for case in db_vectors("edit_decode_cases") {
        let name = case["name"].as_str().unwrap();
        let status = case["rocksdb_status"].as_str().unwrap();
        let got = VersionEdit::decode(&hex(&case["hex"]));
        if status != "OK" {
            assert!(got.unwrap_err().is_corruption(), "{name}");
            continue;
        }
        let edit = got.unwrap_or_else(|e| panic!("{name}: {e}"));
        match name {
            "new_file tag7" => {
                let f = &edit.new_files[0];
                assert_eq!((f.level, f.number, f.file_size), (Level::new(1), FileNumber::new(5), 100));
                assert_eq!((f.smallest_seqno, f.largest_seqno), (MAX_SEQUENCE, SequenceNumber::ZERO));
            }
            "new_file2" | "new_file3" => {
                let f = &edit.new_files[0];
                assert_eq!(
                    (f.number, f.file_size, f.smallest_seqno, f.largest_seqno),
                    (FileNumber::new(5), 100, SequenceNumber::new(1), SequenceNumber::new(2))
                );
                assert_eq!(f.path_id, if name == "new_file3" { 2 } else { 0 });
            }
            "wal_addition old" => {
                assert_eq!(
                    edit.wals.additions,
                    [WalAddition { number: WalNumber::new(9), synced_size_bytes: Some(77) }]
                );
            }
            "wal_deletion old" => assert_eq!(edit.wals.deletion, Some(WalNumber::new(9))),
            "blob add deprecated" => assert_eq!(edit.blobs.additions[0].total_blob_bytes, 99),
            "blob garbage deprecated" => assert_eq!(edit.blobs.garbages[0].garbage_blob_count, 2),
            "ignorable 9000" => assert_eq!(edit.last_sequence, Some(SequenceNumber::new(5))),
            "repeat scalar" => assert_eq!(edit.last_sequence, Some(SequenceNumber::new(3))),
            _ => {}
        }
    }
}

#[test]
fn damaged_edits_give_a_value_or_an_error() {
    for (_, bytes, _) in records() {
        for bytes in damaged(&bytes) {
            if let Ok(edit) = VersionEdit::decode(&bytes) {
                let _ = edit.encode(0, &mut Vec::new());
                let _ = edit.to_string();
            }
        }
    }
}

/// RocksDB reads such an edit, and rejects the database because of the number of its levels.
#[test]
fn a_level_above_255_is_an_error_with_its_offset() {
    let edit = VersionEdit {
        last_sequence: Some(SequenceNumber::new(9)),
        deleted_files: vec![(Level::new(u8::MAX), FileNumber::new(7))],
        ..VersionEdit::default()
    };
    let mut bytes = Vec::new();
    edit.encode(0, &mut bytes).unwrap();
    assert_eq!(VersionEdit::decode(&bytes).unwrap(), edit);
    assert_eq!(bytes[2..], [6, 0xff, 0x01, 7]);
    bytes[3..5].copy_from_slice(&[0x80, 0x02]);
    let error = VersionEdit::decode(&bytes).unwrap_err();
    assert!(error.is_corruption());
    assert_eq!(error.to_string(), "Corruption: VersionEdit: deleted file: invalid level 256 at offset 2");
}

#[test]
fn boundaries_lose_timestamps_that_are_not_persisted() {
    let mut edit = VersionEdit::default();
    let mut smallest = Vec::new();
    key::append_internal(&mut smallest, b"kTTTTTTTT", SequenceNumber::new(3), base::ValueType::Value);
    let f = NewFile {
        epoch_number: EpochNumber::FIRST,
        smallest: smallest.clone(),
        largest: smallest,
        user_defined_timestamps_persisted: false,
        ..NewFile::default()
    };
    edit.new_files.push(f);
    let mut out = Vec::new();
    edit.encode(8, &mut out).unwrap();
    let back = VersionEdit::decode(&out).unwrap();
    assert_eq!(key::user_key(&back.new_files[0].smallest), b"k");
    edit.new_files[0].smallest.truncate(8);
    assert!(edit.encode(8, &mut Vec::new()).unwrap_err().is_corruption());
}

/// RocksDB's compactions write such a smallest key if a file starts where a range tombstone is cut between
/// two entries of one user key.
#[test]
fn a_boundary_may_be_of_the_kind_before_all_kinds_and_of_none_above() {
    let edit = |value_type: u8| {
        let mut smallest = b"a".to_vec();
        smallest.extend_from_slice(&(7 << 8 | u64::from(value_type)).to_le_bytes());
        let mut largest = b"b".to_vec();
        largest.extend_from_slice(&(9 << 8 | 1u64).to_le_bytes());
        let file = NewFile {
            number: FileNumber::new(5),
            epoch_number: EpochNumber::FIRST,
            smallest,
            largest,
            ..NewFile::default()
        };
        VersionEdit { new_files: vec![file], ..VersionEdit::default() }
    };
    for value_type in [0x0f, 0x1a] {
        let mut bytes = Vec::new();
        edit(value_type).encode(0, &mut bytes).unwrap();
        assert_eq!(VersionEdit::decode(&bytes).unwrap(), edit(value_type));
    }
    assert!(edit(0x1b).encode(0, &mut Vec::new()).is_err());
}

#[test]
fn a_file_without_epoch_is_not_written() {
    let mut smallest = Vec::new();
    key::append_internal(&mut smallest, b"k", SequenceNumber::new(3), base::ValueType::Value);
    let f = NewFile { smallest: smallest.clone(), largest: smallest, ..NewFile::default() };
    let edit = VersionEdit { new_files: vec![f], ..VersionEdit::default() };
    assert!(edit.encode(0, &mut Vec::new()).is_err());
}

#[test]
fn deleted_files_are_written_sorted_and_once() {
    let edit = VersionEdit {
        deleted_files: [(1, 9), (0, 7), (1, 9), (1, 2)]
            .map(|(level, n)| (Level::new(level), FileNumber::new(n)))
            .to_vec(),
        ..VersionEdit::default()
    };
    let mut out = Vec::new();
    edit.encode(0, &mut out).unwrap();
    assert_eq!(
        VersionEdit::decode(&out).unwrap().deleted_files,
        [(0, 7), (1, 2), (1, 9)].map(|(level, n)| (Level::new(level), FileNumber::new(n)))
    );
}

proptest! {
    #[test]
    fn random_bytes_never_panic(bytes in prop::collection::vec(any::<u8>(), 0..300)) {
        let _ = VersionEdit::decode(&bytes);
    }

    #[test]
    fn files_come_back(
        numbers in prop::array::uniform12(any::<u64>()),
        user_key in prop::collection::vec(any::<u8>(), 0..30),
        level in 0u8..64, path_id in 0u32..4, marked: bool, persisted: bool,
        temperature in prop::sample::select(vec![0u8, 4, 8, 10, 12, 16]),
        bytes in prop::collection::vec(any::<u8>(), 0..20),
    ) {
        let mut key = user_key;
        key::append_internal(&mut key.clone(), b"", SequenceNumber::ZERO, base::ValueType::Value);
        key.extend_from_slice(&key::pack(SequenceNumber::new(numbers[0] >> 8), 1).to_le_bytes());
        let file = NewFile {
            level: Level::new(level), number: FileNumber::new(numbers[1]), path_id, file_size: numbers[2], smallest: key.clone(), largest: key,
            smallest_seqno: SequenceNumber::new(numbers[3]), largest_seqno: SequenceNumber::new(numbers[4]), marked_for_compaction: marked,
            oldest_blob_file_number: Some(FileNumber::new(numbers[5].max(1))),  times: FileTimes { oldest_ancester: numbers[6], creation: numbers[7] }, checksum: FileChecksum { value: bytes.clone(), function: "f".into() }, timestamps: TimestampRange { min: bytes.clone(), max: bytes.clone() },
             epoch_number: EpochNumber::new(numbers[8].max(1)),
              temperature,
              unique_id: [numbers[9], numbers[10]],
            compensated_range_deletion_size: numbers[11], tail_size: numbers[0],
            user_defined_timestamps_persisted: persisted, file_open_metadata: bytes,
        };
        let edit = VersionEdit {
            new_files: vec![file.clone(), file], wal_number: Some(WalNumber::new(numbers[0])),
            min_log_number_to_keep: Some(WalNumber::new(numbers[1])), last_sequence: Some(SequenceNumber::new(numbers[2])),
             family: FamilyEdit { id: FamilyId::new(u32::from(level)), ..FamilyEdit::default() }, remaining_entries: Some(path_id), ..VersionEdit::default()
        };
        let mut out = Vec::new();
        edit.encode(0, &mut out).unwrap();
        prop_assert_eq!(VersionEdit::decode(&out).unwrap(), edit);
    }
}
