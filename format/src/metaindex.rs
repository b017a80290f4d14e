//! The metaindex: a table's directory of its other blocks, from name to handle.
//!
//! A sorted-string block with a restart at each entry. It is never compressed. Unknown names are kept and
//! ignored. RocksDB source: `table/meta_blocks.cc`.

use std::collections::BTreeMap;

use base::Result;

use crate::block::{Block, BlockIter};
use crate::block_builder::{BlockBuilder, BlockConfig};
use crate::handle::BlockHandle;

#[cfg(test)]
mod tests;

/// The names of the blocks.
pub mod names {
    /// The properties block ([`crate::properties`]).
    pub const PROPERTIES: &str = "rocksdb.properties";
    /// The name in the first releases.
    pub const PROPERTIES_OLD: &str = "rocksdb.stats";
    /// The index block, or the top level of a two-level index. Block-based tables have this name from format
    /// version 6 on; before, the footer has the handle.
    pub const INDEX: &str = "rocksdb.index";
    /// The dictionary that compressed blocks need. A table without a dictionary does not have this name.
    pub const COMPRESSION_DICT: &str = "rocksdb.compression_dict";
    /// The block of range tombstones. A table without range tombstones does not have this name.
    pub const RANGE_DEL: &str = "rocksdb.range_del";
    /// The compatibility name of the filter policy follows. This also applies to the next two names.
    pub const FULL_FILTER: &str = "fullfilter.";
    /// The top level of a partitioned filter. The compatibility name of the filter policy follows.
    pub const PARTITIONED_FILTER: &str = "partitionedfilter.";
    /// One filter per block. Not written since release 7, and no longer read.
    pub const OBSOLETE_FILTER: &str = "filter.";
}

/// A decoded metaindex.
#[derive(Clone, Debug, Default, PartialEq, Eq)]
pub struct Metaindex {
    /// The blocks by name. Names that this release does not know are kept.
    pub entries: BTreeMap<Vec<u8>, BlockHandle>,
}

impl Metaindex {
    /// Decodes the payload of a metaindex block.
    ///
    /// # Errors
    /// Corruption if the block is not well formed or a handle is incomplete.
    pub fn decode(payload: &[u8]) -> Result<Metaindex> {
        let mut entries = BTreeMap::new();
        let mut iter = BlockIter::new(Block::parse(payload)?);
        iter.seek_to_first();
        while iter.valid() {
            entries.insert(iter.key().to_vec(), BlockHandle::decode_from(iter.value())?);
            iter.next();
        }
        iter.status()?;
        Ok(Metaindex { entries })
    }

    /// Returns the payload of the block.
    pub fn encode(&self) -> Vec<u8> {
        let mut builder = BlockBuilder::new(BlockConfig { restart_interval: 1, ..BlockConfig::default() });
        let mut value = Vec::new();
        for (name, handle) in &self.entries {
            value.clear();
            handle.encode(&mut value);
            builder.add(name, &value);
        }
        std::mem::take(builder.finish())
    }

    /// Adds a block. Replaces the handle if the name is already present.
    pub fn insert(&mut self, name: impl Into<Vec<u8>>, handle: BlockHandle) {
        self.entries.insert(name.into(), handle);
    }

    /// Returns the handle of the block with this name, if the table has the block.
    pub fn get(&self, name: &str) -> Option<BlockHandle> {
        self.entries.get(name.as_bytes()).copied()
    }
}
