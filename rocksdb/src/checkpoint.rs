//! Checkpoints: copies of an open database in another directory. SST files are hard links.

use std::marker::PhantomData;
use std::path::Path;

use ironstone::CheckpointOptions;

use crate::c_str::check_path;
use crate::db::DBInner;
use crate::{DBCommon, Error, ThreadMode, TransactionDB};

/// Creates the checkpoint. If the WAL has fewer than `log_size_for_flush` bytes, it is copied. Otherwise the
/// memtables are flushed. With 0, they are always flushed.
fn create(
    checkpoint: &ironstone::Checkpoint,
    path: impl AsRef<Path>,
    log_size_for_flush: u64,
) -> Result<(), Error> {
    let options = CheckpointOptions { log_size_for_flush, ..CheckpointOptions::default() };
    checkpoint.create_with(check_path(path.as_ref())?, &options)?;
    Ok(())
}

/// Creates checkpoints of a database.
///
/// ```
/// use rocksdb::{DB, checkpoint::Checkpoint};
///
/// # let dir = tempfile::tempdir().unwrap();
/// let db = DB::open_default(dir.path().join("db"))?;
/// db.put(b"k", b"v")?;
/// let copy = dir.path().join("copy");
/// Checkpoint::new(&db)?.create_checkpoint(&copy)?;
/// assert!(DB::open_default(&copy)?.get(b"k")?.is_some());
/// # Ok::<(), rocksdb::Error>(())
/// ```
pub struct Checkpoint<'db> {
    inner: ironstone::Checkpoint,
    _db: PhantomData<&'db ()>,
}

impl<'db> Checkpoint<'db> {
    /// Returns a value that creates checkpoints.
    ///
    /// # Errors
    /// None.
    pub fn new<T: ThreadMode, I: DBInner>(db: &'db DBCommon<T, I>) -> Result<Self, Error> {
        Ok(Checkpoint { inner: ironstone::Checkpoint::new(&db.base().plain()), _db: PhantomData })
    }

    /// Creates a checkpoint in a directory that must not exist.
    ///
    /// # Errors
    /// InvalidArgument if the directory exists. IOError of a file.
    pub fn create_checkpoint<P: AsRef<Path>>(&self, path: P) -> Result<(), Error> {
        create(&self.inner, path, 0)
    }

    /// Creates a checkpoint in a directory that must not exist. A WAL with fewer than `log_size_for_flush` bytes is
    /// copied without a flush.
    ///
    /// # Errors
    /// The errors of [`Self::create_checkpoint`].
    pub fn create_checkpoint_with_log_size<P: AsRef<Path>>(
        &self,
        path: P,
        log_size_for_flush: u64,
    ) -> Result<(), Error> {
        create(&self.inner, path, log_size_for_flush)
    }
}

/// Creates checkpoints of a [`TransactionDB`].
pub struct TransactionDBCheckpoint<'db> {
    inner: ironstone::Checkpoint,
    _db: PhantomData<&'db ()>,
}

impl<'db> TransactionDBCheckpoint<'db> {
    /// Returns a value that creates checkpoints.
    ///
    /// # Errors
    /// None.
    pub fn new<T: ThreadMode>(db: &'db TransactionDB<T>) -> Result<Self, Error> {
        let inner = ironstone::Checkpoint::new(&db.base().plain());
        Ok(TransactionDBCheckpoint { inner, _db: PhantomData })
    }

    /// Creates a checkpoint in a directory that must not exist.
    ///
    /// # Errors
    /// The errors of [`Checkpoint::create_checkpoint`].
    pub fn create_checkpoint<P: AsRef<Path>>(&self, path: P) -> Result<(), Error> {
        create(&self.inner, path, 0)
    }

    /// Creates a checkpoint in a directory that must not exist. A WAL with fewer than `log_size_for_flush` bytes is
    /// copied without a flush.
    ///
    /// # Errors
    /// The errors of [`Checkpoint::create_checkpoint`].
    pub fn create_checkpoint_with_log_size<P: AsRef<Path>>(
        &self,
        path: P,
        log_size_for_flush: u64,
    ) -> Result<(), Error> {
        create(&self.inner, path, log_size_for_flush)
    }
}
