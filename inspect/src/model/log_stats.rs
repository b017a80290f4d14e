//! The statistics that RocksDB writes into the info log every ten minutes. The last dump is used.

use serde::{Deserialize, Serialize};

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
}

/// Reads the lines of the info log that have no time.
#[derive(Default)]
pub(super) struct Reader {
    stats: LogStats,
    hits: u64,
    misses: u64,
}

impl Reader {
    pub(super) fn line(&mut self, line: &str) {
        let line = line.trim();
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
        } else if let Some(rest) = line.strip_prefix("rocksdb.block.cache.hit COUNT : ") {
            self.hits = first_number(rest).unwrap_or(0.0) as u64;
        } else if let Some(rest) = line.strip_prefix("rocksdb.block.cache.miss COUNT : ") {
            self.misses = first_number(rest).unwrap_or(0.0) as u64;
        } else if let Some(rest) = line.strip_prefix("Cumulative WAL: ") {
            let per_sync = rest.split_once("syncs, ").and_then(|(_, rest)| first_number(rest));
            self.stats.writes_per_sync = per_sync;
            self.stats.wal_writes = rounded(rest);
            self.stats.wal_syncs = rest.split_once("writes, ").and_then(|(_, rest)| rounded(rest));
        }
    }

    /// Reads the text of the option `rate_limiter` at the open: an address, or `(nil)`.
    pub(super) fn rate_limiter(&mut self, text: &str) {
        let text = text.trim();
        self.stats.has_rate_limiter =
            Some(text.starts_with("0x") && !text.trim_start_matches(['0', 'x']).is_empty());
    }

    pub(super) fn finish(mut self) -> LogStats {
        let lookups = self.hits.saturating_add(self.misses);
        // With fewer lookups, the rate says nothing about the size of the cache.
        if lookups >= 1000 {
            self.stats.block_cache_hit_percent = Some(100.0 * self.hits as f64 / lookups as f64);
        }
        self.stats
    }
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
            "    capacity : 33554432",
            "    num_shard_bits : 6",
            "    strict_capacity_limit : 0",
            "rocksdb.block.cache.miss COUNT : 3000",
            "rocksdb.block.cache.hit COUNT : 1000",
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
        };
        reader.rate_limiter("(nil)");
        reader.rate_limiter("0x55d1c0");
        assert_eq!(reader.finish(), expected);
    }
}
