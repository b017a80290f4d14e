//! One open SST file of any format.

use std::ops::ControlFlow;
use std::sync::Arc;

use base::iter::InternalIterator;
use base::key::InternalOrder;
use base::stats::{PerfCounter, PerfTimer};
use base::{Error, Kind, Pinned, Result, SequenceNumber, ValueType};
use env::fs::RandomRead;
use format::footer::TableKind;
use format::metaindex::Metaindex;
use format::properties::Properties;
use mem::cache::Ledger;
use mem::range_del::FragmentedTombstones;

use super::TableRows;
use crate::cuckoo::CuckooReader;
use crate::flat::meta::read_footer;
use crate::plain::PlainReader;
use crate::sst::{EmbeddedIter, Entry, MultiGetBegun, OpenOptions, ReadCtx, Reader};

/// An open SST file. Any thread may use it, and lookups take no lock. A clone is another handle of the same
/// open file.
#[derive(Clone)]
pub enum AnyReader {
    /// A block-based table.
    Block(Arc<Reader>),
    /// A plain table.
    Plain(Arc<PlainReader>),
    /// A cuckoo table.
    Cuckoo(Arc<CuckooReader>),
}

/// Calls the same method of each format.
macro_rules! each {
    ($self:ident, $inner:ident => $call:expr) => {
        match $self {
            AnyReader::Block($inner) => $call,
            AnyReader::Plain($inner) => $call,
            AnyReader::Cuckoo($inner) => $call,
        }
    };
}

impl AnyReader {
    /// Opens a file of `size` bytes.
    ///
    /// # Errors
    /// The errors of [`Reader::open`], [`PlainReader::open`] and [`CuckooReader::open`].
    pub fn open(file: Arc<dyn RandomRead>, size: u64, options: &OpenOptions) -> Result<AnyReader> {
        let refused = match Reader::open(file.clone(), size, options) {
            Err(error) if error.kind() == Kind::NotSupported => error,
            opened => return opened.map(|reader| AnyReader::Block(Arc::new(reader))),
        };
        // Most files are block-based, so the footer is read a second time only for the other formats.
        match read_footer(&*file, size).map(|footer| footer.kind) {
            Ok(TableKind::Plain | TableKind::PlainLegacy) => {
                PlainReader::open(file, size, options).map(|reader| AnyReader::Plain(Arc::new(reader)))
            }
            Ok(TableKind::Cuckoo) => {
                CuckooReader::open(file, size, options).map(|reader| AnyReader::Cuckoo(Arc::new(reader)))
            }
            _ => Err(refused),
        }
    }

    /// Returns the reader of a block-based table, or `None` for another format.
    pub fn block_based(&self) -> Option<&Arc<Reader>> {
        match self {
            AnyReader::Block(reader) => Some(reader),
            AnyReader::Plain(_) | AnyReader::Cuckoo(_) => None,
        }
    }

    /// Visits the entries of a key from `seek_key` (an internal key) on: see [`Reader::get`].
    ///
    /// # Errors
    /// Corruption or errors of the file. Incomplete if `ctx` allows memory only and the read needs the file.
    #[inline]
    pub fn get(
        &self,
        seek_key: &[u8],
        ctx: &ReadCtx,
        visit: impl FnMut(Entry<'_>) -> ControlFlow<()>,
    ) -> Result<()> {
        each!(self, reader => reader.get(seek_key, ctx, visit))
    }

    /// Does [`AnyReader::get`] for several keys: see [`Reader::multi_get`].
    pub fn multi_get(
        &self,
        seek_keys: &[&[u8]],
        ctx: &ReadCtx,
        visit: impl FnMut(usize, Entry<'_>) -> ControlFlow<()>,
    ) -> Vec<(usize, Error)> {
        match self {
            AnyReader::Block(reader) => reader.multi_get(seek_keys, ctx, visit),
            _ => self.finish_multi_get(MultiGetBegun::default(), seek_keys, ctx, visit),
        }
    }

    /// Starts a lookup of several keys: see [`Reader::begin_multi_get`]. Tables of other formats have nothing to start.
    ///
    /// # Errors
    /// The errors of reading the filter and the index. They concern all keys.
    pub fn begin_multi_get(
        &self,
        seek_keys: &[&[u8]],
        ctx: &ReadCtx,
        announces: bool,
    ) -> Result<MultiGetBegun> {
        match self {
            AnyReader::Block(reader) => reader.begin_multi_get(seek_keys, ctx, announces),
            _ => Ok(MultiGetBegun::default()),
        }
    }

    /// Finishes a lookup of several keys: see [`Reader::finish_multi_get`].
    pub fn finish_multi_get(
        &self,
        begun: MultiGetBegun,
        seek_keys: &[&[u8]],
        ctx: &ReadCtx,
        mut visit: impl FnMut(usize, Entry<'_>) -> ControlFlow<()>,
    ) -> Vec<(usize, Error)> {
        if let AnyReader::Block(reader) = self {
            return reader.finish_multi_get(begun, seek_keys, ctx, visit);
        }
        let get = |(at, key): (usize, &&[u8])| {
            self.get(key, ctx, |entry| visit(at, entry)).err().map(|error| (at, error))
        };
        seek_keys.iter().enumerate().filter_map(get).collect()
    }

    /// Returns an iterator over the stored entries. It is not valid until the first seek.
    pub fn iter(&self, ctx: &ReadCtx) -> TableRows {
        match self {
            AnyReader::Block(reader) => TableRows::Block(reader.iter(ctx)),
            AnyReader::Plain(reader) => TableRows::Plain(Box::new(reader.iter(ctx))),
            AnyReader::Cuckoo(reader) => TableRows::Cuckoo(Box::new(reader.iter(ctx))),
        }
    }

    /// Returns an iterator that returns the values of embedded blobs. Its creation is timed for the perf
    /// context of the thread.
    pub fn rows(&self, ctx: &ReadCtx) -> TableRows {
        let _time = PerfTimer::start(PerfCounter::NewTableIteratorNanos);
        match self {
            AnyReader::Block(reader) if reader.embeds_blobs() => {
                TableRows::Embedded(Box::new(EmbeddedIter::new(reader, ctx)))
            }
            _ => self.iter(ctx),
        }
    }

    /// Returns false only if the filter excludes `user_key` (with its timestamp).
    ///
    /// # Errors
    /// Corruption or errors of the file.
    pub fn may_match(&self, user_key: &[u8], ctx: &ReadCtx) -> Result<bool> {
        match self {
            AnyReader::Block(reader) => reader.may_match(user_key, ctx),
            AnyReader::Plain(reader) => Ok(reader.may_match(user_key)),
            AnyReader::Cuckoo(_) => Ok(true),
        }
    }

    /// Returns the stored range tombstones: see [`Reader::range_tombstones`]. Only block-based tables have
    /// range tombstones.
    #[inline]
    pub fn range_tombstones(&self) -> &[(Vec<u8>, Vec<u8>)] {
        self.block_based().map_or(&[], |reader| reader.range_tombstones())
    }

    /// Returns the range tombstones in fragments, or `None` if the file has none.
    #[inline]
    pub fn tombstones(&self) -> Option<&Arc<FragmentedTombstones>> {
        self.block_based().and_then(|reader| reader.tombstones())
    }

    /// Returns the order of the keys.
    pub fn order(&self) -> &InternalOrder {
        each!(self, reader => reader.order())
    }

    /// Returns the table properties.
    #[inline]
    pub fn properties(&self) -> &Arc<Properties> {
        each!(self, reader => reader.properties())
    }

    /// Returns the names and the handles of the meta blocks.
    pub fn metaindex(&self) -> &Metaindex {
        each!(self, reader => reader.metaindex())
    }

    /// Returns true if the file has embedded blobs.
    #[inline]
    pub fn embeds_blobs(&self) -> bool {
        self.block_based().is_some_and(|reader| reader.embeds_blobs())
    }

    /// Returns the value of an entry of a file with embedded blobs: see [`Reader::resolve_embedded`].
    ///
    /// # Errors
    /// Corruption or errors of the file.
    pub fn resolve_embedded(
        &self,
        value_type: u8,
        value: &[u8],
        ctx: &ReadCtx,
    ) -> Result<Option<(ValueType, Pinned)>> {
        self.block_based().map_or(Ok(None), |reader| reader.resolve_embedded(value_type, value, ctx))
    }

    /// Returns the sequence number that every entry of an external file has.
    pub fn global_seqno(&self) -> Option<SequenceNumber> {
        each!(self, reader => reader.global_seqno())
    }

    /// Returns the size of the file in bytes.
    pub fn file_size(&self) -> u64 {
        each!(self, reader => reader.file_size())
    }

    /// Returns the bytes of memory that the open file takes outside of the block cache.
    pub fn memory_bytes(&self) -> usize {
        each!(self, reader => reader.memory_bytes())
    }

    /// Charges the memory of a block-based table to an account: see [`Reader::charge_to`].
    ///
    /// # Errors
    /// The errors of [`Reader::charge_to`].
    pub fn charge_to(&self, ledger: Arc<dyn Ledger>) -> Result<()> {
        self.block_based().map_or(Ok(()), |reader| reader.charge_to(ledger))
    }

    /// Erases the blocks of this file from the block cache: see [`Reader::uncache`]. Plain and cuckoo tables have no blocks.
    pub fn uncache(&self, aggressiveness: u32) {
        if let Some(reader) = self.block_based() {
            reader.uncache(aggressiveness);
        }
    }

    /// Checks the whole file. Plain and cuckoo tables have no checksums: each entry is decoded, and the order and the number
    /// of the entries are checked. RocksDB refuses to verify such a file.
    ///
    /// # Errors
    /// Corruption with the offset of the corrupt part. Errors of the file.
    pub fn verify_checksums(&self, ctx: &ReadCtx) -> Result<()> {
        if let AnyReader::Block(reader) = self {
            return reader.verify_checksums(ctx);
        }
        let order = self.order();
        let ctx = ReadCtx { fill_cache: false, cache_only: false, ..ctx.clone() };
        let mut rows = self.iter(&ctx);
        let (mut last, mut entries) = (Vec::new(), 0u64);
        rows.seek_to_first();
        while rows.valid() {
            if entries > 0 && order.compare(&last, rows.key()).is_ge() {
                return Err(Error::corruption(format!(
                    "entry {entries} of the file is not above the entry before"
                )));
            }
            last.clear();
            last.extend_from_slice(rows.key());
            entries += 1;
            rows.next();
        }
        rows.status()?;
        match self.properties().num_entries == entries {
            true => Ok(()),
            false => Err(Error::corruption(format!(
                "the file has {entries} entries, and its properties say {}",
                self.properties().num_entries
            ))),
        }
    }

    /// Returns the approximate file offset of an internal key. RocksDB returns 0 for plain and cuckoo tables.
    /// Here only cuckoo tables return 0, because their entries are in no order.
    ///
    /// # Errors
    /// Corruption or errors of the file.
    pub fn approximate_offset_of(&self, key: &[u8], ctx: &ReadCtx) -> Result<u64> {
        match self {
            AnyReader::Block(reader) => reader.approximate_offset_of(key, ctx),
            AnyReader::Plain(reader) => reader.approximate_offset_of(key, ctx),
            AnyReader::Cuckoo(_) => Ok(0),
        }
    }

    /// Returns the approximate number of file bytes between two internal keys.
    ///
    /// # Errors
    /// Corruption or errors of the file.
    pub fn approximate_size(&self, start: &[u8], end: &[u8], ctx: &ReadCtx) -> Result<u64> {
        match self {
            AnyReader::Block(reader) => reader.approximate_size(start, end, ctx),
            AnyReader::Plain(reader) => {
                let (from, to) =
                    (reader.approximate_offset_of(start, ctx)?, reader.approximate_offset_of(end, ctx)?);
                // The user may pass a range that ends before its start.
                Ok(to.saturating_sub(from))
            }
            AnyReader::Cuckoo(_) => Ok(0),
        }
    }

    /// Returns user keys that split the file into pieces: see [`Reader::anchors`]. Returns no key for plain
    /// and cuckoo tables.
    ///
    /// # Errors
    /// Corruption or errors of the file.
    pub fn anchors(&self, count: usize, ctx: &ReadCtx) -> Result<Vec<(Vec<u8>, u64)>> {
        self.block_based().map_or(Ok(Vec::new()), |reader| reader.anchors(count, ctx))
    }
}
