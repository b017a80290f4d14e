//! Snapshots as a sorted list of sequence numbers. The list divides the history into stripes.
//!
//! ```text
//!      s1        s2        s3
//! ─────┴─────────┴─────────┴───────► sequence
//!  s1     s2        s3        tip      the stripe of a sequence is the smallest snapshot at or above it
//! ```
//! If a stripe has two entries of a key, no reader can see the older entry.

use base::key::{MAX_SEQUENCE, SequenceNumber};

/// The live snapshots, ascending and without duplicates.
#[derive(Clone, Debug, Default, PartialEq, Eq)]
pub struct Stripes(Vec<SequenceNumber>);

impl Stripes {
    /// Makes the list. Sorts the snapshots and removes duplicates.
    pub fn new(mut snapshots: Vec<SequenceNumber>) -> Self {
        snapshots.sort_unstable();
        snapshots.dedup();
        base::invariant!(
            snapshots.last().is_none_or(|seq| *seq <= MAX_SEQUENCE),
            "a snapshot has a sequence number of more than 56 bits"
        );
        Stripes(snapshots)
    }

    /// Returns true if there is no snapshot.
    pub fn is_empty(&self) -> bool {
        self.0.is_empty()
    }

    /// Returns the sequence numbers of the snapshots, in ascending order.
    pub fn as_slice(&self) -> &[SequenceNumber] {
        &self.0
    }

    /// Returns the oldest snapshot, or `MAX_SEQUENCE` if there is none.
    #[inline]
    pub fn earliest(&self) -> SequenceNumber {
        self.0.first().copied().unwrap_or(MAX_SEQUENCE)
    }

    /// Returns the stripe of `seq` and the snapshot before the stripe. The stripe is the oldest snapshot that
    /// sees `seq`, or `MAX_SEQUENCE` if no snapshot sees `seq`. A snapshot can have the number 0: it sees the entries of files that were
    /// ingested into an empty database. RocksDB takes the snapshot 0 for no snapshot here (`findEarliestVisibleSnapshot` of its compaction
    /// iterator), and a compaction drops what the snapshot sees.
    #[inline]
    pub fn of(&self, seq: SequenceNumber) -> (SequenceNumber, Option<SequenceNumber>) {
        base::invariant!(seq <= MAX_SEQUENCE, "the sequence number {seq} has more than 56 bits");
        let at = self.0.partition_point(|&s| s < seq);
        let before = at.checked_sub(1).map(|before| self.0[before]);
        (self.0.get(at).copied().unwrap_or(MAX_SEQUENCE), before)
    }

    /// Returns true if a snapshot sees `older` but not `newer`.
    pub fn separates(&self, older: SequenceNumber, newer: SequenceNumber) -> bool {
        base::invariant!(older <= newer, "the older sequence number {older} is larger than {newer}");
        self.of(older).0 != self.of(newer).0
    }
}
