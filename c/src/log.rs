//! Loggers: they receive the lines of the info log.

use std::ffi::{CString, c_void};
use std::fmt;
use std::sync::Arc;

use env::Env;
use env::logger::{AtomicLogLevel, LogLevel, Logger, StderrLogger};

use crate::abi::exception::ignored;
use crate::abi::{Owned, Place, State};
use crate::callbacks::rocksdb_log_cb;

/// A logger that options share.
pub type SharedLogger = Arc<dyn Logger>;

/// A logger.
pub struct rocksdb_logger_t {
    pub(crate) logger: SharedLogger,
}

/// Passes lines to a function of the program.
struct CallbackLogger {
    level: AtomicLogLevel,
    state: State,
    log: rocksdb_log_cb,
}

impl fmt::Debug for CallbackLogger {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.write_str("callback")
    }
}

impl Logger for CallbackLogger {
    fn level(&self) -> LogLevel {
        self.level.load()
    }

    fn set_level(&self, level: LogLevel) {
        self.level.store(level);
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
        ignored(|| unsafe { (self.log)(self.state.pointer(), level.for_application() as u32, line, len) });
        // SAFETY: `line` came from `into_raw`, and the callback does not free it.
        drop(unsafe { CString::from_raw(line) });
    }
}

fn level_of(number: i32) -> LogLevel {
    let mut level = LogLevel::default();
    Place::<i32>::store(&mut level, number);
    level
}

c_api! {
    /// Creates a logger that writes to the standard error stream. A line is the time, the thread, `prefix`, then the message.
    /// Null: no prefix.
    fn rocksdb_logger_create_stderr_logger(log_level: i32, prefix: raw(*const std::ffi::c_char)) -> Owned<rocksdb_logger_t> {
        let prefix = if prefix.is_null() {
            String::new()
        } else {
            // SAFETY: `prefix` is not null; the header requires a string that ends with NUL.
            unsafe { std::ffi::CStr::from_ptr(prefix) }.to_string_lossy().into_owned()
        };
        let logger = StderrLogger::new(level_of(log_level), prefix, Env::posix().clock);
        Owned(rocksdb_logger_t { logger: Arc::new(logger) })
    }

    /// Creates a logger that calls a function for each line of at least `log_level`.
    fn rocksdb_logger_create_callback_logger(
        log_level: i32, callback: call rocksdb_log_cb, state: raw(*mut c_void)
    ) -> Option<Owned<rocksdb_logger_t>> {
        callback.map(|log| {
            let logger = CallbackLogger { level: AtomicLogLevel::new(level_of(log_level)), state: State::new(state, None), log };
            Owned(rocksdb_logger_t { logger: Arc::new(logger) })
        })
    }

    /// Destroys the handle. Databases that use the logger keep it. Accepts null.
    fn rocksdb_logger_destroy(logger: own rocksdb_logger_t) {
        drop(logger)
    }
}
