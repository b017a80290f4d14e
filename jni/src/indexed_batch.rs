//! Write batches with an index: `WriteBatchWithIndex`. The iterators are in `iterator`.

use std::sync::Arc;

use base::{Error, Order, Pinned};
use engine::options::WriteOptions;
use ironstone::{WriteBatchWithIndex, WriteBatchWithIndexOptions};

use crate::batch::{BatchObject, batch_writes};
use crate::call_options::ReadHandle;
use crate::class::{Class, Method, Value};
use crate::comparator::ComparatorObject;
use crate::db::children::Children;
use crate::db::{FamilyObject, InFamily, database};
use crate::fault::Outcome;
use crate::handle::{Exclusive, Handle, Shared};
use crate::iterator::IteratorObject;
use crate::java::{JBuffer, JBytes, JObject, Java, Part};
use crate::native::{disposers, natives};
use crate::options::OptionSet;

static NEW_BATCH: Method = Class::new("org/rocksdb/WriteBatch").method("<init>", "(J)V");

/// A write batch with an index, or the batch of a transaction.
pub struct IndexedObject {
    pub batch: WriteBatchWithIndex,
    /// The children of the database. `None` if the batch does not belong to a transaction.
    owner: Option<Arc<Children>>,
    /// The handle of the batch without its index. 0 until the program calls `getWriteBatch`.
    plain: Handle,
}

impl IndexedObject {
    /// Makes the object of a batch. `owner` is set if the batch belongs to a transaction.
    pub fn new(batch: WriteBatchWithIndex, owner: Option<Arc<Children>>) -> Self {
        IndexedObject { batch, owner, plain: Handle::NULL }
    }
}

impl Drop for IndexedObject {
    fn drop(&mut self) {
        self.plain.close();
    }
}

/// Uses a batch exclusively, for a change.
fn batch(handle: Handle) -> Outcome<Exclusive<IndexedObject>> {
    Ok(handle.exclusive::<IndexedObject>()?)
}

/// Uses the column family of a handle. Returns `None` for the null handle: the default column family.
fn family(object: &IndexedObject, handle: Handle) -> Outcome<Option<Shared<FamilyObject>>> {
    if handle.is_null() {
        return Ok(None);
    }
    let family = handle.shared::<FamilyObject>()?;
    if object.owner.as_ref().is_some_and(|owner| !Arc::ptr_eq(owner, &family.owner)) {
        return Err(crate::db::foreign(&family).into());
    }
    Ok(Some(family))
}

fn create(order: Order, reserved: i32, overwrite_key: bool) -> Handle {
    let reserved_bytes = usize::try_from(reserved).unwrap_or(0).min(1 << 20);
    let options = WriteBatchWithIndexOptions { order, reserved_bytes, overwrite_key, max_bytes: 0 };
    Handle::new(IndexedObject::new(WriteBatchWithIndex::with_options(options), None))
}

fn put(handle: Handle, cf: Handle, key: &[u8], value: &[u8]) -> Outcome<()> {
    let mut object = batch(handle)?;
    match family(&object, cf)? {
        None => object.batch.put(key, value)?,
        Some(family) => object.batch.put_in(&family.front, key, value)?,
    }
    Ok(())
}

fn merge(handle: Handle, cf: Handle, key: &[u8], value: &[u8]) -> Outcome<()> {
    let mut object = batch(handle)?;
    match family(&object, cf)? {
        None => object.batch.merge(key, value)?,
        Some(family) => object.batch.merge_in(&family.front, key, value)?,
    }
    Ok(())
}

fn delete(handle: Handle, cf: Handle, key: &[u8]) -> Outcome<()> {
    let mut object = batch(handle)?;
    match family(&object, cf)? {
        None => object.batch.delete(key)?,
        Some(family) => object.batch.delete_in(&family.front, key)?,
    }
    Ok(())
}

fn single_delete(handle: Handle, cf: Handle, key: &[u8]) -> Outcome<()> {
    let mut object = batch(handle)?;
    match family(&object, cf)? {
        None => object.batch.single_delete(key)?,
        Some(family) => object.batch.single_delete_in(&family.front, key)?,
    }
    Ok(())
}

/// Rejects a range deletion, because the index cannot hold range tombstones.
fn delete_range(handle: Handle, _cf: Handle, _begin: &[u8], _end: &[u8]) -> Outcome<()> {
    drop(batch(handle)?);
    Err(Error::not_supported("DeleteRange unsupported in WriteBatchWithIndex").into())
}

fn array<'j>(java: Java<'j>, value: Option<Pinned>) -> Outcome<JBytes<'j>> {
    value.map_or(Ok(JBytes::NULL), |value| java.new_bytes(&value))
}

/// Reads a key from the batch alone. Uses the merge operator of the column family, as RocksDB does. `options` only needs to
/// be a valid handle.
fn get_alone(handle: Handle, options: Handle, cf: Handle, key: &[u8]) -> Outcome<Option<Pinned>> {
    drop(options.shared::<OptionSet>()?);
    let object = handle.shared::<IndexedObject>()?;
    Ok(match family(&object, cf)? {
        None => object.batch.get_from_batch(key)?,
        Some(family) => object.batch.get_from_batch_in(&family.front, key)?,
    })
}

/// Reads a key as if the batch were written.
fn get_with_db(
    handle: Handle,
    db: Handle,
    options: ReadHandle,
    cf: Handle,
    key: &[u8],
) -> Outcome<Option<Pinned>> {
    let (object, db) = (handle.shared::<IndexedObject>()?, database(db)?);
    let family = InFamily::new(&db, cf)?;
    let ttl = db.with_time(family.get(&db).name())?;
    options.read(|options| {
        Ok(match &ttl {
            Some(ttl) => ttl.get_from_batch(&object.batch, key, options)?,
            None => object.batch.get_from_batch_and_db(family.front(&db), key, options)?,
        })
    })
}

batch_writes! {
    pairs {
        put: WriteBatchWithIndex_put__J_3BI_3BI | WriteBatchWithIndex_putJni__J_3BI_3BI,
            WriteBatchWithIndex_put__J_3BI_3BIJ | WriteBatchWithIndex_putJni__J_3BI_3BIJ;
        merge: WriteBatchWithIndex_merge__J_3BI_3BI | WriteBatchWithIndex_mergeJni__J_3BI_3BI,
            WriteBatchWithIndex_merge__J_3BI_3BIJ | WriteBatchWithIndex_mergeJni__J_3BI_3BIJ;
        delete_range: WriteBatchWithIndex_deleteRange__J_3BI_3BI | WriteBatchWithIndex_deleteRangeJni__J_3BI_3BI,
            WriteBatchWithIndex_deleteRange__J_3BI_3BIJ | WriteBatchWithIndex_deleteRangeJni__J_3BI_3BIJ;
    }
    keys {
        delete: WriteBatchWithIndex_delete__J_3BI | WriteBatchWithIndex_deleteJni__J_3BI,
            WriteBatchWithIndex_delete__J_3BIJ | WriteBatchWithIndex_deleteJni__J_3BIJ;
        single_delete: WriteBatchWithIndex_singleDelete__J_3BI | WriteBatchWithIndex_singleDeleteJni__J_3BI,
            WriteBatchWithIndex_singleDelete__J_3BIJ | WriteBatchWithIndex_singleDeleteJni__J_3BIJ;
    }
    buffers {
        put: WriteBatchWithIndex_putDirect | WriteBatchWithIndex_putDirectJni;
        delete: WriteBatchWithIndex_deleteDirect | WriteBatchWithIndex_deleteDirectJni;
    }
}

disposers! {
    WriteBatchWithIndex: IndexedObject;
}

natives! {
    fn WriteBatchWithIndex_newWriteBatchWithIndex__[_]() -> Handle {
        create(Order::default(), 0, false)
    }

    fn WriteBatchWithIndex_newWriteBatchWithIndex__Z[_](overwrite_key: bool) -> Handle {
        create(Order::default(), 0, overwrite_key)
    }

    /// Makes a batch. The batch uses the comparator for column families whose own comparator it does not know.
    fn WriteBatchWithIndex_newWriteBatchWithIndex__JBIZ[_](
        comparator: Handle, _kind: i8, reserved: i32, overwrite_key: bool
    ) -> Handle {
        create(comparator.shared::<ComparatorObject>()?.order.clone(), reserved, overwrite_key)
    }

    fn WriteBatchWithIndex_count0 | WriteBatchWithIndex_count0Jni[_](handle: Handle) -> i32 {
        handle.shared::<IndexedObject>()?.batch.count() as i32
    }

    fn WriteBatchWithIndex_putLogData | WriteBatchWithIndex_putLogDataJni[java](handle: Handle, blob: JBytes, len: i32) {
        let blob = java.copy_first(blob, len)?;
        batch(handle)?.batch.put_log_data(&blob)?;
    }

    fn WriteBatchWithIndex_clear0 | WriteBatchWithIndex_clear0Jni[_](handle: Handle) {
        batch(handle)?.batch.clear();
    }

    fn WriteBatchWithIndex_setSavePoint0 | WriteBatchWithIndex_setSavePoint0Jni[_](handle: Handle) {
        batch(handle)?.batch.set_save_point();
    }

    fn WriteBatchWithIndex_rollbackToSavePoint0 | WriteBatchWithIndex_rollbackToSavePoint0Jni[_](handle: Handle) {
        batch(handle)?.batch.rollback_to_save_point()?;
    }

    fn WriteBatchWithIndex_popSavePoint | WriteBatchWithIndex_popSavePointJni[_](handle: Handle) {
        batch(handle)?.batch.pop_save_point()?;
    }

    fn WriteBatchWithIndex_setMaxBytes | WriteBatchWithIndex_setMaxBytesJni[_](handle: Handle, bytes: i64) {
        batch(handle)?.batch.set_max_bytes(usize::try_from(bytes).unwrap_or(0));
    }

    /// Returns a copy of the records without the index. The object is closed together with the indexed batch. A change of the
    /// copy does not change the indexed batch.
    fn WriteBatchWithIndex_getWriteBatch | WriteBatchWithIndex_getWriteBatchJni[java](handle: Handle) -> JObject<'j> {
        let mut object = batch(handle)?;
        let copy = BatchObject::from_batch(object.batch.to_batch());
        match object.plain.exclusive::<BatchObject>() {
            Ok(mut plain) => *plain = copy,
            Err(_) => object.plain = Handle::new(copy),
        }
        NEW_BATCH.construct(java, &[Value::long(object.plain.long())])?
    }

    fn WriteBatchWithIndex_getFromBatch__JJ_3BI[java](
        handle: Handle, options: Handle, key: JBytes, len: i32
    ) -> JBytes<'j> {
        array(java, get_alone(handle, options, Handle::NULL, &java.copy_first(key, len)?)?)?
    }

    fn WriteBatchWithIndex_getFromBatch__JJ_3BIJ[java](
        handle: Handle, options: Handle, key: JBytes, len: i32, cf: Handle
    ) -> JBytes<'j> {
        array(java, get_alone(handle, options, cf, &java.copy_first(key, len)?)?)?
    }

    fn WriteBatchWithIndex_getFromBatchAndDB__JJJ_3BI[java](
        handle: Handle, db: Handle, options: ReadHandle, key: JBytes, len: i32
    ) -> JBytes<'j> {
        array(java, get_with_db(handle, db, options, Handle::NULL, &java.copy_first(key, len)?)?)?
    }

    fn WriteBatchWithIndex_getFromBatchAndDB__JJJ_3BIJ[java](
        handle: Handle, db: Handle, options: ReadHandle, key: JBytes, len: i32, cf: Handle
    ) -> JBytes<'j> {
        array(java, get_with_db(handle, db, options, cf, &java.copy_first(key, len)?)?)?
    }

    fn WriteBatchWithIndex_iterator0[_](handle: Handle) -> Handle {
        Handle::new(IteratorObject::records(handle.shared::<IndexedObject>()?.batch.iter()))
    }

    fn WriteBatchWithIndex_iterator1[_](handle: Handle, cf: Handle) -> Handle {
        let object = handle.shared::<IndexedObject>()?;
        let iter = match family(&object, cf)? {
            None => object.batch.iter(),
            Some(family) => object.batch.iter_in(&family.front),
        };
        Handle::new(IteratorObject::records(iter))
    }

    /// Makes an iterator over the batch and a base iterator. Takes ownership of the base iterator and closes its handle.
    fn WriteBatchWithIndex_iteratorWithBase[_](handle: Handle, cf: Handle, base: Handle, options: ReadHandle) -> Handle {
        let (object, family) = (handle.shared::<IndexedObject>()?, cf.shared::<FamilyObject>()?);
        let options = if options.is_null() { None } else { Some(options.shared()?) };
        let options = options.as_ref().map(|object| &object.options);
        let iter = base.exclusive::<IteratorObject>()?.under_batch(
            &object.batch, &family.front, family.ttl.as_ref(), options
        );
        base.close();
        family.owner.add_late(iter)
    }

    fn RocksDB_write1[_](db: Handle, options: Handle, handle: Handle) {
        let (db, mut object) = (database(db)?, batch(handle)?);
        let options = *options.shared::<WriteOptions>()?;
        match db.kind {
            crate::db::kind::Kind::Ttl(_) => db.write(&mut object.batch.to_batch(), &options)?,
            _ => object.batch.write(&db.front, &options)?,
        }
    }
}
