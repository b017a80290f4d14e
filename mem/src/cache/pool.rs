//! Entries by number: segments of doubling size that never move and live as long as the shard.

use std::sync::OnceLock;

use super::entry::Entry;
use crate::zeroed::ZeroedArray;

/// Entries in the first segment.
const FIRST: u32 = if cfg!(loom) { 2 } else { 64 };
const SEGMENTS: usize = 26;

pub(super) struct Pool<V: Send + Sync + 'static, O: 'static> {
    segments: [OnceLock<ZeroedArray<Entry<V, O>>>; SEGMENTS],
}

impl<V: Send + Sync + 'static, O: 'static> Pool<V, O> {
    pub(super) fn new() -> Self {
        Pool { segments: [const { OnceLock::new() }; SEGMENTS] }
    }

    /// The entry of that number, if its segment has been made.
    #[inline]
    pub(super) fn get(&self, number: u32) -> Option<&Entry<V, O>> {
        let (segment, offset) = place(number);
        self.segments.get(segment)?.get()?.as_slice().get(offset)
    }

    /// The entry of that number, its segment made if need be; `None` beyond the last segment.
    pub(super) fn make(&self, number: u32) -> Option<&Entry<V, O>> {
        let (segment, offset) = place(number);
        let array = self.segments.get(segment)?.get_or_init(|| ZeroedArray::new((FIRST as usize) << segment));
        array.as_slice().get(offset)
    }
}

/// Segment `s` holds the numbers from `FIRST * (2^s - 1)`, `FIRST << s` of them.
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
