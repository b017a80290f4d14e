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
    /// Destroys a filter policy that no table options took over. Accepts null.
    fn rocksdb_filterpolicy_destroy(policy: own rocksdb_filterpolicy_t) {
        drop(policy)
    }

    /// Bloom filters. Below 0.5 bits for each key there is no filter; above 100 bits there are 100.
    fn rocksdb_filterpolicy_create_bloom(bits_per_key: f64) -> Owned<rocksdb_filterpolicy_t> {
        policy(FilterPolicy::bloom(bits_per_key))
    }

    /// As `rocksdb_filterpolicy_create_bloom`.
    fn rocksdb_filterpolicy_create_bloom_full(bits_per_key: f64) -> Owned<rocksdb_filterpolicy_t> {
        policy(FilterPolicy::bloom(bits_per_key))
    }

    /// Ribbon filters with the false-positive rate of a Bloom filter of so many bits.
    fn rocksdb_filterpolicy_create_ribbon(bloom_equivalent_bits_per_key: f64) -> Owned<rocksdb_filterpolicy_t> {
        policy(FilterPolicy::ribbon(bloom_equivalent_bits_per_key, -1))
    }

    /// Bloom filters on the levels before `bloom_before_level`, Ribbon filters from there. A flush is level -1.
    fn rocksdb_filterpolicy_create_ribbon_hybrid(
        bloom_equivalent_bits_per_key: f64, bloom_before_level: i32
    ) -> Owned<rocksdb_filterpolicy_t> {
        policy(FilterPolicy::ribbon(bloom_equivalent_bits_per_key, bloom_before_level))
    }

    /// As `rocksdb_filterpolicy_create_bloom`. The old format of filters is not written: `original_format` of 1 is also the
    /// format of today. RocksDB 11.8.1 ignores the argument too.
    fn rocksdb_filterpolicy_create_bloom_format(
        bits_per_key: f64, original_format: bool
    ) -> Owned<rocksdb_filterpolicy_t> {
        let _ = original_format;
        policy(FilterPolicy::bloom(bits_per_key))
    }

    /// As `rocksdb_filterpolicy_create_ribbon_hybrid`.
    fn rocksdb_filterpolicy_create_ribbon_format(
        bloom_equivalent_bits_per_key: f64, bloom_before_level: i32
    ) -> Owned<rocksdb_filterpolicy_t> {
        policy(FilterPolicy::ribbon(bloom_equivalent_bits_per_key, bloom_before_level))
    }
}
