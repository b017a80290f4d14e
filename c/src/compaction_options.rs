//! Options of compactions: universal, FIFO, of a range, of files, and waiting for the end of compactions.

use engine::options::{
    CompactRangeOptions, CompactionOptions, CompactionOptionsFifo, CompactionOptionsUniversal,
    WaitForCompactOptions,
};

use crate::abi::cancel;
use crate::abi::rejected::has_rejected;
use crate::abi::{Owned, Rejected};

macro_rules! handles {
    ($($(#[$doc:meta])* $t:ident($options:ty);)*) => {
        $(
            $(#[$doc])*
            #[derive(Clone, Default)]
            pub struct $t {
                pub(crate) options: $options,
                pub(crate) rejected: Rejected,
            }
        )*
        has_rejected!($($t),*);
    };
}

handles! {
    /// Options of universal compaction.
    rocksdb_universal_compaction_options_t(CompactionOptionsUniversal);
    /// Options of FIFO compaction.
    rocksdb_fifo_compaction_options_t(CompactionOptionsFifo);
    /// Options of the compaction of a range.
    rocksdb_compactoptions_t(CompactRangeOptions);
    /// Options of the compaction of files.
    rocksdb_compaction_options_t(CompactionOptions);
    /// Options of waiting for compactions.
    rocksdb_wait_for_compact_options_t(WaitForCompactOptions);
}

lifetime!(
    rocksdb_universal_compaction_options_t,
    rocksdb_universal_compaction_options_create,
    rocksdb_universal_compaction_options_destroy
);
lifetime!(
    rocksdb_fifo_compaction_options_t,
    rocksdb_fifo_compaction_options_create,
    rocksdb_fifo_compaction_options_destroy
);
lifetime!(rocksdb_compactoptions_t, rocksdb_compactoptions_create, rocksdb_compactoptions_destroy);
lifetime!(
    rocksdb_compaction_options_t,
    rocksdb_compaction_options_create,
    rocksdb_compaction_options_destroy
);
lifetime!(
    rocksdb_wait_for_compact_options_t,
    rocksdb_wait_for_compact_options_create,
    rocksdb_wait_for_compact_options_destroy
);

accessors! {
    rocksdb_universal_compaction_options_t, "rocksdb_universal_compaction_options_", |o|;
    size_ratio: i32 => o.options.size_ratio;
    min_merge_width: i32 => o.options.min_merge_width;
    max_merge_width: i32 => o.options.max_merge_width;
    max_size_amplification_percent: i32 => o.options.max_size_amplification_percent;
    compression_size_percent: i32 => o.options.compression_size_percent;
    stop_style: i32 => o.options.stop_style;
    max_read_amp: i32 => o.options.max_read_amp;
    allow_trivial_move: flag => o.options.allow_trivial_move;
    incremental: flag => o.options.incremental;
    reduce_file_locking: flag => o.options.reduce_file_locking;
}

accessors! {
    rocksdb_fifo_compaction_options_t, "rocksdb_fifo_compaction_options_", |o|;
    allow_compaction: flag => o.options.allow_compaction;
    max_table_files_size: u64 => o.options.max_table_files_size;
    max_data_files_size: u64 => o.options.max_data_files_size;
    use_kv_ratio_compaction: flag => o.options.use_kv_ratio_compaction;
    age_for_warm: u64 => o.options.age_for_warm;
    allow_trivial_copy_when_change_temperature: flag => o.options.allow_trivial_copy_when_change_temperature;
    trivial_copy_buffer_size: u64 => o.options.trivial_copy_buffer_size;
}

accessors! {
    rocksdb_compactoptions_t, "rocksdb_compactoptions_", |o| of CompactRangeOptions;
    exclusive_manual_compaction: flag => o.options.exclusive_manual_compaction;
    bottommost_level_compaction: flag => o.options.bottommost_level_compaction;
    change_level: flag => o.options.change_level;
    target_level: i32 => o.options.target_level;
    target_path_id: i32 => o.options.target_path_id;
    allow_write_stall: flag => o.options.allow_write_stall;
    max_subcompactions: i32 => o.options.max_subcompactions;
    blob_garbage_collection_policy: i32 => o.options.blob_garbage_collection_policy;
    blob_garbage_collection_age_cutoff: f64 => o.options.blob_garbage_collection_age_cutoff;
}

accessors! {
    rocksdb_compaction_options_t, "rocksdb_compaction_options_", |o| of CompactionOptions;
    compression: i32 => o.options.compression;
    output_file_size_limit: u64 => o.options.output_file_size_limit;
    max_subcompactions: u32 => o.options.max_subcompactions;
    output_temperature_override: i32 => o.options.output_temperature_override;
    allow_trivial_move: flag => o.options.allow_trivial_move;
}

accessors! {
    rocksdb_wait_for_compact_options_t, "rocksdb_wait_for_compact_options_", |o| of WaitForCompactOptions;
    abort_on_pause: flag => o.options.abort_on_pause;
    flush: flag => o.options.flush;
    close_db: flag => o.options.close_db;
    /// Sets the maximum time to wait, in microseconds. 0: no limit.
    timeout: u64 => o.options.timeout;
    wait_for_purge: flag => o.options.wait_for_purge;
}

c_api! {
    /// Sets `full_history_ts_low`. The compaction may drop an entry whose timestamp is below `ts` if the key has a newer entry
    /// below `ts`. If `ts` is null, `full_history_ts_low` is not set.
    fn rocksdb_compactoptions_set_full_history_ts_low(options: mut rocksdb_compactoptions_t, ts: mbound) {
        options.options.full_history_ts_low = ts.map(<[u8]>::to_vec);
    }

    /// Creates a flag that cancels compactions. Its value is 0: compactions are not canceled.
    fn rocksdb_compaction_options_canceled_create() -> *mut u8 {
        cancel::create()
    }

    /// Destroys the flag. Options that use the flag keep it. Accepts null.
    fn rocksdb_compaction_options_canceled_destroy(canceled: raw(*mut u8)) {
        // SAFETY: the header requires null or a flag from `rocksdb_compaction_options_canceled_create` that is not used again.
        unsafe { cancel::destroy(canceled) };
    }

    /// Sets the flag. 1 cancels the compactions of the options that use the flag.
    fn rocksdb_compaction_options_canceled_set(canceled: raw(*mut u8), value: flag) {
        // SAFETY: null, or a flag of the `create` function that is not destroyed during the call, by the doc of the function in the header.
        unsafe { cancel::set(canceled, value) };
    }

    /// Sets the flag that cancels the compaction. The flag is shared. Null: the compaction cannot be canceled.
    fn rocksdb_compaction_options_set_canceled(options: mut rocksdb_compaction_options_t, canceled: raw(*mut u8)) {
        // SAFETY: null, or a flag of the `create` function that is not destroyed during the call, by the doc of the function in the header.
        options.options.canceled = unsafe { cancel::share(canceled) };
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn null_clears_full_history_ts_low() {
        let mut ts = *b"12345678";
        // SAFETY: the handle is live and is destroyed once; `ts` has as many bytes as the length says; null is allowed.
        unsafe {
            let options = rocksdb_compactoptions_create();
            rocksdb_compactoptions_set_full_history_ts_low(options, ts.as_mut_ptr().cast(), ts.len());
            assert_eq!((*options).options.full_history_ts_low.as_deref(), Some(&ts[..]));
            rocksdb_compactoptions_set_full_history_ts_low(options, std::ptr::null_mut(), 8);
            assert_eq!((*options).options.full_history_ts_low, None);
            rocksdb_compactoptions_destroy(options);
        }
    }
}
