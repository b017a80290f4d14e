//! Optimistic transaction databases: transactions take no locks and check for conflicts at commit.

use std::ffi::c_char;
use std::path::Path;
use std::sync::Arc;

use base::Result;
use ironstone::{Checkpoint, OccLockBuckets, OptimisticTransactionDb, OptimisticTransactionDbOptions};

use super::Families;
use super::transaction::rocksdb_transaction_t;
use crate::abi::{Buffer, HasRejected, Owned, Success};
use crate::batch::rocksdb_writebatch_t;
use crate::checkpoint::rocksdb_checkpoint_t;
use crate::db::{rocksdb_column_family_handle_t, rocksdb_t};
use crate::options::rocksdb_options_t;
use crate::transaction_options::{
    rocksdb_optimistictransaction_options_t, rocksdb_optimistictransactiondb_options_t,
};
use crate::write_options::rocksdb_writeoptions_t;

/// A database whose transactions take no locks and check for conflicts at commit.
pub struct rocksdb_optimistictransactiondb_t {
    db: OptimisticTransactionDb,
    base: rocksdb_t,
}

/// Locks for the parallel check of conflicts. Databases can share them.
pub struct rocksdb_optimistictransactiondb_lock_buckets_t {
    buckets: Arc<OccLockBuckets>,
}

fn open(
    path: &Path,
    options: &rocksdb_options_t,
    transactions: OptimisticTransactionDbOptions,
    mut families: Families,
) -> Result<Owned<rocksdb_optimistictransactiondb_t>> {
    let names = families.names();
    let descriptors = std::mem::take(&mut families.descriptors);
    let options = options.front_options()?;
    let db = OptimisticTransactionDb::open_with(path, options, transactions, Some(descriptors))?;
    let base = rocksdb_t::new(db.base().engine().clone())?;
    families.write_handles(&names, &base)?;
    Ok(Owned(rocksdb_optimistictransactiondb_t { db, base }))
}

c_api! {
    /// Opens an optimistic transaction database with its default column family.
    fn rocksdb_optimistictransactiondb_open(
        options: in rocksdb_options_t, name: path, err
    ) -> Owned<rocksdb_optimistictransactiondb_t> {
        let families = Families::default_only(options)?;
        open(name, options, OptimisticTransactionDbOptions::default(), families)
    }

    fn rocksdb_optimistictransactiondb_open_with_otxn_db_options(
        options: in rocksdb_options_t, otxn_db_options: inmaybe rocksdb_optimistictransactiondb_options_t, name: path, err
    ) -> Owned<rocksdb_optimistictransactiondb_t> {
        let transactions = otxn_db_options.cloned().unwrap_or_default();
        transactions.rejected().check()?;
        open(name, options, transactions.options, Families::default_only(options)?)
    }

    /// Opens an optimistic transaction database with column families, as `rocksdb_open_column_families`.
    fn rocksdb_optimistictransactiondb_open_column_families(
        options: in rocksdb_options_t, name: path, num_column_families: i32,
        column_family_names: raw(*const *const c_char),
        column_family_options: raw(*const *const rocksdb_options_t),
        column_family_handles: raw(*mut *mut rocksdb_column_family_handle_t), err
    ) -> Owned<rocksdb_optimistictransactiondb_t> {
        // SAFETY: rule 11 of the header: aligned arrays of `num_column_families` initialized items that no thread changes during the call.
        let families = unsafe {
            Families::new(num_column_families, column_family_names, column_family_options, column_family_handles)?
        };
        open(name, options, OptimisticTransactionDbOptions::default(), families)
    }

    fn rocksdb_optimistictransactiondb_open_column_families_with_otxn_db_options(
        options: in rocksdb_options_t, otxn_db_options: inmaybe rocksdb_optimistictransactiondb_options_t, name: path,
        num_column_families: i32, column_family_names: raw(*const *const c_char),
        column_family_options: raw(*const *const rocksdb_options_t),
        column_family_handles: raw(*mut *mut rocksdb_column_family_handle_t), err
    ) -> Owned<rocksdb_optimistictransactiondb_t> {
        // SAFETY: rule 11 of the header: aligned arrays of `num_column_families` initialized items that no thread changes during the call.
        let families = unsafe {
            Families::new(num_column_families, column_family_names, column_family_options, column_family_handles)?
        };
        let transactions = otxn_db_options.cloned().unwrap_or_default();
        transactions.rejected().check()?;
        open(name, options, transactions.options, families)
    }

    /// Returns a handle of the base database. Destroy the handle with `rocksdb_optimistictransactiondb_close_base_db`.
    fn rocksdb_optimistictransactiondb_get_base_db(
        otxn_db: at rocksdb_optimistictransactiondb_t
    ) -> Owned<rocksdb_t> {
        Owned(rocksdb_t::new(otxn_db.base.db()?.clone())?)
    }

    /// Destroys the handle. The database stays open.
    fn rocksdb_optimistictransactiondb_close_base_db(base_db: own rocksdb_t) {
        drop(base_db)
    }

    /// Begins a transaction. If `old_txn` is not null, the new transaction replaces the transaction in this handle, and `old_txn`
    /// is returned.
    fn rocksdb_optimistictransaction_begin(
        otxn_db: at rocksdb_optimistictransactiondb_t, write_options: in rocksdb_writeoptions_t,
        otxn_options: in rocksdb_optimistictransaction_options_t, old_txn: raw(*mut rocksdb_transaction_t)
    ) -> *mut rocksdb_transaction_t {
        let txn = otxn_db.db.begin_with(write_options.get()?, &otxn_options.options);
        let txn = rocksdb_transaction_t::new(txn, &otxn_db.base.get()?.front);
        // SAFETY: the header requires that `old_txn` is null or a live transaction.
        unsafe { txn.replace(old_txn) }
    }

    /// Writes a batch. A batch with range deletions is NotSupported, and nothing of it is written.
    fn rocksdb_optimistictransactiondb_write(
        otxn_db: at rocksdb_optimistictransactiondb_t, options: in rocksdb_writeoptions_t,
        batch: mut rocksdb_writebatch_t, err
    ) {
        let open = otxn_db.base.get()?;
        otxn_db.db.write_with(batch.batch_for(&open.default)?, options.get()?)
    }

    /// Closes the database and destroys the handle.
    fn rocksdb_optimistictransactiondb_close(otxn_db: own rocksdb_optimistictransactiondb_t) {
        if let Some(db) = otxn_db {
            db.base.db()?.close()?;
        }
    }

    fn rocksdb_optimistictransactiondb_checkpoint_object_create(
        otxn_db: at rocksdb_optimistictransactiondb_t, err
    ) -> Owned<rocksdb_checkpoint_t> {
        Ok(Owned(rocksdb_checkpoint_t { checkpoint: Checkpoint::new(&otxn_db.base.get()?.front) }))
    }

    /// Returns a property as text, or null for an unknown name. The caller frees the text.
    fn rocksdb_optimistictransactiondb_property_value(
        db: at rocksdb_optimistictransactiondb_t, propname: text
    ) -> Option<Buffer> {
        let value = db.base.db()?.properties().text(&db.base.get()?.default, propname);
        value.map(|value| Buffer::string(value.as_bytes()))
    }

    /// Returns a property as a number: returns 0 and sets `out_val`. Returns -1 for an unknown name and for a property that is
    /// not a number.
    fn rocksdb_optimistictransactiondb_property_int(
        db: at rocksdb_optimistictransactiondb_t, propname: text, out_val: out u64
    ) -> Success {
        let value = db.base.db()?.properties().number(&db.base.get()?.default, propname);
        if let Some(value) = value {
            out_val.set(value);
        }
        Success(value.is_some())
    }

    /// Creates locks. `cache_aligned` has no effect.
    fn rocksdb_optimistictransactiondb_lock_buckets_create(
        bucket_count: usize, cache_aligned: flag
    ) -> Owned<rocksdb_optimistictransactiondb_lock_buckets_t> {
        let _ = cache_aligned;
        let count = u32::try_from(bucket_count).unwrap_or(u32::MAX);
        Owned(rocksdb_optimistictransactiondb_lock_buckets_t { buckets: OccLockBuckets::new(count) })
    }

    /// Returns the memory of the locks in bytes.
    fn rocksdb_optimistictransactiondb_lock_buckets_approximate_memory_usage(
        lock_buckets: at rocksdb_optimistictransactiondb_lock_buckets_t
    ) -> usize {
        lock_buckets.buckets.approximate_memory_usage()
    }

    /// Destroys the handle. Databases that use the locks keep them. Accepts null.
    fn rocksdb_optimistictransactiondb_lock_buckets_destroy(
        lock_buckets: own rocksdb_optimistictransactiondb_lock_buckets_t
    ) {
        drop(lock_buckets)
    }

    /// Sets the locks. They are shared. Null: the database makes its own locks.
    fn rocksdb_optimistictransactiondb_options_set_shared_lock_buckets(
        options: mut rocksdb_optimistictransactiondb_options_t,
        lock_buckets: maybe rocksdb_optimistictransactiondb_lock_buckets_t
    ) {
        options.options.shared_lock_buckets = lock_buckets.map(|locks| locks.buckets.clone());
    }
}
