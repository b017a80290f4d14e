//! A file system that reports its calls while an observer is set.
//!
//! Without an observer, a call costs one load more. Files that were open before the observer was set report their calls too. Calls that
//! the observer itself makes are not reported.

use std::any::Any;
use std::cell::Cell;
use std::fmt;
use std::sync::Arc;
use std::sync::atomic::{AtomicBool, Ordering};

use base::{Error, Result};

use crate::clock::Clock;
use crate::fs::FileSystem;
use crate::hook::{Call, Hook, Hooked, Verdict};
use crate::sync::{Mutex, thread_local};

#[cfg(test)]
mod tests;

/// A call of a file system that has ended.
#[derive(Clone, Copy, Debug)]
pub struct FileOperation<'a> {
    /// The call. After a read, `bytes` is the number of bytes that were read.
    pub call: Call<'a>,
    /// The end of the call in nanoseconds of [`Clock::now_nanos`].
    pub ended_nanos: u64,
    /// The duration of the call in nanoseconds.
    pub nanos: u64,
    /// The error of the call. `None` after a success.
    pub error: Option<&'a Error>,
}

/// Receives the calls of a file system. The calls of all threads take turns.
pub trait Observer: Send {
    /// Receives a call that has ended. Runs on the thread of the call.
    fn operation(&mut self, operation: &FileOperation<'_>);

    /// Ends the observation. No call follows.
    ///
    /// # Errors
    /// The error that the observer reports to the caller of the end.
    fn end(&mut self) -> Result<()>;
}

/// Reports the calls of a file system to an observer. Any thread may use the value.
pub struct IoTracer {
    /// The name of the file system.
    name: &'static str,
    clock: Arc<dyn Clock>,
    is_on: AtomicBool,
    observer: Mutex<Option<Box<dyn Observer>>>,
}

impl fmt::Debug for IoTracer {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.debug_struct("IoTracer").field("is_on", &self.is_on).finish_non_exhaustive()
    }
}

thread_local! {
    /// The start of the call that runs in this thread, in nanoseconds.
    static START: Cell<Option<u64>> = const { Cell::new(None) };
    /// Set while the observer runs in this thread.
    static IN_OBSERVER: Cell<bool> = const { Cell::new(false) };
}

impl IoTracer {
    /// Returns the tracer of a file system. `None` if [`IoTracer::wrap`] did not make the file system.
    pub fn of(fs: &dyn FileSystem) -> Option<&IoTracer> {
        fs.io_tracer()?.downcast_ref()
    }

    /// Makes a file system that can report the calls of `inner`.
    pub fn wrap(inner: Arc<dyn FileSystem>, clock: Arc<dyn Clock>) -> Arc<dyn FileSystem> {
        let (is_on, observer) = (AtomicBool::new(false), Mutex::new(None));
        let tracer = IoTracer { name: inner.name(), clock, is_on, observer };
        Arc::new(Hooked::new(inner, Arc::new(tracer)))
    }

    /// Sets the observer. Returns false and changes nothing if there is an observer already.
    pub fn start(&self, observer: Box<dyn Observer>) -> bool {
        let mut slot = self.observer.lock();
        if slot.is_some() {
            return false;
        }
        *slot = Some(observer);
        self.is_on.store(true, Ordering::Release);
        true
    }

    /// Returns true if there is an observer.
    pub fn is_on(&self) -> bool {
        self.is_on.load(Ordering::Acquire)
    }

    /// Ends and removes the observer. Does nothing without an observer.
    ///
    /// # Errors
    /// The error of the observer.
    pub fn end(&self) -> Result<()> {
        self.is_on.store(false, Ordering::Release);
        let observer = self.observer.lock().take();
        observer.map_or(Ok(()), |mut observer| observer.end())
    }
}

impl Hook for IoTracer {
    fn name(&self) -> &'static str {
        self.name
    }

    #[inline]
    fn is_idle(&self) -> bool {
        !self.is_on.load(Ordering::Relaxed)
    }

    fn before(&self, _call: &Call<'_>) -> Verdict {
        if !self.is_idle() && !IN_OBSERVER.with(Cell::get) {
            START.with(|start| start.set(Some(self.clock.now_nanos())));
        }
        Verdict::Go
    }

    fn after(&self, call: &Call<'_>, error: Option<&Error>) {
        // A call that began before the observer was set has no start.
        let Some(start) = START.with(Cell::take) else { return };
        let ended_nanos = self.clock.now_nanos();
        let operation =
            FileOperation { call: *call, ended_nanos, nanos: ended_nanos.saturating_sub(start), error };
        IN_OBSERVER.with(|inside| inside.set(true));
        if let Some(observer) = &mut *self.observer.lock() {
            observer.operation(&operation);
        }
        IN_OBSERVER.with(|inside| inside.set(false));
    }

    fn io_tracer(&self) -> Option<&dyn Any> {
        Some(self)
    }
}
