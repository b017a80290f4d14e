//! WALs whose keys have timestamps of another size than the column families have now.
//!
//! ```text
//!  the WAL states     the column family has     keys of the WAL
//!  no size            timestamps                get the oldest timestamp
//!  a size             no timestamps             lose their timestamps
//!  a size             another size              the open fails
//! ```
//! The first two cases follow an open that turned timestamps on or off. This open flushes the WALs, also with
//! `avoid_flush_during_recovery`: if a WAL stayed and timestamps were turned off and on again, its entries would hide newer entries
//! that were written without timestamps. A size counts for the records after it in the same WAL. RocksDB: `util/udt_util.cc`.

use base::{Error, FamilyId, Result, ValueType};
use format::batch::{self, Batch, Marker, Record, append};

use crate::family::FamilySet;

/// The sizes of timestamps that one WAL has stated so far.
#[derive(Clone, Debug, Default)]
pub(super) struct RecordedSizes {
    sizes: Vec<(FamilyId, usize)>,
    /// True if no column family has timestamps, and none is stated to have them. Then no batch is read for its column
    /// families.
    all_plain: bool,
}

/// What happens to the keys of a column family.
#[derive(Clone, Copy, PartialEq, Eq)]
enum Change {
    Keep,
    Add(usize),
    Remove(usize),
}

impl RecordedSizes {
    /// Makes the state at the start of a WAL.
    pub fn new(families: &FamilySet) -> RecordedSizes {
        let mut recorded = RecordedSizes::default();
        recorded.compare(families);
        recorded
    }

    /// Adds the sizes of a record of the WAL.
    pub fn add(&mut self, sizes: &[(FamilyId, u16)], families: &FamilySet) {
        for (id, size) in sizes {
            self.sizes.retain(|(known, _)| known != id);
            self.sizes.push((*id, usize::from(*size)));
        }
        self.compare(families);
    }

    fn compare(&mut self, families: &FamilySet) {
        let is_plain = |id, size| size == 0 && matches!(self.change(id, size), Ok(Change::Keep));
        let all = families.all();
        self.all_plain = all.iter().all(|f| is_plain(f.id(), f.order().user.timestamp_size()));
    }

    /// Returns the change for a column family whose timestamps have `size` bytes now.
    fn change(&self, id: FamilyId, size: usize) -> Result<Change> {
        let recorded = self.sizes.iter().find(|(known, _)| *known == id).map(|(_, size)| *size);
        match (size, recorded) {
            (0, None) => Ok(Change::Keep),
            (0, Some(recorded)) => Ok(Change::Remove(recorded)),
            (size, None) => Ok(Change::Add(size)),
            (size, Some(recorded)) if size == recorded => Ok(Change::Keep),
            (size, Some(recorded)) => Err(Error::invalid_argument(format!(
                "WriteBatch contains unrecoverable timestamp size inconsistency: the WAL states {recorded} bytes for column \
                 family {id}, and its comparator has {size}"
            ))),
        }
    }

    /// Returns the batch with timestamps of the size that each column family has now. `None` means that the batch has this
    /// size already. Records of a column family that does not exist are unchanged.
    ///
    /// # Errors
    /// InvalidArgument for a size that is not 0 and differs from the size of the column family, and for a section of a
    /// write-unprepared transaction that needs a change. Corruption for a key that is shorter than its timestamp.
    pub fn converted(&self, bytes: &[u8], families: &FamilySet) -> Result<Option<Vec<u8>>> {
        if self.all_plain {
            return Ok(None);
        }
        let batch = Batch::new(bytes)?;
        let change_of = |record: &Record<'_>| {
            let Some(family) = record.family().and_then(|id| families.get(id)) else {
                return Ok(Change::Keep);
            };
            let size = family.order().user.timestamp_size();
            let change = self.change(family.id(), size)?;
            let stated = match change {
                Change::Keep => size,
                Change::Add(_) => 0,
                Change::Remove(stated) => stated,
            };
            let shortest = record.entry().map(|(value_type, key, value)| match value_type {
                ValueType::RangeDeletion => key.len().min(value.len()),
                _ => key.len(),
            });
            match shortest.is_some_and(|len| len < stated) {
                true => Err(Error::corruption("a key of the WAL is shorter than its timestamp")),
                false => Ok(change),
            }
        };
        let mut is_changed = false;
        for record in batch.records() {
            is_changed |= change_of(&record?)? != Change::Keep;
        }
        if !is_changed {
            return Ok(None);
        }
        let mut out = Vec::with_capacity(bytes.len() + bytes.len() / 4);
        out.extend_from_slice(&bytes[..batch::HEADER_LEN]);
        let mut keys = Vec::new();
        for record in batch.records() {
            let record = record?;
            match change_of(&record)? {
                Change::Keep => {
                    if let Record::Marker(Marker::BeginUnprepare) = record {
                        return Err(Error::invalid_argument(
                            "Handle user defined timestamp setting change is not supported for write unprepared policy. \
                             The WAL must be emptied.",
                        ));
                    }
                    append(&mut out, &record);
                }
                Change::Add(size) => {
                    let add = |key: &[u8], out: &mut Vec<u8>| {
                        out.extend_from_slice(key);
                        out.resize(out.len() + size, 0);
                    };
                    append(&mut out, &record.with_keys(&mut keys, add));
                }
                Change::Remove(size) => {
                    let remove = |key: &[u8], out: &mut Vec<u8>| {
                        out.extend_from_slice(base::key::without_timestamp(key, size));
                    };
                    append(&mut out, &record.with_keys(&mut keys, remove));
                }
            }
        }
        base::invariant!(
            batch::count(&out) == batch.count() && Batch::new(&out).is_ok_and(|new| new.verify().is_ok()),
            "a batch of {} entries has other entries with timestamps of another size",
            batch.count()
        );
        Ok(Some(out))
    }
}
