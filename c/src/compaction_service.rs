//! Data for compaction services: responses to a schedule, and options of `rocksdb_open_and_compact`.
//!
//! Not here: the service itself. Ironstone does not support compaction services, and an open with a service fails.

use std::sync::Arc;
use std::sync::atomic::{AtomicBool, Ordering};

use base::Result;
use engine::options::{DbOptions, TableFactory};
use lsm::cut::{FixedPrefixPartitioner, PartitionerFactory};
use lsm::filter::CompactionFilter;

use crate::abi::{Owned, Text};
use crate::compaction_filter::{rocksdb_compactionfilter_t, rocksdb_compactionfilterfactory_t};
use crate::comparator::rocksdb_comparator_t;
use crate::environment::rocksdb_env_t;
use crate::listener::rocksdb_eventlistener_t;
use crate::log::rocksdb_logger_t;
use crate::merge_operator::rocksdb_mergeoperator_t;
use crate::options::rocksdb_options_t;
use crate::slice_transform::rocksdb_slicetransform_t;
use crate::statistics::rocksdb_file_checksum_gen_factory_t;
use crate::table_options::{rocksdb_block_based_table_options_t, rocksdb_cuckoo_table_options_t};

/// The answer of a service to a schedule.
pub struct rocksdb_compactionservice_scheduleresponse_t {
    job: Vec<u8>,
    status: i32,
}

/// Options that replace the options of the database in a compaction service.
#[derive(Default)]
pub struct rocksdb_compaction_service_options_override_t {
    options: rocksdb_options_t,
    changes: Vec<(String, String)>,
}

/// A factory of SST partitioners.
pub struct rocksdb_sst_partitioner_factory_t {
    pub(crate) factory: Arc<dyn PartitionerFactory>,
}

plain_options! {
    /// Options of `rocksdb_open_and_compact_with_options`.
    rocksdb_open_and_compact_options_t, "rocksdb_open_and_compact_options_";
    @create rocksdb_open_and_compact_options_create, rocksdb_open_and_compact_options_destroy;
    @with {
        canceled: Option<Arc<AtomicBool>> = None;
    }
    allow_resumption: flag = false;
}

lifetime!(
    rocksdb_compaction_service_options_override_t,
    rocksdb_compaction_service_options_override_create,
    rocksdb_compaction_service_options_override_destroy
);

fn response(job: &str, status: i32) -> Result<Owned<rocksdb_compactionservice_scheduleresponse_t>> {
    if !(0..=3).contains(&status) {
        return Err(base::Error::invalid_argument(format!(
            "{status} is not a status of a compaction service"
        )));
    }
    Ok(Owned(rocksdb_compactionservice_scheduleresponse_t { job: job.as_bytes().to_vec(), status }))
}

c_api! {
    /// Creates a response: the id of the job, and `rocksdb_compactionservice_jobstatus_...`.
    fn rocksdb_compactionservice_scheduleresponse_create(
        scheduled_job_id: text, status: i32, err
    ) -> Owned<rocksdb_compactionservice_scheduleresponse_t> {
        response(scheduled_job_id, status)
    }

    fn rocksdb_compactionservice_scheduleresponse_create_with_status(
        status: i32, err
    ) -> Owned<rocksdb_compactionservice_scheduleresponse_t> {
        response("", status)
    }

    fn rocksdb_compactionservice_scheduleresponse_getstatus(
        response: in rocksdb_compactionservice_scheduleresponse_t
    ) -> i32 {
        response.status
    }

    /// Returns the id of the job. The bytes are valid until the handle is destroyed.
    fn rocksdb_compactionservice_scheduleresponse_get_scheduled_job_id(
        response: in rocksdb_compactionservice_scheduleresponse_t, len: out usize
    ) -> Text {
        len.set(response.job.len());
        Text::bytes(&response.job)
    }

    fn rocksdb_compactionservice_scheduleresponse_t_destroy(
        response: own rocksdb_compactionservice_scheduleresponse_t
    ) {
        drop(response)
    }

    /// Copies the objects of options.
    fn rocksdb_compaction_service_options_override_create_from_options(
        options: at rocksdb_options_t
    ) -> Owned<rocksdb_compaction_service_options_override_t> {
        Owned(rocksdb_compaction_service_options_override_t { options: options.clone(), changes: Vec::new() })
    }

    fn rocksdb_compaction_service_options_override_set_env(
        overrides: mut rocksdb_compaction_service_options_override_t, env: maybe rocksdb_env_t
    ) {
        if let Some(env) = env {
            overrides.options.db.env = env.env.clone();
        }
    }

    fn rocksdb_compaction_service_options_override_set_comparator(
        overrides: mut rocksdb_compaction_service_options_override_t, comparator: maybe rocksdb_comparator_t
    ) {
        if let Some(comparator) = comparator {
            overrides.options.family.comparator = comparator.order.clone();
        }
    }

    /// Sets the merge operator. Takes ownership of it. Null changes nothing.
    fn rocksdb_compaction_service_options_override_set_merge_operator(
        overrides: mut rocksdb_compaction_service_options_override_t, merge_operator: own rocksdb_mergeoperator_t
    ) {
        if let Some(operator) = merge_operator {
            overrides.options.family.merge_operator = Some(operator.operator.clone());
        }
    }

    fn rocksdb_compaction_service_options_override_set_compaction_filter(
        overrides: mut rocksdb_compaction_service_options_override_t,
        compaction_filter: maybe rocksdb_compactionfilter_t
    ) {
        if let Some(filter) = compaction_filter {
            let filter: Arc<dyn CompactionFilter> = filter.filter.clone();
            overrides.options.family.compaction_filter = Some(filter);
        }
    }

    /// Sets the compaction filter factory. Takes ownership of it. Null changes nothing.
    fn rocksdb_compaction_service_options_override_set_compaction_filter_factory(
        overrides: mut rocksdb_compaction_service_options_override_t,
        compaction_filter_factory: own rocksdb_compactionfilterfactory_t
    ) {
        if let Some(factory) = compaction_filter_factory {
            overrides.options.family.compaction_filter_factory = Some(factory.factory.clone());
        }
    }

    /// Sets the prefix extractor. Takes ownership of it. Null changes nothing.
    fn rocksdb_compaction_service_options_override_set_prefix_extractor(
        overrides: mut rocksdb_compaction_service_options_override_t, prefix_extractor: own rocksdb_slicetransform_t
    ) {
        if let Some(transform) = prefix_extractor {
            overrides.options.family.prefix_extractor = Some(transform.extractor.clone());
        }
    }

    fn rocksdb_compaction_service_options_override_set_block_based_table_factory(
        overrides: mut rocksdb_compaction_service_options_override_t,
        table_options: maybe rocksdb_block_based_table_options_t
    ) {
        if let Some(table) = table_options {
            overrides.options.family.table_factory = TableFactory::BlockBased(table.options.clone());
            overrides.options.block_cache = table.block_cache.clone();
        }
    }

    fn rocksdb_compaction_service_options_override_set_cuckoo_table_factory(
        overrides: mut rocksdb_compaction_service_options_override_t,
        table_options: maybe rocksdb_cuckoo_table_options_t
    ) {
        if let Some(table) = table_options {
            overrides.options.family.table_factory = table.factory()?;
        }
    }

    /// Adds a listener. Takes ownership of it. Null changes nothing.
    fn rocksdb_compaction_service_options_override_add_event_listener(
        overrides: mut rocksdb_compaction_service_options_override_t, event_listener: own rocksdb_eventlistener_t
    ) {
        if let Some(listener) = event_listener {
            overrides.options.listeners.push(listener.listener.clone());
        }
    }

    /// Shares the statistics of options.
    fn rocksdb_compaction_service_options_override_set_statistics(
        overrides: mut rocksdb_compaction_service_options_override_t, options: maybe rocksdb_options_t
    ) {
        if let Some(options) = options {
            overrides.options.db.statistics = options.db.statistics.clone();
        }
    }

    fn rocksdb_compaction_service_options_override_set_info_log(
        overrides: mut rocksdb_compaction_service_options_override_t, logger: maybe rocksdb_logger_t
    ) {
        if let Some(logger) = logger {
            overrides.options.db.info_log = Some(logger.logger.clone());
        }
    }

    /// Stores a change of an option by name. Null strings change nothing.
    fn rocksdb_compaction_service_options_override_set_option(
        overrides: mut rocksdb_compaction_service_options_override_t, key: text, value: text
    ) {
        overrides.changes.push((key.to_string(), value.to_string()));
    }

    fn rocksdb_compaction_service_options_override_set_file_checksum_gen_factory(
        overrides: mut rocksdb_compaction_service_options_override_t,
        factory: maybe rocksdb_file_checksum_gen_factory_t
    ) {
        if let Some(factory) = factory {
            let db: &mut DbOptions = &mut overrides.options.db;
            db.file_checksum_gen_factory = Some(factory.kind);
        }
    }

    /// Shares the factory. Null changes nothing.
    fn rocksdb_compaction_service_options_override_set_sst_partitioner_factory(
        overrides: mut rocksdb_compaction_service_options_override_t,
        factory: maybe rocksdb_sst_partitioner_factory_t
    ) {
        if let Some(factory) = factory {
            overrides.options.family.sst_partitioner_factory = Some(factory.factory.clone());
        }
    }

    /// Creates a factory of partitioners that end an SST file where the prefix of the keys changes.
    fn rocksdb_sst_partitioner_fixed_prefix_factory_create(
        prefix_len: usize
    ) -> Owned<rocksdb_sst_partitioner_factory_t> {
        Owned(rocksdb_sst_partitioner_factory_t { factory: Arc::new(FixedPrefixPartitioner { length: prefix_len }) })
    }

    fn rocksdb_sst_partitioner_factory_destroy(factory: own rocksdb_sst_partitioner_factory_t) {
        drop(factory)
    }

    /// Creates a flag that cancels `rocksdb_open_and_compact_with_options`. The flag is 0.
    fn rocksdb_open_and_compact_canceled_create() -> *mut u8 {
        Arc::into_raw(Arc::new(AtomicBool::new(false))).cast_mut().cast()
    }

    /// Destroys the flag. Options that use the flag keep it. Accepts null.
    fn rocksdb_open_and_compact_canceled_destroy(canceled: raw(*mut u8)) {
        if !canceled.is_null() {
            // SAFETY: the header requires a flag from `rocksdb_open_and_compact_canceled_create` that is not used again.
            drop(unsafe { Arc::from_raw(canceled.cast_const().cast::<AtomicBool>()) });
        }
    }

    fn rocksdb_open_and_compact_canceled_set(canceled: raw(*mut u8), value: flag) {
        // SAFETY: the header requires null or a live flag.
        if let Some(flag) = unsafe { canceled.cast_const().cast::<AtomicBool>().as_ref() } {
            flag.store(value, Ordering::Release);
        }
    }

    /// Shares the flag. Null: no cancellation.
    fn rocksdb_open_and_compact_options_set_canceled(
        options: mut rocksdb_open_and_compact_options_t, canceled: raw(*mut u8)
    ) {
        options.canceled = if canceled.is_null() {
            None
        } else {
            let flag = canceled.cast_const().cast::<AtomicBool>();
            // SAFETY: the header requires a live flag from `rocksdb_open_and_compact_canceled_create`, which is an `Arc`.
            // The count goes up before the second owner takes it.
            unsafe {
                Arc::increment_strong_count(flag);
                Some(Arc::from_raw(flag))
            }
        };
    }
}
