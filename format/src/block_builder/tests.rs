use serde_json::Value;

use super::*;
use crate::test_vectors::{hex, vectors};

fn entries(vector: &Value) -> Vec<(Vec<u8>, Vec<u8>)> {
    vector["kvs"].as_array().unwrap().iter().map(|kv| (hex(&kv[0]), hex(&kv[1]))).collect()
}

#[test]
fn data_blocks_are_rocksdbs_byte_for_byte() {
    for vector in vectors("data_block") {
        let flag = |name: &str| vector[name].as_bool().unwrap();
        let mut builder = BlockBuilder::new(BlockConfig {
            restart_interval: vector["restart_interval"].as_u64().unwrap() as usize,
            delta_keys: flag("delta_encoding"),
            hash_util_ratio: flag("hash_index").then(|| vector["util_ratio"].as_f64().unwrap()),
            separated: flag("separated_kv"),
            ..BlockConfig::default()
        });
        let kvs = entries(&vector);
        for (key, value) in &kvs {
            builder.add(key, value);
        }
        let estimate = builder.estimate();
        let block = builder.finish().clone();
        assert_eq!(block, hex(&vector["bytes"]), "{}", vector["name"]);
        assert!(estimate >= block.len(), "{}", vector["name"]);

        // The caller keeps the last key, and the builder is used again.
        builder.reset();
        let mut last = Vec::new();
        for (key, value) in &kvs {
            builder.add_after(&last, key, value);
            last.clone_from(key);
        }
        assert_eq!(*builder.finish(), block, "{}", vector["name"]);
    }
}

#[test]
fn uniform_blocks_are_marked_as_rocksdb_marks_them() {
    for vector in vectors("uniform_block") {
        let mut builder = BlockBuilder::new(BlockConfig {
            restart_interval: vector["restart_interval"].as_u64().unwrap() as usize,
            user_keys: vector["keys_are_user_keys"].as_bool().unwrap(),
            uniform_cv_threshold: vector["uniform_cv_threshold"].as_f64().unwrap(),
            ..BlockConfig::default()
        });
        for (key, value) in entries(&vector) {
            builder.add(&key, &value);
        }
        assert_eq!(*builder.finish(), hex(&vector["bytes"]));
        assert_eq!(builder.is_uniform(), vector["uniform"].as_bool().unwrap());
    }
}

#[test]
fn common_prefix_is_the_naive_one() {
    let mut seed = 1u64;
    for _ in 0..2000 {
        seed = seed.wrapping_mul(6364136223846793005).wrapping_add(1442695040888963407);
        let n = (seed >> 33) as usize % 40;
        let same = (seed >> 40) as usize % (n + 1);
        let a: Vec<u8> = (0..n as u8).collect();
        let mut b = a.clone();
        if same < n {
            b[same] ^= 0x10;
        }
        b.extend_from_slice(&a[..same % 5]);
        let naive = a.iter().zip(&b).take_while(|(x, y)| x == y).count();
        assert_eq!(common_prefix(&a, &b), naive);
    }
}

#[test]
fn timestamps_are_removed_from_keys() {
    let config = BlockConfig { strip_timestamp: 8, ..BlockConfig::default() };
    let mut stripped = BlockBuilder::new(config);
    let mut plain = BlockBuilder::new(BlockConfig::default());
    for i in 0..40u64 {
        let user = format!("key{:04}", i / 2);
        let with = [user.as_bytes(), &(99 - i).to_le_bytes(), &i.to_le_bytes()].concat();
        let without = [user.as_bytes(), &i.to_le_bytes()].concat();
        stripped.add(&with, b"v");
        plain.add(&without, b"v");
    }
    assert_eq!(stripped.finish(), plain.finish());
}
