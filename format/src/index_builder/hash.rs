//! The hash index: a binary-search index, and the data blocks of each prefix.
//!
//! ```text
//! rocksdb.hashindex.prefixes   the prefixes, in key order, one after another
//! rocksdb.hashindex.metadata   for each: v32 length, v32 first block, v32 number of blocks
//! ```

use std::sync::Arc;

use base::Result;
use base::coding::put_varint32;
use base::key::user_key;
use base::order::PrefixExtractor;

use super::shortened::ShortenedIndex;
use super::terms::{IndexBlock, IndexConfig, IndexSummary, PreparedEntry};
use crate::handle::BlockHandle;

pub(super) struct HashIndex {
    index: ShortenedIndex,
    extractor: Arc<dyn PrefixExtractor>,
    prefixes: Vec<u8>,
    metadata: Vec<u8>,
    /// The last prefix, the first block with it, and the number of blocks with it. The number is 0 before the
    /// first key.
    prefix: Vec<u8>,
    first_block: u32,
    blocks: u32,
    /// Number of finished data blocks.
    block: u32,
}

impl HashIndex {
    pub(super) fn new(config: Arc<IndexConfig>, extractor: Arc<dyn PrefixExtractor>) -> Self {
        HashIndex {
            index: ShortenedIndex::new(config, false),
            extractor,
            prefixes: Vec::new(),
            metadata: Vec::new(),
            prefix: Vec::new(),
            first_block: 0,
            blocks: 0,
            block: 0,
        }
    }

    pub(super) fn on_key(&mut self, key: &[u8]) {
        let key = user_key(key);
        let prefix = self.extractor.prefix(key);
        let prefix = prefix.as_deref().unwrap_or(key);
        if self.blocks > 0 && self.prefix == prefix {
            self.blocks = self.block - self.first_block + 1;
            return;
        }
        flush(&mut self.prefixes, &mut self.metadata, &self.prefix, self.first_block, self.blocks);
        self.prefix.clear();
        self.prefix.extend_from_slice(prefix);
        self.first_block = self.block;
        self.blocks = 1;
    }

    pub(super) fn prepare(&mut self, last_key: &[u8], next_key: Option<&[u8]>, entry: &mut PreparedEntry) {
        self.block += 1;
        self.index.prepare(last_key, next_key, entry);
    }

    pub(super) fn add(&mut self, entry: &PreparedEntry, handle: BlockHandle, full: bool) {
        self.index.add(entry, handle, full);
    }

    pub(super) fn keys_have_trailers(&self) -> bool {
        self.index.keys_have_trailers()
    }

    pub(super) fn finish(
        &mut self,
        write: &mut dyn FnMut(IndexBlock, &mut Vec<u8>) -> Result<BlockHandle>,
    ) -> Result<IndexSummary> {
        flush(&mut self.prefixes, &mut self.metadata, &self.prefix, self.first_block, self.blocks);
        let extra = (self.prefixes.len() + self.metadata.len()) as u64;
        write(IndexBlock::Meta("rocksdb.hashindex.metadata"), &mut self.metadata)?;
        write(IndexBlock::Meta("rocksdb.hashindex.prefixes"), &mut self.prefixes)?;
        let mut summary = self.index.finish(write)?;
        summary.size += extra;
        Ok(summary)
    }
}

fn flush(prefixes: &mut Vec<u8>, metadata: &mut Vec<u8>, prefix: &[u8], first_block: u32, blocks: u32) {
    if blocks > 0 {
        prefixes.extend_from_slice(prefix);
        put_varint32(metadata, prefix.len() as u32);
        put_varint32(metadata, first_block);
        put_varint32(metadata, blocks);
    }
}
