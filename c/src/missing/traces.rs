//! Traces and replays, which Ironstone does not have.
//!
//! A function with `errptr` reports `Not implemented: NAME`. All other functions return zero or null.

use std::ffi::c_char;

use crate::abi::{Buffer, Owned};
use crate::db::{rocksdb_column_family_handle_t, rocksdb_t};
use crate::environment::{rocksdb_env_t, rocksdb_envoptions_t};
use crate::trace_options::{
    rocksdb_block_cache_trace_options_t, rocksdb_block_cache_trace_writer_options_t,
    rocksdb_replay_options_t, rocksdb_trace_options_t,
};

opaque! {
    rocksdb_replayer_t,
    rocksdb_trace_reader_t,
}

c_missing! {
    fn rocksdb_trace_reader_create(
        env: maybe rocksdb_env_t, env_options: inmaybe rocksdb_envoptions_t, trace_path: raw(*const c_char),
        err
    ) -> Owned<rocksdb_trace_reader_t>;
    fn rocksdb_trace_reader_read(reader: maybe rocksdb_trace_reader_t, size: raw(*mut usize), err) -> Buffer;
    fn rocksdb_trace_reader_reset(reader: maybe rocksdb_trace_reader_t, err);
    fn rocksdb_trace_reader_close(reader: maybe rocksdb_trace_reader_t, err);
    fn rocksdb_trace_reader_destroy(reader: own rocksdb_trace_reader_t);
    fn rocksdb_new_default_replayer(
        db: maybe rocksdb_t, column_families: raw(*mut *mut rocksdb_column_family_handle_t),
        num_column_families: usize, env: maybe rocksdb_env_t, env_options: inmaybe rocksdb_envoptions_t,
        trace_path: raw(*const c_char), err
    ) -> Owned<rocksdb_replayer_t>;
    fn rocksdb_replayer_prepare(replayer: maybe rocksdb_replayer_t, err);
    fn rocksdb_replayer_get_header_timestamp(replayer: inmaybe rocksdb_replayer_t) -> u64;
    fn rocksdb_replayer_replay(
        replayer: maybe rocksdb_replayer_t, options: inmaybe rocksdb_replay_options_t, err
    );
    fn rocksdb_replayer_destroy(replayer: own rocksdb_replayer_t);
    fn rocksdb_start_trace(
        db: maybe rocksdb_t, env: maybe rocksdb_env_t, env_options: inmaybe rocksdb_envoptions_t,
        options: inmaybe rocksdb_trace_options_t, trace_path: raw(*const c_char), err
    );
    fn rocksdb_end_trace(db: maybe rocksdb_t, err);
    fn rocksdb_start_io_trace(
        db: maybe rocksdb_t, env: maybe rocksdb_env_t, env_options: inmaybe rocksdb_envoptions_t,
        options: inmaybe rocksdb_trace_options_t, trace_path: raw(*const c_char), err
    );
    fn rocksdb_end_io_trace(db: maybe rocksdb_t, err);
    fn rocksdb_start_block_cache_trace(
        db: maybe rocksdb_t, env: maybe rocksdb_env_t, env_options: inmaybe rocksdb_envoptions_t,
        options: inmaybe rocksdb_trace_options_t, trace_path: raw(*const c_char), err
    );
    fn rocksdb_start_block_cache_trace_with_options(
        db: maybe rocksdb_t, env: maybe rocksdb_env_t, env_options: inmaybe rocksdb_envoptions_t,
        options: inmaybe rocksdb_block_cache_trace_options_t,
        writer_options: inmaybe rocksdb_block_cache_trace_writer_options_t, trace_path: raw(*const c_char),
        err
    );
    fn rocksdb_end_block_cache_trace(db: maybe rocksdb_t, err);
}
