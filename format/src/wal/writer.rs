//! Frames logical records. The writer appends bytes to a buffer, and the owner of the file writes the buffer.
//!
//! Invariant: after each call, the block has room for a header, or fewer bytes than a header are left. When
//! the next record comes, these bytes are filled with zeros, as in RocksDB.

use base::coding::put_u32;
use base::{FamilyId, Result, WalNumber};
use kernel::checksum::crc32c;

use super::record_type::{self, RECYCLABLE_FULL, RECYCLABLE_LAST};
use super::{
    BLOCK_LEN, COMPRESSION_ZSTD, Digest, HEADER_LEN, Predecessor, RECYCLABLE_HEADER_LEN, StreamCompressor,
    encode_timestamp_sizes,
};

/// The headers of data records.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Framing {
    /// For MANIFESTs, and for WALs that are not recycled.
    Classic,
    /// For WALs whose files may be recycled later. The headers contain the WAL number.
    Recyclable { wal_number: WalNumber },
}

/// The framing state of one WAL or MANIFEST: the position of its end in the block, and the compressor of
/// records.
pub struct Writer {
    framing: Framing,
    /// Number of bytes so far.
    offset: u64,
    digest: Digest,
    /// False if the writer continued a file without knowing the digest of its start.
    digest_known: bool,
    compressor: Option<Box<dyn StreamCompressor>>,
    /// The frame of the current record. Kept to reuse its memory.
    frame: Vec<u8>,
    /// The column families whose timestamp sizes were already announced.
    announced: Vec<FamilyId>,
}

impl Writer {
    /// Makes a writer at the start of an empty or recycled file.
    pub fn new(framing: Framing) -> Self {
        Writer::resume(framing, 0)
    }

    /// Makes a writer that continues at `offset`, the end of a file with the same framing.
    pub fn resume(framing: Framing, offset: u64) -> Self {
        Writer {
            framing,
            offset,
            digest: Digest::default(),
            digest_known: offset == 0,
            compressor: None,
            frame: Vec::new(),
            announced: Vec::new(),
        }
    }

    /// Makes a writer that continues at `offset` after records that were read. `digest` is the digest of
    /// these records.
    pub fn resume_behind(framing: Framing, offset: u64, digest: Digest) -> Self {
        Writer { digest, digest_known: true, ..Writer::resume(framing, offset) }
    }

    /// Returns the form of the record headers. The form never changes for one file.
    pub fn framing(&self) -> Framing {
        self.framing
    }

    /// Returns the number of bytes so far, all appended output included.
    pub fn offset(&self) -> u64 {
        self.offset
    }

    /// Returns the digest of all records so far. Returns `None` for a writer that continued without a digest.
    pub fn digest(&self) -> Option<u32> {
        self.digest_known.then(|| self.digest.value())
    }

    /// Announces ZSTD compression. All later data records are compressed by `compressor`. This must be the
    /// first call.
    pub fn set_compression(&mut self, out: &mut Vec<u8>, compressor: Box<dyn StreamCompressor>) {
        debug_assert_eq!(self.offset, 0, "the announcement comes first");
        let payload = COMPRESSION_ZSTD.to_le_bytes();
        self.whole(out, record_type::SET_COMPRESSION, &payload);
        self.compressor = Some(compressor);
    }

    /// Announces the timestamp sizes of column families, before the first record with keys of these column
    /// families. Skips sizes of 0 and column families that were already announced, so repeated calls are
    /// allowed.
    pub fn timestamp_sizes(&mut self, out: &mut Vec<u8>, sizes: &[(FamilyId, u16)]) {
        const PER_RECORD: usize = (BLOCK_LEN - RECYCLABLE_HEADER_LEN) / 6;
        let mut fresh: Vec<(FamilyId, u16)> = Vec::new();
        for &(family, size) in sizes {
            if size != 0 && !self.announced.contains(&family) {
                self.announced.push(family);
                fresh.push((family, size));
            }
        }
        let kind = match self.framing {
            Framing::Classic => record_type::TIMESTAMP_SIZE,
            Framing::Recyclable { .. } => record_type::RECYCLABLE_TIMESTAMP_SIZE,
        };
        for chunk in fresh.chunks(PER_RECORD) {
            let mut payload = Vec::with_capacity(chunk.len() * 6);
            encode_timestamp_sizes(chunk, &mut payload);
            self.whole(out, kind, &payload);
        }
    }

    /// Announces the end of the previous WAL. Must be called before the first data record.
    pub fn predecessor(&mut self, out: &mut Vec<u8>, predecessor: &Predecessor) {
        let kind = match self.framing {
            Framing::Classic => record_type::PREDECESSOR,
            Framing::Recyclable { .. } => record_type::RECYCLABLE_PREDECESSOR,
        };
        let mut payload = Vec::with_capacity(24);
        predecessor.encode(&mut payload);
        self.whole(out, kind, &payload);
    }

    /// Appends one framed logical record to `out`.
    ///
    /// # Errors
    /// Only the errors of the compressor. Nothing was appended then.
    #[inline]
    pub fn append(&mut self, out: &mut Vec<u8>, record: &[u8]) -> Result<()> {
        self.append_parts(out, &[record])
    }

    /// Appends one logical record that is given in parts: the header of a group and the records of its batches.
    ///
    /// # Errors
    /// The errors of [`Writer::append`].
    pub fn append_parts(&mut self, out: &mut Vec<u8>, parts: &[&[u8]]) -> Result<()> {
        let Some(compressor) = &mut self.compressor else {
            self.fragments(out, parts);
            return Ok(());
        };
        let mut frame = std::mem::take(&mut self.frame);
        frame.clear();
        let compressed = match parts {
            [] => Ok(()),
            [[]] => Ok(()),
            [record] => compressor.compress(record, &mut frame),
            _ => compressor.compress(&parts.concat(), &mut frame),
        };
        if compressed.is_ok() {
            self.fragments(out, &[&frame]);
        }
        self.frame = frame;
        compressed
    }

    /// Divides a record into fragments that fit into their blocks. An empty record is one empty fragment.
    fn fragments(&mut self, out: &mut Vec<u8>, parts: &[&[u8]]) {
        let (header_len, full) = match self.framing {
            Framing::Classic => (HEADER_LEN, record_type::FULL),
            Framing::Recyclable { .. } => (RECYCLABLE_HEADER_LEN, record_type::RECYCLABLE_FULL),
        };
        let mut left: usize = parts.iter().map(|p| p.len()).sum();
        out.reserve(left + header_len * (2 + left / BLOCK_LEN));
        let mut parts = Parts { parts, at: 0 };
        let mut first = true;
        loop {
            let room = self.make_room(out, header_len) - header_len;
            let n = left.min(room);
            let last = n == left;
            // The types Full, First, Middle, Last are in this order in both framings.
            let place = match (first, last) {
                (true, true) => 0,
                (true, false) => 1,
                (false, false) => 2,
                (false, true) => 3,
            };
            self.physical(out, full + place, n, |out| parts.take(n, out));
            left -= n;
            first = false;
            if last {
                return;
            }
        }
    }

    /// Appends one physical record that is never fragmented. If it does not fit into the block, the rest of
    /// the block is padded.
    fn whole(&mut self, out: &mut Vec<u8>, kind: u8, payload: &[u8]) {
        let header_len = header_len(kind);
        self.make_room(out, header_len + payload.len());
        self.physical(out, kind, payload.len(), |out| out.extend_from_slice(payload));
    }

    /// Fills the block with zeros if `needed` bytes do not fit. Returns the number of bytes that are left in
    /// the block.
    fn make_room(&mut self, out: &mut Vec<u8>, needed: usize) -> usize {
        let left = BLOCK_LEN - (self.offset % BLOCK_LEN as u64) as usize;
        if left >= needed {
            return left;
        }
        out.resize(out.len() + left, 0);
        self.offset += left as u64;
        BLOCK_LEN
    }

    fn physical(&mut self, out: &mut Vec<u8>, kind: u8, len: usize, payload: impl FnOnce(&mut Vec<u8>)) {
        let start = out.len();
        put_u32(out, 0);
        out.extend_from_slice(&(len as u16).to_le_bytes());
        out.push(kind);
        if header_len(kind) == RECYCLABLE_HEADER_LEN {
            let number = match self.framing {
                Framing::Recyclable { wal_number } => wal_number.get() as u32,
                Framing::Classic => 0,
            };
            put_u32(out, number);
        }
        payload(out);
        let crc = crc32c::mask(crc32c::value(&out[start + 6..]));
        out[start..start + 4].copy_from_slice(&crc.to_le_bytes());
        self.digest.add(crc);
        self.offset += (out.len() - start) as u64;
    }
}

/// Returns the length of the header by type. As in RocksDB, unknown types have a classic header.
pub(crate) fn header_len(kind: u8) -> usize {
    match kind {
        RECYCLABLE_FULL..=RECYCLABLE_LAST
        | record_type::RECYCLABLE_TIMESTAMP_SIZE
        | record_type::RECYCLABLE_PREDECESSOR => RECYCLABLE_HEADER_LEN,
        _ => HEADER_LEN,
    }
}

/// Returns true if writers use the type.
pub(crate) fn is_written(kind: u8) -> bool {
    use record_type::{FULL, PREDECESSOR, RECYCLABLE_PREDECESSOR, RECYCLABLE_TIMESTAMP_SIZE};
    matches!(kind, FULL..=RECYCLABLE_TIMESTAMP_SIZE | PREDECESSOR | RECYCLABLE_PREDECESSOR)
}

/// Returns true if the zero bytes before a record are a hole. `zeros` counts the zeros up to the end of
/// their block. `len` is the length of the record with its header. A writer pads a block with zeros in two
/// cases: no record header fits, or the next record does not fit and its type is never fragmented. More
/// zeros mean missing records.
pub(crate) fn is_hole(zeros: usize, kind: u8, len: usize) -> bool {
    use record_type::{
        PREDECESSOR, RECYCLABLE_PREDECESSOR, RECYCLABLE_TIMESTAMP_SIZE, SET_COMPRESSION, TIMESTAMP_SIZE,
    };
    let never_cut =
        [SET_COMPRESSION, PREDECESSOR, RECYCLABLE_PREDECESSOR, TIMESTAMP_SIZE, RECYCLABLE_TIMESTAMP_SIZE];
    zeros >= if never_cut.contains(&kind) { len } else { RECYCLABLE_HEADER_LEN }
}

/// Reads slices one after another.
struct Parts<'a> {
    parts: &'a [&'a [u8]],
    at: usize,
}

impl Parts<'_> {
    /// Appends the next `n` bytes to `out`. They must exist.
    fn take(&mut self, mut n: usize, out: &mut Vec<u8>) {
        while let Some((part, rest)) = self.parts.split_first() {
            let left = &part[self.at..];
            if left.len() > n {
                out.extend_from_slice(&left[..n]);
                self.at += n;
                return;
            }
            out.extend_from_slice(left);
            n -= left.len();
            self.parts = rest;
            self.at = 0;
        }
        debug_assert_eq!(n, 0);
    }
}
