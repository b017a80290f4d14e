//! Applies write batches to memtables: each record in order, and each counted record with the next sequence
//! number.
//!
//! Adjacent records of one column family share one lookup of the memtable and one writer. An empty range
//! deletion is dropped and takes no sequence number, as in RocksDB. This rule also holds if the records of
//! the column family are skipped. RocksDB counts the empty range deletion in this case. The next record
//! then has another sequence number in a replay than when it was written, and this number may belong to the
//! next batch.

mod boundaries;
mod merge;
mod own;

use base::{Error, FamilyId, Result, SequenceNumber, ValueType, WalNumber};
use format::batch::{Batch, Marker, Record};
use mem::memtable::Inserted;
use mem::write_buffer::WriteBufferManager;

use crate::batch::WriteBatch;
use crate::family::{Family, FamilySet};
use crate::prepared::Numbering;
use crate::sync::Arc;
pub use boundaries::{ends_batch, separate};
pub use merge::Merger;
pub use own::{OwnMemtable, report_live_keys, to_own_memtables};

/// What happens to records of a column family that does not exist.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Missing {
    Refuse,
    /// Skip the records, but let them take their sequence numbers. For `ignore_missing_column_families` and
    /// recovery.
    Skip,
}

/// The treatment of a batch that has markers of a two-phase commit.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Markers {
    Refused,
    /// The batch is a part of a two-phase commit.
    Allowed,
}

/// The settings for applying a batch, which depend on the origin of the batch.
#[derive(Clone, Copy)]
pub struct Source<'a> {
    pub missing: Missing,
    /// During recovery: the number of the WAL. Column families whose entries of this WAL are in SST files are
    /// skipped.
    pub wal: Option<WalNumber>,
    /// The write buffer manager that learns how memtables grow.
    pub buffers: Option<&'a Arc<WriteBufferManager>>,
    /// Merges for `max_successive_merges`. Only if all older entries are in memtables.
    pub merger: Option<&'a dyn Merger>,
    /// The checksums of the counted records. Each record is compared with its checksum before it is applied.
    pub protection: Option<&'a [u64]>,
    /// With [`Numbering::PerBatch`], the records must be separated: see [`separate`].
    pub numbering: Numbering,
}

impl Source<'_> {
    /// Returns the settings for a batch that recovery read from this WAL.
    pub fn recovered(wal: WalNumber) -> Self {
        Source {
            missing: Missing::Skip,
            wal: Some(wal),
            buffers: None,
            merger: None,
            protection: None,
            numbering: Numbering::PerEntry,
        }
    }

    /// Returns the number of sequence numbers that an entry takes: 1, or 0 with [`Numbering::PerBatch`].
    #[inline]
    fn step(&self) -> u64 {
        u64::from(self.numbering == Numbering::PerEntry)
    }

    /// Compares the next counted record with its checksum.
    #[inline]
    fn check_protection(&mut self, record: &Record<'_>) -> Result<()> {
        let Some(sums) = self.protection else { return Ok(()) };
        let Some(sum) = crate::batch::checksum(record) else { return Ok(()) };
        match sums.split_first() {
            Some((first, rest)) if *first == sum => {
                self.protection = Some(rest);
                Ok(())
            }
            _ => Err(crate::batch::mismatch()),
        }
    }
}

/// The result of applying a batch.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub struct Applied {
    /// The sequence number after the last one that the batch used.
    pub next_seq: SequenceNumber,
    /// True if a changed memtable has reached its size limit or is ahead of a flush, or if the history of flushed memtables has
    /// reached its limit.
    pub memtable_full: bool,
    /// True if many keys were deleted, so a job should look for empty key ranges.
    pub deleted_many: bool,
    /// The number of puts that replaced an older value in place (`inplace_update_support`).
    pub updated: u64,
    /// The newest column family whose records were skipped because the column family does not exist.
    pub unknown: Option<FamilyId>,
}

/// Checks everything that could fail after the batch is in the WAL: column families, timestamps, operators, ranges.
///
/// # Errors
/// InvalidArgument for a missing column family, and for a record whose timestamp does not fit the column family.
/// InvalidArgument also for a merge without a merge operator, and for a range that ends before its start. NotSupported
/// for records of features that are not built.
pub fn check(batch: &WriteBatch, families: &FamilySet, missing: Missing, markers: Markers) -> Result<()> {
    let mut family: Option<Arc<Family>> = None;
    for record in Batch::new(batch.bytes())?.records() {
        let record = record?;
        let Some(id) = record.family() else {
            if let Record::Marker(marker) = record {
                check_marker(&marker, markers)?;
            }
            continue;
        };
        if family.as_ref().is_none_or(|f| f.id() != id) {
            family = families.get(id);
            base::invariant!(
                family.as_ref().is_none_or(|found| found.id() == id),
                "the column family {id} has another id"
            );
            if let Some(family) = &family {
                batch.check_timestamps(id, family.order().user.timestamp_size(), family.name())?;
            }
        }
        match &family {
            Some(family) => check_record(&record, family)?,
            None if missing == Missing::Skip => {}
            None => return Err(no_family(id)),
        }
    }
    Ok(())
}

fn check_marker(marker: &Marker<'_>, markers: Markers) -> Result<()> {
    if markers == Markers::Allowed || matches!(marker, Marker::Noop) {
        return Ok(());
    }
    Err(Error::not_supported("markers of a two-phase commit in a write batch: use TransactionDb"))
}

fn check_record(record: &Record<'_>, family: &Family) -> Result<()> {
    let order = &family.order().user;
    let Some((_, key, value)) = record.entry() else { return Ok(()) };
    if family.disallows_writes() {
        return Err(Error::invalid_argument("This column family has disallow_memtable_writes=true"));
    }
    if key.len() < order.timestamp_size() {
        return Err(Error::invalid_argument(format!("a key of {family:?} is shorter than its timestamp")));
    }
    match record {
        Record::Merge { .. } if family.pin().parts.code.merge_operator.is_none() => {
            Err(Error::invalid_argument("Merge requires `ColumnFamilyOptions::merge_operator != nullptr`"))
        }
        Record::DeleteRange { .. } if value.len() < order.timestamp_size() => {
            Err(Error::invalid_argument(format!("a range end of {family:?} is shorter than its timestamp")))
        }
        Record::DeleteRange { .. } if order.compare_without_timestamp(key, value).is_gt() => {
            Err(Error::invalid_argument("end key comes before start key"))
        }
        Record::DeleteRange { .. } => match &family.pin().parts.other.without_range_tombstones {
            None => Ok(()),
            Some(table) => Err(Error::not_supported(format!(
                "DeleteRange not supported for table type {table} in CF {}",
                family.name()
            ))),
        },
        Record::PutEntity { .. } if !family.pin().parts.stored.entities => Err(Error::invalid_argument(
            "wide-column entities are read from release 7.9 on, but compat is older",
        )),
        Record::PutBlobIndex { .. } | Record::PutEntity { .. } => {
            record.entry().map_or(Ok(()), |(value_type, _, value)| no_blob_references(value_type, value))
        }
        _ => Ok(()),
    }
}

/// Rejects an entry of the application that refers to a blob file. Only the leader of a write group makes such entries, for
/// blob files of the memtable (`enable_blob_direct_write`). Another blob file may be gone before the entry.
fn no_blob_references(value_type: ValueType, value: &[u8]) -> Result<()> {
    let refers = match value_type {
        ValueType::BlobIndex => true,
        ValueType::WideColumnEntity => format::wide::may_have_blobs(value),
        _ => false,
    };
    if refers {
        return Err(Error::not_supported(
            "references to blob files in a write batch (enable_blob_direct_write)",
        ));
    }
    Ok(())
}

/// Applies a batch. The first counted record gets the sequence number `seq`. Several threads may apply different
/// batches concurrently. Skips markers of a two-phase commit.
///
/// # Errors
/// Corruption for a record that does not decode. An error of the memtable. The records before the failed record are
/// applied.
pub fn batch(bytes: &[u8], seq: SequenceNumber, families: &FamilySet, source: Source<'_>) -> Result<Applied> {
    records(Batch::new(bytes)?.records(), seq, families, source)
}

/// Applies records without a batch header, as [`batch`] does.
///
/// # Errors
/// The errors of [`batch`].
pub fn records(
    mut records: format::batch::Records<'_>,
    seq: SequenceNumber,
    families: &FamilySet,
    mut source: Source<'_>,
) -> Result<Applied> {
    let mut done = Applied { next_seq: seq, ..Applied::default() };
    let mut next = records.next().transpose()?;
    while let Some(record) = next {
        let Some(id) = record.family() else {
            if let Record::Marker(marker) = &record {
                done.next_seq += u64::from(source.step() == 0 && ends_batch(marker));
            }
            next = records.next().transpose()?;
            continue;
        };
        next = match families.get(id).filter(|f| source.wal.is_none_or(|wal| wal >= f.state().wal_number)) {
            Some(family) => {
                let behind = records.clone();
                let rest = run_of_family(&family, id, record, &mut records, &mut source, &mut done);
                if family.empty_ranges().concern_writers() {
                    shorten_empty_ranges(&family, id, record, behind);
                }
                rest?
            }
            None if source.missing == Missing::Refuse => return Err(no_family(id)),
            None => {
                source.check_protection(&record)?;
                let family = families.get(id);
                if family.is_none() {
                    done.unknown = done.unknown.max(Some(id));
                }
                let numbered = match record.entry() {
                    Some((ValueType::RangeDeletion, begin, end)) => {
                        !is_empty_range(begin, end, family.as_deref())
                    }
                    _ => true,
                };
                done.next_seq += u64::from(numbered) * source.step();
                records.next().transpose()?
            }
        };
    }
    base::invariant!(done.next_seq >= seq, "a batch at the sequence number {seq} ends at {}", done.next_seq);
    base::invariant!(
        source.protection.is_none_or(<[u64]>::is_empty),
        "a batch ends before {} of its checksums",
        source.protection.map_or(0, <[u64]>::len)
    );
    Ok(done)
}

/// Returns true if a range deletion deletes nothing. If the column family is missing, its comparator is not known.
/// But equal keys are equal for every comparator.
fn is_empty_range(begin: &[u8], end: &[u8], family: Option<&Family>) -> bool {
    match family {
        Some(family) => !family.order().user.compare_without_timestamp(begin, end).is_lt(),
        None => begin == end,
    }
}

/// Applies the adjacent records of one column family. Returns the first record that is not of this column family.
fn run_of_family<'a>(
    family: &Family,
    id: FamilyId,
    first: Record<'a>,
    records: &mut format::batch::Records<'a>,
    source: &mut Source<'_>,
    done: &mut Applied,
) -> Result<Option<Record<'a>>> {
    let pin = family.pin();
    base::invariant!(family.id() == id, "entries of the column family {id} are inserted into {family:?}");
    let mem = &pin.mem;
    base::invariant!(
        !mem.is_immutable(),
        "an entry is inserted into the immutable memtable {} of {family:?}",
        mem.id()
    );
    let timestamps = family.order().user.timestamp_size() > 0;
    let merger = source.merger.filter(|_| !timestamps && pin.parts.successive_merges.operands_max > 0);
    let mut writer = mem.writer();
    let mut record = first;
    let mut deleted = 0;
    let mut last_deleted: &[u8] = &[];
    let rest = loop {
        source.check_protection(&record)?;
        if let Some((value_type, key, value)) = record.entry() {
            if value_type == ValueType::RangeDeletion {
                if !is_empty_range(key, value, Some(family)) {
                    mem.add_range_tombstone(done.next_seq, key, value)?;
                    done.next_seq += source.step();
                }
            } else {
                let value_type = if timestamps && value_type == ValueType::Deletion {
                    ValueType::DeletionWithTimestamp
                } else {
                    value_type
                };
                let merged = match (value_type, merger) {
                    (ValueType::Merge, Some(merger)) => {
                        merge::at_write(merger, family, &pin.parts, mem, done.next_seq, key, value)
                    }
                    _ => None,
                };
                let inserted = match &merged {
                    Some((value_type, value)) => writer.add(done.next_seq, *value_type, key, value)?,
                    None => writer.add(done.next_seq, value_type, key, value)?,
                };
                if matches!(value_type, ValueType::Deletion | ValueType::SingleDeletion) {
                    (deleted, last_deleted) = (deleted + 1, key);
                }
                done.updated += u64::from(inserted == Inserted::InPlace);
                done.next_seq += source.step();
            }
        }
        match records.next().transpose()? {
            Some(next) if next.family() == Some(id) => record = next,
            other => break other,
        }
    };
    drop(writer);
    if deleted > 0 {
        done.deleted_many |= family.deleted_places().count(deleted, last_deleted);
    }
    if let Some(buffers) = source.buffers {
        family.buffer_grown(buffers);
    }
    let used = mem.memory_used();
    done.memtable_full |= pin.parts.is_full_with(mem, used).is_some()
        || family.flush_pace().is_ahead(used)
        || (!pin.history.is_empty() && family.state().history_is_due(used));
    Ok(rest)
}

/// Reports the live keys of adjacent records to the key ranges that are known to be empty. A report for an entry
/// that was not inserted is harmless.
#[cold]
fn shorten_empty_ranges(
    family: &Family,
    id: FamilyId,
    first: Record<'_>,
    behind: format::batch::Records<'_>,
) {
    base::invariant!(family.id() == id, "entries of the column family {id} are looked up in {family:?}");
    let records = std::iter::once(first).chain(behind.map_while(Result::ok));
    let run = records.take_while(|record| record.family() == Some(id));
    let live = run.filter_map(|record| match record.entry()? {
        (ValueType::RangeDeletion | ValueType::Deletion | ValueType::SingleDeletion, _, _) => None,
        (_, key, _) => Some(key),
    });
    family.empty_ranges().add_live(&family.order().user, live);
}

#[cold]
fn no_family(id: FamilyId) -> Error {
    Error::invalid_argument(format!("Invalid column family specified in write batch: {id}"))
}
