//! Blocks that RocksDB wrote, read in every way, and random blocks.

use std::ops::ControlFlow;

use base::Order;
use base::SequenceNumber;
use base::key::{InternalOrder, pack, trailer, user_key};
use proptest::prelude::*;

use super::*;
use crate::block_builder::{BlockBuilder, BlockConfig};
use crate::test_vectors::{hex, vectors};

type Row = (Vec<u8>, Vec<u8>);

fn forward(iter: &mut BlockIter) -> Vec<Row> {
    let mut rows = Vec::new();
    iter.seek_to_first();
    while iter.valid() {
        rows.push((iter.key().to_vec(), iter.value().to_vec()));
        iter.next();
    }
    iter.status().unwrap();
    rows
}

fn backward(iter: &mut BlockIter) -> Vec<Row> {
    let mut rows = Vec::new();
    iter.seek_to_last();
    while iter.valid() {
        rows.push((iter.key().to_vec(), iter.value().to_vec()));
        iter.prev();
    }
    iter.status().unwrap();
    rows.reverse();
    rows
}

/// Returns what a lookup of `key` visits.
fn point(block: &Block, order: &InternalOrder, key: &[u8]) -> (Vec<(u64, Vec<u8>)>, bool) {
    let mut found = Vec::new();
    let more = block
        .visit_versions(order, KeyRewrite::default(), key, &mut |user, trailer, range| {
            assert!(order.user.equal(user, user_key(key)));
            found.push((trailer, block.bytes()[range].to_vec()));
            ControlFlow::Continue(())
        })
        .unwrap();
    (found, more)
}

/// Returns the block as it is after a read in place, with its trailer.
fn in_place(payload: &[u8], later: bool) -> Block {
    let mut room = BlockRoom::new(payload.len(), |len| zeroed(len + 100));
    room.stored_mut()[..payload.len()].copy_from_slice(payload);
    room.stored_mut()[payload.len()..].fill(0xff);
    room.into_block(later).unwrap()
}

/// Checks that every way to read the block returns `rows`.
fn check(payload: &[u8], order: &Order, rows: &[Row], targets: &[Vec<u8>]) {
    let internal = InternalOrder::new(order.clone());
    let parsed = |heads| Block::parse_searchable(payload, heads).unwrap();
    for block in
        [parsed(None), parsed(HeadOrder::of(order)), in_place(payload, false), in_place(payload, true)]
    {
        let mut iter = BlockIter::new(block.clone());
        assert_eq!(forward(&mut iter), rows);
        assert_eq!(backward(&mut iter), rows);
        let row = |iter: &BlockIter| iter.valid().then(|| (iter.key().to_vec(), iter.value().to_vec()));
        for target in rows.iter().map(|r| &r.0).chain(targets) {
            let at = rows.partition_point(|r| internal.compare(&r.0, target).is_lt());
            iter.seek(&internal, target);
            assert_eq!(row(&iter), rows.get(at).cloned(), "seek");
            if iter.valid() {
                iter.prev();
                assert_eq!(row(&iter), at.checked_sub(1).map(|i| rows[i].clone()), "prev after seek");
            }
            let past = rows.partition_point(|r| internal.compare(&r.0, target).is_le());
            iter.seek_for_prev(&internal, target);
            assert_eq!(row(&iter), past.checked_sub(1).map(|i| rows[i].clone()), "seek_for_prev");
            if iter.valid() {
                iter.next();
                assert_eq!(row(&iter), rows.get(past).cloned(), "next after seek_for_prev");
            }
            let same = |r: &&Row| order.equal(user_key(&r.0), user_key(target));
            let expected: Vec<_> =
                rows[at..].iter().take_while(same).map(|r| (trailer(&r.0), r.1.clone())).collect();
            let (found, more) = point(&block, &internal, target);
            assert_eq!(found, expected, "point");
            if at + expected.len() == rows.len() && !expected.is_empty() {
                assert!(more, "the key may go on in the next block");
            }
            if more && !rows.is_empty() {
                let last = user_key(&rows[rows.len() - 1].0);
                assert!(block.has_hash_index() || order.compare(last, user_key(target)).is_le());
            }
        }
    }
}

#[test]
fn blocks_of_rocksdb_read_on_every_path() {
    for v in vectors("data_block") {
        let rows: Vec<Row> =
            v["kvs"].as_array().unwrap().iter().map(|kv| (hex(&kv[0]), hex(&kv[1]))).collect();
        let payload = hex(&v["bytes"]);
        let block = Block::parse(&payload).unwrap();
        assert_eq!(block.has_separated_values(), v["separated_kv"].as_bool().unwrap());
        let between: Vec<Vec<u8>> = rows
            .iter()
            .take(40)
            .map(|(key, _)| [user_key(key), b"\0", &pack(SequenceNumber::new(9), 1).to_le_bytes()].concat())
            .collect();
        if rows.len() <= 600 {
            check(&payload, &Order::Bytewise, &rows, &between);
        } else {
            assert_eq!(forward(&mut BlockIter::new(block)), rows);
        }
    }
}

/// Blocks with keys and values made from a number, and the allowed size of their search arrays.
#[test]
fn search_arrays_use_the_narrowest_width_and_find_every_entry() {
    type Make = fn(u32) -> Vec<u8>;
    let near: Make = |i| (1_000_000 + u64::from(i)).to_be_bytes().to_vec();
    let apart: Make = |i| (u64::from(i) << 40 | 1 << 60).to_be_bytes().to_vec();
    let text: Make = |i| format!("user{:07}suffix", i * 37).into_bytes();
    let wild: Make = |i| i.wrapping_mul(i).wrapping_mul(0x9e37_79b1).to_be_bytes().to_vec();
    let even: Make = |_| vec![7; 100];
    let uneven: Make = |i| vec![7; 100 + (i * i % 7 * 90) as usize];
    // Number of entries, keys, values, largest number of bytes of an anchor.
    let cases = [
        (35, near, even, 2),
        (35, apart, even, 2),
        (35, text, even, 5),
        (35, wild, even, 5),
        (35, near, uneven, 3),
        (900, near, even, 3),
        (900, wild, even, 6),
        (900, wild, uneven, 8),
        (1, near, even, 2),
    ];
    for (case, (count, key, value, most)) in cases.into_iter().enumerate() {
        for order in [Order::Bytewise, Order::Reverse] {
            let internal = InternalOrder::new(order.clone());
            let mut rows: Vec<Row> = (0..count)
                .map(|i| {
                    ([key(i), pack(SequenceNumber::new(3), 1).to_le_bytes().to_vec()].concat(), value(i))
                })
                .collect();
            rows.sort_by(|a, b| internal.compare(&a.0, &b.0));
            rows.dedup_by(|a, b| a.0 == b.0);
            let mut builder = BlockBuilder::new(BlockConfig::default());
            rows.iter().for_each(|(key, value)| builder.add(key, value));
            let payload = builder.finish();
            let block = Block::parse_searchable(payload, HeadOrder::of(&order)).unwrap();
            let array = block.memory_bytes() - Block::parse(payload).unwrap().memory_bytes();
            assert!(array > 0 && array <= most * rows.len() + 16, "case {case}: {array} of {}", rows.len());
            if count < 100 {
                check(payload, &order, &rows, &[]);
                continue;
            }
            let mut iter = BlockIter::new(block.clone());
            assert_eq!((forward(&mut iter), backward(&mut iter)), (rows.clone(), rows.clone()));
            for row in &rows {
                iter.seek(&internal, &row.0);
                assert_eq!((iter.key(), iter.value()), (&row.0[..], &row.1[..]));
                assert_eq!(
                    point(&block, &internal, &row.0).0,
                    [(pack(SequenceNumber::new(3), 1), row.1.clone())]
                );
            }
        }
    }
}

#[test]
fn a_block_parsed_for_later_answers_alike_and_is_given_its_array_once() {
    let order = InternalOrder::new(Order::Bytewise);
    let mut builder = BlockBuilder::new(BlockConfig::default());
    let key =
        |i: u32| [format!("key{i:05}").as_bytes(), &pack(SequenceNumber::new(3), 1).to_le_bytes()].concat();
    (0..60).for_each(|i| builder.add(&key(2 * i), &[7; 90]));
    let payload = builder.finish();
    let later = Block::parse_for_later(payload, zeroed).unwrap();
    assert!(later.wants_array() && !Block::parse(payload).unwrap().wants_array());
    let searchable = later.searchable(HeadOrder::Bytewise, zeroed).unwrap();
    assert!(!searchable.wants_array() && searchable.memory_bytes() > later.memory_bytes());
    assert_eq!(later.payload(), searchable.payload());
    for i in 0..121 {
        assert_eq!(point(&later, &order, &key(i)), point(&searchable, &order, &key(i)));
    }
    let empty = Block::parse_for_later(&[0u32.to_le_bytes(), 1u32.to_le_bytes()].concat(), zeroed).unwrap();
    assert!(!empty.wants_array());
}

#[test]
fn the_last_word_of_a_block_states_its_type() {
    for v in vectors("uniform_block") {
        let block = Block::parse(&hex(&v["bytes"])).unwrap();
        assert_eq!(block.is_uniform(), v["uniform"].as_bool().unwrap());
    }
    assert!(Block::parse(&[]).is_err());
    assert!(Block::parse(&[0, 0, 0]).is_err());
    let reserved = (1u32 << 30 | 1).to_le_bytes();
    assert!(Block::parse(&[[0; 4], reserved].concat()).is_err());
    let empty = Block::parse(&[0u32.to_le_bytes(), 1u32.to_le_bytes()].concat()).unwrap();
    assert!(empty.is_empty());
    check(empty.payload(), &Order::Bytewise, &[], &[b"k\x01\0\0\0\0\0\0\0".to_vec()]);
}

#[test]
fn a_global_number_replaces_every_stored_one() {
    let mut builder = BlockBuilder::new(BlockConfig { restart_interval: 2, ..BlockConfig::default() });
    for i in 0..9u8 {
        // The trailer of one key is the prefix of the next key. Rewriting the trailer must not change the
        // shared prefix.
        builder.add(
            &[&vec![1; usize::from(i)][..], &pack(SequenceNumber::ZERO, 1).to_le_bytes()].concat(),
            &[i],
        );
    }
    let rewrite = KeyRewrite { global_seqno: Some(SequenceNumber::new(5)), timestamp_pad: 0 };
    let payload = builder.finish().clone();
    for heads in [None, Some(HeadOrder::Bytewise)] {
        let block = Block::parse_searchable(&payload, heads).unwrap();
        let mut iter = BlockIter::rewriting(block, rewrite);
        let rows = forward(&mut iter);
        assert_eq!(rows, backward(&mut iter));
        for (i, (key, value)) in rows.iter().enumerate() {
            assert_eq!((user_key(key), trailer(key)), (&vec![1; i][..], pack(SequenceNumber::new(5), 1)));
            assert_eq!(value[..], [i as u8]);
            iter.seek(&InternalOrder::new(Order::Bytewise), key);
            assert_eq!(iter.key(), key);
        }
    }
}

/// Entries whose keys share long prefixes, keys over a small alphabet, and several entries with the same user
/// key.
fn rows() -> impl Strategy<Value = Vec<Row>> {
    let key = (0usize..4, prop::collection::vec(prop::sample::select(&b"\0ab\xff"[..]), 0..9));
    let value = (0usize..3, any::<u8>());
    prop::collection::vec((key, 0u64..4, value), 0..120).prop_map(|entries| {
        let entries = entries.into_iter().map(|((start, rest), seq, (size, byte))| {
            let user = [[&b""[..], b"common", b"commonly", b"c"][start], &rest].concat();
            (
                [user, pack(SequenceNumber::new(seq), 1).to_le_bytes().to_vec()].concat(),
                vec![byte; [0, 7, 150][size]],
            )
        });
        entries.collect()
    })
}

proptest! {
    #![proptest_config(ProptestConfig { cases: 200, ..ProptestConfig::default() })]

    #[test]
    fn what_is_built_reads_on_every_path(
        mut rows in rows(), targets in rows(), interval in 1usize..20, delta_keys: bool, separated: bool,
        hash: bool, reverse: bool,
    ) {
        let order = if reverse { Order::Reverse } else { Order::Bytewise };
        let internal = InternalOrder::new(order.clone());
        rows.sort_by(|a, b| internal.compare(&a.0, &b.0));
        rows.dedup_by(|a, b| a.0 == b.0);
        let mut builder = BlockBuilder::new(BlockConfig {
            restart_interval: interval,
            delta_keys,
            separated,
            hash_util_ratio: hash.then_some(0.75),
            ..BlockConfig::default()
        });
        for (key, value) in &rows {
            builder.add(key, value);
        }
        let targets: Vec<Vec<u8>> = targets.into_iter().map(|r| r.0).collect();
        check(builder.finish(), &order, &rows, &targets);
    }

    #[test]
    fn bytes_of_chance_never_panic(
        bytes in prop::collection::vec(any::<u8>(), 0..300), restarts in 0u32..6, bits in 0u32..16,
        target in prop::collection::vec(any::<u8>(), 0..20),
    ) {
        let mut payload = bytes;
        payload.extend_from_slice(&(bits << 28 | restarts).to_le_bytes());
        let order = InternalOrder::new(Order::Bytewise);
        for heads in [None, Some(HeadOrder::Bytewise)] {
            let Ok(block) = Block::parse_searchable(&payload, heads) else { continue };
            let mut iter = BlockIter::new(block.clone());
            iter.seek_to_first();
            while iter.valid() {
                let _ = (iter.key().len(), iter.value().len());
                iter.next();
            }
            iter.seek_to_last();
            while iter.valid() {
                iter.prev();
            }
            iter.seek(&order, &target);
            iter.seek_for_prev(&order, &target);
            let _ = block.visit_versions(&order, KeyRewrite::default(), &target, &mut |_, _, range| {
                assert!(range.end <= block.bytes().len());
                ControlFlow::Continue(())
            });
        }
    }
}

#[test]
fn an_internal_key_shorter_than_its_trailer_is_corruption() {
    let order = InternalOrder::new(Order::Bytewise);
    let mut payload = b"\x00\x03\x01abcv".to_vec();
    payload.extend_from_slice(&0u32.to_le_bytes());
    payload.extend_from_slice(&1u32.to_le_bytes());
    let seek_key = b"abc\x01\x00\x00\x00\x00\x00\x00\x00";
    for heads in [None, Some(HeadOrder::Bytewise)] {
        let block = Block::parse_searchable(&payload, heads).unwrap();
        // The keys of meta blocks have no trailer.
        let mut plain = BlockIter::new(block.clone());
        plain.seek_to_first();
        assert_eq!((plain.valid(), plain.key()), (true, &b"abc"[..]));
        let mut iter = BlockIter::rewriting(block.clone(), KeyRewrite::default());
        let moves: [fn(&mut BlockIter); 2] = [BlockIter::seek_to_first, BlockIter::seek_to_last];
        for go in moves {
            go(&mut iter);
            assert!(!iter.valid() && iter.status().is_err());
        }
        if heads.is_none() {
            let visited = block.visit_versions(&order, KeyRewrite::default(), seek_key, &mut |_, _, _| {
                ControlFlow::Continue(())
            });
            assert!(visited.is_err());
        }
    }
}

#[test]
fn a_block_in_given_memory_is_the_same_block() {
    let mut builder = BlockBuilder::new(BlockConfig::default());
    for i in 0..100u32 {
        builder.add(
            &[format!("key{i:03}").as_bytes(), &pack(SequenceNumber::new(7), 1).to_le_bytes()].concat(),
            b"value",
        );
    }
    let payload = builder.finish().clone();
    let rows = forward(&mut BlockIter::new(Block::parse(&payload).unwrap()));
    let shared: Arc<[u8]> = vec![0; 1 << 16].into();
    let long = |len: usize| [0xa5u8].repeat(len + 33).into();
    let short = |len: usize| [0xa5u8].repeat(len - 1).into();
    for width in [0, 4] {
        for heads in [None, Some(HeadOrder::Bytewise)] {
            for room in [&long as &dyn Fn(usize) -> Arc<[u8]>, &short, &|_| shared.clone()] {
                let block = Block::parse_into(&payload, heads, width, room).unwrap();
                assert_eq!(block.payload(), payload);
                assert_eq!(forward(&mut BlockIter::new(block.clone())), rows);
                assert_eq!(backward(&mut BlockIter::new(block.clone())), rows);
                assert!(!Arc::ptr_eq(block.bytes(), &shared));
            }
        }
    }
    assert!(shared.iter().all(|&byte| byte == 0));
}

#[test]
fn an_entry_that_changed_in_memory_is_not_shown() {
    let order = InternalOrder::new(Order::Bytewise);
    for (separated, interval, width) in [(false, 1, 8), (false, 4, 4), (true, 4, 8), (false, 16, 8)] {
        let config = BlockConfig { restart_interval: interval, separated, ..BlockConfig::default() };
        let mut builder = BlockBuilder::new(config);
        let key = |i: u32| {
            [format!("key{i:03}").as_bytes(), &pack(SequenceNumber::new(7), 1).to_le_bytes()].concat()
        };
        for i in 0..40u32 {
            builder.add(&key(i), format!("value{i}").as_bytes());
        }
        let payload = builder.finish().clone();
        let rows = forward(&mut BlockIter::new(Block::parse(&payload).unwrap()));
        for heads in [None, Some(HeadOrder::Bytewise)] {
            let block = Block::parse_protected(&payload, heads, width).unwrap();
            assert_eq!(block.payload(), payload);
            assert_eq!(forward(&mut BlockIter::new(block.clone())), rows);
            assert_eq!(backward(&mut BlockIter::new(block.clone())), rows);
            let plain = Block::parse_searchable(&payload, heads).unwrap();
            let more = block.memory_bytes() - plain.memory_bytes();
            assert!(more.abs_diff(40 * (4 + usize::from(width)) + 5) < 8, "{more}");
            let entries = block.shape().restarts_at as usize;
            let mut found = 0;
            for at in 0..entries {
                let mut bytes = block.bytes().to_vec();
                bytes[block.shape().payload_at as usize + at] ^= 0x10;
                let spoiled = Block { bytes: bytes.into() };
                let mut iter = BlockIter::new(spoiled.clone());
                iter.seek_to_first();
                while iter.valid() {
                    assert!(rows.contains(&(iter.key().to_vec(), iter.value().to_vec())), "byte {at}");
                    iter.next();
                }
                found += usize::from(iter.status().is_err());
                let visited =
                    spoiled.visit_versions(&order, KeyRewrite::default(), &key(20), &mut |user, _, range| {
                        assert_eq!((user, &spoiled.bytes()[range]), (&b"key020"[..], &b"value20"[..]));
                        ControlFlow::Break(())
                    });
                let _ = visited;
            }
            assert_eq!(found, entries, "every byte of an entry is under its checksum");
        }
    }
}

/// The copy of a large block costs more than its search array saves, if the block has few entries.
#[test]
fn a_block_of_large_values_gets_no_search_array_later() {
    let later = |value_len: usize| {
        let mut builder = BlockBuilder::new(BlockConfig::default());
        let key = |i: u32| {
            [format!("key{i:05}").as_bytes(), &pack(SequenceNumber::new(3), 1).to_le_bytes()].concat()
        };
        (0..3).for_each(|i| builder.add(&key(i), &vec![7; value_len]));
        Block::parse_for_later(builder.finish(), zeroed).unwrap().wants_array()
    };
    assert!(later(100));
    assert!(!later(64 << 10));
}

/// The trailer after the payload is no part of the block.
#[test]
fn a_block_read_in_place_equals_a_parsed_block() {
    let mut builder = BlockBuilder::new(BlockConfig::default());
    let key =
        |i: u32| [format!("key{i:05}").as_bytes(), &pack(SequenceNumber::new(3), 1).to_le_bytes()].concat();
    (0..60).for_each(|i| builder.add(&key(i), &[7; 90]));
    let payload = builder.finish().to_vec();
    let parsed = Block::parse(&payload).unwrap();
    for later in [false, true] {
        let block = in_place(&payload, later);
        assert_eq!(block.payload(), payload);
        assert_eq!(block.wants_array(), later);
        assert_eq!((block.entries_bytes(), block.is_empty()), (parsed.entries_bytes(), parsed.is_empty()));
        let order = HeadOrder::Bytewise;
        let searchable = block.searchable(order, zeroed).unwrap();
        assert_eq!(&searchable.bytes()[..], &parsed.searchable(order, zeroed).unwrap().bytes()[..]);
    }
    let mut short = BlockRoom::new(0, zeroed);
    short.stored_mut().fill(0);
    assert!(short.into_block(false).is_err(), "a block without its last word");
}

/// The two ways to make a block differ in one copy.
#[test]
fn a_filled_block_equals_a_parsed_block() {
    let mut builder = BlockBuilder::new(BlockConfig::default());
    let key =
        |i: u32| [format!("key{i:05}").as_bytes(), &pack(SequenceNumber::new(3), 1).to_le_bytes()].concat();
    (0..60).for_each(|i| builder.add(&key(i), &[7; 90]));
    let payload = builder.finish();
    let copy = |memory: &mut [u8]| {
        memory.copy_from_slice(payload);
        Ok(())
    };
    let longer = |len: usize| zeroed(len + 100);
    let later = Block::fill_for_later(payload.len(), longer, copy).unwrap();
    assert_eq!(later.payload(), payload);
    assert!(later.wants_array());
    let plain = Block::fill(payload.len(), zeroed, copy).unwrap();
    assert_eq!(&plain.bytes()[..], &Block::parse(payload).unwrap().bytes()[..]);
    let failed = Block::fill(payload.len(), zeroed, |_| Err(Error::corruption("not filled")));
    assert!(failed.unwrap_err().to_string().contains("not filled"));
    assert!(Block::fill(0, zeroed, |_| Ok(())).is_err(), "a block without its last word");
}
