//! Moves large values of a write group to blob files, before the WAL (`enable_blob_direct_write`).
//!
//! ```text
//!  records of the group:  [Put a, large] [Put b, small] [PutEntity c]
//!  for WAL and memtables: [PutBlobIndex a, file 12, offset, size] [Put b, small] [PutEntity c, large columns as blob indexes]
//! ```
//! The leader does this after the last switch of memtables before the insert, so the files belong to the memtable that gets the
//! entries. Merge operands and timed puts keep their values. So do the records of a two-phase commit: their section is in the WAL
//! already. Source: RocksDB `db/blob/blob_write_batch_transformer.cc`. RocksDB also keeps all values of a batch with a merge
//! operand.

use base::{FamilyId, Result};
use compress::Compression;
use format::batch::{Batch, Record, put_blob_index, put_entity};
use format::blob::BlobRef;
use format::wide::{self, Column};

use super::Writer;
use super::hook::{Parts, WriteHook};
use crate::batch::WriteBatch;
use crate::direct::{DirectFile, Place};
use crate::family::{Family, SuperVersion, blob_cache};
use crate::sync::Arc;
use crate::wal::fail_references;

/// A column family of the group whose values move.
struct Target {
    family: Arc<Family>,
    super_version: Arc<SuperVersion>,
}

/// Appends the large values of a write group to blob files. `records` are the records of the group, in which `batch` is the batch
/// of the leader. Returns the records that refer to the values, with the header of the batch. `None` means that no value moved.
///
/// # Errors
/// Errors of a blob file. They poison the WALs: the file may lack values that WAL records refer to.
#[inline]
pub(super) fn move_values(
    writer: &Writer,
    (batch, hook): (&WriteBatch, Option<&dyn WriteHook>),
    records: &[u8],
) -> Result<Option<Vec<u8>>> {
    if !writer.switcher.families.any_direct_writes()
        || batch.has_wal_end()
        || hook.is_some_and(|hook| hook.parts() != Parts::All || hook.filled().is_some())
    {
        return Ok(None);
    }
    let mut touched = Vec::new();
    let moved = Mover { writer }.move_into(records, &mut touched);
    let flushed = moved.and_then(|moved| touched.iter().try_for_each(|file| file.flush()).map(|()| moved));
    flushed.map_err(|error| {
        let error = fail_references(&writer.switcher.wals, error.doing("writing values to blob files"));
        writer.faults.wal_failed(&error);
        error
    })
}

/// Moves the values of one write group.
struct Mover<'w> {
    writer: &'w Writer,
}

impl Mover<'_> {
    fn move_into(&self, bytes: &[u8], touched: &mut Vec<Arc<DirectFile>>) -> Result<Option<Vec<u8>>> {
        let mut records = Batch::new(bytes)?.records();
        let (mut out, mut copied) = (Vec::new(), 0);
        let mut target: Option<(FamilyId, Option<Target>)> = None;
        loop {
            let start = records.offset();
            let Some(record) = records.next().transpose()? else { break };
            let Some(id) = record.family() else { continue };
            if target.as_ref().is_none_or(|(known, _)| *known != id) {
                target = Some((id, self.target(id)));
            }
            let Some((_, Some(target))) = &target else { continue };
            let at = out.len();
            out.extend_from_slice(&bytes[copied..start]);
            if self.append_moved(target, &record, &mut out, touched)? {
                copied = records.offset();
            } else {
                out.truncate(at);
            }
        }
        if copied == 0 {
            return Ok(None);
        }
        out.extend_from_slice(&bytes[copied..]);
        Ok(Some(out))
    }

    /// Returns the column family, if its values move.
    fn target(&self, id: FamilyId) -> Option<Target> {
        let family = self.writer.switcher.families.get(id)?;
        let super_version = family.pin_owned();
        super_version.parts.blobs.direct_write.then_some(Target { family, super_version })
    }

    /// Appends the record that refers to the values. Returns false, and may append nothing, if no value of the record is large.
    fn append_moved(
        &self,
        target: &Target,
        record: &Record<'_>,
        out: &mut Vec<u8>,
        touched: &mut Vec<Arc<DirectFile>>,
    ) -> Result<bool> {
        let min = target.super_version.parts.blobs.min_blob_size;
        let is_large = |value: &[u8]| !value.is_empty() && value.len() as u64 >= min;
        match *record {
            Record::Put { family, key, value } if is_large(value) => {
                let blob = self.append_value(target, (key, value), &mut None, touched)?;
                put_blob_index(out, family, key, &index_of(&blob));
                Ok(true)
            }
            Record::PutEntity { family, key, entity } => {
                // Without this option, such an entity is written as it is.
                let Ok(columns) = wide::decode(entity) else { return Ok(false) };
                if columns.iter().any(|c| c.is_blob) || !columns.iter().any(|c| is_large(c.value)) {
                    return Ok(false);
                }
                let (mut indexes, mut partition) = (Vec::with_capacity(columns.len()), None);
                for column in &columns {
                    indexes.push(match is_large(column.value) {
                        false => None,
                        true => {
                            let value = (key, column.value);
                            Some(index_of(&self.append_value(target, value, &mut partition, touched)?))
                        }
                    });
                }
                let moved: Vec<_> = columns
                    .iter()
                    .zip(&indexes)
                    .map(|(column, index)| match index {
                        None => *column,
                        Some(index) => Column { name: column.name, value: index, is_blob: true },
                    })
                    .collect();
                let mut whole = Vec::new();
                wide::encode(&moved, &mut whole)?;
                put_entity(out, family, key, &whole);
                Ok(true)
            }
            _ => Ok(false),
        }
    }

    fn append_value(
        &self,
        target: &Target,
        (key, value): (&[u8], &[u8]),
        partition: &mut Option<usize>,
        touched: &mut Vec<Arc<DirectFile>>,
    ) -> Result<BlobRef> {
        let Target { family, super_version } = target;
        let parts = &super_version.parts;
        let place = Place {
            family: family.id(),
            family_name: family.name(),
            mem: &super_version.mem,
            dir: parts.table_dir(0),
            partitions: parts.blobs.direct_partitions,
            file_size: parts.blobs.blob_file_size,
            compression: Compression::from_byte(parts.blobs.compression)?,
            compression_options: parts.blobs.compression_options,
        };
        let blob = self.writer.direct.append(&place, (key, value), partition, touched)?;
        if parts.blobs.warm_on_flush {
            let ids = self.writer.direct.cache_ids();
            blob_cache::warm(parts, ids, self.writer.stats.statistics(), (&blob, value));
        }
        Ok(blob)
    }
}

fn index_of(blob: &BlobRef) -> Vec<u8> {
    let mut index = Vec::new();
    blob.encode(&mut index);
    index
}
