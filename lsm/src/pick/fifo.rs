//! The fifo picker.

use super::{Options, Task, View};

pub fn pick(view: &View<'_>, options: &Options, now: u64) -> Option<Task> {
    let _ = (view, options, now);
    todo!()
}

pub fn needs_compaction(view: &View<'_>, options: &Options, now: u64) -> bool {
    let _ = (view, options, now);
    todo!()
}

/// Level 0's score.
pub(super) fn score(version: &crate::version::Version, options: &Options, bytes: u64, runs: usize, now: u64) -> f64 {
    let _ = (version, options, bytes, runs, now);
    0.0
}
