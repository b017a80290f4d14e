//! Recipes that are drawn by a seed. Their flags have not been tuned.
//!
//! A draw chooses a benchmark, the sizes of keys and values, threads, compression, table options, the cache size and
//! the compaction style. Every flag exists in RocksDB's `db_bench` and in Ironstone's. One seed gives one list.

use env::rng::{Rng, SeededRng};

use super::recipes::Recipe;

/// Benchmarks that write an empty database.
const WRITES: [&str; 4] = ["fillseq", "fillrandom", "filluniquerandom", "overwrite"];

/// Benchmarks over a loaded database.
const READS: [&str; 11] = [
    "readrandom",
    "readmissing",
    "readseq",
    "readreverse",
    "seekrandom",
    "multireadrandom",
    "newiterator",
    "readwhilewriting",
    "seekrandomwhilewriting",
    "readrandomwriterandom",
    "compact",
];

/// Draws `count` recipes.
pub fn draw(count: u64, seed: u64) -> Vec<Recipe> {
    (0..count).map(|number| draw_one(seed, number)).collect()
}

/// Returns the drawn recipe of a name `draw-SEED-NUMBER`, or nothing if the name has another form.
pub fn named(name: &str) -> Option<Recipe> {
    let (seed, number) = name.strip_prefix("draw-")?.split_once('-')?;
    Some(draw_one(seed.parse().ok()?, number.parse().ok()?))
}

fn draw_one(seed: u64, number: u64) -> Recipe {
    let rng = SeededRng::new(seed.wrapping_mul(0x9E37_79B9_7F4A_7C15).wrapping_add(number));
    let value_size = pick(&rng, &[8, 32, 100, 400, 1_000, 4_000, 16_000]);
    // About 100 MB of data at most, so that a draw takes seconds.
    let num = (100_000_000 / (value_size + 16)).min(500_000);
    let shape = shape(&rng, value_size, num);
    let name = format!("draw-{seed}-{number}");
    if rng.below(3) == 0 {
        let benchmark = pick(&rng, &WRITES);
        let threads = pick(&rng, &[1, 1, 2, 4]);
        let extra = pick(&rng, &["", "--disable_wal", "--batch_size=10", "--sync --num=2000"]);
        return Recipe::single(
            name,
            &format!("--benchmarks={benchmark} {shape} --threads={threads} {extra}"),
        );
    }
    let benchmark = pick(&rng, &READS);
    let threads = if benchmark == "compact" { 1 } else { pick(&rng, &[1, 1, 2, 4]) };
    let cache = pick(&rng, &[1 << 20, 32 << 20, 1 << 30]);
    let extra = pick(
        &rng,
        &[
            "",
            "--seek_nexts=10",
            "--multiread_batched --batch_size=16",
            "--pin_l0_filter_and_index_blocks_in_cache",
        ],
    );
    let load = format!("--benchmarks=fillrandom,flush,waitforcompaction {shape}");
    let measure = format!(
        "--benchmarks={benchmark} {shape} --use_existing_db --reads={} --threads={threads} --cache_size={cache} {extra}",
        (num / 4).max(1_000)
    );
    Recipe::load_then(name, &load, &measure)
}

/// Draws the flags that both steps of a recipe share.
fn shape(rng: &SeededRng, value_size: u64, num: u64) -> String {
    let key_size = pick(rng, &[8, 16, 24, 64]);
    let compression = pick(rng, &["none", "snappy", "lz4", "zstd"]);
    let block_size = pick(rng, &[1_024, 4_096, 16_384, 65_536]);
    let bloom_bits = pick(rng, &["-1", "10"]);
    let style = pick(rng, &["0", "0", "0", "1"]);
    let write_buffer = pick(rng, &[1 << 20, 8 << 20, 64 << 20]);
    let table = pick(
        rng,
        &[
            "",
            "--partition_index",
            "--cache_index_and_filter_blocks",
            "--use_hash_search=false",
            "--checksum_type=1",
        ],
    );
    format!(
        "--num={num} --key_size={key_size} --value_size={value_size} --compression_type={compression} \
         --block_size={block_size} --bloom_bits={bloom_bits} --compaction_style={style} \
         --write_buffer_size={write_buffer} {table}"
    )
}

fn pick<T: Copy>(rng: &SeededRng, choices: &[T]) -> T {
    choices[rng.below(choices.len() as u64) as usize]
}
