//! The WAL of a database: its files, the write batches in it, and the lock that stops writes.

use base::{Result, SequenceNumber};
use engine::db::{Updates, WalFile};

use crate::Db;

impl Db {
    /// Returns the WAL files with at least one write batch, oldest first. The list has live files and archived files
    /// (`WAL_ttl_seconds`, `WAL_size_limit_MB`). RocksDB: `GetSortedWalFiles`.
    ///
    /// # Errors
    /// Errors of the file system; Corruption of the first record of a file.
    ///
    /// ```
    /// # let db = ironstone::Db::open("data", ironstone::Options::in_memory())?;
    /// db.put(b"k", b"v")?;
    /// let files = db.wal_files()?;
    /// assert_eq!(files[0].start_sequence.get(), 1);
    /// # Ok::<(), ironstone::Error>(())
    /// ```
    pub fn wal_files(&self) -> Result<Vec<WalFile>> {
        self.engine().wals().files()
    }

    /// Returns the WAL file that takes new write batches. RocksDB: `GetCurrentWalFile`.
    ///
    /// # Errors
    /// NotSupported if the database is open for reading only; errors of the file system.
    ///
    /// ```
    /// # let db = ironstone::Db::open("data", ironstone::Options::in_memory())?;
    /// assert_eq!(db.current_wal_file()?.start_sequence.get(), 0); // no write batch yet
    /// # Ok::<(), ironstone::Error>(())
    /// ```
    pub fn current_wal_file(&self) -> Result<WalFile> {
        self.engine().wals().current()
    }

    /// Returns the write batches of the WAL from sequence number `seq` on, for replication. RocksDB: `GetUpdatesSince`.
    ///
    /// The first batch is the batch that holds `seq`. If the WAL of this batch is deleted, the first batch is the
    /// oldest batch above `seq`. `next` returns `None` after the newest batch; a later call of `next` returns newer
    /// batches. Writes with `disableWAL` are not in the WAL, and their sequence numbers are missing.
    ///
    /// # Errors
    /// NotFound if `seq` was not written yet; errors of the file system. Corruption of a WAL comes as an item, and
    /// NotFound if sequence numbers are missing.
    ///
    /// ```
    /// # let db = ironstone::Db::open("data", ironstone::Options::in_memory())?;
    /// db.put(b"a", b"1")?;
    /// let mut updates = db.updates_since(1.into())?;
    /// assert_eq!(updates.next().unwrap()?.sequence.get(), 1);
    /// assert!(updates.next().is_none());
    ///
    /// db.put(b"b", b"2")?;
    /// let update = updates.next().unwrap()?;
    /// assert_eq!((update.sequence.get(), update.batch.count()), (2, 1));
    /// # Ok::<(), ironstone::Error>(())
    /// ```
    pub fn updates_since(&self, seq: SequenceNumber) -> Result<Updates> {
        self.engine().wals().updates_since(seq)
    }

    /// Makes all later writes, flushes and ingestions wait until [`Db::unlock_wal`], so that the WAL files do not change.
    /// Waits for running writes and for a write stall, and writes buffered WAL records to the file. A call that would make
    /// this thread wait for its own lock returns Aborted. Calls are counted for each thread: each call needs one
    /// [`Db::unlock_wal`] on the same thread. RocksDB: `LockWAL`.
    ///
    /// # Errors
    /// Errors of the WAL; then the call has locked nothing.
    ///
    /// ```
    /// # use ironstone::WriteOptions;
    /// # let db = ironstone::Db::open("data", ironstone::Options::in_memory())?;
    /// db.lock_wal()?;
    /// let no_wait = WriteOptions { no_slowdown: true, ..WriteOptions::default() };
    /// assert!(db.put_with(b"k", b"v", &no_wait).is_err());
    /// db.unlock_wal()?;
    /// db.put(b"k", b"v")?;
    /// # Ok::<(), ironstone::Error>(())
    /// ```
    pub fn lock_wal(&self) -> Result<()> {
        self.engine().wals().lock()
    }

    /// Undoes one call of [`Db::lock_wal`] on this thread. RocksDB: `UnlockWAL`.
    ///
    /// # Errors
    /// Aborted if this thread has not locked the WAL.
    ///
    /// ```
    /// # let db = ironstone::Db::open("data", ironstone::Options::in_memory())?;
    /// assert!(db.unlock_wal().is_err());
    /// # Ok::<(), ironstone::Error>(())
    /// ```
    pub fn unlock_wal(&self) -> Result<()> {
        self.engine().wals().unlock()
    }
}
