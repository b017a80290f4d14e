//! One type for every source of an iterator. A `match` selects the source, not a virtual call.

use base::Pinned;
use base::Result;
use base::iter::InternalIterator;
use mem::memtable::MemIter;

use super::TableRows;
use super::buckets::BucketsIter;
use super::level::LevelIter;

/// A memtable, an SST file, or a level of SST files.
// The sizes differ, but a box would cost a pointer dereference for each entry.
#[allow(clippy::large_enum_variant)]
pub enum Source {
    Mem(MemIter),
    Buckets(BucketsIter),
    Table(TableRows),
    Level(LevelIter),
}

macro_rules! each {
    ($self:ident, $inner:ident => $call:expr) => {
        match $self {
            Source::Mem($inner) => $call,
            Source::Buckets($inner) => $call,
            Source::Table($inner) => $call,
            Source::Level($inner) => $call,
        }
    };
}

impl InternalIterator for Source {
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
