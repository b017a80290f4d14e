//! Typed events. A module emits one value. The line of the info log and the listener call are views of this
//! value.
//!
//! The lines are RocksDB's `EVENT_LOG_v1` objects, key for key, because programs parse them. Free text
//! goes through [`Events::info`] and [`Events::warn`]. Listeners are the user's code: a panic in one is
//! caught and logged, and never reaches the job that emitted the event.

mod json;
mod show;

mod types;

pub use json::Line;
pub use types::*;

use std::fmt;
use std::panic::{AssertUnwindSafe, catch_unwind};

use env::logger::LogLevel;
use env::{Clock, Logger};

use crate::sync::Arc;

/// Hears what happens in a database. Called on the thread that did it, holding no lock of the engine;
/// a slow listener slows that job. Must not wait for background work of the same database.
pub trait Listener: Send + Sync {
    fn on_event(&self, event: &Event);
}

/// Where events go: the LOG, and the listeners.
pub struct Events {
    logger: Arc<dyn Logger>,
    clock: Arc<dyn Clock>,
    listeners: Vec<Arc<dyn Listener>>,
}

impl Events {
    pub fn new(
        logger: Arc<dyn Logger>,
        clock: Arc<dyn Clock>,
        listeners: Vec<Arc<dyn Listener>>,
    ) -> Arc<Self> {
        Arc::new(Events { logger, clock, listeners })
    }

    /// Writes the event's line, if it has one, and tells the listeners.
    pub fn emit(&self, event: &Event) {
        if self.logger.is_heard()
            && let Some(line) = show::line(event, self.clock.now_micros())
        {
            self.logger.log(LogLevel::Info, format_args!("EVENT_LOG_v1 {line}"));
        }
        for listener in &self.listeners {
            if catch_unwind(AssertUnwindSafe(|| listener.on_event(event))).is_err() {
                self.warn(format_args!("An event listener panicked; the event was {}", event.name()));
            }
        }
    }

    pub fn info(&self, message: fmt::Arguments<'_>) {
        self.logger.log(LogLevel::Info, message);
    }

    pub fn warn(&self, message: fmt::Arguments<'_>) {
        self.logger.log(LogLevel::Warn, message);
    }

    pub fn error(&self, message: fmt::Arguments<'_>) {
        self.logger.log(LogLevel::Error, message);
    }

    /// A line that is repeated at the head of each new LOG file.
    pub fn header(&self, message: fmt::Arguments<'_>) {
        self.logger.log(LogLevel::Header, message);
    }

    /// Many such lines, put together only if somebody hears them.
    pub fn headers(&self, lines: impl FnOnce() -> Vec<String>) {
        if self.logger.is_heard() {
            lines().iter().for_each(|line| self.header(format_args!("{line}")));
        }
    }

    pub fn logger(&self) -> &Arc<dyn Logger> {
        &self.logger
    }

    pub fn has_listeners(&self) -> bool {
        !self.listeners.is_empty()
    }
}
