//! One open table.

use std::ops::ControlFlow;
use std::sync::Arc;

use base::order::PrefixExtractor;
use base::{Error, FileNumber, Level, Order, Result, SequenceNumber};
use env::fs::RandomRead;
use format::properties::Properties;

use super::block_cache::BlockCache;
use super::iter::TableIter;
use super::read_ctx::{Entry, ReadCtx};
use crate::options::BlockBasedTableOptions;

/// How a table is opened: settings, components, and what the MANIFEST knows about the file.
#[derive(Clone)]
pub struct OpenOptions {
    pub order: Order,
    pub prefix_extractor: Option<Arc<dyn PrefixExtractor>>,
    pub table: Arc<BlockBasedTableOptions>,
    /// `None` reads blocks from the file each time.
    pub cache: Option<Arc<BlockCache>>,
    pub file_number: FileNumber,
    pub level: Level,
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
}

impl Default for OpenOptions {
    fn default() -> Self {
        OpenOptions {
            order: Order::Bytewise,
            prefix_extractor: None,
            table: Arc::default(),
            cache: None,
            file_number: FileNumber(0),
            level: Level::ZERO,
            largest_seqno: None,
            tail_size: 0,
            unique_id: None,
            db_session_id: Arc::from(""),
            max_flushed_file_size: u64::MAX,
            skip_filters: false,
        }
    }
}

/// An open table. Any thread; look-ups take no lock.
pub struct Reader {
    properties: Arc<Properties>,
}

impl Reader {
    /// Opens a table of `size` bytes.
    ///
    /// # Errors
    /// Corruption if it is not a whole table or contradicts the MANIFEST; NotSupported, naming the
    /// feature, for tables of other kinds and newer releases; errors of the file.
    pub fn open(_file: Arc<dyn RandomRead>, _size: u64, _options: &OpenOptions) -> Result<Reader> {
        todo!()
    }

    /// Visits the versions of a key from `seek_key` (an internal key) on, newest first, until `visit`
    /// breaks or the key's versions end. Keys that differ in their timestamp only are one key.
    ///
    /// # Errors
    /// Corruption or errors of the file; Incomplete if `ctx` allows memory only and that is not enough.
    pub fn get(
        &self,
        _seek_key: &[u8],
        _ctx: &ReadCtx,
        _visit: impl FnMut(Entry<'_>) -> ControlFlow<()>,
    ) -> Result<()> {
        todo!()
    }

    /// [`Reader::get`] for several keys at once, in order; `visit` is told which. Filters are probed
    /// together and blocks read together. Returns the keys that failed.
    pub fn multi_get(
        &self,
        _seek_keys: &[&[u8]],
        _ctx: &ReadCtx,
        _visit: impl FnMut(usize, Entry<'_>) -> ControlFlow<()>,
    ) -> Vec<(usize, Error)> {
        todo!()
    }

    /// An iterator that holds the table open.
    pub fn iter(self: &Arc<Self>, _ctx: &ReadCtx) -> TableIter {
        todo!()
    }

    /// Whether the filter lets `user_key` (with its timestamp) through; true without a filter or when
    /// `ctx` forbids to read it.
    pub fn may_match(&self, _user_key: &[u8], _ctx: &ReadCtx) -> Result<bool> {
        todo!()
    }

    /// The raw range tombstones, in file order: internal start key and end user key.
    pub fn range_tombstones(&self) -> &[(Vec<u8>, Vec<u8>)] {
        todo!()
    }

    #[inline]
    pub fn properties(&self) -> &Arc<Properties> {
        &self.properties
    }

    /// Where in the file the data of an internal key would start, about.
    pub fn approximate_offset_of(&self, _key: &[u8], _ctx: &ReadCtx) -> Result<u64> {
        todo!()
    }

    /// Bytes of data between two internal keys, about.
    pub fn approximate_size(&self, _start: &[u8], _end: &[u8], _ctx: &ReadCtx) -> Result<u64> {
        todo!()
    }

    /// Reads and checks every block.
    pub fn verify_checksums(&self, _ctx: &ReadCtx) -> Result<()> {
        todo!()
    }

    /// About `count` user keys that split the table into pieces of about the size given with each.
    pub fn anchors(&self, _count: usize, _ctx: &ReadCtx) -> Result<Vec<(Vec<u8>, u64)>> {
        todo!()
    }

    /// Bytes of memory that the open table takes outside the cache.
    pub fn memory_bytes(&self) -> usize {
        todo!()
    }
}
