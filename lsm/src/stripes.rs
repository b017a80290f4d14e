//! Snapshots as a sorted list of sequence numbers, and the stripes they cut history into.
//!
//! ```text
//!      s1        s2        s3
//! ─────┴─────────┴─────────┴───────► sequence
//!  s1     s2        s3        tip      the stripe of a sequence is the smallest snapshot at or above it
//! ```
//! Of two versions of a key in one stripe no reader can see the older.

use base::key::{MAX_SEQUENCE, SequenceNumber};

/// Live snapshots, ascending and distinct.
#[derive(Clone, Debug, Default, PartialEq, Eq)]
pub struct Stripes(Vec<SequenceNumber>);

impl Stripes {
    /// From any list; sorts and removes doubles.
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

    /// The oldest snapshot; `MAX_SEQUENCE` when there is none.
    #[inline]
    pub fn earliest(&self) -> SequenceNumber {
        self.0.first().copied().unwrap_or(MAX_SEQUENCE)
    }

    /// The stripe of `seq`: the oldest snapshot that sees it (`MAX_SEQUENCE`: only the tip), and the
    /// snapshot before that one (0 when there is none).
    #[inline]
    pub fn of(&self, seq: SequenceNumber) -> (SequenceNumber, SequenceNumber) {
        base::invariant!(seq <= MAX_SEQUENCE, "the sequence number {seq} has more than 56 bits");
        let at = self.0.partition_point(|&s| s < seq);
        let before = if at == 0 { 0 } else { self.0[at - 1] };
        (self.0.get(at).copied().unwrap_or(MAX_SEQUENCE), before)
    }

    /// Whether a snapshot separates the two: someone sees `older` who does not see `newer`.
    pub fn separates(&self, older: SequenceNumber, newer: SequenceNumber) -> bool {
        base::invariant!(older <= newer, "the older sequence number {older} is larger than {newer}");
        self.of(older).0 != self.of(newer).0
    }
}
