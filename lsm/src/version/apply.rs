//! From one version to the next.

use std::sync::Arc;

use base::error::Result;
use base::ids::FileNumber;

use super::{BlobFile, BlobGarbage, Version};
use crate::file_meta::FileMetaData;

/// A change of the tree. Applied in this order: blob files, garbage, deletions, additions, cursors.
#[derive(Clone, Debug, Default)]
pub struct Edit {
    pub blobs_added: Vec<BlobFile>,
    pub blob_garbage: Vec<BlobGarbage>,
    pub deleted: Vec<(usize, FileNumber)>,
    pub added: Vec<(usize, Arc<FileMetaData>)>,
    pub cursors: Vec<(usize, Vec<u8>)>,
}

impl Version {
    /// The version after the edits, consistency checked as RocksDB checks it.
    ///
    /// # Errors
    /// Corruption, naming the files: a file deleted that is not there, added twice, overlapping its
    /// neighbours on a sorted level, level-0 files whose order is not told; blob garbage beyond its file.
    pub fn apply(&self, edits: &[Edit]) -> Result<Version> {
        let _ = edits;
        todo!()
    }
}
