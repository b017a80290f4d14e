//! Builds sorted-string blocks: data, index, filter index, range deletions.
//!
//! ```text
//! entry*, u32 restart_offset[n], [hash index], [u32 values_offset], u32 packed
//!
//! entry               v32 shared, v32 non_shared, v32 value_len, key[non_shared], value[value_len]
//! with delta values   v32 shared, v32 non_shared, key[non_shared], value       (delta iff shared != 0)
//! separated           v32 shared, v32 non_shared, v32 value_len, [v32 value_offset at restarts], key
//!                     and all values after the last key
//! packed              bit 31 hash index, bit 29 uniform keys, bit 28 separated, bits 27..0 restarts
//! ```
//! Bits 28 and 29 make releases before 11.0 and 11.1 report corruption. Bit 30 must stay 0. There is a
//! restart point (`shared` = 0) after every `restart_interval` entries; an empty block has one too. The size
//! estimates are exactly RocksDB's, because they decide where blocks end. Facts: RocksDB
//! `table/block_based/block_builder.cc`, `data_block_footer.cc`.

mod cut;
mod hash_index;
#[cfg(test)]
mod tests;
mod uniform;

use base::coding::{put_u32, put_varint32, varint_len};
use base::key::TRAILER_LEN;

pub use cut::CutPolicy;
use hash_index::HashIndexBuilder;

const HASH_INDEX_BIT: u32 = 1 << 31;
const UNIFORM_BIT: u32 = 1 << 29;
const SEPARATED_BIT: u32 = 1 << 28;
/// Blocks above this size have no hash index.
const HASH_INDEX_BLOCK_MAX: usize = 1 << 16;

/// The form of a block.
#[derive(Clone, Debug)]
pub struct BlockConfig {
    /// Number of entries between two restart points; at least 1.
    pub restart_interval: usize,
    /// True if keys omit the bytes that they share with the previous key.
    pub delta_keys: bool,
    /// True if values have two forms, whose lengths are not stored (index blocks).
    pub delta_values: bool,
    /// Entries for each bucket of the hash index. `None`: no hash index.
    pub hash_util_ratio: Option<f64>,
    /// Number of timestamp bytes to remove from every key; 0 means none.
    pub strip_timestamp: usize,
    /// True if keys have no trailer.
    pub user_keys: bool,
    /// True if values are stored after all keys.
    pub separated: bool,
    /// Blocks whose restart keys have a smaller coefficient of variation are marked as uniform. Negative:
    /// none is marked.
    pub uniform_cv_threshold: f64,
}

impl Default for BlockConfig {
    /// Returns the form of a data block with RocksDB's default options.
    fn default() -> Self {
        BlockConfig {
            restart_interval: 16,
            delta_keys: true,
            delta_values: false,
            hash_util_ratio: None,
            strip_timestamp: 0,
            user_keys: false,
            separated: false,
            uniform_cv_threshold: -1.0,
        }
    }
}

/// Builds blocks of entries in key order. One builder makes many blocks and keeps its buffers.
#[derive(Debug)]
pub struct BlockBuilder {
    config: BlockConfig,
    buffer: Vec<u8>,
    values: Vec<u8>,
    restarts: Vec<u32>,
    /// Number of entries since the last restart point.
    counter: usize,
    last_key: Vec<u8>,
    hash_index: Option<HashIndexBuilder>,
    stripped: [Vec<u8>; 2],
    variation: Option<f64>,
}

impl BlockBuilder {
    /// Makes a builder of empty blocks. The first entry of each block is a restart point.
    pub fn new(config: BlockConfig) -> Self {
        BlockBuilder {
            hash_index: config.hash_util_ratio.map(HashIndexBuilder::new),
            config,
            buffer: Vec::new(),
            values: Vec::new(),
            restarts: vec![0],
            counter: 0,
            last_key: Vec::new(),
            stripped: Default::default(),
            variation: None,
        }
    }

    /// Reserves memory for a block of this size, so that adding an entry does not reallocate.
    pub fn reserve(&mut self, bytes: usize) {
        self.buffer.reserve(bytes);
    }

    /// Returns true if no entry was added since the last `reset` or `take`.
    #[inline]
    pub fn is_empty(&self) -> bool {
        self.buffer.is_empty()
    }

    /// Returns the size of the block if it were finished now.
    #[inline]
    pub fn estimate(&self) -> usize {
        let tail = 4 * self.restarts.len() + 4 + if self.config.separated { 4 } else { 0 };
        let hash_index = self.hash_index.as_ref().map_or(0, HashIndexBuilder::estimate);
        self.buffer.len() + self.values.len() + tail + hash_index
    }

    /// Returns a rough estimate of the size with one more entry. It counts the whole key.
    #[inline]
    pub(crate) fn estimate_after(&self, key: &[u8], value: &[u8]) -> usize {
        let restart = self.counter >= self.config.restart_interval;
        let full_value = !self.config.delta_values || restart;
        let mut estimate = self.estimate() + key.len() - self.config.strip_timestamp.min(key.len());
        estimate += if full_value { value.len() } else { value.len() / 2 };
        estimate += if restart { 4 } else { 0 };
        if self.config.separated && (self.counter == 0 || restart) {
            estimate += varint_len(self.values.len() as u64);
        }
        estimate += 4 + varint_len(key.len() as u64);
        estimate + if full_value { varint_len(value.len() as u64) } else { 0 }
    }

    /// Adds an entry after the last entry of `add` or `add_index`.
    pub fn add(&mut self, key: &[u8], value: &[u8]) {
        self.add_index(key, value, value, false);
    }

    /// Adds an index entry. If the key shares bytes with the previous key, `delta` is stored instead of
    /// `value`. `full` means that there is padding before the block; then `value` is stored and the key
    /// shares no bytes.
    pub(crate) fn add_index(&mut self, key: &[u8], value: &[u8], delta: &[u8], full: bool) {
        let last = std::mem::take(&mut self.last_key);
        self.append(&last, key, value, delta, full);
        self.last_key = last;
        if self.config.delta_keys {
            self.last_key.clear();
            self.last_key.extend_from_slice(key);
        }
    }

    /// Adds an entry whose previous key the caller has kept. For the first entry of a block, `last_key` is
    /// ignored. Do not mix with `add` within one block.
    #[inline]
    pub fn add_after(&mut self, last_key: &[u8], key: &[u8], value: &[u8]) {
        if self.config.separated || self.config.delta_values || self.config.strip_timestamp > 0 {
            let last_key = if self.is_empty() { &[][..] } else { last_key };
            return self.append(last_key, key, value, value, false);
        }
        let shared = if self.counter >= self.config.restart_interval {
            self.restart()
        } else if self.config.delta_keys && !self.is_empty() {
            common_prefix(last_key, key)
        } else {
            0
        };
        self.put_header(shared, key.len() - shared, value.len());
        self.buffer.extend_from_slice(&key[shared..]);
        self.buffer.extend_from_slice(value);
        self.counter += 1;
        if let Some(hash_index) = &mut self.hash_index {
            hash_index.add(base::key::user_key(key), self.restarts.len() - 1);
        }
    }

    /// In most entries each length fits into one byte.
    #[inline]
    fn put_header(&mut self, shared: usize, non_shared: usize, value_len: usize) {
        if (shared | non_shared | value_len) < 128 {
            self.buffer.extend_from_slice(&[shared as u8, non_shared as u8, value_len as u8]);
        } else {
            put_varint32(&mut self.buffer, shared as u32);
            put_varint32(&mut self.buffer, non_shared as u32);
            put_varint32(&mut self.buffer, value_len as u32);
        }
    }

    #[inline]
    fn restart(&mut self) -> usize {
        self.restarts.push(self.buffer.len() as u32);
        self.counter = 0;
        0
    }

    /// Adds an entry of any form.
    fn append(&mut self, last_key: &[u8], key: &[u8], value: &[u8], delta: &[u8], full: bool) {
        let [mut last_scratch, mut scratch] = std::mem::take(&mut self.stripped);
        let persisted = self.strip(key, &mut scratch);
        let shared = if self.counter >= self.config.restart_interval {
            self.restart()
        } else if self.config.delta_keys && !full && !last_key.is_empty() {
            common_prefix(self.strip(last_key, &mut last_scratch), persisted)
        } else {
            0
        };
        put_varint32(&mut self.buffer, shared as u32);
        put_varint32(&mut self.buffer, (persisted.len() - shared) as u32);
        if !self.config.delta_values {
            put_varint32(&mut self.buffer, value.len() as u32);
        }
        if self.config.separated && self.counter == 0 {
            put_varint32(&mut self.buffer, self.values.len() as u32);
        }
        self.buffer.extend_from_slice(&persisted[shared..]);
        let stored = if shared != 0 && self.config.delta_values { delta } else { value };
        if self.config.separated { &mut self.values } else { &mut self.buffer }.extend_from_slice(stored);
        if let Some(hash_index) = &mut self.hash_index {
            hash_index.add(base::key::user_key(key), self.restarts.len() - 1);
        }
        self.counter += 1;
        self.stripped = [last_scratch, scratch];
    }

    /// Returns the key as it is stored: without its timestamp if timestamps are not stored.
    fn strip<'a>(&self, key: &'a [u8], scratch: &'a mut Vec<u8>) -> &'a [u8] {
        let timestamp = self.config.strip_timestamp;
        if timestamp == 0 {
            return key;
        }
        let trailer = if self.config.user_keys { 0 } else { TRAILER_LEN.min(key.len()) };
        let (user_key, trailer) = key.split_at(key.len() - trailer);
        scratch.clear();
        scratch.extend_from_slice(&user_key[..user_key.len().saturating_sub(timestamp)]);
        scratch.extend_from_slice(trailer);
        scratch
    }

    /// Finishes the block and returns its payload. Call `reset` or `take` afterwards.
    pub fn finish(&mut self) -> &mut Vec<u8> {
        let asked = self.config.uniform_cv_threshold >= 0.0;
        self.variation = if asked { uniform::variation(self) } else { None };
        let is_uniform = self.is_uniform();
        let estimate = self.estimate();
        let values_offset = self.buffer.len() as u32;
        self.buffer.append(&mut self.values);
        self.buffer.reserve(estimate - self.buffer.len().min(estimate));
        for &restart in &self.restarts {
            put_u32(&mut self.buffer, restart);
        }
        let mut packed = self.restarts.len() as u32;
        if is_uniform {
            packed |= UNIFORM_BIT;
        }
        if let Some(hash_index) = &mut self.hash_index
            && hash_index.is_usable()
            && estimate <= HASH_INDEX_BLOCK_MAX
        {
            hash_index.finish(&mut self.buffer);
            packed |= HASH_INDEX_BIT;
        }
        if self.config.separated {
            put_u32(&mut self.buffer, values_offset);
            packed |= SEPARATED_BIT;
        }
        put_u32(&mut self.buffer, packed);
        &mut self.buffer
    }

    /// Returns the payload of the finished block. Valid until `reset`.
    pub fn payload(&mut self) -> &mut Vec<u8> {
        &mut self.buffer
    }

    /// Returns true if the finished block was marked as uniform.
    pub fn is_uniform(&self) -> bool {
        self.variation.is_some_and(|variation| variation < self.config.uniform_cv_threshold)
    }

    /// Returns the coefficient of variation of the gaps between the restart keys of the finished block:
    /// standard deviation divided by mean. Returns `None` if it was not requested or cannot be computed.
    pub fn variation(&self) -> Option<f64> {
        self.variation
    }

    /// Starts the next block.
    #[inline]
    pub fn reset(&mut self) {
        self.buffer.clear();
        self.values.clear();
        self.restarts.truncate(1);
        self.counter = 0;
        self.last_key.clear();
        if let Some(hash_index) = &mut self.hash_index {
            hash_index.reset();
        }
    }

    /// Returns the finished block as a separate vector. Starts the next block in the memory of `spare`.
    pub fn take(&mut self, mut spare: Vec<u8>) -> Vec<u8> {
        spare.clear();
        let block = std::mem::replace(&mut self.buffer, spare);
        self.reset();
        block
    }
}

/// Returns the length of the common prefix of two keys. Compares eight bytes at a time.
#[inline]
pub fn common_prefix(a: &[u8], b: &[u8]) -> usize {
    let n = a.len().min(b.len());
    let (a, b) = (&a[..n], &b[..n]);
    let (a8, a_rest) = a.as_chunks::<8>();
    let (b8, b_rest) = b.as_chunks::<8>();
    for (i, (x, y)) in a8.iter().zip(b8).enumerate() {
        let differing = u64::from_le_bytes(*x) ^ u64::from_le_bytes(*y);
        if differing != 0 {
            return i * 8 + differing.trailing_zeros() as usize / 8;
        }
    }
    let tail = a_rest.iter().zip(b_rest).take_while(|(x, y)| x == y).count();
    a8.len() * 8 + tail
}
