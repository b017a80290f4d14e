//! Descriptions of the files of a database: `LiveFileMetaData`, `ColumnFamilyMetaData`, `TableProperties`, sizes and options.
//!
//! Facts: RocksDB `java/rocksjni/portal.h` (the constructors), `include/rocksdb/table_properties.h`.

use std::path::Path;
use std::sync::Arc;

use base::SequenceNumber;
use base::{Error, Level};
use engine::options::SizeApproximationOptions;
use ironstone::TableProperties;
use ironstone::binding::TableCache;
use ironstone::{FamilyMetadata, LevelMetadata, LiveFile};

use super::files::number_of;
use super::open::family_name;
use super::{FamilyObject, InFamily, database};
use crate::class::{Class, Method, Value};
use crate::collections;
use crate::fault::{Fault, Outcome};
use crate::handle::Handle;
use crate::java::{JBytes, JLongs, JObject, JObjects, JString, Java};
use crate::native::natives;
use crate::options::OptionSet;
use crate::slice::SliceObject;
use crate::table_properties;

static FILE_CLASS: Class = Class::new("org/rocksdb/SstFileMetaData");
static LEVEL_CLASS: Class = Class::new("org/rocksdb/LevelMetaData");
static LIVE_FILE_CLASS: Class = Class::new("org/rocksdb/LiveFileMetaData");
static NEW_FILE: Method = Class::new("org/rocksdb/SstFileMetaData")
    .method("<init>", "(Ljava/lang/String;Ljava/lang/String;JJJ[B[BJZJJ[B)V");
static NEW_LIVE_FILE: Method = Class::new("org/rocksdb/LiveFileMetaData")
    .method("<init>", "([BILjava/lang/String;Ljava/lang/String;JJJ[B[BJZJJ[B)V");
static NEW_LEVEL: Method =
    Class::new("org/rocksdb/LevelMetaData").method("<init>", "(IJ[Lorg/rocksdb/SstFileMetaData;)V");
static NEW_FAMILY: Method =
    Class::new("org/rocksdb/ColumnFamilyMetaData").method("<init>", "(JJ[B[Lorg/rocksdb/LevelMetaData;)V");
static NEW_DESCRIPTOR: Method = Class::new("org/rocksdb/ColumnFamilyDescriptor")
    .method("<init>", "([BLorg/rocksdb/ColumnFamilyOptions;)V");
static NEW_FAMILY_OPTIONS: Method = Class::new("org/rocksdb/ColumnFamilyOptions").method("<init>", "(J)V");

fn text<'j>(java: Java<'j>, path: Option<&Path>) -> Outcome<JString<'j>> {
    java.new_text(&path.map(Path::to_string_lossy).unwrap_or_default())
}

/// Returns the constructor arguments that both classes of SST files have. The JVM deletes the local references at the end of
/// [`framed`].
fn file_arguments(java: Java<'_>, file: &LiveFile) -> Outcome<Vec<Value>> {
    let name = file.path.file_name().map(|name| format!("/{}", name.to_string_lossy())).unwrap_or_default();
    Ok(vec![
        java.new_text(&name)?.into(),
        text(java, file.path.parent())?.into(),
        Value::long(file.size as i64),
        Value::long(file.smallest_sequence.get() as i64),
        Value::long(file.largest_sequence.get() as i64),
        java.new_bytes(&file.smallest_key)?.object().into(),
        java.new_bytes(&file.largest_key)?.object().into(),
        Value::long(file.num_reads_sampled as i64),
        Value::bool(file.being_compacted),
        Value::long(file.num_entries as i64),
        Value::long(file.num_deletions as i64),
        java.new_bytes(&file.file_checksum)?.object().into(),
    ])
}

fn live_file<'j>(java: Java<'j>, family: &str, file: &LiveFile) -> Outcome<JObject<'j>> {
    java.framed(|java| {
        let mut arguments: Vec<Value> =
            vec![java.new_bytes(family.as_bytes())?.object().into(), Value::int(i32::from(file.level.get()))];
        arguments.extend(file_arguments(java, file)?);
        NEW_LIVE_FILE.construct(java, &arguments)
    })
}

fn level<'j>(java: Java<'j>, level: &LevelMetadata) -> Outcome<JObject<'j>> {
    java.framed(|java| {
        let file = |at: usize| {
            java.framed(|java| NEW_FILE.construct(java, &file_arguments(java, &level.files[at])?))
        };
        let files = java.new_objects(FILE_CLASS.get(java)?, level.files.len(), file)?;
        let arguments =
            [Value::int(i32::from(level.level.get())), Value::long(level.size as i64), files.object().into()];
        NEW_LEVEL.construct(java, &arguments)
    })
}

fn family<'j>(java: Java<'j>, metadata: &FamilyMetadata) -> Outcome<JObject<'j>> {
    let levels = &metadata.levels;
    let levels = java.new_objects(LEVEL_CLASS.get(java)?, levels.len(), |at| level(java, &levels[at]))?;
    let arguments = [
        Value::long(metadata.size as i64),
        Value::long(metadata.file_count as i64),
        java.new_bytes(metadata.name.as_bytes())?.object().into(),
        levels.object().into(),
    ];
    NEW_FAMILY.construct(java, &arguments)
}

fn properties_map<'j>(
    java: Java<'j>,
    tables: &std::collections::BTreeMap<std::path::PathBuf, Arc<TableProperties>>,
) -> Outcome<JObject<'j>> {
    collections::map(java, tables.iter(), |java, (path, table)| {
        Ok((text(java, Some(path))?.object(), table_properties::object(java, table)?))
    })
}

/// Makes a `ColumnFamilyDescriptor`. Java owns the options.
///
/// # Errors
/// OutOfMemoryError.
pub fn descriptor<'j>(java: Java<'j>, name: &str, options: OptionSet) -> Outcome<JObject<'j>> {
    let name = java.new_bytes(name.as_bytes())?;
    let options = NEW_FAMILY_OPTIONS.construct(java, &[Value::long(Handle::new(options).long())])?;
    let object = NEW_DESCRIPTOR.construct(java, &[name.object().into(), options.into()])?;
    java.forget(name.object());
    java.forget(options);
    Ok(object)
}

/// Reads the bytes of pairs of slices.
fn ranges(java: Java<'_>, slices: JLongs<'_>) -> Outcome<Vec<(Vec<u8>, Vec<u8>)>> {
    let handles = java.longs(slices)?;
    let bytes = |handle: i64| -> Outcome<Vec<u8>> {
        Ok(Handle::of(handle).shared::<SliceObject>()?.bytes().to_vec())
    };
    handles.chunks_exact(2).map(|pair| Ok((bytes(pair[0])?, bytes(pair[1])?))).collect::<Outcome<_>>()
}

/// Converts the flags of `SizeApproximationFlag` to options.
fn size_options(flags: i8) -> Outcome<SizeApproximationOptions> {
    match flags {
        0..=3 => Ok(SizeApproximationOptions {
            include_memtables: flags & 1 != 0,
            include_files: flags & 2 != 0,
            ..SizeApproximationOptions::default()
        }),
        other => Err(Fault::illegal_argument(format!("{other} is not a SizeApproximationFlag"))),
    }
}

natives! {
    fn RocksDB_getLiveFilesMetaData[java](db: Handle) -> JObjects<'j> {
        let metadata = database(db)?.front.metadata_of_all();
        let files: Vec<(&str, &LiveFile)> = metadata
            .iter()
            .flat_map(|family| family.levels.iter().map(move |level| (family.name.as_str(), level)))
            .flat_map(|(name, level)| level.files.iter().map(move |file| (name, file)))
            .collect();
        java.new_objects(LIVE_FILE_CLASS.get(java)?, files.len(), |at| live_file(java, files[at].0, files[at].1))?
    }

    /// Makes a native object of a `LiveFileMetaData`: the name of the column family and the description of the file. The Java
    /// classes only pass the handle to the program. No class closes the handle.
    fn LiveFileMetaData_newLiveFileMetaDataHandle[java](
        family: JBytes, family_len: i32, level: i32, name: JString, path: JString, size: i64, smallest_sequence: i64,
        largest_sequence: i64, smallest_key: JBytes, smallest_len: i32, largest_key: JBytes, largest_len: i32,
        num_reads_sampled: i64, being_compacted: bool, num_entries: i64, num_deletions: i64
    ) -> Handle {
        let family = family_name(java.copy_first(family, family_len)?.to_vec())?;
        let (name, path) = (java.text(name)?, java.text(path)?);
        let file = LiveFile {
            number: number_of(&name),
            path: Path::new(&path).join(name.trim_start_matches('/')),
            level: usize::try_from(level)
                .map(Level::from_index)
                .map_err(|_| Fault::illegal_argument(format!("the level {level}")))?,
            size: size as u64,
            smallest_key: java.copy_first(smallest_key, smallest_len)?.to_vec(),
            largest_key: java.copy_first(largest_key, largest_len)?.to_vec(),
            smallest_sequence: SequenceNumber::new(smallest_sequence as u64),
            largest_sequence: SequenceNumber::new(largest_sequence as u64),
            num_entries: num_entries as u64,
            num_deletions: num_deletions as u64,
            num_reads_sampled: num_reads_sampled as u64,
            being_compacted,
            epoch_number: 0,
            oldest_ancestor_time: 0,
            file_creation_time: 0,
            file_checksum: Vec::new(),
            file_checksum_func_name: String::new(),
            oldest_blob_file: None,
        };
        Handle::new((family, file))
    }

    fn RocksDB_getColumnFamilyMetaData[java](db: Handle, cf: Handle) -> JObject<'j> {
        let db = database(db)?;
        family(java, &InFamily::new(&db, cf)?.front(&db).metadata())?
    }

    fn RocksDB_getPropertiesOfAllTables[java](db: Handle, cf: Handle) -> JObject<'j> {
        let db = database(db)?;
        properties_map(java, &InFamily::new(&db, cf)?.front(&db).table_properties()?)?
    }

    fn RocksDB_getPropertiesOfTablesInRange[java](db: Handle, cf: Handle, slices: JLongs) -> JObject<'j> {
        let (db, ranges) = (database(db)?, ranges(java, slices)?);
        let ranges: Vec<_> = ranges.iter().map(|(begin, end)| (&begin[..], &end[..])).collect();
        properties_map(java, &InFamily::new(&db, cf)?.front(&db).table_properties_in_ranges(&ranges)?)?
    }

    fn RocksDB_getMapProperty[java](db: Handle, cf: Handle, name: JString, _len: i32) -> JObject<'j> {
        let (db, name) = (database(db)?, java.text(name)?);
        let family = InFamily::new(&db, cf)?;
        let map = family.front(&db).property_map(&name).ok_or_else(|| Error::not_found(""))?;
        collections::map(java, map.iter(), |java, (key, value)| {
            Ok((java.new_text(key)?.object(), java.new_text(value)?.object()))
        })?
    }

    fn RocksDB_getApproximateSizes[java](db: Handle, cf: Handle, slices: JLongs, flags: i8) -> JLongs<'j> {
        let (db, ranges) = (database(db)?, ranges(java, slices)?);
        let ranges: Vec<_> = ranges.iter().map(|(begin, end)| (&begin[..], &end[..])).collect();
        let sizes = InFamily::new(&db, cf)?.front(&db).approximate_sizes(&ranges, &size_options(flags)?)?;
        java.new_longs(&sizes.into_iter().map(|size| size as i64).collect::<Vec<_>>())?
    }

    /// Returns the count and the size of the entries of a range in memtables.
    fn RocksDB_getApproximateMemTableStats[java](db: Handle, cf: Handle, begin: Handle, end: Handle) -> JLongs<'j> {
        let (db, begin, end) = (database(db)?, begin.shared::<SliceObject>()?, end.shared::<SliceObject>()?);
        let family = InFamily::new(&db, cf)?;
        let (count, size) = family.front(&db).approximate_memtable_stats(&begin.bytes(), &end.bytes());
        java.new_longs(&[count as i64, size as i64])?
    }

    fn RocksDB_getOptions[java](db: Handle, cf: Handle) -> JString<'j> {
        let db = database(db)?;
        java.new_text(&InFamily::new(&db, cf)?.get(&db).options().print())?
    }

    fn RocksDB_getDBOptions[java](db: Handle) -> JString<'j> {
        java.new_text(&database(db)?.front.db_options().print())?
    }

    /// Returns the descriptor of the column family. Java owns the options of the descriptor. The options share the block cache of the
    /// column family.
    fn ColumnFamilyHandle_getDescriptor[java](handle: Handle) -> JObject<'j> {
        let object = handle.shared::<FamilyObject>()?;
        let family = ironstone::FamilyOptions::clone(&object.family.options());
        let table_cache = TableCache::of(object.family.parts().caches.blocks.clone());
        descriptor(java, object.family.name(), OptionSet { family, table_cache, ..OptionSet::default() })?
    }
}
