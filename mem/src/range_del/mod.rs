//! Range tombstones cut into fragments that do not overlap.
//!
//! A tombstone `[start, end)` at sequence number `s` hides every key in the range that is older than `s`.
//! Tombstones may overlap. For one key and one snapshot, a reader needs the newest tombstone that covers
//! the key. So all starts and ends become boundaries. Each covered range between two neighbouring
//! boundaries becomes a fragment with the list of its sequence numbers, newest first:
//!
//! ```text
//! tombstones   [a------------f)#10
//!                  [c--------------h)#20
//! fragments    [a-c)#10  [c--f)#20,10  [f-h)#20
//! ```
//! The same form serves memtables and tables. With user timestamps the keys here have no timestamp, and each
//! stamp has its timestamp beside its sequence number. Facts: RocksDB `db/range_tombstone_fragmenter.cc`.

#[cfg(test)]
mod tests;

use std::cmp::Reverse;
use std::collections::BTreeSet;
use std::fmt;
use std::ops::Range;

use base::error::{Error, Result};
use base::key::{self, InternalOrder, MAX_SEQUENCE, SequenceNumber};

/// One range tombstone: hides keys in `[start, end)` older than `seq`. Prints as `[a-f)#10`.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Tombstone {
    /// First key covered, without its timestamp.
    pub start: Vec<u8>,
    /// First key no longer covered, without its timestamp.
    pub end: Vec<u8>,
    /// The sequence number.
    pub seq: SequenceNumber,
    /// The timestamp, empty where the order has none.
    pub timestamp: Vec<u8>,
}

impl Tombstone {
    /// From the stored form: an internal key (start, sequence, kind) and the end key as value, both
    /// with `timestamp_size` bytes of timestamp.
    ///
    /// # Errors
    /// Corruption if the internal key is malformed or no range deletion, or a key lacks its timestamp.
    pub fn decode(internal_key: &[u8], end: &[u8], timestamp_size: usize) -> Result<Tombstone> {
        let parsed = key::parse(internal_key)?;
        if parsed.kind != key::ValueType::RangeDeletion {
            return Err(Error::corruption(format!("{parsed} among range tombstones")));
        }
        Self::from_stored(parsed.user_key, end, parsed.seq, timestamp_size)
            .ok_or_else(|| Error::corruption(format!("range tombstone {parsed} lacks its timestamp")))
    }

    /// From keys that carry timestamps; `None` if one is too short for that.
    pub(crate) fn from_stored(start: &[u8], end: &[u8], seq: SequenceNumber, ts: usize) -> Option<Tombstone> {
        let (start, timestamp) = start.split_at_checked(start.len().checked_sub(ts)?)?;
        let (end, _) = end.split_at_checked(end.len().checked_sub(ts)?)?;
        Some(Tombstone { start: start.to_vec(), end: end.to_vec(), seq, timestamp: timestamp.to_vec() })
    }
}

impl fmt::Display for Tombstone {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        write!(f, "[{}-{})#{}", self.start.escape_ascii(), self.end.escape_ascii(), self.seq)
    }
}

/// Tombstones in fragments; immutable.
pub struct FragmentedTombstones {
    order: InternalOrder,
    /// Boundary keys, one behind the other.
    keys: Vec<u8>,
    fragments: Vec<Cut>,
    /// Newest first within a fragment.
    seqs: Vec<SequenceNumber>,
    /// As many as `seqs`, of `timestamp_size` bytes each.
    timestamps: Vec<u8>,
    timestamp_size: usize,
    tombstone_count: usize,
}

/// A fragment as ranges in the buffers above.
struct Cut {
    start: Range<usize>,
    end: Range<usize>,
    stamps: Range<usize>,
}

/// A stretch of keys and what covers it.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct Fragment<'a> {
    /// First key covered, without timestamp.
    pub start: &'a [u8],
    /// First key no longer covered, without timestamp.
    pub end: &'a [u8],
    /// Sequence numbers, newest first; never empty.
    pub seqs: &'a [SequenceNumber],
    timestamps: &'a [u8],
    timestamp_size: usize,
}

impl<'a> Fragment<'a> {
    /// The timestamp beside `seqs[index]`; empty where the order has none, or past the end.
    pub fn timestamp(&self, index: usize) -> &'a [u8] {
        base::invariant!(
            index < self.seqs.len(),
            "a fragment of {} range tombstones has no timestamp {index}",
            self.seqs.len()
        );
        let from = index.saturating_mul(self.timestamp_size);
        self.timestamps.get(from..from.saturating_add(self.timestamp_size)).unwrap_or_default()
    }

    /// The newest sequence number that a reader at `snapshot` sees.
    #[inline]
    pub fn newest_at(&self, snapshot: SequenceNumber) -> Option<SequenceNumber> {
        base::invariant!(
            self.seqs.is_sorted_by(|newer, older| newer >= older),
            "a fragment lists an older range tombstone first"
        );
        self.seqs.get(self.seqs.partition_point(|&seq| seq > snapshot)).copied()
    }
}

impl FragmentedTombstones {
    /// Sorts and cuts; takes them in any order. Empty and inverted ranges cover nothing and are dropped,
    /// as are those whose timestamp is not of the order's size.
    pub fn new(mut tombstones: Vec<Tombstone>, order: InternalOrder) -> Self {
        let timestamp_size = order.user.timestamp_size();
        let less = |a: &[u8], b: &[u8]| compare_stripped(&order, a, b).is_lt();
        tombstones.retain(|t| less(&t.start, &t.end) && t.timestamp.len() == timestamp_size);
        tombstones.sort_by(|a, b| compare_stripped(&order, &a.start, &b.start));
        let mut out = FragmentedTombstones {
            order: order.clone(),
            keys: Vec::new(),
            fragments: Vec::new(),
            seqs: Vec::new(),
            timestamps: Vec::new(),
            timestamp_size,
            tombstone_count: tombstones.len(),
        };
        out.cut(&tombstones);
        base::invariant!(
            out.fragments.is_sorted_by(|a, b| {
                compare_stripped(&out.order, &out.keys[a.end.clone()], &out.keys[b.start.clone()]).is_le()
            }),
            "two fragments of range tombstones overlap"
        );
        base::invariant!(
            out.timestamps.len() == out.seqs.len() * out.timestamp_size,
            "{} sequence numbers of range tombstones have {} bytes of timestamps",
            out.seqs.len(),
            out.timestamps.len()
        );
        out
    }

    /// Nothing covered.
    pub fn empty(order: InternalOrder) -> Self {
        Self::new(Vec::new(), order)
    }

    /// Walks the boundaries from left to right with the set of tombstones that cover the place.
    /// `tombstones` are sorted by start.
    fn cut(&mut self, tombstones: &[Tombstone]) {
        let order = self.order.clone();
        let mut bounds: Vec<&[u8]> = tombstones.iter().flat_map(|t| [&t.start[..], &t.end[..]]).collect();
        bounds.sort_by(|a, b| compare_stripped(&order, a, b));
        bounds.dedup_by(|a, b| compare_stripped(&order, a, b).is_eq());
        let mut ends: Vec<usize> = (0..tombstones.len()).collect();
        ends.sort_by(|&a, &b| compare_stripped(&order, &tombstones[a].end, &tombstones[b].end));
        let (mut starts, mut ends) = ((0..tombstones.len()).peekable(), ends.into_iter().peekable());
        let mut covering: BTreeSet<(Reverse<SequenceNumber>, usize)> = BTreeSet::new();
        let mut key: Range<usize> = 0..0;
        for (i, &bound) in bounds.iter().enumerate() {
            while let Some(t) = ends.next_if(|&t| compare_stripped(&order, &tombstones[t].end, bound).is_le())
            {
                covering.remove(&(Reverse(tombstones[t].seq), t));
            }
            while let Some(t) =
                starts.next_if(|&t| compare_stripped(&order, &tombstones[t].start, bound).is_le())
            {
                covering.insert((Reverse(tombstones[t].seq), t));
            }
            if i == 0 {
                key = self.push_key(bound);
            }
            let Some(&end) = bounds.get(i + 1) else { break };
            let end = self.push_key(end);
            if !covering.is_empty() {
                let stamps = self.push_stamps(tombstones, &covering);
                base::invariant!(
                    compare_stripped(&order, &self.keys[key.clone()], &self.keys[end.clone()]).is_lt(),
                    "a fragment of range tombstones is empty"
                );
                base::invariant!(!stamps.is_empty(), "a fragment has no range tombstone");
                base::invariant!(
                    self.seqs[stamps.clone()].is_sorted_by(|newer, older| newer >= older),
                    "the sequence numbers of a fragment do not descend"
                );
                self.fragments.push(Cut { start: key.clone(), end: end.clone(), stamps });
            }
            key = end;
        }
    }

    fn push_key(&mut self, key: &[u8]) -> Range<usize> {
        let from = self.keys.len();
        self.keys.extend_from_slice(key);
        from..self.keys.len()
    }

    fn push_stamps(
        &mut self,
        tombstones: &[Tombstone],
        covering: &BTreeSet<(Reverse<SequenceNumber>, usize)>,
    ) -> Range<usize> {
        let from = self.seqs.len();
        for &(Reverse(seq), t) in covering {
            let timestamp = &tombstones[t].timestamp[..];
            let last = self.timestamps.len() - self.timestamp_size.min(self.timestamps.len());
            let repeated = self.seqs.len() > from
                && self.seqs.last() == Some(&seq)
                && &self.timestamps[last..] == timestamp;
            if !repeated {
                self.seqs.push(seq);
                self.timestamps.extend_from_slice(timestamp);
            }
        }
        from..self.seqs.len()
    }

    /// Returns true if there is no range tombstone.
    pub fn is_empty(&self) -> bool {
        self.fragments.is_empty()
    }

    /// How many fragments.
    pub fn len(&self) -> usize {
        self.fragments.len()
    }

    /// How many tombstones (not empty, not inverted) went in.
    pub fn tombstone_count(&self) -> usize {
        self.tombstone_count
    }

    /// Bytes of memory held.
    pub fn memory(&self) -> usize {
        self.keys.capacity()
            + self.fragments.capacity() * size_of::<Cut>()
            + self.seqs.capacity() * size_of::<SequenceNumber>()
            + self.timestamps.capacity()
    }

    /// The fragment at `index`, in key order.
    ///
    /// # Panics
    /// Past the end.
    #[inline]
    pub fn fragment(&self, index: usize) -> Fragment<'_> {
        let cut = &self.fragments[index];
        base::invariant!(
            cut.stamps.end <= self.seqs.len(),
            "fragment {index} has sequence numbers that do not exist"
        );
        let timestamps = cut.stamps.start * self.timestamp_size..cut.stamps.end * self.timestamp_size;
        Fragment {
            start: &self.keys[cut.start.clone()],
            end: &self.keys[cut.end.clone()],
            seqs: &self.seqs[cut.stamps.clone()],
            timestamps: &self.timestamps[timestamps],
            timestamp_size: self.timestamp_size,
        }
    }

    /// All fragments in key order; runs both ways.
    pub fn iter(&self) -> impl DoubleEndedIterator<Item = Fragment<'_>> + ExactSizeIterator {
        (0..self.len()).map(|i| self.fragment(i))
    }

    /// Index of the first fragment that ends after `user_key` (given without timestamp): it covers the
    /// key or lies behind it. `len()` if there is none.
    pub fn first_ending_after(&self, user_key: &[u8]) -> usize {
        self.fragments.partition_point(|cut| {
            compare_stripped(&self.order, &self.keys[cut.end.clone()], user_key).is_le()
        })
    }

    /// The fragment over `user_key` (given without timestamp).
    pub fn covering(&self, user_key: &[u8]) -> Option<Fragment<'_>> {
        let index = self.first_ending_after(user_key);
        (index < self.len())
            .then(|| self.fragment(index))
            .filter(|fragment| compare_stripped(&self.order, fragment.start, user_key).is_le())
    }

    /// The newest tombstone over `user_key` (without timestamp) that a reader at `snapshot` sees.
    /// An entry of that key is hidden if its sequence number is smaller. One binary search.
    pub fn max_covering(&self, user_key: &[u8], snapshot: SequenceNumber) -> Option<SequenceNumber> {
        if self.fragments.is_empty() {
            return None;
        }
        self.covering(user_key)?.newest_at(snapshot)
    }

    /// As [`FragmentedTombstones::max_covering`] for a reader at a timestamp: of the tombstones at or
    /// before it, the newest, with its own timestamp.
    pub fn max_covering_at(
        &self,
        user_key: &[u8],
        snapshot: SequenceNumber,
        timestamp: &[u8],
    ) -> Option<(SequenceNumber, &[u8])> {
        let fragment = self.covering(user_key)?;
        base::invariant!(
            timestamp.len() == self.timestamp_size,
            "a timestamp of {} bytes is compared with timestamps of {} bytes",
            timestamp.len(),
            self.timestamp_size
        );
        (fragment.seqs.partition_point(|&seq| seq > snapshot)..fragment.seqs.len())
            .map(|i| (fragment.seqs[i], fragment.timestamp(i)))
            .find(|(_, own)| self.order.user.compare_timestamp(own, timestamp).is_le())
    }

    /// What flush and compaction write: the fragments in order, each with its newest tombstone for every
    /// stripe between `snapshots` (ascending). With timestamps, all of them.
    pub fn for_snapshots(&self, snapshots: &[SequenceNumber]) -> impl Iterator<Item = Tombstone> {
        base::invariant!(snapshots.is_sorted(), "the snapshots are not in ascending order");
        self.iter().flat_map(move |fragment| {
            let mut limit = Some(MAX_SEQUENCE);
            (0..fragment.seqs.len()).filter_map(move |i| {
                let seq = fragment.seqs[i];
                if fragment.timestamp_size == 0 {
                    if limit.is_none_or(|limit| seq > limit) {
                        return None;
                    }
                    // Older ones matter only to readers of snapshots before this one.
                    limit = snapshots.partition_point(|&s| s < seq).checked_sub(1).map(|at| snapshots[at]);
                }
                Some(Tombstone {
                    start: fragment.start.to_vec(),
                    end: fragment.end.to_vec(),
                    seq,
                    timestamp: fragment.timestamp(i).to_vec(),
                })
            })
        })
    }
}

impl fmt::Debug for FragmentedTombstones {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        let mut list = f.debug_list();
        for fragment in self.iter() {
            let (start, end) = (fragment.start.escape_ascii(), fragment.end.escape_ascii());
            list.entry(&format_args!("[{start}-{end})#{:?}", fragment.seqs));
        }
        list.finish()
    }
}

/// Compares keys that carry no timestamp, in an order whose keys may carry one.
#[inline]
fn compare_stripped(order: &InternalOrder, a: &[u8], b: &[u8]) -> std::cmp::Ordering {
    let size = order.user.timestamp_size();
    if size == 0 {
        return order.user.compare(a, b);
    }
    let pad = |key: &[u8]| [key, &vec![0; size][..]].concat();
    order.user.compare_without_timestamp(&pad(a), &pad(b))
}
