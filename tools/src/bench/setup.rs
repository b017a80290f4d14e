//! The options of the database, from the flags, as RocksDB's db_bench sets them.
//!
//! Most flags set one option. The table of flags names these options. The other flags need code of their own.

use std::path::{Path, PathBuf};
use std::sync::Arc;

use base::stats::{Statistics, StatsLevel};
use base::{Error, Result};
use env::Env;
use env::logger::{LogLevel, StderrLogger};
use ironstone::{
    BlockCache, CompactionFilter, DbOptions, Decision, FilterInput, Ledger, Options, ReadConfig,
    WriteBufferManager,
};

use super::flag_table::Target;
use super::flags::Flags;

mod caches;
mod compression;
mod family;
mod tables;

pub use caches::{blob_cache, cache};
pub use compression::{compression, compressor, picky_compressor};

/// Returns the options that the flags ask for.
///
/// # Errors
/// InvalidArgument for an unknown value. NotSupported for a feature that is not built.
pub fn options(flags: &Flags, cache: Option<Arc<BlockCache>>) -> Result<Options> {
    let mut options = Options::default();
    match flags.text("options_file") {
        "" => from_flags(flags, &mut options, cache.as_ref())?,
        path => {
            from_file(Path::new(path), &mut options)?;
            beside_the_file(flags, &mut options)?;
        }
    }
    if flags.bool("use_keep_filter") && options.family.compaction_filter.is_none() {
        options.family.compaction_filter = Some(Arc::new(KeepFilter));
        println!("A noop compaction filter is used");
    }
    options.db.create_if_missing = !flags.bool("use_existing_db");
    options.db.create_missing_column_families = flags.int("num_column_families") > 1;
    options.block_cache = cache;
    if let Some(table) = options.family.table_factory.block_based_mut()
        && flags.text("options_file").is_empty()
    {
        table.no_block_cache = flags.int("cache_size") == 0;
    }
    options.db.row_cache = caches::row_cache(flags)?;
    options.db.statistics = statistics(flags, &options.db)?;
    let rate = flags.int("rate_limiter_bytes_per_sec");
    if rate > 0 {
        options.db.rate_limiter = Some(super::open::rate_limiter(flags, rate, options.db.env.clock.clone())?);
    }
    Ok(options)
}

/// Takes the options of the database and of a column family from the flags.
fn from_flags(flags: &Flags, options: &mut Options, cache: Option<&Arc<BlockCache>>) -> Result<()> {
    database(flags, &mut options.db, cache)?;
    family::family(flags, &mut options.family)
}

/// Takes the objects that the OPTIONS file does not name from the flags: the merge operator, the filter policy, and the generator of
/// file checksums. RocksDB's db_bench takes the last two and ignores `--merge_operator`, so its merges fail.
///
/// Writes a line to standard error for each flag of the command line that would set an option if there were no file.
fn beside_the_file(flags: &Flags, options: &mut Options) -> Result<()> {
    let mut taken = Vec::new();
    let family = &mut options.family;
    if family.merge_operator.is_none() && !flags.text("merge_operator").is_empty() {
        family.set("merge_operator", flags.text("merge_operator"))?;
        taken.push("merge_operator");
    }
    if let Some(table) = family.table_factory.block_based_mut()
        && table.filter_policy.is_none()
    {
        tables::filter(flags, table)?;
        taken.extend(["bloom_bits", "use_ribbon_filter"]);
    }
    if options.db.file_checksum_gen_factory.is_none() {
        file_checksum(flags, &mut options.db)?;
        taken.push("file_checksum");
    }
    let unset = options_text(&Flags::defaults().map_err(Error::invalid_argument)?)?;
    for (name, alone) in flags.given().filter(|(name, _)| !taken.contains(name)) {
        // A flag that needs another flag is an error alone. Such a flag sets an option too.
        if options_text(&alone).map_or(true, |text| text != unset) {
            eprintln!("db_bench: --{name} sets no option, because --options_file gives the options");
        }
    }
    Ok(())
}

/// Returns the text of the options that the flags set, and whether the flags set the objects that have no text.
fn options_text(flags: &Flags) -> Result<(String, [bool; 2])> {
    let mut options = Options::default();
    from_flags(flags, &mut options, None)?;
    let objects = [options.db.write_buffer_manager.is_some(), options.db.info_log.is_some()];
    Ok((engine::options::file::write(&options.db, [("default", &options.family)]), objects))
}

/// Takes the options of the database and of its default column family from an OPTIONS file.
fn from_file(path: &Path, options: &mut Options) -> Result<()> {
    let env = options.db.env.clone();
    let config = ReadConfig { ignore_unsupported_options: false, ..ReadConfig::default() };
    let file = engine::options::file::load(&env, path, &config)?;
    if let Some(missing) = file.missing.iter().find(|missing| !missing.only_observes()) {
        return Err(Error::not_supported(format!(
            "--options_file: option {} names the object {}, which db_bench does not have",
            missing.option, missing.object
        )));
    }
    options.db = file.db;
    if let Some((_, family)) = file.families.into_iter().next() {
        options.family = family;
    }
    Ok(())
}

/// A compaction filter that keeps each entry.
struct KeepFilter;

impl CompactionFilter for KeepFilter {
    fn name(&self) -> &str {
        "KeepFilter"
    }

    fn filter(&self, _input: &FilterInput<'_>) -> Decision {
        Decision::Keep
    }
}

/// Prints the lines that RocksDB prints at each open: the source of the options, and the use of a blob cache.
pub fn announce(flags: &Flags) {
    println!("Initializing RocksDB Options from the specified file");
    if !flags.text("options_file").is_empty() {
        return;
    }
    println!("Initializing RocksDB Options from command-line flags");
    if flags.bool("use_plain_table") || flags.bool("use_cuckoo_table") {
        return;
    }
    if !flags.bool("use_blob_cache") {
        println!("Integrated BlobDB: blob cache disabled");
        return;
    }
    let shared = flags.bool("use_shared_block_and_blob_cache");
    let own = if shared {
        String::new()
    } else {
        format!(
            ", blob cache size {}, blob cache num shard bits: {}",
            flags.count("blob_cache_size"),
            flags.int("blob_cache_numshardbits")
        )
    };
    println!(
        "Integrated BlobDB: blob cache enabled, block and blob caches shared: {}{own}, blob cache prepopulated: {}",
        u8::from(shared),
        flags.int("prepopulate_blob_cache")
    );
}

/// Returns the directory that holds the databases of the benchmarks by default: `$TEST_TMPDIR`, or
/// `/tmp/rocksdbtest-<effective user id>`. Creates the directory if it is missing.
///
/// # Errors
/// IoError if the directory cannot be created.
pub fn test_directory() -> Result<PathBuf> {
    let path = match std::env::var_os("TEST_TMPDIR") {
        Some(path) if !path.is_empty() => PathBuf::from(path),
        _ => PathBuf::from(format!("/tmp/rocksdbtest-{}", rustix::process::geteuid().as_raw())),
    };
    Env::default().fs.create_dir_all(&path)?;
    Ok(path)
}

/// Sets the options of the database.
fn database(flags: &Flags, db: &mut DbOptions, cache: Option<&Arc<BlockCache>>) -> Result<()> {
    for (target, text) in flags.options() {
        if let Target::Db(name) = target {
            db.set(name, &text)?;
        }
    }
    db.set("wal_compression", compression(flags, "wal_compression")?.option_name())?;
    let period = flags.count("delete_obsolete_files_period_micros");
    if period > 0 {
        db.set("delete_obsolete_files_period_micros", &period.to_string())?;
    }
    if flags.bool("cost_write_buffer_to_cache") {
        let ledger = cache.map(|cache| cache.clone() as Arc<dyn Ledger>);
        let manager = WriteBufferManager::new(flags.count("db_write_buffer_size") as usize, ledger, false);
        db.write_buffer_manager = Some(Arc::new(manager));
    }
    if flags.bool("open_files_async") && !flags.bool("skip_stats_update_on_db_open") {
        eprintln!("open_files_async requires skip_stats_update_on_db_open, enabling it automatically");
        db.set("skip_stats_update_on_db_open", "true")?;
    }
    if flags.bool("use_stderr_info_logger") {
        db.info_log = Some(Arc::new(StderrLogger::new(LogLevel::Info, "", db.env.clock.clone())));
    }
    if flags.int("thread_status_per_interval") > 0 {
        db.set("enable_thread_tracking", "true")?;
    }
    file_checksum(flags, db)
}

/// Sets the generator of file checksums.
fn file_checksum(flags: &Flags, db: &mut DbOptions) -> Result<()> {
    if flags.bool("file_checksum") {
        db.set("file_checksum_gen_factory", "FileChecksumGenCrc32cFactory")?;
    }
    Ok(())
}

/// Returns the statistics of `--statistics` or `--statistics_string`, with the level of `--stats_level`.
fn statistics(flags: &Flags, db: &DbOptions) -> Result<Option<Arc<Statistics>>> {
    let text = flags.text("statistics_string");
    let statistics = match (flags.bool("statistics"), text.is_empty()) {
        (true, false) => {
            return Err(Error::invalid_argument("Cannot provide both --statistics and --statistics_string."));
        }
        (true, true) => Some(Arc::new(Statistics::new())),
        (false, true) => None,
        (false, false) => {
            let mut db = db.clone();
            db.set("statistics", text)?;
            db.statistics
        }
    };
    if let Some(statistics) = &statistics {
        statistics.set_level(StatsLevel::from_number(flags.count("stats_level").min(5) as u8));
    }
    Ok(statistics)
}

/// Returns the name whose index is the value of a numeric flag.
fn by_number(flags: &Flags, flag: &str, names: &[&'static str]) -> Result<&'static str> {
    usize::try_from(flags.int(flag)).ok().and_then(|at| names.get(at).copied()).ok_or_else(|| {
        Error::invalid_argument(format!("--{flag}={} is none of 0 to {}", flags.int(flag), names.len() - 1))
    })
}
