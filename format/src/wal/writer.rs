//! Frames logical records. The writer appends bytes to a buffer; who owns the file writes them out.

use base::{FamilyId, Result};

use super::{Predecessor, StreamCompressor};

/// Which headers data records get.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Framing {
    /// MANIFESTs, and WALs that are not recycled.
    Classic,
    /// WALs that may be written over later, with their number.
    Recyclable { log_number: u64 },
}

/// Framing state of one log: where in the block its end is, and how records are compressed.
pub struct Writer {
    framing: Framing,
    /// Bytes of the log so far.
    offset: u64,
    compressor: Option<Box<dyn StreamCompressor>>,
    /// The frame of the record being written; kept for its memory.
    frame: Vec<u8>,
}

impl Writer {
    /// A writer at the start of an empty (or recycled) file.
    pub fn new(framing: Framing) -> Self {
        Writer::resume(framing, 0)
    }

    /// A writer that goes on at `offset`, the end of a log written with the same framing.
    pub fn resume(framing: Framing, offset: u64) -> Self {
        Writer { framing, offset, compressor: None, frame: Vec::new() }
    }

    pub fn framing(&self) -> Framing {
        self.framing
    }

    /// Bytes of the log so far, all appended output included.
    pub fn offset(&self) -> u64 {
        self.offset
    }

    /// Announces ZSTD compression; all later data records go through `compressor`. Must come first.
    pub fn set_compression(&mut self, out: &mut Vec<u8>, compressor: Box<dyn StreamCompressor>) {
        let _ = (out, compressor);
        todo!()
    }

    /// Tells readers the timestamp sizes of families, each once a log and never 0, before the first
    /// record that has keys of theirs.
    pub fn timestamp_sizes(&mut self, out: &mut Vec<u8>, sizes: &[(FamilyId, u16)]) {
        let _ = (out, sizes);
        todo!()
    }

    /// Tells readers where the log before this one ended. Before the first data record.
    pub fn predecessor(&mut self, out: &mut Vec<u8>, predecessor: &Predecessor) {
        let _ = (out, predecessor);
        todo!()
    }

    /// Appends one logical record, framed, to `out`.
    ///
    /// # Errors
    /// Only those of the compressor; then nothing was appended.
    pub fn append(&mut self, out: &mut Vec<u8>, record: &[u8]) -> Result<()> {
        self.append_parts(out, &[record])
    }

    /// Appends one logical record given in parts: a group's header and its batches' records.
    ///
    /// # Errors
    /// As [`Writer::append`].
    pub fn append_parts(&mut self, out: &mut Vec<u8>, parts: &[&[u8]]) -> Result<()> {
        let _ = (out, parts, &self.compressor, &self.frame);
        todo!()
    }
}
