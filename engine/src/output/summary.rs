//! The lines of the info log that describe the LSM tree after a job, in the wording of RocksDB: programs parse them.
//!
//! Source: RocksDB `db/version_set.cc` (`LevelSummary`), `db/compaction/compaction.cc` (`InputLevelSummary`),
//! `db/compaction/compaction_job.cc` (`CompactionJob::Install`).

use base::{FileNumber, Level};
use lsm::pick::score::Scores;
use lsm::pick::{Style, Task, View};
use lsm::version::Version;

use super::JobTools;
use crate::family::Family;
use crate::stats::LevelNumbers;

/// Returns the inputs and the output level of a compaction: `3@0 + 2@3 files to L4` for 3 files of level 0 and 2 files
/// of level 3.
pub fn input_summary(task: &Task) -> String {
    let inputs = task.inputs.iter().filter(|input| !input.files.is_empty());
    let inputs: Vec<_> = inputs.map(|input| format!("{}@{}", input.files.len(), input.level.get())).collect();
    format!("{} files to {}", inputs.join(" + "), task.output.level)
}

/// Returns the number of SST files on each level.
pub fn files_by_level(version: &Version) -> Vec<usize> {
    version.levels().map(|level| version.level(level).len()).collect()
}

/// Returns the oldest and the newest blob file. `None` without blob files.
pub fn live_blob_files(version: &Version) -> Option<(FileNumber, FileNumber)> {
    let mut numbers = version.blobs().keys().copied();
    let oldest = numbers.next()?;
    Some((oldest, numbers.next_back().unwrap_or(oldest)))
}

/// Returns the number of SST files on each level of a column family, the largest score, and the bytes that wait for a
/// compaction.
pub fn level_summary(tools: &JobTools, family: &Family) -> String {
    let (pinned, full_history_ts_low) = (family.pin_owned(), family.state().full_history_ts_low.clone());
    let (version, options) = (&pinned.version, &pinned.parts.pick);
    let view = View {
        version,
        running: &[],
        oldest_snapshot: tools.snapshots.released_below(),
        full_history_ts_low: full_history_ts_low.as_deref(),
        young_after: None,
    };
    let scores = Scores::compute(&view, options, tools.env.clock.now_seconds());
    let mut out = String::new();
    // Without files below level 0 no level has a target yet.
    let base = scores.max_bytes.get(scores.base_level.index()).filter(|bytes| **bytes < u64::MAX);
    if options.style == Style::Level
        && version.num_levels() > 1
        && scores.level_multiplier != 0.0
        && let Some(max_bytes) = base
    {
        out = format!(
            "base level {} level multiplier {:.2} max bytes base {max_bytes} ",
            scores.base_level.get(),
            scores.level_multiplier
        );
    }
    let files: Vec<_> = files_by_level(version).iter().map(usize::to_string).collect();
    let score = scores.by_level.iter().map(|(_, score)| *score).fold(0.0, f64::max);
    out += &format!(
        "files[{}] max score {score:.2}, estimated pending compaction bytes {}",
        files.join(" "),
        scores.estimated_pending_bytes
    );
    if !scores.marked.is_empty() {
        out += &format!(" ({} files need compaction)", scores.marked.len());
    }
    out
}

/// Returns the rates and amplifications of a compaction. `files` has four numbers: input files on other levels than the
/// output level, input files on the output level, new SST files, and new blob files.
pub fn rates(numbers: &LevelNumbers, output_level: Level, files: [usize; 4]) -> String {
    let mb = |bytes: u64| bytes as f64 / 1_048_576.0;
    let per_micro = |bytes: u64| if numbers.micros == 0 { 0.0 } else { bytes as f64 / numbers.micros as f64 };
    let (read, written) = (numbers.bytes_read_all(), numbers.bytes_written_all());
    let came = numbers.bytes_read_non_output_levels + numbers.bytes_read_blob;
    let share = |bytes: u64| if came == 0 { 0.0 } else { bytes as f64 / came as f64 };
    let [other_inputs, inputs_of_output_level, outputs, blob_outputs] = files;
    format!(
        "MB/sec: {:.1} rd, {:.1} wr, level {}, files in({other_inputs}, {inputs_of_output_level}) \
         filtered(0, 0) out({outputs} +{blob_outputs} blob) MB in({:.1}, {:.1} +{:.1} blob) filtered(0.0, 0.0) \
         out({:.1} +{:.1} blob), read-write-amplify({:.1}) write-amplify({:.1}) OK, records in: {}, \
         records dropped: {}",
        per_micro(read),
        per_micro(written),
        output_level.get(),
        mb(numbers.bytes_read_non_output_levels),
        mb(numbers.bytes_read_output_level),
        mb(numbers.bytes_read_blob),
        mb(numbers.bytes_written),
        mb(numbers.bytes_written_blob),
        share(written + read),
        share(written),
        numbers.num_input_records,
        numbers.num_dropped_records
    )
}
