//! Entries in the order they came, sorted when someone reads: for bulk loads without reads between.
//!
//! A sort is kept until the next entry comes. Reading after each write sorts each time: that is what
//! RocksDB's `vector` does too, and why it is not the default.

use std::sync::Arc;

use parking_lot::Mutex;

use crate::arena::Ref;
use crate::rep::entry::{Entries, Target};

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
    /// Adds an entry. Equal keys are not looked for.
    ///
    /// # Safety
    /// `place` must come from the `store` of the [`Entries`] that all other calls get.
    pub(crate) unsafe fn insert(&self, place: Ref) {
        base::invariant!(place != 0, "the place that means no entry is inserted");
        let mut state = self.state.lock();
        state.places.push(place);
        state.sorted = None;
    }

    /// Bytes outside the arena.
    pub(crate) fn memory(&self) -> usize {
        self.state.lock().places.capacity() * size_of::<Ref>()
    }

    /// All places in key order.
    pub(crate) fn sorted(&self, entries: &Entries) -> Arc<[Ref]> {
        let mut state = self.state.lock();
        if let Some(sorted) = &state.sorted {
            return sorted.clone();
        }
        let mut places = state.places.clone();
        places.sort_by(|&a, &b| {
            // SAFETY: places in the vector come from `store`; the lock orders it before this.
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

    /// How many of `sorted` lie before `target` (or at it, with `or_equal`).
    pub(crate) fn partition(sorted: &[Ref], entries: &Entries, target: &Target<'_>, or_equal: bool) -> usize {
        sorted.partition_point(|&place| {
            // SAFETY: `sorted` came from `Vector::sorted`, whose lock ordered the stores before this.
            let order = unsafe { entries.compare(place, target) };
            order.is_lt() || or_equal && order.is_eq()
        })
    }
}
