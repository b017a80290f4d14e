//! Writes: `put`, `merge`, `delete`, batches, with and without timestamps.

use super::{DBCommon, DBInner, DBWithThreadMode, ThreadMode};
use crate::column_family::CfHandle;
use crate::{AsColumnFamilyRef, Error, WriteBatch, WriteOptions};

/// Defines `write` and `write_opt` for batches of a type. An error of the engine becomes an error of the crate by a function.
macro_rules! batch_writes {
    ($batch:ty, $error:expr) => {
        /// Writes a batch, with options: all changes or none.
        ///
        /// # Errors
        /// The errors of [`crate::DBCommon::put`].
        pub fn write_opt(&self, batch: $batch, writeopts: &WriteOptions) -> Result<(), Error> {
            let mut batch = batch;
            self.base().write(batch.to_write()?, &writeopts.inner).map_err($error)
        }

        /// Writes a batch: all changes or none.
        ///
        /// # Errors
        /// The errors of [`crate::DBCommon::put`].
        pub fn write(&self, batch: $batch) -> Result<(), Error> {
            self.write_opt(batch, &WriteOptions::default())
        }
    };
}
pub(crate) use batch_writes;

/// Defines the writes of databases without locks: batches without WAL, and range tombstones.
macro_rules! lockless_writes {
    ($batch:ty, $error:expr) => {
        /// Writes a batch to memtables but not to the WAL. A crash before the flush of the memtables loses the batch.
        ///
        /// # Errors
        /// The errors of [`crate::DBCommon::put`].
        pub fn write_without_wal(&self, batch: $batch) -> Result<(), Error> {
            let mut wo = WriteOptions::new();
            wo.disable_wal(true);
            self.write_opt(batch, &wo)
        }

        /// Deletes the keys of a column family from `from` up to `to`, without `to`, with options.
        ///
        /// # Errors
        /// The errors of [`crate::DBCommon::put`]. InvalidArgument if `to` is before `from`.
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
            self.base().with_family(Some(cf.inner()), delete).map_err($error)
        }

        /// Deletes the keys of a column family from `from` up to `to`, without `to`.
        ///
        /// # Errors
        /// The errors of [`Self::delete_range_cf_opt`].
        pub fn delete_range_cf<K: AsRef<[u8]>>(
            &self,
            cf: &impl AsColumnFamilyRef,
            from: K,
            to: K,
        ) -> Result<(), Error> {
            self.delete_range_cf_opt(cf, from, to, &WriteOptions::default())
        }
    };
}
pub(crate) use lockless_writes;

/// Defines a write of a key and a value in four variants: for the default column family and for a column family, with and
/// without options. `$write` is a method of the type that writes to either.
macro_rules! write_of_value {
    ($(#[$doc:meta])* $name:ident, $cf:ident, $opt:ident, $cf_opt:ident => $write:ident) => {
        $(#[$doc])*
        pub fn $name<K, V>(&self, key: K, value: V) -> Result<(), Error>
        where
            K: AsRef<[u8]>,
            V: AsRef<[u8]>,
        {
            self.$opt(key, value, &WriteOptions::default())
        }

        #[doc = concat!("As [`Self::", stringify!($name), "`], for a column family.")]
        ///
        /// # Errors
        #[doc = concat!("As [`Self::", stringify!($name), "`].")]
        pub fn $cf<K, V>(&self, cf: &impl AsColumnFamilyRef, key: K, value: V) -> Result<(), Error>
        where
            K: AsRef<[u8]>,
            V: AsRef<[u8]>,
        {
            self.$cf_opt(cf, key, value, &WriteOptions::default())
        }

        #[doc = concat!("As [`Self::", stringify!($name), "`], with options.")]
        ///
        /// # Errors
        #[doc = concat!("As [`Self::", stringify!($name), "`].")]
        pub fn $opt<K, V>(&self, key: K, value: V, writeopts: &WriteOptions) -> Result<(), Error>
        where
            K: AsRef<[u8]>,
            V: AsRef<[u8]>,
        {
            self.$write(None, key.as_ref(), value.as_ref(), writeopts)
        }

        #[doc = concat!("As [`Self::", stringify!($name), "`], for a column family, with options.")]
        ///
        /// # Errors
        #[doc = concat!("As [`Self::", stringify!($name), "`].")]
        pub fn $cf_opt<K, V>(
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
            self.$write(Some(cf.inner()), key.as_ref(), value.as_ref(), writeopts)
        }
    };
}
pub(crate) use write_of_value;

/// Defines `put`, `merge` and `delete`, for the default column family and for a column family, with and without options. An error of
/// the engine becomes an error of the crate by a function.
macro_rules! writes {
    ($error:expr) => {
        $crate::db::write_of_value! {
            /// Sets the value of a key.
            ///
            /// # Errors
            /// IOError of the WAL; the background error that stops writes; Incomplete if `no_slowdown` is set and the write must
            /// wait; InvalidArgument if the column family has timestamps but the call does not pass a timestamp; TimedOut if a
            /// transaction has the lock of the key.
            put, put_cf, put_opt, put_cf_opt => put_value
        }

        $crate::db::write_of_value! {
            /// Merges an operand.
            ///
            /// # Errors
            /// The errors of [`Self::put`]. NotSupported without a merge operator.
            merge, merge_cf, merge_opt, merge_cf_opt => merge_value
        }

        /// Deletes a key.
        ///
        /// # Errors
        /// The errors of [`Self::put`].
        pub fn delete<K: AsRef<[u8]>>(&self, key: K) -> Result<(), Error> {
            self.delete_opt(key, &WriteOptions::default())
        }

        /// Deletes a key of a column family.
        ///
        /// # Errors
        /// The errors of [`Self::put`].
        pub fn delete_cf<K: AsRef<[u8]>>(&self, cf: &impl AsColumnFamilyRef, key: K) -> Result<(), Error> {
            self.delete_cf_opt(cf, key, &WriteOptions::default())
        }

        /// Deletes a key, with options.
        ///
        /// # Errors
        /// The errors of [`Self::put`].
        pub fn delete_opt<K: AsRef<[u8]>>(&self, key: K, writeopts: &WriteOptions) -> Result<(), Error> {
            self.delete_key(None, key.as_ref(), writeopts)
        }

        /// Deletes a key of a column family, with options.
        ///
        /// # Errors
        /// The errors of [`Self::put`].
        pub fn delete_cf_opt<K: AsRef<[u8]>>(
            &self,
            cf: &impl AsColumnFamilyRef,
            key: K,
            writeopts: &WriteOptions,
        ) -> Result<(), Error> {
            self.delete_key(Some(cf.inner()), key.as_ref(), writeopts)
        }

        #[inline]
        fn put_value(
            &self,
            cf: Option<&CfHandle>,
            key: &[u8],
            value: &[u8],
            writeopts: &WriteOptions,
        ) -> Result<(), Error> {
            self.base().put(cf, key, value, &writeopts.inner).map_err($error)
        }

        fn merge_value(
            &self,
            cf: Option<&CfHandle>,
            key: &[u8],
            value: &[u8],
            writeopts: &WriteOptions,
        ) -> Result<(), Error> {
            self.base().merge(cf, key, value, &writeopts.inner).map_err($error)
        }

        fn delete_key(
            &self,
            cf: Option<&CfHandle>,
            key: &[u8],
            writeopts: &WriteOptions,
        ) -> Result<(), Error> {
            let delete = |family: &ironstone::Family| family.delete_with(key, &writeopts.inner);
            self.base().with_family(cf, delete).map_err($error)
        }
    };
}
pub(crate) use writes;

impl<T: ThreadMode> DBWithThreadMode<T> {
    batch_writes!(WriteBatch, Error::from);
    lockless_writes!(WriteBatch, Error::from);
}

impl<T: ThreadMode, D: DBInner> DBCommon<T, D> {
    writes!(Error::from);

    fn put_at(
        &self,
        cf: Option<&CfHandle>,
        key: &[u8],
        ts: &[u8],
        value: &[u8],
        writeopts: &WriteOptions,
    ) -> Result<(), Error> {
        let put = |family: &ironstone::Family| family.put_with_ts(key, ts, value, &writeopts.inner);
        Ok(self.base().with_family(cf, put)?)
    }

    fn delete_at(
        &self,
        cf: Option<&CfHandle>,
        key: &[u8],
        ts: &[u8],
        writeopts: &WriteOptions,
    ) -> Result<(), Error> {
        let delete = |family: &ironstone::Family| family.delete_with_ts(key, ts, &writeopts.inner);
        Ok(self.base().with_family(cf, delete)?)
    }

    /// Sets the value of a key at a timestamp.
    ///
    /// # Errors
    /// The errors of [`Self::put`].
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
    /// The errors of [`Self::put`].
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

    /// Sets the value of a key at a timestamp, with options.
    ///
    /// # Errors
    /// The errors of [`Self::put`].
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
        self.put_at(None, key.as_ref(), ts.as_ref(), value.as_ref(), writeopts)
    }

    /// Sets the value of a key of a column family at a timestamp, with options.
    ///
    /// # Errors
    /// The errors of [`Self::put`].
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
        self.put_at(Some(cf.inner()), key.as_ref(), ts.as_ref(), value.as_ref(), writeopts)
    }

    /// Deletes a key at a timestamp.
    ///
    /// # Errors
    /// The errors of [`Self::put`].
    pub fn delete_with_ts<K: AsRef<[u8]>, S: AsRef<[u8]>>(&self, key: K, ts: S) -> Result<(), Error> {
        self.delete_with_ts_opt(key, ts, &WriteOptions::default())
    }

    /// Deletes a key of a column family at a timestamp.
    ///
    /// # Errors
    /// The errors of [`Self::put`].
    pub fn delete_cf_with_ts<K: AsRef<[u8]>, S: AsRef<[u8]>>(
        &self,
        cf: &impl AsColumnFamilyRef,
        key: K,
        ts: S,
    ) -> Result<(), Error> {
        self.delete_cf_with_ts_opt(cf, key, ts, &WriteOptions::default())
    }

    /// Deletes a key at a timestamp, with options.
    ///
    /// # Errors
    /// The errors of [`Self::put`].
    pub fn delete_with_ts_opt<K, S>(&self, key: K, ts: S, writeopts: &WriteOptions) -> Result<(), Error>
    where
        K: AsRef<[u8]>,
        S: AsRef<[u8]>,
    {
        self.delete_at(None, key.as_ref(), ts.as_ref(), writeopts)
    }

    /// Deletes a key of a column family at a timestamp, with options.
    ///
    /// # Errors
    /// The errors of [`Self::put`].
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
        self.delete_at(Some(cf.inner()), key.as_ref(), ts.as_ref(), writeopts)
    }
}
