//! Range tombstones as fragments that do not overlap.
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
//! Memtables and tables use the same form. With user timestamps the keys here have no timestamp, and each
//! sequence number has its timestamp in a parallel list. Facts: RocksDB `db/range_tombstone_fragmenter.cc`.

#[cfg(test)]
mod tests;

use std::cmp::Reverse;
use std::collections::BTreeSet;
use std::fmt;
use std::ops::Range;

use base::error::{Error, Result};
use base::key::{self, InternalOrder, SequenceNumber};

/// One range tombstone. It hides the entries of keys in `[start, end)` that are older than `seq`. Displayed
/// as `[a-f)#10`.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Tombstone {
    /// The first covered key, without its timestamp.
    pub start: Vec<u8>,
    /// The first key after the covered range, without its timestamp.
    pub end: Vec<u8>,
    /// The sequence number.
    pub seq: SequenceNumber,
    /// The timestamp; empty if the order has no timestamps.
    pub timestamp: Vec<u8>,
}

impl Tombstone {
    /// Decodes the stored form: an internal key (start, sequence number, value type), and the end key as
    /// value. Both keys end with `timestamp_size` bytes of timestamp.
    ///
    /// # Errors
    /// Corruption if the internal key is malformed or is not a range tombstone, or if a key is shorter than
    /// its timestamp.
    pub fn decode(internal_key: &[u8], end: &[u8], timestamp_size: usize) -> Result<Tombstone> {
        let parsed = key::parse(internal_key)?;
        if parsed.value_type != key::ValueType::RangeDeletion {
            return Err(Error::corruption(format!("{parsed} among range tombstones")));
        }
        Self::from_stored(parsed.user_key, end, parsed.seq, timestamp_size)
            .ok_or_else(|| Error::corruption(format!("range tombstone {parsed} lacks its timestamp")))
    }

    /// Makes a tombstone from keys that carry timestamps. Returns `None` if a key is shorter than a
    /// timestamp.
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

/// An immutable list of range tombstones in fragments.
pub struct FragmentedTombstones {
    order: InternalOrder,
    /// The boundary keys, concatenated.
    keys: Vec<u8>,
    fragments: Vec<Cut>,
    /// The sequence numbers, newest first within a fragment.
    seqs: Vec<SequenceNumber>,
    /// The timestamps in the order of `seqs`, `timestamp_size` bytes each.
    timestamps: Vec<u8>,
    timestamp_size: usize,
    tombstone_count: usize,
    payload_bytes: u64,
}

/// A fragment, as ranges of the buffers above.
struct Cut {
    start: Range<usize>,
    end: Range<usize>,
    stamps: Range<usize>,
}

/// A range of keys and the range tombstones that cover it.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct Fragment<'a> {
    /// The first covered key, without timestamp.
    pub start: &'a [u8],
    /// The first key after the fragment, without timestamp.
    pub end: &'a [u8],
    /// The sequence numbers, newest first; never empty.
    pub seqs: &'a [SequenceNumber],
    timestamps: &'a [u8],
    timestamp_size: usize,
}

impl<'a> Fragment<'a> {
    /// Returns the timestamp of `seqs[index]`. It is empty if the order has no timestamps, or if `index` is
    /// past the end.
    pub fn timestamp(&self, index: usize) -> &'a [u8] {
        base::invariant!(
            index < self.seqs.len(),
            "a fragment of {} range tombstones has no timestamp {index}",
            self.seqs.len()
        );
        let from = index.saturating_mul(self.timestamp_size);
        self.timestamps.get(from..from.saturating_add(self.timestamp_size)).unwrap_or_default()
    }

    /// Returns the newest sequence number that is visible at `snapshot`.
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
    /// Makes fragments of range tombstones, which may be in any order. Drops tombstones with an empty or
    /// inverted range, and tombstones whose timestamp has not the size of the order.
    pub fn new(mut tombstones: Vec<Tombstone>, order: InternalOrder) -> Self {
        let timestamp_size = order.user.timestamp_size();
        let stored = |t: &Tombstone| t.start.len() + t.end.len() + 2 * t.timestamp.len() + key::TRAILER_LEN;
        let payload_bytes = tombstones.iter().map(|t| stored(t) as u64).sum();
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
            payload_bytes,
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

    /// Makes an empty list.
    pub fn empty(order: InternalOrder) -> Self {
        Self::new(Vec::new(), order)
    }

    /// Visits the boundaries from left to right with the set of range tombstones that cover the current
    /// position. `tombstones` must be sorted by start.
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

    /// Returns the number of fragments.
    pub fn len(&self) -> usize {
        self.fragments.len()
    }

    /// Returns the number of range tombstones that were fragmented. Dropped tombstones do not count.
    pub fn tombstone_count(&self) -> usize {
        self.tombstone_count
    }

    /// Returns the bytes of the internal keys and end keys of all range tombstones, also of the dropped ones.
    pub fn payload_bytes(&self) -> u64 {
        self.payload_bytes
    }

    /// Returns the bytes of memory.
    pub fn memory(&self) -> usize {
        self.keys.capacity()
            + self.fragments.capacity() * size_of::<Cut>()
            + self.seqs.capacity() * size_of::<SequenceNumber>()
            + self.timestamps.capacity()
    }

    /// Returns the fragment at `index`, in key order.
    ///
    /// # Panics
    /// If `index` is past the end.
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

    /// Returns all fragments in key order. The iterator runs in both directions.
    pub fn iter(&self) -> impl DoubleEndedIterator<Item = Fragment<'_>> + ExactSizeIterator {
        (0..self.len()).map(|i| self.fragment(i))
    }

    /// Returns the index of the first fragment that ends after `user_key` (without timestamp). This fragment
    /// covers the key or lies after it. Returns `len()` if there is none.
    pub fn first_ending_after(&self, user_key: &[u8]) -> usize {
        self.fragments.partition_point(|cut| {
            compare_stripped(&self.order, &self.keys[cut.end.clone()], user_key).is_le()
        })
    }

    /// Returns the fragment that covers `user_key` (without timestamp).
    pub fn covering(&self, user_key: &[u8]) -> Option<Fragment<'_>> {
        let index = self.first_ending_after(user_key);
        (index < self.len())
            .then(|| self.fragment(index))
            .filter(|fragment| compare_stripped(&self.order, fragment.start, user_key).is_le())
    }

    /// Returns the sequence number of the newest range tombstone over `user_key` (without timestamp) that is
    /// visible at `snapshot`. An entry of the key is hidden if its sequence number is smaller. Costs one
    /// binary search.
    pub fn max_covering(&self, user_key: &[u8], snapshot: SequenceNumber) -> Option<SequenceNumber> {
        if self.fragments.is_empty() {
            return None;
        }
        self.covering(user_key)?.newest_at(snapshot)
    }

    /// Does [`FragmentedTombstones::max_covering`] for a reader at a timestamp. Returns the newest range
    /// tombstone at or before `timestamp`, with its own timestamp.
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
