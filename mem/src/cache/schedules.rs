//! Explores a shard under all schedules, and under all values that the memory model allows a load to
//! return. Lookups, which take no lock, run concurrently with every operation that changes the index.
//! `RUSTFLAGS='--cfg loom' LOOM_MAX_PREEMPTIONS=2 cargo test --release -p ironstone-mem --lib schedules`
//!
//! The explorer watches the memory of each value. If one thread reads a value while another thread moves
//! the value out, and no happens-before order connects the two, the model fails. Each model ends with a
//! closed shard, and checks that every value was dropped once.

use std::ptr::NonNull;
use std::sync::atomic::AtomicIsize;

use loom::thread;

use super::handle::Handle;
use super::shard::{Shard, Taken};
use super::*;

struct Value {
    number: u64,
    /// The explorer does not see this counter, so its changes are not steps of a schedule.
    alive: &'static AtomicIsize,
}

impl Drop for Value {
    fn drop(&mut self) {
        self.alive.fetch_sub(1, Ordering::SeqCst);
    }
}

/// A shard, as the cache holds it.
#[derive(Clone, Copy)]
struct Shared {
    shard: NonNull<Shard<Value>>,
    alive: &'static AtomicIsize,
}

// SAFETY: the shard is reached by shared reference only, as through `Cache`, which is `Send` and `Sync`.
unsafe impl Send for Shared {}

const CLOCK: Kind = Kind::HyperClock { estimated_entry_charge: 0 };
const LRU: Kind = Kind::Lru { high_pri_pool_ratio: 0.5, low_pri_pool_ratio: 0.0 };

fn key(n: u64) -> CacheKey {
    CacheKey::new(7, n * 4096)
}

impl Shared {
    fn new(kind: Kind, entries: usize) -> Shared {
        let options =
            CacheOptions { kind, metadata_charge: MetadataCharge::None, ..CacheOptions::hyper_clock(0) };
        let alive = Box::leak(Box::new(AtomicIsize::new(0)));
        Shared { shard: Shard::new(&options, entries * 100).expect("memory"), alive }
    }

    fn shard(&self) -> &Shard<Value> {
        // SAFETY: the models close a shard after every thread that reaches it was joined.
        unsafe { self.shard.as_ref() }
    }

    fn put(&self, n: u64) -> Handle<Value> {
        self.alive.fetch_add(1, Ordering::SeqCst);
        let value = Value { number: n, alive: self.alive };
        let (_, hash) = key(n).hash();
        let (entry, _) =
            self.shard().insert(&key(n), hash, value, 100, (Priority::Bottom, Role::Misc), true).unwrap();
        // SAFETY: the shard passes its reference on.
        unsafe { Handle::new(entry) }
    }

    /// Returns the number that a lookup of the key finds.
    fn look(&self, n: u64) -> Option<u64> {
        let (_, hash) = key(n).hash();
        let found = self.shard().lookup(&key(n), hash);
        // SAFETY: the shard passes its reference on.
        found.map(|entry| unsafe { Handle::new(entry) }.number)
    }

    fn erase(&self, n: u64) -> bool {
        let (_, hash) = key(n).hash();
        self.shard().erase(&key(n), hash)
    }

    fn close(self) {
        // SAFETY: each model closes its shard once, when no thread is in a call.
        unsafe { Shard::close(self.shard) };
    }

    /// Closes the shard. All remaining values must be dropped by this.
    fn ends(self) {
        self.close();
        self.all_dropped();
    }

    fn all_dropped(&self) {
        assert_eq!(self.alive.load(Ordering::SeqCst), 0, "values alive");
    }
}

#[test]
fn a_look_up_finds_the_value_or_nothing_while_it_is_erased() {
    for kind in [CLOCK, LRU] {
        loom::model(move || {
            let shared = Shared::new(kind, 10);
            drop(shared.put(1));
            let reader = thread::spawn(move || shared.look(1));
            assert!(shared.erase(1));
            assert!(matches!(reader.join().unwrap(), None | Some(1)));
            assert_eq!((shared.look(1), shared.shard().occupancy(), shared.shard().usage()), (None, 0, 0));
            shared.ends();
        });
    }
}

#[test]
fn the_last_of_two_handles_takes_an_erased_value_back() {
    for kind in [CLOCK, LRU] {
        loom::model(move || {
            let shared = Shared::new(kind, 10);
            let (one, two) = (shared.put(1), shared.put(1));
            drop(one);
            let other = two.clone();
            let holder = thread::spawn(move || {
                assert_eq!(other.number, 1);
                drop(other);
            });
            assert!(shared.erase(1));
            assert_eq!(two.number, 1);
            drop(two);
            holder.join().unwrap();
            shared.all_dropped();
            assert_eq!((shared.shard().occupancy(), shared.shard().usage()), (0, 0));
            shared.ends();
        });
    }
}

#[test]
fn a_handle_may_outlive_its_cache() {
    for kind in [CLOCK, LRU] {
        loom::model(move || {
            let shared = Shared::new(kind, 10);
            let (one, two) = (shared.put(1), shared.put(2));
            let holder = thread::spawn(move || {
                assert_eq!(one.number, 1);
                drop(one);
            });
            shared.close();
            assert_eq!(two.number, 2);
            drop(two);
            holder.join().unwrap();
            shared.all_dropped();
        });
    }
}

#[test]
fn a_look_up_of_a_key_never_meets_the_value_that_takes_its_place() {
    loom::model(|| {
        let shared = Shared::new(CLOCK, 1);
        drop(shared.put(1));
        let reader = thread::spawn(move || shared.look(1));
        drop(shared.put(2));
        assert!(matches!(reader.join().unwrap(), None | Some(1)));
        assert_eq!(shared.look(2), Some(2));
        shared.ends();
    });
}

#[test]
fn what_stays_is_found_while_the_index_is_replaced_and_its_memory_taken() {
    loom::model(|| {
        let shared = Shared::new(CLOCK, 10);
        drop(shared.put(1));
        let reader = thread::spawn(move || shared.look(1));
        drop(shared.put(2));
        assert_eq!(reader.join().unwrap(), Some(1));
        assert_eq!(shared.look(2), Some(2));
        shared.ends();
    });
}

#[test]
fn a_smaller_budget_frees_unpinned_entries_and_keeps_pinned_entries() {
    loom::model(|| {
        let shared = Shared::new(CLOCK, 10);
        drop(shared.put(1));
        let reader = thread::spawn(move || shared.look(1));
        let mut taken = Taken::new();
        shared.shard().set_limit(0, &mut taken);
        drop(taken);
        let found = reader.join().unwrap();
        assert!(matches!(found, None | Some(1)));
        // If the reader pinned the value when the hand visited it, the value is still there for the next
        // round of the hand.
        assert!(shared.look(1).is_none() || found == Some(1));
        shared.ends();
    });
}
