//! The statistics that RocksDB writes into the info log every ten minutes. The last dump is used.

use std::collections::BTreeMap;

use base::Level;
use serde::{Deserialize, Serialize};

use super::level_number;

/// One level of a column family in a dump of statistics.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq, Serialize, Deserialize)]
pub struct LoggedLevel {
    #[serde(with = "level_number")]
    pub level: Level,
    pub files: u64,
    /// The bytes of the files. The info log rounds them.
    pub bytes: u64,
}

/// The last dump of statistics.
#[derive(Clone, Debug, Default, PartialEq, Serialize, Deserialize)]
pub struct LogStats {
    /// Seconds since the open.
    pub uptime_seconds: Option<f64>,
    /// The percentage of the time in which writers were stalled.
    pub stall_percent: Option<f64>,
    /// The bytes of the block cache, as in the options at the open.
    pub block_cache_bytes: Option<u64>,
    /// The percentage of lookups that the block cache answered.
    pub block_cache_hit_percent: Option<f64>,
    /// Writes of the WAL for each sync.
    pub writes_per_sync: Option<f64>,
    /// The number of writes since the open, of the writes to the WAL, and of the syncs of the WAL. Large numbers are rounded.
    pub writes: Option<u64>,
    pub wal_writes: Option<u64>,
    pub wal_syncs: Option<u64>,
    /// The block cache has two to this power shards.
    pub cache_shard_bits: Option<u32>,
    /// True if a full block cache fails reads.
    pub cache_is_strict: Option<bool>,
    /// True if the options at the open have a rate limiter.
    pub has_rate_limiter: Option<bool>,
    /// The level of the statistics at the open; 5 stands for `kAll`.
    #[serde(default)]
    pub stats_level: Option<u64>,
    /// The number of lookups of keys, and of the lookups that found no value. `None` without tickers.
    #[serde(default)]
    pub lookups: Option<u64>,
    #[serde(default)]
    pub missed_lookups: Option<u64>,
    /// The levels with files, by the name of the column family.
    #[serde(default)]
    pub levels: BTreeMap<String, Vec<LoggedLevel>>,
}

/// Reads the lines of the info log that have no time.
#[derive(Default)]
pub(super) struct Reader {
    stats: LogStats,
    hits: u64,
    misses: u64,
    memtable_hits: u64,
    memtable_misses: u64,
    /// The lookups that level 0, level 1, and the levels below level 1 answered.
    level_hits: [u64; 3],
    /// The column family of the table of levels that the reader is in.
    family: Option<String>,
}

impl Reader {
    pub(super) fn line(&mut self, line: &str) {
        let line = line.trim();
        if self.level_table(line) {
            return;
        }
        if let Some(rest) = line.strip_prefix("Uptime(secs): ") {
            self.stats.uptime_seconds = first_number(rest);
        } else if let Some(rest) = line.strip_prefix("Cumulative stall: ") {
            let percent = rest.split_once("H:M:S, ").and_then(|(_, rest)| first_number(rest));
            self.stats.stall_percent = percent;
        } else if let Some(rest) = line.strip_prefix("capacity : ") {
            self.stats.block_cache_bytes = first_number(rest).map(|n| n as u64);
        } else if let Some(rest) = line.strip_prefix("num_shard_bits : ") {
            self.stats.cache_shard_bits = rest.trim().parse().ok();
        } else if let Some(rest) = line.strip_prefix("strict_capacity_limit : ") {
            self.stats.cache_is_strict = Some(rest.trim() == "1");
        } else if let Some(rest) = line.strip_prefix("Cumulative writes: ") {
            self.stats.writes = rounded(rest);
        } else if let Some((name, number)) = line.split_once(" COUNT : ") {
            self.ticker(name, first_number(number).unwrap_or(0.0) as u64);
        } else if let Some(rest) = line.strip_prefix("Cumulative WAL: ") {
            let per_sync = rest.split_once("syncs, ").and_then(|(_, rest)| first_number(rest));
            self.stats.writes_per_sync = per_sync;
            self.stats.wal_writes = rounded(rest);
            self.stats.wal_syncs = rest.split_once("writes, ").and_then(|(_, rest)| rounded(rest));
        }
    }

    /// Reads a line of the table of the levels. Returns false for a line of another kind.
    fn level_table(&mut self, line: &str) -> bool {
        if let Some(name) = line.strip_prefix("** Compaction Stats [") {
            self.family = name.strip_suffix("] **").map(str::to_string);
            return true;
        }
        let Some(family) = &self.family else { return false };
        if line.starts_with("Level ") {
            // The table of priorities has the same title and no levels.
            self.stats.levels.insert(family.clone(), Vec::new());
            return true;
        }
        let Some(level) = level_row(line) else {
            if line.is_empty() || line.starts_with("Sum") {
                self.family = None;
            }
            return false;
        };
        if let Some(levels) = self.stats.levels.get_mut(family).filter(|_| level.files > 0) {
            levels.push(level);
        }
        true
    }

    fn ticker(&mut self, name: &str, count: u64) {
        let place = match name {
            "rocksdb.block.cache.hit" => &mut self.hits,
            "rocksdb.block.cache.miss" => &mut self.misses,
            "rocksdb.memtable.hit" => &mut self.memtable_hits,
            "rocksdb.memtable.miss" => &mut self.memtable_misses,
            "rocksdb.l0.hit" => &mut self.level_hits[0],
            "rocksdb.l1.hit" => &mut self.level_hits[1],
            "rocksdb.l2andup.hit" => &mut self.level_hits[2],
            _ => return,
        };
        *place = count;
    }

    /// Reads the text of the option `rate_limiter` at the open: an address, or `(nil)`.
    pub(super) fn rate_limiter(&mut self, text: &str) {
        let text = text.trim();
        self.stats.has_rate_limiter =
            Some(text.starts_with("0x") && !text.trim_start_matches(['0', 'x']).is_empty());
    }

    /// Reads the level of the statistics at the open.
    pub(super) fn stats_level(&mut self, text: &str) {
        self.stats.stats_level = text.trim().parse().ok();
    }

    pub(super) fn finish(mut self) -> LogStats {
        let lookups = self.hits.saturating_add(self.misses);
        // With fewer lookups, the rate says nothing about the size of the cache.
        if lookups >= 1000 {
            self.stats.block_cache_hit_percent = Some(100.0 * self.hits as f64 / lookups as f64);
        }
        let key_lookups = self.memtable_hits.saturating_add(self.memtable_misses);
        if key_lookups > 0 {
            let found = self.level_hits.iter().fold(0_u64, |sum, hits| sum.saturating_add(*hits));
            self.stats.lookups = Some(key_lookups);
            self.stats.missed_lookups = Some(self.memtable_misses.saturating_sub(found));
        }
        self.stats
    }
}

/// Reads `L3 161/0 31.70 MB ...`: the level, its files, and its bytes.
fn level_row(line: &str) -> Option<LoggedLevel> {
    let mut words = line.split_whitespace();
    let level = Level::new(words.next()?.strip_prefix('L')?.parse().ok()?);
    let files = words.next()?.split_once('/')?.0.parse().ok()?;
    let size: f64 = words.next()?.parse().ok()?;
    let unit = match words.next()? {
        "KB" => 1_u64 << 10,
        "MB" => 1 << 20,
        "GB" => 1 << 30,
        "TB" => 1 << 40,
        _ => 1,
    };
    Some(LoggedLevel { level, files, bytes: (size * unit as f64) as u64 })
}

fn first_number(text: &str) -> Option<f64> {
    let digits: String = text.chars().take_while(|c| c.is_ascii_digit() || *c == '.').collect();
    digits.parse().ok()
}

/// Reads a number that RocksDB rounds: `9999`, `10K`, `12M`, `3G`, `2T`.
fn rounded(text: &str) -> Option<u64> {
    let digits = text.find(|c: char| !c.is_ascii_digit()).unwrap_or(text.len());
    let number: u64 = text[..digits].parse().ok()?;
    let unit = match text[digits..].chars().next() {
        Some('K') => 1_000,
        Some('M') => 1_000_000,
        Some('G') => 1_000_000_000,
        Some('T') => 1_000_000_000_000,
        _ => 1,
    };
    Some(number.saturating_mul(unit))
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn last_dump_of_statistics_counts() {
        let mut reader = Reader::default();
        for line in [
            "Uptime(secs): 600.0 total, 600.0 interval",
            "Cumulative stall: 00:00:0.000 H:M:S, 0.0 percent",
            "Cumulative writes: 12K writes, 12K keys, 4000 commit groups, 3.0 writes per commit group, ingest: 0.10 GB, 0.20 MB/s",
            "Cumulative WAL: 2000 writes, 10 syncs, 200.00 writes per sync, written: 0.10 GB, 0.20 MB/s",
            "Cumulative stall: 00:01:2.000 H:M:S, 12.5 percent",
            "** Compaction Stats [users] **",
            "Level    Files   Size     Score Read(GB)",
            "------------------------------------",
            "  L0      4/0   622.50 KB   1.0      0.0",
            "  L1      0/0    0.00 KB   0.0      0.0",
            "  L6    161/2    31.50 GB   0.9      0.2",
            " Sum    165/2    31.50 GB   0.0      0.2",
            "** Compaction Stats [users] **",
            "Priority    Files   Size     Score",
            " Low      0/0      0.00 KB   0.0",
            "",
            "    capacity : 33554432",
            "    num_shard_bits : 6",
            "    strict_capacity_limit : 0",
            "rocksdb.block.cache.miss COUNT : 3000",
            "rocksdb.block.cache.hit COUNT : 1000",
            "rocksdb.memtable.hit COUNT : 100",
            "rocksdb.memtable.miss COUNT : 900",
            "rocksdb.l0.hit COUNT : 10",
            "rocksdb.l1.hit COUNT : 20",
            "rocksdb.l2andup.hit COUNT : 300",
        ] {
            reader.line(line);
        }
        let expected = LogStats {
            uptime_seconds: Some(600.0),
            stall_percent: Some(12.5),
            block_cache_bytes: Some(33_554_432),
            block_cache_hit_percent: Some(25.0),
            writes_per_sync: Some(200.0),
            writes: Some(12_000),
            wal_writes: Some(2000),
            wal_syncs: Some(10),
            cache_shard_bits: Some(6),
            cache_is_strict: Some(false),
            has_rate_limiter: Some(true),
            stats_level: Some(5),
            lookups: Some(1000),
            missed_lookups: Some(570),
            levels: [(
                "users".to_string(),
                vec![
                    LoggedLevel { level: Level::ZERO, files: 4, bytes: 637_440 },
                    LoggedLevel { level: Level::new(6), files: 161, bytes: 63 << 29 },
                ],
            )]
            .into(),
        };
        reader.rate_limiter("(nil)");
        reader.rate_limiter("0x55d1c0");
        reader.stats_level(" 5");
        assert_eq!(reader.finish(), expected);
    }
}
