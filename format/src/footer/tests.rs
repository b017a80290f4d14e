//! Reads footers that RocksDB wrote.

use super::*;
use crate::test_vectors::{hex, vectors};

#[test]
fn footers_decode_and_encode_as_rocksdbs() {
    for v in vectors("footer") {
        let bytes = hex(&v["bytes"]);
        let offset = v["footer_offset"].as_u64().unwrap();
        let footer = Footer::decode(&bytes, offset + bytes.len() as u64).unwrap();
        let handle =
            |name: &str| BlockHandle::new(v[name][0].as_u64().unwrap(), v[name][1].as_u64().unwrap());
        assert_eq!(u64::from(footer.format_version), v["format_version"].as_u64().unwrap());
        assert_eq!(format!("{:016x}", footer.kind.magic()), v["magic"].as_str().unwrap());
        assert_eq!(footer.metaindex, handle("metaindex"));
        assert_eq!(u64::from(footer.base_context_checksum), v["base_context_checksum"].as_u64().unwrap());
        if footer.format_version < 6 {
            assert_eq!(footer.index, Some(handle("index")));
        }
        if footer.format_version > 0 {
            assert_eq!(footer.checksum as u64, v["checksum_type"].as_u64().unwrap());
        }
        assert_eq!(footer.encode(offset), bytes);
    }
}

#[test]
fn a_damaged_byte_is_noticed_from_version_6_on() {
    for v in vectors("footer").iter().filter(|v| v["format_version"].as_u64() >= Some(6)) {
        // Without a checksum only the position is checked.
        if v["checksum_type"] == 0 {
            continue;
        }
        let good = hex(&v["bytes"]);
        let size = v["footer_offset"].as_u64().unwrap() + good.len() as u64;
        for at in 0..good.len() {
            let mut bad = good.clone();
            bad[at] ^= 0x10;
            assert!(Footer::decode(&bad, size).is_err(), "byte {at} of {v}");
        }
    }
}

#[test]
fn short_and_foreign_files_are_refused() {
    assert!(Footer::decode(&[], 0).is_err());
    assert!(Footer::decode(&[0; 40], 40).is_err());
    let error = Footer::decode(&[7; 53], 53).unwrap_err();
    assert!(error.to_string().contains("bad table magic number"), "{error}");
}
