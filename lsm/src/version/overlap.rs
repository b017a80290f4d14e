//! Which files of a level a key range meets.

use std::ops::Range;
use std::sync::Arc;

use base::key::{self, InternalOrder};

use super::Version;
use crate::file_meta::FileMetaData;

/// A closed range of user keys; empty when made of no files.
#[derive(Clone, Debug, Default, PartialEq, Eq)]
pub struct KeyRange {
    /// Smallest and largest user key.
    pub bounds: Option<(Vec<u8>, Vec<u8>)>,
}

impl KeyRange {
    /// The range that the files span.
    pub fn of<'a>(order: &InternalOrder, files: impl IntoIterator<Item = &'a FileMetaData>) -> Self {
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

    pub fn begin(&self) -> Option<&[u8]> {
        self.bounds.as_ref().map(|(a, _)| a.as_slice())
    }

    pub fn end(&self) -> Option<&[u8]> {
        self.bounds.as_ref().map(|(_, b)| b.as_slice())
    }

    /// Whether both ranges have a user key in common, timestamps apart.
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

impl Version {
    /// Files of a level that meet `[begin, end]` (user keys; `None` is unbounded), in the level's order.
    /// On level 0 the range grows with each file found until nothing more is met.
    pub fn overlapping(&self, level: usize, begin: Option<&[u8]>, end: Option<&[u8]>) -> Vec<Arc<FileMetaData>> {
        if level == 0 {
            return self.overlapping_l0(begin, end);
        }
        let range = self.overlapping_range(level, begin, end);
        self.level(level).as_slice()[range].to_vec()
    }

    fn overlapping_l0(&self, begin: Option<&[u8]>, end: Option<&[u8]>) -> Vec<Arc<FileMetaData>> {
        let order = &self.order.user;
        let files = self.level(0).as_slice();
        let mut taken = vec![false; files.len()];
        let (mut begin, mut end) = (begin, end);
        loop {
            let mut grew = false;
            for (i, file) in files.iter().enumerate() {
                let (a, b) = (file.smallest_user_key(), file.largest_user_key());
                let before = begin.is_some_and(|begin| order.compare_without_timestamp(b, begin).is_lt());
                let after = end.is_some_and(|end| order.compare_without_timestamp(a, end).is_gt());
                if taken[i] || before || after {
                    continue;
                }
                taken[i] = true;
                grew = true;
                if begin.is_some_and(|begin| order.compare_without_timestamp(a, begin).is_lt()) {
                    begin = Some(a);
                }
                if end.is_some_and(|end| order.compare_without_timestamp(b, end).is_gt()) {
                    end = Some(b);
                }
            }
            if !grew {
                break;
            }
        }
        files.iter().zip(taken).filter(|(_, taken)| *taken).map(|(f, _)| f.clone()).collect()
    }

    /// The same on a sorted level, as indexes into it.
    pub fn overlapping_range(&self, level: usize, begin: Option<&[u8]>, end: Option<&[u8]>) -> Range<usize> {
        let order = &self.order.user;
        let files = self.level(level).as_slice();
        let from = begin.map_or(0, |begin| {
            files.partition_point(|f| order.compare_without_timestamp(f.largest_user_key(), begin).is_lt())
        });
        let to = end.map_or(files.len(), |end| {
            files.partition_point(|f| order.compare_without_timestamp(f.smallest_user_key(), end).is_le())
        });
        from..to.max(from)
    }

    /// Whether any file of the level meets the range.
    pub fn overlaps(&self, level: usize, begin: Option<&[u8]>, end: Option<&[u8]>) -> bool {
        if level > 0 {
            return !self.overlapping_range(level, begin, end).is_empty();
        }
        let order = &self.order.user;
        self.level(0).iter().any(|f| {
            !begin.is_some_and(|begin| order.compare_without_timestamp(f.largest_user_key(), begin).is_lt())
                && !end.is_some_and(|end| order.compare_without_timestamp(f.smallest_user_key(), end).is_gt())
        })
    }

    /// Bytes of the files of a level that meet the range.
    pub fn overlapping_bytes(&self, level: usize, begin: Option<&[u8]>, end: Option<&[u8]>) -> u64 {
        self.overlapping(level, begin, end).iter().map(|f| f.size).sum()
    }

    /// Widens an index range of a sorted level until no user key lies on both sides of its ends: all
    /// versions of a key are compacted together.
    pub fn clean_cut(&self, level: usize, range: Range<usize>) -> Range<usize> {
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
        start..end
    }

    /// Whether `left` ends with a version of the user key that `right` begins with. An exclusive end
    /// has no version of its key.
    fn share_key(&self, left: &FileMetaData, right: &FileMetaData) -> bool {
        !left.largest_is_exclusive()
            && self
                .order
                .user
                .compare_without_timestamp(key::user_key(&left.largest), key::user_key(&right.smallest))
                .is_eq()
    }

    /// Whether no level below `level` may hold any version of the user key. Cheap for ascending keys
    /// through [`BelowCursor`].
    pub fn key_not_exists_below(&self, level: usize, user_key: &[u8]) -> bool {
        (level + 1..self.num_levels()).all(|l| !self.overlaps(l, Some(user_key), Some(user_key)))
    }
}

/// [`crate::collapse::Below`] over the levels under an output level, for ascending keys.
pub struct BelowCursor {
    version: Arc<Version>,
    /// Levels with files, and the first file that may still matter in each.
    at: Vec<(usize, usize)>,
    /// Older files on level 0, where the output is level 0 too.
    l0_older: bool,
}

impl BelowCursor {
    /// Levels deeper than `output_level`. An output on level 0 answers "may exist" for every key, since
    /// older level-0 files may hold it.
    pub fn new(version: Arc<Version>, output_level: usize) -> Self {
        let at = (output_level + 1..version.num_levels())
            .filter(|&l| !version.level(l).is_empty())
            .map(|l| (l, 0))
            .collect();
        BelowCursor { version, at, l0_older: output_level == 0 }
    }
}

impl crate::collapse::Below for BelowCursor {
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
