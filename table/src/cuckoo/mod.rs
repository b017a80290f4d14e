//! Cuckoo tables: a hash table in a file, with keys of one size and values of one size.
//!
//! ```text
//! bucket 0 │ bucket 1 │ ... │ bucket (size + block - 2)      bucket = key, value
//! properties, metaindex, footer
//! ```
//! Each hash of a key selects `block` consecutive buckets. A lookup reads the buckets of the first hash,
//! then of the second hash, and so on, and ends at the key or at an empty bucket. An empty bucket has a key
//! that no entry has. If all sequence numbers are 0, the buckets have user keys; otherwise they have internal
//! keys. A user key has at most one entry.
//!
//! Source: RocksDB `table/cuckoo/`. Paper: Pagh and Rodler, "Cuckoo Hashing" (2001).

mod iter;
mod place;
mod reader;
#[cfg(test)]
mod tests;
mod writer;

pub use iter::CuckooIter;
pub use reader::CuckooReader;
pub use writer::CuckooWriter;

use kernel::hash::murmur64a;

const SEED_STEP: u32 = 816_922_183;

/// Names of properties.
mod names {
    pub(super) const EMPTY_KEY: &str = "rocksdb.cuckoo.bucket.empty.key";
    pub(super) const HASHES: &str = "rocksdb.cuckoo.hash.num";
    pub(super) const SIZE: &str = "rocksdb.cuckoo.hash.size";
    pub(super) const VALUE_LEN: &str = "rocksdb.cuckoo.value.length";
    pub(super) const LAST_LEVEL: &str = "rocksdb.cuckoo.file.islastlevel";
    pub(super) const BLOCK: &str = "rocksdb.cuckoo.hash.cuckooblocksize";
    pub(super) const IDENTITY: &str = "rocksdb.cuckoo.hash.identityfirst";
    pub(super) const MODULE: &str = "rocksdb.cuckoo.hash.usemodule";
    pub(super) const USER_KEY_LEN: &str = "rocksdb.cuckoo.hash.userkeylength";
}

/// Computes the buckets of a user key.
#[derive(Clone, Copy, Debug)]
struct Hashing {
    /// The number of buckets without the last `block - 1` buckets. Not 0.
    size: u64,
    identity_first: bool,
    module: bool,
}

impl Hashing {
    /// Returns the first bucket of hash number `count`. With `identity_first`, a key of less than 8 bytes is
    /// extended with zeros.
    #[inline]
    fn bucket(&self, user_key: &[u8], count: u32) -> u64 {
        let hash = if count == 0 && self.identity_first {
            let mut first = [0; 8];
            let len = user_key.len().min(8);
            first[..len].copy_from_slice(&user_key[..len]);
            u64::from_le_bytes(first)
        } else {
            murmur64a(user_key, SEED_STEP.wrapping_mul(count))
        };
        if self.module { hash % self.size } else { hash & (self.size - 1) }
    }
}
