//! Compactions that another process runs for this database: the interface of the service and its messages.
//!
//! ```text
//!  primary: compaction ─► each subcompaction: schedule(info, input) ─► job ─► wait(job) ─► result
//!                                                                              │
//!  worker:  open_and_compact(db, directory, input) ─► SST files in directory ──┴─► result
//!  primary: rename the SST files into the database ─► on_installation(job) ─► commit
//! ```
//! The messages are those of RocksDB 11.8.1, so the primary or the worker can be RocksDB. Not here: the calls of the
//! service (`compaction::remote`), and the worker (`db::open_and_compact`). Facts: RocksDB
//! `include/rocksdb/options.h` (`CompactionService`), `db/compaction/compaction_service_job.cc`.

pub mod message;
mod status;
mod text;

use base::{FamilyId, Level};

/// The status of a job of a compaction service. The discriminants are RocksDB's numbers.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
#[repr(u8)]
pub enum JobStatus {
    /// The job was scheduled, or it ended and has a result.
    Success = 0,
    /// The job failed. The compaction fails.
    Failure = 1,
    /// The service ended the job. The compaction fails with Aborted.
    Aborted = 2,
    /// The database runs the subcompaction itself.
    UseLocal = 3,
}

impl JobStatus {
    /// Returns the status with RocksDB's number, or `None` for a number without a status.
    pub fn from_number(number: i32) -> Option<JobStatus> {
        [JobStatus::Success, JobStatus::Failure, JobStatus::Aborted, JobStatus::UseLocal]
            .into_iter()
            .find(|status| *status as i32 == number)
    }
}

/// The description of a subcompaction for a compaction service. RocksDB: `CompactionServiceJobInfo`.
#[derive(Clone, Debug)]
pub struct JobInfo {
    /// The directory of the database.
    pub db_name: String,
    pub db_id: String,
    pub db_session_id: String,
    pub family: FamilyId,
    pub family_name: String,
    /// The number of the compaction in the upper 32 bits, and the index of the subcompaction in the lower 32 bits.
    pub job_id: u64,
    /// RocksDB's number of the reason of the compaction.
    pub reason: u8,
    /// True if all SST files of the column family are inputs.
    pub is_full_compaction: bool,
    pub is_manual_compaction: bool,
    pub is_bottommost_level: bool,
    pub base_input_level: Level,
    pub output_level: Level,
}

/// The answer of a service to a schedule.
#[derive(Clone, Debug)]
pub struct ScheduleResponse {
    /// The id of the job for the wait. The service chooses the id.
    pub job: Vec<u8>,
    pub status: JobStatus,
}

/// Runs subcompactions in other processes. RocksDB: `CompactionService`.
///
/// The methods run on the threads of compactions, several at a time.
pub trait CompactionService: Send + Sync {
    /// Returns the name that the info log shows.
    fn name(&self) -> &str;

    /// Starts a subcompaction. `input` is the message for the worker: see [`crate::db::open_and_compact`].
    fn schedule(&self, info: &JobInfo, input: &[u8]) -> ScheduleResponse;

    /// Waits for the end of a job. Returns its status, and the result of the worker.
    fn wait(&self, job: &[u8]) -> (JobStatus, Vec<u8>);

    /// Ends the waits for jobs, because the database closes or its background work is canceled.
    fn cancel_awaiting_jobs(&self) {}

    /// Reports that the files of a job are in the database, or with another status that they are not used. The compaction
    /// can still fail later.
    fn on_installation(&self, _job: &[u8], _status: JobStatus) {}
}
