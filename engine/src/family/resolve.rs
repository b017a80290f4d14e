//! Checks the options of a column family and makes [`Parts`] from them.
//!
//! An option that asks for a missing feature is rejected by name. A value that RocksDB silently moves into its
//! valid range is moved in the same way.

use lsm::pick::Ages;
use lsm::pick::Codecs;
use lsm::pick::FileSizes;
use lsm::pick::LevelSizes;
use lsm::pick::Temperatures;
use lsm::pick::Triggers;
use lsm::pick::WriteBuffers;
use std::path::Path;

use base::key::InternalOrder;
use base::{Error, Order, Result};
use lsm::pick;
use mem::memtable::{MemTableOptions, RepKind};
use table::options::OtherTables;
use table::sst::BlockCache;

use super::parts::{
    BlobCache, BlobSettings, BlockSettings, Measured, ScanSettings, Stored, SuccessiveMerges, VerifiedOutputs,
};
use super::{Caches, Parts, UserCode};
use crate::options::{
    AGE_AUTO, CompactionOptionsFifo, CompactionOptionsUniversal, CompactionPri, CompactionStopStyle,
    CompactionStyle, CompressionType, DbOptions, DbPath, FamilyOptions, MemtableFactory,
    PrepopulateBlobCache, VerifyOutputFlags,
};
use crate::sync::Arc;

const THIRTY_DAYS_S: u64 = 30 * 24 * 60 * 60;

impl Parts {
    /// Makes the parts of a column family. `dir` is the directory of the database. It has the SST files if no paths
    /// are set.
    ///
    /// # Errors
    /// NotSupported with the name of the option that asks for a missing feature. InvalidArgument for values out of
    /// range.
    pub fn resolve(
        options: &FamilyOptions,
        db: &DbOptions,
        dir: &Path,
        cache: Option<Arc<BlockCache>>,
        blob_cache: Option<Arc<BlockCache>>,
    ) -> Result<Parts> {
        db.compat.check(db, options)?;
        let mut options = options.clone();
        db.compat.cap(&mut options)?;
        let options = &options;
        let Some(tables) = options.table_factory.kinds() else {
            return Err(Error::not_supported(format!("table factory {}", options.table_factory.name())));
        };
        let table = tables.block_based;
        let order = options.comparator.clone();
        let memtable = memtable_options(options, db, &order)?;
        let block_cache = if table.no_block_cache { None } else { cache };
        if let Some(cache) = &block_cache {
            cache.charge_statistics();
        }
        Ok(Parts {
            order,
            code: UserCode {
                merge_operator: options.merge_operator.clone(),
                compaction_filter: options.compaction_filter.clone(),
                compaction_filter_factory: options.compaction_filter_factory.clone(),
                partitioner_factory: options.sst_partitioner_factory.clone(),
                collectors: options.table_properties_collectors.clone(),
                prefix_extractor: options.prefix_extractor.clone(),
            },
            caches: Caches {
                blocks: block_cache,
                blobs: blob_cache.map(|cache| BlobCache { cache, charge: None }),
            },
            blobs: blob_settings(options),
            table: Arc::new(table),
            other: Arc::new(OtherTables {
                written: tables.written,
                plain: tables.plain,
                cuckoo: tables.cuckoo,
                bloom_locality: options.bloom_locality > 0,
                resident: db.allow_mmap_reads,
                without_range_tombstones: (!options.table_factory.holds_range_tombstones())
                    .then(|| options.table_factory.name().to_string()),
            }),
            pick: pick_options(options, db),
            memtable,
            optimize_filters_for_hits: options.optimize_filters_for_hits,
            scan: ScanSettings {
                prefix_seek_opt_in_only: db.prefix_seek_opt_in_only,
                max_sequential_skip: options.max_sequential_skip_in_iterations,
                flush_trigger: options.memtable_op_scan_flush_trigger.into(),
                flush_trigger_average: options.memtable_avg_op_scan_flush_trigger.into(),
                conversion_tombstones_min: options.min_tombstones_for_range_conversion.into(),
            },
            range_deletions_max: match u64::from(options.memtable_max_range_deletions) {
                0 => u64::MAX,
                most => most,
            },
            blocks: BlockSettings {
                protection_bytes_per_key: options.block_protection_bytes_per_key,
                uncache_aggressiveness: options.uncache_aggressiveness,
            },
            disallow_memtable_writes: options.disallow_memtable_writes,
            paranoid_file_checks: options.paranoid_file_checks,
            verify_outputs: verified_outputs(options.verify_output_flags),
            successive_merges: successive_merges(options),
            measured: measured(options),
            history_bytes_max: history_bytes_max(options),
            table_dirs: match table_paths(options, db) {
                [] => Arc::from([dir.to_path_buf()]),
                paths => paths.iter().map(|p| p.path.clone()).collect(),
            },
            stored: Stored {
                entities: db.compat.reads((7, 9)),
                timestamps: options.persist_user_defined_timestamps,
            },
        })
    }
}

/// Returns the options of the memtables of a column family with this key order.
fn memtable_options(options: &FamilyOptions, db: &DbOptions, order: &Order) -> Result<MemTableOptions> {
    let write_buffer_size = options.write_buffer_size.max(64 << 10);
    Ok(MemTableOptions {
        order: InternalOrder::new(order.clone()),
        rep: rep_of(&options.memtable_factory),
        write_buffer_size,
        // Like RocksDB, which bounds the ratio of the user silently.
        prefix_bloom_size_ratio: options.memtable_prefix_bloom_size_ratio.clamp(0.0, 0.25),
        whole_key_filtering: options.memtable_whole_key_filtering,
        prefix_extractor: options.prefix_extractor.clone(),
        protection_bytes_per_key: u8::try_from(options.memtable_protection_bytes_per_key).map_err(|_| {
            Error::invalid_argument("memtable_protection_bytes_per_key must be 0, 1, 2, 4 or 8")
        })?,
        paranoid_checks: options.paranoid_memory_checks,
        verify_on_seek: options.memtable_verify_per_key_checksum_on_seek
            && options.memtable_protection_bytes_per_key > 0,
        inplace_locks: options.inplace_update_support.then_some(options.inplace_update_num_locks),
        tracks_timestamps: !options.persist_user_defined_timestamps && order.timestamp_size() == 8,
        allow_data_in_errors: db.allow_data_in_errors,
    })
}

fn blob_settings(o: &FamilyOptions) -> BlobSettings {
    BlobSettings {
        enable_blob_files: o.enable_blob_files,
        min_blob_size: o.min_blob_size,
        blob_file_size: o.blob_file_size,
        compression: o.blob_compression_type.number(),
        compression_options: o.blob_compression_opts,
        enable_garbage_collection: o.enable_blob_garbage_collection,
        age_cutoff: o.blob_garbage_collection_age_cutoff,
        compaction_readahead_bytes: usize::try_from(o.blob_compaction_readahead_size).unwrap_or(usize::MAX),
        starting_level: o.blob_file_starting_level,
        warm_on_flush: o.prepopulate_blob_cache == PrepopulateBlobCache::FlushOnly,
        direct_write: o.enable_blob_direct_write,
        direct_partitions: usize::try_from(o.blob_direct_write_partitions).unwrap_or(usize::MAX),
    }
}

/// Returns the limit of the history in bytes. A negative option value means the size of all memtables.
fn history_bytes_max(o: &FamilyOptions) -> usize {
    let all =
        (o.write_buffer_size as u64).saturating_mul(o.max_write_buffer_number.max(2).unsigned_abs().into());
    let bytes = u64::try_from(o.max_write_buffer_size_to_maintain).unwrap_or(all);
    usize::try_from(bytes).unwrap_or(usize::MAX)
}

/// An iteration over all entries also verifies all blocks. Each of the two flags requests the iteration.
fn verified_outputs(flags: VerifyOutputFlags) -> VerifiedOutputs {
    let local = flags.contains(VerifyOutputFlags::ENABLE_FOR_LOCAL_COMPACTION);
    let entries =
        flags.contains(VerifyOutputFlags::BLOCK_CHECKSUM) || flags.contains(VerifyOutputFlags::ITERATION);
    VerifiedOutputs {
        entries: local && entries,
        checksum: local && flags.contains(VerifyOutputFlags::FILE_CHECKSUM),
    }
}

/// The memtables with hash tables are built on the same tree as the skip list.
fn rep_of(factory: &MemtableFactory) -> RepKind {
    match factory {
        MemtableFactory::SkipList { .. }
        | MemtableFactory::HashSkipList(_)
        | MemtableFactory::HashLinkList(_) => RepKind::SkipList,
        MemtableFactory::Vector { .. } => RepKind::Vector,
    }
}

/// Returns the options of the compaction pickers.
pub fn pick_options(o: &FamilyOptions, db: &DbOptions) -> pick::Options {
    let style = style_of(o.compaction_style);
    let num_levels = usize::try_from(o.num_levels).unwrap_or(1).clamp(1, lsm::version::MAX_LEVELS);
    let num_levels = if style == pick::Style::Level { num_levels.max(2) } else { num_levels };
    base::invariant!(
        (1..=lsm::version::MAX_LEVELS).contains(&num_levels),
        "a column family has {num_levels} levels"
    );
    let paths = match table_paths(o, db) {
        [] => vec![pick::PathOptions { target_size: u64::MAX }],
        paths => paths.iter().map(|p| pick::PathOptions { target_size: p.target_size }).collect(),
    };
    let slowdown = o.level0_slowdown_writes_trigger.max(o.level0_file_num_compaction_trigger);
    pick::Options {
        style,
        priority: priority_of(o.compaction_pri),
        num_levels,
        triggers: Triggers {
            level0_file_num_compaction_trigger: o.level0_file_num_compaction_trigger,
            level0_slowdown_writes_trigger: slowdown,
            level0_stop_writes_trigger: o.level0_stop_writes_trigger.max(slowdown),
            soft_pending_compaction_bytes_limit: o.soft_pending_compaction_bytes_limit,
            hard_pending_compaction_bytes_limit: o.hard_pending_compaction_bytes_limit,
        },
        sizes: LevelSizes {
            max_bytes_for_level_base: o.max_bytes_for_level_base,
            max_bytes_for_level_multiplier: o.max_bytes_for_level_multiplier,
            max_bytes_for_level_multiplier_additional: o.max_bytes_for_level_multiplier_additional.clone(),
            level_compaction_dynamic_level_bytes: o.level_compaction_dynamic_level_bytes
                && style == pick::Style::Level
                && paths.len() <= 1,
        },
        files: FileSizes {
            target_file_size_base: o.target_file_size_base,
            target_file_size_multiplier: u32::try_from(o.target_file_size_multiplier).unwrap_or(1).max(1),
            target_file_size_is_upper_bound: o.target_file_size_is_upper_bound,
            max_compaction_bytes: o.max_compaction_bytes,
            ..FileSizes::default()
        },
        ages: Ages {
            ttl: if o.ttl == AGE_AUTO { THIRTY_DAYS_S } else { o.ttl },
            periodic_compaction_seconds: periodic_seconds(o),
            offpeak: crate::options::time_range(&db.daily_offpeak_time_utc),
            bottommost_file_compaction_delay: u64::from(o.bottommost_file_compaction_delay),
            preclude_last_level_data_seconds: o.preclude_last_level_data_seconds,
            preserve_seconds: write_times_kept_s(o),
        },
        buffers: WriteBuffers {
            max_write_buffer_number: usize::try_from(o.max_write_buffer_number).unwrap_or(2).max(2),
            min_write_buffer_number_to_merge: min_to_merge(o, db),
            write_buffer_size: o.write_buffer_size.max(64 << 10) as u64,
        },
        codecs: Codecs {
            compression: o.compression.number(),
            compression_per_level: o.compression_per_level.iter().map(|c| c.number()).collect(),
            bottommost_compression: bottommost_compression(o.bottommost_compression),
            bottommost_compression_opts_enabled: o.bottommost_compression_opts.enabled,
        },
        temperatures: Temperatures {
            last_level_temperature: o.last_level_temperature as u8,
            default_write_temperature: o.default_write_temperature as u8,
        },
        disable_auto_compactions: o.disable_auto_compactions,
        forced_blob_gc: o.enable_blob_garbage_collection.then_some(pick::ForcedBlobGc {
            age_cutoff: o.blob_garbage_collection_age_cutoff,
            threshold: o.blob_garbage_collection_force_threshold,
        }),
        read_triggered_compaction_threshold: o.read_triggered_compaction_threshold,
        universal: universal_options(&o.compaction_options_universal),
        fifo: fifo_options(&o.compaction_options_fifo),
        paths,
        allow_ingest_behind: db.allow_ingest_behind || o.cf_allow_ingest_behind,
        max_subcompactions: db.max_subcompactions.max(1),
        has_compaction_filter: o.compaction_filter.is_some() || o.compaction_filter_factory.is_some(),
    }
}

fn style_of(style: CompactionStyle) -> pick::Style {
    match style {
        CompactionStyle::Level => pick::Style::Level,
        CompactionStyle::Universal => pick::Style::Universal,
        CompactionStyle::Fifo => pick::Style::Fifo,
        CompactionStyle::None => pick::Style::None,
    }
}

fn priority_of(priority: CompactionPri) -> pick::Priority {
    match priority {
        CompactionPri::ByCompensatedSize => pick::Priority::ByCompensatedSize,
        CompactionPri::OldestLargestSeqFirst => pick::Priority::OldestLargestSeqFirst,
        CompactionPri::OldestSmallestSeqFirst => pick::Priority::OldestSmallestSeqFirst,
        CompactionPri::MinOverlappingRatio => pick::Priority::MinOverlappingRatio,
        CompactionPri::RoundRobin => pick::Priority::RoundRobin,
    }
}

/// Returns the age in seconds at which a file is compacted. 0: never.
fn periodic_seconds(o: &FamilyOptions) -> u64 {
    match o.periodic_compaction_seconds {
        AGE_AUTO if o.compaction_filter.is_some() || o.compaction_filter_factory.is_some() => THIRTY_DAYS_S,
        AGE_AUTO => 0,
        seconds => seconds,
    }
}

/// Returns the number of the compression type of the bottommost level, or `None` if the level has no type of its own.
fn bottommost_compression(compression: CompressionType) -> Option<u8> {
    match compression {
        CompressionType::DISABLE => None,
        // RocksDB opens with a compression that the build lacks, and leaves the blocks uncompressed. The open says
        // so in the info log.
        unsupported if unsupported.kind().is_err() => Some(CompressionType::NONE.number()),
        compression => Some(compression.number()),
    }
}

fn universal_options(o: &CompactionOptionsUniversal) -> pick::UniversalOptions {
    pick::UniversalOptions {
        size_ratio: o.size_ratio,
        min_merge_width: o.min_merge_width,
        max_merge_width: o.max_merge_width,
        max_size_amplification_percent: o.max_size_amplification_percent,
        compression_size_percent: o.compression_size_percent,
        stop_style: match o.stop_style {
            CompactionStopStyle::SimilarSize => pick::StopStyle::SimilarSize,
            CompactionStopStyle::TotalSize => pick::StopStyle::TotalSize,
        },
        allow_trivial_move: o.allow_trivial_move,
        incremental: o.incremental,
        max_read_amp: o.max_read_amp,
    }
}

fn fifo_options(o: &CompactionOptionsFifo) -> pick::FifoOptions {
    pick::FifoOptions {
        max_table_files_size: o.max_table_files_size,
        max_data_files_size: o.max_data_files_size,
        allow_compaction: o.allow_compaction,
        file_temperature_age_thresholds: o
            .file_temperature_age_thresholds
            .iter()
            .map(|t| pick::FileTemperatureAge { temperature: t.temperature as u8, age: t.age })
            .collect(),
        allow_trivial_copy_when_change_temperature: o.allow_trivial_copy_when_change_temperature,
        use_kv_ratio_compaction: o.use_kv_ratio_compaction,
    }
}

/// Returns the directories for the SST files of the column family; empty for the directory of the database.
fn table_paths<'a>(o: &'a FamilyOptions, db: &'a DbOptions) -> &'a [DbPath] {
    if o.cf_paths.is_empty() { &db.db_paths } else { &o.cf_paths }
}

/// The result is smaller than the maximum number of memtables. It is 1 with atomic flush.
fn min_to_merge(o: &FamilyOptions, db: &DbOptions) -> usize {
    if db.atomic_flush {
        return 1;
    }
    let most = o.max_write_buffer_number.max(2) - 1;
    base::invariant!(most >= 1, "a flush merges at most {most} memtables");
    usize::try_from(o.min_write_buffer_number_to_merge.clamp(1, most)).unwrap_or(1)
}

impl Parts {
    /// Makes an empty active memtable for this column family.
    pub fn new_memtable(&self, id: u64, earliest_seq: base::SequenceNumber) -> Arc<mem::memtable::MemTable> {
        mem::memtable::MemTable::new(self.memtable.clone(), id, earliest_seq)
    }
}

/// Returns the age, in seconds, up to which entries keep their write times. 0: no entry does.
pub fn write_times_kept_s(options: &FamilyOptions) -> u64 {
    options.preserve_internal_time_seconds.max(options.preclude_last_level_data_seconds)
}

fn successive_merges(options: &FamilyOptions) -> SuccessiveMerges {
    SuccessiveMerges {
        operands_max: options.max_successive_merges as u64,
        may_read_files: options.strict_max_successive_merges,
    }
}

fn measured(options: &FamilyOptions) -> Measured {
    Measured {
        default_temperature: options.default_temperature as u8,
        times_jobs: options.report_bg_io_stats,
    }
}
