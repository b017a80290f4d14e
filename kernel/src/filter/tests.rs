use super::*;
use crate::test_vectors::{hex, section};

fn key(pattern: &str, number: u64) -> Vec<u8> {
    let (prefix, _) = pattern.split_once('%').unwrap();
    format!("{prefix}{number:06}").into_bytes()
}

fn build(kind: &str, hashes: &[u64], bits: BitsPerKey) -> Vec<u8> {
    match kind {
        "legacy_bloom" => bloom_legacy::build(hashes, bits),
        "fast_local_bloom" => bloom_local::build(hashes, bits),
        _ => ribbon::build(hashes, bits),
    }
}

#[test]
#[cfg_attr(miri, ignore = "megabytes of vectors")]
fn payloads_are_rocksdbs_bytes() {
    for vector in section("filter") {
        let kind = vector["kind"].as_str().unwrap();
        let bits = BitsPerKey::new(vector["bits_per_key"].as_f64().unwrap()).unwrap();
        let hash = |key: &[u8]| match kind {
            "legacy_bloom" => u64::from(hash::bloom_hash(key)),
            _ => hash::hash64(key),
        };
        let mut hashes = KeyHashes::new();
        for number in 0..vector["num_keys"].as_u64().unwrap() {
            let key = key(vector["key_pattern"].as_str().unwrap(), number);
            match vector["add"].as_str().unwrap() {
                "whole key" => hashes.add(hash(&key)),
                "whole key + 8-byte prefix" => hashes.add_with_prefix(hash(&key), hash(&key[..8])),
                _ => {}
            }
        }
        let payload = build(kind, hashes.as_slice(), bits);
        let expected = hex(&vector["payload"]);
        assert_eq!(payload, expected, "{kind} {} {}", vector["bits_per_key"], vector["num_keys"]);

        let filter = Filter::parse(&expected);
        for &hash in hashes.as_slice() {
            assert!(filter.may_match(&expected, hash), "{vector}");
        }
        let absent: Vec<u64> = (0..64).map(|i| filter.hash(format!("absent{i}").as_bytes())).collect();
        let answers: String =
            absent.iter().map(|&hash| if filter.may_match(&expected, hash) { '1' } else { '0' }).collect();
        if !expected.is_empty() {
            assert_eq!(answers, vector["may_match_absent0_to_absent63"].as_str().unwrap(), "{vector}");
        }
        let mut batch = [false; 64];
        filter.may_match_batch(&expected, &absent, &mut batch);
        assert!(batch.iter().zip(answers.chars()).all(|(&a, b)| a == (b == '1')));
    }
}

#[test]
#[cfg_attr(miri, ignore = "megabytes of vectors")]
fn payload_lengths_are_rocksdbs() {
    for vector in section("filter_payload_size") {
        let bits = BitsPerKey::new(vector["bits_per_key"].as_f64().unwrap()).unwrap();
        for pair in vector["n_to_payload_bytes"].as_array().unwrap() {
            let (entries, expected) =
                (pair[0].as_u64().unwrap() as usize, pair[1].as_u64().unwrap() as usize);
            let len = match vector["impl"].as_str().unwrap() {
                "LegacyBloomFilter" => bloom_legacy::payload_len(entries, bits),
                "FastLocalBloomFilter" => bloom_local::payload_len(entries, bits),
                _ => ribbon::payload_len(entries, bits, 0),
            };
            assert_eq!(len, expected, "{} {} entries {entries}", vector["impl"], vector["bits_per_key"]);
        }
    }
}

#[test]
fn damaged_metadata_means_always_true_and_short_payloads_do_not_panic() {
    for kind in ["legacy_bloom", "fast_local_bloom", "standard128_ribbon"] {
        let hashes: Vec<u64> = (0..if cfg!(miri) { 40u64 } else { 2000 })
            .map(|i| i.wrapping_mul(0x9e37_79b9_7f4a_7c15))
            .collect();
        let good = build(kind, &hashes, BitsPerKey::new(10.0).unwrap());
        let at = good.len() - METADATA_LEN;
        for byte in 0..METADATA_LEN {
            for value in (0..=255).step_by(if cfg!(miri) { 37 } else { 1 }) {
                let mut bad = good.clone();
                bad[at + byte] = value;
                let filter = Filter::parse(&bad);
                for &hash in &hashes[..20] {
                    filter.may_match(&bad, hash);
                    filter.prefetch(&bad, hash);
                }
            }
        }
        for len in 0..good.len() {
            let filter = Filter::parse(&good);
            assert!(
                len >= at
                    || hashes[..3].iter().all(|&hash| {
                        filter.prefetch(&good[..len], hash);
                        filter.may_match(&good[..len], hash)
                    })
            );
            Filter::parse(&good[..len]).may_match(&good[..len], hashes[0]);
        }
    }
}

#[test]
#[cfg_attr(miri, ignore = "too large to interpret")]
fn false_positive_rates_are_as_configured() {
    let hash = |i: u64| hash::hash64(&i.to_le_bytes());
    let inside: Vec<u64> = (0..20_000).map(hash).collect();
    for (kind, most) in [("fast_local_bloom", 0.0105), ("standard128_ribbon", 0.0105)] {
        let payload = build(kind, &inside, BitsPerKey::new(10.0).unwrap());
        let filter = Filter::parse(&payload);
        assert!(inside.iter().all(|&hash| filter.may_match(&payload, hash)), "{kind} forgot a key");
        let hits = (0..200_000).filter(|&i| filter.may_match(&payload, hash(1 << 40 | i))).count();
        assert!((hits as f64) < most * 200_000.0, "{kind}: {hits} of 200000");
    }
}

#[test]
fn plain_table_bloom_keeps_its_keys_in_both_layouts() {
    for locality in [false, true] {
        let (keys, asked) = if cfg!(miri) { (100, 100) } else { (1000, 20_000) };
        let layout = bloom_plain::Layout::new(10 * keys, 6, locality);
        let mut bits = vec![0; layout.len_bytes()];
        let hash = |i: u32| hash::slice_hash(&i.to_le_bytes());
        (0..keys).for_each(|i| layout.add(&mut bits, hash(i)));
        assert!((0..keys).all(|i| layout.may_match(&bits, hash(i))));
        let hits = (keys..keys + asked).filter(|&i| layout.may_match(&bits, hash(i))).count();
        assert!(hits < asked as usize / 50 + 6, "{hits} of {asked}");
        assert!(layout.may_match(&bits[1..], hash(5000)));
    }
}
