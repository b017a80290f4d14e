//! Whether the keys of a write batch carry timestamps.
//!
//! The layout of a write batch does not show whether the last bytes of a key are a timestamp. So the batch remembers,
//! for each column family, how its records were added. The write path compares this with the comparator of the family.
//! Without the check, a put without timestamp would split its key: the last eight bytes become the timestamp, and keys
//! that differ only there become versions of one key.
//!
//! The rule: in a family with timestamps, every record is added with a timestamp of the length of the comparator. In
//! a family without timestamps, no record is added with a timestamp. Only a batch that is read from bytes (WAL,
//! replication) is not checked: its keys already have their final form. Sources: RocksDB `DBImpl::FailIfCfHasTs`,
//! `DBImpl::FailIfTsMismatchCf`, `WriteBatchInternal::CheckColumnFamilyTimestampSize`.

use base::{Error, FamilyId, Result};

/// How a record was added.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
enum Added {
    WithoutTimestamp,
    /// With a timestamp of so many bytes.
    WithTimestamp(usize),
    /// As bytes: the key carries a timestamp if the family has timestamps.
    Encoded,
}

/// For each column family of a batch, every way in which its records were added. Short: most batches have one pair.
#[derive(Clone, Debug, Default, PartialEq, Eq)]
pub struct KeyTimestamps(Vec<(FamilyId, Added)>);

impl KeyTimestamps {
    /// All records of these families were added without timestamps.
    pub fn missing(families: &[FamilyId]) -> Self {
        KeyTimestamps(families.iter().map(|family| (*family, Added::WithoutTimestamp)).collect())
    }

    /// All records of these families were read from bytes.
    pub fn encoded(families: &[FamilyId]) -> Self {
        KeyTimestamps(families.iter().map(|family| (*family, Added::Encoded)).collect())
    }

    /// Remembers a record without timestamp.
    pub fn add_missing(&mut self, family: FamilyId) {
        self.add(family, Added::WithoutTimestamp);
    }

    /// Remembers a record with a timestamp of `len` bytes.
    pub fn add_given(&mut self, family: FamilyId, len: usize) {
        self.add(family, Added::WithTimestamp(len));
    }

    /// Remembers the records of another batch.
    pub fn add_all(&mut self, other: &KeyTimestamps) {
        other.0.iter().for_each(|(family, added)| self.add(*family, *added));
    }

    fn add(&mut self, family: FamilyId, added: Added) {
        if !self.0.contains(&(family, added)) {
            self.0.push((family, added));
        }
    }

    /// Returns true if a record was added with a timestamp.
    pub fn any_given(&self) -> bool {
        self.0.iter().any(|(_, added)| matches!(added, Added::WithTimestamp(_)))
    }

    /// Returns the families whose keys end with a timestamp, also those that were read from bytes.
    pub fn given_families(&self) -> impl Iterator<Item = FamilyId> {
        self.0.iter().filter(|(_, added)| *added != Added::WithoutTimestamp).map(|(family, _)| *family)
    }

    /// Checks the records of a family whose timestamps have `size` bytes. 0: the family has no timestamps.
    ///
    /// # Errors
    /// InvalidArgument, see the rule of this module.
    pub fn check(&self, family: FamilyId, size: usize, name: &str) -> Result<()> {
        for (_, added) in self.0.iter().filter(|(id, _)| *id == family) {
            match added {
                Added::Encoded => {}
                Added::WithoutTimestamp if size == 0 => {}
                Added::WithoutTimestamp => return Err(missing(name)),
                Added::WithTimestamp(len) if size > 0 && *len == size => {}
                Added::WithTimestamp(len) => return Err(mismatch(name, size, *len)),
            }
        }
        Ok(())
    }
}

/// The error of a write without timestamp to a family with timestamps.
#[cold]
pub fn missing(name: &str) -> Error {
    Error::invalid_argument(format!(
        "cannot write without a timestamp to column family {name}, which has timestamps"
    ))
}

/// The error of a write with a timestamp of `given` bytes to a family whose timestamps have `size` bytes.
#[cold]
fn mismatch(name: &str, size: usize, given: usize) -> Error {
    Error::invalid_argument(match size {
        0 => format!("cannot write with a timestamp to column family {name}, which has no timestamps"),
        _ => format!("a timestamp has {given} bytes; column family {name} needs {size}"),
    })
}
