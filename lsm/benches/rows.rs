//! Measures the cost of an entry in the merge and in the compaction iterator: nanoseconds and comparisons.
//!
//! `cargo bench -p ironstone-lsm` prints one line for each case. Keys have 16 bytes. The heads decide the
//! comparisons, unless all keys of a case share their first eight bytes.

#![allow(clippy::disallowed_methods, clippy::disallowed_types, reason = "a bench")]

use std::hint::black_box;
use std::time::Instant;

use base::error::Result;
use base::iter::InternalIterator;
use base::key::{self, InternalOrder, ValueType};
use base::order::Order;
use base::{Level, SequenceNumber};
use ironstone_lsm::compaction_iter::{AnythingBelow, Below, Compaction, CompactionIter, Config};
use ironstone_lsm::merging::Merging;
use ironstone_lsm::range_del::CompactionTombstones;
use ironstone_lsm::stripes::Stripes;

const ROWS: usize = 1 << 20;
const KEY: usize = 16 + 8;

/// Entries of a fixed size in one buffer: the cheapest possible source.
struct Flat {
    keys: Vec<u8>,
    value: Vec<u8>,
    at: usize,
}

impl InternalIterator for Flat {
    fn valid(&self) -> bool {
        self.at < self.keys.len()
    }
    fn seek_to_first(&mut self) {
        self.at = 0;
    }
    fn seek_to_last(&mut self) {
        self.at = self.keys.len().wrapping_sub(KEY);
    }
    fn seek(&mut self, _target: &[u8]) {
        self.at = 0;
    }
    fn seek_for_prev(&mut self, _target: &[u8]) {
        self.seek_to_last();
    }
    fn next(&mut self) {
        self.at += KEY;
    }
    fn prev(&mut self) {
        self.at = if self.at == 0 { usize::MAX } else { self.at - KEY };
    }
    fn key(&self) -> &[u8] {
        &self.keys[self.at..self.at + KEY]
    }
    fn value(&self) -> &[u8] {
        &self.value
    }
    fn status(&self) -> Result<()> {
        Ok(())
    }
}

struct Bottom;

impl Below for Bottom {
    fn key_not_exists_beyond_output(&mut self, _user_key: &[u8]) -> bool {
        true
    }
}

fn order() -> InternalOrder {
    InternalOrder::new(Order::Bytewise)
}

fn random(state: &mut u64) -> u64 {
    *state = state.wrapping_mul(6364136223846793005).wrapping_add(1442695040888963407);
    *state >> 33
}

/// Distributes `ROWS` keys to `k` sources in runs of `run` keys. With `prefix`, all keys start with the same
/// eight bytes.
fn sources(k: usize, run: usize, prefix: bool) -> Vec<Flat> {
    let mut keys: Vec<Vec<u8>> = vec![Vec::new(); k];
    let mut state = 7;
    let mut to = 0;
    for i in 0..ROWS {
        if i % run == 0 {
            to = random(&mut state) as usize % k;
        }
        let mut user = [b'0'; 16];
        let at = if prefix { 8 } else { 0 };
        user[at..at + 8].copy_from_slice(&(i as u64).to_be_bytes());
        key::append_internal(&mut keys[to], &user, SequenceNumber::new(1 + i as u64), ValueType::Value);
    }
    keys.into_iter().map(|keys| Flat { keys, value: vec![b'v'; 100], at: usize::MAX }).collect()
}

fn merging(name: &str, k: usize, run: usize, prefix: bool) {
    let mut merging = Merging::new(order(), sources(k, run, prefix));
    for backward in [false, true] {
        let mut best = f64::MAX;
        let mut comparisons = 0.0;
        for _ in 0..5 {
            merging.stats = Default::default();
            let start = Instant::now();
            let mut rows = 0;
            if backward {
                merging.seek_to_last();
            } else {
                merging.seek_to_first();
            }
            while merging.valid() {
                black_box(merging.key());
                rows += 1;
                if backward { merging.prev() } else { merging.next() }
            }
            assert_eq!(rows, ROWS);
            best = best.min(start.elapsed().as_nanos() as f64 / ROWS as f64);
            comparisons = merging.stats.comparisons as f64 / ROWS as f64;
        }
        let way = if backward { "backward" } else { "forward" };
        println!(
            "merging {name:<24} {way:<8} {k:>2} sources  {best:6.2} ns/row  {comparisons:5.2} comparisons/row"
        );
    }
}

fn compaction_iter<B: Below>(name: &str, below: impl Fn() -> B, config: impl Fn() -> Config) {
    let mut best = f64::MAX;
    for _ in 0..5 {
        let Ok([source]) = <[Flat; 1]>::try_from(sources(1, 1, false)) else { unreachable!() };
        let tombstones = CompactionTombstones::none(order());
        let mut compaction_iter = CompactionIter::new(source, below(), tombstones, config());
        let start = Instant::now();
        let mut rows = 0;
        compaction_iter.seek_to_first();
        while compaction_iter.valid() {
            black_box((compaction_iter.key(), compaction_iter.value()));
            rows += 1;
            compaction_iter.next();
        }
        assert_eq!(rows, ROWS);
        best = best.min(start.elapsed().as_nanos() as f64 / ROWS as f64);
    }
    println!("compaction_iter {name:<39} {best:6.2} ns/row");
}

fn main() {
    merging("pass-through", 1, 1, false);
    for k in [2, 4, 8, 16] {
        merging("runs of 1000", k, 1000, false);
        merging("runs of 10", k, 10, false);
        merging("random", k, 1, false);
    }
    merging("random, equal heads", 8, 1, true);
    merging("runs of 1000, equal heads", 8, 1000, true);
    compaction_iter("flush", || AnythingBelow, || Config::new(order()));
    compaction_iter(
        "flush, three snapshots",
        || AnythingBelow,
        || Config {
            snapshots: Stripes::new(vec![
                SequenceNumber::new(1),
                SequenceNumber::new(1000),
                SequenceNumber::new(100_000),
            ]),
            ..Config::new(order())
        },
    );
    compaction_iter(
        "compaction to the bottom",
        || Bottom,
        || Config {
            compaction: Some(Compaction { bottommost: true, start_level: Level::ZERO }),
            ..Config::new(order())
        },
    );
}
