//! Obsolete files. SST files and blob files wait here until no reader uses them. WALs and MANIFESTs wait here until
//! deletions are enabled (RocksDB's `DisableFileDeletions` keeps them too).

use std::path::PathBuf;

use base::map::HashSet;
use base::{FileNumber, WalNumber};
use lsm::table_file::TableFile;
use lsm::version::InUse;

use crate::release_notifier::ReleaseNotifier;
use crate::sync::{Arc, Mutex};

/// The waiting files of one database.
pub struct Obsolete {
    waiting: Mutex<Vec<Waiting>>,
    records: Mutex<Records>,
    release_notifier: Arc<ReleaseNotifier>,
    /// How often the user has disabled deletions (`disable_file_deletions`). 0: deletions are enabled.
    disabled: Mutex<u32>,
}

/// Obsolete WALs and MANIFESTs. No reader uses them.
#[derive(Debug, Default)]
pub struct Records {
    pub wals: Vec<WalNumber>,
    pub manifests: Vec<FileNumber>,
}

/// An obsolete file, and its path.
pub struct Waiting {
    pub file: Retired,
    pub number: FileNumber,
    pub path: PathBuf,
}

/// The pointer that versions share for a file. If this is the only copy of the pointer, no version needs the file.
pub enum Retired {
    Table {
        file: Arc<TableFile>,
        /// `uncache_aggressiveness` of the column family when the file left the current version.
        uncache: u32,
    },
    Blob(Arc<InUse>),
}

impl Waiting {
    fn is_free(&self) -> bool {
        match &self.file {
            Retired::Table { file, .. } => Arc::strong_count(file) == 1,
            Retired::Blob(in_use) => Arc::strong_count(in_use) == 1,
        }
    }
}

impl Obsolete {
    /// Makes an empty list, with deletions enabled.
    pub fn new(release_notifier: Arc<ReleaseNotifier>) -> Self {
        Obsolete {
            waiting: Mutex::default(),
            records: Mutex::default(),
            release_notifier,
            disabled: Mutex::new(0),
        }
    }

    /// Returns the notifier that plans a purge when a reader releases a super version.
    pub fn release_notifier(&self) -> &Arc<ReleaseNotifier> {
        &self.release_notifier
    }

    /// Adds files that left the current version.
    pub fn retire(&self, files: impl IntoIterator<Item = Waiting>) {
        let mut waiting = self.waiting.lock();
        waiting.extend(files);
        base::invariant!(has_no_double(&waiting), "a file waits twice for its deletion");
        self.release_notifier.set_waiting(waiting.len() as u64);
    }

    /// Takes the files that no version holds. Only this list has a pointer to such a file, so no thread can
    /// copy the pointer. Returns no file while deletions are disabled.
    pub fn take_free(&self) -> Vec<Waiting> {
        // Held until the end: a file that becomes obsolete after `disable` has returned must stay.
        let disabled = self.disabled.lock();
        if *disabled > 0 {
            return Vec::new();
        }
        let mut waiting = self.waiting.lock();
        self.release_notifier.reset();
        let (free, held): (Vec<Waiting>, Vec<Waiting>) =
            std::mem::take(&mut *waiting).into_iter().partition(Waiting::is_free);
        base::invariant!(
            free.iter().all(Waiting::is_free),
            "a reader takes an obsolete file that no version holds, of {} such files",
            free.len()
        );
        *waiting = held;
        self.release_notifier.set_waiting(waiting.len() as u64);
        free
    }

    /// Adds obsolete WALs and MANIFESTs.
    pub fn retire_records(
        &self,
        wals: impl IntoIterator<Item = WalNumber>,
        manifests: impl IntoIterator<Item = FileNumber>,
    ) {
        let mut records = self.records.lock();
        records.wals.extend(wals);
        records.manifests.extend(manifests);
        base::invariant!(
            has_no_double_number(&records.wals),
            "a WAL becomes obsolete twice: {:?}",
            records.wals
        );
        base::invariant!(
            has_no_double_number(&records.manifests),
            "a MANIFEST becomes obsolete twice: {:?}",
            records.manifests
        );
    }

    /// Takes the obsolete WALs and MANIFESTs. Returns none while deletions are disabled.
    pub fn take_records(&self) -> Records {
        // Held until the end, as in `take_free`.
        let disabled = self.disabled.lock();
        if *disabled > 0 {
            return Records::default();
        }
        std::mem::take(&mut self.records.lock())
    }

    /// Returns the bytes of the waiting SST files (`rocksdb.obsolete-sst-files-size`).
    pub fn waiting_bytes(&self) -> u64 {
        let bytes = |w: &Waiting| match &w.file {
            Retired::Table { file, .. } => file.size,
            Retired::Blob(_) => 0,
        };
        self.waiting.lock().iter().map(bytes).sum()
    }

    /// Disables deletions until [`Obsolete::enable`] was called as often.
    pub fn disable(&self) {
        *self.disabled.lock() += 1;
    }

    /// Undoes one [`Obsolete::disable`], or with `force` all of them. Returns true if deletions are enabled
    /// afterwards.
    pub fn enable(&self, force: bool) -> bool {
        let mut disabled = self.disabled.lock();
        // As in RocksDB, the user may enable deletions that are enabled.
        *disabled = if force { 0 } else { disabled.saturating_sub(1) };
        *disabled == 0
    }

    /// Returns how often deletions are disabled. `rocksdb.is-file-deletions-enabled` is 1 if the result is 0.
    pub fn disabled_count(&self) -> u32 {
        *self.disabled.lock()
    }
}

/// Returns true if no two of the files have the same path.
fn has_no_double(waiting: &[Waiting]) -> bool {
    let paths: HashSet<_> = waiting.iter().map(|file| &file.path).collect();
    paths.len() == waiting.len()
}

/// Returns true if no number is in the list twice.
fn has_no_double_number<N: Eq + std::hash::Hash>(numbers: &[N]) -> bool {
    numbers.iter().collect::<HashSet<_>>().len() == numbers.len()
}
