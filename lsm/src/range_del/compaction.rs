//! The tombstones of a compaction's inputs: what they drop, and what goes into the outputs.

use base::key::InternalOrder;

use crate::stripes::Stripes;

/// All range tombstones of one (sub)compaction or flush.
pub struct CompactionTombstones {
    order: InternalOrder,
    stripes: Stripes,
}

/// A tombstone to be written to an output file, and how far it stretches the file's bounds.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct OutputTombstone {
    /// The stored form: internal key (start, seq, RANGEDEL) and end user key.
    pub key: Vec<u8>,
    pub end: Vec<u8>,
    /// Candidates for the file's bounds, already clipped to the file's limits: internal keys.
    pub smallest: Vec<u8>,
    pub largest: Vec<u8>,
}

impl CompactionTombstones {
    pub fn new(order: InternalOrder, stripes: Stripes) -> Self {
        CompactionTombstones { order, stripes }
    }

    /// None: nothing is ever covered, nothing written.
    pub fn none(order: InternalOrder) -> Self {
        Self::new(order, Stripes::default())
    }

    /// Adds `[start, end)@seq` (user keys), valid inside the table's `bounds` (smallest and largest
    /// internal key); from a memtable: without bounds.
    pub fn add(&mut self, start: &[u8], end: &[u8], seq: u64, bounds: Option<(&[u8], &[u8])>) {
        let _ = (start, end, seq, bounds, &self.order, &self.stripes);
        todo!()
    }

    pub fn is_empty(&self) -> bool {
        todo!()
    }

    /// Whether a tombstone in the key's own stripe covers this version. Keys come ascending.
    pub fn should_delete(&mut self, internal_key: &[u8]) -> bool {
        let _ = internal_key;
        todo!()
    }

    /// The tombstones of an output file that holds keys from `lower` (inclusive) to `upper`
    /// (exclusive); `None` is unbounded. Both are internal keys. `drop_obsolete(start, end)` says whether
    /// nothing below can hold the range, in which case tombstones that every snapshot sees are dropped.
    pub fn for_output(
        &mut self,
        lower: Option<&[u8]>,
        upper: Option<&[u8]>,
        drop_obsolete: &mut dyn FnMut(&[u8], &[u8]) -> bool,
    ) -> Vec<OutputTombstone> {
        let _ = (lower, upper, drop_obsolete);
        todo!()
    }
}
