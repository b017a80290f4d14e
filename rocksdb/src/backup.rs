//! Backups: copies of a database in another directory, with shared SST files.

use std::path::Path;

use ironstone::CreateBackupOptions;

use crate::c_str::check_path;
use crate::db::DBInner;
use crate::{DBCommon, Env, Error, ThreadMode};

/// A backup.
pub struct BackupEngineInfo {
    /// The time at which the backup was created, in seconds since 1970.
    pub timestamp: i64,
    /// The number of the backup.
    pub backup_id: u32,
    /// The total size of the files of the backup, in bytes.
    pub size: u64,
    /// The number of files of the backup.
    pub num_files: u32,
}

/// Creates, restores and deletes the backups of a directory.
///
/// ```
/// use rocksdb::backup::{BackupEngine, BackupEngineOptions, RestoreOptions};
/// use rocksdb::{DB, Env};
///
/// # let dir = tempfile::tempdir().unwrap();
/// let db = DB::open_default(dir.path().join("db"))?;
/// db.put(b"k", b"v")?;
/// let options = BackupEngineOptions::new(dir.path().join("backups"))?;
/// let mut engine = BackupEngine::open(&options, &Env::new()?)?;
/// engine.create_new_backup_flush(&db, true)?;
/// let (to, options) = (dir.path().join("restored"), RestoreOptions::default());
/// engine.restore_from_latest_backup(&to, &to, &options)?;
/// assert!(DB::open_default(&to)?.get(b"k")?.is_some());
/// # Ok::<(), rocksdb::Error>(())
/// ```
pub struct BackupEngine {
    engine: ironstone::BackupEngine,
}

/// Options of a backup engine.
pub struct BackupEngineOptions {
    inner: ironstone::BackupEngineOptions,
}

/// Options of a restore.
#[derive(Default)]
pub struct RestoreOptions {
    inner: ironstone::RestoreOptions,
}

impl BackupEngine {
    /// Opens the backup directory that the options name. Creates the directory if it does not exist.
    ///
    /// # Errors
    /// IOError if the directory cannot be read or created; Corruption if the meta file of a backup does not decode.
    pub fn open(opts: &BackupEngineOptions, env: &Env) -> Result<Self, Error> {
        Ok(BackupEngine { engine: ironstone::BackupEngine::open(opts.inner.clone(), &env.inner)? })
    }

    /// Creates a backup without a flush. The backup includes unflushed writes because it has a copy of the WALs.
    ///
    /// # Errors
    /// IOError of a file.
    pub fn create_new_backup<T: ThreadMode, D: DBInner>(&mut self, db: &DBCommon<T, D>) -> Result<(), Error> {
        self.create_new_backup_flush(db, false)
    }

    /// Creates a backup. With `flush_before_backup`, memtables are flushed first.
    ///
    /// # Errors
    /// IOError of a file.
    pub fn create_new_backup_flush<T: ThreadMode, D: DBInner>(
        &mut self,
        db: &DBCommon<T, D>,
        flush_before_backup: bool,
    ) -> Result<(), Error> {
        let options = CreateBackupOptions { flush_before_backup, ..CreateBackupOptions::default() };
        self.engine.create_new_backup_with(&db.base().plain(), &options)?;
        Ok(())
    }

    /// Deletes all backups except the newest `num_backups_to_keep` backups.
    ///
    /// # Errors
    /// IOError of a file.
    pub fn purge_old_backups(&mut self, num_backups_to_keep: usize) -> Result<(), Error> {
        Ok(self.engine.purge_old_backups(num_backups_to_keep)?)
    }

    /// Writes the newest backup to a directory. The database of the directory must not be open.
    ///
    /// # Errors
    /// NotFound if the directory has no backup; Corruption if the checksum of a file differs from its recorded checksum.
    pub fn restore_from_latest_backup<D: AsRef<Path>, W: AsRef<Path>>(
        &mut self,
        db_dir: D,
        wal_dir: W,
        opts: &RestoreOptions,
    ) -> Result<(), Error> {
        let (db_dir, wal_dir) = (check_path(db_dir.as_ref())?, check_path(wal_dir.as_ref())?);
        Ok(self.engine.restore_db_from_latest_backup(db_dir, wal_dir, &opts.inner)?)
    }

    /// Writes a backup to a directory. The database of the directory must not be open.
    ///
    /// # Errors
    /// The errors of [`Self::restore_from_latest_backup`].
    pub fn restore_from_backup<D: AsRef<Path>, W: AsRef<Path>>(
        &mut self,
        db_dir: D,
        wal_dir: W,
        opts: &RestoreOptions,
        backup_id: u32,
    ) -> Result<(), Error> {
        let (db_dir, wal_dir) = (check_path(db_dir.as_ref())?, check_path(wal_dir.as_ref())?);
        Ok(self.engine.restore_db_from_backup(backup_id, db_dir, wal_dir, &opts.inner)?)
    }

    /// Checks that each file of a backup exists and has its recorded size. Does not compare checksums.
    ///
    /// # Errors
    /// NotFound if the backup does not exist; Corruption if a file is missing or has another size.
    pub fn verify_backup(&self, backup_id: u32) -> Result<(), Error> {
        Ok(self.engine.verify_backup(backup_id, false)?)
    }

    /// Returns the backups, oldest first.
    pub fn get_backup_info(&self) -> Vec<BackupEngineInfo> {
        let info = |backup: ironstone::BackupInfo| BackupEngineInfo {
            timestamp: backup.timestamp,
            backup_id: backup.id,
            size: backup.size,
            num_files: u32::try_from(backup.files.len()).unwrap_or(u32::MAX),
        };
        self.engine.backup_info().into_iter().map(info).collect()
    }
}

impl BackupEngineOptions {
    /// Returns options for the backups of a directory.
    ///
    /// # Errors
    /// The path has NUL inside.
    pub fn new<P: AsRef<Path>>(backup_dir: P) -> Result<Self, Error> {
        Ok(BackupEngineOptions {
            inner: ironstone::BackupEngineOptions::new(check_path(backup_dir.as_ref())?),
        })
    }

    /// Sets the number of threads that copy and verify files. Default: 1. Values below 1 stand for 1.
    pub fn set_max_background_operations(&mut self, max_background_operations: i32) {
        self.inner.max_background_operations = usize::try_from(max_background_operations).unwrap_or(0);
    }

    /// Sets whether a backup syncs the files that it writes. Default: true.
    pub fn set_sync(&mut self, sync: bool) {
        self.inner.sync = sync;
    }

    /// Returns true if a backup syncs the files that it writes.
    pub fn get_sync(&mut self) -> bool {
        self.inner.sync
    }
}

impl RestoreOptions {
    /// Sets whether a restore keeps the WALs that are in the database directory. Default: false. Use true only for backups
    /// without WALs.
    pub fn set_keep_log_files(&mut self, keep_log_files: bool) {
        self.inner.keep_log_files = keep_log_files;
    }
}
