//! db_bench: RocksDB's benchmarks, flags and report lines over this engine.
//!
//! ```text
//! flags (command line) ─► setup (options) ─► open ─► for each benchmark: run ─► threads ─► report
//! ```
//! Each benchmark does and prints the same as in RocksDB 11.8.1. Facts: RocksDB `tools/db_bench_tool.cc`.

mod beside;
mod check;
mod clock;
pub(crate) use clock::ctime_of;
mod data;
mod databases;
mod dice;
mod disposable;
mod embedded;
mod file_operations;
mod fill;
mod flag_table;
pub(crate) mod flags;
mod levels;
mod lists;
mod mix;
mod open;
mod reads;
mod report;
mod reporter;
mod run;
mod series;
mod setup;
mod stamped;
mod stamps;
mod sums;
mod thread_status;
mod traces;
mod transaction_db;
mod transactions;
mod transfer;
mod writes;

use std::process::ExitCode;
use std::sync::Arc;

use base::{Error, Result};

use flags::Flags;
use run::{Method, Run};

/// The benchmarks by name, with a description.
pub const BENCHMARKS: &[(&str, &str)] = &[
    ("fillseq", "write N values in sequential key order"),
    ("fillbatch", "fillseq in batches of 1000"),
    ("fillrandom", "write N values in random key order"),
    ("filluniquerandom", "write N values in random order, each key once"),
    ("fillanddeleteuniquerandom", "filluniquerandom, with batches of entries deleted after a delay"),
    ("fillseqdeterministic", "fill each level with one run, the last in key order"),
    ("filluniquerandomdeterministic", "fill each level with one run, all in random order"),
    ("overwrite", "overwrite N values in random key order"),
    ("fillsync", "write N/1000 values in random order, each synced"),
    ("fill100K", "write N/1000 100 KB values in random order"),
    ("deleteseq", "delete N keys in sequential order"),
    ("deleterandom", "delete N keys in random order"),
    ("readseq", "read N times sequentially"),
    ("readtocache", "one thread reads the database sequentially"),
    ("readtorowcache", "read each key once, into the row cache"),
    ("readreverse", "read N times in reverse order"),
    ("readrandom", "read N times in random order"),
    ("readrandomfast", "read N times in random order, a hundred between checks"),
    ("readmissing", "read N missing keys in random order"),
    ("readrandomoperands", "readrandom of merge operands"),
    ("readhot", "read N times in random order from the first 1% of the keys"),
    ("readrandomsmall", "readrandom with N/1000 reads"),
    ("readrandomentity", "read all columns N times in random order"),
    ("multireadentity", "read all columns in batches of --batch_size"),
    ("multireadrandom", "read in batches of --batch_size"),
    ("readwhilewriting", "one writer, N threads reading at random"),
    ("readwhilemerging", "one merger, N threads reading at random"),
    ("readwhilescanning", "one thread scanning, N threads reading at random"),
    ("multireadwhilewriting", "one writer, N threads reading in batches"),
    ("readrandomwriterandom", "N threads reading and writing at random"),
    ("updaterandom", "N threads read-modify-write random keys"),
    ("xorupdaterandom", "N threads read-xor-write random keys"),
    ("appendrandom", "N threads read-modify-write with growing values"),
    ("mergerandom", "N threads merge; needs --merge_operator"),
    ("readrandommergerandom", "N threads read or merge; needs --merge_operator"),
    (
        "getmergeoperands",
        "search a number in a merged list and in its operands; needs --merge_operator=sortlist",
    ),
    ("mixgraph", "gets, puts and scans in the --mix_* shares over modelled keys"),
    ("timeseries", "one writer of events, N-1 threads reading or deleting them"),
    ("randomwithverify", "gets, puts and deletes of key groups, checked"),
    ("randomtransaction", "add to a key in each of --transaction_sets, in a transaction or a batch"),
    ("randomreplacekeys", "replace keys by deleting the old version and putting the new"),
    ("newiterator", "repeated iterator creation"),
    ("newiteratorwhilewriting", "the same while another thread writes"),
    ("seekrandom", "N random seeks, --seek_nexts nexts each"),
    ("seekrandomwhilewriting", "the same while another thread writes"),
    ("seekrandomwhilemerging", "the same while another thread merges"),
    ("fillseekseq", "write N values in order, then seek each"),
    ("approximatesizerandom", "sizes of random ranges"),
    ("approximatememtablestats", "estimates of entries in memtable ranges"),
    ("crc32c", "crc32c of --block_size bytes"),
    ("xxhash", "xxHash of --block_size bytes"),
    ("xxhash64", "xxHash64 of --block_size bytes"),
    ("xxh3", "XXH3 of --block_size bytes"),
    ("compress", "compression of --block_size bytes"),
    ("uncompress", "decompression of --block_size bytes"),
    ("compressreject", "compression of --block_size bytes that does not pay"),
    ("acquireload", "a thousand loads"),
    ("backup", "back up the database to --backup_dir"),
    ("restore", "restore the newest backup of --backup_dir to --restore_dir"),
    ("ingestexternalfile", "write SST files of N keys and ingest them in batches"),
    ("fillembeddedblob", "ingest one SST file of N values, the large ones as embedded blobs"),
    ("fillembeddedentity", "ingest one SST file of N entities, the large columns as embedded blobs"),
    ("replay", "make the calls of --trace_file"),
    ("verify", "compare with the database of --truth_db, key by key"),
    ("verifychecksum", "check every block of every file"),
    ("verifyfilechecksums", "check every file against its checksum; needs --file_checksum"),
    ("compact", "compact the whole database"),
    ("compactall", "compact the whole database"),
    ("compact0", "compact level 0 into the next level that has data"),
    ("compact1", "compact the first level below 0 into the next that has data"),
    ("waitforcompaction", "wait until nothing is left to compact"),
    ("flush", "flush the memtable"),
    ("stats", "print rocksdb.stats"),
    ("stats_history", "print the tickers of each --stats_persist_period_sec; needs --statistics"),
    ("levelstats", "print rocksdb.levelstats"),
    ("memstats", "print sizes of memtables"),
    ("sstables", "print rocksdb.sstables"),
    ("block_cache_entry_stats", "print rocksdb.block-cache-entry-stats"),
    ("resetstats", "reset the database's statistics"),
];

/// A benchmark runs a method on threads, or one act on the main thread.
enum Task {
    Threads(Method),
    Act(fn(&Run) -> Result<()>),
}

fn task(name: &str) -> Option<Task> {
    use Task::{Act, Threads};
    Some(match name {
        "fillseq" | "fillbatch" => Threads(fill::fill_seq),
        "fillrandom" | "overwrite" | "fillsync" | "fill100K" => Threads(fill::fill_random),
        "filluniquerandom" => Threads(fill::fill_unique_random),
        "fillanddeleteuniquerandom" => Threads(disposable::fill_and_delete),
        "fillseqdeterministic" => Threads(levels::fill_seq_deterministic),
        "filluniquerandomdeterministic" => Threads(levels::fill_unique_random_deterministic),
        "deleteseq" => Threads(writes::delete_seq),
        "deleterandom" => Threads(writes::delete_random),
        "readseq" | "readtocache" => Threads(reads::read_seq),
        "readreverse" => Threads(reads::read_reverse),
        "readrandom" | "readmissing" | "readrandomsmall" | "readrandomoperands" | "readrandomentity" => {
            Threads(reads::read_random)
        }
        "readrandomfast" => Threads(reads::read_random_fast),
        "readtorowcache" => Threads(reads::read_to_row_cache),
        "readhot" => Threads(reads::read_hot),
        "multireadrandom" | "multireadentity" => Threads(reads::multi_read_random),
        "readwhilewriting" => Threads(reads::read_while_writing),
        "readwhilemerging" => Threads(reads::read_while_merging),
        "readwhilescanning" => Threads(reads::read_while_scanning),
        "multireadwhilewriting" => Threads(reads::multi_read_while_writing),
        "readrandomwriterandom" => Threads(reads::read_random_write_random),
        "updaterandom" => Threads(writes::update_random),
        "xorupdaterandom" => Threads(writes::xor_update_random),
        "appendrandom" => Threads(writes::append_random),
        "mergerandom" => Threads(writes::merge_random),
        "readrandommergerandom" => Threads(writes::read_random_merge_random),
        "getmergeoperands" => Threads(lists::get_merge_operands),
        "mixgraph" => Threads(mix::mix_graph),
        "timeseries" => Threads(series::time_series),
        "randomwithverify" => Threads(reads::random_with_verify),
        "randomtransaction" => Threads(transactions::random_transaction),
        "randomreplacekeys" => Threads(writes::random_replace_keys),
        "newiterator" => Threads(reads::new_iterator),
        "newiteratorwhilewriting" => Threads(reads::new_iterator_while_writing),
        "seekrandom" => Threads(reads::seek_random),
        "seekrandomwhilewriting" => Threads(reads::seek_while_writing),
        "seekrandomwhilemerging" => Threads(reads::seek_while_merging),
        "fillseekseq" => Threads(reads::fill_seek_seq),
        "approximatesizerandom" => Threads(reads::approximate_size_random),
        "approximatememtablestats" => Threads(reads::approximate_memtable_stats),
        "crc32c" => Threads(sums::crc32c),
        "xxhash" => Threads(sums::xxhash),
        "xxhash64" => Threads(sums::xxhash64),
        "xxh3" => Threads(sums::xxh3),
        "compress" => Threads(sums::compress),
        "uncompress" => Threads(sums::uncompress),
        "compressreject" => Threads(sums::compress_reject),
        "acquireload" => Threads(sums::acquire_load),
        "backup" => Threads(transfer::backup),
        "restore" => Threads(transfer::restore),
        "ingestexternalfile" => Threads(transfer::ingest_external_file),
        "fillembeddedblob" => Threads(embedded::fill_blobs),
        "fillembeddedentity" => Threads(embedded::fill_entities),
        "replay" => Threads(traces::replay),
        "verify" => Act(check::against_truth),
        "verifychecksum" => Threads(check::checksums),
        "verifyfilechecksums" => Threads(check::file_checksums),
        "compact" => Threads(open::compact),
        "compactall" => Act(open::compact_all),
        "compact0" => Act(levels::compact0),
        "compact1" => Act(levels::compact1),
        "waitforcompaction" => Act(open::wait_for_compaction),
        "flush" => Act(open::flush),
        "stats" => Act(|run| open::print_property(run, "rocksdb.stats")),
        "levelstats" => Act(|run| open::print_property(run, "rocksdb.levelstats")),
        "sstables" => Act(|run| open::print_property(run, "rocksdb.sstables")),
        "block_cache_entry_stats" => Act(|run| open::print_property(run, "rocksdb.block-cache-entry-stats")),
        "stats_history" => Act(open::stats_history),
        "memstats" => Act(open::memstats),
        "resetstats" => Act(open::reset_stats),
        _ => return None,
    })
}

/// Benchmarks that start with an empty database.
const FRESH: &[&str] = &[
    "fillseq",
    "fillbatch",
    "fillrandom",
    "filluniquerandom",
    "fillanddeleteuniquerandom",
    "fillsync",
    "fill100K",
    "fillseekseq",
    "fillembeddedblob",
    "fillembeddedentity",
    "timeseries",
];

/// RocksDB's benchmarks that are not built, with the feature that they need.
pub const MISSING: &[(&str, &str)] = &[
    ("cache_report_problems", "a cache that checks itself"),
    ("multiscan, multiscanrandom", "scans of many ranges at once"),
    ("openandcompact", "compaction in another process"),
    ("readrandomcoroutine, multireadrandomcoroutine", "reads as coroutines"),
];

/// Runs the program with its arguments, without the program's name.
pub fn main(args: impl IntoIterator<Item = String>) -> ExitCode {
    let flags = match Flags::parse(args) {
        Ok(flags) => flags,
        Err(flags::Stop::Done(text)) => {
            println!("{text}");
            return ExitCode::SUCCESS;
        }
        Err(flags::Stop::Failed(text)) => {
            eprintln!("{text}");
            return ExitCode::FAILURE;
        }
    };
    match benchmarks(Arc::new(flags)) {
        Ok(()) => ExitCode::SUCCESS,
        Err(error) => {
            eprintln!("{}", crate::advice::with_advice(&error));
            ExitCode::FAILURE
        }
    }
}

/// Splits `name[X5-W1]` into the name, the number of runs, and the number of warm-up runs before them.
fn repeats(spec: &str) -> Result<(&str, u32, u32)> {
    let Some((name, rest)) = spec.split_once('[') else { return Ok((spec, 1, 0)) };
    let wrong = || Error::invalid_argument(format!("unknown benchmark arguments '{spec}'"));
    let (mut runs, mut warmups) = (1, 0);
    for part in rest.strip_suffix(']').ok_or_else(wrong)?.split('-').filter(|p| !p.is_empty()) {
        if let Some(n) = part.strip_prefix('X') {
            runs = n.parse().map_err(|_| wrong())?;
        } else if let Some(n) = part.strip_prefix('W') {
            warmups = n.parse().map_err(|_| wrong())?;
        } else {
            return Err(wrong());
        }
    }
    Ok((name, runs, warmups))
}

fn benchmarks(flags: Arc<Flags>) -> Result<()> {
    if !(0.0..=1.0).contains(&flags.double("compression_ratio")) {
        return Err(Error::invalid_argument("compression_ratio should be between 0 and 1"));
    }
    let specs: Vec<String> =
        flags.text("benchmarks").split(',').filter(|s| !s.is_empty()).map(String::from).collect();
    for spec in &specs {
        let (name, ..) = repeats(spec)?;
        if task(name).is_none() {
            return Err(Error::invalid_argument(format!("unknown benchmark '{name}'\n{}", flags::listing())));
        }
    }
    let mut house = open::House::new(flags.clone())?;
    house.print_header()?;
    let mut threads_before = 0u64;
    for spec in &specs {
        let (name, ..) = repeats(spec)?;
        let Some(task) = task(name) else { continue };
        check_flags(&flags, name)?;
        databases::check(&flags, name)?;
        if is_deterministic(name) || FRESH.contains(&name) {
            if flags.bool("use_existing_db") {
                println!("{name:<12} : skipped (--use_existing_db is true)");
                continue;
            }
            house.start_fresh()?;
        }
        let run = house.run(name)?;
        if name.starts_with("multiread") {
            eprintln!("entries_per_batch = {}", run.counts.batch);
        }
        if matches!(name, "mergerandom" | "readrandommergerandom") && flags.text("merge_operator").is_empty()
        {
            println!("{name:<12} : skipped (--merge_operator is unknown)");
            return Err(Error::invalid_argument(format!("{name} needs --merge_operator")));
        }
        match task {
            Task::Act(act) => act(&run)?,
            Task::Threads(method) => {
                println!("DB path: [{}]", house.path().display());
                repeat(&run, spec, method, &mut threads_before)?;
            }
        }
    }
    house.finish()
}

/// Runs a benchmark as often as its spec says, and prints the reports. `threads_before` is the number of threads of all
/// earlier runs.
fn repeat(run: &Run, spec: &str, method: Method, threads_before: &mut u64) -> Result<()> {
    let (name, runs, warmups) = repeats(spec)?;
    if matches!(name, "backup" | "restore") {
        println!("Backup path: [{}]", transfer::backup_dir(run).display());
    }
    if name == "restore" {
        println!("Restore path: [{}]", transfer::restore_dir(run).display());
    }
    let threads = threads_of(&run.flags, name);
    traces::start(run, name)?;
    if warmups > 0 {
        println!("Warming up benchmark by running {warmups} times");
    }
    for _ in 0..warmups {
        let mut stats = run::run(run, threads, threads_before, method)?;
        print!("{}", stats.report(name));
    }
    if runs > 1 {
        println!("Running benchmark for {runs} times");
    }
    let mut combined = report::Runs::default();
    for _ in 0..runs {
        let mut stats = run::run(run, threads, threads_before, method)?;
        print!("{}", stats.report(name));
        combined.add(&stats);
        print!("{}", combined.report(name, run.flags.bool("confidence_interval_only")));
    }
    if runs > 1 {
        print!("{}", combined.summary(name));
    }
    traces::end(run, name)
}

fn is_deterministic(name: &str) -> bool {
    name.ends_with("deterministic")
}

/// Checks the flags that a benchmark needs before its database is opened.
fn check_flags(flags: &Flags, name: &str) -> Result<()> {
    if is_deterministic(name) && !flags.bool("disable_auto_compactions") {
        return Err(Error::invalid_argument(
            "Please disable_auto_compactions in FillDeterministic benchmark",
        ));
    }
    if name == "readtorowcache" && !(flags.bool("use_existing_keys") && flags.int("row_cache_size") != 0) {
        return Err(Error::invalid_argument(
            "Please set use_existing_keys to true and specify a row cache size in readtorowcache benchmark",
        ));
    }
    Ok(())
}

/// Returns the number of threads of a benchmark.
fn threads_of(flags: &Flags, name: &str) -> usize {
    let threads = flags.count("threads").max(1) as usize;
    match name {
        "backup" | "restore" | "ingestexternalfile" | "fillembeddedblob" | "fillembeddedentity" => 1,
        "readtocache" | "filluniquerandom" | "fillanddeleteuniquerandom" | "getmergeoperands" => 1,
        _ if is_deterministic(name) => 1,
        _ if name.contains("while") => threads + 1,
        _ => threads,
    }
}
