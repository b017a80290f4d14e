//! One open table: lookups of single keys, and facts about the file.
//!
//! ```text
//! get ─ filter ── no ──► nothing
//!         └ maybe ─► index: which block ─► fetch ─► block: entries of the key ─► visit
//! ```
//! `open` has the open, `multi_get` lookups of several keys, and `measure` estimates.

use std::ops::ControlFlow;
use std::sync::{Arc, OnceLock};

use base::key::{InternalOrder, trailer, user_key};
use base::order::PrefixExtractor;
use base::stats::{HistogramKind, PerfCounter, PerfTimer, Statistics, perf_add};
use base::{Error, FileNumber, Level, Order, Pinned, Result, SequenceNumber, Subcode};
use env::fs::RandomRead;
use format::block::{Block, BlockIter};
use format::handle::BlockHandle;
use format::index::{Index, StoredIndex};
use format::metaindex::Metaindex;
use format::properties::Properties;
use mem::cache::{Ledger, Reservation, Role};
use mem::range_del::FragmentedTombstones;

use super::access_trace::{self, AccessTracer};
use super::block_cache::{BlockCache, CachedBlock, Other};
use super::block_kind::BlockKind;
use super::fetch::{data, index};
use super::file_source::Source;
use super::filter_reader::{Answer, FilterReader};
use super::index_reader::IndexReader;
use super::read_amp::ReadAmp;
use super::read_ctx::{Entry, ReadCtx, ValueRef};
use crate::options::{BlockBasedTableOptions, OtherTables};

/// The options to open a table: settings, components, and facts from the MANIFEST.
#[derive(Clone)]
pub struct OpenOptions {
    /// The order of user keys.
    pub order: Order,
    /// The prefix extractor of the column family, if there is one.
    pub prefix_extractor: Option<Arc<dyn PrefixExtractor>>,
    /// The table options.
    pub table: Arc<BlockBasedTableOptions>,
    /// The options of the table formats without blocks.
    pub other: Arc<OtherTables>,
    /// The block cache. `None`: blocks are read from the file each time.
    pub cache: Option<Arc<BlockCache>>,
    /// The number in the name of the file.
    pub file_number: FileNumber,
    /// The level of the file.
    pub level: Level,
    /// True if reads count as reads of the last level. Default false.
    pub last_level: bool,
    /// The temperature for the counters of reads, with RocksDB's numbers. Default 0: unknown.
    pub temperature: u8,
    /// The largest sequence number of the file, from the MANIFEST. It is the sequence number of an external
    /// file.
    pub largest_seqno: Option<SequenceNumber>,
    /// Bytes from the end of the data blocks to the end of the file, from the MANIFEST; 0 if unknown.
    pub tail_size: u64,
    /// The unique id that the MANIFEST expects. `None`: not checked.
    pub unique_id: Option<[u64; 2]>,
    /// The id of this session, for the cache keys of files without an id.
    pub db_session_id: Arc<str>,
    /// Maximum size in bytes of a level-0 file that counts as just flushed, for pinning.
    pub max_flushed_file_size: u64,
    /// False if the MANIFEST says that the keys of the file have no timestamps. The reader then adds the oldest timestamp to
    /// each key, also if the table properties do not say so. Default true.
    pub timestamps_persisted: bool,
    /// True if the filter is not opened, as for files of the last level with `optimize_filters_for_hits`.
    pub skip_filters: bool,
    /// Bytes of checksum that each entry of a block gets when the block is loaded: 0 (default), 1, 2, 4 or 8.
    pub block_protection_bytes_per_key: u8,
    /// The statistics of the database.
    pub statistics: Option<Arc<Statistics>>,
    /// Records the accesses to the block cache while a trace runs. Default `None`.
    pub tracer: Option<Arc<AccessTracer>>,
    /// The `file.read.*.micros` histogram for the reads of the open. Default none.
    pub histogram: Option<HistogramKind>,
}

impl Default for OpenOptions {
    fn default() -> Self {
        OpenOptions {
            order: Order::Bytewise,
            prefix_extractor: None,
            table: Arc::default(),
            other: Arc::default(),
            cache: None,
            file_number: FileNumber::ZERO,
            level: Level::ZERO,
            last_level: false,
            temperature: 0,
            largest_seqno: None,
            tail_size: 0,
            unique_id: None,
            db_session_id: Arc::from(""),
            max_flushed_file_size: u64::MAX,
            timestamps_persisted: true,
            skip_filters: false,
            block_protection_bytes_per_key: 0,
            statistics: None,
            tracer: None,
            histogram: None,
        }
    }
}

impl OpenOptions {
    /// Returns the number of bytes of timestamp that the reader adds to each key of a file with these properties. 0: the
    /// keys in the file are complete.
    pub(super) fn timestamp_pad(&self, properties: &Properties) -> usize {
        let persisted = self.timestamps_persisted && stores_timestamps(properties, &self.order);
        if persisted { 0 } else { self.order.timestamp_size() }
    }
}

/// Charges memory whose size is known only now.
///
/// # Errors
/// Aborted with `Subcode::MemoryLimit`, and with RocksDB's text, if the account has a strict limit and no room.
fn reserve(ledger: Arc<dyn Ledger>, role: Role, bytes: usize) -> Result<Reservation> {
    Reservation::new(ledger, role, bytes).map_err(|_| {
        Error::aborted(format!(
            "Can't allocate {} due to memory limit based on cache capacity for memory allocation",
            role.camel_name()
        ))
        .with_subcode(Subcode::MemoryLimit)
    })
}

/// Returns false if the keys of a file with these properties have no timestamps in `order`. The timestamps of such a file
/// were removed (`persist_user_defined_timestamps=false`), or the file was written before timestamps were turned on:
/// with the comparator `NAME` instead of `NAME.u64ts`.
pub fn stores_timestamps(properties: &Properties, order: &Order) -> bool {
    let is_older =
        order.name().strip_suffix(".u64ts").map(str::as_bytes) == Some(&properties.comparator_name);
    properties.user_defined_timestamps_persisted != 0 && !is_older
}

/// An open table. Any thread may use it, and lookups take no lock.
pub struct Reader {
    pub(super) source: Source,
    pub(super) index: IndexReader,
    pub(super) filter: FilterReader,
    pub(super) properties: Arc<Properties>,
    pub(super) metaindex: Metaindex,
    pub(super) format_version: u32,
    pub(super) range_tombstones: Vec<(Vec<u8>, Vec<u8>)>,
    /// The fragments of `range_tombstones`; `None` if there are none.
    pub(super) fragments: Option<Arc<FragmentedTombstones>>,
    pub(super) table_options: Arc<BlockBasedTableOptions>,
    /// The end of the data blocks, which limits the read-ahead.
    pub(super) data_end: u64,
    /// True if the properties say that the file has embedded blobs.
    pub(super) embeds_blobs: bool,
    /// The properties block, if its checksum is valid only without the sequence number that an old release
    /// wrote into it.
    pub(super) forgiven: Option<BlockHandle>,
    /// The charge of [`Reader::charge_to`].
    pub(super) charge: OnceLock<Reservation>,
}

impl Reader {
    /// Opens a table of `size` bytes.
    ///
    /// # Errors
    /// Corruption if the file is not a whole table or contradicts the MANIFEST. NotSupported, with the name
    /// of the feature, for other kinds of tables and for newer releases. Errors of the file.
    pub fn open(file: Arc<dyn RandomRead>, size: u64, options: &OpenOptions) -> Result<Reader> {
        let path = file.path().to_path_buf();
        super::open::open(file, size, options).map_err(|e| e.doing("opening a table").file(path))
    }

    /// Charges the memory of the open table to an account, as long as the table is open. A second call does nothing.
    ///
    /// # Errors
    /// Aborted with `Subcode::MemoryLimit`, and with RocksDB's text, if the account has a strict limit and no room.
    pub fn charge_to(&self, ledger: Arc<dyn Ledger>) -> Result<()> {
        if self.charge.get().is_none() {
            let _ = self.charge.set(reserve(ledger, Role::BlockBasedTableReader, self.memory_bytes())?);
        }
        Ok(())
    }

    /// Visits the entries of a key from `seek_key` (an internal key) on, newest first, until `visit` breaks
    /// or the key has no more entries. Keys that differ only in their timestamp are one key.
    ///
    /// # Errors
    /// Corruption or errors of the file. Incomplete if `ctx` allows memory only and the read needs the file.
    #[inline]
    pub fn get(
        &self,
        seek_key: &[u8],
        ctx: &ReadCtx,
        mut visit: impl FnMut(Entry<'_>) -> ControlFlow<()>,
    ) -> Result<()> {
        base::invariant!(
            seek_key.len() >= base::key::TRAILER_LEN,
            "a lookup seeks {} bytes, which is no internal key",
            seek_key.len()
        );
        if self.source.traced().is_some() {
            access_trace::seek(seek_key);
        }
        match self.filter.key_may_match(&self.source, seek_key, ctx)? {
            Answer::No => Ok(()),
            Answer::NotAsked => self.get_unfiltered(seek_key, ctx, &mut visit),
            Answer::Maybe => {
                let mut found = false;
                let outcome = self.get_unfiltered(seek_key, ctx, &mut |entry: Entry<'_>| {
                    found = true;
                    visit(entry)
                });
                if found {
                    self.source.counts.found_behind_filter(self.filter.whole_keys);
                }
                outcome
            }
        }
    }

    /// Does [`Reader::get`] without a query of the filter.
    pub(super) fn get_unfiltered(
        &self,
        seek_key: &[u8],
        ctx: &ReadCtx,
        visit: &mut impl FnMut(Entry<'_>) -> ControlFlow<()>,
    ) -> Result<()> {
        if !self.index.partitioned {
            let block = self.index.block_to_search(&self.source, ctx)?;
            return get_under(self, (&block, self.index.handle), seek_key, ctx, visit).map(|_| ());
        }
        let root = self.index.root(&self.source, ctx)?;
        let index = self.index.as_index(&self.source, &root)?;
        for at in index.seek(&self.source.order, seek_key)..index.len() {
            let handle = self.source.handle_in(index, at)?;
            let block = self.index.partition_to_search(&self.source, handle, ctx)?;
            if !get_under(self, (&block, handle), seek_key, ctx, visit)? {
                break;
            }
        }
        Ok(())
    }

    /// Visits the entries of the key in the data blocks of one decoded index block. Returns true if the next index
    /// block may have more.
    #[inline]
    fn get_in(
        &self,
        index: &Index,
        seek_key: &[u8],
        ctx: &ReadCtx,
        visit: &mut impl FnMut(Entry<'_>) -> ControlFlow<()>,
    ) -> Result<bool> {
        let order = &self.source.order;
        let user = user_key(seek_key);
        for at in index.seek(order, seek_key)..index.len() {
            let past = |first| order.user.compare_without_timestamp(user_key(first), user).is_gt();
            if index.first_key(at).is_some_and(past) {
                return Ok(false);
            }
            let handle = self.source.handle_in(index, at)?;
            if !get_at(self, handle, seek_key, ctx, visit)? || !index.may_continue(at, &order.user, user) {
                return Ok(false);
            }
        }
        Ok(true)
    }

    /// Visits the entries of the key in one data block. Returns true if the next data block may have more.
    #[inline]
    pub(super) fn visit_block(
        &self,
        block: &CachedBlock,
        handle: BlockHandle,
        seek_key: &[u8],
        visit: &mut impl FnMut(Entry<'_>) -> ControlFlow<()>,
    ) -> Result<bool> {
        let source = &self.source;
        let Some(block) = data(block) else { return Err(source.wrong_kind(handle, BlockKind::Data)) };
        let _time = PerfTimer::start(PerfCounter::BlockSeekNanos);
        perf_add(PerfCounter::UserKeyComparisonCount, 1);
        if let Some(amp) = &source.read_amp {
            return visit_measured(source, amp, (block, handle), seek_key, visit);
        }
        block
            .visit_versions(&source.order, source.rewrite, seek_key, &mut |user_key, trailer, range| {
                visit(Entry { user_key, trailer, value: ValueRef::of(block.bytes(), range) })
            })
            .map_err(|e| source.blame_data(e, handle))
    }

    /// Returns false if the filter excludes `user_key` (with its timestamp). Returns true if there is no
    /// filter, or if `ctx` does not allow to read it.
    ///
    /// # Errors
    /// Corruption or errors of the file.
    pub fn may_match(&self, user_key: &[u8], ctx: &ReadCtx) -> Result<bool> {
        let seek_key = base::key::seek_key(user_key, base::key::MAX_SEQUENCE);
        Ok(self.filter.key_may_match(&self.source, &seek_key, ctx)? != Answer::No)
    }

    /// Returns the stored range tombstones in the order of the file: internal start key and end user key.
    #[inline]
    pub fn range_tombstones(&self) -> &[(Vec<u8>, Vec<u8>)] {
        &self.range_tombstones
    }

    /// Returns the range tombstones in fragments, for readers. `None` if the table has none.
    #[inline]
    pub fn tombstones(&self) -> Option<&Arc<FragmentedTombstones>> {
        self.fragments.as_ref()
    }

    /// Returns the order of the keys.
    pub fn order(&self) -> &InternalOrder {
        &self.source.order
    }

    /// Returns the table properties.
    #[inline]
    pub fn properties(&self) -> &Arc<Properties> {
        &self.properties
    }

    /// Returns the value of a blob index that points into this file (file number 0). The value does not go to the block cache, as in
    /// RocksDB: large values would evict blocks.
    ///
    /// # Errors
    /// Corruption if the file has no embedded blobs or if this blob is corrupt. Errors of the file.
    pub(crate) fn embedded_blob(&self, offset: u64, size: u64, ctx: &ReadCtx) -> Result<Pinned> {
        let handle = BlockHandle::new(offset, size);
        self.check_embedded(handle)?;
        let block = self.source.load_uncached(handle, BlockKind::Blob, ctx, None)?;
        let CachedBlock::Other(other) = &block else {
            return Err(self.source.wrong_kind(handle, BlockKind::Blob));
        };
        match &**other {
            Other::Raw(bytes) => Ok(Pinned::bytes(bytes.clone(), 0..bytes.len())),
            _ => Err(self.source.wrong_kind(handle, BlockKind::Blob)),
        }
    }

    /// Returns the value as [`Reader::embedded_blob`], in a buffer that the caller gives back to `scratch`.
    ///
    /// # Errors
    /// The errors of [`Reader::embedded_blob`].
    pub(super) fn embedded_payload(&self, offset: u64, size: u64, ctx: &ReadCtx) -> Result<Vec<u8>> {
        let handle = BlockHandle::new(offset, size);
        self.check_embedded(handle)?;
        self.source.load_blob(handle, ctx)
    }

    /// Fails if the file has no embedded blobs.
    fn check_embedded(&self, handle: BlockHandle) -> Result<()> {
        if self.embeds_blobs {
            return Ok(());
        }
        let error = Error::corruption("a blob index points into a table that carries no blobs");
        Err(self.source.blame(error, handle, BlockKind::Blob))
    }

    /// Returns the names and the handles of the meta blocks.
    pub fn metaindex(&self) -> &Metaindex {
        &self.metaindex
    }

    /// Returns the format version in the footer.
    pub fn format_version(&self) -> u32 {
        self.format_version
    }

    /// Returns the sequence number that every entry of an external file has.
    pub fn global_seqno(&self) -> Option<SequenceNumber> {
        self.source.rewrite.global_seqno
    }

    /// Returns the size of the file in bytes.
    pub fn file_size(&self) -> u64 {
        self.source.size
    }

    /// Returns the bytes of memory that the open table takes outside of the cache.
    pub fn memory_bytes(&self) -> usize {
        let tombstones =
            self.range_tombstones.iter().map(|(a, b)| a.len() + b.len() + size_of::<[Vec<u8>; 2]>());
        size_of::<Reader>()
            + self.index.own_memory_bytes()
            + self.filter.own_memory_bytes()
            + tombstones.sum::<usize>()
            + self.properties.memory_bytes()
            + self.source.dict.as_ref().map_or(0, |d| d.raw().len())
    }
}

/// Visits the entries of the key in the data blocks of one index block. Returns true if the next index
/// block may have more.
#[inline]
fn get_under(
    reader: &Reader,
    (block, handle): (&CachedBlock, BlockHandle),
    seek_key: &[u8],
    ctx: &ReadCtx,
    visit: &mut impl FnMut(Entry<'_>) -> ControlFlow<()>,
) -> Result<bool> {
    if let Some(index) = index(block) {
        return reader.get_in(index, seek_key, ctx, visit);
    }
    let Some(stored) = block.stored_index() else {
        return Err(reader.source.wrong_kind(handle, reader.index.kind));
    };
    get_in_stored(reader, (stored, handle), seek_key, ctx, visit)
}

/// Does [`Reader::get_in`] for an index block that is as it is stored.
fn get_in_stored(
    reader: &Reader,
    (stored, index): (&StoredIndex, BlockHandle),
    seek_key: &[u8],
    ctx: &ReadCtx,
    visit: &mut impl FnMut(Entry<'_>) -> ControlFlow<()>,
) -> Result<bool> {
    let order = &reader.source.order;
    let blame = |e: Error| reader.source.blame(e.shifted(index.offset), index, BlockKind::Index);
    let mut place = stored.seek(order, seek_key).map_err(blame)?;
    while let Some(handle) = place.handle() {
        if !get_at(reader, handle, seek_key, ctx, visit)?
            || !place.may_continue(&order.user, user_key(seek_key))
        {
            return Ok(false);
        }
        place.next().map_err(blame)?;
    }
    Ok(true)
}

/// Visits the entries of the key in the data block at `handle`. Returns true if the next data block may have more.
#[inline]
fn get_at(
    reader: &Reader,
    handle: BlockHandle,
    seek_key: &[u8],
    ctx: &ReadCtx,
    visit: &mut impl FnMut(Entry<'_>) -> ControlFlow<()>,
) -> Result<bool> {
    let time = PerfTimer::start(PerfCounter::NewTableBlockIterNanos);
    let block = reader.source.fetch(handle, BlockKind::Data, ctx, None)?;
    time.stop();
    reader.visit_block(&block, handle, seek_key, visit)
}

/// Visits the entries of a key in a data block as `Block::visit_versions`, and counts the entries as used.
#[cold]
fn visit_measured(
    source: &Source,
    amp: &ReadAmp,
    (block, handle): (&Block, BlockHandle),
    seek_key: &[u8],
    visit: &mut impl FnMut(Entry<'_>) -> ControlFlow<()>,
) -> Result<bool> {
    let bits = amp.of_block(handle.offset, block);
    let sought = user_key(seek_key);
    let mut rows = BlockIter::rewriting(block.clone(), source.rewrite);
    rows.seek(&source.order, seek_key);
    while rows.valid() {
        let user_key = user_key(rows.key());
        if source.order.user.compare_without_timestamp(user_key, sought).is_ne() {
            return Ok(false);
        }
        bits.mark(rows.entry_range());
        let value = ValueRef::of(block.bytes(), rows.value_range());
        if visit(Entry { user_key, trailer: trailer(rows.key()), value }).is_break() {
            return Ok(false);
        }
        rows.next();
    }
    rows.status().map_err(|error| source.blame_data(error, handle))?;
    Ok(true)
}
