//! The memtable: entries that are written and not yet flushed.
//!
//! Entries are stored in an arena and ordered by a rep (see [`crate::rep`]). Range tombstones are stored
//! separately. Memory is freed only when the memtable is dropped. An entry never changes, except for
//! in-place updates (see `inplace`). So readers take no lock, and a reader can keep a value as a pointer
//! and a reference to the memtable. Any number of threads may write concurrently. The engine decides by
//! sequence numbers which entries a reader sees.

mod bloom;
mod checked;
mod inplace;
#[cfg(test)]
mod inplace_tests;
mod iter;
mod keeper;
mod kept;
mod options;
mod read;
mod renumber;
#[cfg(test)]
mod tests;
mod tombstones;
mod write;

use std::sync::Arc;
use std::sync::atomic::{AtomicBool, AtomicU32, AtomicU64, Ordering};

use base::key::MAX_SEQUENCE;
use base::key::{SequenceNumber, TYPE_FOR_SEEK, pack};
use base::pinned::PinRegion;

use crate::arena::{Arena, Ref};
use crate::range_del::FragmentedTombstones;
use crate::rep::entry::{Bound, Entries};
use crate::rep::tree::{Estimate, Tree};
use crate::rep::vector::Vector;

pub use iter::MemIter;
pub use keeper::Keeper;
pub use options::{MemTableOptions, RepKind};
pub use read::FoundEntry;
pub use renumber::renumber;
pub use write::{Inserted, Writer};

use bloom::Bloom;
use inplace::Cells;
use kept::Kept;
use tombstones::Tombstones;

/// The smallest estimate that is not an exact count.
const LEAST_ESTIMATE: u64 = 40;

/// Recently written entries, sorted. Readers never wait for writers.
pub struct MemTable {
    entries: Entries,
    rep: Rep,
    bloom: Option<Bloom>,
    /// With in-place updates: the cells that hold the values of puts.
    cells: Option<Cells>,
    tombstones: Tombstones,
    options: MemTableOptions,
    id: u64,
    earliest_seq: SequenceNumber,
    tally: Tally,
    /// The iterators that keep the memtable, and the memory that the budget charges for them.
    kept: Kept,
}

enum Rep {
    Tree(Tree),
    Vector(Vector),
}

impl Rep {
    fn tree(&self) -> Option<&Tree> {
        match self {
            Rep::Tree(tree) => Some(tree),
            Rep::Vector(_) => None,
        }
    }
}

/// The counters that writers change. They are on other cache lines than the fields that readers read.
#[repr(align(128))]
#[derive(Default)]
struct Tally {
    entries: AtomicU64,
    deletes: AtomicU64,
    data_size: AtomicU64,
    marked: AtomicBool,
    /// `u64::MAX` minus the smallest added sequence number, so that zero means "no entry".
    first_seq_inverted: AtomicU64,
    largest_seq: AtomicU64,
    newest_timestamp: AtomicU64,
    /// Set after the first change of `newest_timestamp`.
    has_timestamp: AtomicBool,
    /// The leaf where the last single insert ended.
    hint: AtomicU32,
    immutable: AtomicBool,
}

/// Counts of a memtable. Sizes are in bytes.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub struct Counts {
    /// Number of point entries, point tombstones included.
    pub entries: u64,
    /// Number of point tombstones of all value types.
    pub deletes: u64,
    /// Number of range tombstones.
    pub range_deletes: u64,
    /// Size of the encoded keys and values, range tombstones included.
    pub data_size: u64,
}

impl Counts {
    /// Returns the number of entries as RocksDB counts them, range tombstones included.
    pub fn with_tombstones(&self) -> u64 {
        self.entries + self.range_deletes
    }
}

impl MemTable {
    /// Makes an empty memtable. `id` grows from memtable to memtable. No entry older than `earliest_seq` will
    /// be added.
    ///
    /// The caller has checked the options with [`MemTableOptions::check`]. More than 8 protection bytes are
    /// reduced to 8.
    pub fn new(options: MemTableOptions, id: u64, earliest_seq: SequenceNumber) -> Arc<MemTable> {
        base::invariant!(
            options.protection_bytes_per_key <= 8,
            "memtable {id} has {} protection bytes for each key",
            options.protection_bytes_per_key
        );
        let entries = Entries {
            arena: Arena::new(),
            order: options.order.clone(),
            protection: usize::from(options.protection_bytes_per_key.min(8)),
            shows_keys: options.allow_data_in_errors,
        };
        let rep = match options.rep {
            RepKind::SkipList => Rep::Tree(Tree::new(&entries)),
            RepKind::Vector => Rep::Vector(Vector::default()),
        };
        Arc::new(MemTable {
            entries,
            rep,
            bloom: options.bloom_bytes().map(Bloom::new),
            cells: options.inplace_locks.map(Cells::new),
            tombstones: Tombstones::new(options.order.clone()),
            options,
            id,
            earliest_seq,
            tally: Tally::default(),
            kept: Kept::default(),
        })
    }

    /// Returns the number of the memtable. A newer memtable of a column family has a larger number.
    pub fn id(&self) -> u64 {
        self.id
    }

    /// Returns the options.
    pub fn options(&self) -> &MemTableOptions {
        &self.options
    }

    /// Returns an iterator over the point entries. Writers may run concurrently. The iterator sees every
    /// entry that was added before its positioning, and may see entries that are added later.
    pub fn iter(self: &Arc<Self>) -> MemIter {
        MemIter::new(self.clone())
    }

    /// Returns all range tombstones in fragments. The fragments are cached until the next range tombstone is
    /// added.
    pub fn range_tombstones(&self) -> Arc<FragmentedTombstones> {
        self.tombstones.fragments()
    }

    /// Returns the sequence number of the newest range tombstone over `user_key` (without timestamp) that is
    /// visible at `seq`. Costs one load if there is no range tombstone.
    #[inline]
    pub fn max_covering_tombstone(&self, user_key: &[u8], seq: SequenceNumber) -> Option<SequenceNumber> {
        self.tombstones.max_covering(user_key, seq)
    }

    /// Returns the sequence number of the newest range tombstone over `user_key` that the application wrote.
    /// Range tombstones that readers derived from other tombstones do not count. If there are derived
    /// tombstones, the call visits all range tombstones.
    pub fn newest_written_tombstone(&self, user_key: &[u8]) -> Option<SequenceNumber> {
        self.tombstones.newest_written(user_key)
    }

    /// Returns true if the memtable has a range tombstone.
    #[inline]
    pub fn has_range_tombstones(&self) -> bool {
        self.tombstones.count() > 0
    }

    /// Returns the counts of the added entries. The entries of a [`Writer`] count only after the writer is
    /// dropped.
    pub fn counts(&self) -> Counts {
        Counts {
            entries: self.tally.entries.load(Ordering::Relaxed),
            deletes: self.tally.deletes.load(Ordering::Relaxed),
            range_deletes: self.tombstones.count() as u64,
            data_size: self.tally.data_size.load(Ordering::Relaxed),
        }
    }

    /// Requests a switch of this memtable at the next write, although the memtable is not full, because its
    /// entries make reads too slow.
    pub fn mark_for_flush(&self) {
        self.tally.marked.store(true, Ordering::Relaxed);
    }

    /// Returns true if [`MemTable::mark_for_flush`] was called.
    #[inline]
    pub fn is_marked_for_flush(&self) -> bool {
        self.tally.marked.load(Ordering::Relaxed)
    }

    /// Returns true if the memtable has no entry and no range tombstone.
    pub fn is_empty(&self) -> bool {
        self.first_seq().is_zero() && self.largest_seq().is_zero()
    }

    /// Returns the lower limit of the sequence numbers. The memtable has no older entry and will get none.
    pub fn earliest_seq(&self) -> SequenceNumber {
        self.earliest_seq
    }

    /// Returns the smallest added sequence number, or 0 if the memtable is empty.
    pub fn first_seq(&self) -> SequenceNumber {
        match self.tally.first_seq_inverted.load(Ordering::Relaxed) {
            0 => SequenceNumber::ZERO,
            inverted => SequenceNumber::new(u64::MAX - inverted),
        }
    }

    /// Returns the largest added sequence number, or 0 if the memtable is empty.
    pub fn largest_seq(&self) -> SequenceNumber {
        SequenceNumber::new(self.tally.largest_seq.load(Ordering::Relaxed))
    }

    /// Returns the newest timestamp that was added, as a number. `None` without an entry, and if
    /// [`MemTableOptions::tracks_timestamps`] is not set.
    pub fn newest_timestamp(&self) -> Option<u64> {
        let has_timestamp = self.tally.has_timestamp.load(Ordering::Acquire);
        has_timestamp.then(|| self.tally.newest_timestamp.load(Ordering::Acquire))
    }

    /// Returns the bytes of the arena, the filter and the range tombstones. The engine compares this number
    /// with `write_buffer_size`. The locks for in-place updates do not count, because their size does not
    /// depend on the written entries.
    pub fn memory_used(&self) -> usize {
        let rep = match &self.rep {
            Rep::Tree(_) => 0,
            Rep::Vector(vector) => vector.memory(),
        };
        let bloom = self.bloom.as_ref().map_or(0, Bloom::memory);
        self.entries.arena.used() + rep + bloom + self.tombstones.memory()
    }

    /// Returns true if the memtable may have no room for another write batch, whatever `write_buffer_size` is.
    #[inline]
    pub fn is_nearly_full(&self) -> bool {
        self.entries.arena.is_nearly_full()
    }

    /// Estimates the number of point entries in `[start, end)` and their bytes. Costs about two lookups. If
    /// the order has timestamps, both keys carry a timestamp. Small counts are exact. If there are 40 or more
    /// entries, the estimate is at least 40. An inverted range gives 0.
    pub fn approximate_stats(&self, start: &[u8], end: &[u8]) -> (u64, u64) {
        if self.entries.order.user.compare(start, end).is_ge() {
            return (0, 0);
        }
        let edge = pack(MAX_SEQUENCE, TYPE_FOR_SEEK);
        let (from, to) = (self.entries.target(start, edge), self.entries.target(end, edge));
        base::invariant!(
            self.entries.order.user.compare(from.user_key, to.user_key).is_lt(),
            "an estimate is made of an empty key range"
        );
        let total = self.tally.entries.load(Ordering::Relaxed);
        let estimate = match &self.rep {
            Rep::Tree(tree) => tree.estimate(&self.entries, &from, &to, total),
            Rep::Vector(vector) => {
                let sorted = vector.sorted(&self.entries);
                let rank = |target| Vector::partition(&sorted, &self.entries, target, Bound::AtOrAfter);
                // The user may pass a range that ends before its start.
                Estimate { count: rank(&to).saturating_sub(rank(&from)) as u64, exact: true }
            }
        };
        let count = match estimate {
            Estimate { count, exact: true } => count,
            Estimate { count, exact: false } => count.max(LEAST_ESTIMATE.min(total)),
        };
        let data_size = u128::from(self.tally.data_size.load(Ordering::Relaxed));
        (count, (data_size * u128::from(count) / u128::from(total.max(1))) as u64)
    }

    /// Makes the memtable immutable: later adds fail. The caller makes sure that no writer is active.
    pub fn make_immutable(&self) {
        self.tally.immutable.store(true, Ordering::Release);
        base::invariant!(
            self.is_empty() || self.first_seq() <= self.largest_seq(),
            "memtable {} has the sequence numbers {} to {}",
            self.id,
            self.first_seq(),
            self.largest_seq()
        );
    }

    /// Returns true if the memtable takes no more writes.
    pub fn is_immutable(&self) -> bool {
        self.tally.immutable.load(Ordering::Acquire)
    }
}

/// A memtable as the owner of pinned values. A token is an address in the arena, made only by
/// [`FoundEntry::pin`] and [`MemIter`]. The type is private, so no other module can request a region.
#[repr(transparent)]
struct Pins(MemTable);

impl Pins {
    /// The bit of a token that selects the key of the entry instead of the value. It is above all places.
    const KEY: u64 = 1 << 63;

    fn of(table: &Arc<MemTable>) -> Arc<Pins> {
        // SAFETY: `Pins` is a transparent wrapper, so pointer, layout and reference count are the same.
        unsafe { Arc::from_raw(Arc::into_raw(table.clone()).cast::<Pins>()) }
    }
}

impl PinRegion for Pins {
    fn region(&self, token: u64) -> &[u8] {
        base::invariant!(token as Ref != 0, "a pinned value is at no place of its memtable");
        // SAFETY: without the flag, a token is the place of an entry that a reader of this memtable has seen.
        let entry = unsafe { self.0.entries.entry(token as Ref) };
        if token & Pins::KEY == 0 { entry.value } else { entry.internal_key }
    }
}
