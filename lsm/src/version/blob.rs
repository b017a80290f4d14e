//! Blob files of a version and how much of each is garbage.
//!
//! No record deletes a blob file: it leaves the version by itself once no table can point into it.
//! Tables are linked to the oldest blob file they use; blob files older than any linked one are gone,
//! and of the rest those without links whose every blob is garbage.

use std::collections::{BTreeMap, BTreeSet};
use std::sync::Arc;

use base::error::{Error, Result};
use base::ids::FileNumber;

use super::LevelFiles;

/// Bytes of a blob file's header and footer.
const FRAME_BYTES: u64 = 30 + 32;

/// What never changes about a blob file, and its garbage so far.
#[derive(Clone, Debug, Default, PartialEq, Eq)]
pub struct BlobFile {
    pub number: FileNumber,
    pub total_count: u64,
    /// Bytes of all records: 32 + key + stored value each.
    pub total_bytes: u64,
    pub checksum_method: Vec<u8>,
    pub checksum_value: Vec<u8>,
    pub garbage_count: u64,
    pub garbage_bytes: u64,
}

impl BlobFile {
    /// Size of the file on disk, bytes.
    pub fn file_size(&self) -> u64 {
        self.total_bytes.saturating_add(FRAME_BYTES)
    }

    pub(crate) fn from_record(record: &format::edit::BlobFileAddition) -> Self {
        BlobFile {
            number: FileNumber(record.blob_file_number),
            total_count: record.total_blob_count,
            total_bytes: record.total_blob_bytes,
            checksum_method: record.checksum_method.clone(),
            checksum_value: record.checksum_value.clone(),
            garbage_count: 0,
            garbage_bytes: 0,
        }
    }

    pub(crate) fn to_record(&self) -> format::edit::BlobFileAddition {
        format::edit::BlobFileAddition {
            blob_file_number: self.number.0,
            total_blob_count: self.total_count,
            total_blob_bytes: self.total_bytes,
            checksum_method: self.checksum_method.clone(),
            checksum_value: self.checksum_value.clone(),
        }
    }
}

/// An increase of a blob file's garbage.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub struct BlobGarbage {
    pub number: FileNumber,
    pub count: u64,
    pub bytes: u64,
}

/// All blob files, by number.
pub type BlobFiles = BTreeMap<FileNumber, Arc<BlobFile>>;

/// Drops the blob files that no table can need.
pub(super) fn keep_live(mut blobs: BlobFiles, levels: &[Arc<LevelFiles>], check: bool) -> Result<BlobFiles> {
    let linked: BTreeSet<FileNumber> = levels
        .iter()
        .flat_map(|files| files.iter())
        .filter_map(|f| f.oldest_blob_file)
        .filter(|number| blobs.contains_key(number))
        .collect();
    let Some(&oldest) = linked.first() else { return Ok(BlobFiles::new()) };
    blobs.retain(|number, blob| {
        *number >= oldest && (linked.contains(number) || blob.garbage_count < blob.total_count)
    });
    if check && let Some(blob) = blobs.values().find(|b| b.garbage_count >= b.total_count) {
        return Err(Error::corruption(format!("Blob file #{} consists entirely of garbage", blob.number)));
    }
    Ok(blobs)
}
