//! One set of counters for each thread.
//!
//! Each thread leases a slot. A slot has one writer at a time, so the writer adds with a load and a store. If there
//! are more than `SLOTS` threads, the other threads share the last slot and add with a locked instruction; a thread
//! that is ending does so too. A returned slot keeps its counts for its next thread, because only the sums matter.
//! The lock of the free list makes the counts visible to the next thread.

#![allow(clippy::disallowed_types, reason = "held for a push or a pop, by threads that start or end")]

use std::cell::Cell;
use std::sync::atomic::{AtomicU64, Ordering::Relaxed};
use std::sync::{Mutex, MutexGuard, OnceLock, PoisonError};

use super::histogram::{BUCKETS, Histogram, bucket};
use super::{HistogramKind, Ticker};

/// The number of threads with their own slot.
const SLOTS: usize = 64;
/// The slot that all other threads share.
const SHARED: usize = SLOTS;
const UNKNOWN: usize = usize::MAX;

thread_local! {
    static SLOT: Cell<usize> = const { Cell::new(UNKNOWN) };
    static LEASE: Cell<Option<Lease>> = const { Cell::new(None) };
}

/// The returned slots, and the number of slots that were ever leased.
static FREE: Mutex<(Vec<usize>, usize)> = Mutex::new((Vec::new(), 0));

fn free() -> MutexGuard<'static, (Vec<usize>, usize)> {
    FREE.lock().unwrap_or_else(PoisonError::into_inner)
}

/// Returns the slot when the thread ends.
struct Lease(usize);

impl Drop for Lease {
    fn drop(&mut self) {
        SLOT.set(SHARED);
        free().0.push(self.0);
    }
}

#[inline]
fn slot() -> usize {
    match SLOT.get() {
        UNKNOWN => lease(),
        slot => slot,
    }
}

#[cold]
fn lease() -> usize {
    let slot = {
        let mut free = free();
        free.0.pop().or_else(|| {
            let fresh = free.1;
            (fresh < SLOTS).then(|| {
                free.1 += 1;
                fresh
            })
        })
    };
    let Some(slot) = slot else {
        SLOT.set(SHARED);
        return SHARED;
    };
    SLOT.set(slot);
    let lease = Lease(slot);
    // If the thread is ending already, the lease is dropped here, and the thread uses the shared slot.
    let _ = LEASE.try_with(|kept| kept.set(Some(lease)));
    SLOT.get()
}

/// The counters of one slot. The alignment keeps two slots out of one cache line.
#[repr(align(128))]
struct Shard {
    tickers: [AtomicU64; Ticker::COUNT],
    histograms: [OnceLock<Box<Cells>>; HistogramKind::COUNT],
}

/// A histogram that other threads may read while its thread adds values.
struct Cells {
    buckets: [AtomicU64; BUCKETS],
    min: AtomicU64,
    max: AtomicU64,
    count: AtomicU64,
    sum: AtomicU64,
    sum_squares: AtomicU64,
}

/// The sets of all slots. A set is allocated when its thread counts for the first time.
pub(super) struct Shards([OnceLock<Box<Shard>>; SLOTS + 1]);

impl Shards {
    pub(super) fn new() -> Shards {
        Shards([const { OnceLock::new() }; SLOTS + 1])
    }

    #[inline]
    fn mine(&self) -> (&Shard, bool) {
        let slot = slot();
        (self.0[slot].get_or_init(Shard::boxed), slot == SHARED)
    }

    #[inline]
    pub(super) fn tick(&self, ticker: Ticker, count: u64) {
        let (shard, shared) = self.mine();
        bump(&shard.tickers[ticker.number()], count, shared);
    }

    #[inline]
    pub(super) fn measure(&self, kind: HistogramKind, value: u64) {
        let (shard, shared) = self.mine();
        let cells = shard.histograms[kind.number()].get_or_init(Cells::boxed);
        bump(&cells.buckets[bucket(value)], 1, shared);
        bump(&cells.count, 1, shared);
        bump(&cells.sum, value, shared);
        bump(&cells.sum_squares, value.wrapping_mul(value), shared);
        if value < cells.min.load(Relaxed) {
            cells.min.fetch_min(value, Relaxed);
        }
        if value > cells.max.load(Relaxed) {
            cells.max.fetch_max(value, Relaxed);
        }
    }

    /// Returns the sum over all slots, modulo 2^64.
    pub(super) fn ticker(&self, ticker: Ticker) -> u64 {
        let of = |shard: &Shard| shard.tickers[ticker.number()].load(Relaxed);
        self.shards().map(of).fold(0, u64::wrapping_add)
    }

    pub(super) fn histogram(&self, kind: HistogramKind) -> Histogram {
        let mut total = Histogram::new();
        for cells in self.shards().filter_map(|shard| shard.histograms[kind.number()].get()) {
            total.merge(&cells.read());
        }
        total
    }

    /// Removes the values of a histogram. Values that other threads add at the same time may be lost or stay, as in
    /// RocksDB.
    pub(super) fn clear_histogram(&self, kind: HistogramKind) {
        for cells in self.shards().filter_map(|shard| shard.histograms[kind.number()].get()) {
            cells.clear();
        }
    }

    fn shards(&self) -> impl Iterator<Item = &Shard> {
        self.0.iter().filter_map(|shard| shard.get()).map(|shard| &**shard)
    }
}

#[inline(always)]
fn bump(cell: &AtomicU64, count: u64, shared: bool) {
    if shared {
        cell.fetch_add(count, Relaxed);
    } else {
        cell.store(cell.load(Relaxed).wrapping_add(count), Relaxed);
    }
}

impl Shard {
    fn boxed() -> Box<Shard> {
        Box::new(Shard {
            tickers: [const { AtomicU64::new(0) }; Ticker::COUNT],
            histograms: [const { OnceLock::new() }; HistogramKind::COUNT],
        })
    }
}

impl Cells {
    fn boxed() -> Box<Cells> {
        Box::new(Cells {
            buckets: [const { AtomicU64::new(0) }; BUCKETS],
            min: AtomicU64::new(Histogram::EMPTY_MIN),
            max: AtomicU64::new(0),
            count: AtomicU64::new(0),
            sum: AtomicU64::new(0),
            sum_squares: AtomicU64::new(0),
        })
    }

    fn read(&self) -> Histogram {
        Histogram {
            buckets: std::array::from_fn(|i| self.buckets[i].load(Relaxed)),
            min: self.min.load(Relaxed),
            max: self.max.load(Relaxed),
            count: self.count.load(Relaxed),
            sum: self.sum.load(Relaxed),
            sum_squares: self.sum_squares.load(Relaxed),
        }
    }

    fn clear(&self) {
        for cell in self.buckets.iter().chain([&self.max, &self.count, &self.sum, &self.sum_squares]) {
            cell.store(0, Relaxed);
        }
        self.min.store(Histogram::EMPTY_MIN, Relaxed);
    }
}
