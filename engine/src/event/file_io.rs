//! Reports file operations to listeners: a file system that wraps the file system of the options.
//!
//! Follows RocksDB `FileOperationInfo` and `EventListener::OnFile...Finish` for the seven operations that RocksDB reports.

use std::cell::RefCell;
use std::fmt;
use std::panic::{AssertUnwindSafe, catch_unwind};
use std::path::Path;

use base::Error;
use env::hook::{Call, Hook, Hooked, Op, Verdict};
use env::{Clock, FileSystem};

use super::Listener;
use crate::sync::Arc;

/// A file operation that has ended.
#[derive(Clone, Copy, Debug)]
pub struct FileOperation<'a> {
    /// Read, append, flush, sync, range sync, truncate, or close.
    pub op: Op,
    /// The file.
    pub path: &'a Path,
    /// The offset of a read or an append; else 0.
    pub offset: u64,
    /// The bytes that were read or appended; else 0.
    pub bytes: usize,
    /// The start of the operation, in nanoseconds since an arbitrary time.
    pub start_nanos: u64,
    /// The duration of the operation, in nanoseconds.
    pub nanos: u64,
    /// The error of the operation. `None` after success.
    pub error: Option<&'a Error>,
}

/// Returns a file system that reports its operations to the listeners that watch file operations. Returns `fs` itself if no
/// listener does.
pub fn watched(
    fs: Arc<dyn FileSystem>,
    clock: Arc<dyn Clock>,
    listeners: &[Arc<dyn Listener>],
) -> Arc<dyn FileSystem> {
    let wants = |listener: &&Arc<dyn Listener>| {
        catch_unwind(AssertUnwindSafe(|| listener.watches_file_io())).unwrap_or(false)
    };
    let listeners: Vec<_> = listeners.iter().filter(wants).cloned().collect();
    if listeners.is_empty() {
        return fs;
    }
    let name = fs.name();
    Arc::new(Hooked::new(fs, Arc::new(FileWatch { name, clock, listeners })))
}

/// Reports file operations.
struct FileWatch {
    name: &'static str,
    clock: Arc<dyn Clock>,
    listeners: Vec<Arc<dyn Listener>>,
}

crate::sync::thread_local! {
    /// The start times of the operations of this thread that have not ended, in nanoseconds. Operations can be
    /// nested.
    static BEGAN: RefCell<Vec<u64>> = const { RefCell::new(Vec::new()) };
}

impl Hook for FileWatch {
    fn name(&self) -> &'static str {
        self.name
    }

    fn before(&self, _call: &Call<'_>) -> Verdict {
        let now = self.clock.now_nanos();
        let _ = BEGAN.try_with(|began| began.borrow_mut().push(now));
        Verdict::Go
    }

    fn after(&self, call: &Call<'_>, error: Option<&Error>) {
        let began = BEGAN.try_with(|began| began.borrow_mut().pop()).ok().flatten();
        let reported = matches!(
            call.op,
            Op::Read | Op::Append | Op::Flush | Op::Sync | Op::RangeSync | Op::Truncate | Op::Close
        );
        if !reported {
            return;
        }
        let start_nanos = began.unwrap_or_else(|| self.clock.now_nanos());
        let operation = FileOperation {
            op: call.op,
            path: call.path,
            offset: call.offset,
            bytes: call.bytes,
            start_nanos,
            nanos: self.clock.nanos_since(start_nanos),
            error,
        };
        for listener in &self.listeners {
            // The file operation has its result; a panic of the listener does not change the result.
            let _ = catch_unwind(AssertUnwindSafe(|| listener.on_file_io(&operation)));
        }
    }
}

impl fmt::Debug for FileWatch {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        write!(f, "FileWatch({})", self.name)
    }
}
