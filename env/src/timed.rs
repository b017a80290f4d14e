//! A file system that times its calls in the perf context of the calling thread. RocksDB: `utilities/env_timed.cc`.
//!
//! The times are the counters `env_..._nanos`. A thread takes times if its perf level is at least
//! `EnableTimeExceptForMutex`. Reads, appends and syncs have no such counter and are not timed.

use std::cell::Cell;
use std::sync::Arc;

use base::stats::{PerfCounter, PerfLevel, Stopwatch, perf_add, perf_timing};

use crate::fs::FileSystem;
use crate::hook::{Call, Detail, Hook, Hooked, Op, Verdict};
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

/// Returns the counter of a call. Among the calls of [`Op::Status`], a check of the existence of a file and a read of
/// its time have their own counters. All other calls of `Op::Status` have the counter of file sizes.
fn counter_of(call: &Call<'_>) -> Option<PerfCounter> {
    match call.detail {
        Detail::Other | Detail::Fsync => {}
        Detail::Sequential => return Some(PerfCounter::EnvNewSequentialFileNanos),
        Detail::Directory => return Some(PerfCounter::EnvNewDirectoryNanos),
        Detail::Exists => return Some(PerfCounter::EnvFileExistsNanos),
        Detail::Modified => return Some(PerfCounter::EnvGetFileModificationTimeNanos),
        Detail::NewDirectory => return Some(PerfCounter::EnvCreateDirNanos),
    }
    Some(match call.op {
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
        if perf_timing(PerfLevel::EnableTimeExceptForMutex) && counter_of(call).is_some() {
            START.with(|open| open.set(Some(Stopwatch::start())));
        }
        Verdict::Go
    }

    fn after(&self, call: &Call<'_>, _error: Option<&base::Error>) {
        if let (Some(start), Some(counter)) = (START.with(Cell::take), counter_of(call)) {
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
        fs.create_dir_all(Path::new("/a")).unwrap();
        assert_eq!(perf_counter(PerfCounter::EnvCreateDirIfMissingNanos), 0);
        set_perf_level(PerfLevel::EnableTimeExceptForMutex);
        fs.create_dir_all(Path::new("/b")).unwrap();
        assert!(perf_counter(PerfCounter::EnvCreateDirIfMissingNanos) > 0);
        set_perf_level(PerfLevel::Disable);
    }

    #[test]
    fn calls_of_one_operation_have_their_own_times() {
        type Act = fn(&TimedFs);
        let fs = TimedFs::wrap(Arc::new(MemoryFs::new(Arc::new(crate::clock::ManualClock::new(0)))));
        fs.create_dir(Path::new("/a")).unwrap();
        drop(fs.create(Path::new("/a/f"), &crate::AppendHints::default()).unwrap());
        let calls: [(Act, PerfCounter); 5] = [
            (|fs| drop(fs.open_sequential(Path::new("/a/f"))), PerfCounter::EnvNewSequentialFileNanos),
            (|fs| drop(fs.open_dir(Path::new("/a"))), PerfCounter::EnvNewDirectoryNanos),
            (|fs| drop(fs.exists(Path::new("/a/f"))), PerfCounter::EnvFileExistsNanos),
            (|fs| drop(fs.modified(Path::new("/a/f"))), PerfCounter::EnvGetFileModificationTimeNanos),
            (|fs| drop(fs.create_dir(Path::new("/b"))), PerfCounter::EnvCreateDirNanos),
        ];
        for (call, counter) in calls {
            perf_context_reset();
            set_perf_level(PerfLevel::EnableTimeExceptForMutex);
            call(&fs);
            set_perf_level(PerfLevel::Disable);
            let moved = calls.map(|(_, other)| (perf_counter(other) > 0) == (other == counter));
            assert_eq!(moved, [true; 5], "{counter:?}");
        }
    }
}
