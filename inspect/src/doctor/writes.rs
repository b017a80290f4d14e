//! Rules about write stalls, memtables, levels and background jobs.

use std::collections::BTreeMap;

use base::Level;

use super::finding::{Finding, Severity};
use super::{Facts, SMALL_BYTES, db_number};
use crate::model::{Database, FileKind, StallKind};
use crate::words;

const MIB: f64 = 1048576.0;

/// A smaller write buffer is reported.
const SMALL_BUFFER: f64 = 4.0 * MIB;

pub(super) fn database(db: &Database) -> Vec<Finding> {
    let mut out = stalls(db);
    out.extend(pinned_wals(db));
    if db.data_bytes() < SMALL_BYTES || !db.knows_options() {
        return out;
    }
    let jobs = db_number(db, "max_background_jobs").unwrap_or(2.0);
    let compactions = db_number(db, "max_background_compactions").unwrap_or(-1.0);
    if jobs < 2.0 || compactions == 1.0 {
        let title = "Flushes and compactions share one thread".to_string();
        out.push(
            Finding::new("few-background-jobs", Severity::Warning, title)
                .evidence(format!("max_background_jobs={jobs}"))
                .evidence(format!("max_background_compactions={compactions}"))
                .cost("A long compaction delays all other work, and writers stall.")
                .live("max_background_jobs=4;max_background_compactions=-1;max_background_flushes=-1"),
        );
    }
    let rate = db_number(db, "delayed_write_rate").unwrap_or(0.0);
    if rate > 0.0 && rate < MIB {
        let title = "A delayed writer is almost stopped".to_string();
        out.push(
            Finding::new("delayed-write-rate", Severity::Warning, title)
                .evidence(format!("delayed_write_rate={rate} bytes per second"))
                .cost("A short backlog of compactions becomes a long stop of all writers.")
                .live("delayed_write_rate=16777216"),
        );
    }
    out
}

/// Reports the write stalls of the info log.
fn stalls(db: &Database) -> Vec<Finding> {
    let mut sums: BTreeMap<(&str, &str), (u64, u64)> = BTreeMap::new();
    for stall in &db.log.stalls {
        let (delayed, stopped) = sums.entry((stall.family.as_str(), stall.cause.as_str())).or_default();
        match stall.kind {
            StallKind::Delayed => *delayed += 1,
            StallKind::Stopped => *stopped += 1,
        }
    }
    let mut out = Vec::new();
    for ((family, cause), (delayed, stopped)) in sums {
        // A database can stop a writer once for some milliseconds. Three stops, or one percent of the time, are reported.
        let is_long = db.log.stats.stall_percent.is_none_or(|percent| percent >= 1.0);
        if delayed < 3 && stopped < 3 && (stopped == 0 || !is_long) {
            continue;
        }
        let severity = if stopped > 0 { Severity::Warning } else { Severity::Advice };
        let title = format!("Writers wait because of too many {cause}");
        let mut finding = Finding::new("write-stalls", severity, title)
            .evidence(format!(
                "{} that writers are delayed, {stopped} that writers are stopped",
                words::of(delayed, "message")
            ))
            .cost("Each wait is a slow write for the application.");
        if db.log.older.stalls > 0 {
            let newest = words::count(db.log.stalls.len() as u64);
            let older = words::count(db.log.older.stalls);
            finding =
                finding.evidence(format!("of the newest {newest} messages about stalls; {older} are older"));
        }
        // A dump right after the open knows of no stall.
        if let Some(percent) = db.log.stats.stall_percent.filter(|percent| *percent > 0.0) {
            finding = finding.evidence(format!("writers were stalled {percent} % of the time"));
        }
        let number = |name: &str, fallback: f64| {
            db.family_option(family, name).and_then(|text| text.parse::<f64>().ok()).unwrap_or(fallback)
        };
        let jobs = db_number(db, "max_background_jobs").unwrap_or(2.0).max(2.0) * 2.0;
        out.push(match cause {
            "memtables" => {
                let count = number("max_write_buffer_number", 2.0).max(2.0) + 2.0;
                finding.family(family).live(format!("max_write_buffer_number={count}"))
            }
            _ => finding.live(format!("max_background_jobs={jobs}")),
        });
    }
    out
}

/// Reports a column family without writes. Its WAL number keeps the WALs of the other column families.
fn pinned_wals(db: &Database) -> Option<Finding> {
    let wals: Vec<_> = db.files.iter().filter(|file| file.kind == FileKind::Wal).collect();
    let oldest = db.families.iter().min_by_key(|family| family.wal_number)?;
    let newest = db.families.iter().map(|family| family.wal_number).max()?;
    let held = |from: u64| wals.iter().filter(move |file| file.number >= from);
    let bytes: u64 = held(oldest.wal_number).map(|file| file.size).sum();
    let only: u64 = held(oldest.wal_number).filter(|file| file.number < newest).map(|file| file.size).sum();
    let buffers: f64 = db
        .families
        .iter()
        .filter_map(|family| db.family_option(&family.name, "write_buffer_size")?.parse::<f64>().ok())
        .sum();
    let is_pinned = only >= SMALL_BYTES && held(oldest.wal_number).count() >= 4 && only * 2 > bytes;
    if !is_pinned && (bytes as f64) < (4.0 * buffers).max(64.0 * MIB) {
        return None;
    }
    let limit = (2.0 * buffers).max(64.0 * MIB) as u64;
    let count = held(oldest.wal_number).count() as u64;
    let title = format!("{} of WALs wait for the column family \"{}\"", words::bytes(bytes), oldest.name);
    Some(
        Finding::new("pinned-wals", Severity::Warning, title)
            .evidence(format!("not obsolete: {}", words::of(count, "WAL")))
            .evidence(format!("the column family needs WAL {} and newer", oldest.wal_number))
            .evidence(format!(
                "max_total_wal_size={}",
                db.db_option("max_total_wal_size").unwrap_or_default()
            ))
            .cost("An open replays these WALs, and the disk space is not free.")
            .live(format!("max_total_wal_size={limit}")),
    )
}

pub(super) fn family(facts: &Facts<'_>) -> Vec<Finding> {
    if !facts.db.knows_options() {
        return full_level_0(facts).into_iter().collect();
    }
    let rules: [fn(&Facts<'_>) -> Option<Finding>; 9] = [
        small_write_buffer,
        compaction_off,
        no_limits,
        level_0_triggers,
        full_level_0,
        level_base,
        multiplier,
        small_files,
        pending_limits,
    ];
    rules.iter().filter_map(|rule| rule(facts)).collect()
}

fn small_write_buffer(facts: &Facts<'_>) -> Option<Finding> {
    let (size, bytes) = (facts.number("write_buffer_size")?, facts.family.bytes() as f64);
    if size >= SMALL_BUFFER || bytes < 16.0 * size {
        return None;
    }
    let title = format!("The write buffer is small: {}", words::bytes(size as u64));
    Some(
        facts
            .finding("small-write-buffer", Severity::Warning, title)
            .evidence(format!("write_buffer_size={size}"))
            .evidence(format!("{} were flushed in parts of this size", words::bytes(bytes as u64)))
            .cost("Many small files in level 0 need many compactions. Each byte is written more often.")
            .live("write_buffer_size=67108864"),
    )
}

/// The number of files in level 0 from which a compaction that never starts is reported.
const FILES_WAITING: f64 = 4.0;

fn compaction_off(facts: &Facts<'_>) -> Option<Finding> {
    let files = facts.family.level(Level::ZERO).count() as f64;
    let trigger = facts.number("level0_file_num_compaction_trigger")?;
    let is_manual = facts.has_style("None");
    let is_off = facts.is_on("disable_auto_compactions") || is_manual;
    if !is_off || files < trigger.clamp(1.0, FILES_WAITING) {
        return None;
    }
    let finding = facts
        .finding("compaction-off", Severity::Warning, "Automatic compaction is off".to_string())
        .evidence(format!("level 0 has {}", words::of(files as u64, "file")))
        .evidence(format!("level0_file_num_compaction_trigger={trigger}"))
        .cost("Each read looks into each file of level 0, and writers stop at level0_stop_writes_trigger.");
    Some(match is_manual {
        true => finding
            .evidence("compaction_style=kCompactionStyleNone")
            .reopen("compaction_style=kCompactionStyleLevel"),
        false if trigger > 1000.0 => finding
            .evidence("disable_auto_compactions=true, as PrepareForBulkLoad sets it")
            .live("disable_auto_compactions=false;level0_file_num_compaction_trigger=4"),
        false => finding.evidence("disable_auto_compactions=true").live("disable_auto_compactions=false"),
    })
}

/// Reports limits of write stalls that never act. FIFO compaction has many files in level 0.
fn no_limits(facts: &Facts<'_>) -> Option<Finding> {
    let slowdown = facts.number("level0_slowdown_writes_trigger")?;
    let stop = facts.number("level0_stop_writes_trigger")?;
    let number = |name: &str| facts.number(name).unwrap_or(0.0);
    let is_zero = |name: &str| facts.number(name) == Some(0.0);
    let is_without_bytes =
        is_zero("soft_pending_compaction_bytes_limit") && is_zero("hard_pending_compaction_bytes_limit");
    if !facts.is_leveled() && !facts.is_universal() || stop < 1000.0 && !is_without_bytes {
        return None;
    }
    let files = facts.family.level(Level::ZERO).count() as u64;
    Some(
        facts
            .finding("no-stall-limits", Severity::Advice, "Writers never wait for compactions".to_string())
            .evidence(format!(
                "level0_slowdown_writes_trigger={slowdown}, level0_stop_writes_trigger={stop}"
            ))
            .evidence(format!(
                "soft_pending_compaction_bytes_limit={}, hard_pending_compaction_bytes_limit={}",
                facts.text("soft_pending_compaction_bytes_limit").unwrap_or_default(),
                facts.text("hard_pending_compaction_bytes_limit").unwrap_or_default()
            ))
            .evidence(format!("level 0 has {}", words::of(files, "file")))
            .cost("If writers are faster than compactions, reads become slower and slower and the disk fills, without a warning.")
            .live(changed(&[
                ("level0_slowdown_writes_trigger", slowdown, 20.0),
                ("level0_stop_writes_trigger", stop, 36.0),
                ("soft_pending_compaction_bytes_limit", number("soft_pending_compaction_bytes_limit"), 68_719_476_736.0),
                ("hard_pending_compaction_bytes_limit", number("hard_pending_compaction_bytes_limit"), 274_877_906_944.0),
            ])),
    )
}

fn level_0_triggers(facts: &Facts<'_>) -> Option<Finding> {
    let compaction = facts.number("level0_file_num_compaction_trigger")?;
    let slowdown = facts.number("level0_slowdown_writes_trigger")?;
    let stop = facts.number("level0_stop_writes_trigger")?;
    let is_tight = slowdown >= 0.0 && slowdown < 2.0 * compaction || stop < slowdown + compaction;
    // The rule about limits that never act reports larger limits.
    if !is_tight || compaction < 0.0 || slowdown >= 1000.0 {
        return None;
    }
    let compaction_set = compaction.clamp(2.0, 10.0);
    Some(
        facts
            .finding("level-0-triggers", Severity::Warning, "The limits of level 0 are too close".to_string())
            .evidence(format!(
                "compaction starts at {compaction} files, writers are delayed at {slowdown} and stopped at {stop}"
            ))
            .cost("A compaction has no time to finish before writers are delayed or stopped.")
            .live(changed(&[
                ("level0_file_num_compaction_trigger", compaction, compaction_set),
                ("level0_slowdown_writes_trigger", slowdown, compaction_set * 5.0),
                ("level0_stop_writes_trigger", stop, compaction_set * 9.0),
            ])),
    )
}

/// Returns option text with the new values that differ from the old values. A row has a name, the old value and the new value.
fn changed(rows: &[(&str, f64, f64)]) -> String {
    let parts: Vec<String> = rows
        .iter()
        .filter(|(_, old, new)| old != new)
        .map(|(name, _, new)| format!("{name}={new}"))
        .collect();
    parts.join(";")
}

fn full_level_0(facts: &Facts<'_>) -> Option<Finding> {
    let files = facts.family.level(Level::ZERO).count() as f64;
    let slowdown = facts.number("level0_slowdown_writes_trigger")?;
    if slowdown <= 0.0 || files < slowdown {
        return None;
    }
    let jobs = db_number(facts.db, "max_background_jobs").unwrap_or(2.0).max(2.0) * 2.0;
    Some(
        facts
            .finding(
                "full-level-0",
                Severity::Warning,
                "Level 0 is full: writers are delayed now".to_string(),
            )
            .evidence(format!(
                "level 0 has {} and delays writers at {slowdown}",
                words::of(files as u64, "file")
            ))
            .cost("Writers run at delayed_write_rate or stop. Each read looks into each file.")
            .action(format!("Compact the column family, and give the database max_background_jobs={jobs}.")),
    )
}

fn level_base(facts: &Facts<'_>) -> Option<Finding> {
    let trigger = facts.number("level0_file_num_compaction_trigger")?;
    let level_0 =
        facts.number("write_buffer_size")? * facts.number("min_write_buffer_number_to_merge")? * trigger;
    let base = facts.number("max_bytes_for_level_base")?;
    let below: u64 =
        facts.family.levels().iter().filter(|sum| sum.level > Level::ZERO).map(|sum| sum.bytes).sum();
    let is_small = base * 4.0 < level_0 && below as f64 > base;
    // With a small write buffer, level 0 is small too. The rule about the write buffer then has the change for both.
    let has_small_buffer = facts.number("write_buffer_size")? < SMALL_BUFFER;
    let is_large = base > 16.0 * level_0 && below as f64 > 8.0 * level_0 && !has_small_buffer;
    let is_huge = base >= 64.0 * level_0 && !has_small_buffer;
    if !facts.is_leveled() || level_0 <= 0.0 || !(is_small || is_large || is_huge) {
        return None;
    }
    let (word, cost) = match is_small {
        true => (
            "smaller",
            "The first level overflows with each compaction of level 0, so data moves down at once.",
        ),
        false => (
            "larger",
            "Each compaction of level 0 rewrites the first level, which grows up to this size before data moves down.",
        ),
    };
    Some(
        facts
            .finding("level-base", Severity::Advice, format!("The first level is much {word} than level 0"))
            .evidence(format!(
                "max_bytes_for_level_base={base}, and levels below level 0 have {}",
                words::bytes(below)
            ))
            .evidence(format!(
                "level 0 holds about {} when its compaction starts",
                words::bytes(level_0 as u64)
            ))
            .cost(cost)
            .live(format!("max_bytes_for_level_base={}", level_0.max(4.0 * MIB) as u64)),
    )
}

fn multiplier(facts: &Facts<'_>) -> Option<Finding> {
    let factor = facts.number("max_bytes_for_level_multiplier")?;
    let levels = facts.family.levels().iter().filter(|sum| sum.level > Level::ZERO).count();
    if !facts.is_leveled() || levels == 0 || (4.0..=20.0).contains(&factor) {
        return None;
    }
    let cost = match factor < 4.0 {
        true => "Many levels hold the data. A read visits each level, and data is rewritten in each level.",
        false => "A compaction rewrites a large part of the next level for a small input.",
    };
    Some(
        facts
            .finding(
                "level-multiplier",
                Severity::Advice,
                format!("Each level is {factor} times the level above"),
            )
            .evidence(format!("max_bytes_for_level_multiplier={factor}"))
            .evidence(format!("{} below level 0 have files", words::of(levels as u64, "level")))
            .cost(cost)
            .live("max_bytes_for_level_multiplier=10"),
    )
}

fn small_files(facts: &Facts<'_>) -> Option<Finding> {
    let (target, files) = (facts.number("target_file_size_base")?, facts.family.files.len());
    let bytes = facts.family.bytes();
    if target >= 2.0 * MIB || files < 20 || (bytes as f64) < 16.0 * target {
        return None;
    }
    Some(
        facts
            .finding("small-files", Severity::Advice, "SST files are small".to_string())
            .evidence(format!("target_file_size_base={target}"))
            .evidence(format!("{} hold {}", words::of(files as u64, "file"), words::bytes(bytes)))
            .cost("Each file needs an open file, an index, a filter and an entry in the MANIFEST.")
            .live("target_file_size_base=67108864"),
    )
}

fn pending_limits(facts: &Facts<'_>) -> Option<Finding> {
    let soft = facts.number("soft_pending_compaction_bytes_limit")?;
    let hard = facts.number("hard_pending_compaction_bytes_limit")?;
    let base = facts.number("max_bytes_for_level_base")?;
    let is_low = |limit: f64| limit > 0.0 && limit < 4.0 * base;
    if !is_low(soft) && !is_low(hard) {
        return None;
    }
    let title = "Writers stall for a normal amount of compaction work".to_string();
    Some(
        facts
            .finding("pending-compaction-limits", Severity::Warning, title)
            .evidence(format!("soft_pending_compaction_bytes_limit={soft}"))
            .evidence(format!("hard_pending_compaction_bytes_limit={hard}"))
            .evidence(format!("max_bytes_for_level_base={base}"))
            .cost("Each compaction of the first level can delay or stop writers.")
            .live(changed(&[
                ("soft_pending_compaction_bytes_limit", soft, (16.0 * base).max(68_719_476_736.0)),
                ("hard_pending_compaction_bytes_limit", hard, (64.0 * base).max(274_877_906_944.0)),
            ])),
    )
}
