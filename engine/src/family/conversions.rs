//! Decides which iterators may add range tombstones to the active memtable (`min_tombstones_for_range_conversion`).
//!
//! ```text
//!  iterator, super version 5      b DEL  c DEL  d DEL
//!  ingestion of cc ─► super version 6                    the range tombstone [b, e) of the iterator would delete cc
//! ```
//! An iterator converts a run of tombstones because it has seen every key between them. After an ingestion, this is true only for
//! a super version that has the ingested files. An ingested entry can be older than the range tombstone, which then deletes
//! the entry. If the entry is newer, reads miss it too: a read that finds a range tombstone in a memtable skips the SST files.
//! An ingestion also decides from the memtables how old its entries are, so no range tombstone may appear after this decision.
//! RocksDB has the same rule (`MemTable::AddLogicallyRedundantRangeTombstone`), but not for files with the sequence number 0.

use super::Family;
use crate::sync::{Arc, Mutex};

/// The permission to convert, of one column family.
#[derive(Default)]
pub struct Conversions {
    state: Mutex<State>,
}

#[derive(Default)]
struct State {
    /// The number of ingestions that run.
    ingestions: usize,
    /// Iterators over older super versions may not convert.
    oldest: u64,
}

impl Conversions {
    /// Calls `insert` and returns its result, if an iterator over this super version may convert. Otherwise returns false. No
    /// ingestion begins during the call.
    pub fn convert(&self, super_version: u64, insert: impl FnOnce() -> bool) -> bool {
        let state = self.state.lock();
        if state.ingestions > 0 || super_version < state.oldest {
            return false;
        }
        insert()
    }
}

/// Forbids conversions in a column family during an ingestion. After the ingestion, older iterators still may not convert.
pub struct NoConversions {
    family: Arc<Family>,
}

impl NoConversions {
    /// Begins before the ingestion looks at the memtables. Waits for a conversion that runs.
    pub fn new(family: &Arc<Family>) -> NoConversions {
        family.conversions().state.lock().ingestions += 1;
        NoConversions { family: family.clone() }
    }
}

impl Drop for NoConversions {
    fn drop(&mut self) {
        let installed = self.family.pin().number;
        let mut state = self.family.conversions().state.lock();
        base::invariant!(state.ingestions > 0, "an ingestion ends that did not begin");
        state.ingestions -= 1;
        state.oldest = state.oldest.max(installed);
    }
}
