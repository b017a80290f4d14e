//! The super version: everything that a reader pins of a column family.

use base::{Error, Order, Result, SequenceNumber};
use lsm::version::Version;
use mem::budget::MemoryBudget;
use mem::memtable::MemTable;

use super::{Era, EraReader, Parts};
use crate::release_notifier::{NotifyOnDrop, ReleaseNotifier};
use crate::sync::{Arc, OnceLock};

/// The memtables, the version, and the settings of a column family at one time. It never changes, but entries are
/// added to `mem`. A new super version replaces the old one as a whole.
pub struct SuperVersion {
    /// The number of installs in this column family, from 1.
    pub number: u64,
    /// The active memtable.
    pub mem: Arc<MemTable>,
    /// The immutable memtables that are not in `version`, newest first. Readers search them in this order.
    pub imm: Arc<[Arc<MemTable>]>,
    /// Flushed memtables that are kept so that conflicts with recent writes can be found; newest first.
    pub history: Arc<[Arc<MemTable>]>,
    pub version: Arc<Version>,
    /// The components and settings at the time of the install.
    pub parts: Arc<Parts>,
    /// The oldest timestamp that can be read: history below this timestamp may be gone. `None`: all history is kept.
    /// Readers of an older super version still see the older history.
    pub full_history_ts_low: Option<Vec<u8>>,
    /// The last sequence number of the database at the newest ingestion; 0 without an ingestion.
    pub(super) ingested_at: SequenceNumber,
    /// The super versions that show the same entries to older snapshots.
    pub(super) era: Arc<Era>,
    /// True if an SST file has range tombstones. Set when this is known for every file.
    pub(crate) table_tombstones: OnceLock<bool>,
    /// The last field, so that the notification follows the release of the version.
    _notify: NotifyOnDrop,
}

impl SuperVersion {
    pub(crate) fn new(
        number: u64,
        mem: Arc<MemTable>,
        [imm, history]: [Arc<[Arc<MemTable>]>; 2],
        version: Arc<Version>,
        parts: Arc<Parts>,
        era: Arc<Era>,
        release_notifier: Arc<ReleaseNotifier>,
    ) -> Self {
        base::invariant!(
            std::iter::once(&mem).chain(imm.iter()).is_sorted_by(|newer, older| newer.id() > older.id()),
            "the memtables of super version {number} are not in the order of their ids"
        );
        SuperVersion {
            number,
            mem,
            imm,
            history,
            version,
            parts,
            era,
            full_history_ts_low: None,
            ingested_at: SequenceNumber::ZERO,
            table_tombstones: OnceLock::new(),
            _notify: NotifyOnDrop::new(release_notifier),
        }
    }
}

impl SuperVersion {
    /// Sets the oldest timestamp that can be read.
    #[must_use]
    pub(crate) fn with_full_history_ts_low(mut self, low: Option<Vec<u8>>) -> Self {
        self.full_history_ts_low = low;
        self
    }

    /// Sets the last sequence number of the database at the newest ingestion.
    #[must_use]
    pub(crate) fn with_ingested_at(mut self, seq: SequenceNumber) -> Self {
        self.ingested_at = seq;
        self
    }

    /// Replaces the memtables and the version. The caller guarantees that readers see the same entries. `immutable` has the
    /// immutable memtables, and the flushed memtables of the history.
    pub(crate) fn with_sources(
        &self,
        mem: Arc<MemTable>,
        immutable: [Arc<[Arc<MemTable>]>; 2],
        version: Arc<Version>,
    ) -> Self {
        let notifier = self._notify.notifier.clone();
        SuperVersion::new(
            self.number,
            mem,
            immutable,
            version,
            self.parts.clone(),
            self.era.clone(),
            notifier,
        )
        .with_full_history_ts_low(self.full_history_ts_low.clone())
        .with_ingested_at(self.ingested_at)
    }

    /// Checks that the history at `timestamp` is complete. Without the check, a read could return an entry that was
    /// written later: compaction sets the timestamps of old entries to zero. Source: RocksDB
    /// `DBImpl::FailIfReadCollapsedHistory`.
    ///
    /// # Errors
    /// InvalidArgument if `timestamp` is below `full_history_ts_low`. A read at this timestamp itself is allowed.
    #[inline]
    pub fn check_history(&self, timestamp: Option<&[u8]>) -> Result<()> {
        match (timestamp, &self.full_history_ts_low) {
            (Some(timestamp), Some(low)) if self.parts.order.compare_timestamp(timestamp, low).is_lt() => {
                Err(collapsed(&self.parts.order, timestamp, low))
            }
            _ => Ok(()),
        }
    }

    /// Adds a reader to the era of the super version. Returns `None` if the era has ended.
    pub fn enter_era(&self, budget: &Arc<MemoryBudget>) -> Option<EraReader> {
        self.era.enter(budget)
    }

    /// Returns the sequence number above which all entries are in memtables, with the flushed memtables of the
    /// history. Entries of ingested files were never in a memtable, so the number is never below that of the newest
    /// ingestion.
    pub fn in_memory_since(&self) -> SequenceNumber {
        let oldest = self.history.last().or(self.imm.last()).unwrap_or(&self.mem);
        base::invariant!(
            oldest.earliest_seq() <= self.mem.earliest_seq(),
            "a flushed memtable is newer than the active memtable"
        );
        oldest.earliest_seq().max(self.ingested_at)
    }

    /// Returns the memtables, with those of the history, newest first.
    pub fn memtables_and_history(&self) -> impl Iterator<Item = &Arc<MemTable>> {
        std::iter::once(&self.mem).chain(self.imm.iter()).chain(self.history.iter())
    }
}

#[cold]
fn collapsed(order: &Order, timestamp: &[u8], low: &[u8]) -> Error {
    // Timestamps are not user data, so the error may show them.
    Error::invalid_argument(format!(
        "Read timestamp: {} is smaller than full_history_ts_low: {}",
        timestamp_text(order, timestamp),
        timestamp_text(order, low)
    ))
}

/// Returns the text of a timestamp in errors: the number if the comparator is one of RocksDB's comparators with timestamps,
/// otherwise the bytes.
pub(crate) fn timestamp_text(order: &Order, timestamp: &[u8]) -> String {
    match <[u8; 8]>::try_from(timestamp) {
        Ok(bytes) if order.name().ends_with(".u64ts") => u64::from_le_bytes(bytes).to_string(),
        _ => timestamp.escape_ascii().to_string(),
    }
}
