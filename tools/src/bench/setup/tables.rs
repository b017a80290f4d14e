//! The options of SST files, from the flags.

use base::{Error, Result};
use ironstone::{BlockBasedTableOptions, Charged, CuckooTableOptions, PlainTableOptions, TableFactory};

use super::by_number;
use crate::bench::flag_table::Target;
use crate::bench::flags::Flags;

/// Sets the options of the table format.
pub(super) fn table(flags: &Flags, family: &mut ironstone::FamilyOptions) -> Result<()> {
    if let Some(factory) = other_table(flags)? {
        family.table_factory = factory;
        return Ok(());
    }
    let Some(table) = family.table_factory.block_based_mut() else {
        return Err(Error::not_supported("db_bench needs block-based tables"));
    };
    for (target, text) in flags.options() {
        if let Target::Table(name) = target {
            table.set(name, &text)?;
        }
    }
    table.set(
        "checksum",
        by_number(flags, "checksum_type", &["kNoChecksum", "kCRC32c", "kxxHash", "kxxHash64", "kXXH3"])?,
    )?;
    table.set("index_type", index_type(flags)?)?;
    table.set("partition_filters", &flags.bool("partition_index_and_filters").to_string())?;
    // The values of the flag: 0 none, 1 separators, 2 separators and successor. For 2, RocksDB uses the default of
    // the option.
    table.set(
        "index_shortening",
        by_number(
            flags,
            "index_shortening_mode",
            &["kNoShortening", "kShortenSeparators", "kShortenSeparatorsAndSuccessor"],
        )?,
    )?;
    table.set(
        "prepopulate_block_cache",
        by_number(flags, "prepopulate_block_cache", &["kDisable", "kFlushOnly", "kFlushAndCompaction"])?,
    )?;
    let charged = |flag: &str| if flags.bool(flag) { Charged::Enabled } else { Charged::Disabled };
    table.cache_usage_options.compression_dictionary_building_buffer =
        charged("charge_compression_dictionary_building_buffer");
    table.cache_usage_options.filter_construction = charged("charge_filter_construction");
    table.cache_usage_options.block_based_table_reader = charged("charge_table_reader");
    table.cache_usage_options.file_metadata = charged("charge_file_metadata");
    table.cache_usage_options.blob_cache = charged("charge_blob_cache");
    let block_index = if flags.bool("use_data_block_hash_index") {
        "kDataBlockBinaryAndHash"
    } else {
        "kDataBlockBinarySearch"
    };
    table.set("data_block_index_type", block_index)?;
    filter(flags, table)
}

/// Sets the filter policy.
pub(super) fn filter(flags: &Flags, table: &mut BlockBasedTableOptions) -> Result<()> {
    let bits = flags.int("bloom_bits");
    if bits > 0 {
        let kind = if flags.bool("use_ribbon_filter") { "ribbonfilter" } else { "bloomfilter" };
        let rest = if flags.bool("use_ribbon_filter") { "0" } else { "false" };
        table.set("filter_policy", &format!("{kind}:{bits}:{rest}"))?;
    }
    Ok(())
}

/// Returns the index type that the flags ask for.
fn index_type(flags: &Flags) -> Result<&'static str> {
    let partitioned = flags.bool("partition_index_and_filters") || flags.bool("partition_index");
    Ok(if partitioned {
        if flags.bool("use_hash_search") {
            return Err(Error::invalid_argument("use_hash_search is incompatible with partition index"));
        }
        "kTwoLevelIndexSearch"
    } else if flags.bool("use_hash_search") {
        if flags.int("prefix_size") == 0 {
            return Err(Error::invalid_argument("prefix_size not assigned when enable use_hash_search"));
        }
        "kHashSearch"
    } else if flags.bool("index_with_first_key") {
        "kBinarySearchWithFirstKey"
    } else {
        "kBinarySearch"
    })
}

/// Returns the table factory of `--use_plain_table` or `--use_cuckoo_table`.
fn other_table(flags: &Flags) -> Result<Option<TableFactory>> {
    if flags.bool("use_plain_table") {
        let bits = match flags.int("bloom_bits") {
            bits if bits < 0 => PlainTableOptions::default().bloom_bits_per_key,
            bits => i32::try_from(bits).unwrap_or(i32::MAX),
        };
        let user_key_len = u32::try_from(flags.count("key_size")).unwrap_or(u32::MAX);
        let table =
            PlainTableOptions { user_key_len, bloom_bits_per_key: bits, ..PlainTableOptions::default() };
        return Ok(Some(TableFactory::Plain(table)));
    }
    if flags.bool("use_cuckoo_table") {
        let ratio = flags.double("cuckoo_hash_ratio");
        if !(0.0..=1.0).contains(&ratio) {
            return Err(Error::invalid_argument("Invalid cuckoo_hash_ratio"));
        }
        return Ok(Some(TableFactory::Cuckoo(CuckooTableOptions {
            hash_table_ratio: ratio,
            identity_as_first_hash: flags.bool("identity_as_first_hash"),
            ..CuckooTableOptions::default()
        })));
    }
    Ok(None)
}
