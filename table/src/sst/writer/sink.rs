//! Writes finished blocks to the file, with trailer, checksum and padding, and passes them to the block
//! cache.

use std::sync::Arc;

use base::Result;
use base::stats::{HistogramKind, Statistics, Stopwatch};
use env::writer::FileWriter;
use format::checksum::ChecksumType;
use format::handle::BlockHandle;
use format::trailer;

use super::options::{BlockKind, WarmCache};

/// The destination of blocks. `offset` is the size of the file, padding included.
pub(super) struct Sink {
    file: FileWriter,
    offset: u64,
    checksum: ChecksumType,
    base_context: u32,
    padding: Padding,
    warm: Option<Arc<dyn WarmCache>>,
    /// Bytes of all blocks before compression, with trailers and padding.
    pre_compression_size: u64,
    /// The type bytes of the blocks so far, as one bit each.
    types_used: u8,
    statistics: Option<Arc<Statistics>>,
    /// A buffer for an embedded blob and its trailer.
    blob: Vec<u8>,
}

/// The rules for the start of data blocks.
#[derive(Clone, Copy, Debug, Default)]
pub(super) struct Padding {
    /// Each data block starts at a multiple of this number. 0 means anywhere.
    pub(super) align: u64,
    /// No data block crosses a multiple of this number, if less than `super_block_padding` bytes of padding
    /// prevent it. 0 means off.
    pub(super) super_block: u64,
    pub(super) super_block_padding: u64,
}

impl Sink {
    pub(super) fn new(
        file: FileWriter,
        checksum: ChecksumType,
        base_context: u32,
        padding: Padding,
        warm: Option<Arc<dyn WarmCache>>,
        statistics: Option<Arc<Statistics>>,
    ) -> Self {
        let offset = file.size();
        Sink {
            file,
            offset,
            checksum,
            base_context,
            padding,
            warm,
            pre_compression_size: 0,
            types_used: 0,
            statistics,
            blob: Vec::new(),
        }
    }

    #[inline]
    pub(super) fn offset(&self) -> u64 {
        self.offset
    }

    pub(super) fn base_context(&self) -> u32 {
        self.base_context
    }

    pub(super) fn pre_compression_size(&self) -> u64 {
        self.pre_compression_size
    }

    /// Returns the type bytes of compressed blocks, ascending.
    pub(super) fn types_used(&self) -> impl Iterator<Item = u8> {
        let used = self.types_used;
        (1..8).filter(move |byte| used & (1 << byte) != 0)
    }

    /// Writes a block. `stored` is its stored form, and gets the trailer appended. `payload` is the
    /// uncompressed block; `None` if it is the stored form.
    pub(super) fn write(
        &mut self,
        kind: BlockKind,
        stored: &mut Vec<u8>,
        type_byte: u8,
        payload: Option<&[u8]>,
    ) -> Result<BlockHandle> {
        let timed =
            self.statistics.as_ref().filter(|statistics| statistics.timers_on()).map(|_| Stopwatch::start());
        let size = stored.len();
        let handle = BlockHandle::new(self.offset, size as u64);
        base::invariant!(type_byte < 8, "the compression type {type_byte} does not exist");
        base::invariant!(type_byte == 0 || payload.is_some(), "a compressed block without its payload");
        trailer::append(stored, type_byte, self.checksum, self.base_context, self.offset);
        base::invariant!(
            stored.len() == size + trailer::LEN,
            "the trailer of a block has {} bytes",
            stored.len() - size
        );
        self.file.append(stored)?;
        self.offset += stored.len() as u64;
        base::invariant!(
            self.file.size() == self.offset,
            "the file has {} bytes, and the next block starts at {}",
            self.file.size(),
            self.offset
        );
        self.types_used |= 1u8.checked_shl(u32::from(type_byte)).unwrap_or(0);
        let payload = payload.unwrap_or(&stored[..size]);
        self.pre_compression_size += (payload.len() + trailer::LEN) as u64;
        if let Some(warm) = &self.warm {
            warm.block_written(kind, handle.offset, payload);
        }
        if let (Some(statistics), Some(began)) = (&self.statistics, timed) {
            statistics.measure_time(HistogramKind::WriteRawBlockMicros, began.micros());
        }
        Ok(handle)
    }

    /// Writes a data block with its padding. Returns its handle, and whether there is padding before it.
    pub(super) fn write_data(
        &mut self,
        stored: &mut Vec<u8>,
        type_byte: u8,
        payload: Option<&[u8]>,
    ) -> Result<(BlockHandle, bool)> {
        let before = self.padding.before(self.offset, stored.len() as u64);
        self.pad(before)?;
        let handle = self.write(BlockKind::Data, stored, type_byte, payload)?;
        if self.padding.align > 0 {
            base::invariant!(
                self.padding.align.is_power_of_two(),
                "blocks are aligned to {} bytes",
                self.padding.align
            );
            self.pad(self.offset.wrapping_neg() & (self.padding.align - 1))?;
            base::invariant!(self.offset.is_multiple_of(self.padding.align), "the next block is not aligned");
        }
        Ok((handle, before > 0))
    }

    fn pad(&mut self, bytes: u64) -> Result<()> {
        if bytes > 0 {
            self.file.pad(bytes as usize)?;
            self.offset += bytes;
            self.pre_compression_size += bytes;
        }
        base::invariant!(
            self.file.size() == self.offset,
            "the file has {} bytes, and the next block starts at {}",
            self.file.size(),
            self.offset
        );
        Ok(())
    }

    /// Writes an embedded blob: the payload, then the trailer of an uncompressed block. Returns the offset of the payload.
    pub(super) fn write_blob(&mut self, payload: &[u8]) -> Result<u64> {
        let offset = self.offset;
        self.blob.clear();
        self.blob.reserve(payload.len() + trailer::LEN);
        self.blob.extend_from_slice(payload);
        trailer::append(&mut self.blob, 0, self.checksum, self.base_context, offset);
        self.file.append(&self.blob)?;
        self.offset += self.blob.len() as u64;
        base::invariant!(
            self.file.size() == self.offset,
            "the file has {} bytes, and the embedded blob ends at {}",
            self.file.size(),
            self.offset
        );
        Ok(offset)
    }

    /// Writes bytes that are not a block: the footer.
    pub(super) fn write_bare(&mut self, bytes: &[u8]) -> Result<()> {
        self.file.append(bytes)?;
        self.offset += bytes.len() as u64;
        self.pre_compression_size += bytes.len() as u64;
        base::invariant!(
            self.file.size() == self.offset,
            "the file has {} bytes, and the table {}",
            self.file.size(),
            self.offset
        );
        Ok(())
    }

    pub(super) fn into_file(self) -> FileWriter {
        self.file
    }
}

impl Padding {
    /// Returns the number of padding bytes before a data block of `size` bytes at `offset`.
    fn before(&self, offset: u64, size: u64) -> u64 {
        if self.super_block == 0 || self.super_block_padding == 0 {
            return 0;
        }
        base::invariant!(self.super_block.is_power_of_two(), "a super block of {} bytes", self.super_block);
        let mask = self.super_block - 1;
        let crosses = offset & !mask != (offset + size) & !mask;
        let bytes = self.super_block - (offset & mask);
        if crosses && bytes < self.super_block_padding { bytes } else { 0 }
    }
}
