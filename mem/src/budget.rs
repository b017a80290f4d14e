//! One memory budget for a database, or for several databases: what is outside of the block cache is charged to the block cache.
//!
//! ```text
//!  budget ── block cache (capacity = budget) ── blocks, filters, indexes
//!                    ├── write buffer manager: memtables
//!                    └── MemoryBudget: iterators, memtables that iterators keep, buffers of jobs
//! ```
//! Each holder charges its bytes by a [`Share`]. The charges take room from the blocks of the cache, so the sum stays near the
//! budget. Blocks that idle iterators pin cannot be evicted. So blocks and memtables that iterators keep have a limit, a quarter of
//! the budget. An iterator without room below this limit copies its entry and releases the rest.

use std::sync::Arc;
use std::sync::atomic::{AtomicUsize, Ordering};

use parking_lot::Mutex;

use crate::cache::{Ledger, Role};

#[cfg(test)]
mod tests;

/// The purposes of the memory that a budget lends.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Holder {
    /// Iterators themselves, with the entries that they copied.
    Iterators = 0,
    /// Blocks that iterators pin. The block cache charges these blocks, so the budget only limits them.
    PinnedBlocks = 1,
    /// Memtables that iterators keep. While such a memtable waits for its flush, the write buffer manager charges it too.
    KeptMemtables = 2,
    /// Buffers of flushes and compactions.
    JobBuffers = 3,
}

/// Number of holders.
const HOLDERS: usize = 4;

/// The charge to the ledger changes in steps of this size, so that small shares take no lock.
const STEP: usize = 64 << 10;

/// A memory budget. Databases may share the budget, and any thread may call it.
pub struct MemoryBudget {
    bytes: usize,
    held: [AtomicUsize; HOLDERS],
    ledger: Arc<dyn Ledger>,
    /// The bytes that the ledger is charged, a multiple of [`STEP`]. Changes under the lock of `charging`.
    charged: AtomicUsize,
    charging: Mutex<()>,
}

impl MemoryBudget {
    /// Makes a budget of `bytes`. The shares are charged to `ledger`, the block cache, under [`Role::Misc`].
    pub fn new(bytes: usize, ledger: Arc<dyn Ledger>) -> Arc<MemoryBudget> {
        Arc::new(MemoryBudget {
            bytes,
            held: Default::default(),
            ledger,
            charged: AtomicUsize::new(0),
            charging: Mutex::new(()),
        })
    }

    /// Returns the budget in bytes.
    pub fn bytes(&self) -> usize {
        self.bytes
    }

    /// Returns the bytes that a holder has.
    pub fn held(&self, holder: Holder) -> usize {
        self.held[holder as usize].load(Ordering::Relaxed)
    }

    /// Returns the largest number of bytes that idle iterators may keep in blocks and memtables: a quarter of the budget.
    pub fn kept_max(&self) -> usize {
        self.bytes / 4
    }

    /// Returns the bytes that idle iterators keep in blocks and memtables.
    pub fn kept(&self) -> usize {
        self.held(Holder::PinnedBlocks) + self.held(Holder::KeptMemtables)
    }

    /// Takes a share. The memory exists or is needed, so the call never fails.
    pub fn take(self: &Arc<Self>, holder: Holder, bytes: usize) -> Share {
        let mut share = Share { budget: self.clone(), holder, bytes: 0 };
        share.set(bytes);
        share
    }

    /// Takes a share of what iterators keep. Returns `None` if the sum would exceed `limit`.
    pub fn try_keep(self: &Arc<Self>, holder: Holder, bytes: usize, limit: usize) -> Option<Share> {
        // Concurrent callers may all see room: take the share first, then look at the sum.
        let share = self.take(holder, bytes);
        (self.kept() <= limit).then_some(share)
    }

    /// Charges the ledger with the sum of all shares, rounded up. Reduces the charge only by more than four steps.
    fn recharge(&self) {
        let target = || {
            let charged = [Holder::Iterators, Holder::KeptMemtables, Holder::JobBuffers];
            charged.iter().map(|holder| self.held(*holder)).sum::<usize>().next_multiple_of(STEP)
        };
        let fits = |target: usize| {
            let charged = self.charged.load(Ordering::Relaxed);
            target <= charged && charged - target <= 4 * STEP
        };
        if fits(target()) {
            return;
        }
        let _charging = self.charging.lock();
        let (target, charged) = (target(), self.charged.load(Ordering::Relaxed));
        if target > charged {
            let forced = self.ledger.charge(Role::Misc, target - charged, true);
            base::invariant!(forced.is_ok(), "a forced charge failed");
        } else if !fits(target) {
            self.ledger.discharge(Role::Misc, charged - target);
        } else {
            return;
        }
        self.charged.store(target, Ordering::Relaxed);
    }
}

impl Drop for MemoryBudget {
    fn drop(&mut self) {
        base::invariant!(
            self.held.iter_mut().all(|held| *held.get_mut() == 0),
            "a memory budget is dropped before its shares"
        );
        self.ledger.discharge(Role::Misc, *self.charged.get_mut());
    }
}

impl std::fmt::Debug for MemoryBudget {
    fn fmt(&self, f: &mut std::fmt::Formatter<'_>) -> std::fmt::Result {
        write!(f, "MemoryBudget({} bytes, iterators keep {})", self.bytes, self.kept())
    }
}

/// Bytes of a budget that one object has. The drop returns the bytes.
pub struct Share {
    budget: Arc<MemoryBudget>,
    holder: Holder,
    bytes: usize,
}

impl Share {
    /// Returns the bytes of the share.
    pub fn bytes(&self) -> usize {
        self.bytes
    }

    /// Changes the share to `bytes`.
    pub fn set(&mut self, bytes: usize) {
        let held = &self.budget.held[self.holder as usize];
        if bytes > self.bytes {
            held.fetch_add(bytes - self.bytes, Ordering::Relaxed);
        } else {
            held.fetch_sub(self.bytes - bytes, Ordering::Relaxed);
        }
        self.bytes = bytes;
        self.budget.recharge();
    }
}

impl Drop for Share {
    fn drop(&mut self) {
        self.set(0);
    }
}
