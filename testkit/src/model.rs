//! The reference model: the rows that a column family must show, as a sorted map.

use std::collections::BTreeMap;
use std::ops::Bound;
use std::sync::Arc;

/// The rows of one column family, in the order of bytes. A copy shares the bytes with the original.
#[derive(Clone, Debug, Default, PartialEq, Eq)]
pub struct Model {
    rows: BTreeMap<Arc<[u8]>, Arc<[u8]>>,
}

impl Model {
    /// Sets the value of a key, and replaces an older value.
    pub fn put(&mut self, key: &[u8], value: &[u8]) {
        match self.rows.get_mut(key) {
            Some(old) => *old = value.into(),
            None => drop(self.rows.insert(key.into(), value.into())),
        }
    }

    /// Removes a key. A key that does not exist is not an error.
    pub fn delete(&mut self, key: &[u8]) {
        self.rows.remove(key);
    }

    /// Removes the keys in `[start, end)`. Does nothing if the range is empty or inverted.
    pub fn delete_range(&mut self, start: &[u8], end: &[u8]) {
        if start < end {
            let keys: Vec<_> = self.range(Some(start), Some(end)).map(|(k, _)| k.to_vec()).collect();
            keys.iter().for_each(|k| self.delete(k));
        }
    }

    /// Appends an operand with a comma, as the merge operator `stringappend` does.
    pub fn append(&mut self, key: &[u8], operand: &[u8]) {
        match self.rows.get_mut(key) {
            Some(value) => *value = [value, b",".as_slice(), operand].concat().into(),
            None => self.put(key, operand),
        }
    }

    /// Returns the value that a read of the key must return, or `None` if the key must not exist.
    pub fn get(&self, key: &[u8]) -> Option<&[u8]> {
        self.rows.get(key).map(|value| &**value)
    }

    /// Returns the number of keys.
    pub fn len(&self) -> usize {
        self.rows.len()
    }

    /// Returns true if the column family must show no key.
    pub fn is_empty(&self) -> bool {
        self.rows.is_empty()
    }

    /// Returns the rows in `[lower, upper)`.
    pub fn range<'a>(
        &'a self,
        lower: Option<&[u8]>,
        upper: Option<&[u8]>,
    ) -> impl DoubleEndedIterator<Item = (&'a [u8], &'a [u8])> {
        let from = lower.map_or(Bound::Unbounded, Bound::Included);
        let to = upper.map_or(Bound::Unbounded, Bound::Excluded);
        let empty = matches!((lower, upper), (Some(l), Some(u)) if l >= u);
        let nothing: (Bound<&[u8]>, Bound<&[u8]>) = (Bound::Included(&[]), Bound::Excluded(&[]));
        let range = self.rows.range::<[u8], _>(if empty { nothing } else { (from, to) });
        range.map(|(k, v)| (&**k, &**v))
    }

    /// Returns copies of all rows.
    pub fn rows(&self) -> Vec<(Vec<u8>, Vec<u8>)> {
        self.rows.iter().map(|(k, v)| (k.to_vec(), v.to_vec())).collect()
    }

    /// Returns all rows. The result shares the bytes with the model.
    pub fn shared_rows(&self) -> Vec<(Arc<[u8]>, Arc<[u8]>)> {
        self.rows.iter().map(|(k, v)| (k.clone(), v.clone())).collect()
    }

    /// Returns all rows in order.
    pub fn iter(&self) -> impl DoubleEndedIterator<Item = (&[u8], &[u8])> {
        self.rows.iter().map(|(k, v)| (&**k, &**v))
    }
}
