//! The settings of the blob files that writes append to.

/// The settings of new blob files.
#[derive(Clone, Debug)]
pub struct DirectSettings {
    pub use_fsync: bool,
    pub bytes_per_sync: u64,
    pub strict_bytes_per_sync: bool,
    /// True if the MANIFEST gets the checksum of each file.
    pub file_checksum: bool,
    /// The ids of the database and of this open, for the keys of the blob cache.
    pub ids: (String, String),
}
