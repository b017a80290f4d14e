//! One memory budget for a database, or for several databases: what is outside of the block cache is charged to the block cache.
//!
//! ```text
//!  budget ── block cache (13/16 of the budget) ── blocks, filters, indexes
//!                    ├── write buffer manager: memtables
//!                    └── MemoryBudget: iterators, memtables that iterators keep, buffers of jobs and WAL
//! ```
//! Each holder charges its bytes by a [`Share`]. The charges take room from the blocks of the cache, so the sum stays near the
//! budget. Blocks that idle iterators pin cannot be evicted. So blocks and memtables that iterators keep have a limit, a quarter of
//! the budget. An iterator without room below this limit copies its entry and releases the rest.

use std::sync::Arc;
use std::sync::atomic::{AtomicU64, AtomicUsize, Ordering};

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
    /// Flushed memtables that iterators keep. Before the end of its flush, the write buffer manager charges a memtable.
    KeptMemtables = 2,
    /// Buffers of flushes and compactions.
    JobBuffers = 3,
    /// The buffer of the active WAL.
    WalBuffer = 4,
}

/// Number of holders.
const HOLDERS: usize = 5;

/// The charge to the ledger changes in steps of this size, so that small shares take no lock.
const STEP: usize = 64 << 10;

/// The largest budget for which the allocator must return free memory and has few arenas. The call that returns memory takes 1 ms for 60 MiB, and threads that allocate wait.
const RETURNED_MAX: usize = 1 << 30;

/// One arena of the allocator for this many bytes of the budget. An arena keeps about a seventh of this free.
const ARENA_BYTES: usize = 64 << 20;

/// A memory budget. Databases may share the budget, and any thread may call it.
pub struct MemoryBudget {
    bytes: usize,
    held: [AtomicUsize; HOLDERS],
    ledger: Arc<dyn Ledger>,
    /// The bytes that the ledger is charged, a multiple of [`STEP`]. Changes under the lock of `charging`.
    charged: AtomicUsize,
    charging: Mutex<()>,
    /// The quarter of a second in which free memory was last returned to the system.
    returned_at: AtomicU64,
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
            returned_at: AtomicU64::new(0),
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

    /// Returns true if the allocator must return its free memory to the system now: at most four times in a second, for a budget of at
    /// most 1 GiB. `now` is the time in microseconds.
    pub fn must_return_free_memory(&self, now: u64) -> bool {
        let quarter = now / 250_000;
        self.bytes <= RETURNED_MAX && self.returned_at.swap(quarter, Ordering::Relaxed) != quarter
    }

    /// Returns the number of arenas that the allocator may have with this budget: one for each 64 MiB. `None`: a budget of more than 1
    /// GiB sets no limit.
    pub fn arenas_max(&self) -> Option<usize> {
        (self.bytes <= RETURNED_MAX).then(|| (self.bytes / ARENA_BYTES).max(1))
    }

    /// Takes a share. The memory exists or is needed, so the call never fails.
    pub fn take(self: &Arc<Self>, holder: Holder, bytes: usize) -> Share {
        let mut share = Share { budget: self.clone(), holder, bytes: 0 };
        share.set(bytes);
        share
    }

    /// Returns true if an iterator may keep the blocks and memtables of which it has taken the shares. Concurrent callers may all see
    /// room, so an iterator takes its shares first.
    ///
    /// Seeks leave the last quarter of the room to steps. Idle iterators may keep so many memtables that the limit is exceeded. An
    /// iterator that steps in the newest super version still has room: it keeps no flushed memtable, and its blocks are few.
    pub fn has_room(&self, steps: bool, is_newest: impl FnOnce() -> bool) -> bool {
        let most = self.kept_max();
        let limit = if steps { most } else { most / 4 * 3 };
        self.kept() <= limit || (steps && self.held(Holder::PinnedBlocks) <= most / 4 && is_newest())
    }

    /// Charges the ledger with the sum of all shares, rounded up. Reduces the charge only by more than four steps.
    ///
    /// A share that grows during a reduction may see the charge from before, and then charges nothing. So the thread that changes the
    /// charge compares it with the sum again. The shares and the charge are read and written in one order of all threads (`SeqCst`):
    /// one of the two threads sees the change of the other.
    fn recharge(&self) {
        let target = || {
            let charged = [Holder::Iterators, Holder::KeptMemtables, Holder::JobBuffers, Holder::WalBuffer];
            let held = |holder: &Holder| self.held[*holder as usize].load(Ordering::SeqCst);
            charged.iter().map(held).sum::<usize>().next_multiple_of(STEP)
        };
        let fits = |target: usize| {
            let charged = self.charged.load(Ordering::SeqCst);
            target <= charged && charged - target <= 4 * STEP
        };
        if fits(target()) {
            return;
        }
        let _charging = self.charging.lock();
        loop {
            let (target, charged) = (target(), self.charged.load(Ordering::SeqCst));
            if target > charged {
                let forced = self.ledger.charge(Role::Misc, target - charged, true);
                base::invariant!(forced.is_ok(), "a forced charge failed");
            } else if !fits(target) {
                self.ledger.discharge(Role::Misc, charged - target);
            } else {
                return;
            }
            self.charged.store(target, Ordering::SeqCst);
        }
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
            held.fetch_add(bytes - self.bytes, Ordering::SeqCst);
        } else {
            held.fetch_sub(self.bytes - bytes, Ordering::SeqCst);
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
