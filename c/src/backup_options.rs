//! Options of backup engines, backups and restores.

use std::ffi::{CString, c_void};
use std::sync::Arc;

use env::Env;
use env::rate::RateLimiter;

use crate::abi::{Owned, Text};
use crate::callbacks::{
    rocksdb_create_backup_options_exclude_files_cb, rocksdb_create_backup_options_progress_cb,
};
use crate::environment::rocksdb_env_t;
use crate::options::c_string;
use crate::rate_limiter::rocksdb_ratelimiter_t;

plain_options! {
    /// Options of a backup engine. Sizes are in bytes, rates in bytes per second.
    rocksdb_backup_engine_options_t, "rocksdb_backup_engine_options_";
    @with {
        backup_dir: CString = CString::default();
        env: Option<Env> = None;
        backup_rate_limiter: Option<Arc<RateLimiter>> = None;
        restore_rate_limiter: Option<Arc<RateLimiter>> = None;
    }
    io_buffer_size: u64 = 0;
    backup_rate_limit: u64 = 0;
    max_background_operations: i32 = 1;
    share_table_files: flag = true;
    sync: flag = true;
    destroy_old_data: flag = false;
    backup_log_files: flag = true;
    restore_rate_limit: u64 = 0;
    share_files_with_checksum: flag = true;
    callback_trigger_interval_size: u64 = 4194304;
    max_valid_backups_to_open: i32 = 2147483647;
    share_files_with_checksum_naming: i32 = -2147483646;
    schema_version: i32 = 1;
    current_temperatures_override_manifest: flag = false;
}

plain_options! {
    /// Options of a backup.
    rocksdb_create_backup_options_t, "rocksdb_create_backup_options_";
    @create rocksdb_create_backup_options_create, rocksdb_create_backup_options_destroy;
    @with {
        progress: Option<(usize, rocksdb_create_backup_options_progress_cb)> = None;
        exclude: Option<(usize, rocksdb_create_backup_options_exclude_files_cb)> = None;
    }
    decrease_background_thread_cpu_priority: flag = false;
    background_thread_cpu_priority: i32 = 2;
    flush_before_backup: flag = false;
    atomic_flush: flag = false;
}

plain_options! {
    /// Options of a restore.
    rocksdb_restore_options_t, "rocksdb_restore_options_";
    @create rocksdb_restore_options_create, rocksdb_restore_options_destroy;
    keep_log_files: i32 / flag = 0;
    mode: i32 = 65535;
}

c_api! {
    /// Creates options of a backup engine whose backups are in `backup_dir`.
    fn rocksdb_backup_engine_options_create(backup_dir: text) -> Owned<rocksdb_backup_engine_options_t> {
        Owned(rocksdb_backup_engine_options_t { backup_dir: c_string(backup_dir), ..Default::default() })
    }

    fn rocksdb_backup_engine_options_destroy(options: own rocksdb_backup_engine_options_t) {
        drop(options)
    }

    fn rocksdb_backup_engine_options_set_backup_dir(options: mut rocksdb_backup_engine_options_t, dir: text) {
        options.backup_dir = c_string(dir);
    }

    /// Returns the backup directory. The string is valid until the option changes or the handle is destroyed.
    fn rocksdb_backup_engine_options_get_backup_dir(
        options: at rocksdb_backup_engine_options_t, size: out usize
    ) -> Text {
        size.set(options.backup_dir.as_bytes().len());
        Text::string(&options.backup_dir)
    }

    /// Sets the environment of the backups. The environment is shared. Null: the environment of the databases.
    fn rocksdb_backup_engine_options_set_env(
        options: mut rocksdb_backup_engine_options_t, env: maybe rocksdb_env_t
    ) {
        options.env = env.map(|env| env.env.clone());
    }

    /// Sets the rate limiter of backups. The limiter is shared. Null: the option `backup_rate_limit` limits the rate.
    fn rocksdb_backup_engine_options_set_backup_rate_limiter(
        options: mut rocksdb_backup_engine_options_t, limiter: maybe rocksdb_ratelimiter_t
    ) {
        options.backup_rate_limiter = limiter.map(|limiter| limiter.limiter.clone());
    }

    /// Sets the rate limiter of restores. The limiter is shared. Null: the option `restore_rate_limit` limits the rate.
    fn rocksdb_backup_engine_options_set_restore_rate_limiter(
        options: mut rocksdb_backup_engine_options_t, limiter: maybe rocksdb_ratelimiter_t
    ) {
        options.restore_rate_limiter = limiter.map(|limiter| limiter.limiter.clone());
    }

    /// Calls a function after each `callback_trigger_interval_size` bytes. Null: no calls.
    fn rocksdb_create_backup_options_set_progress_callback(
        options: mut rocksdb_create_backup_options_t, state: raw(*mut c_void),
        callback: call rocksdb_create_backup_options_progress_cb
    ) {
        options.progress = callback.map(|callback| (state.expose_provenance(), callback));
    }

    /// Sets a function that chooses the shared files that the backup leaves out. Null: no file is left out.
    fn rocksdb_create_backup_options_set_exclude_files_callback(
        options: mut rocksdb_create_backup_options_t, state: raw(*mut c_void),
        callback: call rocksdb_create_backup_options_exclude_files_cb
    ) {
        options.exclude = callback.map(|callback| (state.expose_provenance(), callback));
    }
}
