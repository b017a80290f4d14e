//! The index of an open table: one block, or partitions under a top level.
//!
//! An [`IndexCursor`] moves over both. It is a position in the current block of handles and, above it, a
//! position in the top level. Blocks that the table holds are not looked up in the cache.

use base::map::HashMap;
use base::stats::{PerfCounter, PerfTimer};
use base::{Error, Result};
use format::handle::BlockHandle;
use format::index::Index;

use super::block_kind::BlockKind;
use super::fetch::{BlockRef, Borrowed, index};
use super::file_source::Source;
use super::index_fetch::fetch_index;
use super::prefetch::Window;
use super::read_ctx::ReadCtx;

/// The location of the index, and the index blocks that the table holds.
pub(super) struct IndexReader {
    pub handle: BlockHandle,
    pub kind: BlockKind,
    /// The index block or the top level, if the table holds it.
    pub held: Option<BlockRef>,
    pub partitioned: bool,
    /// The partitions that the table holds, by offset.
    pub partitions: HashMap<u64, BlockRef>,
}

impl IndexReader {
    pub(super) fn new(handle: BlockHandle, kind: BlockKind, partitioned: bool) -> Self {
        IndexReader { handle, kind, held: None, partitioned, partitions: HashMap::default() }
    }

    /// Returns the index block or the top level.
    #[inline]
    pub(super) fn root<'a>(&'a self, source: &Source, ctx: &ReadCtx) -> Result<Borrowed<'a>> {
        match &self.held {
            Some(block) => Ok(Borrowed::Held(block)),
            None => self.fetch(source, self.handle, ctx).map(Borrowed::Fetched),
        }
    }

    /// Fetches a block of the index, or a partition of the filter.
    #[inline]
    fn fetch(&self, source: &Source, handle: BlockHandle, ctx: &ReadCtx) -> Result<BlockRef> {
        let _time = PerfTimer::start(match self.kind {
            BlockKind::Filter | BlockKind::FilterIndex => PerfCounter::ReadFilterBlockNanos,
            _ => PerfCounter::ReadIndexBlockNanos,
        });
        source.fetch(handle, self.kind, ctx, None)
    }

    /// Returns the index block for one search. The index has no partitions.
    #[inline]
    pub(super) fn block_to_search<'a>(&'a self, source: &Source, ctx: &ReadCtx) -> Result<Borrowed<'a>> {
        match &self.held {
            Some(block) => Ok(Borrowed::Held(block)),
            None => self.fetch_to_search(source, self.handle, ctx),
        }
    }

    /// Returns an index partition for one search.
    #[inline]
    pub(super) fn partition_to_search<'a>(
        &'a self,
        source: &Source,
        handle: BlockHandle,
        ctx: &ReadCtx,
    ) -> Result<Borrowed<'a>> {
        match self.partitions.get(&handle.offset) {
            Some(block) => Ok(Borrowed::Held(block)),
            None => self.fetch_to_search(source, handle, ctx),
        }
    }

    fn fetch_to_search<'a>(
        &self,
        source: &Source,
        handle: BlockHandle,
        ctx: &ReadCtx,
    ) -> Result<Borrowed<'a>> {
        let _time = PerfTimer::start(PerfCounter::ReadIndexBlockNanos);
        fetch_index(source, handle, ctx).map(Borrowed::Fetched)
    }

    /// Returns the index block or the top level. The caller may keep it.
    pub(super) fn root_ref(&self, source: &Source, ctx: &ReadCtx) -> Result<BlockRef> {
        match &self.held {
            Some(block) => Ok(block.clone()),
            None => self.fetch(source, self.handle, ctx),
        }
    }

    #[inline]
    pub(super) fn partition<'a>(
        &'a self,
        source: &Source,
        handle: BlockHandle,
        ctx: &ReadCtx,
    ) -> Result<Borrowed<'a>> {
        base::invariant!(self.partitioned, "an index without partitions has no partition");
        match self.partitions.get(&handle.offset) {
            Some(block) => Ok(Borrowed::Held(block)),
            None => self.fetch(source, handle, ctx).map(Borrowed::Fetched),
        }
    }

    fn partition_ref(&self, source: &Source, handle: BlockHandle, ctx: &ReadCtx) -> Result<BlockRef> {
        base::invariant!(self.partitioned, "an index without partitions has no partition");
        match self.partitions.get(&handle.offset) {
            Some(block) => Ok(block.clone()),
            None => self.fetch(source, handle, ctx),
        }
    }

    /// Reads every partition into the cache. With `hold`, the table also holds the partitions.
    pub(super) fn load_partitions(
        &mut self,
        source: &Source,
        ctx: &ReadCtx,
        hold: bool,
        kind: BlockKind,
        window: &mut dyn Window,
    ) -> Result<()> {
        base::invariant!(self.partitioned, "the partitions of an index without partitions are loaded");
        let root = self.root_ref(source, ctx)?;
        let Some(top) = index(&root) else { return Err(source.wrong_kind(self.handle, self.kind)) };
        for i in 0..top.len() {
            let handle = top.handle(i);
            let block = source.fetch(handle, kind, ctx, Some(window))?;
            if hold {
                self.partitions.insert(handle.offset, block);
            }
        }
        Ok(())
    }

    pub(super) fn as_index<'a>(&self, source: &Source, block: &'a Borrowed<'_>) -> Result<&'a Index> {
        index(block).ok_or_else(|| source.wrong_kind(self.handle, self.kind))
    }

    /// Returns the bytes of memory outside of the cache.
    pub(super) fn own_memory_bytes(&self) -> usize {
        self.held.iter().chain(self.partitions.values()).map(BlockRef::own_memory_bytes).sum()
    }
}

/// A position in the index of a table: at the handle of one data block, or at no handle.
#[derive(Default)]
pub(super) struct IndexCursor {
    /// The top level of a partitioned index.
    top: Option<BlockRef>,
    top_at: usize,
    /// The block of data handles.
    block: Option<BlockRef>,
    pub at: usize,
}

impl IndexCursor {
    /// Opens the index if it is not open.
    fn open(&mut self, reader: &IndexReader, source: &Source, ctx: &ReadCtx) -> Result<()> {
        if self.top.is_some() || (self.block.is_some() && !reader.partitioned) {
            return Ok(());
        }
        let root = reader.root_ref(source, ctx)?;
        if index(&root).is_none() {
            return Err(source.wrong_kind(reader.handle, reader.kind));
        }
        if reader.partitioned {
            self.top_at = usize::MAX;
            self.top = Some(root);
        } else {
            self.block = Some(root);
        }
        Ok(())
    }

    /// Returns the current block of handles, if there is one.
    #[inline]
    pub(super) fn index(&self) -> Option<&Index> {
        self.block.as_ref().and_then(|b| index(b))
    }

    fn top(&self) -> Option<&Index> {
        self.top.as_ref().and_then(|b| index(b))
    }

    /// Returns true if the cursor is at a handle.
    #[inline]
    pub(super) fn valid(&self) -> bool {
        self.index().is_some_and(|index| self.at < index.len())
    }

    #[inline]
    pub(super) fn handle(&self) -> BlockHandle {
        base::invariant!(
            self.index().is_none_or(|index| self.at < index.len()),
            "an invalid index cursor has no handle"
        );
        self.index().map_or(BlockHandle::NULL, |index| index.handle(self.at))
    }

    /// Moves to the first data block that may have keys at or after `target`.
    pub(super) fn seek(
        &mut self,
        reader: &IndexReader,
        source: &Source,
        ctx: &ReadCtx,
        target: &[u8],
    ) -> Result<()> {
        self.open(reader, source, ctx)?;
        if let Some(top) = self.top() {
            let at = top.seek(&source.order, target);
            self.enter(reader, source, ctx, at)?;
        }
        self.at = self.index().map_or(0, |index| index.seek(&source.order, target));
        Ok(())
    }

    pub(super) fn seek_to_first(
        &mut self,
        reader: &IndexReader,
        source: &Source,
        ctx: &ReadCtx,
    ) -> Result<()> {
        self.open(reader, source, ctx)?;
        if self.top.is_some() {
            self.enter(reader, source, ctx, 0)?;
        }
        self.at = 0;
        Ok(())
    }

    pub(super) fn seek_to_last(
        &mut self,
        reader: &IndexReader,
        source: &Source,
        ctx: &ReadCtx,
    ) -> Result<()> {
        self.open(reader, source, ctx)?;
        if let Some(top) = self.top() {
            let last = top.len().wrapping_sub(1);
            self.enter(reader, source, ctx, last)?;
        }
        self.at = self.index().map_or(0, |index| index.len().wrapping_sub(1));
        Ok(())
    }

    pub(super) fn next(&mut self, reader: &IndexReader, source: &Source, ctx: &ReadCtx) -> Result<()> {
        base::invariant!(self.at != usize::MAX, "an index cursor before the first block moves forward");
        self.at += 1;
        while self.index().is_some_and(|index| self.at >= index.len()) && self.top.is_some() {
            self.enter(reader, source, ctx, self.top_at + 1)?;
            self.at = 0;
        }
        Ok(())
    }

    /// Moves to the previous data block. Not valid before the first data block.
    pub(super) fn prev(&mut self, reader: &IndexReader, source: &Source, ctx: &ReadCtx) -> Result<()> {
        self.at = self.at.wrapping_sub(1);
        while self.at == usize::MAX && self.top.is_some() && self.block.is_some() {
            self.enter(reader, source, ctx, self.top_at.wrapping_sub(1))?;
            self.at = self.index().map_or(usize::MAX, |index| index.len().wrapping_sub(1));
        }
        Ok(())
    }

    /// Opens partition `at`. Opens nothing if `at` is before the first or after the last partition.
    fn enter(&mut self, reader: &IndexReader, source: &Source, ctx: &ReadCtx, at: usize) -> Result<()> {
        base::invariant!(self.top.is_some(), "an index without partitions enters a partition");
        if at == self.top_at && self.block.is_some() {
            return Ok(());
        }
        self.block = None;
        self.top_at = at;
        let Some(top) = self.top().filter(|top| at < top.len()) else { return Ok(()) };
        let handle = source.handle_in(top, at)?;
        let block = reader.partition_ref(source, handle, ctx)?;
        if index(&block).is_none() {
            return Err(source.wrong_kind(handle, reader.kind));
        }
        self.block = Some(block);
        Ok(())
    }
}

/// Returns an error if the index type is unknown.
pub(super) fn check_index_type(number: u32) -> Result<()> {
    match number {
        0..=3 => Ok(()),
        other => Err(Error::not_supported(format!("index type {other} of a table"))),
    }
}
