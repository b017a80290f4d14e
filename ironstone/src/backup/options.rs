//! Options of the backup engine, by RocksDB's names.

use std::path::PathBuf;
use std::sync::Arc;

use base::Result;
use env::rate::RateLimiter;
use env::{Env, Logger};

/// Selects the names of SST files in `shared_checksum/`. RocksDB's `ShareFilesNaming`.
///
/// ```
/// use ironstone::{BackupEngineOptions, ShareFilesNaming};
///
/// let naming = ShareFilesNaming::UseDbSessionId;
/// let options = BackupEngineOptions { share_files_with_checksum_naming: naming, ..BackupEngineOptions::new("backups") };
/// ```
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub enum ShareFilesNaming {
    /// Number, CRC32C and size: each file is read once more before the copy.
    LegacyCrc32cAndFileSize,
    /// Number and session id.
    UseDbSessionId,
    /// Number, session id and size. Default.
    #[default]
    UseDbSessionIdAndFileSize,
}

/// Options of a backup engine. RocksDB's `BackupEngineOptions`.
///
/// ```
/// # use ironstone::{BackupEngine, BackupEngineOptions, Options};
/// let options = BackupEngineOptions { max_background_operations: 4, ..BackupEngineOptions::new("backups") };
/// let backups = BackupEngine::open(options, &Options::in_memory().db.env)?;
/// # Ok::<(), ironstone::Error>(())
/// ```
#[derive(Clone)]
pub struct BackupEngineOptions {
    /// The directory of the backups. Created if missing.
    pub backup_dir: PathBuf,
    /// The environment of the backup directory. `None`, the default: the environment of the engine.
    pub backup_env: Option<Env>,
    /// Gets a line for each open, backup, deletion and restore, and for each corrupt backup. Default: none.
    pub info_log: Option<Arc<dyn Logger>>,
    /// Stores each SST file once for all backups. Default true.
    pub share_table_files: bool,
    /// Names shared files by content, so that databases with the same file numbers can share the directory. Default true.
    pub share_files_with_checksum: bool,
    /// Selects the names of shared files. Default: number, session id and size.
    pub share_files_with_checksum_naming: ShareFilesNaming,
    /// Syncs all files and directories, so that a backup survives a power failure. Default true.
    pub sync: bool,
    /// Deletes all backups in the directory at open. Default false.
    pub destroy_old_data: bool,
    /// Copies WALs too. If false, a backup without flush lacks the entries that are only in WALs. Default true.
    pub backup_log_files: bool,
    /// Bytes per second for backups. 0, the default: no limit. `backup_rate_limiter` takes precedence.
    pub backup_rate_limit: u64,
    /// The rate limiter of backups. Default: none.
    pub backup_rate_limiter: Option<Arc<RateLimiter>>,
    /// Bytes per second for restores. 0, the default: no limit. `restore_rate_limiter` takes precedence.
    pub restore_rate_limit: u64,
    /// The rate limiter of restores. Default: none.
    pub restore_rate_limiter: Option<Arc<RateLimiter>>,
    /// Bytes between two calls of the progress callback. Default 4 MiB.
    pub callback_trigger_interval_size: u64,
    /// The number of threads that copy the files of a backup or a restore, and that read files to verify a backup. The
    /// thread of the caller is one of them. Default 1; 0 stands for 1; more than 64 act as 64.
    pub max_background_operations: usize,
    /// How many backups a read-only engine opens, newest first. Default: all.
    pub max_valid_backups_to_open: usize,
    /// The schema of the meta files: 1, the default, for all releases of RocksDB, or 2 for RocksDB 6.19 and later.
    pub schema_version: u32,
    /// Bytes of the buffer of a copy, from 4 KiB to 64 MiB; other values act as the nearer limit. 0, the default: one burst of the
    /// rate limiter, or 256 KiB without rate limiter.
    pub io_buffer_size: usize,
}

impl BackupEngineOptions {
    /// Returns the default options for backups in `backup_dir`.
    ///
    /// ```
    /// # use ironstone::BackupEngineOptions;
    /// let options = BackupEngineOptions::new("backups");
    /// assert!(options.share_table_files && options.sync);
    /// ```
    pub fn new(backup_dir: impl Into<PathBuf>) -> Self {
        BackupEngineOptions {
            backup_dir: backup_dir.into(),
            backup_env: None,
            info_log: None,
            share_table_files: true,
            share_files_with_checksum: true,
            share_files_with_checksum_naming: ShareFilesNaming::default(),
            sync: true,
            destroy_old_data: false,
            backup_log_files: true,
            backup_rate_limit: 0,
            backup_rate_limiter: None,
            restore_rate_limit: 0,
            restore_rate_limiter: None,
            callback_trigger_interval_size: 4 << 20,
            max_background_operations: 1,
            max_valid_backups_to_open: usize::MAX,
            schema_version: 1,
            io_buffer_size: 0,
        }
    }
}

/// Called each time that a backup copied `callback_trigger_interval_size` bytes. An error ends the backup.
///
/// ```
/// # use ironstone::{BackupEngine, BackupEngineOptions, CreateBackupOptions, Db, Options, RestoreOptions};
/// # let options = Options::in_memory();
/// # let db = Db::open("data", options.clone())?;
/// # db.put(b"k", b"v")?;
/// let backups = BackupEngine::open(BackupEngineOptions::new("backups"), &options.db.env)?;
/// let calls = std::sync::Arc::new(std::sync::atomic::AtomicU32::new(0));
/// let counted = calls.clone();
/// let progress: ironstone::Progress = std::sync::Arc::new(move || {
///     counted.fetch_add(1, std::sync::atomic::Ordering::Relaxed);
///     Ok(())
/// });
/// let options = CreateBackupOptions { progress_callback: Some(progress), ..Default::default() };
/// backups.create_new_backup_with(&db, &options)?;
/// assert_eq!(calls.load(std::sync::atomic::Ordering::Relaxed), 0); // less than 4 MiB
/// # Ok::<(), ironstone::Error>(())
/// ```
pub type Progress = Arc<dyn Fn() -> Result<()> + Send + Sync>;

/// Returns true for a shared file, by its path in the backup directory, that the backup must not copy.
///
/// ```
/// use ironstone::{CreateBackupOptions, ExcludeFiles};
///
/// let known = std::collections::HashSet::from(["shared_checksum/000012_s0_1000.sst".to_string()]);
/// let exclude: ExcludeFiles = std::sync::Arc::new(move |path| known.contains(path));
/// let options = CreateBackupOptions { exclude_files: Some(exclude), ..CreateBackupOptions::default() };
/// ```
pub type ExcludeFiles = Arc<dyn Fn(&str) -> bool + Send + Sync>;

/// Options of one backup. RocksDB's `CreateBackupOptions`.
///
/// ```
/// # use ironstone::{BackupEngine, BackupEngineOptions, CreateBackupOptions, Db, Options, RestoreOptions};
/// # let options = Options::in_memory();
/// # let db = Db::open("data", options.clone())?;
/// # db.put(b"k", b"v")?;
/// let backups = BackupEngine::open(BackupEngineOptions::new("backups"), &options.db.env)?;
/// let options = CreateBackupOptions { flush_before_backup: true, app_metadata: b"nightly".to_vec(), ..Default::default() };
/// backups.create_new_backup_with(&db, &options)?;
/// assert_eq!(backups.backup_info()[0].app_metadata, b"nightly");
/// # Ok::<(), ironstone::Error>(())
/// ```
#[derive(Clone, Default)]
pub struct CreateBackupOptions {
    /// Flushes all memtables first. Default false. Entries that were written with `disableWAL` need the flush.
    pub flush_before_backup: bool,
    /// Flushes all column families in one commit. Acts with `flush_before_backup`. Default false.
    pub atomic_flush: bool,
    /// Metadata of the application, at most 1 MiB. Default empty.
    pub app_metadata: Vec<u8>,
    /// Called each time the backup has copied `callback_trigger_interval_size` bytes. Default: none. The threads that copy files
    /// call this function and `exclude_files`. No two of these calls run at the same time.
    pub progress_callback: Option<Progress>,
    /// Selects the shared files that the backup does not copy. Requires `schema_version` 2. A restore takes these
    /// files from other backup directories. Default: none. Called while other files are copied, from the threads of the backup;
    /// no two calls of this function and of `progress_callback` run at the same time.
    pub exclude_files: Option<ExcludeFiles>,
}

/// Selects the files of the database directory that a restore keeps. RocksDB's `RestoreOptions::Mode`.
///
/// ```
/// use ironstone::{RestoreMode, RestoreOptions};
///
/// let options = RestoreOptions { mode: RestoreMode::KeepLatestDbSessionIdFiles, ..RestoreOptions::default() };
/// ```
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub enum RestoreMode {
    /// Deletes all files of the old database. Default.
    #[default]
    PurgeAllFiles,
    /// Keeps SST files with the number, session id and size of the file in the backup.
    KeepLatestDbSessionIdFiles,
    /// Keeps SST files with the number, size and CRC32C of the file in the backup. Reads each such file.
    VerifyChecksum,
}

/// Options of a restore. RocksDB's `RestoreOptions`.
///
/// ```
/// # use ironstone::RestoreOptions;
/// let options = RestoreOptions { keep_log_files: true, ..RestoreOptions::default() };
/// assert!(!RestoreOptions::default().keep_log_files && options.keep_log_files);
/// ```
#[derive(Clone, Default)]
pub struct RestoreOptions {
    /// Keeps the WALs of the database, and moves archived WALs back. Default false. For backups without WALs.
    pub keep_log_files: bool,
    /// The files of the database directory that the restore keeps. Default: `PurgeAllFiles`.
    pub mode: RestoreMode,
    /// The engines of other directories that hold the files that the backup excludes.
    pub alternate_dirs: Vec<super::BackupEngine>,
}
