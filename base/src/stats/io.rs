//! The I/O context: counters of the file-system calls of this thread. RocksDB's `IOStatsContext`.

use std::cell::Cell;
use std::fmt::Write;

use super::perf::{PerfLevel, Stopwatch, perf_timing};

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
