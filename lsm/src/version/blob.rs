//! Blob files of a version and how much of each is garbage.
//!
//! No version edit deletes a blob file. A blob file leaves the version when no SST file can refer to it. Each SST file is
//! linked to the oldest blob file that it refers to. A version drops the blob files that are older than all linked blob
//! files. It also drops the blob files that have no link and consist of garbage alone.
//!
//! Source: RocksDB `db/blob/blob_file_meta.h`, `db/version_builder.cc`.

use base::{FileNumber, Level};
use std::collections::{BTreeMap, BTreeSet};
use std::sync::Arc;

use base::error::{Error, Result};

use super::LevelFiles;

/// Size of the header and the footer of a blob file in bytes.
const FRAME_BYTES: u64 = 30 + 32;

/// A shared marker of a blob file. Each version that has the blob file holds a reference to the marker. If there is a reference
/// besides the caller's, a version needs the file.
#[derive(Debug, Default, PartialEq, Eq)]
pub struct InUse(());

/// A blob file, with its garbage in one version.
#[derive(Clone, Debug, Default, PartialEq, Eq)]
pub struct BlobFile {
    /// The number in the name of the file.
    pub number: FileNumber,
    /// The number of blobs in the file.
    pub total_count: u64,
    /// Bytes of all records. A record has 32 bytes, the key and the stored value.
    pub total_bytes: u64,
    /// The name of the checksum method. Empty if the file has no checksum.
    pub checksum_method: Vec<u8>,
    /// The checksum of the file. Empty if the file has no checksum.
    pub checksum_value: Vec<u8>,
    /// The number of blobs that no SST file needs.
    pub garbage_count: u64,
    /// The bytes of the blobs that no SST file needs.
    pub garbage_bytes: u64,
    /// The marker that all versions with this blob file share.
    pub in_use: Arc<InUse>,
}

impl BlobFile {
    /// Returns the size of the file in bytes.
    pub fn file_size(&self) -> u64 {
        self.total_bytes.saturating_add(FRAME_BYTES)
    }

    /// Makes the blob file that a record of the MANIFEST adds.
    pub fn from_record(record: &format::edit::BlobFileAddition) -> Self {
        BlobFile {
            number: record.blob_file_number,
            total_count: record.total_blob_count,
            total_bytes: record.total_blob_bytes,
            checksum_method: record.checksum_method.clone(),
            checksum_value: record.checksum_value.clone(),
            garbage_count: 0,
            garbage_bytes: 0,
            in_use: Arc::default(),
        }
    }

    /// Returns the record that adds the blob file to the MANIFEST.
    pub fn to_record(&self) -> format::edit::BlobFileAddition {
        format::edit::BlobFileAddition {
            blob_file_number: self.number,
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
    /// The number in the name of the blob file.
    pub number: FileNumber,
    /// The number of blobs that became garbage.
    pub count: u64,
    /// The bytes of the blobs that became garbage.
    pub bytes: u64,
}

impl BlobGarbage {
    /// Returns the record that adds the garbage to the MANIFEST.
    pub fn to_record(&self) -> format::edit::BlobFileGarbage {
        format::edit::BlobFileGarbage {
            blob_file_number: self.number,
            garbage_blob_count: self.count,
            garbage_blob_bytes: self.bytes,
        }
    }
}

/// Sums over the blob files of a version.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub struct BlobTotals {
    /// The number of blob files.
    pub files: u64,
    /// Bytes of the files.
    pub file_bytes: u64,
    /// Bytes of records that no entry refers to.
    pub garbage_bytes: u64,
}

impl BlobTotals {
    /// Returns the sums over `blobs`.
    pub fn of(blobs: &BlobFiles) -> Self {
        let add = |sum: BlobTotals, blob: &Arc<BlobFile>| BlobTotals {
            files: sum.files + 1,
            file_bytes: sum.file_bytes.saturating_add(blob.file_size()),
            garbage_bytes: sum.garbage_bytes.saturating_add(blob.garbage_bytes),
        };
        blobs.values().fold(BlobTotals::default(), add)
    }

    /// Returns the ratio of all file bytes to the bytes that are not garbage. Returns 0 if all bytes are
    /// garbage or if there is no file.
    pub fn space_amplification(&self) -> f64 {
        match self.file_bytes.checked_sub(self.garbage_bytes) {
            None | Some(0) => 0.0,
            Some(live) => self.file_bytes as f64 / live as f64,
        }
    }
}

/// All blob files, by number.
pub type BlobFiles = BTreeMap<FileNumber, Arc<BlobFile>>;

/// Returns the SST files that are linked to the oldest blob file and may be compacted, each with its level. A batch of
/// blob files is the oldest blob file and the blob files after it, up to the next blob file with a link. If the batch
/// has too little garbage (`force_threshold`) or is not within the age cutoff, the result is empty. A compaction of the
/// SST files relocates all values of the batch.
pub(crate) fn forced_gc(
    version: &super::Version,
    age_cutoff: f64,
    force_threshold: f64,
) -> Vec<(Level, Arc<crate::table_file::TableFile>)> {
    let blobs: Vec<_> = version.blobs().values().collect();
    let cutoff = (age_cutoff * blobs.len() as f64) as usize;
    if age_cutoff <= 0.0 || force_threshold >= 1.0 || cutoff == 0 {
        return Vec::new();
    }
    let Some(oldest) = blobs.first() else { return Vec::new() };
    let linked: BTreeSet<_> = version.files().filter_map(|(_, f)| f.oldest_blob_file).collect();
    let batch = 1 + blobs[1..].iter().take_while(|blob| !linked.contains(&blob.number)).count();
    base::invariant!(batch <= blobs.len(), "{batch} of {} blob files are collected together", blobs.len());
    if batch > cutoff {
        return Vec::new();
    }
    let sum = |of: fn(&BlobFile) -> u64| blobs[..batch].iter().map(|b| of(b)).fold(0, u64::saturating_add);
    let (total, garbage) = (sum(|b| b.total_bytes), sum(|b| b.garbage_bytes));
    if (garbage as f64) < force_threshold * total as f64 {
        return Vec::new();
    }
    let files = version.files().filter(|(_, f)| f.oldest_blob_file == Some(oldest.number));
    files.filter(|(_, f)| !f.being_compacted()).map(|(level, f)| (level, f.clone())).collect()
}

/// Drops the blob files that no SST file can need.
pub(super) fn keep_live(mut blobs: BlobFiles, levels: &[Arc<LevelFiles>]) -> Result<BlobFiles> {
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
    base::invariant!(
        linked.iter().all(|number| blobs.contains_key(number)),
        "a blob file that an SST file references is dropped"
    );
    if let Some(blob) = blobs.values().find(|b| b.garbage_count >= b.total_count) {
        return Err(Error::corruption(format!("Blob file #{} consists entirely of garbage", blob.number)));
    }
    Ok(blobs)
}
