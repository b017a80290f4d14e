//! Looks up several keys together. Each step of a look-up runs for all keys before the next step starts.
//!
//! ```text
//! filter, all keys together ─► index, all ─► cache, all ─► file: one request for blocks that touch ─► visit
//! ```
//! Memory that a step will read is asked for while the step before still runs over other keys, and a
//! block that several keys share is fetched once.

use std::ops::ControlFlow;

use base::key::user_key;
use base::stats::Stopwatch;
use base::{Error, Result};
use env::fs::ReadRequest;
use format::block::Block;
use format::handle::BlockHandle;
use format::trailer;

use super::block_kind::BlockKind;
use super::fetch::{BlockRef, data};
use super::file_source::Source;
use super::index_reader::IndexCursor;
use super::read_ctx::{Entry, ReadCtx};
use super::reader::Reader;

/// Blocks whose places touch are read by one request of at most so many bytes.
const COALESCED_MAX: u64 = 1 << 20;

/// A key that may be here, and the block it would be in.
struct Wanted {
    key: usize,
    handle: BlockHandle,
    /// Which fetched block that is.
    block: usize,
    /// The key's versions may go on behind this block.
    may_continue: bool,
}

impl Reader {
    /// [`Reader::get`] for several keys at once; best in the table's order. `visit` is told which key,
    /// by its index in `seek_keys`. Filters are probed together and blocks read together. Returns the
    /// keys that failed, with what went wrong.
    pub fn multi_get(
        &self,
        seek_keys: &[&[u8]],
        ctx: &ReadCtx,
        mut visit: impl FnMut(usize, Entry<'_>) -> ControlFlow<()>,
    ) -> Vec<(usize, Error)> {
        let mut failed = Vec::new();
        if let Err(error) = self.try_multi_get(seek_keys, ctx, &mut visit, &mut failed) {
            // What concerns the whole table: no key has been visited yet.
            failed = (0..seek_keys.len()).map(|key| (key, error.clone())).collect();
        }
        failed
    }

    fn try_multi_get(
        &self,
        seek_keys: &[&[u8]],
        ctx: &ReadCtx,
        visit: &mut impl FnMut(usize, Entry<'_>) -> ControlFlow<()>,
        failed: &mut Vec<(usize, Error)>,
    ) -> Result<()> {
        let mut may_match = vec![true; seek_keys.len()];
        self.filter.keys_may_match(&self.source, seek_keys, ctx, &mut may_match)?;
        let (wanted, handles) = self.places(seek_keys, &may_match, ctx)?;
        let blocks = self.source.fetch_all(&handles, ctx);
        base::invariant!(
            blocks.len() == handles.len(),
            "{} blocks for {} handles",
            blocks.len(),
            handles.len()
        );
        base::invariant!(
            wanted.iter().all(|want| want.block < blocks.len()),
            "a key of a MultiGet names a block that was not fetched"
        );
        let in_memory = |want: &Wanted| blocks[want.block].as_ref().ok().and_then(|block| data(block));
        wanted.iter().filter_map(in_memory).for_each(Block::prefetch);
        for want in &wanted {
            if let Some(block) = in_memory(want) {
                block.prefetch_row(user_key(seek_keys[want.key]));
            }
        }
        for want in wanted {
            let seek_key = seek_keys[want.key];
            let mut visit_this = |entry: Entry<'_>| visit(want.key, entry);
            let outcome = match &blocks[want.block] {
                Ok(block) => self.visit_block(block, want.handle, seek_key, &mut visit_this),
                Err(error) => Err(error.clone()),
            };
            let outcome = match outcome {
                Ok(true) if want.may_continue => {
                    self.continue_behind(seek_key, want.handle, ctx, &mut visit_this)
                }
                other => other.map(|_| ()),
            };
            if let Err(error) = outcome {
                failed.push((want.key, error));
            }
        }
        Ok(())
    }

    /// Which block each key is in, and those blocks without repetition of neighbours.
    fn places(
        &self,
        seek_keys: &[&[u8]],
        may_match: &[bool],
        ctx: &ReadCtx,
    ) -> Result<(Vec<Wanted>, Vec<BlockHandle>)> {
        let order = &self.source.order.user;
        let mut cursor = IndexCursor::default();
        let mut wanted = Vec::with_capacity(seek_keys.len());
        let mut handles: Vec<BlockHandle> = Vec::with_capacity(seek_keys.len());
        for (key, seek_key) in seek_keys.iter().enumerate().filter(|(key, _)| may_match[*key]) {
            cursor.seek(&self.index, &self.source, ctx, seek_key)?;
            let Some(index) = cursor.index().filter(|index| cursor.at < index.len()) else { continue };
            let user = user_key(seek_key);
            let past = |first| order.compare_without_timestamp(user_key(first), user).is_gt();
            if index.first_key(cursor.at).is_some_and(past) {
                continue;
            }
            let handle = self.source.handle_in(index, cursor.at)?;
            if handles.last() != Some(&handle) {
                handles.push(handle);
            }
            let may_continue = index.may_continue(cursor.at, order, user);
            wanted.push(Wanted { key, handle, block: handles.len() - 1, may_continue });
        }
        Ok((wanted, handles))
    }

    /// Visits versions in the blocks behind the one at `handle`.
    fn continue_behind(
        &self,
        seek_key: &[u8],
        handle: BlockHandle,
        ctx: &ReadCtx,
        visit: &mut impl FnMut(Entry<'_>) -> ControlFlow<()>,
    ) -> Result<()> {
        let source = &self.source;
        let mut cursor = IndexCursor::default();
        cursor.seek(&self.index, source, ctx, seek_key)?;
        base::invariant!(cursor.handle() == handle, "the index leads to another block at the second search");
        loop {
            cursor.next(&self.index, source, ctx)?;
            let Some(index) = cursor.index().filter(|index| cursor.at < index.len()) else { return Ok(()) };
            let handle = source.handle_in(index, cursor.at)?;
            let block = source.fetch(handle, BlockKind::Data, ctx, None)?;
            let more = self.visit_block(&block, handle, seek_key, visit)?;
            if !more || !index.may_continue(cursor.at, &source.order.user, user_key(seek_key)) {
                return Ok(());
            }
        }
    }
}

impl Source {
    /// Data blocks, each from the cache or all missing ones from the file together.
    fn fetch_all(&self, handles: &[BlockHandle], ctx: &ReadCtx) -> Vec<Result<BlockRef>> {
        let cached = |&handle| Some(self.to_search(self.lookup(handle, BlockKind::Data)?, handle, ctx));
        let mut found: Vec<Option<BlockRef>> = handles.iter().map(cached).collect();
        let missing: Vec<usize> = (0..handles.len()).filter(|i| found[*i].is_none()).collect();
        if missing.len() < 2 || ctx.cache_only {
            let fetch = |(handle, found): (&BlockHandle, Option<BlockRef>)| match found {
                Some(block) => Ok(block),
                None => self.load(*handle, BlockKind::Data, ctx, None),
            };
            return handles.iter().zip(found).map(fetch).collect();
        }
        let mut outcomes: Vec<Option<Error>> = handles.iter().map(|_| None).collect();
        self.read_missing(handles, &missing, ctx, &mut found, &mut outcomes);
        let outcome = |(block, error): (Option<BlockRef>, Option<Error>)| match (block, error) {
            (Some(block), _) => Ok(block),
            (None, Some(error)) => Err(error),
            (None, None) => Err(Error::corruption("a block was not read")),
        };
        found.into_iter().zip(outcomes).map(outcome).collect()
    }

    fn read_missing(
        &self,
        handles: &[BlockHandle],
        missing: &[usize],
        ctx: &ReadCtx,
        found: &mut [Option<BlockRef>],
        outcomes: &mut [Option<Error>],
    ) {
        let groups = self.coalesce(handles, missing);
        let mut buffers: Vec<Vec<u8>> = groups.iter().map(|group| vec![0; group.len]).collect();
        let mut requests: Vec<ReadRequest<'_>> = groups
            .iter()
            .zip(&mut buffers)
            .map(|(group, buffer)| ReadRequest::new(group.start, buffer))
            .collect();
        base::invariant!(
            groups.iter().all(|group| group.start + group.len as u64 <= self.size),
            "a read of a MultiGet goes past the end of the file"
        );
        let total = groups.iter().map(|group| group.len).sum();
        let mut read_all = || {
            self.counts.read_together(requests.len());
            self.file.multi_read(&mut requests);
            Ok(())
        };
        let start = self.counts.times_reads().then(Stopwatch::start);
        let within = match &ctx.limits {
            None => read_all(),
            Some(limits) => limits.around(total, read_all),
        };
        if let Err(error) = within {
            missing
                .iter()
                .for_each(|&i| outcomes[i] = Some(self.blame(error.clone(), handles[i], BlockKind::Data)));
            return;
        }
        if let Some(start) = start {
            self.counts.read_took(start.micros(), ctx);
        }
        let read: Vec<Result<usize>> = requests.into_iter().map(|request| request.outcome).collect();
        read.iter().flatten().for_each(|&got| self.counts.file_read(got));
        self.counts.had(BlockKind::Data, missing.len() as u64);
        self.counts.read(BlockKind::Data, missing.len() as u64, buffers.iter().map(Vec::len).sum());
        for ((group, buffer), read) in groups.iter().zip(&buffers).zip(read) {
            for &i in &group.members {
                let handle = handles[i];
                let outcome = match &read {
                    Err(error) => Err(error.clone()),
                    Ok(got) => {
                        let at = (handle.offset - group.start) as usize;
                        match buffer[..*got].get(at..at + handle.size as usize + trailer::LEN) {
                            Some(raw) => self.decode(raw.into(), handle, BlockKind::Data, ctx),
                            None => Err(Error::corruption("truncated block")),
                        }
                    }
                };
                let kept = outcome
                    .map_err(|e| self.blame(e, handle, BlockKind::Data))
                    .and_then(|block| self.keep(block, handle, BlockKind::Data, ctx.fill_cache));
                match kept {
                    Ok(block) => found[i] = Some(block),
                    Err(error) => outcomes[i] = Some(error),
                }
            }
        }
    }

    /// Requests for the missing blocks. A handle outside the file gets none and is left to fail.
    fn coalesce(&self, handles: &[BlockHandle], missing: &[usize]) -> Vec<Group> {
        let mut groups: Vec<Group> = Vec::new();
        for &i in missing {
            let handle = handles[i];
            if handle.end() > self.size {
                continue;
            }
            let len = handle.size as usize + trailer::LEN;
            match groups.last_mut() {
                Some(group)
                    if group.start + group.len as u64 == handle.offset
                        && group.len as u64 + len as u64 <= COALESCED_MAX =>
                {
                    group.len += len;
                    group.members.push(i);
                }
                _ => groups.push(Group { start: handle.offset, len, members: vec![i] }),
            }
        }
        base::invariant!(
            groups.iter().all(|group| !group.members.is_empty()),
            "a read of a MultiGet is for no block"
        );
        groups
    }
}

/// Blocks that one request reads.
struct Group {
    start: u64,
    len: usize,
    members: Vec<usize>,
}
