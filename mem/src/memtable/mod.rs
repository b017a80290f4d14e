//! The memtable: what has been written and not yet flushed.
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
use crate::rep::entry::Entries;
use crate::rep::tree::{Estimate, Tree};
use crate::rep::vector::Vector;

pub use iter::MemIter;
pub use options::{MemTableOptions, RepKind};
pub use read::Version;
pub use renumber::renumber;
pub use write::{Inserted, Writer};

use bloom::Bloom;
use inplace::Cells;
use tombstones::Tombstones;

/// An estimate that is no count is never less.
const LEAST_ESTIMATE: u64 = 40;

/// Recently written entries, sorted. Readers never wait for writers.
pub struct MemTable {
    entries: Entries,
    rep: Rep,
    bloom: Option<Bloom>,
    /// With updates in place: where the values of puts lie.
    cells: Option<Cells>,
    tombstones: Tombstones,
    options: MemTableOptions,
    id: u64,
    earliest_seq: SequenceNumber,
    tally: Tally,
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

/// What writers change, away from what readers read.
#[repr(align(128))]
#[derive(Default)]
struct Tally {
    entries: AtomicU64,
    deletes: AtomicU64,
    data_size: AtomicU64,
    marked: AtomicBool,
    /// `u64::MAX` minus the smallest sequence number added; so that zero means none.
    first_seq_inverted: AtomicU64,
    largest_seq: AtomicU64,
    /// The newest timestamp plus 1; 0 means none. The largest number stands for itself too.
    newest_timestamp_next: AtomicU64,
    /// The leaf where the last single insert ended.
    hint: AtomicU32,
    sealed: AtomicBool,
}

/// Numbers about a memtable. Sizes in bytes.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub struct Counts {
    /// Point entries, deletions among them.
    pub entries: u64,
    /// Point deletions of any kind.
    pub deletes: u64,
    /// The number of range tombstones.
    pub range_deletes: u64,
    /// Keys and values as encoded, range tombstones included.
    pub data_size: u64,
}

impl Counts {
    /// Entries as RocksDB counts them: range tombstones are among them.
    pub fn with_tombstones(&self) -> u64 {
        self.entries + self.range_deletes
    }
}

impl MemTable {
    /// An empty memtable. `id` grows from memtable to memtable; nothing older than `earliest_seq` will
    /// be added.
    ///
    /// Options are taken as [`MemTableOptions::check`] wants them; protection is cut to 8 bytes.
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

    /// All range tombstones added so far, in fragments; cached until the next is added.
    pub fn range_tombstones(&self) -> Arc<FragmentedTombstones> {
        self.tombstones.fragments()
    }

    /// The newest range tombstone over `user_key` (without timestamp) that a reader at `seq` sees.
    /// Costs one load where there are none.
    #[inline]
    pub fn max_covering_tombstone(&self, user_key: &[u8], seq: SequenceNumber) -> Option<SequenceNumber> {
        self.tombstones.max_covering(user_key, seq)
    }

    /// The sequence number of the newest range tombstone over `user_key` that was written, and not only derived from
    /// others by a reader. Cost: all tombstones are looked through where there are such.
    pub fn newest_written_tombstone(&self, user_key: &[u8]) -> Option<SequenceNumber> {
        self.tombstones.newest_written(user_key)
    }

    /// Returns true if the memtable has a range tombstone.
    #[inline]
    pub fn has_range_tombstones(&self) -> bool {
        self.tombstones.count() > 0
    }

    /// What has been added; a [`Writer`] still at work has not told yet.
    pub fn counts(&self) -> Counts {
        Counts {
            entries: self.tally.entries.load(Ordering::Relaxed),
            deletes: self.tally.deletes.load(Ordering::Relaxed),
            range_deletes: self.tombstones.count() as u64,
            data_size: self.tally.data_size.load(Ordering::Relaxed),
        }
    }

    /// Asks for the memtable to be sealed by the next write, though it is not full: its entries cost readers more
    /// than they are worth.
    pub fn mark_for_flush(&self) {
        self.tally.marked.store(true, Ordering::Relaxed);
    }

    /// See [`MemTable::mark_for_flush`].
    #[inline]
    pub fn is_marked_for_flush(&self) -> bool {
        self.tally.marked.load(Ordering::Relaxed)
    }

    /// No entries and no range tombstones.
    pub fn is_empty(&self) -> bool {
        self.first_seq() == 0 && self.largest_seq() == 0
    }

    /// Nothing older is in here or will be.
    pub fn earliest_seq(&self) -> SequenceNumber {
        self.earliest_seq
    }

    /// The smallest sequence number added; 0 while empty.
    pub fn first_seq(&self) -> SequenceNumber {
        match self.tally.first_seq_inverted.load(Ordering::Relaxed) {
            0 => 0,
            inverted => u64::MAX - inverted,
        }
    }

    /// The largest sequence number added; 0 while empty.
    pub fn largest_seq(&self) -> SequenceNumber {
        self.tally.largest_seq.load(Ordering::Relaxed)
    }

    /// Returns the newest timestamp that was added, as a number. `None` without an entry, and if
    /// [`MemTableOptions::tracks_timestamps`] is not set.
    pub fn newest_timestamp(&self) -> Option<u64> {
        self.tally.newest_timestamp_next.load(Ordering::Acquire).checked_sub(1)
    }

    /// Bytes taken up to now: arena, filter, tombstones. What `write_buffer_size` is compared with, and so without the
    /// table of locks of updates in place, whose size has nothing to do with what was written.
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

    /// Point entries in `[start, end)` and their bytes, estimated at the cost of about two look-ups.
    /// Keys carry timestamps where the order has them. Exact when few; never below 40 when there are 40
    /// or more. An inverted range holds nothing.
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
                let rank = |target| Vector::partition(&sorted, &self.entries, target, false);
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

    /// Up to `n` user keys spread over the memtable, in order; for cutting work in equal parts.
    pub fn sample_keys(&self, n: usize) -> Vec<Vec<u8>> {
        let places: Vec<Ref> = match &self.rep {
            Rep::Tree(tree) => tree.sample(&self.entries, n),
            Rep::Vector(vector) => {
                let sorted = vector.sorted(&self.entries);
                let n = n.min(sorted.len());
                (0..n).map(|i| sorted[i * sorted.len() / n]).collect()
            }
        };
        // SAFETY: places that the rep showed: published with Release (or under its lock).
        places.iter().map(|&place| unsafe { self.entries.entry(place) }.user_key().to_vec()).collect()
    }

    /// From now on nothing will be added; later adds fail. Whoever seals makes sure that no writer is
    /// at work.
    pub fn seal(&self) {
        self.tally.sealed.store(true, Ordering::Release);
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
        self.tally.sealed.load(Ordering::Acquire)
    }
}

/// A memtable as the owner of pinned values. A token is an address in the arena, made only by
/// [`Version::pin`] and [`MemIter`]. The type is private, so no other module can request a region.
#[repr(transparent)]
struct Pins(MemTable);

impl Pins {
    /// In a token: the entry's key is meant, not its value. Above all places.
    const KEY: u64 = 1 << 63;

    fn of(table: &Arc<MemTable>) -> Arc<Pins> {
        // SAFETY: `Pins` is a transparent wrapper, so the pointer, its layout and its count fit.
        unsafe { Arc::from_raw(Arc::into_raw(table.clone()).cast::<Pins>()) }
    }
}

impl PinRegion for Pins {
    fn region(&self, token: u64) -> &[u8] {
        base::invariant!(token as Ref != 0, "a pinned value is at no place of its memtable");
        // SAFETY: but for the flag, tokens are places of entries in this memtable that a reader had seen.
        let entry = unsafe { self.0.entries.entry(token as Ref) };
        if token & Pins::KEY == 0 { entry.value } else { entry.internal_key }
    }
}
