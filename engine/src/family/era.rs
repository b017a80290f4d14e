//! Eras: the super versions between two commits that change what older snapshots show.
//!
//! ```text
//!  super versions  1 ─ 2 ─ 3 │ 4 ─ 5 │ 6 ─ 7
//!  eras             first    │ second│ third      a commit with older entries, or without files of the database, ends an era
//! ```
//! An ingestion may add entries that all snapshots see, and `delete_files_in_range` removes entries from all snapshots. An iterator
//! that is parked (see [`crate::iter`]) has no super version. So the end of an era keeps the last super version of the era for the
//! iterators of the era, until the last of them leaves.

use mem::budget::MemoryBudget;
use mem::memtable::Keeper;

use super::SuperVersion;
use crate::sync::{Arc, Mutex};

/// One era of a column family.
#[derive(Default)]
pub struct Era {
    state: Mutex<State>,
}

#[derive(Default)]
struct State {
    has_ended: bool,
    readers: usize,
    /// The budget of the readers.
    budget: Option<Arc<MemoryBudget>>,
    /// The last super version, if the era has ended and has readers. It refers to the era, so the last reader takes it out.
    last: Option<(Arc<SuperVersion>, Vec<Keeper>)>,
}

impl Era {
    /// Adds a reader. Returns `None` if the era has ended: its last super version may be gone.
    pub fn enter(self: &Arc<Self>, budget: &Arc<MemoryBudget>) -> Option<EraReader> {
        let mut state = self.state.lock();
        if state.has_ended {
            return None;
        }
        state.readers += 1;
        state.budget.get_or_insert_with(|| budget.clone());
        Some(EraReader { era: self.clone() })
    }

    /// Ends the era with its last super version. Called under the lock of the column family.
    pub(crate) fn end(&self, last: &Arc<SuperVersion>) {
        let mut state = self.state.lock();
        base::invariant!(!state.has_ended, "an era ends twice");
        state.has_ended = true;
        if let Some(budget) = state.budget.clone().filter(|_| state.readers > 0) {
            let keepers = std::iter::once(&last.mem).chain(last.imm.iter()).map(|mem| mem.keep(&budget));
            state.last = Some((last.clone(), keepers.collect()));
        }
    }
}

/// A reader of an era.
pub struct EraReader {
    era: Arc<Era>,
}

impl EraReader {
    /// Returns true if the super version belongs to the era.
    pub fn is_of(&self, super_version: &SuperVersion) -> bool {
        Arc::ptr_eq(&self.era, &super_version.era)
    }

    /// Returns the last super version of the era. `None` if the era has not ended.
    pub fn last(&self) -> Option<Arc<SuperVersion>> {
        self.era.state.lock().last.as_ref().map(|(last, _)| last.clone())
    }
}

impl Drop for EraReader {
    fn drop(&mut self) {
        let mut state = self.era.state.lock();
        base::invariant!(state.readers > 0, "a reader leaves its era twice");
        state.readers -= 1;
        let last = if state.readers == 0 { state.last.take() } else { None };
        drop(state);
        // The last owner of a super version may free memtables.
        drop(last);
    }
}
