//! The planner: an LSM tree without data, in virtual time.
//!
//! ```text
//!  writer ─► memtable ─► flush job ─► Version ─► lsm::pick ─► compaction job ─► lsm::cut ─► Version
//!     ▲                                  └─► lsm::pressure ─► rate of the writer
//! ```
//! The pickers, the cutter and the write stalls are those of the engine. A file is a key range and a number of
//! entries. The writer writes random keys. Each key has the same probability. The number of entries after a merge is
//! then an expected value: in a range of `w` keys, a file with a share `d` of the keys misses a key with the
//! probability `1 - d`.
//!
//! A workload with many flushes is planned from two smaller trees: see [`scale`]. Files of a level without compression have their whole
//! size; `Workload::compression` is the ratio of the other levels.
//!
//! Not modelled: reads, deletes, the speed of the memtable, and the cost of a sync. [`refused`] names the options that the planner
//! cannot plan.

mod chart;
mod merge;
mod refused;
mod scale;
mod tree;

use std::path::Path;
use std::sync::Arc;
use std::sync::atomic::AtomicU64;

use base::{Error, Result};
use options::{CompactionStyle, DbOptions, FamilyOptions, resolve};
use serde::Serialize;

pub use chart::svg;
pub use refused::needs_object;

/// The default of [`Workload::job_rate`] in bytes per second.
pub const JOB_RATE: u64 = 100 << 20;

/// The work of the writer and the speed of the machine.
#[derive(Clone, Debug)]
pub struct Workload {
    /// Bytes of all different keys with their values.
    pub size_bytes: u64,
    /// Bytes of one key with its value.
    pub entry_bytes: u64,
    /// Bytes that the writer writes.
    pub written_bytes: u64,
    /// Bytes per second that the writer offers. `u64::MAX` stands for a writer that has no limit.
    pub write_rate: u64,
    /// Bytes per second that one background job writes.
    pub job_rate: u64,
    /// The number of bytes in an SST file for one byte of the writer.
    pub compression: f64,
}

/// One point of the curves.
#[derive(Clone, Copy, Debug, Default, PartialEq, Serialize)]
pub struct Sample {
    pub seconds: f64,
    pub written_bytes: u64,
    pub write_amplification: f64,
    pub space_amplification: f64,
    /// The number of sorted runs that a lookup may visit.
    pub sorted_runs: usize,
    /// The share of the time since the last sample in which the writer waited.
    pub stalled: f64,
}

/// The result of a simulation.
#[derive(Clone, Debug, Default, Serialize)]
pub struct Forecast {
    pub seconds: f64,
    pub written_bytes: u64,
    pub flushes: u64,
    pub compactions: u64,
    pub flushed_bytes: u64,
    pub compacted_bytes: u64,
    /// Bytes of SST files written for each byte flushed.
    pub write_amplification: f64,
    /// The bytes per second that one job writes: `Workload::job_rate`.
    pub job_rate: u64,
    /// For universal compaction: the write amplification if the jobs are half as fast, and if they are twice as fast. The number of sorted
    /// runs at the start of a job depends on the duration of the job before it.
    pub at_other_rates: Option<(f64, f64)>,
    /// Bytes of SST files for each byte of live data, at the end.
    pub space_amplification: f64,
    /// The mean of the space amplification over the time after the writes of half of `Workload::size_bytes`. It is a better measure than
    /// one moment, because a universal tree grows until a compaction of all data.
    pub space_amplification_mean: f64,
    /// The mean number of sorted runs that a lookup may visit.
    pub read_amplification: f64,
    pub delayed_seconds: f64,
    pub stopped_seconds: f64,
    /// The bytes per second that the background jobs wrote.
    pub disk_bytes_per_second: f64,
    /// The level, its number of files, and its bytes.
    pub levels: Vec<(usize, usize, u64)>,
    pub samples: Vec<Sample>,
    /// Sentences about the limits of the prediction.
    pub notes: Vec<String>,
}

impl Forecast {
    /// Turns the numbers of large simulated SST files into numbers of SST files that are smaller by this factor.
    fn divide_files(&mut self, factor: f64) {
        if factor <= 1.0 {
            return;
        }
        for (_, files, _) in self.levels.iter_mut().filter(|(level, ..)| *level > 0) {
            *files = (*files as f64 * factor) as usize;
        }
        self.notes.push(format!(
            "the simulation has SST files that are {factor:.0} times as large as target_file_size_base: smaller files change an \
             amplification by less than 1 %, but make more and smaller compactions"
        ));
    }
}

/// Predicts the amplifications and the stalls of a workload. Adds to `done` while the simulation runs: the share of
/// `written_bytes` that is planned. At the end, `done` is about `written_bytes` larger.
///
/// # Errors
/// InvalidArgument for a workload without bytes or speed, and for options that a database rejects. NotSupported for options that the
/// planner cannot plan, with their names.
pub fn predict(
    workload: &Workload,
    db: &DbOptions,
    family: &FamilyOptions,
    done: &Arc<AtomicU64>,
) -> Result<Forecast> {
    predict_with(workload, db, family, tree::FIRST_LEVEL_FILES, done)
}

/// Predicts as [`predict`], with this largest number of SST files in a full level 1.
fn predict_with(
    workload: &Workload,
    db: &DbOptions,
    family: &FamilyOptions,
    first_level_files: u64,
    done: &Arc<AtomicU64>,
) -> Result<Forecast> {
    let entries = workload.size_bytes / workload.entry_bytes.max(1);
    let is_valid = workload.entry_bytes > 0
        && entries > 0
        && workload.written_bytes > 0
        && workload.write_rate > 0
        && workload.job_rate > 0
        && workload.compression.is_finite()
        && workload.compression > 0.0;
    if !is_valid {
        return Err(Error::invalid_argument(
            "a plan needs a size, an entry size, a write rate and a job rate above 0",
        ));
    }
    let (mut db, mut families) = (db.clone(), [("default".to_string(), family.clone())]);
    let changed = resolve(Path::new("/plan"), false, &mut db, &mut families)?;
    let [(_, family)] = &families;
    refused::check(workload, family)?;
    let is_universal = family.compaction_style == CompactionStyle::Universal;
    let share = if is_universal { 1.0 / 3.0 } else { 1.0 };
    let run = |job_rate: u64| {
        let workload = Workload { job_rate, ..workload.clone() };
        let setting = tree::Setting::new(&workload, &db, family, first_level_files, (done, share));
        let mut forecast = scale::run(&setting);
        forecast.divide_files(setting.coarseness);
        forecast
    };
    let mut forecast = run(workload.job_rate);
    forecast.job_rate = workload.job_rate;
    forecast.at_other_rates = is_universal.then(|| {
        let of = |job_rate: u64| run(job_rate).write_amplification;
        (of((workload.job_rate / 2).max(1)), of(workload.job_rate.saturating_mul(2)))
    });
    forecast.notes.extend(changed);
    Ok(forecast)
}

/// Reads a size or a rate: `500`, `64MB`, `1.5TiB`, `100MB/s`. `MB` and `MiB` are powers of 1024.
///
/// # Errors
/// InvalidArgument for other text.
pub fn parse_bytes(text: &str) -> Result<u64> {
    let wrong = || Error::invalid_argument(format!("{text:?} is no size; write for example 64MB or 1TB"));
    let trimmed = text.trim().trim_end_matches("/s");
    let at = trimmed.find(|c: char| !c.is_ascii_digit() && c != '.').unwrap_or(trimmed.len());
    let number: f64 = trimmed[..at].parse().map_err(|_| wrong())?;
    let unit = trimmed[at..].trim().to_ascii_uppercase();
    let power = match unit.trim_end_matches('B').trim_end_matches('I') {
        "" => 0,
        "K" => 1,
        "M" => 2,
        "G" => 3,
        "T" => 4,
        "P" => 5,
        _ => return Err(wrong()),
    };
    let bytes = number * 1024_f64.powi(power);
    if bytes.is_finite() && bytes < 1e19 { Ok(bytes as u64) } else { Err(wrong()) }
}

#[cfg(test)]
mod tests;
