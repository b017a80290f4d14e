//! Reads all readable entries of a damaged table, and reports the key ranges that cannot be read.
//!
//! ```text
//! footer ─ metaindex ─ properties ─ dictionary ─ range tombstones ─ index      each verified, repaired, or lost
//!                                                                     └ data blocks in file order
//!                                                    where the index has no entry: blocks found by their checksums
//! ```
//! If the checksum of a block does not match, and exactly one flipped bit makes it match, the block is read
//! with this bit flipped back. For a footer, a change of each byte is tried. Data with a valid checksum
//! is still untrusted: entries must parse, and keys must ascend. This module writes nothing.

mod mend;
mod scan;

use std::borrow::Cow;
use std::sync::Arc;

use base::key::{InternalOrder, parse, user_key};
use base::{Error, Kind, Result, SequenceNumber};
use compress::Dictionary;
use env::fs::RandomRead;
use format::block::{Block, BlockIter, HeadOrder};
use format::footer::Footer;
use format::handle::BlockHandle;
use format::index::{Index, IndexLayout};
use format::metaindex::{Metaindex, names};
use format::properties::Properties;
use format::trailer;

pub(super) use mend::one_bit;

use super::cache_key::CacheKeyBase;
use super::counts::Counts;
use super::file_source::Source;
use super::reader::OpenOptions;
use mem::cache::Priority;

/// A part of a table.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Part {
    /// The footer.
    Footer,
    /// The metaindex block.
    Metaindex,
    /// The properties block.
    Properties,
    /// The block of the compression dictionary.
    Dictionary,
    /// The block of range tombstones. If it is lost, entries that it deleted become visible again.
    RangeTombstones,
    /// An index block.
    Index,
    /// A filter block.
    Filter,
    /// A data block.
    Data,
}

impl Part {
    /// Returns the name that reports use.
    pub fn name(self) -> &'static str {
        match self {
            Part::Footer => "footer",
            Part::Metaindex => "metaindex block",
            Part::Properties => "properties block",
            Part::Dictionary => "compression dictionary",
            Part::RangeTombstones => "range-deletion block",
            Part::Index => "index block",
            Part::Filter => "filter block",
            Part::Data => "data block",
        }
    }

    /// Returns true if the table gives other answers without this part. Without the other parts it is only
    /// slower.
    pub fn holds_data(self) -> bool {
        matches!(self, Part::Data | Part::RangeTombstones | Part::Dictionary)
    }
}

/// A part of the file that cannot be read.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Loss {
    /// The part that cannot be read.
    pub part: Part,
    /// Offset in the file.
    pub offset: u64,
    /// The number of bytes that cannot be read.
    pub size: u64,
    /// For data: the last user key before the loss; `None` at the start of the table. This key may have lost
    /// entries too.
    pub after: Option<Vec<u8>>,
    /// For data: the first user key after the loss; `None` at the end of the table. This key may have lost
    /// entries too.
    pub until: Option<Vec<u8>>,
    /// The error of the read.
    pub reason: String,
}

/// One bit that was repaired. In a footer, one byte was repaired, and `bit` is `None`.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct Mended {
    /// The part with the wrong bit.
    pub part: Part,
    /// Offset of the byte in the file.
    pub offset: u64,
    /// The number of the bit in its byte, 0 to 7.
    pub bit: Option<u8>,
}

/// The result of [`salvage`].
#[derive(Clone, Debug, Default)]
pub struct Salvaged {
    /// The footer, if the footer can be read.
    pub footer: Option<Footer>,
    /// The table properties, if the properties can be read.
    pub properties: Option<Properties>,
    /// The range tombstones in the order of the file: internal start key and end user key.
    pub tombstones: Vec<(Vec<u8>, Vec<u8>)>,
    /// The parts that cannot be read, in file order.
    pub losses: Vec<Loss>,
    /// The bits that the reader corrected.
    pub mended: Vec<Mended>,
    /// The number of entries that were read.
    pub num_rows: u64,
    /// The number of data blocks that were read.
    pub num_blocks: u64,
    /// The compression type of the first data block.
    pub compression: u8,
}

impl Salvaged {
    /// Returns true if every entry, range tombstone and filter was read unchanged.
    pub fn is_whole(&self) -> bool {
        self.losses.is_empty() && self.mended.is_empty()
    }
}

/// Reads the readable part of the table in `file`, which has `size` bytes. Passes its entries (internal key,
/// value) to `row` in ascending order. Uses only the order and the facts from the MANIFEST of `options`.
///
/// `common_seqno` is the one sequence number that the MANIFEST gives to the entries of the file. If the table
/// properties are lost, the entries get this number: in the file, the entries of an external file have the sequence number 0.
///
/// Cost: one pass over an undamaged table. A corrupt block costs up to `8 * size` checksums of the block. A
/// lost index costs one checksum for each position where a block may end.
///
/// # Errors
/// Errors of the file other than corruption, errors of `row`, and NotSupported for other kinds of tables.
pub fn salvage(
    file: Arc<dyn RandomRead>,
    size: u64,
    options: &OpenOptions,
    common_seqno: Option<SequenceNumber>,
    row: &mut dyn FnMut(&[u8], &[u8]) -> Result<()>,
) -> Result<Salvaged> {
    let mut out = Salvaged::default();
    let footer = mend::footer(&*file, size, &mut out)?;
    let mut source = source(file, size, options);
    source.rewrite.global_seqno = common_seqno;
    let guess = match &footer {
        Some(footer) => Some((footer.checksum, footer.base_context_checksum)),
        None => scan::guess_checksum(&source)?,
    };
    let Some((checksum, base_context)) = guess else {
        out.lose(Part::Data, 0, size, "no block with a valid checksum".to_string());
        return Ok(out);
    };
    (source.checksum, source.base_context) = (checksum, base_context);
    out.footer = footer;
    let mut run = Run { source, out, row, last: Vec::new(), key: Vec::new(), pending: Vec::new() };
    let plan = run.metadata(options, footer.as_ref())?;
    run.data(plan)?;
    run.close_losses(None);
    Ok(run.out)
}

/// The location of the data, as far as it is known.
#[derive(Default)]
struct Plan {
    /// The data blocks that the index names, ascending.
    blocks: Vec<BlockHandle>,
    /// The end of the data. `None`: the scan must find the end.
    end: Option<u64>,
}

pub(super) struct Run<'a> {
    source: Source,
    out: Salvaged,
    row: &'a mut dyn FnMut(&[u8], &[u8]) -> Result<()>,
    /// The last internal key that was passed to `row`.
    last: Vec<u8>,
    key: Vec<u8>,
    /// Losses for which the next key is not known yet.
    pending: Vec<Loss>,
}

impl Salvaged {
    fn lose(&mut self, part: Part, offset: u64, size: u64, reason: String) {
        self.losses.push(Loss { part, offset, size, after: None, until: None, reason });
    }
}

impl Run<'_> {
    /// Reads all parts except the data.
    fn metadata(&mut self, options: &OpenOptions, footer: Option<&Footer>) -> Result<Plan> {
        if !options.timestamps_persisted {
            // The properties may be lost.
            self.source.rewrite.timestamp_pad = options.order.timestamp_size();
        }
        let Some(footer) = footer else { return Ok(Plan::default()) };
        let metaindex = match self.meta_block(footer.metaindex, Part::Metaindex)? {
            Some(payload) => match Metaindex::decode(&payload) {
                Ok(metaindex) => Some(metaindex),
                Err(error) => {
                    self.lose_handle(Part::Metaindex, footer.metaindex, &error);
                    None
                }
            },
            None => None,
        };
        let get = |name: &str| metaindex.as_ref().and_then(|m| m.get(name));
        if let Some(handle) = get(names::PROPERTIES).or_else(|| get(names::PROPERTIES_OLD)) {
            self.properties(handle, metaindex.as_ref())?;
        }
        if let Some(properties) = &self.out.properties {
            self.source.rewrite.global_seqno =
                properties.global_seqno(options.largest_seqno).unwrap_or(options.largest_seqno);
            self.source.rewrite.timestamp_pad = options.timestamp_pad(properties);
        }
        if let Some(handle) = get(names::COMPRESSION_DICT)
            && let Some(payload) = self.meta_block(handle, Part::Dictionary)?
        {
            self.source.dict = Some(Dictionary::new(payload.into_owned()));
        }
        if let Some(handle) = get(names::RANGE_DEL) {
            self.tombstones(handle)?;
        }
        self.filters(metaindex.as_ref())?;
        let index = footer.index.or_else(|| get(names::INDEX));
        self.index(index)
    }

    fn properties(&mut self, handle: BlockHandle, metaindex: Option<&Metaindex>) -> Result<()> {
        let none = super::prefetch::Fixed { start: self.source.size, bytes: Vec::new() };
        if let Some(metaindex) = metaindex
            && let Ok((properties, _)) = super::open::read_properties(&self.source, metaindex, &none)
        {
            self.out.properties = Some(properties);
            return Ok(());
        }
        if let Some(properties) = self.properties_written_over(handle)? {
            self.out.properties = Some(properties);
            return Ok(());
        }
        let Some(payload) = self.meta_block(handle, Part::Properties)? else { return Ok(()) };
        match Properties::decode(&payload, handle.offset) {
            Ok(properties) => self.out.properties = Some(properties),
            Err(error) => self.lose_handle(Part::Properties, handle, &error),
        }
        Ok(())
    }

    /// Reads the properties of an ingested table whose sequence number was written into the block later. The
    /// checksum of the block is that of a sequence number of zero. One other bit may be wrong too.
    fn properties_written_over(&mut self, handle: BlockHandle) -> Result<Option<Properties>> {
        let mut raw = match self.source.raw(handle, None, None) {
            Ok(raw) => raw.into_owned(),
            Err(error) if error.is_corruption() => return Ok(None),
            Err(error) => return Err(error),
        };
        // The name in the block lacks the prefix that it shares with the previous name.
        let name = b"global_seqno";
        let Some(at) = raw.windows(name.len()).position(|w| w == name).map(|at| at + name.len()) else {
            return Ok(None);
        };
        let Some(number) = raw.get_mut(at..).and_then(|bytes| bytes.first_chunk_mut::<8>()) else {
            return Ok(None);
        };
        let written = std::mem::take(number);
        let (checksum, context) = (self.source.checksum, self.source.base_context);
        let Some((byte, bit)) = mend::one_bit(checksum, context, handle.offset, &mut raw) else {
            return Ok(None);
        };
        if !(at..at + written.len()).contains(&byte) {
            raw[at..at + written.len()].copy_from_slice(&written);
        }
        let Some(payload) = raw.len().checked_sub(trailer::LEN).map(|len| &raw[..len]) else {
            return Ok(None);
        };
        let Ok(properties) = Properties::decode(payload, handle.offset) else { return Ok(None) };
        self.out.mended.push(Mended {
            part: Part::Properties,
            offset: handle.offset + byte as u64,
            bit: Some(bit),
        });
        Ok(Some(properties))
    }

    fn tombstones(&mut self, handle: BlockHandle) -> Result<()> {
        let Some(payload) = self.meta_block(handle, Part::RangeTombstones)? else { return Ok(()) };
        let block = match Block::parse(payload.as_ref()) {
            Ok(block) => block,
            Err(error) => {
                self.lose_handle(Part::RangeTombstones, handle, &error);
                return Ok(());
            }
        };
        let mut iter = BlockIter::rewriting(block, self.source.rewrite);
        iter.seek_to_first();
        while iter.valid() {
            if let Err(error) = parse(iter.key()) {
                self.lose_handle(Part::RangeTombstones, handle, &error);
                return Ok(());
            }
            let mut end = iter.value().to_vec();
            end.resize(end.len() + self.source.rewrite.timestamp_pad, 0);
            self.out.tombstones.push((iter.key().to_vec(), end));
            iter.next();
        }
        if let Err(error) = iter.status() {
            self.lose_handle(Part::RangeTombstones, handle, &error);
        }
        Ok(())
    }

    /// Filters have no information that the data lacks. So only their checksums are verified.
    fn filters(&mut self, metaindex: Option<&Metaindex>) -> Result<()> {
        let Some(metaindex) = metaindex else { return Ok(()) };
        for (name, handle) in metaindex.entries.clone() {
            let is_filter = [names::FULL_FILTER, names::PARTITIONED_FILTER, names::OBSOLETE_FILTER]
                .iter()
                .any(|prefix| name.starts_with(prefix.as_bytes()));
            let Some(payload) = (if is_filter { self.meta_block(handle, Part::Filter)? } else { None })
            else {
                continue;
            };
            if name.starts_with(names::PARTITIONED_FILTER.as_bytes())
                && let Some(top) = self.decode_index(&payload, true)
            {
                for i in 0..top.len() {
                    self.meta_block(top.handle(i), Part::Filter)?;
                }
            }
        }
        Ok(())
    }

    /// Returns the data blocks that the index names. Corrupt partitions are omitted.
    fn index(&mut self, handle: Option<BlockHandle>) -> Result<Plan> {
        let end = self.out.properties.as_ref().and_then(|p| match p.tail_start_offset {
            // A file without the property, or a file that has range tombstones only.
            0 => (p.num_data_blocks == 0 && p.data_size == 0).then_some(0),
            at => (at <= self.source.size).then_some(at),
        });
        let Some(handle) = handle else { return Ok(Plan { end, ..Plan::default() }) };
        let partitioned = self.out.properties.as_ref().and_then(|p| p.index_type()) == Some(2);
        let end = end.or_else(|| {
            (!partitioned && self.out.properties.is_some()).then_some(handle.offset.min(self.source.size))
        });
        let mut plan = Plan { blocks: Vec::new(), end };
        if self.out.properties.is_none() {
            // Without properties the encoding of index entries is unknown, so the scan finds the blocks by
            // their checksums.
            return Ok(Plan { end: None, ..plan });
        }
        let Some(payload) = self.meta_block(handle, Part::Index)? else { return Ok(plan) };
        let Some(top) = self.decode_index(&payload, partitioned) else {
            self.lose_handle(Part::Index, handle, &Error::corruption("not an index block"));
            return Ok(plan);
        };
        if !partitioned {
            plan.blocks = (0..top.len()).map(|i| top.handle(i)).collect();
        }
        for at in (0..top.len()).filter(|_| partitioned) {
            let Some(payload) = self.meta_block(top.handle(at), Part::Index)? else { continue };
            match self.decode_index(&payload, false) {
                Some(index) => plan.blocks.extend((0..index.len()).map(|i| index.handle(i))),
                None => {
                    self.lose_handle(Part::Index, top.handle(at), &Error::corruption("not an index block"))
                }
            }
        }
        // An index with a valid checksum may still be wrong.
        let mut from = 0;
        let ascending = plan.blocks.iter().all(|b| {
            let good = b.offset >= from && b.end() <= self.source.size;
            from = b.end();
            good
        });
        if !ascending {
            self.lose_handle(
                Part::Index,
                handle,
                &Error::corruption("its blocks overlap or lie outside the file"),
            );
            plan.blocks.clear();
        }
        Ok(plan)
    }

    fn decode_index(&self, payload: &[u8], top: bool) -> Option<Index> {
        let properties = self.out.properties.as_ref()?;
        let layout = IndexLayout {
            user_keys: properties.index_key_is_user_key != 0,
            delta_values: properties.index_value_is_delta_encoded != 0,
            first_keys: !top && properties.index_type() == Some(3),
            heads: None::<HeadOrder>,
            rewrite: self.source.rewrite,
        };
        Index::decode(payload, &layout).ok()
    }

    /// Reads all data: the known blocks, and the blocks that a scan finds between them.
    fn data(&mut self, plan: Plan) -> Result<()> {
        let mut from = 0;
        for handle in &plan.blocks {
            if handle.offset > from && !self.is_padding(from, handle.offset)? {
                self.scan(from, Some(handle.offset))?;
            }
            self.known_block(*handle)?;
            from = handle.end();
        }
        match plan.end {
            Some(end) if from >= end || self.is_padding(from, end)? => Ok(()),
            end => self.scan(from, end),
        }
    }

    fn known_block(&mut self, handle: BlockHandle) -> Result<()> {
        let len = handle.size as usize + trailer::LEN;
        let raw = match self.source.raw(handle, None, None) {
            Ok(raw) => raw.into_owned(),
            Err(error) => return self.damage_or(error, handle),
        };
        debug_assert_eq!(raw.len(), len);
        match self.verified(raw, handle, Part::Data) {
            Ok(payload) => {
                if let Err(error) = self.rows(&payload, handle.offset)? {
                    self.lose_data(handle.offset, len as u64, error.to_string());
                }
                Ok(())
            }
            Err(error) => self.damage_or(error, handle),
        }
    }

    fn damage_or(&mut self, error: Error, handle: BlockHandle) -> Result<()> {
        match error.kind() {
            Kind::Corruption => {
                let size = handle.size.saturating_add(trailer::LEN as u64);
                self.lose_data(handle.offset, size, error.message().to_string());
                Ok(())
            }
            _ => Err(error),
        }
    }

    /// Verifies a block as it is or with one repaired bit, and decompresses it.
    fn verified(&mut self, mut raw: Vec<u8>, handle: BlockHandle, part: Part) -> Result<Cow<'static, [u8]>> {
        let (checksum, context) = (self.source.checksum, self.source.base_context);
        if trailer::verify(checksum, context, handle.offset, &raw).is_err()
            && let Some((byte, bit)) = mend::one_bit(checksum, context, handle.offset, &mut raw)
        {
            self.out.mended.push(Mended { part, offset: handle.offset + byte as u64, bit: Some(bit) });
        }
        let dict = if part == Part::Data { self.source.dict.as_ref() } else { None };
        self.source.payload(Cow::Owned(raw), handle, true, dict)
    }

    /// Reads a block that is not a data block. If it is lost, records the loss and returns `None`.
    fn meta_block(&mut self, handle: BlockHandle, part: Part) -> Result<Option<Cow<'static, [u8]>>> {
        let raw = match self.source.raw(handle, None, None) {
            Ok(raw) => raw.into_owned(),
            Err(error) if error.is_corruption() => {
                self.lose_handle(part, handle, &error);
                return Ok(None);
            }
            Err(error) => return Err(error),
        };
        match self.verified(raw, handle, part) {
            Ok(payload) => Ok(Some(payload)),
            Err(error) if error.is_corruption() => {
                self.lose_handle(part, handle, &error);
                Ok(None)
            }
            Err(error) => Err(error),
        }
    }

    /// Passes the entries of a data block to `row`. The inner error means that the rest of the block has no
    /// valid entries.
    fn rows(&mut self, payload: &[u8], offset: u64) -> Result<std::result::Result<(), Error>> {
        let block = match Block::parse(payload) {
            Ok(block) => block,
            Err(error) => return Ok(Err(error)),
        };
        let mut iter = BlockIter::rewriting(block, self.source.rewrite);
        iter.seek_to_first();
        while iter.valid() {
            if let Err(error) = self.check_key(iter.key()) {
                return Ok(Err(error.at(offset)));
            }
            self.key.clear();
            self.key.extend_from_slice(iter.key());
            if !self.pending.is_empty() {
                let next = user_key(&self.key).to_vec();
                self.close_losses(Some(next));
            }
            base::invariant!(
                self.pending.is_empty(),
                "an entry is reported before the losses that precede the entry"
            );
            (self.row)(&self.key, iter.value())?;
            std::mem::swap(&mut self.last, &mut self.key);
            self.out.num_rows += 1;
            iter.next();
        }
        self.out.num_blocks += 1;
        Ok(iter.status())
    }

    fn check_key(&self, key: &[u8]) -> Result<()> {
        parse(key)?;
        if !self.last.is_empty() && self.source.order.compare(&self.last, key).is_ge() {
            return Err(Error::corruption("keys do not ascend"));
        }
        Ok(())
    }

    fn lose_handle(&mut self, part: Part, handle: BlockHandle, error: &Error) {
        let size = handle.size.saturating_add(trailer::LEN as u64);
        self.out.lose(part, handle.offset, size, error.message().to_string());
    }

    fn lose_data(&mut self, offset: u64, size: u64, reason: String) {
        if let Some(last) = self.pending.last_mut().filter(|l| l.offset + l.size == offset) {
            last.size += size;
            return;
        }
        let after = (!self.last.is_empty()).then(|| user_key(&self.last).to_vec());
        self.pending.push(Loss { part: Part::Data, offset, size, after, until: None, reason });
    }

    fn close_losses(&mut self, until: Option<Vec<u8>>) {
        for mut loss in self.pending.drain(..) {
            loss.until.clone_from(&until);
            self.out.losses.push(loss);
        }
    }
}

fn source(file: Arc<dyn RandomRead>, size: u64, options: &OpenOptions) -> Source {
    Source {
        file,
        size,
        checksum: format::checksum::ChecksumType::None,
        base_context: 0,
        cache: None,
        persistent_cache: None,
        key_base: CacheKeyBase::default(),
        metadata_priority: Priority::Low,
        order: InternalOrder::new(options.order.clone()),
        heads: None,
        arrays: Default::default(),
        protection: 0,
        rewrite: Default::default(),
        index_layout: IndexLayout::default(),
        dict: None,
        read_amp: None,
        counts: Counts { statistics: None, level: 0, last_level: false, temperature: 0 },
        traced: None,
        diagnosed: Default::default(),
        is_plain: Default::default(),
    }
}
