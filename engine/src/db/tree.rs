//! Manual compactions, moves and deletions of files that the caller names.

use std::path::PathBuf;

use base::{Error, FamilyId, FileNumber, JobId, Level, Result};
use format::names::{self, FileName};
use lsm::pick::Running;

use super::Db;
pub use crate::compaction::FilesCompacted;
use crate::family::Family;
use crate::options::{CompactRangeOptions, CompactionOptions};
use crate::sync::Arc;

/// Deletes an SST file or an archived WAL by its name: `000012.sst`, `/000012.sst` or `archive/000012.log`. See
/// [`crate::jobs::ManualCompactions::delete_file`].
///
/// # Errors
/// InvalidArgument if the name is not the name of an SST file or a WAL. NotSupported for a WAL that is not archived.
/// Errors of the file system, and the errors of [`crate::jobs::ManualCompactions::delete_file`].
pub fn delete_file(db: &Db, name: &str) -> Result<()> {
    let writing = db.inner.writing()?;
    match FileName::parse(name) {
        Some(FileName::Table(number) | FileName::LegacyTable(number)) => {
            writing.jobs.manuals.delete_file(&db.families(), number)
        }
        Some(FileName::ArchivedWal(number)) => {
            let archive = db.inner.tools.paths.wal.join(names::ARCHIVE_DIR);
            db.inner.tools.env.fs.unlink(&archive.join(names::wal(number)))
        }
        Some(FileName::Wal(_)) => Err(Error::not_supported("Delete only supported for archived logs")),
        _ => Err(Error::invalid_argument("Invalid file name")),
    }
}

/// Drops the SST files that lie completely in one of the ranges and have a number below `limit`. A range excludes its
/// end. SST files that were written later stay, for example the files with the deletions of the caller.
///
/// # Errors
/// See [`super::Files::delete_files_in_ranges`]. NotSupported in a database that is open for reading.
pub fn delete_older_files_in_ranges(
    db: &Db,
    family: &Arc<Family>,
    ranges: &[(Option<&[u8]>, Option<&[u8]>)],
    limit: FileNumber,
) -> Result<()> {
    db.inner.own(family)?;
    db.inner.writing()?.jobs.manuals.delete_files_in_ranges(family, ranges, false, Some(limit))
}

/// Returns the running compactions of a column family: the number of the job, and what the job reserves. A database that is open for
/// reading has none.
pub fn running_compactions(db: &Db, family: FamilyId) -> Vec<(JobId, Running)> {
    db.inner.writing().map(|writing| writing.jobs.manuals.running(family)).unwrap_or_default()
}

/// The compactions of a database that the caller asks for or stops: see [`Db::compactions`].
#[derive(Clone, Copy)]
pub struct Compactions<'a> {
    pub(super) db: &'a Db,
}

impl Compactions<'_> {
    /// Compacts the keys in `[begin, end]`; `None` is unbounded.
    ///
    /// # Errors
    /// Errors of the jobs; see [`crate::jobs::ManualCompactions::compact_range`].
    pub fn compact_range(
        &self,
        family: &Arc<Family>,
        begin: Option<&[u8]>,
        end: Option<&[u8]>,
        options: &CompactRangeOptions,
    ) -> Result<()> {
        self.db.inner.own(family)?;
        self.db.inner.writing()?.jobs.manuals.compact_range(family, begin, end, options).map(|_| ())
    }

    /// Compacts the SST files with these numbers to a level; see [`crate::jobs::ManualCompactions::compact_files`].
    ///
    /// # Errors
    /// See [`crate::jobs::ManualCompactions::compact_files`].
    pub fn compact_files(
        &self,
        family: &Arc<Family>,
        files: &[FileNumber],
        output_level: Level,
        output_path_id: Option<u32>,
        options: &CompactionOptions,
    ) -> Result<Vec<PathBuf>> {
        self.compact_files_reported(family, files, output_level, output_path_id, options)
            .map(|done| done.outputs)
    }

    /// Compacts as [`Self::compact_files`] does, and also returns the report that listeners receive.
    ///
    /// # Errors
    /// The errors of [`Self::compact_files`].
    pub fn compact_files_reported(
        &self,
        family: &Arc<Family>,
        files: &[FileNumber],
        output_level: Level,
        output_path_id: Option<u32>,
        options: &CompactionOptions,
    ) -> Result<FilesCompacted> {
        self.db.inner.own(family)?;
        self.db.inner.writing()?.jobs.manuals.compact_files(
            family,
            files,
            output_level,
            output_path_id,
            options,
        )
    }

    /// Marks the SST files that overlap `[begin, end]`. The background compacts them soon.
    ///
    /// # Errors
    /// ShutdownInProgress after a close. In a database that is open for reading, the call returns OK and has no effect.
    pub fn suggest_compact_range(
        &self,
        family: &Arc<Family>,
        begin: Option<&[u8]>,
        end: Option<&[u8]>,
    ) -> Result<()> {
        self.db.inner.own(family)?;
        if let Some(writing) = self.db.inner.work()? {
            writing.jobs.manuals.suggest_compact_range(family, begin, end);
        }
        Ok(())
    }

    /// Moves the SST files of level 0 to `target_level`, unchanged; see
    /// [`crate::jobs::ManualCompactions::promote_l0`].
    ///
    /// # Errors
    /// See [`crate::jobs::ManualCompactions::promote_l0`].
    pub fn promote_l0(&self, family: &Arc<Family>, target_level: Level) -> Result<()> {
        self.db.inner.own(family)?;
        self.db.inner.writing()?.jobs.manuals.promote_l0(family, target_level)
    }

    /// Cancels the manual compactions that run, and rejects new manual compactions. Returns when no manual compaction
    /// runs. Calls are counted: see [`Compactions::enable_manual`].
    ///
    /// # Errors
    /// ShutdownInProgress after a close. In a database that is open for reading, the call returns OK and has no effect.
    pub fn disable_manual(&self) -> Result<()> {
        if let Some(writing) = self.db.inner.work()? {
            writing.jobs.manuals.disable_manual();
        }
        Ok(())
    }

    /// Cancels all compactions, manual and automatic, and starts no compaction until [`Compactions::resume_all`].
    ///
    /// # Errors
    /// ShutdownInProgress after a close. In a database that is open for reading, the call returns OK and has no effect.
    pub fn abort_all(&self) -> Result<()> {
        if let Some(writing) = self.db.inner.work()? {
            writing.jobs.manuals.abort_compactions();
        }
        Ok(())
    }

    /// Undoes one [`Compactions::abort_all`].
    ///
    /// # Errors
    /// InvalidArgument if compactions are not aborted. A database that is open for reading returns OK.
    pub fn resume_all(&self) -> Result<()> {
        self.db.inner.work()?.map_or(Ok(()), |writing| writing.jobs.manuals.resume_compactions())
    }

    /// Undoes one [`Compactions::disable_manual`]. An extra call undoes the next `disable_manual_compaction`, as in
    /// RocksDB.
    ///
    /// # Errors
    /// ShutdownInProgress after a close. In a database that is open for reading, the call returns OK and has no effect.
    pub fn enable_manual(&self) -> Result<()> {
        if let Some(writing) = self.db.inner.work()? {
            writing.jobs.manuals.enable_manual();
        }
        Ok(())
    }

    /// Raises the oldest timestamp that must stay readable. Compactions may drop older entries of a key below this
    /// timestamp.
    ///
    /// # Errors
    ///
    /// InvalidArgument if `low` does not have the length of a timestamp, or is below the present value.
    pub fn increase_full_history_ts_low(&self, family: &Arc<Family>, low: &[u8]) -> Result<()> {
        self.db.inner.own(family)?;
        crate::jobs::ManualCompactions::check_history_ts(family, low)?;
        self.db.inner.writing()?.jobs.manuals.raise_full_history_ts_low(family, low)
    }

    /// Drops the entries of the family whose timestamp is newer than `newest`.
    ///
    /// # Errors
    /// The errors of [`Compactions::increase_full_history_ts_low`]; errors of the compaction.
    pub fn trim_history(&self, family: &Arc<Family>, newest: &[u8]) -> Result<()> {
        self.db.inner.own(family)?;
        self.db.inner.writing()?.jobs.manuals.trim_history(family, newest).map(|_| ())
    }

    /// Returns the oldest timestamp of the family that can be read. Returns `None` if all history is kept, and for
    /// a handle of another database.
    pub fn full_history_ts_low(&self, family: &Arc<Family>) -> Option<Vec<u8>> {
        self.db.inner.own(family).ok()?;
        family.state().full_history_ts_low.clone()
    }
}
