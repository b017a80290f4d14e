//! Properties under RocksDB's names: numbers and texts about a family and its database.
//!
//! Follows `db/internal_stats.cc` for names and forms.

use base::SequenceNumber;
use table::sst::BlockCache;

use crate::family::Family;
use crate::source::TableCache;

/// What properties are read from.
pub struct Ground<'a> {
    pub tables: &'a TableCache,
    pub block_cache: &'a BlockCache,
    pub sequence: SequenceNumber,
    pub snapshots: u64,
    /// Sequence and time of the oldest snapshot.
    pub oldest_snapshot: Option<(SequenceNumber, u64)>,
}

/// A property by name; `None` if there is none of that name.
pub fn property(ground: &Ground<'_>, family: &Family, name: &str) -> Option<String> {
    let short = name.strip_prefix("rocksdb.")?;
    if let Some(level) = short.strip_prefix("num-files-at-level") {
        let level: usize = level.parse().ok()?;
        let version = &family.pin().version;
        return (level < version.num_levels()).then(|| version.level(level).len().to_string());
    }
    match short {
        "levelstats" => Some(level_stats(family)),
        "sstables" => Some(sstables(family)),
        _ => number(ground, family, short).map(|n| n.to_string()),
    }
}

fn number(ground: &Ground<'_>, family: &Family, short: &str) -> Option<u64> {
    let pinned = family.pin();
    let sum = |f: &dyn Fn(&mem::memtable::MemTable) -> u64| pinned.imm.iter().map(|m| f(m)).sum::<u64>();
    let used = |m: &mem::memtable::MemTable| m.memory_used() as u64;
    Some(match short {
        "num-immutable-mem-table" => pinned.imm.len() as u64,
        "cur-size-active-mem-table" => used(&pinned.mem),
        "cur-size-all-mem-tables" | "size-all-mem-tables" => used(&pinned.mem) + sum(&used),
        "num-entries-active-mem-table" => pinned.mem.counts().entries,
        "num-entries-imm-mem-tables" => sum(&|m| m.counts().entries),
        "num-deletes-active-mem-table" => pinned.mem.counts().deletes,
        "num-deletes-imm-mem-tables" => sum(&|m| m.counts().deletes),
        "estimate-table-readers-mem" => ground.tables.memory_bytes() as u64,
        "num-snapshots" => ground.snapshots,
        "oldest-snapshot-sequence" => ground.oldest_snapshot.map_or(0, |(seq, _)| seq),
        "oldest-snapshot-time" => ground.oldest_snapshot.map_or(0, |(_, time)| time),
        "current-super-version-number" => pinned.number,
        "total-sst-files-size" | "live-sst-files-size" => pinned.version.total_bytes(),
        "block-cache-capacity" => ground.block_cache.capacity() as u64,
        "block-cache-usage" => ground.block_cache.usage() as u64,
        "block-cache-pinned-usage" => ground.block_cache.pinned_usage() as u64,
        "estimate-num-keys" => estimate_num_keys(&pinned),
        _ => return None,
    })
}

/// Entries less twice the deletions, as RocksDB estimates it.
fn estimate_num_keys(pinned: &crate::family::SuperVersion) -> u64 {
    let (mut entries, mut deletes) = (0u64, 0u64);
    for mem in std::iter::once(&pinned.mem).chain(pinned.imm.iter()) {
        let counts = mem.counts();
        entries += counts.entries;
        deletes += counts.deletes;
    }
    for (_, file) in pinned.version.files() {
        if let Some(stats) = file.stats() {
            entries += stats.num_entries;
            deletes += stats.num_deletions;
        }
    }
    entries.saturating_sub(deletes.saturating_mul(2))
}

fn level_stats(family: &Family) -> String {
    let mut out = String::from("Level Files Size(MB)\n--------------------\n");
    let version = &family.pin().version;
    for level in 0..version.num_levels() {
        let files = version.level(level);
        out.push_str(&format!("{level:3} {:8} {:8.0}\n", files.len(), files.bytes() as f64 / 1_048_576.0));
    }
    out
}

fn sstables(family: &Family) -> String {
    let mut out = String::new();
    let version = &family.pin().version;
    for level in 0..version.num_levels() {
        out.push_str(&format!("--- level {level} --- version# {} ---\n", family.super_version_number()));
        for file in version.level(level).iter() {
            out.push_str(&format!(" {}:{}{file}\n", file.number, file.size));
        }
    }
    out
}
