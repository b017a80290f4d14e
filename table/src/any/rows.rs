//! An iterator over one SST file of any format. It is one type, so that sources of iterators need no box.

use base::iter::InternalIterator;
use base::{Pinned, Result};

use crate::cuckoo::CuckooIter;
use crate::plain::PlainIter;
use crate::sst::{EmbeddedIter, Pace, TableIter};

/// An iterator over the entries of one SST file of any format.
// The sizes differ, but a box would cost a pointer chase at each entry of a common table.
#[allow(clippy::large_enum_variant)]
pub enum TableRows {
    /// The entries of a block-based table.
    Block(TableIter),
    /// The entries of a table with embedded blobs. The iterator returns the values of the blobs.
    Embedded(Box<EmbeddedIter>),
    /// The entries of a plain table.
    Plain(Box<PlainIter>),
    /// The entries of a cuckoo table.
    Cuckoo(Box<CuckooIter>),
}

impl TableRows {
    /// Returns the state of the read-ahead, for the iterator over the next SST file of a scan. `None` if the
    /// iterator reads ahead in another way.
    pub fn pace(&self) -> Option<Pace> {
        match self {
            TableRows::Block(rows) => Some(rows.pace()),
            TableRows::Embedded(rows) => Some(rows.rows().pace()),
            TableRows::Plain(_) | TableRows::Cuckoo(_) => None,
        }
    }

    /// Continues the read-ahead of the iterator over the previous SST file. Call it before the first seek.
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

/// The calls of each step for the rare formats. They are not inlined, so that a step over a block-based table
/// needs one test and no jump table.
impl TableRows {
    #[cold]
    #[inline(never)]
    fn valid_of_rare(&self) -> bool {
        each!(self, i => i.valid())
    }
    #[cold]
    #[inline(never)]
    fn next_of_rare(&mut self) {
        base::invariant!(self.valid_of_rare(), "an invalid iterator of a rare format is moved");
        each!(self, i => i.next())
    }
    #[cold]
    #[inline(never)]
    fn prev_of_rare(&mut self) {
        base::invariant!(self.valid_of_rare(), "an invalid iterator of a rare format is moved");
        each!(self, i => i.prev())
    }
    #[cold]
    #[inline(never)]
    fn key_of_rare(&self) -> &[u8] {
        each!(self, i => i.key())
    }
    #[cold]
    #[inline(never)]
    fn value_of_rare(&self) -> &[u8] {
        each!(self, i => i.value())
    }
    #[cold]
    #[inline(never)]
    fn pin_value_of_rare(&self) -> Pinned {
        each!(self, i => i.pin_value())
    }
}

impl InternalIterator for TableRows {
    #[inline]
    fn valid(&self) -> bool {
        match self {
            TableRows::Block(i) => i.valid(),
            rare => rare.valid_of_rare(),
        }
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
        match self {
            TableRows::Block(i) => i.next(),
            rare => rare.next_of_rare(),
        }
    }
    #[inline]
    fn prev(&mut self) {
        match self {
            TableRows::Block(i) => i.prev(),
            rare => rare.prev_of_rare(),
        }
    }
    #[inline]
    fn key(&self) -> &[u8] {
        match self {
            TableRows::Block(i) => i.key(),
            rare => rare.key_of_rare(),
        }
    }
    #[inline]
    fn value(&self) -> &[u8] {
        match self {
            TableRows::Block(i) => i.value(),
            rare => rare.value_of_rare(),
        }
    }
    fn status(&self) -> Result<()> {
        each!(self, i => i.status())
    }
    #[inline]
    fn pin_value(&self) -> Pinned {
        match self {
            TableRows::Block(i) => i.pin_value(),
            rare => rare.pin_value_of_rare(),
        }
    }
    fn pin_key(&self) -> Option<Pinned> {
        each!(self, i => i.pin_key())
    }
    fn value_shown(&mut self) {
        each!(self, i => i.value_shown())
    }
}
