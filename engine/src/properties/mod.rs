//! Properties under RocksDB's names: numbers, texts and maps about a family and its database.
//!
//! ```text
//!  name ─► numbers    one u64: memtables, files, jobs, caches, snapshots
//!       ├► levels     cfstats and its kin: what flushes and compactions did to each level
//!       ├► database   dbstats: writes, WAL, stalls
//!       ├► tables     properties of tables added up, lists of files
//!       └► cache      what the block cache holds, by role
//! ```
//! Names, forms and units follow `db/internal_stats.cc`; a name may end in a number, its argument. Names that begin with
//! `ironstone.` are ours.

mod cache;
mod database;
mod human;
mod levels;
mod numbers;
mod tables;

use std::collections::BTreeMap;

use base::SequenceNumber;
use lsm::pick::View;
use lsm::pick::score::Scores;

use crate::errors::ErrorState;
use crate::family::{Family, SuperVersion};
use crate::files::{Numbers, Obsolete};
use crate::source::TableCache;
use crate::stats::Stats;
use crate::sync::Arc;

/// What properties are read from.
pub struct PropertyContext<'a> {
    pub tables: &'a TableCache,
    pub obsolete: &'a Obsolete,
    pub numbers: &'a Numbers,
    pub stats: &'a Stats,
    /// See `Snapshots::released_below`.
    pub released_below: SequenceNumber,
    pub snapshots: u64,
    /// Sequence and time of the oldest snapshot.
    pub oldest_snapshot: Option<(SequenceNumber, u64)>,
    pub errors: &'a ErrorState,
    pub min_wal_to_keep: u64,
    /// Nothing runs in a database opened for reading only.
    pub activity: Activity,
    pub now_seconds: u64,
}

/// What goes on in the background.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub struct Activity {
    pub running_flushes: usize,
    pub running_compactions: usize,
    /// Calls of `abort_all_compactions` that were not undone.
    pub compaction_aborts: usize,
    /// Bytes a second that writes are slowed to; 0 when they are not.
    pub delayed_write_rate: u64,
    pub is_write_stopped: bool,
}

/// Bytes of durable writes that were damaged or gone and that opening did without
/// (`open_despite_lost_writes`); 0 in a sound database.
pub const LOST_BYTES: &str = "ironstone.lost-bytes";

/// Numbers of the tables that jobs go around since a part of them cannot be read, with spaces between. Not one of
/// RocksDB's.
const QUARANTINED_TABLES: &str = "ironstone.quarantined-tables";

/// Why the family's writes are refused; empty while they are taken. Not one of RocksDB's.
const WRITE_ERROR: &str = "ironstone.write-error";

/// A property by name, as text; `None` if there is none of that name.
pub fn property(context: &PropertyContext<'_>, family: &Family, name: &str) -> Option<String> {
    if name == LOST_BYTES {
        return Some(context.stats.database.lost_bytes().to_string());
    }
    if name == QUARANTINED_TABLES {
        let version = family.pin().version.clone();
        let numbers =
            version.files().filter(|(_, f)| f.is_quarantined()).map(|(_, f)| f.number.0.to_string());
        return Some(numbers.collect::<Vec<_>>().join(" "));
    }
    if name == WRITE_ERROR {
        return Some(
            context.errors.check_families([family.id()]).err().map_or_else(String::new, |e| e.to_string()),
        );
    }
    let (short, argument) = split(name)?;
    // RocksDB passes over a number at the end of a name that takes none.
    if let Some(level) = argument.filter(|_| takes_number(short)) {
        return at_level(context, family, short, level);
    }
    match short {
        "stats" => {
            Some(levels::text(context, family, false) + &levels::histogram(family) + &database::text(context))
        }
        "cfstats" => Some(levels::text(context, family, false) + &levels::histogram(family)),
        "cfstats-no-file-histogram" => Some(levels::text(context, family, false)),
        "cf-file-histogram" => Some(levels::histogram(family)),
        "cf-write-stall-stats" => Some(levels::stall_text(family)),
        "dbstats" => Some(database::text(context)),
        "db-write-stall-stats" => Some(database::stall_text(context)),
        "levelstats" => Some(levels::files_and_sizes(family)),
        "sstables" => Some(tables::list(family)),
        "aggregated-table-properties" => Some(tables::text(&tables::sum(context, family, None)?)),
        "block-cache-entry-stats" | "fast-block-cache-entry-stats" => cache::text(family),
        "options-statistics" => context.stats.statistics().map(|s| s.to_string()),
        "blob-stats" => Some(tables::blob_text(family)),
        _ => numbers::number(context, family, short).map(|n| n.to_string()),
    }
}

fn takes_number(short: &str) -> bool {
    short.ends_with("-at-level") || short == "live-sst-files-size-at-temperature"
}

fn at_level(context: &PropertyContext<'_>, family: &Family, short: &str, level: usize) -> Option<String> {
    let version = &family.pin().version;
    if short == "live-sst-files-size-at-temperature" {
        let of = |f: &lsm::file_meta::FileMetaData| usize::from(f.temperature) == level;
        return Some(version.files().filter(|(_, f)| of(f)).map(|(_, f)| f.size).sum::<u64>().to_string());
    }
    if level >= version.num_levels() {
        return None;
    }
    match short {
        "num-files-at-level" => Some(version.level(level).len().to_string()),
        "compression-ratio-at-level" => Some(format!("{:.6}", levels::compression_ratio(version, level))),
        "aggregated-table-properties-at-level" => {
            Some(tables::text(&tables::sum(context, family, Some(level))?))
        }
        _ => None,
    }
}

/// Returns a numeric property. Returns `None` if no property has this name, or if the property is a text.
pub fn int_property(context: &PropertyContext<'_>, family: &Family, name: &str) -> Option<u64> {
    if name == LOST_BYTES {
        return Some(context.stats.database.lost_bytes());
    }
    match split(name)? {
        (short, _) if !takes_number(short) => numbers::number(context, family, short),
        _ => None,
    }
}

/// A numeric property summed over families; a cache that several share counts once.
pub fn aggregated_int_property(
    context: &PropertyContext<'_>,
    families: &[Arc<Family>],
    name: &str,
) -> Option<u64> {
    let (short, None) = split(name)? else { return None };
    if numbers::is_of_database(short) {
        return numbers::number(context, families.first()?, short);
    }
    let mut seen = Vec::new();
    let mut sum = 0u64;
    for family in families {
        if short.starts_with("block-cache-") {
            let cache = family.parts().block_cache.as_ref().map(Arc::as_ptr);
            if seen.contains(&cache) {
                continue;
            }
            seen.push(cache);
        }
        sum = sum.wrapping_add(numbers::number(context, family, short)?);
    }
    Some(sum)
}

/// A property that is a map of names to values; `None` if there is none of that name.
pub fn map_property(
    context: &PropertyContext<'_>,
    family: &Family,
    name: &str,
) -> Option<BTreeMap<String, String>> {
    match split(name)? {
        ("cfstats", None) => Some(levels::map(context, family)),
        ("cf-write-stall-stats", None) => Some(levels::stall_map(&family.stats.lock().stalls)),
        ("dbstats", None) => Some(database::map(context)),
        ("db-write-stall-stats", None) => Some(database::stall_map(context)),
        ("block-cache-entry-stats" | "fast-block-cache-entry-stats", None) => cache::map(family),
        ("aggregated-table-properties", None) => Some(tables::map(&tables::sum(context, family, None)?)),
        ("aggregated-table-properties-at-level", Some(level)) => {
            Some(tables::map(&tables::sum(context, family, Some(level))?))
        }
        _ => None,
    }
}

/// The LOG's periodic dump: the database, then each family; the intervals begin anew.
pub fn dump(context: &PropertyContext<'_>, families: &[Arc<Family>]) -> String {
    let mut out = database::text(context);
    for family in families {
        out += &levels::text(context, family, true);
        out += &levels::histogram(family);
    }
    out
}

/// The name without `rocksdb.`, and the number at its end.
fn split(name: &str) -> Option<(&str, Option<usize>)> {
    let short = name.strip_prefix("rocksdb.")?;
    let bare = short.trim_end_matches(|c: char| c.is_ascii_digit());
    if bare.len() == short.len() {
        return Some((short, None));
    }
    Some((bare, Some(short[bare.len()..].parse().ok()?)))
}

/// The scores of a family's tree as it is.
fn scores(context: &PropertyContext<'_>, pinned: &SuperVersion) -> Scores {
    let view = View {
        version: &pinned.version,
        running: &[],
        oldest_snapshot: context.released_below,
        full_history_ts_low: None,
    };
    Scores::compute(&view, &pinned.parts.pick, context.now_seconds)
}

#[cfg(test)]
mod tests;
