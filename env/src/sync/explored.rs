//! The primitives of this module, made from Shuttle's, with the interface of `parking_lot`: no poisoning, and a guard
//! stays borrowed during a wait.
//!
//! Time stands still under Shuttle: a wait with a timeout ends only by a notification. So Shuttle reports a deadlock
//! for a program that needs its timeouts because a notification is missing.

use std::fmt;
use std::ops::{Deref, DerefMut};
use std::sync::{Arc, PoisonError};

pub use shuttle::sync::atomic::{
    AtomicBool, AtomicI64, AtomicU8, AtomicU32, AtomicU64, AtomicUsize, Ordering, fence,
};
pub use shuttle::{thread, thread_local};

/// A mutex without poisoning.
#[derive(Default)]
pub struct Mutex<T>(shuttle::sync::Mutex<T>);

/// Holds the lock. `held` is `None` only during a wait.
pub struct MutexGuard<'a, T> {
    mutex: &'a Mutex<T>,
    held: Option<shuttle::sync::MutexGuard<'a, T>>,
}

impl<T> Mutex<T> {
    /// Makes an unlocked mutex.
    pub fn new(value: T) -> Self {
        Mutex(shuttle::sync::Mutex::new(value))
    }

    /// Waits for the lock and takes the lock. A panic of an earlier holder has no effect. Each call is a step
    /// of the schedule.
    pub fn lock(&self) -> MutexGuard<'_, T> {
        MutexGuard { mutex: self, held: Some(self.0.lock().unwrap_or_else(PoisonError::into_inner)) }
    }

    /// Returns the value and drops the mutex. No thread can hold the lock at this time.
    pub fn into_inner(self) -> T {
        self.0.into_inner().unwrap_or_else(PoisonError::into_inner)
    }

    /// Returns the value without locking. The exclusive reference proves that no thread holds the lock.
    pub fn get_mut(&mut self) -> &mut T {
        self.0.get_mut().unwrap_or_else(PoisonError::into_inner)
    }
}

impl<T> fmt::Debug for Mutex<T> {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.write_str("Mutex")
    }
}

impl<T> MutexGuard<'_, T> {
    /// Releases the lock while `f` runs.
    pub fn unlocked<U>(guard: &mut Self, f: impl FnOnce() -> U) -> U {
        guard.held = None;
        let out = f();
        guard.held = guard.mutex.lock().held;
        out
    }
}

impl<T> Deref for MutexGuard<'_, T> {
    type Target = T;
    fn deref(&self) -> &T {
        self.held.as_ref().expect("the guard holds its lock except during a wait")
    }
}

impl<T> DerefMut for MutexGuard<'_, T> {
    fn deref_mut(&mut self) -> &mut T {
        self.held.as_mut().expect("the guard holds its lock except during a wait")
    }
}

/// The result of a wait with a timeout, as in `parking_lot`.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct WaitTimeoutResult(bool);

impl WaitTimeoutResult {
    /// Returns true if the wait ended by its timeout. Under Shuttle the result is always false.
    pub fn timed_out(self) -> bool {
        self.0
    }
}

/// A condition variable for [`Mutex`]. A wait releases the lock of the guard, and takes the lock again before
/// the wait ends.
#[derive(Debug, Default)]
pub struct Condvar(shuttle::sync::Condvar);

impl Condvar {
    /// Makes a condition variable without waiters.
    pub fn new() -> Self {
        Self::default()
    }

    /// Waits for a notification. The mutex is unlocked during the wait. The caller checks its condition again
    /// after the wait.
    pub fn wait<T>(&self, guard: &mut MutexGuard<'_, T>) {
        if let Some(held) = guard.held.take() {
            guard.held = Some(self.0.wait(held).unwrap_or_else(PoisonError::into_inner));
        }
    }

    /// Waits for a notification. The timeout is ignored.
    pub fn wait_for<T>(
        &self,
        guard: &mut MutexGuard<'_, T>,
        _limit: std::time::Duration,
    ) -> WaitTimeoutResult {
        self.wait(guard);
        WaitTimeoutResult(false)
    }

    /// Waits for a notification. The timeout is ignored.
    pub fn wait_until<T>(
        &self,
        guard: &mut MutexGuard<'_, T>,
        _limit: std::time::Instant,
    ) -> WaitTimeoutResult {
        self.wait(guard);
        WaitTimeoutResult(false)
    }

    /// Wakes one waiting thread. Has no effect if no thread waits.
    pub fn notify_one(&self) {
        self.0.notify_one();
    }

    /// Wakes all waiting threads. Has no effect if no thread waits.
    pub fn notify_all(&self) {
        self.0.notify_all();
    }
}

pub use shuttle::sync::{RwLockReadGuard, RwLockWriteGuard};

/// A lock for many readers or one writer, without poisoning.
#[derive(Debug, Default)]
pub struct RwLock<T>(shuttle::sync::RwLock<T>);

impl<T> RwLock<T> {
    /// Makes an unlocked lock.
    pub fn new(value: T) -> Self {
        RwLock(shuttle::sync::RwLock::new(value))
    }

    /// Waits until no thread writes, and takes the lock for reading. A panic of an earlier writer has no
    /// effect.
    pub fn read(&self) -> RwLockReadGuard<'_, T> {
        self.0.read().unwrap_or_else(PoisonError::into_inner)
    }

    /// Waits until no other thread reads or writes, and takes the lock for writing. A panic of an earlier
    /// writer has no effect.
    pub fn write(&self) -> RwLockWriteGuard<'_, T> {
        self.0.write().unwrap_or_else(PoisonError::into_inner)
    }
}

/// A cell that is set once. A thread that comes while the cell is being filled waits under Shuttle, not in the
/// operating system.
#[derive(Debug)]
pub struct OnceLock<T> {
    filling: Mutex<()>,
    value: std::sync::OnceLock<T>,
}

impl<T> Default for OnceLock<T> {
    fn default() -> Self {
        Self::new()
    }
}

impl<T> OnceLock<T> {
    /// Makes a cell without a value.
    pub fn new() -> Self {
        OnceLock { filling: Mutex::new(()), value: std::sync::OnceLock::new() }
    }

    /// Returns the value. Returns `None` if the cell is not set, also while another thread fills the cell.
    pub fn get(&self) -> Option<&T> {
        self.value.get()
    }

    /// Sets the value of an empty cell.
    ///
    /// # Errors
    /// The given value, if the cell is already set.
    pub fn set(&self, value: T) -> Result<(), T> {
        let _filling = self.filling.lock();
        self.value.set(value)
    }

    /// Returns the value. If the cell is not set, calls `fill` and sets the cell to its result. `fill` must
    /// not fill the same cell: the call would wait for itself.
    pub fn get_or_init(&self, fill: impl FnOnce() -> T) -> &T {
        let _filling = self.filling.lock();
        if let Some(value) = self.value.get() {
            return value;
        }
        let value = fill();
        self.value.get_or_init(|| value)
    }
}

/// The result of [`ArcSwap::load`]: a reference that keeps the value.
#[derive(Debug)]
pub struct Guard<T>(T);

impl<T> Deref for Guard<T> {
    type Target = T;
    fn deref(&self) -> &T {
        &self.0
    }
}

/// A shared pointer that is read and replaced as a whole. Each call is one step of the schedule.
#[derive(Debug)]
pub struct ArcSwap<T> {
    step: AtomicBool,
    value: std::sync::Mutex<Arc<T>>,
}

impl<T> ArcSwap<T> {
    /// Makes a pointer to a shared value.
    pub fn new(value: Arc<T>) -> Self {
        ArcSwap { step: AtomicBool::new(false), value: std::sync::Mutex::new(value) }
    }

    /// Makes a pointer to a new shared value.
    pub fn from_pointee(value: T) -> Self {
        Self::new(Arc::new(value))
    }

    /// Returns the current value. Later calls of `store` do not change the returned value.
    pub fn load_full(&self) -> Arc<T> {
        self.step.load(Ordering::SeqCst);
        self.value.lock().unwrap_or_else(PoisonError::into_inner).clone()
    }

    /// Returns the current value in a guard. Under Shuttle the cost is the cost of [`ArcSwap::load_full`].
    pub fn load(&self) -> Guard<Arc<T>> {
        Guard(self.load_full())
    }

    /// Replaces the value and returns the old value.
    pub fn swap(&self, value: Arc<T>) -> Arc<T> {
        self.step.store(true, Ordering::SeqCst);
        std::mem::replace(&mut *self.value.lock().unwrap_or_else(PoisonError::into_inner), value)
    }

    /// Replaces the value and drops this pointer's reference to the old value.
    pub fn store(&self, value: Arc<T>) {
        drop(self.swap(value));
    }
}
