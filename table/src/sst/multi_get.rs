//! Looks up several keys together. Each step of a lookup runs for all keys before the next step starts.
//!
//! ```text
//! filter, all keys together ─► index, all ─► cache, all ─► file: one request for blocks that touch ─► visit
//! ```
//! While a step runs for some keys, the memory for the next step is prefetched. If several keys are in the
//! same block, the block is fetched once.
//!
//! A lookup has two halves. [`Reader::begin_multi_get`] starts all reads of the table, and
//! [`Reader::finish_multi_get`] waits for the reads. A caller with several tables first starts the reads of all tables. The device
//! then works on all reads at the same time.

use std::ops::ControlFlow;

use base::key::user_key;
use base::stats::{Cause, PerfCounter, PerfTimer, Step, Stopwatch};
use base::{Error, Result};
use env::clock::CpuTimer;
use env::fs::ReadRequest;
use format::block::BlockRoom;
use format::handle::BlockHandle;
use format::trailer;

use super::block_cache::CachedBlock;
use super::block_kind::BlockKind;
use super::fetch::{BlockRef, data, truncated};
use super::file_source::Source;
use super::filter_reader::Answer;
use super::index_reader::IndexCursor;
use super::read_ctx::{Entry, ReadCtx};
use super::reader::Reader;
use super::{in_place, scratch, spare};

/// Adjacent blocks are read by one request of at most this number of bytes.
const COALESCED_MAX: u64 = 1 << 20;

/// Maximum number of bytes of one lookup that are read in place. All of this memory is taken before the block cache evicts
/// blocks, so a larger part would come from the system, and each of its pages would be a page fault.
const IN_PLACE_MAX: u64 = spare::KEPT_BYTES as u64;

/// A key that may be in the table, and its block.
struct Wanted {
    key: usize,
    handle: BlockHandle,
    /// Index of the block among the fetched blocks.
    block: usize,
    /// True if entries of the key may continue in the next block.
    may_continue: bool,
    /// True if the filter says that the table may have the key.
    passed_filter: bool,
}

/// The first half of a lookup in one SST file: the block that each key needs, the blocks that are in memory, and the reads
/// that load the missing blocks.
#[derive(Default)]
pub struct MultiGetBegun {
    wanted: Vec<Wanted>,
    handles: Vec<BlockHandle>,
    found: Vec<Option<BlockRef>>,
    reads: Vec<GroupRead>,
}

impl MultiGetBegun {
    /// Returns the number of bytes that will be read from the file. The lookup has already allocated memory
    /// for them.
    pub fn bytes_to_read(&self) -> usize {
        self.reads.iter().map(|read| read.memory.bytes().len()).sum()
    }
}

impl Reader {
    /// Starts [`Reader::get`] for several keys, preferably in the order of the table. Queries the filters,
    /// searches the index, gets blocks from the cache, and plans the reads of the other blocks. Does not wait
    /// for a read of a data block. With `announces`, the reads are in progress when the function returns.
    ///
    /// # Errors
    /// The errors of reading the filter and the index.
    pub fn begin_multi_get(
        &self,
        seek_keys: &[&[u8]],
        ctx: &ReadCtx,
        announces: bool,
    ) -> Result<MultiGetBegun> {
        let mut may_match = vec![Answer::NotAsked; seek_keys.len()];
        self.filter.keys_may_match(&self.source, seek_keys, ctx, &mut may_match)?;
        let (wanted, handles) = self.places(seek_keys, &may_match, ctx)?;
        base::invariant!(
            wanted.iter().all(|want| want.block < handles.len()),
            "a key of a MultiGet names a block that is not fetched"
        );
        // Each step causes a cache miss at an address from the step before. So all blocks do one step
        // together.
        if let Some(cache) = &self.source.cache
            && handles.len() > 1
        {
            handles.iter().for_each(|handle| cache.prefetch(&self.source.cache_key(*handle)));
            handles.iter().for_each(|handle| cache.prefetch_entry(&self.source.cache_key(*handle)));
        }
        let cached = |&handle| {
            let block = self.source.to_search(self.source.lookup(handle, BlockKind::Data, ctx)?, handle, ctx);
            data(&block).inspect(|block| block.prefetch());
            Some(block)
        };
        let found: Vec<Option<BlockRef>> = handles.iter().map(cached).collect();
        let mut reads = Vec::new();
        if !ctx.cache_only && found.iter().any(Option::is_none) {
            reads = self.source.coalesce(&handles, &found, ctx);
            // A read with limits is not started here: the read must first wait for its rate limiter.
            if announces && ctx.limits.is_none() {
                reads.iter_mut().for_each(|read| {
                    read.ready = self.source.file.read_ready(read.start, read.memory.bytes_mut());
                });
            }
        }
        Ok(MultiGetBegun { wanted, handles, found, reads })
    }

    /// Runs [`Reader::begin_multi_get`] and then [`Reader::finish_multi_get`]. If the first half fails, all
    /// keys fail.
    pub fn multi_get(
        &self,
        seek_keys: &[&[u8]],
        ctx: &ReadCtx,
        visit: impl FnMut(usize, Entry<'_>) -> ControlFlow<()>,
    ) -> Vec<(usize, Error)> {
        match self.begin_multi_get(seek_keys, ctx, true) {
            Ok(begun) => self.finish_multi_get(begun, seek_keys, ctx, visit),
            Err(error) => (0..seek_keys.len()).map(|key| (key, error.clone())).collect(),
        }
    }

    /// Finishes the lookup that [`Reader::begin_multi_get`] started with the same keys. `visit` gets the
    /// index of a key in `seek_keys`. Returns the indexes of the keys that failed, with their errors.
    pub fn finish_multi_get(
        &self,
        begun: MultiGetBegun,
        seek_keys: &[&[u8]],
        ctx: &ReadCtx,
        mut visit: impl FnMut(usize, Entry<'_>) -> ControlFlow<()>,
    ) -> Vec<(usize, Error)> {
        let MultiGetBegun { wanted, handles, mut found, reads } = begun;
        base::invariant!(
            handles.len() == found.len(),
            "{} blocks are wanted, and {} are looked up",
            handles.len(),
            found.len()
        );
        let errors = self.source.fetch_missing(&handles, reads, &mut found, ctx);
        for want in &wanted {
            if let Some(block) = found[want.block].as_deref().and_then(data) {
                block.prefetch_row(user_key(seek_keys[want.key]));
            }
        }
        let mut failed = Vec::new();
        for want in wanted {
            let seek_key = seek_keys[want.key];
            let mut is_found = false;
            let mut visit_this = |entry: Entry<'_>| {
                is_found = true;
                visit(want.key, entry)
            };
            let outcome = match &found[want.block] {
                Some(block) => self.visit_block(block, want.handle, seek_key, &mut visit_this),
                None => Err(error_of(&errors, want.block)),
            };
            let outcome = match outcome {
                Ok(true) if want.may_continue => {
                    self.continue_behind(seek_key, want.handle, ctx, &mut visit_this)
                }
                other => other.map(|_| ()),
            };
            if is_found && want.passed_filter {
                self.source.counts.found_behind_filter(self.filter.whole_keys);
            }
            if let Err(error) = outcome {
                failed.push((want.key, error));
            }
        }
        failed
    }

    /// Returns the block of each key, and the list of these blocks. Neighbouring keys in the same block share
    /// it.
    fn places(
        &self,
        seek_keys: &[&[u8]],
        may_match: &[Answer],
        ctx: &ReadCtx,
    ) -> Result<(Vec<Wanted>, Vec<BlockHandle>)> {
        let order = &self.source.order.user;
        let mut cursor = IndexCursor::default();
        let mut wanted = Vec::with_capacity(seek_keys.len());
        let mut handles: Vec<BlockHandle> = Vec::with_capacity(seek_keys.len());
        for (key, seek_key) in seek_keys.iter().enumerate().filter(|(key, _)| may_match[*key] != Answer::No) {
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
            let passed_filter = may_match[key] == Answer::Maybe;
            wanted.push(Wanted { key, handle, block: handles.len() - 1, may_continue, passed_filter });
        }
        base::invariant!(
            handles.len() <= wanted.len(),
            "{} keys are in {} blocks",
            wanted.len(),
            handles.len()
        );
        Ok((wanted, handles))
    }

    /// Visits the entries in the blocks after the block at `handle`.
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

/// Returns the error that prevented the read of a block.
#[cold]
fn error_of(errors: &[(usize, Error)], block: usize) -> Error {
    let error = errors.iter().find(|(at, _)| *at == block).map(|(_, error)| error.clone());
    base::invariant!(error.is_some(), "the block {block} of a MultiGet was not read, and no read failed");
    error.unwrap_or_else(|| Error::corruption("a block was not read"))
}

impl Source {
    /// Adds the missing blocks to `found`, from `reads` or by separate reads. Returns the errors, each with
    /// the index of its block.
    fn fetch_missing(
        &self,
        handles: &[BlockHandle],
        reads: Vec<GroupRead>,
        found: &mut [Option<BlockRef>],
        ctx: &ReadCtx,
    ) -> Vec<(usize, Error)> {
        let mut errors = Vec::new();
        base::invariant!(
            handles.len() == found.len(),
            "{} blocks are wanted, and {} are looked up",
            handles.len(),
            found.len()
        );
        if !reads.is_empty() {
            self.read_groups(handles, reads, found, &mut errors, ctx);
        }
        // These blocks have no planned read: the file may not be read, or the handle is outside of the file.
        for at in 0..found.len() {
            if found[at].is_none() && !errors.iter().any(|(failed, _)| *failed == at) {
                match self.load(handles[at], BlockKind::Data, ctx, None) {
                    Ok(block) => found[at] = Some(block),
                    Err(error) => errors.push((at, error)),
                }
            }
        }
        errors
    }

    fn read_groups(
        &self,
        handles: &[BlockHandle],
        mut reads: Vec<GroupRead>,
        found: &mut [Option<BlockRef>],
        errors: &mut Vec<(usize, Error)>,
        ctx: &ReadCtx,
    ) {
        let _step = Step::begin(Cause::BlockRead);
        base::invariant!(
            reads.iter().all(|read| read.start + read.memory.bytes().len() as u64 <= self.size),
            "a read of a MultiGet goes past the end of the file"
        );
        let total = reads.iter().map(|read| read.memory.bytes().len()).sum();
        let mut outcomes: Vec<Result<usize>> =
            reads.iter().map(|read| Ok(read.memory.bytes().len())).collect();
        let blocks: usize = reads.iter().map(|read| read.members.len()).sum();
        let mut read_all = || {
            let _time = PerfTimer::start(PerfCounter::BlockReadTime);
            let _cpu = CpuTimer::start(PerfCounter::BlockReadCpuTime);
            if blocks > 1 {
                self.counts.read_together(reads.len());
            }
            let (slots, mut requests): (Vec<usize>, Vec<ReadRequest<'_>>) = reads
                .iter_mut()
                .enumerate()
                .filter(|(_, read)| !read.ready)
                .map(|(at, read)| (at, ReadRequest::new(read.start, read.memory.bytes_mut())))
                .unzip();
            if !requests.is_empty() {
                self.file.multi_read(&mut requests);
            }
            for (at, request) in slots.into_iter().zip(requests) {
                outcomes[at] = request.outcome;
            }
            Ok(())
        };
        let start = self.counts.times_reads().then(Stopwatch::start);
        let within = match &ctx.limits {
            None => read_all(),
            Some(limits) => limits.around(total, read_all),
        };
        if let Err(error) = within {
            let members = reads.iter().flat_map(|read| &read.members);
            errors.extend(members.map(|&i| (i, self.blame(error.clone(), handles[i], BlockKind::Data))));
            return;
        }
        if let Some(start) = start {
            self.counts.read_took(start.micros(), ctx);
        }
        outcomes.iter().flatten().for_each(|&got| self.counts.file_read(got));
        self.counts.had(BlockKind::Data, blocks as u64);
        self.counts.read(BlockKind::Data, blocks as u64, total);
        for (read, outcome) in reads.into_iter().zip(outcomes) {
            let mut place = |i: usize, block: Result<CachedBlock>| {
                let block = block.map_err(|e| self.blame(e, handles[i], BlockKind::Data));
                match block.and_then(|block| self.keep(block, handles[i], BlockKind::Data, ctx)) {
                    Ok(block) => found[i] = Some(block),
                    Err(error) => errors.push((i, error)),
                }
            };
            match read.memory {
                ReadMemory::Room(room) => {
                    let i = read.members[0];
                    let whole = outcome.and_then(|got| match room.stored().len() {
                        len if got < len => Err(truncated(got, len)),
                        _ => in_place::decode(self, room, handles[i], ctx),
                    });
                    place(i, whole);
                }
                ReadMemory::Buffer(bytes) => {
                    for i in read.members {
                        place(i, self.member_of((&bytes, read.start), &outcome, handles[i], ctx));
                    }
                    scratch::give(bytes);
                }
            }
        }
    }

    /// Decodes one block of a read of several blocks. `read` has the bytes and the offset of the read, and `outcome` the
    /// number of bytes that were read.
    ///
    /// # Errors
    /// The error of the read. Corruption if the file ends before the end of the block, or if the block does not decode.
    fn member_of(
        &self,
        read: (&[u8], u64),
        outcome: &Result<usize>,
        handle: BlockHandle,
        ctx: &ReadCtx,
    ) -> Result<CachedBlock> {
        let (bytes, start) = read;
        base::invariant!(handle.offset >= start, "a read that begins at {start} has the block {handle}");
        let got = outcome.clone()?;
        let at = (handle.offset - start) as usize;
        match bytes[..got].get(at..at + handle.size as usize + trailer::LEN) {
            Some(raw) => self.decode(raw.into(), handle, BlockKind::Data, ctx),
            None => Err(Error::corruption("truncated block")),
        }
    }

    /// Plans the reads for the missing blocks. A handle outside of the file gets no read, and fails later.
    fn coalesce(&self, handles: &[BlockHandle], found: &[Option<BlockRef>], ctx: &ReadCtx) -> Vec<GroupRead> {
        base::invariant!(
            handles.len() == found.len(),
            "{} blocks are wanted, and {} are looked up",
            handles.len(),
            found.len()
        );
        let mut groups: Vec<(BlockHandle, GroupRead)> = Vec::new();
        let missing = |(i, handle): (usize, &BlockHandle)| found[i].is_none().then_some((i, *handle));
        for (i, handle) in handles.iter().enumerate().filter_map(missing) {
            if handle.end() > self.size {
                continue;
            }
            let len = handle.size as usize + trailer::LEN;
            match groups.last_mut() {
                Some((whole, group))
                    if whole.offset + whole.size == handle.offset
                        && whole.size + len as u64 <= COALESCED_MAX =>
                {
                    whole.size += len as u64;
                    group.members.push(i);
                }
                _ => {
                    let whole = BlockHandle { offset: handle.offset, size: len as u64 };
                    let memory = ReadMemory::Buffer(Vec::new());
                    let group = GroupRead { start: handle.offset, memory, members: vec![i], ready: false };
                    groups.push((whole, group));
                }
            }
        }
        let mut taken = 0;
        let with_memory = |(whole, group): (BlockHandle, GroupRead)| {
            let memory = match group.members[..] {
                [only] if in_place::is_expected(self) && taken + whole.size <= IN_PLACE_MAX => {
                    taken += whole.size;
                    ReadMemory::Room(in_place::room(self, handles[only], ctx))
                }
                _ => ReadMemory::Buffer(scratch::take(whole.size as usize)),
            };
            GroupRead { memory, ..group }
        };
        groups.into_iter().map(with_memory).collect()
    }
}

/// One read of the file, for adjacent blocks.
struct GroupRead {
    start: u64,
    memory: ReadMemory,
    /// The blocks of this read, as indexes of handles.
    members: Vec<usize>,
    /// True if the bytes were read without waiting.
    ready: bool,
}

/// The memory that a read fills: the blocks with their trailers.
enum ReadMemory {
    /// A buffer from which the blocks are decoded.
    Buffer(Vec<u8>),
    /// The memory of the only block of the read: see `in_place`.
    Room(BlockRoom),
}

impl ReadMemory {
    fn bytes(&self) -> &[u8] {
        match self {
            ReadMemory::Buffer(bytes) => bytes,
            ReadMemory::Room(room) => room.stored(),
        }
    }

    fn bytes_mut(&mut self) -> &mut [u8] {
        match self {
            ReadMemory::Buffer(bytes) => bytes,
            ReadMemory::Room(room) => room.stored_mut(),
        }
    }
}
