//! Iterates over the entries of a column family: an iterator that the caller moves, and a Rust iterator over a range.

use std::ops::Bound;

use base::{Error, Order, Pinned, Result};

use crate::{Family, ReadOptions};

/// An iterator over the entries of a column family: `seek`, `next`, `prev`, `key`, `value`. The iterator is owned and
/// keeps the database open.
///
/// The iterator reads at one sequence number: it shows no write after its creation, unless it is tailing or
/// refreshed. A new iterator is not valid before the first `seek`. An iteration also ends at an error, so check
/// `status` after each loop. After Corruption or IoError, the iterator stays invalid until `refresh`; after another
/// error, the next `seek` tries again.
///
/// ```
/// # let db = ironstone::Db::open("data", ironstone::Options::in_memory())?;
/// db.put(b"a", b"1")?;
/// db.put(b"b", b"2")?;
/// let mut iter = db.iter()?;
/// iter.seek(b"b");
/// assert_eq!((iter.key(), iter.value()), (&b"b"[..], &b"2"[..]));
/// iter.prev();
/// assert_eq!(iter.key(), b"a");
/// iter.prev();
/// assert!(!iter.valid());
/// iter.status()?;
/// # Ok::<(), ironstone::Error>(())
/// ```
pub type Iter = engine::db::DbIterator;

/// A loop over a range of keys, made by [`crate::Family::range`]. After an error the loop ends.
///
/// ```
/// # let db = ironstone::Db::open("data", ironstone::Options::in_memory())?;
/// db.put(b"a", b"1")?;
/// db.put(b"b", b"2")?;
/// for entry in db.range(&b"a"[..]..&b"b"[..]) {
///     let (key, value) = entry?;
///     assert_eq!((&key[..], &value[..]), (&b"a"[..], &b"1"[..]));
/// }
/// # Ok::<(), ironstone::Error>(())
/// ```
pub struct Range {
    iter: std::result::Result<Iter, Option<Error>>,
    order: Order,
    started: bool,
    /// The excluded start of the range. The first step skips this key.
    after: Option<Vec<u8>>,
    /// The included end of the range. The loop ends after this key.
    last: Option<Vec<u8>>,
}

impl Range {
    /// Returns a loop over the entries of `family` in a range of keys.
    pub(crate) fn new<K: AsRef<[u8]> + ?Sized>(family: &Family, start: Bound<&K>, end: Bound<&K>) -> Range {
        let bytes = |key: &K| key.as_ref().to_vec();
        let (lower, after) = match start {
            Bound::Included(key) => (Some(bytes(key)), None),
            Bound::Excluded(key) => (Some(bytes(key)), Some(bytes(key))),
            Bound::Unbounded => (None, None),
        };
        let (upper, last) = match end {
            Bound::Excluded(key) => (Some(bytes(key)), None),
            Bound::Included(key) => (None, Some(bytes(key))),
            Bound::Unbounded => (None, None),
        };
        let order = family.inner.order().user.clone();
        // A bytewise order has a next key: the key with a zero byte appended. With a bound, the iterator reads no block
        // after the range. With a custom comparator the next key is unknown, and the loop compares each key.
        let upper = match &last {
            Some(key) if order.is_bytewise() => Some([key, &[0][..]].concat()),
            _ => upper,
        };
        let options = ReadOptions {
            iterate_lower_bound: lower,
            iterate_upper_bound: upper,
            // The range has keys of many prefixes. A seek by prefix, the default with a prefix extractor, may skip them.
            total_order_seek: true,
            ..ReadOptions::default()
        };
        let iter = family.iter_with(options).map_err(Some);
        Range { iter, order, started: false, after, last }
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
        let order = &self.order;
        if self.started {
            iter.next();
        } else {
            self.started = true;
            iter.seek_to_first();
            let is_start = |after: &Vec<u8>| order.compare_stripped(iter.key(), after).is_eq();
            if iter.valid() && self.after.as_ref().is_some_and(is_start) {
                iter.next();
            }
        }
        let is_inside = |last: &Vec<u8>| order.compare_stripped(iter.key(), last).is_le();
        if iter.valid() && self.last.as_ref().is_none_or(is_inside) {
            return Some(Ok((iter.key().to_vec(), iter.pinned_value())));
        }
        let ended = iter.status();
        self.iter = Err(None);
        ended.err().map(Err)
    }
}
