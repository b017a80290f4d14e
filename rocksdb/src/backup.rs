//! Backups: copies of a database in another directory, with shared SST files.

use std::path::Path;

use ironstone::CreateBackupOptions;

use crate::db::DBInner;
use crate::{DBCommon, Env, Error, ThreadMode};

/// A backup.
pub struct BackupEngineInfo {
    /// The time of the backup, in seconds since 1970.
    pub timestamp: i64,
    /// The number of the backup.
    pub backup_id: u32,
    /// The bytes of the files.
    pub size: u64,
    /// The count of the files.
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
    /// Opens the directory of the options. Creates a directory that does not exist.
    ///
    /// # Errors
    /// IOError of the directory; Corruption of the file of a backup.
    pub fn open(opts: &BackupEngineOptions, env: &Env) -> Result<Self, Error> {
        Ok(BackupEngine { engine: ironstone::BackupEngine::open(opts.inner.clone(), &env.0)? })
    }

    /// Creates a backup. The backup has the memtables by its copy of the WAL.
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

    /// Deletes all backups but the newest.
    ///
    /// # Errors
    /// IOError of a file.
    pub fn purge_old_backups(&mut self, num_backups_to_keep: usize) -> Result<(), Error> {
        Ok(self.engine.purge_old_backups(num_backups_to_keep)?)
    }

    /// Writes the newest backup to a directory. The database of the directory must not be open.
    ///
    /// # Errors
    /// NotFound without a backup; Corruption if a file has another checksum than the backup says.
    pub fn restore_from_latest_backup<D: AsRef<Path>, W: AsRef<Path>>(
        &mut self,
        db_dir: D,
        wal_dir: W,
        opts: &RestoreOptions,
    ) -> Result<(), Error> {
        Ok(self.engine.restore_db_from_latest_backup(db_dir, wal_dir, &opts.inner)?)
    }

    /// Writes a backup to a directory. The database of the directory must not be open.
    ///
    /// # Errors
    /// As [`Self::restore_from_latest_backup`].
    pub fn restore_from_backup<D: AsRef<Path>, W: AsRef<Path>>(
        &mut self,
        db_dir: D,
        wal_dir: W,
        opts: &RestoreOptions,
        backup_id: u32,
    ) -> Result<(), Error> {
        Ok(self.engine.restore_db_from_backup(backup_id, db_dir, wal_dir, &opts.inner)?)
    }

    /// Compares the files of a backup with the sizes that the backup says.
    ///
    /// # Errors
    /// NotFound without the backup; Corruption of a file.
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
    /// None.
    pub fn new<P: AsRef<Path>>(backup_dir: P) -> Result<Self, Error> {
        Ok(BackupEngineOptions { inner: ironstone::BackupEngineOptions::new(backup_dir.as_ref()) })
    }

    /// A hint: files are copied one after the other.
    pub fn set_max_background_operations(&mut self, max_background_operations: i32) {
        let _ = max_background_operations;
    }

    /// Sets if files are synced.
    pub fn set_sync(&mut self, sync: bool) {
        self.inner.sync = sync;
    }

    /// Returns if files are synced.
    pub fn get_sync(&mut self) -> bool {
        self.inner.sync
    }
}

impl RestoreOptions {
    /// Sets if the WAL files of the directory stay.
    pub fn set_keep_log_files(&mut self, keep_log_files: bool) {
        self.inner.keep_log_files = keep_log_files;
    }
}
