//! The entries by number, in segments of doubling size. A segment never moves and lives as long as the shard.

use std::sync::OnceLock;

use super::entry::Entry;
use crate::zeroed::ZeroedArray;

/// Number of entries in the first segment.
const FIRST: u32 = if cfg!(loom) { 2 } else { 64 };
const SEGMENTS: usize = 26;

pub(super) struct Pool<V: Send + Sync + 'static, O: 'static> {
    segments: [OnceLock<ZeroedArray<Entry<V, O>>>; SEGMENTS],
}

impl<V: Send + Sync + 'static, O: 'static> Pool<V, O> {
    pub(super) fn new() -> Self {
        Pool { segments: [const { OnceLock::new() }; SEGMENTS] }
    }

    /// Returns the entry with this number, if its segment exists.
    #[inline]
    pub(super) fn get(&self, number: u32) -> Option<&Entry<V, O>> {
        let (segment, offset) = place(number);
        self.segments.get(segment)?.get()?.as_slice().get(offset)
    }

    /// Returns the entry with this number. Makes its segment if necessary. Returns `None` beyond the last
    /// segment, and if the system has no memory for the segment.
    pub(super) fn make(&self, number: u32) -> Option<&Entry<V, O>> {
        let (segment, offset) = place(number);
        let slot = self.segments.get(segment)?;
        if slot.get().is_none() {
            // If another thread makes the segment too, one of the two arrays is dropped.
            let _ = slot.set(ZeroedArray::try_new((FIRST as usize) << segment)?);
        }
        slot.get()?.as_slice().get(offset)
    }
}

/// Returns the segment and the offset of an entry. Segment `s` holds `FIRST << s` numbers, from `FIRST * (2^s
/// - 1)` on.
#[inline]
fn place(number: u32) -> (usize, usize) {
    let n = u64::from(number) + u64::from(FIRST);
    let segment = n.ilog2() - FIRST.ilog2();
    base::invariant!(
        (u64::from(FIRST) << segment..u64::from(FIRST) << (segment + 1)).contains(&n),
        "the cache entry {number} is not in segment {segment}"
    );
    (segment as usize, (n - (u64::from(FIRST) << segment)) as usize)
}
