//! Compaction pickers: pure functions from a view of a column family to a [`Task`].
//!
//! A picker reads the version, the options, the running compactions and the given time, and returns plain
//! data. It reserves nothing. The caller that runs the task marks its files as being compacted
//! ([`Task::reserve`]) and adds its [`Running`] to the next view.

mod expand;
pub mod fifo;
pub mod leveled;
pub mod manual;
mod options;
mod priority;
pub mod score;
mod task;
pub mod universal;

use base::key::SequenceNumber;

pub use options::{
    Ages, Codecs, FifoOptions, FileSizes, FileTemperatureAge, ForcedBlobGc, LevelSizes, Options, PathOptions,
    Priority, StopStyle, Style, Temperatures, Triggers, UniversalOptions, WriteBuffers,
};
pub use task::{BlobGc, Inputs, Proximal, Reason, Running, Task, TaskOutput};

use crate::version::Version;

/// The input of a picker.
#[derive(Clone, Copy)]
pub struct View<'a> {
    /// The SST files of the column family.
    pub version: &'a Version,
    /// Compactions of this column family that run or wait to run.
    pub running: &'a [Running],
    /// The oldest live snapshot at the time of the last release of a snapshot, or the visible sequence number of that time
    /// if no snapshot was left. Compaction may drop hidden entries below it. 0 before the first release: no entry was kept for
    /// a snapshot that is gone.
    pub oldest_snapshot: SequenceNumber,
    /// With timestamps: `full_history_ts_low` of the column family. Files with newer timestamps are not
    /// marked as bottommost.
    pub full_history_ts_low: Option<&'a [u8]>,
    /// With `preclude_last_level_data_seconds`: the entries that a compaction into the last level leaves one level above. `None`: unknown,
    /// or every entry may go to the last level.
    pub young_after: Option<YoungAfter>,
}

/// The sequence numbers after which entries stay out of the last level.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct YoungAfter {
    /// Entries with larger sequence numbers are too young, unless the properties of their SST file give an older write
    /// time.
    pub age: SequenceNumber,
    /// The oldest live snapshot. Entries with larger sequence numbers may be needed by a snapshot.
    pub snapshot: SequenceNumber,
}

/// Picks a compaction by the compaction style of the column family. Returns `None` if no compaction is needed
/// or all files are reserved.
pub fn pick(view: &View<'_>, options: &Options, now: u64) -> Option<Task> {
    if options.disable_auto_compactions {
        return None;
    }
    let task = match options.style {
        Style::Level => leveled::pick(view, options, now),
        Style::Universal => universal::pick(view, options, now),
        Style::Fifo => fifo::pick(view, options, now),
        Style::None => None,
    };
    task.inspect(|task| task.check(view.version))
}

/// Returns true if there may be a compaction to pick. Computes the scores: the cost is linear in the SST files. A caller that
/// has the scores calls [`is_due`].
pub fn needs_compaction(view: &View<'_>, options: &Options, now: u64) -> bool {
    options.style != Style::None && is_due(&score::Scores::compute(view, options, now), view.version, options)
}

/// Returns true if there may be a compaction to pick, by the scores of the version. The cost does not depend on the number of
/// SST files.
pub fn is_due(scores: &score::Scores, version: &Version, options: &Options) -> bool {
    match options.style {
        Style::Level => version.num_levels() >= 2 && leveled::is_due(scores),
        Style::Universal => universal::is_due(scores),
        Style::Fifo => fifo::is_due(scores),
        Style::None => false,
    }
}
