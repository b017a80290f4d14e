//! Measures the nanoseconds of operations on a block in memory: next, prev, seek, point lookup, index seek.
//!
//! `cargo bench -p ironstone-format --bench block_walk`. Keys of 16 bytes as db_bench makes them, and values
//! of 100 bytes. There are many blocks of 4 KiB, and they are visited in random order, so the result includes
//! cache misses.

#![allow(clippy::disallowed_methods, clippy::disallowed_types, reason = "a bench")]

use std::hint::black_box;
use std::ops::ControlFlow;

use base::Order;
use base::SequenceNumber;
use base::key::{InternalOrder, pack};
use ironstone_format::block::{Block, BlockIter, HeadOrder, KeyRewrite};
use ironstone_format::block_builder::{BlockBuilder, BlockConfig};
use ironstone_format::handle::BlockHandle;
use ironstone_format::index::{Index, IndexLayout};

const ROWS: u64 = 1_000_000;

fn key(i: u64) -> Vec<u8> {
    let mut key = i.to_be_bytes().to_vec();
    key.extend_from_slice(b"00000000");
    key.extend_from_slice(&pack(SequenceNumber::new(i + 1), 1).to_le_bytes());
    key
}

/// Returns the best of several runs, because other processes disturb single runs.
fn measure(what: &str, count: u64, mut f: impl FnMut()) {
    let best = (0..9)
        .map(|_| {
            let start = cpu_nanos();
            f();
            (cpu_nanos() - start) / count as f64
        })
        .fold(f64::MAX, f64::min);
    println!("{what:24} {best:8.1} ns");
}

/// Returns the processor time of this thread. It does not include the time in which the thread waits for a
/// busy machine.
fn cpu_nanos() -> f64 {
    let stat = std::fs::read_to_string("/proc/thread-self/schedstat").unwrap_or_default();
    stat.split(' ').next().and_then(|n| n.parse().ok()).unwrap_or_default()
}

/// A deterministic random number generator (xorshift).
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
            blocks.push(Block::parse_searchable(&payload, Some(HeadOrder::Bytewise)).unwrap());
            firsts.push(i + 1);
        }
    }
    let order = InternalOrder::new(Order::Bytewise);
    println!("{} blocks of {} bytes", blocks.len(), blocks[0].bytes().len());

    let mut iter = BlockIter::empty(KeyRewrite::default());
    measure("next", ROWS, || {
        for block in &blocks {
            iter.reset(block.clone());
            iter.seek_to_first();
            while iter.valid() {
                black_box((iter.key().len(), iter.value().len()));
                iter.next();
            }
        }
    });
    measure("prev", ROWS, || {
        for block in &blocks {
            iter.reset(block.clone());
            iter.seek_to_last();
            while iter.valid() {
                black_box(iter.key().len());
                iter.prev();
            }
        }
    });

    let mut dice = Dice(88172645463325252);
    let targets: Vec<(usize, Vec<u8>)> = (0..200_000)
        .map(|_| {
            let i = dice.next() % ROWS;
            (firsts.partition_point(|f| *f <= i) - 1, key(i))
        })
        .collect();
    let count = targets.len() as u64;
    measure("seek in random block", count, || {
        for (at, key) in &targets {
            iter.reset(blocks[*at].clone());
            iter.seek(&order, key);
            assert!(iter.valid());
        }
    });
    measure("point in random block", count, || {
        let mut found = 0;
        for (at, key) in &targets {
            let mut visit = |_: &[u8], _: u64, range: std::ops::Range<usize>| {
                found += range.len();
                ControlFlow::Break(())
            };
            blocks[*at].visit_versions(&order, KeyRewrite::default(), key, &mut visit).unwrap();
        }
        assert_eq!(found, 100 * targets.len());
    });
    let bare: Vec<Block> =
        blocks.iter().map(|b| Block::parse_searchable(b.payload(), None).unwrap()).collect();
    measure("point, no anchors", count, || {
        for (at, key) in &targets {
            let mut visit = |_: &[u8], _: u64, range| {
                black_box(range);
                ControlFlow::Break(())
            };
            bare[*at].visit_versions(&order, KeyRewrite::default(), key, &mut visit).unwrap();
        }
    });
    let hot: Vec<_> = targets.iter().filter(|t| t.0 < 8).cycle().take(200_000).cloned().collect();
    measure("point in hot block", count, || {
        for (at, key) in &hot {
            let mut visit = |_: &[u8], _: u64, range| {
                black_box(range);
                ControlFlow::Break(())
            };
            blocks[*at].visit_versions(&order, KeyRewrite::default(), key, &mut visit).unwrap();
        }
    });

    let payload = index_builder.finish().clone();
    let layout = IndexLayout { heads: Some(HeadOrder::Bytewise), ..IndexLayout::default() };
    let index = Index::decode(&payload, &layout).unwrap();
    measure("index decode, an entry", index.len() as u64, || {
        black_box(Index::decode(&payload, &layout).unwrap());
    });
    println!("index {} bytes, from {}", index.memory_bytes(), payload.len());
    measure("index seek", count, || {
        for (at, key) in &targets {
            assert_eq!(black_box(index.seek(&order, key)), *at);
        }
    });
    let block = Block::parse_searchable(&payload, None).unwrap();
    iter.reset(block);
    measure("index seek, undecoded", count, || {
        for (_, key) in &targets {
            iter.seek(&order, key);
            black_box(iter.value());
        }
    });
    let raw: Vec<Vec<u8>> = blocks.iter().take(1000).map(|b| b.payload().to_vec()).collect();
    measure("parse a block", raw.len() as u64, || {
        for payload in &raw {
            black_box(Block::parse_searchable(payload, None).unwrap());
        }
    });
    measure("parse a block, anchors", raw.len() as u64, || {
        for payload in &raw {
            black_box(Block::parse_searchable(payload, Some(HeadOrder::Bytewise)).unwrap());
        }
    });
}
