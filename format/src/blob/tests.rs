//! Reads RocksDB's blob files and blob indexes, and damaged ones.

use super::*;
use crate::test_vectors::{damaged, db_vectors, hex, to_hex};
use proptest::prelude::*;
use serde_json::Value;

#[test]
fn rocksdb_blob_files_read_and_write_alike() {
    for vector in db_vectors("blob_files") {
        let file = hex(&vector["hex"]);
        let decoded = &vector["decoded"];
        let header = Header::decode(&file).unwrap();
        assert_eq!(u64::from(header.family.get()), decoded["header"]["cf"]);
        assert_eq!(u64::from(header.compression), decoded["header"]["compression"]);
        let mut again = Vec::new();
        header.encode(&mut again);
        assert_eq!(again.len(), HEADER_LEN);
        let mut total = 0;
        for record in decoded["records"].as_array().unwrap() {
            let at = record["offset"].as_u64().unwrap() as usize;
            assert_eq!(at, again.len());
            let h = RecordHeader::decode(&file[at..]).unwrap();
            let (key, value) = (hex(&record["key"]), hex(&record["value"]));
            h.verify(&key, &value).unwrap();
            assert_eq!(h.blob_crc, record["blob_crc"].as_u64().unwrap() as u32);
            append_record(&mut again, &key, &value);
            assert_eq!(again.len() - value.len(), record["value_offset"].as_u64().unwrap() as usize);
            total += record_len(key.len(), value.len() as u64);
        }
        assert_eq!(total as usize, again.len() - HEADER_LEN);
        if vector["has_footer"].as_bool().unwrap() {
            let footer = Footer::decode(&file[again.len()..]).unwrap();
            assert_eq!(footer.blob_count, decoded["footer"]["blob_count"]);
            footer.encode(&mut again);
        }
        assert_eq!(to_hex(&again), vector["hex"]);
    }
}

#[test]
fn rocksdb_blob_indexes_read_and_write_alike() {
    for vector in db_vectors("blob_indexes") {
        let bytes = hex(&vector["hex"]);
        let index = BlobIndex::decode(&bytes).unwrap();
        let decoded = &vector["decoded"];
        match index {
            BlobIndex::Inlined { expiration, value } => {
                assert_eq!(
                    (&to_hex(value), &Value::from(expiration)),
                    (&decoded["value"], &decoded["expiration"])
                );
            }
            BlobIndex::Blob(blob) | BlobIndex::BlobTtl { blob, .. } => {
                assert_eq!(blob.file_number.get(), decoded["file_number"]);
                assert_eq!(blob.offset, decoded["offset"]);
                assert_eq!(blob.size, decoded["size"]);
                assert_eq!(blob.compression, decoded["compression"]);
            }
        }
        let mut again = Vec::new();
        index.encode(&mut again);
        assert_eq!(again, bytes);
    }
}

#[test]
fn a_blob_index_ends_with_its_compression_type() {
    let mut bytes = Vec::new();
    BlobRef { file_number: FileNumber::new(1), offset: 2, size: 3, compression: 0 }.encode(&mut bytes);
    bytes.push(0);
    assert!(BlobIndex::decode(&bytes).unwrap_err().is_corruption());
    assert!(BlobIndex::decode(&[3]).unwrap_err().is_corruption());
    assert!(BlobIndex::decode(&[]).unwrap_err().is_corruption());
}

#[test]
fn every_flipped_bit_of_footer_and_record_header_is_seen() {
    let mut footer = Vec::new();
    Footer { blob_count: 7, expiration: (0, 0) }.encode(&mut footer);
    for bytes in damaged(&footer) {
        assert!(Footer::decode(&bytes).is_err());
    }
    let mut record = Vec::new();
    append_record(&mut record, b"key", b"value");
    for bytes in damaged(&record) {
        let value = bytes.get(RECORD_HEADER_LEN + 3..).unwrap_or_default();
        let key = bytes.get(RECORD_HEADER_LEN..RECORD_HEADER_LEN + 3).unwrap_or_default();
        assert!(RecordHeader::decode(&bytes).and_then(|h| h.verify(key, value)).is_err());
    }
}

proptest! {
    #[test]
    fn random_bytes_never_panic(bytes in prop::collection::vec(any::<u8>(), 0..80)) {
        let _ = Header::decode(&bytes);
        let _ = Footer::decode(&bytes);
        let _ = RecordHeader::decode(&bytes);
        if let Ok(index) = BlobIndex::decode(&bytes) {
            let mut again = Vec::new();
            index.encode(&mut again);
            prop_assert_eq!(BlobIndex::decode(&again).unwrap(), index);
        }
    }
}
