//! Reads logical records, and reports exactly what it finds instead of a record. It always reaches an end,
//! whatever the bytes are.

use std::ops::Range;

use base::coding::get_u32;
use base::{FamilyId, Result};

use super::physical::{Physical, PhysicalReader, Position};
use super::record_type::*;
use super::{
    COMPRESSION_ZSTD, Damage, Diagnosis, Digest, Item, Predecessor, ReaderOptions, Source,
    StreamDecompressor, TailKind, decode_timestamp_sizes, diagnose,
};

/// Reads a WAL or MANIFEST from start to end.
pub struct Reader<S> {
    physical: PhysicalReader<S>,
    options: ReaderOptions,
    fragments: Fragments,
    announced: Announced,
    /// True if a data record was returned.
    first_record_read: bool,
    /// Corruption that must be reported before reading continues.
    pending: Option<Damage>,
    /// True after the end of the file, or after a torn record.
    ended: bool,
    record_end: u64,
    /// The end of the last item that was read completely.
    resume: Position,
    /// The location of the corrupt bytes in the block.
    fault: Range<usize>,
    /// The digest of the records before the last logical record.
    digest_before: Digest,
}

/// The fragments of one logical record.
#[derive(Default)]
struct Fragments {
    /// The bytes of the current logical record, or of the last record, if it was fragmented or compressed.
    bytes: Vec<u8>,
    /// The start of the current logical record, if one is incomplete.
    start: Option<u64>,
    decompressor: Option<Box<dyn StreamDecompressor>>,
}

impl Fragments {
    /// Starts a logical record at an offset in the file.
    fn begin(&mut self, offset: u64) {
        self.bytes.clear();
        self.start = Some(offset);
        if let Some(decompressor) = &mut self.decompressor {
            decompressor.reset();
        }
    }

    /// Adds a fragment. Returns false if the fragment does not decompress.
    fn add(&mut self, fragment: &[u8]) -> bool {
        match &mut self.decompressor {
            None => {
                self.bytes.extend_from_slice(fragment);
                true
            }
            Some(decompressor) => decompressor.decompress(fragment, &mut self.bytes).is_ok(),
        }
    }

    /// Forgets the incomplete logical record.
    fn clear(&mut self) {
        self.start = None;
        self.bytes.clear();
    }
}

/// What special records have announced for the records after them.
#[derive(Default)]
struct Announced {
    compression: bool,
    /// The column families whose timestamp size is known.
    timestamp_sizes: Vec<FamilyId>,
}

/// The location of the bytes of a logical record.
enum Found {
    InBlock(Range<usize>),
    InFragments,
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
            physical: PhysicalReader::new(source, &options),
            options,
            fragments: Fragments::default(),
            announced: Announced::default(),
            first_record_read: false,
            pending: None,
            ended: false,
            record_end: 0,
            resume: Position::default(),
            fault: 0..0,
            digest_before: Digest::default(),
        }
    }

    /// Returns the next item.
    ///
    /// # Errors
    /// The errors of the source, and NotSupported for a compression that cannot be decompressed. Corrupt
    /// bytes are reported as an [`Item`].
    #[allow(clippy::should_implement_trait)]
    pub fn next(&mut self) -> Result<Item<'_>> {
        if self.fragments.start.is_none() {
            self.fragments.bytes.clear();
        }
        loop {
            if let Some(damage) = self.pending.take() {
                return Ok(Item::Corruption(damage));
            }
            if self.ended {
                return Ok(Item::EndOfLog);
            }
            match self.step()? {
                Step::Nothing => {}
                Step::Other(item) => return Ok(item),
                Step::Record { found, offset } => {
                    self.first_record_read = true;
                    self.resume = self.physical.position();
                    self.record_end = self.resume.offset;
                    let bytes = match found {
                        Found::InBlock(range) => &self.physical.block()[range],
                        Found::InFragments => &self.fragments.bytes[..],
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
        self.physical.rewind(self.resume);
        self.ended = false;
        self.fragments.clear();
        self.pending = None;
    }

    /// Returns the digest of all whole physical records so far. [`super::Writer::digest`] has the same
    /// value at the same offset.
    pub fn digest(&self) -> u32 {
        self.physical.position().digest.value()
    }

    /// Returns the running digest for [`super::Writer::resume_behind`].
    pub fn running_digest(&self) -> Digest {
        self.physical.position().digest
    }

    /// Returns the digest of the records before the last returned logical record or announcement.
    pub fn digest_before(&self) -> u32 {
        self.digest_before.value()
    }

    /// Returns the end of the last whole physical record, in bytes from the start of the file.
    pub fn whole_end(&self) -> u64 {
        self.physical.whole_end()
    }

    /// Returns the offset of the first hole, or of the first zeros that no whole record has followed yet.
    pub fn hole(&self) -> Option<u64> {
        self.physical.hole()
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
        self.ended = false;
        self.fragments.clear();
        self.pending = None;
        self.physical.resync(offset)
    }

    /// Records that the current item was read completely: [`Reader::rewind`] moves to its end.
    fn complete(&mut self) {
        self.resume = self.physical.position();
    }

    /// Returns true if a recyclable record was found.
    pub fn is_recycled(&self) -> bool {
        self.physical.is_recycled()
    }

    /// Returns the corrupt bytes of the last [`Item::Corruption`] or [`Item::TornTail`], up to the end of the
    /// block, for [`super::diagnose`]. Empty if the fault is not in one record.
    pub fn damaged(&self) -> &[u8] {
        self.physical.block().get(self.fault.clone()).unwrap_or_default()
    }

    /// Returns the one change that makes the corrupt record of the last [`Item::Corruption`] or
    /// [`Item::TornTail`] valid, if a power failure cannot leave such a record. The record is then corrupt
    /// and not torn.
    pub fn damaged_not_torn(&self) -> Option<Diagnosis> {
        let (bytes, offset) = (self.damaged(), self.physical.offset_of(self.fault.start));
        diagnose(bytes).filter(|found| !found.could_be_torn(bytes, offset))
    }

    fn step(&mut self) -> Result<Step> {
        self.fault = 0..0;
        Ok(match self.physical.next(self.first_record_read)? {
            Physical::Record { record_type, at, payload } => return self.take(record_type, at, payload),
            Physical::Hole { offset } => Step::Other(Item::Hole { offset }),
            Physical::End => self.end(),
            Physical::TornHeader { at } => self.tear(at, TailKind::Header),
            Physical::TornBody { at } => self.tear(at, TailKind::Body),
            Physical::Filler => {
                self.drop_partial("error in middle of record");
                Step::Nothing
            }
            Physical::Old { at } => {
                self.physical.keep_hole();
                let dropped = self.fragments.bytes.len() as u64;
                self.fragments.clear();
                Step::Other(Item::OldRecord { offset: self.physical.offset_of(at), dropped })
            }
            Physical::Bad { at, dropped, reason } => {
                self.physical.keep_hole();
                let damage = self.damage(at, dropped, reason);
                self.drop_partial("error in middle of record");
                Step::Other(Item::Corruption(damage))
            }
        })
    }

    fn end(&mut self) -> Step {
        self.ended = true;
        match self.fragments.start.take() {
            None => Step::Other(Item::EndOfLog),
            Some(record_offset) => Step::Other(Item::TornTail {
                offset: self.physical.position().offset,
                record_offset,
                dropped: std::mem::take(&mut self.fragments.bytes).len() as u64,
                kind: TailKind::MissingEnd,
            }),
        }
    }

    fn tear(&mut self, at: usize, kind: TailKind) -> Step {
        self.ended = true;
        let offset = self.physical.offset_of(at);
        let dropped = (self.physical.block().len() - at + self.fragments.bytes.len()) as u64;
        let record_offset = self.fragments.start.take().unwrap_or(offset);
        self.fragments.bytes.clear();
        self.fault = at..self.physical.block().len();
        Step::Other(Item::TornTail { offset, record_offset, dropped, kind })
    }

    /// Processes a physical record with a valid checksum.
    fn take(&mut self, record_type: u8, at: usize, payload: Range<usize>) -> Result<Step> {
        let offset = self.physical.offset_of(at);
        let interrupts = match record_type {
            FULL | RECYCLABLE_FULL => Some("partial record without end(1)"),
            FIRST | RECYCLABLE_FIRST => Some("partial record without end(2)"),
            TIMESTAMP_SIZE | RECYCLABLE_TIMESTAMP_SIZE => {
                Some("user-defined timestamp size record interspersed partial record")
            }
            _ => None,
        };
        if let Some(reason) = interrupts
            && self.fragments.start.is_some()
        {
            // Old writers left an empty First fragment by a bug. It is harmless.
            self.drop_partial_quietly_if_empty(reason);
            if let Some(damage) = self.pending.take() {
                self.physical.reread(at);
                return Ok(Step::Other(Item::Corruption(damage)));
            }
        }
        match record_type {
            FULL | RECYCLABLE_FULL if self.fragments.decompressor.is_none() => {
                self.digest_before = self.physical.digest_before();
                Ok(Step::Record { found: Found::InBlock(payload), offset })
            }
            FULL | RECYCLABLE_FULL => {
                self.begin(offset);
                Ok(if self.feed(at, payload) { self.finish() } else { Step::Nothing })
            }
            FIRST | RECYCLABLE_FIRST => {
                self.begin(offset);
                self.feed(at, payload);
                Ok(Step::Nothing)
            }
            MIDDLE | RECYCLABLE_MIDDLE | LAST | RECYCLABLE_LAST if self.fragments.start.is_none() => {
                let reason = match record_type {
                    MIDDLE | RECYCLABLE_MIDDLE => "missing start of fragmented record(1)",
                    _ => "missing start of fragmented record(2)",
                };
                Ok(Step::Other(Item::Corruption(self.damage(at, payload.len() as u64, reason))))
            }
            MIDDLE | RECYCLABLE_MIDDLE => {
                self.feed(at, payload);
                Ok(Step::Nothing)
            }
            LAST | RECYCLABLE_LAST => Ok(if self.feed(at, payload) { self.finish() } else { Step::Nothing }),
            SET_COMPRESSION => self.set_compression(at, payload),
            PREDECESSOR | RECYCLABLE_PREDECESSOR => {
                self.fragments.clear();
                self.digest_before = self.physical.digest_before();
                Ok(match Predecessor::decode(&self.physical.block()[payload.clone()]) {
                    Ok(info) => {
                        self.complete();
                        Step::Other(Item::Predecessor { info, offset })
                    }
                    Err(_) => {
                        self.refuse(at, payload.len(), "could not decode PredecessorWALInfoType record")
                    }
                })
            }
            TIMESTAMP_SIZE | RECYCLABLE_TIMESTAMP_SIZE => Ok(self.timestamp_sizes(at, payload)),
            _ => {
                let dropped = payload.len() + self.fragments.bytes.len();
                self.fragments.clear();
                Ok(match record_type & SAFE_TO_IGNORE {
                    0 => self.refuse(at, dropped, &format!("unknown record type {record_type}")),
                    _ => Step::Nothing,
                })
            }
        }
    }

    fn begin(&mut self, offset: u64) {
        self.digest_before = self.physical.digest_before();
        self.fragments.begin(offset);
    }

    /// Adds a fragment to the current logical record. Returns false if it does not decompress: the corruption
    /// is then pending, and the rest of the block is dropped.
    fn feed(&mut self, at: usize, payload: Range<usize>) -> bool {
        if self.fragments.add(&self.physical.block()[payload]) {
            return true;
        }
        let dropped = (self.physical.block().len() - at + self.fragments.bytes.len()) as u64;
        self.physical.skip_block();
        self.fragments.clear();
        self.pending = Some(self.damage(at, dropped, "bad compressed record"));
        false
    }

    fn finish(&mut self) -> Step {
        match self.fragments.start.take() {
            Some(offset) => Step::Record { found: Found::InFragments, offset },
            None => Step::Nothing,
        }
    }

    fn set_compression(&mut self, at: usize, payload: Range<usize>) -> Result<Step> {
        self.fragments.clear();
        let len = payload.len();
        let Some(COMPRESSION_ZSTD) = get_u32(&self.physical.block()[payload], 0) else {
            return Ok(self.refuse(at, len, "could not decode SetCompressionType record"));
        };
        let Some(make) = &self.options.decompressor else {
            return Ok(self.refuse(at, len, "SetCompressionType record where no compression is allowed"));
        };
        self.fragments.decompressor = Some(make(COMPRESSION_ZSTD)?);
        self.complete();
        if std::mem::replace(&mut self.announced.compression, true) {
            return Ok(self.refuse(at, len, "read multiple SetCompressionType records"));
        }
        if self.first_record_read {
            return Ok(self.refuse(at, len, "SetCompressionType not the first record"));
        }
        Ok(Step::Nothing)
    }

    fn timestamp_sizes(&mut self, at: usize, payload: Range<usize>) -> Step {
        self.digest_before = self.physical.digest_before();
        let (offset, len) = (self.physical.offset_of(at), payload.len());
        let Some(sizes) = decode_timestamp_sizes(&self.physical.block()[payload]) else {
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
            if self.announced.timestamp_sizes.contains(&family) {
                return self.refuse(
                    at,
                    len,
                    "User-defined timestamp size record contains update to recorded column family.",
                );
            }
            self.announced.timestamp_sizes.push(family);
        }
        self.complete();
        Step::Other(Item::TimestampSizes { sizes, offset })
    }

    fn refuse(&mut self, at: usize, dropped: usize, reason: &str) -> Step {
        Step::Other(Item::Corruption(self.damage(at, dropped as u64, reason)))
    }

    fn damage(&mut self, at: usize, dropped: u64, reason: &str) -> Damage {
        self.fault = at..self.physical.block().len();
        Damage {
            offset: self.physical.offset_of(at),
            dropped,
            reason: reason.to_string(),
            recycled: self.physical.is_recycled(),
        }
    }

    /// Drops the incomplete logical record. The next item reports this.
    fn drop_partial(&mut self, reason: &str) {
        if let Some(offset) = self.fragments.start.take() {
            let dropped = std::mem::take(&mut self.fragments.bytes).len() as u64;
            self.pending = Some(Damage {
                offset,
                dropped,
                reason: reason.to_string(),
                recycled: self.physical.is_recycled(),
            });
        }
    }

    fn drop_partial_quietly_if_empty(&mut self, reason: &str) {
        if self.fragments.bytes.is_empty() {
            self.fragments.start = None;
        } else {
            self.drop_partial(reason);
        }
    }
}
