//! Ingestion: SST files that were made outside of the database become files of a column family.
//!
//! ```text
//!  external file ─► external: open, check, key range ─► prepare: link or copy under a new number, sync
//!      ─► jobs::ingest, as write leader: no memtable overlaps ─► place: level and sequence number
//!      ─► one commit for all column families ─► visible
//! ```
//! Invariants: an entry of an ingested file is newer than every entry of its key that was in the database before,
//! unless the file is ingested behind. An ingestion changes the database completely or not at all. Until the commit,
//! the copies have numbers that no MANIFEST names. Not here: flushes and the commit (`jobs`). Facts: RocksDB
//! `db/external_sst_file_ingestion_job.cc`.

mod external;
mod import;
mod overlap;
mod place;
mod prepare;
mod write;

pub use external::{ExternalFile, note_timestamps};
pub use import::{ImportFile, ImportRequest, Imported, import};
pub use overlap::{UserRange, overlaps_level, overlaps_memtables};
pub use place::{Placement, PlacementRequest, place};
pub use prepare::{Prepared, PreparedFile, bring_in, check_requests, prepare};
pub use write::ExternalWriter;

use std::path::PathBuf;

use table::sst_file::PreparedFileInfo;

use crate::family::Family;
use crate::options::{IngestExternalFileOptions, Temperature};
use crate::sync::Arc;

/// The files to ingest into one column family. RocksDB's `IngestExternalFileArg`.
#[derive(Clone)]
pub struct IngestRequest {
    pub family: Arc<Family>,
    /// The files, oldest data first: if two files overlap, the entries of the later file are newer.
    pub files: Vec<PathBuf>,
    pub options: IngestExternalFileOptions,
    /// For each file its checksum and the name of the checksum function. Empty: unknown.
    pub checksums: Vec<(Vec<u8>, String)>,
    /// The facts about each file. Empty: the ingestion reads the facts from the files.
    pub infos: Vec<Arc<PreparedFileInfo>>,
    /// The temperature of the files. `Unknown`, the default, if the file system knows none.
    pub temperature: Temperature,
    /// Replaces all entries in the range by the files, in the same commit.
    pub replace: Option<ReplaceRange>,
}

impl IngestRequest {
    /// Ingests `files` into `family`, without checksums and without a range to replace.
    pub fn new(family: Arc<Family>, files: Vec<PathBuf>, options: IngestExternalFileOptions) -> Self {
        IngestRequest {
            family,
            files,
            options,
            checksums: Vec::new(),
            infos: Vec::new(),
            temperature: Temperature::Unknown,
            replace: None,
        }
    }
}

/// The entries that an ingestion replaces. RocksDB's `atomic_replace_range`.
#[derive(Clone, Debug, PartialEq, Eq)]
pub enum ReplaceRange {
    /// All entries of the column family.
    All,
    /// The user keys in `[start, end)`. Every SST file of the column family must be inside or outside the range.
    Keys { start: Vec<u8>, end: Vec<u8> },
}
