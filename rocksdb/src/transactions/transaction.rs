//! Transactions: reads and writes that commit together.

use std::marker::PhantomData;
use std::sync::Arc;

use ironstone::{Family, LockMode, Pinned, Validation};

use crate::base::Base;
use crate::column_family::CfHandle;
use crate::db::{Answers, access, answers, iterators, reads};
use crate::error::conflict;
use crate::raw_iter::RawIter;
use crate::{
    AsColumnFamilyRef, DBIteratorWithThreadMode, DBPinnableSlice, DBRawIteratorWithThreadMode, Direction,
    Error, IteratorMode, ReadOptions, SnapshotWithThreadMode, WriteBatchWithTransaction,
};

/// A transaction. If a transaction is dropped before its commit, it is rolled back, unless it is prepared.
///
/// ```
/// use rocksdb::{SingleThreaded, TransactionDB};
///
/// # let dir = tempfile::tempdir().unwrap();
/// let db = TransactionDB::<SingleThreaded>::open_default(dir.path())?;
/// let txn = db.transaction();
/// txn.put(b"k", b"v")?;
/// assert!(db.get(b"k")?.is_none());
/// txn.commit()?;
/// assert!(db.get(b"k")?.is_some());
/// # Ok::<(), rocksdb::Error>(())
/// ```
pub struct Transaction<'db, DB> {
    /// If the begin failed, the error: each call returns the error.
    txn: Result<ironstone::Transaction, Error>,
    default: Family,
    owner: Arc<str>,
    _marker: PhantomData<fn() -> &'db DB>,
}

access!(
    [DB] Transaction<'_, DB>,
    |txn| txn.txn.as_ref().ok().and_then(ironstone::Transaction::snapshot),
    |txn, cf, options| txn.iter(cf, options)
);

impl<DB> Transaction<'_, DB> {
    pub(crate) fn new(txn: ironstone::Result<ironstone::Transaction>, base: &Base) -> Self {
        let (default, owner) = (base.plain().default_family(), base.owner().clone());
        Transaction { txn: txn.map_err(Error::from), default, owner, _marker: PhantomData }
    }

    fn txn(&self) -> Result<&ironstone::Transaction, Error> {
        self.txn.as_ref().map_err(Clone::clone)
    }

    fn family<'c>(&'c self, cf: Option<&'c CfHandle>) -> Result<&'c Family, Error> {
        match cf {
            None => Ok(&self.default),
            Some(cf) if Arc::ptr_eq(&cf.owner, &self.owner) => Ok(&cf.family),
            Some(cf) => Err(crate::base::foreign(cf).into()),
        }
    }

    fn iter(&self, cf: Option<&CfHandle>, options: ReadOptions) -> RawIter {
        let make = || -> Result<_, Error> {
            options.get()?;
            Ok((self.txn()?, self.family(cf)?))
        };
        match make() {
            Ok((txn, family)) => RawIter::of_batch(txn.iter_in(family, options.inner)),
            Err(error) => RawIter::failed(error),
        }
    }

    fn find(
        &self,
        cf: Option<&CfHandle>,
        key: &[u8],
        options: &ReadOptions,
    ) -> Result<Option<Pinned>, Error> {
        Ok(self.txn()?.get_in(self.family(cf)?, key, options.get()?)?)
    }

    fn find_all(&self, cf: Option<&CfHandle>, keys: &[&[u8]], options: &ReadOptions) -> Answers {
        let read = || Ok(self.txn()?.multi_get_in(self.family(cf)?, keys, options.get()?));
        answers(keys.len(), read())
    }

    fn find_all_cf(&self, keys: &[(&CfHandle, &[u8])], options: &ReadOptions) -> Answers {
        keys.iter().map(|(cf, key)| self.find(Some(cf), key, options)).collect()
    }

    fn find_for_update(
        &self,
        cf: Option<&CfHandle>,
        key: &[u8],
        exclusive: bool,
        options: &ReadOptions,
    ) -> Result<Option<DBPinnableSlice<'_>>, Error> {
        let mode = if exclusive { LockMode::Exclusive } else { LockMode::Shared };
        let family = self.family(cf)?;
        let value = self.txn()?.get_for_update_in(family, key, options.get()?, mode, Validation::Check);
        Ok(value.map_err(conflict)?.map(DBPinnableSlice::new))
    }

    /// Makes the writes visible, and durable if the write options require a sync. Releases the locks.
    ///
    /// # Errors
    /// Busy or TryAgain for a conflict of an optimistic transaction; Expired; the errors of a write.
    pub fn commit(self) -> Result<(), Error> {
        self.txn()?.commit().map_err(conflict)
    }

    /// Names the transaction, for [`Self::prepare`]. A name is unique among the live transactions.
    ///
    /// # Errors
    /// InvalidArgument if the name is in use, empty, or too long.
    pub fn set_name(&self, name: &[u8]) -> Result<(), Error> {
        Ok(self.txn()?.set_name(name)?)
    }

    /// Returns the name. Empty without a name.
    pub fn get_name(&self) -> Option<Vec<u8>> {
        self.txn.as_ref().ok().map(ironstone::Transaction::name)
    }

    /// Writes the transaction to the WAL, but does not make its writes visible. A prepared transaction survives a crash. The
    /// program must commit it or roll it back.
    ///
    /// # Errors
    /// InvalidArgument without a name; the errors of a write.
    pub fn prepare(&self) -> Result<(), Error> {
        Ok(self.txn()?.prepare()?)
    }

    /// Undoes the writes and releases the locks.
    ///
    /// # Errors
    /// The errors of a write, for a prepared transaction.
    pub fn rollback(&self) -> Result<(), Error> {
        Ok(self.txn()?.rollback()?)
    }

    /// Sets a save point.
    pub fn set_savepoint(&self) {
        if let Ok(txn) = &self.txn {
            txn.set_save_point();
        }
    }

    /// Undoes the writes since the last save point, and removes the save point.
    ///
    /// # Errors
    /// NotFound without a save point.
    pub fn rollback_to_savepoint(&self) -> Result<(), Error> {
        Ok(self.txn()?.rollback_to_save_point()?)
    }

    reads!(
        "A transaction sees its own writes.",
        "Without a snapshot, the values may be read at different sequence numbers."
    );

    /// Returns the value of a key and locks the key. An optimistic transaction checks the key at commit.
    ///
    /// # Errors
    /// Busy or TimedOut if another transaction has the lock; TryAgain if the key changed after the snapshot.
    pub fn get_for_update<K: AsRef<[u8]>>(&self, key: K, exclusive: bool) -> Result<Option<Vec<u8>>, Error> {
        self.get_for_update_opt(key, exclusive, &ReadOptions::default())
    }

    /// Works like [`Self::get_for_update`], without a copy.
    ///
    /// # Errors
    /// The errors of [`Self::get_for_update`].
    pub fn get_pinned_for_update<K: AsRef<[u8]>>(
        &self,
        key: K,
        exclusive: bool,
    ) -> Result<Option<DBPinnableSlice<'_>>, Error> {
        self.get_pinned_for_update_opt(key, exclusive, &ReadOptions::default())
    }

    /// Works like [`Self::get_for_update`], for a column family.
    ///
    /// # Errors
    /// The errors of [`Self::get_for_update`].
    pub fn get_for_update_cf<K: AsRef<[u8]>>(
        &self,
        cf: &impl AsColumnFamilyRef,
        key: K,
        exclusive: bool,
    ) -> Result<Option<Vec<u8>>, Error> {
        self.get_for_update_cf_opt(cf, key, exclusive, &ReadOptions::default())
    }

    /// Works like [`Self::get_for_update`], for a column family, without a copy.
    ///
    /// # Errors
    /// The errors of [`Self::get_for_update`].
    pub fn get_pinned_for_update_cf<K: AsRef<[u8]>>(
        &self,
        cf: &impl AsColumnFamilyRef,
        key: K,
        exclusive: bool,
    ) -> Result<Option<DBPinnableSlice<'_>>, Error> {
        self.get_pinned_for_update_cf_opt(cf, key, exclusive, &ReadOptions::default())
    }

    /// Works like [`Self::get_for_update`], with options.
    ///
    /// # Errors
    /// The errors of [`Self::get_for_update`].
    pub fn get_for_update_opt<K: AsRef<[u8]>>(
        &self,
        key: K,
        exclusive: bool,
        opts: &ReadOptions,
    ) -> Result<Option<Vec<u8>>, Error> {
        Ok(self.get_pinned_for_update_opt(key, exclusive, opts)?.map(|value| value.to_vec()))
    }

    /// Works like [`Self::get_for_update`], with options, without a copy.
    ///
    /// # Errors
    /// The errors of [`Self::get_for_update`].
    pub fn get_pinned_for_update_opt<K: AsRef<[u8]>>(
        &self,
        key: K,
        exclusive: bool,
        opts: &ReadOptions,
    ) -> Result<Option<DBPinnableSlice<'_>>, Error> {
        self.find_for_update(None, key.as_ref(), exclusive, opts)
    }

    /// Works like [`Self::get_for_update`], for a column family, with options.
    ///
    /// # Errors
    /// The errors of [`Self::get_for_update`].
    pub fn get_for_update_cf_opt<K: AsRef<[u8]>>(
        &self,
        cf: &impl AsColumnFamilyRef,
        key: K,
        exclusive: bool,
        opts: &ReadOptions,
    ) -> Result<Option<Vec<u8>>, Error> {
        Ok(self.get_pinned_for_update_cf_opt(cf, key, exclusive, opts)?.map(|value| value.to_vec()))
    }

    /// Works like [`Self::get_for_update`], for a column family, with options, without a copy.
    ///
    /// # Errors
    /// The errors of [`Self::get_for_update`].
    pub fn get_pinned_for_update_cf_opt<K: AsRef<[u8]>>(
        &self,
        cf: &impl AsColumnFamilyRef,
        key: K,
        exclusive: bool,
        opts: &ReadOptions,
    ) -> Result<Option<DBPinnableSlice<'_>>, Error> {
        self.find_for_update(Some(cf.inner()), key.as_ref(), exclusive, opts)
    }

    /// Sets the value of a key.
    ///
    /// # Errors
    /// Busy or TimedOut if another transaction has the lock; TryAgain if the key changed after the snapshot.
    pub fn put<K: AsRef<[u8]>, V: AsRef<[u8]>>(&self, key: K, value: V) -> Result<(), Error> {
        self.txn()?.put_in(self.family(None)?, key.as_ref(), value.as_ref()).map_err(conflict)
    }

    /// Sets the value of a key of a column family.
    ///
    /// # Errors
    /// The errors of [`Self::put`].
    pub fn put_cf<K: AsRef<[u8]>, V: AsRef<[u8]>>(
        &self,
        cf: &impl AsColumnFamilyRef,
        key: K,
        value: V,
    ) -> Result<(), Error> {
        self.txn()?.put_in(self.family(Some(cf.inner()))?, key.as_ref(), value.as_ref()).map_err(conflict)
    }

    /// Merges an operand.
    ///
    /// # Errors
    /// The errors of [`Self::put`].
    pub fn merge<K: AsRef<[u8]>, V: AsRef<[u8]>>(&self, key: K, value: V) -> Result<(), Error> {
        self.txn()?.merge_in(self.family(None)?, key.as_ref(), value.as_ref()).map_err(conflict)
    }

    /// Merges an operand into a key of a column family.
    ///
    /// # Errors
    /// The errors of [`Self::put`].
    pub fn merge_cf<K: AsRef<[u8]>, V: AsRef<[u8]>>(
        &self,
        cf: &impl AsColumnFamilyRef,
        key: K,
        value: V,
    ) -> Result<(), Error> {
        self.txn()?.merge_in(self.family(Some(cf.inner()))?, key.as_ref(), value.as_ref()).map_err(conflict)
    }

    /// Deletes a key.
    ///
    /// # Errors
    /// The errors of [`Self::put`].
    pub fn delete<K: AsRef<[u8]>>(&self, key: K) -> Result<(), Error> {
        self.txn()?.delete_in(self.family(None)?, key.as_ref()).map_err(conflict)
    }

    /// Deletes a key of a column family.
    ///
    /// # Errors
    /// The errors of [`Self::put`].
    pub fn delete_cf<K: AsRef<[u8]>>(&self, cf: &impl AsColumnFamilyRef, key: K) -> Result<(), Error> {
        self.txn()?.delete_in(self.family(Some(cf.inner()))?, key.as_ref()).map_err(conflict)
    }

    iterators!();

    /// Returns a copy of the writes.
    pub fn get_writebatch(&self) -> WriteBatchWithTransaction<true> {
        let batch = self.txn.as_ref().map(ironstone::Transaction::to_batch).unwrap_or_default();
        WriteBatchWithTransaction::of_ironstone(batch)
    }

    /// Adds the writes of a batch.
    ///
    /// # Errors
    /// The errors of [`Self::put`].
    pub fn rebuild_from_writebatch(&self, writebatch: &WriteBatchWithTransaction<true>) -> Result<(), Error> {
        self.txn()?.rebuild_from_batch(writebatch.to_read()?).map_err(conflict)
    }
}
