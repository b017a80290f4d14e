//! Write buffer managers: one memory limit for the memtables of several databases.

use std::sync::Arc;

use mem::write_buffer::WriteBufferManager;

use crate::abi::Owned;
use crate::cache::rocksdb_cache_t;

/// A write buffer manager that databases share.
pub struct rocksdb_write_buffer_manager_t {
    pub(crate) manager: Arc<WriteBufferManager>,
}

c_api! {
    /// Creates a manager. `buffer_size` is the limit in bytes; 0: no limit. With `allow_stall`, writers wait if memtables use
    /// more than the limit.
    fn rocksdb_write_buffer_manager_create(
        buffer_size: usize, allow_stall: bool
    ) -> Owned<rocksdb_write_buffer_manager_t> {
        Owned(rocksdb_write_buffer_manager_t { manager: Arc::new(WriteBufferManager::new(buffer_size, None, allow_stall)) })
    }

    /// Creates a manager that charges the memory of memtables to the cache.
    fn rocksdb_write_buffer_manager_create_with_cache(
        buffer_size: usize, cache: in rocksdb_cache_t, allow_stall: bool
    ) -> Owned<rocksdb_write_buffer_manager_t> {
        let manager = WriteBufferManager::new(buffer_size, Some(cache.cache.clone()), allow_stall);
        Owned(rocksdb_write_buffer_manager_t { manager: Arc::new(manager) })
    }

    /// Destroys the handle. Databases that use the manager keep it. Accepts null.
    fn rocksdb_write_buffer_manager_destroy(manager: own rocksdb_write_buffer_manager_t) {
        drop(manager)
    }

    /// Returns true if there is a limit.
    fn rocksdb_write_buffer_manager_enabled(manager: at rocksdb_write_buffer_manager_t) -> bool {
        manager.manager.enabled()
    }

    /// Returns true if the memory is charged to a cache.
    fn rocksdb_write_buffer_manager_cost_to_cache(manager: at rocksdb_write_buffer_manager_t) -> bool {
        manager.manager.charges_cache()
    }

    /// Returns the memory of all memtables in bytes.
    fn rocksdb_write_buffer_manager_memory_usage(manager: at rocksdb_write_buffer_manager_t) -> usize {
        manager.manager.memory_usage()
    }

    /// Returns the memory of the active memtables in bytes.
    fn rocksdb_write_buffer_manager_mutable_memtable_memory_usage(
        manager: at rocksdb_write_buffer_manager_t
    ) -> usize {
        manager.manager.mutable_usage()
    }

    /// Returns the memory that is charged to the cache in bytes.
    fn rocksdb_write_buffer_manager_dummy_entries_in_cache_usage(
        manager: at rocksdb_write_buffer_manager_t
    ) -> usize {
        manager.manager.cache_charge()
    }

    /// Returns the limit in bytes.
    fn rocksdb_write_buffer_manager_buffer_size(manager: at rocksdb_write_buffer_manager_t) -> usize {
        manager.manager.buffer_size()
    }

    fn rocksdb_write_buffer_manager_set_buffer_size(manager: at rocksdb_write_buffer_manager_t, bytes: usize) {
        manager.manager.set_buffer_size(bytes);
    }

    fn rocksdb_write_buffer_manager_set_allow_stall(manager: at rocksdb_write_buffer_manager_t, allow: bool) {
        manager.manager.set_allow_stall(allow);
    }
}
