//! Write batches: `WriteBatch`.

use base::{Error, FamilyId, Result};
use engine::batch::WriteBatch;
use format::batch::Batch;

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
    /// The bytes that the batch was created from and the decode error, if the bytes are not a batch. As in RocksDB, only the use
    /// of the batch fails.
    fault: Option<(Vec<u8>, Error)>,
}

impl BatchObject {
    /// Makes the object of a batch without a size limit.
    pub fn from_batch(batch: WriteBatch) -> Self {
        BatchObject { batch, ..BatchObject::default() }
    }

    /// Makes the object of a batch from the bytes of a batch.
    fn from_bytes(bytes: Vec<u8>) -> Self {
        match WriteBatch::from_bytes(&bytes) {
            Ok(batch) => BatchObject::from_batch(batch),
            Err(error) => BatchObject { fault: Some((bytes, error)), ..BatchObject::default() },
        }
    }

    /// Returns the batch for a write.
    ///
    /// # Errors
    /// Corruption if the batch was created from bytes that are not a batch.
    pub fn batch_to_write(&mut self) -> Result<&mut WriteBatch> {
        match &self.fault {
            Some((_, error)) => Err(error.clone()),
            None => Ok(&mut self.batch),
        }
    }

    /// Returns the bytes of the batch, also if they do not decode.
    pub fn bytes(&self) -> &[u8] {
        self.fault.as_ref().map_or(self.batch.bytes(), |(bytes, _)| bytes)
    }

    /// Returns the error of the bytes that the batch was created from. `None`: they are a batch.
    pub fn error(&self) -> Option<&Error> {
        self.fault.as_ref().map(|(_, error)| error)
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

/// Declares the natives that write to a batch. A row is the function that writes, and the names of its natives: for the default
/// column family and for a column family. The natives for direct buffers have the form with a column family only.
macro_rules! batch_writes {
    (
        pairs { $($pair:ident: $pair_plain:ident | $pair_plain2:ident, $pair_family:ident | $pair_family2:ident;)* }
        keys { $($key_write:ident: $key_plain:ident | $key_plain2:ident, $key_family:ident | $key_family2:ident;)* }
        buffers { $put:ident: $put_direct:ident | $put_direct2:ident; $delete:ident: $delete_direct:ident | $delete_direct2:ident; }
    ) => {
        $crate::native::natives! {
            $(fn $pair_plain | $pair_plain2[java](
                handle: Handle, key: JBytes, key_len: i32, value: JBytes, value_len: i32
            ) {
                $pair(handle, Handle::NULL, &java.copy_first(key, key_len)?, &java.copy_first(value, value_len)?)?;
            }

            fn $pair_family | $pair_family2[java](
                handle: Handle, key: JBytes, key_len: i32, value: JBytes, value_len: i32, cf: Handle
            ) {
                $pair(handle, cf, &java.copy_first(key, key_len)?, &java.copy_first(value, value_len)?)?;
            })*

            $(fn $key_plain | $key_plain2[java](handle: Handle, key: JBytes, len: i32) {
                $key_write(handle, Handle::NULL, &java.copy_first(key, len)?)?;
            }

            fn $key_family | $key_family2[java](handle: Handle, key: JBytes, len: i32, cf: Handle) {
                $key_write(handle, cf, &java.copy_first(key, len)?)?;
            })*

            fn $put_direct | $put_direct2[java](
                handle: Handle, key: JBuffer, key_offset: i32, key_len: i32, value: JBuffer, value_offset: i32,
                value_len: i32, cf: Handle
            ) {
                java.with_direct(key, Part { offset: key_offset, len: key_len }, |key| {
                    java.with_direct_value(value, Part { offset: value_offset, len: value_len }, |value| {
                        $put(handle, cf, key, value)
                    })
                })?;
            }

            fn $delete_direct | $delete_direct2[java](handle: Handle, key: JBuffer, offset: i32, len: i32, cf: Handle) {
                java.with_direct(key, Part { offset, len }, |key| $delete(handle, cf, key))?;
            }
        }
    };
}
pub(crate) use batch_writes;

/// Declares the writes to a batch as functions of handles, a key and a value.
macro_rules! writes {
    ($($write:ident($($bytes:ident),*) = $method:ident;)*) => {$(
        fn $write(handle: Handle, cf: Handle, $($bytes: &[u8]),*) -> Outcome<()> {
            let id = family_id(cf)?;
            Ok(batch(handle)?.change(|batch| {
                batch.$method(id, $($bytes),*);
            })?)
        }
    )*};
}
writes! {
    put(key, value) = put_in;
    merge(key, operand) = merge_in;
    delete_range(begin, end) = delete_range_in;
    delete(key) = delete_in;
    single_delete(key) = single_delete_in;
}

batch_writes! {
    pairs {
        put: WriteBatch_put__J_3BI_3BI | WriteBatch_putJni__J_3BI_3BI,
            WriteBatch_put__J_3BI_3BIJ | WriteBatch_putJni__J_3BI_3BIJ;
        merge: WriteBatch_merge__J_3BI_3BI | WriteBatch_mergeJni__J_3BI_3BI,
            WriteBatch_merge__J_3BI_3BIJ | WriteBatch_mergeJni__J_3BI_3BIJ;
        delete_range: WriteBatch_deleteRange__J_3BI_3BI | WriteBatch_deleteRangeJni__J_3BI_3BI,
            WriteBatch_deleteRange__J_3BI_3BIJ | WriteBatch_deleteRangeJni__J_3BI_3BIJ;
    }
    keys {
        delete: WriteBatch_delete__J_3BI | WriteBatch_deleteJni__J_3BI,
            WriteBatch_delete__J_3BIJ | WriteBatch_deleteJni__J_3BIJ;
        single_delete: WriteBatch_singleDelete__J_3BI | WriteBatch_singleDeleteJni__J_3BI,
            WriteBatch_singleDelete__J_3BIJ | WriteBatch_singleDeleteJni__J_3BIJ;
    }
    buffers {
        put: WriteBatch_putDirect | WriteBatch_putDirectJni;
        delete: WriteBatch_deleteDirect | WriteBatch_deleteDirectJni;
    }
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
        Handle::new(BatchObject::from_bytes(bytes.to_vec()))
    }

    fn WriteBatch_count0 | WriteBatch_count0Jni[_](handle: Handle) -> i32 {
        // For bytes that are not a batch, the number that the bytes state.
        Batch::new(handle.shared::<BatchObject>()?.bytes()).map_or(0, |batch| batch.count()) as i32
    }

    fn WriteBatch_clear0 | WriteBatch_clear0Jni[_](handle: Handle) {
        let mut object = batch(handle)?;
        object.fault = None;
        object.batch.clear();
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

    fn WriteBatch_putLogData | WriteBatch_putLogDataJni[java](handle: Handle, blob: JBytes, len: i32) {
        let blob = java.copy_first(blob, len)?;
        batch(handle)?.change(|batch| { batch.put_log_data(&blob); })?;
    }

    fn WriteBatch_data[java](handle: Handle) -> JBytes<'j> {
        java.new_bytes(handle.shared::<BatchObject>()?.bytes())?
    }

    fn WriteBatch_getDataSize[_](handle: Handle) -> i64 {
        handle.shared::<BatchObject>()?.bytes().len() as i64
    }
}
