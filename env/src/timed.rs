//! A file system that times its calls in the perf context of the calling thread. RocksDB: `utilities/env_timed.cc`.
//!
//! The times are the counters `env_..._nanos`. A thread takes times if its perf level is at least
//! `EnableTimeExceptForMutex`. Reads, appends and syncs have no such counter and are not timed.

use std::cell::Cell;
use std::sync::Arc;

use base::stats::{PerfCounter, PerfLevel, Stopwatch, perf_add, perf_timing};

use crate::fs::FileSystem;
use crate::hook::{Call, Hook, Hooked, Op, Verdict};
use crate::sync::thread_local;

/// A file system that times its calls.
pub type TimedFs = Hooked<TimedHook>;

/// Adds the times to the perf context.
#[derive(Debug, Default)]
pub struct TimedHook;

thread_local! {
    /// The start of the call that runs in this thread.
    static START: Cell<Option<Stopwatch>> = const { Cell::new(None) };
}

/// Returns the counter of an operation. The existence, the size and the times of a file are one operation.
fn counter_of(op: Op) -> Option<PerfCounter> {
    Some(match op {
        Op::Open => PerfCounter::EnvNewRandomAccessFileNanos,
        Op::Create | Op::Reopen => PerfCounter::EnvNewWritableFileNanos,
        Op::Reuse => PerfCounter::EnvReuseWritableFileNanos,
        Op::List => PerfCounter::EnvGetChildrenNanos,
        Op::Unlink => PerfCounter::EnvDeleteFileNanos,
        Op::CreateDir => PerfCounter::EnvCreateDirIfMissingNanos,
        Op::RemoveDir => PerfCounter::EnvDeleteDirNanos,
        Op::Status => PerfCounter::EnvGetFileSizeNanos,
        Op::Rename => PerfCounter::EnvRenameFileNanos,
        Op::Link => PerfCounter::EnvLinkFileNanos,
        Op::Lock => PerfCounter::EnvLockFileNanos,
        _ => return None,
    })
}

impl Hook for TimedHook {
    fn name(&self) -> &'static str {
        "timed"
    }

    fn before(&self, call: &Call<'_>) -> Verdict {
        if perf_timing(PerfLevel::EnableTimeExceptForMutex) && counter_of(call.op).is_some() {
            START.with(|open| open.set(Some(Stopwatch::start())));
        }
        Verdict::Go
    }

    fn after(&self, call: &Call<'_>, _error: Option<&base::Error>) {
        if let (Some(start), Some(counter)) = (START.with(Cell::take), counter_of(call.op)) {
            perf_add(counter, start.nanos());
        }
    }
}

impl TimedFs {
    /// Makes a file system that times the calls of `inner`.
    pub fn wrap(inner: Arc<dyn FileSystem>) -> Arc<TimedFs> {
        Arc::new(Hooked::new(inner, Arc::default()))
    }
}

#[cfg(test)]
mod tests {
    use std::path::Path;

    use base::stats::{perf_context_reset, perf_counter, set_perf_level};

    use super::*;
    use crate::memory::MemoryFs;

    #[test]
    fn a_call_is_timed_from_the_level_of_times_on() {
        let fs = TimedFs::wrap(Arc::new(MemoryFs::new(Arc::new(crate::clock::ManualClock::new(0)))));
        perf_context_reset();
        set_perf_level(PerfLevel::EnableCount);
        fs.create_dir(Path::new("/a")).unwrap();
        assert_eq!(perf_counter(PerfCounter::EnvCreateDirIfMissingNanos), 0);
        set_perf_level(PerfLevel::EnableTimeExceptForMutex);
        fs.create_dir(Path::new("/b")).unwrap();
        assert!(perf_counter(PerfCounter::EnvCreateDirIfMissingNanos) > 0);
        set_perf_level(PerfLevel::Disable);
    }
}
