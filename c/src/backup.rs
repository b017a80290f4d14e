//! Backup engines: backups of a database in a directory, and their restore.
//!
//! `ironstone::BackupEngine` does the work. The two options for the CPU priority of background threads have no effect. In RocksDB
//! they change only the speed of copies. Facts: RocksDB `db/c.cc`, `include/rocksdb/utilities/backup_engine.h`.

use std::ffi::c_void;
use std::path::Path;
use std::sync::Arc;

use base::{Error, Result};
use env::Env;
use ironstone::{
    BackupEngine, BackupEngineOptions, BackupInfo, CreateBackupOptions, RestoreMode, RestoreOptions,
    ShareFilesNaming,
};

use crate::abi::exception::guarded;
use crate::abi::{ConstOwned, HasRejected, Out, Owned, Text};
use crate::backup_options::{
    rocksdb_backup_engine_options_t, rocksdb_create_backup_options_t, rocksdb_restore_options_t,
};
use crate::db::rocksdb_t;
use crate::environment::rocksdb_env_t;
use crate::options::rocksdb_options_t;

/// An open backup directory.
pub struct rocksdb_backup_engine_t {
    engine: BackupEngine,
}

/// The backups of a directory, oldest first.
pub struct rocksdb_backup_engine_info_t {
    backups: Vec<BackupInfo>,
}

/// The bit of the naming option that adds the file size to the name.
const INCLUDE_FILE_SIZE: u32 = 1 << 31;

impl rocksdb_backup_engine_options_t {
    /// # Errors
    /// InvalidArgument for a number that is not a value of its option; NotSupported for an option that Ironstone does not have.
    fn engine_options(&self) -> Result<BackupEngineOptions> {
        self.rejected().check()?;
        if self.current_temperatures_override_manifest {
            return Err(Error::not_supported("BackupEngineOptions::current_temperatures_override_manifest"));
        }
        let mut options = BackupEngineOptions::new(path_of(&self.backup_dir));
        options.backup_env = self.env.clone();
        options.share_table_files = self.share_table_files;
        options.share_files_with_checksum = self.share_files_with_checksum;
        options.share_files_with_checksum_naming = naming(self.share_files_with_checksum_naming)?;
        options.sync = self.sync;
        options.destroy_old_data = self.destroy_old_data;
        options.backup_log_files = self.backup_log_files;
        options.backup_rate_limit = self.backup_rate_limit;
        options.backup_rate_limiter = self.backup_rate_limiter.clone();
        options.restore_rate_limit = self.restore_rate_limit;
        options.restore_rate_limiter = self.restore_rate_limiter.clone();
        options.callback_trigger_interval_size = self.callback_trigger_interval_size;
        options.max_valid_backups_to_open = usize::try_from(self.max_valid_backups_to_open).unwrap_or(0);
        options.schema_version = u32::try_from(self.schema_version).unwrap_or(0);
        options.io_buffer_size = usize::try_from(self.io_buffer_size).unwrap_or(usize::MAX);
        options.max_background_operations = usize::try_from(self.max_background_operations).unwrap_or(0);
        Ok(options)
    }
}

fn path_of(text: &std::ffi::CStr) -> &Path {
    use std::os::unix::ffi::OsStrExt;
    Path::new(std::ffi::OsStr::from_bytes(text.to_bytes()))
}

fn naming(number: i32) -> Result<ShareFilesNaming> {
    match number as u32 {
        1 => Ok(ShareFilesNaming::LegacyCrc32cAndFileSize),
        2 => Ok(ShareFilesNaming::UseDbSessionId),
        flagged if flagged == 2 | INCLUDE_FILE_SIZE => Ok(ShareFilesNaming::UseDbSessionIdAndFileSize),
        _ => Err(Error::invalid_argument(format!(
            "option share_files_with_checksum_naming: {number} is not a value of this option"
        ))),
    }
}

/// The state of a callback. The program promises that the callback may run on any thread with the state.
#[derive(Clone, Copy)]
struct Shared(usize);

impl Shared {
    fn pointer(self) -> *mut c_void {
        std::ptr::with_exposed_provenance_mut(self.0)
    }
}

impl rocksdb_create_backup_options_t {
    fn create_options(&self, app_metadata: &[u8]) -> Result<CreateBackupOptions> {
        self.rejected().check()?;
        let mut options = CreateBackupOptions {
            flush_before_backup: self.flush_before_backup,
            atomic_flush: self.atomic_flush,
            app_metadata: app_metadata.to_vec(),
            ..CreateBackupOptions::default()
        };
        if let Some((state, callback)) = self.progress {
            let state = Shared(state);
            options.progress_callback = Some(Arc::new(move || {
                // SAFETY: the program handed in this function for this state, and keeps the state during the backup.
                guarded("progress_callback", || unsafe { callback(state.pointer()) });
                Ok(())
            }));
        }
        if let Some((state, callback)) = self.exclude {
            let state = Shared(state);
            options.exclude_files = Some(Arc::new(move |name: &str| {
                // SAFETY: the program handed in this function for this state, and keeps the state during the backup.
                // `name` has `name.len()` readable bytes during the call.
                guarded("exclude_files_callback", || unsafe {
                    callback(state.pointer(), name.as_ptr().cast(), name.len()) != 0
                })
            }));
        }
        Ok(options)
    }
}

impl rocksdb_restore_options_t {
    fn restore_options(&self) -> Result<RestoreOptions> {
        self.rejected().check()?;
        let mode = match self.mode {
            1 => RestoreMode::KeepLatestDbSessionIdFiles,
            2 => RestoreMode::VerifyChecksum,
            0xffff => RestoreMode::PurgeAllFiles,
            number => {
                return Err(Error::invalid_argument(format!(
                    "option mode: {number} is not a value of this option"
                )));
            }
        };
        Ok(RestoreOptions { keep_log_files: self.keep_log_files != 0, mode, ..RestoreOptions::default() })
    }
}

fn create(
    engine: &rocksdb_backup_engine_t,
    db: &rocksdb_t,
    options: Option<&rocksdb_create_backup_options_t>,
    app_metadata: &[u8],
    backup_id: &Out<u32>,
) -> Result<()> {
    let defaults = rocksdb_create_backup_options_t::default();
    let options = options.unwrap_or(&defaults).create_options(app_metadata)?;
    backup_id.set(engine.engine.create_new_backup_with(&db.get()?.front, &options)?);
    Ok(())
}

/// # Errors
/// InvalidArgument if there is no such backup.
fn backup(info: &rocksdb_backup_engine_info_t, index: i32) -> Result<&BackupInfo> {
    let found = usize::try_from(index).ok().and_then(|index| info.backups.get(index));
    found.ok_or_else(|| Error::invalid_argument(format!("there is no backup at index {index}")))
}

fn open(options: BackupEngineOptions, env: &Env) -> Result<Owned<rocksdb_backup_engine_t>> {
    Ok(Owned(rocksdb_backup_engine_t { engine: BackupEngine::open(options, env)? }))
}

c_api! {
    /// Opens a directory of backups. Creates the directory if it does not exist. Uses the environment of `options`.
    fn rocksdb_backup_engine_open(options: in rocksdb_options_t, path: path, err) -> Owned<rocksdb_backup_engine_t> {
        open(BackupEngineOptions::new(path), &options.db.env)
    }

    /// Opens a directory of backups. `env` is the environment of the databases.
    fn rocksdb_backup_engine_open_opts(
        options: in rocksdb_backup_engine_options_t, env: at rocksdb_env_t, err
    ) -> Owned<rocksdb_backup_engine_t> {
        open(options.engine_options()?, &env.env)
    }

    fn rocksdb_backup_engine_create_new_backup(be: at rocksdb_backup_engine_t, db: at rocksdb_t, err) {
        create(be, db, None, b"", &Out::none())
    }

    /// Creates a backup. With `flush_before_backup` the memtables are flushed first, and the backup needs no WAL.
    fn rocksdb_backup_engine_create_new_backup_flush(
        be: at rocksdb_backup_engine_t, db: at rocksdb_t, flush_before_backup: flag, err
    ) {
        let options = rocksdb_create_backup_options_t { flush_before_backup, ..Default::default() };
        create(be, db, Some(&options), b"", &Out::none())
    }

    /// Creates a backup with options. Null options mean the defaults. Writes the number of the backup to `backup_id`, which may
    /// be null.
    fn rocksdb_backup_engine_create_new_backup_with_options(
        be: at rocksdb_backup_engine_t, db: at rocksdb_t, options: inmaybe rocksdb_create_backup_options_t,
        backup_id: out u32, err
    ) {
        create(be, db, options, b"", &backup_id)
    }

    /// Works like `rocksdb_backup_engine_create_new_backup_with_options`. Also stores metadata of the program. Null: no
    /// metadata.
    fn rocksdb_backup_engine_create_new_backup_with_metadata(
        be: at rocksdb_backup_engine_t, db: at rocksdb_t, options: inmaybe rocksdb_create_backup_options_t,
        app_metadata: bound, backup_id: out u32, err
    ) {
        create(be, db, options, app_metadata.unwrap_or_default(), &backup_id)
    }

    /// Deletes all backups except the newest `num_backups_to_keep` backups.
    fn rocksdb_backup_engine_purge_old_backups(
        be: at rocksdb_backup_engine_t, num_backups_to_keep: u32, err
    ) {
        be.engine.purge_old_backups(num_backups_to_keep as usize)
    }

    /// Compares the sizes of the files of a backup with the recorded sizes.
    fn rocksdb_backup_engine_verify_backup(be: at rocksdb_backup_engine_t, backup_id: u32, err) {
        be.engine.verify_backup(backup_id, false)
    }

    /// Replaces the database in `db_dir` with the newest backup. The database must be closed.
    fn rocksdb_backup_engine_restore_db_from_latest_backup(
        be: at rocksdb_backup_engine_t, db_dir: path, wal_dir: path,
        restore_options: in rocksdb_restore_options_t, err
    ) {
        be.engine.restore_db_from_latest_backup(db_dir, wal_dir, &restore_options.restore_options()?)
    }

    /// Replaces the database in `db_dir` with a backup. The database must be closed.
    fn rocksdb_backup_engine_restore_db_from_backup(
        be: at rocksdb_backup_engine_t, db_dir: path, wal_dir: path,
        restore_options: in rocksdb_restore_options_t, backup_id: u32, err
    ) {
        be.engine.restore_db_from_backup(backup_id, db_dir, wal_dir, &restore_options.restore_options()?)
    }

    /// Lists the backups, oldest first.
    fn rocksdb_backup_engine_get_backup_info(
        be: at rocksdb_backup_engine_t
    ) -> ConstOwned<rocksdb_backup_engine_info_t> {
        ConstOwned(rocksdb_backup_engine_info_t { backups: be.engine.backup_info() })
    }

    fn rocksdb_backup_engine_info_count(info: in rocksdb_backup_engine_info_t) -> i32 {
        i32::try_from(info.backups.len()).unwrap_or(i32::MAX)
    }

    /// Returns the time of the backup, in seconds since 1970.
    fn rocksdb_backup_engine_info_timestamp(info: in rocksdb_backup_engine_info_t, index: i32) -> i64 {
        backup(info, index)?.timestamp
    }

    fn rocksdb_backup_engine_info_backup_id(info: in rocksdb_backup_engine_info_t, index: i32) -> u32 {
        backup(info, index)?.id
    }

    /// Returns the total size of the files of the backup, in bytes. A file that several backups share counts in each of them.
    fn rocksdb_backup_engine_info_size(info: in rocksdb_backup_engine_info_t, index: i32) -> u64 {
        backup(info, index)?.size
    }

    fn rocksdb_backup_engine_info_number_files(info: in rocksdb_backup_engine_info_t, index: i32) -> u32 {
        u32::try_from(backup(info, index)?.files.len()).unwrap_or(u32::MAX)
    }

    /// Returns the metadata of the program. The bytes are valid until the handle is destroyed.
    fn rocksdb_backup_engine_info_app_metadata(
        info: in rocksdb_backup_engine_info_t, index: i32, len: out usize
    ) -> Text {
        len.set(0);
        let metadata = &backup(info, index)?.app_metadata;
        len.set(metadata.len());
        Text::bytes(metadata)
    }

    fn rocksdb_backup_engine_info_destroy(info: cown rocksdb_backup_engine_info_t) {
        drop(info)
    }

    /// Stops the running backup, and rejects new backups of this handle.
    fn rocksdb_backup_engine_stop_backup(be: at rocksdb_backup_engine_t) {
        be.engine.stop_backup();
    }

    fn rocksdb_backup_engine_close(be: own rocksdb_backup_engine_t) {
        drop(be)
    }
}
