//! The files of a database: the SST files of a column family, deletions of files.
//!
//! Not here: ingestions (`ingest`), the lists of live files (`live_files`), and checks of files (`verify`).

use std::collections::BTreeMap;
use std::path::PathBuf;

use base::{Level, Result};
use format::properties::Properties;
use lsm::table_file::TableFile;

use super::Db;
use crate::family::Family;
use crate::iter::Versions;
use crate::sync::Arc;

/// The files of a database: see [`Db::files`].
#[derive(Clone, Copy)]
pub struct Files<'a> {
    pub(super) db: &'a Db,
}

impl Files<'_> {
    /// Returns the open table of `file`, which is on `level` of the column family.
    ///
    /// # Errors
    /// Errors of opening the SST file.
    pub fn table(&self, family: &Family, level: Level, file: &TableFile) -> Result<table::any::AnyReader> {
        self.db.inner.own(family)?;
        self.db.inner.tables.get(&family.parts(), level, file)
    }

    /// Returns the table properties of the SST files of a column family, by path. With ranges, only the SST files that
    /// overlap one of the ranges `[begin, end]`.
    ///
    /// # Errors
    /// InvalidArgument for a handle of another database. Errors of opening an SST file.
    pub fn table_properties(
        &self,
        family: &Family,
        ranges: Option<&[(&[u8], &[u8])]>,
    ) -> Result<BTreeMap<PathBuf, Arc<Properties>>> {
        self.db.inner.own(family)?;
        let pinned = family.pin_owned();
        let order = &family.order().user;
        let overlaps = |file: &TableFile| {
            let (smallest, largest) = (file.smallest_user_key(), file.largest_user_key());
            let size = order.timestamp_size();
            let (smallest, largest) =
                (base::key::without_timestamp(smallest, size), base::key::without_timestamp(largest, size));
            ranges.is_none_or(|ranges| {
                ranges.iter().any(|(begin, end)| {
                    order.compare_stripped(begin, largest).is_le()
                        && order.compare_stripped(end, smallest).is_ge()
                })
            })
        };
        let files = pinned.version.files().filter(|(_, file)| overlaps(file));
        let read = files.map(|(level, file)| {
            let table = self.db.inner.tables.get(&pinned.parts, level, file)?;
            Ok((pinned.parts.table_path(file.number, file.path_id), table.properties().clone()))
        });
        read.collect()
    }

    /// Returns every entry in the memtables and SST files of the column family, for tools that inspect a database.
    ///
    /// # Errors
    /// Errors of opening SST files.
    pub fn versions(&self, family: &Arc<Family>) -> Result<Versions> {
        self.db.inner.own(family)?;
        Versions::new(&self.db.inner.iterator_context(family))
    }

    /// Drops the SST files that lie completely in one of the ranges; see
    /// [`crate::jobs::ManualCompactions::delete_files_in_ranges`].
    ///
    /// # Errors
    /// See [`crate::jobs::ManualCompactions::delete_files_in_ranges`]. NotSupported in a database that is open for reading, if
    /// there is an SST file to drop.
    pub fn delete_files_in_ranges(
        &self,
        family: &Arc<Family>,
        ranges: &[(Option<&[u8]>, Option<&[u8]>)],
        include_end: bool,
    ) -> Result<()> {
        self.db.inner.own(family)?;
        match self.db.inner.work()? {
            Some(writing) => writing.jobs.manuals.delete_files_in_ranges(family, ranges, include_end, None),
            None => self.db.inner.delete_no_files(family, ranges, include_end),
        }
    }

    /// Keeps obsolete files on disk until [`Files::enable_deletions`] was called as often as this function.
    pub fn disable_deletions(&self) {
        self.db.inner.obsolete.disable();
    }

    /// Undoes one call of [`Files::disable_deletions`]. After the last call, the waiting files are deleted.
    pub fn enable_deletions(&self) {
        if self.db.inner.obsolete.enable(false)
            && let Some(writing) = &self.db.inner.writing
        {
            writing.jobs.purge.purge();
        }
    }
}
