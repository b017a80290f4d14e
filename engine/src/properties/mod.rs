//! Properties under the names of RocksDB: numbers, texts and maps about a column family and its database.
//!
//! ```text
//!  name ─► numbers    one u64: memtables, files, jobs, caches, snapshots
//!       ├► levels     cfstats and similar properties: flushes and compactions by level
//!       ├► database   dbstats: writes, WAL, write stalls
//!       ├► tables     sums of table properties, lists of SST files
//!       └► cache      the content of the block cache, by role
//! ```
//! Names, formats and units follow `db/internal_stats.cc`. A number at the end of a name is an argument. Names that
//! begin with `ironstone.` do not exist in RocksDB.

mod cache;
mod database;
mod human;
mod levels;
mod numbers;
mod tables;

use std::collections::BTreeMap;

use base::{Level, SequenceNumber};
use lsm::pick::View;
use lsm::pick::score::Scores;

use crate::errors::ErrorState;
use crate::family::{Family, SuperVersion};
use crate::files::{Numbers, Obsolete};
use crate::source::TableCache;
use crate::stats::Stats;
use crate::sync::Arc;

/// The objects that properties are read from.
pub struct PropertyContext<'a> {
    pub tables: &'a TableCache,
    pub obsolete: &'a Obsolete,
    pub numbers: &'a Numbers,
    pub stats: &'a Stats,
    /// See `Snapshots::released_below`.
    pub released_below: SequenceNumber,
    pub snapshots: u64,
    /// Sequence number and time of the oldest snapshot. The time is in seconds since 1970.
    pub oldest_snapshot: Option<(SequenceNumber, u64)>,
    pub errors: &'a ErrorState,
    pub min_wal_to_keep: base::WalNumber,
    /// All zeros if the database is open for reading only.
    pub activity: Activity,
    pub now_seconds: u64,
}

/// The activity of the background.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub struct Activity {
    pub running_flushes: usize,
    pub running_compactions: usize,
    /// Calls of `abort_all_compactions` that were not undone.
    pub compaction_aborts: usize,
    /// The rate to which writes are delayed, in bytes per second. 0: writes are not delayed.
    pub delayed_write_rate: u64,
    pub is_write_stopped: bool,
}

/// Bytes of lost durable writes that the open accepted because of `open_despite_lost_writes`. 0 in a sound database.
pub const LOST_BYTES: &str = "ironstone.lost-bytes";

/// The numbers of the quarantined SST files, separated by spaces: a part of each file cannot be read, so jobs do not
/// use the file. Does not exist in RocksDB.
const QUARANTINED_TABLES: &str = "ironstone.quarantined-tables";

/// The error that stops the writes of the column family. Empty if writes are accepted. Does not exist in RocksDB.
const WRITE_ERROR: &str = "ironstone.write-error";

/// Returns a property as text. Returns `None` if no property has this name.
pub fn property(context: &PropertyContext<'_>, family: &Family, name: &str) -> Option<String> {
    if name == LOST_BYTES {
        return Some(context.stats.database.lost_bytes().to_string());
    }
    if name == QUARANTINED_TABLES {
        let version = family.pin().version.clone();
        let numbers = version.files().filter(|(_, f)| f.is_quarantined()).map(|(_, f)| f.number.to_string());
        return Some(numbers.collect::<Vec<_>>().join(" "));
    }
    if name == WRITE_ERROR {
        return Some(
            context.errors.check_families([family.id()]).err().map_or_else(String::new, |e| e.to_string()),
        );
    }
    let (short, argument) = split(name)?;
    // As in RocksDB, a number at the end of a name is ignored if the property takes no number.
    if let Some(number) = argument.filter(|_| takes_number(short)) {
        return with_number(context, family, short, number);
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

fn with_number(context: &PropertyContext<'_>, family: &Family, short: &str, number: usize) -> Option<String> {
    let version = &family.pin().version;
    if short == "live-sst-files-size-at-temperature" {
        let of = |f: &lsm::table_file::TableFile| usize::from(f.temperature) == number;
        return Some(version.files().filter(|(_, f)| of(f)).map(|(_, f)| f.size).sum::<u64>().to_string());
    }
    let level = Level::from_index(number);
    if level > version.last_level() {
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

/// Returns a numeric property, summed over column families. A block cache that several column families share counts
/// once. A property of the whole database counts once for each column family, as in RocksDB.
pub fn aggregated_int_property(
    context: &PropertyContext<'_>,
    families: &[Arc<Family>],
    name: &str,
) -> Option<u64> {
    let (short, None) = split(name)? else { return None };
    let mut seen = Vec::new();
    let mut sum = 0u64;
    for family in families {
        if short.starts_with("block-cache-") {
            let cache = family.parts().caches.blocks.as_ref().map(Arc::as_ptr);
            if seen.contains(&cache) {
                continue;
            }
            seen.push(cache);
        }
        sum = sum.wrapping_add(numbers::number(context, family, short)?);
    }
    Some(sum)
}

/// Returns a map property: names and values. Returns `None` if no map property has this name.
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
            Some(tables::map(&tables::sum(context, family, Some(Level::from_index(level)))?))
        }
        _ => None,
    }
}

/// Returns the periodic dump for the info log: the database, then each column family. Starts new intervals.
pub fn dump(context: &PropertyContext<'_>, families: &[Arc<Family>]) -> String {
    let mut out = database::text(context);
    for family in families {
        out += &levels::text(context, family, true);
        out += &levels::histogram(family);
    }
    out
}

/// Splits a property name: returns the name without `rocksdb.`, and the number at the end of the name.
fn split(name: &str) -> Option<(&str, Option<usize>)> {
    let short = name.strip_prefix("rocksdb.")?;
    let bare = short.trim_end_matches(|c: char| c.is_ascii_digit());
    if bare.len() == short.len() {
        return Some((short, None));
    }
    Some((bare, Some(short[bare.len()..].parse().ok()?)))
}

/// Returns the scores of the levels of a version, without running compactions.
fn scores(context: &PropertyContext<'_>, pinned: &SuperVersion) -> Scores {
    let view = View {
        version: &pinned.version,
        running: &[],
        oldest_snapshot: context.released_below,
        full_history_ts_low: None,
        young_after: None,
    };
    Scores::compute(&view, &pinned.parts.pick, context.now_seconds)
}

#[cfg(test)]
mod tests;
