//! The names of `env::sync`, implemented by Loom. At each call another thread may run, and a load may
//! return any value that the memory model allows.

use std::ops::{Deref, DerefMut};
use std::sync::PoisonError;

pub use loom::sync::atomic::{AtomicBool, AtomicU64, AtomicUsize, Ordering, fence};
pub use std::sync::OnceLock;

/// Loom's `thread_local`, which does not accept `const`.
macro_rules! each_thread {
    ($(#[$about:meta])* static $name:ident: $type:ty = const $init:block;) => {
        loom::thread_local! { $(#[$about])* static $name: $type = $init; }
    };
}
pub(crate) use each_thread as thread_local;

/// A lock that is not poisoned.
#[derive(Default)]
pub struct Mutex<T>(loom::sync::Mutex<T>);

/// Holds the lock. `None` only during a wait.
pub struct MutexGuard<'a, T>(Option<loom::sync::MutexGuard<'a, T>>, &'a Mutex<T>);

impl<T> Mutex<T> {
    pub fn new(value: T) -> Self {
        Mutex(loom::sync::Mutex::new(value))
    }

    pub fn lock(&self) -> MutexGuard<'_, T> {
        MutexGuard(Some(self.0.lock().unwrap_or_else(PoisonError::into_inner)), self)
    }
}

impl<T> Deref for MutexGuard<'_, T> {
    type Target = T;
    fn deref(&self) -> &T {
        self.0.as_ref().expect("the guard holds its lock except during a wait")
    }
}

impl<T> DerefMut for MutexGuard<'_, T> {
    fn deref_mut(&mut self) -> &mut T {
        self.0.as_mut().expect("the guard holds its lock except during a wait")
    }
}

#[derive(Default)]
pub struct Condvar(loom::sync::Condvar);

impl Condvar {
    pub fn new() -> Self {
        Condvar(loom::sync::Condvar::new())
    }

    pub fn wait<T>(&self, guard: &mut MutexGuard<'_, T>) {
        if let Some(held) = guard.0.take() {
            guard.0 = Some(self.0.wait(held).unwrap_or_else(PoisonError::into_inner));
        }
    }

    pub fn notify_one(&self) {
        self.0.notify_one();
    }

    pub fn notify_all(&self) {
        self.0.notify_all();
    }
}

/// Releases the lock for one step of the schedule: the limit of the wait has passed then, with or without a notification.
pub fn wait_briefly<T>(_: &Condvar, guard: &mut MutexGuard<'_, T>, _limit: std::time::Duration) {
    guard.0 = None;
    loom::thread::yield_now();
    let mutex = guard.1;
    guard.0 = mutex.lock().0;
}

/// Checks once. Longer waits are a part of the schedule.
pub struct Patience;

impl Patience {
    pub fn wait(&self, done: impl Fn() -> bool) -> bool {
        done()
    }
}

/// The `Arc` of the standard library, with its memory orders: a drop releases, and the last drop acquires. A count
/// ([`Arc::strong_count`]) may see a drop late. A clone orders nothing, so a clone is no step of the schedule.
pub struct Arc<T: ?Sized> {
    count: std::sync::Arc<Count>,
    value: std::sync::Arc<T>,
}

struct Count {
    /// Loom does not see this counter.
    made: std::sync::atomic::AtomicUsize,
    gone: AtomicUsize,
}

impl<T> Arc<T> {
    pub fn new(value: T) -> Self {
        Arc::from_std(std::sync::Arc::new(value))
    }
}

impl<T: Default> Default for Arc<T> {
    fn default() -> Self {
        Arc::new(T::default())
    }
}

impl<T: ?Sized> Arc<T> {
    /// Makes an `Arc` of a pointer without other owners.
    pub fn from_std(value: std::sync::Arc<T>) -> Self {
        assert_eq!(std::sync::Arc::strong_count(&value), 1);
        let count = Count { made: 1.into(), gone: AtomicUsize::new(0) };
        Arc { count: std::sync::Arc::new(count), value }
    }

    pub fn strong_count(this: &Self) -> usize {
        this.count.made.load(Ordering::SeqCst) - this.count.gone.load(Ordering::Relaxed)
    }

    pub fn get_mut(this: &mut Self) -> Option<&mut T> {
        if std::sync::Arc::strong_count(&this.value) == 1 {
            // The last drop of another owner happened before.
            fence(Ordering::Acquire);
        }
        std::sync::Arc::get_mut(&mut this.value)
    }

    pub fn ptr_eq(a: &Self, b: &Self) -> bool {
        std::sync::Arc::ptr_eq(&a.value, &b.value)
    }

    pub fn downgrade(this: &Self) -> Weak<T> {
        Weak { count: this.count.clone(), value: std::sync::Arc::downgrade(&this.value) }
    }
}

/// The `Weak` of an [`Arc`].
pub struct Weak<T: ?Sized> {
    count: std::sync::Arc<Count>,
    value: std::sync::Weak<T>,
}

impl<T: ?Sized> Weak<T> {
    pub fn upgrade(&self) -> Option<Arc<T>> {
        let value = self.value.upgrade()?;
        self.count.made.fetch_add(1, Ordering::SeqCst);
        Some(Arc { count: self.count.clone(), value })
    }
}

impl<T: ?Sized> Clone for Arc<T> {
    fn clone(&self) -> Self {
        self.count.made.fetch_add(1, Ordering::SeqCst);
        Arc { count: self.count.clone(), value: self.value.clone() }
    }
}

impl<T: ?Sized> Deref for Arc<T> {
    type Target = T;
    fn deref(&self) -> &T {
        &self.value
    }
}

/// The drops of the fields after this function are one step. Only the last drop needs an order, because no other
/// owner is left.
impl<T: ?Sized> Drop for Arc<T> {
    fn drop(&mut self) {
        if std::thread::panicking() {
            return;
        }
        self.count.gone.fetch_add(1, Ordering::Release);
        if std::sync::Arc::strong_count(&self.value) == 1 {
            fence(Ordering::Acquire);
        }
    }
}

/// A shared pointer that is loaded and replaced as a whole, with the guarantees of `arc_swap`. A load
/// acquires the writes before the store of the pointer, and keeps the object alive. A load does not publish
/// writes of its own thread to a later swap.
pub struct ArcSwap<T> {
    at: AtomicUsize,
    values: std::sync::Mutex<Vec<Option<Arc<T>>>>,
}

impl<T> ArcSwap<T> {
    pub fn new(value: Arc<T>) -> Self {
        ArcSwap { at: AtomicUsize::new(0), values: std::sync::Mutex::new(vec![Some(value)]) }
    }

    pub fn load(&self) -> Arc<T> {
        // Loads the newest value: an older value may have been dropped.
        let at = self.at.fetch_add(0, Ordering::Acquire);
        self.values.lock().unwrap()[at].clone().expect("the newest is there")
    }

    pub fn swap(&self, value: Arc<T>) -> Arc<T> {
        let at = self.at.fetch_add(1, Ordering::AcqRel);
        let mut values = self.values.lock().unwrap();
        values.push(Some(value));
        values[at].take().expect("the newest is there")
    }
}
