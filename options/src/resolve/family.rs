//! Checks for contradictions in the options of a column family, and between these options and those of the database.

use base::option::{Row, out_of_range};
use base::{Error, Result};
use table::options::Validation;

use crate::{
    AGE_AUTO, CompactionOptionsFifo, CompactionOptionsUniversal, CompactionStyle, CompressionOptions,
    CompressionType, DbOptions, FamilyOptions, TableFactory,
};

impl FamilyOptions {
    /// Rejects options that contradict each other or the options of the database. As in RocksDB, the options of the table
    /// factory are checked first.
    ///
    /// # Errors
    /// InvalidArgument or NotSupported, with RocksDB's message.
    pub fn validate(&self, name: &str, db: &DbOptions) -> Result<()> {
        self.validate_table(db)?;
        self.validate_settings(name, db)
    }

    /// Checks the options of the table factory (`BlockBasedTableFactory::ValidateOptions`).
    pub(super) fn validate_table(&self, db: &DbOptions) -> Result<()> {
        match &self.table_factory {
            TableFactory::BlockBased(table) => table.validate(self.table_validation(db)),
            TableFactory::Plain(table) => table.validate(),
            TableFactory::Cuckoo(table) => table.validate(),
            _ => Ok(()),
        }
    }

    /// Checks as [`Self::validate`] does, but accepts what
    /// [`validate_without_cache`](table::options::BlockBasedTableOptions::validate_without_cache) accepts. RocksDB does not
    /// check the table factory of a new column family (`ColumnFamilyData::ValidateOptions`). This check rejects a
    /// new column family whose SST files cannot be written.
    ///
    /// # Errors
    /// The errors of [`Self::validate`].
    pub fn validate_without_cache(&self, name: &str, db: &DbOptions) -> Result<()> {
        self.validate_settings(name, db)?;
        match &self.table_factory {
            TableFactory::BlockBased(table) => table.validate_without_cache(self.table_validation(db)),
            TableFactory::Plain(table) => table.validate(),
            TableFactory::Cuckoo(table) => table.validate(),
            _ => Ok(()),
        }
    }

    /// Checks all options but those of the table factory, in the order of `ColumnFamilyData::ValidateOptions`.
    pub(super) fn validate_settings(&self, name: &str, db: &DbOptions) -> Result<()> {
        self.validate_compression()?;
        self.validate_writes(db)?;
        self.validate_paths(db)?;
        self.validate_ages()?;
        self.validate_direct_writes(db)?;
        self.validate_timestamps(db)?;
        self.validate_thresholds()?;
        self.validate_styles(db)?;
        if name == "default" && self.disallow_memtable_writes {
            return Err(Error::invalid_argument(
                "Default column family cannot use disallow_memtable_writes=true",
            ));
        }
        Ok(())
    }

    fn validate_thresholds(&self) -> Result<()> {
        let invalid = |message: &str| Err(Error::invalid_argument(message));
        let unit = 0.0..=1.0;
        if self.enable_blob_garbage_collection && !unit.contains(&self.blob_garbage_collection_age_cutoff) {
            return invalid("The age cutoff for blob garbage collection should be in the range [0.0, 1.0].");
        }
        if self.enable_blob_garbage_collection
            && !unit.contains(&self.blob_garbage_collection_force_threshold)
        {
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
        Ok(())
    }

    fn validate_ages(&self) -> Result<()> {
        let aged = |seconds: u64| {
            !matches!(self.table_factory, TableFactory::BlockBased(_)) && seconds > 0 && seconds != AGE_AUTO
        };
        first(&[
            (aged(self.ttl), "TTL is only supported in Block-Based Table format. "),
            (
                aged(self.periodic_compaction_seconds),
                "Periodic Compaction is only supported in Block-Based Table format. ",
            ),
        ])
    }

    /// Returns the facts about the column family on which the check of its table options depends.
    pub(crate) fn table_validation(&self, db: &DbOptions) -> Validation {
        let compresses = |c: CompressionType| c != CompressionType::NONE && c != CompressionType::DISABLE;
        let compressed_by = if compresses(self.compression) {
            Some("compression")
        } else if compresses(self.bottommost_compression) {
            Some("bottommost_compression")
        } else if self.compression_per_level.iter().any(|&c| compresses(c)) {
            Some("compression_per_level")
        } else {
            None
        };
        Validation {
            has_prefix_extractor: self.prefix_extractor.is_some(),
            bytewise_order: self.comparator.is_bytewise(),
            compressed_by,
            disables_compression: self.compression == CompressionType::DISABLE,
            merges_unordered_writes: db.unordered_write && self.max_successive_merges > 0,
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

    fn validate_writes(&self, db: &DbOptions) -> Result<()> {
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
        Ok(())
    }

    fn validate_paths(&self, db: &DbOptions) -> Result<()> {
        if matches!(self.compaction_style, CompactionStyle::Universal | CompactionStyle::Level) {
            return Ok(());
        }
        first(&[
            (
                self.cf_paths.len() > 1,
                "More than one CF paths are only supported in universal and level compaction styles. ",
            ),
            (
                self.cf_paths.is_empty() && db.db_paths.len() > 1,
                "More than one DB paths are only supported in universal and level compaction styles. ",
            ),
        ])
    }

    fn validate_direct_writes(&self, db: &DbOptions) -> Result<()> {
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
        let fifo = self.compaction_style == CompactionStyle::Fifo;
        first(&[
            (
                fifo && db.max_open_files != -1 && self.ttl > 0,
                "FIFO compaction only supported with max_open_files = -1.",
            ),
            (fifo && db.open_files_async, "FIFO compaction is not supported with open_files_async = true."),
        ])?;
        if db.open_files_async && !db.skip_stats_update_on_db_open {
            return Err(Error::invalid_argument(
                "open_files_async requires skip_stats_update_on_db_open = true.",
            ));
        }
        let ages = &self.compaction_options_fifo.file_temperature_age_thresholds;
        let amp = self.compaction_options_universal.max_read_amp;
        let amp_is_in_range =
            out_of_range(CompactionOptionsUniversal::ROWS, &self.compaction_options_universal)
                .all(|row| row.name != "max_read_amp");
        let universal = self.compaction_style == CompactionStyle::Universal;
        first(&[
            (
                ![0, 1, 2, 4, 8].contains(&self.memtable_protection_bytes_per_key),
                "Memtable per key-value checksum protection only supports 0, 1, 2, 4 or 8 bytes per key.",
            ),
            (
                ![0, 1, 2, 4, 8].contains(&self.block_protection_bytes_per_key),
                "Block per key-value checksum protection only supports 0, 1, 2, 4 or 8 bytes per key.",
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
                universal && !amp_is_in_range,
                "CompactionOptionsUniversal::max_read_amp should be at least -1.",
            ),
            (
                universal && amp > 0 && amp < self.level0_file_num_compaction_trigger,
                "CompactionOptionsUniversal::max_read_amp limits the number of sorted runs but is smaller than the \
                 compaction trigger level0_file_num_compaction_trigger.",
            ),
        ])
    }
}

/// Returns the first message whose condition is true, as an error.
fn first(refusals: &[(bool, &str)]) -> Result<()> {
    match refusals.iter().find(|(holds, _)| *holds) {
        Some((_, message)) => Err(Error::not_supported(*message)),
        None => Ok(()),
    }
}

/// Adds a line for each field of a nested option whose value is out of the range of its row. RocksDB accepts such a value
/// too. The documentation of the row says which value acts then. `check` rejects one such value: `max_read_amp` below -1.
pub(super) fn warn_of_ranges(options: &FamilyOptions, warnings: &mut Vec<String>) {
    fn add<T>(option: &str, rows: &[Row<T>], value: &T, warnings: &mut Vec<String>) {
        warnings.extend(out_of_range(rows, value).map(|row| {
            let (field, found, range) = (row.name, (row.print)(value), row.range);
            format!("{option}.{field} is {found}, which is out of its range {range}")
        }));
    }
    for (option, value) in [
        ("compression_opts", &options.compression_opts),
        ("bottommost_compression_opts", &options.bottommost_compression_opts),
        ("blob_compression_opts", &options.blob_compression_opts),
    ] {
        add(option, CompressionOptions::ROWS, value, warnings);
    }
    let universal = &options.compaction_options_universal;
    add("compaction_options_universal", CompactionOptionsUniversal::ROWS, universal, warnings);
    let fifo = &options.compaction_options_fifo;
    add("compaction_options_fifo", CompactionOptionsFifo::ROWS, fifo, warnings);
}
