//! Compaction services: not built. A function with `errptr` reports `Not implemented: NAME`. All others return zero or null.

use std::ffi::{c_char, c_void};

use crate::abi::{Buffer, Flag, Owned, Text};
use crate::callbacks::{
    rocksdb_compaction_service_cancel_awaiting_jobs_cb, rocksdb_compaction_service_on_installation_cb,
    rocksdb_compaction_service_schedule_cb, rocksdb_compaction_service_wait_cb, rocksdb_destructor_cb,
};
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

opaque! {
    rocksdb_compaction_service_options_override_t,
    rocksdb_compactionservice_jobinfo_t,
    rocksdb_compactionservice_scheduleresponse_t,
    rocksdb_compactionservice_t,
    rocksdb_open_and_compact_options_t,
    rocksdb_sst_partitioner_factory_t,
    rocksdb_table_properties_collector_factory_t,
}

c_missing! {
    fn rocksdb_compactionservice_scheduleresponse_create(
        scheduled_job_id: raw(*const c_char), status: i32, err
    ) -> Owned<rocksdb_compactionservice_scheduleresponse_t>;
    fn rocksdb_compactionservice_scheduleresponse_create_with_status(
        status: i32, err
    ) -> Owned<rocksdb_compactionservice_scheduleresponse_t>;
    fn rocksdb_compactionservice_scheduleresponse_getstatus(
        response: inmaybe rocksdb_compactionservice_scheduleresponse_t
    ) -> i32;
    fn rocksdb_compactionservice_scheduleresponse_get_scheduled_job_id(
        response: inmaybe rocksdb_compactionservice_scheduleresponse_t, len: raw(*mut usize)
    ) -> Text;
    fn rocksdb_compactionservice_scheduleresponse_t_destroy(
        response: own rocksdb_compactionservice_scheduleresponse_t
    );
    fn rocksdb_compactionservice_jobinfo_t_get_db_name(
        info: inmaybe rocksdb_compactionservice_jobinfo_t, len: raw(*mut usize)
    ) -> Text;
    fn rocksdb_compactionservice_jobinfo_t_get_db_id(
        info: inmaybe rocksdb_compactionservice_jobinfo_t, len: raw(*mut usize)
    ) -> Text;
    fn rocksdb_compactionservice_jobinfo_t_get_db_session_id(
        info: inmaybe rocksdb_compactionservice_jobinfo_t, len: raw(*mut usize)
    ) -> Text;
    fn rocksdb_compactionservice_jobinfo_t_get_cf_name(
        info: inmaybe rocksdb_compactionservice_jobinfo_t, len: raw(*mut usize)
    ) -> Text;
    fn rocksdb_compactionservice_jobinfo_t_get_cf_id(
        info: inmaybe rocksdb_compactionservice_jobinfo_t
    ) -> u32;
    fn rocksdb_compactionservice_jobinfo_t_get_job_id(
        info: inmaybe rocksdb_compactionservice_jobinfo_t
    ) -> u64;
    fn rocksdb_compactionservice_jobinfo_t_get_priority(
        info: inmaybe rocksdb_compactionservice_jobinfo_t
    ) -> i32;
    fn rocksdb_compactionservice_jobinfo_t_get_compaction_reason(
        info: inmaybe rocksdb_compactionservice_jobinfo_t
    ) -> i32;
    fn rocksdb_compactionservice_jobinfo_t_get_base_input_level(
        info: inmaybe rocksdb_compactionservice_jobinfo_t
    ) -> i32;
    fn rocksdb_compactionservice_jobinfo_t_get_output_level(
        info: inmaybe rocksdb_compactionservice_jobinfo_t
    ) -> i32;
    fn rocksdb_compactionservice_jobinfo_t_is_full_compaction(
        info: inmaybe rocksdb_compactionservice_jobinfo_t
    ) -> Flag;
    fn rocksdb_compactionservice_jobinfo_t_is_manual_compaction(
        info: inmaybe rocksdb_compactionservice_jobinfo_t
    ) -> Flag;
    fn rocksdb_compactionservice_jobinfo_t_is_bottommost_level(
        info: inmaybe rocksdb_compactionservice_jobinfo_t
    ) -> Flag;
    fn rocksdb_compactionservice_create(
        state: raw(*mut c_void), destructor: call rocksdb_destructor_cb,
        schedule: call rocksdb_compaction_service_schedule_cb, name: raw(*const c_char),
        wait: call rocksdb_compaction_service_wait_cb,
        cancel_awaiting_jobs: call rocksdb_compaction_service_cancel_awaiting_jobs_cb,
        on_installation: call rocksdb_compaction_service_on_installation_cb
    ) -> Owned<rocksdb_compactionservice_t>;
    fn rocksdb_compaction_service_options_override_create(

    ) -> Owned<rocksdb_compaction_service_options_override_t>;
    fn rocksdb_compaction_service_options_override_create_from_options(
        option: maybe rocksdb_options_t
    ) -> Owned<rocksdb_compaction_service_options_override_t>;
    fn rocksdb_compaction_service_options_override_destroy(
        override_options: own rocksdb_compaction_service_options_override_t
    );
    fn rocksdb_compaction_service_options_override_set_env(
        override_options: maybe rocksdb_compaction_service_options_override_t, env: maybe rocksdb_env_t
    );
    fn rocksdb_compaction_service_options_override_set_comparator(
        override_options: maybe rocksdb_compaction_service_options_override_t,
        comparator: maybe rocksdb_comparator_t
    );
    fn rocksdb_compaction_service_options_override_set_merge_operator(
        override_options: maybe rocksdb_compaction_service_options_override_t,
        merge_operator: maybe rocksdb_mergeoperator_t
    );
    fn rocksdb_compaction_service_options_override_set_compaction_filter(
        override_options: maybe rocksdb_compaction_service_options_override_t,
        compaction_filter: maybe rocksdb_compactionfilter_t
    );
    fn rocksdb_compaction_service_options_override_set_compaction_filter_factory(
        override_options: maybe rocksdb_compaction_service_options_override_t,
        compaction_filter_factory: maybe rocksdb_compactionfilterfactory_t
    );
    fn rocksdb_compaction_service_options_override_set_prefix_extractor(
        override_options: maybe rocksdb_compaction_service_options_override_t,
        prefix_extractor: maybe rocksdb_slicetransform_t
    );
    fn rocksdb_compaction_service_options_override_set_block_based_table_factory(
        override_options: maybe rocksdb_compaction_service_options_override_t,
        table_options: maybe rocksdb_block_based_table_options_t
    );
    fn rocksdb_compaction_service_options_override_set_cuckoo_table_factory(
        override_options: maybe rocksdb_compaction_service_options_override_t,
        table_options: maybe rocksdb_cuckoo_table_options_t
    );
    fn rocksdb_compaction_service_options_override_add_event_listener(
        override_options: maybe rocksdb_compaction_service_options_override_t,
        event_listener: maybe rocksdb_eventlistener_t
    );
    fn rocksdb_compaction_service_options_override_set_statistics(
        override_options: maybe rocksdb_compaction_service_options_override_t,
        options: maybe rocksdb_options_t
    );
    fn rocksdb_compaction_service_options_override_set_info_log(
        override_options: maybe rocksdb_compaction_service_options_override_t,
        logger: maybe rocksdb_logger_t
    );
    fn rocksdb_compaction_service_options_override_set_option(
        override_options: maybe rocksdb_compaction_service_options_override_t, key: raw(*const c_char),
        value: raw(*const c_char)
    );
    fn rocksdb_compaction_service_options_override_set_file_checksum_gen_factory(
        override_options: maybe rocksdb_compaction_service_options_override_t,
        factory: maybe rocksdb_file_checksum_gen_factory_t
    );
    fn rocksdb_compaction_service_options_override_set_sst_partitioner_factory(
        override_options: maybe rocksdb_compaction_service_options_override_t,
        factory: maybe rocksdb_sst_partitioner_factory_t
    );
    fn rocksdb_compaction_service_options_override_add_table_properties_collector_factory(
        override_options: maybe rocksdb_compaction_service_options_override_t,
        factory: maybe rocksdb_table_properties_collector_factory_t
    );
    fn rocksdb_open_and_compact_canceled_create() -> *mut u8;
    fn rocksdb_open_and_compact_canceled_destroy(canceled: raw(*mut u8));
    fn rocksdb_open_and_compact_canceled_set(canceled: raw(*mut u8), value: flag);
    fn rocksdb_open_and_compact_options_create() -> Owned<rocksdb_open_and_compact_options_t>;
    fn rocksdb_open_and_compact_options_destroy(options: own rocksdb_open_and_compact_options_t);
    fn rocksdb_open_and_compact_options_set_canceled(
        options: maybe rocksdb_open_and_compact_options_t, canceled: raw(*mut u8)
    );
    fn rocksdb_open_and_compact_options_set_allow_resumption(
        options: maybe rocksdb_open_and_compact_options_t, allow_resumption: flag
    );
    fn rocksdb_open_and_compact(
        db_path: raw(*const c_char), output_directory: raw(*const c_char), input: bytes,
        output_len: raw(*mut usize), override_options: inmaybe rocksdb_compaction_service_options_override_t,
        err
    ) -> Buffer;
    fn rocksdb_open_and_compact_with_options(
        options: inmaybe rocksdb_open_and_compact_options_t, db_path: raw(*const c_char),
        output_directory: raw(*const c_char), input: bytes, output_len: raw(*mut usize),
        override_options: inmaybe rocksdb_compaction_service_options_override_t, err
    ) -> Buffer;
    fn rocksdb_open_and_compact_options_get_allow_resumption(
        opt: maybe rocksdb_open_and_compact_options_t
    ) -> Flag;
}
