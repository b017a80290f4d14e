//! Timestamps of runs whose column families have timestamps (comparator `..u64ts`).
//!
//! A write takes the newest sequence number plus one as its timestamp. So timestamps grow with the sequence numbers,
//! and a newer entry of a key never has an older timestamp, also after a crash that lost the newest writes. RocksDB
//! requires the same order. A timestamp then acts like a snapshot: a read at the newest timestamp of a state sees
//! this state. The models know no timestamps.

use ironstone::{Db, Family, ReadOptions, WriteBatch};

/// Adds records to a batch: with a timestamp, or without in families without timestamps.
#[derive(Clone, Copy, Debug)]
pub struct Stamp([u8; 8]);

impl Stamp {
    /// Returns the stamp for the next batch.
    pub fn next(db: &Db) -> Stamp {
        Stamp(db.latest_sequence().next().get().to_le_bytes())
    }

    /// Returns the timestamp as a number.
    pub fn time(self) -> u64 {
        u64::from_le_bytes(self.0)
    }

    /// Adds a put.
    pub fn put(self, batch: &mut WriteBatch, family: &Family, key: &[u8], value: &[u8]) {
        if is_stamped(family) {
            batch.put_at(family.id(), key, &self.0, value);
        } else {
            batch.put_in(family.id(), key, value);
        }
    }

    /// Adds a deletion.
    pub fn delete(self, batch: &mut WriteBatch, family: &Family, key: &[u8]) {
        if is_stamped(family) {
            batch.delete_at(family.id(), key, &self.0);
        } else {
            batch.delete_in(family.id(), key);
        }
    }

    /// Adds a single deletion.
    pub fn single_delete(self, batch: &mut WriteBatch, family: &Family, key: &[u8]) {
        if is_stamped(family) {
            batch.single_delete_at(family.id(), key, &self.0);
        } else {
            batch.single_delete_in(family.id(), key);
        }
    }

    /// Adds a merge operand.
    pub fn merge(self, batch: &mut WriteBatch, family: &Family, key: &[u8], operand: &[u8]) {
        if is_stamped(family) {
            batch.merge_at(family.id(), key, &self.0, operand);
        } else {
            batch.merge_in(family.id(), key, operand);
        }
    }

    /// Adds a range deletion.
    pub fn delete_range(self, batch: &mut WriteBatch, family: &Family, begin: &[u8], end: &[u8]) {
        if is_stamped(family) {
            batch.delete_range_at(family.id(), begin, end, &self.0);
        } else {
            batch.delete_range_in(family.id(), begin, end);
        }
    }
}

/// Returns true if the keys of the family carry timestamps.
pub fn is_stamped(family: &Family) -> bool {
    family.options().comparator.timestamp_size() > 0
}

/// Returns `options` with the timestamp `at`, if the family has timestamps.
pub fn reading(family: &Family, at: u64, options: ReadOptions) -> ReadOptions {
    let timestamp = is_stamped(family).then(|| at.to_le_bytes().to_vec());
    ReadOptions { timestamp, ..options }
}
