//! One open plain table, for lookups of single keys.
//!
//! ```text
//! get ─ bloom ── no ──► nothing
//!         └ maybe ─► index: bucket of the prefix ─► binary search in the list of the bucket ─► rows in order
//! ```
//! A table without a stored index is read from the start to the end when it is opened.
//!
//! RocksDB rejects a table whose prefix extractor differs from the extractor of the column family. This
//! reader ignores the stored index and filter of such a table, and builds an index of one bucket.

use std::borrow::Cow;
use std::ops::ControlFlow;
use std::sync::{Arc, OnceLock};

use base::coding::{get_u32, get_varint32};
use base::key::{InternalOrder, user_key};
use base::order::PrefixExtractor;
use base::stats::{PerfCounter, perf_add};
use base::{Error, Result, SequenceNumber};
use env::fs::RandomRead;
use format::metaindex::Metaindex;
use format::properties::Properties;
use kernel::filter::bloom_plain::Layout;
use kernel::hash::slice_hash;

use super::index::{Index, IndexBuilder, Rows as Bucket, offset_in};
use super::row::{RowCursor, Rows};
use super::{FILE_SIZE_MAX, PROBES, PlainIter, names, prefix_of};
use crate::flat::bytes::{Access, FileBytes, Window};
use crate::flat::meta;
use crate::options::EncodingType;
use crate::sst::cache_key::{CacheKeyBase, check_id, own_id};
use crate::sst::{Entry, OpenOptions, ReadCtx, ValueRef};
use crate::unique_id::UniqueId;

/// An open plain table. Any thread may use it, and lookups take no lock.
pub struct PlainReader {
    pub(super) rows: Rows,
    pub(super) order: InternalOrder,
    /// The prefix extractor of the index and the filter. `None`: the index has one bucket.
    extractor: Option<Arc<dyn PrefixExtractor>>,
    /// The index. `None` in full-scan mode.
    index: Option<Index>,
    bloom: Option<Bloom>,
    /// The offsets of the index, sorted.
    anchors: OnceLock<Vec<u32>>,
    properties: Arc<Properties>,
    metaindex: Metaindex,
}

struct Bloom {
    layout: Layout,
    bits: Vec<u8>,
}

impl Bloom {
    fn build(hashes: &[u32], bits_per_key: i32, locality: bool) -> Option<Bloom> {
        let bits = u32::try_from(hashes.len() as u64 * bits_per_key.max(0) as u64).unwrap_or(u32::MAX);
        if bits == 0 {
            return None;
        }
        let layout = Layout::new(bits, PROBES, locality);
        base::invariant!(
            layout.len_bytes() > 0,
            "the Bloom filter of {} keys has {bits} bits and no bytes",
            hashes.len()
        );
        let mut bits = vec![0; layout.len_bytes()];
        hashes.iter().for_each(|hash| layout.add(&mut bits, *hash));
        Some(Bloom { layout, bits })
    }

    fn may_match(&self, hash: u32) -> bool {
        let may_match = self.layout.may_match(&self.bits, hash);
        let counter = if may_match { PerfCounter::BloomSstHitCount } else { PerfCounter::BloomSstMissCount };
        perf_add(counter, 1);
        may_match
    }
}

impl PlainReader {
    /// Opens a table of `size` bytes.
    ///
    /// # Errors
    /// Corruption if the file is not a complete table or contradicts the MANIFEST. NotSupported for a file of
    /// 2 GiB or more, and for an order with timestamps. Errors of the file.
    pub fn open(file: Arc<dyn RandomRead>, size: u64, options: &OpenOptions) -> Result<PlainReader> {
        let path = file.path().to_path_buf();
        open(file, size, options).map_err(|e| e.doing("opening a plain table").file(path))
    }

    /// Visits the entries of a key from `seek_key` (an internal key) on, newest first, until `visit` breaks
    /// or the key has no more entries.
    ///
    /// # Errors
    /// InvalidArgument in full-scan mode. Corruption or errors of the file. Incomplete if `ctx` allows memory
    /// only and the read needs the file.
    pub fn get(
        &self,
        seek_key: &[u8],
        ctx: &ReadCtx,
        mut visit: impl FnMut(Entry<'_>) -> ControlFlow<()>,
    ) -> Result<()> {
        let Some(index) = &self.index else {
            return Err(Error::invalid_argument("Get() is not allowed in full scan mode."));
        };
        let user = user_key(seek_key);
        if !self.may_match(user) {
            return Ok(());
        }
        let prefix = self.prefix(user);
        let mut cursor = RowCursor::new(Window::new(Access::Random));
        match index.find(self.extractor.as_ref().map_or(0, |_| slice_hash(&prefix)))? {
            Bucket::None => return Ok(()),
            Bucket::At(offset) => cursor.jump(&self.rows, u64::from(offset), ctx)?,
            Bucket::Among(list) => self.jump_among(&mut cursor, (list, seek_key, &prefix), ctx)?,
        }
        // The bucket may belong to another prefix with the same hash remainder.
        if self.prefix(user_key(cursor.key())) != prefix {
            return Ok(());
        }
        loop {
            if self.order.compare(cursor.key(), seek_key).is_ge() {
                base::invariant!(
                    cursor.key().len() >= 8,
                    "a row has a key of {} bytes without a trailer",
                    cursor.key().len()
                );
                let (found, trailer) = cursor.key().split_at(cursor.key().len() - 8);
                if !self.order.user.equal(found, user) {
                    return Ok(());
                }
                let trailer = trailer.first_chunk().map_or(0, |bytes| u64::from_le_bytes(*bytes));
                let Some(bytes) = cursor.window().bytes() else { return Ok(()) };
                let value = ValueRef::of(bytes, cursor.value_range());
                if visit(Entry { user_key: found, trailer, value }).is_break() {
                    return Ok(());
                }
            }
            if cursor.next >= self.rows.end {
                return Ok(());
            }
            cursor.step(&self.rows, ctx)?;
        }
    }

    /// Reads the row of the list at which the search for the key starts.
    fn jump_among(
        &self,
        cursor: &mut RowCursor,
        (list, seek_key, prefix): (&[u8], &[u8], &[u8]),
        ctx: &ReadCtx,
    ) -> Result<()> {
        let (mut low, mut high) = (0, list.len() / 4);
        base::invariant!(high > 0, "a bucket of a plain table lists no row");
        while high - low > 1 {
            let middle = low + (high - low) / 2;
            cursor.jump(&self.rows, offset_in(list, middle), ctx)?;
            if self.order.compare(cursor.key(), seek_key).is_lt() { low = middle } else { high = middle }
        }
        cursor.jump(&self.rows, offset_in(list, low), ctx)?;
        // If the row has another prefix, the rows of this prefix may start at the next entry of the list.
        if *self.prefix(user_key(cursor.key())) != *prefix && high < list.len() / 4 {
            cursor.jump(&self.rows, offset_in(list, high), ctx)?;
        }
        Ok(())
    }

    /// Returns an iterator, which keeps the table open.
    pub fn iter(self: &Arc<Self>, ctx: &ReadCtx) -> PlainIter {
        PlainIter::new(self.clone(), ctx.clone())
    }

    /// Returns false only if the Bloom filter excludes `user_key`.
    pub fn may_match(&self, user_key: &[u8]) -> bool {
        let hashed = if self.extractor.is_some() { self.prefix(user_key) } else { Cow::Borrowed(user_key) };
        self.bloom.as_ref().is_none_or(|bloom| bloom.may_match(slice_hash(&hashed)))
    }

    /// Returns false only if the Bloom filter excludes the prefix of `target` (an internal key). `asked` is
    /// the prefix extractor of the read. The filter does not have the prefixes of another extractor.
    pub(super) fn prefix_may_match(&self, target: &[u8], asked: Option<&Arc<dyn PrefixExtractor>>) -> bool {
        let Some(own) = &self.extractor else { return true };
        if asked.is_some_and(|asked| asked.name() != own.name()) {
            return true;
        }
        let user = user_key(target);
        own.prefix(user).is_none() || self.may_match(user)
    }

    fn prefix<'a>(&self, user_key: &'a [u8]) -> Cow<'a, [u8]> {
        match &self.extractor {
            Some(extractor) => prefix_of(&**extractor, user_key),
            None => Cow::Borrowed(&[]),
        }
    }

    /// Returns the offsets of rows that store their whole keys, ascending: the first row, and the rows of the
    /// index.
    ///
    /// # Errors
    /// InvalidArgument in full-scan mode. Corruption if the index points outside of the rows.
    pub(super) fn anchors(&self) -> Result<&[u32]> {
        if let Some(anchors) = self.anchors.get() {
            return Ok(anchors);
        }
        let Some(index) = &self.index else {
            return Err(Error::invalid_argument("Seek() is not allowed in full scan mode."));
        };
        let mut anchors = index.offsets()?;
        if anchors.last().is_some_and(|last| u64::from(*last) >= self.rows.end) {
            return Err(Error::corruption("the index of a plain table points outside of the rows"));
        }
        if self.rows.end > 0 && anchors.first() != Some(&0) {
            anchors.insert(0, 0);
        }
        base::invariant!(anchors.is_sorted(), "the anchors of a plain table are not in ascending order");
        Ok(self.anchors.get_or_init(|| anchors))
    }

    /// Returns the order of the keys.
    pub fn order(&self) -> &InternalOrder {
        &self.order
    }

    /// Returns the table properties.
    pub fn properties(&self) -> &Arc<Properties> {
        &self.properties
    }

    /// Returns the names and the handles of the meta blocks.
    pub fn metaindex(&self) -> &Metaindex {
        &self.metaindex
    }

    /// Returns the sequence number that every entry of an external file has.
    pub fn global_seqno(&self) -> Option<SequenceNumber> {
        self.rows.global_seqno
    }

    /// Returns the size of the file in bytes.
    pub fn file_size(&self) -> u64 {
        self.rows.bytes.size()
    }

    /// Returns the bytes of the rows: the offset of the end of the last row.
    pub fn data_size(&self) -> u64 {
        self.rows.end
    }

    /// Returns the approximate offset of the row of an internal key.
    ///
    /// # Errors
    /// The errors of [`PlainReader::get`].
    pub fn approximate_offset_of(&self, key: &[u8], ctx: &ReadCtx) -> Result<u64> {
        let mut cursor = RowCursor::new(Window::new(Access::Random));
        Ok(match self.anchor_before(&mut cursor, key, ctx)? {
            Some(_) => cursor.at,
            None => 0,
        })
    }

    /// Reads the last anchor whose key is before `target`. Returns `None` if there is no such anchor.
    ///
    /// # Errors
    /// The errors of [`PlainReader::anchors`], and errors of the file.
    pub(super) fn anchor_before(
        &self,
        cursor: &mut RowCursor,
        target: &[u8],
        ctx: &ReadCtx,
    ) -> Result<Option<usize>> {
        let anchors = self.anchors()?;
        let (mut low, mut high) = (0, anchors.len());
        let mut read = None;
        // Invariant: all anchors below `low` are before the target, and no anchor from `high` on is before
        // the target.
        while low < high {
            let middle = low + (high - low) / 2;
            cursor.jump(&self.rows, u64::from(anchors[middle]), ctx)?;
            read = Some(middle);
            if self.order.compare(cursor.key(), target).is_lt() { low = middle + 1 } else { high = middle }
        }
        let Some(before) = low.checked_sub(1) else { return Ok(None) };
        if read != Some(before) {
            cursor.jump(&self.rows, u64::from(anchors[before]), ctx)?;
        }
        Ok(Some(before))
    }

    /// Returns the bytes of memory that the open table takes outside of the block cache.
    pub fn memory_bytes(&self) -> usize {
        size_of::<PlainReader>()
            + self.rows.bytes.memory_bytes()
            + self.index.as_ref().map_or(0, Index::memory_bytes)
            + self.bloom.as_ref().map_or(0, |bloom| bloom.bits.capacity())
            + self.anchors.get().map_or(0, |anchors| anchors.capacity() * 4)
    }
}

fn open(file: Arc<dyn RandomRead>, size: u64, options: &OpenOptions) -> Result<PlainReader> {
    if size > FILE_SIZE_MAX {
        return Err(Error::not_supported(format!(
            "File size {size} exceeds PlainTableReader max file size {FILE_SIZE_MAX}"
        )));
    }
    if options.order.timestamp_size() > 0 {
        return Err(Error::not_supported("user-defined timestamps in a plain table"));
    }
    let meta = meta::read(&*file, size)?;
    let mut properties = meta.properties;
    if let Some(expected) = options.unique_id {
        check_id(&properties, expected)?;
    }
    let id = own_id(&properties)
        .unwrap_or_else(|| UniqueId::forced(b"unknown", &options.db_session_id, options.file_number));
    let bytes = FileBytes::open(file, size, CacheKeyBase::new(&id), options)?;
    let global_seqno = properties.global_seqno(options.largest_seqno)?;
    let rows = rows_of(bytes, &properties, global_seqno)?;
    let order = InternalOrder::new(options.order.clone());
    let table = &options.other.plain;
    let built_with = properties.prefix_extractor_name.as_slice();
    let extractor = options.prefix_extractor.clone().filter(|e| e.name().as_bytes() == built_with);
    // The index of a table without a prefix extractor has one bucket. It is valid with every prefix
    // extractor.
    let usable = extractor.is_some() || matches!(built_with, b"" | b"nullptr");
    let mut reader = PlainReader {
        rows,
        order,
        extractor,
        index: None,
        bloom: None,
        anchors: OnceLock::new(),
        properties: Arc::default(),
        metaindex: meta.metaindex,
    };
    if !table.full_scan_mode {
        let stored = reader.metaindex.get(names::INDEX).filter(|_| usable);
        match stored {
            Some(handle) => {
                let file = reader.rows.bytes.file();
                reader.index = Some(Index::parse(meta::read_block(&**file, handle, size)?)?);
                if let Some(handle) = reader.metaindex.get(names::BLOOM) {
                    let bits = meta::read_block(&**file, handle, size)?;
                    reader.bloom = stored_bloom(&properties, bits);
                }
            }
            None => reader.build(options)?,
        }
        put_sizes(&mut properties, reader.index.as_ref().filter(|_| stored.is_none()));
    }
    reader.properties = Arc::new(properties);
    Ok(reader)
}

fn rows_of(bytes: FileBytes, properties: &Properties, global_seqno: Option<SequenceNumber>) -> Result<Rows> {
    let (end, size) = (properties.data_size, bytes.size());
    if end > size {
        return Err(Error::corruption(format!("a plain table has {end} bytes of rows in {size} bytes")));
    }
    let number = properties.user(names::ENCODING).and_then(|bytes| get_u32(bytes, 0)).unwrap_or(0);
    let encoding = u8::try_from(number).ok().and_then(EncodingType::from_number);
    let encoding = encoding
        .ok_or_else(|| Error::corruption(format!("a plain table has the unknown encoding type {number}")))?;
    let user_key_len = usize::try_from(properties.fixed_key_len).ok().filter(|len| *len > 0);
    Ok(Rows { bytes, end, encoding, user_key_len, global_seqno })
}

fn stored_bloom(properties: &Properties, bits: Vec<u8>) -> Option<Bloom> {
    let blocks = properties.user(names::BLOOM_BLOCKS).and_then(get_varint32).map_or(0, |(blocks, _)| blocks);
    let layout = Layout::stored(bits.len(), blocks, PROBES)?;
    Some(Bloom { layout, bits })
}

/// Adds the sizes of the index to the properties, as RocksDB does when a table is opened.
fn put_sizes(properties: &mut Properties, built: Option<&Index>) {
    let (buckets, lists) = built.map_or((0, 0), Index::sizes);
    for (name, size) in [("plain_table_hash_table_size", buckets), ("plain_table_sub_index_size", lists)] {
        properties.user_collected.insert(name.into(), size.to_string().into_bytes());
    }
}

impl PlainReader {
    /// Builds the index and the Bloom filter from the rows.
    fn build(&mut self, options: &OpenOptions) -> Result<()> {
        let table = &options.other.plain;
        let ratio = if self.extractor.is_some() { table.hash_table_ratio } else { 0.0 };
        let mut index = IndexBuilder::new(table.index_sparseness, ratio);
        let mut hashes = Vec::new();
        let ctx = ReadCtx { fill_cache: false, ..ReadCtx::default() };
        let mut cursor = RowCursor::new(Window::new(Access::Scan));
        while cursor.next < self.rows.end {
            cursor.step(&self.rows, &ctx)?;
            let user = user_key(cursor.key());
            let new_prefix = index.add(&self.prefix(user), cursor.at as u32, cursor.is_whole);
            match &self.extractor {
                Some(_) => hashes.extend(new_prefix),
                None if table.bloom_bits_per_key > 0 => hashes.push(slice_hash(user)),
                None => {}
            }
        }
        base::invariant!(
            cursor.next == self.rows.end,
            "the rows of a plain table end at {}, and not at {}",
            cursor.next,
            self.rows.end
        );
        self.bloom = Bloom::build(&hashes, table.bloom_bits_per_key, options.other.bloom_locality);
        self.index = Some(Index::parse(index.finish())?);
        Ok(())
    }

    /// Returns the number of prefixes in the index, or 0 in full-scan mode.
    pub fn num_prefixes(&self) -> u32 {
        self.index.as_ref().map_or(0, Index::num_prefixes)
    }
}
