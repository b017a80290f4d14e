//! The facts about one SST file, as plain data.
//!
//! The facts are known when a file is added to a version, and do not change. The statistics of the table are an exception:
//! they are set once, when the table is first opened. What jobs and readers change of a file is in
//! [`crate::table_file::TableFile`].

use base::{EpochNumber, FileNumber, Level};
use std::fmt;
use std::ops::RangeInclusive;
use std::sync::OnceLock;

use base::key::{self, SequenceNumber};
use format::edit::{FileChecksum, FileTimes, TimestampRange};

/// Weight of a tombstone, in average values, for the compensated size of a file.
const DELETION_WEIGHT: u64 = 2;

/// Says whether [`FileStats::num_entries`] counts the range tombstones of the file.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub enum EntryCount {
    /// `num_entries` includes the range tombstones. RocksDB 6.0 and later write such files.
    #[default]
    WithTombstones,
    /// `num_entries` may or may not include the range tombstones. RocksDB 5.0 to 5.18 wrote both kinds of files.
    /// See RocksDB `db/compaction/compaction_job.cc` (UpdateInternalStatsFromInputFiles).
    Unknown,
}

impl FileStats {
    /// Returns the lowest and the highest possible number of point entries in the file.
    pub fn num_points(&self) -> RangeInclusive<u64> {
        // The counts come from properties, which are untrusted.
        let fewest = self.num_entries.saturating_sub(self.num_range_deletions);
        match self.entry_count {
            EntryCount::WithTombstones => fewest..=fewest,
            EntryCount::Unknown => fewest..=self.num_entries,
        }
    }
}

/// Statistics from the properties of a table. They are known after the table was opened.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub struct FileStats {
    /// Number of entries of all value types. `entry_count` says whether range tombstones are included.
    pub num_entries: u64,
    /// Number of point tombstones and range tombstones.
    pub num_deletions: u64,
    /// The number of range tombstones.
    pub num_range_deletions: u64,
    /// True if `num_entries` includes range tombstones.
    pub entry_count: EntryCount,
    /// Bytes of all internal keys before compression.
    pub raw_key_size: u64,
    /// Bytes of all values before compression.
    pub raw_value_size: u64,
    /// Uncompressed bytes of the data blocks; 0 if the writer did not record them.
    pub data_size: u64,
    /// The table property `creation_time`, in seconds since 1970: the time of the oldest data, or the time of the flush with
    /// FIFO compaction. `SstFileWriter` writes none.
    pub creation_time: Option<u64>,
    /// The time when the newest key was written, from the properties of the table, in seconds since 1970.
    pub newest_key_time: Option<u64>,
    /// A time, in seconds since 1970, at which the oldest entry was surely written, from the sequence-to-time map of
    /// the table. `None`: the table has no such map.
    pub oldest_write_time: Option<u64>,
}

/// One SST file of one column family. Sizes are in bytes, times in seconds since 1970.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct FileMetaData {
    /// The number in the name of the file.
    pub number: FileNumber,
    /// Index into the paths of the column family (`cf_paths`, `db_paths`).
    pub path_id: u32,
    /// The size of the file in bytes.
    pub size: u64,
    /// The smallest internal key, with range tombstones.
    pub smallest: Box<[u8]>,
    /// The largest internal key, with range tombstones. It may be an exclusive end, see
    /// [`FileMetaData::largest_is_exclusive`].
    pub largest: Box<[u8]>,
    /// The smallest sequence number.
    pub smallest_seq: SequenceNumber,
    /// The largest sequence number.
    pub largest_seq: SequenceNumber,
    /// True if the writer of the file marked it for compaction.
    /// [`TableFile::is_marked`](crate::table_file::TableFile::is_marked) includes later marks.
    pub marked_for_compaction: bool,
    /// The times of the file and of its data.
    pub times: FileTimes,
    /// The epoch number, which orders level 0. 0 if it is unknown: files of old releases, before recovery
    /// assigns a number.
    pub epoch_number: EpochNumber,
    /// The checksum of the whole file.
    pub checksum: FileChecksum,
    /// The internal form of the unique id; (0, 0) if there is none.
    pub unique_id: [u64; 2],
    /// Bytes from the end of the data blocks to the end of the file; 0 if it is unknown.
    pub tail_size: u64,
    /// The temperature, as its number on disk; 0 is unknown.
    pub temperature: u8,
    /// Estimated bytes in lower levels that the file's range tombstones cover.
    pub compensated_range_deletion_size: u64,
    /// The timestamps of the keys of the file.
    pub timestamps: TimestampRange,
    /// False if the keys of the file were written without their timestamps.
    pub user_defined_timestamps_persisted: bool,
    /// The oldest blob file that a value in this file points to.
    pub oldest_blob_file: Option<FileNumber>,
    /// Bytes that a custom file system gets back when it opens the file.
    pub open_metadata: Vec<u8>,
    /// Set when the table is first opened.
    stats: OnceLock<FileStats>,
}

impl FileMetaData {
    /// Returns the bytes of the keys and texts of the facts.
    pub(crate) fn heap_bytes(&self) -> usize {
        self.smallest.len()
            + self.largest.len()
            + self.checksum.value.len()
            + self.checksum.function.len()
            + self.timestamps.min.len()
            + self.timestamps.max.len()
            + self.open_metadata.len()
    }

    /// Makes the facts of a file. All facts that are not arguments are empty or unknown.
    pub fn new(number: FileNumber, size: u64, smallest: &[u8], largest: &[u8]) -> Self {
        FileMetaData {
            number,
            path_id: 0,
            size,
            smallest: smallest.into(),
            largest: largest.into(),
            smallest_seq: SequenceNumber::ZERO,
            largest_seq: SequenceNumber::ZERO,
            marked_for_compaction: false,
            times: FileTimes { oldest_ancester: 0, creation: 0 },
            checksum: FileChecksum { value: Vec::new(), function: UNKNOWN_CHECKSUM.to_string() },
            timestamps: TimestampRange { min: Vec::new(), max: Vec::new() },
            epoch_number: EpochNumber::UNKNOWN,
            unique_id: [0, 0],
            tail_size: 0,
            temperature: 0,
            compensated_range_deletion_size: 0,
            user_defined_timestamps_persisted: true,
            oldest_blob_file: None,
            open_metadata: Vec::new(),
            stats: OnceLock::new(),
        }
    }

    /// Makes the facts of a file from a MANIFEST record. Boundary keys that were stored without timestamps
    /// get the all-zero timestamp, as in RocksDB. An exclusive end gets the largest timestamp.
    pub fn from_record(r: &format::edit::NewFile, timestamp_size: usize) -> Self {
        let pad = |internal: &[u8], exclusive_gets_max: bool| -> Box<[u8]> {
            if r.user_defined_timestamps_persisted || timestamp_size == 0 {
                return internal.into();
            }
            let trailer = key::trailer(internal);
            let fill = if exclusive_gets_max && trailer == EXCLUSIVE_END { 0xff } else { 0 };
            let mut out = key::user_key(internal).to_vec();
            out.resize(out.len() + timestamp_size, fill);
            out.extend_from_slice(&trailer.to_le_bytes());
            out.into()
        };
        FileMetaData {
            path_id: r.path_id,
            smallest: pad(&r.smallest, false),
            largest: pad(&r.largest, true),
            smallest_seq: r.smallest_seqno,
            largest_seq: r.largest_seqno,
            marked_for_compaction: r.marked_for_compaction,
            times: FileTimes { oldest_ancester: r.times.oldest_ancester, creation: r.times.creation },
            checksum: FileChecksum { value: r.checksum.value.clone(), function: r.checksum.function.clone() },
            timestamps: TimestampRange { min: r.timestamps.min.clone(), max: r.timestamps.max.clone() },
            epoch_number: r.epoch_number,
            unique_id: r.unique_id,
            tail_size: r.tail_size,
            temperature: r.temperature,
            compensated_range_deletion_size: r.compensated_range_deletion_size,
            user_defined_timestamps_persisted: r.user_defined_timestamps_persisted,
            oldest_blob_file: r.oldest_blob_file_number,
            open_metadata: r.file_open_metadata.clone(),
            ..FileMetaData::new(r.number, r.file_size, &[], &[])
        }
    }

    /// Returns true if [`FileMetaData::from_record`] would make the same facts from this record. Returns false if the record has no
    /// timestamps in its keys. Allocates nothing. The level is no fact.
    pub fn is_from_record(&self, r: &format::edit::NewFile) -> bool {
        let own = (
            (self.number, self.path_id, self.size, self.smallest_seq, self.largest_seq, self.epoch_number),
            (self.unique_id, self.tail_size, self.temperature, self.oldest_blob_file),
            (self.marked_for_compaction, self.compensated_range_deletion_size),
            (self.times.oldest_ancester, self.times.creation),
            (&self.smallest[..], &self.largest[..]),
            (&self.checksum.value, &self.checksum.function),
            (&self.timestamps.min, &self.timestamps.max),
            (&self.open_metadata, self.user_defined_timestamps_persisted),
        );
        let recorded = (
            (r.number, r.path_id, r.file_size, r.smallest_seqno, r.largest_seqno, r.epoch_number),
            (r.unique_id, r.tail_size, r.temperature, r.oldest_blob_file_number),
            (r.marked_for_compaction, r.compensated_range_deletion_size),
            (r.times.oldest_ancester, r.times.creation),
            (&r.smallest[..], &r.largest[..]),
            (&r.checksum.value, &r.checksum.function),
            (&r.timestamps.min, &r.timestamps.max),
            // A file whose keys have no timestamps is equal to no record.
            (&r.file_open_metadata, true),
        );
        own == recorded && r.user_defined_timestamps_persisted
    }

    /// Returns the MANIFEST record that adds this file to `level`. Boundary keys lose their last `timestamp_size` bytes, if the
    /// file stores no timestamps.
    pub fn to_record(&self, level: Level, timestamp_size: usize) -> format::edit::NewFile {
        base::invariant!(level.index() < crate::version::MAX_LEVELS, "file {} is on {level}", self.number);
        let strip = |internal: &[u8]| {
            if self.user_defined_timestamps_persisted || timestamp_size == 0 {
                return internal.to_vec();
            }
            let user = key::user_key(internal);
            base::invariant!(
                user.len() >= timestamp_size,
                "a boundary key of {} bytes has a timestamp of {timestamp_size} bytes",
                user.len()
            );
            let mut out = key::without_timestamp(user, timestamp_size).to_vec();
            out.extend_from_slice(&key::trailer(internal).to_le_bytes());
            out
        };
        format::edit::NewFile {
            level,
            number: self.number,
            path_id: self.path_id,
            file_size: self.size,
            smallest: strip(&self.smallest),
            largest: strip(&self.largest),
            smallest_seqno: self.smallest_seq,
            largest_seqno: self.largest_seq,
            marked_for_compaction: self.marked_for_compaction,
            oldest_blob_file_number: self.oldest_blob_file,
            times: FileTimes { oldest_ancester: self.times.oldest_ancester, creation: self.times.creation },
            checksum: FileChecksum {
                value: self.checksum.value.clone(),
                function: self.checksum.function.clone(),
            },
            timestamps: TimestampRange { min: self.timestamps.min.clone(), max: self.timestamps.max.clone() },
            epoch_number: self.epoch_number,
            temperature: self.temperature,
            unique_id: self.unique_id,
            compensated_range_deletion_size: self.compensated_range_deletion_size,
            tail_size: self.tail_size,
            user_defined_timestamps_persisted: self.user_defined_timestamps_persisted,
            file_open_metadata: self.open_metadata.clone(),
        }
    }

    /// Returns the user key of the smallest internal key.
    #[inline]
    pub fn smallest_user_key(&self) -> &[u8] {
        key::user_key(&self.smallest)
    }

    /// Returns the user key of the largest internal key.
    #[inline]
    pub fn largest_user_key(&self) -> &[u8] {
        key::user_key(&self.largest)
    }

    /// Returns true if `largest` is the exclusive end of a range tombstone. The file then has no entry of the
    /// largest user key.
    #[inline]
    pub fn largest_is_exclusive(&self) -> bool {
        key::trailer(&self.largest) == EXCLUSIVE_END
    }

    /// Returns the statistics of the table, if the table has been opened.
    #[inline]
    pub fn stats(&self) -> Option<&FileStats> {
        self.stats.get()
    }

    /// Sets the statistics. Only the first call has an effect.
    pub fn set_stats(&self, stats: FileStats) {
        let _ = self.stats.set(stats);
    }

    /// Returns the size of the file, increased by the space that its tombstones will free in lower levels.
    /// `average_value_size` is the average size of a value in the column family. Without statistics, point
    /// tombstones do not count.
    pub fn compensated_size(&self, average_value_size: u64) -> u64 {
        let mut size = self.size.saturating_add(self.compensated_range_deletion_size);
        if let Some(stats) = self.stats() {
            // Range tombstones have their own estimate, so only point tombstones are counted here.
            let points = stats.num_deletions.saturating_sub(stats.num_range_deletions);
            if points.saturating_mul(2) >= stats.num_entries {
                let surplus = points.saturating_mul(2) - stats.num_entries;
                size = size.saturating_add(
                    surplus.saturating_mul(average_value_size).saturating_mul(DELETION_WEIGHT),
                );
            }
        }
        size
    }

    /// Returns the oldest time of the data in the file: the oldest ancestor time, or else the table property `creation_time`.
    /// `None` if both are unknown. RocksDB: `FileMetaData::TryGetOldestAncesterTime`.
    pub(crate) fn oldest_time(&self) -> Option<u64> {
        let recorded = Some(self.times.oldest_ancester).filter(|&time| time != 0);
        recorded.or_else(|| self.stats()?.creation_time)
    }
}

/// The name of the checksum function of a file without a checksum.
pub const UNKNOWN_CHECKSUM: &str = "Unknown";

/// The trailer of a largest key that is the exclusive end of a range tombstone.
pub const EXCLUSIVE_END: u64 = key::pack(key::MAX_SEQUENCE, key::ValueType::RangeDeletion as u8);

/// Displays a file as `000012[a#7,SET-c#3,DEL]`.
impl fmt::Display for FileMetaData {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        write!(
            f,
            "{:06}[{}-{}]",
            self.number.get(),
            crate::draw::key(&self.smallest),
            crate::draw::key(&self.largest)
        )
    }
}

#[cfg(test)]
mod tests;
