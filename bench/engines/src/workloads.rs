//! The workloads, in the order in which they run. Each of them works on the data that the workloads before have left.

use std::path::Path;
use std::time::Instant;

use crate::Result;
use crate::engines::{Change, Store};
use crate::keys::{Dice, Zipf, key, value};

/// Entries of a transaction in `batch writes`.
const BATCH: u64 = 1000;
/// Entries of a range read.
const RANGE: usize = 10;

/// A line of the table.
pub struct Row {
    pub name: &'static str,
    figure: Figure,
}

enum Figure {
    PerSecond(f64),
    Bytes(u64),
}

impl Row {
    /// Returns the text of the cell: thousands of operations per second, or MB.
    pub fn cell(&self) -> String {
        match self.figure {
            Figure::PerSecond(rate) if rate < 10_000.0 => format!("{:.2}", rate / 1e3),
            Figure::PerSecond(rate) => format!("{:.0}", rate / 1e3),
            Figure::Bytes(bytes) => format!("{:.0} MB", bytes as f64 / 1e6),
        }
    }
}

/// Runs all workloads with `pairs` pairs.
pub fn run(store: &dyn Store, dir: &Path, pairs: u64) -> Result<Vec<Row>> {
    let mut rows = Vec::new();
    let mut measure = |name: &'static str, operations: u64, work: &mut dyn FnMut() -> Result<()>| {
        let begin = Instant::now();
        work()?;
        let rate = operations as f64 / begin.elapsed().as_secs_f64();
        eprintln!("{:>12} {name}: {:.2} thousand/s", store.name(), rate / 1e3);
        rows.push(Row { name, figure: Figure::PerSecond(rate) });
        Result::Ok(())
    };
    let mut next = 0;
    let mut fresh = |count: u64| {
        next += count;
        next - count..next
    };

    let all = fresh(pairs);
    measure("bulk load", pairs, &mut || store.load(&mut all.clone().map(|n| (key(n), value(n)))))?;
    let single = fresh(1000);
    measure("individual writes, synced", 1000, &mut || {
        single.clone().try_for_each(|n| store.commit(&[Change::Put(key(n), value(n))], true))
    })?;
    let batches = fresh(100 * BATCH);
    measure("batches of 1,000 writes, synced", 100 * BATCH, &mut || {
        for first in batches.clone().step_by(BATCH as usize) {
            let batch: Vec<_> = (first..first + BATCH).map(|n| Change::Put(key(n), value(n))).collect();
            store.commit(&batch, true)?;
        }
        Ok(())
    })?;
    let unsynced = fresh(50_000);
    measure("individual writes, not synced", 50_000, &mut || {
        unsynced.clone().try_for_each(|n| store.commit(&[Change::Put(key(n), value(n))], false))
    })?;
    measure("random reads", pairs, &mut || reads(store, pairs, 1, pairs))?;
    measure("random range reads of 10", pairs / 4, &mut || ranges(store, pairs, pairs / 4))?;
    for (name, threads) in
        [("random reads, 2 threads", 2), ("random reads, 4 threads", 4), ("random reads, 8 threads", 8)]
    {
        measure(name, pairs, &mut || {
            std::thread::scope(|scope| {
                let part = pairs / threads;
                let each: Vec<_> =
                    (0..threads).map(|at| scope.spawn(move || reads(store, pairs, at + 2, part))).collect();
                each.into_iter().try_for_each(|thread| thread.join().map_err(|_| "a reader panicked")?)
            })
        })?;
    }
    measure("point operations, 95 % reads", pairs, &mut || mixed(store, pairs, 95))?;
    measure("point operations, 50 % reads", pairs, &mut || mixed(store, pairs, 50))?;
    let deleted = pairs / 2;
    measure("removals", deleted, &mut || {
        for first in (0..deleted).step_by(BATCH as usize) {
            let batch: Vec<_> =
                (first..(first + BATCH).min(deleted)).map(|n| Change::Delete(key(n))).collect();
            store.commit(&batch, false)?;
        }
        store.sync()
    })?;
    rows.push(Row { name: "size", figure: Figure::Bytes(size(dir)?) });
    store.compact()?;
    rows.push(Row { name: "size after a compaction", figure: Figure::Bytes(size(dir)?) });
    Ok(rows)
}

fn reads(store: &dyn Store, pairs: u64, seed: u64, count: u64) -> Result<()> {
    let mut dice = Dice::new(seed);
    store.view(&mut |view| {
        for _ in 0..count {
            let n = dice.below(pairs);
            let sum = view.get(&key(n))?.ok_or("a pair is missing")?;
            if sum != u64::from(value(n)[0]) {
                return Err("a value is not the value that was written".into());
            }
        }
        Ok(())
    })
}

fn ranges(store: &dyn Store, pairs: u64, count: u64) -> Result<()> {
    let mut dice = Dice::new(1);
    store.view(&mut |view| {
        let mut read = 0;
        for _ in 0..count {
            read += view.range(&key(dice.below(pairs)), RANGE)?;
        }
        // Only a range at the end of the keys is shorter.
        if read < count as usize * RANGE * 99 / 100 { Err("pairs are missing".into()) } else { Ok(()) }
    })
}

/// Reads and overwrites pairs in turn. Each read sees the write before.
fn mixed(store: &dyn Store, pairs: u64, read_percent: u64) -> Result<()> {
    let (mut dice, zipf) = (Dice::new(7), Zipf::new(pairs));
    for _ in 0..pairs {
        let n = crate::keys::scattered(zipf.draw(&mut dice)) % pairs;
        if dice.below(100) < read_percent {
            store.view(&mut |view| view.get(&key(n))?.map(drop).ok_or_else(|| "a pair is missing".into()))?;
        } else {
            store.commit(&[Change::Put(key(n), value(n))], false)?;
        }
    }
    Ok(())
}

/// Returns the bytes on disk of all files in a directory.
fn size(dir: &Path) -> Result<u64> {
    use std::os::unix::fs::MetadataExt;
    let mut bytes = 0;
    for entry in std::fs::read_dir(dir)? {
        let entry = entry?;
        let data = entry.metadata()?;
        bytes += if data.is_dir() { size(&entry.path())? } else { data.blocks() * 512 };
    }
    Ok(bytes)
}
