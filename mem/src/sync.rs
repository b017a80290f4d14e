//! Atomics, locks and cells from one place: under `--cfg loom` the schedule explorer's, else the standard library's and
//! `parking_lot`'s, which cost nothing more.

pub use std::sync::atomic::Ordering;

#[cfg(not(loom))]
mod real {
    pub use std::sync::atomic::{AtomicBool, AtomicPtr, AtomicU8, AtomicU32, AtomicU64, AtomicUsize};

    pub use parking_lot::Mutex;

    /// A place that several may reach, with Loom's face: who comes to it, and whether he changes it, is told.
    #[repr(transparent)]
    pub struct Cell<T>(std::cell::UnsafeCell<T>);

    impl<T> Cell<T> {
        /// For reading. The pointer may be used for as long as nobody changes what is there.
        #[inline]
        pub fn with<R>(&self, read: impl FnOnce(*const T) -> R) -> R {
            read(self.0.get())
        }

        /// For changing. The pointer may be used within `change`, while nobody else is at the place.
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

    /// A lock that is not poisoned, as `parking_lot`'s.
    pub struct Mutex<T>(loom::sync::Mutex<T>);

    impl<T> Mutex<T> {
        pub fn new(value: T) -> Self {
            Mutex(loom::sync::Mutex::new(value))
        }

        pub fn lock(&self) -> loom::sync::MutexGuard<'_, T> {
            self.0.lock().unwrap_or_else(std::sync::PoisonError::into_inner)
        }

        pub fn get_mut(&mut self) -> &mut T {
            self.0.get_mut().unwrap_or_else(std::sync::PoisonError::into_inner)
        }
    }
}
#[cfg(loom)]
pub use explored::*;
