//! Checksums that RocksDB wrote.

use super::*;
use crate::test_vectors::{hex, vectors};

fn number(value: &serde_json::Value) -> u32 {
    u32::from_str_radix(value.as_str().unwrap(), 16).unwrap()
}

fn kind(value: &serde_json::Value) -> ChecksumType {
    ChecksumType::from_u8(value.as_u64().unwrap() as u8).unwrap()
}

#[test]
fn block_checksums_are_rocksdbs() {
    for v in vectors("block_checksum") {
        let mut block = hex(&v["payload"]);
        let payload_len = block.len();
        let kind = kind(&v["checksum_type"]);
        let base = v["base_context_checksum"].as_u64().unwrap() as u32;
        let offset = v["offset"].as_str().unwrap().parse().unwrap();
        append(&mut block, v["compression_type"].as_u64().unwrap() as u8, kind, base, offset);
        assert_eq!(block[payload_len + 1..], number(&v["stored"]).to_le_bytes());
        assert_eq!(
            u64::from(verify(kind, base, offset, &block).unwrap()),
            v["compression_type"].as_u64().unwrap()
        );
        block[payload_len] ^= 1;
        let without_check = kind == ChecksumType::None;
        assert_eq!(verify(kind, base, offset, &block).is_ok(), without_check);
    }
    for v in vectors("base_checksum_of_empty_input") {
        assert_eq!(checksum(kind(&v["checksum_type"]), &[]), number(&v["value"]));
    }
}

#[test]
fn a_block_without_trailer_is_corrupt() {
    for len in 0..LEN {
        assert!(verify(ChecksumType::Crc32c, 0, 0, &vec![0; len]).unwrap_err().is_corruption());
    }
}
