//! Which files of a level overlap a key range.

use std::cmp::Ordering;
use std::ops::Range;
use std::sync::Arc;

use base::Level;
use base::key::{self, InternalOrder};

use super::Version;
use crate::file_meta::EXCLUSIVE_END;
use crate::table_file::TableFile;

/// A closed range of user keys. It is empty if it was made of no files.
#[derive(Clone, Debug, Default, PartialEq, Eq)]
pub struct KeyRange {
    /// The smallest and the largest user key.
    pub bounds: Option<(Vec<u8>, Vec<u8>)>,
}

impl KeyRange {
    /// Returns the smallest range that contains all files.
    pub fn of<'a>(order: &InternalOrder, files: impl IntoIterator<Item = &'a TableFile>) -> Self {
        let mut range: Option<(&[u8], &[u8])> = None;
        for file in files {
            let (a, b) = (file.smallest_user_key(), file.largest_user_key());
            range = Some(match range {
                None => (a, b),
                Some((s, l)) => (
                    if order.user.compare(a, s).is_lt() { a } else { s },
                    if order.user.compare(b, l).is_gt() { b } else { l },
                ),
            });
        }
        KeyRange { bounds: range.map(|(a, b)| (a.to_vec(), b.to_vec())) }
    }

    /// Returns the smallest user key of the range, or `None` if the range is empty.
    pub fn begin(&self) -> Option<&[u8]> {
        self.bounds.as_ref().map(|(a, _)| a.as_slice())
    }

    /// Returns the largest user key of the range, or `None` if the range is empty.
    pub fn end(&self) -> Option<&[u8]> {
        self.bounds.as_ref().map(|(_, b)| b.as_slice())
    }

    /// Returns true if both ranges have a common user key, without timestamps.
    pub fn meets(&self, order: &InternalOrder, other: &KeyRange) -> bool {
        match (&self.bounds, &other.bounds) {
            (Some((a, b)), Some((c, d))) => {
                order.user.compare_without_timestamp(a, d).is_le()
                    && order.user.compare_without_timestamp(c, b).is_le()
            }
            _ => false,
        }
    }
}

/// Compares two file boundaries by user key, without timestamps. If the user keys are equal, an exclusive end
/// comes first.
pub(crate) fn compare_boundaries(order: &InternalOrder, a: &[u8], b: &[u8]) -> Ordering {
    order.user.compare_without_timestamp(key::user_key(a), key::user_key(b)).then_with(|| {
        let exclusive = |k: &[u8]| key::trailer(k) == EXCLUSIVE_END;
        exclusive(b).cmp(&exclusive(a))
    })
}

/// A range for pickers, as internal keys of file boundaries. `None` means no bound. The largest key may be an
/// exclusive end.
#[derive(Clone, Copy, Debug, Default)]
pub(crate) struct Extent<'a> {
    pub smallest: Option<&'a [u8]>,
    pub largest: Option<&'a [u8]>,
}

impl Version {
    /// Returns the files of a level that overlap `[begin, end]` (user keys; `None` means no bound), in the
    /// order of the level. On level 0, the range grows by each file that is found, until no other file
    /// overlaps the range.
    pub fn overlapping(&self, level: Level, begin: Option<&[u8]>, end: Option<&[u8]>) -> Vec<Arc<TableFile>> {
        let (begin, end) = (begin.map(any_version), end.map(any_version));
        self.overlapping_extent(level, Extent { smallest: begin.as_deref(), largest: end.as_deref() })
    }

    pub(crate) fn overlapping_extent(&self, level: Level, extent: Extent<'_>) -> Vec<Arc<TableFile>> {
        if level == Level::ZERO {
            return self.overlapping_l0(extent);
        }
        self.level(level).as_slice()[self.extent_range(level, extent)].to_vec()
    }

    fn overlapping_l0(&self, extent: Extent<'_>) -> Vec<Arc<TableFile>> {
        let compare = |a: &[u8], b: &[u8]| compare_boundaries(&self.order, a, b);
        let files = self.level(Level::ZERO).as_slice();
        let mut taken = vec![false; files.len()];
        let Extent { mut smallest, mut largest } = extent;
        loop {
            let mut grew = false;
            for (i, file) in files.iter().enumerate() {
                let before = smallest.is_some_and(|s| compare(&file.largest, s).is_lt());
                let after = largest.is_some_and(|l| compare(&file.smallest, l).is_gt());
                if taken[i] || before || after {
                    continue;
                }
                taken[i] = true;
                grew = true;
                smallest =
                    smallest.map(|s| if compare(&file.smallest, s).is_lt() { &file.smallest } else { s });
                largest = largest.map(|l| if compare(&file.largest, l).is_gt() { &file.largest } else { l });
            }
            if !grew {
                break;
            }
        }
        files.iter().zip(taken).filter(|(_, taken)| *taken).map(|(f, _)| f.clone()).collect()
    }

    /// Does [`Version::overlapping`] for a sorted level. Returns indexes into the level.
    pub(crate) fn overlapping_range(
        &self,
        level: Level,
        begin: Option<&[u8]>,
        end: Option<&[u8]>,
    ) -> Range<usize> {
        let (begin, end) = (begin.map(any_version), end.map(any_version));
        self.extent_range(level, Extent { smallest: begin.as_deref(), largest: end.as_deref() })
    }

    pub(crate) fn extent_range(&self, level: Level, extent: Extent<'_>) -> Range<usize> {
        let files = self.level(level).as_slice();
        let from = extent
            .smallest
            .map_or(0, |s| files.partition_point(|f| compare_boundaries(&self.order, &f.largest, s).is_lt()));
        let to = extent.largest.map_or(files.len(), |l| {
            files.partition_point(|f| compare_boundaries(&self.order, &f.smallest, l).is_le())
        });
        from..to.max(from)
    }

    /// Returns true if a file of the level overlaps the range.
    pub fn overlaps(&self, level: Level, begin: Option<&[u8]>, end: Option<&[u8]>) -> bool {
        if level > Level::ZERO {
            return !self.overlapping_range(level, begin, end).is_empty();
        }
        let order = &self.order.user;
        self.level(Level::ZERO).iter().any(|f| {
            !begin.is_some_and(|begin| order.compare_without_timestamp(f.largest_user_key(), begin).is_lt())
                && !end.is_some_and(|end| order.compare_without_timestamp(f.smallest_user_key(), end).is_gt())
        })
    }

    /// Returns true if sorted runs that are older than the files of `level` may have data in the range of
    /// user keys. For level 0, older means older than the file at `l0_index`. Follows RocksDB
    /// `RangeMightExistAfterSortedRun`.
    pub(crate) fn range_may_exist_below(
        &self,
        begin: &[u8],
        end: &[u8],
        level: Level,
        l0_index: Option<usize>,
    ) -> bool {
        if level == Level::ZERO && l0_index.is_some_and(|i| i + 1 != self.level(Level::ZERO).len()) {
            return true;
        }
        self.levels_below(level).any(|l| {
            !self.level(l).is_empty() && (level == Level::ZERO || self.overlaps(l, Some(begin), Some(end)))
        })
    }

    /// Extends an index range of a sorted level until no user key is on both sides of an end, so that all
    /// entries of a key are compacted together.
    pub(crate) fn clean_cut(&self, level: Level, range: Range<usize>) -> Range<usize> {
        let files = self.level(level).as_slice();
        let Range { mut start, mut end } = range;
        if start >= end {
            return start..end;
        }
        while start > 0 && self.share_key(&files[start - 1], &files[start]) {
            start -= 1;
        }
        while end < files.len() && self.share_key(&files[end - 1], &files[end]) {
            end += 1;
        }
        base::invariant!(
            start <= end && end <= files.len(),
            "the files {start} to {end} of {level} do not exist"
        );
        start..end
    }

    /// Returns true if `left` ends with an entry of the user key with which `right` begins. `right` is the next file of a sorted
    /// level, so its entries of the key are older. A file with an exclusive end has no entry of its last user key.
    pub fn share_key(&self, left: &TableFile, right: &TableFile) -> bool {
        compare_boundaries(&self.order, &left.largest, &right.smallest).is_eq()
    }
}

/// Returns a user key as an inclusive file boundary.
fn any_version(user_key: &[u8]) -> Vec<u8> {
    let mut out = Vec::with_capacity(user_key.len() + key::TRAILER_LEN);
    key::append_with_trailer(&mut out, user_key, 0);
    out
}

/// Implements [`crate::compaction_iter::Below`] for the levels below an output level. Keys must be ascending.
pub struct BelowCursor {
    version: Arc<Version>,
    /// The levels with files, and in each the first file that does not end before the last key.
    at: Vec<(Level, usize)>,
    /// True if the output level is level 0, where older files may have every key.
    l0_older: bool,
}

impl BelowCursor {
    /// Makes the cursor for the levels below `output_level`. If the output is on level 0, every key may
    /// exist, because older level-0 files may contain it.
    pub fn new(version: Arc<Version>, output_level: Level) -> Self {
        let at = version
            .levels_below(output_level)
            .filter(|&l| !version.level(l).is_empty())
            .map(|l| (l, 0))
            .collect();
        BelowCursor { version, at, l0_older: output_level == Level::ZERO }
    }
}

impl crate::compaction_iter::Below for BelowCursor {
    #[inline]
    fn key_not_exists_beyond_output(&mut self, user_key: &[u8]) -> bool {
        if self.l0_older {
            return false;
        }
        let order = &self.version.order.user;
        for (level, at) in &mut self.at {
            let files = self.version.level(*level).as_slice();
            while let Some(file) = files.get(*at) {
                if order.compare_without_timestamp(user_key, file.largest_user_key()).is_le() {
                    if order.compare_without_timestamp(user_key, file.smallest_user_key()).is_ge() {
                        return false;
                    }
                    break;
                }
                *at += 1;
            }
        }
        true
    }
}
