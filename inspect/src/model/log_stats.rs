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
        } else if let Some(rest) = line.strip_prefix("rocksdb.block.cache.hit COUNT : ") {
            self.hits = first_number(rest).unwrap_or(0.0) as u64;
        } else if let Some(rest) = line.strip_prefix("rocksdb.block.cache.miss COUNT : ") {
            self.misses = first_number(rest).unwrap_or(0.0) as u64;
        } else if let Some(rest) = line.strip_prefix("Cumulative WAL: ") {
            let per_sync = rest.split_once("syncs, ").and_then(|(_, rest)| first_number(rest));
            self.stats.writes_per_sync = per_sync;
        }
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

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn last_dump_of_statistics_counts() {
        let mut reader = Reader::default();
        for line in [
            "Uptime(secs): 600.0 total, 600.0 interval",
            "Cumulative stall: 00:00:0.000 H:M:S, 0.0 percent",
            "Cumulative WAL: 2000 writes, 10 syncs, 200.00 writes per sync, written: 0.10 GB, 0.20 MB/s",
            "Cumulative stall: 00:01:2.000 H:M:S, 12.5 percent",
            "    capacity : 33554432",
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
        };
        assert_eq!(reader.finish(), expected);
    }
}
