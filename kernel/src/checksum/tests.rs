use super::*;
use crate::test_vectors::{hex, number, section};

/// Returns the stored checksum of a block, combined in the same way as in the crate `format`.
fn stored(kind: u64, payload: &[u8], type_byte: u8) -> u32 {
    let mut all = payload.to_vec();
    all.push(type_byte);
    match kind {
        1 => crc32c::mask(crc32c::value(&all)),
        2 => xxh32::hash(&all, 0),
        3 => xxh64::hash(&all, 0) as u32,
        4 => xxh3::hash64(payload) as u32 ^ u32::from(type_byte).wrapping_mul(0x6b90_83d9),
        _ => 0,
    }
}

#[test]
#[cfg_attr(miri, ignore = "megabytes of vectors")]
fn crc32c_vectors() {
    for vector in section("crc32c") {
        let data = hex(&vector["data"]);
        assert_eq!(u64::from(crc32c::value(&data)), number(&vector["crc"]));
        assert_eq!(u64::from(crc32c::mask(crc32c::value(&data))), number(&vector["masked"]));
    }
}

#[test]
#[cfg_attr(miri, ignore = "megabytes of vectors")]
fn block_checksum_vectors_of_every_type() {
    for vector in section("block_checksum") {
        let kind = vector["checksum_type"].as_u64().unwrap();
        let type_byte = vector["compression_type"].as_u64().unwrap() as u8;
        let modifier = number(&vector["modifier"]) as u32;
        let sum = stored(kind, &hex(&vector["payload"]), type_byte).wrapping_add(modifier);
        assert_eq!(u64::from(sum), number(&vector["stored"]), "{vector}");
    }
}

#[test]
fn checksums_of_empty_input() {
    assert_eq!(crc32c::mask(crc32c::value(b"")), 0xa282_ead8);
    assert_eq!(xxh32::hash(b"", 0), 0x02cc_5d05);
    assert_eq!(xxh64::hash(b"", 0), 0xef46_db37_51d8_e999);
}

#[test]
#[cfg_attr(miri, ignore = "megabytes of vectors")]
fn xxh3_is_the_final_one() {
    for vector in section("hash") {
        assert_eq!(xxh3::hash64(&hex(&vector["data"])), number(&vector["xxh3_final_64"]), "{vector}");
    }
}

/// Compares with results of the reference implementation for all lengths up to 600.
#[test]
fn xxh32_and_xxh64_over_lengths() {
    let data: Vec<u8> = (0..600u64).map(|i| (i.wrapping_mul(0x9e37_79b1_85eb_ca87) >> 40) as u8).collect();
    let (mut short, mut long) = (0u32, 0u64);
    for len in (0..=600).step_by(if cfg!(miri) { 30 } else { 1 }) {
        short = short.rotate_left(7) ^ xxh32::hash(&data[..len], len as u32);
        long = long.rotate_left(7) ^ xxh64::hash(&data[..len], len as u64);
    }
    // Miri checks only memory accesses here, because it tests fewer lengths.
    assert!(cfg!(miri) || (short, long) == (0x67a6_8607, 0x73cb_61d5_5387_a622), "{short:x} {long:x}");
}
