//! Atomics, locks and cells for this crate. Under `--cfg loom` they are the types of the Loom schedule
//! explorer. Otherwise they are the types of the standard library and `parking_lot`, at no extra cost.

pub use std::sync::atomic::Ordering;

#[cfg(not(loom))]
mod real {
    pub use std::sync::atomic::{AtomicBool, AtomicPtr, AtomicU8, AtomicU32, AtomicU64, AtomicUsize};

    pub use parking_lot::Mutex;

    /// A memory location with the interface of Loom's `UnsafeCell`. Under Loom, each access reports whether
    /// it reads or changes the content.
    #[repr(transparent)]
    pub struct Cell<T>(std::cell::UnsafeCell<T>);

    impl<T> Cell<T> {
        /// Passes a pointer for reading to `read`. The pointer is valid while no thread changes the content.
        #[inline]
        pub fn with<R>(&self, read: impl FnOnce(*const T) -> R) -> R {
            read(self.0.get())
        }

        /// Passes a pointer for writing to `change`. The pointer is valid during the call, and no other
        /// thread may access the content during the call.
        #[inline]
        pub fn with_mut<R>(&self, change: impl FnOnce(*mut T) -> R) -> R {
            change(self.0.get())
        }
    }
}
#[cfg(not(loom))]
pub use real::*;

#[cfg(loom)]
mod explored {
    pub use loom::cell::UnsafeCell as Cell;
    pub use loom::sync::atomic::{AtomicBool, AtomicPtr, AtomicU8, AtomicU32, AtomicU64, AtomicUsize};

    /// A lock without poisoning, like the lock of `parking_lot`.
    pub struct Mutex<T>(loom::sync::Mutex<T>);

    impl<T> Mutex<T> {
        /// Makes an unlocked lock.
        pub fn new(value: T) -> Self {
            Mutex(loom::sync::Mutex::new(value))
        }

        /// Waits for the lock and takes the lock. A panic of an earlier holder has no effect.
        pub fn lock(&self) -> loom::sync::MutexGuard<'_, T> {
            self.0.lock().unwrap_or_else(std::sync::PoisonError::into_inner)
        }

        /// Returns the value without locking. The exclusive reference proves that no thread holds the lock.
        pub fn get_mut(&mut self) -> &mut T {
            self.0.get_mut().unwrap_or_else(std::sync::PoisonError::into_inner)
        }
    }
}
#[cfg(loom)]
pub use explored::*;
