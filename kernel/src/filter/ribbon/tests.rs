use super::*;
use crate::test_vectors::section;

#[test]
#[cfg_attr(miri, ignore = "megabytes of vectors")]
fn slots_are_rocksdbs() {
    for pair in section("ribbon_num_slots")[0]["n_to_slots"].as_array().unwrap() {
        let (entries, slots) = (pair[0].as_u64().unwrap(), pair[1].as_u64().unwrap());
        assert_eq!(u64::from(sizing::num_slots(entries as u32)), slots, "{entries} entries");
    }
}

#[test]
fn every_query_path_equals_the_plain_one() {
    let hash = |i: u64| crate::hash::hash64(&i.to_le_bytes());
    let (keys, asked) = if cfg!(miri) { (80, 60) } else { (3000, 12_000) };
    let widths = [1.0, 3.0, 5.0, 7.5, 10.0, 11.5, 13.0, 20.0, 40.0, 100.0];
    for bits in widths.into_iter().step_by(if cfg!(miri) { 3 } else { 1 }) {
        let inside: Vec<u64> = (0..keys).map(hash).collect();
        let payload = build(&inside, BitsPerKey::new(bits).unwrap());
        let crate::filter::Filter::Ribbon(reader) = crate::filter::Filter::parse(&payload) else {
            // Miri is slow, so it uses few keys. With few keys and few bits there is no Ribbon filter.
            assert!(keys < 1000, "{bits} bits a key gave no Ribbon filter");
            continue;
        };
        let asked: Vec<u64> = (0..asked).map(hash).collect();
        // The whole payload, the payload without the metadata, and a shortened payload.
        let bits_len = payload.len() - crate::filter::METADATA_LEN;
        for payload in [&payload[..], &payload[..bits_len], &payload[..bits_len / 2]] {
            let plain: Vec<bool> = asked.iter().map(|&hash| reader.ask(payload, hash)).collect();
            let mut batch = vec![false; asked.len()];
            reader.may_match_fetched(payload, &asked, &mut batch);
            assert_eq!(batch, plain, "{bits} bits, batch");
            for (name, ask) in query::paths() {
                for (&hash, &plain) in asked.iter().zip(&plain) {
                    assert_eq!(ask(&reader, payload, hash), plain, "{name}, {bits} bits");
                }
            }
            for (key, &plain) in (0u64..).zip(&plain) {
                assert_eq!(reader.may_match_key(payload, &key.to_le_bytes()), plain, "{bits} bits, key");
            }
        }
        assert!(inside.iter().all(|&hash| reader.may_match(&payload, hash)));
    }
}

/// Builds the filter of the same keys in another order.
#[test]
fn order_of_keys_does_not_change_the_solution() {
    let hashes: Vec<u64> =
        (0..if cfg!(miri) { 150 } else { 5000u64 }).map(|i| crate::hash::hash64(&i.to_le_bytes())).collect();
    let bits = BitsPerKey::new(10.0).unwrap();
    let forward = build(&hashes, bits);
    let first = hashes[0];
    let mut turned = hashes;
    turned.reverse();
    // The first hash determines seed and rounding, so it stays first.
    turned.pop();
    turned.insert(0, first);
    assert_eq!(build(&turned, bits), forward);
}

#[test]
fn back_substitution_paths_agree() {
    let (blocks, keys) = if cfg!(miri) { (3, 330u64) } else { (25, 3000) };
    let segments = blocks as usize * 17 + blocks as usize / 3 + 1;
    let hashes: Vec<u64> = (0..keys).map(|i| crate::hash::hash64(&i.to_le_bytes())).collect();
    let layout = Layout::of(segments, blocks).unwrap();
    let mut banding = Banding::default();
    assert!((0..=255).any(|seed| banding.solve_for(&hashes, raw_seed(seed), layout)));
    let mut plain = vec![0; segments * SEGMENT];
    let mut fast = plain.clone();
    solve::back_substitute(&banding, layout, &mut fast);
    solve::back_substitute_plain(&banding, layout, &mut plain);
    assert!(fast == plain);
    #[cfg(all(target_arch = "x86_64", not(miri)))]
    for path in solve::vector_paths() {
        let mut other = vec![0; plain.len()];
        for first_column in [0, 8, 16] {
            path(&banding, layout, &mut other, first_column);
        }
        assert!(other == plain);
    }
}
