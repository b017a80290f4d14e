//! The hashes of cuckoo tables, and the placement of keys.

use super::Hashing;
use super::place::Placing;

#[test]
fn the_first_hash_can_be_the_key_itself() {
    let hashing = Hashing { size: 1 << 20, identity_first: true, module: false };
    assert_eq!(hashing.bucket(&77u64.to_le_bytes(), 0), 77);
    assert_eq!(hashing.bucket(b"\x05", 0), 5);
    let module = Hashing { size: 10, identity_first: true, module: true };
    assert_eq!(module.bucket(&77u64.to_le_bytes(), 0), 7);
    assert_ne!(hashing.bucket(&77u64.to_le_bytes(), 1), 77);
}

/// Each key is in a bucket of its hashes, also after moves of other keys.
#[test]
fn each_key_is_in_a_bucket_of_its_hashes() {
    let keys: Vec<[u8; 8]> = (0..950u64).map(u64::to_le_bytes).collect();
    for (block, depth) in [(1, 100), (5, 100), (2, 3)] {
        let hashing = Hashing { size: 1000, identity_first: false, module: true };
        let placing = Placing {
            hashing,
            block,
            search_depth_max: depth,
            key: &|number| &keys[number as usize],
            same: &|a, b| a == b,
        };
        let placed = placing.place(950).unwrap();
        let mut found = 0;
        for (bucket, number) in placed.buckets.iter().enumerate() {
            let Some(number) = number else { continue };
            found += 1;
            let of_hash = |hash| {
                let first = hashing.bucket(&keys[*number as usize], hash);
                (first..first + u64::from(block)).contains(&(bucket as u64))
            };
            assert!((0..placed.hashes).any(of_hash));
        }
        assert_eq!(found, 950);
    }
}
