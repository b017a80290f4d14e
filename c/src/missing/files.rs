//! SST file writers, ingestion, checkpoints, export and import: not built. A function with `errptr` reports `Not implemented: NAME`. All others return zero or null.

use std::ffi::c_char;

use crate::abi::{Buffer, Owned};
use crate::checkpoint::rocksdb_checkpoint_t;
use crate::db::{rocksdb_column_family_handle_t, rocksdb_t};
use crate::metadata::rocksdb_livefiles_t;
use crate::options::rocksdb_options_t;
use crate::write_options::rocksdb_import_column_family_options_t;

opaque! {
    rocksdb_export_import_files_metadata_t,
}

c_missing! {
    fn rocksdb_checkpoint_export_column_family(
        checkpoint: maybe rocksdb_checkpoint_t, column_family: maybe rocksdb_column_family_handle_t,
        export_dir: raw(*const c_char), err
    ) -> Owned<rocksdb_export_import_files_metadata_t>;
    fn rocksdb_create_column_family_with_import(
        db: maybe rocksdb_t, column_family_options: maybe rocksdb_options_t,
        column_family_name: raw(*const c_char), import_options: maybe rocksdb_import_column_family_options_t,
        metadata: maybe rocksdb_export_import_files_metadata_t, err
    ) -> Owned<rocksdb_column_family_handle_t>;
    fn rocksdb_export_import_files_metadata_create() -> Owned<rocksdb_export_import_files_metadata_t>;
    fn rocksdb_export_import_files_metadata_get_db_comparator_name(
        arg0: maybe rocksdb_export_import_files_metadata_t
    ) -> Buffer;
    fn rocksdb_export_import_files_metadata_set_db_comparator_name(
        arg0: maybe rocksdb_export_import_files_metadata_t, arg1: raw(*const c_char)
    );
    fn rocksdb_export_import_files_metadata_get_files(
        arg0: maybe rocksdb_export_import_files_metadata_t
    ) -> Owned<rocksdb_livefiles_t>;
    fn rocksdb_export_import_files_metadata_set_files(
        arg0: maybe rocksdb_export_import_files_metadata_t, arg1: maybe rocksdb_livefiles_t
    );
    fn rocksdb_export_import_files_metadata_destroy(arg0: own rocksdb_export_import_files_metadata_t);
}
