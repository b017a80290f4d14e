//! The index from keys to entries: a hash table of cache lines. Lookups read the table without a lock.
//!
//! ```text
//! bucket, 64 bytes   | control 8 | word 0 | word 1 | ... | word 6 |
//! control            | byte 0..6: tags of the words, 0 none | byte 7: overflow |
//! word               | hash, 32 bits | entry number + 1, 32 bits |      0 none
//! ```
//!
//! A lookup reads one control word, compares seven tags at once, and reads the words whose tags match. A
//! hit or a miss costs one cache line. If the bucket of a new entry is full, the entry goes to the next
//! bucket with room, and each skipped bucket counts the entry as overflow. A lookup continues to the next
//! bucket only if this count is not zero. (F14 and RocksDB's clock cache count displacements for the same
//! purpose.)
//!
//! Only the holder of the shard's lock changes the table. A reader may see a new or removed word late, and
//! trusts no word: the reader pins the entry that the word names, and compares the key of the entry. The hash
//! bits in a word choose the bucket, so a larger table is filled from the words alone.

use crate::sync::{AtomicU64, Ordering};
use crate::zeroed::{Zeroed, ZeroedArray};

const SLOTS: usize = 7;
const OVERFLOW_SHIFT: u32 = 56;
const LOW_BITS: u64 = 0x0101_0101_0101_0101;
const HIGH_BITS: u64 = 0x8080_8080_8080_8080;
/// The high bits of the seven tag bytes.
const TAG_BITS: u64 = HIGH_BITS >> 8;

#[repr(C, align(64))]
struct Bucket {
    control: AtomicU64,
    words: [AtomicU64; SLOTS],
}

// SAFETY: atomic integers are valid at zero and need no dropping.
unsafe impl Zeroed for Bucket {
    #[cfg(loom)]
    fn zero() -> Self {
        Bucket { control: AtomicU64::new(0), words: std::array::from_fn(|_| AtomicU64::new(0)) }
    }

    // If a thread reads a page that was returned to the system, the thread sees all writes before the return,
    // because the system synchronizes the thread at the page fault.
    #[cfg(loom)]
    fn fade(&self) {
        std::iter::once(&self.control).chain(&self.words).for_each(|word| word.store(0, Ordering::Release));
    }
}

pub(super) struct Index {
    buckets: ZeroedArray<Bucket>,
}

/// Entries for each bucket at the load where the table grows: four of seven words. At this load one in twenty
/// buckets overflows.
const LOAD: usize = if cfg!(loom) { 1 } else { 4 };

impl Index {
    /// Bytes for each entry at the load where the table grows. Directly after the growth, an entry costs
    /// twice as much.
    pub(super) const BYTES_AN_ENTRY: usize = size_of::<Bucket>() / LOAD;

    /// Makes a table for about `count` entries.
    #[cfg(test)]
    pub(super) fn for_entries(count: usize) -> Self {
        Self::try_for_entries(count).expect("memory for a table")
    }

    /// Makes a table for about `count` entries. Returns `None` if the system has no memory.
    pub(super) fn try_for_entries(count: usize) -> Option<Self> {
        Some(Index { buckets: ZeroedArray::try_new(Self::buckets_for(count))? })
    }

    fn buckets_for(count: usize) -> usize {
        base::invariant!(count > 0, "the index of a cache shard is made for no entry");
        count.div_ceil(LOAD).clamp(1, 1 << 31)
    }

    /// Returns the number of entries at which a growing table is replaced by a larger table.
    pub(super) fn comfortable(&self) -> usize {
        self.len() * LOAD
    }

    /// Returns the largest number of entries. With more entries, lookups would become slow.
    pub(super) fn limit(&self) -> usize {
        self.len() * 6
    }

    pub(super) fn bytes(&self) -> usize {
        self.len() * size_of::<Bucket>()
    }

    /// Returns the memory of a replaced table to the system. Afterwards a reader may miss words, but finds no
    /// wrong word.
    pub(super) fn retire(&self) {
        self.buckets.give_back();
    }

    fn len(&self) -> usize {
        self.buckets.as_slice().len()
    }

    #[inline]
    fn home(&self, hash: u32) -> usize {
        ((u64::from(hash) * self.len() as u64) >> 32) as usize
    }

    #[inline]
    fn bucket(&self, at: usize) -> &Bucket {
        &self.buckets.as_slice()[at]
    }

    fn next(&self, at: usize) -> usize {
        base::invariant!(
            at < self.len(),
            "the index of a cache shard has {} buckets, and no bucket {at}",
            self.len()
        );
        if at + 1 == self.len() { 0 } else { at + 1 }
    }

    /// Calls `accept` with each entry that may have this hash, until `accept` returns a value.
    #[inline]
    pub(super) fn find<T>(&self, hash: u32, mut accept: impl FnMut(u32) -> Option<T>) -> Option<T> {
        let mut at = self.home(hash);
        for _ in 0..self.len() {
            let bucket = self.bucket(at);
            let control = bucket.control.load(Ordering::Acquire);
            let mut fits = matching(control, tag(hash));
            while fits != 0 {
                let slot = (fits.trailing_zeros() / 8) as usize;
                let word = bucket.words[slot].load(Ordering::Acquire);
                if (word >> 32) as u32 == hash
                    && word as u32 != 0
                    && let Some(found) = accept(word as u32 - 1)
                {
                    return Some(found);
                }
                fits &= fits - 1;
            }
            if control >> OVERFLOW_SHIFT == 0 {
                return None;
            }
            at = self.next(at);
        }
        None
    }

    /// Prefetches the bucket of a hash into the processor cache.
    #[inline]
    pub(super) fn prefetch(&self, hash: u32) {
        #[cfg(all(target_arch = "x86_64", not(miri)))]
        {
            use std::arch::x86_64::{_MM_HINT_T0, _mm_prefetch};
            let bucket: *const Bucket = self.bucket(self.home(hash));
            // SAFETY: the bucket is alive, and a prefetch has no architectural effect.
            unsafe { _mm_prefetch::<_MM_HINT_T0>(bucket.cast()) };
        }
        #[cfg(not(all(target_arch = "x86_64", not(miri))))]
        let _ = hash;
    }

    /// Adds a word. The caller holds the lock of the shard, and the table has fewer words than
    /// [`Index::limit`].
    pub(super) fn insert(&self, hash: u32, entry: u32) {
        base::invariant!(entry < u32::MAX, "the cache entry {entry} has no word in the index");
        self.insert_word(u64::from(hash) << 32 | u64::from(entry + 1));
    }

    fn insert_word(&self, word: u64) {
        base::invariant!(word as u32 != 0, "an empty word is put into the index of a cache shard");
        let hash = (word >> 32) as u32;
        let mut at = self.home(hash);
        loop {
            let bucket = self.bucket(at);
            let control = bucket.control.load(Ordering::Relaxed);
            let free = !control & TAG_BITS;
            if free != 0 {
                let slot = free.trailing_zeros() / 8;
                base::invariant!((slot as usize) < SLOTS, "the slot {slot} of a bucket is its count");
                base::invariant!(
                    bucket.words[slot as usize].load(Ordering::Relaxed) == 0,
                    "a free slot of the cache index has a word"
                );
                bucket.words[slot as usize].store(word, Ordering::Release);
                let control = control | u64::from(tag(hash)) << (slot * 8);
                bucket.control.store(control, Ordering::Release);
                return;
            }
            // A saturated count never changes again. Lookups of this bucket get longer, but stay correct.
            if control >> OVERFLOW_SHIFT != 0xff {
                bucket.control.store(control + (1 << OVERFLOW_SHIFT), Ordering::Release);
            }
            at = self.next(at);
        }
    }

    /// Removes the word of an entry. Returns false if there is no such word. The caller holds the lock of the
    /// shard.
    pub(super) fn remove(&self, hash: u32, entry: u32) -> bool {
        base::invariant!(entry < u32::MAX, "the cache entry {entry} has no word in the index");
        let word = u64::from(hash) << 32 | u64::from(entry + 1);
        let mut at = self.home(hash);
        for passed in 0..self.len() {
            let bucket = self.bucket(at);
            if let Some(slot) = bucket.words.iter().position(|w| w.load(Ordering::Relaxed) == word) {
                let control = bucket.control.load(Ordering::Relaxed);
                bucket.control.store(control & !(0xff << (slot * 8)), Ordering::Release);
                bucket.words[slot].store(0, Ordering::Release);
                self.uncount(hash, passed);
                return true;
            }
            if bucket.control.load(Ordering::Relaxed) >> OVERFLOW_SHIFT == 0 {
                return false;
            }
            at = self.next(at);
        }
        false
    }

    /// Subtracts a removed word from the overflow counts of the buckets that its insertion skipped.
    fn uncount(&self, hash: u32, passed: usize) {
        let mut at = self.home(hash);
        for _ in 0..passed {
            let control = &self.bucket(at).control;
            let value = control.load(Ordering::Relaxed);
            base::invariant!(value >> OVERFLOW_SHIFT > 0, "a bucket is passed that counts no passed word");
            if value >> OVERFLOW_SHIFT != 0xff {
                control.store(value - (1 << OVERFLOW_SHIFT), Ordering::Release);
            }
            at = self.next(at);
        }
    }

    /// Adds all words of another table. The caller holds the lock of the shard.
    pub(super) fn fill_from(&self, other: &Index) {
        base::invariant!(
            self.len() >= other.len(),
            "the index of a cache shard shrinks from {} to {} buckets",
            other.len(),
            self.len()
        );
        for word in other.buckets.as_slice().iter().flat_map(|b| &b.words) {
            match word.load(Ordering::Relaxed) {
                0 => {}
                word => self.insert_word(word),
            }
        }
    }
}

/// Returns the tag of a hash. The tag is never 0, and uses other bits of the hash than the choice of the
/// bucket.
#[inline]
fn tag(hash: u32) -> u8 {
    hash as u8 | 0x80
}

/// Returns a word with the high bit set in each tag byte that equals `tag`. The byte after a match may be
/// set too, although it does not match.
#[inline]
fn matching(control: u64, tag: u8) -> u64 {
    let x = control ^ (LOW_BITS * u64::from(tag));
    x.wrapping_sub(LOW_BITS) & !x & TAG_BITS
}
