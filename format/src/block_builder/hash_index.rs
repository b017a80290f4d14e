//! The hash index of a data block. It leads from a user key to the restart interval of the key.
//!
//! ```text
//! u8 bucket[num_buckets] | u16 num_buckets
//! bucket: 0..=253 restart index, 254 several, 255 none
//! ```
//! Facts: RocksDB `table/block_based/data_block_hash_index.cc`.

use base::coding::put_u16;
use kernel::hash::slice_hash;

const EMPTY: u8 = 255;
const COLLISION: u8 = 254;
const RESTART_MAX: usize = 253;

#[derive(Debug)]
pub(super) struct HashIndexBuilder {
    buckets_per_key: f64,
    buckets: f64,
    /// True if all restart intervals have numbers that a bucket can store.
    usable: bool,
    entries: Vec<(u32, u8)>,
}

impl HashIndexBuilder {
    pub(super) fn new(util_ratio: f64) -> Self {
        let util_ratio = if util_ratio > 0.0 { util_ratio } else { 0.75 };
        HashIndexBuilder {
            buckets_per_key: 1.0 / util_ratio,
            buckets: 0.0,
            usable: true,
            entries: Vec::new(),
        }
    }

    #[inline]
    pub(super) fn add(&mut self, user_key: &[u8], restart: usize) {
        if restart > RESTART_MAX {
            self.usable = false;
        }
        if self.usable {
            self.entries.push((slice_hash(user_key), restart as u8));
            self.buckets += self.buckets_per_key;
        }
    }

    pub(super) fn is_usable(&self) -> bool {
        self.usable
    }

    #[inline]
    pub(super) fn estimate(&self) -> usize {
        if self.usable { 2 + usize::from(self.num_buckets()) } else { 0 }
    }

    /// Returns the number of buckets. It is odd, because the hash is badly distributed modulo powers of two.
    /// A u16 is enough for a block of 64 KiB.
    fn num_buckets(&self) -> u16 {
        (self.buckets as u64 as u16) | 1
    }

    pub(super) fn finish(&mut self, out: &mut Vec<u8>) {
        let count = self.num_buckets();
        let start = out.len();
        out.resize(start + usize::from(count), EMPTY);
        for &(hash, restart) in &self.entries {
            let bucket = &mut out[start + (hash % u32::from(count)) as usize];
            if *bucket == EMPTY {
                *bucket = restart;
            } else if *bucket != restart {
                *bucket = COLLISION;
            }
        }
        put_u16(out, count);
    }

    pub(super) fn reset(&mut self) {
        self.buckets = 0.0;
        self.usable = true;
        self.entries.clear();
    }
}
