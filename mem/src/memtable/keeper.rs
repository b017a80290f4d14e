//! Iterators that keep a memtable: see [`super::kept`].

use std::sync::Arc;

use super::MemTable;
use crate::budget::MemoryBudget;

/// The claim of an iterator on a memtable. The drop ends the claim.
pub struct Keeper {
    mem: Arc<MemTable>,
}

impl Drop for Keeper {
    fn drop(&mut self) {
        self.mem.kept.remove();
    }
}

impl MemTable {
    /// Counts an iterator that keeps the memtable. While there are such iterators, the budget charges the memory of the memtable,
    /// if the memtable is flushed.
    pub fn keep(self: &Arc<Self>, budget: &Arc<MemoryBudget>) -> Keeper {
        self.kept.add(budget, self.memory_used());
        Keeper { mem: self.clone() }
    }

    /// Records that an SST file has the entries of the memtable. Only readers need the memtable now.
    pub fn set_flushed(&self) {
        self.kept.set_flushed(self.memory_used());
    }
}
