//! Changes of the SST files of one column family: flush, manual compaction, deletion of whole files.
//!
//! Not here: lists of files (`metadata`), and the control of background threads (`work`).

use std::path::PathBuf;

use base::{FileNumber, Level, Result};
use engine::options::{CompactRangeOptions, CompactionOptions, FlushOptions};

use crate::Family;

impl Family {
    /// Writes the memtables of this column family to SST files, and waits for the end of the flush.
    ///
    /// # Errors
    /// The background error that prevents the flush; ColumnFamilyDropped.
    ///
    /// ```
    /// # let db = ironstone::Db::open("data", ironstone::Options::in_memory())?;
    /// db.put(b"k", b"v")?;
    /// db.flush()?;
    /// assert_eq!(db.live_files().len(), 1);
    /// # Ok::<(), ironstone::Error>(())
    /// ```
    pub fn flush(&self) -> Result<()> {
        self.flush_with(&FlushOptions::default())
    }

    /// Flushes this column family, with options. If `wait` is false, the call returns when the flush is scheduled.
    ///
    /// # Errors
    /// The errors of [`Self::flush`].
    ///
    /// ```
    /// # use ironstone::FlushOptions;
    /// # let db = ironstone::Db::open("data", ironstone::Options::in_memory())?;
    /// db.put(b"k", b"v")?;
    /// db.flush_with(&FlushOptions { wait: false, ..FlushOptions::default() })?;
    /// # Ok::<(), ironstone::Error>(())
    /// ```
    pub fn flush_with(&self, options: &FlushOptions) -> Result<()> {
        self.db.flush(std::slice::from_ref(&self.inner), options)
    }

    /// Compacts the keys in `[begin, end]`, and waits for the end of the compaction. `None` means no bound.
    ///
    /// # Errors
    /// Errors of the compaction jobs. NotSupported for options whose feature is not built. Incomplete if the
    /// compaction is canceled.
    ///
    /// ```
    /// # use ironstone::{CompactRangeOptions, Level};
    /// # let db = ironstone::Db::open("data", ironstone::Options::in_memory())?;
    /// db.put(b"k", b"v")?;
    /// db.compact_range(None, None, &CompactRangeOptions::default())?; // flushes first
    /// assert_eq!(db.live_files()[0].level, Level::new(6));
    /// # Ok::<(), ironstone::Error>(())
    /// ```
    pub fn compact_range(
        &self,
        begin: Option<&[u8]>,
        end: Option<&[u8]>,
        options: &CompactRangeOptions,
    ) -> Result<()> {
        self.db.compactions().compact_range(&self.inner, begin, end, options)
    }

    /// Compacts these SST files, and the SST files that must go with them, to `output_level`. Runs on the calling
    /// thread. Returns the paths of the new files. `output_path_id` is an index into the paths of the column family;
    /// `None` is legal if there is only one path. RocksDB: `CompactFiles`.
    ///
    /// # Errors
    /// InvalidArgument for a file that is not in the column family or lies below the output level, and for a level or
    /// path that does not exist. Aborted if another compaction has one of the files. Incomplete if canceled.
    ///
    /// ```
    /// # use ironstone::{CompactionOptions, Level};
    /// # let db = ironstone::Db::open("data", ironstone::Options::in_memory())?;
    /// db.put(b"k", b"v")?;
    /// db.flush()?;
    /// let files: Vec<_> = db.live_files().iter().map(|file| file.number).collect();
    /// db.compact_files(&files, Level::new(6), None, &CompactionOptions::default())?;
    /// assert_eq!(db.live_files()[0].level, Level::new(6));
    /// # Ok::<(), ironstone::Error>(())
    /// ```
    pub fn compact_files(
        &self,
        files: &[FileNumber],
        output_level: Level,
        output_path_id: Option<u32>,
        options: &CompactionOptions,
    ) -> Result<Vec<PathBuf>> {
        self.db.compactions().compact_files(&self.inner, files, output_level, output_path_id, options)
    }

    /// Deletes the SST files below level 0 whose keys all lie in one of the ranges. The only cost is one MANIFEST
    /// record. Keys of a deleted file are gone, in snapshots too, and older entries of these keys in lower levels
    /// become visible. `None` means no bound. With `include_end`, a file whose last key is the end of a range is
    /// deleted too. RocksDB: `DeleteFilesInRanges`.
    ///
    /// # Errors
    /// Errors of the MANIFEST; then no file is deleted.
    ///
    /// ```
    /// # use ironstone::{CompactionOptions, Level};
    /// # let db = ironstone::Db::open("data", ironstone::Options::in_memory())?;
    /// # db.put(b"k", b"v")?;
    /// # db.flush()?;
    /// # let files: Vec<_> = db.live_files().iter().map(|file| file.number).collect();
    /// # db.compact_files(&files, Level::new(6), None, &CompactionOptions::default())?;
    /// db.delete_files_in_ranges(&[(Some(b"a"), Some(b"z"))], true)?;
    /// assert!(db.live_files().is_empty());
    /// # Ok::<(), ironstone::Error>(())
    /// ```
    pub fn delete_files_in_ranges(
        &self,
        ranges: &[(Option<&[u8]>, Option<&[u8]>)],
        include_end: bool,
    ) -> Result<()> {
        self.db.files().delete_files_in_ranges(&self.inner, ranges, include_end)
    }

    /// Marks the SST files that overlap `[begin, end]`. A background compaction compacts the marked files soon.
    /// `None` means no bound.
    ///
    /// # Errors
    /// NotSupported if the database is open for reading only.
    ///
    /// ```
    /// # let db = ironstone::Db::open("data", ironstone::Options::in_memory())?;
    /// db.suggest_compact_range(Some(b"a"), None)?;
    /// # Ok::<(), ironstone::Error>(())
    /// ```
    pub fn suggest_compact_range(&self, begin: Option<&[u8]>, end: Option<&[u8]>) -> Result<()> {
        self.db.compactions().suggest_compact_range(&self.inner, begin, end)
    }

    /// Moves all SST files of level 0 to `target_level`. The files do not change.
    ///
    /// # Errors
    /// InvalidArgument in these cases: the level does not exist; files of level 0 overlap or are inputs of a running
    /// compaction; a level from 1 to the target is not empty.
    ///
    /// ```
    /// # let db = ironstone::Db::open("data", ironstone::Options::in_memory())?;
    /// db.put(b"k", b"v")?;
    /// db.flush()?;
    /// db.promote_l0(ironstone::Level::new(2))?;
    /// assert_eq!(db.live_files()[0].level, ironstone::Level::new(2));
    /// # Ok::<(), ironstone::Error>(())
    /// ```
    pub fn promote_l0(&self, target_level: Level) -> Result<()> {
        self.db.compactions().promote_l0(&self.inner, target_level)
    }

    /// Raises the low mark of timestamps. Compaction may then remove history below `low`, and reads below `low`
    /// fail. The new mark is durable when the call returns.
    ///
    /// # Errors
    /// InvalidArgument if the column family has no timestamps, if `low` has another length than the timestamps, or
    /// if the current mark is higher.
    ///
    /// ```
    /// # use ironstone::{Db, Options};
    /// let mut options = Options::in_memory();
    /// options.update("comparator=leveldb.BytewiseComparator.u64ts")?;
    /// let db = Db::open("data", options)?;
    /// db.increase_full_history_ts_low(&7u64.to_le_bytes())?;
    /// assert_eq!(db.full_history_ts_low().as_deref(), Some(&7u64.to_le_bytes()[..]));
    /// # Ok::<(), ironstone::Error>(())
    /// ```
    pub fn increase_full_history_ts_low(&self, low: &[u8]) -> Result<()> {
        self.db.compactions().increase_full_history_ts_low(&self.inner, low)
    }

    /// Returns the low mark of timestamps, or `None` if no mark was set.
    ///
    /// ```
    /// # let db = ironstone::Db::open("data", ironstone::Options::in_memory())?;
    /// assert_eq!(db.full_history_ts_low(), None);
    /// # Ok::<(), ironstone::Error>(())
    /// ```
    pub fn full_history_ts_low(&self) -> Option<Vec<u8>> {
        self.db.compactions().full_history_ts_low(&self.inner)
    }
}
