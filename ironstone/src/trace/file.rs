//! Traces in files. Facts: RocksDB `utilities/trace/file_trace_reader_writer.cc`.

use std::path::Path;
use std::sync::Arc;

use base::{Error, Kind, Result};
use engine::trace::TraceSink;
use env::Env;
use env::fs::{AppendHints, RandomRead, ReadHints};
use env::io_trace::IoTracer;
use env::writer::{FileWriter, WriterOptions};
use format::trace::RECORD_HEADER_LEN;

/// Writes a trace to a file. The file is complete after [`super::end`]. If the writer is dropped before, for example with its
/// database, the file has all records but the last record, which [`super::end`] writes.
pub struct FileTraceWriter {
    file: FileWriter,
    is_closed: bool,
}

impl FileTraceWriter {
    /// Creates the file. A file at `path` is replaced. If `env` is from [`super::io_traced`], the trace of file operations has no
    /// operations of this file.
    ///
    /// # Errors
    /// Errors of the file system.
    ///
    /// ```
    /// let env = ironstone::Options::in_memory().db.env;
    /// env.fs.create_dir_all("data".as_ref())?;
    /// ironstone::trace::FileTraceWriter::create(&env, "data/trace".as_ref())?;
    /// assert!(env.fs.exists("data/trace".as_ref())?);
    /// # Ok::<(), ironstone::Error>(())
    /// ```
    pub fn create(env: &Env, path: &Path) -> Result<Self> {
        // A file of the traced file system would keep its tracer in memory, and the tracer would keep the file.
        let fs = IoTracer::of(&*env.fs).map_or(&env.fs, IoTracer::inner);
        let file = fs.create(path, &AppendHints::default())?;
        Ok(FileTraceWriter { file: FileWriter::new(file, WriterOptions::default()), is_closed: false })
    }
}

impl TraceSink for FileTraceWriter {
    fn write(&mut self, record: &[u8]) -> Result<()> {
        self.file.append(record)
    }

    fn size(&mut self) -> Option<u64> {
        Some(self.file.size())
    }

    fn close(&mut self) -> Result<()> {
        self.is_closed = true;
        self.file.close()
    }
}

impl Drop for FileTraceWriter {
    fn drop(&mut self) {
        if !self.is_closed {
            // A destructor reports no error.
            let _ = self.file.close();
        }
    }
}

/// Reads the records of a trace from a file, in order.
#[derive(Debug)]
pub struct FileTraceReader {
    /// `None` after [`FileTraceReader::close`].
    file: Option<Arc<dyn RandomRead>>,
    size: u64,
    offset: u64,
}

impl FileTraceReader {
    /// Opens a trace. The reader stands before the first record. Records that are appended later are not read.
    ///
    /// # Errors
    /// Errors of the file system.
    ///
    /// ```
    /// let env = ironstone::Options::in_memory().db.env;
    /// assert!(ironstone::trace::FileTraceReader::open(&env, "no trace".as_ref()).is_err());
    /// ```
    pub fn open(env: &Env, path: &Path) -> Result<Self> {
        let file = env.fs.open_random(path, &ReadHints::default())?;
        let size = file.size()?;
        Ok(FileTraceReader { file: Some(file), size, offset: 0 })
    }

    fn file(&self) -> Result<&Arc<dyn RandomRead>> {
        self.file.as_ref().ok_or_else(|| Error::new(Kind::IoError, "TraceReader is closed."))
    }

    /// Returns the next record with its header, or `None` at the end of the file.
    ///
    /// # Errors
    /// Corruption if the file ends within a record. IOError after [`FileTraceReader::close`]. Errors of the file.
    ///
    /// ```
    /// # use ironstone::trace::{self, FileTraceReader, FileTraceWriter, TraceOptions};
    /// # let options = ironstone::Options::in_memory();
    /// # let env = options.db.env.clone();
    /// # let db = ironstone::Db::open("data", options)?;
    /// let writer = FileTraceWriter::create(&env, "data/trace".as_ref())?;
    /// trace::start(&db, TraceOptions::default(), Box::new(writer))?;
    /// trace::end(&db)?;
    /// let mut reader = FileTraceReader::open(&env, "data/trace".as_ref())?;
    /// assert!(reader.read()?.is_some_and(|first| first[13..].starts_with(b"feedcafedeadbeef")));
    /// assert!(reader.read()?.is_some() && reader.read()?.is_none());
    /// # Ok::<(), ironstone::Error>(())
    /// ```
    pub fn read(&mut self) -> Result<Option<Vec<u8>>> {
        let file = self.file()?.clone();
        let left = self.size.saturating_sub(self.offset);
        if left == 0 {
            return Ok(None);
        }
        let torn = || Error::corruption("Corrupted trace file.").file(file.path()).at(self.offset);
        let fill = |offset: u64, buffer: &mut [u8]| match file.read_at(offset, buffer)? {
            got if got < buffer.len() => Err(torn()),
            _ => Ok(()),
        };
        if left < RECORD_HEADER_LEN as u64 {
            return Err(torn());
        }
        let mut record = vec![0; RECORD_HEADER_LEN];
        fill(self.offset, &mut record)?;
        let len = base::coding::get_u32(&record, RECORD_HEADER_LEN - 4).ok_or_else(torn)?;
        if u64::from(len) > left - RECORD_HEADER_LEN as u64 {
            return Err(torn());
        }
        record.resize(RECORD_HEADER_LEN + len as usize, 0);
        fill(self.offset + RECORD_HEADER_LEN as u64, &mut record[RECORD_HEADER_LEN..])?;
        self.offset += record.len() as u64;
        Ok(Some(record))
    }

    /// Moves before the first record.
    ///
    /// # Errors
    /// IOError after [`FileTraceReader::close`].
    ///
    /// ```
    /// # let env = ironstone::Options::in_memory().db.env;
    /// # env.fs.write_all("trace".as_ref(), b"", false)?;
    /// let mut reader = ironstone::trace::FileTraceReader::open(&env, "trace".as_ref())?;
    /// reader.reset()?;
    /// reader.close();
    /// assert!(reader.reset().is_err());
    /// # Ok::<(), ironstone::Error>(())
    /// ```
    pub fn reset(&mut self) -> Result<()> {
        self.file()?;
        self.offset = 0;
        Ok(())
    }

    /// Closes the file. All later calls fail.
    ///
    /// ```
    /// # let env = ironstone::Options::in_memory().db.env;
    /// # env.fs.write_all("trace".as_ref(), b"", false)?;
    /// let mut reader = ironstone::trace::FileTraceReader::open(&env, "trace".as_ref())?;
    /// reader.close();
    /// assert!(reader.read().is_err());
    /// # Ok::<(), ironstone::Error>(())
    /// ```
    pub fn close(&mut self) {
        self.file = None;
    }
}
