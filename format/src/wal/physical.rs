//! Reads the physical records of a WAL or MANIFEST: blocks, headers, checksums, and the zeros between records.

use std::ops::Range;

use base::Result;
use base::coding::{get_u16, get_u32};
use kernel::checksum::crc32c;

use super::block::Block;
use super::record_type::ZERO;
use super::writer::{header_len, is_hole, is_written};
use super::{BLOCK_LEN, Digest, HEADER_LEN, RECYCLABLE_HEADER_LEN, ReaderOptions, Source};

/// The result of reading one physical record. `at` is an offset in the block.
pub(super) enum Physical {
    Record {
        record_type: u8,
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

/// A place where reading can continue: an offset in the file, and the digest of all whole records before it.
#[derive(Clone, Copy, Default)]
pub(super) struct Position {
    pub offset: u64,
    pub digest: Digest,
}

/// Reads physical records from start to end.
pub(super) struct PhysicalReader<S> {
    source: S,
    /// The low half of the WAL number, as recyclable headers have it.
    wal_number: u32,
    verify_checksums: bool,
    /// The current block, as far as the file has it.
    block: Block,
    /// The offset of the block in the file.
    block_offset: u64,
    /// The offset in the block up to which it was read.
    at: usize,
    /// True if the last block was short, so that the file ends there.
    eof: bool,
    /// True if a recyclable record was found.
    recycled: bool,
    /// The digest of all whole physical records so far.
    digest: Digest,
    /// The digest of the records before the last physical record.
    digest_before: Digest,
    /// The end of the last whole physical record, in bytes from the start of the file.
    whole_end: u64,
    zeros: Zeros,
}

/// The zeros that the reader has seen where a record could be.
#[derive(Default)]
struct Zeros {
    /// The offset of the first hole.
    hole: Option<u64>,
    /// The zeros that were skipped since the last whole physical record: the offset where the zeros start,
    /// and how many of them a writer may have left before a record that is never fragmented.
    filler: Option<(u64, usize)>,
}

impl<S: Source> PhysicalReader<S> {
    /// Makes a reader at the start of the file. The first call of [`PhysicalReader::next`] reads a block.
    pub(super) fn new(source: S, options: &ReaderOptions) -> Self {
        PhysicalReader {
            source,
            wal_number: options.wal_number.get() as u32,
            verify_checksums: options.verify_checksums,
            block: Block::default(),
            block_offset: 0,
            at: 0,
            eof: false,
            recycled: false,
            digest: Digest::default(),
            digest_before: Digest::default(),
            whole_end: 0,
            zeros: Zeros::default(),
        }
    }

    /// Returns the bytes of the current block.
    pub(super) fn block(&self) -> &[u8] {
        &self.block
    }

    /// Returns the offset in the file of byte `at` of the block.
    pub(super) fn offset_of(&self, at: usize) -> u64 {
        self.block_offset + at as u64
    }

    /// Returns the place of the next byte to read.
    pub(super) fn position(&self) -> Position {
        Position { offset: self.offset_of(self.at), digest: self.digest }
    }

    /// Returns the digest of the records before the last physical record.
    pub(super) fn digest_before(&self) -> Digest {
        self.digest_before
    }

    /// Returns the end of the last whole physical record, in bytes from the start of the file.
    pub(super) fn whole_end(&self) -> u64 {
        self.whole_end
    }

    /// Returns true if a recyclable record was found.
    pub(super) fn is_recycled(&self) -> bool {
        self.recycled
    }

    /// Returns the offset of the first hole, or of the first zeros that no whole record has followed yet.
    pub(super) fn hole(&self) -> Option<u64> {
        self.zeros.hole.or(self.zeros.filler.map(|(offset, _)| offset))
    }

    /// Records the start of the last zeros as a hole, because it is no longer possible to tell whether a
    /// writer left them.
    pub(super) fn keep_hole(&mut self) {
        if let Some((offset, _)) = self.zeros.filler.take() {
            self.zeros.hole.get_or_insert(offset);
        }
    }

    /// Moves back to byte `at` of the block: the next call returns the record there again.
    pub(super) fn reread(&mut self, at: usize) {
        self.at = at;
    }

    /// Skips the rest of the block.
    pub(super) fn skip_block(&mut self) {
        self.at = self.block.len();
    }

    /// Moves to a place where reading stopped before.
    pub(super) fn rewind(&mut self, to: Position) {
        self.block.clear();
        self.at = 0;
        self.block_offset = to.offset;
        self.eof = false;
        self.digest = to.digest;
        self.whole_end = to.offset;
        self.zeros.filler = None;
    }

    /// Moves to the next whole record after byte `offset` of the file, in the same block, or else to the next
    /// block. Returns false at the end of the file.
    pub(super) fn resync(&mut self, offset: u64) -> Result<bool> {
        self.block.clear();
        self.block_offset = offset / BLOCK_LEN as u64 * BLOCK_LEN as u64;
        self.eof = false;
        self.zeros.filler = None;
        self.fill()?;
        let from = (offset - self.block_offset) as usize + 1;
        let found = (from..self.block.len()).find(|at| self.is_whole(*at));
        self.at = found.unwrap_or(self.block.len());
        Ok(found.is_some() || !self.eof)
    }

    /// Returns true if a whole physical record of a known type is at `at` of the block.
    fn is_whole(&self, at: usize) -> bool {
        let rest = &self.block[at..];
        let (Some(&record_type), Some(len), Some(stored)) = (rest.get(6), get_u16(rest, 4), get_u32(rest, 0))
        else {
            return false;
        };
        let end = header_len(record_type) + usize::from(len);
        is_written(record_type)
            && rest.get(6..end).is_some_and(|body| crc32c::mask(crc32c::value(body)) == stored)
    }

    /// Reads the next block, or the rest of a block after [`PhysicalReader::rewind`]. Returns false at the end
    /// of the file.
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

    /// Reads the next physical record. `has_records` is true after the first data record: only a recycled
    /// file has recyclable records then.
    pub(super) fn next(&mut self, has_records: bool) -> Result<Physical> {
        loop {
            let at = self.at;
            let rest = &self.block[at..];
            let record_type = rest.get(6).copied();
            let header = record_type.map_or(HEADER_LEN, header_len);
            if rest.len() < header {
                // These are the last bytes of a block, or the end of the file.
                if self.fill()? {
                    continue;
                }
                self.at = self.block.len();
                return Ok(if at < self.block.len() { Physical::TornHeader { at } } else { Physical::End });
            }
            let (Some(record_type), Some(len), Some(stored)) =
                (record_type, get_u16(rest, 4), get_u32(rest, 0))
            else {
                return Ok(Physical::End);
            };
            let recyclable = header == RECYCLABLE_HEADER_LEN;
            if recyclable && has_records && !self.recycled {
                let dropped = (self.block.len() - at) as u64;
                self.at = self.block.len();
                let reason = "recyclable record in a file that is not recycled";
                return Ok(Physical::Bad { at, dropped, reason });
            }
            self.recycled |= recyclable;
            return Ok(self.check(at, record_type, header, usize::from(len), stored));
        }
    }

    /// Checks a physical record whose whole header is in the block. Always moves forward.
    fn check(&mut self, at: usize, record_type: u8, header: usize, len: usize, stored: u32) -> Physical {
        let left = self.block.len() - at;
        let bad = |reason| Physical::Bad { at, dropped: left as u64, reason };
        if header + len > left {
            self.at = self.block.len();
            return if self.eof { Physical::TornBody { at } } else { bad("bad record length") };
        }
        let record = &self.block[at..at + header + len];
        if header == RECYCLABLE_HEADER_LEN && get_u32(record, HEADER_LEN) != Some(self.wal_number) {
            self.at = at + header + len;
            return Physical::Old { at };
        }
        if record_type == ZERO && len == 0 {
            let offset = self.offset_of(at);
            self.at = self.block.len();
            // No writer continues after a whole block of zeros, so more zeros are a hole.
            let filler = self.zeros.filler.map_or((offset, left), |(first, _)| (first, BLOCK_LEN));
            self.zeros.filler = Some(filler);
            return Physical::Filler;
        }
        if self.verify_checksums && crc32c::mask(crc32c::value(&record[6..])) != stored {
            self.at = self.block.len();
            return bad("checksum mismatch");
        }
        if let Some((offset, zeros)) = self.zeros.filler.take()
            && is_hole(zeros, record_type, header + len)
        {
            self.zeros.hole.get_or_insert(offset);
            return Physical::Hole { offset };
        }
        self.at = at + header + len;
        self.digest_before = self.digest;
        self.digest.add(stored);
        self.whole_end = self.offset_of(self.at);
        Physical::Record { record_type, at, payload: at + header..at + header + len }
    }
}
