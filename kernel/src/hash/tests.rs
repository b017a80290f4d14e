use super::*;
use crate::test_vectors::{hex, number, section};

#[test]
#[cfg_attr(miri, ignore = "megabytes of vectors")]
fn hashes_of_the_vectors() {
    for vector in section("hash") {
        let data = hex(&vector["data"]);
        assert_eq!(hash64(&data), number(&vector["hash64"]), "{vector}");
        let seeded = hash64_seeded(&data, 0x0123_4567_89ab_cdef);
        assert_eq!(seeded, number(&vector["hash64_seed_123456789abcdef"]), "{vector}");
        assert_eq!(u64::from(bloom_hash(&data)), number(&vector["bloom_hash32"]), "{vector}");
        assert_eq!(u64::from(slice_hash(&data)), number(&vector["slice_hash32_seed397"]), "{vector}");
        assert_eq!(u64::from(hash32(&data, 0)), number(&vector["hash32_seed0"]), "{vector}");
    }
}

#[test]
#[cfg_attr(miri, ignore = "megabytes of vectors")]
fn unique_ids_of_the_vectors() {
    for vector in section("unique_id") {
        let upper = number(&vector["session_upper"]);
        let internal: Vec<u64> = vector["internal"].as_array().unwrap().iter().map(number).collect();
        if vector["session_decodable"].as_bool().unwrap() {
            let (high, low) = hash2x64(vector["db_id"].as_str().unwrap().as_bytes(), upper);
            assert_eq!(internal[1], high ^ vector["file_number"].as_u64().unwrap(), "{vector}");
            assert_eq!(internal[2], low, "{vector}");
        }
        let external: Vec<u64> = vector["external"].as_array().unwrap().iter().map(number).collect();
        let (high, low) = bijective2x64(
            internal[1].wrapping_add(17_391_078_804_906_429_400),
            internal[0].wrapping_add(6_417_269_962_128_484_497),
        );
        assert_eq!([low, high], external[..2], "{vector}");
    }
}

#[test]
fn bijection_has_its_inverse() {
    let mut x = 1u64;
    for _ in 0..if cfg!(miri) { 50 } else { 2000 } {
        x = x.wrapping_mul(0x5851_f42d_4c95_7f2d).wrapping_add(0x1405_7b7e_f767_814f);
        let pair = (x, x.rotate_left(29) ^ 77);
        let image = bijective2x64(pair.0, pair.1);
        assert_eq!(bijective2x64_inverse(image.0, image.1), pair);
    }
}
