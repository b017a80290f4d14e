//! The record of a write batch about the timestamps of its keys.
//!
//! The layout of a write batch does not show whether the last bytes of a key are a timestamp. So the batch records,
//! for each column family, how its records were added. The write path compares this with the comparator of the
//! column family. Without the check, a put without timestamp would split its key: the last eight bytes would become
//! the timestamp, and keys that differ only in these bytes would become entries of one key.
//!
//! The rule: in a column family with timestamps, every record is added with a timestamp of the length that the
//! comparator needs. In a column family without timestamps, no record is added with a timestamp. A record
//! that was added with room for a timestamp must get its timestamp before the write. Only a batch that is read from bytes (WAL, replication) is not checked: its keys already have their final form. Sources: RocksDB
//! `DBImpl::FailIfCfHasTs`, `DBImpl::FailIfTsMismatchCf`, `WriteBatchInternal::CheckColumnFamilyTimestampSize`.

use base::{Error, FamilyId, Result};

/// How a record was added.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
enum Added {
    WithoutTimestamp,
    /// With a timestamp of this many bytes.
    WithTimestamp(usize),
    /// With this many zero bytes in the place of a timestamp. `WriteBatch::update_timestamps` sets the timestamp.
    WithRoom(usize),
    /// As bytes: the key has a timestamp if the column family has timestamps.
    Encoded,
}

/// For each column family of a batch, every way in which its records were added. Most batches have one pair.
#[derive(Clone, Debug, Default, PartialEq, Eq)]
pub struct KeyTimestamps {
    added: Vec<(FamilyId, Added)>,
}

impl KeyTimestamps {
    /// Starts with column families whose records were all added without timestamps.
    pub fn missing(families: &[FamilyId]) -> Self {
        KeyTimestamps { added: families.iter().map(|family| (*family, Added::WithoutTimestamp)).collect() }
    }

    /// Starts with column families whose records were all read from bytes.
    pub fn encoded(families: &[FamilyId]) -> Self {
        KeyTimestamps { added: families.iter().map(|family| (*family, Added::Encoded)).collect() }
    }

    /// Adds a record without timestamp.
    pub fn add_missing(&mut self, family: FamilyId) {
        self.add(family, Added::WithoutTimestamp);
    }

    /// Adds a record with a timestamp of `len` bytes.
    pub fn add_given(&mut self, family: FamilyId, len: usize) {
        self.add(family, Added::WithTimestamp(len));
    }

    /// Adds a record with `len` zero bytes in the place of its timestamp.
    pub fn add_room(&mut self, family: FamilyId, len: usize) {
        self.add(family, Added::WithRoom(len));
    }

    /// Replaces how the records of these column families were added by the state in `other`. The room of a record then
    /// counts as its timestamp.
    pub fn replace_families(&mut self, other: &KeyTimestamps, families: &[FamilyId]) {
        self.added.retain(|(family, _)| !families.contains(family));
        for (family, added) in other.added.iter().filter(|(family, _)| families.contains(family)) {
            match *added {
                Added::WithRoom(len) => self.add(*family, Added::WithTimestamp(len)),
                added => self.add(*family, added),
            }
        }
    }

    /// Adds the records of another batch.
    pub fn add_all(&mut self, other: &KeyTimestamps) {
        other.added.iter().for_each(|(family, added)| self.add(*family, *added));
    }

    fn add(&mut self, family: FamilyId, added: Added) {
        if !self.added.contains(&(family, added)) {
            self.added.push((family, added));
        }
    }

    /// Returns true if a record was added with a timestamp.
    pub fn any_given(&self) -> bool {
        self.added.iter().any(|(_, added)| matches!(added, Added::WithTimestamp(_) | Added::WithRoom(_)))
    }

    /// Returns true if the keys of the column family end with a timestamp or its room, also if they were read from bytes.
    ///
    /// # Errors
    /// InvalidArgument if only some keys of the column family end with a timestamp.
    pub fn carried(&self, family: FamilyId) -> Result<bool> {
        let mut added = self.added.iter().filter(|(id, _)| *id == family).map(|(_, added)| *added);
        let carried = added.clone().any(|added| added != Added::WithoutTimestamp);
        if carried && added.any(|added| added == Added::WithoutTimestamp) {
            return Err(Error::invalid_argument(format!(
                "the write batch has keys of column family {family} with and without room for a timestamp"
            )));
        }
        Ok(carried)
    }

    /// Checks the records of a column family whose timestamps have `size` bytes. 0 means that it has no timestamps.
    ///
    /// # Errors
    /// InvalidArgument, see the rule of this module.
    pub fn check(&self, family: FamilyId, size: usize, name: &str) -> Result<()> {
        for (_, added) in self.added.iter().filter(|(id, _)| *id == family) {
            match added {
                Added::Encoded => {}
                Added::WithoutTimestamp if size == 0 => {}
                Added::WithoutTimestamp => return Err(missing(name)),
                Added::WithRoom(_) => {
                    return Err(Error::invalid_argument("write batch must have timestamp(s) set"));
                }
                Added::WithTimestamp(len) if size > 0 && *len == size => {}
                Added::WithTimestamp(len) => return Err(mismatch(name, size, *len)),
            }
        }
        Ok(())
    }
}

/// Returns the error of a write without timestamp to a column family with timestamps.
#[cold]
pub fn missing(name: &str) -> Error {
    Error::invalid_argument(format!(
        "cannot call this method on column family {name} that enables timestamp: the write has no timestamp"
    ))
}

/// Returns the error of a write with a timestamp of `given` bytes to a column family whose timestamps have `size`
/// bytes.
#[cold]
fn mismatch(name: &str, size: usize, given: usize) -> Error {
    Error::invalid_argument(match size {
        0 => format!(
            "cannot call this method on column family {name} that does not enable timestamp: the write has a timestamp"
        ),
        _ => format!("Timestamp sizes mismatch: expect {size}, {given} given for column family {name}"),
    })
}
