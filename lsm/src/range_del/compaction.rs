//! The range tombstones of a compaction: which entries they drop, and which tombstones go into the outputs.
//!
//! Each tombstone is cut to the bounds of its SST file. Then all tombstones are split into fragments that
//! do not overlap. A cursor moves through the fragments along the keys of the compaction. Follows RocksDB
//! `db/range_del_aggregator.cc` and `db/compaction/compaction_outputs.cc`.

use std::cmp::Ordering;
use std::collections::BTreeMap;

use base::key::{self, InternalOrder, MAX_SEQUENCE, SequenceNumber, ValueType};
use mem::range_del::FragmentedTombstones;

use super::{before_user_key, lower_position, upper_position};
use crate::stripes::Stripes;

/// A range tombstone, cut to the bounds of its SST file.
struct Cut {
    start: Vec<u8>,
    end: Vec<u8>,
    seq: SequenceNumber,
    timestamp: Vec<u8>,
}

/// A range between two positions, and the tombstones that cover it.
struct Fragment {
    start: Vec<u8>,
    end: Vec<u8>,
    /// The sequence numbers, newest first. Each has the index in `cuts` of a tombstone with its timestamp.
    stamps: Vec<(SequenceNumber, u32)>,
}

/// All range tombstones of one subcompaction or flush.
pub struct CompactionTombstones {
    order: InternalOrder,
    stripes: Stripes,
    timestamp_size: usize,
    /// With timestamps: only tombstones below this timestamp drop entries of other timestamps.
    full_history_ts_low: Option<Vec<u8>>,
    cuts: Vec<Cut>,
    fragments: Vec<Fragment>,
    /// True if `fragments` lacks some of `cuts`.
    dirty: bool,
    /// The first fragment that ends after the last key of `should_delete`.
    at: usize,
}

/// A range tombstone of an output file, and its effect on the bounds of the file.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct OutputTombstone {
    /// The stored form of the start: an internal key (start, sequence number, RANGEDEL).
    pub key: Vec<u8>,
    /// The user key at which the range ends. The range does not contain the key.
    pub end: Vec<u8>,
    /// The sequence number of the tombstone.
    pub seq: SequenceNumber,
    /// The smallest internal key that the tombstone adds to the file, clipped to the limits of the file.
    pub smallest: Vec<u8>,
    /// The largest internal key that the tombstone adds to the file, clipped to the limits of the file.
    pub largest: Vec<u8>,
}

/// The tombstones of one output file.
#[derive(Clone, Debug, Default, PartialEq, Eq)]
pub struct OutputTombstones {
    /// The range tombstones of the output file, in order.
    pub tombstones: Vec<OutputTombstone>,
    /// Number of tombstones that were dropped because they hide no entry.
    pub dropped_obsolete: u64,
}

impl CompactionTombstones {
    /// Makes an empty set of range tombstones.
    pub fn new(order: InternalOrder, stripes: Stripes) -> Self {
        let timestamp_size = order.user.timestamp_size();
        CompactionTombstones {
            order,
            stripes,
            timestamp_size,
            full_history_ts_low: None,
            cuts: Vec::new(),
            fragments: Vec::new(),
            dirty: false,
            at: 0,
        }
    }

    /// Makes an empty set without snapshots. It covers no entry.
    pub fn none(order: InternalOrder) -> Self {
        Self::new(order, Stripes::default())
    }

    /// Sets `full_history_ts_low`. With timestamps, tombstones at or above `low` do not drop the entries that
    /// they cover.
    #[must_use]
    pub fn with_full_history_ts_low(mut self, low: Option<Vec<u8>>) -> Self {
        self.full_history_ts_low = low;
        self
    }

    /// Adds the tombstone `[start, end)@seq` (user keys without timestamp). It is valid inside `bounds`, the
    /// smallest and largest internal key of its SST file. A tombstone of a memtable has no bounds.
    pub fn add(
        &mut self,
        start: &[u8],
        end: &[u8],
        seq: SequenceNumber,
        timestamp: &[u8],
        bounds: Option<(&[u8], &[u8])>,
    ) {
        let mut from = before_user_key(start, self.timestamp_size);
        let mut to = before_user_key(end, self.timestamp_size);
        if let Some((smallest, largest)) = bounds {
            let (lower, upper) = (lower_position(smallest), upper_position(largest));
            if self.order.compare(&from, &lower).is_lt() {
                from = lower;
            }
            if self.order.compare(&to, &upper).is_gt() {
                to = upper;
            }
        }
        base::invariant!(seq <= MAX_SEQUENCE, "the sequence number {seq} has more than 56 bits");
        if self.order.compare(&from, &to).is_lt() {
            self.cuts.push(Cut { start: from, end: to, seq, timestamp: timestamp.to_vec() });
            self.dirty = true;
        }
    }

    /// Adds all range tombstones of an SST file, or of a memtable (without bounds).
    pub fn add_fragmented(&mut self, tombstones: &FragmentedTombstones, bounds: Option<(&[u8], &[u8])>) {
        for fragment in tombstones.iter() {
            base::invariant!(
                fragment.seqs.is_sorted_by(|newer, older| newer >= older),
                "a fragment lists an older range tombstone first"
            );
            for (i, &seq) in fragment.seqs.iter().enumerate() {
                self.add(fragment.start, fragment.end, seq, fragment.timestamp(i), bounds);
            }
        }
    }

    /// Returns true if there is no range tombstone.
    #[inline]
    pub fn is_empty(&self) -> bool {
        self.cuts.is_empty()
    }

    /// Returns true if a tombstone in the stripe of the entry covers the entry. Keys are usually passed in
    /// ascending order.
    #[inline]
    pub fn should_delete(&mut self, internal_key: &[u8]) -> bool {
        !self.cuts.is_empty() && self.covered(internal_key)
    }

    fn covered(&mut self, internal_key: &[u8]) -> bool {
        self.build();
        base::invariant!(
            self.at <= self.fragments.len(),
            "the search for a range tombstone begins after the last fragment"
        );
        let order = &self.order;
        if self.at > 0 && order.compare(internal_key, &self.fragments[self.at - 1].end).is_lt() {
            self.at = self.fragments.partition_point(|f| order.compare(&f.end, internal_key).is_le());
        }
        while self.fragments.get(self.at).is_some_and(|f| order.compare(&f.end, internal_key).is_le()) {
            self.at += 1;
        }
        let Some(fragment) = self.fragments.get(self.at) else { return false };
        if order.compare(internal_key, &fragment.start).is_lt() {
            return false;
        }
        let seq = key::sequence(internal_key);
        let (stripe, _) = self.stripes.of(seq);
        if self.timestamp_size > 0 {
            return self.covered_at(fragment, internal_key, stripe);
        }
        // The oldest tombstone that is newer than the entry decides.
        let newer = fragment.stamps.partition_point(|&(s, _)| s > seq);
        newer > 0 && fragment.stamps[newer - 1].0 <= stripe
    }

    /// Returns true if a tombstone of `fragment` covers an entry with a timestamp for every read that sees the entry. A
    /// read at a timestamp between the entry and the tombstone sees only the entry. So the tombstone must have the
    /// timestamp of the entry, or no read may be between the two: the tombstone is below `full_history_ts_low`.
    fn covered_at(&self, fragment: &Fragment, internal_key: &[u8], stripe: SequenceNumber) -> bool {
        base::invariant!(
            self.timestamp_size > 0,
            "the timestamp of a range tombstone is asked for, and the keys have none"
        );
        let order = &self.order.user;
        let user = key::user_key(internal_key);
        let written = &user[key::without_timestamp(user, self.timestamp_size).len()..];
        let seq = key::sequence(internal_key);
        fragment.stamps.iter().any(|&(s, owner)| {
            let deleted = &self.cuts[owner as usize].timestamp;
            let is_low = || {
                self.full_history_ts_low.as_ref().is_some_and(|l| order.compare_timestamp(deleted, l).is_lt())
            };
            s > seq
                && s <= stripe
                && match order.compare_timestamp(deleted, written) {
                    Ordering::Less => false,
                    Ordering::Equal => true,
                    Ordering::Greater => is_low(),
                }
        })
    }

    /// Splits all tombstones into fragments.
    fn build(&mut self) {
        if !std::mem::take(&mut self.dirty) {
            return;
        }
        let order = &self.order;
        // The starts and ends in order of position. Each fragment is between two of them.
        let mut events: Vec<(&[u8], bool, u32)> = Vec::with_capacity(self.cuts.len() * 2);
        for (i, cut) in self.cuts.iter().enumerate() {
            events.push((&cut.start, true, i as u32));
            events.push((&cut.end, false, i as u32));
        }
        events.sort_by(|a, b| order.compare(a.0, b.0));
        let mut fragments: Vec<Fragment> = Vec::new();
        // The tombstones that cover the current position, by sequence number and timestamp, with their number
        // and the index of one of them.
        let mut active: BTreeMap<(SequenceNumber, &[u8]), (u32, u32)> = BTreeMap::new();
        let mut i = 0;
        while i < events.len() {
            let position = events[i].0;
            while i < events.len() && order.compare(events[i].0, position).is_eq() {
                let (_, begins, owner) = events[i];
                let cut = &self.cuts[owner as usize];
                let id = (cut.seq, cut.timestamp.as_slice());
                if begins {
                    active.entry(id).or_insert((0, owner)).0 += 1;
                } else if let Some(entry) = active.get_mut(&id) {
                    entry.0 -= 1;
                    if entry.0 == 0 {
                        active.remove(&id);
                    }
                }
                i += 1;
            }
            if let (false, Some(next)) = (active.is_empty(), events.get(i)) {
                fragments.push(Fragment {
                    start: position.to_vec(),
                    end: next.0.to_vec(),
                    stamps: active.iter().rev().map(|((seq, _), (_, owner))| (*seq, *owner)).collect(),
                });
            }
        }
        base::invariant!(active.is_empty(), "a range tombstone has no end");
        base::invariant!(
            fragments.is_sorted_by(|a, b| order.compare(&a.end, &b.start).is_le()),
            "two fragments of range tombstones overlap"
        );
        base::invariant!(
            fragments.iter().all(|f| f.stamps.is_sorted_by(|a, b| a.0 >= b.0)),
            "a fragment lists an older range tombstone first"
        );
        self.fragments = fragments;
        self.at = 0;
    }

    /// Returns the stamps of a fragment that must be written. Without timestamps these are the newest of each
    /// stripe.
    fn kept<'a>(
        &'a self,
        stamps: &'a [(SequenceNumber, u32)],
    ) -> impl Iterator<Item = (SequenceNumber, u32)> + 'a {
        let mut limit = MAX_SEQUENCE;
        let mut done = false;
        stamps.iter().copied().filter(move |&(seq, _)| {
            if self.timestamp_size > 0 {
                return true;
            }
            if done || seq > limit {
                return false;
            }
            let (_, before) = self.stripes.of(seq);
            match before {
                None => done = true,
                Some(before) => limit = before,
            }
            true
        })
    }

    /// Returns the tombstones of an output file with keys from `lower` (inclusive) to `upper` (exclusive).
    /// Both are internal keys; `None` means no bound. `drop_obsolete(start, end)` returns true if no lower
    /// level can have user keys of the range. Tombstones in this range that every snapshot sees are dropped.
    pub fn for_output(
        &mut self,
        lower: Option<&[u8]>,
        upper: Option<&[u8]>,
        drop_obsolete: &mut dyn FnMut(&[u8], &[u8]) -> bool,
    ) -> OutputTombstones {
        let mut out = OutputTombstones::default();
        if let (Some(lower), Some(upper)) = (lower, upper)
            && self.order.compare(lower, upper).is_gt()
        {
            return out;
        }
        self.build();
        let order = &self.order;
        let user = &order.user;
        let end_of = |fragment: &Fragment| {
            let end = self.without_timestamp(key::user_key(&fragment.end));
            before_user_key(end, self.timestamp_size)
        };
        // The fragments are sorted and do not overlap. A compaction calls this function for each output file, so the
        // function reads only the fragments within the bounds.
        let first = self.fragments.partition_point(|fragment| {
            lower.is_some_and(|lower| order.compare(&end_of(fragment), lower).is_le())
        });
        for fragment in &self.fragments[first..] {
            let starts_after = |upper: &[u8]| {
                user.compare_without_timestamp(key::user_key(&fragment.start), key::user_key(upper)).is_gt()
            };
            if upper.is_some_and(starts_after) {
                break;
            }
            let start = self.without_timestamp(key::user_key(&fragment.start));
            let end = self.without_timestamp(key::user_key(&fragment.end));
            let end_position = before_user_key(end, self.timestamp_size);
            if user.compare(
                key::user_key(&before_user_key(start, self.timestamp_size)),
                key::user_key(&end_position),
            ) != Ordering::Less
            {
                // The range is within the entries of one user key.
                continue;
            }
            for (seq, owner) in self.kept(&fragment.stamps) {
                let timestamp = &self.cuts[owner as usize].timestamp;
                let stored = stored_start(start, timestamp, seq);
                let smallest = match lower {
                    Some(lower) => self.clipped_start(&stored, lower, (timestamp, seq)),
                    None => stored.clone(),
                };
                if upper.is_some_and(|upper| order.compare(upper, &smallest).is_lt()) {
                    continue;
                }
                let largest = match upper {
                    Some(upper) if order.compare(upper, &end_position).is_lt() => upper.to_vec(),
                    _ => end_position.clone(),
                };
                let every_snapshot_sees = seq <= self.stripes.earliest() && self.below_history(timestamp);
                if every_snapshot_sees && drop_obsolete(key::user_key(&smallest), key::user_key(&largest)) {
                    out.dropped_obsolete += 1;
                    continue;
                }
                base::invariant!(
                    order.compare(&smallest, &largest).is_le(),
                    "a range tombstone of an output file ends before its start"
                );
                let mut end = end.to_vec();
                end.extend_from_slice(timestamp);
                out.tombstones.push(OutputTombstone { key: stored, end, seq, smallest, largest });
            }
        }
        out
    }

    /// Returns the smallest internal key that a tombstone adds to an output file whose keys begin at `lower`. `stored` is the stored
    /// form of the start of the tombstone, with its timestamp and its sequence number.
    fn clipped_start(&self, stored: &[u8], lower: &[u8], at: (&[u8], SequenceNumber)) -> Vec<u8> {
        let (order, (timestamp, seq)) = (&self.order, at);
        let (start, lower_user) = (key::user_key(stored), key::user_key(lower));
        let smallest = match order.user.compare_without_timestamp(start, lower_user) {
            Ordering::Less => stored_start(self.without_timestamp(lower_user), timestamp, seq),
            _ => stored.to_vec(),
        };
        if order.compare(&smallest, lower).is_lt() { lower.to_vec() } else { smallest }
    }

    fn below_history(&self, timestamp: &[u8]) -> bool {
        self.timestamp_size == 0
            || self
                .full_history_ts_low
                .as_ref()
                .is_some_and(|low| self.order.user.compare_timestamp(timestamp, low).is_lt())
    }

    fn without_timestamp<'a>(&self, user_key: &'a [u8]) -> &'a [u8] {
        key::without_timestamp(user_key, self.timestamp_size)
    }
}

/// Returns the stored form of the start of a tombstone: an internal key. `start` has no timestamp.
fn stored_start(start: &[u8], timestamp: &[u8], seq: SequenceNumber) -> Vec<u8> {
    let trailer = key::pack(seq, ValueType::RangeDeletion as u8).to_le_bytes();
    [start, timestamp, &trailer[..]].concat()
}
