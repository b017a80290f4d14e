//! A position in a table.

use std::sync::Arc;

use base::iter::InternalIterator;
use base::{Pinned, Result};

use super::reader::Reader;

/// An iterator over a table's internal keys. Holds the table open.
pub struct TableIter {
    _reader: Arc<Reader>,
}

impl TableIter {
    /// Whether keys at or past the upper bound may still come; false lets the caller skip comparing.
    #[inline]
    pub fn may_pass_upper_bound(&self) -> bool {
        true
    }
}

impl InternalIterator for TableIter {
    fn valid(&self) -> bool {
        todo!()
    }
    fn seek_to_first(&mut self) {
        todo!()
    }
    fn seek_to_last(&mut self) {
        todo!()
    }
    fn seek(&mut self, _target: &[u8]) {
        todo!()
    }
    fn seek_for_prev(&mut self, _target: &[u8]) {
        todo!()
    }
    fn next(&mut self) {
        todo!()
    }
    fn prev(&mut self) {
        todo!()
    }
    fn key(&self) -> &[u8] {
        todo!()
    }
    fn value(&self) -> &[u8] {
        todo!()
    }
    fn status(&self) -> Result<()> {
        todo!()
    }
    fn pin_value(&self) -> Pinned {
        todo!()
    }
    fn set_upper_bound(&mut self, _bound: Option<&[u8]>) {
        todo!()
    }
}
