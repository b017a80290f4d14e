//! Functions whose feature is not built.
//!
//! The functions exist, so programs link. A function with `errptr` reports `Not implemented: NAME`. All other functions
//! return zero or a null pointer.

/// Declares handles that no function creates.
macro_rules! opaque {
    ($($name:ident),* $(,)?) => {
        $(
            /// A handle of a feature that is not built. No function creates it.
            pub struct $name {
                _private: (),
            }
        )*
    };
}

mod backup;
mod batch_with_index;
mod compaction_service;
mod files;
mod others;
mod traces;
mod transactions;
mod wal;

pub use backup::{rocksdb_backup_engine_info_t, rocksdb_backup_engine_t};
pub use batch_with_index::rocksdb_writebatch_wi_t;
pub use compaction_service::{
    rocksdb_compaction_service_options_override_t, rocksdb_compactionservice_jobinfo_t,
    rocksdb_compactionservice_scheduleresponse_t, rocksdb_compactionservice_t,
    rocksdb_open_and_compact_options_t, rocksdb_sst_partitioner_factory_t,
    rocksdb_table_properties_collector_factory_t,
};
pub use files::{
    rocksdb_checkpoint_t, rocksdb_export_import_files_metadata_t, rocksdb_livefiles_storage_info_t,
    rocksdb_sstfilewriter_t,
};
pub use others::{rocksdb_memory_allocator_t, rocksdb_sst_file_manager_t, rocksdb_walfilter_t};
pub use traces::{rocksdb_replayer_t, rocksdb_trace_reader_t};
pub use transactions::{
    rocksdb_optimistictransactiondb_lock_buckets_t, rocksdb_optimistictransactiondb_t, rocksdb_transaction_t,
    rocksdb_transactiondb_t,
};
pub use wal::{rocksdb_wal_file_t, rocksdb_wal_files_t, rocksdb_wal_iterator_t};
