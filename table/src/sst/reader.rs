//! One open table: look-ups of single keys, and what is known about the file.
//!
//! ```text
//! get ─ filter ── no ──► nothing
//!         └ maybe ─► index: which block ─► fetch ─► block: versions of the key ─► visit
//! ```
//! Opening is in `open`, several keys at once in `multi_get`, estimates in `measure`.

use std::ops::ControlFlow;
use std::sync::Arc;

use base::key::{InternalOrder, user_key};
use base::order::PrefixExtractor;
use base::stats::{HistogramKind, PerfCounter, PerfTimer, Statistics};
use base::{Error, FileNumber, Level, Order, Pinned, Result, SequenceNumber};
use env::fs::RandomRead;
use format::handle::BlockHandle;
use format::index::Index;
use format::metaindex::Metaindex;
use format::properties::Properties;
use mem::range_del::FragmentedTombstones;

use super::block_cache::{BlockCache, CachedBlock, Other};
use super::block_kind::BlockKind;
use super::fetch::data;
use super::file_source::Source;
use super::filter_reader::{Answer, FilterReader};
use super::index_reader::IndexReader;
use super::read_ctx::{Entry, ReadCtx, ValueRef};
use crate::options::{BlockBasedTableOptions, OtherTables};

/// How a table is opened: settings, components, and what the MANIFEST knows about the file.
#[derive(Clone)]
pub struct OpenOptions {
    /// The order of user keys.
    pub order: Order,
    /// The prefix extractor of the column family, if there is one.
    pub prefix_extractor: Option<Arc<dyn PrefixExtractor>>,
    /// The table options.
    pub table: Arc<BlockBasedTableOptions>,
    /// The options of tables without blocks.
    pub other: Arc<OtherTables>,
    /// `None` reads blocks from the file each time.
    pub cache: Option<Arc<BlockCache>>,
    /// The number in the name of the file.
    pub file_number: FileNumber,
    /// The level of the file.
    pub level: Level,
    /// Reads count as those of the last level. Default false.
    pub last_level: bool,
    /// Reads count as those of files of this temperature, as RocksDB numbers them. Default 0: unknown.
    pub temperature: u8,
    /// The file's largest sequence number by the MANIFEST; external files take theirs from it.
    pub largest_seqno: Option<SequenceNumber>,
    /// Bytes from the end that hold everything but data, by the MANIFEST; 0 if unknown.
    pub tail_size: u64,
    /// The unique id that the MANIFEST expects; `None` to not check.
    pub unique_id: Option<[u64; 2]>,
    /// This session's id, for cache keys of files that carry none.
    pub db_session_id: Arc<str>,
    /// Files of level 0 up to this many bytes count as just flushed for pinning.
    pub max_flushed_file_size: u64,
    /// Do not open the filter: files of the last level where `optimize_filters_for_hits` is set.
    pub skip_filters: bool,
    /// Bytes of checksum that each entry of a block gets as it is loaded: 0 (the default), 1, 2, 4 or 8.
    pub block_protection_bytes_per_key: u8,
    /// The statistics of the database.
    pub statistics: Option<Arc<Statistics>>,
    /// Which of the `file.read.*.micros` histograms the reads of opening are for. Default none.
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
            file_number: FileNumber(0),
            level: Level::ZERO,
            last_level: false,
            temperature: 0,
            largest_seqno: None,
            tail_size: 0,
            unique_id: None,
            db_session_id: Arc::from(""),
            max_flushed_file_size: u64::MAX,
            skip_filters: false,
            block_protection_bytes_per_key: 0,
            statistics: None,
            histogram: None,
        }
    }
}

/// An open table. Any thread; look-ups take no lock.
pub struct Reader {
    pub(super) source: Source,
    pub(super) index: IndexReader,
    pub(super) filter: FilterReader,
    pub(super) properties: Arc<Properties>,
    pub(super) metaindex: Metaindex,
    pub(super) format_version: u32,
    pub(super) range_tombstones: Vec<(Vec<u8>, Vec<u8>)>,
    /// The same cut into fragments; `None` without any.
    pub(super) fragments: Option<Arc<FragmentedTombstones>>,
    pub(super) table_options: Arc<BlockBasedTableOptions>,
    /// Where data blocks end, for what is read ahead.
    pub(super) data_end: u64,
    /// The properties say that the file has embedded blobs.
    pub(super) embeds_blobs: bool,
    /// The properties block, if it passed its check only without the sequence number written into it.
    pub(super) forgiven: Option<BlockHandle>,
}

impl Reader {
    /// Opens a table of `size` bytes.
    ///
    /// # Errors
    /// Corruption if it is not a whole table or contradicts the MANIFEST; NotSupported, naming the
    /// feature, for tables of other kinds and newer releases; errors of the file.
    pub fn open(file: Arc<dyn RandomRead>, size: u64, options: &OpenOptions) -> Result<Reader> {
        let path = file.path().to_path_buf();
        super::open::open(file, size, options).map_err(|e| e.doing("opening a table").file(path))
    }

    /// Visits the versions of a key from `seek_key` (an internal key) on, newest first, until `visit`
    /// breaks or the key's versions end. Keys that differ in their timestamp only are one key.
    ///
    /// # Errors
    /// Corruption or errors of the file; Incomplete if `ctx` allows memory only and that is not enough.
    #[inline]
    pub fn get(
        &self,
        seek_key: &[u8],
        ctx: &ReadCtx,
        mut visit: impl FnMut(Entry<'_>) -> ControlFlow<()>,
    ) -> Result<()> {
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

    /// [`Reader::get`] past the filter.
    pub(super) fn get_unfiltered(
        &self,
        seek_key: &[u8],
        ctx: &ReadCtx,
        visit: &mut impl FnMut(Entry<'_>) -> ControlFlow<()>,
    ) -> Result<()> {
        let root = self.index.root(&self.source, ctx)?;
        let index = self.index.as_index(&self.source, &root)?;
        if !self.index.partitioned {
            return self.get_in(index, seek_key, ctx, visit).map(|_| ());
        }
        for at in index.seek(&self.source.order, seek_key)..index.len() {
            let block = self.index.partition(&self.source, self.source.handle_in(index, at)?, ctx)?;
            let partition = self.index.as_index(&self.source, &block)?;
            if !self.get_in(partition, seek_key, ctx, visit)? {
                break;
            }
        }
        Ok(())
    }

    /// Visits versions in the blocks of one index block. True if more may be in the next.
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
            let time = PerfTimer::start(PerfCounter::NewTableBlockIterNanos);
            let block = self.source.fetch(handle, BlockKind::Data, ctx, None)?;
            time.stop();
            if !self.visit_block(&block, handle, seek_key, visit)?
                || !index.may_continue(at, &order.user, user)
            {
                return Ok(false);
            }
        }
        Ok(true)
    }

    /// Visits versions in one data block. True if more may be in the next.
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
        block
            .visit_versions(&source.order, source.rewrite, seek_key, &mut |user_key, trailer, range| {
                visit(Entry { user_key, trailer, value: ValueRef::of(block.bytes(), range) })
            })
            .map_err(|e| source.blame_data(e, handle))
    }

    /// Whether the filter lets `user_key` (with its timestamp) through; true without a filter or when
    /// `ctx` forbids to read it.
    ///
    /// # Errors
    /// Corruption or errors of the file.
    pub fn may_match(&self, user_key: &[u8], ctx: &ReadCtx) -> Result<bool> {
        let seek_key = base::key::seek_key(user_key, base::key::MAX_SEQUENCE);
        Ok(self.filter.key_may_match(&self.source, &seek_key, ctx)? != Answer::No)
    }

    /// Whether the table may hold keys with the prefix of `target` (an internal key).
    ///
    /// # Errors
    /// Corruption or errors of the file.
    pub fn prefix_may_match(&self, target: &[u8], ctx: &ReadCtx) -> Result<bool> {
        self.filter.prefix_may_match(&self.source, target, ctx.upper_bound.as_deref(), ctx)
    }

    /// The raw range tombstones, in file order: internal start key and end user key.
    #[inline]
    pub fn range_tombstones(&self) -> &[(Vec<u8>, Vec<u8>)] {
        &self.range_tombstones
    }

    /// The range tombstones in fragments, for readers; `None` if the table has none.
    #[inline]
    pub fn tombstones(&self) -> Option<&Arc<FragmentedTombstones>> {
        self.fragments.as_ref()
    }

    /// The order of the table's keys.
    pub fn order(&self) -> &InternalOrder {
        &self.source.order
    }

    /// Returns the table properties.
    #[inline]
    pub fn properties(&self) -> &Arc<Properties> {
        &self.properties
    }

    /// The value of a blob index that points into this same file (file number 0).
    ///
    /// # Errors
    /// Corruption if the file has no such values or this one is damaged; errors of the file.
    pub fn embedded_blob(&self, offset: u64, size: u64, ctx: &ReadCtx) -> Result<Pinned> {
        let handle = BlockHandle::new(offset, size);
        let blame = |e| self.source.blame(e, handle, BlockKind::Blob);
        if !self.embeds_blobs {
            return Err(blame(Error::corruption("a blob index points into a table that carries no blobs")));
        }
        let block = self.source.fetch(handle, BlockKind::Blob, ctx, None)?;
        let CachedBlock::Other(other) = &*block else {
            return Err(self.source.wrong_kind(handle, BlockKind::Blob));
        };
        match &**other {
            Other::Raw(bytes) => Ok(Pinned::bytes(bytes.clone(), 0..bytes.len())),
            _ => Err(self.source.wrong_kind(handle, BlockKind::Blob)),
        }
    }

    /// The names of the file's blocks and where they lie.
    pub fn metaindex(&self) -> &Metaindex {
        &self.metaindex
    }

    /// The version in the footer.
    pub fn format_version(&self) -> u32 {
        self.format_version
    }

    /// The sequence number that every entry of an external file takes.
    pub fn global_seqno(&self) -> Option<SequenceNumber> {
        self.source.rewrite.global_seqno
    }

    /// In bytes.
    pub fn file_size(&self) -> u64 {
        self.source.size
    }

    /// Bytes of memory that the open table takes outside the cache.
    pub fn memory_bytes(&self) -> usize {
        let tombstones =
            self.range_tombstones.iter().map(|(a, b)| a.len() + b.len() + size_of::<[Vec<u8>; 2]>());
        size_of::<Reader>()
            + self.index.own_memory_bytes()
            + self.filter.own_memory_bytes()
            + tombstones.sum::<usize>()
            + self.source.dict.as_ref().map_or(0, |d| d.raw().len())
    }
}
