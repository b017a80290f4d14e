//! Batches whose values are in blob files (`enable_blob_direct_write`), during replay.
//!
//! ```text
//!  WAL:    [PutBlobIndex k ─► 000012.blob, offset, size]      000012.blob: header │ record of k │ record │ ...
//!  replay: read the record, verify key and checksum ─► [Put k, value] ─► memtable
//! ```
//! The writer appends a value to a blob file, and then its blob index to the WAL. No version has the blob file before the
//! flush of the memtable. Replay puts the value in the place of the blob index, so the entry needs the blob file no more. The
//! next flush writes the value again, and then no WAL refers to the blob file. A WAL with blob indexes is therefore never
//! kept (`avoid_flush_during_recovery`).
//!
//! A crash can keep a WAL record and lose the end of a blob file that was not synced. Such a record counts as the torn end of
//! the WAL. Other bytes than the writer appended count as damage. RocksDB 11.8 does not read these blob files at replay: its
//! reads of the key fail after the open.
//!
//! Source of the bytes: RocksDB `db/blob/blob_file_partition_manager.cc`, `db/blob/blob_write_batch_transformer.cc`.

use std::collections::BTreeMap;

use base::{Error, FamilyId, FileNumber, Result, ValueType, WalNumber};
use env::ReadHints;
use env::fs::RandomRead;
use format::batch::{self, Batch, Record, append};
use format::blob::{BlobRef, HEADER_LEN, RECORD_HEADER_LEN};
use format::wide::{self, Column};
use lsm::blob_flow::blob_of;
use table::blob::{BlobAccess, BlobReader};

use crate::family::{Family, FamilySet};
use crate::output::JobTools;
use crate::sync::Arc;

/// Bytes that a disk writes as a whole.
const SECTOR_BYTES: u64 = 512;

/// A secondary instance reads WALs without end, so the oldest of more blob files is closed.
const OPEN_FILES_MAX: usize = 16;

/// A shorter part of a sector may have zeros that the writer appended.
const FEWEST_ZEROS: usize = 16;

/// Why the value of a blob index cannot be read.
pub(super) enum Unread {
    /// The blob file lacks the value. A crash can have this effect if the blob file was not synced.
    Lost(Error),
    /// The blob file has other bytes than the writer appended.
    Damaged(Error),
    /// The batch has a blob index that no writer produces, or the file system failed.
    Fatal(Error),
}

/// Puts values in the place of blob indexes. Keeps the newest blob files open.
#[derive(Default)]
pub(super) struct InlineBlobs {
    open: BTreeMap<FileNumber, OpenFile>,
}

/// A blob file, which may have no footer.
struct OpenFile {
    file: Arc<dyn RandomRead>,
    reader: BlobReader,
}

impl InlineBlobs {
    /// Returns the batch with all values inline. `None` means that the batch has no blob index that replay needs. The records
    /// of a column family that does not need the WAL `wal` are unchanged: replay skips these records.
    pub fn inlined(
        &mut self,
        bytes: &[u8],
        wal: WalNumber,
        tools: &JobTools,
        families: &FamilySet,
    ) -> std::result::Result<Option<Vec<u8>>, Unread> {
        let records = || Batch::new(bytes).map(|batch| batch.records()).map_err(Unread::Fatal);
        if !records()?.any(|record| record.is_ok_and(|record| refers(&record))) {
            return Ok(None);
        }
        let mut out = Vec::with_capacity(bytes.len());
        out.extend_from_slice(&bytes[..batch::HEADER_LEN]);
        let mut is_changed = false;
        for record in records()? {
            let record = record.map_err(Unread::Fatal)?;
            let family = record.family().and_then(|id| families.get(id));
            match family.filter(|family| refers(&record) && wal >= family.state().wal_number) {
                None => append(&mut out, &record),
                Some(family) => {
                    self.append_inlined(&mut out, &record, &family, tools)?;
                    is_changed = true;
                }
            }
        }
        base::invariant!(
            batch::count(&out) == batch::count(bytes)
                && Batch::new(&out).is_ok_and(|new| new.verify().is_ok()),
            "a batch of {} entries has other entries after its values were read from blob files",
            batch::count(bytes)
        );
        Ok(is_changed.then_some(out))
    }

    fn append_inlined(
        &mut self,
        out: &mut Vec<u8>,
        record: &Record<'_>,
        family: &Family,
        tools: &JobTools,
    ) -> std::result::Result<(), Unread> {
        let id = family.id();
        match *record {
            Record::PutBlobIndex { key, index, .. } => {
                let value = self.value(family, key, index, tools)?;
                batch::put(out, id, key, b"", &value);
            }
            Record::PutEntity { key, entity, .. } => {
                let columns = wide::decode(entity).map_err(Unread::Fatal)?;
                let mut values = Vec::with_capacity(columns.len());
                for column in &columns {
                    values.push(match column.is_blob {
                        true => Some(self.value(family, key, column.value, tools)?),
                        false => None,
                    });
                }
                let inline: Vec<_> = columns
                    .iter()
                    .zip(&values)
                    .map(|(column, value)| {
                        Column::inline(column.name, value.as_deref().unwrap_or(column.value))
                    })
                    .collect();
                let mut whole = Vec::new();
                wide::encode(&inline, &mut whole).map_err(Unread::Fatal)?;
                batch::put_entity(out, id, key, &whole);
            }
            _ => append(out, record),
        }
        Ok(())
    }

    /// Reads the value of a blob index. Verifies the checksum of the record and its key.
    fn value(
        &mut self,
        family: &Family,
        key: &[u8],
        index: &[u8],
        tools: &JobTools,
    ) -> std::result::Result<Vec<u8>, Unread> {
        let blob = blob_of(index).map_err(Unread::Fatal)?;
        let open = self.open(family, &blob, tools)?;
        let size = open.file.size().map_err(Unread::Fatal)?;
        if blob.offset.checked_add(blob.size).is_none_or(|end| end > size) {
            return Err(Unread::Lost(refused(&blob, &format!("the blob file has {size} bytes"))));
        }
        let access = BlobAccess { verify_checksums: true, limits: None };
        open.reader.get(key, &blob, access).map_err(|error| {
            if !error.is_corruption() {
                return Unread::Fatal(error);
            }
            // The blob index comes from a WAL, and may name a place before the first record.
            let start = blob.offset.saturating_sub((RECORD_HEADER_LEN + key.len()) as u64);
            match is_unwritten(&*open.file, start, blob.offset + blob.size) {
                Err(error) => Unread::Fatal(error),
                Ok(true) => Unread::Lost(refused(&blob, "the blob file has zeros there")),
                Ok(false) => Unread::Damaged(refused(&blob, error.message())),
            }
        })
    }

    /// Returns the open blob file of a column family.
    fn open(
        &mut self,
        family: &Family,
        blob: &BlobRef,
        tools: &JobTools,
    ) -> std::result::Result<&OpenFile, Unread> {
        let number = blob.file_number;
        if !self.open.contains_key(&number) {
            let path = family.parts().blob_path(number);
            let file = match tools.env.fs.open_random(&path, &ReadHints::default()) {
                Ok(file) => file,
                Err(error) if error.is_not_found() => {
                    return Err(Unread::Lost(refused(blob, "the blob file is missing")));
                }
                Err(error) => return Err(Unread::Fatal(error)),
            };
            let opened = open_file(file, family.id(), blob)?;
            if self.open.len() >= OPEN_FILES_MAX {
                self.open.pop_first();
            }
            self.open.insert(number, opened);
        }
        self.open.get(&number).ok_or_else(|| Unread::Fatal(Error::corruption("a blob file is not open")))
    }
}

fn open_file(
    file: Arc<dyn RandomRead>,
    family: FamilyId,
    blob: &BlobRef,
) -> std::result::Result<OpenFile, Unread> {
    match BlobReader::open_unfinished(file.clone(), family, None) {
        Ok(reader) => Ok(OpenFile { file, reader }),
        Err(error) if !error.is_corruption() => Err(Unread::Fatal(error)),
        Err(error) => {
            let size = file.size().map_err(Unread::Fatal)?;
            let is_lost = size < HEADER_LEN as u64
                || is_unwritten(&*file, 0, HEADER_LEN as u64).map_err(Unread::Fatal)?;
            let error = refused(blob, error.message());
            Err(if is_lost { Unread::Lost(error) } else { Unread::Damaged(error) })
        }
    }
}

/// Returns true if the record has a blob index.
fn refers(record: &Record<'_>) -> bool {
    match record.entry() {
        Some((ValueType::BlobIndex, ..)) => true,
        Some((ValueType::WideColumnEntity, _, entity)) => wide::may_have_blobs(entity),
        _ => false,
    }
}

/// Returns true if the bytes of a file from `start` to `end` have a sector of zeros. A crash leaves such sectors if the size of
/// the file was written and its bytes were not.
fn is_unwritten(file: &dyn RandomRead, start: u64, end: u64) -> Result<bool> {
    let mut buffer = [0; SECTOR_BYTES as usize];
    let mut at = start;
    while at < end {
        let next = (at / SECTOR_BYTES + 1).saturating_mul(SECTOR_BYTES).min(end);
        let bytes = &mut buffer[..(next - at) as usize];
        let got = file.read_at(at, bytes)?;
        if got < bytes.len() || (got >= FEWEST_ZEROS && bytes.iter().all(|byte| *byte == 0)) {
            return Ok(true);
        }
        at = next;
    }
    Ok(false)
}

/// Returns the error for a record of a WAL whose value cannot be read.
fn refused(blob: &BlobRef, why: &str) -> Error {
    Error::corruption(format!(
        "the record refers to {} bytes at offset {} of blob file {:06}.blob (enable_blob_direct_write), and {why}",
        blob.size, blob.offset, blob.file_number
    ))
}
