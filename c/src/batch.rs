//! Write batches.

use std::ffi::{c_char, c_void};

use base::{Error, FamilyId, Result};
use engine::batch::WriteBatch;
use engine::family::Family;
use format::batch::{Batch, HEADER_LEN, Record};

use crate::abi::exception::guarded;
use crate::abi::{Owned, Text};
use crate::callbacks::{
    rocksdb_batch_delete_cb, rocksdb_batch_delete_cf_cb, rocksdb_batch_log_data_cb, rocksdb_batch_put_cb,
    rocksdb_batch_put_cf_cb, rocksdb_ts_size_cb,
};
use crate::db::rocksdb_column_family_handle_t;

/// Changes that are applied together or not at all.
#[derive(Default)]
pub struct rocksdb_writebatch_t {
    batch: WriteBatch,
    /// The maximum size of the batch in bytes. A change past this size is dropped. 0: no limit.
    max_bytes: usize,
    /// The bytes that the batch was created from and the decode error, if the bytes are not a batch.
    fault: Option<(Vec<u8>, Error)>,
    /// The expected length of the timestamps of the default column family. 0: not checked.
    default_timestamp_size: usize,
    /// If true, a write keeps checksums of the changes, even if its options do not request them.
    pub(crate) protected: bool,
}

impl rocksdb_writebatch_t {
    pub(crate) fn from_batch(batch: WriteBatch) -> Self {
        rocksdb_writebatch_t { batch, ..Default::default() }
    }

    /// Returns the batch for a write.
    ///
    /// # Errors
    /// Corruption if the batch was created from bytes that are not a batch.
    pub(crate) fn batch_to_write(&mut self) -> Result<&mut WriteBatch> {
        match &self.fault {
            Some((_, error)) => Err(error.clone()),
            None => Ok(&mut self.batch),
        }
    }

    /// Returns the batch for a write to a database with this default column family.
    ///
    /// # Errors
    /// The errors of [`Self::batch_to_write`]. InvalidArgument if the batch was created for timestamps of a different
    /// length.
    pub(crate) fn batch_for(&mut self, default: &Family) -> Result<&mut WriteBatch> {
        let (expected, found) = (self.default_timestamp_size, default.order().user.timestamp_size());
        if expected != 0 && expected != found {
            return Err(Error::invalid_argument(format!(
                "the write batch was created for timestamps of {expected} bytes; those of the default column family have {found}"
            )));
        }
        self.batch_to_write()
    }

    /// Adds a record. If `timestamp_size` is not 0, the record gets room for a timestamp, and the batch can be written after
    /// `rocksdb_writebatch_update_timestamps`.
    fn add(&mut self, family: FamilyId, timestamp_size: usize, record: Addition<'_>) {
        let room = vec![0; timestamp_size];
        self.change(|batch| {
            record.add(batch, family, &room);
            if timestamp_size > 0 {
                batch.expect_timestamp(family, timestamp_size);
            }
        });
    }

    /// Adds a record of the default column family. The record gets room for a timestamp of the length that the batch was
    /// created for.
    fn add_default(&mut self, record: Addition<'_>) {
        self.add(FamilyId::DEFAULT, self.default_timestamp_size, record);
    }

    /// Adds a record of a column family. The record gets room for a timestamp of this column family.
    fn add_in(&mut self, family: &rocksdb_column_family_handle_t, record: Addition<'_>) {
        self.add(family.id(), family.timestamp_size(), record);
    }

    /// Applies a change to the batch. Drops the change if the batch is then larger than `max_bytes`, as RocksDB does.
    fn change(&mut self, change: impl FnOnce(&mut WriteBatch)) {
        if let Some((bytes, _)) = &mut self.fault {
            // As in RocksDB, bytes that are not a batch take further records. Shorter bytes have no count.
            if bytes.len() >= HEADER_LEN {
                let mut added = WriteBatch::new();
                change(&mut added);
                bytes.extend_from_slice(added.records());
                let count = format::batch::count(bytes).wrapping_add(added.count());
                format::batch::set_count(bytes, count);
            }
            return;
        }
        if self.max_bytes == 0 {
            return change(&mut self.batch);
        }
        self.batch.set_save_point();
        change(&mut self.batch);
        // The save point was set above, so neither call can fail.
        let _ = if self.batch.data_size() > self.max_bytes {
            self.batch.rollback_to_save_point()
        } else {
            self.batch.pop_save_point()
        };
    }

    /// Returns the records before the first record that does not decode, also if the count is wrong.
    fn records(&self) -> impl Iterator<Item = Record<'_>> {
        let batch = Batch::new(self.bytes()).ok();
        batch.into_iter().flat_map(|batch| batch.records().map_while(Result::ok))
    }

    fn bytes(&self) -> &[u8] {
        self.fault.as_ref().map_or(self.batch.bytes(), |(bytes, _)| bytes)
    }

    /// Returns the number of changes. For bytes that are not a batch, the number that the bytes state.
    fn count(&self) -> u32 {
        Batch::new(self.bytes()).map_or(0, |batch| batch.count())
    }
}

/// A record that a call adds to a batch.
enum Addition<'a> {
    Put(&'a [u8], &'a [u8]),
    Merge(&'a [u8], &'a [u8]),
    Delete(&'a [u8]),
    SingleDelete(&'a [u8]),
    DeleteRange(&'a [u8], &'a [u8]),
}

impl Addition<'_> {
    /// Adds the record to a batch. An empty `timestamp` adds no timestamp.
    fn add(self, batch: &mut WriteBatch, family: FamilyId, timestamp: &[u8]) {
        match self {
            Addition::Put(key, value) if timestamp.is_empty() => batch.put_in(family, key, value),
            Addition::Put(key, value) => batch.put_at(family, key, timestamp, value),
            Addition::Merge(key, operand) if timestamp.is_empty() => batch.merge_in(family, key, operand),
            Addition::Merge(key, operand) => batch.merge_at(family, key, timestamp, operand),
            Addition::Delete(key) if timestamp.is_empty() => batch.delete_in(family, key),
            Addition::Delete(key) => batch.delete_at(family, key, timestamp),
            Addition::SingleDelete(key) if timestamp.is_empty() => batch.single_delete_in(family, key),
            Addition::SingleDelete(key) => batch.single_delete_at(family, key, timestamp),
            Addition::DeleteRange(begin, end) if timestamp.is_empty() => {
                batch.delete_range_in(family, begin, end)
            }
            Addition::DeleteRange(begin, end) => batch.delete_range_at(family, begin, end, timestamp),
        };
    }
}

/// The callback that returns the length of the timestamps of a column family.
pub(crate) struct TimestampSizes {
    state: *mut c_void,
    call: rocksdb_ts_size_cb,
}

impl TimestampSizes {
    /// # Errors
    /// InvalidArgument if the function is null.
    pub fn new(state: *mut c_void, call: Option<rocksdb_ts_size_cb>) -> Result<Self> {
        let call = call.ok_or_else(|| Error::invalid_argument("the function get_ts_size is null"))?;
        Ok(TimestampSizes { state, call })
    }

    /// Returns the length of the timestamps of a column family.
    pub fn of(&self, family: FamilyId) -> usize {
        // SAFETY: the program handed in this function for this state.
        guarded("get_ts_size", || unsafe { (self.call)(self.state, family.get()) })
    }
}

/// The callbacks of an iteration over the default column family of a batch.
pub(crate) struct Calls {
    pub state: *mut c_void,
    pub put: Option<rocksdb_batch_put_cb>,
    pub deleted: Option<rocksdb_batch_delete_cb>,
    pub log_data: Option<rocksdb_batch_log_data_cb>,
}

impl Calls {
    /// Visits the records of the default column family. A record of another column family, and a range tombstone, end the
    /// iteration, as in RocksDB.
    pub fn visit(&self, batch: &rocksdb_writebatch_t) {
        for record in batch.records() {
            match record {
                Record::Put { family: FamilyId::DEFAULT, key, value } => self.call_put(key, value),
                Record::Delete { family: FamilyId::DEFAULT, key } => self.call_deleted(key),
                Record::LogData(blob) => call_log_data(self.state, self.log_data, blob),
                Record::SingleDelete { family: FamilyId::DEFAULT, .. }
                | Record::Merge { family: FamilyId::DEFAULT, .. }
                | Record::Marker(_) => {}
                _ => return,
            }
        }
    }

    fn call_put(&self, key: &[u8], value: &[u8]) {
        if let Some(put) = self.put {
            // SAFETY: the program handed in this function for this state; both have as many bytes as their lengths say.
            guarded("put", || unsafe {
                put(self.state, key.as_ptr().cast(), key.len(), value.as_ptr().cast(), value.len());
            });
        }
    }

    fn call_deleted(&self, key: &[u8]) {
        if let Some(deleted) = self.deleted {
            // SAFETY: the program handed in this function for this state; the key has as many bytes as its length says.
            guarded("deleted", || unsafe { deleted(self.state, key.as_ptr().cast(), key.len()) });
        }
    }
}

fn call_log_data(state: *mut c_void, log_data: Option<rocksdb_batch_log_data_cb>, blob: &[u8]) {
    if let Some(log_data) = log_data {
        // SAFETY: the program handed in this function for this state; the blob has as many bytes as its length says.
        guarded("log_data", || unsafe { log_data(state, blob.as_ptr().cast(), blob.len()) });
    }
}

/// The callbacks of an iteration over all column families of a batch.
struct FamilyCalls {
    state: *mut c_void,
    put: Option<rocksdb_batch_put_cf_cb>,
    deleted: Option<rocksdb_batch_delete_cf_cb>,
    merge: Option<rocksdb_batch_put_cf_cb>,
    log_data: Option<rocksdb_batch_log_data_cb>,
}

impl FamilyCalls {
    /// Visits the records of all column families. A range tombstone ends the iteration, as in RocksDB.
    fn visit(&self, batch: &rocksdb_writebatch_t) {
        for record in batch.records() {
            match record {
                Record::Put { family, key, value } => self.call_entry(self.put, family, key, value),
                Record::Merge { family, key, operand } => self.call_entry(self.merge, family, key, operand),
                Record::Delete { family, key } => self.call_deleted(family, key),
                Record::LogData(blob) => call_log_data(self.state, self.log_data, blob),
                Record::SingleDelete { family: FamilyId::DEFAULT, .. } | Record::Marker(_) => {}
                _ => return,
            }
        }
    }

    fn call_entry(&self, call: Option<rocksdb_batch_put_cf_cb>, family: FamilyId, key: &[u8], value: &[u8]) {
        if let Some(call) = call {
            let (key_data, value_data): (*const c_char, *const c_char) =
                (key.as_ptr().cast(), value.as_ptr().cast());
            // SAFETY: the program handed in this function for this state; both have as many bytes as their lengths say.
            guarded("put_cf", || unsafe {
                call(self.state, family.get(), key_data, key.len(), value_data, value.len())
            });
        }
    }

    fn call_deleted(&self, family: FamilyId, key: &[u8]) {
        if let Some(deleted) = self.deleted {
            // SAFETY: the program handed in this function for this state; the key has as many bytes as its length says.
            guarded("deleted_cf", || unsafe {
                deleted(self.state, family.get(), key.as_ptr().cast(), key.len())
            });
        }
    }
}

lifetime!(rocksdb_writebatch_t, rocksdb_writebatch_create, rocksdb_writebatch_destroy);

c_api! {
    /// Creates a batch from the bytes of `rocksdb_writebatch_data`. If the bytes are not a batch, its write fails.
    fn rocksdb_writebatch_create_from(rep: bytes) -> Owned<rocksdb_writebatch_t> {
        let (batch, fault) = match WriteBatch::from_bytes(rep) {
            Ok(batch) => (batch, None),
            Err(error) => (WriteBatch::new(), Some((rep.to_vec(), error))),
        };
        Owned(rocksdb_writebatch_t { batch, fault, ..Default::default() })
    }

    /// Creates a batch with room for `reserved_bytes`. Changes past `max_bytes` are dropped; 0: no limit. With any
    /// `protection_bytes_per_key` above 0, a write of the batch keeps a checksum of 8 bytes for each change.
    /// `default_cf_ts_sz` is the length of the timestamps of the default column family. A write fails if the default column
    /// family has timestamps of another length; 0: not checked.
    fn rocksdb_writebatch_create_with_params(
        reserved_bytes: usize, max_bytes: usize, protection_bytes_per_key: usize, default_cf_ts_sz: usize
    ) -> Owned<rocksdb_writebatch_t> {
        let batch = WriteBatch::with_capacity(reserved_bytes.min(1 << 20));
        let protected = protection_bytes_per_key > 0;
        let default_timestamp_size = default_cf_ts_sz;
        Owned(rocksdb_writebatch_t { batch, max_bytes, default_timestamp_size, protected, ..Default::default() })
    }

    /// Removes all changes.
    fn rocksdb_writebatch_clear(batch: mut rocksdb_writebatch_t) {
        batch.batch.clear();
        batch.fault = None;
    }

    /// Returns the number of changes.
    fn rocksdb_writebatch_count(batch: at rocksdb_writebatch_t) -> i32 {
        batch.count() as i32
    }

    /// Returns the bytes of the batch. The bytes are valid until the next change of the batch.
    fn rocksdb_writebatch_data(batch: at rocksdb_writebatch_t, size: out usize) -> Text {
        let bytes = batch.bytes();
        size.set(bytes.len());
        Text::bytes(bytes)
    }

    fn rocksdb_writebatch_put(batch: mut rocksdb_writebatch_t, key: bytes, val: bytes) {
        batch.add_default(Addition::Put(key, val));
    }

    fn rocksdb_writebatch_put_cf(
        batch: mut rocksdb_writebatch_t, column_family: at rocksdb_column_family_handle_t, key: bytes, val: bytes
    ) {
        batch.add_in(column_family, Addition::Put(key, val));
    }

    fn rocksdb_writebatch_put_cf_with_ts(
        batch: mut rocksdb_writebatch_t, column_family: at rocksdb_column_family_handle_t, key: bytes, ts: bytes,
        val: bytes
    ) {
        let id = column_family.id();
        if column_family.has_timestamps_like(ts) {
            batch.change(|batch| { batch.put_at(id, key, ts, val); });
        }
    }

    /// Puts a key and a value that are given in parts.
    fn rocksdb_writebatch_putv(batch: mut rocksdb_writebatch_t, keys_list: islices, values_list: islices) {
        let (key, value) = (keys_list.concat(), values_list.concat());
        batch.add_default(Addition::Put(&key, &value));
    }

    fn rocksdb_writebatch_putv_cf(
        batch: mut rocksdb_writebatch_t, column_family: at rocksdb_column_family_handle_t, keys_list: islices,
        values_list: islices
    ) {
        let (key, value) = (keys_list.concat(), values_list.concat());
        batch.add_in(column_family, Addition::Put(&key, &value));
    }

    fn rocksdb_writebatch_merge(batch: mut rocksdb_writebatch_t, key: bytes, val: bytes) {
        batch.add_default(Addition::Merge(key, val));
    }

    fn rocksdb_writebatch_merge_cf(
        batch: mut rocksdb_writebatch_t, column_family: at rocksdb_column_family_handle_t, key: bytes, val: bytes
    ) {
        batch.add_in(column_family, Addition::Merge(key, val));
    }

    /// Merges a key and an operand that are given in parts.
    fn rocksdb_writebatch_mergev(batch: mut rocksdb_writebatch_t, keys_list: islices, values_list: islices) {
        let (key, value) = (keys_list.concat(), values_list.concat());
        batch.add_default(Addition::Merge(&key, &value));
    }

    fn rocksdb_writebatch_mergev_cf(
        batch: mut rocksdb_writebatch_t, column_family: at rocksdb_column_family_handle_t, keys_list: islices,
        values_list: islices
    ) {
        let (key, value) = (keys_list.concat(), values_list.concat());
        batch.add_in(column_family, Addition::Merge(&key, &value));
    }

    fn rocksdb_writebatch_delete(batch: mut rocksdb_writebatch_t, key: bytes) {
        batch.add_default(Addition::Delete(key));
    }

    fn rocksdb_writebatch_delete_cf(
        batch: mut rocksdb_writebatch_t, column_family: at rocksdb_column_family_handle_t, key: bytes
    ) {
        batch.add_in(column_family, Addition::Delete(key));
    }

    fn rocksdb_writebatch_delete_cf_with_ts(
        batch: mut rocksdb_writebatch_t, column_family: at rocksdb_column_family_handle_t, key: bytes, ts: bytes
    ) {
        let id = column_family.id();
        if column_family.has_timestamps_like(ts) {
            batch.change(|batch| { batch.delete_at(id, key, ts); });
        }
    }

    fn rocksdb_writebatch_singledelete(batch: mut rocksdb_writebatch_t, key: bytes) {
        batch.add_default(Addition::SingleDelete(key));
    }

    fn rocksdb_writebatch_singledelete_cf(
        batch: mut rocksdb_writebatch_t, column_family: at rocksdb_column_family_handle_t, key: bytes
    ) {
        batch.add_in(column_family, Addition::SingleDelete(key));
    }

    fn rocksdb_writebatch_singledelete_cf_with_ts(
        batch: mut rocksdb_writebatch_t, column_family: at rocksdb_column_family_handle_t, key: bytes, ts: bytes
    ) {
        let id = column_family.id();
        if column_family.has_timestamps_like(ts) {
            batch.change(|batch| { batch.single_delete_at(id, key, ts); });
        }
    }

    /// Deletes a key that is given in parts.
    fn rocksdb_writebatch_deletev(batch: mut rocksdb_writebatch_t, keys_list: islices) {
        let key = keys_list.concat();
        batch.add_default(Addition::Delete(&key));
    }

    fn rocksdb_writebatch_deletev_cf(
        batch: mut rocksdb_writebatch_t, column_family: at rocksdb_column_family_handle_t, keys_list: islices
    ) {
        let key = keys_list.concat();
        batch.add_in(column_family, Addition::Delete(&key));
    }

    /// Deletes the keys from `start_key` up to `end_key`, `end_key` not included.
    fn rocksdb_writebatch_delete_range(batch: mut rocksdb_writebatch_t, start_key: bytes, end_key: bytes) {
        batch.add_default(Addition::DeleteRange(start_key, end_key));
    }

    fn rocksdb_writebatch_delete_range_cf(
        batch: mut rocksdb_writebatch_t, column_family: at rocksdb_column_family_handle_t, start_key: bytes,
        end_key: bytes
    ) {
        batch.add_in(column_family, Addition::DeleteRange(start_key, end_key));
    }

    /// Deletes a range whose keys are given in parts.
    fn rocksdb_writebatch_delete_rangev(batch: mut rocksdb_writebatch_t, keys: ranges) {
        let (start, end) = (keys.starts.concat(), keys.limits.concat());
        batch.add_default(Addition::DeleteRange(&start, &end));
    }

    fn rocksdb_writebatch_delete_rangev_cf(
        batch: mut rocksdb_writebatch_t, column_family: at rocksdb_column_family_handle_t, keys: ranges
    ) {
        let (start, end) = (keys.starts.concat(), keys.limits.concat());
        batch.add_in(column_family, Addition::DeleteRange(&start, &end));
    }

    /// Adds bytes that are written to the WAL but not to memtables.
    fn rocksdb_writebatch_put_log_data(batch: mut rocksdb_writebatch_t, blob: bytes) {
        batch.change(|batch| { batch.put_log_data(blob); });
    }

    fn rocksdb_writebatch_set_save_point(batch: mut rocksdb_writebatch_t) {
        batch.batch.set_save_point();
    }

    /// Removes the changes since the last save point, and the save point. NotFound without a save point.
    fn rocksdb_writebatch_rollback_to_save_point(batch: mut rocksdb_writebatch_t, err) {
        batch.batch.rollback_to_save_point()
    }

    /// Removes the last save point. NotFound without a save point.
    fn rocksdb_writebatch_pop_save_point(batch: mut rocksdb_writebatch_t, err) {
        batch.batch.pop_save_point()
    }

    /// Sets the timestamp of each key to `ts`, in column families with timestamps. `get_ts_size` returns the length of the
    /// timestamps of a column family by its id; 0: the column family has no timestamps. Removes all save points. Reports
    /// InvalidArgument if a column family has timestamps of another length than `ts`.
    fn rocksdb_writebatch_update_timestamps(
        wb: mut rocksdb_writebatch_t, ts: bytes, state: raw(*mut c_void), get_ts_size: call rocksdb_ts_size_cb, err
    ) {
        let sizes = TimestampSizes::new(state, get_ts_size)?;
        wb.batch_to_write()?.update_timestamps(ts, |family| sizes.of(family))
    }

    /// Checks the records and the count of the batch. Reports Corruption if they are invalid.
    fn rocksdb_writebatch_verify_checksum(batch: mut rocksdb_writebatch_t, err) {
        WriteBatch::from_bytes(batch.batch_to_write()?.bytes()).map(|_| ())
    }

    /// Calls a function for each put and each deletion of the default column family.
    fn rocksdb_writebatch_iterate(
        batch: at rocksdb_writebatch_t, state: raw(*mut c_void), put: call rocksdb_batch_put_cb,
        deleted: call rocksdb_batch_delete_cb
    ) {
        Calls { state, put, deleted, log_data: None }.visit(batch);
    }

    /// Works like `rocksdb_writebatch_iterate`, with log data.
    fn rocksdb_writebatch_iterate_ld(
        batch: at rocksdb_writebatch_t, state: raw(*mut c_void), put: call rocksdb_batch_put_cb,
        deleted: call rocksdb_batch_delete_cb, log_data: call rocksdb_batch_log_data_cb
    ) {
        Calls { state, put, deleted, log_data }.visit(batch);
    }

    /// Calls a function for each put, deletion and merge.
    fn rocksdb_writebatch_iterate_cf(
        batch: at rocksdb_writebatch_t, state: raw(*mut c_void), put_cf: call rocksdb_batch_put_cf_cb,
        deleted_cf: call rocksdb_batch_delete_cf_cb, merge_cf: call rocksdb_batch_put_cf_cb
    ) {
        let calls = FamilyCalls { state, put: put_cf, deleted: deleted_cf, merge: merge_cf, log_data: None };
        calls.visit(batch);
    }

    /// Works like `rocksdb_writebatch_iterate_cf`, with log data.
    fn rocksdb_writebatch_iterate_cf_ld(
        batch: at rocksdb_writebatch_t, state: raw(*mut c_void), put_cf: call rocksdb_batch_put_cf_cb,
        deleted_cf: call rocksdb_batch_delete_cf_cb, merge_cf: call rocksdb_batch_put_cf_cb,
        log_data: call rocksdb_batch_log_data_cb
    ) {
        FamilyCalls { state, put: put_cf, deleted: deleted_cf, merge: merge_cf, log_data }.visit(batch);
    }
}
