//! The version edit: one record of the MANIFEST. A version edit changes the files, the column families or
//! the counters of a database.
//!
//! ```text
//! edit = { varint32 tag | payload }       to the end of the record; an empty edit is legal
//! ```
//! Tags are listed in [`tag`], and the fields of a new file in [`file_tag`]. Readers accept any order of
//! tags; if a single-value tag is repeated, the last one counts. The writer keeps RocksDB's order, so that
//! equal edits have equal bytes. Unknown tags with bit 13 are skipped by their length; other unknown tags are
//! corruption. Unknown fields of a file with bit 6 are corruption; other unknown fields are skipped. Facts:
//! RocksDB `db/version_edit.cc`.
//!
//! Not here: the effect of an edit on a version (`lsm::version`), and the framing of MANIFEST records
//! ([`crate::wal`]).

mod decode;
mod encode;
mod progress;
mod show;

pub use progress::{LevelProgress, SubcompactionProgress};

use base::key::{MAX_SEQUENCE, SequenceNumber};
use base::{EpochNumber, FamilyId, FileNumber, Level, WalNumber};

/// The tags of a version edit.
pub mod tag {
    /// The name of the column family's comparator. Payload: a slice.
    pub const COMPARATOR: u32 = 1;
    /// WALs below this number have no unflushed data of the column family. Payload: a varint64.
    pub const LOG_NUMBER: u32 = 2;
    /// The next free number for files. Payload: a varint64.
    pub const NEXT_FILE_NUMBER: u32 = 3;
    /// The newest sequence number of the database when the edit was written. Payload: a varint64.
    pub const LAST_SEQUENCE: u32 = 4;
    /// The place where round-robin compaction continues. Payload: the level as a varint32, an internal key as
    /// a slice.
    pub const COMPACT_CURSOR: u32 = 5;
    /// Removes an SST file from a level. Payload: the level as a varint32, the file number as a varint64.
    pub const DELETED_FILE: u32 = 6;
    /// LevelDB's tag. It is only read.
    pub const NEW_FILE: u32 = 7;
    /// LevelDB's number of a second WAL. Ironstone writes 0. Payload: a varint64.
    pub const PREV_LOG_NUMBER: u32 = 9;
    /// The oldest WAL that the database needs. Payload: a varint64.
    pub const MIN_LOG_NUMBER_TO_KEEP: u32 = 10;
    /// Only read, never written.
    pub const NEW_FILE2: u32 = 100;
    /// Only read, never written.
    pub const NEW_FILE3: u32 = 102;
    /// Adds an SST file to a level. The fields of [`file_tag`](super::file_tag) follow the fixed part.
    pub const NEW_FILE4: u32 = 103;
    /// The column family that the edit changes. Payload: a varint32. Without this tag, the edit changes the
    /// default column family.
    pub const COLUMN_FAMILY: u32 = 200;
    /// Creates the column family. Payload: the name as a slice.
    pub const COLUMN_FAMILY_ADD: u32 = 201;
    /// Drops the column family. Has no payload.
    pub const COLUMN_FAMILY_DROP: u32 = 202;
    /// The largest number that a column family ever had. Payload: a varint32.
    pub const MAX_COLUMN_FAMILY: u32 = 203;
    /// Marks an edit of an atomic group. Payload: the number of later edits in the group, as a varint32.
    pub const IN_ATOMIC_GROUP: u32 = 300;
    /// Adds a blob file. Payload: number, blob count and bytes as varint64s, checksum method and value as
    /// slices.
    pub const BLOB_FILE_ADDITION: u32 = 400;
    /// Adds garbage to a blob file. Payload: number, blob count and bytes as varint64s.
    pub const BLOB_FILE_GARBAGE: u32 = 401;
    /// Unknown tags with this bit have a length and may be skipped.
    pub const SAFE_TO_IGNORE: u32 = 1 << 13;
    /// The id of the database, as in the file `IDENTITY`. Payload: a slice.
    pub const DB_ID: u32 = SAFE_TO_IGNORE | 1;
    /// Only read, never written.
    pub const BLOB_FILE_ADDITION_DEPRECATED: u32 = SAFE_TO_IGNORE | 2;
    /// Only read, never written.
    pub const BLOB_FILE_GARBAGE_DEPRECATED: u32 = SAFE_TO_IGNORE | 3;
    /// Has no length. Only read, never written.
    pub const WAL_ADDITION: u32 = SAFE_TO_IGNORE | 4;
    /// Has no length. Only read, never written.
    pub const WAL_DELETION: u32 = SAFE_TO_IGNORE | 5;
    /// The lower limit of the timestamps whose history is kept. Payload: a timestamp as a slice, not empty.
    pub const FULL_HISTORY_TS_LOW: u32 = SAFE_TO_IGNORE | 6;
    /// A WAL that must exist at recovery. Payload: a slice with the number and the synced size.
    pub const WAL_ADDITION2: u32 = SAFE_TO_IGNORE | 7;
    /// Tracked WALs below this number are deleted. Payload: a slice with a varint64.
    pub const WAL_DELETION2: u32 = SAFE_TO_IGNORE | 8;
    /// Says whether the column family stores timestamps in SST files. Payload: a slice of one byte, 1 for
    /// true.
    pub const PERSIST_USER_DEFINED_TIMESTAMPS: u32 = SAFE_TO_IGNORE | 9;
    /// The progress of a remote subcompaction. Only progress files have this tag, never a MANIFEST.
    pub const SUBCOMPACTION_PROGRESS: u32 = SAFE_TO_IGNORE | 10;
    /// The size in bytes of the MANIFEST after its last rewrite. Payload: a slice with a varint64.
    pub const LAST_COMPACTED_MANIFEST_FILE_SIZE: u32 = SAFE_TO_IGNORE | 11;
    /// Ironstone's own tag, far from the tags that RocksDB assigns one after another; see
    /// [`super::EditMark`].
    pub const MARK: u32 = SAFE_TO_IGNORE | 0x1d4d;
}

/// The tags of the fields of a new file. Each field has a length; see [`tag`].
pub mod file_tag {
    /// Ends the fields of the file. Has no length and no payload.
    pub const TERMINATE: u32 = 1;
    /// One byte: 1 if the file is marked for compaction.
    pub const NEED_COMPACTION: u32 = 2;
    /// A copy of the edit's `min_log_number_to_keep`, as eight little-endian bytes. The first file of an edit
    /// has the copy.
    pub const MIN_LOG_NUMBER_TO_KEEP: u32 = 3;
    /// A varint64: the oldest blob file that the file refers to. Left out if there is none.
    pub const OLDEST_BLOB_FILE_NUMBER: u32 = 4;
    /// A varint64: the oldest ancestor time, in seconds since 1970; 0 is unknown.
    pub const OLDEST_ANCESTER_TIME: u32 = 5;
    /// A varint64: the time when the file was created, in seconds since 1970; 0 is unknown.
    pub const FILE_CREATION_TIME: u32 = 6;
    /// The bytes of the checksum of the whole file. Left out if the checksum function is unknown.
    pub const FILE_CHECKSUM: u32 = 7;
    /// The name of the checksum function of the file. Left out if the name is
    /// [`UNKNOWN_CHECKSUM_FUNC_NAME`](super::UNKNOWN_CHECKSUM_FUNC_NAME).
    pub const FILE_CHECKSUM_FUNC_NAME: u32 = 8;
    /// One byte: RocksDB's temperature of the file. Left out if the temperature is unknown (0).
    pub const TEMPERATURE: u32 = 9;
    /// The smallest timestamp of the file. Left out if there is none.
    pub const MIN_TIMESTAMP: u32 = 10;
    /// The largest timestamp of the file. Left out if there is none.
    pub const MAX_TIMESTAMP: u32 = 11;
    /// The internal unique id of the table: two 64-bit integers. Left out if both are 0.
    pub const UNIQUE_ID: u32 = 12;
    /// A varint64: the epoch number, which orders the files of level 0.
    pub const EPOCH_NUMBER: u32 = 13;
    /// A varint64: the estimated bytes that the range tombstones of the file will free. Left out if 0.
    pub const COMPENSATED_RANGE_DELETION_SIZE: u32 = 14;
    /// A varint64: the bytes from the end of the data blocks to the end of the file. Left out if unknown (0).
    pub const TAIL_SIZE: u32 = 15;
    /// One byte: 0 if the boundary keys are stored without timestamps. Left out if they have timestamps.
    pub const USER_DEFINED_TIMESTAMPS_PERSISTED: u32 = 16;
    /// Bytes for a custom file system. Left out if empty.
    pub const FILE_OPEN_METADATA: u32 = 17;
    /// Unknown fields with this bit must not be ignored.
    pub const NOT_SAFE_TO_IGNORE: u32 = 1 << 6;
    /// One byte: the index into the paths of the column family. Left out if 0. Readers reject an index above
    /// [`PATH_ID_MAX`](super::PATH_ID_MAX).
    pub const PATH_ID: u32 = NOT_SAFE_TO_IGNORE | 1;
}

/// The checksum function name of a file without a checksum.
pub const UNKNOWN_CHECKSUM_FUNC_NAME: &str = "Unknown";

/// The name of the only checksum function of whole files that the engine computes: CRC32C, stored big-endian. RocksDB's name.
pub const CRC32C_CHECKSUM_FUNC_NAME: &str = "FileChecksumCrc32c";

/// The largest path id of a file. A column family has at most four paths.
pub const PATH_ID_MAX: u32 = 3;

/// One MANIFEST record. `None` and empty mean that the record does not have the field.
#[derive(Clone, Debug, Default, PartialEq, Eq)]
pub struct VersionEdit {
    /// The id of the database, as in the file `IDENTITY`.
    pub db_id: Option<String>,
    /// The name of the column family's comparator.
    pub comparator: Option<String>,
    /// WALs below this number have no unflushed data of the column family.
    pub wal_number: Option<WalNumber>,
    /// LevelDB's number of a second WAL. Ironstone writes 0.
    pub prev_log_number: Option<WalNumber>,
    /// The next free number for files.
    pub next_file_number: Option<FileNumber>,
    /// The largest number that a column family ever had.
    pub max_column_family: Option<FamilyId>,
    /// The oldest WAL that the database needs.
    pub min_log_number_to_keep: Option<WalNumber>,
    /// The newest sequence number of the database when the edit was written.
    pub last_sequence: Option<SequenceNumber>,
    /// Level and internal key at which round-robin compaction continues.
    pub compact_cursors: Vec<(Level, Vec<u8>)>,
    /// Level and file number. Written sorted and without duplicates, as RocksDB does.
    pub deleted_files: Vec<(Level, FileNumber)>,
    /// The SST files that the edit adds. A trivial move adds a file here and to `deleted_files`.
    pub new_files: Vec<NewFile>,
    /// The changes of blob files.
    pub blobs: BlobEdit,
    /// The changes of the WALs that must exist at recovery.
    pub wals: WalEdit,
    /// The column family that the edit changes.
    pub family: FamilyEdit,
    /// Number of edits of the atomic group that follow this edit.
    pub remaining_entries: Option<u32>,
    /// The lower limit of the timestamps whose history is kept. Not empty if it comes from a MANIFEST.
    pub full_history_ts_low: Option<Vec<u8>>,
    /// True if the column family stores timestamps in SST files.
    pub persist_user_defined_timestamps: Option<bool>,
    /// Only in progress files of remote compactions, never in a MANIFEST.
    pub subcompaction_progress: Option<SubcompactionProgress>,
    /// The size in bytes of the MANIFEST after its last rewrite.
    pub last_compacted_manifest_file_size: Option<u64>,
    /// The durable mark of the MANIFEST. Edits of RocksDB have no mark.
    pub mark: Option<EditMark>,
}

/// The changes of blob files in an edit.
#[derive(Clone, Debug, Default, PartialEq, Eq)]
pub struct BlobEdit {
    /// The blob files that the edit adds.
    pub additions: Vec<BlobFileAddition>,
    /// The garbage that the edit adds to blob files.
    pub garbages: Vec<BlobFileGarbage>,
}

/// The changes of the tracked WALs in an edit.
#[derive(Clone, Debug, Default, PartialEq, Eq)]
pub struct WalEdit {
    /// The WALs that must exist at recovery.
    pub additions: Vec<WalAddition>,
    /// Tracked WALs below this number are deleted.
    pub deletion: Option<WalNumber>,
}

/// The column family of an edit.
#[derive(Clone, Debug, Default, PartialEq, Eq)]
pub struct FamilyEdit {
    /// The column family that the edit changes.
    pub id: FamilyId,
    /// Creates the column family with this name.
    pub add: Option<String>,
    /// True if the edit drops the column family.
    pub drop: bool,
}

/// A durable mark of the MANIFEST: the offset up to which the MANIFEST was durable when the edit was written,
/// and the [`crate::wal::Digest`] of the records up to that offset. Every edit of Ironstone has a mark. An
/// edit without a mark comes from another writer.
///
/// ```text
/// varint32 tag | varint32 length | varint64 offset | u32 digest | varint64 number
/// ```
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct EditMark {
    /// The number of durable bytes of the MANIFEST, from its start.
    pub offset: u64,
    /// The [`crate::wal::Digest`] of the records below `offset`.
    pub digest: u32,
    /// The number of the MANIFEST. It distinguishes a mark of this file from old bytes of an earlier file.
    /// `None` in marks of older releases of Ironstone.
    pub number: Option<FileNumber>,
}

impl VersionEdit {
    /// Makes an edit that only has a mark.
    pub fn seal(mark: EditMark) -> Self {
        VersionEdit { mark: Some(mark), ..VersionEdit::default() }
    }

    /// Returns true if the edit only has a mark. Such an edit is written after a sync, to record that the
    /// MANIFEST is durable up to there.
    pub fn is_seal(&self) -> bool {
        self.mark.is_some_and(|mark| *self == VersionEdit::seal(mark))
    }
}

/// The checksum of a whole SST file. Written only if the checksum function is known.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct FileChecksum {
    /// The checksum. Empty if there is none.
    pub value: Vec<u8>,
    /// The name of the checksum function. Default [`UNKNOWN_CHECKSUM_FUNC_NAME`].
    pub function: String,
}

impl Default for FileChecksum {
    fn default() -> Self {
        FileChecksum { value: Vec::new(), function: UNKNOWN_CHECKSUM_FUNC_NAME.to_string() }
    }
}

/// The times of an SST file, in seconds since 1970. 0 means unknown.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub struct FileTimes {
    /// The time when the oldest data in the file was written. Compactions pass it on to their outputs.
    pub oldest_ancester: u64,
    /// The time when the file was made.
    pub creation: u64,
}

/// The timestamps of the keys of an SST file. Both are empty if the column family has no timestamps.
#[derive(Clone, Debug, Default, PartialEq, Eq)]
pub struct TimestampRange {
    /// The smallest timestamp.
    pub min: Vec<u8>,
    /// The largest timestamp.
    pub max: Vec<u8>,
}

/// An SST file that is added to a version.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct NewFile {
    /// The level that gets the file.
    pub level: Level,
    /// The number in the name of the file.
    pub number: FileNumber,
    /// Index into the paths of the column family; at most [`PATH_ID_MAX`].
    pub path_id: u32,
    /// Size of the file in bytes.
    pub file_size: u64,
    /// The smallest internal key.
    pub smallest: Vec<u8>,
    /// The largest internal key. If it has the trailer of the end of a range tombstone, it is exclusive.
    pub largest: Vec<u8>,
    /// The smallest sequence number of the entries. For files from LevelDB, the largest possible sequence
    /// number.
    pub smallest_seqno: SequenceNumber,
    /// The largest sequence number of the entries. 0 for files from LevelDB.
    pub largest_seqno: SequenceNumber,
    /// True if the writer of the file marked the file for compaction.
    pub marked_for_compaction: bool,
    /// The oldest blob file that the file refers to, if there is one. The number is not 0, which means none on disk.
    pub oldest_blob_file_number: Option<FileNumber>,
    /// The times of the file and of its data.
    pub times: FileTimes,
    /// The epoch number. The encoder rejects an unknown epoch number.
    pub epoch_number: EpochNumber,
    /// The checksum of the whole file.
    pub checksum: FileChecksum,
    /// RocksDB's temperature byte: 0 unknown, 4 hot, 8 warm, 10 cool, 12 cold, 16 ice.
    pub temperature: u8,
    /// The timestamps of the keys of the file.
    pub timestamps: TimestampRange,
    /// The internal unique id of the table. Zeros mean none.
    pub unique_id: [u64; 2],
    /// Estimated number of bytes that the range tombstones of the file will free.
    pub compensated_range_deletion_size: u64,
    /// Bytes from the end of the data blocks to the end of the file; 0 means unknown.
    pub tail_size: u64,
    /// True if boundary keys are stored with their timestamps.
    pub user_defined_timestamps_persisted: bool,
    /// Bytes for a custom file system.
    pub file_open_metadata: Vec<u8>,
}

impl Default for NewFile {
    fn default() -> Self {
        NewFile {
            level: Level::ZERO,
            number: FileNumber::default(),
            path_id: 0,
            file_size: 0,
            smallest: Vec::new(),
            largest: Vec::new(),
            smallest_seqno: SequenceNumber::ZERO,
            largest_seqno: SequenceNumber::ZERO,
            marked_for_compaction: false,
            oldest_blob_file_number: None,
            times: FileTimes::default(),
            epoch_number: EpochNumber::UNKNOWN,
            checksum: FileChecksum::default(),
            temperature: 0,
            timestamps: TimestampRange::default(),
            unique_id: [0, 0],
            compensated_range_deletion_size: 0,
            tail_size: 0,
            user_defined_timestamps_persisted: true,
            file_open_metadata: Vec::new(),
        }
    }
}

/// The sequence numbers of a file from LevelDB, whose format does not store them.
pub(crate) const LEVELDB_SEQNOS: (SequenceNumber, SequenceNumber) = (MAX_SEQUENCE, SequenceNumber::ZERO);

/// A blob file that is added to a version.
#[derive(Clone, Debug, Default, PartialEq, Eq)]
pub struct BlobFileAddition {
    /// The number in the name of the blob file.
    pub blob_file_number: FileNumber,
    /// The number of records in the blob file.
    pub total_blob_count: u64,
    /// Bytes of all records: header, key and stored value.
    pub total_blob_bytes: u64,
    /// The name of the checksum function of the file. Empty if the file has no checksum.
    pub checksum_method: Vec<u8>,
    /// The checksum of the whole file. Empty if the file has no checksum.
    pub checksum_value: Vec<u8>,
}

/// Additional garbage of a blob file.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub struct BlobFileGarbage {
    /// The number in the name of the blob file.
    pub blob_file_number: FileNumber,
    /// The number of records that became garbage.
    pub garbage_blob_count: u64,
    /// The bytes of these records: header, key and stored value.
    pub garbage_blob_bytes: u64,
}

/// A WAL that must exist at recovery.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub struct WalAddition {
    /// The number in the name of the WAL.
    pub number: WalNumber,
    /// Number of synced bytes. The WAL must be at least this long. `None`: the synced size is unknown.
    pub synced_size_bytes: Option<u64>,
}

impl VersionEdit {
    /// Returns true if the record would be empty.
    pub fn is_empty(&self) -> bool {
        *self == VersionEdit::default()
    }
}

#[cfg(test)]
mod tests;
