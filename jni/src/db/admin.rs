//! Column families, flushes, compactions, properties, options of an open database.

use std::sync::Arc;

use base::{Error, Level};
use engine::family::Family;
use engine::options::{FlushOptions, IngestExternalFileOptions};

use super::open::family_name;
use super::{DatabaseObject, InFamily, database};
use crate::fault::{Fault, Outcome};
use crate::handle::Handle;
use crate::java::{JBytes, JLongs, JObjects, JString, Java};
use crate::native::natives;
use crate::options::OptionSet;
use crate::settings::compact_range;

/// Reads the families of an array of handles.
fn families(java: Java<'_>, db: &DatabaseObject, handles: JLongs<'_>) -> Outcome<Vec<Arc<Family>>> {
    let family = |handle| Ok(InFamily::new(db, Handle::of(handle))?.get(db).clone());
    java.longs(handles)?.into_iter().map(family).collect()
}

/// Makes a column family and its handle.
fn create(db: &DatabaseObject, name: Vec<u8>, options: Handle) -> Outcome<Handle> {
    let descriptor = options.shared::<OptionSet>()?.descriptor(&family_name(name)?)?;
    Ok(db.create_family(descriptor)?)
}

/// Creates column families until the first error. As in RocksDB, an error does not drop the column families created before.
fn create_all<'j>(
    java: Java<'j>,
    db: Handle,
    families: impl Iterator<Item = (Vec<u8>, Handle)>,
) -> Outcome<JLongs<'j>> {
    let db = database(db)?;
    let mut handles = Vec::new();
    for (name, options) in families {
        match create(&db, name, options) {
            Ok(handle) => handles.push(handle.long()),
            Err(fault) => {
                handles.iter().for_each(|handle| Handle::of(*handle).close());
                return Err(fault);
            }
        }
    }
    java.new_longs(&handles)
}

/// Returns the error of an unknown property: NotFound without a text, as in RocksDB.
fn unknown_property() -> Fault {
    Error::not_found("").into()
}

/// Returns pairs of names and values for a change of options.
fn changes(java: Java<'_>, names: JObjects<'_>, values: JObjects<'_>) -> Outcome<Vec<(String, String)>> {
    let (names, values) = (java.texts(names)?, java.texts(values)?);
    if names.len() != values.len() {
        return Err(Fault::illegal_argument(format!("{} names have {} values", names.len(), values.len())));
    }
    Ok(names.into_iter().zip(values).collect())
}

/// Refuses a change of no options, as RocksDB does.
fn check_changes(changes: &[(String, String)]) -> base::Result<()> {
    if changes.is_empty() { Err(Error::invalid_argument("empty input")) } else { Ok(()) }
}

fn as_pairs(changes: &[(String, String)]) -> Vec<(&str, &str)> {
    changes.iter().map(|(name, value)| (name.as_str(), value.as_str())).collect()
}

natives! {
    fn RocksDB_createColumnFamily[java](db: Handle, name: JBytes, len: i32, options: Handle) -> Handle {
        let name = java.copy_first(name, len)?;
        create(&*database(db)?, name.to_vec(), options)?
    }

    fn RocksDB_createColumnFamilies__JJ_3_3B[java](db: Handle, options: Handle, names: JObjects) -> JLongs<'j> {
        let names = java.byte_arrays(names)?;
        create_all(java, db, names.into_iter().map(|name| (name, options)))?
    }

    fn RocksDB_createColumnFamilies__J_3J_3_3B[java](db: Handle, options: JLongs, names: JObjects) -> JLongs<'j> {
        let (names, options) = (java.byte_arrays(names)?, java.longs(options)?);
        if names.len() != options.len() {
            return Err(Fault::illegal_argument(format!("{} names have {} options", names.len(), options.len())));
        }
        create_all(java, db, names.into_iter().zip(options.into_iter().map(Handle::of)))?
    }

    fn RocksDB_dropColumnFamily[_](db: Handle, family: Handle) {
        let db = database(db)?;
        db.drop_family(&InFamily::new(&db, family)?)?;
    }

    fn RocksDB_dropColumnFamilies[java](db: Handle, handles: JLongs) {
        let db = database(db)?;
        for family in java.longs(handles)? {
            db.drop_family(&InFamily::new(&db, Handle::of(family))?)?;
        }
    }

    fn RocksDB_getDefaultColumnFamily[_](db: Handle) -> Handle {
        let db = database(db)?;
        db.child(db.family_object(db.default.clone()))
    }

    fn RocksDB_getProperty[java](db: Handle, family: Handle, name: JString, _len: i32) -> JString<'j> {
        let (db, name) = (database(db)?, java.text(name)?);
        let family = InFamily::new(&db, family)?;
        let value = db.db.properties().text(family.get(&db), &name).ok_or_else(unknown_property)?;
        java.new_text(&value)?
    }

    fn RocksDB_getLongProperty[java](db: Handle, family: Handle, name: JString, _len: i32) -> i64 {
        let (db, name) = (database(db)?, java.text(name)?);
        let family = InFamily::new(&db, family)?;
        db.db.properties().number(family.get(&db), &name).ok_or_else(unknown_property)? as i64
    }

    fn RocksDB_getAggregatedLongProperty[java](db: Handle, name: JString, _len: i32) -> i64 {
        let (db, name) = (database(db)?, java.text(name)?);
        db.db.properties().sum(&name).ok_or_else(unknown_property)? as i64
    }

    fn RocksDB_resetStats[_](db: Handle) {
        database(db)?.db.properties().reset_stats();
    }

    fn RocksDB_flush[java](db: Handle, options: Handle, handles: JLongs) {
        let (db, options) = (database(db)?, *options.shared::<FlushOptions>()?);
        let mut families = families(java, &db, handles)?;
        if families.is_empty() {
            families.push(db.default.clone());
        }
        db.check_background_work()?;
        db.db.flush(&families, &options)?;
    }

    fn RocksDB_flushWal[_](db: Handle, sync: bool) {
        database(db)?.db.wals().flush(sync)?;
    }

    fn RocksDB_syncWal[_](db: Handle) {
        database(db)?.db.wals().sync()?;
    }

    fn RocksDB_setOptions[java](db: Handle, family: Handle, names: JObjects, values: JObjects) {
        let (db, changes) = (database(db)?, changes(java, names, values)?);
        check_changes(&changes)?;
        let family = InFamily::new(&db, family)?;
        db.db.admin().set_options(family.get(&db), &as_pairs(&changes))?;
    }

    fn RocksDB_setDBOptions[java](db: Handle, names: JObjects, values: JObjects) {
        let (db, changes) = (database(db)?, changes(java, names, values)?);
        check_changes(&changes)?;
        db.db.admin().set_db_options(&as_pairs(&changes))?;
    }

    fn RocksDB_pauseBackgroundWork[_](db: Handle) {
        database(db)?.db.background().pause()?;
    }

    fn RocksDB_continueBackgroundWork[_](db: Handle) {
        database(db)?.db.background().unpause()?;
    }

    fn RocksDB_abortAllCompactions[_](db: Handle) {
        database(db)?.db.compactions().abort_all()?;
    }

    fn RocksDB_resumeAllCompactions[_](db: Handle) {
        database(db)?.db.compactions().resume_all()?;
    }

    /// Compacts a key range. A bound with a length of 0 or less means no bound.
    fn RocksDB_compactRange[java](
        db: Handle, begin: JBytes, begin_len: i32, end: JBytes, end_len: i32, options: Handle, family: Handle
    ) {
        let (db, options) = (database(db)?, compact_range(options)?);
        let begin = if begin_len > 0 { Some(java.copy_first(begin, begin_len)?) } else { None };
        let end = if end_len > 0 { Some(java.copy_first(end, end_len)?) } else { None };
        let family = InFamily::new(&db, family)?;
        db.db.compactions().compact_range(family.get(&db), begin.as_deref(), end.as_deref(), &options)?;
    }

    fn RocksDB_ingestExternalFile[java](
        db: Handle, family: Handle, files: JObjects, _count: i32, options: Handle
    ) {
        let (db, files) = (database(db)?, java.texts(files)?);
        let options = options.shared::<IngestExternalFileOptions>()?.clone();
        let files: Vec<std::path::PathBuf> = files.into_iter().map(Into::into).collect();
        InFamily::new(&db, family)?.front(&db).ingest_external_files(&files, &options)?;
    }

    fn RocksDB_enableAutoCompaction[java](db: Handle, handles: JLongs) {
        let db = database(db)?;
        for family in families(java, &db, handles)? {
            db.db.admin().set_options(&family, &[("disable_auto_compactions", "false")])?;
        }
    }

    fn RocksDB_numberLevels[_](db: Handle, family: Handle) -> i32 {
        let db = database(db)?;
        InFamily::new(&db, family)?.get(&db).options().num_levels
    }

    fn RocksDB_level0StopWriteTrigger[_](db: Handle, family: Handle) -> i32 {
        let db = database(db)?;
        InFamily::new(&db, family)?.get(&db).options().level0_stop_writes_trigger
    }

    /// Returns 0, because memtables are always flushed to level 0.
    fn RocksDB_maxMemCompactionLevel[_](_db: Handle, _family: Handle) -> i32 {
        0
    }

    fn RocksDB_getName[java](db: Handle) -> JString<'j> {
        let path = database(db)?.db.path().to_string_lossy().into_owned();
        java.new_text(&path)?
    }

    fn RocksDB_promoteL0[_](db: Handle, family: Handle, level: i32) {
        let db = database(db)?;
        let level = usize::try_from(level).map(Level::from_index).map_err(|_| Fault::illegal_argument(format!("the level {level}")))?;
        db.db.compactions().promote_l0(InFamily::new(&db, family)?.get(&db), level)?;
    }

    fn RocksDB_verifyChecksum[_](db: Handle) {
        database(db)?.db.files().verify_checksum()?;
    }

    /// Deletes the SST files whose keys are all in the ranges. A null bound means no bound.
    fn RocksDB_deleteFilesInRanges[java](db: Handle, family: Handle, ranges: JObjects, include_end: bool) {
        let (db, bounds) = (database(db)?, java.byte_arrays_or_null(ranges)?);
        let pairs: Vec<_> = bounds.chunks_exact(2).map(|pair| (pair[0].as_deref(), pair[1].as_deref())).collect();
        db.db.files().delete_files_in_ranges(InFamily::new(&db, family)?.get(&db), &pairs, include_end)?;
    }

    /// Deletes an SST file of the last level, or an archived WAL. Only the classes of 8.10.0 and 9.8.4 declare the native. As in their
    /// library, a file that cannot be deleted stays, and the native does not fail. The info log has the reason.
    fn RocksDB_deleteFile[java](db: Handle, name: JString) {
        let (db, name) = (database(db)?, java.text(name)?);
        if let Err(error) = engine::db::delete_file(&db.db, &name) {
            engine::db::warn(&db.db, format_args!("{name} is not deleted: {error}"));
        }
    }
}
