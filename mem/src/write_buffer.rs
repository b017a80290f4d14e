//! One budget for the memtables of many families and databases: RocksDB's `WriteBufferManager`.
//!
//! A flush is due when the memtables still being written hold more than 7/8 of the budget, or when all
//! together have reached it and those being written hold at least half (else enough is on its way to
//! disk already). With `allow_stall`, writers wait while the total is at or above the budget. With a
//! cache, what is held is charged there under [`Role::WriteBuffer`], in steps of 256 KiB; shrinking is
//! delayed until usage falls below three quarters of what is charged.

use std::sync::Arc;
use std::sync::atomic::{AtomicBool, AtomicUsize, Ordering};

use parking_lot::{Condvar, Mutex};

use crate::cache::{Ledger, Role};

#[cfg(test)]
mod tests;

const STEP: usize = 256 << 10;

/// Shared by databases; any thread.
pub struct WriteBufferManager {
    buffer_size: AtomicUsize,
    used: AtomicUsize,
    active: AtomicUsize,
    allow_stall: AtomicBool,
    /// Counts the times that stalled writers were woken.
    stalled: Mutex<u64>,
    resume: Condvar,
    cache: Option<Arc<dyn Ledger>>,
    charged: Mutex<usize>,
}

/// A stalled writer looks again after this time.
const LOOK_AGAIN: std::time::Duration = std::time::Duration::from_millis(100);

impl WriteBufferManager {
    /// `buffer_size` in bytes, 0 for no limit (then only the cache is charged).
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
        }
    }

    /// Whether there is a budget.
    pub fn enabled(&self) -> bool {
        self.buffer_size() > 0
    }

    /// Returns true if memtables are charged to a block cache too.
    pub fn charges_cache(&self) -> bool {
        self.cache.is_some()
    }

    /// Bytes.
    pub fn buffer_size(&self) -> usize {
        self.buffer_size.load(Ordering::Relaxed)
    }

    /// Wakes stalled writers if there is room now.
    pub fn set_buffer_size(&self, bytes: usize) {
        self.buffer_size.store(bytes, Ordering::Relaxed);
        self.wake_if_below();
    }

    /// Sets whether writers wait while the memtables exceed the limit.
    pub fn set_allow_stall(&self, allow: bool) {
        self.allow_stall.store(allow, Ordering::Relaxed);
        self.wake_if_below();
    }

    /// Bytes held by all memtables; 0 when there is neither budget nor cache.
    pub fn memory_usage(&self) -> usize {
        self.used.load(Ordering::Relaxed)
    }

    /// Bytes held by memtables still written to.
    pub fn mutable_usage(&self) -> usize {
        self.active.load(Ordering::Relaxed)
    }

    /// Bytes charged to the cache.
    pub fn cache_charge(&self) -> usize {
        *self.charged.lock()
    }

    /// Whether some memtable should be sealed now.
    pub fn should_flush(&self) -> bool {
        let size = self.buffer_size();
        let active = self.mutable_usage();
        size > 0
            && (active > size.saturating_mul(7) / 8 || (self.memory_usage() >= size && active >= size / 2))
    }

    /// Whether writers should wait.
    pub fn should_stall(&self) -> bool {
        self.allow_stall.load(Ordering::Relaxed)
            && self.enabled()
            && self.memory_usage() >= self.buffer_size()
    }

    /// Waits until writers may go on, or `give_up` answers true when woken, or `help` (run while no lock
    /// is held) has made room. `help` is the executor's, and false when it had nothing to do. No lock is held while either
    /// is asked: they may let go of a memtable.
    pub fn wait_while_stalled(&self, give_up: &dyn Fn() -> bool, help: &dyn Fn() -> bool) {
        loop {
            let seen = *self.stalled.lock();
            if !self.should_stall() || give_up() {
                return;
            }
            if help() {
                continue;
            }
            let mut woken = self.stalled.lock();
            if *woken == seen {
                // The limit: `give_up` may depend on the time, and `help` starts threads that the system refused.
                self.resume.wait_for(&mut woken, LOOK_AGAIN);
            }
        }
    }

    /// Wakes all stalled writers to look at `give_up` again (a database closes or fails).
    pub fn wake_all(&self) {
        *self.stalled.lock() += 1;
        self.resume.notify_all();
    }

    /// A memtable has taken `bytes` more.
    pub fn reserve(&self, bytes: usize) {
        if self.enabled() || self.cache.is_some() {
            self.used.fetch_add(bytes, Ordering::Relaxed);
        }
        if self.enabled() {
            self.active.fetch_add(bytes, Ordering::Relaxed);
        }
        self.recharge();
    }

    /// A memtable with `bytes` was sealed: no longer mutable, not yet free.
    pub fn schedule_free(&self, bytes: usize) {
        subtract(&self.active, bytes);
    }

    /// A sealed memtable with `bytes` is gone.
    pub fn free(&self, bytes: usize) {
        subtract(&self.used, bytes);
        self.recharge();
        self.wake_if_below();
    }

    fn wake_if_below(&self) {
        if !self.should_stall() {
            self.wake_all();
        }
    }

    /// Keeps the charge at usage rounded up; lets it stand until usage is below three quarters of it.
    fn recharge(&self) {
        let Some(cache) = &self.cache else { return };
        let mut charged = self.charged.lock();
        let target = self.memory_usage().next_multiple_of(STEP);
        base::invariant!(
            charged.is_multiple_of(STEP),
            "the cache is charged {charged} bytes, no multiple of {STEP}"
        );
        if target > *charged {
            // A full cache under a strict limit must not stop the memtable that is already there.
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
    // Saturating: a budget switched on while memtables lived has not counted all they hold.
    // A clamp: the memory of a memtable is not counted if the memtable is older than the limit.
    let _ = counter.fetch_update(Ordering::Relaxed, Ordering::Relaxed, |n| Some(n.saturating_sub(bytes)));
}
