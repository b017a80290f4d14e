//! Writes: `put`, `merge`, `delete`, `deleteRange`, batches.

use engine::family::Family;
use engine::options::WriteOptions;

use super::{DatabaseObject, InFamily, database};
use crate::batch::BatchObject;
use crate::fault::Outcome;
use crate::handle::Handle;
use crate::java::{Copied, JBuffer, JBytes, Java, Part};
use crate::native::natives;

/// Calls a function with a database, a column family and write options. The handle 0 is the default family, or the
/// default options.
#[inline]
fn writing(
    db: Handle,
    family: Handle,
    options: Handle,
    call: impl FnOnce(&DatabaseObject, &Family, &WriteOptions) -> base::Result<()>,
) -> Outcome<()> {
    let db = database(db)?;
    let family = InFamily::new(&db, family)?;
    if options.is_null() {
        return Ok(call(&db, family.get(&db), &WriteOptions::default())?);
    }
    let options = *options.shared::<WriteOptions>()?;
    Ok(call(&db, family.get(&db), &options)?)
}

#[inline]
fn part(java: Java<'_>, bytes: JBytes<'_>, offset: i32, len: i32) -> Outcome<Copied> {
    java.copy(bytes, Part { offset, len })
}

/// Declares the four overloads of a write of a key and a value: with and without options, with and without a family.
macro_rules! pairs {
    ($($call:ident: $plain:ident, $family:ident, $options:ident, $both:ident;)*) => {$(
        natives! {
            fn $plain[java](
                db: Handle, key: JBytes, offset: i32, len: i32, value: JBytes, value_offset: i32, value_len: i32
            ) {
                let (key, value) = (part(java, key, offset, len)?, part(java, value, value_offset, value_len)?);
                writing(db, Handle::NULL, Handle::NULL, |db, family, options| {
                    db.$call(family, &key, &value, options)
                })?;
            }

            fn $family[java](
                db: Handle, key: JBytes, offset: i32, len: i32, value: JBytes, value_offset: i32, value_len: i32,
                family: Handle
            ) {
                let (key, value) = (part(java, key, offset, len)?, part(java, value, value_offset, value_len)?);
                writing(db, family, Handle::NULL, |db, family, options| {
                    db.$call(family, &key, &value, options)
                })?;
            }

            fn $options[java](
                db: Handle, options: Handle, key: JBytes, offset: i32, len: i32, value: JBytes, value_offset: i32,
                value_len: i32
            ) {
                let (key, value) = (part(java, key, offset, len)?, part(java, value, value_offset, value_len)?);
                writing(db, Handle::NULL, options, |db, family, options| {
                    db.$call(family, &key, &value, options)
                })?;
            }

            fn $both[java](
                db: Handle, options: Handle, key: JBytes, offset: i32, len: i32, value: JBytes, value_offset: i32,
                value_len: i32, family: Handle
            ) {
                let (key, value) = (part(java, key, offset, len)?, part(java, value, value_offset, value_len)?);
                writing(db, family, options, |db, family, options| db.$call(family, &key, &value, options))?;
            }
        }
    )*};
}
pairs! {
    put: RocksDB_put__J_3BII_3BII, RocksDB_put__J_3BII_3BIIJ, RocksDB_put__JJ_3BII_3BII, RocksDB_put__JJ_3BII_3BIIJ;
    merge: RocksDB_merge__J_3BII_3BII, RocksDB_merge__J_3BII_3BIIJ, RocksDB_merge__JJ_3BII_3BII,
        RocksDB_merge__JJ_3BII_3BIIJ;
    delete_range: RocksDB_deleteRange__J_3BII_3BII, RocksDB_deleteRange__J_3BII_3BIIJ,
        RocksDB_deleteRange__JJ_3BII_3BII, RocksDB_deleteRange__JJ_3BII_3BIIJ;
}

natives! {
    fn RocksDB_delete__J_3BII[java](db: Handle, key: JBytes, offset: i32, len: i32) {
        let key = part(java, key, offset, len)?;
        writing(db, Handle::NULL, Handle::NULL, |db, family, options| db.delete(family, &key, options))?;
    }

    fn RocksDB_delete__J_3BIIJ[java](db: Handle, key: JBytes, offset: i32, len: i32, family: Handle) {
        let key = part(java, key, offset, len)?;
        writing(db, family, Handle::NULL, |db, family, options| db.delete(family, &key, options))?;
    }

    fn RocksDB_delete__JJ_3BII[java](db: Handle, options: Handle, key: JBytes, offset: i32, len: i32) {
        let key = part(java, key, offset, len)?;
        writing(db, Handle::NULL, options, |db, family, options| db.delete(family, &key, options))?;
    }

    fn RocksDB_delete__JJ_3BIIJ[java](
        db: Handle, options: Handle, key: JBytes, offset: i32, len: i32, family: Handle
    ) {
        let key = part(java, key, offset, len)?;
        writing(db, family, options, |db, family, options| db.delete(family, &key, options))?;
    }

    fn RocksDB_singleDelete__J_3BI[java](db: Handle, key: JBytes, len: i32) {
        let key = part(java, key, 0, len)?;
        writing(db, Handle::NULL, Handle::NULL, |db, family, options| db.single_delete(family, &key, options))?;
    }

    fn RocksDB_singleDelete__J_3BIJ[java](db: Handle, key: JBytes, len: i32, family: Handle) {
        let key = part(java, key, 0, len)?;
        writing(db, family, Handle::NULL, |db, family, options| db.single_delete(family, &key, options))?;
    }

    fn RocksDB_singleDelete__JJ_3BI[java](db: Handle, options: Handle, key: JBytes, len: i32) {
        let key = part(java, key, 0, len)?;
        writing(db, Handle::NULL, options, |db, family, options| db.single_delete(family, &key, options))?;
    }

    fn RocksDB_singleDelete__JJ_3BIJ[java](db: Handle, options: Handle, key: JBytes, len: i32, family: Handle) {
        let key = part(java, key, 0, len)?;
        writing(db, family, options, |db, family, options| db.single_delete(family, &key, options))?;
    }

    fn RocksDB_putDirect[java](
        db: Handle, options: Handle, key: JBuffer, offset: i32, len: i32, value: JBuffer, value_offset: i32,
        value_len: i32, family: Handle
    ) {
        java.with_direct(key, Part { offset, len }, |key| {
            java.with_direct_value(value, Part { offset: value_offset, len: value_len }, |value| {
                writing(db, family, options, |db, family, options| db.put(family, key, value, options))
            })
        })?;
    }

    fn RocksDB_mergeDirect[java](
        db: Handle, options: Handle, key: JBuffer, offset: i32, len: i32, value: JBuffer, value_offset: i32,
        value_len: i32, family: Handle
    ) {
        java.with_direct(key, Part { offset, len }, |key| {
            java.with_direct_value(value, Part { offset: value_offset, len: value_len }, |value| {
                writing(db, family, options, |db, family, options| db.merge(family, key, value, options))
            })
        })?;
    }

    fn RocksDB_deleteDirect[java](db: Handle, options: Handle, key: JBuffer, offset: i32, len: i32, family: Handle) {
        java.with_direct(key, Part { offset, len }, |key| {
            writing(db, family, options, |db, family, options| db.delete(family, key, options))
        })?;
    }

    fn RocksDB_write0[_](db: Handle, options: Handle, batch: Handle) {
        let mut batch = batch.exclusive::<BatchObject>()?;
        writing(db, Handle::NULL, options, |db, _, options| db.write(batch.batch_to_write()?, options))?;
    }
}
