//! Uncompressed data blocks that wait until there are enough samples for a dictionary.

use std::sync::Arc;

use base::Result;
use base::coding::{Cursor, put_slice};
use compress::{Dictionary, dict_sample_bytes_max, make_dict};
use format::filter::FilterBuilder;
use format::index_builder::{PartitionedIndex, PreparedEntry};
use mem::cache::{Reservation, Role};

use super::options::WriterOptions;
use crate::options::Charged;

/// The held blocks, each with the key of its index entry.
pub(super) struct Held {
    pub(super) blocks: Vec<HeldBlock>,
    /// The keys of the current block, if the filter must wait for index entries.
    keys: Vec<u8>,
    bytes: u64,
    /// Maximum number of held bytes; 0 means no limit.
    limit: u64,
    charge: Option<Reservation>,
    refused: bool,
}

pub(super) struct HeldBlock {
    pub(super) payload: Vec<u8>,
    pub(super) entry: PreparedEntry,
    keys: Vec<u8>,
}

impl Held {
    /// Returns `None` if the options ask for no dictionary.
    pub(super) fn new(options: &WriterOptions) -> Option<Held> {
        let compression = &options.block_compression.options;
        if dict_sample_bytes_max(options.block_compression.kind, compression) == 0 {
            return None;
        }
        let limit = match (options.target_file_size, compression.max_dict_buffer_bytes) {
            (0, limit) | (limit, 0) => limit,
            (a, b) => a.min(b),
        };
        let charged = options.table.cache_usage_options.compression_dictionary_building_buffer;
        let ledger = options.resources.ledger.clone().filter(|_| charged != Charged::Disabled);
        let role = Role::CompressionDictionaryBuildingBuffer;
        let charge = ledger.and_then(|ledger| Reservation::new(ledger, role, 0).ok());
        Some(Held { blocks: Vec::new(), keys: Vec::new(), bytes: 0, limit, charge, refused: false })
    }

    /// Keeps a key for the filter until its block is released.
    pub(super) fn hold_key(&mut self, key: &[u8]) {
        put_slice(&mut self.keys, key);
    }

    pub(super) fn hold(&mut self, payload: Vec<u8>, entry: PreparedEntry) {
        base::invariant!(!payload.is_empty(), "an empty data block is held");
        self.bytes += payload.len() as u64;
        let keys = std::mem::take(&mut self.keys);
        self.blocks.push(HeldBlock { payload, entry, keys });
        if let Some(charge) = &mut self.charge {
            self.refused |= charge.set(self.bytes as usize).is_err();
        }
    }

    /// Returns true if no more blocks should be held.
    pub(super) fn is_full(&self) -> bool {
        self.refused || self.limit != 0 && self.bytes > self.limit
    }

    /// Builds the dictionary from samples at a fixed stride over the buffered blocks. The stride is a prime
    /// number, so the samples spread over all blocks.
    pub(super) fn dictionary(&self, options: &WriterOptions) -> Result<Option<Arc<Dictionary>>> {
        const STRIDE: u64 = 545_055_921_143;
        let (kind, compression) = (options.block_compression.kind, &options.block_compression.options);
        let wanted = dict_sample_bytes_max(kind, compression);
        let count = self.blocks.len();
        let (mut samples, mut lens) = (Vec::new(), Vec::new());
        let mut at = count / 2;
        for _ in 0..count {
            base::invariant!(samples.len() <= wanted, "{} bytes of samples, {wanted} wanted", samples.len());
            let missing = wanted - samples.len();
            if missing == 0 {
                break;
            }
            let block = &self.blocks[at].payload;
            let len = block.len().min(missing);
            samples.extend_from_slice(&block[..len]);
            lens.push(len);
            at = (at + (STRIDE % count as u64) as usize) % count;
        }
        base::invariant!(
            samples.len() == lens.iter().sum::<usize>(),
            "the samples of a dictionary have {} bytes, and their sizes add up to another number",
            samples.len()
        );
        let raw = make_dict(kind, compression, &samples, &lens)?;
        Ok((!raw.is_empty()).then(|| Arc::new(Dictionary::new(raw))))
    }
}

impl HeldBlock {
    /// Adds the held keys to the filter. `last_key` is the key before them, and afterwards the last of them.
    pub(super) fn release_keys(
        &self,
        filter: &mut FilterBuilder,
        mut index: Option<&mut PartitionedIndex>,
        last_key: &mut Vec<u8>,
    ) -> Result<()> {
        let mut keys = Cursor::new(&self.keys);
        while let Some(key) = keys.slice() {
            filter.add(key, last_key, index.as_deref_mut())?;
            last_key.clear();
            last_key.extend_from_slice(key);
        }
        Ok(())
    }
}
