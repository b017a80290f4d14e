//! Recipes of operations that have not been tuned. Each is small, so that a run of all recipes takes minutes.
//!
//! The names begin with `untuned-`, and `compare 'untuned-*'` runs all of them. Rows of writes: many writing threads in
//! each write mode, synced writes, large values, small memtables and small compactions. Rows of reads: iterators during
//! writes, MultiGet, seeks, range tombstones, the first seek after a compaction, and steps backward.

use super::recipes::Recipe;

/// A load that leaves SST files in several levels.
const LOAD: &str = "--benchmarks=fillrandom,flush,waitforcompaction --num=500000 --write_buffer_size=8388608";
/// Reads over [`LOAD`], with every block in the cache.
const READ: &str = "--num=500000 --use_existing_db --cache_size=1000000000";

/// Returns the recipes, in the order of the list.
pub fn all() -> Vec<Recipe> {
    [iterators(), writers(), values(), small(), reads(), deletions()].concat()
}

fn single(name: &str, flags: &str) -> Recipe {
    Recipe::single(format!("untuned-{name}"), flags)
}

fn over_load(name: &str, measure: &str) -> Recipe {
    Recipe::load_then(format!("untuned-{name}"), LOAD, &format!("{measure} {READ}"))
}

fn iterators() -> Vec<Recipe> {
    vec![
        over_load("new-iterator", "--benchmarks=newiterator --reads=300000"),
        over_load(
            "beside-a-writer",
            "--benchmarks=readwhilewriting,seekrandomwhilewriting --reads=100000 --histogram",
        ),
        over_load(
            "beside-merges",
            "--benchmarks=seekrandomwhilemerging --merge_operator=put --reads=100000 --histogram",
        ),
    ]
}

fn writers() -> Vec<Recipe> {
    let mode = |name: &str, flags: &str| {
        single(name, &format!("--benchmarks=fillrandom --num=100000 --threads=4 --histogram {flags}"))
    };
    vec![
        mode("writers-4-pipelined", ""),
        mode("writers-4", "--enable_pipelined_write=false"),
        mode("writers-4-unordered", "--enable_pipelined_write=false --unordered_write"),
        mode("writers-4-one-inserts", "--allow_concurrent_memtable_write=false"),
        mode("writers-8-pipelined", "--threads=8"),
        single("sync-1", "--benchmarks=fillrandom --num=2000 --sync"),
        single("sync-4", "--benchmarks=fillrandom --num=1000 --threads=4 --sync"),
    ]
}

fn values() -> Vec<Recipe> {
    let size = |kib: u64, compression: &str| {
        let shape = format!(
            "--value_size={} --num={} --compression_type={compression} --cache_size=1000000000",
            kib << 10,
            (64 << 10) / kib
        );
        let load = format!("--benchmarks=fillrandom,flush,waitforcompaction {shape}");
        let measure = format!("--benchmarks=readseq,readseq,readrandom,compact {shape} --use_existing_db");
        Recipe::load_then(format!("untuned-values-{kib}-{compression}"), &load, &measure)
    };
    vec![size(64, "snappy"), size(64, "lz4"), size(1024, "lz4")]
}

fn small() -> Vec<Recipe> {
    vec![
        single("small-compaction", "--benchmarks=fillrandom,flush,compact --num=2000"),
        single("small-memtables", "--benchmarks=fillrandom --num=200000 --write_buffer_size=65536"),
    ]
}

fn reads() -> Vec<Recipe> {
    let batch = |keys: u64| {
        let measure = format!(
            "--benchmarks=multireadrandom,multireadrandom --multiread_batched --batch_size={keys} --reads=200000"
        );
        over_load(&format!("multiget-{keys}"), &measure)
    };
    let seek = |nexts: u64| {
        let measure = format!(
            "--benchmarks=seekrandom,seekrandom --seek_nexts={nexts} --reads={}",
            100_000 / nexts.max(2)
        );
        over_load(&format!("seek-{nexts}"), &measure)
    };
    vec![batch(4), batch(32), batch(256), seek(0), seek(1), seek(10), seek(100)]
}

fn deletions() -> Vec<Recipe> {
    vec![
        single(
            "range-tombstones",
            "--benchmarks=fillrandom,readrandom,seekrandom --num=100000 --writes_per_range_tombstone=100 \
             --range_tombstone_width=50 --max_num_range_tombstones=500",
        ),
        single("first-seek", "--benchmarks=fillrandom,compact,seekrandom --num=300000 --reads=1"),
        single("backward", "--benchmarks=fillseq,deleterandom,readreverse --num=300000"),
    ]
}
