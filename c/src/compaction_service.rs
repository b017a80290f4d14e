//! Compaction services: functions of the program that run subcompactions in other processes.
//!
//! Not here: the worker (`compaction_worker`). Facts: RocksDB `db/c.cc` (`rocksdb_compactionservice_t`).

use std::ffi::{CString, c_char, c_int, c_void};
use std::sync::Arc;

use base::{Error, Result};
use engine::remote::{CompactionService, JobInfo, JobStatus, ScheduleResponse};

use crate::abi::exception::{guarded, ignored};
use crate::abi::{Flag, Owned, State, Text};
use crate::callbacks::{
    rocksdb_compaction_service_cancel_awaiting_jobs_cb, rocksdb_compaction_service_on_installation_cb,
    rocksdb_compaction_service_wait_cb, rocksdb_destructor_cb,
};

/// Starts a subcompaction in another process. `compaction_service_input` has `input_len` bytes: the message for
/// `rocksdb_open_and_compact`. `info` and the message are valid during the call only. The library destroys the returned
/// response. Null: the compaction fails.
pub type rocksdb_compaction_service_schedule_cb =
    unsafe extern "C-unwind" fn(
        state: *mut c_void,
        info: *const rocksdb_compactionservice_jobinfo_t,
        compaction_service_input: *const c_char,
        input_len: usize,
    ) -> *mut rocksdb_compactionservice_scheduleresponse_t;

/// The answer of a service to a schedule.
pub struct rocksdb_compactionservice_scheduleresponse_t {
    job: Vec<u8>,
    status: JobStatus,
}

/// The description of a subcompaction.
pub struct rocksdb_compactionservice_jobinfo_t {
    info: JobInfo,
}

/// A compaction service.
pub struct rocksdb_compactionservice_t {
    pub(crate) service: Arc<dyn CompactionService>,
}

/// A service that calls functions of the program.
struct CService {
    state: State,
    name: String,
    schedule: Option<rocksdb_compaction_service_schedule_cb>,
    wait: Option<rocksdb_compaction_service_wait_cb>,
    cancel: Option<rocksdb_compaction_service_cancel_awaiting_jobs_cb>,
    installed: Option<rocksdb_compaction_service_on_installation_cb>,
}

impl CompactionService for CService {
    fn name(&self) -> &str {
        &self.name
    }

    fn schedule(&self, info: &JobInfo, input: &[u8]) -> ScheduleResponse {
        let Some(schedule) = self.schedule else {
            return ScheduleResponse { job: Vec::new(), status: JobStatus::UseLocal };
        };
        let info = rocksdb_compactionservice_jobinfo_t { info: info.clone() };
        // SAFETY: the program handed in this function for this state; `info` lives during the call, and the message has as many
        // readable bytes as its length says.
        let response = guarded("schedule", || unsafe {
            schedule(self.state.pointer(), &raw const info, input.as_ptr().cast(), input.len())
        });
        if response.is_null() {
            return ScheduleResponse { job: Vec::new(), status: JobStatus::Failure };
        }
        // SAFETY: the header requires a response from `rocksdb_compactionservice_scheduleresponse_create`, which is a `Box`, and
        // the program does not use the response afterwards.
        let response = unsafe { Box::from_raw(response) };
        ScheduleResponse { job: response.job, status: response.status }
    }

    fn wait(&self, job: &[u8]) -> (JobStatus, Vec<u8>) {
        let Some(wait) = self.wait else { return (JobStatus::UseLocal, Vec::new()) };
        let job = id_text(job);
        let (mut result, mut len) = (std::ptr::null_mut::<c_char>(), 0usize);
        // SAFETY: the program handed in this function for this state; the id ends with NUL, and both places are writable.
        let status = guarded("wait", || unsafe {
            wait(self.state.pointer(), job.as_ptr(), &raw mut result, &raw mut len)
        });
        let mut bytes = Vec::new();
        if !result.is_null() {
            // SAFETY: the header requires memory of `malloc` with as many readable bytes as the length says, which the function
            // hands over.
            unsafe {
                bytes.extend_from_slice(std::slice::from_raw_parts(result.cast::<u8>(), len));
                crate::abi::returns::free(result.cast::<c_void>());
            }
        }
        (JobStatus::from_number(status).unwrap_or(JobStatus::Failure), bytes)
    }

    fn cancel_awaiting_jobs(&self) {
        if let Some(cancel) = self.cancel {
            // SAFETY: the program handed in this function for this state.
            ignored(|| unsafe { cancel(self.state.pointer()) });
        }
    }

    fn on_installation(&self, job: &[u8], status: JobStatus) {
        if let Some(installed) = self.installed {
            let job = id_text(job);
            // SAFETY: the program handed in this function for this state; the id ends with NUL.
            ignored(|| unsafe { installed(self.state.pointer(), job.as_ptr(), status as c_int) });
        }
    }
}

/// Returns the id of a job as a C string. The id came from a C string, so it has no NUL.
fn id_text(job: &[u8]) -> CString {
    CString::new(job).unwrap_or_default()
}

fn response(job: &str, status: i32) -> Result<Owned<rocksdb_compactionservice_scheduleresponse_t>> {
    let status = JobStatus::from_number(status)
        .ok_or_else(|| Error::invalid_argument("Invalid status value. Must be 0-3."))?;
    Ok(Owned(rocksdb_compactionservice_scheduleresponse_t { job: job.as_bytes().to_vec(), status }))
}

facts! {
    rocksdb_compactionservice_jobinfo_t, "rocksdb_compactionservice_jobinfo_t_get_", |i|;
    cf_id: u32 => i.info.family.get();
    job_id: u64 => i.info.job_id;
    priority: i32 => 1;
    compaction_reason: i32 => i32::from(i.info.reason);
    base_input_level: i32 => i32::from(i.info.base_input_level.get());
    output_level: i32 => i32::from(i.info.output_level.get());
}

facts! {
    rocksdb_compactionservice_jobinfo_t, "rocksdb_compactionservice_jobinfo_t_is_", |i|;
    full_compaction: Flag => Flag(i.info.is_full_compaction);
    manual_compaction: Flag => Flag(i.info.is_manual_compaction);
    bottommost_level: Flag => Flag(i.info.is_bottommost_level);
}

byte_facts! {
    rocksdb_compactionservice_jobinfo_t, "rocksdb_compactionservice_jobinfo_t_get_", |i|;
    db_name => i.info.db_name.as_bytes();
    db_id => i.info.db_id.as_bytes();
    db_session_id => i.info.db_session_id.as_bytes();
    cf_name => i.info.family_name.as_bytes();
}

c_api! {
    /// Creates a compaction service. Give it to `rocksdb_options_set_compaction_service`, which takes ownership. Without a
    /// schedule or a wait function, the database compacts itself. `destructor` runs once, when no database and no options
    /// use the service.
    fn rocksdb_compactionservice_create(
        state: raw(*mut c_void), destructor: call rocksdb_destructor_cb,
        schedule: call rocksdb_compaction_service_schedule_cb, name: raw(*const c_char),
        wait: call rocksdb_compaction_service_wait_cb,
        cancel_awaiting_jobs: call rocksdb_compaction_service_cancel_awaiting_jobs_cb,
        on_installation: call rocksdb_compaction_service_on_installation_cb
    ) -> Owned<rocksdb_compactionservice_t> {
        let name = if name.is_null() {
            "CompactionService".to_string()
        } else {
            // SAFETY: `name` is not null; the header requires a string that ends with NUL.
            unsafe { std::ffi::CStr::from_ptr(name) }.to_string_lossy().into_owned()
        };
        let service = CService {
            state: State::new(state, destructor),
            name,
            schedule,
            wait,
            cancel: cancel_awaiting_jobs,
            installed: on_installation,
        };
        Owned(rocksdb_compactionservice_t { service: Arc::new(service) })
    }

    /// Creates a response: the id of the job, and `rocksdb_compactionservice_jobstatus_...`. A null id is empty.
    fn rocksdb_compactionservice_scheduleresponse_create(
        scheduled_job_id: raw(*const c_char), status: i32, err
    ) -> Owned<rocksdb_compactionservice_scheduleresponse_t> {
        if scheduled_job_id.is_null() {
            return response("", status);
        }
        // SAFETY: the id is not null; the header requires a string that ends with NUL.
        let job = unsafe { std::ffi::CStr::from_ptr(scheduled_job_id) };
        response(&job.to_string_lossy(), status)
    }

    fn rocksdb_compactionservice_scheduleresponse_create_with_status(
        status: i32, err
    ) -> Owned<rocksdb_compactionservice_scheduleresponse_t> {
        response("", status)
    }

    fn rocksdb_compactionservice_scheduleresponse_getstatus(
        response: in rocksdb_compactionservice_scheduleresponse_t
    ) -> i32 {
        response.status as i32
    }

    /// Returns the id of the job. The bytes are valid until the handle is destroyed. If `response` is null, returns null and
    /// sets `len` to 0.
    fn rocksdb_compactionservice_scheduleresponse_get_scheduled_job_id(
        response: inmaybe rocksdb_compactionservice_scheduleresponse_t, len: out usize
    ) -> Option<Text> {
        len.set(response.map_or(0, |response| response.job.len()));
        response.map(|response| Text::bytes(&response.job))
    }

    fn rocksdb_compactionservice_scheduleresponse_t_destroy(
        response: own rocksdb_compactionservice_scheduleresponse_t
    ) {
        drop(response)
    }
}
