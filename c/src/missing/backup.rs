//! Backup engines: not built. A function with `errptr` reports `Not implemented: NAME`. All others return zero or null.

use std::ffi::c_char;

use crate::abi::{ConstOwned, Owned, Text};
use crate::backup_options::{
    rocksdb_backup_engine_options_t, rocksdb_create_backup_options_t, rocksdb_restore_options_t,
};
use crate::db::rocksdb_t;
use crate::environment::rocksdb_env_t;
use crate::options::rocksdb_options_t;

opaque! {
    rocksdb_backup_engine_info_t,
    rocksdb_backup_engine_t,
}

c_missing! {
    fn rocksdb_backup_engine_open(
        options: inmaybe rocksdb_options_t, path: raw(*const c_char), err
    ) -> Owned<rocksdb_backup_engine_t>;
    fn rocksdb_backup_engine_open_opts(
        options: inmaybe rocksdb_backup_engine_options_t, env: maybe rocksdb_env_t, err
    ) -> Owned<rocksdb_backup_engine_t>;
    fn rocksdb_backup_engine_create_new_backup(be: maybe rocksdb_backup_engine_t, db: maybe rocksdb_t, err);
    fn rocksdb_backup_engine_create_new_backup_flush(
        be: maybe rocksdb_backup_engine_t, db: maybe rocksdb_t, flush_before_backup: flag, err
    );
    fn rocksdb_backup_engine_create_new_backup_with_options(
        be: maybe rocksdb_backup_engine_t, db: maybe rocksdb_t,
        options: inmaybe rocksdb_create_backup_options_t, backup_id: raw(*mut u32), err
    );
    fn rocksdb_backup_engine_create_new_backup_with_metadata(
        be: maybe rocksdb_backup_engine_t, db: maybe rocksdb_t,
        options: inmaybe rocksdb_create_backup_options_t, app_metadata: bytes, backup_id: raw(*mut u32), err
    );
    fn rocksdb_backup_engine_purge_old_backups(
        be: maybe rocksdb_backup_engine_t, num_backups_to_keep: u32, err
    );
    fn rocksdb_backup_engine_verify_backup(be: maybe rocksdb_backup_engine_t, backup_id: u32, err);
    fn rocksdb_backup_engine_restore_db_from_latest_backup(
        be: maybe rocksdb_backup_engine_t, db_dir: raw(*const c_char), wal_dir: raw(*const c_char),
        restore_options: inmaybe rocksdb_restore_options_t, err
    );
    fn rocksdb_backup_engine_restore_db_from_backup(
        be: maybe rocksdb_backup_engine_t, db_dir: raw(*const c_char), wal_dir: raw(*const c_char),
        restore_options: inmaybe rocksdb_restore_options_t, backup_id: u32, err
    );
    fn rocksdb_backup_engine_get_backup_info(
        be: maybe rocksdb_backup_engine_t
    ) -> ConstOwned<rocksdb_backup_engine_info_t>;
    fn rocksdb_backup_engine_info_count(info: inmaybe rocksdb_backup_engine_info_t) -> i32;
    fn rocksdb_backup_engine_info_timestamp(info: inmaybe rocksdb_backup_engine_info_t, index: i32) -> i64;
    fn rocksdb_backup_engine_info_backup_id(info: inmaybe rocksdb_backup_engine_info_t, index: i32) -> u32;
    fn rocksdb_backup_engine_info_size(info: inmaybe rocksdb_backup_engine_info_t, index: i32) -> u64;
    fn rocksdb_backup_engine_info_number_files(info: inmaybe rocksdb_backup_engine_info_t, index: i32) -> u32;
    fn rocksdb_backup_engine_info_app_metadata(
        info: inmaybe rocksdb_backup_engine_info_t, index: i32, len: raw(*mut usize)
    ) -> Text;
    fn rocksdb_backup_engine_info_destroy(info: cown rocksdb_backup_engine_info_t);
    fn rocksdb_backup_engine_stop_backup(be: maybe rocksdb_backup_engine_t);
    fn rocksdb_backup_engine_close(be: maybe rocksdb_backup_engine_t);
}
