//! `cargo bench -p ironstone --bench merge`: the cost of a key with merge operands, for each kind of read. The value
//! of the key is one of the operands. One merge operator returns the operand itself. The second merge operator
//! returns a copy of the operand.
//!
//! Prints nanoseconds for each row, bytes of values for each second, and allocations for each row.

#![allow(clippy::disallowed_methods, clippy::disallowed_types, reason = "a bench")]

use std::hint::black_box;
use std::sync::Arc;
use std::time::Instant;

use ironstone::{Db, FullMerge, MergeFailure, MergeOperator, Merged, Options, Result};

/// A merge operator that returns the newest operand: the operand itself, or a copy.
struct Newest {
    copies: bool,
}

impl MergeOperator for Newest {
    fn name(&self) -> &str {
        "bench.Newest"
    }

    fn full(&self, merge: &FullMerge<'_>, out: &mut Vec<u8>) -> std::result::Result<Merged, MergeFailure> {
        let newest = merge.operands.len() - 1;
        if !self.copies {
            return Ok(Merged::Operand(newest));
        }
        out.extend_from_slice(merge.operands[newest]);
        Ok(Merged::New)
    }
}

const KEYS: u64 = 2000;

/// Returns nanoseconds per row of the best pass, and allocations per row of the last pass.
fn best(mut pass: impl FnMut() -> u64) -> (f64, f64) {
    pass();
    let mut least = f64::MAX;
    for _ in 0..30 {
        let start = Instant::now();
        let rows = black_box(pass());
        least = least.min(start.elapsed().as_nanos() as f64 / rows as f64);
    }
    let used = allocation_counter::measure(|| {
        pass();
    });
    (least, used.count_total as f64 / KEYS as f64)
}

fn case(tables: bool, operands: usize, value: usize, copies: bool) -> Result<()> {
    let folder = std::env::temp_dir().join(format!("ironstone-bench-merge-{}", std::process::id()));
    let mut options = Options::default();
    options.update("create_if_missing=true;disable_auto_compactions=true;write_buffer_size=1G")?;
    options.update("block_based_table_factory={block_cache=1G}")?;
    options.family.merge_operator = Some(Arc::new(Newest { copies }));
    let db = Db::open(&folder, options)?;
    let bytes = vec![7; value];
    let keys: Vec<Vec<u8>> = (0..KEYS).map(|i| format!("{i:016}").into_bytes()).collect();
    for _ in 0..operands {
        for key in &keys {
            db.merge(key, &bytes)?;
        }
    }
    if tables {
        db.flush()?;
    }
    let scan = |forward: bool| {
        let mut iter = db.iter().expect("an iterator");
        if forward {
            iter.seek_to_first()
        } else {
            iter.seek_to_last()
        };
        let mut rows = 0;
        while iter.valid() {
            black_box(iter.value().as_ptr());
            rows += 1;
            if forward {
                iter.next()
            } else {
                iter.prev()
            };
        }
        rows
    };
    let get =
        || keys.iter().filter(|key| black_box(db.get(key)).is_ok_and(|found| found.is_some())).count() as u64;
    let multi_get = || {
        keys.chunks(32)
            .map(|keys| {
                let keys: Vec<&[u8]> = keys.iter().map(Vec::as_slice).collect();
                black_box(db.multi_get(&keys)).len() as u64
            })
            .sum()
    };
    let place = if tables { "cached tables" } else { "memtable" };
    let answer = if copies { "a copy" } else { "as it stands" };
    for (road, (ns, allocations)) in [
        ("forward", best(|| scan(true))),
        ("backward", best(|| scan(false))),
        ("get", best(get)),
        ("multi_get", best(multi_get)),
    ] {
        let rate = value as f64 / ns;
        println!(
            "{place:14} {operands:>3} x {value:>6} B  {answer:13} {road:10} {ns:>8.0} ns  {rate:>7.2} GB/s  {allocations:>6.2} allocations"
        );
    }
    drop(db);
    std::fs::remove_dir_all(&folder).ok();
    Ok(())
}

fn main() -> Result<()> {
    for tables in [false, true] {
        for operands in [1, 10] {
            for value in [100, 10_240] {
                for copies in [false, true] {
                    case(tables, operands, value, copies)?;
                }
            }
        }
    }
    Ok(())
}
