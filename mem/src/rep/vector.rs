//! Entries in insertion order, sorted when they are read. For bulk loads without reads in between.
//!
//! The sorted list is cached until the next insertion. A read after each write sorts each time. RocksDB's
//! `vector` does the same, and for this reason it is not the default.

use std::sync::Arc;

use parking_lot::Mutex;

use crate::arena::Ref;
use crate::rep::entry::{Bound, Entries, Target};

#[derive(Default)]
pub(crate) struct Vector {
    state: Mutex<State>,
}

#[derive(Default)]
struct State {
    places: Vec<Ref>,
    sorted: Option<Arc<[Ref]>>,
}

impl Vector {
    /// Adds an entry. Does not check for equal keys.
    ///
    /// # Safety
    /// `place` must come from the `store` of the [`Entries`] that is passed to all other calls.
    pub(crate) unsafe fn insert(&self, place: Ref) {
        base::invariant!(place != 0, "the place that means no entry is inserted");
        let mut state = self.state.lock();
        state.places.push(place);
        state.sorted = None;
    }

    /// Returns the bytes of memory outside of the arena.
    pub(crate) fn memory(&self) -> usize {
        self.state.lock().places.capacity() * size_of::<Ref>()
    }

    /// Returns all places in key order.
    pub(crate) fn sorted(&self, entries: &Entries) -> Arc<[Ref]> {
        let mut state = self.state.lock();
        if let Some(sorted) = &state.sorted {
            return sorted.clone();
        }
        let mut places = state.places.clone();
        places.sort_by(|&a, &b| {
            // SAFETY: the places in the vector come from `store`. The lock orders the store before this call.
            unsafe {
                let target = entries.target_of(b);
                entries.compare(a, &target)
            }
        });
        let sorted: Arc<[Ref]> = places.into();
        base::invariant!(
            sorted.len() == state.places.len(),
            "{} of {} entries are sorted",
            sorted.len(),
            state.places.len()
        );
        state.sorted = Some(sorted.clone());
        sorted
    }

    /// Returns how many of `sorted` lie before the position of `bound`.
    pub(crate) fn partition(sorted: &[Ref], entries: &Entries, target: &Target<'_>, bound: Bound) -> usize {
        sorted.partition_point(|&place| {
            // SAFETY: `sorted` comes from `Vector::sorted`, whose lock ordered the stores before this call.
            let order = unsafe { entries.compare(place, target) };
            bound.is_past(order)
        })
    }
}
