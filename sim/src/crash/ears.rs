//! A logger that listens for skipped data.

use std::sync::atomic::{AtomicBool, Ordering};

use env::logger::{LogLevel, Logger};

/// The start of info log lines about skipped data, as in RocksDB.
const PASSED_OVER: &str = "(ignoring error) ";

/// A logger that records if replay skipped data in a WAL and continued.
#[derive(Debug, Default)]
pub(super) struct Ears(AtomicBool);

impl Ears {
    /// Sets the record.
    pub fn set(&self, skipped: bool) {
        self.0.store(skipped, Ordering::Relaxed);
    }

    /// Returns true if replay skipped data, or may have skipped data.
    pub fn have_heard(&self) -> bool {
        self.0.load(Ordering::Relaxed)
    }
}

impl Logger for Ears {
    fn level(&self) -> LogLevel {
        LogLevel::Header
    }

    fn set_level(&self, _level: LogLevel) {}

    fn log(&self, level: LogLevel, message: std::fmt::Arguments<'_>) {
        if level == LogLevel::Warn && message.to_string().starts_with(PASSED_OVER) {
            self.0.store(true, Ordering::Relaxed);
        }
    }

    fn is_heard(&self) -> bool {
        false
    }
}
