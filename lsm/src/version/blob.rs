//! Blob files of a version and how much of each is garbage.

use std::collections::BTreeMap;
use std::sync::Arc;

use base::ids::FileNumber;

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

/// An increase of a blob file's garbage.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub struct BlobGarbage {
    pub number: FileNumber,
    pub count: u64,
    pub bytes: u64,
}

/// All blob files, by number.
pub type BlobFiles = BTreeMap<FileNumber, Arc<BlobFile>>;
