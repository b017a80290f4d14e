//! The I/O context: counters of the file-system calls of this thread. RocksDB's `IOStatsContext`.

use std::cell::Cell;
use std::fmt::Write;

use super::perf::{PerfLevel, Stopwatch, perf_level, perf_timing, set_perf_level};

super::numbered! {
    /// A counter of the thread's I/O context, in the order in which RocksDB prints the counters.
    pub enum IoCounter {
        ThreadPoolId "thread_pool_id",
        BytesRead "bytes_read",
        BytesWritten "bytes_written",
        OpenNanos "open_nanos",
        AllocateNanos "allocate_nanos",
        WriteNanos "write_nanos",
        ReadNanos "read_nanos",
        RangeSyncNanos "range_sync_nanos",
        FsyncNanos "fsync_nanos",
        PrepareWriteNanos "prepare_write_nanos",
        LoggerNanos "logger_nanos",
        CpuWriteNanos "cpu_write_nanos",
        CpuReadNanos "cpu_read_nanos",
        HotFileBytesRead "file_io_stats_by_temperature.hot_file_bytes_read",
        WarmFileBytesRead "file_io_stats_by_temperature.warm_file_bytes_read",
        CoolFileBytesRead "file_io_stats_by_temperature.cool_file_bytes_read",
        ColdFileBytesRead "file_io_stats_by_temperature.cold_file_bytes_read",
        HotFileReadCount "file_io_stats_by_temperature.hot_file_read_count",
        WarmFileReadCount "file_io_stats_by_temperature.warm_file_read_count",
        CoolFileReadCount "file_io_stats_by_temperature.cool_file_read_count",
        ColdFileReadCount "file_io_stats_by_temperature.cold_file_read_count",
    }
}

/// The pool number of a thread that belongs to no pool.
const NO_POOL: u64 = 4;

thread_local! {
    static COUNTERS: [Cell<u64>; IoCounter::COUNT] = const {
        let mut counters = [const { Cell::new(0) }; IoCounter::COUNT];
        counters[IoCounter::ThreadPoolId as usize] = Cell::new(NO_POOL);
        counters
    };
}

/// Adds to a counter of this thread.
#[inline]
pub fn io_add(counter: IoCounter, count: u64) {
    COUNTERS.with(|counters| {
        let cell = &counters[counter.number()];
        cell.set(cell.get().wrapping_add(count));
    });
}

/// Adds time to a counter, in nanoseconds: the time from the start to the drop of the timer. Does nothing if this
/// thread collects no times.
#[derive(Debug)]
#[must_use = "the timer measures the time until the timer is dropped"]
pub struct IoTimer {
    counter: IoCounter,
    start: Option<Stopwatch>,
}

impl IoTimer {
    /// Starts the timer. The timer reads no clock if the thread collects no times.
    #[inline]
    pub fn start(counter: IoCounter) -> IoTimer {
        IoTimer { counter, start: perf_timing(PerfLevel::EnableTimeExceptForMutex).then(Stopwatch::start) }
    }
}

impl Drop for IoTimer {
    #[inline]
    fn drop(&mut self) {
        if let Some(start) = self.start {
            io_add(self.counter, start.nanos());
        }
    }
}

/// The times of the file-system calls of a job, in nanoseconds. RocksDB: the fields `file_.._nanos` of `CompactionJobStats`.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub struct IoTimes {
    /// Writes.
    pub write_nanos: u64,
    /// Requests to write back a part of a file (`bytes_per_sync`).
    pub range_sync_nanos: u64,
    /// Syncs.
    pub fsync_nanos: u64,
    /// Requests for the space of files.
    pub prepare_write_nanos: u64,
    /// CPU time of writes.
    pub cpu_write_nanos: u64,
    /// CPU time of reads.
    pub cpu_read_nanos: u64,
}

impl IoTimes {
    /// Returns the times of this thread since its last [`io_context_reset`].
    fn now() -> IoTimes {
        IoTimes {
            write_nanos: io_counter(IoCounter::WriteNanos),
            range_sync_nanos: io_counter(IoCounter::RangeSyncNanos),
            fsync_nanos: io_counter(IoCounter::FsyncNanos),
            prepare_write_nanos: io_counter(IoCounter::PrepareWriteNanos),
            cpu_write_nanos: io_counter(IoCounter::CpuWriteNanos),
            cpu_read_nanos: io_counter(IoCounter::CpuReadNanos),
        }
    }

    /// Adds the times of another job.
    ///
    /// ```
    /// # use ironstone_base::stats::IoTimes;
    /// let mut sum = IoTimes { write_nanos: 2, ..IoTimes::default() };
    /// sum.add(&IoTimes { write_nanos: 3, fsync_nanos: 4, ..IoTimes::default() });
    /// assert_eq!((sum.write_nanos, sum.fsync_nanos), (5, 4));
    /// ```
    pub fn add(&mut self, other: &IoTimes) {
        self.merge(other, u64::wrapping_add);
    }

    fn merge(&mut self, other: &IoTimes, op: impl Fn(u64, u64) -> u64) {
        self.write_nanos = op(self.write_nanos, other.write_nanos);
        self.range_sync_nanos = op(self.range_sync_nanos, other.range_sync_nanos);
        self.fsync_nanos = op(self.fsync_nanos, other.fsync_nanos);
        self.prepare_write_nanos = op(self.prepare_write_nanos, other.prepare_write_nanos);
        self.cpu_write_nanos = op(self.cpu_write_nanos, other.cpu_write_nanos);
        self.cpu_read_nanos = op(self.cpu_read_nanos, other.cpu_read_nanos);
    }
}

/// Measures the file-system calls of a job on this thread. The thread collects times until the drop, which restores the perf
/// level.
///
/// ```
/// # use ironstone_base::stats::{IoCounter, IoMeasure, io_add};
/// let measure = IoMeasure::start();
/// io_add(IoCounter::WriteNanos, 7);
/// assert_eq!(measure.end().write_nanos, 7);
/// ```
#[derive(Debug)]
#[must_use = "the measure collects times until the drop"]
pub struct IoMeasure {
    before: IoTimes,
    level: PerfLevel,
}

impl IoMeasure {
    /// Starts the measure.
    pub fn start() -> IoMeasure {
        let level = perf_level();
        set_perf_level(PerfLevel::EnableTimeAndCpuTimeExceptForMutex);
        IoMeasure { before: IoTimes::now(), level }
    }

    /// Returns the times since the start.
    pub fn end(self) -> IoTimes {
        let mut times = IoTimes::now();
        times.merge(&self.before, u64::wrapping_sub);
        times
    }
}

impl Drop for IoMeasure {
    fn drop(&mut self) {
        set_perf_level(self.level);
    }
}

/// Makes this thread a thread of a pool: 0 bottom, 1 low, 2 high, 3 user.
pub fn io_set_pool(pool: u64) {
    COUNTERS.with(|counters| counters[IoCounter::ThreadPoolId.number()].set(pool));
}

/// Returns the value of a counter of this thread.
pub fn io_counter(counter: IoCounter) -> u64 {
    COUNTERS.with(|counters| counters[counter.number()].get())
}

/// Sets the counters of this thread to 0.
pub fn io_context_reset() {
    COUNTERS.with(|counters| {
        counters.iter().for_each(|counter| counter.set(0));
        counters[IoCounter::ThreadPoolId.number()].set(NO_POOL);
    });
}

/// Returns all counters in RocksDB's format, or only the counters that are not 0.
pub fn io_context_text(exclude_zero: bool) -> String {
    let mut text = String::new();
    for &counter in IoCounter::ALL {
        let count = io_counter(counter);
        if count > 0 || !exclude_zero {
            let _ = write!(text, "{} = {count}, ", counter.name());
        }
    }
    text.truncate(text.trim_end_matches([',', ' ']).len());
    text
}
