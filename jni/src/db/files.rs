//! Work on the files of a database: live files, WALs, updates, compactions of chosen files, imports, the end of background work.

use base::{Arrange, Error, FileNumber, Kind, Level, SequenceNumber};
use engine::db::{LiveFileKind, LiveFilesStorageInfoOptions, WalFile, WalFileType};
use engine::options::{CompactionOptions, ImportColumnFamilyOptions};
use ironstone::ExportImportFilesMetaData;
use ironstone::binding::UpdateCursor;

use super::open::family_name;
use super::{InFamily, database};
use crate::batch::BatchObject;
use crate::class::{Class, Method, Value};
use crate::fault::Outcome;
use crate::handle::{Exclusive, Handle, Shared};
use crate::java::{JBytes, JLongs, JObject, JObjects, Java, Part};
use crate::job_info::JobInfo;
use crate::native::{disposers, natives};
use crate::options::OptionSet;
use crate::parts::as_default_env;
use crate::slice::SliceObject;

static LOG_FILE_CLASS: Class = Class::new("org/rocksdb/LogFile");
static NEW_LOG_FILE: Method = Class::new("org/rocksdb/LogFile").method("<init>", "(Ljava/lang/String;JBJJ)V");
static NEW_RESULT: Method =
    Class::new("org/rocksdb/TransactionLogIterator$BatchResult").method("<init>", "(JJ)V");

/// `TransactionLogIterator`: the batches of a database in order.
struct UpdatesObject {
    cursor: UpdateCursor,
}

// SAFETY: this module takes exclusive guards only. So no two threads use the iterator at the same time.
unsafe impl Sync for UpdatesObject {}

fn updates(handle: Handle) -> Outcome<Exclusive<UpdatesObject>> {
    Ok(handle.exclusive::<UpdatesObject>()?)
}

fn log_file<'j>(java: Java<'j>, file: &WalFile) -> Outcome<JObject<'j>> {
    let name = java.new_text(&file.path_name)?;
    let arguments = [
        name.into(),
        Value::long(file.number.get() as i64),
        Value::byte(i8::from(file.file_type == WalFileType::Live)),
        Value::long(file.start_sequence.get() as i64),
        Value::long(file.size as i64),
    ];
    let object = NEW_LOG_FILE.construct(java, &arguments)?;
    java.forget(name.object());
    Ok(object)
}

/// Returns the file number in the name or the path of an SST file. Another name has the number 0, which no file has.
pub(super) fn number_of(name: &str) -> FileNumber {
    let stem = name.rsplit('/').next().unwrap_or(name);
    FileNumber::new(stem.split('.').next().and_then(|digits| digits.parse().ok()).unwrap_or(0))
}

disposers! {
    TransactionLogIterator: UpdatesObject;
}

natives! {
    /// Returns the names of the live files, and the length of the MANIFEST as the last text.
    fn RocksDB_getLiveFiles[java](db: Handle, flush: bool) -> JObjects<'j> {
        let wal_size_for_flush = if flush { 0 } else { u64::MAX };
        let options = LiveFilesStorageInfoOptions { wal_size_for_flush, ..LiveFilesStorageInfoOptions::default() };
        let files = database(db)?.db.files().live_files_storage_info(&options)?.files;
        let mut listed: Vec<_> = files.iter().filter(|file| file.kind != LiveFileKind::Wal).collect();
        listed.arrange_by_key(|file| match file.kind {
            LiveFileKind::Current => 1,
            LiveFileKind::Manifest => 2,
            LiveFileKind::Options => 3,
            _ => 0,
        });
        let mut names: Vec<String> =
            listed.iter().map(|file| format!("/{}", file.relative_filename)).collect();
        let manifest = files.iter().find(|file| file.kind == LiveFileKind::Manifest);
        names.push(manifest.map_or(0, |file| file.size).to_string());
        java.new_texts(&names)?
    }

    fn RocksDB_getSortedWalFiles[java](db: Handle) -> JObjects<'j> {
        let files = database(db)?.db.wals().files()?;
        java.new_objects(LOG_FILE_CLASS.get(java)?, files.len(), |at| log_file(java, &files[at]))?
    }

    fn RocksDB_getUpdatesSince[_](db: Handle, sequence: i64) -> Handle {
        let db = database(db)?;
        let updates = db.db.wals().updates_since(SequenceNumber::new(sequence as u64))?;
        db.child(UpdatesObject { cursor: UpdateCursor::new(updates) })
    }

    fn TransactionLogIterator_isValid[_](handle: Handle) -> bool {
        updates(handle)?.cursor.current().is_some()
    }

    fn TransactionLogIterator_next[_](handle: Handle) {
        updates(handle)?.cursor.step();
    }

    fn TransactionLogIterator_status[_](handle: Handle) {
        updates(handle)?.cursor.status()?;
    }

    /// Returns the current batch and its sequence number. The Java object owns the batch.
    fn TransactionLogIterator_getBatch[java](handle: Handle) -> JObject<'j> {
        let object = updates(handle)?;
        let none = || Error::invalid_argument("the iterator is at no batch");
        let update = object.cursor.current().ok_or_else(none)?;
        let batch = Handle::new(BatchObject::from_batch(update.batch.clone()));
        NEW_RESULT.construct(java, &[Value::long(update.sequence.get() as i64), Value::long(batch.long())])?
    }

    /// Compacts SST files to a level. Fills the `CompactionJobInfo` if the call passes one.
    fn RocksDB_compactFiles[java](
        db: Handle, options: Handle, cf: Handle, names: JObjects, output_level: i32, output_path_id: i32,
        info: Handle
    ) -> JObjects<'j> {
        let (db, names) = (database(db)?, java.texts(names)?);
        let numbers = names.iter().map(|name| number_of(name)).collect::<Vec<_>>();
        let level = usize::try_from(output_level)
            .map(Level::from_index)
            .map_err(|_| Error::invalid_argument("Output level cannot be negative."))?;
        let options = options.shared::<CompactionOptions>()?.clone();
        let family = InFamily::new(&db, cf)?;
        let path_id = u32::try_from(output_path_id).ok();
        let done = db.db.compactions().compact_files_reported(family.get(&db), &numbers, level, path_id, &options);
        let done = done?;
        if let (false, Some(report)) = (info.is_null(), done.report) {
            *info.exclusive::<JobInfo>()? = JobInfo::new(*report);
        }
        java.new_texts(&done.outputs.iter().map(|path| path.to_string_lossy().into_owned()).collect::<Vec<_>>())?
    }

    /// Returns two empty slices. RocksDB's native passes an empty range to the engine and also returns two empty slices.
    fn RocksDB_suggestCompactRange[java](db: Handle, cf: Handle) -> JLongs<'j> {
        let db = database(db)?;
        db.db.compactions().suggest_compact_range(InFamily::new(&db, cf)?.get(&db), Some(b""), Some(b""))?;
        let slice = || Handle::new(SliceObject::copied(Vec::new())).long();
        java.new_longs(&[slice(), slice()])?
    }

    /// Stops background work before the close. With `wait`, the call waits for running jobs. A later flush fails.
    fn RocksDB_cancelAllBackgroundWork[_](db: Handle, wait: bool) {
        match database(db)?.cancel_background_work(wait) {
            // A database that is open for reading has no background work. The Java method declares no exception.
            Err(error) if error.kind() == Kind::NotSupported => {}
            done => done?,
        }
    }

    fn RocksDB_clipColumnFamily[java](
        db: Handle, cf: Handle, begin: JBytes, begin_offset: i32, begin_len: i32, end: JBytes, end_offset: i32,
        end_len: i32
    ) {
        let begin = java.copy(begin, Part { offset: begin_offset, len: begin_len })?;
        let end = java.copy(end, Part { offset: end_offset, len: end_len })?;
        let db = database(db)?;
        InFamily::new(&db, cf)?.front(&db).clip(&begin, &end)?;
    }

    fn RocksDB_createColumnFamilyWithImport[java](
        db: Handle, name: JBytes, len: i32, options: Handle, import: Handle, exports: JLongs
    ) -> Handle {
        let (db, name) = (database(db)?, java.copy_first(name, len)?);
        db.refuse_ttl("the import of a column family")?;
        let name = family_name(name.to_vec())?;
        let descriptor = options.shared::<OptionSet>()?.descriptor(&name)?;
        let exports = java.longs(exports)?;
        let exports: Vec<Shared<ExportImportFilesMetaData>> =
            exports.into_iter().map(|handle| Ok(Handle::of(handle).shared()?)).collect::<Outcome<_>>()?;
        let exports: Vec<&ExportImportFilesMetaData> = exports.iter().map(|export| &**export).collect();
        let import = *import.shared::<ImportColumnFamilyOptions>()?;
        db.front.create_family_with_import(descriptor, &import, &exports)?;
        db.family_handle(&name)?
    }

    /// Returns the handle of the environment. Java does not own the handle.
    fn RocksDB_getEnv[_](db: Handle) -> Handle {
        let db = database(db)?;
        let env = db.db.env();
        as_default_env(env).unwrap_or_else(|| db.child(env.clone()))
    }
}
