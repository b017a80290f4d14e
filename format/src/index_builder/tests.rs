use base::SequenceNumber;
use base::key::InternalOrder;
use base::order::{BuiltinPrefix, Order};

use std::sync::Arc;

use super::*;
use crate::block_builder::CutPolicy;
use crate::test_vectors::{hex, vectors};

fn config() -> IndexConfig {
    IndexConfig {
        order: InternalOrder::new(Order::Bytewise),
        restart_interval: 1,
        user_keys: true,
        delta_values: true,
        shortening: Shortening::Separators,
        timestamp_size: 0,
        persist_timestamps: true,
        uniform_cv_threshold: -1.0,
    }
}

/// Finishes the index without a file. The blocks get positions one after another from `offset` on.
fn finish(index: &mut IndexBuilder, mut offset: u64) -> (Vec<(&'static str, Vec<u8>)>, IndexSummary) {
    let mut blocks = Vec::new();
    let summary = index
        .finish(&mut |kind, block| {
            let name = if let IndexBlock::Meta(name) = kind { name } else { "" };
            blocks.push((name, block.clone()));
            let handle = BlockHandle::new(offset, block.len() as u64);
            offset = handle.end();
            Ok(handle)
        })
        .unwrap();
    (blocks, summary)
}

#[test]
fn index_blocks_are_rocksdbs_byte_for_byte() {
    for vector in vectors("index_block") {
        let number = |name: &str| vector[name].as_u64().unwrap();
        let shortening = match number("shortening") {
            0 => Shortening::None,
            1 => Shortening::Separators,
            _ => Shortening::SeparatorsAndSuccessor,
        };
        let version = number("format_version");
        let config = IndexConfig {
            restart_interval: number("restart_interval") as usize,
            user_keys: version >= 3,
            delta_values: version >= 4,
            shortening,
            ..config()
        };
        let first_key = vector["first_key"].as_bool().unwrap();
        let kind = if first_key { IndexKind::BinarySearchWithFirstKey } else { IndexKind::BinarySearch };
        let mut index = IndexBuilder::new(kind, config);
        let entries = vector["entries"].as_array().unwrap();
        let mut prepared = PreparedEntry::default();
        for (i, entry) in entries.iter().enumerate() {
            let last = hex(&entry["last"]);
            assert_eq!(index.wants_keys(), first_key);
            index.on_key(&hex(&entry["first"]));
            index.on_key(&last);
            let next = entries.get(i + 1).map(|next| hex(&next["first"]));
            index.prepare(&last, next.as_deref(), &mut prepared);
            let place = |name: &str| entry[name].as_u64().unwrap();
            index.add(&prepared, BlockHandle::new(place("offset"), place("size")), false);
        }
        let (blocks, summary) = finish(&mut index, 1 << 20);
        assert_eq!(index.keys_have_trailers(), !vector["key_is_user_key"].as_bool().unwrap());
        assert_eq!(blocks, [("", hex(&vector["bytes"]))]);
        assert_eq!(summary.size, blocks[0].1.len() as u64);
    }
}

fn feed(index: &mut IndexBuilder, blocks: u64, key: impl Fn(u64) -> Vec<u8>) {
    let mut entry = PreparedEntry::default();
    for i in 0..blocks {
        index.on_key(&key(2 * i));
        index.on_key(&key(2 * i + 1));
        let next = (i + 1 < blocks).then(|| key(2 * i + 2));
        index.prepare(&key(2 * i + 1), next.as_deref(), &mut entry);
        index.add(&entry, BlockHandle::new(i * 1005, 1000), false);
    }
}

fn internal(user_key: &str, seq: u64) -> Vec<u8> {
    let mut key = Vec::new();
    base::key::append_internal(
        &mut key,
        user_key.as_bytes(),
        SequenceNumber::new(seq),
        base::ValueType::Value,
    );
    key
}

#[test]
fn partitions_are_cut_by_size_and_named_by_a_top_level() {
    let cut = CutPolicy::new(256, 10, false);
    let mut index = IndexBuilder::new(IndexKind::TwoLevel(cut), config());
    feed(&mut index, 100, |i| internal(&format!("key{i:06}"), 7));
    assert!(index.estimate() > 0);
    let (blocks, summary) = finish(&mut index, 1 << 20);
    assert_eq!(blocks.len() as u64, summary.partitions + 1);
    assert!(summary.partitions > 3, "{summary:?}");
    let (top, partitions) = blocks.split_last().unwrap();
    assert!(partitions.iter().all(|(_, block)| block.len() <= 256 + 40));
    assert_eq!(summary.top_level_size, top.1.len() as u64);
    assert_eq!(summary.size, blocks.iter().map(|(_, block)| block.len() as u64).sum::<u64>());
}

#[test]
fn one_split_user_key_gives_every_partition_trailers() {
    let cut = CutPolicy::new(128, 10, false);
    let mut index = IndexBuilder::new(IndexKind::TwoLevel(cut), config());
    feed(
        &mut index,
        50,
        |i| if i == 81 { internal("key000082", 8) } else { internal(&format!("key{i:06}"), 7) },
    );
    assert!(index.keys_have_trailers());
}

#[test]
fn the_hash_index_names_the_blocks_of_each_prefix() {
    let mut index = IndexBuilder::new(IndexKind::Hash(Arc::new(BuiltinPrefix::Fixed(2))), config());
    // Three blocks of two keys each: aa ab | ab ab | ac ac
    let keys = ["aa1", "ab1", "ab2", "ab3", "ac1", "ac2"];
    feed(&mut index, 3, |i| internal(keys[i as usize], 1));
    let (blocks, summary) = finish(&mut index, 0);
    assert_eq!(blocks[0], ("rocksdb.hashindex.metadata", vec![2, 0, 1, 2, 0, 2, 2, 2, 1]));
    assert_eq!(blocks[1], ("rocksdb.hashindex.prefixes", b"aaabac".to_vec()));
    assert_eq!(summary.size, (9 + 6 + blocks[2].1.len()) as u64);
}
