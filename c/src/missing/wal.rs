//! Reads of the WAL: not built. A function with `errptr` reports `Not implemented: NAME`. All others return zero or null.

use crate::abi::{ConstOwned, Flag, Owned, Text};
use crate::batch::rocksdb_writebatch_t;
use crate::db::rocksdb_t;
use crate::trace_options::rocksdb_wal_readoptions_t;

opaque! {
    rocksdb_wal_file_t,
    rocksdb_wal_files_t,
    rocksdb_wal_iterator_t,
}

c_missing! {
    fn rocksdb_get_updates_since(
        db: maybe rocksdb_t, seq_number: u64, options: inmaybe rocksdb_wal_readoptions_t, err
    ) -> Owned<rocksdb_wal_iterator_t>;
    fn rocksdb_get_sorted_wal_files(db: maybe rocksdb_t, err) -> Owned<rocksdb_wal_files_t>;
    fn rocksdb_get_current_wal_file(db: maybe rocksdb_t, err) -> Owned<rocksdb_wal_file_t>;
    fn rocksdb_wal_iter_next(iter: maybe rocksdb_wal_iterator_t);
    fn rocksdb_wal_iter_valid(arg0: inmaybe rocksdb_wal_iterator_t) -> Flag;
    fn rocksdb_wal_iter_status(iter: inmaybe rocksdb_wal_iterator_t, err);
    fn rocksdb_wal_iter_get_batch(
        iter: inmaybe rocksdb_wal_iterator_t, seq: raw(*mut u64)
    ) -> Owned<rocksdb_writebatch_t>;
    fn rocksdb_wal_iter_destroy(iter: cown rocksdb_wal_iterator_t);
    fn rocksdb_wal_file_path_name(file: inmaybe rocksdb_wal_file_t) -> Text;
    fn rocksdb_wal_file_log_number(file: inmaybe rocksdb_wal_file_t) -> u64;
    fn rocksdb_wal_file_type(file: inmaybe rocksdb_wal_file_t) -> i32;
    fn rocksdb_wal_file_start_sequence(file: inmaybe rocksdb_wal_file_t) -> u64;
    fn rocksdb_wal_file_size_file_bytes(file: inmaybe rocksdb_wal_file_t) -> u64;
    fn rocksdb_wal_file_destroy(file: own rocksdb_wal_file_t);
    fn rocksdb_wal_files_count(files: inmaybe rocksdb_wal_files_t) -> usize;
    fn rocksdb_wal_files_get_wal_file(
        files: inmaybe rocksdb_wal_files_t, index: usize
    ) -> ConstOwned<rocksdb_wal_file_t>;
    fn rocksdb_wal_files_destroy(files: own rocksdb_wal_files_t);
}
