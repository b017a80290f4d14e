//! Gets blocks from the cache or from the file.
//!
//! ```text
//! cache ── hit ─────────────────────────────────────────────► block
//!   └ miss ─► read-ahead window, persistent cache or file ─► checksum ─► decompress ─► parse ─► cache ─► block
//! ```
//! This file turns a block handle into a block. It does not choose the block.

use std::borrow::Cow;
use std::ops::Deref;
use std::sync::Arc;

use base::stats::{Cause, PerfCounter, PerfTimer, Step, Stopwatch};
use base::{Error, Result};
use compress::Dictionary;
use env::clock::CpuTimer;
use format::block::{Block, HeadOrder};
use format::handle::BlockHandle;
use format::index::{Index, IndexLayout, StoredIndex};
use format::trailer;
use kernel::filter::Filter;
use mem::cache::{CacheKey, Handle, Priority, Role};

use super::block_cache::{CachedBlock, FilterBlock, Other};
use super::block_kind::BlockKind;
use super::file_source::Source;
use super::in_place;
use super::limits::ReadLimits;
use super::prefetch::Window;
use super::read_ctx::ReadCtx;
use super::salvage::one_bit;
use super::scratch;
use super::spare;

/// A block in use. It is pinned in the cache, or is not in the cache.
#[derive(Clone)]
pub(super) enum BlockRef {
    Cached(Handle<CachedBlock>),
    Own(Arc<CachedBlock>),
}

impl Deref for BlockRef {
    type Target = CachedBlock;

    #[inline]
    fn deref(&self) -> &CachedBlock {
        match self {
            BlockRef::Cached(handle) => handle,
            BlockRef::Own(block) => block,
        }
    }
}

impl BlockRef {
    /// Returns the bytes that the cache charges for the block.
    #[inline]
    pub(super) fn charge(&self) -> usize {
        match self {
            BlockRef::Cached(handle) => handle.charge(),
            BlockRef::Own(block) => block.memory_bytes(),
        }
    }

    /// Returns the bytes of memory that no cache charges.
    pub(super) fn own_memory_bytes(&self) -> usize {
        match self {
            BlockRef::Cached(_) => 0,
            BlockRef::Own(block) => size_of::<CachedBlock>() + block.memory_bytes(),
        }
    }
}

/// A block that the table holds, or a block that was fetched for this use.
pub(super) enum Borrowed<'a> {
    Held(&'a CachedBlock),
    Fetched(BlockRef),
}

impl Deref for Borrowed<'_> {
    type Target = CachedBlock;

    #[inline]
    fn deref(&self) -> &CachedBlock {
        match self {
            Borrowed::Held(block) => block,
            Borrowed::Fetched(block) => block,
        }
    }
}

/// Allocates memory for a block that has no search array yet. The memory has about the size of the block with
/// its search array. When the block is replaced by a block with a search array, the next block fits into the
/// freed memory. Otherwise, reading a whole cached database left holes of an eighth of the cache.
pub(super) fn room_for_later(len: usize) -> Arc<[u8]> {
    spare::take(len + len / ARRAY_PART)
}

/// The size of a search array is about one part in this number of its block.
const ARRAY_PART: usize = 40;

/// Maximum size of a block in which a single wrong bit is searched. With a checksum that is not linear, the
/// search takes ten milliseconds at this size.
const DIAGNOSED_BYTES_MAX: usize = 4096 + 64;

impl Source {
    /// Returns the block at `handle`. `window` may already have its bytes.
    #[inline]
    pub(super) fn fetch(
        &self,
        handle: BlockHandle,
        kind: BlockKind,
        ctx: &ReadCtx,
        window: Option<&mut dyn Window>,
    ) -> Result<BlockRef> {
        match self.lookup(handle, kind, ctx) {
            Some(block) if kind == BlockKind::Data => Ok(self.to_search(block, handle, ctx)),
            Some(block) => match block.stored_index() {
                Some(stored) => self.decoded(stored, handle, ctx),
                None => Ok(block),
            },
            None => self.load(handle, kind, ctx, window),
        }
    }

    /// Prepares a data block from the cache for a search. A block without a search array gets one if the
    /// searches have earned it, and the new block replaces the old block in the cache. This happens only if the
    /// read may change the cache.
    #[inline]
    pub(super) fn to_search(&self, block: BlockRef, handle: BlockHandle, ctx: &ReadCtx) -> BlockRef {
        let wanting = data(&block).filter(|data| data.wants_array() && ctx.fill_cache);
        let wanting = wanting.filter(|data| self.arrays.earns(data.bytes().len()));
        wanting.and_then(|data| self.searchable(data, handle)).unwrap_or(block)
    }

    /// Returns the block with its search array, or `None` if the cache has no room for it.
    #[cold]
    fn searchable(&self, block: &Block, handle: BlockHandle) -> Option<BlockRef> {
        let _step = Step::begin(Cause::SearchArray);
        let block = CachedBlock::Data(block.searchable(self.heads?, spare::take).ok()?);
        let charge = block.memory_bytes();
        // The old block has been hit, so the new block gets the priority of a block with a hit.
        let kept = self.cache.as_ref()?.insert(
            &self.cache_key(handle),
            block,
            charge,
            Priority::High,
            Role::DataBlock,
        );
        kept.ok().map(BlockRef::Cached)
    }

    /// Returns the block if it is in the cache. Counts nothing.
    #[inline]
    pub(super) fn cached(&self, handle: BlockHandle) -> Option<BlockRef> {
        self.cache.as_ref()?.lookup(&self.cache_key(handle)).map(BlockRef::Cached)
    }

    /// Erases the block from the cache. Returns true if the block was in the cache.
    pub(super) fn erase_cached(&self, handle: BlockHandle) -> bool {
        self.cache.as_ref().is_some_and(|cache| cache.erase(&self.cache_key(handle)))
    }

    /// Returns the block if it is in the cache. Counts the hit or miss.
    #[inline]
    pub(super) fn lookup(&self, handle: BlockHandle, kind: BlockKind, ctx: &ReadCtx) -> Option<BlockRef> {
        let cache = self.cache.as_ref()?;
        let Some(block) = cache.lookup(&self.cache_key(handle)) else {
            self.counts.cache_miss(kind);
            return None;
        };
        self.counts.cache_hit(kind, block.charge());
        if let Some(traced) = self.traced() {
            self.trace_access(traced, (&block, handle, kind), ctx, true);
        }
        Some(BlockRef::Cached(block))
    }

    /// Counts a hit of a data block that [`Source::cached`] returned earlier.
    #[inline]
    pub(super) fn used_ahead(&self, block: &BlockRef, handle: BlockHandle, ctx: &ReadCtx) {
        self.counts.cache_hit(BlockKind::Data, block.charge());
        if let Some(traced) = self.traced() {
            self.trace_access(traced, (block, handle, BlockKind::Data), ctx, true);
        }
    }

    #[inline]
    pub(super) fn cache_key(&self, handle: BlockHandle) -> CacheKey {
        self.key_base.at(handle.offset)
    }

    /// Reads the block. It is not in the cache.
    #[inline(never)]
    pub(super) fn load(
        &self,
        handle: BlockHandle,
        kind: BlockKind,
        ctx: &ReadCtx,
        window: Option<&mut dyn Window>,
    ) -> Result<BlockRef> {
        let block = self.load_uncached(handle, kind, ctx, window)?;
        self.keep(block, handle, kind, ctx)
    }

    /// Reads the block from the file. Neither searches the block cache nor inserts the block.
    #[inline]
    pub(super) fn load_uncached(
        &self,
        handle: BlockHandle,
        kind: BlockKind,
        ctx: &ReadCtx,
        window: Option<&mut dyn Window>,
    ) -> Result<CachedBlock> {
        if kind == BlockKind::Data && in_place::is_expected(self) {
            return in_place::load(self, handle, ctx, window);
        }
        let raw = self.read_block(handle, kind, ctx, window)?;
        self.decode(raw, handle, kind, ctx).map_err(|error| self.refused(error, handle, kind))
    }

    /// Decodes an index block that a lookup left in the cache as it is stored. The decoded block replaces the stored
    /// block, if the read may change the cache.
    ///
    /// # Errors
    /// Corruption if the block does not decode.
    #[cold]
    pub(super) fn decoded(
        &self,
        stored: &StoredIndex,
        handle: BlockHandle,
        ctx: &ReadCtx,
    ) -> Result<BlockRef> {
        let index =
            stored.decode().map_err(|e| self.blame(e.shifted(handle.offset), handle, BlockKind::Index))?;
        let block = CachedBlock::from(Other::Index(index));
        let Some(cache) = self.cache.as_ref().filter(|_| ctx.fill_cache) else {
            return Ok(BlockRef::Own(block.into()));
        };
        let (charge, role) = (block.memory_bytes(), BlockKind::Index.role());
        cache
            .insert(&self.cache_key(handle), block, charge, self.metadata_priority, role)
            .map(BlockRef::Cached)
    }

    /// Reads an embedded blob from the file. Returns its payload in a buffer that the caller gives back to `scratch`.
    pub(super) fn load_blob(&self, handle: BlockHandle, ctx: &ReadCtx) -> Result<Vec<u8>> {
        let raw = self.read_block(handle, BlockKind::Blob, ctx, None)?;
        match self.payload(raw, handle, ctx.verify_checksums, None) {
            Ok(payload) => Ok(payload.into_owned()),
            Err(error) => Err(self.refused(error, handle, BlockKind::Blob)),
        }
    }

    /// Names the block of an error, and erases the block from the persistent cache.
    #[cold]
    pub(super) fn refused(&self, error: Error, handle: BlockHandle, kind: BlockKind) -> Error {
        if let Some(cache) = &self.persistent_cache {
            cache.erase(self.cache_key(handle));
        }
        self.blame(error, handle, kind)
    }

    /// Reads the bytes of a block with its trailer, and counts the read.
    #[inline]
    pub(super) fn read_block<'w>(
        &self,
        handle: BlockHandle,
        kind: BlockKind,
        ctx: &ReadCtx,
        window: Option<&'w mut dyn Window>,
    ) -> Result<Cow<'w, [u8]>> {
        let raw = timed_read(self, (handle, kind), ctx, || self.raw_or_kept(handle, window, ctx))?;
        if matches!(raw, Cow::Owned(_)) {
            self.counts.read(kind, 1, raw.len());
        }
        Ok(raw)
    }

    /// Inserts a decoded block into the cache, if there is a cache and the read fills the cache.
    pub(super) fn keep(
        &self,
        block: CachedBlock,
        handle: BlockHandle,
        kind: BlockKind,
        ctx: &ReadCtx,
    ) -> Result<BlockRef> {
        if let Some(traced) = self.traced().filter(|_| self.cache.is_some()) {
            self.trace_access(traced, (&block, handle, kind), ctx, false);
        }
        if let Some((amp, block)) = self.read_amp.as_ref().zip(data(&block)) {
            amp.loaded(handle.offset, block);
        }
        match &self.cache {
            Some(cache) if ctx.fill_cache => {
                let charge = block.memory_bytes();
                base::invariant!(charge > 0, "a block without memory is put into the block cache");
                if kind == BlockKind::Data {
                    self.arrays.loaded();
                }
                let priority = match kind {
                    BlockKind::Data => Priority::Low,
                    BlockKind::Blob => Priority::Bottom,
                    _ => self.metadata_priority,
                };
                match cache.insert_or_replace(&self.cache_key(handle), block, charge, priority, kind.role()) {
                    Ok((block, is_replaced)) => {
                        self.counts.cache_add(kind, charge, is_replaced);
                        Ok(BlockRef::Cached(block))
                    }
                    Err(error) => {
                        self.counts.cache_refused();
                        Err(error)
                    }
                }
            }
            _ => Ok(BlockRef::Own(Arc::new(block))),
        }
    }

    /// Returns the bytes of a block with its trailer.
    pub(super) fn raw<'w>(
        &self,
        handle: BlockHandle,
        window: Option<&'w mut dyn Window>,
        limits: Option<&ReadLimits>,
    ) -> Result<Cow<'w, [u8]>> {
        check_place(self, handle)?;
        let len = handle.size as usize + trailer::LEN;
        if let Some(window) = window
            && let Some(bytes) = window.bytes(self, handle.offset, len, limits)?
        {
            return Ok(Cow::Borrowed(bytes));
        }
        self.read(handle.offset, len, limits).map(Cow::Owned)
    }

    /// Returns the bytes of a block with its trailer, from the persistent cache if the cache has them. A block that was read
    /// from the file goes to the persistent cache, unless the read fills no cache.
    fn raw_or_kept<'w>(
        &self,
        handle: BlockHandle,
        window: Option<&'w mut dyn Window>,
        ctx: &ReadCtx,
    ) -> Result<Cow<'w, [u8]>> {
        let limits = ctx.limits.as_deref();
        let (Some(cache), None) = (&self.persistent_cache, &window) else {
            return self.raw(handle, window, limits);
        };
        let key = self.cache_key(handle);
        let kept = cache.lookup(key, handle.size as usize + trailer::LEN);
        self.counts.persistent_cache(kept.is_some());
        if let Some(bytes) = kept {
            return Ok(Cow::Owned(bytes));
        }
        let bytes = self.raw(handle, None, limits)?;
        // A block that was read wrong must not stay in the cache.
        if ctx.fill_cache && trailer::verify(self.checksum, self.base_context, handle.offset, &bytes).is_ok()
        {
            cache.insert(key, &bytes);
        }
        Ok(bytes)
    }

    /// Reads from the file within the limits of the read. Returns fewer bytes only at the end of the file.
    #[inline]
    pub(super) fn read_at(
        &self,
        offset: u64,
        buffer: &mut [u8],
        limits: Option<&ReadLimits>,
    ) -> Result<usize> {
        let got = match limits {
            None => self.file.read_at(offset, buffer),
            Some(limits) => limits.around(buffer.len(), || self.file.read_at(offset, buffer)),
        }?;
        base::invariant!(got <= buffer.len(), "a read of {} bytes gives {got}", buffer.len());
        self.counts.file_read(got);
        Ok(got)
    }

    /// Reads exactly `len` bytes of the file.
    pub(super) fn read(&self, offset: u64, len: usize, limits: Option<&ReadLimits>) -> Result<Vec<u8>> {
        let mut bytes = scratch::room(len);
        let mut read = || self.file.read_to(offset, len, &mut bytes);
        match limits {
            None => read(),
            Some(limits) => limits.around(len, read),
        }?;
        let got = bytes.len();
        base::invariant!(got <= len, "a read of {len} bytes gives {got}");
        self.counts.file_read(got);
        if got < len {
            return Err(truncated(got, len));
        }
        Ok(bytes)
    }

    /// Checks, decompresses and parses a block that was read with its trailer.
    pub(super) fn decode(
        &self,
        raw: Cow<'_, [u8]>,
        handle: BlockHandle,
        kind: BlockKind,
        ctx: &ReadCtx,
    ) -> Result<CachedBlock> {
        base::invariant!(
            raw.len() == handle.size as usize + trailer::LEN,
            "the block {handle} is decoded from {} bytes",
            raw.len()
        );
        let heads = heads_later(self, ctx);
        let verify = ctx.verify_checksums;
        let dict = if kind == BlockKind::Data { self.dict.as_ref() } else { None };
        let compression = self.checked(&raw, handle, verify)?;
        if kind == BlockKind::Data {
            in_place::learn(self, compression);
        }
        if compression != 0 && kind == BlockKind::Data && self.protection == 0 {
            let block =
                self.inflate_data(compression, &raw[..raw.len() - trailer::LEN], heads.is_some(), dict);
            give_back(raw);
            return block.map(CachedBlock::Data).map_err(|e| e.shifted(handle.offset));
        }
        let payload = self.bare(raw, compression, dict)?;
        let block = match kind {
            BlockKind::Data if heads.is_some() && self.protection == 0 => CachedBlock::Data(
                Block::parse_for_later(&payload, room_for_later).map_err(|e| e.shifted(handle.offset))?,
            ),
            BlockKind::Data => CachedBlock::Data(
                Block::parse_into(&payload, heads, self.protection, spare::take)
                    .map_err(|e| e.shifted(handle.offset))?,
            ),
            BlockKind::Index => self.decode_index(&payload, &self.index_layout, handle)?,
            BlockKind::FilterIndex => {
                let layout = IndexLayout { first_keys: false, ..self.index_layout };
                self.decode_index(&payload, &layout, handle)?
            }
            BlockKind::Filter => {
                let filter = Filter::parse(&payload);
                Other::Filter(FilterBlock { bits: Box::from(&*payload), filter }).into()
            }
            BlockKind::Blob => Other::Raw(Arc::from(&*payload)).into(),
        };
        give_back(payload);
        Ok(block)
    }

    fn decode_index(&self, payload: &[u8], layout: &IndexLayout, handle: BlockHandle) -> Result<CachedBlock> {
        let mut index = Index::decode(payload, layout).map_err(|e| e.shifted(handle.offset))?;
        index.protect(self.protection);
        Ok(Other::Index(index).into())
    }

    /// Returns the handle of entry `at` of an index.
    ///
    /// # Errors
    /// Corruption if the entry does not match its protection bytes.
    #[inline]
    pub(super) fn handle_in(&self, index: &Index, at: usize) -> Result<BlockHandle> {
        base::invariant!(at < index.len(), "an index of {} blocks has no block {at}", index.len());
        match index.verify(at) {
            Ok(()) => Ok(index.handle(at)),
            Err(error) => Err(self.blame_index(error)),
        }
    }

    #[cold]
    fn blame_index(&self, error: Error) -> Error {
        error.doing("reading an index".to_string()).file(self.file.path())
    }

    /// Checks and decompresses the bytes of a block. Returns the payload.
    pub(super) fn payload<'a>(
        &self,
        raw: Cow<'a, [u8]>,
        handle: BlockHandle,
        verify: bool,
        dict: Option<&Dictionary>,
    ) -> Result<Cow<'a, [u8]>> {
        let compression = self.checked(&raw, handle, verify)?;
        self.bare(raw, compression, dict)
    }

    /// Returns the compression type from the trailer of a block. Checks the checksum first if `verify` is true.
    pub(super) fn checked(&self, raw: &[u8], handle: BlockHandle, verify: bool) -> Result<u8> {
        if !verify {
            return trailer::compression_type(raw);
        }
        let _time = PerfTimer::start(PerfCounter::BlockChecksumTime);
        let verified = trailer::verify(self.checksum, self.base_context, handle.offset, raw);
        self.counts.verified(verified).map_err(|e| self.diagnose(e, handle, raw))
    }

    /// Returns the payload of a checked block: without the trailer, and decompressed.
    fn bare<'a>(
        &self,
        mut raw: Cow<'a, [u8]>,
        compression: u8,
        dict: Option<&Dictionary>,
    ) -> Result<Cow<'a, [u8]>> {
        base::invariant!(raw.len() >= trailer::LEN, "a block of {} bytes has a checked trailer", raw.len());
        let len = raw.len() - trailer::LEN;
        if compression != 0 {
            let payload = self.inflate(compression, &raw[..len], dict).map(Cow::Owned);
            give_back(raw);
            return payload;
        }
        match &mut raw {
            Cow::Borrowed(bytes) => *bytes = &bytes[..len],
            Cow::Owned(bytes) => bytes.truncate(len),
        }
        Ok(raw)
    }

    /// Adds the one wrong bit to a checksum error, if one bit explains the error.
    #[cold]
    fn diagnose(&self, error: Error, handle: BlockHandle, raw: &[u8]) -> Error {
        let search = || {
            let mut trial = raw.to_vec();
            (trial.len() <= DIAGNOSED_BYTES_MAX)
                .then(|| one_bit(self.checksum, self.base_context, handle.offset, &mut trial))
                .flatten()
        };
        let first = self.diagnosed.get_or_init(|| (handle.offset, search()));
        let found = if first.0 == handle.offset { first.1 } else { search() };
        match found {
            Some((byte, bit)) => {
                let at = handle.offset + byte as u64;
                Error::corruption(format!("{}; one bit is wrong, bit {bit} of byte {at}", error.message()))
                    .at(handle.offset)
            }
            None => error,
        }
    }

    /// Adds to an error the block that was read, its file and its offset.
    #[cold]
    pub(super) fn blame(&self, error: Error, handle: BlockHandle, kind: BlockKind) -> Error {
        error
            .doing(format!("reading {} block {handle}", kind.name()))
            .file(self.file.path())
            .at(handle.offset)
    }

    #[cold]
    pub(super) fn wrong_kind(&self, handle: BlockHandle, kind: BlockKind) -> Error {
        self.blame(Error::corruption("two kinds of block at one place"), handle, kind)
    }

    /// Adds the file and the offset to an error that only has an offset in its data block.
    #[cold]
    pub(super) fn blame_data(&self, error: Error, handle: BlockHandle) -> Error {
        self.blame(error.shifted(handle.offset), handle, BlockKind::Data)
    }
}

/// Runs the read of one block, and counts its time.
///
/// # Errors
/// Incomplete if the caller wants only blocks that are in memory. The error of the read, with the block and the file.
#[inline]
pub(super) fn timed_read<T>(
    source: &Source,
    block: (BlockHandle, BlockKind),
    ctx: &ReadCtx,
    read: impl FnOnce() -> Result<T>,
) -> Result<T> {
    let (handle, kind) = block;
    if ctx.cache_only {
        return Err(Error::incomplete(format!("no blocking io: a {} block is not in memory", kind.name())));
    }
    let _step = Step::begin(Cause::BlockRead);
    let start = source.counts.times_reads().then(Stopwatch::start);
    let done = {
        let _time = PerfTimer::start(PerfCounter::BlockReadTime);
        let _cpu = CpuTimer::start(PerfCounter::BlockReadCpuTime);
        read().map_err(|e| source.blame(e, handle, kind))?
    };
    if let Some(start) = start {
        source.counts.read_took(start.micros(), ctx);
    }
    source.counts.had(kind, 1);
    Ok(done)
}

/// Checks that the block is inside of the file.
///
/// # Errors
/// Corruption if the block is not inside of the file.
pub(super) fn check_place(source: &Source, handle: BlockHandle) -> Result<()> {
    if handle.end() > source.size {
        return Err(Error::corruption(format!(
            "block {handle} lies outside the file of {} bytes",
            source.size
        )));
    }
    Ok(())
}

/// Returns the key order of the search array of a new block, or `None` if the block never gets a search array. The array is useful only
/// if a block is searched more than once. So a new cached block has no array, and a later search makes the array: see `ArrayBudget`.
pub(super) fn heads_later(source: &Source, ctx: &ReadCtx) -> Option<HeadOrder> {
    source.heads.filter(|_| ctx.fill_cache && source.cache.is_some())
}

/// Makes the error of a read that the end of the file cut.
#[cold]
pub(super) fn truncated(got: usize, len: usize) -> Error {
    Error::corruption(format!("truncated block: {got} bytes where {len} were to be read"))
}

/// Keeps a buffer of this thread for the next block.
pub(super) fn give_back(bytes: Cow<'_, [u8]>) {
    if let Cow::Owned(buffer) = bytes {
        scratch::give(buffer);
    }
}

/// Returns the data block of a cached block.
#[inline]
pub(super) fn data(block: &CachedBlock) -> Option<&Block> {
    match block {
        CachedBlock::Data(block) => Some(block),
        _ => None,
    }
}

/// Returns the index of a cached block.
#[inline]
pub(super) fn index(block: &CachedBlock) -> Option<&Index> {
    match block {
        CachedBlock::Other(other) => match &**other {
            Other::Index(index) => Some(index),
            _ => None,
        },
        CachedBlock::Data(_) => None,
    }
}
