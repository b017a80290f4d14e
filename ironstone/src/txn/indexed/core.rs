//! The shared state of an indexed write batch: the batch, its index, and the count of rollbacks.
//!
//! Iterators share this state with the batch. So an iterator may outlive the batch, and it sees later writes. `epoch`
//! changes when nodes are removed. An iterator that finds another epoch seeks its key again.

use base::{Error, FamilyId, Order, Result, Subcode};
use engine::batch::WriteBatch;
use format::batch::{HEADER_LEN, KEY_LEN_MAX, Record, Records, VALUE_LEN_MAX};

use super::index::{Index, Keys, NewRecord, NodeId, Orders};

/// The timestamps that the commit replaces. A timestamp that is longer needs an allocation for each record.
static ZEROS: [u8; 32] = [0; 32];

/// The batch, its index and the epoch.
pub(in crate::txn) struct Core {
    pub batch: WriteBatch,
    pub(super) index: Index,
    pub(super) orders: Orders,
    /// The epoch. It grows when nodes are removed.
    pub(super) epoch: u64,
    pub(super) overwrites: bool,
    /// The largest size of the batch in bytes; 0: no limit.
    pub bytes_max: usize,
    /// True if a record has zero bytes in the place of its timestamp, and [`Core::update_timestamps`] was not called since.
    pub lacks_timestamps: bool,
}

/// A write to one key.
#[derive(Clone, Copy)]
pub(in crate::txn) enum Write<'a> {
    Put(&'a [u8]),
    /// An entity in the encoding of `format::wide`.
    Entity(&'a [u8]),
    Delete,
    SingleDelete,
    Merge(&'a [u8]),
}

/// The column family of a write, and the order of its keys.
#[derive(Clone, Copy)]
pub(in crate::txn) struct Target<'a> {
    pub family: FamilyId,
    pub order: &'a Order,
}

/// Says whether a write enters the index.
#[derive(Clone, Copy, PartialEq, Eq)]
pub(in crate::txn) enum Indexing {
    On,
    Off,
}

impl Core {
    /// Makes an empty batch. `order` is the key order of the default column family. `reserved_bytes` is the
    /// initial capacity of the batch, and `bytes_max` is its largest size; 0: no limit. With `overwrites`,
    /// the index hides a record if a later record replaces the record.
    pub fn new(order: Order, overwrites: bool, reserved_bytes: usize, bytes_max: usize) -> Self {
        Core {
            batch: WriteBatch::with_capacity(reserved_bytes),
            index: Index::default(),
            orders: Orders::new(order),
            epoch: 0,
            overwrites,
            bytes_max,
            lacks_timestamps: false,
        }
    }

    pub(super) fn keys(&self) -> Keys<'_> {
        Keys { bytes: self.batch.bytes(), orders: &self.orders }
    }

    /// Records the order of a column family's keys.
    pub fn orders_of(&mut self, family: FamilyId, order: &Order) {
        self.orders.learn(family, order);
    }

    /// Returns the order of the keys of the default column family.
    pub fn default_order(&self) -> Order {
        self.orders.of(FamilyId::DEFAULT).clone()
    }

    /// Adds bytes that are written only to the WAL.
    ///
    /// # Errors
    /// Aborted with `MemoryLimit` if the batch would exceed its largest size. The batch is then unchanged.
    pub fn put_log_data(&mut self, blob: &[u8]) -> Result<()> {
        if self.bytes_max > 0 {
            self.batch.set_save_point();
        }
        self.batch.put_log_data(blob);
        self.keep_or_take_back()
    }

    /// With a largest size: takes the last record back if the batch exceeds the size.
    fn keep_or_take_back(&mut self) -> Result<()> {
        if self.bytes_max == 0 {
            return Ok(());
        }
        if self.batch.data_size() > self.bytes_max {
            self.batch.rollback_to_save_point()?;
            return Err(
                Error::aborted("the write batch reached max_bytes").with_subcode(Subcode::MemoryLimit)
            );
        }
        self.batch.pop_save_point()
    }

    /// Adds a record. If the column family has timestamps, the record gets a timestamp of zero bytes, which the commit
    /// replaces.
    ///
    /// # Errors
    /// InvalidArgument if the key or the value is too large; Aborted with `MemoryLimit` if the batch would exceed its
    /// largest size. The batch is then unchanged.
    pub fn write(
        &mut self,
        target: Target<'_>,
        key: &[u8],
        write: Write<'_>,
        indexing: Indexing,
    ) -> Result<()> {
        let (family, timestamp_size) = (target.family, target.order.timestamp_size());
        check_lengths(key.len() + timestamp_size, write)?;
        let at = self.batch.data_size();
        if self.bytes_max > 0 {
            self.batch.set_save_point();
        }
        if timestamp_size == 0 {
            match write {
                Write::Put(value) => self.batch.put_in(family, key, value),
                Write::Entity(entity) => self.batch.put_encoded_entity_in(family, key, entity),
                Write::Delete => self.batch.delete_in(family, key),
                Write::SingleDelete => self.batch.single_delete_in(family, key),
                Write::Merge(operand) => self.batch.merge_in(family, key, operand),
            };
        } else {
            let long;
            let zeros = match ZEROS.get(..timestamp_size) {
                Some(zeros) => zeros,
                None => {
                    long = vec![0; timestamp_size];
                    &long
                }
            };
            match write {
                Write::Put(value) => self.batch.put_at(family, key, zeros, value),
                Write::Entity(entity) => self.batch.put_encoded_entity_at(family, key, zeros, entity),
                Write::Delete => self.batch.delete_at(family, key, zeros),
                Write::SingleDelete => self.batch.single_delete_at(family, key, zeros),
                Write::Merge(operand) => self.batch.merge_at(family, key, zeros, operand),
            };
        }
        self.keep_or_take_back()?;
        self.lacks_timestamps |= timestamp_size > 0;
        if indexing == Indexing::On {
            self.orders.learn(family, target.order);
            let is_merge = matches!(write, Write::Merge(_));
            self.add_to_index(at, family, timestamp_size, is_merge)?;
        }
        Ok(())
    }

    /// Adds the record at `at`, the last record of the batch, to the index.
    fn add_to_index(
        &mut self,
        at: usize,
        family: FamilyId,
        timestamp_size: usize,
        is_merge: bool,
    ) -> Result<()> {
        let bytes = self.batch.bytes();
        let record = Records::behind_header(&bytes[at..]).next().transpose()?;
        let Some((_, key, _)) = record.and_then(|record| record.entry()) else {
            return Err(Error::corruption("a record of an indexed write batch has no key").at(at as u64));
        };
        // The key lies in the batch, so the difference of the addresses is its offset.
        let key_at = key.as_ptr() as usize - bytes.as_ptr() as usize;
        let key_len = key.len() - timestamp_size;
        let keys = Keys { bytes, orders: &self.orders };
        self.index.insert(&NewRecord { at, family, key_at, key_len, is_merge }, keys, self.overwrites);
        Ok(())
    }

    /// Replaces the timestamps of the keys. See `WriteBatch::update_timestamps`. The index stores offsets of records,
    /// so no record may move.
    ///
    /// # Errors
    /// The errors of `WriteBatch::update_timestamps`; InvalidArgument if a record has no place for a timestamp.
    pub fn update_timestamps(&mut self, timestamp: &[u8], size_of: impl Fn(FamilyId) -> usize) -> Result<()> {
        let mut stamped = self.batch.clone();
        stamped.update_timestamps(timestamp, size_of)?;
        if stamped.data_size() != self.batch.data_size() {
            return Err(Error::invalid_argument(
                "a record of a column family with timestamps was added to an indexed write batch without its column family",
            ));
        }
        self.batch = stamped;
        self.lacks_timestamps = false;
        Ok(())
    }

    /// Removes all records.
    pub fn clear(&mut self) {
        self.batch.clear();
        self.index.clear();
        self.lacks_timestamps = false;
        self.epoch += 1;
    }

    /// Removes the first `end` bytes of the batch, and the save points in them. Later save points stay. Cost: the records
    /// that stay are copied and indexed again, also records that were not in the index.
    ///
    /// # Errors
    /// Corruption if a record does not decode.
    pub fn remove_front(&mut self, end: usize) -> Result<()> {
        let save_points: Vec<usize> = self.batch.save_point_sizes().filter(|size| *size > end).collect();
        let old = std::mem::take(&mut self.batch);
        self.clear();
        let mut records = Records::behind_header(&old.bytes()[end..]);
        let mut next_save_point = save_points.into_iter().peekable();
        loop {
            let at = end + records.offset() - HEADER_LEN;
            while next_save_point.next_if_eq(&at).is_some() {
                self.batch.set_save_point();
            }
            let Some(record) = records.next().transpose()? else { return Ok(()) };
            self.repeat(&record)?;
        }
    }

    /// Adds a record of another batch, with its timestamp.
    fn repeat(&mut self, record: &Record<'_>) -> Result<()> {
        let at = self.batch.data_size();
        let family = record.family().unwrap_or_default();
        match *record {
            Record::Put { key, value, .. } => self.batch.put_in(family, key, value),
            Record::PutEntity { key, entity, .. } => self.batch.put_encoded_entity_in(family, key, entity),
            Record::Delete { key, .. } => self.batch.delete_in(family, key),
            Record::SingleDelete { key, .. } => self.batch.single_delete_in(family, key),
            Record::Merge { key, operand, .. } => self.batch.merge_in(family, key, operand),
            Record::LogData(blob) => {
                self.batch.put_log_data(blob);
                return Ok(());
            }
            _ => return Err(Error::invalid_argument("an indexed write batch cannot take this record")),
        };
        let timestamp_size = self.orders.of(family).timestamp_size();
        self.add_to_index(at, family, timestamp_size, matches!(record, Record::Merge { .. }))
    }

    /// Removes the records since the last save point, and the save point.
    ///
    /// # Errors
    /// NotFound without a save point.
    pub fn rollback_to_save_point(&mut self) -> Result<()> {
        if let Some(len) = self.batch.save_point_size() {
            let keys = Keys { bytes: self.batch.bytes(), orders: &self.orders };
            self.index.truncate(len, keys);
            self.epoch += 1;
        }
        self.batch.rollback_to_save_point()
    }

    /// Returns the number of records in the index.
    #[cfg(test)]
    pub fn indexed(&self) -> usize {
        self.index.len()
    }

    /// Decodes the record of a node.
    pub(super) fn record(&self, id: NodeId) -> Result<Record<'_>> {
        let at = self.index.node(id).at;
        let mut records = Records::behind_header(&self.batch.bytes()[at..]);
        records
            .next()
            .unwrap_or_else(|| Err(Error::corruption("a record of an indexed write batch is missing")))
    }
}

fn check_lengths(key_len: usize, write: Write<'_>) -> Result<()> {
    let value_len = match write {
        Write::Put(bytes) | Write::Entity(bytes) | Write::Merge(bytes) => bytes.len(),
        Write::Delete | Write::SingleDelete => 0,
    };
    if key_len > KEY_LEN_MAX {
        return Err(Error::invalid_argument("key is too large"));
    }
    if value_len > VALUE_LEN_MAX {
        return Err(Error::invalid_argument("value is too large"));
    }
    Ok(())
}
