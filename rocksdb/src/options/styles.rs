//! The options of universal and FIFO compaction, and the paths of files.

use std::path::Path;

use super::place::{Rejected, setters};
use crate::{Error, UniversalCompactionStopStyle};

/// Options of FIFO compaction.
#[derive(Default)]
pub struct FifoCompactOptions {
    pub(crate) inner: ironstone::CompactionOptionsFifo,
    pub(crate) rejected: Rejected,
}

setters! {
    FifoCompactOptions, |o|;
    set_max_table_files_size(u64) => inner.max_table_files_size;
}

/// Options of universal compaction.
#[derive(Default)]
pub struct UniversalCompactOptions {
    pub(crate) inner: ironstone::CompactionOptionsUniversal,
    pub(crate) rejected: Rejected,
}

setters! {
    UniversalCompactOptions, |o|;
    set_size_ratio(i32) => inner.size_ratio;
    set_min_merge_width(i32) => inner.min_merge_width;
    set_max_merge_width(i32) => inner.max_merge_width;
    set_max_size_amplification_percent(i32) => inner.max_size_amplification_percent;
    set_compression_size_percent(i32) => inner.compression_size_percent;
    set_stop_style(UniversalCompactionStopStyle) => inner.stop_style;
}

/// A directory for SST files, and the target size of the files in the directory, in bytes.
pub struct DBPath {
    pub(crate) path: ironstone::DbPath,
}

impl DBPath {
    /// Returns a path.
    ///
    /// # Errors
    /// None.
    pub fn new<P: AsRef<Path>>(path: P, target_size: u64) -> Result<Self, Error> {
        Ok(DBPath { path: ironstone::DbPath { path: path.as_ref().to_path_buf(), target_size } })
    }
}
