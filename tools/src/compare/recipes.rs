//! The named recipes: commands that both programs run with equal flags.

/// A program of the two builds.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Program {
    DbBench,
    FilterBench,
}

impl Program {
    /// Returns the file name of the program.
    pub fn name(self) -> &'static str {
        match self {
            Program::DbBench => "db_bench",
            Program::FilterBench => "filter_bench",
        }
    }
}

/// One command of a recipe.
#[derive(Clone, Debug)]
pub struct Step {
    pub program: Program,
    pub flags: String,
    /// Use the database of the step before.
    pub keep: bool,
    /// Show no rows: the step only prepares the next step.
    pub quiet: bool,
    /// Also show the CPU time of the process.
    pub cpu: bool,
}

impl Step {
    fn new(program: Program, flags: &str) -> Step {
        Step { program, flags: flags.to_string(), keep: false, quiet: false, cpu: false }
    }

    fn bench(flags: &str) -> Step {
        Step::new(Program::DbBench, flags)
    }

    fn keep(self) -> Step {
        Step { keep: true, ..self }
    }

    fn quiet(self) -> Step {
        Step { quiet: true, ..self }
    }

    fn cpu(self) -> Step {
        Step { cpu: true, ..self }
    }

    /// Returns the flags for RocksDB 11.8.1. Its `filter_bench` numbers the Bloom filter 1 and the Ribbon filter 2;
    /// earlier releases and Ironstone number them 2 and 3.
    pub fn peer_flags(&self) -> String {
        match self.program {
            Program::DbBench => self.flags.clone(),
            Program::FilterBench => self.flags.replace("-impl=2", "-impl=1").replace("-impl=3", "-impl=2"),
        }
    }
}

/// A list of commands with a name.
#[derive(Clone, Debug)]
pub struct Recipe {
    pub name: String,
    pub steps: Vec<Step>,
}

impl Recipe {
    /// Makes a recipe of `db_bench` commands: a quiet load, then a command over the loaded database.
    pub fn load_then(name: String, load: &str, measure: &str) -> Recipe {
        Recipe { name, steps: vec![Step::bench(load).quiet(), Step::bench(measure).keep()] }
    }

    /// Makes a recipe of one `db_bench` command.
    pub fn single(name: String, flags: &str) -> Recipe {
        Recipe { name, steps: vec![Step::bench(flags)] }
    }
}

const MERGE_LOAD: &str = "--merge_operator=max --disable_auto_compactions --value_size=10240 --num=10000";
const MERGE_READ: &str = "--benchmarks=readseq,readseq,readseq,readseq,readseq --merge_operator=max --num=100000 \
                          --cache_size=1000000000 --use_existing_db --disable_auto_compactions";
const FILTERS: &str = "-m_keys_total_max=200 -average_keys_per_filter=100000 -m_queries=50";
const COMPACT: &str = "--num=4000000 --value_size=100 --disable_auto_compactions --compression_type=none";
/// Keys with a common prefix come in runs, so a merge takes many entries from one file before it changes the file.
const IN_RUNS: &str = "--prefix_size=8 --keys_per_prefix=20000";
const LOAD: &str = "--benchmarks=fillrandom,flush,waitforcompaction --num=3000000";

/// Returns the recipes of growth: the same commands over 1, 4, 16 and 64 million keys in random order. They run only if they
/// are named, because the largest takes an hour and 20 GB.
pub fn growth() -> Vec<Recipe> {
    let recipe = |millions: u64| {
        let flags = format!(
            "--benchmarks=fillrandom,flush,waitforcompaction,readrandom,seekrandom --num={millions}000000 --reads=200000 \
             --value_size=100 --bloom_bits=10 --cache_size=67108864 --compression_type=none --statistics=1"
        );
        Recipe::single(format!("growth-{millions}"), &flags)
    };
    [1, 4, 16, 64].map(recipe).to_vec()
}

/// Returns all recipes except the recipes of growth, in the order of the list.
pub fn all() -> Vec<Recipe> {
    [merges(), filters(), compactions(), estimates(), checksums(), plain()].concat()
}

fn recipe(name: &str, steps: Vec<Step>) -> Recipe {
    Recipe { name: name.to_string(), steps }
}

fn merges() -> Vec<Recipe> {
    let mut out = Vec::new();
    for operands in [1, 10] {
        let keys = 10_000 / operands;
        let memtable = format!(
            "--benchmarks=mergerandom,readseq,readseq,readseq,readseq,readseq --merge_keys={keys} \
             --write_buffer_size=1000000000 {MERGE_LOAD}"
        );
        out.push(recipe(&format!("seed0-memtable-{operands}"), vec![Step::bench(&memtable)]));
        let load = format!("--benchmarks=mergerandom,flush --merge_keys={keys} {MERGE_LOAD}");
        out.push(Recipe::load_then(format!("seed0-cache-{operands}"), &load, MERGE_READ));
    }
    out
}

fn filters() -> Vec<Recipe> {
    [("seed1-ribbon", 3), ("seed1-bloom", 2)]
        .map(|(name, number)| {
            recipe(name, vec![Step::new(Program::FilterBench, &format!("-impl={number} {FILTERS}"))])
        })
        .to_vec()
}

fn compactions() -> Vec<Recipe> {
    [("seed2-runs", "fillseq", IN_RUNS), ("seed2-random", "fillrandom", "")]
        .map(|(name, fill, keys)| {
            let load = format!("--benchmarks={fill},flush --write_buffer_size=33554432 {COMPACT} {keys}");
            let compact =
                format!("--benchmarks=compact --use_existing_db --subcompactions=1 {COMPACT} {keys}");
            recipe(name, vec![Step::bench(&load).quiet(), Step::bench(&compact).keep().cpu()])
        })
        .to_vec()
}

fn estimates() -> Vec<Recipe> {
    [1_000, 30_000, 75, 25, 10]
        .map(|entries| {
            let flags = format!(
                "--benchmarks=filluniquerandom,approximatememtablestats,readrandom --value_size=1 --num=1000000 \
                 --batch_size={entries}"
            );
            Recipe::single(format!("seed3-{entries}"), &flags)
        })
        .to_vec()
}

fn checksums() -> Vec<Recipe> {
    vec![
        recipe(
            "seed4-crc32c",
            vec![Step::bench("--benchmarks=crc32c"), Step::bench("--benchmarks=crc32c --block_size=32768")],
        ),
        Recipe::single(
            "seed4-read".into(),
            "--benchmarks=fillrandom,readrandom --num=1000000 --checksum_type=1 --cache_size=8388608",
        ),
    ]
}

fn plain() -> Vec<Recipe> {
    let reads = "--num=3000000 --bloom_bits=10 --use_existing_db --batch_size=32 --multiread_batched";
    vec![
        recipe(
            "fill",
            vec![
                Step::bench("--benchmarks=fillseq --num=3000000").cpu(),
                Step::bench("--benchmarks=fillrandom --num=3000000").cpu(),
                Step::bench("--benchmarks=overwrite --num=3000000 --use_existing_db").keep().cpu(),
            ],
        ),
        recipe(
            "fill-batch",
            vec![Step::bench("--benchmarks=fillrandom --num=3000000 --batch_size=100 --disable_wal").cpu()],
        ),
        Recipe::load_then(
            "read".into(),
            &format!("{LOAD} --bloom_bits=10"),
            &format!(
                "--benchmarks=readrandom,readmissing,multireadrandom,seekrandom,readseq,readreverse \
                 --reads=1000000 --cache_size=1000000000 {reads}"
            ),
        ),
        Recipe::load_then(
            "read-cold-cache".into(),
            &format!("{LOAD} --bloom_bits=10"),
            &format!(
                "--benchmarks=readrandom,seekrandom,multireadrandom --reads=500000 --cache_size=8388608 {reads}"
            ),
        ),
        Recipe::load_then(
            "scan".into(),
            LOAD,
            "--benchmarks=seekrandom --seek_nexts=100 --reads=100000 --num=3000000 --use_existing_db \
             --cache_size=1000000000",
        ),
        Recipe::single(
            "memtable".into(),
            "--benchmarks=fillrandom,readrandom,seekrandom,readseq --num=1000000 --write_buffer_size=1000000000 \
             --disable_wal",
        ),
        Recipe::load_then(
            "mixed".into(),
            "--benchmarks=fillrandom --num=2000000 --bloom_bits=10",
            "--benchmarks=readwhilewriting,updaterandom,readrandomwriterandom --num=2000000 --reads=500000 \
             --threads=2 --bloom_bits=10 --use_existing_db --cache_size=500000000",
        ),
        Recipe::single(
            "merge".into(),
            "--benchmarks=mergerandom,readrandommergerandom --merge_operator=uint64add --num=1000000 \
             --merge_keys=100000 --value_size=8",
        ),
        Recipe::single(
            "delete".into(),
            "--benchmarks=fillseq,deleteseq,seekrandom --num=1000000 --reads=1000",
        ),
    ]
}
