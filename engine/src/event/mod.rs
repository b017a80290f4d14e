//! Typed events. A module emits one value. The line of the info log and the listener call are views of this
//! value.
//!
//! The lines are RocksDB's `EVENT_LOG_v1` objects, key for key, because programs parse them. Free text
//! goes through [`Events::info`] and [`Events::warn`]. Listeners are the user's code: the panic of a
//! listener is caught and logged, and never reaches the job that emitted the event.

mod file_io;
mod json;
mod show;
mod times;

mod types;

pub use file_io::{FileOperation, watched};
pub use json::Line;
pub use times::JobTimes;
pub use types::*;

use std::any::Any;
use std::fmt;
use std::panic::{AssertUnwindSafe, catch_unwind};

use base::Error;
use base::stats::SlowOperation;
use env::logger::LogLevel;
use env::{Clock, Logger};

use crate::sync::Arc;

/// Receives the events of a database. RocksDB: `EventListener`.
///
/// The engine calls a listener on the thread of the job that emits the event, and holds no lock. A slow listener slows the
/// job. A listener must not wait for background work of the same database. A panic of a listener is caught and logged.
pub trait Listener: Send + Sync {
    /// Receives an event.
    fn on_event(&self, event: &Event);

    /// Returns the listener for a downcast to its own type, if the listener wants to be found by [`Events::listeners`].
    fn as_any(&self) -> Option<&dyn Any> {
        None
    }

    /// Decides whether a background error takes effect. Called before the error stops writes. RocksDB:
    /// `OnBackgroundError`, which can set the error to OK.
    fn on_background_error(&self, _reason: ErrorReason, _error: &Error) -> ErrorDecision {
        ErrorDecision::Keep
    }

    /// Decides whether the engine tries to clear a background error by itself. RocksDB: `OnErrorRecoveryBegin`.
    fn on_recovery_begin(&self, _reason: ErrorReason, _error: &Error) -> RecoveryDecision {
        RecoveryDecision::Start
    }

    /// Returns true if the listener wants the calls of [`Listener::on_file_io`]. Asked once, at open. RocksDB:
    /// `ShouldBeNotifiedOnFileIO`.
    fn watches_file_io(&self) -> bool {
        false
    }

    /// Returns true if the listener wants the calls of [`Listener::on_slow_operation`]. Asked once, at open.
    fn watches_slow_operations(&self) -> bool {
        false
    }

    /// Receives a slow operation that has ended, on the thread of the operation. This call must be short, and must not call
    /// the database.
    fn on_slow_operation(&self, _operation: &SlowOperation) {}

    /// Receives a file operation that has ended. The engine may hold locks: this call must be short, and must not call
    /// the database. RocksDB: `OnFileReadFinish` and six more; with an error, `OnIOError` too.
    fn on_file_io(&self, _operation: &FileOperation<'_>) {}
}

/// The decision of a listener about a background error.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum ErrorDecision {
    /// The error takes effect.
    Keep,
    /// The error is logged and has no effect. The failed job is tried again later. A failed WAL accepts no writes even
    /// then.
    Suppress,
}

/// The decision of a listener about an automatic recovery.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum RecoveryDecision {
    /// The engine tries to resume in the background.
    Start,
    /// The error stays until the application calls `resume`.
    Veto,
}

/// The receivers of events: the info log, and the listeners.
pub struct Events {
    logger: Arc<dyn Logger>,
    clock: Arc<dyn Clock>,
    listeners: Vec<Arc<dyn Listener>>,
}

impl Events {
    /// Makes the receivers. The listeners are called in this order.
    pub fn new(
        logger: Arc<dyn Logger>,
        clock: Arc<dyn Clock>,
        listeners: Vec<Arc<dyn Listener>>,
    ) -> Arc<Self> {
        Arc::new(Events { logger, clock, listeners })
    }

    /// Writes the line of the event to the info log, if the event has a line. Then notifies the listeners.
    pub fn emit(&self, event: &Event) {
        if self.logger.is_heard()
            && let Some(line) = show::line(event, self.clock.now_micros())
        {
            self.log(LogLevel::Info, format_args!("EVENT_LOG_v1 {line}"));
        }
        self.notify(event);
    }

    /// Notifies the listeners of an event that has no line in the info log.
    pub fn notify(&self, event: &Event) {
        for listener in &self.listeners {
            if catch_unwind(AssertUnwindSafe(|| listener.on_event(event))).is_err() {
                self.warn(format_args!("An event listener panicked; the event was {}", event.name()));
            }
        }
    }

    /// Returns true if a listener wants slow operations.
    pub fn watches_slow_operations(&self) -> bool {
        self.listeners.iter().any(|listener| listener.watches_slow_operations())
    }

    /// Notifies the listeners that want slow operations.
    pub fn slow_operation(&self, operation: &SlowOperation) {
        for listener in self.listeners.iter().filter(|listener| listener.watches_slow_operations()) {
            if catch_unwind(AssertUnwindSafe(|| listener.on_slow_operation(operation))).is_err() {
                self.warn(format_args!("An event listener panicked; the event was slow_operation"));
            }
        }
    }

    /// Returns true if a listener suppresses the background error.
    pub fn suppresses(&self, reason: ErrorReason, error: &Error) -> bool {
        self.any(|listener| listener.on_background_error(reason, error) == ErrorDecision::Suppress)
    }

    /// Returns true if a listener vetoes the automatic recovery from the background error.
    pub fn vetoes_recovery(&self, reason: ErrorReason, error: &Error) -> bool {
        self.any(|listener| listener.on_recovery_begin(reason, error) == RecoveryDecision::Veto)
    }

    /// Asks every listener. A listener that panics does not decide.
    fn any(&self, decides: impl Fn(&dyn Listener) -> bool) -> bool {
        let asked = self.listeners.iter().map(|listener| {
            catch_unwind(AssertUnwindSafe(|| decides(&**listener))).unwrap_or_else(|_| {
                self.warn(format_args!(
                    "An event listener panicked while it decided about a background error"
                ));
                false
            })
        });
        // Ask every listener, also after the first veto.
        asked.filter(|decided| *decided).count() > 0
    }

    /// Returns true if the info log takes lines of the level `Info`: the caller may then make an expensive line.
    pub fn writes_info(&self) -> bool {
        self.logger.is_heard() && self.logger.level() <= LogLevel::Info
    }

    /// Writes a line of the level `Debug` to the info log. No listener is called.
    pub fn debug(&self, message: fmt::Arguments<'_>) {
        self.log(LogLevel::Debug, message);
    }

    /// Writes a line of the level `Info` to the info log. No listener is called.
    pub fn info(&self, message: fmt::Arguments<'_>) {
        self.log(LogLevel::Info, message);
    }

    /// Writes a line of the level `Warn` to the info log. No listener is called.
    pub fn warn(&self, message: fmt::Arguments<'_>) {
        self.log(LogLevel::Warn, message);
    }

    /// Writes a line of the level `Error` to the info log. No listener is called.
    pub fn error(&self, message: fmt::Arguments<'_>) {
        self.log(LogLevel::Error, message);
    }

    /// Writes a line that the start of each new info log repeats.
    pub fn header(&self, message: fmt::Arguments<'_>) {
        self.log(LogLevel::Header, message);
    }

    /// Writes several header lines. Calls `lines` only if the logger writes lines.
    pub fn headers(&self, lines: impl FnOnce() -> Vec<String>) {
        if self.logger.is_heard() {
            lines().iter().for_each(|line| self.header(format_args!("{line}")));
        }
    }

    /// Writes a line to the info log. A line in which the logger of the application panics is lost: the caller may lead the
    /// writers, and a panic that unwinds through a leader would lose the lead.
    fn log(&self, level: LogLevel, message: fmt::Arguments<'_>) {
        let _ = catch_unwind(AssertUnwindSafe(|| self.logger.log(level, message)));
    }

    /// Returns the logger of the info log.
    pub fn logger(&self) -> &Arc<dyn Logger> {
        &self.logger
    }

    /// Returns the listeners, in the order of their calls.
    pub fn listeners(&self) -> &[Arc<dyn Listener>] {
        &self.listeners
    }

    /// Returns true if the application registered a listener. Some events are expensive to make and have no
    /// other use.
    pub fn has_listeners(&self) -> bool {
        !self.listeners.is_empty()
    }
}
