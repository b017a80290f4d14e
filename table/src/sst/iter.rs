//! A position in a table.
//!
//! It consists of two positions: a cursor in the index, and an iterator in the data block of the cursor. A
//! step inside a block uses the block iterator only. At the end of a block the cursor moves, the next block
//! is fetched, and the upper bound is checked. So no entry is compared with the bound here. An iteration
//! stops at the first end of a block whose separator is not below the bound.

use std::sync::Arc;

use base::iter::InternalIterator;
use base::stats::{PerfCounter, PerfTimer};
use base::{Error, Pinned, Result};
use format::block::BlockIter;
use format::handle::BlockHandle;

use super::block_kind::BlockKind;
use super::fetch::{BlockRef, data};
use super::file_source::Source;
use super::index_reader::IndexCursor;
use super::lookahead::LookAhead;
use super::prefetch::{Pace, ReadAhead, SystemHelp};
use super::read_amp::Bits;
use super::read_ctx::ReadCtx;
use super::reader::Reader;

/// An iterator over the internal keys of a table. It keeps the table open.
pub struct TableIter {
    rows: BlockIter,
    /// The cache entry of the current block. The cache counts the entry as pinned.
    block: Option<BlockRef>,
    /// The used bytes of the current block, if they are measured.
    bits: Option<Arc<Bits>>,
    /// The handle of the current block, or null if there is none.
    handle: BlockHandle,
    /// True if a key of the block may be at or after the upper bound.
    near_bound: bool,
    cursor: IndexCursor,
    reader: Arc<Reader>,
    ctx: ReadCtx,
    ahead: ReadAhead,
    look_ahead: LookAhead,
    /// True if a seek ends at once if the filter excludes the prefix.
    check_prefix: bool,
    /// The state of the last seek, for the counters.
    sought: Sought,
    error: Option<Error>,
}

/// Runs a seek within a block and counts its time.
#[inline]
fn timed_seek(seek: impl FnOnce()) {
    let _time = PerfTimer::start(PerfCounter::BlockSeekNanos);
    seek();
}

/// The state of a seek. `filtered`: the filter was queried and did not exclude the prefix.
#[derive(Clone, Copy)]
enum Sought {
    Begun {
        filtered: bool,
    },
    /// The seek entered a data block.
    Entered {
        filtered: bool,
    },
    /// An entry of the block was returned, or the seek is not counted.
    Counted,
}

impl Drop for TableIter {
    fn drop(&mut self) {
        if let Some(bytes) = self.ahead.unwanted() {
            self.reader.source.counts.let_go_ahead(bytes);
        }
    }
}

impl Reader {
    /// Makes an iterator. It keeps the table open.
    pub fn iter(self: &Arc<Self>, ctx: &ReadCtx) -> TableIter {
        TableIter::new(self.clone(), ctx.clone())
    }
}

impl TableIter {
    pub(super) fn new(reader: Arc<Reader>, ctx: ReadCtx) -> TableIter {
        TableIter {
            rows: BlockIter::empty(reader.source.rewrite),
            block: None,
            bits: None,
            handle: BlockHandle::NULL,
            near_bound: false,
            cursor: IndexCursor::default(),
            ahead: ReadAhead::new(
                &reader.table_options,
                ctx.readahead_size,
                reader.data_end,
                SystemHelp { announce: ctx.async_io, delegate: ctx.for_compaction },
            ),
            look_ahead: LookAhead::new(),
            check_prefix: !ctx.total_order_seek
                && !ctx.for_compaction
                && reader.filter.has_prefixes(ctx.prefix_extractor.as_ref()),
            sought: Sought::Counted,
            reader,
            ctx,
            error: None,
        }
    }

    /// Returns the state of the read-ahead, for the iterator over the next table of a scan.
    pub fn pace(&self) -> Pace {
        self.ahead.pace()
    }

    /// Continues the read-ahead of the iterator over the previous table. Call it before the first seek.
    pub fn keep_pace(&mut self, pace: Pace) {
        self.ahead.keep_pace(pace);
    }

    /// Returns the table.
    pub fn reader(&self) -> &Arc<Reader> {
        &self.reader
    }

    /// Makes the iterator not valid. If `outcome` is an error, records it.
    #[cold]
    fn stop(&mut self, outcome: Result<()>) {
        self.leave_block();
        base::invariant!(!self.rows.valid(), "an iterator with an error stands on an entry");
        self.error = outcome.err();
    }

    fn leave_block(&mut self) {
        if !self.handle.is_null() {
            self.rows = BlockIter::empty(self.reader.source.rewrite);
            self.block = None;
            self.bits = None;
            self.handle = BlockHandle::NULL;
        }
        self.near_bound = false;
        base::invariant!(
            self.block.is_none() && self.handle.is_null(),
            "an iterator left its block and holds the block"
        );
    }

    /// Does [`TableIter::enter_block`] for a block that will be searched.
    fn enter_block_to_search(&mut self) -> Result<bool> {
        self.enter_block_for(|source, block, handle, ctx| source.to_search(block, handle, ctx))
    }

    /// Opens the block at the cursor, unless it is open. Returns false if the cursor is at no block.
    fn enter_block(&mut self) -> Result<bool> {
        self.enter_block_for(|_, block, _, _| block)
    }

    /// Opens the block at the cursor. `cached` processes a block that was found in the cache.
    #[inline(always)]
    fn enter_block_for(
        &mut self,
        cached: impl Fn(&Source, BlockRef, BlockHandle, &ReadCtx) -> BlockRef,
    ) -> Result<bool> {
        let Some(index) = self.cursor.index().filter(|index| self.cursor.at < index.len()) else {
            self.leave_block();
            return Ok(false);
        };
        let source = &self.reader.source;
        let handle = source.handle_in(index, self.cursor.at)?;
        self.near_bound = match &self.ctx.upper_bound {
            Some(bound) => !index.is_below(self.cursor.at, &source.order.user, bound),
            None => false,
        };
        if handle == self.handle {
            return Ok(true);
        }
        let _time = PerfTimer::start(PerfCounter::NewTableBlockIterNanos);
        let ahead = self.look_ahead.take(handle).inspect(|block| source.used_ahead(block, handle, &self.ctx));
        let block = match ahead.or_else(|| source.lookup(handle, BlockKind::Data, &self.ctx)) {
            Some(block) => cached(source, block, handle, &self.ctx),
            None => {
                if let Some(bound) = self.ctx.upper_bound.as_deref().filter(|_| self.ctx.auto_readahead_size)
                {
                    self.ahead.trim(index.end_of_block_with(self.cursor.at, &source.order.user, bound));
                }
                source.load(handle, BlockKind::Data, &self.ctx, Some(&mut self.ahead))?
            }
        };
        let Some(rows) = data(&block) else { return Err(source.wrong_kind(handle, BlockKind::Data)) };
        base::invariant!(!handle.is_null(), "a data block without a place");
        self.bits = source.read_amp.as_ref().map(|amp| amp.of_block(handle.offset, rows));
        self.rows.reset(rows.clone());
        self.block = Some(block);
        self.handle = handle;
        if let Sought::Begun { filtered } = self.sought {
            source.counts.seek_entered_block();
            self.sought = Sought::Entered { filtered };
        }
        Ok(true)
    }

    /// After a move inside a block: returns true if the iterator is at an entry.
    #[inline]
    fn check_rows(&mut self) -> Result<bool> {
        if self.rows.valid() {
            return Ok(true);
        }
        match self.rows.status() {
            Ok(()) => Ok(false),
            Err(error) => Err(self.reader.source.blame_data(error, self.handle)),
        }
    }

    /// Moves to the first entry of the next blocks.
    fn first_behind(&mut self) -> Result<()> {
        base::invariant!(!self.rows.valid(), "the iterator leaves a block with entries left");
        loop {
            // Every later key is after the separator of this block, and the separator is not below the upper
            // bound.
            if self.near_bound {
                self.leave_block();
                return Ok(());
            }
            self.cursor.next(&self.reader.index, &self.reader.source, &self.ctx)?;
            if !self.enter_block()? {
                return Ok(());
            }
            // Blocks that a compaction reads are seldom cached, so it does not look ahead.
            if let Some(index) = self.cursor.index().filter(|_| !self.near_bound && !self.ctx.for_compaction)
            {
                self.look_ahead.advance(&self.reader.source, index, self.cursor.at);
            }
            self.rows.seek_to_first();
            if self.check_rows()? {
                return Ok(());
            }
        }
    }

    /// Moves to the last entry of the previous blocks.
    fn last_before(&mut self) -> Result<()> {
        base::invariant!(!self.rows.valid(), "the iterator leaves a block with entries left");
        self.look_ahead.reset();
        loop {
            self.cursor.prev(&self.reader.index, &self.reader.source, &self.ctx)?;
            if !self.enter_block()? {
                return Ok(());
            }
            self.rows.seek_to_last();
            if self.check_rows()? {
                return Ok(());
            }
        }
    }

    /// Resets the look-ahead and the counters at the start of a seek.
    fn begin_seek(&mut self) {
        self.look_ahead.reset();
        if !self.ctx.for_compaction {
            self.sought = Sought::Begun { filtered: false };
        }
    }

    /// Returns true if the filter excludes the prefix of `target`, so that the seek can end at once.
    fn ruled_out(&mut self, target: &[u8]) -> Result<bool> {
        if !self.check_prefix {
            return Ok(false);
        }
        let bound = self.ctx.upper_bound.as_deref();
        let reader = &self.reader;
        let ruled_out = !reader.filter.prefix_may_match(&reader.source, target, bound, &self.ctx)?;
        self.sought = Sought::Begun { filtered: true };
        Ok(ruled_out)
    }

    fn try_seek(&mut self, target: &[u8]) -> Result<()> {
        if self.ruled_out(target)? {
            self.leave_block();
            return Ok(());
        }
        self.try_seek_total(target)
    }

    fn try_seek_total(&mut self, target: &[u8]) -> Result<()> {
        let reader = &self.reader;
        self.cursor.seek(&reader.index, &reader.source, &self.ctx, target)?;
        if !self.enter_block_to_search()? {
            return Ok(());
        }
        timed_seek(|| self.rows.seek(&self.reader.source.order, target));
        if self.check_rows()? { Ok(()) } else { self.first_behind() }
    }

    fn try_seek_for_prev(&mut self, target: &[u8]) -> Result<()> {
        // The upper bound does not restrict the keys before the target, so `auto_prefix_mode` cannot use the
        // filter.
        if !self.ctx.auto_prefix_mode && self.ruled_out(target)? {
            self.leave_block();
            return Ok(());
        }
        self.try_seek_total_for_prev(target)
    }

    fn try_seek_total_for_prev(&mut self, target: &[u8]) -> Result<()> {
        let reader = &self.reader;
        self.cursor.seek(&reader.index, &reader.source, &self.ctx, target)?;
        if !self.cursor.valid() {
            return self.try_seek_to_last();
        }
        self.enter_block_to_search()?;
        timed_seek(|| self.rows.seek_for_prev(&self.reader.source.order, target));
        if self.check_rows()? { Ok(()) } else { self.last_before() }
    }

    fn try_seek_to_first(&mut self) -> Result<()> {
        let reader = &self.reader;
        self.cursor.seek_to_first(&reader.index, &reader.source, &self.ctx)?;
        if !self.enter_block()? {
            return Ok(());
        }
        self.rows.seek_to_first();
        if self.check_rows()? { Ok(()) } else { self.first_behind() }
    }

    fn try_seek_to_last(&mut self) -> Result<()> {
        let reader = &self.reader;
        self.cursor.seek_to_last(&reader.index, &reader.source, &self.ctx)?;
        if !self.enter_block()? {
            return Ok(());
        }
        self.rows.seek_to_last();
        if self.check_rows()? { Ok(()) } else { self.last_before() }
    }

    fn settle(&mut self, outcome: Result<()>) {
        match outcome {
            Ok(()) => self.error = None,
            Err(_) => self.stop(outcome),
        }
        base::invariant!(
            self.error.is_none() || !self.rows.valid(),
            "an iterator with an error stands on an entry"
        );
    }

    #[inline(never)]
    fn next_block(&mut self) {
        let outcome = self.check_rows().and_then(|found| if found { Ok(()) } else { self.first_behind() });
        self.settle(outcome);
    }

    #[inline(never)]
    fn prev_block(&mut self) {
        let outcome = self.check_rows().and_then(|found| if found { Ok(()) } else { self.last_before() });
        self.settle(outcome);
    }
}

impl InternalIterator for TableIter {
    #[inline]
    fn valid(&self) -> bool {
        self.rows.valid()
    }

    fn seek_to_first(&mut self) {
        self.begin_seek();
        let outcome = self.try_seek_to_first();
        self.settle(outcome);
    }

    fn seek_to_last(&mut self) {
        self.begin_seek();
        let outcome = self.try_seek_to_last();
        self.settle(outcome);
    }

    fn seek(&mut self, target: &[u8]) {
        self.begin_seek();
        let outcome = self.try_seek(target);
        self.settle(outcome);
    }

    fn seek_for_prev(&mut self, target: &[u8]) {
        self.begin_seek();
        let outcome = self.try_seek_for_prev(target);
        self.settle(outcome);
    }

    fn seek_total(&mut self, target: &[u8]) {
        self.begin_seek();
        let outcome = self.try_seek_total(target);
        self.settle(outcome);
    }

    fn seek_total_for_prev(&mut self, target: &[u8]) {
        self.begin_seek();
        let outcome = self.try_seek_total_for_prev(target);
        self.settle(outcome);
    }

    #[inline]
    fn next(&mut self) {
        base::invariant!(self.rows.valid(), "an invalid iterator is moved");
        self.rows.next();
        if !self.rows.valid() {
            self.next_block();
        }
    }

    #[inline]
    fn prev(&mut self) {
        base::invariant!(self.rows.valid(), "an invalid iterator is moved");
        self.rows.prev();
        if !self.rows.valid() {
            self.prev_block();
        }
    }

    #[inline]
    fn key(&self) -> &[u8] {
        self.rows.key()
    }

    #[inline]
    fn value(&self) -> &[u8] {
        if let Some(bits) = &self.bits {
            bits.mark(self.rows.entry_range());
        }
        self.rows.value()
    }

    fn status(&self) -> Result<()> {
        match &self.error {
            None => Ok(()),
            Some(error) => Err(error.clone()),
        }
    }

    #[inline]
    fn pin_value(&self) -> Pinned {
        base::invariant!(self.rows.valid(), "a value without an entry is pinned");
        if let Some(bits) = &self.bits {
            bits.mark(self.rows.entry_range());
        }
        Pinned::bytes(self.rows.block().bytes().clone(), self.rows.value_range())
    }

    fn pin_key(&self) -> Option<Pinned> {
        Some(Pinned::bytes(self.rows.block().bytes().clone(), self.rows.key_range()?))
    }

    fn value_shown(&mut self) {
        if let Sought::Entered { filtered } = self.sought {
            self.reader.source.counts.seek_was_useful(filtered);
            self.sought = Sought::Counted;
        }
    }
}
