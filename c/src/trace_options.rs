//! Options of traces and replays, of WAL reads, and of lists of live files.

use crate::abi::Owned;

plain_options! {
    /// Options of a trace. Sizes are in bytes.
    rocksdb_trace_options_t, "rocksdb_trace_options_";
    @create rocksdb_trace_options_create, rocksdb_trace_options_destroy;
    max_trace_file_size: u64 = 68719476736;
    sampling_frequency: u64 = 1;
    filter: u64 = 0;
    preserve_write_order: flag = false;
}

plain_options! {
    /// Options of a trace of block cache accesses.
    rocksdb_block_cache_trace_options_t, "rocksdb_block_cache_trace_options_";
    @create rocksdb_block_cache_trace_options_create, rocksdb_block_cache_trace_options_destroy;
    sampling_frequency: u64 = 1;
}

plain_options! {
    /// Options of the file of a block cache trace. Sizes are in bytes.
    rocksdb_block_cache_trace_writer_options_t, "rocksdb_block_cache_trace_writer_options_";
    @create rocksdb_block_cache_trace_writer_options_create, rocksdb_block_cache_trace_writer_options_destroy;
    max_trace_file_size: u64 = 68719476736;
}

plain_options! {
    /// Options of a replay.
    rocksdb_replay_options_t, "rocksdb_replay_options_";
    @create rocksdb_replay_options_create, rocksdb_replay_options_destroy;
    num_threads: u32 = 1;
    fast_forward: f64 = 1.0;
}

plain_options! {
    /// Options of reads of the WAL.
    rocksdb_wal_readoptions_t, "rocksdb_wal_readoptions_";
    @create rocksdb_wal_readoptions_create, rocksdb_wal_readoptions_destroy;
    verify_checksums: flag = true;
}

plain_options! {
    /// Options of a list of live files. Sizes are in bytes.
    rocksdb_livefiles_storage_info_options_t, "rocksdb_livefiles_storage_info_options_";
    @create rocksdb_livefiles_storage_info_options_create, rocksdb_livefiles_storage_info_options_destroy;
    include_checksum_info: flag = false;
    wal_size_for_flush: u64 = 0;
    atomic_flush: flag = false;
}
