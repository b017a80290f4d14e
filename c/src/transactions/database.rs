//! Transaction databases.

use std::ffi::c_char;
use std::path::Path;

use base::Result;
use ironstone::{Checkpoint, TransactionDb};

use super::Families;
use super::transaction::rocksdb_transaction_t;
use crate::abi::guard::needed;
use crate::abi::returns::malloc_array;
use crate::abi::{Buffer, HasRejected, Owned, OwnedBox, Return, Success, arguments};
use crate::batch::rocksdb_writebatch_t;
use crate::checkpoint::rocksdb_checkpoint_t;
use crate::db::{
    DbView, Places, copied, families_of, get_families, get_keys, rocksdb_column_family_handle_t,
    rocksdb_pinnableslice_t, rocksdb_t,
};
use crate::iterator::rocksdb_iterator_t;
use crate::options::rocksdb_options_t;
use crate::read_options::rocksdb_readoptions_t;
use crate::snapshot::{self, rocksdb_snapshot_t};
use crate::transaction_options::{rocksdb_transaction_options_t, rocksdb_transactiondb_options_t};
use crate::write_options::{rocksdb_flushoptions_t, rocksdb_flushwaloptions_t, rocksdb_writeoptions_t};

/// A database whose transactions lock the keys that they write.
pub struct rocksdb_transactiondb_t {
    pub(super) db: TransactionDb,
    pub(super) base: rocksdb_t,
}

impl rocksdb_transactiondb_t {
    fn engine(&self) -> Result<DbView<'_>> {
        self.base.db()
    }
}

fn open(
    path: &Path,
    options: &rocksdb_options_t,
    transactions: &rocksdb_transactiondb_options_t,
    mut families: Families,
) -> Result<Owned<rocksdb_transactiondb_t>> {
    let names = families.names();
    let descriptors = std::mem::take(&mut families.descriptors);
    transactions.rejected().check()?;
    let transactions = transactions.options.clone();
    let db = TransactionDb::open_with(path, options.front_options()?, transactions, Some(descriptors))?;
    let base = rocksdb_t::new(db.engine().clone())?;
    families.write_handles(&names, &base)?;
    Ok(Owned(rocksdb_transactiondb_t { db, base }))
}

c_api! {
    /// Opens a transaction database with its default column family.
    fn rocksdb_transactiondb_open(
        options: in rocksdb_options_t, txn_db_options: in rocksdb_transactiondb_options_t, name: path, err
    ) -> Owned<rocksdb_transactiondb_t> {
        open(name, options, txn_db_options, Families::default_only(options)?)
    }

    /// Opens a transaction database with column families, as `rocksdb_open_column_families`.
    fn rocksdb_transactiondb_open_column_families(
        options: in rocksdb_options_t, txn_db_options: in rocksdb_transactiondb_options_t, name: path,
        num_column_families: i32, column_family_names: raw(*const *const c_char),
        column_family_options: raw(*const *const rocksdb_options_t),
        column_family_handles: raw(*mut *mut rocksdb_column_family_handle_t), err
    ) -> Owned<rocksdb_transactiondb_t> {
        // SAFETY: rule 11 of the header: aligned arrays of `num_column_families` initialized items that no thread changes during the call.
        let families = unsafe {
            Families::new(num_column_families, column_family_names, column_family_options, column_family_handles)?
        };
        open(name, options, txn_db_options, families)
    }

    /// Closes the database and destroys the handle.
    fn rocksdb_transactiondb_close(txn_db: own rocksdb_transactiondb_t) {
        if let Some(db) = txn_db {
            db.engine()?.close()?;
        }
    }

    /// Creates a column family. The caller destroys the handle.
    fn rocksdb_transactiondb_create_column_family(
        txn_db: at rocksdb_transactiondb_t, column_family_options: in rocksdb_options_t, column_family_name: text, err
    ) -> Owned<rocksdb_column_family_handle_t> {
        txn_db.db.create_family(column_family_options.front_descriptor(column_family_name)?)?;
        let missing = || base::Error::not_found(format!("column family {column_family_name}"));
        let family = txn_db.engine()?.family(column_family_name).ok_or_else(missing)?;
        Ok(Owned(txn_db.base.handle(family)?))
    }

    /// Returns a handle of the base database. Its writes lock no keys, and it takes range deletions. Destroy the handle with `rocksdb_transactiondb_close_base_db`.
    fn rocksdb_transactiondb_get_base_db(txn_db: at rocksdb_transactiondb_t) -> Owned<rocksdb_t> {
        Owned(rocksdb_t::new(txn_db.db.base().engine().clone())?)
    }

    /// Destroys the handle. The database stays open.
    fn rocksdb_transactiondb_close_base_db(base_db: own rocksdb_t) {
        drop(base_db)
    }

    fn rocksdb_transactiondb_create_snapshot(txn_db: at rocksdb_transactiondb_t) -> *const rocksdb_snapshot_t {
        snapshot::take(&*txn_db.engine()?)
    }

    fn rocksdb_transactiondb_release_snapshot(
        txn_db: maybe rocksdb_transactiondb_t, snapshot: raw(*const rocksdb_snapshot_t)
    ) {
        let _ = txn_db;
        // SAFETY: the header requires null, or a live handle that the program does not use again.
        unsafe { snapshot::release(snapshot) }
    }

    /// Returns a property as text, or null for an unknown name. The caller frees the text.
    fn rocksdb_transactiondb_property_value(db: at rocksdb_transactiondb_t, propname: text) -> Option<Buffer> {
        let value = db.engine()?.properties().text(&db.base.get()?.default, propname);
        value.map(|value| Buffer::string(value.as_bytes()))
    }

    /// Returns a property as a number: returns 0 and sets `out_val`. Returns -1 for an unknown name and for a property that is
    /// not a number.
    fn rocksdb_transactiondb_property_int(
        db: at rocksdb_transactiondb_t, propname: text, out_val: out u64
    ) -> Success {
        let value = db.engine()?.properties().number(&db.base.get()?.default, propname);
        if let Some(value) = value {
            out_val.set(value);
        }
        Success(value.is_some())
    }

    /// Begins a transaction. If `old_txn` is not null, the new transaction replaces the transaction in this handle, and `old_txn`
    /// is returned. Returns null for options that Ironstone does not have.
    fn rocksdb_transaction_begin(
        txn_db: at rocksdb_transactiondb_t, write_options: in rocksdb_writeoptions_t,
        txn_options: in rocksdb_transaction_options_t, old_txn: raw(*mut rocksdb_transaction_t)
    ) -> *mut rocksdb_transaction_t {
        txn_options.rejected().check()?;
        let txn = txn_db.db.begin_with(write_options.get()?, &txn_options.options)?;
        let txn = rocksdb_transaction_t::new(txn, &txn_db.base.get()?.front);
        // SAFETY: the header requires that `old_txn` is null or a live transaction.
        unsafe { txn.replace(old_txn) }
    }

    /// Returns the prepared transactions, or null if there is none. The caller destroys each transaction and frees the list.
    fn rocksdb_transactiondb_get_prepared_transactions(
        txn_db: at rocksdb_transactiondb_t, cnt: out usize
    ) -> *mut *mut rocksdb_transaction_t {
        let prepared = txn_db.db.all_prepared_transactions();
        cnt.set(prepared.len());
        if prepared.is_empty() {
            return Ok(std::ptr::null_mut());
        }
        let front = &txn_db.base.get()?.front;
        let handle = |txn| Owned(rocksdb_transaction_t::new(txn, front)).into_c();
        malloc_array(&prepared.into_iter().map(handle).collect::<Vec<_>>())
    }

    fn rocksdb_transactiondb_get(
        txn_db: at rocksdb_transactiondb_t, options: in rocksdb_readoptions_t, key: bytes, vlen: out usize, err
    ) -> Option<Buffer> {
        vlen.set(0);
        let open = txn_db.base.get()?;
        Ok(copied(open.db.get(&open.default, key, &*options.get()?)?, &vlen))
    }

    fn rocksdb_transactiondb_get_cf(
        txn_db: at rocksdb_transactiondb_t, options: in rocksdb_readoptions_t,
        column_family: at rocksdb_column_family_handle_t, key: bytes, vallen: out usize, err
    ) -> Option<Buffer> {
        vallen.set(0);
        let family = txn_db.base.family(column_family)?;
        Ok(copied(txn_db.engine()?.get(&family, key, &*options.get()?)?, &vallen))
    }

    fn rocksdb_transactiondb_get_pinned(
        txn_db: at rocksdb_transactiondb_t, options: in rocksdb_readoptions_t, key: bytes, err
    ) -> Option<Owned<rocksdb_pinnableslice_t>> {
        let open = txn_db.base.get()?;
        let value = open.db.get(&open.default, key, &*options.get()?)?;
        Ok(value.map(|value| Owned(rocksdb_pinnableslice_t { value })))
    }

    fn rocksdb_transactiondb_get_pinned_cf(
        txn_db: at rocksdb_transactiondb_t, options: in rocksdb_readoptions_t,
        column_family: at rocksdb_column_family_handle_t, key: bytes, err
    ) -> Option<Owned<rocksdb_pinnableslice_t>> {
        let value = txn_db.engine()?.get(&*txn_db.base.family(column_family)?, key, &*options.get()?)?;
        Ok(value.map(|value| Owned(rocksdb_pinnableslice_t { value })))
    }

    /// Works like `rocksdb_multi_get`.
    fn rocksdb_transactiondb_multi_get(
        txn_db: maybe rocksdb_transactiondb_t, options: inmaybe rocksdb_readoptions_t, keys_list: keys,
        values_list: raw(*mut *mut c_char), values_list_sizes: raw(*mut usize), errs: raw(*mut *mut c_char)
    ) {
        let count = keys_list.count;
        let read = || {
            let (db, options) = (&needed(FUNCTION, "txn_db", txn_db)?.base, needed(FUNCTION, "options", options)?);
            get_keys(db, db.default_family(), &keys_list.slices?.items, options)
        };
        let places = Places { function: FUNCTION, values: values_list, lens: values_list_sizes, errors: errs };
        // SAFETY: rule 11 of the header: each array is aligned, and each key has a writable place. Only this call uses the places.
        unsafe { places.write(count, read())? };
    }

    /// Works like `rocksdb_multi_get_cf`.
    fn rocksdb_transactiondb_multi_get_cf(
        txn_db: maybe rocksdb_transactiondb_t, options: inmaybe rocksdb_readoptions_t,
        column_families: raw(*const *const rocksdb_column_family_handle_t), keys_list: keys,
        values_list: raw(*mut *mut c_char), values_list_sizes: raw(*mut usize), errs: raw(*mut *mut c_char)
    ) {
        let count = keys_list.count;
        let read = || {
            let (db, options) = (&needed(FUNCTION, "txn_db", txn_db)?.base, needed(FUNCTION, "options", options)?);
            // SAFETY: rule 11 of the header: an aligned array with a live handle for each key. No thread changes the array or destroys a handle
            // during the call.
            let families = unsafe { families_of(db, column_families, count)? };
            get_families(db, &families, &keys_list.slices?.items, &*options.get()?)
        };
        let places = Places { function: FUNCTION, values: values_list, lens: values_list_sizes, errors: errs };
        // SAFETY: rule 11 of the header: each array is aligned, and each key has a writable place. Only this call uses the places.
        unsafe { places.write(count, read())? };
    }

    fn rocksdb_transactiondb_put(
        txn_db: at rocksdb_transactiondb_t, options: in rocksdb_writeoptions_t, key: bytes, val: bytes, err
    ) {
        txn_db.engine()?.put(&txn_db.base.get()?.default, key, val, options.get()?)
    }

    fn rocksdb_transactiondb_put_cf(
        txn_db: at rocksdb_transactiondb_t, options: in rocksdb_writeoptions_t,
        column_family: at rocksdb_column_family_handle_t, key: bytes, val: bytes, err
    ) {
        txn_db.engine()?.put(&*txn_db.base.family(column_family)?, key, val, options.get()?)
    }

    fn rocksdb_transactiondb_write(
        db: at rocksdb_transactiondb_t, options: in rocksdb_writeoptions_t, batch: mut rocksdb_writebatch_t, err
    ) {
        let open = db.base.get()?;
        db.engine()?.write(batch.batch_for(&open.default)?, options.get()?)
    }

    fn rocksdb_transactiondb_merge(
        txn_db: at rocksdb_transactiondb_t, options: in rocksdb_writeoptions_t, key: bytes, val: bytes, err
    ) {
        txn_db.engine()?.merge(&txn_db.base.get()?.default, key, val, options.get()?)
    }

    fn rocksdb_transactiondb_merge_cf(
        txn_db: at rocksdb_transactiondb_t, options: in rocksdb_writeoptions_t,
        column_family: at rocksdb_column_family_handle_t, key: bytes, val: bytes, err
    ) {
        txn_db.engine()?.merge(&*txn_db.base.family(column_family)?, key, val, options.get()?)
    }

    fn rocksdb_transactiondb_delete(
        txn_db: at rocksdb_transactiondb_t, options: in rocksdb_writeoptions_t, key: bytes, err
    ) {
        txn_db.engine()?.delete(&txn_db.base.get()?.default, key, options.get()?)
    }

    fn rocksdb_transactiondb_delete_cf(
        txn_db: at rocksdb_transactiondb_t, options: in rocksdb_writeoptions_t,
        column_family: at rocksdb_column_family_handle_t, key: bytes, err
    ) {
        txn_db.engine()?.delete(&*txn_db.base.family(column_family)?, key, options.get()?)
    }

    fn rocksdb_transactiondb_flush_wal(txn_db: at rocksdb_transactiondb_t, sync: flag, err) {
        txn_db.engine()?.wals().flush(sync)
    }

    /// Writes the WAL to the file. If `options` is null, the defaults hold: no sync.
    fn rocksdb_transactiondb_flush_wal_with_options(
        txn_db: at rocksdb_transactiondb_t, options: inmaybe rocksdb_flushwaloptions_t, err
    ) {
        let options = options.cloned().unwrap_or_default();
        options.rejected().check()?;
        txn_db.engine()?.wals().flush(options.options.sync)
    }

    fn rocksdb_transactiondb_flush(
        txn_db: at rocksdb_transactiondb_t, options: in rocksdb_flushoptions_t, err
    ) {
        options.rejected().check()?;
        txn_db.engine()?.flush(std::slice::from_ref(&*txn_db.base.default_family()?), &options.options)
    }

    fn rocksdb_transactiondb_flush_cf(
        txn_db: at rocksdb_transactiondb_t, options: in rocksdb_flushoptions_t,
        column_family: at rocksdb_column_family_handle_t, err
    ) {
        options.rejected().check()?;
        txn_db.engine()?.flush(std::slice::from_ref(&*txn_db.base.family(column_family)?), &options.options)
    }

    fn rocksdb_transactiondb_flush_cfs(
        txn_db: at rocksdb_transactiondb_t, options: in rocksdb_flushoptions_t,
        column_families: raw(*mut *mut rocksdb_column_family_handle_t), num_column_families: i32, err
    ) {
        options.rejected().check()?;
        let count = arguments::count(num_column_families)?;
        // SAFETY: rule 11 of the header: an aligned array of `num_column_families` live handles. No thread changes the array or destroys a handle
        // during the call.
        let families = unsafe { families_of(&txn_db.base, column_families.cast_const().cast(), count)? };
        txn_db.engine()?.flush(&families, &options.options)
    }

    fn rocksdb_transactiondb_create_iterator(
        txn_db: at rocksdb_transactiondb_t, options: in rocksdb_readoptions_t
    ) -> OwnedBox<rocksdb_iterator_t> {
        rocksdb_iterator_t::new(&txn_db.base, txn_db.base.default_family(), options)
    }

    fn rocksdb_transactiondb_create_iterator_cf(
        txn_db: at rocksdb_transactiondb_t, options: in rocksdb_readoptions_t,
        column_family: at rocksdb_column_family_handle_t
    ) -> OwnedBox<rocksdb_iterator_t> {
        rocksdb_iterator_t::new(&txn_db.base, txn_db.base.family(column_family), options)
    }

    fn rocksdb_transactiondb_checkpoint_object_create(
        txn_db: at rocksdb_transactiondb_t, err
    ) -> Owned<rocksdb_checkpoint_t> {
        Ok(Owned(rocksdb_checkpoint_t { checkpoint: Checkpoint::new(&txn_db.base.get()?.front) }))
    }
}
