//! Raw options become checked ones: what contradicts itself is refused in RocksDB's words, what RocksDB
//! mends without asking is mended, and each mending that it mentions in the LOG is told.
//!
//! Facts: RocksDB `db/db_impl/db_impl_open.cc` (`SanitizeOptions`, `ValidateOptions`), `db/column_family.cc`
//! (`SanitizeCfOptions`, `ValidateOptions`).

use std::path::{Path, PathBuf};

use base::{Error, Result};
use table::options::Validation;

use super::family::AGE_AUTO;
use super::text::time_range;
use super::{
    CompactionStyle, CompressionType, DbOptions, FamilyOptions, MemtableFactory, TableFactory,
    WalRecoveryMode, refuse, unsupported,
};

const THIRTY_DAYS_S: u64 = 30 * 24 * 60 * 60;

/// Checks a database's options and those of its families, mends them and answers what was mended, as
/// lines for the LOG.
///
/// # Errors
/// InvalidArgument for what contradicts itself; NotSupported for what RocksDB refuses and for what is
/// not built here, each by name. The options may then be mended in part.
pub fn resolve(
    db_path: &Path,
    read_only: bool,
    db: &mut DbOptions,
    families: &mut [(String, FamilyOptions)],
) -> Result<Vec<String>> {
    for (name, options) in families.iter() {
        options.validate(name, db)?;
    }
    db.validate()?;
    refuse(&unsupported(db, families.iter().map(|(name, options)| (name.as_str(), options))))?;
    let mut warnings = Vec::new();
    db.sanitize(db_path, &mut warnings);
    for (_, options) in families {
        options.sanitize(db, read_only, &mut warnings);
    }
    Ok(warnings)
}

/// How many background jobs may run at a time.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct BackgroundLimits {
    pub flushes: usize,
    pub compactions: usize,
}

impl DbOptions {
    /// The jobs that `max_background_jobs` and its older kin allow; at least one of each.
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

    /// Refuses what contradicts itself.
    ///
    /// # Errors
    /// InvalidArgument or NotSupported, as RocksDB answers.
    pub fn validate(&self) -> Result<()> {
        let invalid = |message: &str| Err(Error::invalid_argument(message));
        let not_supported = |message: &str| Err(Error::not_supported(message));
        if self.read_io_executor_threads <= 0 {
            return invalid("read_io_executor_threads must be greater than zero");
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
                Some((start, end)) if start == end => return invalid("start_time and end_time cannot be the same"),
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

    /// Mends what RocksDB mends. `warnings` gets the lines it writes about that.
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
            warnings.push("async_wal_precreate is disabled since recycle_log_file_num is non-zero".to_string());
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

    /// A WAL directory that is the database's is no separate one.
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

impl FamilyOptions {
    /// Refuses what contradicts itself or the database's options.
    ///
    /// # Errors
    /// InvalidArgument or NotSupported, as RocksDB answers.
    pub fn validate(&self, name: &str, db: &DbOptions) -> Result<()> {
        self.validate_compression()?;
        self.validate_writes(name, db)?;
        self.validate_timestamps(db)?;
        self.validate_styles(db)?;
        let invalid = |message: &str| Err(Error::invalid_argument(message));
        let not_supported = |message: &str| Err(Error::not_supported(message));
        let unit = 0.0..=1.0;
        if self.enable_blob_garbage_collection && !unit.contains(&self.blob_garbage_collection_age_cutoff) {
            return invalid("The age cutoff for blob garbage collection should be in the range [0.0, 1.0].");
        }
        if self.enable_blob_garbage_collection && !unit.contains(&self.blob_garbage_collection_force_threshold) {
            return invalid(
                "The garbage ratio threshold for forcing blob garbage collection should be in the range [0.0, 1.0].",
            );
        }
        let threshold = self.read_triggered_compaction_threshold;
        if !threshold.is_finite() || threshold < 0.0 {
            return invalid(
                "read_triggered_compaction_threshold must be >= 0.0 and finite. Use 0.0 to disable.",
            );
        }
        if ![0, 1, 2, 4, 8].contains(&self.memtable_protection_bytes_per_key) {
            return not_supported(
                "Memtable per key-value checksum protection only supports 0, 1, 2, 4 or 8 bytes per key.",
            );
        }
        if ![0, 1, 2, 4, 8].contains(&self.block_protection_bytes_per_key) {
            return not_supported(
                "Block per key-value checksum protection only supports 0, 1, 2, 4 or 8 bytes per key.",
            );
        }
        match &self.table_factory {
            TableFactory::BlockBased(table) => table.validate(self.table_validation()),
            TableFactory::Other { .. } => {
                let aged = |seconds: u64| seconds > 0 && seconds != AGE_AUTO;
                if aged(self.ttl) {
                    return not_supported("TTL is only supported in Block-Based Table format. ");
                }
                if aged(self.periodic_compaction_seconds) {
                    return not_supported("Periodic Compaction is only supported in Block-Based Table format. ");
                }
                Ok(())
            }
        }
    }

    /// What of the family its table options depend on.
    pub fn table_validation(&self) -> Validation {
        let compressed = if self.compression_per_level.is_empty() {
            self.compression != CompressionType::NONE
        } else {
            self.compression_per_level.iter().any(|&c| c != CompressionType::NONE)
        };
        Validation {
            has_prefix_extractor: self.prefix_extractor.is_some(),
            bytewise_order: self.comparator.is_bytewise(),
            compressed,
        }
    }

    fn validate_compression(&self) -> Result<()> {
        let check = |compression: CompressionType| match compression.kind() {
            Err(e) if compression.is_custom() => Err(e),
            Err(_) => Err(Error::invalid_argument(format!(
                "Compression type {} is not linked with the binary.",
                compression.log_name()
            ))),
            Ok(_) => Ok(()),
        };
        match self.compression_per_level.as_slice() {
            [] => check(self.compression)?,
            levels => levels.iter().try_for_each(|&c| check(c))?,
        }
        if self.bottommost_compression != CompressionType::DISABLE {
            check(self.bottommost_compression)?;
        }
        if self.compression_opts.zstd_max_train_bytes > 0 && self.compression_opts.max_dict_bytes == 0 {
            return Err(Error::invalid_argument(
                "The dictionary size limit (`CompressionOptions::max_dict_bytes`) should be nonzero if we're using \
                 zstd's dictionary generator.",
            ));
        }
        if self.blob_compression_type.kind().is_err() {
            return Err(Error::invalid_argument(format!(
                "The specified blob compression type {} is not available.",
                self.blob_compression_type.log_name()
            )));
        }
        Ok(())
    }

    fn validate_writes(&self, name: &str, db: &DbOptions) -> Result<()> {
        let invalid = |message: &str| Err(Error::invalid_argument(message));
        if db.allow_concurrent_memtable_write && self.inplace_update_support {
            return invalid(
                "In-place memtable updates (inplace_update_support) is not compatible with concurrent writes \
                 (allow_concurrent_memtable_write)",
            );
        }
        if db.allow_concurrent_memtable_write && !self.memtable_is_concurrent() {
            return invalid("Memtable doesn't allow concurrent writes (allow_concurrent_memtable_write)");
        }
        if db.unordered_write && self.max_successive_merges != 0 {
            return invalid("max_successive_merges > 0 is incompatible with unordered_write");
        }
        if name == "default" && self.disallow_memtable_writes {
            return invalid("Default column family cannot use disallow_memtable_writes=true");
        }
        if !self.enable_blob_direct_write {
            return Ok(());
        }
        let refusals = [
            (db.enable_pipelined_write, "Blob direct write v1 does not support pipelined writes."),
            (
                db.allow_concurrent_memtable_write,
                "Blob direct write v1 does not support concurrent memtable writes.",
            ),
            (db.unordered_write, "Blob direct write v1 does not support unordered writes."),
            (db.two_write_queues, "Blob direct write v1 does not support two write queues."),
            (self.experimental_mempurge_threshold > 0.0, "Blob direct write does not support MemPurge."),
            (
                self.comparator.timestamp_size() > 0,
                "Blob direct write does not support user-defined timestamps.",
            ),
        ];
        first(&refusals)
    }

    fn validate_timestamps(&self, db: &DbOptions) -> Result<()> {
        if self.comparator.timestamp_size() == 0 || self.persist_user_defined_timestamps {
            return Ok(());
        }
        first(&[
            (
                db.atomic_flush,
                "Not persisting user-defined timestamps feature is not supported in combination with atomic flush.",
            ),
            (
                db.allow_concurrent_memtable_write,
                "Not persisting user-defined timestamps feature is not supported in combination with concurrent \
                 memtable write.",
            ),
            (
                !self.comparator.name().ends_with(".u64ts"),
                "Not persisting user-defined timestamps feature only support user-defined timestamps formatted as \
                 uint64_t.",
            ),
        ])
    }

    fn validate_styles(&self, db: &DbOptions) -> Result<()> {
        let style = self.compaction_style;
        let fifo = style == CompactionStyle::Fifo;
        if !matches!(style, CompactionStyle::Universal | CompactionStyle::Level) {
            first(&[
                (
                    self.cf_paths.len() > 1,
                    "More than one CF paths are only supported in universal and level compaction styles. ",
                ),
                (
                    self.cf_paths.is_empty() && db.db_paths.len() > 1,
                    "More than one DB paths are only supported in universal and level compaction styles. ",
                ),
            ])?;
        }
        let ages = &self.compaction_options_fifo.file_temperature_age_thresholds;
        let amp = self.compaction_options_universal.max_read_amp;
        let universal = style == CompactionStyle::Universal;
        first(&[
            (
                fifo && db.max_open_files != -1 && self.ttl > 0,
                "FIFO compaction only supported with max_open_files = -1.",
            ),
            (
                fifo && db.open_files_async,
                "FIFO compaction is not supported with open_files_async = true.",
            ),
            (
                !ages.is_empty() && !fifo,
                "Option file_temperature_age_thresholds only supports FIFO compaction.",
            ),
            (
                !ages.is_empty() && self.num_levels > 1,
                "Option file_temperature_age_thresholds is only supported when num_levels = 1.",
            ),
            (
                ages.windows(2).any(|w| w[0].age >= w[1].age),
                "Option file_temperature_age_thresholds requires elements to be sorted in increasing order with \
                 respect to `age` field.",
            ),
            (
                universal && amp < -1,
                "CompactionOptionsUniversal::max_read_amp should be at least -1.",
            ),
            (
                universal && amp > 0 && amp < self.level0_file_num_compaction_trigger,
                "CompactionOptionsUniversal::max_read_amp limits the number of sorted runs but is smaller than the \
                 compaction trigger level0_file_num_compaction_trigger.",
            ),
        ])?;
        if db.open_files_async && !db.skip_stats_update_on_db_open {
            return Err(Error::invalid_argument(
                "open_files_async requires skip_stats_update_on_db_open = true.",
            ));
        }
        Ok(())
    }

    /// Mends what RocksDB mends. `db` is mended already. `warnings` gets the lines it writes about that.
    pub fn sanitize(&mut self, db: &DbOptions, read_only: bool, warnings: &mut Vec<String>) {
        self.sanitize_memtable(db, warnings);
        self.sanitize_levels(db, warnings);
        self.sanitize_ages(warnings);
        if let TableFactory::BlockBased(table) = &mut self.table_factory {
            table.sanitize();
        }
        let mut off_read_only = |name: &str, on: bool| {
            if read_only && on {
                warnings.push(format!("option {name} is sanitized to 0(disabled) for read only DB."));
            }
            read_only && on
        };
        if off_read_only("preserve_internal_time_seconds", self.preserve_internal_time_seconds > 0) {
            self.preserve_internal_time_seconds = 0;
        }
        if off_read_only("preclude_last_level_data_seconds", self.preclude_last_level_data_seconds > 0) {
            self.preclude_last_level_data_seconds = 0;
        }
        if off_read_only("memtable_op_scan_flush_trigger", self.memtable_op_scan_flush_trigger > 0) {
            self.memtable_op_scan_flush_trigger = 0;
        }
        if off_read_only("memtable_avg_op_scan_flush_trigger", self.memtable_avg_op_scan_flush_trigger > 0) {
            self.memtable_avg_op_scan_flush_trigger = 0;
        }
        if self.enable_blob_direct_write && !self.enable_blob_files {
            self.enable_blob_direct_write = false;
            warnings.push(
                "enable_blob_direct_write requires enable_blob_files=true. Disabling blob direct write.".to_string(),
            );
        }
        self.blob_direct_write_partitions = self.blob_direct_write_partitions.max(1);
    }

    fn sanitize_memtable(&mut self, db: &DbOptions, warnings: &mut Vec<String>) {
        self.write_buffer_size = self.write_buffer_size.clamp(64 << 10, 64 << 30);
        if self.arena_block_size == 0 {
            self.arena_block_size = (self.write_buffer_size / 8).min(1 << 20).next_multiple_of(4096);
        }
        // In RocksDB's order: the count of memtables is raised after it has bounded this one.
        let most = self.max_write_buffer_number.saturating_sub(1);
        self.min_write_buffer_number_to_merge = self.min_write_buffer_number_to_merge.min(most).max(1);
        if db.atomic_flush && self.min_write_buffer_number_to_merge > 1 {
            self.min_write_buffer_number_to_merge = 1;
            warnings.push(
                "min_write_buffer_number_to_merge > 1 is not compatible with atomic_flush and is sanitized to 1"
                    .to_string(),
            );
        }
        self.max_write_buffer_number = self.max_write_buffer_number.max(2);
        if self.max_write_buffer_size_to_maintain < 0 {
            let one = i64::try_from(self.write_buffer_size).unwrap_or(i64::MAX);
            self.max_write_buffer_size_to_maintain = one.saturating_mul(self.max_write_buffer_number.into());
        }
        let ratio = self.memtable_prefix_bloom_size_ratio;
        self.memtable_prefix_bloom_size_ratio = if ratio > 0.0 { ratio.min(0.25) } else { 0.0 };
        if self.disallow_memtable_writes {
            self.memtable_factory = MemtableFactory::Vector { count: 0 };
        }
        let hashed = ["HashSkipListRepFactory", "HashLinkListRepFactory"];
        if self.prefix_extractor.is_none() && hashed.contains(&self.memtable_factory.name()) {
            self.memtable_factory = MemtableFactory::default();
        }
    }

    fn sanitize_levels(&mut self, db: &DbOptions, warnings: &mut Vec<String>) {
        let style = self.compaction_style;
        let ingest_behind = db.allow_ingest_behind || self.cf_allow_ingest_behind;
        self.num_levels = self.num_levels.max(match style {
            CompactionStyle::Level => 2,
            CompactionStyle::Universal if ingest_behind => 3,
            _ => 1,
        });
        if style == CompactionStyle::Fifo {
            self.level0_slowdown_writes_trigger = i32::MAX;
            self.level0_stop_writes_trigger = i32::MAX;
        }
        if self.max_bytes_for_level_multiplier <= 0.0 || self.max_bytes_for_level_multiplier.is_nan() {
            self.max_bytes_for_level_multiplier = 1.0;
        }
        if self.level0_file_num_compaction_trigger == 0 {
            warnings.push("level0_file_num_compaction_trigger cannot be 0".to_string());
            self.level0_file_num_compaction_trigger = 1;
        }
        self.sanitize_triggers(warnings);
        let (soft, hard) = (self.soft_pending_compaction_bytes_limit, self.hard_pending_compaction_bytes_limit);
        if soft == 0 || (hard > 0 && soft > hard) {
            self.soft_pending_compaction_bytes_limit = hard;
        }
        let paths = if self.cf_paths.is_empty() { &db.db_paths } else { &self.cf_paths };
        if self.level_compaction_dynamic_level_bytes && style != CompactionStyle::Level {
            self.level_compaction_dynamic_level_bytes = false;
        } else if self.level_compaction_dynamic_level_bytes && paths.len() > 1 {
            self.level_compaction_dynamic_level_bytes = false;
            warnings.push(
                "multiple cf_paths/db_paths and level_compaction_dynamic_level_bytes can't be used together"
                    .to_string(),
            );
        }
        let kv_ratio = style == CompactionStyle::Fifo && self.compaction_options_fifo.use_kv_ratio_compaction;
        if self.max_compaction_bytes == 0 && !kv_ratio {
            self.max_compaction_bytes = self.target_file_size_base.saturating_mul(25);
        }
    }

    fn sanitize_triggers(&mut self, warnings: &mut Vec<String>) {
        let say = |options: &FamilyOptions, head: &str| {
            format!(
                "{head}level0_stop_writes_trigger({}) >= level0_slowdown_writes_trigger({}) >= \
                 level0_file_num_compaction_trigger({})",
                options.level0_stop_writes_trigger,
                options.level0_slowdown_writes_trigger,
                options.level0_file_num_compaction_trigger
            )
        };
        if self.level0_stop_writes_trigger >= self.level0_slowdown_writes_trigger
            && self.level0_slowdown_writes_trigger >= self.level0_file_num_compaction_trigger
        {
            return;
        }
        warnings.push(say(self, "This condition must be satisfied: "));
        self.level0_slowdown_writes_trigger =
            self.level0_slowdown_writes_trigger.max(self.level0_file_num_compaction_trigger);
        self.level0_stop_writes_trigger = self.level0_stop_writes_trigger.max(self.level0_slowdown_writes_trigger);
        warnings.push(say(self, "Adjust the value to "));
    }

    fn sanitize_ages(&mut self, warnings: &mut Vec<String>) {
        let block_based = self.table_factory.block_based().is_some();
        if self.ttl == AGE_AUTO {
            self.ttl = if block_based { THIRTY_DAYS_S } else { 0 };
        }
        let automatic = self.periodic_compaction_seconds == AGE_AUTO && block_based;
        let filtered = self.compaction_filter.is_some() || self.compaction_filter_factory.is_some();
        match self.compaction_style {
            CompactionStyle::Level if automatic && filtered => self.periodic_compaction_seconds = THIRTY_DAYS_S,
            CompactionStyle::Universal if automatic => self.periodic_compaction_seconds = THIRTY_DAYS_S,
            CompactionStyle::Fifo => {
                if self.periodic_compaction_seconds != AGE_AUTO {
                    warnings.push(
                        "periodic_compaction_seconds does not support FIFO compaction. You may want to set option \
                         TTL instead."
                            .to_string(),
                    );
                }
                self.last_level_temperature = super::Temperature::Unknown;
            }
            _ => {}
        }
        if self.compaction_style == CompactionStyle::Universal {
            self.periodic_compaction_seconds = match (self.periodic_compaction_seconds, self.ttl) {
                (0, ttl) => ttl,
                (seconds, 0) => seconds,
                (seconds, ttl) => seconds.min(ttl),
            };
        }
        if self.periodic_compaction_seconds == AGE_AUTO {
            self.periodic_compaction_seconds = 0;
        }
    }
}

/// The first refusal that holds.
fn first(refusals: &[(bool, &str)]) -> Result<()> {
    match refusals.iter().find(|(holds, _)| *holds) {
        Some((_, message)) => Err(Error::not_supported(*message)),
        None => Ok(()),
    }
}
