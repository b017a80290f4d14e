use base::key::ValueType;
use base::{EpochNumber, Level, SequenceNumber};

use super::*;

fn internal(user: &[u8], seq: u64) -> Vec<u8> {
    let mut out = Vec::new();
    key::append_internal(&mut out, user, SequenceNumber::new(seq), ValueType::Value);
    out
}

#[test]
fn a_record_and_back_is_the_same_record() {
    let record = format::edit::NewFile {
        level: Level::new(3),
        number: FileNumber::new(12),
        path_id: 1,
        file_size: 4096,
        smallest: internal(b"a", 7),
        largest: internal(b"z", 9),
        smallest_seqno: SequenceNumber::new(7),
        largest_seqno: SequenceNumber::new(9),
        marked_for_compaction: true,
        oldest_blob_file_number: Some(FileNumber::new(5)),
        times: FileTimes { oldest_ancester: 100, creation: 200 },
        checksum: FileChecksum { value: vec![1, 2, 3, 4], function: "FileChecksumCrc32c".to_string() },
        epoch_number: EpochNumber::new(4),
        temperature: 4,
        unique_id: [11, 12],
        compensated_range_deletion_size: 9,
        tail_size: 77,
        file_open_metadata: vec![9],
        ..format::edit::NewFile::default()
    };
    let file = FileMetaData::from_record(&record, 0);
    assert_eq!(file.to_record(Level::new(3), 0), record);
    let moved = format::edit::NewFile { level: Level::new(5), ..record.clone() };
    assert!(file.is_from_record(&record) && file.is_from_record(&moved));
    let changed = format::edit::NewFile { epoch_number: EpochNumber::new(5), ..record.clone() };
    assert!(!file.is_from_record(&changed));
    let stripped = format::edit::NewFile { user_defined_timestamps_persisted: false, ..record };
    assert!(!file.is_from_record(&stripped));
}

#[test]
fn boundaries_stored_without_timestamps_are_widened_and_stripped_again() {
    let mut record = format::edit::NewFile {
        smallest: internal(b"a", 7),
        user_defined_timestamps_persisted: false,
        ..format::edit::NewFile::default()
    };
    record.largest = b"z".to_vec();
    record.largest.extend_from_slice(&EXCLUSIVE_END.to_le_bytes());
    let file = FileMetaData::from_record(&record, 8);
    assert_eq!(file.smallest_user_key(), b"a\0\0\0\0\0\0\0\0");
    assert_eq!(file.largest_user_key(), b"z\xff\xff\xff\xff\xff\xff\xff\xff");
    assert!(file.largest_is_exclusive());
    let back = file.to_record(Level::ZERO, 8);
    assert_eq!((back.smallest, back.largest), (record.smallest, record.largest));
}

#[test]
fn deletions_make_a_file_count_for_more() {
    let file = FileMetaData::new(FileNumber::new(1), 1000, &internal(b"a", 1), &internal(b"b", 1));
    assert_eq!(file.compensated_size(50), 1000);
    file.set_stats(FileStats {
        num_entries: 10,
        num_deletions: 8,
        num_range_deletions: 1,
        ..FileStats::default()
    });
    // Seven point tombstones: twice their number exceeds the number of entries by four, and each of the four
    // weighs two values.
    assert_eq!(file.compensated_size(50), 1000 + (14 - 10) * 50 * 2);
}

#[test]
fn unknown_entry_count_gives_a_range_of_point_counts() {
    let exact = FileStats { num_entries: 3, num_range_deletions: 1, ..FileStats::default() };
    assert_eq!(exact.num_points(), 2..=2);
    let old = FileStats { entry_count: EntryCount::Unknown, ..exact };
    assert_eq!(old.num_points(), 2..=3);
}
