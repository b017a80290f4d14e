//! Checkpoints: a directory with a copy of the database. The copy opens as a database of its own.
//!
//! ```text
//!  DIR.tmp: SST files linked; MANIFEST, WALs, OPTIONS copied; CURRENT written ─► sync ─► rename to DIR ─► sync parent
//! ```
//! Invariant: DIR exists only when all files in it are complete and durable. A crash leaves DIR.tmp, which the next
//! checkpoint to DIR removes. Writers continue during the call. Not here: which files are live (`engine`). Facts:
//! RocksDB `utilities/checkpoint/checkpoint_impl.cc`; RocksDB does not sync the parent directory.

use std::path::Path;
use std::sync::Arc;

use base::stats::Ticker;
use base::{Error, Result, SequenceNumber};
use engine::db::{LiveFileKind, LiveFileStorageInfo, LiveFilesStorageInfoOptions};
use env::rate::RateLimiter;

use crate::Db;
use crate::transfer::{
    CopySettings, KeepFiles, Unsynced, buffer_bytes, in_parallel, parent, place, remove_dir, staging_dir,
    sync_dir,
};

/// Options of a checkpoint. RocksDB's `CheckpointEngineOptions` and `CreateCheckpointOptions`.
///
/// ```
/// # use ironstone::{Checkpoint, CheckpointOptions, Db, Options};
/// # let options = Options::in_memory();
/// let db = Db::open("data", options.clone())?;
/// db.put(b"k", b"v")?;
/// let never_flush = CheckpointOptions { log_size_for_flush: u64::MAX, ..CheckpointOptions::default() };
/// Checkpoint::new(&db).create_with("copy", &never_flush)?;
/// assert!(Db::open("copy", options)?.get(b"k")?.is_some()); // the WAL was copied
/// # Ok::<(), ironstone::Error>(())
/// ```
#[derive(Clone)]
pub struct CheckpointOptions {
    /// Flushes all memtables first, if the WALs have at least this many bytes; below, the WALs are copied. 0, the
    /// default, always flushes. `u64::MAX` never flushes: then the checkpoint lacks entries that were written with
    /// `disableWAL` and are only in memtables.
    pub log_size_for_flush: u64,
    /// Links SST files where the file system can. Default true. If false, all files are copied.
    pub use_link_file_when_available: bool,
    /// Limits the bytes per second of copies. `None`, the default: no limit.
    pub rate_limiter: Option<Arc<RateLimiter>>,
    /// Bytes of the buffer of a copy, from 4 KiB to 64 MiB; other values act as the nearer limit. 0, the default: one burst of the
    /// rate limiter, or 256 KiB without rate limiter.
    pub io_buffer_size: usize,
    /// The number of threads that link and copy files. The thread of the caller is one of them. Default 1; 0 stands for 1; more
    /// than 64 act as 64.
    pub max_background_operations: usize,
    /// Puts the active WAL into the checkpoint even if the WAL is empty. Default true, as in RocksDB 11. Releases of
    /// RocksDB before 11 leave an empty WAL out, and programs of that time may fail at an empty file.
    pub has_empty_wal: bool,
}

impl Default for CheckpointOptions {
    fn default() -> Self {
        CheckpointOptions {
            log_size_for_flush: 0,
            use_link_file_when_available: true,
            rate_limiter: None,
            io_buffer_size: 0,
            max_background_operations: 1,
            has_empty_wal: true,
        }
    }
}

/// Creates checkpoints of a database.
///
/// ```
/// use ironstone::{Checkpoint, Db, Options};
///
/// let options = Options::in_memory();
/// let db = Db::open("data", options.clone())?;
/// db.put(b"k", b"v")?;
///
/// Checkpoint::new(&db).create("copy")?;
/// db.put(b"k", b"later")?;
///
/// let then = Db::open("copy", options)?;
/// assert_eq!(then.get(b"k")?.as_deref(), Some(&b"v"[..]));
/// # Ok::<(), ironstone::Error>(())
/// ```
#[derive(Clone)]
pub struct Checkpoint {
    db: Db,
}

impl Checkpoint {
    /// Prepares checkpoints of `db`. Nothing is written.
    ///
    /// ```
    /// # use ironstone::{Checkpoint, CheckpointOptions, Db, Options};
    /// # let options = Options::in_memory();
    /// let db = Db::open("data", options.clone())?;
    /// db.put(b"k", b"v")?;
    /// let checkpoint = Checkpoint::new(&db);
    /// checkpoint.create("first")?;
    /// checkpoint.create("second")?;
    /// # Ok::<(), ironstone::Error>(())
    /// ```
    pub fn new(db: &Db) -> Checkpoint {
        Checkpoint { db: db.clone() }
    }

    /// Writes a checkpoint to the new directory `dir`, after a flush of all memtables.
    ///
    /// # Errors
    /// The errors of [`Checkpoint::create_with`].
    ///
    /// ```
    /// # use ironstone::{Checkpoint, CheckpointOptions, Db, Options};
    /// # let options = Options::in_memory();
    /// let db = Db::open("data", options.clone())?;
    /// db.put(b"k", b"v")?;
    /// Checkpoint::new(&db).create("copy")?;
    /// assert!(Checkpoint::new(&db).create("copy").is_err()); // the directory exists
    /// assert!(Db::open("copy", options)?.get(b"k")?.is_some());
    /// # Ok::<(), ironstone::Error>(())
    /// ```
    pub fn create(&self, dir: impl AsRef<Path>) -> Result<SequenceNumber> {
        self.create_with(dir, &CheckpointOptions::default())
    }

    /// Writes a checkpoint to the new directory `dir`. Returns a sequence number: the checkpoint contains every write up
    /// to this number, and may contain newer writes.
    ///
    /// SST files are linked if `dir` is on the same file system; the cost is then the copy of MANIFEST and WALs.
    ///
    /// # Errors
    /// InvalidArgument if `dir` exists; Aborted if an older, unfinished checkpoint in `dir.tmp` cannot be removed;
    /// NotSupported for a secondary instance and for a follower; the background error that prevents the flush; errors
    /// of the file system. After an error `dir` does not exist, except when the last step failed, the sync of the parent
    /// directory: then `dir` is complete, but a power failure may remove the name `dir`.
    ///
    /// ```
    /// # use ironstone::{Checkpoint, CheckpointOptions, Db, Options};
    /// # let options = Options::in_memory();
    /// let db = Db::open("data", options.clone())?;
    /// db.put(b"k", b"v")?;
    /// let sequence = Checkpoint::new(&db).create_with("copy", &CheckpointOptions::default())?;
    /// assert_eq!(sequence, db.latest_sequence());
    /// # Ok::<(), ironstone::Error>(())
    /// ```
    pub fn create_with(&self, dir: impl AsRef<Path>, options: &CheckpointOptions) -> Result<SequenceNumber> {
        let dir = dir.as_ref();
        let engine = self.db.engine();
        let fs = engine.env().fs.clone();
        let staging = staging_dir(&*fs, dir, "checkpoint")?;
        remove_dir(&*fs, &staging).map_err(|error| {
            Error::aborted(format!(
                "Failed to clean the temporary directory {} needed before checkpoint creation: {error}",
                staging.display()
            ))
        })?;
        let made = self.fill(&staging, options).and_then(|sequence| {
            fs.rename(&staging, dir)?;
            sync_dir(&*fs, &parent(dir)).map(|()| sequence)
        });
        if made.is_err() {
            // The error of the checkpoint is returned. If this removal fails too, the next checkpoint removes the
            // directory.
            let _ = remove_dir(&*fs, &staging);
        }
        made.map_err(|error| error.doing("creating a checkpoint"))
    }

    pub(crate) fn engine(&self) -> &engine::db::Db {
        self.db.engine()
    }

    fn fill(&self, staging: &Path, options: &CheckpointOptions) -> Result<SequenceNumber> {
        let engine = self.db.engine();
        let fs = engine.env().fs.clone();
        fs.create_dir(staging)?;
        let _kept = KeepFiles::new(engine);
        let live = engine.files().live_files_storage_info(&LiveFilesStorageInfoOptions {
            wal_size_for_flush: options.log_size_for_flush,
            ..LiveFilesStorageInfoOptions::default()
        })?;
        let statistics = engine.options().statistics.clone();
        let count = move |bytes| {
            if let Some(statistics) = &statistics {
                statistics.add(Ticker::CheckpointReadBytes, bytes);
                statistics.add(Ticker::CheckpointWriteBytes, bytes);
            }
            Ok(())
        };
        let settings = CopySettings {
            buffer_bytes: buffer_bytes(options.io_buffer_size, options.rate_limiter.as_deref()),
            limiter: options.rate_limiter.clone(),
            on_bytes: Some(Arc::new(count)),
            ..CopySettings::default()
        };
        let is_listed = |file: &&LiveFileStorageInfo| {
            options.has_empty_wal || file.kind != LiveFileKind::Wal || file.size > 0
        };
        let files: Vec<_> = live.files.iter().filter(is_listed).collect();
        let link = options.use_link_file_when_available;
        let place = |at: usize, _: &mut Unsynced| place(&*fs, files[at], staging, link, &settings);
        in_parallel(&*engine.env().executor, options.max_background_operations, files.len(), &place)?;
        sync_dir(&*fs, staging)?;
        Ok(live.sequence)
    }
}

impl Db {
    /// Lists the files that make up the database now: the input of a backup tool. Disable file deletions before the
    /// call ([`Db::disable_file_deletions`]), and enable file deletions after the files are copied. RocksDB's
    /// `GetLiveFilesStorageInfo`.
    ///
    /// ```
    /// use ironstone::{Db, LiveFileKind, LiveFilesStorageInfoOptions, Options};
    ///
    /// let db = Db::open("data", Options::in_memory())?;
    /// db.put(b"k", b"v")?;
    /// db.disable_file_deletions();
    /// let files = db.live_files_storage_info(&LiveFilesStorageInfoOptions::default())?;
    /// assert!(files.iter().any(|file| file.kind == LiveFileKind::Table));
    /// db.enable_file_deletions();
    /// # Ok::<(), ironstone::Error>(())
    /// ```
    ///
    /// # Errors
    /// NotSupported for a secondary instance and a follower; errors of the flush; a failure of the WAL or the
    /// MANIFEST.
    pub fn live_files_storage_info(
        &self,
        options: &LiveFilesStorageInfoOptions,
    ) -> Result<Vec<LiveFileStorageInfo>> {
        Ok(self.engine().files().live_files_storage_info(options)?.files)
    }
}
