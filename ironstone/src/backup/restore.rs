//! Restores a backup to the directory of a database.
//!
//! ```text
//!  lock ─► delete CURRENT, then the other files ─► copy all, compare checksums ─► sync ─► CURRENT by rename ─► sync
//! ```
//! CURRENT is deleted first and created last. So a restore that a crash interrupts leaves no database that opens.

use std::collections::BTreeSet;
use std::path::{Path, PathBuf};

use base::{Arrange, Error, FileNumber, Result};
use env::FileSystem;
use env::fs::refuse_empty_path;
use env::sync::RwLockReadGuard;
use format::names::{self, FileName};

use super::meta::{Meta, MetaFile};
use super::{BackupEngine, BackupId, Inner, RestoreMode, RestoreOptions, SHARED_CHECKSUM, State, session_of};
use crate::transfer::{Unsynced, copy_file_unsynced, create_dir_durably, in_parallel, read_file, sync_dir};

impl BackupEngine {
    /// Restores the newest valid backup. See [`BackupEngine::restore_db_from_backup`].
    ///
    /// # Errors
    /// NotFound if there is no valid backup. As [`BackupEngine::restore_db_from_backup`].
    ///
    /// ```
    /// # use ironstone::{BackupEngine, BackupEngineOptions, CreateBackupOptions, Db, Options, RestoreOptions};
    /// # let options = Options::in_memory();
    /// # let db = Db::open("data", options.clone())?;
    /// # db.put(b"k", b"v")?;
    /// let backups = BackupEngine::open(BackupEngineOptions::new("backups"), &options.db.env)?;
    /// backups.create_new_backup(&db)?;
    /// backups.restore_db_from_latest_backup("restored", "restored", &RestoreOptions::default())?;
    /// assert!(Db::open("restored", options)?.get(b"k")?.is_some());
    /// # Ok::<(), ironstone::Error>(())
    /// ```
    pub fn restore_db_from_latest_backup(
        &self,
        db_dir: impl AsRef<Path>,
        wal_dir: impl AsRef<Path>,
        options: &RestoreOptions,
    ) -> Result<()> {
        let newest = self.inner.state.read().backups.last_key_value().map(|(id, _)| *id);
        let id = newest.ok_or_else(|| Error::not_found("Backup not found: there is no valid backup"))?;
        self.restore_db_from_backup(id, db_dir, wal_dir, options)
    }

    /// Restores a backup to the directories of a database. The files of the former database in these directories are
    /// deleted; the database must be closed.
    ///
    /// # Errors
    /// NotFound if there is no such backup; the reason if the backup is corrupt; InvalidArgument if an excluded file is in
    /// no other directory; Corruption if a file differs from its checksum; IoError if the database is open or the file
    /// system fails. After an error during the copies, the directories hold no database: restore again.
    ///
    /// ```
    /// # use ironstone::{BackupEngine, BackupEngineOptions, CreateBackupOptions, Db, Options, RestoreOptions};
    /// # let options = Options::in_memory();
    /// # let db = Db::open("data", options.clone())?;
    /// # db.put(b"k", b"v")?;
    /// let backups = BackupEngine::open(BackupEngineOptions::new("backups"), &options.db.env)?;
    /// let id = backups.create_new_backup(&db)?;
    /// backups.restore_db_from_backup(id, "restored", "restored", &RestoreOptions::default())?;
    /// assert!(Db::open("restored", options)?.get(b"k")?.is_some());
    /// # Ok::<(), ironstone::Error>(())
    /// ```
    pub fn restore_db_from_backup(
        &self,
        id: BackupId,
        db_dir: impl AsRef<Path>,
        wal_dir: impl AsRef<Path>,
        options: &RestoreOptions,
    ) -> Result<()> {
        refuse_empty_path(db_dir.as_ref())?;
        let states = lock_all(&self.inner, options);
        let state = &states[0].1;
        let meta = state.find(id)?;
        let dirs = Dirs { db: db_dir.as_ref().to_path_buf(), wal: wal_dir.as_ref().to_path_buf() };
        self.inner.log(format_args!("Restoring backup id {id} to {}", dirs.db.display()));
        let restored = self.inner.restore(&states, meta, &dirs, options);
        match &restored {
            Ok(()) => self.inner.log(format_args!("Restoring backup id {id} done")),
            Err(error) => self.inner.log(format_args!("Restoring backup id {id} failed -- {error}")),
        }
        restored.map_err(|error| error.doing("restoring a backup"))
    }
}

/// An engine, and its state, locked for reading.
type Locked<'a> = (&'a Inner, RwLockReadGuard<'a, State>);

/// Locks the states of an engine and of its alternate directories for reading. Returns `own` first, then the others in the order of
/// the options. Takes the locks in the order of the addresses: two restores that have each other's engine as an alternate cannot
/// wait for each other, also if writers wait for both.
fn lock_all<'a>(own: &'a Inner, options: &'a RestoreOptions) -> Vec<Locked<'a>> {
    let mut engines = vec![own];
    for other in options.alternate_dirs.iter().map(|other| &*other.inner) {
        if !engines.iter().any(|engine| std::ptr::eq(*engine, other)) {
            engines.push(other);
        }
    }
    let mut order: Vec<usize> = (0..engines.len()).collect();
    order.arrange_by_key(|at| std::ptr::from_ref(engines[*at]).addr());
    let mut locked: Vec<_> = order.iter().map(|at| (*at, engines[*at], engines[*at].state.read())).collect();
    locked.arrange_by_key(|(at, ..)| *at);
    locked.into_iter().map(|(_, engine, state)| (engine, state)).collect()
}

struct Dirs {
    db: PathBuf,
    wal: PathBuf,
}

/// One file to restore.
struct Source {
    path: PathBuf,
    file: MetaFile,
    /// The name in the database.
    name: String,
    kind: FileName,
    /// The file system of the backup directory.
    env: env::Env,
}

impl Inner {
    fn restore(
        &self,
        states: &[Locked<'_>],
        meta: &Meta,
        dirs: &Dirs,
        options: &RestoreOptions,
    ) -> Result<()> {
        let fs = &*self.db_env.fs;
        let sources = self.sources(states, meta)?;
        self.check_sizes(&sources)?;
        create_dir_durably(fs, &dirs.db)?;
        create_dir_durably(fs, &dirs.wal)?;
        let _lock = fs.lock(&dirs.db.join(names::LOCK))?;
        let kept = self.kept(&sources, &dirs.db, options.mode)?;
        clear(fs, dirs, &kept, options.keep_log_files)?;
        let is_kept = |source: &&Source| source.kind.number().is_some_and(|number| kept.contains(&number));
        let missing: Vec<_> = sources.iter().filter(|source| !is_kept(source)).collect();
        let restore = |at: usize, unsynced: &mut Unsynced| self.restore_file(missing[at], dirs, unsynced);
        let threads = self.options.max_background_operations;
        let (_, unsynced) = in_parallel(&*self.env.executor, threads, missing.len(), &restore)?;
        unsynced.into_iter().try_for_each(|mut unsynced| unsynced.sync())?;
        sync_dir(fs, &dirs.db)?;
        sync_dir(fs, &dirs.wal)?;
        fs.rename(&dirs.db.join("CURRENT.tmp"), &dirs.db.join(names::CURRENT))?;
        sync_dir(fs, &dirs.db)
    }

    /// Returns all files of the backup. Excluded files come from other backups, of this directory first.
    fn sources(&self, states: &[Locked<'_>], meta: &Meta) -> Result<Vec<Source>> {
        let mut sources = Vec::new();
        for file in &meta.files {
            sources.push(self.source(file.clone())?);
        }
        for name in &meta.excluded {
            let find = |(engine, state): &Locked<'_>| {
                let mut files = state.backups.values().flat_map(|meta| &meta.files);
                files.find(|file| file.name == *name).map(|file| engine.source(file.clone()))
            };
            sources.push(states.iter().find_map(find).unwrap_or_else(|| {
                Err(Error::invalid_argument(format!(
                    "Excluded file {name} not found in any of {} backup directories: name the directory in alternate_dirs",
                    states.len() - 1
                )))
            })?);
        }
        if !sources.iter().any(|source| source.kind == FileName::Current) {
            return Err(Error::corruption("the backup has no CURRENT file"));
        }
        Ok(sources)
    }

    fn source(&self, file: MetaFile) -> Result<Source> {
        let base = file.name.rsplit('/').next().unwrap_or(&file.name);
        // `000012_sSESSION_37129.sst` is `000012.sst` in the database.
        let name = match (file.name.starts_with(SHARED_CHECKSUM), base.find('_'), base.rfind('.')) {
            (true, Some(from), Some(to)) if from < to => format!("{}{}", &base[..from], &base[to..]),
            _ => base.to_string(),
        };
        let kind = FileName::parse(&name)
            .ok_or_else(|| Error::corruption(format!("Backup corrupted: Fail to parse filename {name}")))?;
        Ok(Source { path: self.path(&file.name), file, name, kind, env: self.env.clone() })
    }

    /// Checks that every file exists, before any file is deleted.
    fn check_sizes(&self, sources: &[Source]) -> Result<()> {
        for source in sources {
            let size = source.env.fs.file_size(&source.path).map_err(|error| match error.is_not_found() {
                true => Error::corruption("a file of the backup is missing").file(&source.path),
                false => error,
            })?;
            if source.file.size.is_some_and(|expected| expected != size) {
                return Err(Error::corruption(format!(
                    "{size} bytes where {} bytes were expected",
                    source.file.size.unwrap_or(0)
                ))
                .file(&source.path));
            }
        }
        Ok(())
    }

    /// Returns the numbers of the SST files in the database directory that are equal to files of the backup.
    fn kept(&self, sources: &[Source], dir: &Path, mode: RestoreMode) -> Result<BTreeSet<FileNumber>> {
        let fs = &*self.db_env.fs;
        let mut kept = BTreeSet::new();
        for source in sources {
            let FileName::Table(number) = source.kind else { continue };
            let existing = dir.join(&source.name);
            let same_size =
                || fs.file_size(&existing).is_ok_and(|size| source.file.size.is_none_or(|own| own == size));
            let same = match mode {
                RestoreMode::PurgeAllFiles => false,
                RestoreMode::KeepLatestDbSessionIdFiles => {
                    let named = source.file.name.split_once("_s").map(|(_, rest)| rest);
                    let session = named.and_then(|rest| rest.split(['_', '.']).next());
                    same_size()
                        && session.is_some_and(|session| {
                            session_of(fs, &existing).is_ok_and(|own| own.as_deref() == Some(session))
                        })
                }
                RestoreMode::VerifyChecksum => {
                    let settings = self.copy_settings(&self.restore_limiter);
                    same_size()
                        && source.file.crc.is_some_and(|crc| {
                            read_file(fs, &existing, None, &settings, &mut |_| Ok(()))
                                .is_ok_and(|read| read.crc == crc)
                        })
                }
            };
            if same {
                kept.insert(number);
            }
        }
        Ok(kept)
    }

    fn restore_file(&self, source: &Source, dirs: &Dirs, unsynced: &mut Unsynced) -> Result<()> {
        let target = match source.kind {
            FileName::Wal(_) => dirs.wal.join(&source.name),
            FileName::Current => dirs.db.join("CURRENT.tmp"),
            _ => dirs.db.join(&source.name),
        };
        let settings = self.copy_settings(&self.restore_limiter);
        let from = (&*source.env.fs, source.path.as_path());
        let to = (&*self.db_env.fs, target.as_path());
        let copied = copy_file_unsynced(from, to, source.file.size, &settings, unsynced)?;
        match source.file.crc {
            Some(expected) if expected != copied.crc => Err(Error::corruption(format!(
                "the CRC32C is {:08x} where {expected:08x} was expected: restore another backup",
                copied.crc
            ))
            .file(&source.path)),
            _ => Ok(()),
        }
    }
}

/// Deletes the files of the old database, CURRENT first.
fn clear(fs: &dyn FileSystem, dirs: &Dirs, kept: &BTreeSet<FileNumber>, keep_wals: bool) -> Result<()> {
    let current = dirs.db.join(names::CURRENT);
    if fs.exists(&current)? {
        fs.unlink(&current)?;
        sync_dir(fs, &dirs.db)?;
    }
    let archive = dirs.wal.join(names::ARCHIVE_DIR);
    if keep_wals && fs.exists(&archive)? {
        for name in fs.list(&archive)? {
            if matches!(FileName::parse(&name), Some(FileName::Wal(_))) {
                fs.rename(&archive.join(&name), &dirs.wal.join(&name))?;
            }
        }
    }
    let mut places = vec![dirs.db.clone()];
    if !keep_wals {
        places.extend([archive, dirs.wal.clone()]);
    }
    for dir in places {
        if !fs.exists(&dir)? {
            continue;
        }
        for name in fs.list(&dir)? {
            let kind = FileName::parse(&name);
            let ours = kind.is_some() || name == format::proof::PROOF || name == "CURRENT.tmp";
            let stays = match kind {
                Some(FileName::Wal(_)) => keep_wals,
                Some(FileName::Table(number)) => kept.contains(&number),
                Some(FileName::Lock) => true,
                _ => false,
            };
            if ours && !stays {
                fs.unlink(&dir.join(&name))?;
            }
        }
    }
    Ok(())
}
