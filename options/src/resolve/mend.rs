//! Corrects options of a column family that RocksDB corrects too.

use super::family::warn_of_ranges;
use crate::{
    AGE_AUTO, CompactionStyle, CompressionType, DbOptions, FamilyOptions, MemtableFactory, TableFactory,
    Temperature,
};

/// The largest `write_buffer_size`: half of the memory that one memtable can address. RocksDB's limit is 64 GiB.
pub const WRITE_BUFFER_SIZE_MAX: usize = mem::arena::SWITCH_AT as usize;

const THIRTY_DAYS_S: u64 = 30 * 24 * 60 * 60;

impl FamilyOptions {
    /// Corrects the values that RocksDB corrects. `db` must be corrected before. Adds RocksDB's lines about the
    /// corrections to `warnings`.
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
                "enable_blob_direct_write requires enable_blob_files=true. Disabling blob direct write."
                    .to_string(),
            );
        }
        if self.bottommost_compression != CompressionType::DISABLE
            && self.bottommost_compression.kind().is_err()
        {
            warnings.push(format!(
                "bottommost_compression={} is not linked with the binary. The bottommost level is not compressed.",
                self.bottommost_compression.log_name()
            ));
        }
        self.blob_direct_write_partitions = self.blob_direct_write_partitions.max(1);
        warn_of_ranges(self, warnings);
    }

    fn sanitize_memtable(&mut self, db: &DbOptions, warnings: &mut Vec<String>) {
        self.write_buffer_size = self.write_buffer_size.clamp(64 << 10, WRITE_BUFFER_SIZE_MAX);
        if self.arena_block_size == 0 {
            self.arena_block_size = (self.write_buffer_size / 8).min(1 << 20).next_multiple_of(4096);
        }
        // RocksDB limits `min_write_buffer_number_to_merge` by `max_write_buffer_number` before it raises the latter.
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
        if self.prefix_extractor.is_none() && self.memtable_factory.is_hashed() {
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
        let (soft, hard) =
            (self.soft_pending_compaction_bytes_limit, self.hard_pending_compaction_bytes_limit);
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
        self.level0_stop_writes_trigger =
            self.level0_stop_writes_trigger.max(self.level0_slowdown_writes_trigger);
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
            CompactionStyle::Level if automatic && filtered => {
                self.periodic_compaction_seconds = THIRTY_DAYS_S
            }
            CompactionStyle::Universal if automatic => self.periodic_compaction_seconds = THIRTY_DAYS_S,
            CompactionStyle::Fifo => {
                if self.periodic_compaction_seconds != AGE_AUTO {
                    warnings.push(
                        "periodic_compaction_seconds does not support FIFO compaction. You may want to set option \
                         TTL instead."
                            .to_string(),
                    );
                }
                self.last_level_temperature = Temperature::Unknown;
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
