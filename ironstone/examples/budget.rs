//! Measures whether a database keeps a memory budget.
//!
//! ```text
//!  cargo run --release -p ironstone --example budget DIR [BUDGET_MIB] [SECONDS] [ITERATORS]
//! ```
//! The options are those of `Options::for_budget` with `Options::memory_budget`. The program first writes four times the budget. Then four threads read, one
//! thread overwrites random keys at full speed, compactions run, and many iterators stand on random keys. The program prints the
//! memory of the holders that `Db::memory` names, the resident memory that the database added to the process, and the peak of the
//! process. The program needs Linux: it reads `/proc/self/status`.

#![allow(clippy::disallowed_methods, clippy::disallowed_types, reason = "a program")]

use std::path::Path;
use std::sync::atomic::{AtomicBool, AtomicU64, Ordering};
use std::time::{Duration, Instant};

use ironstone::{BudgetGoal, Db, Iter, Options, Result};

const MIB: u64 = 1 << 20;
const VALUE_BYTES: usize = 400;
const READERS: u64 = 4;

fn main() {
    let arguments: Vec<String> = std::env::args().skip(1).collect();
    let Some(dir) = arguments.first() else {
        eprintln!("usage: budget DIR [BUDGET_MIB] [SECONDS] [ITERATORS]");
        std::process::exit(2);
    };
    let number = |at: usize, default: u64| arguments.get(at).and_then(|n| n.parse().ok()).unwrap_or(default);
    if let Err(error) = run(Path::new(dir), number(1, 256) * MIB, number(2, 20), number(3, 10_000)) {
        eprintln!("{error}");
        std::process::exit(1);
    }
}

/// Returns a field of `/proc/self/status` in bytes; 0 on other systems.
fn status(field: &str) -> u64 {
    let text = std::fs::read_to_string("/proc/self/status").unwrap_or_default();
    let line = text.lines().find_map(|line| line.strip_prefix(field));
    let kilobytes = line.and_then(|line| line.split_whitespace().next()?.parse::<u64>().ok());
    kilobytes.unwrap_or(0) * 1024
}

/// Returns a number below `keys` for each `i`, in an order without pattern.
fn scatter(i: u64, keys: u64) -> u64 {
    (i + 1).wrapping_mul(0x9E37_79B9_7F4A_7C15).rotate_left(31) % keys.max(1)
}

fn key(number: u64) -> [u8; 16] {
    let mut key = [b'k'; 16];
    key[8..].copy_from_slice(&number.to_be_bytes());
    key
}

/// Returns the value of write `i`. Half of it compresses.
fn value(i: u64) -> [u8; VALUE_BYTES] {
    let mut value = [b'v'; VALUE_BYTES];
    for (at, word) in value[..VALUE_BYTES / 2].chunks_exact_mut(8).enumerate() {
        word.copy_from_slice(&scatter(i * 1000 + at as u64, u64::MAX).to_le_bytes());
    }
    value
}

fn run(dir: &Path, budget: u64, seconds: u64, iterators: u64) -> Result<()> {
    let before = status("VmRSS:");
    let mut options = Options::for_budget(budget, 2, BudgetGoal::Latency)?;
    options.memory_budget(budget)?;
    options.db.create_if_missing = true;
    let db = Db::open(dir, options)?;
    let keys = 4 * budget / VALUE_BYTES as u64;
    for i in 0..keys {
        db.put(&key(scatter(i, keys)), &value(i))?;
    }
    report(&db, "after the load", before);
    let stop = AtomicBool::new(false);
    let (reads, writes) = (AtomicU64::new(0), AtomicU64::new(0));
    std::thread::scope(|scope| {
        let (db, stop, reads, writes) = (&db, &stop, &reads, &writes);
        let mut threads: Vec<_> = (0..READERS)
            .map(|reader| {
                scope.spawn(move || -> Result<()> {
                    let mut i = reader << 40;
                    while !stop.load(Ordering::Relaxed) {
                        db.get(&key(scatter(i, keys)))?;
                        i += 1;
                        reads.fetch_add(1, Ordering::Relaxed);
                    }
                    Ok(())
                })
            })
            .collect();
        threads.push(scope.spawn(move || -> Result<()> {
            let mut i = 1 << 50;
            while !stop.load(Ordering::Relaxed) {
                db.put(&key(scatter(i, keys)), &value(i))?;
                i += 1;
                writes.fetch_add(1, Ordering::Relaxed);
            }
            Ok(())
        }));
        let outcome = iterate(db, keys, iterators, seconds, before);
        stop.store(true, Ordering::Relaxed);
        for thread in threads {
            thread.join().expect("a thread of the program does not panic")?;
        }
        outcome
    })?;
    println!("{} reads, {} writes", reads.into_inner(), writes.into_inner());
    let peak = status("VmHWM:");
    let goal = budget / 100 * 115 + 16 * MIB;
    println!("peak of the process {:.1} MiB, goal {:.1} MiB", mib(peak), mib(goal));
    Ok(())
}

/// Keeps `iterators` iterators, and moves them to the newest state in turn.
fn iterate(db: &Db, keys: u64, iterators: u64, seconds: u64, before: u64) -> Result<()> {
    let end = Instant::now() + Duration::from_secs(seconds);
    // A vector that grows would have memory that no iterator uses.
    let mut open: Vec<Iter> = Vec::with_capacity(iterators as usize);
    let mut at = 0;
    while Instant::now() < end {
        at += 1;
        if (open.len() as u64) < iterators {
            open.push(db.iter()?);
        } else {
            let turn = (at % iterators) as usize;
            open[turn].refresh()?;
        }
        let turn = (at % iterators).min(open.len() as u64 - 1) as usize;
        open[turn].seek(&key(scatter(at, keys)));
        open[turn].status()?;
    }
    report(db, &format!("with {} iterators", open.len()), before);
    println!("{}", db.memory());
    Ok(())
}

fn report(db: &Db, moment: &str, before: u64) {
    let named = db.memory().bytes;
    let resident = status("VmRSS:").saturating_sub(before);
    println!(
        "{moment}: holders {:.1} MiB, added resident memory {:.1} MiB, part named {:.3}",
        mib(named),
        mib(resident),
        named as f64 / resident.max(1) as f64
    );
}

fn mib(bytes: u64) -> f64 {
    bytes as f64 / MIB as f64
}
