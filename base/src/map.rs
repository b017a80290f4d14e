//! Hash maps that are walked in the same order in every run.
//!
//! The maps of the standard library draw a random hash key at the start of each process. A walk over such a
//! map has another order in each process, and a seed no longer repeats a run. The maps here are the same
//! maps without the random key. Make them with `default()`. Use them only for keys that no attacker
//! chooses: file numbers, column family ids, paths of the database.

#![allow(
    clippy::disallowed_types,
    reason = "the maps of this module are the standard maps with another hasher"
)]

use std::collections::hash_map::DefaultHasher;
use std::hash::{BuildHasherDefault, Hasher};

use crate::FileNumber;

/// `std::collections::HashMap` with a fixed key.
pub type HashMap<K, V> = std::collections::HashMap<K, V, BuildHasherDefault<DefaultHasher>>;
/// `std::collections::HashSet` with a fixed key.
pub type HashSet<K> = std::collections::HashSet<K, BuildHasherDefault<DefaultHasher>>;

/// A map by file number. The hash is one multiplication, because the database gives out file numbers in
/// ascending order. Use the map for frequent lookups, where SipHash would show in a profile (the table cache).
pub type FileMap<V> = std::collections::HashMap<FileNumber, V, BuildHasherDefault<NumberHasher>>;

/// The hash of [`FileMap`].
#[derive(Clone, Copy, Debug, Default)]
pub struct NumberHasher(u64);

impl Hasher for NumberHasher {
    fn write(&mut self, bytes: &[u8]) {
        for byte in bytes {
            self.write_u64(u64::from(*byte));
        }
    }

    #[inline]
    fn write_u64(&mut self, number: u64) {
        let product = (self.0 ^ number).wrapping_mul(0x9e37_79b9_7f4a_7c15);
        // A hash map takes the bucket of a key from the low bits of the hash, and the tag of the key from the high
        // bits.
        self.0 = product ^ product >> 32;
    }

    #[inline]
    fn finish(&self) -> u64 {
        self.0
    }
}
