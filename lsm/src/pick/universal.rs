//! The universal picker.

use super::{Options, Task, View};

pub fn pick(view: &View<'_>, options: &Options, now: u64) -> Option<Task> {
    let _ = (view, options, now);
    todo!()
}

pub fn needs_compaction(view: &View<'_>, options: &Options, now: u64) -> bool {
    let _ = (view, options, now);
    todo!()
}
