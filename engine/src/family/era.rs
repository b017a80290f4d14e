//! Eras: the super versions between two commits that change what older snapshots show.
//!
//! ```text
//!  super versions  1 ─ 2 ─ 3 │ 4 ─ 5 │ 6 ─ 7
//!  eras             first    │ second│ third      a commit with older entries, or without files of the database, ends an era
//! ```
//! An ingestion may add entries that all snapshots see, and `delete_files_in_range` removes entries from all snapshots. An iterator
//! that is parked (see [`crate::iter`]) has no super version. So the end of an era keeps the last super version of the era for the
//! iterators of the era, until the last of them leaves. A flush replaces the memtables of this super version by their SST files, so an
//! era that has ended keeps no flushed memtable.

use base::key::MAX_SEQUENCE;
use lsm::version::Edit;
use mem::budget::MemoryBudget;
use mem::memtable::{Keeper, MemTable};

use super::{FlushPick, SuperVersion};
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
    last: Option<Last>,
}

/// The last super version of an era, and the claims on its memtables.
pub(crate) type Last = (Arc<SuperVersion>, Vec<Keeper>);

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

    /// Ends the era with its last super version. Returns true if the era has readers, and so keeps the super version. Called under the
    /// lock of the column family.
    pub(crate) fn end(&self, last: &Arc<SuperVersion>) -> bool {
        let mut state = self.state.lock();
        base::invariant!(!state.has_ended, "an era ends twice");
        state.has_ended = true;
        if let Some(budget) = state.budget.clone().filter(|_| state.readers > 0) {
            state.last = Some(keep(last.clone(), &budget));
        }
        state.last.is_some()
    }

    /// Replaces memtables of the last super version by the SST files of their flush. `edit` adds these files. Returns what the era
    /// kept before; the caller drops it after it releases the lock of the column family. Returns `None` if the era keeps none of the
    /// memtables.
    pub(crate) fn replace_flushed(&self, pick: &FlushPick, edit: &Edit) -> Option<Last> {
        let mut state = self.state.lock();
        let budget = state.budget.clone()?;
        let next = after_flush(&state.last.as_ref()?.0, pick, edit)?;
        state.last.replace(keep(Arc::new(next), &budget))
    }
}

fn keep(last: Arc<SuperVersion>, budget: &Arc<MemoryBudget>) -> Last {
    let keepers = std::iter::once(&last.mem).chain(last.imm.iter()).map(|mem| mem.keep(budget)).collect();
    (last, keepers)
}

/// Returns a super version with the SST files of a flush in the place of the memtables of the flush. The flush kept all entries that
/// snapshots need. The file can have entries of newer memtables too: they are newer than the readers of the era.
fn after_flush(last: &SuperVersion, pick: &FlushPick, edit: &Edit) -> Option<SuperVersion> {
    let is_flushed =
        |mem: &Arc<MemTable>| pick.memtables.iter().any(|immutable| Arc::ptr_eq(&immutable.mem, mem));
    let imm: Arc<[Arc<MemTable>]> = last.imm.iter().filter(|mem| !is_flushed(mem)).cloned().collect();
    let is_active_flushed = is_flushed(&last.mem);
    if !is_active_flushed && imm.len() == last.imm.len() {
        return None;
    }
    let version = last.version.apply(std::slice::from_ref(edit)).ok()?;
    let mem = match is_active_flushed {
        true => MemTable::new(last.mem.options().clone(), last.mem.id(), MAX_SEQUENCE),
        false => last.mem.clone(),
    };
    Some(last.with_sources(mem, [imm, Arc::from([])], Arc::new(version)))
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
