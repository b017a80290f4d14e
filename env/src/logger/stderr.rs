//! A logger that writes to the standard error stream.
//!
//! A line has the time and the thread as in the info log, then the prefix of the user, then the message. The thread is
//! hexadecimal. Source of the line: RocksDB `util/stderr_logger.cc`.

use std::fmt::{self, Write as _};
use std::io::Write as _;
use std::sync::Arc;

use super::file::push_time;
use super::{AtomicLogLevel, LogLevel, Logger};
use crate::Clock;

/// Writes lines to the standard error stream.
#[derive(Debug)]
pub struct StderrLogger {
    level: AtomicLogLevel,
    prefix: String,
    clock: Arc<dyn Clock>,
}

impl StderrLogger {
    /// Makes a logger. `prefix` comes before each message.
    pub fn new(level: LogLevel, prefix: impl Into<String>, clock: Arc<dyn Clock>) -> Self {
        StderrLogger { level: AtomicLogLevel::new(level), prefix: prefix.into(), clock }
    }

    fn line(&self, level: LogLevel, message: fmt::Arguments<'_>) -> String {
        let now_us = self.clock.now_micros();
        let mut line = String::new();
        push_time(&mut line, now_us, self.clock.local_offset_seconds(now_us / 1_000_000));
        let thread = crate::posix::thread_id();
        // Formatting into a string fails only if a `Display` of the message fails. The text before the failure stays.
        let _ = writeln!(line, "{thread:x} {}{}{message}", self.prefix, level.prefix());
        line
    }
}

impl Logger for StderrLogger {
    fn level(&self) -> LogLevel {
        self.level.load()
    }

    fn set_level(&self, level: LogLevel) {
        self.level.store(level);
    }

    fn log(&self, level: LogLevel, message: fmt::Arguments<'_>) {
        if level >= self.level() {
            // If the stream rejects a line, the line is lost, as in the info log.
            #[allow(clippy::disallowed_methods, reason = "this logger is for the standard error output")]
            let _ = std::io::stderr().write_all(self.line(level, message).as_bytes());
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_line_has_time_thread_prefix_and_message() {
        let logger = StderrLogger::new(LogLevel::Warn, "p: ", crate::Env::posix().clock);
        let line = logger.line(LogLevel::Error, format_args!("broken"));
        let words: Vec<&str> = line.split(' ').collect();
        assert_eq!(words[0].len(), "2026/11/21-22:00:00.123456".len());
        assert_eq!(words[1], format!("{:x}", crate::posix::thread_id()));
        assert_eq!(words[2..].join(" "), "p: [ERROR] broken\n");
    }
}
