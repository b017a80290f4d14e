//! Plain tables: rows one after another, which are found by a hash of their prefix.
//!
//! ```text
//! row  0 ┐ prefix "ab"   ◄── bucket of "ab" ── index ◄── slice_hash("ab") mod buckets
//! row  1 │
//! row 16 ┘               ◄── each `index_sparseness` keys of one prefix have one more index entry
//! row 17   prefix "ac"   ◄── ...
//! bloom block, index block (`store_index_in_file`), properties, metaindex, footer
//! ```
//! Without a prefix extractor the index has one bucket, and lookups are binary searches over its entries.
//! RocksDB's iterators over plain tables only move forward, and only inside one prefix. These iterators move
//! in both directions, in the order of all keys. The sorted index entries are anchors, and each row is
//! reached from the last anchor before it.
//!
//! Source: RocksDB `table/plain/`.

mod index;
mod iter;
mod reader;
mod row;
#[cfg(test)]
mod tests;
mod writer;

pub use iter::PlainIter;
pub use reader::PlainReader;
pub use writer::PlainWriter;

use std::borrow::Cow;

use base::order::PrefixExtractor;

/// Maximum size of a file in bytes. The index cannot store larger offsets.
const FILE_SIZE_MAX: u64 = (1 << 31) - 1;
/// Number of probes of the Bloom filter.
const PROBES: u8 = 6;

/// Names of properties and blocks.
mod names {
    pub(super) const ENCODING: &str = "rocksdb.plain.table.encoding.type";
    pub(super) const BLOOM_VERSION: &str = "rocksdb.plain.table.bloom.version";
    pub(super) const BLOOM_BLOCKS: &str = "rocksdb.plain.table.bloom.numblocks";
    pub(super) const BLOOM: &str = "kBloomBlock";
    pub(super) const INDEX: &str = "PlainTableIndexBlock";
}

/// Returns the prefix of a user key. A key outside of the domain of the extractor is its own prefix.
fn prefix_of<'a>(extractor: &dyn PrefixExtractor, user_key: &'a [u8]) -> Cow<'a, [u8]> {
    extractor.prefix(user_key).unwrap_or(Cow::Borrowed(user_key))
}
