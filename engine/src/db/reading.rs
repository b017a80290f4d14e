//! The answers of a reader to calls that would change the database or its background work. A reader is a database that is
//! open for reading.
//!
//! A reader has no background work. As in RocksDB, a call that only steers this work succeeds and has nothing to do: pauses,
//! waits, cancels, suggestions. A call that would change a file fails.
//!
//! | reader | text of the error | RocksDB |
//! |---|---|---|
//! | secondary instance, follower | `... in secondary mode.` | `db_impl_secondary.h` |
//! | all SST files in one sorted run, no WAL | `... in compacted db mode.` | `compacted_db_impl.h` |
//! | other | `... in read only mode.` | `db_impl_readonly.h` |

use base::key::without_timestamp;
use base::{Error, FamilyId, Level, Result, Subcode};

use super::{Db, Inner};
use crate::family::Family;
use crate::opening::{ReadUpTo, Tails, Writing};
use crate::options::WaitForCompactOptions;
use crate::sync::{Arc, AtomicU32, Ordering};

/// The state of a database that is open for reading. Without use in a database that is open for writing.
pub(super) struct Reading {
    /// The end of the files that the open has read. `None` in a database that is open for writing.
    pub up_to: Option<ReadUpTo>,
    pub tails: Tails,
    /// The pauses of the background work that were not undone. The views of a secondary instance share the count.
    pauses: Arc<AtomicU32>,
}

impl Reading {
    pub(super) fn new(up_to: Option<ReadUpTo>, tails: Tails) -> Self {
        Reading { up_to, tails, pauses: Arc::default() }
    }

    /// Takes over the pauses of the view before.
    pub(super) fn share_pauses(&mut self, before: &Reading) {
        self.pauses = before.pauses.clone();
    }

    pub(super) fn follows_a_writer(&self) -> bool {
        self.tails.manifest.is_some()
    }

    pub(super) fn pause(&self) {
        self.pauses.fetch_add(1, Ordering::Relaxed);
    }

    /// Undoes one pause. Returns false if there is none.
    pub(super) fn unpause(&self) -> bool {
        self.pauses.fetch_update(Ordering::Relaxed, Ordering::Relaxed, |pauses| pauses.checked_sub(1)).is_ok()
    }

    fn is_paused(&self) -> bool {
        self.pauses.load(Ordering::Relaxed) > 0
    }
}

impl Inner {
    /// Returns the error of a reader for a call that changes the database.
    #[cold]
    pub(super) fn refusal(&self) -> Error {
        let text = match (self.reading.follows_a_writer(), self.is_compacted()) {
            (true, _) => "Not supported operation in secondary mode.",
            (_, true) => "Not supported in compacted db mode.",
            _ => "Not supported operation in read only mode.",
        };
        Error::not_supported(text)
    }

    /// Returns true for a reader that follows no writer and that RocksDB does not open in its mode for compacted databases.
    pub(super) fn is_plain_reader(&self) -> bool {
        !self.reading.follows_a_writer() && !self.is_compacted()
    }

    /// Returns true if RocksDB opens the database in its mode for compacted databases (`compacted_db_impl.cc`, `Init`).
    fn is_compacted(&self) -> bool {
        let families = self.families.all();
        let [family] = &families[..] else { return false };
        let has_wal = self.reading.up_to.as_ref().is_some_and(|read| read.wals().iter().any(|wal| wal.1 > 0));
        if has_wal
            || self.tools.options.load().max_open_files != -1
            || family.id() != FamilyId::DEFAULT
            || family.options().merge_operator.is_some()
        {
            return false;
        }
        let version = family.state().version.clone();
        let levels: Vec<_> = version.files().map(|(level, _)| level).collect();
        match levels.first() {
            None => false,
            Some(&Level::ZERO) => levels.len() == 1,
            Some(first) => levels.iter().all(|level| level == first),
        }
    }
}

/// Checks that the database is open for writing.
///
/// # Errors
/// NotSupported for a database that is open for reading. ShutdownInProgress after a close.
pub fn check_writable(db: &Db) -> Result<()> {
    db.inner.writing().map(|_| ())
}

impl Inner {
    /// Returns the parts of a writer.
    ///
    /// # Errors
    /// NotSupported for a database that is open for reading. ShutdownInProgress after a close.
    pub(super) fn writing(&self) -> Result<&Writing> {
        match &self.writing {
            // A closed handle does not hold the LOCK file any more. Another process may have changed the files.
            Some(_) if self.close.has_begun() => Err(Error::shutdown_in_progress("the database is closed")),
            Some(writing) => Ok(writing),
            None => Err(self.refusal()),
        }
    }

    /// Returns the parts of a writer. Returns `None` for a reader, which has no background work.
    ///
    /// # Errors
    /// ShutdownInProgress after a close.
    pub(super) fn work(&self) -> Result<Option<&Writing>> {
        match &self.writing {
            None => Ok(None),
            Some(_) => self.writing().map(Some),
        }
    }

    /// The answer of a reader to [`super::Background::wait_for_compact_with`].
    pub(super) fn wait_as_reader(&self, options: &WaitForCompactOptions) -> Result<()> {
        if options.flush && self.families.all().iter().any(|family| family.holds_entries()) {
            return Err(self.refusal());
        }
        if options.abort_on_pause && self.reading.is_paused() {
            return Err(Error::aborted("background work is paused"));
        }
        if options.close_db { self.close() } else { Ok(()) }
    }

    /// The answer of a reader to [`super::Files::delete_files_in_ranges`]: OK if there is no file to delete.
    pub(super) fn delete_no_files(
        &self,
        family: &Family,
        ranges: &[(Option<&[u8]>, Option<&[u8]>)],
        include_end: bool,
    ) -> Result<()> {
        let order = &family.order().user;
        let strip = |key| without_timestamp(key, order.timestamp_size());
        let lies_in = |(begin, end): &(Option<&[u8]>, Option<&[u8]>), smallest: &[u8], largest: &[u8]| {
            let starts = begin.is_none_or(|begin| order.compare_stripped(begin, smallest).is_le());
            let ends = end.is_none_or(|end| {
                let compared = order.compare_stripped(largest, end);
                compared.is_lt() || include_end && compared.is_eq()
            });
            starts && ends
        };
        let version = family.state().version.clone();
        let would_delete = version.files().filter(|(level, _)| *level > Level::ZERO).any(|(_, file)| {
            let (smallest, largest) = (strip(file.smallest_user_key()), strip(file.largest_user_key()));
            ranges.iter().any(|range| lies_in(range, smallest, largest))
        });
        if would_delete { Err(self.refusal()) } else { Ok(()) }
    }
}

/// The error for the active WAL of a reader. RocksDB: `WalManager::GetLiveWalFile`.
pub(super) fn no_active_wal() -> Error {
    Error::io_error("log file not available").with_subcode(Subcode::PathNotFound)
}
