//! How much each level wants to be compacted.

use std::sync::Arc;

use super::{Options, View};
use crate::file_meta::FileMetaData;

/// Scores and marks of a version at one moment. Derived, cheap to make anew.
#[derive(Clone, Debug, Default)]
pub struct Scores {
    /// (level, score), highest score first. At 1 or more the level wants compaction.
    pub by_level: Vec<(usize, f64)>,
    /// The level that level 0 is compacted into.
    pub base_level: usize,
    /// Target size of each level, bytes; `u64::MAX` above the base level.
    pub max_bytes: Vec<u64>,
    /// `max_bytes_for_level_multiplier`, as adapted for dynamic levels.
    pub level_multiplier: f64,
    pub estimated_pending_bytes: u64,
    /// Level-0 files for the write stall triggers.
    pub l0_delay_trigger_count: usize,
    pub marked: Vec<(usize, Arc<FileMetaData>)>,
    pub bottommost_marked: Vec<(usize, Arc<FileMetaData>)>,
    pub ttl_expired: Vec<(usize, Arc<FileMetaData>)>,
    pub periodic: Vec<(usize, Arc<FileMetaData>)>,
}

impl Scores {
    pub fn compute(view: &View<'_>, options: &Options, now: u64) -> Self {
        let _ = (view, options, now);
        todo!()
    }
}
