//! Gets index blocks for lookups of single keys.
//!
//! ```text
//! miss ─► read, keep as stored ─► search in place        hit ─► search in place, or decode if searches have earned it
//! ```
//! The decoding of an index takes longer than ten searches. In a small block cache, an index block leaves the cache after one
//! search. So a lookup keeps the block as it is stored, and [`super::array_budget`] decides when the block is decoded. Reads that use
//! an index block more than once, such as iterators, decode it at once: [`Source::fetch`].

use base::Result;
use format::handle::BlockHandle;
use format::index::StoredIndex;

use super::block_cache::{CachedBlock, Other};
use super::block_kind::BlockKind;
use super::fetch::{BlockRef, give_back};
use super::file_source::Source;
use super::read_ctx::ReadCtx;

/// Returns the index block at `handle` for one search. The block may be as it is stored.
///
/// # Errors
/// Corruption or errors of the file.
pub(super) fn fetch_index(source: &Source, handle: BlockHandle, ctx: &ReadCtx) -> Result<BlockRef> {
    if source.protection != 0 || !StoredIndex::suits(&source.index_layout) {
        return source.fetch(handle, BlockKind::Index, ctx, None);
    }
    if let Some(block) = source.lookup(handle, BlockKind::Index, ctx) {
        return match block.stored_index() {
            Some(stored) if ctx.fill_cache && source.arrays.earns(stored.payload_len()) => {
                source.decoded(stored, handle, ctx)
            }
            _ => Ok(block),
        };
    }
    let block = load(source, handle, ctx)?;
    source.keep(block, handle, BlockKind::Index, ctx)
}

/// Reads an index block from the file, and keeps it as it is stored.
#[inline(never)]
fn load(source: &Source, handle: BlockHandle, ctx: &ReadCtx) -> Result<CachedBlock> {
    let kind = BlockKind::Index;
    let raw = source.read_block(handle, kind, ctx, None)?;
    let stored = source.payload(raw, handle, ctx.verify_checksums, None).and_then(|payload| {
        let stored = StoredIndex::parse(&payload, &source.index_layout);
        give_back(payload);
        stored.map_err(|e| e.shifted(handle.offset))
    });
    let stored = stored.map_err(|error| source.refused(error, handle, kind))?;
    Ok(Other::StoredIndex(stored).into())
}
