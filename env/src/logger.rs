//! The info log: the trait, the levels, and loggers with RocksDB's lines.
//!
//! A line is `2026/11/21-22:00:00.123456 140012345678912 message`: local time with microseconds, the thread, the
//! message. The message starts with `[DEBUG] `, `[WARN] `, `[ERROR] ` or `[FATAL] `, except for the levels info and
//! header. Programs parse these lines, so the format must not change.
//!
//! A failure of the info log never fails an operation of the database. The logger only remembers the first error.

use std::fmt;
use std::sync::Arc;
use std::sync::atomic::{AtomicU8, Ordering};

use base::Result;
use base::option::{Value, not_a};

pub mod file;
mod stderr;

pub use file::{FileLogger, LogFileOptions};
pub use stderr::StderrLogger;

#[cfg(test)]
mod tests;

/// The importance of a line, numbered as RocksDB's `InfoLogLevel`.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq, PartialOrd, Ord, Hash)]
#[repr(u8)]
pub enum LogLevel {
    /// Details for the authors of the engine.
    Debug = 0,
    /// Actions of the engine in normal operation. The default.
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
    /// Returns the text before the message. Empty for info and header.
    pub fn prefix(self) -> &'static str {
        match self {
            LogLevel::Debug => "[DEBUG] ",
            LogLevel::Info | LogLevel::Header => "",
            LogLevel::Warn => "[WARN] ",
            LogLevel::Error => "[ERROR] ",
            LogLevel::Fatal => "[FATAL] ",
        }
    }

    /// Returns the word in option text: `DEBUG_LEVEL` and so on.
    pub fn option_name(self) -> &'static str {
        ["DEBUG_LEVEL", "INFO_LEVEL", "WARN_LEVEL", "ERROR_LEVEL", "FATAL_LEVEL", "HEADER_LEVEL"]
            [self as usize]
    }

    /// Returns the level with this number, or `None`.
    pub fn from_number(n: u8) -> Option<LogLevel> {
        use LogLevel::{Debug, Error, Fatal, Header, Info, Warn};
        [Debug, Info, Warn, Error, Fatal, Header].get(usize::from(n)).copied()
    }

    /// Returns the level that a logger of the application receives: [`LogLevel::Info`] for header lines, as in RocksDB.
    pub fn for_application(self) -> LogLevel {
        if self == LogLevel::Header { LogLevel::Info } else { self }
    }
}

/// The lowest level that a logger writes. Threads may read and change the level concurrently.
#[derive(Debug)]
pub struct AtomicLogLevel {
    number: AtomicU8,
}

impl AtomicLogLevel {
    /// Makes the level.
    pub fn new(level: LogLevel) -> Self {
        AtomicLogLevel { number: AtomicU8::new(level as u8) }
    }

    /// Returns the level.
    pub fn load(&self) -> LogLevel {
        LogLevel::from_number(self.number.load(Ordering::Relaxed)).unwrap_or_default()
    }

    /// Replaces the level.
    pub fn store(&self, level: LogLevel) {
        self.number.store(level as u8, Ordering::Relaxed);
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

/// Receives the lines of the info log. Any thread may use a logger.
pub trait Logger: Send + Sync + fmt::Debug {
    /// Returns the lowest level that the logger writes.
    fn level(&self) -> LogLevel;

    /// Sets the lowest level that the logger writes.
    fn set_level(&self, level: LogLevel);

    /// Writes one message, prefix included, if `level` is at least [`Logger::level`].
    fn log(&self, level: LogLevel, message: fmt::Arguments<'_>);

    /// Returns false if the logger drops all lines. The caller then need not format its message.
    fn is_heard(&self) -> bool {
        true
    }

    /// Passes buffered lines to the operating system.
    fn flush(&self) {}

    /// Returns the bytes of the current file; 0 without a file.
    fn size(&self) -> u64 {
        0
    }

    /// Flushes and closes the log. Later lines are dropped.
    fn close(&self) {}
}

/// Drops all lines.
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

/// Keeps the messages with the prefix of their level in memory. For tests.
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

/// Writes a line. The arguments after the level are those of `format!`: `log!(logger, Warn, "[{name}] stalled")`.
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
