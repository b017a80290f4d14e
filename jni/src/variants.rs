//! The natives that have another descriptor in another release of the Java classes.
//!
//! | native | 8.10.0 | 9.8.4 and 10.1.3 | 11.8.1 |
//! |---|---|---|---|
//! | `BlockBasedTableConfig.newTableFactoryHandle` | 29 arguments | 29 arguments | 34 arguments |
//! | `DBOptions.setLogger`, `Options.setLogger` | options, logger | and the type of the logger | as before |
//! | `RocksDB.enableFileDeletions` | database, force | database | database |
//!
//! [`all`] lists the functions; `load` registers what the loaded class declares. The exported symbols have the newest form.
//! `RocksDB.deleteFile` and `RocksDB.abortAllCompactions` are in the list because only some releases declare them: the list
//! distinguishes the releases, except releases whose natives have the same descriptors.
//! `setLogger` is not in the list: the function does not need the type of the logger, and the caller of a C function removes
//! the arguments. So one symbol serves all releases, and the load of the library loads neither `Options` nor `DBOptions`:
//! the JVM needs longer for these two classes than for the library.

use std::ffi::c_void;

use jni_sys::JNIEnv;

use crate::db::database;
use crate::handle::Handle;
use crate::java::JObject;
use crate::load::Variant;
use crate::logger::set_logger;
use crate::native::{frame, natives};
use crate::table::{BlockBased, CacheArguments, LayoutArguments, Newest};

unsafe extern "C" {
    /// Exported by this library. Only the address is used.
    fn Java_org_rocksdb_RocksDB_deleteFile();
    /// Exported by this library. Only the address is used.
    fn Java_org_rocksdb_RocksDB_abortAllCompactions();
}

const OLD_TABLE: &str = "(ZZZZBBDBZJJJIIIJZZZJZZIIZZBJI)J";
const NEW_TABLE: &str = "(ZZZZBBDBZJJJIIIJZZZJZZIIZDZZJJBBJI)J";

/// Returns the variants of all natives, in the order of `load::Release`.
pub fn all() -> Vec<Variant> {
    let variant = |class, name, descriptor, function| Variant { class, name, descriptor, function };
    vec![
        variant(
            "org/rocksdb/BlockBasedTableConfig",
            "newTableFactoryHandle",
            NEW_TABLE,
            new_table as *const c_void,
        ),
        variant(
            "org/rocksdb/BlockBasedTableConfig",
            "newTableFactoryHandle",
            OLD_TABLE,
            old_table as *const c_void,
        ),
        variant("org/rocksdb/RocksDB", "enableFileDeletions", "(J)V", enable_file_deletions as *const c_void),
        variant("org/rocksdb/RocksDB", "enableFileDeletions", "(JZ)V", force_file_deletions as *const c_void),
        variant(
            "org/rocksdb/RocksDB",
            "deleteFile",
            "(JLjava/lang/String;)V",
            Java_org_rocksdb_RocksDB_deleteFile as *const c_void,
        ),
        variant(
            "org/rocksdb/RocksDB",
            "abortAllCompactions",
            "(J)V",
            Java_org_rocksdb_RocksDB_abortAllCompactions as *const c_void,
        ),
    ]
}

natives! {
    /// Newer classes pass the type of the logger as a third argument.
    fn Options_setLogger | DBOptions_setLogger[_](options: Handle, logger: Handle) {
        set_logger(options, logger)?;
    }

    fn RocksDB_enableFileDeletions[_](db: Handle) {
        database(db)?.enable_file_deletions(false)?;
    }
}

/// # Safety
/// The JVM calls this function as a native.
unsafe extern "system" fn enable_file_deletions(env: *mut JNIEnv, _: JObject<'_>, db: Handle) {
    // SAFETY: the JVM calls a native with the environment of the thread.
    unsafe {
        frame(env, "enableFileDeletions", |_| {
            database(db)?.enable_file_deletions(false)?;
            Ok(())
        })
    }
}

/// Enables file deletions. With `force`, undoes all calls that disabled them; otherwise undoes one call.
///
/// # Safety
/// The JVM calls this function as a native.
unsafe extern "system" fn force_file_deletions(env: *mut JNIEnv, _: JObject<'_>, db: Handle, force: u8) {
    // SAFETY: the JVM calls a native with the environment of the thread.
    unsafe {
        frame(env, "enableFileDeletions", |_| {
            database(db)?.enable_file_deletions(force != 0)?;
            Ok(())
        })
    }
}

macro_rules! table_natives {
    ($($name:ident, $form:ident;)*) => {$(
        table_natives!(@ $form $name);
    )*};
    (@ old $name:ident) => {
        /// # Safety
        /// The JVM calls this function as a native.
        unsafe extern "system" fn $name(
            env: *mut JNIEnv, _: JObject<'_>,
            z1: u8, z2: u8, z3: u8, z4: u8, index_type: i8, data_index: i8, util_ratio: f64, checksum: i8, no_cache: u8,
            block_cache: Handle, persistent_cache: Handle, block_size: i64, deviation: i32, restart: i32,
            index_restart: i32, metadata_size: i64, partition: u8, optimize_memory: u8, delta: u8, filter: Handle,
            whole_key: u8, verify: u8, read_amp: i32, format_version: i32, index_compression: u8, align: u8,
            shortening: i8, cache_size: i64, shard_bits: i32,
        ) -> Handle {
            let arguments = table_natives!(@ arguments (
                z1 z2 z3 z4 index_type data_index util_ratio checksum no_cache block_cache persistent_cache block_size
                deviation restart index_restart metadata_size partition optimize_memory delta filter whole_key verify
                read_amp format_version index_compression align shortening cache_size shard_bits) None);
            // SAFETY: the JVM calls a native with the environment of the thread.
            unsafe { frame(env, "newTableFactoryHandle", |_| arguments.make()) }
        }
    };
    (@ new $name:ident) => {
        /// # Safety
        /// The JVM calls this function as a native.
        #[unsafe(export_name = "Java_org_rocksdb_BlockBasedTableConfig_newTableFactoryHandle")]
        unsafe extern "system" fn $name(
            env: *mut JNIEnv, _: JObject<'_>,
            z1: u8, z2: u8, z3: u8, z4: u8, index_type: i8, data_index: i8, util_ratio: f64, checksum: i8, no_cache: u8,
            block_cache: Handle, persistent_cache: Handle, block_size: i64, deviation: i32, restart: i32,
            index_restart: i32, metadata_size: i64, partition: u8, optimize_memory: u8, delta: u8, filter: Handle,
            whole_key: u8, verify: u8, read_amp: i32, format_version: i32, separate: u8, uniform_cv: f64,
            index_compression: u8, align: u8, super_align: i64, super_overhead: i64, shortening: i8, search: i8,
            cache_size: i64, shard_bits: i32,
        ) -> Handle {
            let newest = Newest {
                separate_key_value_in_data_block: separate != 0,
                uniform_cv_threshold: uniform_cv,
                super_block_alignment_size: super_align,
                super_block_alignment_space_overhead_ratio: super_overhead,
                index_block_search_type: search,
            };
            let arguments = table_natives!(@ arguments (
                z1 z2 z3 z4 index_type data_index util_ratio checksum no_cache block_cache persistent_cache block_size
                deviation restart index_restart metadata_size partition optimize_memory delta filter whole_key verify
                read_amp format_version index_compression align shortening cache_size shard_bits) Some(newest));
            // SAFETY: the JVM calls a native with the environment of the thread.
            unsafe { frame(env, "newTableFactoryHandle", |_| arguments.make()) }
        }
    };
    (@ arguments ($z1:ident $z2:ident $z3:ident $z4:ident $index_type:ident $data_index:ident $util_ratio:ident
        $checksum:ident $no_cache:ident $block_cache:ident $persistent_cache:ident $block_size:ident $deviation:ident
        $restart:ident $index_restart:ident $metadata_size:ident $partition:ident $optimize_memory:ident $delta:ident
        $filter:ident $whole_key:ident $verify:ident $read_amp:ident $format_version:ident $index_compression:ident
        $align:ident $shortening:ident $cache_size:ident $shard_bits:ident) $newest:expr) => {
        BlockBased {
            layout: LayoutArguments {
                block_size: $block_size,
                block_size_deviation: $deviation,
                block_restart_interval: $restart,
                index_block_restart_interval: $index_restart,
                metadata_block_size: $metadata_size,
                block_align: $align != 0,
            },
            cache: CacheArguments {
                cache_index_and_filter_blocks: $z1 != 0,
                cache_index_and_filter_blocks_with_high_priority: $z2 != 0,
                pin_l0_filter_and_index_blocks_in_cache: $z3 != 0,
                pin_top_level_index_and_filter: $z4 != 0,
                no_block_cache: $no_cache != 0,
                block_cache: $block_cache,
                persistent_cache: $persistent_cache,
                block_cache_size: $cache_size,
                block_cache_num_shard_bits: $shard_bits,
            },
            index_type: $index_type,
            data_block_index_type: $data_index,
            data_block_hash_table_util_ratio: $util_ratio,
            checksum: $checksum,
            partition_filters: $partition != 0,
            optimize_filters_for_memory: $optimize_memory != 0,
            use_delta_encoding: $delta != 0,
            filter_policy: $filter,
            whole_key_filtering: $whole_key != 0,
            verify_compression: $verify != 0,
            read_amp_bytes_per_bit: $read_amp,
            format_version: $format_version,
            enable_index_compression: $index_compression != 0,
            index_shortening: $shortening,
            newest: $newest,
        }
    };
}
table_natives! {
    new_table, new;
    old_table, old;
}
