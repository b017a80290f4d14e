//! One type for every source of an iterator. The iterator selects the source by a `match`, so a step costs no virtual
//! call.

use mem::memtable::MemIter;

use super::TableRows;
use super::buckets::BucketsIter;
use super::forward::forward_iterator;
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
    ($self:ident, $inner:ident => $call:expr, $none:expr) => {
        match $self {
            Source::Mem($inner) => $call,
            Source::Buckets($inner) => $call,
            Source::Table($inner) => $call,
            Source::Level($inner) => $call,
        }
    };
}

forward_iterator!(Source, each);
