//! Objects that options hold: comparators, operators, filters, caches, loggers, environments.
//!
//! Some functions take ownership of an object, and their comment says so. All other objects are shared: the program still
//! destroys its handle.

use std::sync::Arc;

use engine::options::{DbPath, TableFactory};
use ironstone::binding::TableCache;
use lsm::filter::CompactionFilter;
use table::collectors::CompactOnDeletion;

use super::rocksdb_options_t;
use crate::abi::{HasRejected, Owned, arguments};
use crate::cache::rocksdb_cache_t;
use crate::compaction_filter::{rocksdb_compactionfilter_t, rocksdb_compactionfilterfactory_t};
use crate::compaction_service::rocksdb_compactionservice_t;
use crate::compaction_worker::rocksdb_sst_partitioner_factory_t;
use crate::comparator::rocksdb_comparator_t;
use crate::environment::{rocksdb_dbpath_t, rocksdb_env_t};
use crate::listener::rocksdb_eventlistener_t;
use crate::log::rocksdb_logger_t;
use crate::merge_operator::rocksdb_mergeoperator_t;
use crate::missing::rocksdb_table_properties_collector_factory_t;
use crate::rate_limiter::rocksdb_ratelimiter_t;
use crate::slice_transform::rocksdb_slicetransform_t;
use crate::sst_file_manager::rocksdb_sst_file_manager_t;
use crate::statistics::rocksdb_file_checksum_gen_factory_t;
use crate::table_options::{rocksdb_block_based_table_options_t, rocksdb_cuckoo_table_options_t};
use crate::wal_filter::rocksdb_walfilter_t;
use crate::write_buffer::rocksdb_write_buffer_manager_t;

c_api! {
    /// Sets the comparator. It is shared.
    fn rocksdb_options_set_comparator(options: mut rocksdb_options_t, comparator: at rocksdb_comparator_t) {
        options.family.comparator = comparator.order.clone();
    }

    /// Sets the merge operator. Takes ownership of it. Null: no merge operator.
    fn rocksdb_options_set_merge_operator(
        options: mut rocksdb_options_t, merge_operator: own rocksdb_mergeoperator_t
    ) {
        options.family.merge_operator = merge_operator.map(|operator| operator.operator.clone());
    }

    /// Sets the compaction filter. It is shared. Null: no compaction filter.
    fn rocksdb_options_set_compaction_filter(
        options: mut rocksdb_options_t, filter: maybe rocksdb_compactionfilter_t
    ) {
        let shared = |filter: &rocksdb_compactionfilter_t| -> Arc<dyn CompactionFilter> { filter.filter.clone() };
        options.family.compaction_filter = filter.map(shared);
    }

    /// Sets the compaction filter factory. Takes ownership of it. Null: no factory.
    fn rocksdb_options_set_compaction_filter_factory(
        options: mut rocksdb_options_t, factory: own rocksdb_compactionfilterfactory_t
    ) {
        options.family.compaction_filter_factory = factory.map(|factory| factory.factory.clone());
    }

    /// Sets the prefix extractor. Takes ownership of it. Null: no prefix extractor.
    fn rocksdb_options_set_prefix_extractor(
        options: mut rocksdb_options_t, prefix_extractor: own rocksdb_slicetransform_t
    ) {
        options.family.prefix_extractor = prefix_extractor.map(|transform| transform.extractor.clone());
    }

    /// Sets the table format to block-based. Copies the table options and shares their block cache. Null changes nothing.
    fn rocksdb_options_set_block_based_table_factory(
        options: mut rocksdb_options_t, table_options: maybe rocksdb_block_based_table_options_t
    ) {
        if let Some(table) = table_options {
            options.family.table_factory = TableFactory::BlockBased(table.options.clone());
            options.table_cache = TableCache::of(table.block_cache.clone());
            options.table_rejected = table.rejected().clone();
        }
    }

    /// Sets the table format to cuckoo. Copies the table options. Null changes nothing.
    fn rocksdb_options_set_cuckoo_table_factory(
        options: mut rocksdb_options_t, table_options: maybe rocksdb_cuckoo_table_options_t
    ) {
        if let Some(table) = table_options {
            options.family.table_factory = table.factory()?;
        }
    }

    /// Sets the table format to plain.
    fn rocksdb_options_set_plain_table_factory(
        options: mut rocksdb_options_t, user_key_len: u32, bloom_bits_per_key: i32, hash_table_ratio: f64,
        index_sparseness: usize, huge_page_tlb_size: usize, encoding_type: char, full_scan_mode: flag,
        store_index_in_file: flag
    ) {
        let mut factory = TableFactory::by_name("PlainTable")?;
        let encoding = if encoding_type == 1 { "kPrefix" } else { "kPlain" };
        for (name, value) in [
            ("user_key_len", user_key_len.to_string()),
            ("bloom_bits_per_key", bloom_bits_per_key.to_string()),
            ("hash_table_ratio", hash_table_ratio.to_string()),
            ("index_sparseness", index_sparseness.to_string()),
            ("huge_page_tlb_size", huge_page_tlb_size.to_string()),
            ("encoding_type", encoding.to_string()),
            ("full_scan_mode", full_scan_mode.to_string()),
            ("store_index_in_file", store_index_in_file.to_string()),
        ] {
            factory.set(name, &value)?;
        }
        options.family.table_factory = factory;
    }

    /// Sets the environment. It is shared. Null: the default environment.
    fn rocksdb_options_set_env(options: mut rocksdb_options_t, env: maybe rocksdb_env_t) {
        options.db.env = env.map_or_else(env::Env::posix, |env| env.env.clone());
    }

    /// Sets the logger that receives the info log. It is shared. Null changes nothing.
    fn rocksdb_options_set_info_log(options: mut rocksdb_options_t, logger: maybe rocksdb_logger_t) {
        if let Some(logger) = logger {
            options.db.info_log = Some(logger.logger.clone());
            options.logger = Some(logger.logger.clone());
        }
    }

    /// Returns a handle of the logger of these options. The caller destroys the handle.
    fn rocksdb_options_get_info_log(options: at rocksdb_options_t) -> Option<Owned<rocksdb_logger_t>> {
        options.logger.clone().map(|logger| Owned(rocksdb_logger_t { logger }))
    }

    /// Sets the rate limiter. It is shared. Null changes nothing.
    fn rocksdb_options_set_ratelimiter(options: mut rocksdb_options_t, limiter: maybe rocksdb_ratelimiter_t) {
        if let Some(limiter) = limiter {
            options.db.rate_limiter = Some(limiter.limiter.clone());
        }
    }

    /// Sets the write buffer manager. It is shared.
    fn rocksdb_options_set_write_buffer_manager(
        options: mut rocksdb_options_t, manager: at rocksdb_write_buffer_manager_t
    ) {
        options.db.write_buffer_manager = Some(manager.manager.clone());
    }

    /// Sets the factory of checksums of whole files. Null changes nothing.
    fn rocksdb_options_set_file_checksum_gen_factory(
        options: mut rocksdb_options_t, factory: maybe rocksdb_file_checksum_gen_factory_t
    ) {
        if let Some(factory) = factory {
            options.db.file_checksum_gen_factory = Some(factory.kind);
        }
    }

    /// Adds a listener. Takes ownership of it. Null changes nothing.
    fn rocksdb_options_add_eventlistener(options: mut rocksdb_options_t, listener: own rocksdb_eventlistener_t) {
        if let Some(listener) = listener {
            options.listeners.push(listener.listener.clone());
        }
    }

    /// Copies the paths. The target size of a path is in bytes.
    fn rocksdb_options_set_db_paths(
        options: mut rocksdb_options_t, path_values: raw(*mut *const rocksdb_dbpath_t), num_paths: usize
    ) {
        // SAFETY: rule 11 of the header: an aligned array of `num_paths` live handles. No thread changes the array or destroys a handle during
        // the call.
        options.db.db_paths = unsafe { paths(path_values, num_paths)? };
    }

    /// Copies the paths. The target size of a path is in bytes.
    fn rocksdb_options_set_cf_paths(
        options: mut rocksdb_options_t, path_values: raw(*mut *const rocksdb_dbpath_t), num_paths: usize
    ) {
        // SAFETY: rule 11 of the header: an aligned array of `num_paths` live handles. No thread changes the array or destroys a handle during
        // the call.
        options.family.cf_paths = unsafe { paths(path_values, num_paths)? };
    }

    /// Sets the row cache: it keeps entries of single keys of SST files. It is shared. Null changes nothing.
    fn rocksdb_options_set_row_cache(options: mut rocksdb_options_t, cache: maybe rocksdb_cache_t) {
        if let Some(cache) = cache {
            options.db.row_cache = Some(cache.cache.clone());
        }
    }

    /// Sets the cache for values in blob files. It is shared, and it may be the block cache. Null: no blob cache.
    fn rocksdb_options_set_blob_cache(options: mut rocksdb_options_t, cache: maybe rocksdb_cache_t) {
        options.blob_cache = cache.map(|cache| cache.cache.clone());
    }

    /// Sets the WAL filter. It is shared. Null: no WAL filter.
    fn rocksdb_options_set_wal_filter(options: mut rocksdb_options_t, filter: maybe rocksdb_walfilter_t) {
        options.wal_filter = filter.map(|filter| filter.filter.clone());
    }

    /// Removes the WAL filter.
    fn rocksdb_options_clear_wal_filter(options: mut rocksdb_options_t) {
        options.wal_filter = None;
    }

    /// Sets the SST file manager. It is shared. Null: no manager.
    fn rocksdb_options_set_sst_file_manager(
        options: mut rocksdb_options_t, manager: maybe rocksdb_sst_file_manager_t
    ) {
        options.db.sst_file_manager = manager.map(|manager| manager.manager.clone());
    }

    /// Shares the factory. Null changes nothing.
    fn rocksdb_options_set_sst_partitioner_factory(
        options: mut rocksdb_options_t, factory: maybe rocksdb_sst_partitioner_factory_t
    ) {
        if let Some(factory) = factory {
            options.family.sst_partitioner_factory = Some(factory.factory.clone());
        }
    }

    /// Sets the compaction service. Takes ownership of it. Null changes nothing.
    fn rocksdb_options_set_compaction_service(
        options: mut rocksdb_options_t, service: own rocksdb_compactionservice_t
    ) {
        if let Some(service) = service {
            options.compaction_service = Some(service.service.clone());
        }
    }

    /// Sets a factory of table properties collectors. No function creates such a factory. Null changes nothing.
    fn rocksdb_options_add_table_properties_collector_factory(
        options: mut rocksdb_options_t, factory: maybe rocksdb_table_properties_collector_factory_t
    ) {
        if factory.is_some() {
            options.want("table_properties_collectors", true);
        }
    }

    /// Marks an SST file for compaction if `num_dels_trigger` of `window_size` consecutive entries are tombstones.
    fn rocksdb_options_add_compact_on_deletion_collector_factory(
        options: mut rocksdb_options_t, window_size: usize, num_dels_trigger: usize
    ) {
        options.compact_on_deletion(window_size, num_dels_trigger, 0.0, 0);
    }

    /// Also marks a file if the ratio of tombstones to entries is at least `deletion_ratio` (above 0, at most 1).
    fn rocksdb_options_add_compact_on_deletion_collector_factory_del_ratio(
        options: mut rocksdb_options_t, window_size: usize, num_dels_trigger: usize, deletion_ratio: f64
    ) {
        options.compact_on_deletion(window_size, num_dels_trigger, deletion_ratio, 0);
    }

    /// Does not mark files of less than `min_file_size` bytes.
    fn rocksdb_options_add_compact_on_deletion_collector_factory_min_file_size(
        options: mut rocksdb_options_t, window_size: usize, num_dels_trigger: usize, deletion_ratio: f64,
        min_file_size: u64
    ) {
        options.compact_on_deletion(window_size, num_dels_trigger, deletion_ratio, min_file_size);
    }
}

impl rocksdb_options_t {
    fn compact_on_deletion(
        &mut self,
        window: usize,
        trigger: usize,
        deletion_ratio: f64,
        min_file_size: u64,
    ) {
        self.family.table_properties_collectors.push(Arc::new(CompactOnDeletion {
            sliding_window_size: window,
            deletion_trigger: trigger,
            deletion_ratio,
            min_file_size,
        }));
    }

    /// Records whether the option requests a feature that Ironstone does not have.
    pub(crate) fn want(&mut self, option: &'static str, is_wanted: bool) {
        if is_wanted {
            self.rejected.not_built(option);
        } else {
            self.rejected.remove(option);
        }
    }
}

/// Copies the paths of an array of handles.
///
/// # Safety
/// `handles` points to `count` handles, or `count` is 0.
unsafe fn paths(handles: *mut *const rocksdb_dbpath_t, count: usize) -> base::Result<Vec<DbPath>> {
    // SAFETY: the contract of this function is the contract of `array`.
    let handles = unsafe { arguments::array(handles.cast_const(), count)? };
    // SAFETY: each item is null or a live handle by the contract.
    let paths = handles.iter().filter_map(|&handle| unsafe { handle.as_ref() });
    Ok(paths.map(|path| path.path.clone()).collect())
}
