//! The database handle: write batches, snapshots, WAL, background errors, checks, statistics.
//!
//! Not here: opening (`open`), column families (`families`), background threads (`work`), and the calls on one column
//! family, which [`Db`] inherits from [`Family`].

use std::borrow::BorrowMut;
use std::ops::Deref;
use std::path::Path;

use base::Result;
use base::SequenceNumber;
use engine::options::WriteOptions;

use crate::{Family, Snapshot, WriteBatch};

/// An open database.
///
/// A clone is cheap. The database closes when its last handle of any kind is dropped.
///
/// `Db` dereferences to the [`Family`] of the default column family. So each call of `Family` is also a call of `Db`.
///
/// ```
/// use ironstone::{Db, Options};
///
/// let db = Db::open("data", Options::in_memory())?;
/// db.put(b"k", b"v")?; // a call of `Family`, on the default column family
/// assert!(db.default_family().get(b"k")?.is_some());
/// # Ok::<(), ironstone::Error>(())
/// ```
#[derive(Clone)]
pub struct Db {
    default: Family,
}

impl Deref for Db {
    type Target = Family;

    #[inline]
    fn deref(&self) -> &Family {
        &self.default
    }
}

impl Db {
    pub(crate) fn new(engine: engine::db::Db) -> Result<Db> {
        let default = engine.default_family()?;
        Ok(Db { default: Family::new(engine, default) })
    }

    /// Writes a batch with default options. The batch becomes visible and durable as a whole or not at all, also
    /// across column families. Takes a `WriteBatch` or a `&mut WriteBatch`. With `&mut WriteBatch`, the caller can
    /// read the sequence number of the write from the batch afterwards.
    ///
    /// # Errors
    /// The errors of [`Family::put`], for each column family of the batch. InvalidArgument for a batch that cannot be
    /// written.
    ///
    /// ```
    /// # use ironstone::WriteBatch;
    /// # let db = ironstone::Db::open("data", ironstone::Options::in_memory())?;
    /// let mut batch = WriteBatch::new();
    /// batch.put(b"a", b"1").delete(b"b");
    /// db.write(batch)?;
    /// assert!(db.get(b"a")?.is_some());
    /// # Ok::<(), ironstone::Error>(())
    /// ```
    #[inline]
    pub fn write(&self, batch: impl BorrowMut<WriteBatch>) -> Result<()> {
        self.write_with(batch, &WriteOptions::default())
    }

    /// Writes a batch, with options. See [`Db::write`].
    ///
    /// # Errors
    /// The errors of [`Db::write`]. Incomplete if `no_slowdown` is set and the write would have to wait.
    ///
    /// ```
    /// # use ironstone::{WriteBatch, WriteOptions};
    /// # let db = ironstone::Db::open("data", ironstone::Options::in_memory())?;
    /// let mut batch = WriteBatch::new();
    /// batch.put(b"a", b"1");
    /// db.write_with(&mut batch, &WriteOptions { sync: true, ..WriteOptions::default() })?;
    /// assert_eq!(batch.sequence(), db.latest_sequence());
    /// batch.clear(); // keeps the memory for the next batch
    /// # Ok::<(), ironstone::Error>(())
    /// ```
    #[inline]
    pub fn write_with(&self, mut batch: impl BorrowMut<WriteBatch>, options: &WriteOptions) -> Result<()> {
        self.db.write(batch.borrow_mut(), options)
    }

    /// Returns a snapshot of the writes that are visible now.
    ///
    /// ```
    /// # let db = ironstone::Db::open("data", ironstone::Options::in_memory())?;
    /// let snapshot = db.snapshot();
    /// db.put(b"k", b"v")?;
    /// assert!(snapshot.get(b"k")?.is_none());
    /// # Ok::<(), ironstone::Error>(())
    /// ```
    pub fn snapshot(&self) -> Snapshot {
        Snapshot::new(self.clone(), self.db.snapshot())
    }

    /// Returns the newest visible sequence number.
    ///
    /// ```
    /// # let db = ironstone::Db::open("data", ironstone::Options::in_memory())?;
    /// let before = db.latest_sequence();
    /// db.put(b"k", b"v")?;
    /// assert_eq!(db.latest_sequence(), before + 1);
    /// # Ok::<(), ironstone::Error>(())
    /// ```
    pub fn latest_sequence(&self) -> SequenceNumber {
        self.db.latest_sequence()
    }

    /// Syncs the WAL: all writes before the call are durable afterwards.
    ///
    /// # Errors
    /// Errors of the WAL. After such an error, writes fail until [`Db::resume`] succeeds.
    ///
    /// ```
    /// # let db = ironstone::Db::open("data", ironstone::Options::in_memory())?;
    /// db.put(b"k", b"v")?;
    /// db.sync_wal()?;
    /// # Ok::<(), ironstone::Error>(())
    /// ```
    pub fn sync_wal(&self) -> Result<()> {
        self.db.wals().sync()
    }

    /// Writes the buffered WAL records to the file (`manual_wal_flush`). With `sync`, also syncs the WAL.
    ///
    /// # Errors
    /// The errors of [`Db::sync_wal`].
    ///
    /// ```
    /// # use ironstone::{Db, Options};
    /// let mut options = Options::in_memory();
    /// options.db.manual_wal_flush = true;
    /// let db = Db::open("data", options)?;
    /// db.put(b"k", b"v")?;
    /// db.flush_wal(true)?;
    /// # Ok::<(), ironstone::Error>(())
    /// ```
    pub fn flush_wal(&self, sync: bool) -> Result<()> {
        self.db.wals().flush(sync)
    }

    /// Tries to clear a background error, for example after space was freed on a full disk. Flushes each column family
    /// that a failed flush stopped. Writes are accepted again if the call succeeds.
    ///
    /// # Errors
    /// The background error that remains, also if it stops only one column family. Busy if another resume runs.
    ///
    /// ```
    /// # let db = ironstone::Db::open("data", ironstone::Options::in_memory())?;
    /// db.resume()?; // nothing to clear
    /// # Ok::<(), ironstone::Error>(())
    /// ```
    pub fn resume(&self) -> Result<()> {
        self.db.background().resume()
    }

    /// Returns the background error of the highest severity, or `None`. The property `ironstone.write-error` has the
    /// error that stops the writes of one column family.
    ///
    /// ```
    /// # let db = ironstone::Db::open("data", ironstone::Options::in_memory())?;
    /// assert!(db.background_error().is_none());
    /// # Ok::<(), ironstone::Error>(())
    /// ```
    pub fn background_error(&self) -> Option<base::Error> {
        self.db.background().error()
    }

    /// Changes options of the open database. Each change is the name and the text of an option.
    ///
    /// # Errors
    /// NotFound if an option does not exist or cannot change after open. InvalidArgument if a value is not valid. Then
    /// no option is changed.
    ///
    /// ```
    /// # let db = ironstone::Db::open("data", ironstone::Options::in_memory())?;
    /// db.set_db_options(&[("max_background_jobs", "4")])?;
    /// assert_eq!(db.db_options().max_background_jobs, 4);
    /// # Ok::<(), ironstone::Error>(())
    /// ```
    pub fn set_db_options(&self, changes: &[(&str, &str)]) -> Result<()> {
        self.db.admin().set_db_options(changes)
    }

    /// Returns the current options of the database. [`Family::options`] returns those of a column family.
    ///
    /// ```
    /// # let db = ironstone::Db::open("data", ironstone::Options::in_memory())?;
    /// assert_eq!(db.db_options().max_open_files, -1);
    /// # Ok::<(), ironstone::Error>(())
    /// ```
    pub fn db_options(&self) -> std::sync::Arc<engine::options::DbOptions> {
        self.db.options()
    }

    /// Reads every block of every SST file and verifies its checksum.
    ///
    /// # Errors
    /// The first Corruption, with file and offset.
    ///
    /// ```
    /// # let db = ironstone::Db::open("data", ironstone::Options::in_memory())?;
    /// db.put(b"k", b"v")?;
    /// db.flush()?;
    /// db.verify_checksum()?;
    /// # Ok::<(), ironstone::Error>(())
    /// ```
    pub fn verify_checksum(&self) -> Result<()> {
        self.db.files().verify_checksum()
    }

    /// Reads every SST file and every blob file, and compares its bytes with the file checksum in the MANIFEST. Files have
    /// checksums if `file_checksum_gen_factory` is set.
    ///
    /// # Errors
    /// InvalidArgument if files have no checksums; the first Corruption, with the file.
    ///
    /// ```
    /// # use ironstone::{Db, FileChecksumGen, Options};
    /// let mut options = Options::in_memory();
    /// options.db.file_checksum_gen_factory = Some(FileChecksumGen::Crc32c);
    /// let db = Db::open("data", options)?;
    /// db.put(b"k", b"v")?;
    /// db.flush()?;
    /// db.verify_file_checksums()?;
    /// # Ok::<(), ironstone::Error>(())
    /// ```
    pub fn verify_file_checksums(&self) -> Result<()> {
        self.db.files().verify_file_checksums()
    }

    /// Returns the history of the statistics from second `start` up to second `end`. Each element is a second and the
    /// increase of each ticker since the element before. The period is `stats_persist_period_sec`. The history is empty
    /// without statistics. The history is in memory, up to `stats_history_buffer_size` bytes, or in a hidden column
    /// family if `persist_stats_to_disk` is set.
    ///
    /// ```
    /// # let db = ironstone::Db::open("data", ironstone::Options::in_memory())?;
    /// assert_eq!(db.stats_history(0, u64::MAX).count(), 0); // statistics are off
    /// # Ok::<(), ironstone::Error>(())
    /// ```
    pub fn stats_history(&self, start: u64, end: u64) -> engine::db::StatsHistory {
        self.db.properties().stats_history(start, end)
    }

    /// Returns a numeric property summed over all column families. A block cache of several column families counts once.
    /// Each other property of the whole database, for example the number of snapshots, counts once for each column family:
    /// [`Family::int_property`] returns such a number. RocksDB: `GetAggregatedIntProperty`.
    ///
    /// ```
    /// # let db = ironstone::Db::open("data", ironstone::Options::in_memory())?;
    /// assert_eq!(db.aggregated_int_property("rocksdb.num-entries-active-mem-table"), Some(0));
    /// # Ok::<(), ironstone::Error>(())
    /// ```
    pub fn aggregated_int_property(&self, name: &str) -> Option<u64> {
        self.db.properties().sum(name)
    }

    /// Resets the counters of `rocksdb.stats` to 0. Does not change the statistics object of the options.
    ///
    /// ```
    /// # let db = ironstone::Db::open("data", ironstone::Options::in_memory())?;
    /// db.reset_stats();
    /// # Ok::<(), ironstone::Error>(())
    /// ```
    pub fn reset_stats(&self) {
        self.db.properties().reset_stats();
    }

    /// Returns the directory of the database.
    ///
    /// ```
    /// # let db = ironstone::Db::open("data", ironstone::Options::in_memory())?;
    /// assert_eq!(db.path(), std::path::Path::new("data"));
    /// # Ok::<(), ironstone::Error>(())
    /// ```
    pub fn path(&self) -> &Path {
        self.db.path()
    }

    /// Returns the id of the database, as in the file IDENTITY and in SST files. RocksDB: `GetDbIdentity`.
    ///
    /// ```
    /// # let db = ironstone::Db::open("data", ironstone::Options::in_memory())?;
    /// assert!(!db.identity().is_empty());
    /// # Ok::<(), ironstone::Error>(())
    /// ```
    pub fn identity(&self) -> &str {
        self.db.id()
    }

    /// Returns the id of this open, as in the SST files that this open writes. RocksDB: `GetDbSessionId`.
    ///
    /// ```
    /// # let db = ironstone::Db::open("data", ironstone::Options::in_memory())?;
    /// assert_eq!(db.session_id().len(), 20);
    /// # Ok::<(), ironstone::Error>(())
    /// ```
    pub fn session_id(&self) -> &str {
        self.db.session_id()
    }

    /// Closes the database now. All other handles stay, but their calls fail.
    ///
    /// # Errors
    /// The first error of closing. All steps of closing are done, also after an error.
    ///
    /// ```
    /// # let db = ironstone::Db::open("data", ironstone::Options::in_memory())?;
    /// let other = db.clone();
    /// db.close()?;
    /// assert!(other.put(b"k", b"v").is_err());
    /// # Ok::<(), ironstone::Error>(())
    /// ```
    pub fn close(&self) -> Result<()> {
        self.db.close()
    }

    /// Makes a handle of an open database of the crate `engine`. For tools.
    ///
    /// # Errors
    /// NotFound if the database is closed.
    #[doc(hidden)]
    pub fn of_engine(inner: engine::db::Db) -> Result<Db> {
        Db::new(inner)
    }

    /// Returns the engine below this handle, for tools that look inside. The engine's interface is not stable.
    ///
    /// ```
    /// # let db = ironstone::Db::open("data", ironstone::Options::in_memory())?;
    /// assert_eq!(db.engine().id(), db.identity());
    /// # Ok::<(), ironstone::Error>(())
    /// ```
    pub fn engine(&self) -> &engine::db::Db {
        &self.db
    }
}

impl std::fmt::Debug for Db {
    fn fmt(&self, f: &mut std::fmt::Formatter<'_>) -> std::fmt::Result {
        write!(f, "{:?}", self.db)
    }
}
