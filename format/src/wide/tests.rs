//! RocksDB's entities, damaged entities and round trips.

use super::*;
use crate::blob::BlobIndex;
use crate::test_vectors::{damaged, db_vectors, hex, to_hex};
use proptest::prelude::*;

#[test]
fn rocksdb_entities_read_and_write_alike() {
    for vector in db_vectors("entities") {
        let bytes = hex(&vector["hex"]);
        let columns = decode(&bytes).unwrap();
        let expected = vector["decoded"]["columns"].as_array().unwrap();
        assert_eq!(columns.len(), expected.len());
        for (column, expected) in columns.iter().zip(expected) {
            if let Some(name) = expected["name"].as_str() {
                assert_eq!(to_hex(column.name), name);
            }
            assert_eq!(column.is_blob, expected["type"] == 17);
            if column.is_blob {
                let blob = BlobIndex::decode(column.value).unwrap().blob().unwrap();
                assert_eq!(blob.offset, expected["blob_index"]["offset"]);
            } else if let Some(value) = expected["value"].as_str() {
                assert_eq!(to_hex(column.value), value);
            }
        }
        // Version 2 without a blob is legal; it is written again as version 1.
        if vector["decoded"]["version"] == 1 || columns.iter().any(|c| c.is_blob) {
            let mut again = Vec::new();
            encode(&columns, &mut again).unwrap();
            assert_eq!(to_hex(&again), vector["hex"]);
        }
    }
}

#[test]
fn columns_out_of_order_are_corruption() {
    let mut out = Vec::new();
    let columns = [Column::inline(b"b", b"1"), Column::inline(b"a", b"2")];
    assert!(encode(&columns, &mut out).unwrap_err().is_corruption());
    assert!(decode(&[1, 2, 1, b'b', 0, 1, b'a', 0]).unwrap_err().is_corruption());
    assert!(decode(&[1, 2, 1, b'a', 0, 1, b'a', 0]).unwrap_err().is_corruption());
}

#[test]
fn a_version_from_the_future_is_corruption() {
    assert_eq!(decode(&[3, 0]).unwrap_err().message(), "Unsupported wide column version 3");
    assert!(decode(&[0, 0]).unwrap().is_empty());
}

#[test]
fn a_false_count_reserves_nothing() {
    assert!(decode(&[1, 0xff, 0xff, 0xff, 0xff, 0x0f]).is_err());
}

#[test]
fn the_default_column_is_the_nameless_one() {
    let mut out = Vec::new();
    encode(&[Column::inline(b"", b"v"), Column::inline(b"a", b"w")], &mut out).unwrap();
    assert_eq!(default_column(&out).unwrap().value, b"v");
    out.clear();
    encode(&[Column::inline(b"a", b"w")], &mut out).unwrap();
    assert_eq!(default_column(&out).unwrap().value, b"");
}

#[test]
fn damaged_entities_give_a_value_or_an_error() {
    for vector in db_vectors("entities") {
        for bytes in damaged(&hex(&vector["hex"])) {
            let _ = decode(&bytes);
        }
    }
}

proptest! {
    #[test]
    fn entities_come_back(
        map in prop::collection::btree_map(
            prop::collection::vec(any::<u8>(), 0..20), (prop::collection::vec(any::<u8>(), 0..300), any::<bool>()), 0..20)
    ) {
        let columns: Vec<_> = map.iter()
            .map(|(name, (value, is_blob))| Column { name, value, is_blob: *is_blob }).collect();
        let mut out = Vec::new();
        encode(&columns, &mut out).unwrap();
        prop_assert_eq!(decode(&out).unwrap(), columns);
    }

    #[test]
    fn random_bytes_never_panic(version in 0u8..4, bytes in prop::collection::vec(any::<u8>(), 0..100)) {
        let _ = decode(&[&[version], &bytes[..]].concat());
    }
}
