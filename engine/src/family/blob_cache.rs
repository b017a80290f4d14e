//! The blob cache of a column family: makes its keys, and adds values.
//!
//! The cache holds decompressed values. It may be the block cache: blocks and values have different keys.
//! Source: RocksDB `db/blob/blob_source.cc`.

use base::Pinned;
use base::stats::{Statistics, Ticker};
use format::blob::BlobRef;
use mem::cache::{CacheKey, Priority, Role};
use table::sst::cache_key::CacheKeyBase;
use table::sst::{CachedBlock, Other};
use table::unique_id::UniqueId;

use super::Parts;
use crate::sync::Arc;

/// Returns the key of a value in the blob cache. `(db_id, session_id)` are the ids of the process that has the file
/// open.
pub fn cache_key((db_id, session_id): (&str, &str), blob: &BlobRef) -> CacheKey {
    let id = UniqueId::forced(db_id.as_bytes(), session_id, blob.file_number);
    CacheKeyBase::new(&id).at(blob.offset)
}

/// Puts a value that a job has just written into the blob cache of the column family (`prepopulate_blob_cache`).
pub fn warm(
    parts: &Parts,
    ids: (&str, &str),
    statistics: Option<&Arc<Statistics>>,
    (blob, value): (&BlobRef, &[u8]),
) {
    if parts.caches.blobs.is_some() {
        keep(parts, statistics, &cache_key(ids, blob), value.to_vec());
    }
}

/// Puts a value into the blob cache and returns a view of it. If the cache has no room, the value is not cached.
pub fn keep(parts: &Parts, statistics: Option<&Arc<Statistics>>, key: &CacheKey, value: Vec<u8>) -> Pinned {
    let Some(cache) = &parts.caches.blobs else { return Pinned::from_vec(value) };
    let count = |ticker, n| {
        if let Some(statistics) = statistics {
            statistics.add(ticker, n);
        }
    };
    let bytes: std::sync::Arc<[u8]> = std::sync::Arc::from(value);
    let block = CachedBlock::from(Other::Raw(bytes.clone()));
    let charge = block.memory_bytes();
    base::invariant!(charge >= bytes.len(), "a blob of {} bytes is charged {charge} bytes", bytes.len());
    match cache.insert(key, block, charge, Priority::Bottom, Role::BlobValue) {
        Ok(_) => {
            if cache.charge.is_some() {
                cache.follow_usage();
            }
            count(Ticker::BlobDbCacheAdd, 1);
            count(Ticker::BlobDbCacheBytesWrite, bytes.len() as u64);
        }
        // A full cache with a strict limit: the read itself succeeded.
        Err(_) => count(Ticker::BlobDbCacheAddFailures, 1),
    }
    let len = bytes.len();
    Pinned::bytes(bytes, 0..len)
}
