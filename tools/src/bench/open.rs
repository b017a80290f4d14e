//! The database of the benchmarks: it is opened, emptied and closed here. The acts of the main thread are here too.

use std::path::{Path, PathBuf};
use std::sync::Arc;

use base::{Error, Result};
use env::rate::{IoPriority, Mode, RateLimiter, RateOptions};
use env::{Clock, LoweredPriority};
use ironstone::{
    BlockCache, BottommostLevelCompaction, CompactRangeOptions, Db, FamilyDescriptor, Options, ReadOptions,
    WriteOptions,
};

use super::beside::Beside;
use super::data::{Keys, Sizes};
use super::databases::{self, Database};
use super::file_operations::FileOperations;
use super::flags::Flags;
use super::report::Style;
use super::run::{Ask, Limit, Run, RunCounts, Thread};
use super::setup;
use super::stamps::Stamps;
use super::transaction_db::Transactions;

/// The database, its options and its cache. They live longer than one benchmark.
pub struct House {
    flags: Arc<Flags>,
    path: PathBuf,
    cache: Option<Arc<BlockCache>>,
    options: Options,
    open: Vec<Arc<Database>>,
    transactions: Transactions,
    /// The instance that follows a writer in another process, if the flags ask for one. Its views replace `open`.
    beside: Option<Beside>,
    blob_cache: Option<Arc<BlockCache>>,
    sizes: Sizes,
    seed: u64,
    stamps: Option<Arc<Stamps>>,
    /// The shares of the column families in percent.
    shares: Vec<u64>,
    /// The keys of `--use_existing_keys`.
    keys: Option<&'static [Vec<u8>]>,
    /// The counters of `--report_file_operations`.
    file_operations: Option<Arc<FileOperations>>,
}

impl House {
    /// Opens the database that the flags name.
    ///
    /// # Errors
    /// Errors of the options and of the open.
    pub fn new(flags: Arc<Flags>) -> Result<House> {
        let seed = match flags.count("seed") {
            0 => {
                let now = std::time::SystemTime::now().duration_since(std::time::UNIX_EPOCH);
                let seed = now.map_or(1, |d| d.as_micros() as u64);
                println!("Set seed to {seed} because --seed was 0");
                seed
            }
            seed => seed,
        };
        setup::announce(&flags);
        let cache = setup::cache(&flags)?;
        let mut options = setup::options(&flags, cache.clone())?;
        let file_operations =
            flags.bool("report_file_operations").then(|| FileOperations::install(&mut options.db.env));
        let path = match flags.text("db") {
            "" => setup::test_directory()?.join("dbbench"),
            path => PathBuf::from(path),
        };
        let (low, high) = (flags.count("value_size_min") as usize, flags.count("value_size_max") as usize);
        let sizes = match flags.text("value_size_distribution_type") {
            "fixed" => Sizes::Fixed(flags.count("value_size") as usize),
            "uniform" => Sizes::Uniform(low, high),
            "normal" => Sizes::Normal(low, high),
            other => {
                return Err(Error::invalid_argument(format!(
                    "--value_size_distribution_type={other}; known: fixed, uniform, normal"
                )));
            }
        };
        set_pools(&flags, &options.db.env);
        let blob_cache = setup::blob_cache(&flags, cache.as_ref())?;
        let stamps = (flags.int("user_timestamp_size") > 0)
            .then(|| Arc::new(Stamps::new(flags.bool("read_with_latest_user_timestamp"))));
        databases::check_flags(&flags)?;
        let shares = databases::shares(&flags)?;
        let mut house = House {
            flags,
            path,
            cache,
            options,
            open: Vec::new(),
            transactions: Transactions::None,
            beside: None,
            blob_cache,
            sizes,
            seed,
            stamps,
            shares,
            keys: None,
            file_operations,
        };
        let existing = house.flags.bool("use_existing_db");
        if house.flags.bool("use_existing_keys") && !existing {
            return Err(Error::invalid_argument(
                "`-use_existing_db` must be true for `-use_existing_keys` to be settable",
            ));
        }
        let beside = house.flags.bool("use_secondary_db") || house.flags.bool("open_as_follower");
        if !existing && !beside {
            house.destroy()?;
        }
        house.open()?;
        if house.flags.bool("use_existing_keys") {
            house.keys = Some(existing_keys(house.run("")?.db()?)?);
        }
        Ok(house)
    }

    /// Returns the directory of the database.
    pub fn path(&self) -> &Path {
        &self.path
    }

    fn open(&mut self) -> Result<()> {
        let several = self.flags.count("num_multi_db") > 1;
        for (at, path) in databases::directories(&self.flags, &self.path).into_iter().enumerate() {
            let start = std::time::Instant::now();
            let options = options_of(&self.options, several.then_some(at))?;
            let database = self.open_one(&path, options)?;
            if self.flags.bool("report_open_timing") {
                println!("OpenDb:     {:.3} milliseconds", start.elapsed().as_secs_f64() * 1e3);
            }
            self.open.push(database);
        }
        Ok(())
    }

    fn open_one(&mut self, path: &Path, options: Options) -> Result<Arc<Database>> {
        let count = self.flags.count("num_column_families").max(1);
        let mut names = vec!["default".to_string()];
        names.extend((1..count).map(|i| format!("column_family_name_{i:06}")));
        let descriptor = |name: &String| FamilyDescriptor {
            blob_cache: self.blob_cache.clone(),
            ..FamilyDescriptor::new(name.as_str(), self.options.family.clone())
        };
        let descriptors: Vec<_> = names.iter().map(descriptor).collect();
        let hot = databases::hot_families(&self.flags);
        let first = descriptors[..hot].to_vec();
        self.beside = Beside::open(&self.flags, path, options.clone(), first.clone())?;
        let db = match &self.beside {
            Some(beside) => beside.view(),
            None => {
                let (db, transactions) = Transactions::open(&self.flags, path, options, first)?;
                self.transactions = transactions;
                db
            }
        };
        Database::new(db, descriptors, hot, self.shares.clone())
    }

    /// Deletes the files of all databases.
    fn destroy(&self) -> Result<()> {
        let several = self.flags.count("num_multi_db") > 1;
        for (at, path) in databases::directories(&self.flags, &self.path).into_iter().enumerate() {
            let options = options_of(&self.options, several.then_some(at))?;
            ironstone::destroy(&path, &options.db)?;
        }
        Ok(())
    }

    /// Closes the database, deletes it, and opens an empty database.
    ///
    /// # Errors
    /// Errors of the deletion and of the open.
    pub fn start_fresh(&mut self) -> Result<()> {
        if self.beside.is_some() {
            return Err(Error::invalid_argument(
                "a secondary instance or a follower cannot start with an empty database",
            ));
        }
        self.close()?;
        self.destroy()?;
        setup::announce(&self.flags);
        self.open()
    }

    fn close(&mut self) -> Result<()> {
        self.transactions = Transactions::None;
        if let Some(updates) = self.beside.take().and_then(Beside::stop) {
            println!("Secondary instance updated  {updates} times.");
        }
        self.open.drain(..).try_for_each(|database| database.db.close())
    }

    /// Returns the settings of one benchmark.
    ///
    /// # Errors
    /// Errors of finding the column families in the newest view, if the database follows a writer. A database that is
    /// not open is no error here. [`Run::db`] reports it.
    pub fn run(&mut self, name: &str) -> Result<Run> {
        if let Some(beside) = &self.beside {
            for database in &mut self.open {
                *database = database.in_view(beside.view())?;
            }
        }
        let flags = &self.flags;
        let amounts = self.amounts(name);
        let or_total = |flag: &str| or(flags, flag, amounts.total);
        let limit = |flag: &str| (flags.int(flag) > 0).then(|| Limit::new(flags.count(flag)));
        Ok(Run {
            ask: match name {
                "readrandomoperands" => Ask::Operands,
                "readrandomentity" | "multireadentity" => Ask::Entity,
                _ => Ask::Value,
            },
            flags: flags.clone(),
            path: self.path.clone(),
            options: self.options.clone(),
            stamps: self.stamps.clone(),
            databases: self.open.clone(),
            transactions: self.transactions.clone(),
            keys: Keys {
                key_size: amounts.key_size,
                prefix_size: flags.count("prefix_size") as usize,
                keys_per_prefix: flags.count("keys_per_prefix"),
                num: amounts.total,
                existing: self.keys,
            },
            counts: RunCounts {
                num: amounts.num,
                reads: amounts.reads,
                writes: or(flags, "writes", amounts.num),
                deletes: or_total("deletes"),
                readwrites: match (flags.int("reads"), flags.int("writes")) {
                    (r, w) if r < 0 && w < 0 => amounts.total,
                    (r, w) => r.max(w).max(0).unsigned_abs(),
                },
                merge_keys: or_total("merge_keys").max(1),
                batch: amounts.batch,
            },
            sizes: amounts.sizes,
            write_options: write_options(flags, name),
            read_options: read_options(flags),
            seed: self.seed,
            write_limit: if flags.bool("sine_write_rate") {
                Some(Limit::new(super::mix::sine(flags, 0.0) as u64))
            } else {
                limit("benchmark_write_rate_limit")
            },
            read_limit: limit("benchmark_read_rate_limit"),
            style: self.style(),
        })
    }

    /// Returns the style of the report. Status lines have the statistics of the first database.
    fn style(&self) -> Style {
        let families = || self.open.first().map(|database| database.existing().cloned().collect());
        let flags = &self.flags;
        let threads = flags.int("thread_status_per_interval") != 0;
        Style {
            histogram: flags.bool("histogram"),
            progress: flags.bool("progress_reports")
                && (std::io::IsTerminal::is_terminal(&std::io::stderr())
                    || flags.count("stats_interval") > 0
                    || threads),
            slow: std::time::Duration::from_micros(flags.count("slow_usecs")),
            interval: flags.count("stats_interval"),
            interval_seconds: flags.count("stats_interval_seconds"),
            per_interval: if flags.int("stats_per_interval") > 0 { families() } else { None },
            table_properties: flags.bool("show_table_properties"),
            file_operations: self.file_operations.clone(),
            thread_status: threads.then(|| self.options.db.env.clone()),
        }
    }

    /// Returns the amounts of one benchmark. Some benchmarks have other amounts than the flags, as in RocksDB.
    fn amounts(&self, name: &str) -> Amounts {
        let flags = &self.flags;
        let total = self.keys.map_or(flags.count("num"), |keys| keys.len() as u64);
        let mut amounts = Amounts {
            total,
            num: total,
            reads: or(flags, "reads", total),
            batch: flags.count("batch_size").max(1),
            key_size: flags.count("key_size") as usize,
            sizes: self.sizes,
        };
        match name {
            "fillbatch" => amounts.batch = 1000,
            "fillsync" => amounts.num /= 1000,
            "fill100K" => {
                amounts.num /= 1000;
                amounts.sizes = Sizes::Fixed(100_000);
            }
            "readmissing" => amounts.key_size += 1,
            "readrandomsmall" => amounts.reads /= 1000,
            "readtocache" => amounts.reads = amounts.num,
            _ => {}
        }
        amounts
    }

    /// Prints the settings and the machine at the start of the program.
    ///
    /// # Errors
    /// InvalidArgument for an unknown compression.
    pub fn print_header(&self) -> Result<()> {
        let flags = &self.flags;
        eprintln!("Ironstone:  version {} (files of RocksDB 11.8.1)", env!("CARGO_PKG_VERSION"));
        eprintln!("Date:       {}", super::clock::ctime());
        if let Some((cpus, model, cache)) = cpu() {
            eprintln!("CPU:        {cpus} * {model}");
            eprintln!("CPUCache:   {cache}");
        }
        let key_size = flags.count("key_size");
        let num = flags.count("num");
        let ratio = flags.double("compression_ratio");
        println!(
            "Keys:       {key_size} bytes each (+ {} bytes user-defined timestamp)",
            flags.int("user_timestamp_size")
        );
        let average = match self.sizes {
            Sizes::Fixed(n) => {
                println!(
                    "Values:     {n} bytes each ({} bytes after compression)",
                    (n as f64 * ratio + 0.5) as u64
                );
                n
            }
            Sizes::Uniform(low, high) | Sizes::Normal(low, high) => {
                let n = (low + high) / 2;
                println!(
                    "Values:     {n} avg bytes each ({} bytes after compression)",
                    (n as f64 * ratio + 0.5) as u64
                );
                println!(
                    "Values Distribution: {} (min: {low}, max: {high})",
                    flags.text("value_size_distribution_type")
                );
                n
            }
        };
        let raw = (key_size + average as u64) as f64 * num as f64 / 1_048_576.0;
        let stored = (key_size as f64 + average as f64 * ratio) * num as f64 / 1_048_576.0;
        println!("Entries:    {num}");
        println!("Prefix:    {} bytes", flags.int("prefix_size"));
        println!("Keys per prefix:    {}", flags.int("keys_per_prefix"));
        println!("RawSize:    {raw:.1} MB (estimated)");
        println!("FileSize:   {stored:.1} MB (estimated)");
        println!("Write rate: {} bytes/second", flags.int("benchmark_write_rate_limit"));
        println!("Read rate: {} ops/second", flags.int("benchmark_read_rate_limit"));
        println!("Compression: {}", setup::compression(flags, "compression_type")?.name());
        println!("Compression sampling rate: {}", flags.count("sample_for_compression"));
        println!("Memtablerep: {}", self.options.family.memtable_factory.name());
        println!("Perf Level: {}", flags.int("perf_level"));
        if cfg!(debug_assertions) {
            println!("WARNING: Optimization is disabled: benchmarks unnecessarily slow");
        }
        println!("------------------------------------------------");
        Ok(())
    }

    /// Prints the statistics if the flags ask for them, and closes the database.
    ///
    /// # Errors
    /// Errors of the close.
    pub fn finish(mut self) -> Result<()> {
        if self.flags.bool("statistics")
            && let Some(statistics) = &self.options.db.statistics
        {
            println!("STATISTICS:\n{statistics}");
        }
        self.close()?;
        drop(self.cache);
        Ok(())
    }
}

/// The amounts of one benchmark.
struct Amounts {
    /// The number of keys of the database.
    total: u64,
    /// The number of keys that this benchmark uses.
    num: u64,
    reads: u64,
    batch: u64,
    key_size: usize,
    sizes: Sizes,
}

/// Returns the value of a flag, or `other` if the value is below 0.
fn or(flags: &Flags, flag: &str, other: u64) -> u64 {
    if flags.int(flag) < 0 { other } else { flags.count(flag) }
}

fn write_options(flags: &Flags, name: &str) -> WriteOptions {
    WriteOptions {
        sync: flags.bool("sync") || name == "fillsync",
        disableWAL: flags.bool("disable_wal"),
        rate_limiter_priority: flags.bool("rate_limit_auto_wal_flush").then_some(IoPriority::User),
        protection_bytes_per_key: flags.count("write_batch_protection_bytes_per_key") as usize,
        ..WriteOptions::default()
    }
}

fn read_options(flags: &Flags) -> ReadOptions {
    ReadOptions {
        verify_checksums: flags.bool("verify_checksum"),
        total_order_seek: flags.bool("total_order_seek"),
        prefix_same_as_start: flags.bool("prefix_same_as_start"),
        tailing: flags.bool("use_tailing_iterator"),
        readahead_size: flags.count("readahead_size") as usize,
        adaptive_readahead: flags.bool("adaptive_readahead"),
        auto_readahead_size: flags.bool("auto_readahead_size"),
        async_io: flags.bool("async_io"),
        optimize_multiget_for_io: flags.bool("optimize_multiget_for_io"),
        auto_refresh_iterator_with_snapshot: flags.bool("auto_refresh_iterator_with_snapshot"),
        rate_limiter_priority: flags.bool("rate_limit_user_ops").then_some(IoPriority::User),
        ..ReadOptions::default()
    }
}

/// Sets the sizes and the priorities of the thread pools.
fn set_pools(flags: &Flags, env: &env::Env) {
    let pools = &env.executor;
    for (flag, pool) in [
        ("num_bottom_pri_threads", env::Pool::Bottom),
        ("num_high_pri_threads", env::Pool::High),
        ("num_low_pri_threads", env::Pool::Low),
    ] {
        if flags.int(flag) > 0 {
            pools.set_threads(pool, flags.count(flag) as usize);
        }
    }
    for (flag, lowered) in
        [("enable_io_prio", LoweredPriority::CpuAndIo), ("enable_cpu_prio", LoweredPriority::Cpu)]
    {
        if flags.bool(flag) {
            pools.lower_priority(env::Pool::Low, lowered);
            pools.lower_priority(env::Pool::High, lowered);
        }
    }
}

/// Returns the options of one database. Each of several databases has its own directory in `--wal_dir`.
fn options_of(options: &Options, at: Option<usize>) -> Result<Options> {
    let mut options = options.clone();
    if let Some(at) = at
        && let Some(wal_dir) = options.db.get("wal_dir").filter(|path| !path.is_empty())
    {
        options.db.set("wal_dir", &Path::new(&wal_dir).join(at.to_string()).to_string_lossy())?;
    }
    Ok(options)
}

/// Returns all keys of the default column family. The keys live until the process ends, because all benchmarks use
/// them.
fn existing_keys(db: &Db) -> Result<&'static [Vec<u8>]> {
    let mut iter = db.iter_with(ReadOptions { total_order_seek: true, ..ReadOptions::default() })?;
    let mut keys = Vec::new();
    iter.seek_to_first();
    while iter.valid() {
        keys.push(iter.key().to_vec());
        iter.next();
    }
    iter.status()?;
    if keys.is_empty() {
        return Err(Error::invalid_argument("--use_existing_keys: the database has no key"));
    }
    Ok(keys.leak())
}

/// Returns the number of processors, their model, and their cache size.
fn cpu() -> Option<(usize, String, String)> {
    let text = std::fs::read_to_string("/proc/cpuinfo").ok()?;
    let values = |name: &str| {
        text.lines()
            .filter_map(|line| line.split_once(':'))
            .filter(|(key, _)| key.trim() == name)
            .map(|(_, value)| value.trim().to_string())
            .collect::<Vec<_>>()
    };
    let models = values("model name");
    Some((models.len(), models.last()?.clone(), values("cache size").pop().unwrap_or_default()))
}

/// Returns the rate limiter of `--rate_limiter_bytes_per_sec`.
///
/// # Errors
/// InvalidArgument if the rate or the period is not above 0.
pub fn rate_limiter(flags: &Flags, rate: i64, clock: Arc<dyn Clock>) -> Result<Arc<RateLimiter>> {
    let mut options = RateOptions::new(rate);
    options.refill_period_us = flags.int("rate_limiter_refill_period_us");
    options.mode = if flags.bool("rate_limit_bg_reads") { Mode::ReadsOnly } else { Mode::WritesOnly };
    options.single_burst_bytes = flags.int("rate_limiter_single_burst_bytes").max(0);
    options.auto_tuned = flags.bool("rate_limiter_auto_tuned");
    RateLimiter::new(options, clock).map(Arc::new)
}

fn compact_options(run: &Run) -> CompactRangeOptions {
    CompactRangeOptions {
        max_subcompactions: run.flags.count("subcompactions") as u32,
        ..CompactRangeOptions::default()
    }
}

/// Compacts all keys, and rewrites the bottommost level too (compact).
pub fn compact(thread: &mut Thread<'_>) -> Result<()> {
    let options = CompactRangeOptions {
        bottommost_level_compaction: BottommostLevelCompaction::ForceOptimized,
        ..compact_options(thread.run)
    };
    thread.choose_db()?.db.compact_range(None, None, &options)
}

/// Compacts all keys with the default rule for the bottommost level (compactall).
pub fn compact_all(run: &Run) -> Result<()> {
    run.databases.iter().try_for_each(|database| database.db.compact_range(None, None, &compact_options(run)))
}

/// Waits until no flush and no compaction is due. Prints a line before and after the wait.
pub fn wait_for_compaction(run: &Run) -> Result<()> {
    for database in &run.databases {
        let path = database.db.path().display();
        println!("waitforcompaction({path}): started");
        database.db.wait_for_compact()?;
        println!("waitforcompaction({path}): finished with status (OK)");
    }
    Ok(())
}

/// Flushes the memtables of all column families, and waits for each flush.
pub fn flush(run: &Run) -> Result<()> {
    for family in run.databases.iter().flat_map(|database| database.existing()) {
        family.flush()?;
    }
    println!("flush memtable");
    Ok(())
}

/// Prints the name of a database before its statistics, if there are several databases.
fn print_title(run: &Run, database: &Database) {
    if run.databases.len() > 1 {
        println!("\n==== DB: {} ===", database.db.path().display());
    }
}

/// Prints the text of a property, or `(failed)` if there is no such property.
pub fn print_property(run: &Run, name: &str) -> Result<()> {
    for database in &run.databases {
        print_title(run, database);
        println!("\n{}", database.db.property(name).unwrap_or_else(|| "(failed)".to_string()));
    }
    Ok(())
}

/// Prints the changes of the tickers in each period of `stats_persist_period_sec`, as `GetStatsHistory` returns them.
pub fn stats_history(run: &Run) -> Result<()> {
    for database in &run.databases {
        print_title(run, database);
        for slice in database.db.stats_history(0, u64::MAX) {
            let (second, tickers) = slice?;
            println!("------ {} ------", super::clock::ctime_of(second as i64));
            for (name, count) in tickers {
                println!(" {second}   {name}  {count}");
            }
        }
    }
    Ok(())
}

/// Prints the properties about the number, size and entries of memtables.
pub fn memstats(run: &Run) -> Result<()> {
    for database in &run.databases {
        print_title(run, database);
        for name in [
            "rocksdb.num-immutable-mem-table",
            "rocksdb.cur-size-active-mem-table",
            "rocksdb.cur-size-all-mem-tables",
            "rocksdb.size-all-mem-tables",
            "rocksdb.num-entries-active-mem-table",
            "rocksdb.num-entries-imm-mem-tables",
        ] {
            let value = database.db.property(name).unwrap_or_else(|| "(failed)".to_string());
            println!("{name}: {value}");
        }
    }
    Ok(())
}

/// Sets the statistics of the database to 0.
pub fn reset_stats(run: &Run) -> Result<()> {
    run.databases.iter().for_each(|database| database.db.reset_stats());
    Ok(())
}
