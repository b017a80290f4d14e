//! Encodes version edits, with the tags in RocksDB's order.

use base::coding::{put_slice, put_u32, put_u64, put_varint32, put_varint64};
use base::{Arrange, Error, FamilyId, FileNumber, Result, SequenceNumber, WalNumber, key};

use super::{
    BlobFileAddition, BlobFileGarbage, NewFile, UNKNOWN_CHECKSUM_FUNC_NAME, VersionEdit, WalAddition,
    file_tag, tag,
};

/// The number in the place of the level of a file in a progress record.
const NO_LEVEL: u32 = u32::MAX;

impl VersionEdit {
    /// Appends the record's bytes to `out`.
    ///
    /// `timestamp_size` is the timestamp size of the column family's comparator. If the timestamps of a file
    /// are not stored, its boundary keys are written without the last `timestamp_size` bytes of their user
    /// keys.
    ///
    /// # Errors
    /// Corruption if a new file has no valid boundary keys or no epoch number, or a path id above
    /// [`super::PATH_ID_MAX`]. RocksDB rejects these files too.
    pub fn encode(&self, timestamp_size: usize, out: &mut Vec<u8>) -> Result<()> {
        if let Some(id) = &self.db_id {
            text(out, tag::DB_ID, id.as_bytes());
        }
        if let Some(name) = &self.comparator {
            text(out, tag::COMPARATOR, name.as_bytes());
        }
        number(out, tag::LOG_NUMBER, self.wal_number.map(WalNumber::get));
        number(out, tag::PREV_LOG_NUMBER, self.prev_log_number.map(WalNumber::get));
        number(out, tag::NEXT_FILE_NUMBER, self.next_file_number.map(FileNumber::get));
        number(out, tag::MAX_COLUMN_FAMILY, self.max_column_family.map(|id| u64::from(id.get())));
        number(out, tag::MIN_LOG_NUMBER_TO_KEEP, self.min_log_number_to_keep.map(WalNumber::get));
        number(out, tag::LAST_SEQUENCE, self.last_sequence.map(SequenceNumber::get));
        for (level, cursor) in &self.compact_cursors {
            put_varint32(out, tag::COMPACT_CURSOR);
            put_varint32(out, u32::from(level.get()));
            put_slice(out, cursor);
        }
        self.encode_files(timestamp_size, out)?;
        for wal in &self.wals.additions {
            put_varint32(out, tag::WAL_ADDITION2);
            nested(out, |inner| wal.encode(inner));
        }
        nested_number(out, tag::WAL_DELETION2, self.wals.deletion.map(WalNumber::get));
        if self.family.id != FamilyId::DEFAULT {
            put_varint32(out, tag::COLUMN_FAMILY);
            put_varint32(out, self.family.id.get());
        }
        if let Some(name) = &self.family.add {
            text(out, tag::COLUMN_FAMILY_ADD, name.as_bytes());
        }
        if self.family.drop {
            put_varint32(out, tag::COLUMN_FAMILY_DROP);
        }
        number(out, tag::IN_ATOMIC_GROUP, self.remaining_entries.map(u64::from));
        if let Some(timestamp) = &self.full_history_ts_low {
            text(out, tag::FULL_HISTORY_TS_LOW, timestamp);
        }
        if let Some(persist) = self.persist_user_defined_timestamps {
            text(out, tag::PERSIST_USER_DEFINED_TIMESTAMPS, &[u8::from(persist)]);
        }
        if let Some(progress) = &self.subcompaction_progress {
            let mut inner = Vec::new();
            progress.encode(&mut inner)?;
            text(out, tag::SUBCOMPACTION_PROGRESS, &inner);
        }
        nested_number(out, tag::LAST_COMPACTED_MANIFEST_FILE_SIZE, self.last_compacted_manifest_file_size);
        if let Some(mark) = self.mark {
            put_varint32(out, tag::MARK);
            nested(out, |inner| {
                put_varint64(inner, mark.offset);
                put_u32(inner, mark.digest);
                if let Some(number) = mark.number {
                    put_varint64(inner, number.get());
                }
            });
        }
        Ok(())
    }

    fn encode_files(&self, timestamp_size: usize, out: &mut Vec<u8>) -> Result<()> {
        let mut deleted = self.deleted_files.clone();
        deleted.arrange();
        deleted.dedup();
        for (level, file) in deleted {
            put_varint32(out, tag::DELETED_FILE);
            put_varint32(out, u32::from(level.get()));
            put_varint64(out, file.get());
        }
        for (i, file) in self.new_files.iter().enumerate() {
            let min_wal = if i == 0 { self.min_log_number_to_keep } else { None };
            file.encode(timestamp_size, min_wal, out)?;
        }
        for blob in &self.blobs.additions {
            put_varint32(out, tag::BLOB_FILE_ADDITION);
            blob.encode(out);
        }
        for garbage in &self.blobs.garbages {
            put_varint32(out, tag::BLOB_FILE_GARBAGE);
            garbage.encode(out);
        }
        Ok(())
    }
}

impl NewFile {
    /// Encodes the file with its tag. The first new file of an edit repeats the `min_log_number_to_keep` of
    /// the edit, for readers that do not know its tag.
    pub(crate) fn encode(
        &self,
        timestamp_size: usize,
        min_log_number_to_keep: Option<WalNumber>,
        out: &mut Vec<u8>,
    ) -> Result<()> {
        self.check()?;
        put_varint32(out, tag::NEW_FILE4);
        put_varint32(out, u32::from(self.level.get()));
        self.encode_after_level(timestamp_size, min_log_number_to_keep, out)
    }

    /// Encodes the file for a record of progress, in which the number 2^32-1 stands for the level.
    pub(super) fn encode_without_level(&self, out: &mut Vec<u8>) -> Result<()> {
        self.check()?;
        put_varint32(out, tag::NEW_FILE4);
        put_varint32(out, NO_LEVEL);
        self.encode_after_level(0, None, out)
    }

    /// Rejects a file that no reader accepts.
    fn check(&self) -> Result<()> {
        key::check_boundary(&self.smallest)?;
        key::check_boundary(&self.largest)?;
        if !self.epoch_number.is_known() || self.path_id > super::PATH_ID_MAX {
            return Err(Error::corruption(format!(
                "file {} has epoch number {} and path {}",
                self.number, self.epoch_number, self.path_id
            )));
        }
        Ok(())
    }

    fn encode_after_level(
        &self,
        timestamp_size: usize,
        min_log_number_to_keep: Option<WalNumber>,
        out: &mut Vec<u8>,
    ) -> Result<()> {
        put_varint64(out, self.number.get());
        put_varint64(out, self.file_size);
        let strip = if self.user_defined_timestamps_persisted { 0 } else { timestamp_size };
        put_boundary(out, &self.smallest, strip)?;
        put_boundary(out, &self.largest, strip)?;
        put_varint64(out, self.smallest_seqno.get());
        put_varint64(out, self.largest_seqno.get());
        self.encode_fields(min_log_number_to_keep, out);
        Ok(())
    }

    fn encode_fields(&self, min_log_number_to_keep: Option<WalNumber>, out: &mut Vec<u8>) {
        let set = |n: u64| (n != 0).then_some(n);
        nested_number(out, file_tag::OLDEST_ANCESTER_TIME, Some(self.times.oldest_ancester));
        nested_number(out, file_tag::FILE_CREATION_TIME, Some(self.times.creation));
        nested_number(out, file_tag::EPOCH_NUMBER, Some(self.epoch_number.get()));
        if self.checksum.function != UNKNOWN_CHECKSUM_FUNC_NAME {
            text(out, file_tag::FILE_CHECKSUM, &self.checksum.value);
            text(out, file_tag::FILE_CHECKSUM_FUNC_NAME, self.checksum.function.as_bytes());
        }
        if self.path_id != 0 {
            text(out, file_tag::PATH_ID, &[self.path_id as u8]);
        }
        if self.temperature != 0 {
            text(out, file_tag::TEMPERATURE, &[self.temperature]);
        }
        if self.marked_for_compaction {
            text(out, file_tag::NEED_COMPACTION, &[1]);
        }
        if let Some(number) = min_log_number_to_keep {
            text(out, file_tag::MIN_LOG_NUMBER_TO_KEEP, &number.get().to_le_bytes());
        }
        let blob = self.oldest_blob_file_number.map_or(0, |blob| blob.get());
        nested_number(out, file_tag::OLDEST_BLOB_FILE_NUMBER, set(blob));
        if self.unique_id != [0, 0] {
            put_varint32(out, file_tag::UNIQUE_ID);
            nested(out, |inner| self.unique_id.iter().for_each(|&half| put_u64(inner, half)));
        }
        nested_number(
            out,
            file_tag::COMPENSATED_RANGE_DELETION_SIZE,
            set(self.compensated_range_deletion_size),
        );
        nested_number(out, file_tag::TAIL_SIZE, set(self.tail_size));
        if !self.user_defined_timestamps_persisted {
            text(out, file_tag::USER_DEFINED_TIMESTAMPS_PERSISTED, &[0]);
        }
        for (tag, bytes) in [
            (file_tag::MIN_TIMESTAMP, &self.timestamps.min),
            (file_tag::MAX_TIMESTAMP, &self.timestamps.max),
            (file_tag::FILE_OPEN_METADATA, &self.file_open_metadata),
        ] {
            if !bytes.is_empty() {
                text(out, tag, bytes);
            }
        }
        put_varint32(out, file_tag::TERMINATE);
    }
}

impl BlobFileAddition {
    /// Encodes `varint64 number | varint64 count | varint64 bytes | slice method | slice value | varint32 0`.
    fn encode(&self, out: &mut Vec<u8>) {
        put_varint64(out, self.blob_file_number.get());
        put_varint64(out, self.total_blob_count);
        put_varint64(out, self.total_blob_bytes);
        put_slice(out, &self.checksum_method);
        put_slice(out, &self.checksum_value);
        put_varint32(out, 0);
    }
}

impl BlobFileGarbage {
    /// Encodes `varint64 number | varint64 count | varint64 bytes | varint32 0`.
    fn encode(&self, out: &mut Vec<u8>) {
        put_varint64(out, self.blob_file_number.get());
        put_varint64(out, self.garbage_blob_count);
        put_varint64(out, self.garbage_blob_bytes);
        put_varint32(out, 0);
    }
}

/// The tags of the fields of a WAL addition.
pub(super) mod wal_tag {
    /// Ends the fields. Has no payload.
    pub const TERMINATE: u32 = 1;
    /// The number of synced bytes of the WAL. Payload: a varint64.
    pub const SYNCED_SIZE: u32 = 2;
}

impl WalAddition {
    /// Encodes `varint64 number | [varint32 2 | varint64 size] | varint32 1`.
    fn encode(&self, out: &mut Vec<u8>) {
        put_varint64(out, self.number.get());
        number(out, wal_tag::SYNCED_SIZE, self.synced_size_bytes);
        put_varint32(out, wal_tag::TERMINATE);
    }
}

fn number(out: &mut Vec<u8>, tag: u32, value: Option<u64>) {
    if let Some(value) = value {
        put_varint32(out, tag);
        put_varint64(out, value);
    }
}

pub(super) fn text(out: &mut Vec<u8>, tag: u32, bytes: &[u8]) {
    put_varint32(out, tag);
    put_slice(out, bytes);
}

pub(super) fn nested_number(out: &mut Vec<u8>, tag: u32, value: Option<u64>) {
    if let Some(value) = value {
        put_varint32(out, tag);
        nested(out, |inner| put_varint64(inner, value));
    }
}

fn nested(out: &mut Vec<u8>, write: impl FnOnce(&mut Vec<u8>)) {
    let mut inner = Vec::with_capacity(16);
    write(&mut inner);
    put_slice(out, &inner);
}

/// Appends an internal key. The last `strip` bytes of its user key, its timestamp, are omitted.
fn put_boundary(out: &mut Vec<u8>, internal: &[u8], strip: usize) -> Result<()> {
    if strip == 0 {
        put_slice(out, internal);
        return Ok(());
    }
    let user = key::user_key(internal);
    let Some(kept) = user.len().checked_sub(strip) else {
        return Err(Error::corruption(format!(
            "a boundary key of {} bytes is shorter than its timestamp of {strip} bytes",
            user.len()
        )));
    };
    let mut short = Vec::with_capacity(internal.len());
    key::append_with_trailer(&mut short, &user[..kept], key::trailer(internal));
    put_slice(out, &short);
    Ok(())
}
