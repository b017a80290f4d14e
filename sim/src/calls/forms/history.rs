//! The history of the statistics in a column family of the database (`persist_stats_to_disk`).

use std::collections::BTreeMap;
use std::sync::Arc;

use base::stats::Ticker;
use env::Clock as _;
use ironstone::{Db, Kind, Options, Statistics, WriteOptions};
use testkit::chance::Chance;

use super::super::{same, told, value};
use super::Forms;

/// The ticker that the world compares. The ticker also counts the writes of the history samples.
const WRITTEN: &str = "rocksdb.number.keys.written";

impl Forms {
    /// Writes to a new database while its clock runs. The samples of the history sum up to the ticker, and stay after the next open.
    pub(super) fn keep_history(&mut self, chance: &mut Chance) -> Result<(), String> {
        let path = self.path("history");
        let mut options = self.options.clone();
        options
            .update("persist_stats_to_disk=true;stats_persist_period_sec=2;avoid_flush_during_shutdown=false")
            .map_err(told("options"))?;
        let statistics = Arc::new(Statistics::new());
        options.db.statistics = Some(statistics.clone());
        let db = Db::open(&path, options.clone()).map_err(told("open with a history"))?;
        // The puts since the base of the first sample, by the second of the sample that counts them first.
        let mut puts: BTreeMap<u64, u64> = BTreeMap::new();
        let mut all_puts = 0;
        for period in 0..2 + chance.below(6) {
            for n in 0..chance.below(9) {
                db.put(&[n as u8], &value(chance)).map_err(told("put"))?;
                // The end of the first period is the base of the first sample.
                all_puts += u64::from(period > 0);
            }
            self.end_period(&options);
            puts.insert(self.clock.now_seconds(), all_puts);
        }
        let samples = samples(&db)?;
        let sum: u64 = samples.values().filter_map(|sample| sample.get(WRITTEN)).sum();
        let all = statistics.ticker(Ticker::NumberKeysWritten);
        // A write stall rejects the write of a sample. The next sample then has its numbers.
        let last = samples.keys().next_back();
        let least = last.and_then(|last| puts.range(..=last).next_back()).map_or(0, |(_, puts)| *puts);
        if sum < least || sum > all {
            return Err(format!("{} samples count {sum} of {least} puts and {all} writes", samples.len()));
        }
        if samples.is_empty() {
            let options = WriteOptions { low_pri: true, no_slowdown: true, ..WriteOptions::default() };
            let kind = db.put_with(b"now", b"value", &options).map_err(|error| error.kind());
            same("a history without samples, and writes without a stall", &kind, &Err(Kind::Incomplete))?;
        }
        db.close().map_err(told("close"))?;
        drop(db);
        self.reopen_with_history(&path, &options, &samples)?;
        ironstone::destroy(&path, &options.db).map_err(told("destroy"))
    }

    /// Moves the clock to the end of a period, and runs all jobs.
    fn end_period(&self, options: &Options) {
        self.clock.advance(2_000_000);
        while options.db.env.executor.help() {}
    }

    /// Opens the database again. It has the same samples.
    fn reopen_with_history(
        &self,
        path: &std::path::Path,
        options: &Options,
        expected: &BTreeMap<u64, BTreeMap<String, u64>>,
    ) -> Result<(), String> {
        let db = Db::open(path, options.clone()).map_err(told("second open with a history"))?;
        same("samples after an open", &samples(&db)?, expected)?;
        db.close().map_err(told("close"))
    }
}

fn samples(db: &Db) -> Result<BTreeMap<u64, BTreeMap<String, u64>>, String> {
    let found: Result<BTreeMap<_, _>, _> = db.stats_history(0, u64::MAX).collect();
    found.map_err(told("stats_history"))
}
