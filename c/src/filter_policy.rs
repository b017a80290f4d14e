//! Filter policies: Bloom and Ribbon filters of tables.

use table::options::FilterPolicy;

use crate::abi::Owned;

/// A filter policy.
pub struct rocksdb_filterpolicy_t {
    pub(crate) policy: FilterPolicy,
}

fn policy(policy: FilterPolicy) -> Owned<rocksdb_filterpolicy_t> {
    Owned(rocksdb_filterpolicy_t { policy })
}

c_api! {
    /// Destroys a filter policy. Table options that took ownership of a policy destroy it themselves. Accepts null.
    fn rocksdb_filterpolicy_destroy(policy: own rocksdb_filterpolicy_t) {
        drop(policy)
    }

    /// Creates a policy of Bloom filters with `bits_per_key` bits for each key. Below 0.5: no filter. Above 100: 100 bits.
    fn rocksdb_filterpolicy_create_bloom(bits_per_key: f64) -> Owned<rocksdb_filterpolicy_t> {
        policy(FilterPolicy::bloom(bits_per_key))
    }

    /// Works like `rocksdb_filterpolicy_create_bloom`.
    fn rocksdb_filterpolicy_create_bloom_full(bits_per_key: f64) -> Owned<rocksdb_filterpolicy_t> {
        policy(FilterPolicy::bloom(bits_per_key))
    }

    /// Creates a policy of Ribbon filters with the false positive rate of a Bloom filter with the given bits for each key.
    fn rocksdb_filterpolicy_create_ribbon(bloom_equivalent_bits_per_key: f64) -> Owned<rocksdb_filterpolicy_t> {
        policy(FilterPolicy::ribbon(bloom_equivalent_bits_per_key, -1))
    }

    /// Creates a policy of Bloom filters for the levels below `bloom_before_level` and of Ribbon filters for the other levels.
    /// The files of a flush count as level -1.
    fn rocksdb_filterpolicy_create_ribbon_hybrid(
        bloom_equivalent_bits_per_key: f64, bloom_before_level: i32
    ) -> Owned<rocksdb_filterpolicy_t> {
        policy(FilterPolicy::ribbon(bloom_equivalent_bits_per_key, bloom_before_level))
    }

    /// Works like `rocksdb_filterpolicy_create_bloom`. `original_format` has no effect, because the old format of
    /// filters is never written. RocksDB 11.8.1 also ignores the argument.
    fn rocksdb_filterpolicy_create_bloom_format(
        bits_per_key: f64, original_format: bool
    ) -> Owned<rocksdb_filterpolicy_t> {
        let _ = original_format;
        policy(FilterPolicy::bloom(bits_per_key))
    }

    /// Works like `rocksdb_filterpolicy_create_ribbon_hybrid`.
    fn rocksdb_filterpolicy_create_ribbon_format(
        bloom_equivalent_bits_per_key: f64, bloom_before_level: i32
    ) -> Owned<rocksdb_filterpolicy_t> {
        policy(FilterPolicy::ribbon(bloom_equivalent_bits_per_key, bloom_before_level))
    }
}
