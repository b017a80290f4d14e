//! Range tombstones cut into fragments that do not overlap.
//!
//! A tombstone `[start, end)` at sequence `s` hides every key in it that is older than `s`. Tombstones
//! overlap as they please; a reader wants to know, for one key and one snapshot, the newest that covers
//! it. So all starts and ends become boundaries, and each stretch between two neighbours that anything
//! covers becomes a fragment with the list of its sequence numbers, newest first:
//!
//! ```text
//! tombstones   [a------------f)#10
//!                  [c--------------h)#20
//! fragments    [a-c)#10  [c--f)#20,10  [f-h)#20
//! ```
//! The same form serves memtables and tables. With user timestamps the keys here are bare and each
//! stamp carries its timestamp beside its sequence number. Facts: RocksDB `db/range_tombstone_fragmenter.cc`.

use base::key::{InternalOrder, SequenceNumber};

/// One range tombstone: hides keys in `[start, end)` older than `seq`.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Tombstone {
    /// First key covered, without its timestamp.
    pub start: Vec<u8>,
    /// First key no longer covered, without its timestamp.
    pub end: Vec<u8>,
    pub seq: SequenceNumber,
    /// The timestamp, empty where the order has none.
    pub timestamp: Vec<u8>,
}

/// Tombstones in fragments; immutable.
#[derive(Debug)]
pub struct FragmentedTombstones {
    order: InternalOrder,
}

/// A stretch of keys and what covers it.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct Fragment<'a> {
    pub start: &'a [u8],
    pub end: &'a [u8],
    /// Sequence numbers, newest first; never empty.
    pub seqs: &'a [SequenceNumber],
}

impl FragmentedTombstones {
    /// Sorts and cuts; takes them in any order. Empty and inverted ranges cover nothing and are dropped.
    pub fn new(_tombstones: Vec<Tombstone>, order: InternalOrder) -> Self {
        FragmentedTombstones { order }
    }

    /// Nothing covered.
    pub fn empty(order: InternalOrder) -> Self {
        Self::new(Vec::new(), order)
    }

    pub fn is_empty(&self) -> bool {
        self.len() == 0
    }

    /// How many fragments.
    pub fn len(&self) -> usize {
        todo!()
    }

    /// How many tombstones (not empty, not inverted) went in.
    pub fn tombstone_count(&self) -> usize {
        todo!()
    }

    /// The fragment at `index`, in key order. Panics past the end.
    pub fn fragment(&self, _index: usize) -> Fragment<'_> {
        todo!()
    }

    /// All fragments in key order; runs both ways.
    pub fn iter(&self) -> impl DoubleEndedIterator<Item = Fragment<'_>> + ExactSizeIterator {
        (0..self.len()).map(|i| self.fragment(i))
    }

    /// Index of the first fragment that ends after `user_key` (given without timestamp): it covers the
    /// key or lies behind it. `len()` if there is none.
    pub fn first_ending_after(&self, _user_key: &[u8]) -> usize {
        todo!()
    }

    /// The newest tombstone over `user_key` (without timestamp) that a reader at `snapshot` sees.
    /// An entry of that key is hidden if its sequence number is smaller.
    pub fn max_covering(&self, _user_key: &[u8], _snapshot: SequenceNumber) -> Option<SequenceNumber> {
        let _ = &self.order;
        todo!()
    }
}
