//! Decides whether the database has entries in the key range of a file: in memtables, or on a level.
//!
//! A range tombstone counts as an entry of every key in its range.

use base::iter::InternalIterator;
use base::key::{self, InternalOrder, MAX_SEQUENCE};
use base::{Level, Result};
use lsm::version::Version;
use mem::memtable::MemTable;
use mem::range_del::FragmentedTombstones;
use table::sst::ReadCtx;

use super::ExternalFile;
use crate::family::{Parts, SuperVersion};
use crate::source::TableCache;
use crate::sync::Arc;

/// A closed range of user keys, without timestamps.
pub struct UserRange {
    pub start: Vec<u8>,
    pub limit: Vec<u8>,
    /// `start` as the first internal key of the range.
    seek: Vec<u8>,
}

impl UserRange {
    /// Makes the range from two internal keys. Both ends belong to the range.
    pub fn new(order: &InternalOrder, smallest: &[u8], largest: &[u8]) -> Self {
        let size = order.user.timestamp_size();
        let start = key::without_timestamp(key::user_key(smallest), size);
        let limit = key::without_timestamp(key::user_key(largest), size);
        UserRange::of_keys(order, start, limit)
    }

    /// Makes the range from two user keys without timestamps. Both ends belong to the range.
    pub fn of_keys(order: &InternalOrder, start: &[u8], limit: &[u8]) -> Self {
        let size = order.user.timestamp_size();
        let (start, limit) = (start.to_vec(), limit.to_vec());
        let first = key::with_newest_timestamp(&start, size);
        let seek = key::seek_key(&first, MAX_SEQUENCE);
        UserRange { start, limit, seek }
    }

    /// Makes the range from the smallest and the largest key of an external file.
    pub fn of(order: &InternalOrder, file: &ExternalFile) -> Self {
        let range = UserRange::new(order, &file.smallest, &file.largest);
        base::invariant!(
            compare(order, &range.start, &range.limit).is_le(),
            "the smallest key of {} is after the largest key",
            file.path.display()
        );
        range
    }

    fn has_point<I: InternalIterator>(&self, order: &InternalOrder, mut iter: I) -> Result<bool> {
        iter.seek(&self.seek);
        if !iter.valid() {
            return iter.status().map(|()| false);
        }
        let size = order.user.timestamp_size();
        let found = key::without_timestamp(key::user_key(iter.key()), size);
        Ok(compare(order, found, &self.limit).is_le())
    }

    fn is_covered(&self, order: &InternalOrder, tombstones: &FragmentedTombstones) -> bool {
        tombstones.iter().any(|fragment| {
            compare(order, fragment.start, &self.limit).is_le()
                && compare(order, fragment.end, &self.start).is_gt()
        })
    }
}

/// Compares two user keys that have no timestamps.
pub(super) fn compare(order: &InternalOrder, a: &[u8], b: &[u8]) -> std::cmp::Ordering {
    let size = order.user.timestamp_size();
    if size == 0 {
        return order.user.compare(a, b);
    }
    let (a, b) = (key::with_newest_timestamp(a, size), key::with_newest_timestamp(b, size));
    order.user.compare_without_timestamp(&a, &b)
}

/// Returns true if a memtable of the column family that is not flushed has entries in one of the ranges.
///
/// # Errors
/// Errors of the memtable's iterator.
pub fn overlaps_memtables(
    order: &InternalOrder,
    pin: &SuperVersion,
    immutable: &[Arc<MemTable>],
    ranges: impl IntoIterator<Item = UserRange>,
) -> Result<bool> {
    let memtables: Vec<_> =
        std::iter::once(&pin.mem).chain(immutable).filter(|mem| !mem.is_empty()).collect();
    if memtables.is_empty() {
        return Ok(false);
    }
    for range in ranges {
        for mem in &memtables {
            if range.has_point(order, mem.iter())?
                || mem.has_range_tombstones() && range.is_covered(order, &mem.range_tombstones())
            {
                return Ok(true);
            }
        }
    }
    Ok(false)
}

/// Returns true if an SST file of a level has an entry in the range.
///
/// # Errors
/// Errors of reading the SST files.
pub fn overlaps_level(
    (version, level): (&Version, Level),
    (tables, parts): (&TableCache, &Parts),
    range: &UserRange,
    ctx: &ReadCtx,
) -> Result<bool> {
    base::invariant!(
        level <= version.last_level(),
        "an ingestion looks at {level} of {} levels",
        version.num_levels()
    );
    let order = version.order();
    let size = order.user.timestamp_size();
    let begin = key::with_newest_timestamp(&range.start, size);
    let end = key::with_oldest_timestamp(&range.limit, size);
    let meets = |file: &lsm::table_file::TableFile| {
        order.user.compare_without_timestamp(file.largest_user_key(), &begin).is_ge()
            && order.user.compare_without_timestamp(file.smallest_user_key(), &end).is_le()
    };
    for file in version.level(level).iter().filter(|file| meets(file)) {
        let reader = tables.get(parts, level, file)?;
        if range.has_point(order, reader.iter(ctx))?
            || reader.tombstones().is_some_and(|tombstones| range.is_covered(order, tombstones))
        {
            return Ok(true);
        }
    }
    Ok(false)
}
