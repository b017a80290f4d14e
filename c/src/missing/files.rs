//! SST file writers, ingestion, checkpoints, export and import: not built. A function with `errptr` reports `Not implemented: NAME`. All others return zero or null.

use std::ffi::c_char;

use crate::abi::{Buffer, Flag, Owned, Text};
use crate::comparator::rocksdb_comparator_t;
use crate::db::{rocksdb_column_family_handle_t, rocksdb_t};
use crate::environment::rocksdb_envoptions_t;
use crate::metadata::rocksdb_livefiles_t;
use crate::options::rocksdb_options_t;
use crate::trace_options::rocksdb_livefiles_storage_info_options_t;
use crate::write_options::{rocksdb_import_column_family_options_t, rocksdb_ingestexternalfileoptions_t};

opaque! {
    rocksdb_checkpoint_t,
    rocksdb_export_import_files_metadata_t,
    rocksdb_livefiles_storage_info_t,
    rocksdb_sstfilewriter_t,
}

c_missing! {
    fn rocksdb_checkpoint_object_create(db: maybe rocksdb_t, err) -> Owned<rocksdb_checkpoint_t>;
    fn rocksdb_checkpoint_create(
        checkpoint: maybe rocksdb_checkpoint_t, checkpoint_dir: raw(*const c_char), log_size_for_flush: u64,
        err
    );
    fn rocksdb_checkpoint_export_column_family(
        checkpoint: maybe rocksdb_checkpoint_t, column_family: maybe rocksdb_column_family_handle_t,
        export_dir: raw(*const c_char), err
    ) -> Owned<rocksdb_export_import_files_metadata_t>;
    fn rocksdb_checkpoint_object_destroy(checkpoint: own rocksdb_checkpoint_t);
    fn rocksdb_create_column_family_with_import(
        db: maybe rocksdb_t, column_family_options: maybe rocksdb_options_t,
        column_family_name: raw(*const c_char), import_options: maybe rocksdb_import_column_family_options_t,
        metadata: maybe rocksdb_export_import_files_metadata_t, err
    ) -> Owned<rocksdb_column_family_handle_t>;
    fn rocksdb_sstfilewriter_create(
        env: inmaybe rocksdb_envoptions_t, io_options: inmaybe rocksdb_options_t
    ) -> Owned<rocksdb_sstfilewriter_t>;
    fn rocksdb_sstfilewriter_create_with_comparator(
        env: inmaybe rocksdb_envoptions_t, io_options: inmaybe rocksdb_options_t,
        comparator: inmaybe rocksdb_comparator_t
    ) -> Owned<rocksdb_sstfilewriter_t>;
    fn rocksdb_sstfilewriter_open(writer: maybe rocksdb_sstfilewriter_t, name: raw(*const c_char), err);
    fn rocksdb_sstfilewriter_add(writer: maybe rocksdb_sstfilewriter_t, key: bytes, val: bytes, err);
    fn rocksdb_sstfilewriter_put(writer: maybe rocksdb_sstfilewriter_t, key: bytes, val: bytes, err);
    fn rocksdb_sstfilewriter_put_with_ts(
        writer: maybe rocksdb_sstfilewriter_t, key: bytes, ts: bytes, val: bytes, err
    );
    fn rocksdb_sstfilewriter_merge(writer: maybe rocksdb_sstfilewriter_t, key: bytes, val: bytes, err);
    fn rocksdb_sstfilewriter_delete(writer: maybe rocksdb_sstfilewriter_t, key: bytes, err);
    fn rocksdb_sstfilewriter_delete_with_ts(
        writer: maybe rocksdb_sstfilewriter_t, key: bytes, ts: bytes, err
    );
    fn rocksdb_sstfilewriter_delete_range(
        writer: maybe rocksdb_sstfilewriter_t, begin_key: bytes, end_key: bytes, err
    );
    fn rocksdb_sstfilewriter_finish(writer: maybe rocksdb_sstfilewriter_t, err);
    fn rocksdb_sstfilewriter_file_size(writer: maybe rocksdb_sstfilewriter_t, file_size: raw(*mut u64));
    fn rocksdb_sstfilewriter_destroy(writer: own rocksdb_sstfilewriter_t);
    fn rocksdb_ingest_external_file(
        db: maybe rocksdb_t, file_list: raw(*const *const c_char), list_len: usize,
        opt: inmaybe rocksdb_ingestexternalfileoptions_t, err
    );
    fn rocksdb_ingest_external_file_cf(
        db: maybe rocksdb_t, handle: maybe rocksdb_column_family_handle_t,
        file_list: raw(*const *const c_char), list_len: usize,
        opt: inmaybe rocksdb_ingestexternalfileoptions_t, err
    );
    fn rocksdb_get_livefiles_storage_info(
        db: maybe rocksdb_t, options: inmaybe rocksdb_livefiles_storage_info_options_t, err
    ) -> Owned<rocksdb_livefiles_storage_info_t>;
    fn rocksdb_livefiles_storage_info_count(info: inmaybe rocksdb_livefiles_storage_info_t) -> usize;
    fn rocksdb_livefiles_storage_info_relative_filename(
        info: inmaybe rocksdb_livefiles_storage_info_t, index: usize
    ) -> Text;
    fn rocksdb_livefiles_storage_info_directory(
        info: inmaybe rocksdb_livefiles_storage_info_t, index: usize
    ) -> Text;
    fn rocksdb_livefiles_storage_info_file_number(
        info: inmaybe rocksdb_livefiles_storage_info_t, index: usize
    ) -> u64;
    fn rocksdb_livefiles_storage_info_file_type(
        info: inmaybe rocksdb_livefiles_storage_info_t, index: usize
    ) -> i32;
    fn rocksdb_livefiles_storage_info_size(
        info: inmaybe rocksdb_livefiles_storage_info_t, index: usize
    ) -> u64;
    fn rocksdb_livefiles_storage_info_temperature(
        info: inmaybe rocksdb_livefiles_storage_info_t, index: usize
    ) -> i32;
    fn rocksdb_livefiles_storage_info_file_checksum(
        info: inmaybe rocksdb_livefiles_storage_info_t, index: usize
    ) -> Text;
    fn rocksdb_livefiles_storage_info_file_checksum_func_name(
        info: inmaybe rocksdb_livefiles_storage_info_t, index: usize
    ) -> Text;
    fn rocksdb_livefiles_storage_info_replacement_contents(
        info: inmaybe rocksdb_livefiles_storage_info_t, index: usize, size: raw(*mut usize)
    ) -> Text;
    fn rocksdb_livefiles_storage_info_trim_to_size(
        info: inmaybe rocksdb_livefiles_storage_info_t, index: usize
    ) -> Flag;
    fn rocksdb_livefiles_storage_info_destroy(info: own rocksdb_livefiles_storage_info_t);
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
