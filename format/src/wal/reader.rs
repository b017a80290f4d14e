//! Reads logical records, and reports exactly what it finds instead of a record. It always reaches an end,
//! whatever the bytes are.

use std::ops::Range;

use base::coding::{get_u16, get_u32};
use base::{FamilyId, Result};
use kernel::checksum::crc32c;

use super::block::Block;
use super::record_type::*;
use super::writer::{header_len, is_hole, is_written};
use super::{
    BLOCK_LEN, COMPRESSION_ZSTD, Damage, Diagnosis, Digest, HEADER_LEN, Item, Predecessor,
    RECYCLABLE_HEADER_LEN, ReaderOptions, Source, StreamDecompressor, TailKind, decode_timestamp_sizes,
    diagnose,
};

/// Reads a WAL or MANIFEST from start to end.
pub struct Reader<S> {
    source: S,
    options: ReaderOptions,
    /// The current block, as far as the file has it.
    block: Block,
    /// The offset of the block in the file.
    block_offset: u64,
    /// The offset in the block up to which it was read.
    at: usize,
    /// Whether the last block was short, so that the file ends there.
    eof: bool,
    /// The current logical record, or the last one, if it was fragmented or compressed.
    scratch: Vec<u8>,
    /// The start of the current logical record, if one is incomplete.
    partial: Option<u64>,
    decompressor: Option<Box<dyn StreamDecompressor>>,
    compression_told: bool,
    told: Vec<FamilyId>,
    /// Whether a data record was returned.
    first_record_read: bool,
    recycled: bool,
    /// Corruption that must be reported before reading continues.
    pending: Option<Damage>,
    torn: bool,
    record_end: u64,
    /// The end of the last item that was read completely.
    resume_at: u64,
    /// The location of the corrupt bytes in the block.
    fault: Range<usize>,
    /// The digests of all whole physical records so far, of the records before the last physical record, of
    /// the records before the last logical record, and of the records up to `resume_at`.
    digest: Digest,
    digest_last: Digest,
    digest_before: Digest,
    digest_resume: Digest,
    /// The end of the last whole physical record.
    whole_end: u64,
    hole: Option<u64>,
    /// The zeros that were skipped since the last whole physical record: the offset where the zeros start,
    /// and how many of them a writer may have left before a record that is never fragmented.
    filler: Option<(u64, usize)>,
}

/// The result of reading one physical record.
enum Physical {
    Record {
        kind: u8,
        at: usize,
        payload: Range<usize>,
    },
    /// There are no more bytes.
    End,
    TornHeader {
        at: usize,
    },
    TornBody {
        at: usize,
    },
    /// Zeros, or bytes that cannot be a record. The rest of the block is skipped without a message.
    Filler,
    /// A whole record follows zeros, and a writer would have started the record at the first of these
    /// zeros.
    Hole {
        offset: u64,
    },
    Old {
        at: usize,
    },
    Bad {
        at: usize,
        dropped: u64,
        reason: &'static str,
    },
}

/// The location of the bytes of a logical record.
enum Found {
    InBlock(Range<usize>),
    InScratch,
}

enum Step {
    Record { found: Found, offset: u64 },
    Other(Item<'static>),
    Nothing,
}

impl<S: Source> Reader<S> {
    /// Makes a reader at the start of the file. The first call of [`Reader::next`] reads the first block.
    pub fn new(source: S, options: ReaderOptions) -> Self {
        Reader {
            source,
            options,
            block: Block::default(),
            block_offset: 0,
            at: 0,
            eof: false,
            scratch: Vec::new(),
            partial: None,
            decompressor: None,
            compression_told: false,
            told: Vec::new(),
            first_record_read: false,
            recycled: false,
            pending: None,
            torn: false,
            record_end: 0,
            resume_at: 0,
            fault: 0..0,
            digest: Digest::default(),
            digest_last: Digest::default(),
            digest_before: Digest::default(),
            digest_resume: Digest::default(),
            whole_end: 0,
            hole: None,
            filler: None,
        }
    }

    /// Returns the next item.
    ///
    /// # Errors
    /// The errors of the source, and NotSupported for a compression that cannot be decompressed. Corrupt
    /// bytes are reported as an [`Item`].
    #[allow(clippy::should_implement_trait)]
    pub fn next(&mut self) -> Result<Item<'_>> {
        if self.partial.is_none() {
            self.scratch.clear();
        }
        loop {
            if let Some(damage) = self.pending.take() {
                return Ok(Item::Corruption(damage));
            }
            if self.torn {
                return Ok(Item::EndOfLog);
            }
            match self.step()? {
                Step::Nothing => {}
                Step::Other(item) => return Ok(item),
                Step::Record { found, offset } => {
                    self.first_record_read = true;
                    self.record_end = self.position();
                    self.resume_at = self.record_end;
                    self.digest_resume = self.digest;
                    let bytes = match found {
                        Found::InBlock(range) => &self.block[range],
                        Found::InScratch => &self.scratch[..],
                    };
                    return Ok(Item::Record { bytes, offset, end: self.record_end });
                }
            }
        }
    }

    /// Returns the end of the last returned record, in bytes from the start of the file. Returns 0 before the
    /// first record.
    pub fn record_end(&self) -> u64 {
        self.record_end
    }

    /// Moves back to the end of the last item that was read completely, to read records that were appended
    /// since. For an active WAL, after [`Item::EndOfLog`] or [`Item::TornTail`].
    pub fn rewind(&mut self) {
        self.block.clear();
        self.at = 0;
        self.block_offset = self.resume_at;
        self.eof = false;
        self.torn = false;
        self.partial = None;
        self.scratch.clear();
        self.pending = None;
        self.digest = self.digest_resume;
        self.whole_end = self.resume_at;
        self.filler = None;
    }

    /// Returns the digest of all whole physical records so far. [`super::Writer::digest`] has the same
    /// value at the same offset.
    pub fn digest(&self) -> u32 {
        self.digest.value()
    }

    /// Returns the running digest for [`super::Writer::resume_behind`].
    pub fn running_digest(&self) -> Digest {
        self.digest
    }

    /// Returns the digest of the records before the last returned logical record or announcement.
    pub fn digest_before(&self) -> u32 {
        self.digest_before.value()
    }

    /// Returns the end of the last whole physical record, in bytes from the start of the file.
    pub fn whole_end(&self) -> u64 {
        self.whole_end
    }

    /// Returns the offset of the first hole, or of the first zeros that no whole record has followed yet.
    pub fn hole(&self) -> Option<u64> {
        self.hole.or(self.filler.map(|(offset, _)| offset))
    }

    /// Searches the block for the next whole physical record after byte `offset` of the file, so that reading
    /// continues there. Use it to find out which records corrupt bytes make unreadable. If the block has no
    /// such record, reading continues at the next block. Returns false at the end of the file.
    ///
    /// Digests are not valid afterwards. Cost: one checksum for each byte of the block that could be the
    /// start of a record.
    ///
    /// # Errors
    /// The errors of the source.
    pub fn resync(&mut self, offset: u64) -> Result<bool> {
        self.block.clear();
        self.block_offset = offset / BLOCK_LEN as u64 * BLOCK_LEN as u64;
        self.eof = false;
        self.torn = false;
        self.forget_partial();
        self.pending = None;
        self.filler = None;
        self.fill()?;
        let from = (offset - self.block_offset) as usize + 1;
        let found = (from..self.block.len()).find(|at| self.is_whole(*at));
        self.at = found.unwrap_or(self.block.len());
        Ok(found.is_some() || !self.eof)
    }

    /// Returns true if a whole physical record of a known type is at `at` of the block.
    fn is_whole(&self, at: usize) -> bool {
        let rest = &self.block[at..];
        let (Some(&kind), Some(len), Some(stored)) = (rest.get(6), get_u16(rest, 4), get_u32(rest, 0)) else {
            return false;
        };
        let end = header_len(kind) + usize::from(len);
        is_written(kind) && rest.get(6..end).is_some_and(|body| crc32c::mask(crc32c::value(body)) == stored)
    }

    fn settle(&mut self) {
        self.resume_at = self.position();
        self.digest_resume = self.digest;
    }

    /// Returns true if a recyclable record was found.
    pub fn is_recycled(&self) -> bool {
        self.recycled
    }

    /// Returns the corrupt bytes of the last [`Item::Corruption`] or [`Item::TornTail`], up to the end of the
    /// block, for [`super::diagnose`]. Empty if the fault is not in one record.
    pub fn damaged(&self) -> &[u8] {
        self.block.get(self.fault.clone()).unwrap_or_default()
    }

    /// Returns the one change that makes the corrupt record of the last [`Item::Corruption`] or
    /// [`Item::TornTail`] valid, if a power failure cannot leave such a record. The record is then corrupt
    /// and not torn.
    pub fn damaged_not_torn(&self) -> Option<Diagnosis> {
        let (bytes, offset) = (self.damaged(), self.block_offset + self.fault.start as u64);
        diagnose(bytes).filter(|found| !found.could_be_torn(bytes, offset))
    }

    fn step(&mut self) -> Result<Step> {
        self.fault = 0..0;
        Ok(match self.physical()? {
            Physical::Record { kind, at, payload } => return self.take(kind, at, payload),
            Physical::Hole { offset } => Step::Other(Item::Hole { offset }),
            Physical::End => self.end(),
            Physical::TornHeader { at } => self.tear(at, TailKind::Header),
            Physical::TornBody { at } => self.tear(at, TailKind::Body),
            Physical::Filler => {
                self.drop_partial("error in middle of record");
                Step::Nothing
            }
            Physical::Old { at } => {
                self.keep_gap();
                let dropped = self.scratch.len() as u64;
                self.forget_partial();
                Step::Other(Item::OldRecord { offset: self.block_offset + at as u64, dropped })
            }
            Physical::Bad { at, dropped, reason } => {
                self.keep_gap();
                let damage = self.damage(at, dropped, reason);
                self.drop_partial("error in middle of record");
                Step::Other(Item::Corruption(damage))
            }
        })
    }

    /// Keeps the start of the last zeros as a gap, because it is no longer possible to tell whether a writer
    /// left them.
    fn keep_gap(&mut self) {
        if let Some((offset, _)) = self.filler.take() {
            self.hole.get_or_insert(offset);
        }
    }

    fn end(&mut self) -> Step {
        self.torn = true;
        match self.partial.take() {
            None => Step::Other(Item::EndOfLog),
            Some(record_offset) => Step::Other(Item::TornTail {
                offset: self.position(),
                record_offset,
                dropped: std::mem::take(&mut self.scratch).len() as u64,
                kind: TailKind::MissingEnd,
            }),
        }
    }

    fn tear(&mut self, at: usize, kind: TailKind) -> Step {
        self.torn = true;
        let offset = self.block_offset + at as u64;
        let dropped = (self.block.len() - at + self.scratch.len()) as u64;
        let record_offset = self.partial.take().unwrap_or(offset);
        self.scratch.clear();
        self.fault = at..self.block.len();
        Step::Other(Item::TornTail { offset, record_offset, dropped, kind })
    }

    /// Processes a physical record with a valid checksum.
    fn take(&mut self, kind: u8, at: usize, payload: Range<usize>) -> Result<Step> {
        let offset = self.block_offset + at as u64;
        let interrupts = match kind {
            FULL | RECYCLABLE_FULL => Some("partial record without end(1)"),
            FIRST | RECYCLABLE_FIRST => Some("partial record without end(2)"),
            TIMESTAMP_SIZE | RECYCLABLE_TIMESTAMP_SIZE => {
                Some("user-defined timestamp size record interspersed partial record")
            }
            _ => None,
        };
        if let Some(reason) = interrupts
            && self.partial.is_some()
        {
            // Old writers left an empty First fragment by a bug. It is harmless.
            self.drop_partial_quietly_if_empty(reason);
            if let Some(damage) = self.pending.take() {
                self.at = at;
                return Ok(Step::Other(Item::Corruption(damage)));
            }
        }
        match kind {
            FULL | RECYCLABLE_FULL if self.decompressor.is_none() => {
                self.digest_before = self.digest_last;
                Ok(Step::Record { found: Found::InBlock(payload), offset })
            }
            FULL | RECYCLABLE_FULL => {
                self.start(offset);
                Ok(if self.feed(at, payload)? { self.finish() } else { Step::Nothing })
            }
            FIRST | RECYCLABLE_FIRST => {
                self.start(offset);
                self.feed(at, payload)?;
                Ok(Step::Nothing)
            }
            MIDDLE | RECYCLABLE_MIDDLE | LAST | RECYCLABLE_LAST if self.partial.is_none() => {
                let reason = match kind {
                    MIDDLE | RECYCLABLE_MIDDLE => "missing start of fragmented record(1)",
                    _ => "missing start of fragmented record(2)",
                };
                Ok(Step::Other(Item::Corruption(self.damage(at, payload.len() as u64, reason))))
            }
            MIDDLE | RECYCLABLE_MIDDLE => {
                self.feed(at, payload)?;
                Ok(Step::Nothing)
            }
            LAST | RECYCLABLE_LAST => Ok(if self.feed(at, payload)? { self.finish() } else { Step::Nothing }),
            SET_COMPRESSION => self.set_compression(at, payload),
            PREDECESSOR | RECYCLABLE_PREDECESSOR => {
                self.forget_partial();
                self.digest_before = self.digest_last;
                Ok(match Predecessor::decode(&self.block[payload.clone()]) {
                    Ok(info) => {
                        self.settle();
                        Step::Other(Item::Predecessor { info, offset })
                    }
                    Err(_) => {
                        self.refuse(at, payload.len(), "could not decode PredecessorWALInfoType record")
                    }
                })
            }
            TIMESTAMP_SIZE | RECYCLABLE_TIMESTAMP_SIZE => Ok(self.timestamp_sizes(at, payload)),
            _ => {
                let dropped = payload.len() + self.scratch.len();
                self.forget_partial();
                Ok(match kind & SAFE_TO_IGNORE {
                    0 => self.refuse(at, dropped, &format!("unknown record type {kind}")),
                    _ => Step::Nothing,
                })
            }
        }
    }

    fn start(&mut self, offset: u64) {
        self.scratch.clear();
        self.digest_before = self.digest_last;
        self.partial = Some(offset);
        if let Some(decompressor) = &mut self.decompressor {
            decompressor.reset();
        }
    }

    /// Adds a fragment to the current logical record. Returns false if it does not decompress: the corruption
    /// is then pending, and the rest of the block is dropped.
    fn feed(&mut self, at: usize, payload: Range<usize>) -> Result<bool> {
        let fragment = &self.block[payload];
        let Some(decompressor) = &mut self.decompressor else {
            self.scratch.extend_from_slice(fragment);
            return Ok(true);
        };
        if decompressor.decompress(fragment, &mut self.scratch).is_ok() {
            return Ok(true);
        }
        let dropped = (self.block.len() - at + self.scratch.len()) as u64;
        self.at = self.block.len();
        self.forget_partial();
        self.pending = Some(self.damage(at, dropped, "bad compressed record"));
        Ok(false)
    }

    fn finish(&mut self) -> Step {
        match self.partial.take() {
            Some(offset) => Step::Record { found: Found::InScratch, offset },
            None => Step::Nothing,
        }
    }

    fn set_compression(&mut self, at: usize, payload: Range<usize>) -> Result<Step> {
        self.forget_partial();
        let len = payload.len();
        let Some(COMPRESSION_ZSTD) = get_u32(&self.block[payload], 0) else {
            return Ok(self.refuse(at, len, "could not decode SetCompressionType record"));
        };
        let Some(make) = &self.options.decompressor else {
            return Ok(self.refuse(at, len, "SetCompressionType record where no compression is allowed"));
        };
        self.decompressor = Some(make(COMPRESSION_ZSTD)?);
        self.settle();
        if std::mem::replace(&mut self.compression_told, true) {
            return Ok(self.refuse(at, len, "read multiple SetCompressionType records"));
        }
        if self.first_record_read {
            return Ok(self.refuse(at, len, "SetCompressionType not the first record"));
        }
        Ok(Step::Nothing)
    }

    fn timestamp_sizes(&mut self, at: usize, payload: Range<usize>) -> Step {
        self.digest_before = self.digest_last;
        let (offset, len) = (self.block_offset + at as u64, payload.len());
        let Some(sizes) = decode_timestamp_sizes(&self.block[payload]) else {
            return self.refuse(at, len, "could not decode user-defined timestamp size record");
        };
        for &(family, size) in &sizes {
            if size == 0 {
                return self.refuse(
                    at,
                    len,
                    "User-defined timestamp size record contains zero timestamp size.",
                );
            }
            if self.told.contains(&family) {
                return self.refuse(
                    at,
                    len,
                    "User-defined timestamp size record contains update to recorded column family.",
                );
            }
            self.told.push(family);
        }
        self.settle();
        Step::Other(Item::TimestampSizes { sizes, offset })
    }

    fn refuse(&mut self, at: usize, dropped: usize, reason: &str) -> Step {
        Step::Other(Item::Corruption(self.damage(at, dropped as u64, reason)))
    }

    fn damage(&mut self, at: usize, dropped: u64, reason: &str) -> Damage {
        self.fault = at..self.block.len();
        Damage {
            offset: self.block_offset + at as u64,
            dropped,
            reason: reason.to_string(),
            recycled: self.recycled,
        }
    }

    /// Drops the incomplete logical record. The next item reports this.
    fn drop_partial(&mut self, reason: &str) {
        if let Some(offset) = self.partial.take() {
            let dropped = std::mem::take(&mut self.scratch).len() as u64;
            self.pending =
                Some(Damage { offset, dropped, reason: reason.to_string(), recycled: self.recycled });
        }
    }

    fn drop_partial_quietly_if_empty(&mut self, reason: &str) {
        if self.scratch.is_empty() {
            self.partial = None;
        } else {
            self.drop_partial(reason);
        }
    }

    fn forget_partial(&mut self) {
        self.partial = None;
        self.scratch.clear();
    }

    /// Returns the offset in the file of the next byte to read.
    fn position(&self) -> u64 {
        self.block_offset + self.at as u64
    }

    /// Reads the next block, or the rest of a block after [`Reader::rewind`]. Returns false at the end of the
    /// file.
    fn fill(&mut self) -> Result<bool> {
        if self.eof {
            return Ok(false);
        }
        let offset = self.block_offset + self.block.len() as u64;
        let wanted = BLOCK_LEN - (offset % BLOCK_LEN as u64) as usize;
        let read = self.block.fill(wanted, |room| self.source.read_at(offset, room));
        read.map_err(|e| e.doing("reading a WAL or a MANIFEST").at(offset))?;
        self.block_offset = offset;
        self.at = 0;
        self.eof = self.block.len() < wanted;
        Ok(true)
    }

    fn physical(&mut self) -> Result<Physical> {
        loop {
            let at = self.at;
            let rest = &self.block[at..];
            let kind = rest.get(6).copied();
            let header = kind.map_or(HEADER_LEN, header_len);
            if rest.len() < header {
                // These are the last bytes of a block, or the end of the file.
                if self.fill()? {
                    continue;
                }
                self.at = self.block.len();
                return Ok(if at < self.block.len() { Physical::TornHeader { at } } else { Physical::End });
            }
            let (Some(kind), Some(len), Some(stored)) = (kind, get_u16(rest, 4), get_u32(rest, 0)) else {
                return Ok(Physical::End);
            };
            return Ok(self.check(at, kind, header, usize::from(len), stored));
        }
    }

    /// Checks a physical record whose whole header is in the block. Always moves forward.
    fn check(&mut self, at: usize, kind: u8, header: usize, len: usize, stored: u32) -> Physical {
        let left = self.block.len() - at;
        let recyclable = header == RECYCLABLE_HEADER_LEN;
        let bad = |reason| Physical::Bad { at, dropped: left as u64, reason };
        if recyclable {
            if self.first_record_read && !self.recycled {
                self.at = self.block.len();
                return bad("recyclable record in a file that is not recycled");
            }
            self.recycled = true;
        }
        if header + len > left {
            self.at = self.block.len();
            return if self.eof { Physical::TornBody { at } } else { bad("bad record length") };
        }
        let record = &self.block[at..at + header + len];
        if recyclable && get_u32(record, HEADER_LEN) != Some(self.options.wal_number as u32) {
            self.at = at + header + len;
            return Physical::Old { at };
        }
        if kind == ZERO && len == 0 {
            let offset = self.block_offset + at as u64;
            self.at = self.block.len();
            // No writer continues after a whole block of zeros, so more zeros are a hole.
            self.filler = Some(self.filler.map_or((offset, left), |(first, _)| (first, BLOCK_LEN)));
            return Physical::Filler;
        }
        if self.options.verify_checksums && crc32c::mask(crc32c::value(&record[6..])) != stored {
            self.at = self.block.len();
            return bad("checksum mismatch");
        }
        if let Some((offset, zeros)) = self.filler.take()
            && is_hole(zeros, kind, header + len)
        {
            self.hole.get_or_insert(offset);
            return Physical::Hole { offset };
        }
        self.at = at + header + len;
        self.digest_last = self.digest;
        self.digest.add(stored);
        self.whole_end = self.position();
        Physical::Record { kind, at, payload: at + header..at + header + len }
    }
}
