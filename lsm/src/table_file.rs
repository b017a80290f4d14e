//! An SST file of a version: its facts, and the state that jobs and readers change.
//!
//! Every version with the file shares one [`TableFile`]. Pickers read the state from the version of their view. No flag orders the reads
//! of another flag: the owner of the job inputs reserves files under a lock. Decision 24 gives the alternatives.

use std::any::Any;
use std::fmt;
use std::ops::Deref;
use std::sync::atomic::{AtomicBool, AtomicU64, Ordering};
use std::sync::{Arc, OnceLock};

use base::{Error, Result, Subcode};
use mem::cache::{Ledger, Reservation, Role};

use base::Level;

use crate::file_meta::FileMetaData;

/// The facts of a file, and its state: reserved by a job, quarantined, marked for compaction, and its wasted reads.
#[derive(Debug)]
pub struct TableFile {
    facts: FileMetaData,
    being_compacted: AtomicBool,
    quarantined: AtomicBool,
    marked_since: AtomicBool,
    needs_its_sequences: AtomicBool,
    reads_sampled: AtomicU64,
    /// The open file, as the owner of the open files stores it.
    open: OnceLock<Box<dyn Any + Send + Sync>>,
    /// The charge of [`TableFile::charge_to`].
    charge: OnceLock<Charge>,
}

/// Memory that is charged as long as the value lives.
struct Charge(#[expect(dead_code, reason = "its drop releases the charge")] Reservation);

impl fmt::Debug for Charge {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.write_str("Charge")
    }
}

impl TableFile {
    /// Returns a file that no job has reserved, and that has no wasted read.
    pub fn new(facts: FileMetaData) -> Self {
        TableFile {
            facts,
            being_compacted: AtomicBool::new(false),
            quarantined: AtomicBool::new(false),
            marked_since: AtomicBool::new(false),
            needs_its_sequences: AtomicBool::new(false),
            reads_sampled: AtomicU64::new(0),
            open: OnceLock::new(),
            charge: OnceLock::new(),
        }
    }

    /// Returns a file with changed facts. It is quarantined and marked as this file is, and no job has reserved it.
    pub fn changed(&self, change: impl FnOnce(&mut FileMetaData)) -> Self {
        let mut facts = self.facts.clone();
        change(&mut facts);
        TableFile {
            facts,
            being_compacted: AtomicBool::new(false),
            quarantined: AtomicBool::new(self.is_quarantined()),
            marked_since: AtomicBool::new(self.marked_since.load(Ordering::Relaxed)),
            needs_its_sequences: AtomicBool::new(self.needs_its_sequences()),
            reads_sampled: AtomicU64::new(self.reads_sampled()),
            open: OnceLock::new(),
            charge: OnceLock::new(),
        }
    }

    /// Returns the MANIFEST record that adds this file to `level`. The record has the mark of [`TableFile::mark`].
    pub fn to_record(&self, level: Level, timestamp_size: usize) -> format::edit::NewFile {
        let mut record = self.facts.to_record(level, timestamp_size);
        record.marked_for_compaction = self.is_marked();
        record
    }

    /// Returns true if no job may use this file as input: a running job has reserved it, or it is
    /// quarantined.
    #[inline]
    pub fn being_compacted(&self) -> bool {
        self.being_compacted.load(Ordering::Relaxed) || self.is_quarantined()
    }

    /// Returns true if a part of the file cannot be read. The file stays in its version: reads of the
    /// damaged part return an error, and all other reads succeed.
    #[inline]
    pub fn is_quarantined(&self) -> bool {
        self.quarantined.load(Ordering::Relaxed)
    }

    /// Quarantines the file until the database is opened again. Returns true for the first call.
    pub fn quarantine(&self) -> bool {
        !self.quarantined.swap(true, Ordering::Relaxed)
    }

    /// Sets the reserved flag. The owner of the job inputs calls this under its own lock.
    pub fn set_being_compacted(&self, value: bool) {
        self.being_compacted.store(value, Ordering::Relaxed);
    }

    /// Returns true if the file should be compacted soon, by a mark of its writer or of
    /// [`TableFile::mark`].
    #[inline]
    pub fn is_marked(&self) -> bool {
        self.facts.marked_for_compaction || self.marked_since.load(Ordering::Relaxed)
    }

    /// Marks the file for compaction. The mark is lost when the database closes, unless the file was moved
    /// since.
    pub fn mark(&self) {
        self.marked_since.store(true, Ordering::Relaxed);
    }

    /// Returns true if a compaction for `BottommostFiles` wrote this file and could not remove all sequence numbers: see
    /// [`TableFile::set_needs_its_sequences`]. The state is lost when the database closes.
    #[inline]
    pub fn needs_its_sequences(&self) -> bool {
        self.needs_its_sequences.load(Ordering::Relaxed)
    }

    /// Records that a compaction of this bottommost file could not remove its sequence numbers, although no reader needs them. Merge
    /// operands that the merge operator cannot merge are a cause. The same compaction would write the same file again.
    pub fn set_needs_its_sequences(&self) {
        self.needs_its_sequences.store(true, Ordering::Relaxed);
    }

    /// Returns the estimated number of wasted reads, from samples: reads in which the file returned no entry
    /// of the key, a tombstone, or a merge operand. A compaction would avoid them.
    pub fn reads_sampled(&self) -> u64 {
        self.reads_sampled.load(Ordering::Relaxed)
    }

    /// Adds `n` to the wasted reads of the file.
    pub fn add_reads_sampled(&self, n: u64) {
        self.reads_sampled.fetch_add(n, Ordering::Relaxed);
    }

    /// Charges the memory of the facts to an account, until no version has this file. A second call does nothing. RocksDB charges the
    /// same facts (`FileMetaData::ApproximateMemoryUsage`).
    ///
    /// # Errors
    /// Aborted with `Subcode::MemoryLimit`, and with RocksDB's text, if the account has a strict limit and no room.
    pub fn charge_to(&self, ledger: &Arc<dyn Ledger>) -> Result<()> {
        if self.charge.get().is_none() {
            let bytes = size_of::<TableFile>() + self.facts.heap_bytes();
            let charge = Reservation::new(ledger.clone(), Role::FileMetadata, bytes).map_err(|_| {
                let role = Role::FileMetadata.camel_name();
                let text = format!(
                    "Can't allocate {role} due to exceeding the memory limit based on cache capacity"
                );
                Error::aborted(text).with_subcode(Subcode::MemoryLimit)
            })?;
            let _ = self.charge.set(Charge(charge));
        }
        Ok(())
    }

    /// Returns the open file of [`TableFile::hold_open`], if its type is `T`. Takes no lock.
    #[inline]
    pub fn held<T: Any>(&self) -> Option<&T> {
        self.open.get()?.downcast_ref()
    }

    /// Stores the open file until this file is in no version. Does nothing if an open file is stored already.
    pub fn hold_open(&self, open: impl Any + Send + Sync) {
        let _ = self.open.set(Box::new(open));
    }
}

impl Deref for TableFile {
    type Target = FileMetaData;

    #[inline]
    fn deref(&self) -> &FileMetaData {
        &self.facts
    }
}

impl From<FileMetaData> for TableFile {
    fn from(facts: FileMetaData) -> Self {
        TableFile::new(facts)
    }
}

/// Displays the facts of the file.
impl fmt::Display for TableFile {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        self.facts.fmt(f)
    }
}

#[cfg(test)]
mod tests {
    use base::{EpochNumber, FileNumber};

    use super::*;

    #[test]
    fn a_quarantined_file_is_no_input_and_a_second_quarantine_is_none() {
        let file = TableFile::new(FileMetaData::new(
            FileNumber::new(1),
            10,
            b"a\0\0\0\0\0\0\0\0",
            b"b\0\0\0\0\0\0\0\0",
        ));
        assert!(!file.being_compacted());
        assert!(file.quarantine() && !file.quarantine());
        assert!(file.being_compacted() && file.is_quarantined());
    }

    #[test]
    fn a_changed_file_keeps_its_state_but_is_not_reserved() {
        let file = TableFile::new(FileMetaData::new(
            FileNumber::new(1),
            10,
            b"a\0\0\0\0\0\0\0\0",
            b"b\0\0\0\0\0\0\0\0",
        ));
        file.set_being_compacted(true);
        file.mark();
        let changed = file.changed(|facts| facts.epoch_number = EpochNumber::new(7));
        assert!(changed.is_marked() && !changed.being_compacted());
        assert_eq!((file.epoch_number.get(), changed.epoch_number.get()), (0, 7));
    }

    #[test]
    fn a_changed_file_holds_no_open_file() {
        let file = TableFile::new(FileMetaData::new(
            FileNumber::new(1),
            10,
            b"a\0\0\0\0\0\0\0\0",
            b"b\0\0\0\0\0\0\0\0",
        ));
        assert_eq!(file.held::<u32>(), None);
        file.hold_open(7u32);
        file.hold_open(8u32);
        assert_eq!((file.held::<u32>(), file.held::<u64>()), (Some(&7), None));
        assert_eq!(file.changed(|facts| facts.epoch_number = EpochNumber::new(7)).held::<u32>(), None);
    }

    #[test]
    fn a_later_mark_is_in_the_record_and_not_in_the_facts() {
        let file = TableFile::new(FileMetaData::new(
            FileNumber::new(1),
            10,
            b"a\0\0\0\0\0\0\0\0",
            b"b\0\0\0\0\0\0\0\0",
        ));
        file.mark();
        assert!(file.is_marked() && file.to_record(Level::new(1), 0).marked_for_compaction);
        assert!(!file.marked_for_compaction);
    }
}
