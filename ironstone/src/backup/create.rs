//! Creates one backup.

use std::path::PathBuf;

use base::stats::Ticker;
use base::{Error, Kind, Result};
use engine::db::{LiveFileKind, LiveFileStorageInfo, LiveFilesStorageInfoOptions};
use env::sync::{AtomicBool, AtomicU64, Mutex, Ordering};
use format::edit::CRC32C_CHECKSUM_FUNC_NAME;
use std::sync::Arc;

use super::meta::{APP_METADATA_BYTES_MAX, Meta, MetaFile};
use super::{
    BackupEngine, BackupId, CreateBackupOptions, Inner, META, PRIVATE, SHARED, SHARED_CHECKSUM,
    ShareFilesNaming, State, session_of,
};
use crate::Db;
use crate::transfer::{
    CopySettings, KeepFiles, Unsynced, copy_file_unsynced, in_parallel, read_file, remove_dir, sync_dir,
};

impl BackupEngine {
    /// Creates a backup of a database. Returns the number of the backup.
    ///
    /// # Errors
    /// The errors of [`BackupEngine::create_new_backup_with`].
    ///
    /// ```
    /// # use ironstone::{BackupEngine, BackupEngineOptions, CreateBackupOptions, Db, Options, RestoreOptions};
    /// # let options = Options::in_memory();
    /// # let db = Db::open("data", options.clone())?;
    /// # db.put(b"k", b"v")?;
    /// let backups = BackupEngine::open(BackupEngineOptions::new("backups"), &options.db.env)?;
    /// let id = backups.create_new_backup(&db)?;
    /// assert_eq!(id, 1);
    /// # Ok::<(), ironstone::Error>(())
    /// ```
    pub fn create_new_backup(&self, db: &Db) -> Result<BackupId> {
        self.create_new_backup_with(db, &CreateBackupOptions::default())
    }

    /// Creates a backup, with options. Writers of the database continue. Only SST files that no backup has are copied.
    ///
    /// # Errors
    /// NotSupported for an engine that only reads, for a secondary instance and for a follower; InvalidArgument for options that contradict each other;
    /// Incomplete after [`BackupEngine::stop_backup`]; Corruption if a file differs from its checksum in the MANIFEST or
    /// from the file of the same name in another backup; the background error that prevents a flush; IoError of the file
    /// system. After an error there is no new backup.
    ///
    /// ```
    /// use ironstone::{BackupEngine, BackupEngineOptions, CreateBackupOptions, Db, Options};
    ///
    /// let options = Options::in_memory();
    /// let db = Db::open("data", options.clone())?;
    /// let backups = BackupEngine::open(BackupEngineOptions::new("backups"), &options.db.env)?;
    /// let how = CreateBackupOptions {
    ///     flush_before_backup: true,
    ///     app_metadata: b"nightly".to_vec(),
    ///     ..CreateBackupOptions::default()
    /// };
    /// let id = backups.create_new_backup_with(&db, &how)?;
    /// assert_eq!(backups.backup_info()[0].app_metadata, b"nightly");
    /// backups.verify_backup(id, true)?;
    /// # Ok::<(), ironstone::Error>(())
    /// ```
    pub fn create_new_backup_with(&self, db: &Db, options: &CreateBackupOptions) -> Result<BackupId> {
        let inner = &*self.inner;
        let mut state = inner.writing()?;
        if options.app_metadata.len() > APP_METADATA_BYTES_MAX {
            return Err(Error::invalid_argument("App metadata too large"));
        }
        if options.exclude_files.is_some() && inner.options.schema_version < 2 {
            return Err(Error::invalid_argument("exclude_files requires schema_version >= 2"));
        }
        inner.check_stopped()?;
        let id = state.latest.checked_add(1);
        let id = id.ok_or_else(|| Error::not_supported("all numbers of backups are used"))?;
        let private = inner.path(&format!("{PRIVATE}/{id}"));
        if inner.fs().exists(&private)? {
            // An earlier backup of this number was interrupted. Delete its files.
            inner.collect(&state)?;
        }
        inner.log(format_args!("Started the backup process -- creating backup {id}"));
        let calling = Arc::new(Mutex::new(()));
        let mut job = NewBackup {
            inner,
            state: &state,
            options,
            id,
            meta: Meta::default(),
            settings: inner.settings_of(options, calling.clone()),
            calling,
            bytes: AtomicU64::new(0),
            checked: AtomicU64::new(0),
        };
        let made = job.run(db);
        let meta = std::mem::take(&mut job.meta);
        let (bytes, checked) = (job.bytes.into_inner(), job.checked.into_inner());
        if let Some(statistics) = &db.engine().options().statistics {
            statistics.add(Ticker::BackupReadBytes, bytes + checked);
            statistics.add(Ticker::BackupWriteBytes, bytes);
        }
        match made {
            Ok(()) => {
                state.latest = id;
                state.backups.insert(id, meta);
                inner.log(format_args!("Backup {id} done: {bytes} bytes copied"));
                Ok(id)
            }
            Err(error) => {
                // The error is returned. The next garbage collection deletes the files that this code cannot delete.
                let _ = inner.fs().unlink(&inner.meta_path(id));
                let _ = remove_dir(inner.fs(), &private);
                let _ = inner.collect(&state);
                inner.log(format_args!("Backup {id} failed -- {error}"));
                Err(error.doing("creating a backup"))
            }
        }
    }
}

impl Inner {
    fn check_stopped(&self) -> Result<()> {
        check_stopped(&self.stopped)
    }

    /// A copy with these settings looks after each buffer whether the backup is stopped. `calling` is locked during each call
    /// of the progress callback.
    fn settings_of(&self, options: &CreateBackupOptions, calling: Arc<Mutex<()>>) -> CopySettings {
        let mut settings = self.copy_settings(&self.backup_limiter);
        let (progress, stopped) = (options.progress_callback.clone(), self.stopped.clone());
        let interval = self.options.callback_trigger_interval_size.max(1);
        let copied = AtomicU64::new(0);
        settings.on_bytes = Some(Arc::new(move |bytes| {
            check_stopped(&stopped)?;
            let Some(progress) = &progress else { return Ok(()) };
            let before = copied.fetch_add(bytes, Ordering::AcqRel);
            let calls = (before + bytes) / interval - before / interval;
            (0..calls).try_for_each(|_| {
                let _calling = calling.lock();
                progress()
            })
        }));
        settings
    }
}

fn check_stopped(stopped: &AtomicBool) -> Result<()> {
    match stopped.load(Ordering::Acquire) {
        true => Err(Error::new(Kind::Incomplete, "Backup stopped")),
        false => Ok(()),
    }
}

/// A backup in progress.
struct NewBackup<'a> {
    inner: &'a Inner,
    state: &'a State,
    options: &'a CreateBackupOptions,
    id: BackupId,
    meta: Meta,
    settings: CopySettings,
    /// Locked during each call of a callback of the application: the threads of the backup call one at a time.
    calling: Arc<Mutex<()>>,
    /// Bytes that were copied.
    bytes: AtomicU64,
    /// Bytes that were read for their checksum only.
    checked: AtomicU64,
}

/// What a backup does with a file of the database.
enum Added {
    File(MetaFile),
    /// The path in the backup directory of a file that the backup does not copy.
    Excluded(String),
}

impl NewBackup<'_> {
    fn run(&mut self, db: &Db) -> Result<()> {
        let (inner, fs) = (self.inner, self.inner.fs());
        fs.create_dir(&inner.path(&format!("{PRIVATE}/{}", self.id)))?;
        let _kept = KeepFiles::new(db.engine());
        let live = db.engine().files().live_files_storage_info(&LiveFilesStorageInfoOptions {
            include_checksum_info: true,
            wal_size_for_flush: if self.options.flush_before_backup { 0 } else { u64::MAX },
            atomic_flush: self.options.atomic_flush,
        })?;
        self.meta = Meta {
            timestamp_s: i64::try_from(inner.env.clock.now_seconds()).unwrap_or(i64::MAX),
            sequence: live.sequence,
            app_metadata: self.options.app_metadata.clone(),
            ..Meta::default()
        };
        let is_wanted =
            |file: &&LiveFileStorageInfo| file.kind != LiveFileKind::Wal || inner.options.backup_log_files;
        let files: Vec<_> = live.files.iter().filter(is_wanted).collect();
        let add = |at: usize, unsynced: &mut Unsynced| {
            inner.check_stopped()?;
            self.add(files[at], unsynced).map_err(|error| error.file(files[at].path()))
        };
        let threads = inner.options.max_background_operations;
        let (added, unsynced) = in_parallel(&*inner.env.executor, threads, files.len(), &add)?;
        for added in added {
            match added {
                Added::File(file) => self.meta.files.push(file),
                Added::Excluded(name) => self.meta.excluded.push(name),
            }
        }
        self.publish(unsynced)
    }

    fn add(&self, file: &LiveFileStorageInfo, unsynced: &mut Unsynced) -> Result<Added> {
        let shared = matches!(file.kind, LiveFileKind::Table | LiveFileKind::Blob)
            && self.inner.options.share_table_files
            && !file.trim_to_size;
        if shared { self.add_shared(file, unsynced) } else { self.add_private(file, unsynced) }
    }

    fn add_private(&self, file: &LiveFileStorageInfo, unsynced: &mut Unsynced) -> Result<Added> {
        let name = format!("{PRIVATE}/{}/{}", self.id, file.relative_filename);
        let crc = match &file.replacement_contents {
            Some(content) => {
                self.inner.fs().write_all(&self.inner.path(&name), content, self.settings.sync)?;
                kernel::checksum::crc32c::extend(0, content)
            }
            None => self.copy(file, &name, unsynced)?,
        };
        self.take(name, crc, file)
    }

    fn add_shared(&self, file: &LiveFileStorageInfo, unsynced: &mut Unsynced) -> Result<Added> {
        let name = self.shared_name(file)?;
        let known = self.state.backups.values().flat_map(|meta| &meta.files).find(|old| old.name == name);
        let path = self.inner.path(&name);
        if let Some(known) = known.filter(|_| self.inner.fs().exists(&path).unwrap_or(false)) {
            if known.size != Some(file.size) {
                return Err(Error::corruption(format!(
                    "{} has {} bytes, the file of the database has {}: delete the backups that name the file, then try again",
                    path.display(),
                    known.size.unwrap_or(0),
                    file.size
                )));
            }
            let crc = match known.crc {
                Some(crc) => crc,
                None => self.checksum(file)?,
            };
            return self.take(name, crc, file);
        }
        if let Some(exclude) = &self.options.exclude_files {
            let _calling = self.calling.lock();
            if exclude(&name) {
                return Ok(Added::Excluded(name));
            }
        }
        // Rename the copy after its content is complete.
        let (dir, base) = name.rsplit_once('/').unwrap_or(("", &name));
        let temporary = format!("{dir}/.{base}.tmp");
        let crc = self.copy(file, &temporary, unsynced)?;
        self.inner.fs().rename(&self.inner.path(&temporary), &path)?;
        self.take(name, crc, file)
    }

    /// Returns the path of a shared file below the backup directory.
    fn shared_name(&self, file: &LiveFileStorageInfo) -> Result<String> {
        let options = &self.inner.options;
        if !options.share_files_with_checksum {
            return Ok(format!("{SHARED}/{}", file.relative_filename));
        }
        let (stem, end) = file.relative_filename.rsplit_once('.').unwrap_or((&file.relative_filename, "sst"));
        let naming = options.share_files_with_checksum_naming;
        let by_session =
            naming != ShareFilesNaming::LegacyCrc32cAndFileSize && file.kind == LiveFileKind::Table;
        let session = if by_session { session_of(&*self.inner.db_env.fs, &file.path())? } else { None };
        Ok(match session {
            Some(session) if naming == ShareFilesNaming::UseDbSessionId => {
                format!("{SHARED_CHECKSUM}/{stem}_s{session}.{end}")
            }
            Some(session) => format!("{SHARED_CHECKSUM}/{stem}_s{session}_{}.{end}", file.size),
            None => {
                let crc = match manifest_crc(file) {
                    Some(crc) => crc,
                    None => self.checksum(file)?,
                };
                format!("{SHARED_CHECKSUM}/{stem}_{crc}_{}.{end}", file.size)
            }
        })
    }

    fn checksum(&self, file: &LiveFileStorageInfo) -> Result<u32> {
        let fs = &*self.inner.db_env.fs;
        let read = read_file(fs, &file.path(), Some(file.size), &self.settings, &mut |_| Ok(()))?;
        self.checked.fetch_add(read.bytes, Ordering::Relaxed);
        Ok(read.crc)
    }

    /// Copies a file of the database. Compares the copy with the checksum in the MANIFEST.
    fn copy(&self, file: &LiveFileStorageInfo, name: &str, unsynced: &mut Unsynced) -> Result<u32> {
        let (from, to): (PathBuf, PathBuf) = (file.path(), self.inner.path(name));
        let db_fs = &*self.inner.db_env.fs;
        let ends = ((db_fs, from.as_path()), (self.inner.fs(), to.as_path()));
        let copied = copy_file_unsynced(ends.0, ends.1, Some(file.size), &self.settings, unsynced)?;
        self.bytes.fetch_add(copied.bytes, Ordering::Relaxed);
        match manifest_crc(file) {
            Some(expected) if expected != copied.crc => Err(Error::corruption(format!(
                "the CRC32C is {:08x}, the MANIFEST says {expected:08x}: repair the database or restore the file",
                copied.crc
            ))),
            _ => Ok(copied.crc),
        }
    }

    fn take(&self, name: String, crc: u32, file: &LiveFileStorageInfo) -> Result<Added> {
        let file = MetaFile { name, crc: Some(crc), size: Some(file.size), temperature: file.temperature };
        let old = self.state.backups.values().flat_map(|meta| &meta.files).find(|old| old.name == file.name);
        if old.is_some_and(|old| old.crc.is_some_and(|old| old != crc)) {
            return Err(Error::corruption(format!(
                "Checksum mismatch for existing backup file {}. Delete old backups and try again.",
                file.name
            )));
        }
        Ok(Added::File(file))
    }

    /// Makes all files durable, then writes the meta file.
    fn publish(&self, unsynced: Vec<Unsynced>) -> Result<()> {
        unsynced.into_iter().try_for_each(|mut unsynced| unsynced.sync())?;
        let (inner, fs) = (self.inner, self.inner.fs());
        if inner.options.sync {
            for dir in
                [format!("{PRIVATE}/{}", self.id), PRIVATE.into(), SHARED.into(), SHARED_CHECKSUM.into()]
            {
                sync_dir(fs, &inner.path(&dir))?;
            }
        }
        let temporary = inner.path(&format!("{META}/.{}.tmp", self.id));
        fs.write_all(&temporary, &self.meta.encode(inner.options.schema_version)?, inner.options.sync)?;
        fs.rename(&temporary, &inner.meta_path(self.id))?;
        if inner.options.sync {
            sync_dir(fs, &inner.path(META))?;
        }
        Ok(())
    }
}

/// Returns the CRC32C of a file in the MANIFEST, if the MANIFEST has one.
fn manifest_crc(file: &LiveFileStorageInfo) -> Option<u32> {
    let bytes: [u8; 4] = file.file_checksum.as_slice().try_into().ok()?;
    (file.file_checksum_func_name == CRC32C_CHECKSUM_FUNC_NAME).then(|| u32::from_be_bytes(bytes))
}
