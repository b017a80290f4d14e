use base::key::InternalOrder;
use base::order::{BuiltinPrefix, Order};

use std::sync::Arc;

use base::order::PrefixExtractor;
use kernel::filter::BitsPerKey;

use super::*;
use crate::index_builder::IndexConfig;
use crate::index_builder::Shortening;
use crate::test_vectors::{hex, vectors};

fn config(algorithm: Algorithm, bits: f64) -> FilterConfig {
    FilterConfig {
        algorithm,
        bits_per_key: BitsPerKey::new(bits).unwrap(),
        whole_keys: true,
        prefix: None,
        fit_probes: false,
        verify: true,
    }
}

fn build(config: FilterConfig, keys: impl Iterator<Item = Vec<u8>>) -> (Vec<u8>, u64) {
    let mut builder = FilterBuilder::full(config);
    for key in keys {
        builder.add(&key, &[], None).unwrap();
    }
    let mut payload = Vec::new();
    let summary = builder.finish(&[], None, false, &mut |_, block| {
        payload = block.clone();
        Ok(BlockHandle::NULL)
    });
    (payload, summary.unwrap().entries)
}

#[test]
fn filters_are_rocksdbs_byte_for_byte() {
    let mut tried = 0;
    for vector in vectors("filter") {
        let algorithm = match vector["kind"].as_str().unwrap() {
            "legacy_bloom" => Algorithm::LegacyBloom,
            "fast_local_bloom" => Algorithm::LocalBloom,
            "ribbon" | "standard128_ribbon" => Algorithm::Ribbon,
            other => panic!("{other}"),
        };
        let add = vector["add"].as_str().unwrap();
        let mut config = config(algorithm, vector["bits_per_key"].as_f64().unwrap());
        if add != "whole key" {
            config.prefix = Some(Arc::new(BuiltinPrefix::Fixed(8)));
        }
        let number = if add == "nothing" { 0 } else { vector["num_keys"].as_u64().unwrap() };
        let start = vector["key_pattern"].as_str().unwrap().strip_suffix("%06d").unwrap();
        let keys = (0..number).map(|i| format!("{start}{i:06}").into_bytes());
        assert_eq!(build(config, keys).0, hex(&vector["payload"]), "{vector}");
        tried += 1;
    }
    assert!(tried > 30);
}

#[test]
fn small_filters_get_the_probes_that_suit_their_real_size() {
    let keys = || (0..44u64).map(|i| i.to_be_bytes().to_vec());
    let plain = build(config(Algorithm::LocalBloom, 10.0), keys()).0;
    let fitted = build(FilterConfig { fit_probes: true, ..config(Algorithm::LocalBloom, 10.0) }, keys()).0;
    assert_eq!(plain.len(), fitted.len());
    assert_eq!((plain[plain.len() - 3], fitted[fitted.len() - 3]), (6, 7));
}

#[test]
fn partitions_cover_their_keys_and_both_prefixes_at_a_cut() {
    let index = IndexConfig {
        order: InternalOrder::new(Order::Bytewise),
        restart_interval: 1,
        user_keys: true,
        delta_values: true,
        shortening: Shortening::Separators,
        timestamp_size: 0,
        persist_timestamps: true,
        uniform_cv_threshold: -1.0,
    };
    let prefix: Arc<dyn PrefixExtractor> = Arc::new(BuiltinPrefix::Fixed(5));
    let config = FilterConfig { prefix: Some(prefix), ..config(Algorithm::LocalBloom, 10.0) };
    let partitions = PartitionConfig { size: 69, decoupled: true, index };
    let mut builder = FilterBuilder::partitioned(config, partitions);
    let key = |i: u64| format!("k{i:06}").into_bytes();
    for i in 0..200 {
        builder.add(&key(i), &key(i.wrapping_sub(1)), None).unwrap();
    }
    let mut blocks = Vec::new();
    let mut offset = 0;
    let summary = builder
        .finish(&key(199), None, false, &mut |kind, block| {
            blocks.push((kind, block.clone()));
            let handle = BlockHandle::new(offset, block.len() as u64);
            offset = handle.end();
            Ok(handle)
        })
        .unwrap();
    let (top, filters) = blocks.split_last().unwrap();
    assert_eq!(top.0, FilterBlock::PartitionIndex);
    assert!(filters.len() > 3);
    assert_eq!(summary.size, blocks.iter().map(|(_, block)| block.len() as u64).sum::<u64>());
    // Every key and its prefix are in the partition that the index names or in one of its neighbours.
    for i in 0..200 {
        let hash = kernel::hash::hash64(&key(i));
        assert!(filters.iter().any(|(_, f)| kernel::filter::Filter::parse(f).may_match(f, hash)));
    }
}
