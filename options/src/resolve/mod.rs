//! The check of raw options at open. Contradictions are refused with RocksDB's messages. Values that RocksDB corrects are
//! corrected, with RocksDB's warnings for the info log.
//!
//! See RocksDB `db/db_impl/db_impl_open.cc` (`SanitizeOptions`, `ValidateOptions`), `db/column_family.cc`
//! (`SanitizeCfOptions`, `ValidateOptions`).

mod family;
mod mend;

use std::path::{Path, PathBuf};

use super::text::time_range;
use super::{CompressionType, DbOptions, FamilyOptions, WalRecoveryMode, refuse, unsupported};
use base::{Error, Result};

/// Checks the options of an open for writing in the order of RocksDB's `DBImpl::Open`, so that several contradictions give
/// the same error: the table factories of all column families, the column families, the database.
///
/// # Errors
/// InvalidArgument or NotSupported, with RocksDB's message.
pub fn validate<'a>(
    db: &DbOptions,
    families: impl Iterator<Item = (&'a str, &'a FamilyOptions)> + Clone,
) -> Result<()> {
    for (_, options) in families.clone() {
        options.validate_table(db)?;
    }
    for (name, options) in families {
        options.validate_settings(name, db)?;
    }
    db.validate()
}

/// Checks the options of a database and of its column families, and corrects values. Returns the warnings for the info
/// log.
///
/// # Errors
/// InvalidArgument for contradictions. NotSupported for options that RocksDB refuses, and for features that are not
/// built. After an error the options may be corrected in part.
pub fn resolve(
    db_path: &Path,
    read_only: bool,
    db: &mut DbOptions,
    families: &mut [(String, FamilyOptions)],
) -> Result<Vec<String>> {
    validate(db, families.iter().map(|(name, options)| (name.as_str(), options)))?;
    refuse(&unsupported(db, families.iter().map(|(name, options)| (name.as_str(), options))))?;
    let mut warnings = Vec::new();
    db.sanitize(db_path, &mut warnings);
    for (_, options) in families {
        options.sanitize(db, read_only, &mut warnings);
    }
    Ok(warnings)
}

/// The largest value of `max_background_jobs`, `max_background_compactions` and `max_background_flushes`. Each job needs
/// a thread. RocksDB has no limit, and a process that starts too many threads ends without an error.
pub const BACKGROUND_JOBS_MAX: i32 = 4096;

/// The number of background jobs that may run at the same time.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct BackgroundLimits {
    pub flushes: usize,
    pub compactions: usize,
}

impl DbOptions {
    /// Returns the numbers of flushes and compactions that `max_background_jobs`, `max_background_flushes` and
    /// `max_background_compactions` allow. Both numbers are at least 1.
    pub fn background_limits(&self) -> BackgroundLimits {
        let least_one = |n: i32| usize::try_from(n).unwrap_or(1).max(1);
        if self.max_background_flushes == -1 && self.max_background_compactions == -1 {
            let flushes = self.max_background_jobs / 4;
            let flushes = flushes.max(1);
            let compactions = self.max_background_jobs - flushes;
            return BackgroundLimits { flushes: least_one(flushes), compactions: least_one(compactions) };
        }
        BackgroundLimits {
            flushes: least_one(self.max_background_flushes),
            compactions: least_one(self.max_background_compactions),
        }
    }

    /// Rejects options that contradict each other.
    ///
    /// # Errors
    /// InvalidArgument or NotSupported, with RocksDB's message.
    pub fn validate(&self) -> Result<()> {
        let invalid = |message: &str| Err(Error::invalid_argument(message));
        let not_supported = |message: &str| Err(Error::not_supported(message));
        if self.read_io_executor_threads <= 0 {
            return invalid("read_io_executor_threads must be greater than zero");
        }
        let jobs = [
            ("max_background_jobs", self.max_background_jobs),
            ("max_background_compactions", self.max_background_compactions),
            ("max_background_flushes", self.max_background_flushes),
        ];
        if let Some((name, count)) = jobs.iter().find(|(_, count)| *count > BACKGROUND_JOBS_MAX) {
            return Err(Error::invalid_argument(format!(
                "{name} is {count}; at most {BACKGROUND_JOBS_MAX} background jobs are supported"
            )));
        }
        if self.memory_budget_bytes > 0 {
            crate::budget::check(self.memory_budget_bytes)?;
        }
        if self.db_paths.len() > 4 {
            return not_supported("More than four DB paths are not supported yet. ");
        }
        if self.allow_mmap_reads && self.use_direct_reads {
            return not_supported(
                "If memory mapped reads (allow_mmap_reads) are enabled then direct I/O reads (use_direct_reads) \
                 must be disabled. ",
            );
        }
        if self.allow_mmap_reads && self.use_direct_io_for_compaction_reads {
            return not_supported(
                "If memory mapped reads (allow_mmap_reads) are enabled then compaction-only direct I/O reads \
                 (use_direct_io_for_compaction_reads) must be disabled. ",
            );
        }
        if self.allow_mmap_writes && self.use_direct_io_for_flush_and_compaction {
            return not_supported(
                "If memory mapped writes (allow_mmap_writes) are enabled then direct I/O writes \
                 (use_direct_io_for_flush_and_compaction) must be disabled. ",
            );
        }
        if self.keep_log_file_num == 0 {
            return invalid("keep_log_file_num must be greater than 0");
        }
        if self.unordered_write && !self.allow_concurrent_memtable_write {
            return invalid("unordered_write is incompatible with !allow_concurrent_memtable_write");
        }
        if self.unordered_write && self.enable_pipelined_write {
            return invalid("unordered_write is incompatible with enable_pipelined_write");
        }
        if self.atomic_flush && self.enable_pipelined_write {
            return invalid("atomic_flush is incompatible with enable_pipelined_write");
        }
        if self.use_direct_io_for_flush_and_compaction && self.writable_file_max_buffer_size == 0 {
            return invalid("writes in direct IO require writable_file_max_buffer_size > 0");
        }
        if !self.daily_offpeak_time_utc.is_empty() {
            match time_range(&self.daily_offpeak_time_utc) {
                Some((start, end)) if start == end => {
                    return invalid("start_time and end_time cannot be the same");
                }
                Some(_) => {}
                None => {
                    return invalid(
                        "daily_offpeak_time_utc should be set in the format HH:mm-HH:mm (e.g. 04:30-07:30)",
                    );
                }
            }
        }
        if !self.write_dbid_to_manifest && !self.write_identity_file {
            return invalid("write_dbid_to_manifest and write_identity_file cannot both be false");
        }
        Ok(())
    }

    /// Corrects the values that RocksDB corrects. Adds RocksDB's lines about the corrections to `warnings`.
    pub fn sanitize(&mut self, db_path: &Path, warnings: &mut Vec<String>) {
        if self.max_open_files != -1 {
            self.max_open_files = self.max_open_files.clamp(20, 0x0040_0000);
        }
        if self.rate_limiter.is_some() && self.bytes_per_sync == 0 {
            self.bytes_per_sync = 1024 * 1024;
        }
        if self.delayed_write_rate == 0 {
            let rate = self.rate_limiter.as_ref().map_or(0, |limiter| limiter.bytes_per_second());
            self.delayed_write_rate = u64::try_from(rate).unwrap_or(0);
        }
        if self.delayed_write_rate == 0 {
            self.delayed_write_rate = 16 * 1024 * 1024;
        }
        let archives = self.WAL_ttl_seconds > 0 || self.WAL_size_limit_MB > 0;
        let strict = matches!(
            self.wal_recovery_mode,
            WalRecoveryMode::TolerateCorruptedTailRecords | WalRecoveryMode::AbsoluteConsistency
        );
        if archives || strict {
            self.recycle_log_file_num = 0;
        }
        if self.async_wal_precreate && self.recycle_log_file_num != 0 {
            self.async_wal_precreate = false;
            warnings
                .push("async_wal_precreate is disabled since recycle_log_file_num is non-zero".to_string());
        }
        self.sanitize_paths(db_path);
        if self.allow_2pc {
            self.avoid_flush_during_recovery = false;
        }
        if !matches!(self.wal_compression, CompressionType::NONE | CompressionType::ZSTD) {
            self.wal_compression = CompressionType::NONE;
            warnings.push("wal_compression is disabled since only zstd is supported".to_string());
        }
    }

    /// Clears `wal_dir` if it names the directory of the database. Removes a slash at its end.
    fn sanitize_paths(&mut self, db_path: &Path) {
        if !self.db_paths.is_empty() && self.wal_dir.is_empty() {
            self.wal_dir = db_path.to_string_lossy().into_owned();
        }
        let wal_dir = PathBuf::from(&self.wal_dir);
        let first = self.db_paths.first().map_or(db_path, |path| &path.path);
        if [db_path, first].iter().all(|path| path.components().eq(wal_dir.components())) {
            self.wal_dir.clear();
        }
        if self.wal_dir.len() > 1 && self.wal_dir.ends_with('/') {
            self.wal_dir.pop();
        }
    }
}
