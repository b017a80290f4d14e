//! The charge of a memtable that iterators keep, for the memory budget.
//!
//! ```text
//!  active, immutable ── flush ends ──► flushed, with keepers ── last keeper leaves ──► freed
//!  charged by the write buffer manager  charged by the budget
//! ```
//! Until its flush ends, a memtable is needed anyway. Afterwards only readers keep it. So the budget charges the memory of a memtable
//! from the end of the flush until the last iterator releases the memtable.

use std::sync::Arc;

use parking_lot::Mutex;

use crate::budget::{Holder, MemoryBudget, Share};

/// The keepers of one memtable.
#[derive(Default)]
pub(super) struct Kept {
    state: Mutex<State>,
}

#[derive(Default)]
struct State {
    keepers: usize,
    is_flushed: bool,
    /// The budget of the keepers. `None` without keepers.
    budget: Option<Arc<MemoryBudget>>,
    /// The charge of a flushed memtable that has keepers.
    share: Option<Share>,
}

impl State {
    /// Charges the budget if the memtable is flushed and has keepers. Releases the charge without keepers.
    fn settle(&mut self, bytes: usize) {
        if self.keepers == 0 {
            (self.share, self.budget) = (None, None);
        } else if self.is_flushed && self.share.is_none() {
            self.share = self.budget.as_ref().map(|budget| budget.take(Holder::KeptMemtables, bytes));
        }
    }
}

impl Kept {
    /// Adds a keeper of a memtable of `bytes`.
    pub(super) fn add(&self, budget: &Arc<MemoryBudget>, bytes: usize) {
        let mut state = self.state.lock();
        state.keepers += 1;
        state.budget.get_or_insert_with(|| budget.clone());
        state.settle(bytes);
    }

    /// Removes a keeper.
    pub(super) fn remove(&self) {
        let mut state = self.state.lock();
        base::invariant!(state.keepers > 0, "a memtable is released twice");
        state.keepers -= 1;
        state.settle(0);
    }

    /// Records the end of the flush of a memtable of `bytes`.
    pub(super) fn set_flushed(&self, bytes: usize) {
        let mut state = self.state.lock();
        state.is_flushed = true;
        state.settle(bytes);
    }
}
