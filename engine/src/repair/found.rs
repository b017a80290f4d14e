//! The results of a survey, as data: SST files, WALs, and the claims about them. The steps that fill the data are in
//! `survey`, `adopt`, `wals`, `blobs` and `rebuild`.

use std::collections::{BTreeMap, BTreeSet};
use std::path::PathBuf;

use base::map::HashMap;
use base::{FamilyId, FileNumber, SequenceNumber, WalNumber};
use format::edit::NewFile;

use super::Report;
use crate::manifest::Lenient;

/// Everything known about a database.
pub(super) struct Survey {
    pub report: Report,
    /// The MANIFEST that was read, and its content.
    pub number: FileNumber,
    pub manifest: Lenient,
    pub manifest_damaged: bool,
    pub current_damaged: bool,
    /// True if no MANIFEST was usable. The database is then rebuilt from SST files and WALs.
    pub rebuilt: bool,
    pub tables: Vec<Table>,
    pub wals: Vec<FoundWal>,
    /// The entries in WALs. Used if records of the MANIFEST are missing, which say which of the entries are in SST files.
    pub(super) in_wals: InWals,
    /// SST files whose name belongs to another file: the recorded origin, and the path of the file.
    pub(super) misplaced: Vec<([u64; 2], PathBuf)>,
    /// Blob files that adopted SST files refer to.
    pub(super) blob_references: BlobReferences,
    /// OPTIONS files and an IDENTITY file that cannot be read.
    pub unreadable: Vec<PathBuf>,
    /// SST files without a known owner. They go to `lost/` before all other actions.
    pub aside: Vec<PathBuf>,
    /// Higher than every number in a file name or a record.
    pub next_number: FileNumber,
    pub last_seq: SequenceNumber,
    /// WAL number to durable bytes, by the proof of the last close and the marks in WALs.
    pub(super) claims: BTreeMap<WalNumber, u64>,
}

#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(super) enum State {
    Whole,
    /// Repair writes the readable entries to a new SST file.
    Rewrite,
    /// No entry of the SST file can be read.
    Gone,
}

pub(super) struct Table {
    pub family: FamilyId,
    pub record: NewFile,
    pub path: PathBuf,
    pub state: State,
    /// True if no record of the MANIFEST names the SST file.
    pub adopted: bool,
    /// Set if a compaction may have cut the range tombstones of the SST file.
    pub edges: Option<Edges>,
}

pub(super) struct FoundWal {
    pub number: WalNumber,
    pub path: PathBuf,
    /// True if repair replaces the WAL by a copy without the damage.
    pub rewrite: bool,
    /// The offsets of records that are no batches, or refer to lost values of blob files. The copy leaves these records out.
    pub refused: BTreeSet<u64>,
    pub(super) first_seq: Option<SequenceNumber>,
    pub(super) last_seq: SequenceNumber,
    /// The sequence numbers of its entries.
    pub(super) runs: Runs,
    /// The end of the last whole record, in bytes from the start of the file.
    pub(super) last_end: u64,
}

/// The sequence numbers of the entries in one WAL.
#[derive(Default)]
pub(super) struct Runs {
    /// The first and the last number of each run without a gap, in the order of the WAL.
    pub(super) runs: Vec<(SequenceNumber, SequenceNumber)>,
    /// True if the WAL has a marker of a transaction. The entries of a section get their sequence numbers from the commit, so
    /// the batches do not show the gaps.
    pub(super) has_sections: bool,
}

/// An SST file that a compaction wrote, with its range tombstones.
pub(super) struct Edges {
    /// The user keys of the first and the last entry. `None` without entries.
    pub(super) rows: Option<(Vec<u8>, Vec<u8>)>,
    /// The internal keys of the first and the last entry.
    pub(super) internal: Option<(Vec<u8>, Vec<u8>)>,
    /// Internal start keys and end user keys of the range tombstones.
    pub(super) tombstones: Vec<(Vec<u8>, Vec<u8>)>,
}

/// The entries of each column family in the WALs: WAL number to entries.
#[derive(Default)]
pub(super) struct InWals {
    pub(super) families: BTreeMap<FamilyId, BTreeMap<WalNumber, Part>>,
}

/// The entries of one column family in one WAL.
#[derive(Default)]
pub(super) struct Part {
    pub(super) num_rows: u64,
    pub(super) merges: bool,
    pub(super) first: SequenceNumber,
    pub(super) last: SequenceNumber,
    pub(super) last_key: Vec<u8>,
}

/// Finds the WALs whose entries are in SST files: see `rebuild`.
#[derive(Default)]
pub(super) struct Proofs {
    /// The last entry of each column family in each WAL. Maps its sequence number to the WAL and the user key.
    pub(super) rows: HashMap<(FamilyId, SequenceNumber), (WalNumber, Vec<u8>)>,
    /// Column family to its newest WAL whose last entry is in an SST file.
    pub(super) flushed: BTreeMap<FamilyId, WalNumber>,
    pub(super) damaged: BTreeSet<FamilyId>,
}

/// Blob files that SST files without a record refer to.
pub(super) type BlobReferences = BTreeMap<FamilyId, BTreeSet<FileNumber>>;
