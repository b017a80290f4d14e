//! The worker of a compaction service: `rocksdb_open_and_compact`, its options, and SST partitioners.
//!
//! Not here: the service of the primary (`compaction_service`).

use std::path::Path;
use std::sync::Arc;
use std::sync::atomic::AtomicBool;

use base::{Error, Result};
use engine::db::WorkerOptions;
use engine::options::{DbOptions, TableFactory};
use ironstone::binding::TableCache;
use lsm::cut::{FixedPrefixPartitioner, PartitionerFactory};
use lsm::filter::CompactionFilter;

use crate::abi::{Buffer, Out, Owned, cancel};
use crate::compaction_filter::{rocksdb_compactionfilter_t, rocksdb_compactionfilterfactory_t};
use crate::comparator::rocksdb_comparator_t;
use crate::environment::rocksdb_env_t;
use crate::listener::rocksdb_eventlistener_t;
use crate::log::rocksdb_logger_t;
use crate::merge_operator::rocksdb_mergeoperator_t;
use crate::missing::rocksdb_table_properties_collector_factory_t;
use crate::options::rocksdb_options_t;
use crate::slice_transform::rocksdb_slicetransform_t;
use crate::statistics::rocksdb_file_checksum_gen_factory_t;
use crate::table_options::{rocksdb_block_based_table_options_t, rocksdb_cuckoo_table_options_t};

/// Options that replace the options of the database in a compaction service.
#[derive(Default)]
pub struct rocksdb_compaction_service_options_override_t {
    options: rocksdb_options_t,
    /// True if the table factory of `options` replaces the table factory of the database.
    replaces_table_factory: bool,
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

c_api! {
    /// Copies the objects of options.
    fn rocksdb_compaction_service_options_override_create_from_options(
        options: at rocksdb_options_t
    ) -> Owned<rocksdb_compaction_service_options_override_t> {
        Owned(rocksdb_compaction_service_options_override_t {
            options: options.clone(),
            replaces_table_factory: true,
            changes: Vec::new(),
        })
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
            overrides.options.table_cache = TableCache::of(table.block_cache.clone());
            overrides.replaces_table_factory = true;
        }
    }

    fn rocksdb_compaction_service_options_override_set_cuckoo_table_factory(
        overrides: mut rocksdb_compaction_service_options_override_t,
        table_options: maybe rocksdb_cuckoo_table_options_t
    ) {
        if let Some(table) = table_options {
            overrides.options.family.table_factory = table.factory()?;
            overrides.replaces_table_factory = true;
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

    /// Adds a factory of table properties collectors. No function creates such a factory. Null changes nothing.
    fn rocksdb_compaction_service_options_override_add_table_properties_collector_factory(
        overrides: mut rocksdb_compaction_service_options_override_t,
        factory: maybe rocksdb_table_properties_collector_factory_t
    ) {
        if factory.is_some() {
            overrides.options.want("table_properties_collectors", true);
        }
    }

    /// Stores a change of an option by name. The worker applies the change to the options of the database. A name that no
    /// option has, has no effect. Null strings change nothing.
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
        cancel::create()
    }

    /// Destroys the flag. Options that use the flag keep it. Accepts null.
    fn rocksdb_open_and_compact_canceled_destroy(canceled: raw(*mut u8)) {
        // SAFETY: the header requires null or a flag from `rocksdb_open_and_compact_canceled_create` that is not used again.
        unsafe { cancel::destroy(canceled) };
    }

    fn rocksdb_open_and_compact_canceled_set(canceled: raw(*mut u8), value: flag) {
        // SAFETY: null, or a flag of the `create` function that is not destroyed during the call, by the doc of the function in the header.
        unsafe { cancel::set(canceled, value) };
    }

    /// Shares the flag. Null: no cancellation.
    fn rocksdb_open_and_compact_options_set_canceled(
        options: mut rocksdb_open_and_compact_options_t, canceled: raw(*mut u8)
    ) {
        // SAFETY: null, or a flag of the `create` function that is not destroyed during the call, by the doc of the function in the header.
        options.canceled = unsafe { cancel::share(canceled) };
    }

    /// Compacts the SST files that `input` names, for a compaction service. `input` is the message that the schedule function
    /// of the service got. Opens the database at `db_path` for reading, also while another process writes to it. Writes the
    /// new SST files to `output_directory`, and deletes other SST files there. Returns the result for the wait function of
    /// the service, with a NUL after its `output_len` bytes.
    fn rocksdb_open_and_compact(
        db_path: path, output_directory: path, input: bytes, output_len: out usize,
        override_options: in rocksdb_compaction_service_options_override_t, err
    ) -> Buffer {
        run(&rocksdb_open_and_compact_options_t::default(), (db_path, output_directory), input, &output_len, override_options)
    }

    /// Works like `rocksdb_open_and_compact`, with a flag that cancels the work. `allow_resumption` has no effect: the
    /// worker always starts from the beginning.
    fn rocksdb_open_and_compact_with_options(
        options: in rocksdb_open_and_compact_options_t, db_path: path, output_directory: path, input: bytes,
        output_len: out usize, override_options: in rocksdb_compaction_service_options_override_t, err
    ) -> Buffer {
        run(options, (db_path, output_directory), input, &output_len, override_options)
    }
}

fn run(
    options: &rocksdb_open_and_compact_options_t,
    (db_path, output_directory): (&Path, &Path),
    input: &[u8],
    output_len: &Out<usize>,
    overrides: &rocksdb_compaction_service_options_override_t,
) -> Result<Buffer> {
    if input.is_empty() {
        return Err(Error::invalid_argument("Invalid CompactionServiceInput string"));
    }
    let given = &overrides.options;
    given.check()?;
    let worker = WorkerOptions {
        db: given.db.clone(),
        family: given.family.clone(),
        replaces_table_factory: overrides.replaces_table_factory,
        components: given.components()?,
        changes: overrides.changes.clone(),
    };
    let canceled = options.canceled.clone();
    let result = engine::db::open_and_compact(db_path, output_directory, input, worker, canceled)?;
    output_len.set(result.len());
    Ok(Buffer::string(&result))
}
