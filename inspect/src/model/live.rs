//! The facts that only the process with the open database knows: memory, running jobs, slow operations, counters.
//!
//! ```text
//!  process ─► Running::facts ─► Live ─► pages
//!                                └─► Counters ─► History: one sample for each period, at most 720 samples
//! ```
//! The values are plain data. The crate `ironstone` fills them, so a page does not depend on a handle.

use serde::Serialize;

/// A database that a process has open. The pages call the methods from several threads.
pub trait Running: Send + Sync {
    /// Returns the current facts.
    fn facts(&self) -> Live;

    /// Returns the current counters. The server calls this every two seconds.
    fn counters(&self) -> Counters;

    /// Makes a change. Returns a sentence about the result.
    ///
    /// # Errors
    /// A sentence that says why the change was rejected.
    fn change(&self, change: &Change) -> Result<String, String>;
}

/// A change that a user of the pages asks for.
#[derive(Clone, Debug, PartialEq, Eq)]
pub enum Change {
    /// Flush the memtables of a column family.
    Flush { family: u32 },
    /// Compact the whole key range of a column family.
    Compact { family: u32 },
    /// Set options of a column family by name, or of the database.
    Set { family: Option<String>, text: String },
}

/// The facts at one time.
#[derive(Clone, Debug, Default, Serialize)]
pub struct Live {
    pub memory: Holder,
    pub disk: Vec<DiskShare>,
    pub kept: Kept,
    /// Slow operations of the last ten minutes.
    pub slow: Vec<SlowKind>,
    pub stalls: Vec<SlowStall>,
    pub counters: Counters,
    /// The numbers of the SST files that a running compaction reads.
    pub compacting: Vec<u64>,
    /// The work of jobs on each level with files.
    pub levels: Vec<LevelWork>,
    /// The lookups by the place of their entry, if the database has statistics.
    pub found: Option<Found>,
}

/// The work of flushes and compactions on one level since the open.
#[derive(Clone, Debug, Default, PartialEq, Eq, Serialize)]
pub struct LevelWork {
    pub family: String,
    pub level: u64,
    /// The bytes of the SST files now.
    pub bytes: u64,
    pub written_bytes: u64,
    pub read_bytes: u64,
}

/// The number of lookups that found their entry in memtables, in level 0, in level 1, and in deeper levels.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq, Serialize)]
pub struct Found {
    pub memtables: u64,
    pub level_0: u64,
    pub level_1: u64,
    pub deeper: u64,
}

/// A component that uses memory. Its bytes include the bytes of its parts.
#[derive(Clone, Debug, Default, PartialEq, Eq, Serialize)]
pub struct Holder {
    pub name: String,
    pub bytes: u64,
    pub parts: Vec<Holder>,
}

/// The SST files of one column family, level, age and temperature.
#[derive(Clone, Debug, Default, PartialEq, Eq, Serialize)]
pub struct DiskShare {
    pub family: String,
    pub level: u64,
    pub age: &'static str,
    /// RocksDB's number of the temperature; 0 unknown.
    pub temperature: u8,
    pub files: u64,
    pub bytes: u64,
}

/// The reasons why files exist that the newest version does not need.
#[derive(Clone, Debug, Default, PartialEq, Eq, Serialize)]
pub struct Kept {
    pub versions: Vec<KeptVersion>,
    pub snapshots: u64,
    /// Seconds since 1970.
    pub oldest_snapshot: Option<u64>,
    pub deletions_disabled: bool,
    pub obsolete_bytes: u64,
    /// The bytes of block caches that readers pin.
    pub pinned_bytes: u64,
}

/// An older version that has readers.
#[derive(Clone, Debug, Default, PartialEq, Eq, Serialize)]
pub struct KeptVersion {
    pub family: String,
    /// The numbers of the files that only older versions need, and their bytes.
    pub files: Vec<u64>,
    pub bytes: u64,
    /// The iterators and the compactions that read the version. The first value is their number. The second value is a time in
    /// seconds since 1970: from this time on, at least one of them has read the version.
    pub iterators: Option<(u64, u64)>,
    pub compactions: Option<(u64, u64)>,
}

/// The slow operations of one kind, in nanoseconds.
#[derive(Clone, Debug, Default, PartialEq, Eq, Serialize)]
pub struct SlowKind {
    pub operation: &'static str,
    pub median_nanos: Option<u64>,
    pub count: u64,
    pub nanos: u64,
    pub nanos_max: u64,
    /// The cause, the number of operations that it slowed down, and the nanoseconds.
    pub causes: Vec<(&'static str, u64, u64)>,
    pub unexplained_nanos: u64,
}

/// The write stalls with one reason.
#[derive(Clone, Debug, Default, PartialEq, Eq, Serialize)]
pub struct SlowStall {
    pub family: Option<String>,
    pub trigger: String,
    pub stopped: bool,
    pub count: u64,
    pub nanos: u64,
    pub ended_by: String,
    pub options: &'static str,
}

/// Counters since the open, and current sums.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq, Serialize)]
pub struct Counters {
    /// Microseconds since 1970.
    pub at_micros: u64,
    pub user_bytes: u64,
    pub wal_bytes: u64,
    pub flushed_bytes: u64,
    pub compacted_bytes: u64,
    pub compaction_read_bytes: u64,
    pub stall_micros: u64,
    /// The number of sorted runs of the column family that has the most.
    pub sorted_runs: u64,
    pub sst_bytes: u64,
    /// Bytes of live data, as an estimate of the database.
    pub live_bytes: u64,
    pub pending_compaction_bytes: u64,
    pub running_flushes: u64,
    pub running_compactions: u64,
    pub write_stopped: bool,
    /// The delayed write rate in bytes per second; 0 if writes are not delayed.
    pub delayed_write_rate: u64,
}

/// One sample of the history: the rates between two readings of the counters.
#[derive(Clone, Copy, Debug, Default, PartialEq, Serialize)]
pub struct Sample {
    /// Microseconds since 1970.
    pub at_micros: u64,
    /// The counters at that time.
    pub counters: Counters,
    /// SST bytes written for each byte flushed, since the previous sample. `None` without flushed bytes.
    pub write_amplification: Option<f64>,
    /// SST bytes for each byte of live data. `None` without live data.
    pub space_amplification: Option<f64>,
    /// The share of the time since the previous sample in which a writer waited. At most 1.
    pub stalled: f64,
}

/// The samples of a server since its start. A full history drops every second sample and doubles its period.
#[derive(Debug)]
pub struct History {
    samples: Vec<Sample>,
    period_micros: u64,
}

/// A history with more samples drops every second sample.
const SAMPLES_MAX: usize = 720;

impl History {
    /// Returns an empty history with this period.
    pub fn new(period_micros: u64) -> History {
        History { samples: Vec::new(), period_micros: period_micros.max(1) }
    }

    /// Adds a reading. A reading before the end of the period is ignored.
    pub fn add(&mut self, now: Counters) {
        let before = self.samples.last().map(|sample| sample.counters);
        if before.is_some_and(|before| now.at_micros < before.at_micros.saturating_add(self.period_micros)) {
            return;
        }
        self.samples.push(Sample::between(before.as_ref(), &now));
        if self.samples.len() > SAMPLES_MAX {
            self.thin();
        }
    }

    /// Keeps every second sample. The rates are then the rates between the kept samples.
    fn thin(&mut self) {
        let kept: Vec<Counters> = self.samples.iter().step_by(2).map(|sample| sample.counters).collect();
        let before = std::iter::once(None).chain(kept.iter().map(Some));
        self.samples = before.zip(&kept).map(|(before, now)| Sample::between(before, now)).collect();
        self.period_micros = self.period_micros.saturating_mul(2);
    }

    /// Returns the samples, oldest first.
    pub fn samples(&self) -> &[Sample] {
        &self.samples
    }
}

impl Sample {
    fn between(before: Option<&Counters>, now: &Counters) -> Sample {
        let since = |of: fn(&Counters) -> u64| of(now).saturating_sub(before.map_or(0, of));
        let (flushed, compacted) = (since(|c| c.flushed_bytes), since(|c| c.compacted_bytes));
        let ratio = |part: u64, whole: u64| (whole > 0).then(|| part as f64 / whole as f64);
        // The counters of the first reading cover an unknown time, because no sample comes before it.
        let stalled = before.map_or(0.0, |before| {
            let elapsed = now.at_micros.saturating_sub(before.at_micros).max(1);
            (since(|c| c.stall_micros) as f64 / elapsed as f64).min(1.0)
        });
        Sample {
            at_micros: now.at_micros,
            counters: *now,
            write_amplification: ratio(flushed.saturating_add(compacted), flushed),
            space_amplification: ratio(now.sst_bytes, now.live_bytes),
            stalled,
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    fn reading(seconds: u64) -> Counters {
        Counters {
            at_micros: seconds * 1_000_000,
            flushed_bytes: seconds * 10,
            compacted_bytes: seconds * 30,
            stall_micros: seconds * 250_000,
            sst_bytes: 300,
            live_bytes: 200,
            ..Counters::default()
        }
    }

    #[test]
    fn samples_have_the_rates_between_two_readings() {
        let mut history = History::new(1_000_000);
        [10, 10, 12].into_iter().for_each(|seconds| history.add(reading(seconds)));
        let samples = history.samples();
        assert_eq!(samples.len(), 2, "the second reading is before the end of the period");
        assert_eq!((samples[0].stalled, samples[1].stalled), (0.0, 0.25));
        assert_eq!(samples[1].write_amplification, Some(4.0));
        assert_eq!(samples[1].space_amplification, Some(1.5));
    }

    #[test]
    fn full_history_keeps_its_whole_span_with_fewer_samples() {
        let mut history = History::new(1_000_000);
        (0..5000).for_each(|seconds| history.add(reading(seconds)));
        let samples = history.samples();
        assert!(samples.len() <= SAMPLES_MAX && samples.len() > SAMPLES_MAX / 4);
        assert_eq!(samples[0].at_micros, 0);
        assert!(samples[samples.len() - 1].at_micros > 4_900_000_000);
        assert!(samples[1..].iter().all(|sample| sample.write_amplification == Some(4.0)));
    }
}
