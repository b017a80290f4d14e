//! Transactions.

use std::ffi::c_char;
use std::mem::ManuallyDrop;
use std::sync::Arc;

use base::{Pinned, Result};
use engine::options::ReadOptions;
use engine::sequence::Snapshot;
use ironstone::{Db, Family, LockMode, Transaction, Validation};

use crate::abi::guard::needed;
use crate::abi::returns::malloc_bytes;
use crate::abi::{Buffer, Owned, arguments};
use crate::batch::rocksdb_writebatch_t;
use crate::batch_with_index::rocksdb_writebatch_wi_t;
use crate::db::{Places, copied, rocksdb_column_family_handle_t, rocksdb_pinnableslice_t};
use crate::iterator::rocksdb_iterator_t;
use crate::read_options::rocksdb_readoptions_t;
use crate::snapshot::rocksdb_snapshot_t;

/// A transaction. It keeps the database open.
pub struct rocksdb_transaction_t {
    txn: Transaction,
    default: Family,
    /// The snapshots that `rocksdb_transaction_get_snapshot` returned. A handle borrows its snapshot from here.
    snapshots: Vec<Arc<Snapshot>>,
    /// The batch that `rocksdb_transaction_get_writebatch_wi` returned. A handle borrows the batch from here.
    batch: Option<rocksdb_writebatch_wi_t>,
}

impl rocksdb_transaction_t {
    pub(super) fn new(txn: Transaction, db: &Db) -> Self {
        rocksdb_transaction_t { txn, default: db.default_family(), snapshots: Vec::new(), batch: None }
    }

    /// Stores the transaction in the handle of an old transaction, or in a new handle if `old` is null.
    ///
    /// # Safety
    /// `old` is null or a live transaction that no other thread uses.
    pub(super) unsafe fn replace(self, old: *mut rocksdb_transaction_t) -> *mut rocksdb_transaction_t {
        // SAFETY: the contract of this function has each obligation of the called function.
        match unsafe { old.as_mut() } {
            None => Box::into_raw(Box::new(self)),
            Some(place) => {
                // A batch handle of the old transaction is now a handle of the batch of the new transaction.
                let batch = place.batch.take();
                *place = self;
                place.batch = batch.map(|mut handle| {
                    handle.batch = place.txn.indexed_batch();
                    handle
                });
                old
            }
        }
    }

    fn get_for_update(
        &self,
        family: &Family,
        key: &[u8],
        options: &ReadOptions,
        exclusive: bool,
    ) -> Result<Option<Pinned>> {
        let mode = if exclusive { LockMode::Exclusive } else { LockMode::Shared };
        self.txn.get_for_update_in(family, key, options, mode, Validation::Check)
    }
}

/// Moves a handle to memory that a program frees with `rocksdb_free`. The handle is never dropped.
fn malloc_handle<T>(handle: T) -> *mut T {
    const { assert!(align_of::<T>() <= align_of::<u64>()) };
    let memory: *mut T = malloc_bytes(size_of::<T>()).cast();
    // SAFETY: `malloc` returned `size_of::<T>()` writable bytes, aligned for every scalar type, and `T` needs no more.
    unsafe { memory.write(handle) };
    memory
}

fn pinned(value: Option<Pinned>) -> Option<Owned<rocksdb_pinnableslice_t>> {
    value.map(|value| Owned(rocksdb_pinnableslice_t { value }))
}

/// Returns the column families of an array of handles.
///
/// # Safety
/// The array has `count` items that are null or live handles.
unsafe fn families(
    handles: *const *const rocksdb_column_family_handle_t,
    count: usize,
) -> Result<Vec<Family>> {
    // SAFETY: the array has `count` items by the contract.
    let handles = unsafe { arguments::array(handles, count)? };
    let family = |&handle: &*const rocksdb_column_family_handle_t| {
        // SAFETY: the handle is null or live by the contract.
        let handle = unsafe { handle.as_ref() };
        let missing = || base::Error::invalid_argument("a column family handle is null");
        Ok(handle.ok_or_else(missing)?.front()?.into_owned())
    };
    handles.iter().map(family).collect()
}

c_api! {
    /// Destroys a transaction. If the transaction is neither committed nor prepared, it is rolled back. Accepts null.
    fn rocksdb_transaction_destroy(txn: own rocksdb_transaction_t) {
        drop(txn)
    }

    /// Sets the name of a transaction. `rocksdb_transaction_prepare` needs a name. Live transactions must have different names.
    fn rocksdb_transaction_set_name(txn: at rocksdb_transaction_t, name: bytes, err) {
        txn.txn.set_name(name)
    }

    /// Returns the name. The caller frees it.
    fn rocksdb_transaction_get_name(txn: at rocksdb_transaction_t, name_len: out usize) -> Buffer {
        let name = txn.txn.name();
        name_len.set(name.len());
        Buffer::bytes(&name)
    }

    /// Writes the transaction to the WAL, but does not make its writes visible. A prepared transaction survives a crash. The
    /// program must commit it or roll it back.
    fn rocksdb_transaction_prepare(txn: at rocksdb_transaction_t, err) {
        txn.txn.prepare()
    }

    /// Makes the writes visible. Reports Busy if the transaction conflicts with another transaction.
    fn rocksdb_transaction_commit(txn: at rocksdb_transaction_t, err) {
        txn.txn.commit()
    }

    fn rocksdb_transaction_rollback(txn: at rocksdb_transaction_t, err) {
        txn.txn.rollback()
    }

    fn rocksdb_transaction_set_savepoint(txn: at rocksdb_transaction_t) {
        txn.txn.set_save_point();
    }

    /// Removes the writes and locks since the last save point. NotFound without a save point.
    fn rocksdb_transaction_rollback_to_savepoint(txn: at rocksdb_transaction_t, err) {
        txn.txn.rollback_to_save_point()
    }

    fn rocksdb_transaction_put(txn: at rocksdb_transaction_t, key: bytes, val: bytes, err) {
        txn.txn.put(key, val)
    }

    fn rocksdb_transaction_put_cf(
        txn: at rocksdb_transaction_t, column_family: at rocksdb_column_family_handle_t, key: bytes, val: bytes, err
    ) {
        txn.txn.put_in(&*column_family.front()?, key, val)
    }

    fn rocksdb_transaction_merge(txn: at rocksdb_transaction_t, key: bytes, val: bytes, err) {
        txn.txn.merge(key, val)
    }

    fn rocksdb_transaction_merge_cf(
        txn: at rocksdb_transaction_t, column_family: at rocksdb_column_family_handle_t, key: bytes, val: bytes, err
    ) {
        txn.txn.merge_in(&*column_family.front()?, key, val)
    }

    fn rocksdb_transaction_delete(txn: at rocksdb_transaction_t, key: bytes, err) {
        txn.txn.delete(key)
    }

    fn rocksdb_transaction_delete_cf(
        txn: at rocksdb_transaction_t, column_family: at rocksdb_column_family_handle_t, key: bytes, err
    ) {
        txn.txn.delete_in(&*column_family.front()?, key)
    }

    /// Adds bytes that are written to the WAL but not to memtables.
    fn rocksdb_transaction_put_log_data(txn: at rocksdb_transaction_t, blob: bytes) {
        // As in RocksDB, a record that exceeds `max_write_batch_size` is left out.
        let _ = txn.txn.put_log_data(blob);
    }

    /// Adds the records of a batch, each as a write of the transaction.
    fn rocksdb_transaction_rebuild_from_writebatch(
        txn: at rocksdb_transaction_t, writebatch: mut rocksdb_writebatch_t, err
    ) {
        txn.txn.rebuild_from_batch(writebatch.batch_to_write()?)
    }

    fn rocksdb_transaction_rebuild_from_writebatch_wi(
        txn: at rocksdb_transaction_t, wi: at rocksdb_writebatch_wi_t, err
    ) {
        txn.txn.rebuild_from_batch(&wi.batch.to_batch())
    }

    fn rocksdb_transaction_set_commit_timestamp(txn: at rocksdb_transaction_t, commit_timestamp: u64) {
        txn.txn.set_commit_timestamp(commit_timestamp)?;
    }

    fn rocksdb_transaction_set_read_timestamp_for_validation(txn: at rocksdb_transaction_t, read_timestamp: u64) {
        txn.txn.set_read_timestamp_for_validation(read_timestamp)?;
    }

    /// Returns the snapshot of the transaction. If the transaction has none, reads with the handle see the newest entries.
    /// Free the handle with `rocksdb_free` before the transaction is destroyed. The snapshot belongs to the transaction.
    fn rocksdb_transaction_get_snapshot(txn: mut rocksdb_transaction_t) -> *const rocksdb_snapshot_t {
        let Some(snapshot) = txn.txn.snapshot() else {
            return Ok(malloc_handle(rocksdb_snapshot_t { snapshot: None }).cast_const());
        };
        let held = snapshot.held();
        // SAFETY: the pointer comes from an `Arc` that `txn.snapshots` keeps, and the handle is never dropped.
        let snapshot = ManuallyDrop::new(unsafe { Arc::from_raw(Arc::as_ptr(&held)) });
        let handle = malloc_handle(rocksdb_snapshot_t { snapshot: Some(snapshot) });
        // All handles of one snapshot borrow from one `Arc`.
        if !txn.snapshots.last().is_some_and(|last| Arc::ptr_eq(last, &held)) {
            txn.snapshots.push(held);
        }
        handle.cast_const()
    }

    /// Returns the writes of the transaction as a batch. A change of the batch changes the transaction, without locks and
    /// without checks. Free the handle with `rocksdb_free`. The batch belongs to the transaction and ends with it.
    fn rocksdb_transaction_get_writebatch_wi(txn: mut rocksdb_transaction_t) -> *mut rocksdb_writebatch_wi_t {
        let transaction = &txn.txn;
        let batch = txn.batch.get_or_insert_with(|| rocksdb_writebatch_wi_t::new(transaction.indexed_batch()));
        malloc_handle(batch.borrowed())
    }

    /// Returns a copy of the value of a key as the transaction sees it, or null.
    fn rocksdb_transaction_get(
        txn: at rocksdb_transaction_t, options: in rocksdb_readoptions_t, key: bytes, vlen: out usize, err
    ) -> Option<Buffer> {
        vlen.set(0);
        Ok(copied(txn.txn.get_in(&txn.default, key, &*options.get()?)?, &vlen))
    }

    fn rocksdb_transaction_get_cf(
        txn: at rocksdb_transaction_t, options: in rocksdb_readoptions_t,
        column_family: at rocksdb_column_family_handle_t, key: bytes, vlen: out usize, err
    ) -> Option<Buffer> {
        vlen.set(0);
        Ok(copied(txn.txn.get_in(&*column_family.front()?, key, &*options.get()?)?, &vlen))
    }

    fn rocksdb_transaction_get_pinned(
        txn: at rocksdb_transaction_t, options: in rocksdb_readoptions_t, key: bytes, err
    ) -> Option<Owned<rocksdb_pinnableslice_t>> {
        Ok(pinned(txn.txn.get_in(&txn.default, key, &*options.get()?)?))
    }

    fn rocksdb_transaction_get_pinned_cf(
        txn: at rocksdb_transaction_t, options: in rocksdb_readoptions_t,
        column_family: at rocksdb_column_family_handle_t, key: bytes, err
    ) -> Option<Owned<rocksdb_pinnableslice_t>> {
        Ok(pinned(txn.txn.get_in(&*column_family.front()?, key, &*options.get()?)?))
    }

    /// Works like `rocksdb_transaction_get`. Also locks the key, and checks at commit that no other transaction wrote
    /// it.
    fn rocksdb_transaction_get_for_update(
        txn: at rocksdb_transaction_t, options: in rocksdb_readoptions_t, key: bytes, vlen: out usize,
        exclusive: flag, err
    ) -> Option<Buffer> {
        vlen.set(0);
        Ok(copied(txn.get_for_update(&txn.default, key, &*options.get()?, exclusive)?, &vlen))
    }

    fn rocksdb_transaction_get_for_update_cf(
        txn: at rocksdb_transaction_t, options: in rocksdb_readoptions_t,
        column_family: at rocksdb_column_family_handle_t, key: bytes, vlen: out usize, exclusive: flag, err
    ) -> Option<Buffer> {
        vlen.set(0);
        Ok(copied(txn.get_for_update(&*column_family.front()?, key, &*options.get()?, exclusive)?, &vlen))
    }

    fn rocksdb_transaction_get_pinned_for_update(
        txn: at rocksdb_transaction_t, options: in rocksdb_readoptions_t, key: bytes, exclusive: flag, err
    ) -> Option<Owned<rocksdb_pinnableslice_t>> {
        Ok(pinned(txn.get_for_update(&txn.default, key, &*options.get()?, exclusive)?))
    }

    fn rocksdb_transaction_get_pinned_for_update_cf(
        txn: at rocksdb_transaction_t, options: in rocksdb_readoptions_t,
        column_family: at rocksdb_column_family_handle_t, key: bytes, exclusive: flag, err
    ) -> Option<Owned<rocksdb_pinnableslice_t>> {
        Ok(pinned(txn.get_for_update(&*column_family.front()?, key, &*options.get()?, exclusive)?))
    }

    /// Works like `rocksdb_multi_get`, as the transaction sees the keys.
    fn rocksdb_transaction_multi_get(
        txn: maybe rocksdb_transaction_t, options: inmaybe rocksdb_readoptions_t, keys_list: keys,
        values_list: raw(*mut *mut c_char), values_list_sizes: raw(*mut usize), errs: raw(*mut *mut c_char)
    ) {
        let count = keys_list.count;
        let read = || {
            let (txn, options) = (needed(FUNCTION, "txn", txn)?, needed(FUNCTION, "options", options)?);
            let (keys, read) = (keys_list.slices?, &*options.get()?);
            Ok(txn.txn.multi_get_in(&txn.default, &keys.items, read))
        };
        let places = Places { function: FUNCTION, values: values_list, lens: values_list_sizes, errors: errs };
        // SAFETY: rule 11 of the header: each array is aligned, and each key has a writable place. Only this call uses the places.
        unsafe { places.write(count, read())? };
    }

    /// Works like `rocksdb_transaction_multi_get`. First locks all keys in their order, as
    /// `rocksdb_transaction_get_for_update` does. If a key cannot be locked, locks no further key, reads no key and
    /// reports the error for each key.
    fn rocksdb_transaction_multi_get_for_update(
        txn: maybe rocksdb_transaction_t, options: inmaybe rocksdb_readoptions_t, keys_list: keys,
        values_list: raw(*mut *mut c_char), values_list_sizes: raw(*mut usize), errs: raw(*mut *mut c_char)
    ) {
        let count = keys_list.count;
        let read = || {
            let (txn, options) = (needed(FUNCTION, "txn", txn)?, needed(FUNCTION, "options", options)?);
            let (keys, read) = (keys_list.slices?, &*options.get()?);
            txn.txn.multi_get_for_update_in(&txn.default, &keys.items, read)
        };
        let places = Places { function: FUNCTION, values: values_list, lens: values_list_sizes, errors: errs };
        // SAFETY: rule 11 of the header: each array is aligned, and each key has a writable place. Only this call uses the places.
        unsafe { places.write(count, read())? };
    }

    /// Works like `rocksdb_transaction_multi_get`, with a column family for each key. All keys are read at one sequence
    /// number.
    fn rocksdb_transaction_multi_get_cf(
        txn: maybe rocksdb_transaction_t, options: inmaybe rocksdb_readoptions_t,
        column_families: raw(*const *const rocksdb_column_family_handle_t), keys_list: keys,
        values_list: raw(*mut *mut c_char), values_list_sizes: raw(*mut usize), errs: raw(*mut *mut c_char)
    ) {
        let count = keys_list.count;
        let read = || {
            let (txn, options) = (needed(FUNCTION, "txn", txn)?, needed(FUNCTION, "options", options)?);
            let (keys, read) = (keys_list.slices?, &*options.get()?);
            // SAFETY: rule 11 of the header: an aligned array with a live handle for each key. No thread changes the array or destroys a handle
            // during the call.
            let families = unsafe { families(column_families, count)? };
            let pairs: Vec<_> = families.iter().zip(&keys.items).map(|(family, key)| (family, *key)).collect();
            Ok(txn.txn.multi_get_families(&pairs, read))
        };
        let places = Places { function: FUNCTION, values: values_list, lens: values_list_sizes, errors: errs };
        // SAFETY: rule 11 of the header: each array is aligned, and each key has a writable place. Only this call uses the places.
        unsafe { places.write(count, read())? };
    }

    /// Works like `rocksdb_transaction_multi_get_for_update`, with a column family for each key.
    fn rocksdb_transaction_multi_get_for_update_cf(
        txn: maybe rocksdb_transaction_t, options: inmaybe rocksdb_readoptions_t,
        column_families: raw(*const *const rocksdb_column_family_handle_t), keys_list: keys,
        values_list: raw(*mut *mut c_char), values_list_sizes: raw(*mut usize), errs: raw(*mut *mut c_char)
    ) {
        let count = keys_list.count;
        let read = || {
            let (txn, options) = (needed(FUNCTION, "txn", txn)?, needed(FUNCTION, "options", options)?);
            let (keys, read) = (keys_list.slices?, &*options.get()?);
            // SAFETY: rule 11 of the header: an aligned array with a live handle for each key. No thread changes the array or destroys a handle
            // during the call.
            let families = unsafe { families(column_families, count)? };
            let pairs: Vec<_> = families.iter().zip(&keys.items).map(|(family, key)| (family, *key)).collect();
            for (family, key) in &pairs {
                txn.txn.lock_for_update_in(family, key, read, LockMode::Exclusive, Validation::Check)?;
            }
            Ok(txn.txn.multi_get_families(&pairs, read))
        };
        let places = Places { function: FUNCTION, values: values_list, lens: values_list_sizes, errors: errs };
        // SAFETY: rule 11 of the header: each array is aligned, and each key has a writable place. Only this call uses the places.
        unsafe { places.write(count, read())? };
    }

    /// Creates an iterator over the entries of the database and the writes of the transaction.
    fn rocksdb_transaction_create_iterator(
        txn: at rocksdb_transaction_t, options: in rocksdb_readoptions_t
    ) -> Owned<rocksdb_iterator_t> {
        let create = || txn.txn.iter_in(&txn.default, options.get()?.into_owned());
        Owned(rocksdb_iterator_t::of_transaction(create()))
    }

    fn rocksdb_transaction_create_iterator_cf(
        txn: at rocksdb_transaction_t, options: in rocksdb_readoptions_t,
        column_family: at rocksdb_column_family_handle_t
    ) -> Owned<rocksdb_iterator_t> {
        let create = || txn.txn.iter_in(&*column_family.front()?, options.get()?.into_owned());
        Owned(rocksdb_iterator_t::of_transaction(create()))
    }
}

#[cfg(test)]
mod tests {
    use ironstone::{Options, TransactionDb, TransactionDbOptions};

    use super::*;

    #[test]
    fn handles_of_one_snapshot_borrow_from_one_arc() {
        let db = TransactionDb::open("data", Options::in_memory(), TransactionDbOptions::default()).unwrap();
        let txn = db.begin();
        txn.set_snapshot();
        let mut txn = rocksdb_transaction_t::new(txn, &db);
        let mut get = || {
            // SAFETY: the transaction is live, and the handle comes from `malloc` and is freed once.
            unsafe { libc::free(rocksdb_transaction_get_snapshot(&raw mut txn).cast_mut().cast()) };
            txn.snapshots.len()
        };
        assert_eq!([get(), get(), get()], [1; 3]);
        txn.txn.set_snapshot();
        // SAFETY: the transaction is live, and the handle comes from `malloc` and is freed once.
        unsafe { libc::free(rocksdb_transaction_get_snapshot(&raw mut txn).cast_mut().cast()) };
        assert_eq!(txn.snapshots.len(), 2);
    }
}
