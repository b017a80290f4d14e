//! The LOG file.
use std::fmt;
use std::path::Path;
use std::sync::Arc;

use super::{LogLevel, Logger};
use crate::clock::Clock;
use crate::fs::FileSystem;
use base::Result;

/// When the LOG starts a new file and how many old ones stay; RocksDB's defaults.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct LogFileOptions {
    pub level: LogLevel,
    /// Bytes; 0 for no limit.
    pub max_log_file_size: u64,
    /// Seconds; 0 for never.
    pub log_file_time_to_roll: u64,
    /// Old and current files together; 1000.
    pub keep_log_file_num: usize,
    /// Old files to reuse instead of creating; 0.
    pub recycle_log_file_num: usize,
}

impl Default for LogFileOptions {
    fn default() -> Self {
        LogFileOptions {
            level: LogLevel::Info,
            max_log_file_size: 0,
            log_file_time_to_roll: 0,
            keep_log_file_num: 1000,
            recycle_log_file_num: 0,
        }
    }
}

/// Writes `LOG` in the database's or the log directory.
#[derive(Debug)]
pub struct FileLogger {}

impl FileLogger {
    /// Opens the LOG of the database at `db_path`, in `db_log_dir` if that is not empty (the file's name
    /// then carries the path). A LOG already there becomes `LOG.old.<micros>`.
    pub fn open(
        _fs: Arc<dyn FileSystem>,
        _clock: Arc<dyn Clock>,
        _db_path: &Path,
        _db_log_dir: Option<&Path>,
        _options: LogFileOptions,
    ) -> Result<FileLogger> {
        todo!()
    }
}

impl Logger for FileLogger {
    fn level(&self) -> LogLevel {
        todo!()
    }
    fn set_level(&self, _level: LogLevel) {}
    fn log(&self, _level: LogLevel, _message: fmt::Arguments<'_>) {}
}
