//! The content of a MANIFEST: the column families, their files, the counters, and the end.

use std::collections::BTreeMap;

use base::map::HashMap;
use base::{Error, FamilyId, FileNumber, Level, SequenceNumber, WalNumber};
use format::edit::{BlobFileAddition, NewFile};
use format::wal::Digest;

use crate::prepared::TwoPhase;

/// A column family as the MANIFEST describes it.
#[derive(Clone, Debug, Default)]
pub struct FamilyRecord {
    pub id: FamilyId,
    pub name: String,
    /// `None`: the MANIFEST does not name the comparator, so an open does not check it.
    pub comparator: Option<String>,
    pub wal_number: WalNumber,
    pub full_history_ts_low: Option<Vec<u8>>,
    pub persist_user_defined_timestamps: Option<bool>,
    /// File number to SST file, with its level.
    pub files: HashMap<FileNumber, NewFile>,
    /// Level to internal key: the round-robin cursor, where the next compaction of the level starts.
    pub cursors: BTreeMap<Level, Vec<u8>>,
    /// All blob files that were ever added, by number. The version drops the files that no SST file needs.
    pub blobs: BTreeMap<FileNumber, BlobFileAddition>,
    /// Garbage of a blob file, by number: blobs and bytes.
    pub blob_garbage: BTreeMap<FileNumber, (u64, u64)>,
}

/// The whole content of a MANIFEST.
#[derive(Clone, Debug, Default)]
pub struct Recovered {
    pub number: FileNumber,
    /// Bytes up to the end of the last whole record.
    pub size: u64,
    pub db_id: Option<String>,
    pub next_file_number: FileNumber,
    pub last_sequence: SequenceNumber,
    pub max_family: FamilyId,
    pub min_log_number_to_keep: WalNumber,
    pub prev_log_number: WalNumber,
    pub families: BTreeMap<FamilyId, FamilyRecord>,
    /// Tracked WALs: WAL number to synced size in bytes.
    pub wals: BTreeMap<WalNumber, Option<u64>>,
    /// The digest of the records that were read.
    pub digest: Digest,
    /// The size of the snapshot at the start of the MANIFEST, in bytes. 0 if the MANIFEST does not record the size.
    pub compacted_size: u64,
    pub end: ManifestEnd,
    pub edits: u64,
}

/// How a MANIFEST ends.
#[derive(Clone, Debug, Default)]
pub enum ManifestEnd {
    /// A proof states that the MANIFEST ends exactly here.
    Proved,
    /// The last record is whole. No proof states that no record follows.
    #[default]
    Complete,
    /// A crash cut the last record or the last atomic group.
    Torn,
    /// The last record does not read, and recovery assumes that its sync never ended.
    Unreadable {
        /// The offset at which the record begins.
        at: u64,
        /// True if a valid version edit of the column families follows the unreadable edit, and does not
        /// belong to its atomic group.
        followed: bool,
    },
    /// Edits that were durable are gone.
    Lost(Lost),
}

impl ManifestEnd {
    /// Returns true if edits may be missing. An open then deletes no file that the MANIFEST does not name.
    pub fn is_in_doubt(&self) -> bool {
        match self {
            ManifestEnd::Proved | ManifestEnd::Complete => false,
            ManifestEnd::Torn | ManifestEnd::Unreadable { .. } | ManifestEnd::Lost(_) => true,
        }
    }

    /// Returns the end that the bytes of the file show, without the lost edits.
    pub fn without_loss(&self) -> &ManifestEnd {
        match self {
            ManifestEnd::Lost(lost) => &lost.read,
            end => end,
        }
    }

    /// Returns the lost edits.
    pub fn lost(&self) -> Option<&Lost> {
        match self {
            ManifestEnd::Lost(lost) => Some(lost),
            _ => None,
        }
    }

    /// Adds lost edits to this end. A loss that is already known is replaced.
    pub fn lose(&mut self, error: Error, bytes: u64, by_proof: bool) {
        let read = match std::mem::take(self) {
            ManifestEnd::Lost(lost) => lost.read,
            end => Box::new(end),
        };
        *self = ManifestEnd::Lost(Lost { error, bytes, by_proof, read });
    }

    /// Returns the end for a database that the proof does not belong to.
    pub fn without_proof(self) -> ManifestEnd {
        match self {
            ManifestEnd::Proved => ManifestEnd::Complete,
            ManifestEnd::Lost(lost) if lost.by_proof => lost.read.without_proof(),
            end => end,
        }
    }

    /// Records whether a valid edit follows an unreadable last record.
    pub(super) fn follow(&mut self, by_edit: bool) {
        match self {
            ManifestEnd::Unreadable { followed, .. } => *followed = by_edit,
            ManifestEnd::Lost(lost) => lost.read.follow(by_edit),
            ManifestEnd::Proved | ManifestEnd::Complete | ManifestEnd::Torn => {}
        }
    }

    /// Changes a whole end to a torn end: the last atomic group is incomplete.
    pub(super) fn tear(&mut self) {
        match self {
            ManifestEnd::Proved | ManifestEnd::Complete => *self = ManifestEnd::Torn,
            ManifestEnd::Lost(lost) => lost.read.tear(),
            ManifestEnd::Torn | ManifestEnd::Unreadable { .. } => {}
        }
    }
}

impl Recovered {
    /// Returns the oldest WAL that is needed. With two-phase commit, older WALs than the column families need may hold
    /// prepared transactions.
    pub fn oldest_wal(&self, two_phase: TwoPhase) -> WalNumber {
        let by_families = self.families.values().map(|family| family.wal_number).min().unwrap_or_default();
        match two_phase {
            TwoPhase::Allowed => self.min_log_number_to_keep,
            TwoPhase::Refused => self.min_log_number_to_keep.max(by_families),
        }
    }
}

/// Durable edits that are lost.
#[derive(Clone, Debug)]
pub struct Lost {
    /// Names the file, the offset, and the number of lost bytes.
    pub error: Error,
    pub bytes: u64,
    /// True if only the proof states the durable size. The caller must check that the proof belongs to this
    /// database.
    pub by_proof: bool,
    /// The end that the bytes of the file show.
    pub read: Box<ManifestEnd>,
}
