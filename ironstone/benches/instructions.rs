//! `instructions OPERATION`: one operation many times, for `.ci/instructions`, which counts its instructions.
//!
//! ```text
//! get-memtable get-table seek next put batch iterator multiget merge filter
//! ```
//! Everything is in memory, on one thread, from one seed. The time of a machine does not count, so a count of one machine
//! holds on all machines with the same compiler. Only the function [`measured`] is counted.

#![allow(clippy::disallowed_methods, clippy::disallowed_types, reason = "a bench")]

use std::hint::black_box;
use std::sync::Arc;

use ironstone::{Db, FullMerge, MergeFailure, MergeOperator, Merged, Options, Result, WriteBatch};

const KEYS: usize = 20_000;
const ROUNDS: usize = 2000;

/// Joins all operands.
struct Join;

impl MergeOperator for Join {
    fn name(&self) -> &str {
        "bench.Join"
    }

    fn full(&self, merge: &FullMerge<'_>, out: &mut Vec<u8>) -> std::result::Result<Merged, MergeFailure> {
        merge.operands.iter().for_each(|operand| out.extend_from_slice(operand));
        Ok(Merged::New)
    }
}

/// Returns key `i` of a list in an order without pattern. The last digit is even, so keys with an odd last digit are
/// missing.
fn key(i: usize) -> Vec<u8> {
    format!("{:016}", i * 7919 % KEYS * 2).into_bytes()
}

fn missing(i: usize) -> Vec<u8> {
    format!("{:016}", i * 7919 % KEYS * 2 + 1).into_bytes()
}

fn open() -> Result<Db> {
    let mut options = Options::default();
    options.db.env = env::Env::memory(1);
    options.db.create_if_missing = true;
    options.update("disable_auto_compactions=true;write_buffer_size=1G;compression=kNoCompression")?;
    options.update("block_based_table_factory={block_cache=64M;filter_policy=bloomfilter:10}")?;
    options.family.merge_operator = Some(Arc::new(Join));
    Db::open("bench", options)
}

/// Runs the rounds of an operation. Only the instructions of this function are counted.
#[inline(never)]
fn measured(mut operation: impl FnMut(usize)) {
    (0..ROUNDS).for_each(&mut operation);
}

fn get(db: &Db, keys: &[Vec<u8>]) {
    measured(|i| assert!(black_box(db.get(&keys[i]).expect("a value")).is_some()));
}

fn run(operation: &str) -> Result<()> {
    let db = open()?;
    let keys: Vec<Vec<u8>> = (0..KEYS).map(key).collect();
    let value = [7; 100];
    keys.iter().try_for_each(|key| db.put(key, &value))?;
    if !matches!(operation, "get-memtable" | "put" | "batch" | "merge") {
        db.flush()?;
        // Read every key once, so that every block is in the cache.
        keys.iter().try_for_each(|key| db.get(key).map(drop))?;
    }
    match operation {
        "get-memtable" | "get-table" => get(&db, &keys),
        "put" => measured(|i| db.put(&keys[i], &value).expect("a put")),
        "filter" => {
            let missing: Vec<Vec<u8>> = (0..ROUNDS).map(missing).collect();
            measured(|i| assert!(black_box(db.get(&missing[i]).expect("an answer")).is_none()));
        }
        "iterator" => measured(|_| drop(black_box(db.iter().expect("an iterator")))),
        "seek" => {
            let mut iter = db.iter()?;
            measured(|i| {
                iter.seek(&keys[i]);
                assert!(iter.valid());
            });
        }
        "next" => {
            let mut iter = db.iter()?;
            iter.seek_to_first();
            measured(|_| {
                black_box((iter.key(), iter.value()));
                iter.next();
            });
        }
        "multiget" => measured(|i| {
            let batch: Vec<&[u8]> = (0..32).map(|at| &keys[(32 * i + at) % KEYS][..]).collect();
            black_box(db.multi_get(&batch));
        }),
        "batch" => measured(|i| {
            let mut batch = WriteBatch::new();
            for key in &keys[i * 9..i * 9 + 10] {
                batch.put(key, &value);
            }
            db.write(batch).expect("a write");
        }),
        "merge" => {
            for _ in 0..10 {
                keys[..ROUNDS].iter().try_for_each(|key| db.merge(key, b"an operand"))?;
            }
            // The first thousand reads of a database have no median. Under valgrind each of them is slow, and looks for its causes.
            keys[..ROUNDS].iter().try_for_each(|key| db.get(key).map(drop))?;
            get(&db, &keys);
        }
        other => panic!("{other} is not one of the operations"),
    }
    Ok(())
}

fn main() {
    // `cargo bench` passes `--bench`, and `cargo test` passes nothing.
    let operation = std::env::args().skip(1).find(|argument| !argument.starts_with('-'));
    if let Some(operation) = operation {
        run(&operation).expect("the operation succeeds");
        println!("{ROUNDS}");
    }
}
