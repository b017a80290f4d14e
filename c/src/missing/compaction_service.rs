//! Compaction services, which Ironstone does not have.
//!
//! A function with `errptr` reports `Not implemented: NAME`. All other functions return zero or null.

use std::ffi::{c_char, c_void};

use crate::abi::{Buffer, Flag, Owned, State, Text};
use crate::callbacks::{
    rocksdb_compaction_service_cancel_awaiting_jobs_cb, rocksdb_compaction_service_on_installation_cb,
    rocksdb_compaction_service_wait_cb, rocksdb_destructor_cb,
};
use crate::compaction_service::{
    rocksdb_compaction_service_options_override_t, rocksdb_compactionservice_scheduleresponse_t,
    rocksdb_open_and_compact_options_t,
};

/// Starts a job of a compaction service. Ironstone never calls the function: an open with a compaction service
/// fails.
pub type rocksdb_compaction_service_schedule_cb =
    unsafe extern "C-unwind" fn(
        state: *mut c_void,
        info: *const rocksdb_compactionservice_jobinfo_t,
        compaction_service_input: *const c_char,
        input_len: usize,
    ) -> *mut rocksdb_compactionservice_scheduleresponse_t;

opaque! {
    rocksdb_compactionservice_jobinfo_t,
    rocksdb_compactionservice_t,
    rocksdb_table_properties_collector_factory_t,
}

c_missing! {
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
    fn rocksdb_compaction_service_options_override_add_table_properties_collector_factory(
        override_options: maybe rocksdb_compaction_service_options_override_t,
        factory: maybe rocksdb_table_properties_collector_factory_t
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
}

c_api! {
    /// Returns null, because Ironstone has no compaction services. Runs the destructor of the state.
    fn rocksdb_compactionservice_create(
        state: raw(*mut c_void), destructor: call rocksdb_destructor_cb,
        schedule: call rocksdb_compaction_service_schedule_cb, name: raw(*const c_char),
        wait: call rocksdb_compaction_service_wait_cb,
        cancel_awaiting_jobs: call rocksdb_compaction_service_cancel_awaiting_jobs_cb,
        on_installation: call rocksdb_compaction_service_on_installation_cb
    ) -> Option<Owned<rocksdb_compactionservice_t>> {
        let _ = (schedule, name, wait, cancel_awaiting_jobs, on_installation);
        drop(State::new(state, destructor));
        None
    }
}
