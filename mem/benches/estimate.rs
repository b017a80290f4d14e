//! `cargo bench -p ironstone-mem --bench estimate [-- entries]`: the cost of a range estimate compared with
//! two lookups, and its error by the width of the range.

#![allow(clippy::disallowed_methods, clippy::disallowed_types, reason = "a bench")]

use std::hint::black_box;
use std::ops::ControlFlow;
use std::sync::Arc;
use std::time::Instant;

use base::SequenceNumber;
use base::key::{InternalOrder, ValueType};
use base::order::Order;
use ironstone_mem::memtable::{MemTable, MemTableOptions};

const ROUNDS: u64 = 100_000;

struct Draw(u64);

impl Draw {
    fn below(&mut self, n: u64) -> u64 {
        self.0 ^= self.0 << 13;
        self.0 ^= self.0 >> 7;
        self.0 ^= self.0 << 17;
        (self.0 >> 11) % n
    }
}

/// Nanoseconds for one operation, the best of five runs.
fn best(mut run: impl FnMut(&mut Draw)) -> f64 {
    let mut one = |seed| {
        let mut draw = Draw(seed);
        let start = Instant::now();
        (0..ROUNDS).for_each(|_| run(&mut draw));
        start.elapsed().as_nanos() as f64 / ROUNDS as f64
    };
    (1..=5).map(&mut one).fold(f64::MAX, f64::min)
}

fn main() {
    let entries: u64 = std::env::args().filter_map(|a| a.parse().ok()).next().unwrap_or(1_000_000);
    let table: Arc<MemTable> =
        MemTable::new(MemTableOptions::new(InternalOrder::new(Order::Bytewise)), 1, SequenceNumber::new(1));
    let mut draw = Draw(7);
    let mut keys: Vec<u64> = (0..entries).collect();
    (1..entries).rev().for_each(|i| keys.swap(i as usize, draw.below(i + 1) as usize));
    let start = Instant::now();
    let mut writer = table.writer();
    for (seq, key) in (1..).zip(&keys) {
        writer.add(SequenceNumber::new(seq), ValueType::Value, &key.to_be_bytes(), b"v").expect("room");
    }
    drop(writer);
    let insert = start.elapsed().as_nanos() as f64 / entries as f64;
    let lookup = best(|draw| {
        let key = draw.below(entries).to_be_bytes();
        let mut found = 0;
        let answer = table.get(&key, SequenceNumber::new(entries), |version| {
            found = version.value.len();
            ControlFlow::Break(())
        });
        black_box((answer.is_ok(), found));
    });
    println!(
        "{entries} entries in random order: an insertion {insert:.0} ns, two lookups {:.0} ns",
        2.0 * lookup
    );
    println!(
        "{:>10} {:>10} {:>10} {:>10} {:>10} {:>12}",
        "entries", "ns", "average", "least", "most", "deviation %"
    );
    for width in [1, 10, 25, 75, 300, 1000, 3000, 10_000, 30_000, 100_000, 300_000] {
        if width >= entries {
            break;
        }
        let range = |draw: &mut Draw| {
            let from = draw.below(entries - width);
            (from.to_be_bytes(), (from + width).to_be_bytes())
        };
        let ns = best(|draw| {
            let (from, to) = range(draw);
            black_box(table.approximate_stats(&from, &to));
        });
        let mut draw = Draw(99);
        let told: Vec<f64> = (0..ROUNDS)
            .map(|_| {
                let (from, to) = range(&mut draw);
                table.approximate_stats(&from, &to).0 as f64
            })
            .collect();
        let average = told.iter().sum::<f64>() / told.len() as f64;
        let variance = told.iter().map(|t| (t - average).powi(2)).sum::<f64>() / told.len() as f64;
        let (least, most) = told.iter().fold((f64::MAX, 0f64), |(a, b), &t| (a.min(t), b.max(t)));
        let deviation = 100.0 * variance.sqrt() / average;
        println!("{width:>10} {ns:>10.0} {average:>10.1} {least:>10} {most:>10} {deviation:>12.2}");
    }
}
