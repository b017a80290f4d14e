//! `engines`: measures Ironstone and, for comparison, fjall, redb, LMDB and RocksDB.
//!
//! ```text
//! engines [--pairs N] [--dir DIR] [--rocksdb LIBRARY] [ENGINE ...]
//! ```
//! The first workloads are those of redb's published benchmark: keys of 24 bytes, values of 150 bytes, in random order. The
//! workloads `point operations` are like those of fjall's published benchmark, with Zipf's distribution. Each engine
//! runs alone, in a new directory. Each engine has a cache of [`CACHE_BYTES`]. The program prints a table with a column for each
//! engine, and thousands of operations per second, or MB, in the cells.

mod engines;
mod keys;
mod workloads;

use std::path::{Path, PathBuf};
use std::process::ExitCode;

use engines::Store;
use workloads::Row;

/// Errors of all engines.
type Result<T> = std::result::Result<T, Box<dyn std::error::Error + Send + Sync>>;

/// The memory of each engine's cache in bytes. LMDB uses the page cache of the system instead.
const CACHE_BYTES: usize = 1 << 30;

/// The engines, in the order of the columns.
const ENGINES: [&str; 5] = ["ironstone", "rocksdb", "fjall", "redb", "lmdb"];

/// The arguments of the program.
struct Arguments {
    pairs: u64,
    dir: PathBuf,
    rocksdb: Option<PathBuf>,
    engines: Vec<String>,
}

fn arguments() -> Result<Arguments> {
    use lexopt::prelude::*;
    let mut found =
        Arguments { pairs: 1_000_000, dir: std::env::temp_dir(), rocksdb: None, engines: Vec::new() };
    let mut parser = lexopt::Parser::from_env();
    while let Some(argument) = parser.next()? {
        match argument {
            Long("pairs") => found.pairs = parser.value()?.parse()?,
            Long("dir") => found.dir = parser.value()?.into(),
            Long("rocksdb") => found.rocksdb = Some(parser.value()?.into()),
            Value(name) => found.engines.push(name.string()?),
            other => return Err(other.unexpected().into()),
        }
    }
    if found.pairs < 100_000 {
        return Err("--pairs must be 100000 or more: the workloads delete and read parts of the pairs".into());
    }
    if found.engines.is_empty() {
        let is_there = |name: &&str| *name != "rocksdb" || found.rocksdb.is_some();
        found.engines = ENGINES.into_iter().filter(is_there).map(String::from).collect();
    }
    Ok(found)
}

/// Opens a new database of an engine.
fn open(name: &str, dir: &Path, rocksdb: Option<&Path>) -> Result<Box<dyn Store>> {
    Ok(match name {
        "ironstone" => Box::new(engines::ironstone::Ironstone::open(dir)?),
        "rocksdb" => {
            let library = rocksdb.ok_or("--rocksdb must name RocksDB's library, librocksdb.so")?;
            Box::new(engines::rocksdb::RocksDb::open(library, dir)?)
        }
        "fjall" => Box::new(engines::fjall::Fjall::open(dir)?),
        "redb" => Box::new(engines::redb::Redb::open(dir)?),
        "lmdb" => Box::new(engines::lmdb::Lmdb::open(dir)?),
        other => return Err(format!("no engine {other}; the engines are {}", ENGINES.join(", ")).into()),
    })
}

fn run() -> Result<()> {
    let arguments = arguments()?;
    let mut columns: Vec<(String, Vec<Row>)> = Vec::new();
    for name in &arguments.engines {
        let dir = arguments.dir.join(format!("engines-{name}-{}", std::process::id()));
        std::fs::create_dir_all(&dir)?;
        let store = open(name, &dir, arguments.rocksdb.as_deref())?;
        let rows = workloads::run(&*store, &dir, arguments.pairs);
        drop(store);
        std::fs::remove_dir_all(&dir)?;
        columns.push((name.clone(), rows?));
    }
    print(&columns);
    Ok(())
}

fn print(columns: &[(String, Vec<Row>)]) {
    let names: Vec<&str> = columns.iter().map(|(name, _)| name.as_str()).collect();
    println!("| workload | {} |", names.join(" | "));
    println!("|---|{}", "---:|".repeat(names.len()));
    let Some((_, first)) = columns.first() else { return };
    for (at, row) in first.iter().enumerate() {
        let cells: Vec<String> = columns.iter().map(|(_, rows)| rows[at].cell()).collect();
        println!("| {} | {} |", row.name, cells.join(" | "));
    }
}

fn main() -> ExitCode {
    match run() {
        Ok(()) => ExitCode::SUCCESS,
        Err(error) => {
            eprintln!("engines: {error}");
            ExitCode::FAILURE
        }
    }
}
