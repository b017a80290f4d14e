//! Options of several numbers: compression settings, levels, universal and FIFO compaction, memtables.

use engine::options::{CompressionType, MemtableFactory};

use super::rocksdb_options_t;
use crate::abi::{HasRejected, Place, arguments};
use crate::compaction_options::{rocksdb_fifo_compaction_options_t, rocksdb_universal_compaction_options_t};

c_api! {
    fn rocksdb_options_set_compression_options(
        options: mut rocksdb_options_t, window_bits: i32, level: i32, strategy: i32, max_dict_bytes: i32
    ) {
        let compression = &mut options.family.compression_opts;
        (compression.window_bits, compression.level, compression.strategy) = (window_bits, level, strategy);
        compression.max_dict_bytes = max_dict_bytes as u32;
    }

    fn rocksdb_options_set_bottommost_compression_options(
        options: mut rocksdb_options_t, window_bits: i32, level: i32, strategy: i32, max_dict_bytes: i32,
        enabled: flag
    ) {
        let compression = &mut options.family.bottommost_compression_opts;
        (compression.window_bits, compression.level, compression.strategy) = (window_bits, level, strategy);
        compression.max_dict_bytes = max_dict_bytes as u32;
        compression.enabled = enabled;
    }

    fn rocksdb_options_set_bottommost_compression_options_zstd_max_train_bytes(
        options: mut rocksdb_options_t, zstd_max_train_bytes: i32, enabled: flag
    ) {
        options.family.bottommost_compression_opts.zstd_max_train_bytes = zstd_max_train_bytes as u32;
        options.family.bottommost_compression_opts.enabled = enabled;
    }

    fn rocksdb_options_set_bottommost_compression_options_use_zstd_dict_trainer(
        options: mut rocksdb_options_t, use_zstd_dict_trainer: flag, enabled: flag
    ) {
        options.family.bottommost_compression_opts.use_zstd_dict_trainer = use_zstd_dict_trainer;
        options.family.bottommost_compression_opts.enabled = enabled;
    }

    fn rocksdb_options_set_bottommost_compression_options_max_dict_buffer_bytes(
        options: mut rocksdb_options_t, max_dict_buffer_bytes: u64, enabled: flag
    ) {
        options.family.bottommost_compression_opts.max_dict_buffer_bytes = max_dict_buffer_bytes;
        options.family.bottommost_compression_opts.enabled = enabled;
    }

    /// Sets the compression of each level. Levels past the array have the compression of its last item.
    fn rocksdb_options_set_compression_per_level(
        options: mut rocksdb_options_t, level_values: raw(*const i32), num_levels: usize
    ) {
        // SAFETY: rule 11 of the header: an aligned array of `num_levels` initialized numbers that no thread changes during the call.
        let values = unsafe { arguments::array(level_values, num_levels)? };
        let mut levels = vec![CompressionType::NONE; values.len()];
        options.rejected_mut().remove("compression_per_level");
        for (level, &value) in levels.iter_mut().zip(values) {
            if !Place::<i32>::store(level, value) {
                options.rejected_mut().insert("compression_per_level", f64::from(value));
            }
        }
        options.family.compression_per_level = levels;
    }

    /// Disables compression for level 0 to `level` - 1. The levels from `level` use the compression of the option
    /// `compression`. A negative level changes nothing.
    fn rocksdb_options_set_min_level_to_compress(options: mut rocksdb_options_t, level: i32) {
        if let Ok(level) = usize::try_from(level) {
            let count = usize::try_from(options.family.num_levels).unwrap_or(0);
            let (none, compression) = (CompressionType::NONE, options.family.compression);
            options.family.compression_per_level =
                (0..count).map(|at| if at < level { none } else { compression }).collect();
        }
    }

    fn rocksdb_options_set_max_bytes_for_level_multiplier_additional(
        options: mut rocksdb_options_t, level_values: raw(*mut i32), num_levels: usize
    ) {
        // SAFETY: rule 11 of the header: an aligned array of `num_levels` initialized numbers that no thread changes during the call.
        let values = unsafe { arguments::array(level_values.cast_const(), num_levels)? };
        options.family.max_bytes_for_level_multiplier_additional = values.to_vec();
    }

    /// Copies the universal options.
    fn rocksdb_options_set_universal_compaction_options(
        options: mut rocksdb_options_t, universal: at rocksdb_universal_compaction_options_t
    ) {
        options.family.compaction_options_universal = universal.options;
        options.take_rejected(&universal.rejected, "compaction_options_universal");
    }

    /// Copies the FIFO options.
    fn rocksdb_options_set_fifo_compaction_options(
        options: mut rocksdb_options_t, fifo: at rocksdb_fifo_compaction_options_t
    ) {
        options.family.compaction_options_fifo = fifo.options.clone();
        options.take_rejected(&fifo.rejected, "compaction_options_fifo");
    }

    /// Sets the memtable format to a vector. The vector is sorted when the memtable becomes immutable.
    fn rocksdb_options_set_memtable_vector_rep(options: mut rocksdb_options_t) {
        options.family.memtable_factory = MemtableFactory::Vector { count: 0 };
    }

    /// Sets the memtable format to a hash table of skip lists.
    fn rocksdb_options_set_hash_skip_list_rep(
        options: mut rocksdb_options_t, bucket_count: usize, skiplist_height: i32, skiplist_branching_factor: i32
    ) {
        let fields = [
            ("bucket_count", bucket_count.to_string()),
            ("skiplist_height", skiplist_height.to_string()),
            ("branching_factor", skiplist_branching_factor.to_string()),
        ];
        options.family.memtable_factory = other_memtable("HashSkipListRepFactory", &fields)?;
    }

    /// Sets the memtable format to a hash table of linked lists.
    fn rocksdb_options_set_hash_link_list_rep(options: mut rocksdb_options_t, bucket_count: usize) {
        let fields = [("bucket_count", bucket_count.to_string())];
        options.family.memtable_factory = other_memtable("HashLinkListRepFactory", &fields)?;
    }
}

fn other_memtable(name: &str, fields: &[(&str, String)]) -> base::Result<MemtableFactory> {
    let fields: String = fields.iter().map(|(name, value)| format!("{name}={value};")).collect();
    engine::options::Value::parse(&format!("{{id={name};{fields}}}"))
}

impl rocksdb_options_t {
    /// Rejects the option `name` if the handle that became its value has a rejected value.
    fn take_rejected(&mut self, from: &crate::abi::Rejected, name: &'static str) {
        match from.check() {
            Ok(()) => self.rejected.remove(name),
            Err(_) => self.rejected.insert(name, f64::NAN),
        }
    }
}
