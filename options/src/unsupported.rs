//! Options without effect, and options that are refused because their feature is not built.
//!
//! Each option either acts, or is refused by name, or is a hint. A hint changes speed or housekeeping, and never results.
//! A test checks that the code reads each other option.

use base::{Error, Result};

use super::{CompressionType, DbOptions, FamilyOptions, TableFactory};

/// Hints of the database and of column families: options that are accepted without effect. The doc of each row gives
/// the reason.
pub const HINTS: &[&str] = &[
    "allow_mmap_writes",
    "arena_block_size",
    "async_wal_precreate",
    "avoid_unnecessary_blocking_io",
    "background_close_inactive_wals",
    "delete_obsolete_files_period_micros",
    "dump_malloc_stats",
    "experimental_mempurge_threshold",
    "fast_sst_open",
    "force_consistency_checks",
    "is_fd_close_on_exec",
    "log_readahead_size",
    "lowest_used_cache_tier",
    "memtable_batch_lookup_optimization",
    "memtable_huge_page_size",
    "memtable_insert_with_hint_prefix_extractor",
    "metadata_write_temperature",
    "optimize_manifest_for_recovery",
    "read_io_executor_threads",
    "skip_stats_update_on_db_open",
    "table_cache_numshardbits",
    "use_adaptive_mutex",
    "wal_write_temperature",
];

/// Hints of tables: options that are accepted without effect.
pub const TABLE_HINTS: &[&str] = &["fail_if_no_udi_on_open", "huge_page_tlb_size", "index_block_search_type"];

/// Fields of nested options without effect: the option of the column family, the field and the reason.
pub const FIELD_HINTS: &[(&str, &str, &str)] = &[
    (
        "compaction_options_universal",
        "reduce_file_locking",
        "a compaction reserves its files when the compaction is chosen",
    ),
    (
        "compaction_options_fifo",
        "age_for_warm",
        "as in RocksDB 11.8: `file_temperature_age_thresholds` replaced the field",
    ),
];

/// Options that act only together with a refused option, and options with one accepted effect. A name stands for all
/// options that start with the name.
#[cfg(test)]
pub(super) const DEPENDENT: &[&str] = &[
    "compression_manager",
    "enable_blob_garbage_collection",
    "min_blob_size",
    "prepopulate_blob_cache",
    "wal_filter",
];

/// Returns the names of the options that [`unsupported`] checks.
#[cfg(test)]
pub(super) fn refused() -> impl Iterator<Item = &'static str> {
    let name = |option: &'static str| option.split('=').next().unwrap_or(option);
    DB.iter().map(|gap| gap.option).chain(FAMILY.iter().map(|gap| gap.option)).map(name)
}

/// A feature that is not built, and the option that asks for the feature.
struct Gap<T: 'static> {
    option: &'static str,
    asked: fn(&T) -> bool,
    feature: &'static str,
}

macro_rules! gaps {
    ($ty:ty; $($option:literal $feature:literal |$o:ident| $asked:expr;)*) => {
        &[$(Gap::<$ty> { option: $option, asked: |$o| $asked, feature: $feature },)*]
    };
}

const DB: &[Gap<DbOptions>] = gaps! { DbOptions;
    "wal_compression" "a compressed WAL without the C library of ZSTD"
        |o| o.wal_compression == CompressionType::ZSTD && compress::frames_supported().is_err();
};

const FAMILY: &[Gap<FamilyOptions>] = gaps! { FamilyOptions;
    "table_factory" "a table format that RocksDB does not have" |o| matches!(o.table_factory, TableFactory::Other { .. });
};

/// The refused options that a read-only open refuses too. The other refused options only change new data, and a read-only
/// open accepts these options.
const READING: &[&str] = &["table_factory"];

impl DbOptions {
    /// Returns the sentences of [`DbOptions::unsupported`] for options that a read-only open refuses too.
    pub fn unsupported_for_reading(&self) -> Vec<String> {
        asked(DB, self)
            .filter(|gap| READING.contains(&gap.option))
            .map(|gap| sentence(gap.option, gap.feature, None))
            .collect()
    }

    /// Returns a sentence for each option that asks for a feature that is not built.
    pub fn unsupported(&self) -> Vec<String> {
        asked(DB, self).map(|gap| sentence(gap.option, gap.feature, None)).collect()
    }
}

impl FamilyOptions {
    /// Returns the sentences of [`FamilyOptions::unsupported`] for options that a read-only open refuses too.
    pub fn unsupported_for_reading(&self, family: &str) -> Vec<String> {
        asked(FAMILY, self)
            .filter(|gap| READING.contains(&gap.option))
            .map(|gap| sentence(gap.option, gap.feature, Some(family)))
            .collect()
    }

    /// Returns a sentence for each option that asks for a feature that is not built.
    pub fn unsupported(&self, family: &str) -> Vec<String> {
        asked(FAMILY, self).map(|gap| sentence(gap.option, gap.feature, Some(family))).collect()
    }
}

/// Returns a sentence for each option of a database and its column families that asks for a feature that is not built.
/// An open needs an empty list.
pub fn unsupported<'a>(
    db: &DbOptions,
    families: impl IntoIterator<Item = (&'a str, &'a FamilyOptions)>,
) -> Vec<String> {
    let mut all = db.unsupported();
    families.into_iter().for_each(|(name, options)| all.extend(options.unsupported(name)));
    all
}

/// Returns the names of the hints that are not at their defaults. The open writes these names to the info log.
pub fn changed_hints<'a>(
    db: &DbOptions,
    families: impl IntoIterator<Item = (&'a str, &'a FamilyOptions)>,
) -> Vec<String> {
    let (db_default, mut family_default) = (DbOptions::default(), FamilyOptions::default());
    let mut names: Vec<String> = db.differences(&db_default).into_iter().map(str::to_string).collect();
    let mut fields = Vec::new();
    for (family, options) in families {
        let changed = FIELD_HINTS.iter().filter(|hint| field(options, hint) != field(&family_default, hint));
        fields
            .extend(changed.map(|(option, field, _)| format!("{option}.{field} of column family {family}")));
        // The open replaces 0 by a size.
        family_default.arena_block_size = options.arena_block_size;
        let changed = options.differences(&family_default).into_iter();
        names.extend(changed.map(|name| format!("{name} of column family {family}")));
    }
    let is_hint = |text: &String| {
        let name = text.split(' ').next().unwrap_or_default();
        match name.strip_prefix("table_factory.") {
            Some(name) => TABLE_HINTS.contains(&name),
            None => HINTS.contains(&name),
        }
    };
    names.into_iter().filter(is_hint).chain(fields).collect()
}

/// Returns the text of a field of a nested option. Returns `None` if the option has no such field.
fn field(options: &FamilyOptions, (option, name, _): &(&str, &str, &str)) -> Option<String> {
    match *option {
        "compaction_options_universal" => options.compaction_options_universal.get(name),
        "compaction_options_fifo" => options.compaction_options_fifo.get(name),
        _ => None,
    }
}

/// Returns the first sentence as an error.
///
/// # Errors
/// NotSupported if the list is not empty.
pub fn refuse(unsupported: &[String]) -> Result<()> {
    match unsupported.first() {
        Some(first) => Err(Error::not_supported(first.clone())),
        None => Ok(()),
    }
}

fn asked<'o, T>(gaps: &'static [Gap<T>], options: &'o T) -> impl Iterator<Item = &'static Gap<T>> + 'o {
    gaps.iter().filter(|gap| (gap.asked)(options))
}

fn sentence(option: &str, feature: &str, family: Option<&str>) -> String {
    match family {
        None => format!("option {option}: {feature} is not built in this release"),
        Some(name) => {
            format!("option {option} of column family {name}: {feature} is not built in this release")
        }
    }
}
