//! Loggers of the application: receivers of the info log of a database.

use std::fmt;
use std::sync::Arc;

use ironstone::env::{AtomicLogLevel, Env, LogLevel as Level, Logger, StderrLogger};

use crate::LogLevel;

/// A logger.
pub struct InfoLogger {
    pub(crate) logger: Option<Arc<dyn Logger>>,
}

impl InfoLogger {
    /// Returns a logger that writes lines with at least this level to the standard error stream. A line is the time, the
    /// thread, the prefix, then the message.
    pub fn new_stderr_logger<S: AsRef<str>>(log_level: LogLevel, prefix: Option<S>) -> Self {
        let prefix = prefix.as_ref().map_or("", |prefix| prefix.as_ref());
        let logger = StderrLogger::new(Level::from(log_level), prefix, Env::posix().clock);
        InfoLogger { logger: Some(Arc::new(logger)) }
    }

    /// Returns a logger that calls a function for each line with at least this level.
    pub fn new_callback_logger<F: Fn(LogLevel, &str) + Sync + Send + 'static>(
        level: LogLevel,
        cb: F,
    ) -> Self {
        let level = AtomicLogLevel::new(Level::from(level));
        InfoLogger { logger: Some(Arc::new(CallbackLogger { level, callback: cb })) }
    }
}

/// Passes lines to a function of the application.
struct CallbackLogger<F> {
    level: AtomicLogLevel,
    callback: F,
}

impl<F> fmt::Debug for CallbackLogger<F> {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.write_str("logger of the application")
    }
}

impl<F: Fn(LogLevel, &str) + Send + Sync> Logger for CallbackLogger<F> {
    fn level(&self) -> Level {
        self.level.load()
    }

    fn set_level(&self, level: Level) {
        self.level.store(level);
    }

    fn log(&self, level: Level, message: fmt::Arguments<'_>) {
        if level >= self.level() {
            (self.callback)(LogLevel::of_ironstone(level.for_application()), &message.to_string());
        }
    }
}
