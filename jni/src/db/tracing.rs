//! The start and the end of a trace. The records are in `engine::trace`.

use engine::trace::TraceOptions;

use super::database;
use crate::handle::Handle;
use crate::native::natives;
use crate::trace::{JavaSink, WriterObject};

natives! {
    /// Starts a trace. Takes ownership of the writer. Ends a running trace first.
    fn RocksDB_startTrace[_](db: Handle, bytes_max: i64, writer: Handle) {
        let db = database(db)?;
        let sink = JavaSink { writer: writer.take::<WriterObject>()?.writer.clone() };
        let options = TraceOptions { max_trace_file_size: bytes_max as u64, ..TraceOptions::default() };
        db.db.stats().trace.start(options, Box::new(sink), db.db.env().clock.clone())?;
    }

    /// Writes the last record and closes the writer. Throws if no trace runs. A failure of the writer is not reported.
    fn RocksDB_endTrace[_](db: Handle) {
        match database(db)?.db.stats().trace.end() {
            Err(error) if error.kind() == base::Kind::Incomplete => {}
            ended => ended?,
        }
    }
}
