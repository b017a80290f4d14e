//! Write batches with an index: batches that can be read and iterated before they are written.

use std::ffi::c_void;
use std::ops::{Deref, DerefMut};

use base::{Error, Result};
use engine::options::WriteOptions;
use ironstone::{WriteBatchWithIndex, WriteBatchWithIndexOptions};

use crate::abi::{Buffer, Owned, Text};
use crate::batch::{Calls, TimestampSizes, rocksdb_writebatch_t};
use crate::callbacks::{rocksdb_batch_delete_cb, rocksdb_batch_put_cb, rocksdb_ts_size_cb};
use crate::comparator::rocksdb_comparator_t;
use crate::db::{copied, rocksdb_column_family_handle_t, rocksdb_pinnableslice_t, rocksdb_t};
use crate::iterator::rocksdb_iterator_t;
use crate::options::rocksdb_options_t;
use crate::read_options::rocksdb_readoptions_t;
use crate::write_options::rocksdb_writeoptions_t;

/// A write batch with an index: a separate batch, or the batch of a transaction.
pub struct rocksdb_writebatch_wi_t {
    state: *mut State,
    /// True if the handle owns the state and drops it. False if the state belongs to a transaction.
    owned: bool,
}

/// The content of a handle.
pub struct State {
    pub(crate) batch: WriteBatchWithIndex,
    /// The bytes that `rocksdb_writebatch_wi_data` returned.
    data: Vec<u8>,
    /// The size of the checksum that a write keeps for each key, in bytes. 0: the options of the write decide.
    protection_bytes_per_key: usize,
}

impl rocksdb_writebatch_wi_t {
    pub(crate) fn new(batch: WriteBatchWithIndex) -> Self {
        let state = Box::into_raw(Box::new(State { batch, data: Vec::new(), protection_bytes_per_key: 0 }));
        rocksdb_writebatch_wi_t { state, owned: true }
    }

    /// Returns a second handle of the same batch. The program must not destroy the second handle, but only free its memory.
    pub(crate) fn borrowed(&self) -> Self {
        rocksdb_writebatch_wi_t { state: self.state, owned: false }
    }
}

impl Deref for rocksdb_writebatch_wi_t {
    type Target = State;

    fn deref(&self) -> &State {
        // SAFETY: `state` comes from `Box::into_raw` in `new` and is freed by the drop of the owner. The header requires that
        // no handle is used after its destruction, nor after the destruction of its transaction. The header allows one thread at
        // a time to use a transaction and the batch of this transaction. So no other reference to the state exists.
        unsafe { &*self.state }
    }
}

impl DerefMut for rocksdb_writebatch_wi_t {
    fn deref_mut(&mut self) -> &mut State {
        // SAFETY: `state` is live and no other reference to it exists, for the reasons in `deref`.
        unsafe { &mut *self.state }
    }
}

impl Drop for rocksdb_writebatch_wi_t {
    fn drop(&mut self) {
        if self.owned {
            // SAFETY: `state` comes from `Box::into_raw` in `new`. Only the owner frees it, and only here.
            drop(unsafe { Box::from_raw(self.state) });
        }
    }
}

fn create(options: WriteBatchWithIndexOptions) -> rocksdb_writebatch_wi_t {
    rocksdb_writebatch_wi_t::new(WriteBatchWithIndex::with_options(options))
}

/// Ignores a range deletion, because the index cannot hold range tombstones. RocksDB also ignores the call.
fn no_ranges() -> Result<()> {
    Err(Error::not_supported("range deletions in a write batch with an index"))
}

c_api! {
    /// Creates a batch. With `overwrite_keys`, the index holds only the last record of each key.
    fn rocksdb_writebatch_wi_create(reserved_bytes: usize, overwrite_keys: flag) -> Owned<rocksdb_writebatch_wi_t> {
        Owned(create(WriteBatchWithIndexOptions {
            reserved_bytes: reserved_bytes.min(1 << 20),
            overwrite_key: overwrite_keys,
            ..WriteBatchWithIndexOptions::default()
        }))
    }

    /// Works like `rocksdb_writebatch_wi_create`. The batch uses the comparator for column families whose own
    /// comparator the batch does not know; null: bytewise. Records past `max_bytes` are rejected; 0: no limit. If
    /// `protection_bytes_per_key` is 8, a write of the batch keeps checksums of the records. If it is another number
    /// above 0, each write of the batch fails.
    fn rocksdb_writebatch_wi_create_with_params(
        backup_index_comparator: maybe rocksdb_comparator_t, reserved_bytes: usize, overwrite_key: flag,
        max_bytes: usize, protection_bytes_per_key: usize
    ) -> Owned<rocksdb_writebatch_wi_t> {
        let mut handle = create(WriteBatchWithIndexOptions {
            order: backup_index_comparator.map(|comparator| comparator.order.clone()).unwrap_or_default(),
            reserved_bytes: reserved_bytes.min(1 << 20),
            overwrite_key,
            max_bytes,
        });
        handle.protection_bytes_per_key = protection_bytes_per_key;
        Owned(handle)
    }

    fn rocksdb_writebatch_wi_destroy(batch: own rocksdb_writebatch_wi_t) {
        drop(batch)
    }

    fn rocksdb_writebatch_wi_clear(batch: mut rocksdb_writebatch_wi_t) {
        batch.batch.clear();
    }

    /// Returns the number of records.
    fn rocksdb_writebatch_wi_count(batch: at rocksdb_writebatch_wi_t) -> i32 {
        batch.batch.count() as i32
    }

    fn rocksdb_writebatch_wi_put(batch: mut rocksdb_writebatch_wi_t, key: bytes, val: bytes) {
        batch.batch.put(key, val)?;
    }

    fn rocksdb_writebatch_wi_put_cf(
        batch: mut rocksdb_writebatch_wi_t, column_family: at rocksdb_column_family_handle_t, key: bytes, val: bytes
    ) {
        batch.batch.put_in(&*column_family.front()?, key, val)?;
    }

    /// Puts a key and a value that are given in parts.
    fn rocksdb_writebatch_wi_putv(batch: mut rocksdb_writebatch_wi_t, keys_list: islices, values_list: islices) {
        batch.batch.put(&keys_list.concat(), &values_list.concat())?;
    }

    fn rocksdb_writebatch_wi_putv_cf(
        batch: mut rocksdb_writebatch_wi_t, column_family: at rocksdb_column_family_handle_t, keys_list: islices,
        values_list: islices
    ) {
        batch.batch.put_in(&*column_family.front()?, &keys_list.concat(), &values_list.concat())?;
    }

    fn rocksdb_writebatch_wi_merge(batch: mut rocksdb_writebatch_wi_t, key: bytes, val: bytes) {
        batch.batch.merge(key, val)?;
    }

    fn rocksdb_writebatch_wi_merge_cf(
        batch: mut rocksdb_writebatch_wi_t, column_family: at rocksdb_column_family_handle_t, key: bytes, val: bytes
    ) {
        batch.batch.merge_in(&*column_family.front()?, key, val)?;
    }

    /// Merges a key and an operand that are given in parts.
    fn rocksdb_writebatch_wi_mergev(batch: mut rocksdb_writebatch_wi_t, keys_list: islices, values_list: islices) {
        batch.batch.merge(&keys_list.concat(), &values_list.concat())?;
    }

    fn rocksdb_writebatch_wi_mergev_cf(
        batch: mut rocksdb_writebatch_wi_t, column_family: at rocksdb_column_family_handle_t, keys_list: islices,
        values_list: islices
    ) {
        batch.batch.merge_in(&*column_family.front()?, &keys_list.concat(), &values_list.concat())?;
    }

    fn rocksdb_writebatch_wi_delete(batch: mut rocksdb_writebatch_wi_t, key: bytes) {
        batch.batch.delete(key)?;
    }

    fn rocksdb_writebatch_wi_delete_cf(
        batch: mut rocksdb_writebatch_wi_t, column_family: at rocksdb_column_family_handle_t, key: bytes
    ) {
        batch.batch.delete_in(&*column_family.front()?, key)?;
    }

    fn rocksdb_writebatch_wi_singledelete(batch: mut rocksdb_writebatch_wi_t, key: bytes) {
        batch.batch.single_delete(key)?;
    }

    fn rocksdb_writebatch_wi_singledelete_cf(
        batch: mut rocksdb_writebatch_wi_t, column_family: at rocksdb_column_family_handle_t, key: bytes
    ) {
        batch.batch.single_delete_in(&*column_family.front()?, key)?;
    }

    /// Deletes a key that is given in parts.
    fn rocksdb_writebatch_wi_deletev(batch: mut rocksdb_writebatch_wi_t, keys_list: islices) {
        batch.batch.delete(&keys_list.concat())?;
    }

    fn rocksdb_writebatch_wi_deletev_cf(
        batch: mut rocksdb_writebatch_wi_t, column_family: at rocksdb_column_family_handle_t, keys_list: islices
    ) {
        batch.batch.delete_in(&*column_family.front()?, &keys_list.concat())?;
    }

    /// Does nothing: a batch with an index has no range deletions.
    fn rocksdb_writebatch_wi_delete_range(batch: mut rocksdb_writebatch_wi_t, start_key: bytes, end_key: bytes) {
        let _ = (batch, start_key, end_key);
        no_ranges()?;
    }

    /// Does nothing: a batch with an index has no range deletions.
    fn rocksdb_writebatch_wi_delete_range_cf(
        batch: mut rocksdb_writebatch_wi_t, column_family: at rocksdb_column_family_handle_t, start_key: bytes,
        end_key: bytes
    ) {
        let _ = (batch, column_family, start_key, end_key);
        no_ranges()?;
    }

    /// Does nothing: a batch with an index has no range deletions.
    fn rocksdb_writebatch_wi_delete_rangev(batch: mut rocksdb_writebatch_wi_t, keys: ranges) {
        let _ = (batch, keys.starts);
        no_ranges()?;
    }

    /// Does nothing: a batch with an index has no range deletions.
    fn rocksdb_writebatch_wi_delete_rangev_cf(
        batch: mut rocksdb_writebatch_wi_t, column_family: at rocksdb_column_family_handle_t, keys: ranges
    ) {
        let _ = (batch, column_family, keys.starts);
        no_ranges()?;
    }

    /// Adds bytes that are written to the WAL but not to memtables.
    fn rocksdb_writebatch_wi_put_log_data(batch: mut rocksdb_writebatch_wi_t, blob: bytes) {
        // As in RocksDB, a record that exceeds the largest size of the batch is left out.
        let _ = batch.batch.put_log_data(blob);
    }

    /// Calls a function for each put and each deletion of the default column family.
    fn rocksdb_writebatch_wi_iterate(
        batch: at rocksdb_writebatch_wi_t, state: raw(*mut c_void), put: call rocksdb_batch_put_cb,
        deleted: call rocksdb_batch_delete_cb
    ) {
        let plain = rocksdb_writebatch_t::from_batch(batch.batch.to_batch());
        Calls { state, put, deleted, log_data: None }.visit(&plain);
    }

    /// Returns the bytes of the batch. The bytes are valid until the next call of this function.
    fn rocksdb_writebatch_wi_data(batch: mut rocksdb_writebatch_wi_t, size: out usize) -> Text {
        batch.data = batch.batch.to_batch().bytes().to_vec();
        size.set(batch.data.len());
        Text::bytes(&batch.data)
    }

    fn rocksdb_writebatch_wi_set_save_point(batch: mut rocksdb_writebatch_wi_t) {
        batch.batch.set_save_point();
    }

    /// Removes the records since the last save point, and the save point. NotFound without a save point.
    fn rocksdb_writebatch_wi_rollback_to_save_point(batch: mut rocksdb_writebatch_wi_t, err) {
        batch.batch.rollback_to_save_point()
    }

    /// Works like `rocksdb_writebatch_update_timestamps`. Also InvalidArgument if a record of a column family with
    /// timestamps was added without a handle of the column family.
    fn rocksdb_writebatch_wi_update_timestamps(
        wbwi: mut rocksdb_writebatch_wi_t, ts: bytes, state: raw(*mut c_void), get_ts_size: call rocksdb_ts_size_cb, err
    ) {
        let sizes = TimestampSizes::new(state, get_ts_size)?;
        wbwi.batch.update_timestamps(ts, |family| sizes.of(base::FamilyId::new(family)))
    }

    /// Returns a copy of the value of a key in the batch, or null. Does not read the database.
    fn rocksdb_writebatch_wi_get_from_batch(
        wbwi: at rocksdb_writebatch_wi_t, options: in rocksdb_options_t, key: bytes, vallen: out usize, err
    ) -> Option<Buffer> {
        vallen.set(0);
        let _ = options;
        Ok(copied(wbwi.batch.get_from_batch(key)?, &vallen))
    }

    fn rocksdb_writebatch_wi_get_from_batch_cf(
        wbwi: at rocksdb_writebatch_wi_t, options: in rocksdb_options_t,
        column_family: at rocksdb_column_family_handle_t, key: bytes, vallen: out usize, err
    ) -> Option<Buffer> {
        vallen.set(0);
        let _ = options;
        Ok(copied(wbwi.batch.get_from_batch_in(&*column_family.front()?, key)?, &vallen))
    }

    /// Returns a copy of the value of a key as if the batch were written, or null.
    fn rocksdb_writebatch_wi_get_from_batch_and_db(
        wbwi: at rocksdb_writebatch_wi_t, db: at rocksdb_t, options: in rocksdb_readoptions_t, key: bytes,
        vallen: out usize, err
    ) -> Option<Buffer> {
        vallen.set(0);
        let open = db.get()?;
        let found = open.get_under_batch(&wbwi.batch, &open.front.default_family(), key, &*options.get()?)?;
        Ok(copied(found, &vallen))
    }

    fn rocksdb_writebatch_wi_get_from_batch_and_db_cf(
        wbwi: at rocksdb_writebatch_wi_t, db: at rocksdb_t, options: in rocksdb_readoptions_t,
        column_family: at rocksdb_column_family_handle_t, key: bytes, vallen: out usize, err
    ) -> Option<Buffer> {
        vallen.set(0);
        db.family(column_family)?;
        let found = db.get()?.get_under_batch(&wbwi.batch, &*column_family.front()?, key, &*options.get()?)?;
        Ok(copied(found, &vallen))
    }

    /// Works like `rocksdb_writebatch_wi_get_from_batch_and_db`, without a copy.
    fn rocksdb_writebatch_wi_get_pinned_from_batch_and_db(
        wbwi: at rocksdb_writebatch_wi_t, db: at rocksdb_t, options: in rocksdb_readoptions_t, key: bytes, err
    ) -> Option<Owned<rocksdb_pinnableslice_t>> {
        let open = db.get()?;
        let value = open.get_under_batch(&wbwi.batch, &open.front.default_family(), key, &*options.get()?)?;
        Ok(value.map(|value| Owned(rocksdb_pinnableslice_t { value })))
    }

    fn rocksdb_writebatch_wi_get_pinned_from_batch_and_db_cf(
        wbwi: at rocksdb_writebatch_wi_t, db: at rocksdb_t, options: in rocksdb_readoptions_t,
        column_family: at rocksdb_column_family_handle_t, key: bytes, err
    ) -> Option<Owned<rocksdb_pinnableslice_t>> {
        db.family(column_family)?;
        let value = db.get()?.get_under_batch(&wbwi.batch, &*column_family.front()?, key, &*options.get()?)?;
        Ok(value.map(|value| Owned(rocksdb_pinnableslice_t { value })))
    }

    /// Writes the batch. Does not change the batch.
    fn rocksdb_write_writebatch_wi(
        db: at rocksdb_t, options: in rocksdb_writeoptions_t, wbwi: mut rocksdb_writebatch_wi_t, err
    ) {
        let options = match wbwi.protection_bytes_per_key {
            0 => *options.get()?,
            bytes @ 8 => WriteOptions { protection_bytes_per_key: bytes, ..*options.get()? },
            bytes => return Err(Error::invalid_argument(format!(
                "protection_bytes_per_key is {bytes}; 0 and 8 are supported"
            ))),
        };
        db.get()?.write_indexed(&mut wbwi.batch, &options)
    }

    /// Returns an iterator over the entries of the base iterator as if the batch were written. Takes ownership of the base
    /// iterator. At a merge of the batch, the iterator ends with InvalidArgument: for merges, state the column family.
    fn rocksdb_writebatch_wi_create_iterator_with_base(
        wbwi: at rocksdb_writebatch_wi_t, base_iterator: own rocksdb_iterator_t
    ) -> Option<Owned<rocksdb_iterator_t>> {
        base_iterator.map(|base| Owned(base.with_batch(&wbwi.batch, None, None)))
    }

    /// Works like `rocksdb_writebatch_wi_create_iterator_with_base`. The bounds of the options also limit the records
    /// of the batch.
    fn rocksdb_writebatch_wi_create_iterator_with_base_readopts(
        wbwi: at rocksdb_writebatch_wi_t, base_iterator: own rocksdb_iterator_t, options: in rocksdb_readoptions_t
    ) -> Option<Owned<rocksdb_iterator_t>> {
        let options = &*options.get()?;
        base_iterator.map(|base| Owned(base.with_batch(&wbwi.batch, None, Some(options))))
    }

    fn rocksdb_writebatch_wi_create_iterator_with_base_cf(
        wbwi: at rocksdb_writebatch_wi_t, base_iterator: own rocksdb_iterator_t,
        cf: at rocksdb_column_family_handle_t
    ) -> Option<Owned<rocksdb_iterator_t>> {
        let family = cf.front()?;
        base_iterator.map(|base| Owned(base.with_batch(&wbwi.batch, Some(&family), None)))
    }

    fn rocksdb_writebatch_wi_create_iterator_with_base_cf_readopts(
        wbwi: at rocksdb_writebatch_wi_t, base_iterator: own rocksdb_iterator_t,
        cf: at rocksdb_column_family_handle_t, options: in rocksdb_readoptions_t
    ) -> Option<Owned<rocksdb_iterator_t>> {
        let options = &*options.get()?;
        let family = cf.front()?;
        base_iterator.map(|base| Owned(base.with_batch(&wbwi.batch, Some(&family), Some(options))))
    }
}
