//! Models of small modules of the engine, under all schedules and all values that the memory model allows a load to
//! see: the queue of writers, snapshots beside commits, and the super versions that readers pin. Command: `RUSTFLAGS='--cfg loom' cargo test -p
//! ironstone-engine --test models`, or `.ci/loom`. Without this cfg, nothing is built here.
//!
//! The source files of the modules are compiled here again, with Loom's primitives in the place of
//! `crate::sync`. Plain counters with relaxed loads and stores (`Cell`) show the order of events: if a load
//! does not happen after a store, the load may return the older value.

#![cfg(loom)]
#![allow(dead_code, reason = "the rooms' files, of which a model uses a part")]
#![allow(clippy::disallowed_methods, clippy::disallowed_types, reason = "a test")]

extern crate self as mem;

#[path = "../../src/release_notifier.rs"]
mod release_notifier;
// rustfmt would look for the unit tests of these two files next to the copies.
#[rustfmt::skip]
#[path = "../../src/wal/gather.rs"]
mod gather;
/// The path of `gather` in the engine.
pub mod wal {
    pub(crate) use crate::gather;
}
#[rustfmt::skip]
#[path = "../../src/write/group.rs"]
mod group;
#[path = "../../src/files/obsolete.rs"]
mod obsolete;
#[path = "../../src/write/publish.rs"]
mod publish;
#[path = "../../src/sequence/mod.rs"]
mod sequence;
#[path = "../../src/write/signal.rs"]
mod signal;
#[path = "../../src/family/super_version.rs"]
mod super_version;
mod sync;

/// Memtables of one key, in the place of the crate `mem` (which Loom explores on its own).
pub mod memtable {
    use base::SequenceNumber;

    use crate::Cell;
    use crate::sync::Arc;

    /// Records which sequence numbers have an entry. The record has no memory order of its own, so the code
    /// under test must provide the order.
    pub struct MemTable {
        cells: [Cell; 3],
        /// A newer memtable has a larger id. The explorer does not see the counter.
        id: u64,
    }

    static NEXT_ID: std::sync::atomic::AtomicU64 = std::sync::atomic::AtomicU64::new(1);

    impl MemTable {
        pub fn empty() -> Arc<MemTable> {
            let id = NEXT_ID.fetch_add(1, std::sync::atomic::Ordering::Relaxed);
            Arc::new(MemTable { cells: Default::default(), id })
        }

        pub fn put(&self, seq: SequenceNumber) {
            self.cells[seq.get() as usize].set(1);
        }

        /// Returns the newest entry that a read at `seq` sees. Returns 0 if there is none.
        pub fn newest(&self, seq: SequenceNumber) -> u64 {
            (1..=seq.get()).rev().find(|at| self.cells[*at as usize].get() > 0).unwrap_or(0)
        }

        pub fn id(&self) -> u64 {
            self.id
        }

        pub fn earliest_seq(&self) -> SequenceNumber {
            SequenceNumber::FIRST
        }
    }
}

/// Memory budgets, in the place of those of the crate `mem`.
pub mod budget {
    pub struct MemoryBudget;
}

/// Stands for the era of a super version. The models have no iterators with a share of a memory budget.
pub struct Era;

/// Stands for a reader of an era.
pub struct EraReader;

impl Era {
    pub fn enter(&self, _: &sync::Arc<budget::MemoryBudget>) -> Option<EraReader> {
        None
    }
}

/// Stands for the parts of a super version: the order of keys, and a file if the super version holds one.
pub struct Parts {
    pub order: base::Order,
    pub file: Option<sync::Arc<lsm::table_file::TableFile>>,
}

mod handover;
mod snapshots;
mod super_versions;

/// A memory cell without any memory order.
#[derive(Default)]
struct Cell(sync::AtomicU64);

impl Cell {
    fn get(&self) -> u64 {
        self.0.load(sync::Ordering::Relaxed)
    }

    fn set(&self, value: u64) {
        self.0.store(value, sync::Ordering::Relaxed);
    }
}

/// Explores all schedules of a model, or only schedules with at most this many preemptions.
fn explore(preemptions_max: Option<usize>, model: impl Fn() + Sync + Send + 'static) {
    let mut explorer = loom::model::Builder::new();
    explorer.preemption_bound = explorer.preemption_bound.or(preemptions_max);
    explorer.max_branches = 100_000;
    explorer.check(model);
}
