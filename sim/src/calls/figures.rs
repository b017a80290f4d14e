//! The properties of a database by name, compared with each other and with the files.
//!
//! ```text
//!  numbers   the number and the text of a property are equal, and the aggregated number is the sum over the column families
//!  levels    the sums over all levels and over all temperatures are the totals; a level that does not exist has no property
//!  texts     each text and each map has content
//! ```
//! A name that is no property has no value.

use ironstone::{Db, Family, Temperature};

use super::same;

/// The properties that are numbers. A column family can lack the properties of a cache or of an age.
const NUMBERS: [&str; 42] = [
    "num-running-flushes",
    "num-running-compactions",
    "actual-delayed-write-rate",
    "is-write-stopped",
    "background-errors",
    "num-snapshots",
    "oldest-snapshot-sequence",
    "oldest-snapshot-time",
    "is-file-deletions-enabled",
    "min-log-number-to-keep",
    "min-obsolete-sst-number-to-keep",
    "obsolete-sst-files-size",
    "compaction-abort-count",
    "num-immutable-mem-table",
    "num-immutable-mem-table-flushed",
    "mem-table-flush-pending",
    "cur-size-active-mem-table",
    "cur-size-all-mem-tables",
    "size-all-mem-tables",
    "num-entries-active-mem-table",
    "num-entries-imm-mem-tables",
    "num-deletes-active-mem-table",
    "num-deletes-imm-mem-tables",
    "compaction-pending",
    "num-running-compaction-sorted-runs",
    "estimate-num-keys",
    "estimate-table-readers-mem",
    "estimate-oldest-key-time",
    "num-live-versions",
    "current-super-version-number",
    "estimate-live-data-size",
    "total-sst-files-size",
    "live-sst-files-size",
    "base-level",
    "estimate-pending-compaction-bytes",
    "block-cache-capacity",
    "block-cache-usage",
    "num-blob-files",
    "total-blob-file-size",
    "live-blob-file-size",
    "live-blob-file-garbage-size",
    "blob-cache-capacity",
];

/// The properties that are texts.
const TEXTS: [&str; 9] = [
    "stats",
    "cfstats",
    "cfstats-no-file-histogram",
    "cf-write-stall-stats",
    "dbstats",
    "db-write-stall-stats",
    "levelstats",
    "aggregated-table-properties",
    "blob-stats",
];

/// The properties that are maps.
const MAPS: [&str; 5] =
    ["cfstats", "cf-write-stall-stats", "dbstats", "db-write-stall-stats", "aggregated-table-properties"];

/// Names that are no properties.
const UNKNOWN: [&str; 6] = [
    "",
    "num-snapshots",
    "rocksdb.",
    "rocksdb.no-such-property",
    "rocksdb.num-files-at-level",
    "rocksdb.num-files-at-level64",
];

/// Compares the properties of all column families. No job may run.
///
/// # Errors
/// The first property with an unexpected value.
pub(super) fn compare(db: &Db, families: &[Family]) -> Result<(), String> {
    for short in NUMBERS {
        let name = format!("rocksdb.{short}");
        let mut sum = 0u64;
        for family in families {
            let (number, text) = (family.int_property(&name), family.property(&name));
            same(&name, &number.map(|number| number.to_string()), &text)?;
            sum = sum.wrapping_add(number.unwrap_or(0));
        }
        // Column families can share a block cache, and the database can have the column family of the statistics too.
        let is_whole = db.families().len() == families.len() && !short.starts_with("block-cache-");
        match db.aggregated_int_property(&name) {
            Some(found) if is_whole => same(&format!("{name} of all column families"), &found, &sum)?,
            _ => {}
        }
    }
    families.iter().try_for_each(compare_family)?;
    for name in UNKNOWN {
        let family = &families[0];
        let found = (family.property(name), family.int_property(name), family.property_map(name));
        same(&format!("the property {name:?}"), &found, &(None, None, None))?;
        same(&format!("the sum of {name:?}"), &db.aggregated_int_property(name), &None)?;
    }
    same("lost bytes", &families[0].int_property("ironstone.lost-bytes"), &Some(0))
}

fn compare_family(family: &Family) -> Result<(), String> {
    let number = |name: String| -> Result<u64, String> {
        let text = family.property(&name).ok_or_else(|| format!("{name} does not exist"))?;
        text.parse().map_err(|_| format!("{name} is no number: {text}"))
    };
    let files = family.live_files();
    let levels = family.options().num_levels as usize;
    let mut sum = 0;
    for level in 0..levels {
        sum += number(format!("rocksdb.num-files-at-level{level}"))?;
        let name = format!("rocksdb.compression-ratio-at-level{level}");
        let ratio = family.property(&name).and_then(|text| text.parse::<f64>().ok());
        let has_files = files.iter().any(|file| file.level.index() == level);
        let is_right = ratio.is_some_and(|ratio| if has_files { ratio > 0.0 } else { ratio == -1.0 });
        same(&format!("{name}: {ratio:?}, files {has_files}"), &is_right, &true)?;
        let name = format!("rocksdb.aggregated-table-properties-at-level{level}");
        let found = (family.property(&name).is_some(), family.property_map(&name).is_some());
        same(&name, &found, &(true, true))?;
    }
    same("files of all levels", &sum, &(files.len() as u64))?;
    for name in ["num-files-at-level", "compression-ratio-at-level", "aggregated-table-properties-at-level"] {
        same(name, &family.property(&format!("rocksdb.{name}{levels}")), &None)?;
    }
    let last = Temperature::Ice as u64;
    let of = |temperature| number(format!("rocksdb.live-sst-files-size-at-temperature{temperature}"));
    let all: u64 = (0..=last).map(of).sum::<Result<u64, String>>()?;
    same("bytes of all temperatures", &all, &files.iter().map(|file| file.size).sum())?;
    for short in TEXTS {
        let name = format!("rocksdb.{short}");
        same(&name, &family.property(&name).is_some_and(|text| !text.is_empty()), &true)?;
        same(&name, &family.int_property(&name), &None)?;
    }
    for short in MAPS {
        let name = format!("rocksdb.{short}");
        same(&name, &family.property_map(&name).is_some_and(|map| !map.is_empty()), &true)?;
    }
    Ok(())
}
