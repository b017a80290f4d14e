//! The information log: the trait, its levels, and the file logger with RocksDB's lines.
//!
//! A line is `2026/11/21-22:00:00.123456 140012345678912 message`: local time with microseconds, the
//! thread, the message, which for levels other than info begins with `[DEBUG] `, `[WARN] `, `[ERROR] ` or
//! `[FATAL] `. Programs parse these lines; keep them.
//!
//! Losing the log must never hurt the database: write errors are remembered, not passed on.

use std::fmt;
use std::sync::Arc;

use base::Result;
use base::option::{Value, not_a};

pub mod file;
mod stderr;

pub use file::{FileLogger, LogFileOptions};
pub use stderr::StderrLogger;

#[cfg(test)]
mod tests;

/// How much a line matters, numbered as RocksDB's `InfoLogLevel`.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq, PartialOrd, Ord, Hash)]
#[repr(u8)]
pub enum LogLevel {
    /// Details for the authors of the engine.
    Debug = 0,
    /// What the engine does in its normal work. The default.
    #[default]
    Info = 1,
    /// An event that a user should know about.
    Warn = 2,
    /// An operation failed.
    Error = 3,
    /// The database cannot continue.
    Fatal = 4,
    /// Always written, and again at the head of each new file.
    Header = 5,
}

impl LogLevel {
    /// What stands before the message; nothing for info and header.
    pub fn prefix(self) -> &'static str {
        match self {
            LogLevel::Debug => "[DEBUG] ",
            LogLevel::Info | LogLevel::Header => "",
            LogLevel::Warn => "[WARN] ",
            LogLevel::Error => "[ERROR] ",
            LogLevel::Fatal => "[FATAL] ",
        }
    }

    /// The option string: `DEBUG_LEVEL` and so on.
    pub fn option_name(self) -> &'static str {
        ["DEBUG_LEVEL", "INFO_LEVEL", "WARN_LEVEL", "ERROR_LEVEL", "FATAL_LEVEL", "HEADER_LEVEL"]
            [self as usize]
    }

    /// Returns the level with this number, or `None`.
    pub fn from_number(n: u8) -> Option<LogLevel> {
        use LogLevel::{Debug, Error, Fatal, Header, Info, Warn};
        [Debug, Info, Warn, Error, Fatal, Header].get(usize::from(n)).copied()
    }
}

impl Value for LogLevel {
    fn parse(text: &str) -> Result<Self> {
        let mut levels = (0..6).filter_map(LogLevel::from_number);
        levels.find(|l| l.option_name() == text.trim()).ok_or_else(|| not_a("log level", text))
    }

    fn print(&self) -> String {
        self.option_name().to_string()
    }

    fn is_same(&self, other: &Self) -> bool {
        self == other
    }
}

/// Takes lines. Any thread.
pub trait Logger: Send + Sync + fmt::Debug {
    /// The least level that is written.
    fn level(&self) -> LogLevel;

    /// Sets the lowest level that the logger writes.
    fn set_level(&self, level: LogLevel);

    /// Writes one message, prefix included, if `level` is at least [`Logger::level`].
    fn log(&self, level: LogLevel, message: fmt::Arguments<'_>);

    /// Whether anybody will read it; if not, callers need not put words together.
    fn is_heard(&self) -> bool {
        true
    }

    /// Hands buffered lines to the system.
    fn flush(&self) {}

    /// Bytes in the current file; 0 if there is none.
    fn size(&self) -> u64 {
        0
    }

    /// Flushes and closes; later lines are dropped.
    fn close(&self) {}
}

/// Drops everything.
#[derive(Debug, Default)]
pub struct NullLogger;

impl Logger for NullLogger {
    fn level(&self) -> LogLevel {
        LogLevel::Header
    }

    fn set_level(&self, _level: LogLevel) {}

    fn log(&self, _level: LogLevel, _message: fmt::Arguments<'_>) {}

    fn is_heard(&self) -> bool {
        false
    }
}

/// Keeps the messages, level prefix included, for tests.
#[derive(Debug, Default)]
pub struct MemoryLogger {
    lines: parking_lot::Mutex<Vec<String>>,
}

impl MemoryLogger {
    /// Makes a logger without lines.
    pub fn new() -> Arc<Self> {
        Arc::default()
    }

    /// Returns a copy of the lines, oldest first.
    pub fn lines(&self) -> Vec<String> {
        self.lines.lock().clone()
    }
}

impl Logger for MemoryLogger {
    fn level(&self) -> LogLevel {
        LogLevel::Debug
    }

    fn set_level(&self, _level: LogLevel) {}

    fn log(&self, level: LogLevel, message: fmt::Arguments<'_>) {
        self.lines.lock().push(format!("{}{message}", level.prefix()));
    }
}

/// Logs with `format!` arguments: `log!(logger, Warn, "[{name}] stalled")`.
#[macro_export]
macro_rules! log {
    ($logger:expr, $level:ident, $($arg:tt)+) => {{
        let logger = &*$logger;
        if $crate::logger::LogLevel::$level >= $crate::logger::Logger::level(logger) {
            $crate::logger::Logger::log(
                logger, $crate::logger::LogLevel::$level, format_args!($($arg)+));
        }
    }};
}
