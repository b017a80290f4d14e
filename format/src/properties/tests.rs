//! A property block that RocksDB wrote, and the rules for properties.

use super::*;
use crate::test_vectors::{hex, vectors};
use base::SequenceNumber;

#[test]
fn the_block_of_the_vectors_decodes() {
    let payload = hex(&vectors("properties_block")[0]["bytes"]);
    let properties = Properties::decode(&payload, 0).unwrap();
    assert_eq!(properties.num_data_blocks, 2);
    assert_eq!(properties.num_entries, 300);
    assert_eq!(properties.user("a.user.prop"), Some(&b"xyz"[..]));
}

#[test]
fn decode_reverses_encode() {
    let mut properties = Properties {
        num_entries: 12,
        index_partitions: 3,
        key_largest_seqno: 77,
        user_defined_timestamps_persisted: 0,
        comparator_name: b"leveldb.BytewiseComparator".to_vec(),
        ..Properties::default()
    };
    properties.user_collected.insert(names::INDEX_TYPE.into(), vec![2, 0, 0, 0]);
    let back = Properties::decode(&properties.encode(), 0).unwrap();
    // Two numbers are also stored as user-collected properties.
    for name in [names::DELETED_KEYS, names::MERGE_OPERANDS] {
        properties.user_collected.insert(name.into(), vec![0]);
    }
    assert_eq!(back, properties);
    assert_eq!(back.index_type(), Some(2));
}

#[test]
fn global_sequence_numbers_follow_the_manifest() {
    let with = |version: Option<u32>, stored: Option<u64>| {
        let mut properties = Properties::default();
        if let Some(v) = version {
            properties.user_collected.insert(names::EXTERNAL_VERSION.into(), v.to_le_bytes().to_vec());
        }
        if let Some(s) = stored {
            properties.user_collected.insert(names::GLOBAL_SEQNO.into(), s.to_le_bytes().to_vec());
        }
        properties
    };
    assert_eq!(with(None, None).global_seqno(Some(SequenceNumber::new(9))).unwrap(), None);
    assert!(with(None, Some(1)).global_seqno(None).is_err());
    assert_eq!(with(Some(1), None).global_seqno(Some(SequenceNumber::new(9))).unwrap(), None);
    assert!(with(Some(1), Some(0)).global_seqno(None).is_err());
    assert_eq!(with(Some(2), Some(0)).global_seqno(None).unwrap(), Some(SequenceNumber::ZERO));
    assert_eq!(
        with(Some(2), Some(0)).global_seqno(Some(SequenceNumber::new(9))).unwrap(),
        Some(SequenceNumber::new(9))
    );
    assert_eq!(
        with(Some(2), Some(9)).global_seqno(Some(SequenceNumber::new(9))).unwrap(),
        Some(SequenceNumber::new(9))
    );
    assert!(with(Some(2), Some(8)).global_seqno(Some(SequenceNumber::new(9))).is_err());
    assert!(with(Some(3), None).global_seqno(None).is_err());
}
