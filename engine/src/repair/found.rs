//! What a survey finds, as data: SST files, WALs, and the claims about them. The steps that fill the data are in `survey`,
//! `adopt`, `logs`, `blobs` and `rebuild`.

use std::collections::{BTreeMap, BTreeSet};
use std::path::PathBuf;

use base::map::HashMap;
use base::{FamilyId, FileNumber, SequenceNumber};
use format::edit::NewFile;

use super::Report;
use crate::manifest::Lenient;

/// Everything known about a database.
pub(super) struct Survey {
    pub report: Report,
    /// The MANIFEST that was read, and what it says.
    pub number: FileNumber,
    pub manifest: Lenient,
    pub manifest_damaged: bool,
    pub current_damaged: bool,
    /// No MANIFEST had anything to say: what there is comes from tables and logs.
    pub rebuilt: bool,
    pub tables: Vec<Table>,
    pub wals: Vec<FoundWal>,
    /// Where nothing else tells which of them are in tables.
    pub(super) in_wals: InWals,
    /// SST files whose name belongs to another file: the recorded origin, and the path of the file.
    pub(super) misplaced: Vec<([u64; 2], PathBuf)>,
    /// Blob files that adopted SST files refer to.
    pub(super) blob_references: BlobReferences,
    /// OPTIONS files that do not read, and an IDENTITY that does not.
    pub unreadable: Vec<PathBuf>,
    /// Tables that are nobody's: they go to `lost/` before anything else.
    pub aside: Vec<PathBuf>,
    /// Above every number in a name or a record.
    pub next_number: u64,
    pub last_seq: SequenceNumber,
    /// What the proof of the last close and the marks in logs say of logs: number to durable bytes.
    pub(super) claims: BTreeMap<u64, u64>,
}

#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(super) enum State {
    Whole,
    /// To be written anew from what is left.
    Rewrite,
    /// Nothing is left of it.
    Gone,
}

pub(super) struct Table {
    pub family: FamilyId,
    pub record: NewFile,
    pub path: PathBuf,
    pub state: State,
    /// No record of the MANIFEST speaks of it.
    pub adopted: bool,
    /// Where its range deletions may have been cut off.
    pub edges: Option<Edges>,
}

pub(super) struct FoundWal {
    pub number: FileNumber,
    pub path: PathBuf,
    /// Whether a copy without the damage is to take its place.
    pub rewrite: bool,
    pub(super) first_seq: Option<SequenceNumber>,
    pub(super) last_seq: SequenceNumber,
    /// Where its last whole record ends.
    pub(super) last_end: u64,
}

/// Of a table that a compaction wrote with range deletions.
pub(super) struct Edges {
    /// The user keys of its first and last row; `None` without rows.
    pub(super) rows: Option<(Vec<u8>, Vec<u8>)>,
    /// The internal keys of these.
    pub(super) internal: Option<(Vec<u8>, Vec<u8>)>,
    /// Internal start keys and end user keys.
    pub(super) tombstones: Vec<(Vec<u8>, Vec<u8>)>,
}

/// What logs have of each family.
#[derive(Default)]
pub(super) struct InWals {
    pub(super) families: BTreeMap<FamilyId, BTreeMap<u64, Part>>,
}

/// A family's rows in one log.
#[derive(Default)]
pub(super) struct Part {
    pub(super) num_rows: u64,
    pub(super) merges: bool,
    pub(super) first: SequenceNumber,
    pub(super) last: SequenceNumber,
    pub(super) last_key: Vec<u8>,
}

/// Which logs' rows were found in tables.
#[derive(Default)]
pub(super) struct Proofs {
    /// The last row of each family in each log: the log, and its key.
    pub(super) rows: HashMap<(FamilyId, SequenceNumber), (u64, Vec<u8>)>,
    /// The newest log of a family whose last row is in a table.
    pub(super) flushed: BTreeMap<FamilyId, u64>,
    pub(super) damaged: BTreeSet<FamilyId>,
}

/// Blob files that SST files without a record refer to.
pub(super) type BlobReferences = BTreeMap<FamilyId, BTreeSet<u64>>;
