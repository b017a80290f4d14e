//! Measures the speed of the memtable: inserts, lookups, iterations and estimates over a million entries
//! with keys of 16 bytes and values of 100 bytes. `cargo run --release -p ironstone-mem --example
//! memtable_speed [entries] [key shape]`. The key shape is `number` (default; eight bytes, as db_bench makes
//! them) or `text` (a common prefix of twelve bytes, then decimal digits).

#![allow(clippy::disallowed_methods, clippy::disallowed_types, reason = "a program")]

use std::ops::ControlFlow;
use std::sync::Arc;
use std::time::Instant;

use base::Order;
use base::SequenceNumber;
use base::iter::InternalIterator;
use base::key::{InternalOrder, MAX_SEQUENCE, ValueType};
use mem::memtable::{MemTable, MemTableOptions};

use ironstone_mem as mem;

fn main() {
    let mut args = std::env::args().skip(1);
    let n: u64 = args.next().and_then(|a| a.parse().ok()).unwrap_or(1_000_000);
    let text = args.next().is_some_and(|shape| shape == "text");
    let key = |i: u64| -> Vec<u8> {
        if text {
            return format!("user/profile{i:012}").into_bytes();
        }
        let mut key = vec![b'0'; 16];
        key[..8].copy_from_slice(&i.to_be_bytes());
        key
    };
    let value = [b'v'; 100];
    let random: Vec<u64> = {
        let mut state = 1u64;
        (0..n)
            .map(|_| {
                state = state.wrapping_mul(6_364_136_223_846_793_005).wrapping_add(1_442_695_040_888_963_407);
                (state >> 33) % n
            })
            .collect()
    };

    let table = fresh();
    time("insert ascending", n, || {
        for i in 0..n {
            table.add(SequenceNumber::new(i + 1), ValueType::Value, &key(i), &value).expect("add");
        }
    });
    println!("    {:.1} bytes an entry", table.memory_used() as f64 / n as f64);
    time("get random, filled ascending", n, || gets(&table, &random, &key));
    time("walk forward, filled ascending", n, || walk(&table));
    time("drop", n, || drop(table));

    let table = fresh();
    time("insert random", n, || {
        for (seq, &i) in random.iter().enumerate() {
            table.add(SequenceNumber::new(seq as u64 + 1), ValueType::Value, &key(i), &value).expect("add");
        }
    });
    println!("    {:.1} bytes an entry", table.memory_used() as f64 / n as f64);
    time("get random", n, || gets(&table, &random, &key));
    time("multi_get random, 32 keys", n, || {
        for keys in random.chunks(32) {
            let keys: Vec<Vec<u8>> = keys.iter().map(|&i| key(i)).collect();
            let keys: Vec<&[u8]> = keys.iter().map(|k| &k[..]).collect();
            let mut found = 0;
            let all = table.multi_get(&keys, MAX_SEQUENCE, |_, version| {
                found += version.value.len();
                ControlFlow::Break(())
            });
            all.expect("multi_get");
            assert_eq!(found, keys.len() * 100);
        }
    });
    time("seek random", n / 4, || {
        let mut iter = table.iter();
        for &i in &random[..n as usize / 4] {
            iter.seek(&base::key::seek_key(&key(i), MAX_SEQUENCE));
            assert!(iter.valid());
        }
    });
    time("walk forward", n, || walk(&table));
    time("walk backward", n, || {
        let mut iter = table.iter();
        iter.seek_to_last();
        let mut bytes = 0;
        while iter.valid() {
            bytes += iter.key().len() + iter.value().len();
            iter.prev();
        }
        assert!(bytes > 0);
    });
    for range in [10, 25, 75, 1000, 30_000] {
        if range < n {
            let rounds = n / 50;
            let (mut sum, mut squares) = (0.0, 0.0);
            time(&format!("estimate {range}"), rounds, || {
                for &i in &random[..rounds as usize] {
                    let from = i % (n - range);
                    let count = table.approximate_stats(&key(from), &key(from + range)).0 as f64;
                    sum += count;
                    squares += count * count;
                }
            });
            let mean = sum / rounds as f64;
            println!("    mean {mean:.1}, deviation {:.1}", (squares / rounds as f64 - mean * mean).sqrt());
        }
    }

    const THREADS: usize = 2;
    let table = fresh();
    time(&format!("insert random, {THREADS} threads"), n, || {
        std::thread::scope(|scope| {
            for t in 0..THREADS {
                let (table, random) = (&table, &random);
                scope.spawn(move || {
                    for (seq, &i) in random.iter().enumerate().skip(t).step_by(THREADS) {
                        table
                            .add(SequenceNumber::new(seq as u64 + 1), ValueType::Value, &key(i), &value)
                            .expect("add");
                    }
                });
            }
        });
    });
}

fn fresh() -> Arc<MemTable> {
    MemTable::new(MemTableOptions::new(InternalOrder::new(Order::Bytewise)), 1, SequenceNumber::new(1))
}

fn gets(table: &Arc<MemTable>, random: &[u64], key: &impl Fn(u64) -> Vec<u8>) {
    let mut found = 0;
    for &i in random {
        let one = table.get(&key(i), MAX_SEQUENCE, |version| {
            found += version.value.len();
            ControlFlow::Break(())
        });
        one.expect("get");
    }
    assert_eq!(found, random.len() * 100);
}

fn walk(table: &Arc<MemTable>) {
    let mut iter = table.iter();
    iter.seek_to_first();
    let mut bytes = 0usize;
    while iter.valid() {
        bytes += iter.key().len() + usize::from(iter.value()[50]);
        iter.next();
    }
    assert!(bytes > 0);
}

/// Prints the wall time and, if the system reports it, the processor time of this thread.
fn time(what: &str, n: u64, work: impl FnOnce()) {
    let (start, busy) = (Instant::now(), on_cpu());
    work();
    let per = |nanos: u64| nanos as f64 / n.max(1) as f64;
    let wall = per(start.elapsed().as_nanos() as u64);
    println!("{what:32} {wall:8.1} ns   cpu {:8.1} ns", per(on_cpu() - busy));
}

fn on_cpu() -> u64 {
    let stat = std::fs::read_to_string("/proc/thread-self/schedstat").unwrap_or_default();
    stat.split_whitespace().next().and_then(|n| n.parse().ok()).unwrap_or(0)
}
