//! The state of the threads of an executor: operation, stage, properties, database and column family. RocksDB:
//! `GetThreadList`.
//!
//! ```text
//!  board (one for each executor) ─► rows: one for each thread of a pool, and one for each other thread with an operation
//!  thread-local ─► the row of this thread's operation: deep code adds to it without an argument
//! ```
//! A row says that its thread is idle, unless the thread runs an operation of a database with `enable_thread_tracking`. An
//! operation of a thread outside of the pools (a manual compaction of the caller) has the thread type `User`. Invariant: a row
//! shows an operation exactly while the [`RunningOperation`] of the row lives.
//!
//! Facts: RocksDB `include/rocksdb/thread_status.h`, `monitoring/thread_status_updater.cc`.

use std::cell::RefCell;

use base::stats::{IoCounter, io_counter};

use crate::Pool;
use crate::sync::{Arc, Mutex};

/// The kind of a thread, numbered as RocksDB's `ThreadStatus::ThreadType`.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
#[repr(u8)]
pub enum ThreadType {
    /// A thread of the pool for flushes.
    High = 0,
    /// A thread of the pool for compactions.
    Low = 1,
    /// A thread of the program, or of the pool for the program's jobs.
    User = 2,
    /// A thread of the pool for bottommost compactions.
    Bottom = 3,
}

impl ThreadType {
    /// Returns the name that RocksDB prints.
    pub fn name(self) -> &'static str {
        ["High Pri", "Low Pri", "User", "Bottom Pri"][self as usize]
    }

    fn of_pool(pool: Pool) -> ThreadType {
        match pool {
            Pool::Bottom => ThreadType::Bottom,
            Pool::Low => ThreadType::Low,
            Pool::High => ThreadType::High,
            Pool::User => ThreadType::User,
        }
    }
}

/// The operation of a thread, numbered as RocksDB's `ThreadStatus::OperationType`. The operations of readers are not tracked.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
#[repr(u8)]
pub enum Operation {
    /// The thread is idle, or the database does not track threads.
    Unknown = 0,
    /// The thread runs a compaction.
    Compaction = 1,
    /// The thread runs a flush.
    Flush = 2,
}

impl Operation {
    /// Returns the name that RocksDB prints.
    pub fn name(self) -> &'static str {
        ["", "Compaction", "Flush"][self as usize]
    }
}

/// The step of an operation, numbered as RocksDB's `ThreadStatus::OperationStage`. The names are RocksDB's functions.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
#[repr(u8)]
pub enum Stage {
    /// No step is known.
    Unknown = 0,
    /// A flush runs.
    FlushRun = 1,
    /// A flush writes an SST file.
    FlushWriteL0 = 2,
    /// A compaction plans its subcompactions.
    CompactionPrepare = 3,
    /// A compaction waits for its subcompactions.
    CompactionRun = 4,
    /// A compaction merges its inputs.
    CompactionProcessKv = 5,
    /// A compaction commits its files.
    CompactionInstall = 6,
    /// A compaction finishes an SST file.
    CompactionSyncFile = 7,
    /// A flush commits its files.
    MemtableInstallFlushResults = 10,
}

impl Stage {
    /// Returns the name that RocksDB prints.
    pub fn name(self) -> &'static str {
        match self {
            Stage::Unknown => "",
            Stage::FlushRun => "FlushJob::Run",
            Stage::FlushWriteL0 => "FlushJob::WriteLevel0Table",
            Stage::CompactionPrepare => "CompactionJob::Prepare",
            Stage::CompactionRun => "CompactionJob::Run",
            Stage::CompactionProcessKv => "CompactionJob::ProcessKeyValueCompaction",
            Stage::CompactionInstall => "CompactionJob::Install",
            Stage::CompactionSyncFile => "CompactionJob::FinishCompactionOutputFile",
            Stage::MemtableInstallFlushResults => "MemTableList::TryInstallMemtableFlushResults",
        }
    }
}

/// Number of properties of an operation.
pub const PROPERTIES: usize = 6;

/// The properties of a compaction: job; start level in the upper 32 bits and output level; flags (2 manual, 4 deletion, 8 trivial
/// move); bytes of the inputs; bytes read; bytes written. The properties of a flush: job; bytes of the memtables; bytes written.
pub type Properties = [u64; PROPERTIES];

/// The bytes that an operation has read and written, as indexes into its properties. `None`: the operation has no such property.
fn io_properties(operation: Operation) -> (Option<usize>, Option<usize>) {
    match operation {
        Operation::Compaction => (Some(4), Some(5)),
        Operation::Flush => (None, Some(2)),
        Operation::Unknown => (None, None),
    }
}

/// The state of one thread.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct ThreadStatus {
    /// The system's number of the thread, as in the job infos of listeners.
    pub thread_id: u64,
    /// The kind of the thread.
    pub thread_type: ThreadType,
    /// The directory of the database; empty without an operation.
    pub db_name: String,
    /// The column family; empty without an operation.
    pub cf_name: String,
    /// The operation.
    pub operation: Operation,
    /// Microseconds since the start of the operation; 0 without an operation.
    pub elapsed_micros: u64,
    /// The step of the operation.
    pub stage: Stage,
    /// The properties of the operation; 0 without an operation.
    pub properties: Properties,
}

/// The current state of a thread.
#[derive(Debug)]
struct Current {
    operation: Operation,
    db_name: String,
    cf_name: String,
    start_nanos: u64,
    stage: Stage,
    properties: Properties,
}

#[derive(Debug)]
struct Row {
    thread_id: u64,
    thread_type: ThreadType,
    current: Mutex<Option<Current>>,
}

impl Row {
    fn new(thread_type: ThreadType) -> Arc<Row> {
        Arc::new(Row { thread_id: crate::posix::thread_id(), thread_type, current: Mutex::new(None) })
    }

    fn change(&self, change: impl FnOnce(&mut Current)) {
        if let Some(current) = &mut *self.current.lock() {
            change(current);
        }
    }
}

/// The threads of an executor.
#[derive(Debug, Default)]
pub struct ThreadBoard {
    rows: Mutex<Vec<Arc<Row>>>,
}

/// The operation of this thread, and the counters of the thread at the last [`note_io`].
#[derive(Default)]
struct Here {
    /// The row of the thread, if the thread belongs to a pool.
    pool_row: Option<Arc<Row>>,
    operation: Option<Arc<Row>>,
    bytes_read: u64,
    bytes_written: u64,
}

crate::sync::thread_local! {
    static HERE: RefCell<Here> = RefCell::new(Here::default());
}

impl ThreadBoard {
    /// Adds this thread, until the returned value is dropped. For the threads of a pool.
    pub fn register(self: &Arc<Self>, pool: Pool) -> Registered {
        let row = Row::new(ThreadType::of_pool(pool));
        self.rows.lock().push(row.clone());
        HERE.with(|here| here.borrow_mut().pool_row = Some(row.clone()));
        Registered { board: self.clone(), row }
    }

    /// Returns the state of each thread. `now_nanos` is the time of the clock that [`ThreadBoard::begin`] was given.
    pub fn list(&self, now_nanos: u64) -> Vec<ThreadStatus> {
        let rows = self.rows.lock();
        rows.iter().map(|row| status(row, now_nanos)).collect()
    }

    /// Starts an operation of this thread, until the returned value is dropped.
    pub fn begin(
        self: &Arc<Self>,
        operation: Operation,
        (db_name, cf_name): (&str, &str),
        start_nanos: u64,
        properties: Properties,
    ) -> RunningOperation {
        let pool_row = HERE.with(|here| here.borrow().pool_row.clone());
        // A thread of another executor's pool is a thread of the program here.
        let own = pool_row.filter(|row| self.rows.lock().iter().any(|listed| Arc::ptr_eq(listed, row)));
        // An operation inside of another operation gets its own row, because the outer operation continues
        // afterwards.
        let own = own.filter(|row| row.current.lock().is_none());
        let added = own.is_none();
        let row = own.unwrap_or_else(|| {
            let row = Row::new(ThreadType::User);
            self.rows.lock().push(row.clone());
            row
        });
        *row.current.lock() = Some(Current {
            operation,
            db_name: db_name.to_string(),
            cf_name: cf_name.to_string(),
            start_nanos,
            stage: Stage::Unknown,
            properties,
        });
        let here = Entered::new(&row);
        RunningOperation { board: self.clone(), row, added, _here: here }
    }

    fn remove(&self, row: &Arc<Row>) {
        self.rows.lock().retain(|listed| !Arc::ptr_eq(listed, row));
    }
}

fn status(row: &Row, now_nanos: u64) -> ThreadStatus {
    let idle = ThreadStatus {
        thread_id: row.thread_id,
        thread_type: row.thread_type,
        db_name: String::new(),
        cf_name: String::new(),
        operation: Operation::Unknown,
        elapsed_micros: 0,
        stage: Stage::Unknown,
        properties: [0; PROPERTIES],
    };
    match &*row.current.lock() {
        None => idle,
        Some(current) => ThreadStatus {
            db_name: current.db_name.clone(),
            cf_name: current.cf_name.clone(),
            operation: current.operation,
            // The clock of a test can go back.
            elapsed_micros: now_nanos.saturating_sub(current.start_nanos) / 1000,
            stage: current.stage,
            properties: current.properties,
            ..idle
        },
    }
}

/// A thread of a pool on the board.
#[derive(Debug)]
pub struct Registered {
    board: Arc<ThreadBoard>,
    row: Arc<Row>,
}

impl Drop for Registered {
    fn drop(&mut self) {
        HERE.with(|here| here.borrow_mut().pool_row = None);
        self.board.remove(&self.row);
    }
}

/// An operation of a thread. Ends with the drop, on the thread that started the operation.
#[derive(Debug)]
pub struct RunningOperation {
    board: Arc<ThreadBoard>,
    row: Arc<Row>,
    added: bool,
    _here: Entered,
}

impl RunningOperation {
    /// Lets another thread add to the operation, until the returned value is dropped. For subcompactions.
    pub fn enter(&self) -> Entered {
        Entered::new(&self.row)
    }
}

impl Drop for RunningOperation {
    fn drop(&mut self) {
        *self.row.current.lock() = None;
        if self.added {
            self.board.remove(&self.row);
        }
    }
}

/// The mark of a thread that works for an operation. The drop restores the mark before.
#[derive(Debug)]
pub struct Entered {
    before: Option<Arc<Row>>,
}

impl Entered {
    fn new(row: &Arc<Row>) -> Entered {
        HERE.with(|here| {
            let mut here = here.borrow_mut();
            here.bytes_read = io_counter(IoCounter::BytesRead);
            here.bytes_written = io_counter(IoCounter::BytesWritten);
            Entered { before: here.operation.replace(row.clone()) }
        })
    }
}

impl Drop for Entered {
    fn drop(&mut self) {
        HERE.with(|here| here.borrow_mut().operation = self.before.take());
    }
}

/// Sets the stage of this thread's operation. Does nothing without an operation.
pub fn set_stage(stage: Stage) {
    HERE.with(|here| {
        if let Some(row) = &here.borrow().operation {
            row.change(|current| current.stage = stage);
        }
    });
}

/// Adds the bytes that this thread has read and written since the last call to the properties of this thread's operation. Does
/// nothing without an operation.
pub fn note_io() {
    HERE.with(|here| {
        let mut here = here.borrow_mut();
        let Some(row) = here.operation.clone() else { return };
        let (read, written) = (io_counter(IoCounter::BytesRead), io_counter(IoCounter::BytesWritten));
        // The program may set the counters of its thread to 0.
        let (more_read, more_written) =
            (read.saturating_sub(here.bytes_read), written.saturating_sub(here.bytes_written));
        (here.bytes_read, here.bytes_written) = (read, written);
        row.change(|current| {
            let (at_read, at_written) = io_properties(current.operation);
            for (at, more) in [(at_read, more_read), (at_written, more_written)] {
                if let Some(at) = at {
                    current.properties[at] = current.properties[at].saturating_add(more);
                }
            }
        });
    });
}

#[cfg(test)]
mod tests {
    use super::*;

    fn flush(board: &Arc<ThreadBoard>, start_nanos: u64) -> RunningOperation {
        board.begin(Operation::Flush, ("/db", "default"), start_nanos, [7, 100, 0, 0, 0, 0])
    }

    #[test]
    fn a_thread_of_a_pool_is_idle_between_its_operations() {
        let board = Arc::new(ThreadBoard::default());
        let registered = board.register(Pool::High);
        let kinds = || board.list(5000).into_iter().map(|s| (s.thread_type, s.operation, s.elapsed_micros));
        assert_eq!(kinds().collect::<Vec<_>>(), [(ThreadType::High, Operation::Unknown, 0)]);
        let running = flush(&board, 2000);
        set_stage(Stage::FlushWriteL0);
        let now = board.list(5000);
        assert_eq!((now[0].db_name.as_str(), now[0].cf_name.as_str()), ("/db", "default"));
        assert_eq!((now[0].operation, now[0].stage), (Operation::Flush, Stage::FlushWriteL0));
        assert_eq!((now[0].elapsed_micros, now[0].properties[1]), (3, 100));
        drop(running);
        assert_eq!(kinds().collect::<Vec<_>>(), [(ThreadType::High, Operation::Unknown, 0)]);
        drop(registered);
        assert!(board.list(0).is_empty());
    }

    #[test]
    fn a_thread_of_the_program_is_listed_during_its_operation() {
        let board = Arc::new(ThreadBoard::default());
        let running = flush(&board, 0);
        assert_eq!(board.list(0)[0].thread_type, ThreadType::User);
        drop(running);
        assert!(board.list(0).is_empty());
        set_stage(Stage::FlushRun);
        note_io();
    }

    #[test]
    fn bytes_count_for_the_operation_that_the_thread_works_for() {
        let board = Arc::new(ThreadBoard::default());
        base::stats::io_add(IoCounter::BytesWritten, 1000);
        let running = flush(&board, 0);
        base::stats::io_add(IoCounter::BytesWritten, 10);
        note_io();
        note_io();
        assert_eq!(board.list(0)[0].properties, [7, 100, 10, 0, 0, 0]);
        let inner = board.begin(Operation::Compaction, ("/db", "x"), 0, [8, 0, 0, 0, 0, 0]);
        base::stats::io_add(IoCounter::BytesRead, 3);
        note_io();
        assert_eq!(board.list(0)[1].properties, [8, 0, 0, 0, 3, 0]);
        drop(inner);
        std::thread::scope(|scope| {
            scope.spawn(|| {
                let _entered = running.enter();
                base::stats::io_add(IoCounter::BytesWritten, 5);
                note_io();
            });
        });
        assert_eq!(board.list(0)[0].properties, [7, 100, 15, 0, 0, 0]);
    }
}
