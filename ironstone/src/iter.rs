//! Iterating: a position to move, and a range to loop over.

use std::ops::Bound;

use base::{Error, Pinned, Result};

/// A position in a column family: `seek`, `next`, `prev`, `key`, `value`. Owned; keeps the database open.
///
/// It sees one moment, however long it lives. It is not valid until it is positioned. After a loop, ask
/// `status`: an error ends the iteration and stays. Behind damage (Corruption) or a failed call (IoError) no positioning
/// goes on either, until `refresh`.
pub type Iter = engine::db::DbIterator;

/// A loop over a range of keys, made by [`crate::Db::range`]. After an error it ends.
pub struct Range {
    iter: std::result::Result<Iter, Option<Error>>,
    started: bool,
    /// The first key is to be left out.
    after: Option<Vec<u8>>,
}

impl Range {
    pub(crate) fn new(iter: Result<Iter>, after: Option<Vec<u8>>) -> Self {
        Range { iter: iter.map_err(Some), started: false, after }
    }
}

impl Iterator for Range {
    /// A key, and its value as a view that outlives the loop's step.
    type Item = Result<(Vec<u8>, Pinned)>;

    fn next(&mut self) -> Option<Self::Item> {
        let iter = match &mut self.iter {
            Ok(iter) => iter,
            Err(error) => return error.take().map(Err),
        };
        if self.started {
            iter.next();
        } else {
            self.started = true;
            iter.seek_to_first();
            if self.after.as_deref().is_some_and(|after| iter.valid() && iter.key() == after) {
                iter.next();
            }
        }
        if iter.valid() {
            return Some(Ok((iter.key().to_vec(), iter.pinned_value())));
        }
        let ended = iter.status();
        self.iter = Err(None);
        ended.err().map(Err)
    }
}

/// The bounds of a range as an iterator takes them: first key shown, first key not shown, key left out.
pub(crate) fn bounds<K: AsRef<[u8]> + ?Sized>(
    start: Bound<&&K>,
    end: Bound<&&K>,
) -> (Option<Vec<u8>>, Option<Vec<u8>>, Option<Vec<u8>>) {
    let (lower, after) = match start {
        Bound::Included(key) => (Some(key.as_ref().to_vec()), None),
        Bound::Excluded(key) => (Some(key.as_ref().to_vec()), Some(key.as_ref().to_vec())),
        Bound::Unbounded => (None, None),
    };
    let upper = match end {
        Bound::Excluded(key) => Some(key.as_ref().to_vec()),
        // The next key in byte order: the same with a zero byte behind it.
        Bound::Included(key) => Some([key.as_ref(), &[0]].concat()),
        Bound::Unbounded => None,
    };
    (lower, upper, after)
}
