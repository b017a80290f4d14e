//! Loggers: they receive the lines of the info log.

use std::ffi::{CString, c_void};
use std::fmt;
use std::sync::Arc;
use std::sync::atomic::{AtomicU8, Ordering};

use env::logger::{LogLevel, Logger};

use crate::abi::exception::ignored;
use crate::abi::{Owned, Place, State};
use crate::callbacks::rocksdb_log_cb;

/// A logger that options share.
pub type SharedLogger = Arc<dyn Logger>;

/// A logger.
pub struct rocksdb_logger_t {
    pub(crate) logger: SharedLogger,
}

/// Writes lines to the standard error stream, each with a prefix.
struct StderrLogger {
    level: AtomicU8,
    prefix: String,
}

/// Passes lines to a function of the program.
struct CallbackLogger {
    level: AtomicU8,
    state: State,
    log: rocksdb_log_cb,
}

fn level_of(number: u8) -> LogLevel {
    LogLevel::from_number(number).unwrap_or_default()
}

impl fmt::Debug for StderrLogger {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.write_str("standard error stream")
    }
}

impl fmt::Debug for CallbackLogger {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.write_str("callback")
    }
}

impl Logger for StderrLogger {
    fn level(&self) -> LogLevel {
        level_of(self.level.load(Ordering::Relaxed))
    }

    fn set_level(&self, level: LogLevel) {
        self.level.store(level as u8, Ordering::Relaxed);
    }

    fn log(&self, level: LogLevel, message: fmt::Arguments<'_>) {
        if level < self.level() {
            return;
        }
        let line = format!("{}{}{message}\n", self.prefix, level.prefix());
        // SAFETY: `line` has `line.len()` readable bytes. A failed write of a log line is ignored.
        let _ = unsafe { libc::write(libc::STDERR_FILENO, line.as_ptr().cast(), line.len()) };
    }
}

impl Logger for CallbackLogger {
    fn level(&self) -> LogLevel {
        level_of(self.level.load(Ordering::Relaxed))
    }

    fn set_level(&self, level: LogLevel) {
        self.level.store(level as u8, Ordering::Relaxed);
    }

    fn log(&self, level: LogLevel, message: fmt::Arguments<'_>) {
        if level < self.level() {
            return;
        }
        let mut line = message.to_string();
        line.retain(|c| c != '\0');
        let Ok(line) = CString::new(line) else { return };
        let len = line.as_bytes().len();
        let line = line.into_raw();
        // SAFETY: the program handed in this function for this state; `line` has `len` bytes and a NUL, all writable.
        ignored(|| unsafe { (self.log)(self.state.pointer(), level_for_callback(level), line, len) });
        // SAFETY: `line` came from `into_raw`, and the callback does not free it.
        drop(unsafe { CString::from_raw(line) });
    }
}

/// Returns RocksDB's number of the level. RocksDB passes lines of the header with the level INFO, also if the logger has a higher
/// level.
fn level_for_callback(level: LogLevel) -> u32 {
    match level {
        LogLevel::Header => LogLevel::Info as u32,
        level => level as u32,
    }
}

fn level_number(log_level: i32) -> AtomicU8 {
    let mut level = LogLevel::default();
    Place::<i32>::store(&mut level, log_level);
    AtomicU8::new(level as u8)
}

c_api! {
    /// Creates a logger that writes to the standard error stream. `prefix` comes before each line; null: no prefix.
    fn rocksdb_logger_create_stderr_logger(log_level: i32, prefix: raw(*const std::ffi::c_char)) -> Owned<rocksdb_logger_t> {
        let prefix = if prefix.is_null() {
            String::new()
        } else {
            // SAFETY: `prefix` is not null; the header requires a string that ends with NUL.
            unsafe { std::ffi::CStr::from_ptr(prefix) }.to_string_lossy().into_owned() + " "
        };
        Owned(rocksdb_logger_t { logger: Arc::new(StderrLogger { level: level_number(log_level), prefix }) })
    }

    /// Creates a logger that calls a function for each line of at least `log_level`.
    fn rocksdb_logger_create_callback_logger(
        log_level: i32, callback: call rocksdb_log_cb, state: raw(*mut c_void)
    ) -> Option<Owned<rocksdb_logger_t>> {
        callback.map(|log| {
            let logger = CallbackLogger { level: level_number(log_level), state: State::new(state, None), log };
            Owned(rocksdb_logger_t { logger: Arc::new(logger) })
        })
    }

    /// Destroys the handle. Databases that use the logger keep it. Accepts null.
    fn rocksdb_logger_destroy(logger: own rocksdb_logger_t) {
        drop(logger)
    }
}
