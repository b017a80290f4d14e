//! Writes: `put`, `merge`, `delete`, batches, with and without timestamps.

use super::{DBCommon, DBInner, DBWithThreadMode, ThreadMode};
use crate::{AsColumnFamilyRef, Error, WriteBatch, WriteOptions};

impl<T: ThreadMode> DBWithThreadMode<T> {
    /// Deletes the keys of a column family from `from` up to `to`, without `to`, with options.
    ///
    /// # Errors
    /// As [`DBCommon::put`].
    pub fn delete_range_cf_opt<K: AsRef<[u8]>>(
        &self,
        cf: &impl AsColumnFamilyRef,
        from: K,
        to: K,
        writeopts: &WriteOptions,
    ) -> Result<(), Error> {
        let delete = |family: &ironstone::Family| {
            family.delete_range_with(from.as_ref(), to.as_ref(), &writeopts.inner)
        };
        Ok(self.base().with_family(Some(cf.inner()), delete)?)
    }

    /// Deletes the keys of a column family from `from` up to `to`, without `to`.
    ///
    /// # Errors
    /// As [`DBCommon::put`].
    pub fn delete_range_cf<K: AsRef<[u8]>>(
        &self,
        cf: &impl AsColumnFamilyRef,
        from: K,
        to: K,
    ) -> Result<(), Error> {
        self.delete_range_cf_opt(cf, from, to, &WriteOptions::default())
    }

    /// Writes a batch, with options: all changes or none.
    ///
    /// # Errors
    /// As [`DBCommon::put`].
    pub fn write_opt(&self, batch: WriteBatch, writeopts: &WriteOptions) -> Result<(), Error> {
        let mut batch = batch;
        Ok(self.base().write(batch.to_write()?, &writeopts.inner)?)
    }

    /// Writes a batch: all changes or none.
    ///
    /// # Errors
    /// As [`DBCommon::put`].
    pub fn write(&self, batch: WriteBatch) -> Result<(), Error> {
        self.write_opt(batch, &WriteOptions::default())
    }

    /// Writes a batch to memtables but not to the WAL. A crash before the flush of the memtables loses the batch.
    ///
    /// # Errors
    /// As [`DBCommon::put`].
    pub fn write_without_wal(&self, batch: WriteBatch) -> Result<(), Error> {
        let mut wo = WriteOptions::new();
        wo.disable_wal(true);
        self.write_opt(batch, &wo)
    }
}

impl<T: ThreadMode, D: DBInner> DBCommon<T, D> {
    /// Sets the value of a key, with options.
    ///
    /// # Errors
    /// As [`Self::put`].
    pub fn put_opt<K, V>(&self, key: K, value: V, writeopts: &WriteOptions) -> Result<(), Error>
    where
        K: AsRef<[u8]>,
        V: AsRef<[u8]>,
    {
        Ok(self.base().put(None, key.as_ref(), value.as_ref(), &writeopts.inner)?)
    }

    /// Sets the value of a key of a column family, with options.
    ///
    /// # Errors
    /// As [`Self::put`].
    pub fn put_cf_opt<K, V>(
        &self,
        cf: &impl AsColumnFamilyRef,
        key: K,
        value: V,
        writeopts: &WriteOptions,
    ) -> Result<(), Error>
    where
        K: AsRef<[u8]>,
        V: AsRef<[u8]>,
    {
        Ok(self.base().put(Some(cf.inner()), key.as_ref(), value.as_ref(), &writeopts.inner)?)
    }

    /// Sets the value of a key at a timestamp, with options.
    ///
    /// # Errors
    /// As [`Self::put`].
    pub fn put_with_ts_opt<K, V, S>(
        &self,
        key: K,
        ts: S,
        value: V,
        writeopts: &WriteOptions,
    ) -> Result<(), Error>
    where
        K: AsRef<[u8]>,
        V: AsRef<[u8]>,
        S: AsRef<[u8]>,
    {
        let put = |family: &ironstone::Family| {
            family.put_with_ts(key.as_ref(), ts.as_ref(), value.as_ref(), &writeopts.inner)
        };
        Ok(self.base().with_family(None, put)?)
    }

    /// Sets the value of a key of a column family at a timestamp, with options.
    ///
    /// # Errors
    /// As [`Self::put`].
    pub fn put_cf_with_ts_opt<K, V, S>(
        &self,
        cf: &impl AsColumnFamilyRef,
        key: K,
        ts: S,
        value: V,
        writeopts: &WriteOptions,
    ) -> Result<(), Error>
    where
        K: AsRef<[u8]>,
        V: AsRef<[u8]>,
        S: AsRef<[u8]>,
    {
        let put = |family: &ironstone::Family| {
            family.put_with_ts(key.as_ref(), ts.as_ref(), value.as_ref(), &writeopts.inner)
        };
        Ok(self.base().with_family(Some(cf.inner()), put)?)
    }

    /// Merges an operand, with options.
    ///
    /// # Errors
    /// As [`Self::merge`].
    pub fn merge_opt<K, V>(&self, key: K, value: V, writeopts: &WriteOptions) -> Result<(), Error>
    where
        K: AsRef<[u8]>,
        V: AsRef<[u8]>,
    {
        Ok(self.base().merge(None, key.as_ref(), value.as_ref(), &writeopts.inner)?)
    }

    /// Merges an operand into a key of a column family, with options.
    ///
    /// # Errors
    /// As [`Self::merge`].
    pub fn merge_cf_opt<K, V>(
        &self,
        cf: &impl AsColumnFamilyRef,
        key: K,
        value: V,
        writeopts: &WriteOptions,
    ) -> Result<(), Error>
    where
        K: AsRef<[u8]>,
        V: AsRef<[u8]>,
    {
        Ok(self.base().merge(Some(cf.inner()), key.as_ref(), value.as_ref(), &writeopts.inner)?)
    }

    /// Deletes a key, with options.
    ///
    /// # Errors
    /// As [`Self::put`].
    pub fn delete_opt<K: AsRef<[u8]>>(&self, key: K, writeopts: &WriteOptions) -> Result<(), Error> {
        let delete = |family: &ironstone::Family| family.delete_with(key.as_ref(), &writeopts.inner);
        Ok(self.base().with_family(None, delete)?)
    }

    /// Deletes a key of a column family, with options.
    ///
    /// # Errors
    /// As [`Self::put`].
    pub fn delete_cf_opt<K: AsRef<[u8]>>(
        &self,
        cf: &impl AsColumnFamilyRef,
        key: K,
        writeopts: &WriteOptions,
    ) -> Result<(), Error> {
        let delete = |family: &ironstone::Family| family.delete_with(key.as_ref(), &writeopts.inner);
        Ok(self.base().with_family(Some(cf.inner()), delete)?)
    }

    /// Deletes a key at a timestamp, with options.
    ///
    /// # Errors
    /// As [`Self::put`].
    pub fn delete_with_ts_opt<K, S>(&self, key: K, ts: S, writeopts: &WriteOptions) -> Result<(), Error>
    where
        K: AsRef<[u8]>,
        S: AsRef<[u8]>,
    {
        let delete =
            |family: &ironstone::Family| family.delete_with_ts(key.as_ref(), ts.as_ref(), &writeopts.inner);
        Ok(self.base().with_family(None, delete)?)
    }

    /// Deletes a key of a column family at a timestamp, with options.
    ///
    /// # Errors
    /// As [`Self::put`].
    pub fn delete_cf_with_ts_opt<K, S>(
        &self,
        cf: &impl AsColumnFamilyRef,
        key: K,
        ts: S,
        writeopts: &WriteOptions,
    ) -> Result<(), Error>
    where
        K: AsRef<[u8]>,
        S: AsRef<[u8]>,
    {
        let delete =
            |family: &ironstone::Family| family.delete_with_ts(key.as_ref(), ts.as_ref(), &writeopts.inner);
        Ok(self.base().with_family(Some(cf.inner()), delete)?)
    }

    /// Sets the value of a key.
    ///
    /// # Errors
    /// IOError of the WAL; the background error that stops writes; Incomplete if `no_slowdown` is set and the write must wait;
    /// InvalidArgument if the column family has timestamps but the call does not pass a timestamp.
    pub fn put<K, V>(&self, key: K, value: V) -> Result<(), Error>
    where
        K: AsRef<[u8]>,
        V: AsRef<[u8]>,
    {
        self.put_opt(key, value, &WriteOptions::default())
    }

    /// Sets the value of a key of a column family.
    ///
    /// # Errors
    /// As [`Self::put`].
    pub fn put_cf<K, V>(&self, cf: &impl AsColumnFamilyRef, key: K, value: V) -> Result<(), Error>
    where
        K: AsRef<[u8]>,
        V: AsRef<[u8]>,
    {
        self.put_cf_opt(cf, key, value, &WriteOptions::default())
    }

    /// Sets the value of a key at a timestamp.
    ///
    /// # Errors
    /// As [`Self::put`].
    pub fn put_with_ts<K, V, S>(&self, key: K, ts: S, value: V) -> Result<(), Error>
    where
        K: AsRef<[u8]>,
        V: AsRef<[u8]>,
        S: AsRef<[u8]>,
    {
        self.put_with_ts_opt(key, ts, value, &WriteOptions::default())
    }

    /// Sets the value of a key of a column family at a timestamp.
    ///
    /// # Errors
    /// As [`Self::put`].
    pub fn put_cf_with_ts<K, V, S>(
        &self,
        cf: &impl AsColumnFamilyRef,
        key: K,
        ts: S,
        value: V,
    ) -> Result<(), Error>
    where
        K: AsRef<[u8]>,
        V: AsRef<[u8]>,
        S: AsRef<[u8]>,
    {
        self.put_cf_with_ts_opt(cf, key, ts, value, &WriteOptions::default())
    }

    /// Merges an operand.
    ///
    /// # Errors
    /// As [`Self::put`]. NotSupported without a merge operator.
    pub fn merge<K, V>(&self, key: K, value: V) -> Result<(), Error>
    where
        K: AsRef<[u8]>,
        V: AsRef<[u8]>,
    {
        self.merge_opt(key, value, &WriteOptions::default())
    }

    /// Merges an operand into a key of a column family.
    ///
    /// # Errors
    /// As [`Self::merge`].
    pub fn merge_cf<K, V>(&self, cf: &impl AsColumnFamilyRef, key: K, value: V) -> Result<(), Error>
    where
        K: AsRef<[u8]>,
        V: AsRef<[u8]>,
    {
        self.merge_cf_opt(cf, key, value, &WriteOptions::default())
    }

    /// Deletes a key.
    ///
    /// # Errors
    /// As [`Self::put`].
    pub fn delete<K: AsRef<[u8]>>(&self, key: K) -> Result<(), Error> {
        self.delete_opt(key, &WriteOptions::default())
    }

    /// Deletes a key of a column family.
    ///
    /// # Errors
    /// As [`Self::put`].
    pub fn delete_cf<K: AsRef<[u8]>>(&self, cf: &impl AsColumnFamilyRef, key: K) -> Result<(), Error> {
        self.delete_cf_opt(cf, key, &WriteOptions::default())
    }

    /// Deletes a key at a timestamp.
    ///
    /// # Errors
    /// As [`Self::put`].
    pub fn delete_with_ts<K: AsRef<[u8]>, S: AsRef<[u8]>>(&self, key: K, ts: S) -> Result<(), Error> {
        self.delete_with_ts_opt(key, ts, &WriteOptions::default())
    }

    /// Deletes a key of a column family at a timestamp.
    ///
    /// # Errors
    /// As [`Self::put`].
    pub fn delete_cf_with_ts<K: AsRef<[u8]>, S: AsRef<[u8]>>(
        &self,
        cf: &impl AsColumnFamilyRef,
        key: K,
        ts: S,
    ) -> Result<(), Error> {
        self.delete_cf_with_ts_opt(cf, key, ts, &WriteOptions::default())
    }
}
