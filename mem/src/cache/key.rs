//! The key and the priority of a cached value.

/// A cache key of 16 bytes. Keys should be well spread: the key of a block mixes the unique id and the offset
/// of its file.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq, Hash, PartialOrd, Ord)]
pub struct CacheKey(pub [u64; 2]);

impl CacheKey {
    /// Makes a key from its two halves.
    #[inline]
    pub const fn new(high: u64, low: u64) -> CacheKey {
        CacheKey([high, low])
    }

    /// Returns 32 bits that choose the shard, and the hash within the shard. Both come from a folded
    /// multiplication.
    #[inline]
    pub(super) fn hash(&self) -> (u32, u32) {
        let a = u128::from(self.0[0] ^ 0x9e37_79b9_7f4a_7c15);
        let b = u128::from(self.0[1] ^ 0xd6e8_feb8_6659_fd93);
        let product = a.wrapping_mul(b);
        let folded =
            (product as u64 ^ (product >> 64) as u64).wrapping_add(self.0[0].rotate_left(32) ^ self.0[1]);
        let mixed = (folded ^ (folded >> 29)).wrapping_mul(0xbf58_476d_1ce4_e5b9);
        let mixed = mixed ^ (mixed >> 32);
        (mixed as u32, (mixed >> 32) as u32)
    }
}

/// The priority of an entry without hits. The numbers are those of RocksDB's `Cache::Priority`.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq, PartialOrd, Ord, Hash)]
#[repr(u8)]
pub enum Priority {
    /// Index, filter and dictionary blocks.
    High = 0,
    /// Data blocks.
    #[default]
    Low = 1,
    /// Blob values.
    Bottom = 2,
}
