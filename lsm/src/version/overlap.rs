//! Which files of a level a key range meets.

use std::sync::Arc;

use base::key::InternalOrder;

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
}

impl Version {
    /// Files of a level that meet `[begin, end]` (user keys; `None` is unbounded), in the level's order.
    /// On level 0 the range grows with each file found until nothing more is met.
    pub fn overlapping(&self, level: usize, begin: Option<&[u8]>, end: Option<&[u8]>) -> Vec<Arc<FileMetaData>> {
        let _ = (level, begin, end);
        todo!()
    }

    /// Whether any file of the level meets the range.
    pub fn overlaps(&self, level: usize, begin: Option<&[u8]>, end: Option<&[u8]>) -> bool {
        let _ = (level, begin, end);
        todo!()
    }
}
