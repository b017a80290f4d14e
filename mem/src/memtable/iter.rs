//! Iterators over a memtable.

use std::sync::Arc;

use base::Pinned;
use base::error::{Error, Result};
use base::iter::{Direction, InternalIterator};
use base::key;
use base::stats::{PerfCounter, PerfTimer, perf_add};

use crate::arena::Ref;
use crate::rep::entry::{Bound, Entry};
use crate::rep::tree::Cursor;
use crate::rep::vector::Vector;

use super::inplace::Cells;
use super::{MemTable, Pins, Rep};

/// Iterates over a memtable and keeps the memtable alive. A step takes no lock, allocates nothing, and makes
/// no virtual call. With in-place updates, a step copies the value under a lock.
pub struct MemIter {
    at: Position,
    /// The decoded entry at the position. Valid while `place` is not 0.
    entry: Entry<'static>,
    place: Ref,
    error: Option<Error>,
    /// True if searches and moves are checked; see `checked`.
    checked: bool,
    /// With in-place updates: a copy of the value, from the time when the iterator moved to the entry.
    copy: Vec<u8>,
    /// The memtable. This field is the last field: Rust drops it after the fields that point into the memtable.
    table: Arc<MemTable>,
}

enum Position {
    Tree(Box<Cursor>),
    Sorted { places: Arc<[Ref]>, at: usize },
}

impl MemIter {
    pub(super) fn new(table: Arc<MemTable>) -> Self {
        let at = match &table.rep {
            Rep::Tree(_) => Position::Tree(Box::new(Cursor::new())),
            Rep::Vector(vector) => Position::Sorted { places: vector.sorted(&table.entries), at: usize::MAX },
        };
        let checked = table.checks().are_on() && table.rep.tree().is_some();
        MemIter { at, entry: Entry::EMPTY, place: 0, error: None, checked, copy: Vec::new(), table }
    }

    /// Moves to the position that `tree` or `sorted` computes, and decodes the entry there. `sorted` returns
    /// an index; an index past the end means no entry.
    #[inline]
    fn go(
        &mut self,
        tree: impl FnOnce(&mut Cursor, &MemTable, &crate::rep::tree::Tree),
        sorted: impl FnOnce(&[Ref], usize, &MemTable) -> usize,
    ) {
        self.place = match (&mut self.at, &self.table.rep) {
            (Position::Tree(cursor), Rep::Tree(rep)) => {
                tree(cursor, &self.table, rep);
                cursor.place()
            }
            (Position::Sorted { places, at }, _) => {
                *at = sorted(places, *at, &self.table);
                places.get(*at).copied().unwrap_or(0)
            }
            (Position::Tree(_), Rep::Vector(_)) => 0,
        };
        if self.place != 0 {
            // SAFETY: the rep returned the place. The entry lives as long as the arena, and `self.table`
            // keeps the arena. The slices of the entry are returned only for the lifetime of `&self`.
            self.entry = unsafe {
                std::mem::transmute::<Entry<'_>, Entry<'static>>(self.table.entries.entry(self.place))
            };
            if let Err(error) = self.table.entries.verify(&self.entry) {
                self.error = Some(error);
                self.place = 0;
            } else if self.table.cells.is_some() {
                // The entry is verified, so its place of the cell can be trusted.
                self.copy_value();
            }
        }
    }

    /// Copies the value at the position out of its cell, because a later put may overwrite the cell.
    #[cold]
    fn copy_value(&mut self) {
        base::invariant!(self.place != 0, "an invalid memtable iterator has no value");
        if let Some(cells) = self.table.cells.as_ref().filter(|_| Cells::hold(self.entry.trailer() as u8))
            && let Err(error) = cells.read(&self.table.entries, &self.entry, &mut self.copy)
        {
            self.error = Some(error);
            self.place = 0;
        }
    }

    /// Returns the value at the position if it is a copy.
    #[inline]
    fn copied(&self) -> Option<&[u8]> {
        let copied = self.table.cells.is_some() && Cells::hold(self.entry.trailer() as u8);
        copied.then_some(&self.copy)
    }

    /// Clears the error at the start of a positioning call.
    fn position(&mut self) {
        self.error = None;
    }

    /// Checks the result of a search, if searches are checked.
    #[inline]
    fn check_search(&mut self, target: &[u8]) {
        if self.checked
            && let Position::Tree(cursor) = &self.at
        {
            let target = self.table.entries.target(key::user_key(target), key::trailer(target));
            let checked = self.table.checks().check_search(cursor, &target);
            self.settle(checked);
        }
    }

    #[cold]
    fn move_checked(&mut self, direction: Direction) {
        let (was, before) = (self.place, self.entry);
        match direction {
            Direction::Forward => {
                self.go(|cursor, table, tree| cursor.next(tree, &table.entries), |_, at, _| at)
            }
            Direction::Backward => {
                self.go(|cursor, table, tree| cursor.prev(tree, &table.entries), |_, at, _| at)
            }
        }
        if was != 0 && self.place != 0 {
            let (before, after) = match direction {
                Direction::Forward => (before, self.entry),
                Direction::Backward => (self.entry, before),
            };
            let checked = self.table.checks().check_order(&before, &after);
            self.settle(checked);
        }
    }

    /// Seeks as RocksDB does: a checked search forward, then checked steps back.
    #[cold]
    fn seek_for_prev_checked(&mut self, target: &[u8]) {
        self.seek(target);
        if self.error.is_none() && !self.valid() {
            self.seek_to_last();
        }
        while self.valid() && self.table.entries.order.compare(self.entry.internal_key, target).is_gt() {
            self.prev();
        }
    }

    fn settle(&mut self, checked: Result<()>) {
        if let Err(error) = checked {
            self.error = Some(error);
            self.place = 0;
        }
    }

    /// Starts a seek: clears the error, and counts and times the seek for the perf context of the thread.
    fn begin_seek(&mut self) -> PerfTimer {
        self.position();
        perf_add(PerfCounter::SeekOnMemtableCount, 1);
        PerfTimer::start(PerfCounter::SeekOnMemtableTime)
    }
}

impl InternalIterator for MemIter {
    #[inline]
    fn valid(&self) -> bool {
        self.place != 0
    }

    fn seek_to_first(&mut self) {
        self.position();
        self.go(|cursor, table, tree| cursor.seek_to_first(tree, &table.entries), |_, _, _| 0);
    }

    fn seek_to_last(&mut self) {
        self.position();
        self.go(
            |cursor, table, tree| cursor.seek_to_last(tree, &table.entries),
            |places, _, _| places.len().wrapping_sub(1),
        );
    }

    fn seek(&mut self, target: &[u8]) {
        let _time = self.begin_seek();
        let (user_key, trailer) = (key::user_key(target), key::trailer(target));
        self.go(
            |cursor, table, tree| cursor.seek(tree, &table.entries, &table.entries.target(user_key, trailer)),
            |places, _, table| {
                Vector::partition(
                    places,
                    &table.entries,
                    &table.entries.target(user_key, trailer),
                    Bound::AtOrAfter,
                )
            },
        );
        self.check_search(target);
    }

    fn seek_for_prev(&mut self, target: &[u8]) {
        if self.checked {
            return self.seek_for_prev_checked(target);
        }
        let _time = self.begin_seek();
        let (user_key, trailer) = (key::user_key(target), key::trailer(target));
        self.go(
            |cursor, table, tree| {
                cursor.seek_for_prev(tree, &table.entries, &table.entries.target(user_key, trailer));
            },
            |places, _, table| {
                let target = table.entries.target(user_key, trailer);
                Vector::partition(places, &table.entries, &target, Bound::After).wrapping_sub(1)
            },
        );
    }

    #[inline]
    fn next(&mut self) {
        base::invariant!(self.place != 0, "an invalid memtable iterator is moved");
        perf_add(PerfCounter::NextOnMemtableCount, 1);
        if self.checked {
            return self.move_checked(Direction::Forward);
        }
        self.go(|cursor, table, tree| cursor.next(tree, &table.entries), |_, at, _| at.wrapping_add(1));
    }

    #[inline]
    fn prev(&mut self) {
        base::invariant!(self.place != 0, "an invalid memtable iterator is moved");
        perf_add(PerfCounter::PrevOnMemtableCount, 1);
        if self.checked {
            return self.move_checked(Direction::Backward);
        }
        self.go(|cursor, table, tree| cursor.prev(tree, &table.entries), |_, at, _| at.wrapping_sub(1));
    }

    #[inline]
    fn key(&self) -> &[u8] {
        self.entry.internal_key
    }

    #[inline]
    fn value(&self) -> &[u8] {
        self.copied().unwrap_or(self.entry.value)
    }

    #[inline]
    fn status(&self) -> Result<()> {
        match &self.error {
            None => Ok(()),
            Some(error) => Err(error.clone()),
        }
    }

    fn pin_value(&self) -> Pinned {
        match self.copied() {
            _ if self.place == 0 => Pinned::copy(&[]),
            Some(copy) => Pinned::copy(copy),
            None => Pinned::region(Pins::of(&self.table), u64::from(self.place)),
        }
    }

    fn pin_key(&self) -> Option<Pinned> {
        (self.place != 0).then(|| Pinned::region(Pins::of(&self.table), u64::from(self.place) | Pins::KEY))
    }
}
