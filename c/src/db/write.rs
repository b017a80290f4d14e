//! Writes: put, delete, merge, batches.

use base::Result;
use engine::batch::WriteBatch;
use engine::family::Family;
use engine::options::WriteOptions;

use super::{rocksdb_column_family_handle_t, rocksdb_t};
use crate::batch::rocksdb_writebatch_t;
use crate::write_options::rocksdb_writeoptions_t;

/// Writes one entry whose key has a timestamp, as a batch.
fn write_one(
    db: &rocksdb_t,
    options: &WriteOptions,
    family: &Family,
    fill: impl FnOnce(&mut WriteBatch, base::FamilyId),
) -> Result<()> {
    let mut batch = WriteBatch::new();
    fill(&mut batch, family.id());
    db.get()?.write(&mut batch, options)
}

c_api! {
    /// Sets the value of a key.
    fn rocksdb_put(db: at rocksdb_t, options: in rocksdb_writeoptions_t, key: bytes, val: bytes, err) {
        let open = db.get()?;
        open.put(&open.default, key, val, options.get()?)
    }

    fn rocksdb_put_cf(
        db: at rocksdb_t, options: in rocksdb_writeoptions_t, column_family: at rocksdb_column_family_handle_t,
        key: bytes, val: bytes, err
    ) {
        db.get()?.put(&*db.family(column_family)?, key, val, options.get()?)
    }

    /// Sets the value of a key at a timestamp.
    fn rocksdb_put_with_ts(
        db: at rocksdb_t, options: in rocksdb_writeoptions_t, key: bytes, ts: bytes, val: bytes, err
    ) {
        let family = &db.default_family()?;
        write_one(db, options.get()?, family, |batch, id| { batch.put_at(id, key, ts, val); })
    }

    fn rocksdb_put_cf_with_ts(
        db: at rocksdb_t, options: in rocksdb_writeoptions_t, column_family: at rocksdb_column_family_handle_t,
        key: bytes, ts: bytes, val: bytes, err
    ) {
        let family = &db.family(column_family)?;
        write_one(db, options.get()?, family, |batch, id| { batch.put_at(id, key, ts, val); })
    }

    /// Deletes a key. It is not an error if the key does not exist.
    fn rocksdb_delete(db: at rocksdb_t, options: in rocksdb_writeoptions_t, key: bytes, err) {
        let open = db.get()?;
        open.db.delete(&open.default, key, options.get()?)
    }

    fn rocksdb_delete_cf(
        db: at rocksdb_t, options: in rocksdb_writeoptions_t, column_family: at rocksdb_column_family_handle_t,
        key: bytes, err
    ) {
        db.db()?.delete(&*db.family(column_family)?, key, options.get()?)
    }

    /// Deletes a key at a timestamp.
    fn rocksdb_delete_with_ts(db: at rocksdb_t, options: in rocksdb_writeoptions_t, key: bytes, ts: bytes, err) {
        let family = &db.default_family()?;
        write_one(db, options.get()?, family, |batch, id| { batch.delete_at(id, key, ts); })
    }

    fn rocksdb_delete_cf_with_ts(
        db: at rocksdb_t, options: in rocksdb_writeoptions_t, column_family: at rocksdb_column_family_handle_t,
        key: bytes, ts: bytes, err
    ) {
        let family = &db.family(column_family)?;
        write_one(db, options.get()?, family, |batch, id| { batch.delete_at(id, key, ts); })
    }

    /// Deletes a key that was put exactly once since its last deletion. For other keys, the result is undefined.
    fn rocksdb_singledelete(db: at rocksdb_t, options: in rocksdb_writeoptions_t, key: bytes, err) {
        let open = db.get()?;
        open.db.single_delete(&open.default, key, options.get()?)
    }

    fn rocksdb_singledelete_cf(
        db: at rocksdb_t, options: in rocksdb_writeoptions_t, column_family: at rocksdb_column_family_handle_t,
        key: bytes, err
    ) {
        db.db()?.single_delete(&*db.family(column_family)?, key, options.get()?)
    }

    fn rocksdb_singledelete_with_ts(
        db: at rocksdb_t, options: in rocksdb_writeoptions_t, key: bytes, ts: bytes, err
    ) {
        let family = &db.default_family()?;
        write_one(db, options.get()?, family, |batch, id| { batch.single_delete_at(id, key, ts); })
    }

    fn rocksdb_singledelete_cf_with_ts(
        db: at rocksdb_t, options: in rocksdb_writeoptions_t, column_family: at rocksdb_column_family_handle_t,
        key: bytes, ts: bytes, err
    ) {
        let family = &db.family(column_family)?;
        write_one(db, options.get()?, family, |batch, id| { batch.single_delete_at(id, key, ts); })
    }

    /// Deletes the keys from `start_key` up to `end_key`, `end_key` not included.
    fn rocksdb_delete_range_cf(
        db: at rocksdb_t, options: in rocksdb_writeoptions_t, column_family: at rocksdb_column_family_handle_t,
        start_key: bytes, end_key: bytes, err
    ) {
        db.db()?.delete_range(&*db.family(column_family)?, start_key, end_key, options.get()?)
    }

    /// Adds a merge operand to a key.
    fn rocksdb_merge(db: at rocksdb_t, options: in rocksdb_writeoptions_t, key: bytes, val: bytes, err) {
        let open = db.get()?;
        open.merge(&open.default, key, val, options.get()?)
    }

    fn rocksdb_merge_cf(
        db: at rocksdb_t, options: in rocksdb_writeoptions_t, column_family: at rocksdb_column_family_handle_t,
        key: bytes, val: bytes, err
    ) {
        db.get()?.merge(&*db.family(column_family)?, key, val, options.get()?)
    }

    /// Writes a batch: all changes or none. Does not change the batch, so the batch can be written again.
    fn rocksdb_write(
        db: at rocksdb_t, options: in rocksdb_writeoptions_t, batch: mut rocksdb_writebatch_t, err
    ) {
        let open = db.get()?;
        let mut options = *options.get()?;
        // The options may have a number that the write rejects.
        if batch.protected && options.protection_bytes_per_key == 0 {
            options.protection_bytes_per_key = 8;
        }
        open.write(batch.batch_for(&open.default)?, &options)
    }
}
