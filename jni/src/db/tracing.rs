//! The start and the end of a trace. The records are in `trace`.

use super::database;
use crate::handle::Handle;
use crate::native::natives;
use crate::trace::{Trace, WriterObject};

natives! {
    /// Starts a trace. Takes ownership of the writer. Ends a running trace first.
    fn RocksDB_startTrace[_](db: Handle, bytes_max: i64, writer: Handle) {
        let db = database(db)?;
        let writer = writer.take::<WriterObject>()?.0.clone();
        let clock = db.db.env().clock.clone();
        db.tracer.start(Trace { writer, bytes_max: bytes_max as u64, clock, has_failed: false });
    }

    /// Writes the last record and closes the writer.
    fn RocksDB_endTrace[_](db: Handle) {
        database(db)?.tracer.end()?;
    }
}
