//! Decodes version edits from untrusted bytes.

use base::coding::Cursor;
use base::{EpochNumber, Error, FamilyId, FileNumber, Level, Result, SequenceNumber, WalNumber, key};

use super::encode::wal_tag;
use super::{
    BlobFileAddition, BlobFileGarbage, EditMark, LEVELDB_SEQNOS, NewFile, PATH_ID_MAX, SubcompactionProgress,
    VersionEdit, WalAddition, file_tag, tag,
};

/// The largest known temperature byte. A larger byte is read as unknown.
const TEMPERATURE_MAX: u8 = 0x10;

/// The name of tag 103 in messages.
const NEW_FILE4: &str = "new-file4 entry";

impl VersionEdit {
    /// Reads one MANIFEST record.
    ///
    /// # Errors
    /// Corruption, with the offset in the record, where RocksDB reports it: unknown tags that may not be
    /// ignored, truncated fields, invalid boundary keys. NotSupported for progress fields of newer releases,
    /// and for names that are not UTF-8.
    pub fn decode(record: &[u8]) -> Result<VersionEdit> {
        let mut edit = VersionEdit::default();
        let mut cursor = Cursor::new(record);
        while !cursor.is_empty() {
            let at = cursor.offset() as u64;
            let Some(tag) = cursor.varint32() else { return Err(bad("invalid tag").at(at)) };
            edit.read(tag, &mut cursor).map_err(|e| e.at(at))?;
        }
        Ok(edit)
    }

    fn read(&mut self, tag: u32, c: &mut Cursor<'_>) -> Result<()> {
        match tag {
            tag::DB_ID => self.db_id = Some(string("db id", c.slice())?),
            tag::COMPARATOR => self.comparator = Some(string("comparator name", c.slice())?),
            tag::LOG_NUMBER => self.wal_number = Some(wal_number("log number", c)?),
            tag::PREV_LOG_NUMBER => self.prev_log_number = Some(wal_number("previous log number", c)?),
            tag::NEXT_FILE_NUMBER => self.next_file_number = Some(file_number("next file number", c)?),
            tag::MAX_COLUMN_FAMILY => {
                self.max_column_family = Some(FamilyId::new(need("max column family", c.varint32())?));
            }
            tag::MIN_LOG_NUMBER_TO_KEEP => {
                self.min_log_number_to_keep = Some(wal_number("min log number to keep", c)?);
            }
            tag::LAST_SEQUENCE => {
                self.last_sequence = Some(SequenceNumber::new(need("last sequence number", c.varint64())?))
            }
            tag::COMPACT_CURSOR => {
                let level = level("compaction cursor", c)?;
                self.compact_cursors.push((level, internal_key("compaction cursor", c)?));
            }
            tag::DELETED_FILE => {
                let level = level("deleted file", c)?;
                self.deleted_files.push((level, file_number("deleted file", c)?));
            }
            tag::NEW_FILE | tag::NEW_FILE2 | tag::NEW_FILE3 => {
                self.new_files.push(NewFile::decode_old(tag, c)?)
            }
            tag::NEW_FILE4 => {
                let (file, min_wal) = NewFile::decode(c)?;
                self.new_files.push(file);
                self.min_log_number_to_keep = min_wal.or(self.min_log_number_to_keep);
            }
            tag::BLOB_FILE_ADDITION | tag::BLOB_FILE_ADDITION_DEPRECATED => {
                self.blobs.additions.push(BlobFileAddition::decode(c)?);
            }
            tag::BLOB_FILE_GARBAGE | tag::BLOB_FILE_GARBAGE_DEPRECATED => {
                self.blobs.garbages.push(BlobFileGarbage::decode(c)?);
            }
            tag::COLUMN_FAMILY => {
                self.family.id = FamilyId::new(need("set column family id", c.varint32())?);
            }
            tag::COLUMN_FAMILY_ADD => self.family.add = Some(string("column family add", c.slice())?),
            tag::COLUMN_FAMILY_DROP => self.family.drop = true,
            tag::IN_ATOMIC_GROUP => self.remaining_entries = Some(need("remaining entries", c.varint32())?),
            _ => self.read_later(tag, c)?,
        }
        Ok(())
    }

    /// Reads the tags that came after the column families: WALs, timestamps, progress and marks. Skips an unknown tag that may be
    /// ignored.
    fn read_later(&mut self, tag: u32, c: &mut Cursor<'_>) -> Result<()> {
        match tag {
            tag::WAL_ADDITION => self.wals.additions.push(WalAddition::decode(c)?),
            tag::WAL_ADDITION2 => {
                let inner = need("WalAddition not prefixed by length", c.slice())?;
                self.wals.additions.push(WalAddition::decode(&mut Cursor::new(inner))?);
            }
            tag::WAL_DELETION => self.wals.deletion = Some(wal_number("WAL log number", c)?),
            tag::WAL_DELETION2 => self.wals.deletion = Some(WalNumber::new(nested_number("WalDeletion", c)?)),
            tag::FULL_HISTORY_TS_LOW => {
                let timestamp = need("full_history_ts_low", c.slice())?;
                if timestamp.is_empty() {
                    return Err(bad("full_history_ts_low: empty"));
                }
                self.full_history_ts_low = Some(timestamp.to_vec());
            }
            tag::PERSIST_USER_DEFINED_TIMESTAMPS => {
                let byte = one_byte("persist_user_defined_timestamps", c.slice())?;
                self.persist_user_defined_timestamps = Some(byte == 1);
            }
            tag::SUBCOMPACTION_PROGRESS => {
                let inner = need("SubcompactionProgress not prefixed by length", c.slice())?;
                self.subcompaction_progress = Some(SubcompactionProgress::decode(inner)?);
            }
            tag::LAST_COMPACTED_MANIFEST_FILE_SIZE => {
                self.last_compacted_manifest_file_size =
                    Some(nested_number("last compacted manifest file size", c)?);
            }
            tag::MARK => {
                let mut inner = Cursor::new(need("mark not prefixed by length", c.slice())?);
                let (offset, digest) = (inner.varint64(), inner.u32());
                let number = if inner.is_empty() { None } else { Some(file_number("mark", &mut inner)?) };
                self.mark =
                    Some(EditMark { offset: need("mark", offset)?, digest: need("mark", digest)?, number });
            }
            _ if tag & tag::SAFE_TO_IGNORE != 0 => {
                need("safely ignoreable tag length error", c.slice())?;
            }
            _ => return Err(bad(format!("unknown tag {tag}"))),
        }
        Ok(())
    }
}

impl NewFile {
    /// Decodes the payload of tag 103, and the copy of `min_log_number_to_keep` if there is one.
    fn decode(c: &mut Cursor<'_>) -> Result<(NewFile, Option<WalNumber>)> {
        let level = level(NEW_FILE4, c)?;
        NewFile::decode_after_level(level, c)
    }

    /// Decodes a file of a progress record. The number at the place of the level has no meaning there.
    pub(super) fn decode_without_level(c: &mut Cursor<'_>) -> Result<NewFile> {
        need(NEW_FILE4, c.varint32())?;
        NewFile::decode_after_level(Level::ZERO, c).map(|(file, _)| file)
    }

    fn decode_after_level(level: Level, c: &mut Cursor<'_>) -> Result<(NewFile, Option<WalNumber>)> {
        const WHAT: &str = NEW_FILE4;
        let mut file = NewFile {
            level,
            number: file_number(WHAT, c)?,
            file_size: need(WHAT, c.varint64())?,
            smallest: internal_key(WHAT, c)?,
            largest: internal_key(WHAT, c)?,
            smallest_seqno: SequenceNumber::new(need(WHAT, c.varint64())?),
            largest_seqno: SequenceNumber::new(need(WHAT, c.varint64())?),
            ..NewFile::default()
        };
        let mut min_wal = None;
        loop {
            let tag = need("new-file4 custom field", c.varint32())?;
            if tag == file_tag::TERMINATE {
                return Ok((file, min_wal));
            }
            let field = need("new-file4 custom field length prefixed slice error", c.slice())?;
            if tag == file_tag::MIN_LOG_NUMBER_TO_KEEP {
                let number = need("deleted log number malformatted", Cursor::new(field).u64())?;
                min_wal = Some(WalNumber::new(number));
            } else {
                file.read_field(tag, field)?;
            }
        }
    }

    fn read_field(&mut self, tag: u32, field: &[u8]) -> Result<()> {
        let number = |what| need(what, Cursor::new(field).varint64());
        match tag {
            file_tag::PATH_ID => {
                self.path_id = u32::from(one_byte("path_id field", Some(field))?);
                if self.path_id > PATH_ID_MAX {
                    return Err(bad(format!("path_id {} is above {PATH_ID_MAX}", self.path_id)));
                }
            }
            file_tag::OLDEST_ANCESTER_TIME => {
                self.times.oldest_ancester = number("invalid oldest ancester time")?
            }
            file_tag::FILE_CREATION_TIME => self.times.creation = number("invalid file creation time")?,
            file_tag::EPOCH_NUMBER => self.epoch_number = EpochNumber::new(number("invalid epoch number")?),
            file_tag::FILE_CHECKSUM => self.checksum.value = field.to_vec(),
            file_tag::FILE_CHECKSUM_FUNC_NAME => {
                self.checksum.function = string("file checksum function name", Some(field))?;
            }
            file_tag::NEED_COMPACTION => {
                self.marked_for_compaction = one_byte("need_compaction field", Some(field))? == 1;
            }
            file_tag::OLDEST_BLOB_FILE_NUMBER => {
                let blob = FileNumber::new(number("invalid oldest blob file number")?);
                self.oldest_blob_file_number = (blob != FileNumber::default()).then_some(blob);
            }
            file_tag::TEMPERATURE => {
                let byte = one_byte("temperature field", Some(field))?;
                self.temperature = if byte <= TEMPERATURE_MAX { byte } else { 0 };
            }
            file_tag::UNIQUE_ID => {
                let mut halves = Cursor::new(field);
                match (halves.u64(), halves.u64(), halves.is_empty()) {
                    (Some(a), Some(b), true) => self.unique_id = [a, b],
                    _ => return Err(bad("invalid unique id")),
                }
            }
            file_tag::COMPENSATED_RANGE_DELETION_SIZE => {
                self.compensated_range_deletion_size = number("invalid compensated range deletion size")?;
            }
            file_tag::TAIL_SIZE => self.tail_size = number("invalid tail start offset")?,
            file_tag::USER_DEFINED_TIMESTAMPS_PERSISTED => {
                self.user_defined_timestamps_persisted =
                    one_byte("user-defined timestamps persisted field", Some(field))? == 1;
            }
            file_tag::MIN_TIMESTAMP => self.timestamps.min = field.to_vec(),
            file_tag::MAX_TIMESTAMP => self.timestamps.max = field.to_vec(),
            file_tag::FILE_OPEN_METADATA => self.file_open_metadata = field.to_vec(),
            _ if tag & file_tag::NOT_SAFE_TO_IGNORE != 0 => {
                return Err(bad(format!("new-file4 custom field {tag} not supported")));
            }
            _ => {}
        }
        Ok(())
    }

    /// Decodes the payload of the tags 7, 100 and 102.
    fn decode_old(tag: u32, c: &mut Cursor<'_>) -> Result<NewFile> {
        let what = match tag {
            tag::NEW_FILE => "new-file entry",
            tag::NEW_FILE2 => "new-file2 entry",
            _ => "new-file3 entry",
        };
        let mut file =
            NewFile { level: level(what, c)?, number: file_number(what, c)?, ..NewFile::default() };
        if tag == tag::NEW_FILE3 {
            file.path_id = need(what, c.varint32())?;
        }
        file.file_size = need(what, c.varint64())?;
        file.smallest = internal_key(what, c)?;
        file.largest = internal_key(what, c)?;
        (file.smallest_seqno, file.largest_seqno) = match tag {
            tag::NEW_FILE => LEVELDB_SEQNOS,
            _ => (
                SequenceNumber::new(need(what, c.varint64())?),
                SequenceNumber::new(need(what, c.varint64())?),
            ),
        };
        Ok(file)
    }
}

impl BlobFileAddition {
    fn decode(c: &mut Cursor<'_>) -> Result<Self> {
        let addition = BlobFileAddition {
            blob_file_number: file_number("blob file number", c)?,
            total_blob_count: need("total blob count", c.varint64())?,
            total_blob_bytes: need("total blob bytes", c.varint64())?,
            checksum_method: need("checksum method", c.slice())?.to_vec(),
            checksum_value: need("checksum value", c.slice())?.to_vec(),
        };
        skip_blob_fields(c)?;
        Ok(addition)
    }
}

impl BlobFileGarbage {
    fn decode(c: &mut Cursor<'_>) -> Result<Self> {
        let garbage = BlobFileGarbage {
            blob_file_number: file_number("blob file number", c)?,
            garbage_blob_count: need("garbage blob count", c.varint64())?,
            garbage_blob_bytes: need("garbage blob bytes", c.varint64())?,
        };
        skip_blob_fields(c)?;
        Ok(garbage)
    }
}

/// Skips unknown fields of newer releases after a blob record. They end with 0. A field with bit 6 must not
/// be ignored.
fn skip_blob_fields(c: &mut Cursor<'_>) -> Result<()> {
    loop {
        let tag = need("custom field tag", c.varint32())?;
        if tag == 0 {
            return Ok(());
        }
        if tag & file_tag::NOT_SAFE_TO_IGNORE != 0 {
            return Err(bad("Forward incompatible custom field encountered"));
        }
        need("custom field value", c.slice())?;
    }
}

impl WalAddition {
    fn decode(c: &mut Cursor<'_>) -> Result<Self> {
        let mut wal = WalAddition { number: wal_number("WAL log number", c)?, synced_size_bytes: None };
        loop {
            match need("WAL addition tag", c.varint32())? {
                wal_tag::TERMINATE => return Ok(wal),
                wal_tag::SYNCED_SIZE => wal.synced_size_bytes = Some(need("WAL file size", c.varint64())?),
                tag => return Err(bad(format!("unknown WAL addition tag {tag}"))),
            }
        }
    }
}

#[cold]
pub(super) fn bad(what: impl std::fmt::Display) -> Error {
    Error::corruption(format!("VersionEdit: {what}"))
}

pub(super) fn need<T>(what: &str, value: Option<T>) -> Result<T> {
    value.ok_or_else(|| bad(what))
}

/// Reads a level, a varint32. No database has a level above 255.
fn level(what: &str, c: &mut Cursor<'_>) -> Result<Level> {
    let number = need(what, c.varint32())?;
    u8::try_from(number).map(Level::new).map_err(|_| bad(format!("{what}: invalid level {number}")))
}

/// Reads a file number, a varint64.
fn wal_number(what: &str, c: &mut Cursor<'_>) -> Result<WalNumber> {
    need(what, c.varint64()).map(WalNumber::new)
}

fn file_number(what: &str, c: &mut Cursor<'_>) -> Result<FileNumber> {
    need(what, c.varint64()).map(FileNumber::new)
}

fn string(what: &str, bytes: Option<&[u8]>) -> Result<String> {
    match std::str::from_utf8(need(what, bytes)?) {
        Ok(text) => Ok(text.to_string()),
        Err(_) => Err(Error::not_supported(format!("VersionEdit: {what} that is not UTF-8"))),
    }
}

fn one_byte(what: &str, field: Option<&[u8]>) -> Result<u8> {
    match need(what, field)? {
        &[byte] => Ok(byte),
        _ => Err(bad(format!("{what} wrong size"))),
    }
}

fn nested_number(what: &str, c: &mut Cursor<'_>) -> Result<u64> {
    let inner = need(what, c.slice())?;
    need(what, Cursor::new(inner).varint64())
}

fn internal_key(what: &str, c: &mut Cursor<'_>) -> Result<Vec<u8>> {
    let bytes = need(what, c.slice())?;
    key::check_boundary(bytes).map_err(|e| bad(format!("{what}: {}", e.message())))?;
    Ok(bytes.to_vec())
}
