//! Sub-batches: the entries of a batch that share one sequence number ([`Numbering::PerBatch`]).
//!
//! ```text
//!  records     a b a c   Begin d e End x          in the WAL    a b | a c |  Begin d e End x
//!  sequence    7 7 8 8         9 9                (| is a placeholder marker, which ends a sub-batch)
//! ```
//! A memtable can hold a key only once with a sequence number. So a key that occurs again starts a new sub-batch. A
//! range deletion is a sub-batch of its own, because it deletes only entries with smaller sequence numbers. RocksDB
//! searches for repeated keys again in a replay, and takes the placeholder for the end of a batch. Both ways count
//! the same sub-batches.
//! Facts: RocksDB `db/write_batch.cc` (`MaybeAdvanceSeq`, `MarkNoop`), `write_prepared_txn_db.cc` (`SubBatchCounter`).
//!
//! [`Numbering::PerBatch`]: crate::prepared::Numbering::PerBatch

use std::cmp::Ordering;
use std::collections::BTreeSet;

use base::{FamilyId, Order, Result};
use format::batch::{Marker, Record, Records, append};

use crate::family::{Family, FamilySet};
use crate::sync::Arc;

/// Records in which each sub-batch ends with a marker.
pub struct Separated {
    pub records: Vec<u8>,
    /// The number of sequence numbers that the records take.
    pub batches: u32,
}

/// Returns true if a marker ends a sub-batch.
pub fn ends_batch(marker: &Marker<'_>) -> bool {
    match marker {
        Marker::Noop
        | Marker::EndPrepare(_)
        | Marker::Commit(_)
        | Marker::CommitWithTimestamp { .. }
        | Marker::Rollback(_) => true,
        Marker::BeginPrepare | Marker::BeginPersistedPrepare | Marker::BeginUnprepare => false,
    }
}

/// Separates the sub-batches of these records. Records that are separated already do not change.
///
/// # Errors
/// Corruption if a record does not decode.
pub fn separate(records: &[u8], families: &FamilySet) -> Result<Separated> {
    let mut orders: Vec<(FamilyId, Option<Arc<Family>>)> = Vec::new();
    for record in Records::behind_header(records) {
        if let Some(id) = record?.family()
            && !orders.iter().any(|(known, _)| *known == id)
        {
            orders.push((id, families.get(id)));
        }
    }
    let order = |id| {
        let family = orders.iter().find(|(known, _)| *known == id).and_then(|(_, family)| family.as_ref());
        family.map_or(&Order::Bytewise, |family| &family.order().user)
    };
    let mut out = Separator { records: Vec::with_capacity(records.len() + 8), ..Separator::default() };
    for record in Records::behind_header(records) {
        match (record?, out.has_entries) {
            (Record::Marker(Marker::Noop), false) => {}
            (Record::Marker(marker), has_entries) => {
                let ends = ends_batch(&marker);
                if has_entries && !ends {
                    out.end();
                }
                append(&mut out.records, &Record::Marker(marker));
                if ends {
                    out.ended();
                }
            }
            (record @ Record::LogData(_), _) => append(&mut out.records, &record),
            (record @ Record::DeleteRange { .. }, has_entries) => {
                if has_entries {
                    out.end();
                }
                append(&mut out.records, &record);
                out.end();
            }
            (record, _) => {
                if let (Some(family), Some((_, key, _))) = (record.family(), record.entry()) {
                    let key = SubBatchKey { family, key, order: order(family) };
                    if !out.keys.insert(key) {
                        out.end();
                        out.keys.insert(key);
                    }
                    out.has_entries = true;
                }
                append(&mut out.records, &record);
            }
        }
    }
    if out.has_entries {
        out.end();
    }
    base::invariant!(
        out.keys.is_empty() && !out.has_entries,
        "the last sub-batch of a write batch has no end"
    );
    Ok(Separated { records: out.records, batches: out.batches })
}

#[derive(Default)]
struct Separator<'a> {
    records: Vec<u8>,
    batches: u32,
    keys: BTreeSet<SubBatchKey<'a>>,
    /// True if the last sub-batch has entries and no end.
    has_entries: bool,
}

impl Separator<'_> {
    fn end(&mut self) {
        append(&mut self.records, &Record::Marker(Marker::Noop));
        self.ended();
    }

    fn ended(&mut self) {
        self.batches += 1;
        self.keys.clear();
        self.has_entries = false;
    }
}

/// A key, compared as its column family compares keys.
#[derive(Clone, Copy)]
struct SubBatchKey<'a> {
    family: FamilyId,
    key: &'a [u8],
    order: &'a Order,
}

impl Ord for SubBatchKey<'_> {
    fn cmp(&self, other: &Self) -> Ordering {
        self.family.cmp(&other.family).then_with(|| self.order.compare(self.key, other.key))
    }
}

impl PartialOrd for SubBatchKey<'_> {
    fn partial_cmp(&self, other: &Self) -> Option<Ordering> {
        Some(self.cmp(other))
    }
}

impl PartialEq for SubBatchKey<'_> {
    fn eq(&self, other: &Self) -> bool {
        self.cmp(other).is_eq()
    }
}

impl Eq for SubBatchKey<'_> {}
