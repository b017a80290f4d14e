//! Applies the records of batches to memtables that no reader has yet.

use base::{Result, SequenceNumber, ValueType};
use format::batch::Batch;
use mem::memtable::MemTable;

use super::no_family;
use crate::batch::WriteBatch;
use crate::family::{Family, FamilySet};
use crate::sync::Arc;

/// A memtable that is filled, and its column family.
pub type OwnMemtable = (Arc<Family>, Arc<MemTable>);

/// Applies batches to new memtables, one for each column family. The first counted record has the sequence number 1. The
/// batches have passed [`super::check`], and have no range deletions. Records of missing column families take their sequence
/// numbers, if `skip_missing` is set.
///
/// # Errors
/// InvalidArgument for a missing column family. Corruption for a record that does not decode. An error of the
/// memtable.
pub fn to_own_memtables(
    batches: &[&WriteBatch],
    families: &FamilySet,
    skip_missing: bool,
) -> Result<Vec<OwnMemtable>> {
    let mut own: Vec<OwnMemtable> = Vec::new();
    let mut seq = SequenceNumber::FIRST;
    for batch in batches {
        seq = add_batch(batch, seq, &mut own, families, skip_missing)?;
    }
    base::invariant!(
        seq - 1 == SequenceNumber::new(batches.iter().map(|batch| u64::from(batch.count())).sum::<u64>()),
        "{} batches take {} sequence numbers, and count another number of entries",
        batches.len(),
        seq - 1
    );
    own.retain(|(_, mem)| !mem.is_empty());
    Ok(own)
}

/// Adds a batch at a sequence number. Returns the sequence number after the batch.
fn add_batch(
    batch: &WriteBatch,
    mut seq: SequenceNumber,
    own: &mut Vec<OwnMemtable>,
    families: &FamilySet,
    skip_missing: bool,
) -> Result<SequenceNumber> {
    let mut records = Batch::new(batch.bytes())?.records();
    let mut next = records.next().transpose()?;
    while let Some(first) = next {
        let Some(id) = first.family() else {
            next = records.next().transpose()?;
            continue;
        };
        let at = match own.iter().position(|(family, _)| family.id() == id) {
            Some(at) => Some(at),
            None => match families.get(id) {
                Some(family) => {
                    let mem = family.parts().new_memtable(0, SequenceNumber::ZERO);
                    own.push((family, mem));
                    Some(own.len() - 1)
                }
                None if skip_missing => None,
                None => return Err(no_family(id)),
            },
        };
        // One writer for the adjacent records of a column family.
        let mut writer = at.map(|at| own[at].1.writer());
        let mut record = first;
        next = loop {
            if let (Some((value_type, key, value)), Some(writer)) = (record.entry(), &mut writer) {
                writer.add(seq, value_type, key, value)?;
            }
            seq += u64::from(record.is_counted());
            match records.next().transpose()? {
                Some(next) if next.family() == Some(id) => record = next,
                other => break other,
            }
        };
    }
    Ok(seq)
}

/// Reports the live keys of a batch to the column families that know empty key ranges.
pub fn report_live_keys(batch: &WriteBatch, families: &[Arc<Family>]) {
    for family in families.iter().filter(|family| family.empty_ranges().concern_writers()) {
        let live = batch.iter().flatten().filter(|record| record.family() == Some(family.id()));
        let live = live.filter_map(|record| match record.entry()? {
            (ValueType::Deletion | ValueType::SingleDeletion, _, _) => None,
            (_, key, _) => Some(key),
        });
        family.empty_ranges().add_live(&family.order().user, live);
    }
}
