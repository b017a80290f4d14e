//! Writers of traces: `AbstractTraceWriter`. The records are in `engine::trace`.
//!
//! Calls that the writer itself makes are not recorded. After a failure of the writer, or above the size limit, no record is
//! written. Facts: RocksDB `java/rocksjni/trace_writer_jnicallback.cc`.

use std::sync::Arc;

use base::{Error, Kind, Result};
use engine::trace::TraceSink;

use crate::class::{Class, Global, Method, Value};
use crate::handle::Handle;
use crate::load::callback;
use crate::native::natives;
use crate::slice::SliceObject;

const WRITER: &str = "org/rocksdb/AbstractTraceWriter";
static WRITE: Method = Class::new(WRITER).method("writeProxy", "(J)S");
static CLOSE: Method = Class::new(WRITER).method("closeWriterProxy", "()S");
static FILE_SIZE: Method = Class::new(WRITER).method("getFileSize", "()J");

/// A writer of Java.
pub struct WriterObject {
    pub writer: Arc<Global>,
}

/// Hands the records of a trace to a writer of Java.
pub struct JavaSink {
    pub writer: Arc<Global>,
}

impl JavaSink {
    /// Calls a method of the writer that returns a status: the code and the subcode as two bytes.
    ///
    /// # Errors
    /// IOError if the status is not Ok, or if the method throws.
    fn call(&self, method: &'static Method, arguments: &[Value]) -> Result<()> {
        match callback(|java| method.call_short(java, self.writer.object(java), arguments)) {
            Some(0) => Ok(()),
            _ => Err(Error::new(Kind::IoError, "the trace writer failed")),
        }
    }
}

impl TraceSink for JavaSink {
    fn write(&mut self, record: &[u8]) -> Result<()> {
        let slice = Handle::new(SliceObject::copied(record.to_vec()));
        let written = self.call(&WRITE, &[Value::long(slice.long())]);
        slice.close();
        written
    }

    fn size(&mut self) -> Option<u64> {
        callback(|java| FILE_SIZE.call_long(java, self.writer.object(java), &[])).map(|size| size as u64)
    }

    /// Returns no error: `endTrace` reports no failure of the writer.
    fn close(&mut self) -> Result<()> {
        let _ = self.call(&CLOSE, &[]);
        Ok(())
    }
}

natives! {
    fn AbstractTraceWriter_createNewTraceWriter[java, this]() -> Handle {
        Handle::new(WriterObject { writer: Arc::new(Global::new(java, this)?) })
    }
}
