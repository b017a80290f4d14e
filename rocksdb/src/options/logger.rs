//! Loggers of the application: receivers of the info log of a database.

use std::fmt;
use std::sync::Arc;
use std::sync::atomic::{AtomicU8, Ordering};

use ironstone::env::{LogLevel as Level, Logger};

use crate::LogLevel;

/// A logger.
pub struct InfoLogger {
    pub(crate) logger: Option<Arc<dyn Logger>>,
}

impl InfoLogger {
    /// Returns a logger that writes lines with at least this level to the standard error stream. Each line starts
    /// with a prefix.
    pub fn new_stderr_logger<S: AsRef<str>>(log_level: LogLevel, prefix: Option<S>) -> Self {
        let prefix = prefix.map_or_else(String::new, |prefix| format!("{} ", prefix.as_ref()));
        let write = move |line: fmt::Arguments<'_>, level: LogLevel| {
            eprintln!("{prefix}{}{line}", Level::from(level).prefix());
        };
        Self::of(log_level, Box::new(write))
    }

    /// Returns a logger that calls a function for each line with at least this level.
    pub fn new_callback_logger<F: Fn(LogLevel, &str) + Sync + Send + 'static>(
        level: LogLevel,
        cb: F,
    ) -> Self {
        Self::of(level, Box::new(move |line, level| cb(level, &line.to_string())))
    }

    fn of(level: LogLevel, write: Box<Write>) -> Self {
        let level = AtomicU8::new(Level::from(level) as u8);
        InfoLogger { logger: Some(Arc::new(Lines { level, write })) }
    }
}

type Write = dyn Fn(fmt::Arguments<'_>, LogLevel) + Send + Sync;

struct Lines {
    level: AtomicU8,
    write: Box<Write>,
}

impl fmt::Debug for Lines {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.write_str("logger of the application")
    }
}

impl Logger for Lines {
    fn level(&self) -> Level {
        Level::from_number(self.level.load(Ordering::Relaxed)).unwrap_or_default()
    }

    fn set_level(&self, level: Level) {
        self.level.store(level as u8, Ordering::Relaxed);
    }

    fn log(&self, level: Level, message: fmt::Arguments<'_>) {
        if level >= self.level() {
            // RocksDB passes the header lines of the info log to the loggers of applications as lines of level Info.
            let level = if level == Level::Header { Level::Info } else { level };
            (self.write)(message, LogLevel::of_ironstone(level));
        }
    }
}
