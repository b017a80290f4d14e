//! The setters of [`Options`] that take objects: operators, filters, caches, tables, loggers, paths.

use std::path::Path;
use std::sync::Arc;

use ironstone::binding::TableCache;
use ironstone::env::{RateLimiter, RateOptions};
use ironstone::{MemtableFactory as Memtables, Order, TableFactory, Value};

use super::place::Rejected;
use super::tables::plain_table;
use super::{BlockBasedOptions, Cache, CuckooTableOptions, DBPath, InfoLogger, Options, WriteBufferManager};
use crate::compaction_filter::{CompactionFilterCallback, CompactionFilterFn, Filter};
use crate::compaction_filter_factory::{CompactionFilterFactory, Factory};
use crate::comparator::{CompareFn, CompareTsFn, CompareWithoutTsFn, Plain, WithTimestamps};
use crate::merge_operator::{MergeFn, MergeOperatorCallback};
use crate::shared::Shared;
use crate::{CStrLike, Env, MemtableFactory, PlainTableFactoryOptions, SliceTransform};

/// Returns the name of an object. If the name contains NUL, returns the text of the error instead.
pub(crate) fn name_of(name: impl CStrLike) -> String {
    match name.into_c_string() {
        Ok(name) => name.to_string_lossy().into_owned(),
        Err(error) => format!("invalid name: {error}"),
    }
}

fn c_name_of(name: impl CStrLike) -> std::ffi::CString {
    std::ffi::CString::new(name_of(name)).unwrap_or_default() // `name_of` returns no NUL
}

fn paths(paths: &[DBPath]) -> Vec<ironstone::DbPath> {
    paths.iter().map(|path| path.path.clone()).collect()
}

impl Options {
    /// Sets the directories of SST files, in the order of their use.
    pub fn set_db_paths(&mut self, paths_list: &[DBPath]) {
        self.inner.db.db_paths = paths(paths_list);
    }

    /// Sets the directories of SST files of a column family.
    pub fn set_cf_paths(&mut self, paths_list: &[DBPath]) {
        self.inner.family.cf_paths = paths(paths_list);
    }

    /// Sets the environment.
    pub fn set_env(&mut self, env: &Env) {
        self.inner.db.env = env.inner.clone();
    }

    /// Sets the directory of the info log. If the path is not UTF-8, the open fails.
    pub fn set_db_log_dir<P: AsRef<Path>>(&mut self, path: P) {
        if let Some(path) = self.utf8("db_log_dir", path.as_ref()) {
            self.inner.db.db_log_dir = path;
        }
    }

    /// Sets the directory of the WAL. If the path is not UTF-8, the open fails.
    pub fn set_wal_dir<P: AsRef<Path>>(&mut self, path: P) {
        if let Some(path) = self.utf8("wal_dir", path.as_ref()) {
            self.inner.db.wal_dir = path;
        }
    }

    /// Returns a path as text. If the path is not UTF-8, records this and returns `None`.
    fn utf8(&mut self, option: &'static str, path: &Path) -> Option<String> {
        let text = path.to_str();
        self.rejected.note(option, text.is_some(), path);
        text.map(str::to_string)
    }

    /// Sets an associative merge operator: one function merges operands with a value and operands with each other.
    pub fn set_merge_operator_associative<F: MergeFn + Clone>(
        &mut self,
        name: impl CStrLike,
        full_merge_fn: F,
    ) {
        self.set_merge_operator(name, full_merge_fn.clone(), full_merge_fn);
    }

    /// Sets a merge operator with two functions: one merges operands with a value, the other merges operands with each other.
    pub fn set_merge_operator<F: MergeFn, PF: MergeFn>(
        &mut self,
        name: impl CStrLike,
        full_merge_fn: F,
        partial_merge_fn: PF,
    ) {
        let name = c_name_of(name);
        let operator = MergeOperatorCallback { name, full_merge_fn, partial_merge_fn };
        self.inner.family.merge_operator = Some(Arc::new(operator));
    }

    /// See [`Self::set_merge_operator_associative`].
    #[deprecated(since = "0.5.0", note = "add_merge_operator has been renamed to set_merge_operator")]
    pub fn add_merge_operator<F: MergeFn + Clone>(&mut self, name: &str, merge_fn: F) {
        self.set_merge_operator_associative(name, merge_fn);
    }

    /// Sets a compaction filter. Calls of concurrent compactions run one after the other.
    pub fn set_compaction_filter<F>(&mut self, name: impl CStrLike, filter_fn: F)
    where
        F: CompactionFilterFn + Send + 'static,
    {
        let filter = Filter::new(CompactionFilterCallback { name: c_name_of(name), filter_fn });
        self.inner.family.compaction_filter = Some(Arc::new(filter));
    }

    /// Sets a factory of compaction filters. Calls of the factory run one after the other. A filter is used by one thread at a
    /// time.
    ///
    /// Background threads call the factory and its filters, and any thread may drop them. The type does not require `Send`, so
    /// the caller must make sure that this is safe. If the factory or a filter holds an `Rc` or a `Cell`, the program must not
    /// use the same `Rc` or `Cell` concurrently.
    pub fn set_compaction_filter_factory<F>(&mut self, factory: F)
    where
        F: CompactionFilterFactory + 'static,
    {
        self.inner.family.compaction_filter_factory = Some(Arc::new(Factory::new(factory)));
    }

    /// Sets the order of keys. The order of a database must never change.
    ///
    /// Several threads call the function concurrently, and any thread may drop the function. The type does not require `Send`
    /// and `Sync`, so the caller must make sure that the function is safe: use no `Rc`, no `Cell`, and no thread-local variable.
    pub fn set_comparator(&mut self, name: impl CStrLike, compare_fn: Box<CompareFn>) {
        let comparator = Plain { name: name_of(name), compare: Shared::new(compare_fn) };
        self.inner.family.comparator = Order::custom(comparator);
    }

    /// Sets the order of keys that end with a timestamp of `timestamp_size` bytes. Several threads call the functions
    /// concurrently; see [`Self::set_comparator`].
    pub fn set_comparator_with_ts(
        &mut self,
        name: impl CStrLike,
        timestamp_size: usize,
        compare_fn: Box<CompareFn>,
        compare_ts_fn: Box<CompareTsFn>,
        compare_without_ts_fn: Box<CompareWithoutTsFn>,
    ) {
        self.inner.family.comparator = Order::custom(WithTimestamps {
            name: name_of(name),
            size: timestamp_size,
            compare: Shared::new(compare_fn),
            compare_ts: Shared::new(compare_ts_fn),
            compare_without_ts: Shared::new(compare_without_ts_fn),
        });
    }

    /// Sets the prefix extractor.
    pub fn set_prefix_extractor(&mut self, prefix_extractor: SliceTransform) {
        self.inner.family.prefix_extractor = Some(prefix_extractor.inner);
    }

    /// Sets the structure of memtables.
    pub fn set_memtable_factory(&mut self, factory: MemtableFactory) {
        let text = match factory {
            MemtableFactory::Vector => {
                self.inner.family.memtable_factory = Memtables::Vector { count: 0 };
                return self.rejected.note_result("memtable_factory", Ok(()));
            }
            MemtableFactory::HashSkipList { bucket_count, height, branching_factor } => format!(
                "{{id=HashSkipListRepFactory;bucket_count={bucket_count};skiplist_height={height};\
                 branching_factor={branching_factor};}}"
            ),
            MemtableFactory::HashLinkList { bucket_count } => {
                format!("{{id=HashLinkListRepFactory;bucket_count={bucket_count};}}")
            }
        };
        let made = Value::parse(&text).map(|factory| self.inner.family.memtable_factory = factory);
        self.rejected.note_result("memtable_factory", made);
    }

    /// Sets the table format to block-based. The options share the block cache of `factory`.
    pub fn set_block_based_table_factory(&mut self, factory: &BlockBasedOptions) {
        self.inner.family.table_factory = TableFactory::BlockBased(factory.inner.clone());
        self.table_cache = TableCache::of(factory.block_cache.as_ref().map(|cache| cache.inner.clone()));
        self.rejected.take("block_based_table_factory", &factory.rejected);
    }

    fn set_table_factory(&mut self, made: ironstone::Result<TableFactory>) {
        let made = made.map(|factory| self.inner.family.table_factory = factory);
        self.rejected.take("block_based_table_factory", &Rejected::default());
        self.rejected.note_result("table_factory", made);
    }

    /// Sets the table format to cuckoo.
    pub fn set_cuckoo_table_factory(&mut self, factory: &CuckooTableOptions) {
        self.set_table_factory(factory.factory());
    }

    /// Sets the table format to plain.
    pub fn set_plain_table_factory(&mut self, options: &PlainTableFactoryOptions) {
        self.set_table_factory(plain_table(options));
    }

    /// Sets the row cache: it keeps entries of single keys of SST files, for lookups.
    pub fn set_row_cache(&mut self, cache: &Cache) {
        self.inner.db.row_cache = Some(cache.inner.clone());
    }

    /// Sets the cache for values in blob files.
    pub fn set_blob_cache(&mut self, cache: &Cache) {
        self.blob_cache = Some(cache.inner.clone());
    }

    /// Limits the rate at which flushes and compactions write. The open fails if the rate or the period is 0 or less.
    pub fn set_ratelimiter(&mut self, rate_bytes_per_sec: i64, refill_period_us: i64, fairness: i32) {
        self.set_rate_options(RateOptions {
            refill_period_us,
            fairness,
            ..RateOptions::new(rate_bytes_per_sec)
        });
    }

    /// Works like [`Self::set_ratelimiter`], with a rate that adapts up to the limit.
    pub fn set_auto_tuned_ratelimiter(
        &mut self,
        rate_bytes_per_sec: i64,
        refill_period_us: i64,
        fairness: i32,
    ) {
        let options = RateOptions { refill_period_us, fairness, ..RateOptions::new(rate_bytes_per_sec) };
        self.set_rate_options(RateOptions { auto_tuned: true, ..options });
    }

    fn set_rate_options(&mut self, options: RateOptions) {
        let made = RateLimiter::new(options, self.inner.db.env.clock.clone());
        let made = made.map(|limiter| self.inner.db.rate_limiter = Some(Arc::new(limiter)));
        self.rejected.note_result("rate_limiter", made);
    }

    /// Marks SST files with many tombstones for compaction. See RocksDB's `NewCompactOnDeletionCollectorFactory`.
    pub fn add_compact_on_deletion_collector_factory(
        &mut self,
        window_size: usize,
        num_dels_trigger: usize,
        deletion_ratio: f64,
    ) {
        let text = format!(
            "{{id=CompactOnDeletionCollector;window_size={window_size};deletion_trigger={num_dels_trigger};\
             deletion_ratio={deletion_ratio};}}"
        );
        let made =
            Value::parse(&text).map(|factory| self.inner.family.table_properties_collectors.push(factory));
        self.rejected.note_result("table_properties_collectors", made);
    }

    /// Sets the memory limit of memtables.
    pub fn set_write_buffer_manager(&mut self, write_buffer_manager: &WriteBufferManager) {
        self.inner.db.write_buffer_manager = Some(write_buffer_manager.inner.clone());
    }

    /// Sets the logger of the info log. If the logger comes from options without a logger, the database writes its own info log.
    pub fn set_info_logger(&mut self, logger: InfoLogger) {
        self.inner.db.info_log = logger.logger;
    }

    /// Returns the logger of the info log, for other options.
    pub fn get_info_logger(&self) -> InfoLogger {
        InfoLogger { logger: self.inner.db.info_log.clone() }
    }
}
