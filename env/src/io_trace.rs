//! A file system that reports its calls while an observer is set.
//!
//! Without an observer, a call costs one dynamic call, one load and one branch more. Files that were open before the observer was set report their calls too. Calls that
//! the observer itself makes are not reported.

use std::any::Any;
use std::cell::Cell;
use std::fmt;

use base::{Error, Result};

use crate::clock::Clock;
use crate::fs::FileSystem;
use crate::hook::{Call, Hook, Hooked, Verdict};
use crate::sync::{Arc, AtomicBool, Mutex, Ordering, thread_local};

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
    /// The file system whose calls are reported.
    inner: Arc<dyn FileSystem>,
    /// True while a trace runs. Changes only while `observer` is locked.
    is_on: AtomicBool,
    /// Held while the observer runs.
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

/// While this value lives, calls of its thread are calls of the observer.
struct Inside {
    before: bool,
}

impl Inside {
    fn new() -> Self {
        Inside { before: IN_OBSERVER.with(|inside| inside.replace(true)) }
    }
}

impl Drop for Inside {
    fn drop(&mut self) {
        IN_OBSERVER.with(|inside| inside.set(self.before));
    }
}

impl IoTracer {
    /// Returns the tracer of a file system. `None` if [`IoTracer::wrap`] did not make the file system.
    pub fn of(fs: &dyn FileSystem) -> Option<&IoTracer> {
        fs.io_tracer()?.downcast_ref()
    }

    /// Makes a file system that can report the calls of `inner`. If `inner` has a tracer, only the outer tracer gets all calls.
    pub fn wrap(inner: Arc<dyn FileSystem>, clock: Arc<dyn Clock>) -> Arc<dyn FileSystem> {
        let (is_on, observer) = (AtomicBool::new(false), Mutex::new(None));
        let tracer = IoTracer { name: inner.name(), clock, inner: inner.clone(), is_on, observer };
        Arc::new(Hooked::new(inner, Arc::new(tracer)))
    }

    /// Returns the file system below the tracer. Its calls are not reported.
    pub fn inner(&self) -> &Arc<dyn FileSystem> {
        &self.inner
    }

    /// Sets the observer. Returns false and changes nothing if there is an observer already, and in a call of an observer.
    pub fn start(&self, observer: Box<dyn Observer>) -> bool {
        if IN_OBSERVER.with(Cell::get) {
            return false;
        }
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
    /// Busy in a call of an observer. The error of the observer.
    pub fn end(&self) -> Result<()> {
        if IN_OBSERVER.with(Cell::get) {
            return Err(Error::busy("an observer of file operations cannot end itself"));
        }
        let observer = {
            let mut slot = self.observer.lock();
            self.is_on.store(false, Ordering::Release);
            slot.take()
        };
        let _inside = Inside::new();
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
        if self.is_idle() {
            return;
        }
        let ended_nanos = self.clock.now_nanos();
        let operation =
            FileOperation { call: *call, ended_nanos, nanos: ended_nanos.saturating_sub(start), error };
        let _inside = Inside::new();
        if let Some(observer) = &mut *self.observer.lock() {
            observer.operation(&operation);
        }
    }

    fn io_tracer(&self) -> Option<&dyn Any> {
        Some(self)
    }
}
