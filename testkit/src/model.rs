//! The reference model: what a family must read as, in the plainest form there is.

use std::collections::BTreeMap;
use std::ops::Bound;

/// One family at one moment. Keys in byte order.
#[derive(Clone, Debug, Default, PartialEq, Eq)]
pub struct Model {
    rows: BTreeMap<Vec<u8>, Vec<u8>>,
}

impl Model {
    pub fn put(&mut self, key: &[u8], value: &[u8]) {
        self.rows.insert(key.to_vec(), value.to_vec());
    }

    pub fn delete(&mut self, key: &[u8]) {
        self.rows.remove(key);
    }

    /// Removes `[start, end)`; nothing if the range is empty or inverted.
    pub fn delete_range(&mut self, start: &[u8], end: &[u8]) {
        if start < end {
            let keys: Vec<_> = self.range(Some(start), Some(end)).map(|(k, _)| k.to_vec()).collect();
            keys.iter().for_each(|k| self.delete(k));
        }
    }

    /// As the operator `stringappend` with a comma.
    pub fn append(&mut self, key: &[u8], operand: &[u8]) {
        match self.rows.get_mut(key) {
            Some(value) => {
                value.push(b',');
                value.extend_from_slice(operand);
            }
            None => self.put(key, operand),
        }
    }

    pub fn get(&self, key: &[u8]) -> Option<&[u8]> {
        self.rows.get(key).map(Vec::as_slice)
    }

    pub fn len(&self) -> usize {
        self.rows.len()
    }

    pub fn is_empty(&self) -> bool {
        self.rows.is_empty()
    }

    /// Rows in `[lower, upper)`.
    pub fn range<'a>(
        &'a self,
        lower: Option<&[u8]>,
        upper: Option<&[u8]>,
    ) -> impl DoubleEndedIterator<Item = (&'a [u8], &'a [u8])> {
        let from = lower.map_or(Bound::Unbounded, |k| Bound::Included(k.to_vec()));
        let to = upper.map_or(Bound::Unbounded, |k| Bound::Excluded(k.to_vec()));
        let empty = matches!((lower, upper), (Some(l), Some(u)) if l >= u);
        let range = if empty { self.rows.range(Vec::new()..Vec::new()) } else { self.rows.range((from, to)) };
        range.map(|(k, v)| (k.as_slice(), v.as_slice()))
    }

    /// All rows, copied.
    pub fn rows(&self) -> Vec<(Vec<u8>, Vec<u8>)> {
        self.rows.iter().map(|(k, v)| (k.clone(), v.clone())).collect()
    }
}
