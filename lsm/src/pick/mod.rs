//! Choosing what to compact: pure functions from a view of the tree to a [`Task`].
//!
//! A picker reads the version, the options, the jobs that run already and the time it is given, and
//! answers with plain data; it reserves nothing. Whoever runs the task marks its files as being
//! compacted ([`Task::reserve`]) and adds its [`Running`] to the next view.

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
    FifoOptions, FileTemperatureAge, ForcedBlobGc, Options, PathOptions, Priority, StopStyle, Style,
    UniversalOptions,
};
pub use task::{BlobGc, Inputs, Reason, Running, Task};

use crate::version::Version;

/// What a picker looks at.
#[derive(Clone, Copy)]
pub struct View<'a> {
    /// The SST files of the column family.
    pub version: &'a Version,
    /// Compactions of this family that run or wait to run.
    pub running: &'a [Running],
    /// The oldest snapshot, or the last sequence when there is none: what is at or below it may go.
    pub oldest_snapshot: SequenceNumber,
    /// With timestamps: the family's low mark; files with newer ones are not marked as bottommost.
    pub full_history_ts_low: Option<&'a [u8]>,
}

/// Picks by the family's compaction style; `None` when nothing needs doing or everything is taken.
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

/// Whether there may be something to pick: cheap enough to ask after every change of the version.
pub fn needs_compaction(view: &View<'_>, options: &Options, now: u64) -> bool {
    match options.style {
        Style::Level => leveled::needs_compaction(view, options, now),
        Style::Universal => universal::needs_compaction(view, options, now),
        Style::Fifo => fifo::needs_compaction(view, options, now),
        Style::None => false,
    }
}
