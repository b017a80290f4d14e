//! Control of background work: pause, disable, wait.

use base::Result;
use engine::options::WaitForCompactOptions;

use crate::{Db, Family};

impl Db {
    /// Cancels the manual compactions that run, and rejects new manual compactions. A canceled compaction returns
    /// Incomplete. Returns when no manual compaction runs. Calls are counted: each call needs one
    /// [`Db::enable_manual_compaction`].
    ///
    /// # Errors
    /// NotSupported if the database is open for reading only.
    ///
    /// ```
    /// # use ironstone::CompactRangeOptions;
    /// # let db = ironstone::Db::open("data", ironstone::Options::in_memory())?;
    /// db.disable_manual_compaction()?;
    /// assert!(db.compact_range(None, None, &CompactRangeOptions::default()).is_err());
    /// db.enable_manual_compaction()?;
    /// # Ok::<(), ironstone::Error>(())
    /// ```
    pub fn disable_manual_compaction(&self) -> Result<()> {
        self.engine().compactions().disable_manual()
    }

    /// Undoes one call of [`Db::disable_manual_compaction`]. If no call is outstanding, the next call has no effect, as in
    /// RocksDB.
    ///
    /// # Errors
    /// NotSupported if the database is open for reading only.
    ///
    /// ```
    /// # use ironstone::CompactRangeOptions;
    /// # let db = ironstone::Db::open("data", ironstone::Options::in_memory())?;
    /// db.disable_manual_compaction()?;
    /// db.enable_manual_compaction()?;
    /// db.compact_range(None, None, &CompactRangeOptions::default())?;
    /// # Ok::<(), ironstone::Error>(())
    /// ```
    pub fn enable_manual_compaction(&self) -> Result<()> {
        self.engine().compactions().enable_manual()
    }

    /// Cancels all running compactions, manual and automatic, and starts no compaction until
    /// [`Db::resume_all_compactions`]. Flushes continue, but a flush without `allow_write_stall` waits while level 0 is near the
    /// limit that stops writes, and can then wait for the resume. Returns when no compaction runs. A canceled or rejected manual
    /// compaction returns Incomplete with the subcode `CompactionAborted`. Calls are counted. RocksDB:
    /// `AbortAllCompactions`.
    ///
    /// # Errors
    /// NotSupported if the database is open for reading only.
    ///
    /// ```
    /// # use ironstone::{CompactRangeOptions, Subcode};
    /// # let db = ironstone::Db::open("data", ironstone::Options::in_memory())?;
    /// db.abort_all_compactions()?;
    /// let rejected = db.compact_range(None, None, &CompactRangeOptions::default());
    /// assert_eq!(rejected.unwrap_err().subcode(), Subcode::CompactionAborted);
    /// db.resume_all_compactions()?;
    /// # Ok::<(), ironstone::Error>(())
    /// ```
    pub fn abort_all_compactions(&self) -> Result<()> {
        self.engine().compactions().abort_all()
    }

    /// Undoes one call of [`Db::abort_all_compactions`].
    ///
    /// # Errors
    /// InvalidArgument if compactions are not aborted.
    ///
    /// ```
    /// # let db = ironstone::Db::open("data", ironstone::Options::in_memory())?;
    /// assert!(db.resume_all_compactions().is_err());
    /// # Ok::<(), ironstone::Error>(())
    /// ```
    pub fn resume_all_compactions(&self) -> Result<()> {
        self.engine().compactions().resume_all()
    }

    /// Sets `disable_auto_compactions` to false for these column families.
    ///
    /// # Errors
    /// The errors of [`Family::set_options`].
    ///
    /// ```
    /// # use ironstone::{Db, Options};
    /// let mut options = Options::in_memory();
    /// options.family.disable_auto_compactions = true;
    /// let db = Db::open("data", options)?;
    /// db.enable_auto_compaction(&db.families())?;
    /// assert!(!db.options().disable_auto_compactions);
    /// # Ok::<(), ironstone::Error>(())
    /// ```
    pub fn enable_auto_compaction(&self, families: &[Family]) -> Result<()> {
        let change = [("disable_auto_compactions", "false")];
        families.iter().try_for_each(|family| self.db.admin().set_options(family.inner(), &change))
    }

    /// Pauses flushes and compactions. Returns when no background job runs. A write that needs the end of a flush or
    /// compaction waits. Calls are counted: each call needs one [`Db::continue_background_work`].
    ///
    /// # Errors
    /// NotSupported if the database is open for reading only.
    ///
    /// ```
    /// # let db = ironstone::Db::open("data", ironstone::Options::in_memory())?;
    /// db.pause_background_work()?;
    /// db.continue_background_work()?;
    /// # Ok::<(), ironstone::Error>(())
    /// ```
    pub fn pause_background_work(&self) -> Result<()> {
        self.engine().background().pause()
    }

    /// Undoes one call of [`Db::pause_background_work`].
    ///
    /// # Errors
    /// InvalidArgument if background work is not paused.
    ///
    /// ```
    /// # let db = ironstone::Db::open("data", ironstone::Options::in_memory())?;
    /// assert!(db.continue_background_work().is_err());
    /// # Ok::<(), ironstone::Error>(())
    /// ```
    pub fn continue_background_work(&self) -> Result<()> {
        self.engine().background().unpause()
    }

    /// Stops all background work permanently. The database stays open. The call first flushes entries that are in no WAL,
    /// unless `avoid_flush_during_shutdown` is set. If `wait` is true, the call returns when no background job runs, even
    /// if another thread canceled the work. If `wait` is false, running jobs can end after the call, and a close waits for
    /// them. RocksDB: `CancelAllBackgroundWork`.
    ///
    /// After the call, flushes and compactions return ShutdownInProgress. Writes go to the WAL and the memtable. A write
    /// that must wait for a flush or a compaction returns ShutdownInProgress. If the write buffer manager stops a write,
    /// RocksDB instead waits until another database frees memory. It waits without end if there is no other database. The
    /// close loses entries that were written without WAL after the call, and then returns ShutdownInProgress.
    ///
    /// # Errors
    /// NotSupported if the database is open for reading only. Aborted, without an effect, in a callback on a background
    /// thread of the database. The error of the flush; the background work ends also then.
    ///
    /// ```
    /// # let db = ironstone::Db::open("data", ironstone::Options::in_memory())?;
    /// db.cancel_all_background_work(true)?;
    /// db.put(b"k", b"v")?;
    /// assert!(db.flush().is_err());
    /// # Ok::<(), ironstone::Error>(())
    /// ```
    pub fn cancel_all_background_work(&self, wait: bool) -> Result<()> {
        self.engine().background().cancel_all(wait)
    }

    /// Waits until no flush and no compaction runs or is due.
    ///
    /// # Errors
    /// The background error that stops flushes or compactions, also if it stops only one column family.
    ///
    /// ```
    /// # let db = ironstone::Db::open("data", ironstone::Options::in_memory())?;
    /// db.wait_for_compact()?;
    /// # Ok::<(), ironstone::Error>(())
    /// ```
    pub fn wait_for_compact(&self) -> Result<()> {
        self.engine().background().wait_for_compact()
    }

    /// Waits until no flush and no compaction runs or is due, with options.
    ///
    /// # Errors
    /// The errors of [`Db::wait_for_compact`]. Aborted if background work is paused and `abort_on_pause` is set.
    /// TimedOut.
    ///
    /// ```
    /// # use ironstone::WaitForCompactOptions;
    /// # let db = ironstone::Db::open("data", ironstone::Options::in_memory())?;
    /// db.put(b"k", b"v")?;
    /// db.wait_for_compact_with(&WaitForCompactOptions { flush: true, ..WaitForCompactOptions::default() })?;
    /// assert_eq!(db.live_files().len(), 1);
    /// # Ok::<(), ironstone::Error>(())
    /// ```
    pub fn wait_for_compact_with(&self, options: &WaitForCompactOptions) -> Result<()> {
        self.engine().background().wait_for_compact_with(options)
    }

    /// Keeps obsolete files: no file is deleted until [`Db::enable_file_deletions`]. Calls are counted: each call needs
    /// one [`Db::enable_file_deletions`]. Use this call to copy the files of an open database.
    ///
    /// ```
    /// # let db = ironstone::Db::open("data", ironstone::Options::in_memory())?;
    /// db.disable_file_deletions();
    /// // copy files here
    /// db.enable_file_deletions();
    /// # Ok::<(), ironstone::Error>(())
    /// ```
    pub fn disable_file_deletions(&self) {
        self.engine().files().disable_deletions();
    }

    /// Undoes one call of [`Db::disable_file_deletions`]. After the last one, obsolete files are deleted.
    ///
    /// ```
    /// # let db = ironstone::Db::open("data", ironstone::Options::in_memory())?;
    /// db.disable_file_deletions();
    /// db.enable_file_deletions();
    /// # Ok::<(), ironstone::Error>(())
    /// ```
    pub fn enable_file_deletions(&self) {
        self.engine().files().enable_deletions();
    }
}
