//! SST file managers: limits of space and of the speed of deletions.
//!
//! `rocksdb_options_set_sst_file_manager` sets the manager of a database. Databases can share a manager.

use std::sync::Arc;

use env::sst_files::{SstFileManager, SstFileOptions};

use crate::abi::Owned;
use crate::environment::rocksdb_env_t;

/// An SST file manager.
pub struct rocksdb_sst_file_manager_t {
    pub(crate) manager: Arc<SstFileManager>,
}

fn change(manager: &rocksdb_sst_file_manager_t, change: impl FnOnce(&mut SstFileOptions)) {
    let mut options = manager.manager.options();
    change(&mut options);
    manager.manager.set_options(options);
}

c_api! {
    fn rocksdb_sst_file_manager_create(env: at rocksdb_env_t) -> Owned<rocksdb_sst_file_manager_t> {
        Owned(rocksdb_sst_file_manager_t { manager: SstFileManager::new(env.env.clone(), SstFileOptions::default()) })
    }

    fn rocksdb_sst_file_manager_destroy(manager: own rocksdb_sst_file_manager_t) {
        drop(manager)
    }

    /// Sets the maximum total size of all tracked files, in bytes. 0: no limit.
    fn rocksdb_sst_file_manager_set_max_allowed_space_usage(
        manager: at rocksdb_sst_file_manager_t, max_allowed_space: u64
    ) {
        change(manager, |options| options.max_allowed_space = max_allowed_space);
    }

    /// Sets the free space that is reserved for compactions, in bytes.
    fn rocksdb_sst_file_manager_set_compaction_buffer_size(
        manager: at rocksdb_sst_file_manager_t, compaction_buffer_size: u64
    ) {
        change(manager, |options| options.compaction_buffer_size = compaction_buffer_size);
    }

    fn rocksdb_sst_file_manager_is_max_allowed_space_reached(manager: at rocksdb_sst_file_manager_t) -> bool {
        manager.manager.is_space_reached(0)
    }

    /// Works like `rocksdb_sst_file_manager_is_max_allowed_space_reached`. Also counts the bytes that running
    /// compactions may write.
    fn rocksdb_sst_file_manager_is_max_allowed_space_reached_including_compactions(
        manager: at rocksdb_sst_file_manager_t
    ) -> bool {
        manager.manager.is_space_reached_with_compactions()
    }

    /// Returns the total size of the tracked files, in bytes.
    fn rocksdb_sst_file_manager_get_total_size(manager: at rocksdb_sst_file_manager_t) -> u64 {
        manager.manager.total_size()
    }

    /// Returns the rate of deletions in bytes per second. 0 and negative numbers: no limit.
    fn rocksdb_sst_file_manager_get_delete_rate_bytes_per_second(manager: at rocksdb_sst_file_manager_t) -> i64 {
        manager.manager.options().rate_bytes_per_sec
    }

    fn rocksdb_sst_file_manager_set_delete_rate_bytes_per_second(
        manager: at rocksdb_sst_file_manager_t, delete_rate: i64
    ) {
        change(manager, |options| options.rate_bytes_per_sec = delete_rate);
    }

    /// Returns the maximum ratio of trash to tracked files. Above this ratio, files are deleted at once.
    fn rocksdb_sst_file_manager_get_max_trash_db_ratio(manager: at rocksdb_sst_file_manager_t) -> f64 {
        manager.manager.options().max_trash_db_ratio
    }

    fn rocksdb_sst_file_manager_set_max_trash_db_ratio(manager: at rocksdb_sst_file_manager_t, ratio: f64) {
        change(manager, |options| options.max_trash_db_ratio = ratio);
    }

    /// Returns the total size of the files that wait for their deletion, in bytes.
    fn rocksdb_sst_file_manager_get_total_trash_size(manager: at rocksdb_sst_file_manager_t) -> u64 {
        manager.manager.trash_size()
    }
}
