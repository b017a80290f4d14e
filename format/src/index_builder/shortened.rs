//! An index of one block: the binary-search index, and each partition of a two-level index.

use std::sync::Arc;

use base::Result;
use base::key::{TRAILER_LEN, user_key};

use super::terms::{IndexBlock, IndexConfig, IndexSummary, PreparedEntry, Shortening, ValueForms};
use crate::block_builder::{BlockBuilder, BlockConfig};
use crate::handle::BlockHandle;

pub(super) struct ShortenedIndex {
    config: Arc<IndexConfig>,
    blocks: TwoForms,
    values: ValueForms,
    keys_have_trailers: bool,
    first_keys: bool,
    /// The first key of the current data block. Empty before its first key.
    first_key: Vec<u8>,
    entries: u64,
}

impl ShortenedIndex {
    pub(super) fn new(config: Arc<IndexConfig>, first_keys: bool) -> Self {
        ShortenedIndex {
            blocks: TwoForms::new(&config, config.uniform_cv_threshold),
            values: ValueForms::default(),
            keys_have_trailers: !config.user_keys,
            first_keys,
            first_key: Vec::new(),
            entries: 0,
            config,
        }
    }

    #[inline]
    pub(super) fn wants_first_key(&self) -> bool {
        self.first_keys && self.first_key.is_empty()
    }

    pub(super) fn on_key(&mut self, key: &[u8]) {
        if self.wants_first_key() {
            self.first_key.extend_from_slice(key);
        }
    }

    pub(super) fn prepare(&mut self, last_key: &[u8], next_key: Option<&[u8]>, entry: &mut PreparedEntry) {
        self.keys_have_trailers |= separate(&self.config, last_key, next_key, &mut entry.separator);
        entry.keys_have_trailers = self.keys_have_trailers;
        std::mem::swap(&mut entry.first_key, &mut self.first_key);
        self.first_key.clear();
        let strip = self.config.strip_timestamp();
        if let Some(end) = entry.first_key.len().checked_sub(TRAILER_LEN)
            && strip > 0
        {
            entry.first_key.drain(end.saturating_sub(strip)..end);
        }
    }

    pub(super) fn add(&mut self, entry: &PreparedEntry, handle: BlockHandle, full: bool) {
        self.keys_have_trailers |= entry.keys_have_trailers;
        self.values.encode(handle, self.first_keys.then_some(&entry.first_key[..]));
        self.blocks.add(&entry.separator, &self.values, full, self.keys_have_trailers);
        self.entries += 1;
    }

    pub(super) fn keys_have_trailers(&self) -> bool {
        self.keys_have_trailers
    }

    pub(super) fn keep_trailers(&mut self) {
        self.keys_have_trailers = true;
    }

    pub(super) fn is_empty(&self) -> bool {
        self.entries == 0
    }

    /// Returns the block whose size ends a partition.
    pub(super) fn measured_block(&self) -> &BlockBuilder {
        self.blocks.form(self.keys_have_trailers)
    }

    pub(super) fn estimate(&self) -> u64 {
        let size = self.measured_block().estimate() as u64;
        size + size.checked_div(self.entries).unwrap_or(0) * 2
    }

    /// Returns the payload. Adds the variation of its keys to `summary`.
    pub(super) fn finish_block(&mut self, summary: &mut IndexSummary) -> &mut Vec<u8> {
        self.blocks.finish(self.keys_have_trailers, summary)
    }

    pub(super) fn finish(
        &mut self,
        write: &mut dyn FnMut(IndexBlock, &mut Vec<u8>) -> Result<BlockHandle>,
    ) -> Result<IndexSummary> {
        let mut summary = IndexSummary::default();
        let block = self.finish_block(&mut summary);
        summary.size = block.len() as u64;
        summary.handle = write(IndexBlock::Index, block)?;
        Ok(summary)
    }
}

/// Makes the separator. Returns true if both blocks have entries of the same user key, so that only the
/// trailer separates them.
fn separate(config: &IndexConfig, last_key: &[u8], next_key: Option<&[u8]>, separator: &mut Vec<u8>) -> bool {
    separator.clear();
    separator.extend_from_slice(last_key);
    let Some(next_key) = next_key else {
        if config.shortening == Shortening::SeparatorsAndSuccessor {
            config.order.short_successor(separator);
        }
        return false;
    };
    if config.shortening != Shortening::None {
        config.order.shortest_separator(separator, next_key);
    }
    let (last, next) = (user_key(last_key), user_key(next_key));
    if config.persist_timestamps || config.timestamp_size == 0 {
        config.order.user.equal(last, next)
    } else {
        config.order.user.compare_without_timestamp(last, next).is_eq()
    }
}

/// An index block in both forms of keys.
pub(crate) struct TwoForms {
    internal_keys: BlockBuilder,
    user_keys: BlockBuilder,
}

impl TwoForms {
    pub(crate) fn new(config: &IndexConfig, uniform_cv_threshold: f64) -> Self {
        let block = |user_keys| {
            BlockBuilder::new(BlockConfig {
                restart_interval: config.restart_interval,
                delta_values: config.delta_values,
                strip_timestamp: config.strip_timestamp(),
                user_keys,
                uniform_cv_threshold,
                ..BlockConfig::default()
            })
        };
        TwoForms { internal_keys: block(false), user_keys: block(true) }
    }

    /// Adds an internal key and its value. Once trailers are needed, the form without trailers gets no more
    /// entries.
    pub(crate) fn add(&mut self, key: &[u8], values: &ValueForms, full: bool, keys_have_trailers: bool) {
        self.internal_keys.add_index(key, &values.full, &values.delta, full);
        if !keys_have_trailers {
            self.user_keys.add_index(user_key(key), &values.full, &values.delta, full);
        }
    }

    pub(crate) fn form(&self, keys_have_trailers: bool) -> &BlockBuilder {
        if keys_have_trailers { &self.internal_keys } else { &self.user_keys }
    }

    pub(crate) fn finish(&mut self, keys_have_trailers: bool, summary: &mut IndexSummary) -> &mut Vec<u8> {
        let form = if keys_have_trailers { &mut self.internal_keys } else { &mut self.user_keys };
        form.finish();
        summary.uniform_blocks += u64::from(form.is_uniform());
        summary.variations.extend(form.variation());
        form.payload()
    }
}
