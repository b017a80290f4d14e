//! Key ranges of one column family in which readers see no key. Scans find these ranges.
//!
//! ```text
//!  entries   a#9,SET   b#5,DEL b#1,SET  c#6,DEL c#2,SET  d#7,DEL   e#3,SET        scan at #12:  (b, e) is empty
//! ```
//! A range `(start, end)`, without its ends, means: a reader at sequence number `seq` or later, on super version
//! `super_version` or later, sees no key in the range. The range is about keys and not about files, so it stays
//! valid through memtable switches, flushes and compactions. Three events can make it wrong, and each of them ends
//! it:
//!
//! - A write adds a live entry. The writer inserts the entry, then shortens the ranges, then the entry becomes visible.
//! - A change of the SST files that is no flush and no compaction (ingestion, import, deleted files) clears all ranges.
//!   So does a flush or a compaction whose compaction filter skipped a key range: it drops tombstones there.
//! - A scan passes a position while a writer inserts there. So a scan registers a *watch* first, and writers shorten watches
//!   like ranges. A writer inserts, fences and looks for watches; a scan registers, fences and reads. One of them sees the
//!   other.
//!
//! Nothing is stored on disk. The decision and its alternatives: `docs/decisions/0011-empty-ranges.md`.

use base::iter::Direction;
use base::{Order, SequenceNumber};

use crate::sync::{AtomicU64, AtomicUsize, Mutex, Ordering, fence};

/// The number of hidden entries that a scan must find after its watch, before the range is kept.
const ENTRIES_MIN: u64 = 1_000;
/// The number of ranges that one column family keeps.
const RANGES_MAX: usize = 256;
/// The number of watches that can exist at a time.
const WATCHES_MAX: usize = 64;
/// Ranges with longer keys are not kept.
const KEY_LEN_MAX: usize = 4096;

/// An end of a range; `None` is unbounded.
type Bound = Option<Box<[u8]>>;

/// The sequence number and the super version of a reader.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct Reader {
    pub seq: SequenceNumber,
    pub super_version: u64,
}

#[derive(Clone, Debug)]
struct Range {
    start: Bound,
    end: Bound,
    /// Readers at this sequence number and super version, or at later ones, may skip the range.
    since: Reader,
    /// About how many hidden entries were found in the range.
    entries: u64,
}

struct Watch {
    id: u64,
    direction: Direction,
    /// The watched keys come after this key, in the direction of the scan.
    from: Bound,
    /// The live entry nearest to `from` that was written after the watch began.
    limit: Option<Box<[u8]>>,
    /// `since` and `entries` of the range that the scan extends.
    since: Reader,
    entries: u64,
}

#[derive(Default)]
struct State {
    /// The ranges do not overlap, and are in the order of their keys.
    ranges: Vec<Range>,
    watches: Vec<Watch>,
    last_watch: u64,
}

/// The empty key ranges of one column family, and the watches of its scans.
#[derive(Default)]
pub struct EmptyRanges {
    /// The number of ranges and watches. Writers take the lock only if it is not 0.
    active: AtomicUsize,
    /// The number of the newest super version.
    installed: AtomicU64,
    state: Mutex<State>,
}

/// A registered watch. The caller must end it by [`EmptyRanges::finish`] or [`EmptyRanges::cancel`].
#[derive(Debug, PartialEq, Eq)]
pub struct WatchId(u64);

/// Where a scan continues.
#[derive(Debug, PartialEq, Eq)]
pub struct Jump {
    /// The end of the range in the direction of the scan; `None`: no key follows.
    pub to: Bound,
    /// The watch by which the scan can extend the range.
    pub watch: Option<WatchId>,
}

impl EmptyRanges {
    /// Records that this super version is the newest. Called before an entry can be added to its memtable.
    pub fn installed(&self, super_version: u64) {
        self.installed.store(super_version, Ordering::Release);
    }

    /// Returns true if there are ranges or watches. A writer calls this after its entries are in the memtable and
    /// before they are visible.
    #[inline]
    pub fn concern_writers(&self) -> bool {
        fence(Ordering::SeqCst);
        self.active.load(Ordering::Relaxed) > 0
    }

    /// Shortens ranges and watches, because live entries of these user keys are in the memtable.
    #[cold]
    pub fn add_live<'k>(&self, order: &Order, keys: impl Iterator<Item = &'k [u8]>) {
        let mut keys = keys.peekable();
        if keys.peek().is_none() {
            // A batch of deletions. Jobs keep ranges during long runs of deletions, so such a batch must not wait for the lock.
            return;
        }
        let mut state = self.state.lock();
        for key in keys {
            state.split_at(order, key);
            state.watches.iter_mut().for_each(|watch| watch.stop_at(order, key));
        }
        self.count(&state);
    }

    /// Removes all ranges and watches, because the SST files will change in another way than by a flush or a
    /// compaction. Running scans report no range. No scan can register before the next [`EmptyRanges::installed`].
    pub fn clear(&self) {
        self.installed.store(u64::MAX, Ordering::SeqCst);
        fence(Ordering::SeqCst);
        let mut state = self.state.lock();
        state.ranges.clear();
        state.watches.clear();
        self.count(&state);
    }

    /// Registers a watch of the keys on one side of `from`, without `from` itself. Returns `None` if the reader's
    /// super version is not the newest, or if too many scans run.
    pub fn watch(&self, from: &[u8], direction: Direction, reader: Reader) -> Option<WatchId> {
        if from.len() > KEY_LEN_MAX {
            return None;
        }
        let mut state = self.state.lock();
        let id = state.add_watch(
            Some(from.into()),
            direction,
            Reader { seq: SequenceNumber::ZERO, super_version: 0 },
            0,
        )?;
        self.count(&state);
        drop(state);
        self.keep_if_newest(id, reader)
    }

    /// Returns the range around `key` that the reader may skip. With `extends`, also registers a watch, so that the
    /// scan can extend the range.
    pub fn jump(
        &self,
        order: &Order,
        key: &[u8],
        direction: Direction,
        reader: Reader,
        extends: bool,
    ) -> Option<Jump> {
        if self.active.load(Ordering::Relaxed) == 0 {
            return None;
        }
        let mut state = self.state.lock();
        let range = state.around(order, key)?;
        if range.since.seq > reader.seq || range.since.super_version > reader.super_version {
            return None;
        }
        let (since, entries) = (range.since, range.entries);
        let (from, to) = match direction {
            Direction::Forward => (range.start.clone(), range.end.clone()),
            Direction::Backward => (range.end.clone(), range.start.clone()),
        };
        let id = if extends && to.is_some() {
            let id = state.add_watch(from, direction, since, entries);
            self.count(&state);
            id
        } else {
            None
        };
        drop(state);
        Some(Jump { to, watch: id.and_then(|id| self.keep_if_newest(id, reader)) })
    }

    /// Ends a watch. The scan of `reader` has reached `to` (`None` is the end of the data), and has skipped
    /// `hidden` entries. Adds the range between, up to the nearest live entry that was written meanwhile.
    pub fn finish(&self, order: &Order, id: WatchId, to: Option<&[u8]>, hidden: u64, reader: Reader) {
        let mut state = self.state.lock();
        if let Some(watch) = state.take_watch(&id) {
            let enough = if watch.entries > 0 { hidden > 0 } else { hidden >= ENTRIES_MIN };
            if enough && to.is_none_or(|to| to.len() <= KEY_LEN_MAX) {
                state.add(order, watch.into_range(order, to, hidden, reader));
            }
        }
        self.count(&state);
    }

    /// Ends a watch without a result.
    pub fn cancel(&self, id: &WatchId) {
        let mut state = self.state.lock();
        state.take_watch(id);
        self.count(&state);
    }

    /// Keeps the watch if the reader has the newest super version. Only then does the scan see the entries that
    /// were inserted before it was registered.
    fn keep_if_newest(&self, id: u64, reader: Reader) -> Option<WatchId> {
        fence(Ordering::SeqCst);
        let id = WatchId(id);
        if self.installed.load(Ordering::Acquire) == reader.super_version {
            return Some(id);
        }
        self.cancel(&id);
        None
    }

    fn count(&self, state: &State) {
        self.active.store(state.ranges.len() + state.watches.len(), Ordering::SeqCst);
    }
}

impl State {
    /// Returns the index of the first range that ends after `key`.
    fn ending_after(&self, order: &Order, key: &[u8]) -> usize {
        self.ranges
            .partition_point(|range| range.end.as_ref().is_some_and(|end| order.compare(end, key).is_le()))
    }

    fn around(&self, order: &Order, key: &[u8]) -> Option<&Range> {
        let range = self.ranges.get(self.ending_after(order, key))?;
        range.holds(order, key).then_some(range)
    }

    fn split_at(&mut self, order: &Order, key: &[u8]) {
        let at = self.ending_after(order, key);
        let Some(range) = self.ranges.get_mut(at).filter(|range| range.holds(order, key)) else { return };
        range.entries /= 2;
        if range.entries < ENTRIES_MIN / 4 || key.len() > KEY_LEN_MAX {
            self.ranges.remove(at);
            return;
        }
        let right = Range { start: Some(key.into()), ..range.clone() };
        range.end = Some(key.into());
        self.ranges.insert(at + 1, right);
        base::invariant!(are_apart(order, &self.ranges), "two empty ranges overlap after a split");
        self.limit();
    }

    fn add_watch(&mut self, from: Bound, direction: Direction, since: Reader, entries: u64) -> Option<u64> {
        if self.watches.len() >= WATCHES_MAX {
            return None;
        }
        self.last_watch += 1;
        let id = self.last_watch;
        self.watches.push(Watch { id, direction, from, limit: None, since, entries });
        base::invariant!(
            self.watches.len() <= WATCHES_MAX,
            "{} runs of hidden entries are watched",
            self.watches.len()
        );
        Some(id)
    }

    fn take_watch(&mut self, WatchId(id): &WatchId) -> Option<Watch> {
        let at = self.watches.iter().position(|watch| watch.id == *id)?;
        Some(self.watches.swap_remove(at))
    }

    /// Adds a range, and joins it with all ranges that it overlaps.
    fn add(&mut self, order: &Order, mut range: Range) {
        if range.is_nothing(order) {
            return;
        }
        let first = match &range.start {
            Some(start) => self.ending_after(order, start),
            None => 0,
        };
        let mut last = first;
        while let Some(other) = self.ranges.get(last).filter(|other| other.overlaps(order, &range)) {
            range.join(order, other);
            last += 1;
        }
        self.ranges.splice(first..last, [range]);
        base::invariant!(are_apart(order, &self.ranges), "two empty ranges overlap after one was added");
        self.limit();
    }

    fn limit(&mut self) {
        while self.ranges.len() > RANGES_MAX {
            let least = (0..self.ranges.len()).min_by_key(|&i| self.ranges[i].entries).unwrap_or(0);
            self.ranges.remove(least);
        }
        base::invariant!(self.ranges.len() <= RANGES_MAX, "{} empty ranges are kept", self.ranges.len());
    }
}

impl Range {
    fn holds(&self, order: &Order, key: &[u8]) -> bool {
        self.start.as_ref().is_none_or(|start| order.compare(start, key).is_lt())
            && self.end.as_ref().is_none_or(|end| order.compare(key, end).is_lt())
    }

    fn is_nothing(&self, order: &Order) -> bool {
        !is_before(order, self.start.as_deref(), self.end.as_deref())
    }

    fn overlaps(&self, order: &Order, other: &Range) -> bool {
        is_before(order, self.start.as_deref(), other.end.as_deref())
            && is_before(order, other.start.as_deref(), self.end.as_deref())
    }

    /// Extends the range by `other`, which overlaps it.
    fn join(&mut self, order: &Order, other: &Range) {
        let earlier = |a: &Bound, b: &Bound| match (a, b) {
            (Some(x), Some(y)) => Some(if order.compare(x, y).is_lt() { x.clone() } else { y.clone() }),
            _ => None,
        };
        let later = |a: &Bound, b: &Bound| match (a, b) {
            (Some(x), Some(y)) => Some(if order.compare(x, y).is_gt() { x.clone() } else { y.clone() }),
            _ => None,
        };
        self.start = earlier(&self.start, &other.start);
        self.end = later(&self.end, &other.end);
        self.since = self.since.latest(other.since);
        self.entries = self.entries.max(other.entries);
    }
}

/// Returns true if a key can be between the two ends.
fn is_before(order: &Order, start: Option<&[u8]>, end: Option<&[u8]>) -> bool {
    match (start, end) {
        (Some(start), Some(end)) => order.compare(start, end).is_lt(),
        _ => true,
    }
}

/// Returns true if each range ends before the next range begins.
fn are_apart(order: &Order, ranges: &[Range]) -> bool {
    ranges.windows(2).all(|pair| {
        let bounds = pair[0].end.as_ref().zip(pair[1].start.as_ref());
        bounds.is_some_and(|(end, start)| order.compare(end, start).is_le())
    })
}

impl Reader {
    fn latest(self, other: Reader) -> Reader {
        Reader { seq: self.seq.max(other.seq), super_version: self.super_version.max(other.super_version) }
    }
}

impl Watch {
    fn stop_at(&mut self, order: &Order, key: &[u8]) {
        let (direction, from, limit) = (self.direction, self.from.as_deref(), self.limit.as_deref());
        let nearer = |a: &[u8], b: &[u8]| match direction {
            Direction::Forward => order.compare(a, b).is_lt(),
            Direction::Backward => order.compare(a, b).is_gt(),
        };
        if from.is_none_or(|from| nearer(from, key)) && limit.is_none_or(|limit| nearer(key, limit)) {
            self.limit = Some(key.into());
        }
    }

    /// Returns the range from the watch to `to`, or to the limit if the limit is nearer.
    fn into_range(self, order: &Order, to: Option<&[u8]>, hidden: u64, reader: Reader) -> Range {
        let far = match (self.limit, to) {
            (Some(limit), Some(to)) => {
                let to_is_nearer = match self.direction {
                    Direction::Forward => order.compare(to, &limit).is_lt(),
                    Direction::Backward => order.compare(to, &limit).is_gt(),
                };
                if to_is_nearer { Some(to.into()) } else { Some(limit) }
            }
            (limit, to) => limit.or(to.map(Box::from)),
        };
        let (start, end) = match self.direction {
            Direction::Forward => (self.from, far),
            Direction::Backward => (far, self.from),
        };
        let since = self.since.latest(reader);
        Range { start, end, since, entries: self.entries.saturating_add(hidden) }
    }
}

#[cfg(test)]
mod tests;
