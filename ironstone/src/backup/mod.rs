//! Backups: copies of a database in a backup directory with RocksDB's layout.
//!
//! ```text
//!  meta/1                  text: the files of backup 1           (`meta`)
//!  private/1/              MANIFEST, CURRENT, OPTIONS, WALs of backup 1
//!  shared_checksum/        SST files of all backups: 000012_s<session>_<size>.sst
//!  shared/                 SST files by number alone (`share_files_with_checksum = false`)
//!
//!  create: copy ─► sync files ─► sync directories ─► meta/.3.tmp ─► rename to meta/3 ─► sync
//! ```
//! Invariant: a meta file exists only if all its files are complete and durable. A backup that a crash interrupts has no
//! meta file; the next garbage collection removes its files. A directory has one engine that writes. Facts: RocksDB
//! `utilities/backup/backup_engine.cc`.

mod create;
mod meta;
mod options;
mod restore;

use std::collections::{BTreeMap, BTreeSet};
use std::path::{Path, PathBuf};
use std::sync::Arc;

use base::{Arrange, Error, Result, SequenceNumber};
use env::fs::refuse_empty_path;
use env::logger::LogLevel;
use env::rate::{RateLimiter, RateOptions};
use env::sync::{AtomicBool, Ordering, RwLock, RwLockWriteGuard};
use env::{Env, FileSystem};

use crate::transfer::{
    CopySettings, Unsynced, buffer_bytes, create_dir_durably, in_parallel, read_file, remove_dir, sync_dir,
};
use meta::{Meta, MetaFile};
pub use options::{
    BackupEngineOptions, CreateBackupOptions, ExcludeFiles, Progress, RestoreMode, RestoreOptions,
    ShareFilesNaming,
};

const META: &str = "meta";
const PRIVATE: &str = "private";
const SHARED: &str = "shared";
const SHARED_CHECKSUM: &str = "shared_checksum";

/// The largest size of a meta file.
const META_BYTES_MAX: u64 = 1 << 30;

/// The number of a backup. The first backup is 1.
///
/// ```
/// # use ironstone::{BackupEngine, BackupEngineOptions, CreateBackupOptions, Db, Options, RestoreOptions};
/// # let options = Options::in_memory();
/// # let db = Db::open("data", options.clone())?;
/// # db.put(b"k", b"v")?;
/// let backups = BackupEngine::open(BackupEngineOptions::new("backups"), &options.db.env)?;
/// assert_eq!(backups.create_new_backup(&db)?, 1);
/// assert_eq!(backups.create_new_backup(&db)?, 2);
/// # Ok::<(), ironstone::Error>(())
/// ```
pub type BackupId = u32;

/// The content of a backup. RocksDB's `BackupInfo`.
///
/// ```
/// # use ironstone::{BackupEngine, BackupEngineOptions, CreateBackupOptions, Db, Options, RestoreOptions};
/// # let options = Options::in_memory();
/// # let db = Db::open("data", options.clone())?;
/// # db.put(b"k", b"v")?;
/// let backups = BackupEngine::open(BackupEngineOptions::new("backups"), &options.db.env)?;
/// backups.create_new_backup(&db)?;
/// let info = &backups.backup_info()[0];
/// assert_eq!(info.id, 1);
/// assert!(info.files.iter().any(|(path, _)| path.ends_with("CURRENT")));
/// # Ok::<(), ironstone::Error>(())
/// ```
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct BackupInfo {
    /// The number of the backup.
    pub id: BackupId,
    /// When the backup was made, in seconds since 1970.
    pub timestamp: i64,
    /// The backup holds every write up to this sequence number.
    pub sequence: SequenceNumber,
    /// Bytes of all files. Shared files count in each backup.
    pub size: u64,
    /// The files, as paths below the backup directory, with their sizes.
    pub files: Vec<(String, u64)>,
    /// Files that the backup excludes.
    pub excluded_files: Vec<String>,
    /// The metadata that the application gave to the backup.
    pub app_metadata: Vec<u8>,
}

/// Creates, verifies, restores and deletes the backups of one directory.
///
/// A clone is a second handle of the same engine. Restores, verifications and lists run concurrently. A backup, a deletion and a
/// garbage collection wait for all other calls of the engine, and all other calls wait for them.
///
/// ```
/// use ironstone::{BackupEngine, BackupEngineOptions, Db, Options, RestoreOptions};
///
/// let options = Options::in_memory();
/// let db = Db::open("data", options.clone())?;
/// db.put(b"k", b"v")?;
///
/// let backups = BackupEngine::open(BackupEngineOptions::new("backups"), &options.db.env)?;
/// let id = backups.create_new_backup(&db)?;
/// db.put(b"k", b"later")?;
/// db.close()?;
///
/// backups.restore_db_from_backup(id, "data", "data", &RestoreOptions::default())?;
/// let db = Db::open("data", options)?;
/// assert_eq!(db.get(b"k")?.as_deref(), Some(&b"v"[..]));
/// # Ok::<(), ironstone::Error>(())
/// ```
#[derive(Clone)]
pub struct BackupEngine {
    inner: Arc<Inner>,
}

struct Inner {
    options: BackupEngineOptions,
    /// The environment of databases.
    db_env: Env,
    /// The environment of the backup directory.
    env: Env,
    read_only: bool,
    backup_limiter: Option<Arc<RateLimiter>>,
    restore_limiter: Option<Arc<RateLimiter>>,
    stopped: Arc<AtomicBool>,
    /// Held during each operation, I/O included: for reading by operations that do not change the directory. A thread that takes
    /// the locks of several engines takes all of them for reading, in the order of their addresses.
    state: RwLock<State>,
}

#[derive(Default)]
struct State {
    backups: BTreeMap<BackupId, Meta>,
    /// The backups with a wrong meta file or a wrong file, each with its error.
    corrupt: BTreeMap<BackupId, Error>,
    /// The largest number that any backup had. The next backup gets the next number.
    latest: BackupId,
}

impl BackupEngine {
    /// Opens the backup directory, and creates the directory if missing. `env` is the environment of the databases.
    ///
    /// Backups whose files are missing or have another size are listed by [`BackupEngine::corrupted_backups`].
    ///
    /// # Errors
    /// InvalidArgument for options that contradict each other; IoError of the file system.
    ///
    /// ```
    /// # use ironstone::{BackupEngine, BackupEngineOptions, CreateBackupOptions, Db, Options, RestoreOptions};
    /// # let options = Options::in_memory();
    /// # let db = Db::open("data", options.clone())?;
    /// # db.put(b"k", b"v")?;
    /// let backups = BackupEngine::open(BackupEngineOptions::new("backups"), &options.db.env)?;
    /// assert!(backups.backup_info().is_empty());
    /// # Ok::<(), ironstone::Error>(())
    /// ```
    pub fn open(options: BackupEngineOptions, env: &Env) -> Result<BackupEngine> {
        BackupEngine::open_as(options, env, false)
    }

    /// Opens the backup directory for restores and verification. Nothing in the directory changes.
    ///
    /// # Errors
    /// IoError if the directory does not exist.
    ///
    /// ```
    /// # use ironstone::{BackupEngine, BackupEngineOptions, CreateBackupOptions, Db, Options, RestoreOptions};
    /// # let options = Options::in_memory();
    /// # let db = Db::open("data", options.clone())?;
    /// # db.put(b"k", b"v")?;
    /// let backups = BackupEngine::open(BackupEngineOptions::new("backups"), &options.db.env)?;
    /// backups.create_new_backup(&db)?;
    /// let reader = BackupEngine::open_read_only(BackupEngineOptions::new("backups"), &options.db.env)?;
    /// assert_eq!(reader.backup_info().len(), 1);
    /// assert!(reader.delete_backup(1).is_err());
    /// # Ok::<(), ironstone::Error>(())
    /// ```
    pub fn open_read_only(options: BackupEngineOptions, env: &Env) -> Result<BackupEngine> {
        BackupEngine::open_as(options, env, true)
    }

    fn open_as(options: BackupEngineOptions, db_env: &Env, read_only: bool) -> Result<BackupEngine> {
        if !matches!(options.schema_version, 1 | 2) {
            return Err(Error::invalid_argument(format!(
                "BackupEngineOptions::schema_version is {}; 1 and 2 are supported",
                options.schema_version
            )));
        }
        if options.destroy_old_data && read_only {
            return Err(Error::invalid_argument("destroy_old_data for an engine that only reads"));
        }
        refuse_empty_path(&options.backup_dir)?;
        let env = options.backup_env.clone().unwrap_or_else(|| db_env.clone());
        let limiter = |given: &Option<Arc<RateLimiter>>, rate: u64| match (given, rate) {
            (Some(given), _) => Ok(Some(given.clone())),
            (None, 0) => Ok(None),
            (None, rate) => {
                let rate = i64::try_from(rate).unwrap_or(i64::MAX);
                RateLimiter::new(RateOptions::new(rate), env.clock.clone()).map(|made| Some(Arc::new(made)))
            }
        };
        let inner = Inner {
            backup_limiter: limiter(&options.backup_rate_limiter, options.backup_rate_limit)?,
            restore_limiter: limiter(&options.restore_rate_limiter, options.restore_rate_limit)?,
            db_env: db_env.clone(),
            env: env.clone(),
            read_only,
            stopped: Arc::default(),
            state: RwLock::default(),
            options,
        };
        inner.load().map_err(|error| error.doing("opening a backup directory"))?;
        inner.log_open();
        Ok(BackupEngine { inner: Arc::new(inner) })
    }

    /// Lists the backups, oldest first.
    ///
    /// ```
    /// # use ironstone::{BackupEngine, BackupEngineOptions, CreateBackupOptions, Db, Options, RestoreOptions};
    /// # let options = Options::in_memory();
    /// # let db = Db::open("data", options.clone())?;
    /// # db.put(b"k", b"v")?;
    /// let backups = BackupEngine::open(BackupEngineOptions::new("backups"), &options.db.env)?;
    /// backups.create_new_backup(&db)?;
    /// assert_eq!(backups.backup_info()[0].id, 1);
    /// # Ok::<(), ironstone::Error>(())
    /// ```
    pub fn backup_info(&self) -> Vec<BackupInfo> {
        let info = |(id, meta): (&BackupId, &Meta)| {
            let files: Vec<_> = meta.files.iter().map(|f| (f.name.clone(), f.size.unwrap_or(0))).collect();
            BackupInfo {
                id: *id,
                timestamp: meta.timestamp_s,
                sequence: meta.sequence,
                size: files.iter().map(|(_, size)| size).sum(),
                files,
                excluded_files: meta.excluded.clone(),
                app_metadata: meta.app_metadata.clone(),
            }
        };
        self.inner.state.read().backups.iter().map(info).collect()
    }

    /// Lists the backups that cannot be restored, each with the reason.
    ///
    /// ```
    /// # use ironstone::{BackupEngine, BackupEngineOptions, CreateBackupOptions, Db, Options, RestoreOptions};
    /// # let options = Options::in_memory();
    /// # let db = Db::open("data", options.clone())?;
    /// # db.put(b"k", b"v")?;
    /// let backups = BackupEngine::open(BackupEngineOptions::new("backups"), &options.db.env)?;
    /// backups.create_new_backup(&db)?;
    /// assert!(backups.corrupted_backups().is_empty());
    /// # Ok::<(), ironstone::Error>(())
    /// ```
    pub fn corrupted_backups(&self) -> Vec<(BackupId, Error)> {
        self.inner.state.read().corrupt.iter().map(|(id, error)| (*id, error.clone())).collect()
    }

    /// Deletes all backups but the newest `keep`. Shared files that no backup needs are deleted too.
    ///
    /// # Errors
    /// NotSupported for an engine that only reads; IoError of the file system.
    ///
    /// ```
    /// # use ironstone::{BackupEngine, BackupEngineOptions, CreateBackupOptions, Db, Options, RestoreOptions};
    /// # let options = Options::in_memory();
    /// # let db = Db::open("data", options.clone())?;
    /// # db.put(b"k", b"v")?;
    /// let backups = BackupEngine::open(BackupEngineOptions::new("backups"), &options.db.env)?;
    /// for _ in 0..3 {
    ///     backups.create_new_backup(&db)?;
    /// }
    /// backups.purge_old_backups(1)?;
    /// assert_eq!(backups.backup_info().iter().map(|backup| backup.id).collect::<Vec<_>>(), [3]);
    /// # Ok::<(), ironstone::Error>(())
    /// ```
    pub fn purge_old_backups(&self, keep: usize) -> Result<()> {
        let mut state = self.inner.writing()?;
        let count = state.backups.len().saturating_sub(keep);
        let old: Vec<_> = state.backups.keys().copied().take(count).collect();
        for id in old {
            self.inner.forget(&mut state, id)?;
            self.inner.log(format_args!("Deleted backup {id}"));
        }
        self.inner.collect(&state)
    }

    /// Deletes one backup, valid or corrupt.
    ///
    /// # Errors
    /// NotFound if there is no such backup; as [`BackupEngine::purge_old_backups`].
    ///
    /// ```
    /// # use ironstone::{BackupEngine, BackupEngineOptions, CreateBackupOptions, Db, Options, RestoreOptions};
    /// # let options = Options::in_memory();
    /// # let db = Db::open("data", options.clone())?;
    /// # db.put(b"k", b"v")?;
    /// let backups = BackupEngine::open(BackupEngineOptions::new("backups"), &options.db.env)?;
    /// let id = backups.create_new_backup(&db)?;
    /// backups.delete_backup(id)?;
    /// assert!(backups.backup_info().is_empty());
    /// # Ok::<(), ironstone::Error>(())
    /// ```
    pub fn delete_backup(&self, id: BackupId) -> Result<()> {
        let mut state = self.inner.writing()?;
        if !state.backups.contains_key(&id) && !state.corrupt.contains_key(&id) {
            return Err(Error::not_found(format!("Backup not found: {id}")));
        }
        self.inner.forget(&mut state, id)?;
        self.inner.log(format_args!("Deleted backup {id}"));
        self.inner.collect(&state)
    }

    /// Deletes the files that no backup needs: the rest of interrupted backups and deletions.
    ///
    /// # Errors
    /// The errors of [`BackupEngine::purge_old_backups`].
    ///
    /// ```
    /// # use ironstone::{BackupEngine, BackupEngineOptions, CreateBackupOptions, Db, Options, RestoreOptions};
    /// # let options = Options::in_memory();
    /// # let db = Db::open("data", options.clone())?;
    /// # db.put(b"k", b"v")?;
    /// let backups = BackupEngine::open(BackupEngineOptions::new("backups"), &options.db.env)?;
    /// backups.create_new_backup(&db)?;
    /// backups.garbage_collect()?; // removes nothing that a backup needs
    /// backups.verify_backup(1, true)?;
    /// # Ok::<(), ironstone::Error>(())
    /// ```
    pub fn garbage_collect(&self) -> Result<()> {
        let state = self.inner.writing()?;
        self.inner.collect(&state)
    }

    /// Compares the files of a backup with its meta file: the sizes, and the content if `verify_with_checksum`. The rate limiter of
    /// backups limits the reads.
    ///
    /// # Errors
    /// NotFound if there is no such backup, or with the first file that is missing; Corruption with the first file that is
    /// different, or that was missing at the open.
    ///
    /// ```
    /// # use ironstone::{BackupEngine, BackupEngineOptions, CreateBackupOptions, Db, Options, RestoreOptions};
    /// # let options = Options::in_memory();
    /// # let db = Db::open("data", options.clone())?;
    /// # db.put(b"k", b"v")?;
    /// let backups = BackupEngine::open(BackupEngineOptions::new("backups"), &options.db.env)?;
    /// let id = backups.create_new_backup(&db)?;
    /// backups.verify_backup(id, true)?;
    /// assert!(backups.verify_backup(7, false).is_err());
    /// # Ok::<(), ironstone::Error>(())
    /// ```
    pub fn verify_backup(&self, id: BackupId, verify_with_checksum: bool) -> Result<()> {
        let state = self.inner.state.read();
        if !state.backups.contains_key(&id) && !state.corrupt.contains_key(&id) {
            return Err(Error::not_found(format!("no backup to verify: {id}")));
        }
        let meta = state.find(id)?;
        self.inner.verify(meta, verify_with_checksum).map_err(|error| error.doing("verifying a backup"))
    }

    /// Ends the backup that runs, and rejects new backups of this engine.
    ///
    /// ```
    /// # use ironstone::{BackupEngine, BackupEngineOptions, CreateBackupOptions, Db, Options, RestoreOptions};
    /// # let options = Options::in_memory();
    /// # let db = Db::open("data", options.clone())?;
    /// # db.put(b"k", b"v")?;
    /// let backups = BackupEngine::open(BackupEngineOptions::new("backups"), &options.db.env)?;
    /// backups.stop_backup();
    /// assert!(backups.create_new_backup(&db).is_err());
    /// # Ok::<(), ironstone::Error>(())
    /// ```
    pub fn stop_backup(&self) {
        self.inner.stopped.store(true, Ordering::Release);
    }
}

impl State {
    /// Returns the description of a backup that can be restored.
    ///
    /// # Errors
    /// The reason why the backup is corrupt; NotFound if there is none.
    fn find(&self, id: BackupId) -> Result<&Meta> {
        if let Some(error) = self.corrupt.get(&id) {
            return Err(error.clone());
        }
        self.backups.get(&id).ok_or_else(|| Error::not_found(format!("Backup not found: {id}")))
    }
}

impl Inner {
    /// Writes a line to the info log of the options.
    fn log(&self, message: std::fmt::Arguments<'_>) {
        if let Some(logger) = &self.options.info_log {
            logger.log(LogLevel::Info, message);
        }
    }

    fn log_open(&self) {
        let state = self.state.read();
        for (id, error) in &state.corrupt {
            self.log(format_args!("Backup {id} corrupted -- {error}"));
        }
        self.log(format_args!("Latest backup is {}", state.latest));
        self.log(format_args!("Initialized BackupEngine"));
    }

    fn path(&self, relative: &str) -> PathBuf {
        self.options.backup_dir.join(relative)
    }

    fn meta_path(&self, id: BackupId) -> PathBuf {
        self.path(&format!("{META}/{id}"))
    }

    fn fs(&self) -> &dyn FileSystem {
        &*self.env.fs
    }

    fn writing(&self) -> Result<RwLockWriteGuard<'_, State>> {
        if self.read_only {
            return Err(Error::not_supported("the backup engine is open for reading only"));
        }
        Ok(self.state.write())
    }

    fn copy_settings(&self, limiter: &Option<Arc<RateLimiter>>) -> CopySettings {
        let buffer_bytes = buffer_bytes(self.options.io_buffer_size, limiter.as_deref());
        CopySettings { buffer_bytes, sync: self.options.sync, limiter: limiter.clone(), on_bytes: None }
    }

    /// Reads the meta files.
    fn load(&self) -> Result<()> {
        let (fs, mut state) = (self.fs(), self.state.write());
        if !self.read_only {
            for dir in ["", META, PRIVATE, SHARED, SHARED_CHECKSUM] {
                create_dir_durably(fs, &self.path(dir))?;
            }
        }
        let mut ids: Vec<BackupId> =
            fs.list(&self.path(META))?.iter().filter_map(|name| name.parse().ok()).collect();
        ids.arrange_by(|a, b| b.cmp(a));
        state.latest = ids.first().copied().unwrap_or(0);
        if self.options.destroy_old_data {
            for id in ids {
                self.forget(&mut state, id)?;
            }
            return self.collect(&state);
        }
        let limit = if self.read_only { self.options.max_valid_backups_to_open } else { usize::MAX };
        let sizes = self.sizes()?;
        for id in ids {
            if state.backups.len() >= limit {
                break;
            }
            match self.load_meta(id, &sizes) {
                Ok(meta) => drop(state.backups.insert(id, meta)),
                Err(error) => drop(state.corrupt.insert(id, error.file(self.meta_path(id)))),
            }
        }
        Ok(())
    }

    /// Returns the sizes of all files in the backup directory, by relative path.
    fn sizes(&self) -> Result<BTreeMap<String, u64>> {
        let mut dirs = vec![SHARED.to_string(), SHARED_CHECKSUM.to_string()];
        let private = self.path(PRIVATE);
        let ids = if self.fs().exists(&private)? { self.fs().list(&private)? } else { Vec::new() };
        dirs.extend(ids.iter().map(|id| format!("{PRIVATE}/{id}")));
        let mut sizes = BTreeMap::new();
        for dir in dirs {
            let path = self.path(&dir);
            if !self.fs().exists(&path)? || !self.fs().is_dir(&path)? {
                continue;
            }
            for name in self.fs().list(&path)? {
                let size = self.fs().file_size(&path.join(&name))?;
                sizes.insert(format!("{dir}/{name}"), size);
            }
        }
        Ok(sizes)
    }

    fn load_meta(&self, id: BackupId, sizes: &BTreeMap<String, u64>) -> Result<Meta> {
        let mut meta = Meta::parse(&self.fs().read_all(&self.meta_path(id), META_BYTES_MAX)?)?;
        for file in &mut meta.files {
            let path = self.path(&file.name);
            let found = *sizes
                .get(&file.name)
                .ok_or_else(|| Error::corruption(format!("{} of the backup is missing", path.display())))?;
            if let Some(expected) = file.size.filter(|expected| *expected != found) {
                return Err(Error::corruption(format!(
                    "{} of the backup has {found} bytes where {expected} bytes were expected",
                    path.display()
                )));
            }
            file.size = Some(found);
        }
        Ok(meta)
    }

    fn verify(&self, meta: &Meta, with_checksum: bool) -> Result<()> {
        let check = |at: usize, _: &mut Unsynced| self.verify_file(&meta.files[at], with_checksum);
        let threads = if with_checksum { self.options.max_background_operations } else { 1 };
        in_parallel(&*self.env.executor, threads, meta.files.len(), &check).map(drop)
    }

    fn verify_file(&self, file: &MetaFile, with_checksum: bool) -> Result<()> {
        let path = self.path(&file.name);
        let size = self.fs().file_size(&path).map_err(|error| match error.is_not_found() {
            true => Error::not_found(format!("File missing: {}", path.display())),
            false => error,
        })?;
        if let Some(expected) = file.size.filter(|expected| *expected != size) {
            return Err(
                Error::corruption(format!("{size} bytes where {expected} bytes were expected")).file(&path)
            );
        }
        let Some(expected) = file.crc.filter(|_| with_checksum) else { return Ok(()) };
        let settings = self.copy_settings(&self.backup_limiter);
        let read = read_file(self.fs(), &path, None, &settings, &mut |_| Ok(()))?;
        if read.crc != expected {
            return Err(Error::corruption(format!(
                "the CRC32C is {:08x} where {expected:08x} was expected",
                read.crc
            ))
            .file(&path));
        }
        Ok(())
    }

    /// Deletes the meta file of a backup: from now on the backup does not exist.
    fn forget(&self, state: &mut State, id: BackupId) -> Result<()> {
        match self.fs().unlink(&self.meta_path(id)) {
            Err(error) if !error.is_not_found() => return Err(error),
            _ => {}
        }
        if self.options.sync {
            sync_dir(self.fs(), &self.path(META))?;
        }
        state.backups.remove(&id);
        state.corrupt.remove(&id);
        Ok(())
    }

    /// Deletes the files that no backup needs. Files that a corrupt backup names stay.
    fn collect(&self, state: &State) -> Result<()> {
        let fs = self.fs();
        let mut needed: BTreeSet<String> =
            state.backups.values().flat_map(|meta| meta.files.iter().map(|file| file.name.clone())).collect();
        for id in state.corrupt.keys() {
            let Ok(content) = fs.read_all(&self.meta_path(*id), META_BYTES_MAX) else { continue };
            let text = String::from_utf8_lossy(&content).into_owned();
            needed.extend(text.lines().filter_map(|line| line.split(' ').next()).map(str::to_string));
        }
        for dir in [SHARED, SHARED_CHECKSUM] {
            for name in fs.list(&self.path(dir))? {
                let relative = format!("{dir}/{name}");
                if !needed.contains(&relative) {
                    fs.unlink(&self.path(&relative))?;
                }
            }
        }
        for name in fs.list(&self.path(PRIVATE))? {
            let dir = self.path(&format!("{PRIVATE}/{name}"));
            let id = name.parse::<BackupId>();
            let known = id.is_ok_and(|id| state.backups.contains_key(&id) || state.corrupt.contains_key(&id));
            if !known && fs.is_dir(&dir)? {
                remove_dir(fs, &dir)?;
            }
        }
        for name in fs.list(&self.path(META))?.iter().filter(|name| name.ends_with(".tmp")) {
            fs.unlink(&self.path(META).join(name))?;
        }
        Ok(())
    }
}

/// Reads the id of the session that wrote an SST file. `None`: an old file without session id.
///
/// # Errors
/// Errors of opening the SST file.
fn session_of(fs: &dyn FileSystem, path: &Path) -> Result<Option<String>> {
    use table::any::AnyReader;
    use table::sst::OpenOptions;
    let (size, file) = (fs.file_size(path)?, fs.open_random(path, &env::ReadHints::default())?);
    let reader = AnyReader::open(file, size, &OpenOptions::default())?;
    let session = String::from_utf8_lossy(&reader.properties().db_session_id).into_owned();
    let plain = !session.is_empty() && session.bytes().all(|byte| byte.is_ascii_alphanumeric());
    Ok(plain.then_some(session))
}
