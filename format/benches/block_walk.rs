//! Nanoseconds of what is done to a block in memory: next, prev, seek, point look-up, index seek.
//!
//! `cargo bench -p ironstone-format --bench block_walk`. Keys of 16 bytes as db_bench makes them, values of
//! 100; 4 KiB blocks, many of them, visited at random so that memory is part of the price.

use std::hint::black_box;
use std::ops::ControlFlow;
use std::time::Instant;

use base::Order;
use base::key::{InternalOrder, pack};
use ironstone_format::block::{Block, BlockIter, HeadOrder, KeyRewrite};
use ironstone_format::block_builder::{BlockBuilder, BlockConfig};
use ironstone_format::handle::BlockHandle;
use ironstone_format::index::{Index, IndexLayout};

const ROWS: u64 = 1_000_000;

fn key(i: u64) -> Vec<u8> {
    let mut key = i.to_be_bytes().to_vec();
    key.extend_from_slice(b"00000000");
    key.extend_from_slice(&pack(i + 1, 1).to_le_bytes());
    key
}

fn report(what: &str, count: u64, since: Instant) {
    println!("{what:24} {:8.1} ns", since.elapsed().as_nanos() as f64 / count as f64);
}

/// Deterministic chance (xorshift).
struct Dice(u64);

impl Dice {
    fn next(&mut self) -> u64 {
        self.0 ^= self.0 << 13;
        self.0 ^= self.0 >> 7;
        self.0 ^= self.0 << 17;
        self.0
    }
}

fn main() {
    let mut builder = BlockBuilder::new(BlockConfig::default());
    let mut index_builder = BlockBuilder::new(BlockConfig { restart_interval: 1, ..BlockConfig::default() });
    let (mut blocks, mut firsts) = (Vec::new(), vec![0]);
    let mut offset = 0;
    for i in 0..ROWS {
        builder.add(&key(i), &[(i % 251) as u8; 100]);
        if builder.estimate() >= 4050 || i + 1 == ROWS {
            let payload = builder.finish().clone();
            builder.reset();
            let mut handle = Vec::new();
            BlockHandle::new(offset, payload.len() as u64).encode(&mut handle);
            offset += payload.len() as u64 + 5;
            index_builder.add(&key(i), &handle);
            blocks.push(Block::parse_searchable(payload, Some(HeadOrder::Bytewise)).unwrap());
            firsts.push(i + 1);
        }
    }
    let order = InternalOrder::new(Order::Bytewise);
    println!("{} blocks of {} bytes", blocks.len(), blocks[0].bytes().len());

    let mut iter = BlockIter::empty(KeyRewrite::default());
    let start = Instant::now();
    let mut bytes = 0;
    for block in &blocks {
        iter.reset(block.clone());
        iter.seek_to_first();
        while iter.valid() {
            bytes += black_box(iter.key()).len() + black_box(iter.value()).len();
            iter.next();
        }
    }
    report("next", ROWS, start);
    let start = Instant::now();
    for block in &blocks {
        iter.reset(block.clone());
        iter.seek_to_last();
        while iter.valid() {
            bytes += black_box(iter.key()).len();
            iter.prev();
        }
    }
    report("prev", ROWS, start);
    black_box(bytes);

    let mut dice = Dice(88172645463325252);
    let targets: Vec<(usize, Vec<u8>)> = (0..500_000)
        .map(|_| {
            let i = dice.next() % ROWS;
            (firsts.partition_point(|f| *f <= i) - 1, key(i))
        })
        .collect();
    let count = targets.len() as u64;
    let start = Instant::now();
    for (at, key) in &targets {
        iter.reset(blocks[*at].clone());
        iter.seek(&order, key);
        assert!(iter.valid());
    }
    report("seek in random block", count, start);
    let start = Instant::now();
    let mut found = 0;
    for (at, key) in &targets {
        let mut visit = |_: &[u8], _: u64, range: std::ops::Range<usize>| {
            found += range.len();
            ControlFlow::Break(())
        };
        blocks[*at].visit_versions(&order, KeyRewrite::default(), key, &mut visit).unwrap();
    }
    assert_eq!(found, 100 * targets.len());
    report("point in random block", count, start);

    let payload = index_builder.finish().clone();
    let layout = IndexLayout { heads: Some(HeadOrder::Bytewise), ..IndexLayout::default() };
    let start = Instant::now();
    let index = Index::decode(&payload, &layout).unwrap();
    report("index decode, an entry", index.len() as u64, start);
    println!("index {} bytes, from {}", index.memory_bytes(), payload.len());
    let start = Instant::now();
    for (at, key) in &targets {
        assert_eq!(black_box(index.seek(&order, key)), *at);
    }
    report("index seek", count, start);
    let block = Block::parse_searchable(payload, None).unwrap();
    let start = Instant::now();
    iter.reset(block);
    for (_, key) in &targets {
        iter.seek(&order, key);
        black_box(iter.value());
    }
    report("index seek, undecoded", count, start);
}
