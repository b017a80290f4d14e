//! Planning `compact_range`: one step at a time.

use super::{Options, Task, View};

/// What the caller of `compact_range` asked for. Keys are user keys, both inclusive.
#[derive(Clone, Debug, Default)]
pub struct Request {
    pub begin: Option<Vec<u8>>,
    pub end: Option<Vec<u8>>,
    pub input_level: usize,
    /// Where the output goes; `None`: the next level with files, or the base level.
    pub output_level: Option<usize>,
    pub output_path_id: u32,
    pub max_subcompactions: u32,
    pub blob_gc_age_cutoff: Option<f64>,
    pub blob_gc_force: bool,
    /// Files with larger numbers came after the request (bottommost level) and are left alone.
    pub max_file_number: Option<u64>,
}

/// The answer to one step.
#[derive(Clone, Debug)]
pub enum Step {
    /// Nothing in the range on this level.
    Nothing,
    /// Files in the range are being compacted: ask again when a job has ended.
    Conflict,
    /// Do this; `Some`: the rest of the range, from this user key, stays to be done on this level.
    Do(Box<Task>, Option<Vec<u8>>),
}

/// Plans the next step of a request on its input level.
pub fn plan(view: &View<'_>, options: &Options, request: &Request, now: u64) -> Step {
    let _ = (view, options, request, now);
    todo!()
}
