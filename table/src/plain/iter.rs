//! A position in a plain table, which moves in both directions.
//!
//! A step forward reads the next row. A step backward, and a seek, read the rows from an anchor on: see the
//! module `plain`.

use std::sync::Arc;

use base::iter::InternalIterator;
use base::{Error, Pinned, Result};

use super::PlainReader;
use super::row::RowCursor;
use crate::flat::bytes::Window;
use crate::sst::ReadCtx;

/// An iterator over a plain table. It keeps the table open.
pub struct PlainIter {
    table: Arc<PlainReader>,
    ctx: ReadCtx,
    cursor: RowCursor,
    valid: bool,
    error: Option<Error>,
}

impl PlainIter {
    pub(super) fn new(table: Arc<PlainReader>, ctx: ReadCtx) -> PlainIter {
        let cursor = RowCursor::new(Window::for_iterator(&ctx));
        PlainIter { table, ctx, cursor, valid: false, error: None }
    }

    /// Records the result of a move: whether the iterator is at a row.
    fn settle(&mut self, outcome: Result<bool>) {
        (self.valid, self.error) = match outcome {
            Ok(valid) => (valid, None),
            Err(error) => (false, Some(error)),
        };
    }

    fn step(&mut self) -> Result<bool> {
        if self.cursor.next >= self.table.rows.end {
            return Ok(false);
        }
        self.cursor.step(&self.table.rows, &self.ctx)?;
        Ok(true)
    }

    fn try_first(&mut self) -> Result<bool> {
        if self.table.rows.end == 0 {
            return Ok(false);
        }
        self.cursor.jump(&self.table.rows, 0, &self.ctx)?;
        Ok(true)
    }

    fn try_seek(&mut self, target: &[u8]) -> Result<bool> {
        let mut on_row = match self.table.anchor_before(&mut self.cursor, target, &self.ctx)? {
            Some(_) => self.step()?,
            None => self.try_first()?,
        };
        while on_row && self.table.order.compare(self.cursor.key(), target).is_lt() {
            on_row = self.step()?;
        }
        Ok(on_row)
    }

    /// Moves to the last row that starts before `offset`.
    fn try_before(&mut self, offset: u64) -> Result<bool> {
        let anchors = self.table.anchors()?;
        let at = anchors.partition_point(|anchor| u64::from(*anchor) < offset);
        let Some(anchor) = at.checked_sub(1).and_then(|at| anchors.get(at)) else { return Ok(false) };
        let anchor = u64::from(*anchor);
        self.cursor.jump(&self.table.rows, anchor, &self.ctx)?;
        while self.cursor.next < offset {
            self.cursor.step(&self.table.rows, &self.ctx)?;
        }
        Ok(true)
    }

    fn try_seek_for_prev(&mut self, target: &[u8]) -> Result<bool> {
        if !self.try_seek(target)? {
            return self.try_before(self.table.rows.end);
        }
        match self.table.order.compare(self.cursor.key(), target).is_eq() {
            true => Ok(true),
            false => self.try_before(self.cursor.at),
        }
    }

    /// Returns true if the filter excludes the prefix of `target`.
    fn ruled_out(&self, target: &[u8]) -> bool {
        let by_prefix = !self.ctx.total_order_seek && !self.ctx.auto_prefix_mode && !self.ctx.for_compaction;
        by_prefix && !self.table.prefix_may_match(target, self.ctx.prefix_extractor.as_ref())
    }
}

impl InternalIterator for PlainIter {
    #[inline]
    fn valid(&self) -> bool {
        self.valid
    }

    fn seek_to_first(&mut self) {
        let outcome = self.try_first();
        self.settle(outcome);
    }

    fn seek_to_last(&mut self) {
        let outcome = self.try_before(self.table.rows.end);
        self.settle(outcome);
    }

    fn seek(&mut self, target: &[u8]) {
        let outcome = if self.ruled_out(target) { Ok(false) } else { self.try_seek(target) };
        self.settle(outcome);
    }

    fn seek_for_prev(&mut self, target: &[u8]) {
        let outcome = if self.ruled_out(target) { Ok(false) } else { self.try_seek_for_prev(target) };
        self.settle(outcome);
    }

    fn seek_total(&mut self, target: &[u8]) {
        let outcome = self.try_seek(target);
        self.settle(outcome);
    }

    fn seek_total_for_prev(&mut self, target: &[u8]) {
        let outcome = self.try_seek_for_prev(target);
        self.settle(outcome);
    }

    fn next(&mut self) {
        base::invariant!(self.valid, "an invalid plain iterator is moved");
        let outcome = self.step();
        self.settle(outcome);
    }

    fn prev(&mut self) {
        base::invariant!(self.valid, "an invalid plain iterator is moved");
        let outcome = self.try_before(self.cursor.at);
        self.settle(outcome);
    }

    #[inline]
    fn key(&self) -> &[u8] {
        self.cursor.key()
    }

    #[inline]
    fn value(&self) -> &[u8] {
        self.cursor.value()
    }

    fn status(&self) -> Result<()> {
        self.error.clone().map_or(Ok(()), Err)
    }

    fn pin_value(&self) -> Pinned {
        self.cursor.window().pin(self.cursor.value_range())
    }
}
