//! An iterator over one SST file, whatever the file holds: one type, so that sources of iterators need no box.

use base::iter::InternalIterator;
use base::{Pinned, Result};

use crate::cuckoo::CuckooIter;
use crate::plain::PlainIter;
use crate::sst::{EmbeddedIter, Pace, TableIter};

/// See the module.
// The sizes differ, but a box would cost a pointer chase at each entry of a common table.
#[allow(clippy::large_enum_variant)]
pub enum TableRows {
    Block(TableIter),
    /// A table with embedded blobs: the iterator shows their values.
    Embedded(Box<EmbeddedIter>),
    Plain(Box<PlainIter>),
    Cuckoo(Box<CuckooIter>),
}

impl TableRows {
    /// How far the iterator reads ahead, for the iterator over the next SST file of a scan. `None`: the iterator reads
    /// ahead in its own way.
    pub fn pace(&self) -> Option<Pace> {
        match self {
            TableRows::Block(rows) => Some(rows.pace()),
            TableRows::Embedded(rows) => Some(rows.rows().pace()),
            TableRows::Plain(_) | TableRows::Cuckoo(_) => None,
        }
    }

    /// Continues to read ahead as the iterator over the SST file before. Call before the first positioning.
    pub fn keep_pace(&mut self, pace: Pace) {
        match self {
            TableRows::Block(rows) => rows.keep_pace(pace),
            TableRows::Embedded(rows) => rows.rows_mut().keep_pace(pace),
            TableRows::Plain(_) | TableRows::Cuckoo(_) => {}
        }
    }
}

macro_rules! each {
    ($self:ident, $inner:ident => $call:expr) => {
        match $self {
            TableRows::Block($inner) => $call,
            TableRows::Embedded($inner) => $call,
            TableRows::Plain($inner) => $call,
            TableRows::Cuckoo($inner) => $call,
        }
    };
}

impl InternalIterator for TableRows {
    #[inline]
    fn valid(&self) -> bool {
        each!(self, i => i.valid())
    }
    fn seek_to_first(&mut self) {
        each!(self, i => i.seek_to_first())
    }
    fn seek_to_last(&mut self) {
        each!(self, i => i.seek_to_last())
    }
    fn seek(&mut self, target: &[u8]) {
        each!(self, i => i.seek(target))
    }
    fn seek_for_prev(&mut self, target: &[u8]) {
        each!(self, i => i.seek_for_prev(target))
    }
    fn seek_total(&mut self, target: &[u8]) {
        each!(self, i => i.seek_total(target))
    }
    fn seek_total_for_prev(&mut self, target: &[u8]) {
        each!(self, i => i.seek_total_for_prev(target))
    }
    #[inline]
    fn next(&mut self) {
        each!(self, i => i.next())
    }
    #[inline]
    fn prev(&mut self) {
        each!(self, i => i.prev())
    }
    #[inline]
    fn key(&self) -> &[u8] {
        each!(self, i => i.key())
    }
    #[inline]
    fn value(&self) -> &[u8] {
        each!(self, i => i.value())
    }
    fn status(&self) -> Result<()> {
        each!(self, i => i.status())
    }
    #[inline]
    fn pin_value(&self) -> Pinned {
        each!(self, i => i.pin_value())
    }
    fn pin_key(&self) -> Option<Pinned> {
        each!(self, i => i.pin_key())
    }
    fn value_shown(&mut self) {
        each!(self, i => i.value_shown())
    }
}
