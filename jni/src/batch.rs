//! Write batches: `WriteBatch`.

use base::{Error, FamilyId, Result};
use engine::batch::WriteBatch;

use crate::db::FamilyObject;
use crate::fault::Outcome;
use crate::handle::{Exclusive, Handle};
use crate::java::{JBuffer, JBytes, Part};
use crate::native::{disposers, natives};

/// A write batch.
#[derive(Default)]
pub struct BatchObject {
    pub batch: WriteBatch,
    /// The maximum size of the batch in bytes. 0: no limit.
    max_bytes: usize,
}

impl BatchObject {
    /// Makes the object of a batch without a size limit.
    pub fn from_batch(batch: WriteBatch) -> Self {
        BatchObject { batch, max_bytes: 0 }
    }

    /// Applies a change to the batch. Undoes the change if the batch is then larger than its limit.
    ///
    /// # Errors
    /// Aborted with the subcode MemoryLimit, as RocksDB.
    fn change(&mut self, change: impl FnOnce(&mut WriteBatch)) -> Result<()> {
        if self.max_bytes == 0 {
            change(&mut self.batch);
            return Ok(());
        }
        self.batch.set_save_point();
        change(&mut self.batch);
        if self.batch.data_size() > self.max_bytes {
            self.batch.rollback_to_save_point()?;
            return Err(Error::aborted("").with_subcode(base::Subcode::MemoryLimit));
        }
        self.batch.pop_save_point()
    }
}

fn batch(handle: Handle) -> Outcome<Exclusive<BatchObject>> {
    Ok(handle.exclusive::<BatchObject>()?)
}

/// Returns the column family of a handle; the default column family for 0.
pub fn family_id(handle: Handle) -> Outcome<FamilyId> {
    if handle.is_null() {
        return Ok(FamilyId::DEFAULT);
    }
    Ok(handle.shared::<FamilyObject>()?.family.id())
}

disposers! {
    WriteBatch: BatchObject;
}

natives! {
    fn WriteBatch_newWriteBatch__I[_](reserved_bytes: i32) -> Handle {
        let reserved = usize::try_from(reserved_bytes).unwrap_or(0).min(1 << 20);
        Handle::new(BatchObject::from_batch(WriteBatch::with_capacity(reserved)))
    }

    fn WriteBatch_newWriteBatch___3BI[java](bytes: JBytes, len: i32) -> Handle {
        let bytes = java.copy_first(bytes, len)?;
        Handle::new(BatchObject::from_batch(WriteBatch::from_bytes(&bytes)?))
    }

    fn WriteBatch_count0 | WriteBatch_count0Jni[_](handle: Handle) -> i32 {
        handle.shared::<BatchObject>()?.batch.count() as i32
    }

    fn WriteBatch_clear0 | WriteBatch_clear0Jni[_](handle: Handle) {
        batch(handle)?.batch.clear();
    }

    fn WriteBatch_setSavePoint0 | WriteBatch_setSavePoint0Jni[_](handle: Handle) {
        batch(handle)?.batch.set_save_point();
    }

    fn WriteBatch_rollbackToSavePoint0 | WriteBatch_rollbackToSavePoint0Jni[_](handle: Handle) {
        batch(handle)?.batch.rollback_to_save_point()?;
    }

    fn WriteBatch_popSavePoint | WriteBatch_popSavePointJni[_](handle: Handle) {
        batch(handle)?.batch.pop_save_point()?;
    }

    fn WriteBatch_setMaxBytes | WriteBatch_setMaxBytesJni[_](handle: Handle, bytes: i64) {
        batch(handle)?.max_bytes = bytes as usize;
    }

    fn WriteBatch_put__J_3BI_3BI | WriteBatch_putJni__J_3BI_3BI[java](
        handle: Handle, key: JBytes, key_len: i32, value: JBytes, value_len: i32
    ) {
        let (key, value) = (java.copy_first(key, key_len)?, java.copy_first(value, value_len)?);
        batch(handle)?.change(|batch| { batch.put(&key, &value); })?;
    }

    fn WriteBatch_put__J_3BI_3BIJ | WriteBatch_putJni__J_3BI_3BIJ[java](
        handle: Handle, key: JBytes, key_len: i32, value: JBytes, value_len: i32, family: Handle
    ) {
        let (key, value) = (java.copy_first(key, key_len)?, java.copy_first(value, value_len)?);
        let id = family_id(family)?;
        batch(handle)?.change(|batch| { batch.put_in(id, &key, &value); })?;
    }

    fn WriteBatch_putDirect | WriteBatch_putDirectJni[java](
        handle: Handle, key: JBuffer, key_offset: i32, key_len: i32, value: JBuffer, value_offset: i32, value_len: i32,
        family: Handle
    ) {
        let id = family_id(family)?;
        let mut object = batch(handle)?;
        java.with_direct(key, Part { offset: key_offset, len: key_len }, |key| {
            java.with_direct_value(value, Part { offset: value_offset, len: value_len }, |value| {
                Ok(object.change(|batch| { batch.put_in(id, key, value); })?)
            })
        })?;
    }

    fn WriteBatch_merge__J_3BI_3BI | WriteBatch_mergeJni__J_3BI_3BI[java](
        handle: Handle, key: JBytes, key_len: i32, value: JBytes, value_len: i32
    ) {
        let (key, value) = (java.copy_first(key, key_len)?, java.copy_first(value, value_len)?);
        batch(handle)?.change(|batch| { batch.merge(&key, &value); })?;
    }

    fn WriteBatch_merge__J_3BI_3BIJ | WriteBatch_mergeJni__J_3BI_3BIJ[java](
        handle: Handle, key: JBytes, key_len: i32, value: JBytes, value_len: i32, family: Handle
    ) {
        let (key, value) = (java.copy_first(key, key_len)?, java.copy_first(value, value_len)?);
        let id = family_id(family)?;
        batch(handle)?.change(|batch| { batch.merge_in(id, &key, &value); })?;
    }

    fn WriteBatch_delete__J_3BI | WriteBatch_deleteJni__J_3BI[java](handle: Handle, key: JBytes, len: i32) {
        let key = java.copy_first(key, len)?;
        batch(handle)?.change(|batch| { batch.delete(&key); })?;
    }

    fn WriteBatch_delete__J_3BIJ | WriteBatch_deleteJni__J_3BIJ[java](
        handle: Handle, key: JBytes, len: i32, family: Handle
    ) {
        let key = java.copy_first(key, len)?;
        let id = family_id(family)?;
        batch(handle)?.change(|batch| { batch.delete_in(id, &key); })?;
    }

    fn WriteBatch_deleteDirect | WriteBatch_deleteDirectJni[java](
        handle: Handle, key: JBuffer, offset: i32, len: i32, family: Handle
    ) {
        let id = family_id(family)?;
        let mut object = batch(handle)?;
        java.with_direct(key, Part { offset, len }, |key| Ok(object.change(|batch| { batch.delete_in(id, key); })?))?;
    }

    fn WriteBatch_singleDelete__J_3BI | WriteBatch_singleDeleteJni__J_3BI[java](handle: Handle, key: JBytes, len: i32) {
        let key = java.copy_first(key, len)?;
        batch(handle)?.change(|batch| { batch.single_delete(&key); })?;
    }

    fn WriteBatch_singleDelete__J_3BIJ | WriteBatch_singleDeleteJni__J_3BIJ[java](
        handle: Handle, key: JBytes, len: i32, family: Handle
    ) {
        let key = java.copy_first(key, len)?;
        let id = family_id(family)?;
        batch(handle)?.change(|batch| { batch.single_delete_in(id, &key); })?;
    }

    fn WriteBatch_deleteRange__J_3BI_3BI | WriteBatch_deleteRangeJni__J_3BI_3BI[java](
        handle: Handle, begin: JBytes, begin_len: i32, end: JBytes, end_len: i32
    ) {
        let (begin, end) = (java.copy_first(begin, begin_len)?, java.copy_first(end, end_len)?);
        batch(handle)?.change(|batch| { batch.delete_range(&begin, &end); })?;
    }

    fn WriteBatch_deleteRange__J_3BI_3BIJ | WriteBatch_deleteRangeJni__J_3BI_3BIJ[java](
        handle: Handle, begin: JBytes, begin_len: i32, end: JBytes, end_len: i32, family: Handle
    ) {
        let (begin, end) = (java.copy_first(begin, begin_len)?, java.copy_first(end, end_len)?);
        let id = family_id(family)?;
        batch(handle)?.change(|batch| { batch.delete_range_in(id, &begin, &end); })?;
    }

    fn WriteBatch_putLogData | WriteBatch_putLogDataJni[java](handle: Handle, blob: JBytes, len: i32) {
        let blob = java.copy_first(blob, len)?;
        batch(handle)?.change(|batch| { batch.put_log_data(&blob); })?;
    }

    fn WriteBatch_data[java](handle: Handle) -> JBytes<'j> {
        java.new_bytes(handle.shared::<BatchObject>()?.batch.bytes())?
    }

    fn WriteBatch_getDataSize[_](handle: Handle) -> i64 {
        handle.shared::<BatchObject>()?.batch.data_size() as i64
    }
}
