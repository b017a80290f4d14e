//! The times of a compaction, for listeners and the info log. RocksDB: `CompactionJobStats`.

use base::stats::IoTimes;

/// The times of a compaction.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub struct JobTimes {
    /// Time from start to end, in microseconds.
    pub elapsed_micros: u64,
    /// CPU time of the threads of the subcompactions, in microseconds. With `report_bg_io_stats`, without the CPU time of
    /// file-system calls.
    pub cpu_micros: u64,
    /// The times of the file-system calls. `None` without `report_bg_io_stats`.
    pub io: Option<IoTimes>,
}
