//! Rules about memtables: their memory, their structure, and flushes before a memtable is full.

use super::finding::{Finding, Severity};
use super::{Facts, db_number, flag};
use crate::model::{Database, JobKind};
use crate::words;

const GIB: f64 = 1_073_741_824.0;

/// A sum of memtables above this many bytes is reported if the database holds less.
const MEMORY_MAX: f64 = 4.0 * GIB;

/// With fewer flushes, a reason of flushes is not reported.
const FLUSHES_MIN: u64 = 8;

pub(super) fn database(db: &Database) -> Vec<Finding> {
    let rules: [fn(&Database) -> Option<Finding>; 4] = [memory, wal_full, shared_limit, one_inserter];
    rules.iter().filter_map(|rule| rule(db)).collect()
}

/// Returns an option of each column family as a number.
fn of_families<'a>(db: &'a Database, name: &'a str) -> impl Iterator<Item = f64> + 'a {
    db.families.iter().filter_map(move |family| db.family_option(&family.name, name)?.parse().ok())
}

/// Returns the sum of the memory of all memtables, if each column family fills all its memtables.
fn memory_of_all(db: &Database) -> f64 {
    let counts = of_families(db, "max_write_buffer_number");
    of_families(db, "write_buffer_size").zip(counts).map(|(size, count)| size * count.max(1.0)).sum()
}

fn memory(db: &Database) -> Option<Finding> {
    let most = memory_of_all(db);
    let is_limited = db_number(db, "db_write_buffer_size").is_some_and(|limit| limit > 0.0);
    if is_limited || most <= MEMORY_MAX || most < db.data_bytes() as f64 {
        return None;
    }
    let title = format!("Memtables may use {} of memory", words::bytes(most as u64));
    Some(
        Finding::new("memtable-memory", Severity::Warning, title)
            .evidence(format!(
                "{} with write_buffer_size times max_write_buffer_number of {} in total",
                words::of(db.families.len() as u64, "column family"),
                words::bytes(most as u64)
            ))
            .evidence("db_write_buffer_size=0 sets no common limit")
            .evidence(format!("the whole database has {}", words::bytes(db.data_bytes())))
            .cost("If many column families are written at the same time, the process can run out of memory. After a crash, the open replays all of this data.")
            .reopen(format!("db_write_buffer_size={}", GIB as u64)),
    )
}

/// Returns the flushes for this reason, all flushes, and the mean size of their files in bytes.
fn flushes(db: &Database, reason: &str) -> (u64, u64, f64) {
    let count = db.log.flush_reasons.get(reason).copied().unwrap_or(0);
    let jobs = db.log.jobs_of(JobKind::Flush);
    let (flushed_bytes, _) = db.log.written();
    (count, db.log.flush_reasons.values().sum(), flushed_bytes as f64 / jobs.max(1) as f64)
}

/// Returns true if most flushes have this reason and their files are small.
fn is_early(db: &Database, reason: &str, largest: f64) -> bool {
    let (count, all, mean) = flushes(db, reason);
    count >= FLUSHES_MIN && count * 2 > all && mean > 0.0 && mean * 8.0 < largest
}

fn wal_full(db: &Database) -> Option<Finding> {
    let largest = of_families(db, "write_buffer_size").fold(0.0, f64::max);
    let all: f64 = of_families(db, "write_buffer_size").sum();
    let limit = db_number(db, "max_total_wal_size").unwrap_or(0.0);
    let is_low = limit > 0.0 && limit < largest;
    if !is_low && !is_early(db, "WAL Full", largest) {
        return None;
    }
    let (count, flushes, _) = flushes(db, "WAL Full");
    let wish = (2.0 * all).max(256.0 * 1_048_576.0) as u64;
    Some(
        Finding::new(
            "wal-limit",
            Severity::Warning,
            "Memtables are flushed early: the WALs are at their limit".to_string(),
        )
        .evidence(format!("max_total_wal_size={limit}"))
        .evidence(format!("write_buffer_size={largest} of the largest memtable"))
        .evidence(format!("{count} of {} for the reason \"WAL Full\"", words::of(flushes, "flush")))
        .cost("Each flush writes a small file into level 0, and each small file needs a compaction.")
        .live(format!("max_total_wal_size={wish}")),
    )
}

fn shared_limit(db: &Database) -> Option<Finding> {
    let largest = of_families(db, "write_buffer_size").fold(0.0, f64::max);
    let limit = db_number(db, "db_write_buffer_size").unwrap_or(0.0);
    let is_low = limit > 0.0 && limit < largest;
    if !is_low && !is_early(db, "Write Buffer Manager", largest) {
        return None;
    }
    let (count, flushes, _) = flushes(db, "Write Buffer Manager");
    let wish = (memory_of_all(db) / 2.0).clamp(largest, GIB.max(largest)) as u64;
    Some(
        Finding::new(
            "shared-memtable-limit",
            Severity::Warning,
            "Memtables are flushed early: they share too little memory".to_string(),
        )
        .evidence(format!("db_write_buffer_size={limit}"))
        .evidence(format!("write_buffer_size={largest} of the largest memtable"))
        .evidence(format!(
            "{count} of {} for the reason \"Write Buffer Manager\"",
            words::of(flushes, "flush")
        ))
        .cost("A memtable is flushed before it is full. Each small file in level 0 needs a compaction.")
        .reopen(format!("db_write_buffer_size={wish}")),
    )
}

/// Reports writers that insert one after the other. Some structures of memtables and updates in place need this.
fn one_inserter(db: &Database) -> Option<Finding> {
    let is_needed = |family: &crate::model::Family| {
        let text = |name: &str| db.family_option(&family.name, name).unwrap_or_default();
        !text("memtable_factory").to_ascii_lowercase().contains("skip")
            || text("inplace_update_support") == "true"
    };
    if flag(db, "allow_concurrent_memtable_write") != Some(false) || db.families.iter().any(is_needed) {
        return None;
    }
    Some(
        Finding::new(
            "one-memtable-writer",
            Severity::Advice,
            "Writers insert into the memtable one after the other".to_string(),
        )
        .evidence("allow_concurrent_memtable_write=false")
        .evidence(format!("{} of data", words::bytes(db.data_bytes())))
        .cost("With several writing threads, the leader of a write group does the work of all threads.")
        .reopen("allow_concurrent_memtable_write=true"),
    )
}

pub(super) fn family(facts: &Facts<'_>) -> Vec<Finding> {
    if !facts.db.knows_options() {
        return Vec::new();
    }
    let rules: [fn(&Facts<'_>) -> Option<Finding>; 6] =
        [merged_flushes, retained, vector, in_place, unused_filter, large_arena];
    rules.iter().filter_map(|rule| rule(facts)).collect()
}

/// Reports a flush that starts only when no memtable is left for writers.
fn merged_flushes(facts: &Facts<'_>) -> Option<Finding> {
    let merged = facts.number("min_write_buffer_number_to_merge")?;
    let count = facts.number("max_write_buffer_number")?;
    if merged < 2.0 || merged + 1.0 < count {
        return None;
    }
    let title = "Writers stop during each flush".to_string();
    Some(
        facts
            .finding("late-flush", Severity::Warning, title)
            .evidence(format!("min_write_buffer_number_to_merge={merged}"))
            .evidence(format!("max_write_buffer_number={count}"))
            .cost("A flush starts when all memtables but the active memtable are full. Writers fill the active memtable and wait.")
            .live(format!("max_write_buffer_number={}", merged + 2.0)),
    )
}

/// Reports a limit of flushed memtables that is much larger than the memtables of writers. Transactions with optimistic locks need
/// flushed memtables, but only for the length of a transaction.
fn retained(facts: &Facts<'_>) -> Option<Finding> {
    let limit = facts.number("max_write_buffer_size_to_maintain")?;
    let count = facts.number("max_write_buffer_number")?;
    let buffers = facts.number("write_buffer_size")? * count.max(1.0);
    if limit <= GIB.max(4.0 * buffers) {
        return None;
    }
    let title = "Flushed memtables stay in memory".to_string();
    Some(
        facts
            .finding("retained-memtables", Severity::Warning, title)
            .evidence(format!("max_write_buffer_size_to_maintain={limit}"))
            .evidence(format!("all memtables of writers have {}", words::bytes(buffers as u64)))
            .evidence(format!("{} are in this column family", words::bytes(facts.family.bytes())))
            .cost("The process keeps a copy of the flushed data in memory, up to this limit for each column family.")
            .reopen("max_write_buffer_size_to_maintain=0"),
    )
}

fn vector(facts: &Facts<'_>) -> Option<Finding> {
    if !facts.text("memtable_factory")?.to_ascii_lowercase().contains("vector") {
        return None;
    }
    let title = "The memtable is a vector: each read sorts it".to_string();
    Some(
        facts
            .finding("vector-memtable", Severity::Warning, title)
            .evidence("memtable_factory=VectorRepFactory")
            .evidence(format!("{} are in this column family", words::bytes(facts.family.bytes())))
            .cost("The vector is made for loads without reads. A lookup or a seek copies and sorts the whole memtable.")
            .reopen("memtable_factory=SkipListFactory"),
    )
}

fn in_place(facts: &Facts<'_>) -> Option<Finding> {
    if !facts.is_on("inplace_update_support") {
        return None;
    }
    let title = "Values are overwritten in the memtable: snapshots are not stable".to_string();
    Some(
        facts
            .finding("in-place-updates", Severity::Warning, title)
            .evidence("inplace_update_support=true")
            .evidence(format!("{} are in this column family", words::bytes(facts.family.bytes())))
            .cost("A snapshot or an iterator can see a value that is newer than the snapshot. Writers take a lock for each key.")
            .reopen("inplace_update_support=false"),
    )
}

fn unused_filter(facts: &Facts<'_>) -> Option<Finding> {
    let ratio = facts.number("memtable_prefix_bloom_size_ratio")?;
    let prefix = facts.text("prefix_extractor").unwrap_or_default();
    let has_prefix = !matches!(prefix.trim(), "" | "nullptr");
    if ratio <= 0.0 || has_prefix || facts.is_on("memtable_whole_key_filtering") {
        return None;
    }
    let title = "The filter of the memtable holds no keys".to_string();
    Some(
        facts
            .finding("unused-memtable-filter", Severity::Advice, title)
            .evidence(format!("memtable_prefix_bloom_size_ratio={ratio} without prefix_extractor"))
            .evidence("memtable_whole_key_filtering=false")
            .cost(
                "A lookup searches the memtable for each missing key, although the options ask for a filter.",
            )
            .live("memtable_whole_key_filtering=true"),
    )
}

/// Ironstone chooses the size of the chunks of a memtable, so the rule is about RocksDB.
fn large_arena(facts: &Facts<'_>) -> Option<Finding> {
    let (arena, buffer) = (facts.number("arena_block_size")?, facts.number("write_buffer_size")?);
    if facts.db.is_ironstone() || buffer <= 0.0 || arena * 4.0 <= buffer {
        return None;
    }
    let title = "A memtable is taken from memory in few large chunks".to_string();
    Some(
        facts
            .finding("large-arena", Severity::Advice, title)
            .evidence(format!("arena_block_size={arena}"))
            .evidence(format!("write_buffer_size={buffer}"))
            .cost("A memtable is flushed when its last chunk does not fit, so a flush writes less than write_buffer_size. An empty memtable uses a whole chunk.")
            .live("arena_block_size=1048576"),
    )
}
