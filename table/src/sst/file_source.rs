//! A file, and the facts that are necessary to read blocks from the file. The reads are in `fetch`.

use std::sync::atomic::AtomicBool;
use std::sync::{Arc, OnceLock};

use base::key::InternalOrder;
use compress::Dictionary;
use env::fs::RandomRead;
use format::block::{HeadOrder, KeyRewrite};
use format::checksum::ChecksumType;
use format::index::IndexLayout;
use mem::cache::Priority;

use super::access_trace::Traced;
use super::array_budget::ArrayBudget;
use super::block_cache::BlockCache;
use super::cache_key::CacheKeyBase;
use super::counts::Counts;
use super::persistent_cache::PersistentCache;
use super::read_amp::ReadAmp;

/// A file, and the facts that are necessary to read blocks from it.
pub(super) struct Source {
    pub file: Arc<dyn RandomRead>,
    pub size: u64,
    pub checksum: ChecksumType,
    pub base_context: u32,
    pub cache: Option<Arc<BlockCache>>,
    /// Stored blocks on a fast device.
    pub persistent_cache: Option<Arc<PersistentCache>>,
    pub key_base: CacheKeyBase,
    /// The cache priority of index and filter blocks.
    pub metadata_priority: Priority,
    pub order: InternalOrder,
    pub heads: Option<HeadOrder>,
    /// Decides which data blocks get search arrays.
    pub arrays: ArrayBudget,
    /// Bytes of checksum for each entry of a loaded block; 0, 1, 2, 4 or 8.
    pub protection: u8,
    pub rewrite: KeyRewrite,
    pub index_layout: IndexLayout,
    pub dict: Option<Dictionary>,
    pub counts: Counts,
    /// True if the next data block may be read in place: the last data block was not compressed, and the reader has neither checksums
    /// of entries nor a persistent cache. See `in_place`.
    pub is_plain: AtomicBool,
    /// The used bytes of the data blocks. `None` without `read_amp_bytes_per_bit` and without statistics.
    pub read_amp: Option<ReadAmp>,
    /// For traces of the block cache. `None` until the open ends, and without a tracer.
    pub traced: Option<Traced>,
    /// Offset of the first damaged block, and the single bit whose flip makes the block valid. Cached because
    /// the search is expensive and readers may read a damaged block many times.
    pub diagnosed: OnceLock<(u64, Option<(usize, u8)>)>,
}
