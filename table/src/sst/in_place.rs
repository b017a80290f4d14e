//! Reads uncompressed data blocks directly into the memory that the block cache keeps.
//!
//! ```text
//! compressed    file ─► buffer of the thread ─► decompress ─► memory of the block
//! uncompressed  file ─► memory of the block
//! ```
//! The trailer of a block says whether the block is compressed, and the trailer is known only after the read. So the
//! reader assumes that a data block has the compression type of the data block before. After a wrong guess, the memory
//! of the block serves as the buffer, and the block is decompressed into other memory.
//!
//! Without this path, a scan of 64 KiB blocks copied each block once more. The copy took a fifth of the time of the scan.

use std::sync::atomic::Ordering::Relaxed;

use base::Result;
use format::block::BlockRoom;
use format::handle::BlockHandle;

use super::block_cache::CachedBlock;
use super::block_kind::BlockKind;
use super::fetch::{check_place, heads_later, room_for_later, timed_read, truncated};
use super::file_source::Source;
use super::limits::ReadLimits;
use super::prefetch::Window;
use super::read_ctx::ReadCtx;
use super::spare;

/// Returns true if the next data block is expected to be uncompressed, and may be read in place.
#[inline]
pub(super) fn is_expected(source: &Source) -> bool {
    source.is_plain.load(Relaxed)
}

/// Decides from a data block that was read whether the next data block may be read in place.
#[inline]
pub(super) fn learn(source: &Source, compression: u8) {
    let is_plain = compression == 0 && source.protection == 0 && source.persistent_cache.is_none();
    if is_plain != source.is_plain.load(Relaxed) {
        source.is_plain.store(is_plain, Relaxed);
    }
}

/// Makes the memory for a data block that is read in place.
pub(super) fn room(source: &Source, handle: BlockHandle, ctx: &ReadCtx) -> BlockRoom {
    match heads_later(source, ctx) {
        Some(_) => BlockRoom::new(handle.size as usize, room_for_later),
        None => BlockRoom::new(handle.size as usize, spare::take),
    }
}

/// Reads a data block in place, unless `window` has its bytes.
///
/// # Errors
/// The errors of the read and of [`decode`].
pub(super) fn load(
    source: &Source,
    handle: BlockHandle,
    ctx: &ReadCtx,
    window: Option<&mut dyn Window>,
) -> Result<CachedBlock> {
    let kind = BlockKind::Data;
    // A read that fails must not change the state of the read-ahead, nor start a prefetch.
    let is_possible = !ctx.cache_only && check_place(source, handle).is_ok();
    if let Some(window) = window
        && !(is_possible
            && window.leaves_to_caller(source, handle.offset, handle.size as usize + format::trailer::LEN))
    {
        let raw = source.read_block(handle, kind, ctx, Some(window))?;
        return source.decode(raw, handle, kind, ctx).map_err(|error| source.refused(error, handle, kind));
    }
    let room = timed_read(source, (handle, kind), ctx, || {
        check_place(source, handle)?;
        let mut room = room(source, handle, ctx);
        read_exactly(source, handle.offset, room.stored_mut(), ctx.limits.as_deref())?;
        Ok(room)
    })?;
    source.counts.read(kind, 1, room.stored().len());
    decode(source, room, handle, ctx).map_err(|error| source.refused(error, handle, kind))
}

/// Fills the buffer from the file.
///
/// # Errors
/// The error of the read. Corruption if the file ends before.
fn read_exactly(source: &Source, offset: u64, buffer: &mut [u8], limits: Option<&ReadLimits>) -> Result<()> {
    let len = buffer.len();
    match source.read_at(offset, buffer, limits)? {
        got if got < len => Err(truncated(got, len)),
        _ => Ok(()),
    }
}

/// Checks and parses a block that was read in place. Decompresses the block if the guess was wrong.
///
/// # Errors
/// Corruption if the checksum is wrong, or if the block does not decompress or parse.
pub(super) fn decode(
    source: &Source,
    room: BlockRoom,
    handle: BlockHandle,
    ctx: &ReadCtx,
) -> Result<CachedBlock> {
    let later = heads_later(source, ctx).is_some();
    let compression = source.checked(room.stored(), handle, ctx.verify_checksums)?;
    learn(source, compression);
    let block = if compression == 0 {
        room.into_block(later)
    } else {
        let payload = &room.stored()[..handle.size as usize];
        let block = source.inflate_data(compression, payload, later, source.dict.as_ref());
        spare::give(room.into_bytes());
        block
    };
    block.map(CachedBlock::Data).map_err(|e| e.shifted(handle.offset))
}

#[cfg(test)]
mod tests {
    use std::path::Path;

    use env::Env;
    use env::fs::AppendHints;
    use env::writer::FileWriter;

    use super::super::prefetch::{ReadAhead, SystemHelp};
    use super::super::reader::Reader;
    use super::super::writer::{Writer, WriterOptions};
    use crate::options::BlockBasedTableOptions;
    use crate::sst::OpenOptions;

    use super::*;

    #[test]
    fn a_handle_outside_of_the_file_is_corruption() {
        let env = Env::memory(7);
        let path = Path::new("/000001.sst");
        let file = env.fs.create(path, &AppendHints::default()).unwrap();
        let file = FileWriter::new(file, env::writer::WriterOptions::default());
        let writer = Writer::new(file, WriterOptions::default()).unwrap();
        let (table, mut file) = writer.finish().unwrap();
        file.close().unwrap();
        let file = env.fs.open_random(path, &Default::default()).unwrap();
        let reader = Reader::open(file, table.file_size, &OpenOptions::default()).unwrap();
        let size = table.file_size;
        let outside =
            [(size, 0), (0, size), (u64::MAX - 10, 5), (10, u64::MAX - 3), (u64::MAX - (3 << 20), 1)];
        for (offset, size) in outside {
            for readahead in [0, 2 << 20] {
                let options = BlockBasedTableOptions::default();
                let mut window = ReadAhead::new(&options, readahead, u64::MAX, SystemHelp::default());
                let handle = BlockHandle { offset, size };
                let read = load(&reader.source, handle, &ReadCtx::default(), Some(&mut window));
                let error = read.map(drop).unwrap_err();
                assert!(error.is_corruption() && error.to_string().contains("outside"), "{error}");
            }
        }
    }
}
