//! Writes of a transaction.

use ironstone::TrackedWrite;

use super::{In, transaction};
use crate::fault::Outcome;
use crate::handle::Handle;
use crate::java::{JBuffer, JBytes, JObjects, Java, Part};
use crate::native::natives;

/// The operation of a write.
#[derive(Clone, Copy)]
enum Write<'a> {
    Put(&'a [u8]),
    Merge(&'a [u8]),
    Delete,
    SingleDelete,
}

/// How a write locks its key.
#[derive(Clone, Copy, PartialEq, Eq)]
enum Lock {
    Taken,
    /// The program promises that the transaction already holds the lock.
    Assumed,
    /// The write does not check for conflicts.
    Untracked,
}

impl Lock {
    fn new(assume_tracked: bool) -> Lock {
        if assume_tracked { Lock::Assumed } else { Lock::Taken }
    }
}

/// Writes to the column family of a handle; 0 is the default column family.
fn change(txn: Handle, family: Handle, key: &[u8], write: Write<'_>, lock: Lock) -> Outcome<()> {
    let object = transaction(txn)?;
    let family = In::new(&object, family)?;
    let (family, txn) = (family.get(&object), &object.txn);
    let assumed = |write| txn.write_assuming_tracked_in(family, key, write);
    Ok(match (write, lock) {
        (Write::Put(value), Lock::Taken) => txn.put_in(family, key, value),
        (Write::Put(value), Lock::Assumed) => assumed(TrackedWrite::Put(value)),
        (Write::Put(value), Lock::Untracked) => txn.put_untracked_in(family, key, value),
        (Write::Merge(value), Lock::Taken) => txn.merge_in(family, key, value),
        (Write::Merge(value), Lock::Assumed) => assumed(TrackedWrite::Merge(value)),
        (Write::Merge(value), Lock::Untracked) => txn.merge_untracked_in(family, key, value),
        (Write::Delete, Lock::Taken) => txn.delete_in(family, key),
        (Write::Delete, Lock::Assumed) => assumed(TrackedWrite::Delete),
        (Write::Delete, Lock::Untracked) => txn.delete_untracked_in(family, key),
        (Write::SingleDelete, Lock::Taken) => txn.single_delete_in(family, key),
        (Write::SingleDelete, Lock::Assumed) => assumed(TrackedWrite::SingleDelete),
        (Write::SingleDelete, Lock::Untracked) => txn.single_delete_untracked_in(family, key),
    }?)
}

/// Joins the first `count` parts of a key or value.
fn joined(java: Java<'_>, parts: JObjects<'_>, count: i32) -> Outcome<Vec<u8>> {
    let mut parts = java.byte_arrays(parts)?;
    parts.truncate(usize::try_from(count).unwrap_or(0));
    Ok(parts.concat())
}

/// Declares writes of a key and a value: arrays and buffers, with and without a column family.
macro_rules! pairs {
    ($($write:ident: $array:ident, $array_in:ident, $buffer:ident, $buffer_in:ident;)*) => {$(
        natives! {
            fn $array[java](
                txn: Handle, key: JBytes, offset: i32, len: i32, value: JBytes, value_offset: i32, value_len: i32
            ) {
                let key = java.copy(key, Part { offset, len })?;
                let value = java.copy(value, Part { offset: value_offset, len: value_len })?;
                change(txn, Handle::NULL, &key, Write::$write(&value), Lock::Taken)?;
            }

            fn $array_in[java](
                txn: Handle, key: JBytes, offset: i32, len: i32, value: JBytes, value_offset: i32, value_len: i32,
                family: Handle, assume_tracked: bool
            ) {
                let key = java.copy(key, Part { offset, len })?;
                let value = java.copy(value, Part { offset: value_offset, len: value_len })?;
                change(txn, family, &key, Write::$write(&value), Lock::new(assume_tracked))?;
            }

            fn $buffer[java](
                txn: Handle, key: JBuffer, offset: i32, len: i32, value: JBuffer, value_offset: i32, value_len: i32
            ) {
                java.with_direct(key, Part { offset, len }, |key| {
                    java.with_direct_value(value, Part { offset: value_offset, len: value_len }, |value| {
                        change(txn, Handle::NULL, key, Write::$write(value), Lock::Taken)
                    })
                })?;
            }

            fn $buffer_in[java](
                txn: Handle, key: JBuffer, offset: i32, len: i32, value: JBuffer, value_offset: i32, value_len: i32,
                family: Handle, assume_tracked: bool
            ) {
                java.with_direct(key, Part { offset, len }, |key| {
                    java.with_direct_value(value, Part { offset: value_offset, len: value_len }, |value| {
                        change(txn, family, key, Write::$write(value), Lock::new(assume_tracked))
                    })
                })?;
            }
        }
    )*};
}

pairs! {
    Put: Transaction_put__J_3BII_3BII, Transaction_put__J_3BII_3BIIJZ,
        Transaction_putDirect__JLjava_nio_ByteBuffer_2IILjava_nio_ByteBuffer_2II,
        Transaction_putDirect__JLjava_nio_ByteBuffer_2IILjava_nio_ByteBuffer_2IIJZ;
    Merge: Transaction_merge__J_3BII_3BII, Transaction_merge__J_3BII_3BIIJZ,
        Transaction_mergeDirect__JLjava_nio_ByteBuffer_2IILjava_nio_ByteBuffer_2II,
        Transaction_mergeDirect__JLjava_nio_ByteBuffer_2IILjava_nio_ByteBuffer_2IIJZ;
}

/// Declares deletions: of a key and of a key in parts, with and without a column family.
macro_rules! deletions {
    ($($write:ident: $array:ident, $array_in:ident, $parts:ident, $parts_in:ident;)*) => {$(
        natives! {
            fn $array[java](txn: Handle, key: JBytes, len: i32) {
                change(txn, Handle::NULL, &java.copy_first(key, len)?, Write::$write, Lock::Taken)?;
            }

            fn $array_in[java](txn: Handle, key: JBytes, len: i32, family: Handle, assume_tracked: bool) {
                let key = java.copy_first(key, len)?;
                change(txn, family, &key, Write::$write, Lock::new(assume_tracked))?;
            }

            fn $parts[java](txn: Handle, key: JObjects, count: i32) {
                change(txn, Handle::NULL, &joined(java, key, count)?, Write::$write, Lock::Taken)?;
            }

            fn $parts_in[java](txn: Handle, key: JObjects, count: i32, family: Handle, assume_tracked: bool) {
                let key = joined(java, key, count)?;
                change(txn, family, &key, Write::$write, Lock::new(assume_tracked))?;
            }
        }
    )*};
}

deletions! {
    Delete: Transaction_delete__J_3BI, Transaction_delete__J_3BIJZ, Transaction_delete__J_3_3BI,
        Transaction_delete__J_3_3BIJZ;
    SingleDelete: Transaction_singleDelete__J_3BI, Transaction_singleDelete__J_3BIJZ,
        Transaction_singleDelete__J_3_3BI, Transaction_singleDelete__J_3_3BIJZ;
}

natives! {
    fn Transaction_put__J_3_3BI_3_3BI[java](
        txn: Handle, key: JObjects, key_count: i32, value: JObjects, value_count: i32
    ) {
        let (key, value) = (joined(java, key, key_count)?, joined(java, value, value_count)?);
        change(txn, Handle::NULL, &key, Write::Put(&value), Lock::Taken)?;
    }

    fn Transaction_put__J_3_3BI_3_3BIJZ[java](
        txn: Handle, key: JObjects, key_count: i32, value: JObjects, value_count: i32, family: Handle,
        assume_tracked: bool
    ) {
        let (key, value) = (joined(java, key, key_count)?, joined(java, value, value_count)?);
        change(txn, family, &key, Write::Put(&value), Lock::new(assume_tracked))?;
    }

    fn Transaction_putUntracked__J_3BI_3BI[java](
        txn: Handle, key: JBytes, len: i32, value: JBytes, value_len: i32
    ) {
        let (key, value) = (java.copy_first(key, len)?, java.copy_first(value, value_len)?);
        change(txn, Handle::NULL, &key, Write::Put(&value), Lock::Untracked)?;
    }

    fn Transaction_putUntracked__J_3BI_3BIJ[java](
        txn: Handle, key: JBytes, len: i32, value: JBytes, value_len: i32, family: Handle
    ) {
        let (key, value) = (java.copy_first(key, len)?, java.copy_first(value, value_len)?);
        change(txn, family, &key, Write::Put(&value), Lock::Untracked)?;
    }

    fn Transaction_putUntracked__J_3_3BI_3_3BI[java](
        txn: Handle, key: JObjects, key_count: i32, value: JObjects, value_count: i32
    ) {
        let (key, value) = (joined(java, key, key_count)?, joined(java, value, value_count)?);
        change(txn, Handle::NULL, &key, Write::Put(&value), Lock::Untracked)?;
    }

    fn Transaction_putUntracked__J_3_3BI_3_3BIJ[java](
        txn: Handle, key: JObjects, key_count: i32, value: JObjects, value_count: i32, family: Handle
    ) {
        let (key, value) = (joined(java, key, key_count)?, joined(java, value, value_count)?);
        change(txn, family, &key, Write::Put(&value), Lock::Untracked)?;
    }

    fn Transaction_mergeUntracked[java](
        txn: Handle, key: JBytes, offset: i32, len: i32, value: JBytes, value_offset: i32, value_len: i32,
        family: Handle
    ) {
        let key = java.copy(key, Part { offset, len })?;
        let value = java.copy(value, Part { offset: value_offset, len: value_len })?;
        change(txn, family, &key, Write::Merge(&value), Lock::Untracked)?;
    }

    fn Transaction_mergeUntrackedDirect[java](
        txn: Handle, key: JBuffer, offset: i32, len: i32, value: JBuffer, value_offset: i32, value_len: i32,
        family: Handle
    ) {
        java.with_direct(key, Part { offset, len }, |key| {
            java.with_direct_value(value, Part { offset: value_offset, len: value_len }, |value| {
                change(txn, family, key, Write::Merge(value), Lock::Untracked)
            })
        })?;
    }

    fn Transaction_deleteUntracked__J_3BI[java](txn: Handle, key: JBytes, len: i32) {
        change(txn, Handle::NULL, &java.copy_first(key, len)?, Write::Delete, Lock::Untracked)?;
    }

    fn Transaction_deleteUntracked__J_3BIJ[java](txn: Handle, key: JBytes, len: i32, family: Handle) {
        change(txn, family, &java.copy_first(key, len)?, Write::Delete, Lock::Untracked)?;
    }

    fn Transaction_deleteUntracked__J_3_3BI[java](txn: Handle, key: JObjects, count: i32) {
        change(txn, Handle::NULL, &joined(java, key, count)?, Write::Delete, Lock::Untracked)?;
    }

    fn Transaction_deleteUntracked__J_3_3BIJ[java](txn: Handle, key: JObjects, count: i32, family: Handle) {
        change(txn, family, &joined(java, key, count)?, Write::Delete, Lock::Untracked)?;
    }

    fn Transaction_putLogData[java](txn: Handle, blob: JBytes, len: i32) {
        // As in RocksDB, a record that exceeds `max_write_batch_size` is left out.
        let _ = transaction(txn)?.txn.put_log_data(&java.copy_first(blob, len)?);
    }
}
