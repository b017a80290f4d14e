//! One memory limit for the memtables of many column families and databases: RocksDB's `WriteBufferManager`.
//!
//! A flush is due in two cases. In the first case the active memtables hold more than 7/8 of the limit. In
//! the second case all memtables together have reached the limit, and the active memtables hold at least half
//! of it. If the active memtables hold less than half, flushes of the immutable memtables already free
//! enough. With `allow_stall`, writers wait while the total is at or above the limit. The memory may belong to databases that nobody
//! writes to, so a stalled writer asks the other owners of memtables to flush ([`MemtableOwner`]). RocksDB does not ask them, and the
//! writer waits for ever. With a cache, the total
//! is charged to the cache under [`Role::WriteBuffer`], in steps of 256 KiB. The charge shrinks only when the
//! total falls below three quarters of the charge.

use std::sync::atomic::{AtomicBool, AtomicUsize, Ordering};
use std::sync::{Arc, Weak};

use parking_lot::{Condvar, Mutex};

use crate::cache::{Ledger, Role};

#[cfg(test)]
mod tests;

const STEP: usize = 256 << 10;

/// A database whose memtables a manager counts.
pub trait MemtableOwner: Send + Sync {
    /// Requests the flushes that free memory, and does not wait for them. Returns true if flushes of this database can still free memory.
    /// A stalled writer of another database calls this function at least every 100 ms. The writer holds no lock.
    fn request_flush(&self) -> bool;
}

/// The memory limit for memtables. Databases may share it, and any thread may call it.
pub struct WriteBufferManager {
    buffer_size: AtomicUsize,
    used: AtomicUsize,
    active: AtomicUsize,
    allow_stall: AtomicBool,
    /// Number of times that stalled writers were woken.
    stalled: Mutex<u64>,
    resume: Condvar,
    cache: Option<Arc<dyn Ledger>>,
    charged: Mutex<usize>,
    owners: Mutex<Vec<Weak<dyn MemtableOwner>>>,
}

/// A stalled writer checks its condition again after this time, even if it is not woken.
const LOOK_AGAIN: std::time::Duration = std::time::Duration::from_millis(100);

impl WriteBufferManager {
    /// Makes a manager with a limit of `buffer_size` bytes. 0 means no limit: memtables are then only charged
    /// to the cache.
    pub fn new(buffer_size: usize, cache: Option<Arc<dyn Ledger>>, allow_stall: bool) -> WriteBufferManager {
        WriteBufferManager {
            buffer_size: AtomicUsize::new(buffer_size),
            used: AtomicUsize::new(0),
            active: AtomicUsize::new(0),
            allow_stall: AtomicBool::new(allow_stall),
            stalled: Mutex::new(0),
            resume: Condvar::new(),
            cache,
            charged: Mutex::new(0),
            owners: Mutex::new(Vec::new()),
        }
    }

    /// Adds a database whose memtables count. The manager does not keep the database alive.
    pub fn add_owner(&self, owner: Weak<dyn MemtableOwner>) {
        let mut owners = self.owners.lock();
        owners.retain(|owner| owner.strong_count() > 0);
        owners.push(owner);
    }

    /// Requests flushes of all databases except `asking`. Returns true if flushes of these databases can still free memory.
    pub fn request_flushes(&self, asking: &dyn MemtableOwner) -> bool {
        let owners: Vec<_> = self.owners.lock().iter().filter_map(Weak::upgrade).collect();
        let others = owners.iter().filter(|owner| !std::ptr::addr_eq(Arc::as_ptr(owner), asking));
        others.filter(|owner| owner.request_flush()).count() > 0
    }

    /// Returns true if there is a limit.
    pub fn enabled(&self) -> bool {
        self.buffer_size() > 0
    }

    /// Returns true if memtables are charged to a block cache too.
    pub fn charges_cache(&self) -> bool {
        self.cache.is_some()
    }

    /// Returns the limit in bytes.
    pub fn buffer_size(&self) -> usize {
        self.buffer_size.load(Ordering::Relaxed)
    }

    /// Sets the limit in bytes. Wakes stalled writers if the memtables are below the new limit.
    pub fn set_buffer_size(&self, bytes: usize) {
        self.buffer_size.store(bytes, Ordering::Relaxed);
        self.wake_if_below();
    }

    /// Sets whether writers wait while the memtables exceed the limit.
    pub fn set_allow_stall(&self, allow: bool) {
        self.allow_stall.store(allow, Ordering::Relaxed);
        self.wake_if_below();
    }

    /// Returns the bytes of all memtables, or 0 if there is neither a limit nor a cache.
    pub fn memory_usage(&self) -> usize {
        self.used.load(Ordering::Relaxed)
    }

    /// Returns the bytes of the active memtables, or 0 if there is no limit.
    pub fn mutable_usage(&self) -> usize {
        self.active.load(Ordering::Relaxed)
    }

    /// Returns the bytes that are charged to the cache.
    pub fn cache_charge(&self) -> usize {
        *self.charged.lock()
    }

    /// Returns true if some memtable should be switched and flushed now.
    pub fn should_flush(&self) -> bool {
        let size = self.buffer_size();
        let active = self.mutable_usage();
        size > 0
            && (active > size.saturating_mul(7) / 8 || (self.memory_usage() >= size && active >= size / 2))
    }

    /// Returns true if writers should wait.
    pub fn should_stall(&self) -> bool {
        self.allow_stall.load(Ordering::Relaxed)
            && self.enabled()
            && self.memory_usage() >= self.buffer_size()
    }

    /// Waits until writers may continue. The wait ends if the memtables fall below the limit, or if `ends_wait`
    /// returns true. `help` belongs to the executor: it runs background work on this thread, and returns
    /// false if there was no work. No lock is held during the calls of `ends_wait` and `help`, because both may
    /// free a memtable.
    pub fn wait_while_stalled(&self, ends_wait: &dyn Fn() -> bool, help: &dyn Fn() -> bool) {
        loop {
            let seen = *self.stalled.lock();
            if !self.should_stall() || ends_wait() {
                return;
            }
            if help() {
                continue;
            }
            let mut woken = self.stalled.lock();
            if *woken == seen {
                // The wait has a limit of time: `ends_wait` may depend on the time, and `help` retries to start
                // threads that the system refused.
                self.resume.wait_for(&mut woken, LOOK_AGAIN);
            }
        }
    }

    /// Wakes all stalled writers, so that they call `ends_wait` again. For a database that closes or fails.
    pub fn wake_all(&self) {
        *self.stalled.lock() += 1;
        self.resume.notify_all();
    }

    /// Counts `bytes` more for an active memtable.
    pub fn reserve(&self, bytes: usize) {
        if self.enabled() || self.cache.is_some() {
            self.used.fetch_add(bytes, Ordering::Relaxed);
        }
        if self.enabled() {
            self.active.fetch_add(bytes, Ordering::Relaxed);
        }
        self.recharge();
    }

    /// Counts a memtable of `bytes` as immutable. Its memory is no longer active, but is still in use.
    pub fn schedule_free(&self, bytes: usize) {
        subtract(&self.active, bytes);
    }

    /// Counts an immutable memtable of `bytes` as freed.
    pub fn free(&self, bytes: usize) {
        subtract(&self.used, bytes);
        self.recharge();
        // A write also continues above the limit if nothing can be flushed, so each end of a flush wakes it.
        if self.allow_stall.load(Ordering::Relaxed) {
            self.wake_all();
        }
    }

    fn wake_if_below(&self) {
        if !self.should_stall() {
            self.wake_all();
        }
    }

    /// Sets the charge to the usage, rounded up. Reduces the charge only if the usage is below three quarters
    /// of the charge.
    fn recharge(&self) {
        let Some(cache) = &self.cache else { return };
        let mut charged = self.charged.lock();
        let target = self.memory_usage().next_multiple_of(STEP);
        base::invariant!(
            charged.is_multiple_of(STEP),
            "the cache is charged {charged} bytes, no multiple of {STEP}"
        );
        if target > *charged {
            // The charge is forced: the memtable exists already, even if a strict cache is full.
            if cache.charge(Role::WriteBuffer, target - *charged, true).is_ok() {
                *charged = target;
            }
        } else if self.memory_usage() < *charged / 4 * 3 && target < *charged {
            cache.discharge(Role::WriteBuffer, *charged - target);
            *charged = target;
        }
    }
}

impl Drop for WriteBufferManager {
    fn drop(&mut self) {
        if let Some(cache) = &self.cache {
            cache.discharge(Role::WriteBuffer, *self.charged.get_mut());
        }
    }
}

fn subtract(counter: &AtomicUsize, bytes: usize) {
    // The subtraction saturates: the memory of a memtable is not counted if the memtable is older than the
    // limit.
    let _ = counter.fetch_update(Ordering::Relaxed, Ordering::Relaxed, |n| Some(n.saturating_sub(bytes)));
}
