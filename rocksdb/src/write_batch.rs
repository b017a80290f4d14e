//! Write batches: changes that are applied together or not at all.

use ironstone::{Batch, FamilyId, Record};

use crate::{AsColumnFamilyRef, Error};

/// A batch for [`crate::DB`].
pub type WriteBatch = WriteBatchWithTransaction<false>;

/// A batch. With `TRANSACTION`, the batch is for a database with transactions and cannot delete ranges.
///
/// ```
/// use rocksdb::{DB, WriteBatch};
///
/// # let dir = tempfile::tempdir().unwrap();
/// let db = DB::open_default(dir.path())?;
/// let mut batch = WriteBatch::default();
/// batch.put(b"a", b"1");
/// batch.delete(b"b");
/// db.write(batch)?;
/// assert!(db.get(b"a")?.is_some());
/// # Ok::<(), rocksdb::Error>(())
/// ```
pub struct WriteBatchWithTransaction<const TRANSACTION: bool> {
    inner: ironstone::WriteBatch,
    /// The bytes of [`Self::from_data`] and the decode error, if the bytes are not a batch.
    fault: Option<(Vec<u8>, ironstone::Error)>,
}

/// Receives the changes of a batch of the default column family.
pub trait WriteBatchIterator {
    /// Receives a put.
    fn put(&mut self, key: &[u8], value: &[u8]);
    /// Receives a deletion.
    fn delete(&mut self, key: &[u8]);
}

/// Receives the changes of a batch, with the id of each column family.
pub trait WriteBatchIteratorCf {
    /// Receives a put.
    fn put_cf(&mut self, cf_id: u32, key: &[u8], value: &[u8]);
    /// Receives a deletion.
    fn delete_cf(&mut self, cf_id: u32, key: &[u8]);
    /// Receives an operand.
    fn merge_cf(&mut self, cf_id: u32, key: &[u8], value: &[u8]);
}

impl<const TRANSACTION: bool> WriteBatchWithTransaction<TRANSACTION> {
    /// Returns an empty batch.
    pub fn new() -> Self {
        Self::of_ironstone(ironstone::WriteBatch::new())
    }

    /// Returns an empty batch with room for `capacity_bytes` bytes.
    pub fn with_capacity_bytes(capacity_bytes: usize) -> Self {
        Self::of_ironstone(ironstone::WriteBatch::with_capacity(capacity_bytes))
    }

    /// Returns a batch from bytes that [`Self::data`] returned. If the bytes are not a batch, the write of the batch fails.
    pub fn from_data(data: &[u8]) -> Self {
        match ironstone::WriteBatch::from_bytes(data) {
            Ok(inner) => Self::of_ironstone(inner),
            Err(error) => WriteBatchWithTransaction {
                inner: ironstone::WriteBatch::new(),
                fault: Some((data.to_vec(), error)),
            },
        }
    }

    pub(crate) fn of_ironstone(inner: ironstone::WriteBatch) -> Self {
        WriteBatchWithTransaction { inner, fault: None }
    }

    /// # Errors
    /// Corruption if the batch was made of bytes that are not a batch.
    pub(crate) fn to_write(&mut self) -> Result<&mut ironstone::WriteBatch, Error> {
        match &self.fault {
            Some((_, error)) => Err(error.clone().into()),
            None => Ok(&mut self.inner),
        }
    }

    /// # Errors
    /// The errors of [`Self::to_write`].
    pub(crate) fn to_read(&self) -> Result<&ironstone::WriteBatch, Error> {
        match &self.fault {
            Some((_, error)) => Err(error.clone().into()),
            None => Ok(&self.inner),
        }
    }

    /// Returns the number of changes. For bytes that are not a batch, returns the number that the bytes state; 0 if they are
    /// shorter than the header of a batch.
    pub fn len(&self) -> usize {
        Batch::new(self.data()).map_or(0, |batch| batch.count() as usize)
    }

    /// Returns the size of the batch in the WAL, in bytes.
    pub fn size_in_bytes(&self) -> usize {
        self.data().len()
    }

    /// Returns the bytes of the batch, in the format of the WAL.
    pub fn data(&self) -> &[u8] {
        self.fault.as_ref().map_or(self.inner.bytes(), |(bytes, _)| bytes)
    }

    /// Returns true if there is no change.
    pub fn is_empty(&self) -> bool {
        self.len() == 0
    }

    /// Returns the records before the first record that does not decode.
    fn records(&self) -> impl Iterator<Item = Record<'_>> {
        let batch = Batch::new(self.data()).ok();
        batch.into_iter().flat_map(|batch| batch.records().map_while(Result::ok))
    }

    /// Calls `callbacks` for the puts and deletions of the default column family. A change of another column family or a range
    /// tombstone ends the iteration, as in RocksDB.
    pub fn iterate<T: WriteBatchIterator>(&self, callbacks: &mut T) {
        for record in self.records() {
            match record {
                Record::Put { family: FamilyId::DEFAULT, key, value } => callbacks.put(key, value),
                Record::Delete { family: FamilyId::DEFAULT, key } => callbacks.delete(key),
                Record::SingleDelete { family: FamilyId::DEFAULT, .. }
                | Record::Merge { family: FamilyId::DEFAULT, .. }
                | Record::LogData(_)
                | Record::Marker(_) => {}
                _ => return,
            }
        }
    }

    /// Calls `callbacks` for the puts, deletions and merge operands of all column families. A range tombstone ends the
    /// iteration, as in RocksDB.
    pub fn iterate_cf<T: WriteBatchIteratorCf>(&self, callbacks: &mut T) {
        for record in self.records() {
            match record {
                Record::Put { family, key, value } => callbacks.put_cf(family.get(), key, value),
                Record::Merge { family, key, operand } => callbacks.merge_cf(family.get(), key, operand),
                Record::Delete { family, key } => callbacks.delete_cf(family.get(), key),
                Record::SingleDelete { family: FamilyId::DEFAULT, .. }
                | Record::LogData(_)
                | Record::Marker(_) => {}
                _ => return,
            }
        }
    }

    /// Sets the value of a key.
    pub fn put<K, V>(&mut self, key: K, value: V)
    where
        K: AsRef<[u8]>,
        V: AsRef<[u8]>,
    {
        self.inner.put(key.as_ref(), value.as_ref());
    }

    /// Sets the value of a key of a column family.
    pub fn put_cf<K, V>(&mut self, cf: &impl AsColumnFamilyRef, key: K, value: V)
    where
        K: AsRef<[u8]>,
        V: AsRef<[u8]>,
    {
        self.inner.put_in(cf.inner().family.id(), key.as_ref(), value.as_ref());
    }

    /// Sets the value of a key at a timestamp.
    pub fn put_cf_with_ts<K, V, S>(&mut self, cf: &impl AsColumnFamilyRef, key: K, ts: S, value: V)
    where
        K: AsRef<[u8]>,
        V: AsRef<[u8]>,
        S: AsRef<[u8]>,
    {
        self.inner.put_at(cf.inner().family.id(), key.as_ref(), ts.as_ref(), value.as_ref());
    }

    /// Merges an operand.
    pub fn merge<K, V>(&mut self, key: K, value: V)
    where
        K: AsRef<[u8]>,
        V: AsRef<[u8]>,
    {
        self.inner.merge(key.as_ref(), value.as_ref());
    }

    /// Merges an operand into a key of a column family.
    pub fn merge_cf<K, V>(&mut self, cf: &impl AsColumnFamilyRef, key: K, value: V)
    where
        K: AsRef<[u8]>,
        V: AsRef<[u8]>,
    {
        self.inner.merge_in(cf.inner().family.id(), key.as_ref(), value.as_ref());
    }

    /// Deletes a key.
    pub fn delete<K: AsRef<[u8]>>(&mut self, key: K) {
        self.inner.delete(key.as_ref());
    }

    /// Deletes a key. The key must have been put only once since its last deletion.
    pub fn single_delete<K: AsRef<[u8]>>(&mut self, key: K) {
        self.inner.single_delete(key.as_ref());
    }

    /// Deletes a key of a column family.
    pub fn delete_cf<K: AsRef<[u8]>>(&mut self, cf: &impl AsColumnFamilyRef, key: K) {
        self.inner.delete_in(cf.inner().family.id(), key.as_ref());
    }

    /// Deletes a key of a column family. The key must have been put only once since its last deletion.
    pub fn single_delete_cf<K: AsRef<[u8]>>(&mut self, cf: &impl AsColumnFamilyRef, key: K) {
        self.inner.single_delete_in(cf.inner().family.id(), key.as_ref());
    }

    /// Deletes a key at a timestamp.
    pub fn delete_cf_with_ts<K: AsRef<[u8]>, S: AsRef<[u8]>>(
        &mut self,
        cf: &impl AsColumnFamilyRef,
        key: K,
        ts: S,
    ) {
        self.inner.delete_at(cf.inner().family.id(), key.as_ref(), ts.as_ref());
    }

    /// Adds bytes that are written to the WAL but not to memtables.
    pub fn put_log_data<V: AsRef<[u8]>>(&mut self, log_data: V) {
        self.inner.put_log_data(log_data.as_ref());
    }

    /// Removes all changes.
    pub fn clear(&mut self) {
        self.inner.clear();
        self.fault = None;
    }
}

impl WriteBatchWithTransaction<false> {
    /// Deletes the keys from `from` up to `to`, without `to`.
    pub fn delete_range<K: AsRef<[u8]>>(&mut self, from: K, to: K) {
        self.inner.delete_range(from.as_ref(), to.as_ref());
    }

    /// Deletes the keys of a column family from `from` up to `to`, without `to`.
    pub fn delete_range_cf<K: AsRef<[u8]>>(&mut self, cf: &impl AsColumnFamilyRef, from: K, to: K) {
        self.inner.delete_range_in(cf.inner().family.id(), from.as_ref(), to.as_ref());
    }
}

impl<const TRANSACTION: bool> Default for WriteBatchWithTransaction<TRANSACTION> {
    fn default() -> Self {
        Self::new()
    }
}
