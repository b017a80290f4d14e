//! The options of a database and of a column family: [`Options`].
//!
//! ```text
//!  database, family   setters of options with a single value     components   objects: operators, caches, loggers
//!  styles, tables     options that become a part of `Options`    calls        options of reads, writes, compactions
//!  kinds              enums for the values of options            place        how a setter stores a value
//! ```

mod cache;
mod calls;
mod components;
mod database;
mod family;
mod kinds;
mod logger;
#[cfg(test)]
mod names;
pub(crate) mod place;
mod styles;
mod tables;

use std::path::Path;
use std::sync::Arc;

use ironstone::binding::TableCache;
use ironstone::stats::HistogramKind;
use ironstone::{BlockCache, CompressionType, FamilyDescriptor, ReadConfig, TableFactory};

use crate::c_str::check_path;
use crate::statistics::{Histogram, HistogramData, StatsLevel, Ticker};
use crate::{ColumnFamilyDescriptor, ColumnFamilyTtl, Env, Error};
use place::Rejected;

pub use cache::{Cache, LruCacheOptions, WriteBufferManager};
pub use calls::{
    CompactOptions, FlushOptions, IngestExternalFileOptions, ReadOptions, WaitForCompactOptions, WriteOptions,
};
pub(crate) use components::name_of;
pub use kinds::{
    BlockBasedIndexType, BlockBasedTablePinningTier, BottommostLevelCompaction, ChecksumType, CompactionPri,
    DBCompactionStyle, DBCompressionType, DBRecoveryMode, DataBlockIndexType, KeyEncodingType, LogLevel,
    MemtableFactory, PlainTableFactoryOptions, ReadTier, UniversalCompactionStopStyle,
};
pub use logger::InfoLogger;
pub use styles::{DBPath, FifoCompactOptions, UniversalCompactOptions};
pub use tables::{BlockBasedOptions, CuckooTableOptions};

/// The options of a database and of a column family.
///
/// A clone shares components: caches, loggers, statistics, comparators.
#[derive(Clone, Default)]
pub struct Options {
    pub(crate) inner: ironstone::Options,
    /// The block cache of the table options.
    pub(crate) table_cache: TableCache,
    pub(crate) blob_cache: Option<Arc<BlockCache>>,
    pub(crate) rejected: Rejected,
}

impl Options {
    /// Returns the options of `ironstone` without a block cache: each descriptor has its own block cache.
    ///
    /// # Errors
    /// InvalidArgument for the first option with a value that the option cannot have.
    pub(crate) fn get(&self) -> Result<ironstone::Options, Error> {
        self.rejected.check()?;
        Ok(self.inner.clone())
    }

    /// Returns the descriptor of a column family with these options.
    ///
    /// # Errors
    /// The errors of [`Self::get`]. An error for a name with NUL inside, because C programs could not open the family.
    pub(crate) fn descriptor(&self, name: &str) -> Result<FamilyDescriptor, Error> {
        self.rejected.check()?;
        if let Err(error) = std::ffi::CString::new(name) {
            return Err(Error::new(format!("Failed to convert path to CString when creating cf: {error}")));
        }
        let mut descriptor = FamilyDescriptor::new(name, self.inner.family.clone());
        descriptor.block_cache = self.table_cache.get(&self.inner.family.table_factory)?;
        descriptor.blob_cache = self.blob_cache.clone();
        Ok(descriptor)
    }

    /// Reads the newest OPTIONS file of a database. Returns the options of the database, and a descriptor for each column
    /// family. All tables use the block cache `cache`.
    ///
    /// # Errors
    /// NotFound if there is no OPTIONS file; InvalidArgument for an unknown option, unless `ignore_unknown_options`.
    pub fn load_latest<P: AsRef<Path>>(
        path: P,
        env: Env,
        ignore_unknown_options: bool,
        cache: Cache,
    ) -> Result<(Options, Vec<ColumnFamilyDescriptor>), Error> {
        let path = check_path(path.as_ref())?;
        let config = ReadConfig { ignore_unknown_options, ..ReadConfig::default() };
        let file = ironstone::Options::load_latest(path, &env.inner, &config)?;
        let mut options = Options::default();
        options.inner.db = file.db;
        options.inner.db.env = env.inner;
        let descriptor = |(name, family)| {
            let mut options = Options::default();
            options.inner.family = family;
            if matches!(options.inner.family.table_factory, TableFactory::BlockBased(_)) {
                options.table_cache = TableCache::of(Some(cache.inner.clone()));
            }
            ColumnFamilyDescriptor { name, options, ttl: ColumnFamilyTtl::Disabled }
        };
        Ok((options, file.families.into_iter().map(descriptor).collect()))
    }

    /// Returns a copy of these options with options from text, for example `write_buffer_size=1048576`.
    ///
    /// # Errors
    /// InvalidArgument for an unknown option or a value that an option cannot have.
    pub fn get_options_from_string<S: AsRef<str>>(&mut self, opts_str: S) -> Result<Options, Error> {
        if let Err(error) = std::ffi::CString::new(opts_str.as_ref()) {
            return Err(Error::new(format!("options string must not contain NUL (0x00) bytes: {error}")));
        }
        let mut options = self.clone();
        options.table_cache.update(&mut options.inner, opts_str.as_ref())?;
        Ok(options)
    }

    /// Sets the maximum number of background jobs to `parallelism`, and adds threads to the pools for as many jobs.
    pub fn increase_parallelism(&mut self, parallelism: i32) {
        use ironstone::env::Pool;
        self.inner.db.increase_parallelism(parallelism);
        let low = usize::try_from(parallelism).unwrap_or(0);
        self.inner.db.env.executor.set_threads(Pool::Low, low);
        self.inner.db.env.executor.set_threads(Pool::High, 1);
    }

    /// Sets options for level compaction. `memtable_memory_budget` is the memory of the memtables, in bytes.
    pub fn optimize_level_style_compaction(&mut self, memtable_memory_budget: usize) {
        self.inner.family.optimize_level_style_compaction(memtable_memory_budget as u64);
    }

    /// Sets options for universal compaction. `memtable_memory_budget` is the memory of the memtables, in bytes.
    pub fn optimize_universal_style_compaction(&mut self, memtable_memory_budget: usize) {
        self.inner.family.optimize_universal_style_compaction(memtable_memory_budget as u64);
    }

    /// Sets options for point lookups without range scans. `block_cache_size_mb` is the capacity of the block cache, in MiB.
    pub fn optimize_for_point_lookup(&mut self, block_cache_size_mb: u64) {
        self.inner.family.optimize_for_point_lookup(block_cache_size_mb);
        self.table_cache = TableCache::default();
    }

    /// Sets options for a bulk load without compaction.
    pub fn prepare_for_bulk_load(&mut self) {
        self.inner.prepare_for_bulk_load();
    }

    /// Sets the compression of WAL records: none or ZSTD.
    ///
    /// # Panics
    /// Panics for all other compressions, as the crate `rocksdb` does.
    pub fn set_wal_compression_type(&mut self, t: DBCompressionType) {
        let is_known = matches!(t, DBCompressionType::None | DBCompressionType::Zstd);
        assert!(is_known, "not implemented: {t:?} is not supported for WAL compression");
        self.inner.db.wal_compression = t.into();
    }

    /// Sets the compression of each level. Levels past the list have the compression of its last item.
    pub fn set_compression_per_level(&mut self, level_types: &[DBCompressionType]) {
        self.inner.family.compression_per_level = level_types.iter().map(|&kind| kind.into()).collect();
    }

    /// Disables compression for level 0 to `lvl` - 1. The levels from `lvl` use the compression of the column family. A negative
    /// `lvl` changes nothing.
    pub fn set_min_level_to_compress(&mut self, lvl: i32) {
        let Ok(lvl) = usize::try_from(lvl) else { return };
        let count = usize::try_from(self.inner.family.num_levels).unwrap_or(0);
        let compression = self.inner.family.compression;
        self.inner.family.compression_per_level =
            (0..count).map(|at| if at < lvl { CompressionType::NONE } else { compression }).collect();
    }

    /// Sets the window, level and strategy of compression, and the maximum size of a compression dictionary in bytes.
    pub fn set_compression_options(
        &mut self,
        window_bits: i32,
        level: i32,
        strategy: i32,
        max_dict_bytes: i32,
    ) {
        let options = &mut self.inner.family.compression_opts;
        (options.window_bits, options.level, options.strategy) = (window_bits, level, strategy);
        let is_stored = place::Place::store(&mut options.max_dict_bytes, max_dict_bytes);
        self.rejected.note("compression_opts.max_dict_bytes", is_stored, max_dict_bytes);
    }

    /// Works like [`Self::set_compression_options`], for the bottommost level.
    pub fn set_bottommost_compression_options(
        &mut self,
        window_bits: i32,
        level: i32,
        strategy: i32,
        max_dict_bytes: i32,
        enabled: bool,
    ) {
        let options = &mut self.inner.family.bottommost_compression_opts;
        (options.window_bits, options.level, options.strategy) = (window_bits, level, strategy);
        options.enabled = enabled;
        let is_stored = place::Place::store(&mut options.max_dict_bytes, max_dict_bytes);
        self.rejected.note("bottommost_compression_opts.max_dict_bytes", is_stored, max_dict_bytes);
    }

    /// Sets the size of the samples that train the ZSTD dictionaries of the bottommost level, in bytes.
    pub fn set_bottommost_zstd_max_train_bytes(&mut self, value: i32, enabled: bool) {
        let options = &mut self.inner.family.bottommost_compression_opts;
        options.enabled = enabled;
        let is_stored = place::Place::store(&mut options.zstd_max_train_bytes, value);
        self.rejected.note("bottommost_compression_opts.zstd_max_train_bytes", is_stored, value);
    }

    /// Sets an additional factor for the target size of each level, in the order of the levels.
    pub fn set_max_bytes_for_level_multiplier_additional(&mut self, level_values: &[i32]) {
        self.inner.family.max_bytes_for_level_multiplier_additional = level_values.to_vec();
    }

    /// Copies the options of universal compaction.
    pub fn set_universal_compaction_options(&mut self, uco: &UniversalCompactOptions) {
        self.inner.family.compaction_options_universal = uco.inner;
        self.rejected.take("compaction_options_universal", &uco.rejected);
    }

    /// Copies the options of FIFO compaction.
    pub fn set_fifo_compaction_options(&mut self, fco: &FifoCompactOptions) {
        self.inner.family.compaction_options_fifo = fco.inner.clone();
        self.rejected.take("compaction_options_fifo", &fco.rejected);
    }

    /// Sets `use_direct_reads` and `use_direct_io_for_flush_and_compaction` to the opposite of `is_allow`.
    #[deprecated(
        since = "0.7.0",
        note = "replaced with set_use_direct_reads/set_use_direct_io_for_flush_and_compaction methods"
    )]
    pub fn set_allow_os_buffer(&mut self, is_allow: bool) {
        self.set_use_direct_reads(!is_allow);
        self.set_use_direct_io_for_flush_and_compaction(!is_allow);
    }

    /// Sets `max_background_compactions`.
    #[deprecated(
        since = "0.15.0",
        note = "RocksDB automatically decides this based on the value of max_background_jobs"
    )]
    pub fn set_max_background_compactions(&mut self, n: i32) {
        self.inner.db.max_background_compactions = n;
    }

    /// Sets `max_background_flushes`.
    #[deprecated(
        since = "0.15.0",
        note = "RocksDB automatically decides this based on the value of max_background_jobs"
    )]
    pub fn set_max_background_flushes(&mut self, n: i32) {
        self.inner.db.max_background_flushes = n;
    }

    /// Returns `use_fsync`.
    pub fn get_use_fsync(&self) -> bool {
        self.inner.db.use_fsync
    }

    /// Returns `track_and_verify_wals_in_manifest`.
    pub fn get_track_and_verify_wals_in_manifest(&self) -> bool {
        self.inner.db.track_and_verify_wals_in_manifest
    }

    /// Returns `write_dbid_to_manifest`.
    pub fn get_write_dbid_to_manifest(&self) -> bool {
        self.inner.db.write_dbid_to_manifest
    }

    /// Collects statistics. Databases that are opened with these options share the statistics.
    pub fn enable_statistics(&mut self) {
        self.inner.db.statistics = Some(Arc::new(ironstone::Statistics::new()));
    }

    /// Returns the statistics as text. Returns `None` if statistics are not enabled.
    pub fn get_statistics(&self) -> Option<String> {
        self.inner.db.statistics.as_ref().map(ToString::to_string)
    }

    /// Sets the statistics that are collected. Changes nothing if statistics are not enabled.
    pub fn set_statistics_level(&self, level: StatsLevel) {
        if let Some(statistics) = &self.inner.db.statistics {
            statistics.set_level(level.of_ironstone());
        }
    }

    /// Returns the count of a ticker. Returns 0 if statistics are not enabled.
    pub fn get_ticker_count(&self, ticker: Ticker) -> u64 {
        let known = ironstone::stats::Ticker::by_name(ticker.name());
        self.inner.db.statistics.as_ref().zip(known).map_or(0, |(statistics, known)| statistics.ticker(known))
    }

    /// Returns the data of a histogram. All numbers are 0 if statistics are not enabled.
    pub fn get_histogram_data(&self, histogram: Histogram) -> HistogramData {
        let known = HistogramKind::by_name(histogram.name());
        let data = self.inner.db.statistics.as_ref().zip(known);
        let data = data.map(|(statistics, known)| statistics.histogram_data(known)).unwrap_or_default();
        HistogramData { data }
    }
}
