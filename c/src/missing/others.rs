//! Other features that Ironstone does not have.
//!
//! A function with `errptr` reports `Not implemented: NAME`. All other functions return zero or null.

use crate::abi::Owned;

opaque! {
    rocksdb_memory_allocator_t,
    rocksdb_table_properties_collector_factory_t,
}

c_missing! {
    fn rocksdb_table_properties_collector_factory_destroy(
        factory: own rocksdb_table_properties_collector_factory_t
    );
    fn rocksdb_jemalloc_nodump_allocator_create(err) -> Owned<rocksdb_memory_allocator_t>;
    fn rocksdb_memory_allocator_destroy(arg0: own rocksdb_memory_allocator_t);
}
