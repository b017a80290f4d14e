//! Statistics of one column family: flushes and compactions by level, and the causes of write stalls. RocksDB's
//! `InternalStats::CompactionStats` and its stall counters.

use std::collections::BTreeMap;

use base::Level;

use crate::sync::{Mutex, MutexGuard};

/// The statistics of jobs, by output level or by pool.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub struct LevelNumbers {
    /// Time of the jobs in microseconds.
    pub micros: u64,
    /// CPU time of the jobs in microseconds.
    pub cpu_micros: u64,
    /// Bytes of the input SST files that were not on the output level.
    pub bytes_read_non_output_levels: u64,
    /// Bytes of the input SST files on the output level.
    pub bytes_read_output_level: u64,
    /// Bytes of the output SST files.
    pub bytes_written: u64,
    pub bytes_written_pre_compression: u64,
    /// Bytes of records that were read from blob files, and written to blob files.
    pub bytes_read_blob: u64,
    pub bytes_written_blob: u64,
    /// Bytes of the SST files that trivial moves moved.
    pub bytes_moved: u64,
    /// Entries that the jobs read.
    pub num_input_records: u64,
    pub num_dropped_records: u64,
    /// Entries in the output files.
    pub num_output_records: u64,
    /// The number of jobs.
    pub count: u64,
}

macro_rules! each_field {
    ($a:ident, $b:ident, $op:ident) => {
        LevelNumbers {
            micros: $a.micros.$op($b.micros),
            cpu_micros: $a.cpu_micros.$op($b.cpu_micros),
            bytes_read_non_output_levels: $a
                .bytes_read_non_output_levels
                .$op($b.bytes_read_non_output_levels),
            bytes_read_output_level: $a.bytes_read_output_level.$op($b.bytes_read_output_level),
            bytes_written: $a.bytes_written.$op($b.bytes_written),
            bytes_written_pre_compression: $a
                .bytes_written_pre_compression
                .$op($b.bytes_written_pre_compression),
            bytes_read_blob: $a.bytes_read_blob.$op($b.bytes_read_blob),
            bytes_written_blob: $a.bytes_written_blob.$op($b.bytes_written_blob),
            bytes_moved: $a.bytes_moved.$op($b.bytes_moved),
            num_input_records: $a.num_input_records.$op($b.num_input_records),
            num_dropped_records: $a.num_dropped_records.$op($b.num_dropped_records),
            num_output_records: $a.num_output_records.$op($b.num_output_records),
            count: $a.count.$op($b.count),
        }
    };
}

impl LevelNumbers {
    /// Returns the bytes that the jobs read from SST files and blob files.
    pub fn bytes_read_all(&self) -> u64 {
        self.bytes_read_non_output_levels + self.bytes_read_output_level + self.bytes_read_blob
    }

    /// Returns the bytes that the jobs wrote to SST files and blob files.
    pub fn bytes_written_all(&self) -> u64 {
        self.bytes_written + self.bytes_written_blob
    }

    /// Returns the sum of both, field by field. A sum that overflows wraps.
    pub fn plus(&self, other: &LevelNumbers) -> LevelNumbers {
        each_field!(self, other, wrapping_add)
    }

    /// Returns the difference to `before`, which is an older copy of these statistics.
    pub fn since(&self, before: &LevelNumbers) -> LevelNumbers {
        each_field!(self, before, saturating_sub)
    }
}

/// The cause of a write stall of a column family.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum StallCause {
    /// Too many immutable memtables wait for flush (`max_write_buffer_number`).
    MemtableLimit,
    /// Too many files are on level 0.
    L0FileCountLimit,
    /// Too many bytes wait for compaction.
    PendingCompactionBytes,
}

/// The number of write stalls, by cause.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub struct StallCounts {
    /// Delays and stops, by [`StallCause`].
    pub causes: [(u64, u64); 3],
    pub l0_delays_while_compacting: u64,
    pub l0_stops_while_compacting: u64,
}

impl StallCounts {
    /// Returns the number of delays, of all causes together.
    pub fn delays(&self) -> u64 {
        self.causes.iter().map(|(delays, _)| delays).sum()
    }

    /// Returns the number of stops, of all causes together.
    pub fn stops(&self) -> u64 {
        self.causes.iter().map(|(_, stops)| stops).sum()
    }

    /// Counts the start of a write stall.
    pub fn count(&mut self, cause: StallCause, stop: bool, l0_compacting: bool) {
        let (delays, stops) = &mut self.causes[cause as usize];
        *(if stop { stops } else { delays }) += 1;
        if cause == StallCause::L0FileCountLimit && l0_compacting {
            *(if stop {
                &mut self.l0_stops_while_compacting
            } else {
                &mut self.l0_delays_while_compacting
            }) += 1;
        }
    }
}

/// The jobs with one reason.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub struct ReasonNumbers {
    /// The number of jobs, with the jobs that only moved files.
    pub jobs: u64,
    /// Bytes that the jobs wrote to SST files and blob files.
    pub bytes_written: u64,
}

/// The numbers of the jobs of one kind, by the word of their reason.
pub type Reasons = BTreeMap<&'static str, ReasonNumbers>;

/// All statistics of a column family.
#[derive(Clone, Debug, Default)]
pub struct FamilyNumbers {
    /// By output level. Has no levels below the deepest output level so far.
    pub levels: Vec<LevelNumbers>,
    /// By pool: bottom, low, high, user.
    pub by_pool: [LevelNumbers; 4],
    pub bytes_flushed: u64,
    pub flush_reasons: Reasons,
    pub compaction_reasons: Reasons,
    pub stalls: StallCounts,
    pub ingested: Ingested,
    /// The values at the last periodic dump: uptime, bytes flushed, the sum of the levels, write stalls.
    pub last_dump: (f64, u64, LevelNumbers, u64),
    /// `ingested` at the last periodic dump.
    pub last_ingested: Ingested,
}

/// Counts of ingested files (the `AddFile` lines of `rocksdb.stats`).
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub struct Ingested {
    pub bytes: u64,
    pub files: u64,
    /// Files that went to level 0.
    pub l0_files: u64,
    pub keys: u64,
}

impl FamilyNumbers {
    /// Returns the statistics of a level. All numbers are 0 if no job wrote to the level.
    pub fn level(&self, level: Level) -> LevelNumbers {
        self.levels.get(level.index()).copied().unwrap_or_default()
    }

    /// Adds a flush to its reason and to the bytes that flushes wrote.
    pub fn add_flush(&mut self, reason: &'static str, numbers: &LevelNumbers) {
        self.bytes_flushed += numbers.bytes_written_all();
        count_reason(&mut self.flush_reasons, reason, numbers);
    }

    /// Adds a compaction to its reason.
    pub fn add_compaction(&mut self, reason: &'static str, numbers: &LevelNumbers) {
        count_reason(&mut self.compaction_reasons, reason, numbers);
    }

    /// Adds a job of pool number `pool` with output on `level`.
    pub fn add(&mut self, level: Level, pool: usize, numbers: &LevelNumbers) {
        base::invariant!(level.index() < lsm::version::MAX_LEVELS, "a job has its output on {level}");
        base::invariant!(pool < self.by_pool.len(), "a job ran in pool {pool}, which does not exist");
        if self.levels.len() <= level.index() {
            self.levels.resize(level.index() + 1, LevelNumbers::default());
        }
        self.levels[level.index()] = self.levels[level.index()].plus(numbers);
        if let Some(of_pool) = self.by_pool.get_mut(pool) {
            *of_pool = of_pool.plus(numbers);
        }
    }
}

fn count_reason(reasons: &mut Reasons, reason: &'static str, numbers: &LevelNumbers) {
    let of = reasons.entry(reason).or_default();
    of.jobs += 1;
    of.bytes_written = of.bytes_written.saturating_add(numbers.bytes_written_all());
}

/// The statistics of a column family. Each job writes them once; properties read them.
#[derive(Default)]
pub struct FamilyStats {
    numbers: Mutex<FamilyNumbers>,
}

impl FamilyStats {
    /// Locks the numbers for a read or an update. A leaf lock: take no ranked lock while you hold it.
    pub fn lock(&self) -> MutexGuard<'_, FamilyNumbers> {
        self.numbers.lock()
    }

    /// Sets all numbers to 0.
    pub fn reset(&self) {
        *self.numbers.lock() = FamilyNumbers::default();
    }
}
