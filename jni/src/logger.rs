//! Info logs of Java: `Logger`, and `StdErrLogger`.
//!
//! A Java logger replaces the `LOG` files. The engine writes lines from each of its threads; `load::callback` attaches the
//! thread to the JVM. Facts: RocksDB `java/rocksjni/loggerjnicallback.cc`, `util/stderr_logger.cc`.

use std::fmt;
use std::sync::Arc;

use env::Env;
use env::logger::{AtomicLogLevel, LogLevel, Logger, StderrLogger};

use crate::class::{Class, Global, Method, Value};
use crate::fault::{Fault, Outcome};
use crate::handle::Handle;
use crate::java::JString;
use crate::load::callback;
use crate::native::natives;
use crate::options::OptionSet;

/// A logger.
pub struct LoggerObject {
    pub logger: Arc<dyn Logger>,
}

static LOG: Method =
    Class::new("org/rocksdb/Logger").method("log", "(Lorg/rocksdb/InfoLogLevel;Ljava/lang/String;)V");
static LEVEL: Method =
    Class::new("org/rocksdb/InfoLogLevel").static_method("getInfoLogLevel", "(B)Lorg/rocksdb/InfoLogLevel;");

/// A logger of Java.
struct JavaLogger {
    object: Global,
    level: AtomicLogLevel,
}

impl fmt::Debug for JavaLogger {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        write!(f, "JavaLogger({:?})", self.level.load())
    }
}

impl Logger for JavaLogger {
    fn level(&self) -> LogLevel {
        self.level.load()
    }

    fn set_level(&self, level: LogLevel) {
        self.level.store(level);
    }

    /// Passes a line to the Java logger. Header lines get the level Info, as in RocksDB.
    fn log(&self, level: LogLevel, message: fmt::Arguments<'_>) {
        let level = level.for_application();
        if level < self.level.load() {
            return;
        }
        callback(|java| {
            let number = LEVEL.call_static_object(java, &[Value::byte(level as u8 as i8)])?;
            let text = java.new_text(&message.to_string())?;
            LOG.call(java, self.object.object(java), &[number.into(), text.into()])
        });
    }
}

fn level_of(number: i64) -> Outcome<LogLevel> {
    let level = u8::try_from(number).ok().and_then(LogLevel::from_number);
    level.ok_or_else(|| Fault::illegal_argument(format!("{number} is not an InfoLogLevel")))
}

/// Makes a logger that calls a Java object.
fn java_logger(
    java: crate::java::Java<'_>,
    this: crate::java::JObject<'_>,
    level: LogLevel,
) -> Outcome<Handle> {
    let logger = JavaLogger { object: Global::new(java, this)?, level: AtomicLogLevel::new(level) };
    Ok(Handle::new(LoggerObject { logger: Arc::new(logger) }))
}

/// Selects the info log of options.
///
/// # Errors
/// IllegalStateException for closed options or a closed logger.
pub fn set_logger(options: Handle, logger: Handle) -> Outcome<()> {
    let logger = logger.shared::<LoggerObject>()?.logger.clone();
    options.exclusive::<OptionSet>()?.db.info_log = Some(logger);
    Ok(())
}

natives! {
    fn Logger_newLogger[java, this](level: i64) -> Handle {
        java_logger(java, this, level_of(level)?)?
    }

    /// Makes a logger with the current `info_log_level` of the options.
    fn Logger_createNewLoggerOptions | Logger_createNewLoggerDbOptions[java, this](options: Handle) -> Handle {
        let level = options.shared::<OptionSet>()?.db.info_log_level;
        java_logger(java, this, level)?
    }

    fn Logger_setInfoLogLevel | util_StdErrLogger_setInfoLogLevel[_](logger: Handle, level: i8) {
        logger.shared::<LoggerObject>()?.logger.set_level(level_of(i64::from(level))?);
    }

    fn Logger_infoLogLevel | util_StdErrLogger_infoLogLevel[_](logger: Handle) -> i8 {
        logger.shared::<LoggerObject>()?.logger.level() as u8 as i8
    }

    fn Logger_disposeInternal | util_StdErrLogger_disposeInternal[_](logger: Handle) {
        logger.close_as::<LoggerObject>();
    }

    fn util_StdErrLogger_newStdErrLogger[java](level: i8, prefix: JString) -> Handle {
        let level = level_of(i64::from(level))?;
        let prefix = java.text_or_null(prefix)?.unwrap_or_default();
        Handle::new(LoggerObject { logger: Arc::new(StderrLogger::new(level, prefix, Env::posix().clock)) })
    }
}
