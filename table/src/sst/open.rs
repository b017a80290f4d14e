//! Opens a table: reads the footer, the metaindex, the properties, and the blocks that lookups need.
//!
//! An open reads the end of the file once and takes as many blocks as possible from this read, so an SST
//! file of ordinary size opens with one read. The options decide where the index and the filter are kept:
//! in the table reader, pinned in the block cache, or evictable in the block cache.

use std::borrow::Cow;
use std::sync::Arc;

use base::key::{self, InternalOrder};
use base::order::PrefixExtractor;
use base::stats::Stopwatch;
use base::{Error, Result};
use compress::{Compression, Dictionary};
use env::fs::RandomRead;
use format::block::{Block, BlockIter, HeadOrder, KeyRewrite};
use format::footer::{self, Footer, TableKind};
use format::handle::BlockHandle;
use format::index::IndexLayout;
use format::metaindex::{Metaindex, names};
use format::properties::Properties;
use format::trailer;
use mem::cache::Priority;
use mem::range_del::{FragmentedTombstones, Tombstone};

use super::access_trace::Traced;
use super::block_kind::BlockKind;
use super::cache_key::{CacheKeyBase, check_id, own_id};
use super::counts::{Counts, Metadata};
use super::fetch::BlockRef;
use super::file_source::Source;
use super::filter_reader::{FilterBlocks, FilterReader};
use super::index_reader::{IndexReader, check_index_type};
use super::prefetch::Fixed;
use super::read_amp::ReadAmp;
use super::read_ctx::ReadCtx;
use super::reader::{OpenOptions, Reader};
use crate::options::{COMPATIBILITY_NAME, PinningTier};
use crate::unique_id::UniqueId;

/// The number of bytes that are read from the end of a file with an unknown tail size.
const TAIL_GUESS: u64 = 512 * 1024;
const TAIL_GUESS_SMALL: u64 = 16 * 1024;

const INDEX_TYPE_PARTITIONED: u32 = 2;
const INDEX_TYPE_FIRST_KEY: u32 = 3;

fn counts(options: &OpenOptions) -> Counts {
    Counts {
        statistics: options.statistics.clone(),
        level: u32::from(options.level.get()),
        last_level: options.last_level,
        temperature: options.temperature,
    }
}

pub(super) fn open(file: Arc<dyn RandomRead>, size: u64, options: &OpenOptions) -> Result<Reader> {
    let counts = counts(options);
    let mut tail = read_tail(&*file, size, options, &counts)?;
    let footer = read_footer(&*file, size, &tail).inspect_err(|error| counts.footer_refused(error))?;
    counts.sought_in_tail(true);
    let mut source = new_source(file, size, options, &footer, counts);
    let metaindex = Metaindex::decode(&plain(&source, footer.metaindex, &tail, "meta index")?)
        .map_err(|e| e.shifted(footer.metaindex.offset))?;
    let (properties, forgiven) = read_properties(&source, &metaindex, &tail)?;
    if let Some(expected) = options.unique_id {
        check_id(&properties, expected)?;
    }
    let id = own_id(&properties)
        .unwrap_or_else(|| UniqueId::forced(b"unknown", &options.db_session_id, options.file_number));
    source.key_base = CacheKeyBase::new(&id);
    source.rewrite = KeyRewrite {
        global_seqno: properties.global_seqno(options.largest_seqno)?,
        timestamp_pad: options.timestamp_pad(&properties),
    };
    let compressed = check_compression(&properties.compression_name, footer.format_version)?;
    if let Some(handle) = metaindex.get(names::COMPRESSION_DICT).filter(|_| compressed) {
        let raw = raw(&source, handle, &tail, Metadata::Dictionary)?;
        source.dict = Some(Dictionary::new(source.payload(raw, handle, true, None)?.into_owned()));
    }
    let range_tombstones = match metaindex.get(names::RANGE_DEL) {
        Some(handle) => read_tombstones(&source, handle, &tail)?,
        None => Vec::new(),
    };
    let fragments = fragment(&range_tombstones, &source.order);

    let index_type =
        properties.index_type().ok_or_else(|| Error::corruption("Missing index type property"))?;
    check_index_type(index_type)?;
    source.index_layout = IndexLayout {
        user_keys: properties.index_key_is_user_key != 0,
        delta_values: properties.index_value_is_delta_encoded != 0,
        first_keys: index_type == INDEX_TYPE_FIRST_KEY,
        heads: source.heads,
        rewrite: source.rewrite,
    };
    let index_handle = index_handle(&footer, &metaindex)?;
    let mut index = IndexReader::new(index_handle, BlockKind::Index, index_type == INDEX_TYPE_PARTITIONED);
    let mut filter = FilterReader {
        blocks: find_filter(&metaindex, options),
        whole_keys: properties.whole_key_filtering(),
        prefixes: usable_prefixes(&properties, options),
        timestamp_size: options.order.timestamp_size(),
    };
    let pins = Pins::new(options, size);
    load_metadata(&source, &mut index, &mut filter, &pins, &mut tail)?;

    let tail_start = properties.tail_start_offset;
    let properties = Arc::new(properties);
    source.traced = options.tracer.clone().map(|tracer| Traced {
        tracer,
        properties: properties.clone(),
        file: options.file_number,
    });
    Ok(Reader {
        data_end: if tail_start > 0 { tail_start.min(size) } else { index_handle.offset.min(size) },
        embeds_blobs: properties.user(format::properties::names::EMBEDDED_BLOB_STATS).is_some(),
        source,
        index,
        filter,
        properties,
        metaindex,
        format_version: footer.format_version,
        range_tombstones,
        fragments,
        table_options: options.table.clone(),
        forgiven,
        charge: Default::default(),
    })
}

/// Returns the source of the blocks of a table, before its properties are known.
fn new_source(
    file: Arc<dyn RandomRead>,
    size: u64,
    options: &OpenOptions,
    footer: &Footer,
    counts: Counts,
) -> Source {
    Source {
        file,
        size,
        checksum: footer.checksum,
        base_context: footer.base_context_checksum,
        cache: options.cache.clone(),
        persistent_cache: options.table.persistent_cache.cache.clone(),
        key_base: CacheKeyBase::default(),
        metadata_priority: metadata_priority(options),
        order: InternalOrder::new(options.order.clone()),
        heads: HeadOrder::of(&options.order),
        arrays: Default::default(),
        protection: options.block_protection_bytes_per_key,
        rewrite: KeyRewrite::default(),
        index_layout: IndexLayout::default(),
        dict: None,
        read_amp: ReadAmp::new(options.table.read_amp_bytes_per_bit, options.statistics.as_ref()),
        counts,
        traced: None,
        diagnosed: Default::default(),
        is_plain: Default::default(),
    }
}

/// Returns the handle of the index block. Newer formats have the handle in the metaindex, older formats in the footer.
fn index_handle(footer: &Footer, metaindex: &Metaindex) -> Result<BlockHandle> {
    match footer.index {
        Some(handle) => Ok(handle),
        None => {
            metaindex.get(names::INDEX).ok_or_else(|| Error::corruption("the metaindex names no index block"))
        }
    }
}

/// Makes the fragments that readers search. Returns `None` if there is no range tombstone.
fn fragment(stored: &[(Vec<u8>, Vec<u8>)], order: &InternalOrder) -> Option<Arc<FragmentedTombstones>> {
    let size = order.user.timestamp_size();
    let without_timestamp = |key: &[u8]| key::without_timestamp(key, size).to_vec();
    let tombstone = |(start, end): &(Vec<u8>, Vec<u8>)| {
        let (start, seq, _) = key::split(start);
        let timestamp = key::timestamp(start, size).to_vec();
        Tombstone { start: without_timestamp(start), end: without_timestamp(end), seq, timestamp }
    };
    let fragments = FragmentedTombstones::new(stored.iter().map(tombstone).collect(), order.clone());
    (!fragments.is_empty()).then(|| Arc::new(fragments))
}

fn read_tail(file: &dyn RandomRead, size: u64, options: &OpenOptions, counts: &Counts) -> Result<Fixed> {
    let want = if options.tail_size > 0 {
        options.tail_size.max(footer::LEN as u64)
    } else if options.table.cache_index_and_filter_blocks {
        TAIL_GUESS_SMALL
    } else {
        TAIL_GUESS
    };
    let len = want.min(size);
    // The tail size in the MANIFEST may be wrong. Blocks outside of the first 64 MiB are read separately.
    let len = len.min(64 << 20);
    let mut bytes = vec![0; len as usize];
    let start = size - len;
    let began = counts.times_reads().then(Stopwatch::start);
    let got = file.read_at(start, &mut bytes)?;
    counts.tail_read(got, began.map(Stopwatch::micros), options.histogram);
    if (got as u64) < len {
        return Err(Error::corruption(format!(
            "the file has {} bytes where {size} were expected",
            start + got as u64
        )));
    }
    Ok(Fixed { start, bytes })
}

fn read_footer(file: &dyn RandomRead, size: u64, tail: &Fixed) -> Result<Footer> {
    let footer = Footer::decode(&tail.bytes, size).map_err(|e| e.file(file.path()))?;
    match footer.kind {
        TableKind::BlockBased if footer.format_version >= footer::FORMAT_VERSION_MIN => Ok(footer),
        TableKind::BlockBased | TableKind::BlockBasedLegacy => Err(Error::not_supported(format!(
            "block-based table of format_version {}: compact it with a release before 11 first",
            footer.format_version
        ))),
        TableKind::Plain | TableKind::PlainLegacy => Err(Error::not_supported("plain table (PlainTable)")),
        TableKind::Cuckoo => Err(Error::not_supported("cuckoo table (CuckooTable)")),
    }
}

/// Returns the payload of a meta block. `name` names the block in an error.
fn plain<'a>(source: &Source, handle: BlockHandle, tail: &'a Fixed, name: &str) -> Result<Cow<'a, [u8]>> {
    let raw = raw(source, handle, tail, Metadata::Other)?;
    source.payload(raw, handle, true, None).map_err(|error| reading(error, name, handle))
}

/// Adds the block that was read to an error.
#[cold]
fn reading(error: Error, name: &str, handle: BlockHandle) -> Error {
    error.doing(format!("reading {name} block {handle}"))
}

fn raw<'a>(source: &Source, handle: BlockHandle, tail: &'a Fixed, what: Metadata) -> Result<Cow<'a, [u8]>> {
    if handle.end() > source.size {
        return Err(Error::corruption(format!(
            "block {handle} lies outside the file of {} bytes",
            source.size
        )));
    }
    let len = handle.size as usize + trailer::LEN;
    let found = tail.get(handle.offset, len);
    source.counts.sought_in_tail(found.is_some());
    match found {
        Some(bytes) => Ok(Cow::Borrowed(bytes)),
        None => {
            source.counts.read_metadata(what, len);
            source.read(handle.offset, len, None).map(Cow::Owned)
        }
    }
}

/// Reads the properties. Old releases wrote the sequence number of an ingested file into the properties block
/// without a new checksum. This difference is accepted, and the handle of the block is returned.
pub(super) fn read_properties(
    source: &Source,
    metaindex: &Metaindex,
    tail: &Fixed,
) -> Result<(Properties, Option<BlockHandle>)> {
    let handle = metaindex
        .get(names::PROPERTIES)
        .or_else(|| metaindex.get(names::PROPERTIES_OLD))
        .ok_or_else(|| Error::corruption("the metaindex names no properties block"))?;
    let raw = raw(source, handle, tail, Metadata::Other)?;
    let decode = |payload: &[u8]| Properties::decode(payload, handle.offset);
    match source.payload(Cow::Borrowed(&raw), handle, true, None) {
        Ok(payload) => Ok((decode(&payload)?, None)),
        Err(error) => {
            let error = reading(error, "properties", handle);
            let payload = source.payload(Cow::Borrowed(&raw), handle, false, None);
            let Some(properties) = payload.ok().and_then(|p| decode(&p).ok()) else { return Err(error) };
            let Some(at) = properties.global_seqno_offset.and_then(|at| at.checked_sub(handle.offset)) else {
                return Err(error);
            };
            let mut blank = raw.to_vec();
            match blank.get_mut(at as usize..).and_then(|b| b.first_chunk_mut::<8>()) {
                Some(seq) => *seq = [0; 8],
                None => return Err(error),
            }
            source.payload(Cow::Owned(blank), handle, true, None).map_err(|_| error)?;
            Ok((properties, Some(handle)))
        }
    }
}

fn read_tombstones(source: &Source, handle: BlockHandle, tail: &Fixed) -> Result<Vec<(Vec<u8>, Vec<u8>)>> {
    let payload = plain(source, handle, tail, "range tombstone")?;
    let shift = |e: Error| e.shifted(handle.offset);
    let block = Block::parse(&payload).map_err(shift)?;
    let mut iter = BlockIter::rewriting(block, source.rewrite);
    let mut tombstones = Vec::new();
    iter.seek_to_first();
    while iter.valid() {
        let mut end = iter.value().to_vec();
        end.resize(end.len() + source.rewrite.timestamp_pad, 0);
        base::key::parse(iter.key()).map_err(|e| e.at(handle.offset))?;
        tombstones.push((iter.key().to_vec(), end));
        iter.next();
    }
    iter.status().map_err(shift)?;
    Ok(tombstones)
}

/// Returns true if blocks of the file may be compressed.
fn check_compression(name: &[u8], format_version: u32) -> Result<bool> {
    let text = String::from_utf8_lossy(name);
    let corrupt = || Error::corruption(format!("bad compression property {text:?}"));
    if name.is_empty() {
        return Ok(true);
    }
    if format_version < 7 {
        let kind = Compression::by_name(&text).ok_or_else(corrupt)?;
        return Ok(kind != Compression::None);
    }
    let mut fields = text.split(';');
    let (Some(manager), Some(kinds), Some(_)) = (fields.next(), fields.next(), fields.next()) else {
        return Err(corrupt());
    };
    if !matches!(manager, "" | "BuiltinV2") {
        return Err(Error::not_supported(format!("compression manager {manager:?} of a table")));
    }
    if kinds.len() % 2 != 0 || !kinds.is_ascii() {
        return Err(corrupt());
    }
    for at in (0..kinds.len()).step_by(2) {
        match u8::from_str_radix(&kinds[at..at + 2], 16) {
            Ok(0 | 0xff) | Err(_) => return Err(corrupt()),
            Ok(_) => {}
        }
    }
    Ok(!kinds.is_empty())
}

fn find_filter(metaindex: &Metaindex, options: &OpenOptions) -> FilterBlocks {
    if options.skip_filters || options.table.filter_policy.is_none() {
        return FilterBlocks::None;
    }
    let find = |kind: &str| metaindex.get(&format!("{kind}{COMPATIBILITY_NAME}"));
    if let Some(handle) = find(names::FULL_FILTER) {
        FilterBlocks::Full(IndexReader::new(handle, BlockKind::Filter, false))
    } else if let Some(handle) = find(names::PARTITIONED_FILTER) {
        FilterBlocks::Partitioned(IndexReader::new(handle, BlockKind::FilterIndex, true))
    } else {
        FilterBlocks::None
    }
}

/// Returns the current prefix extractor, if the prefixes in the filter come from it.
fn usable_prefixes(properties: &Properties, options: &OpenOptions) -> Option<Arc<dyn PrefixExtractor>> {
    let extractor = options.prefix_extractor.as_ref()?;
    let same = properties.prefix_extractor_name == extractor.name().as_bytes();
    (same && properties.prefix_filtering()).then(|| extractor.clone())
}

fn metadata_priority(options: &OpenOptions) -> Priority {
    let table = &options.table;
    if table.cache_index_and_filter_blocks && table.cache_index_and_filter_blocks_with_high_priority {
        Priority::High
    } else {
        Priority::Low
    }
}

/// The metadata blocks that an open table holds.
struct Pins {
    top_level: bool,
    partitions: bool,
    unpartitioned: bool,
    /// True if metadata blocks are in the block cache.
    cached: bool,
    /// True if the open loads all metadata blocks.
    load_all: bool,
}

impl Pins {
    fn new(options: &OpenOptions, size: u64) -> Pins {
        let table = &options.table;
        let flushed = options.level == base::Level::ZERO && size <= options.max_flushed_file_size;
        let pinned = |tier: PinningTier, fallback: PinningTier| {
            let tier = if tier == PinningTier::Fallback { fallback } else { tier };
            match tier {
                PinningTier::All => true,
                PinningTier::FlushedAndSimilar => flushed,
                PinningTier::None | PinningTier::Fallback => false,
            }
        };
        let l0 = match table.pin_l0_filter_and_index_blocks_in_cache {
            true => PinningTier::FlushedAndSimilar,
            false => PinningTier::None,
        };
        let top = if table.pin_top_level_index_and_filter { PinningTier::All } else { PinningTier::None };
        let tiers = &table.metadata_cache_options;
        Pins {
            top_level: pinned(tiers.top_level_index_pinning, top),
            partitions: pinned(tiers.partition_pinning, l0),
            unpartitioned: pinned(tiers.unpartitioned_pinning, l0),
            cached: table.cache_index_and_filter_blocks && options.cache.is_some(),
            load_all: options.level == base::Level::ZERO,
        }
    }
}

fn load_metadata(
    source: &Source,
    index: &mut IndexReader,
    filter: &mut FilterReader,
    pins: &Pins,
    tail: &mut Fixed,
) -> Result<()> {
    load_root(source, index, pins, tail)?;
    if index.partitioned && (pins.load_all || pins.partitions) {
        index.load_partitions(source, &ReadCtx::default(), pins.partitions, BlockKind::Index, tail)?;
    }
    match &mut filter.blocks {
        FilterBlocks::None => {}
        FilterBlocks::Full(full) => load_root(source, full, pins, tail)?,
        FilterBlocks::Partitioned(top) => {
            load_root(source, top, pins, tail)?;
            if pins.load_all || pins.partitions {
                top.load_partitions(source, &ReadCtx::default(), pins.partitions, BlockKind::Filter, tail)?;
            }
        }
    }
    Ok(())
}

/// Loads an index block, a top level or a whole filter. Holds it if the options ask for this.
fn load_root(source: &Source, reader: &mut IndexReader, pins: &Pins, tail: &mut Fixed) -> Result<()> {
    let pin = if reader.partitioned { pins.top_level } else { pins.unpartitioned };
    let (handle, kind) = (reader.handle, reader.kind);
    if pins.cached {
        if pin || pins.load_all {
            let block = source.fetch(handle, kind, &ReadCtx::default(), Some(tail))?;
            reader.held = pin.then_some(block);
        }
        return Ok(());
    }
    let what = match kind {
        BlockKind::Filter | BlockKind::FilterIndex => Metadata::Filter,
        _ => Metadata::Index,
    };
    let block = raw(source, handle, tail, what)
        .and_then(|raw| source.decode(raw, handle, kind, &ReadCtx::default()))
        .map_err(|e| source.blame(e, handle, kind))?;
    reader.held = Some(BlockRef::Own(Arc::new(block)));
    Ok(())
}
