//! Transactions whose entries reach the memtables before the commit: the write-prepared policy.
//!
//! ```text
//!  WritePrepared     prepare: one section              commit: a record        rollback: the values before, and a record
//! ```
//! Readers see no section that is undecided. The transaction itself reads its batch, which has all of its writes.
//! Facts: RocksDB `utilities/transactions/write_prepared_txn.cc`.

use std::collections::BTreeSet;

use base::{FamilyId, FileNumber, Result, SequenceNumber};
use engine::batch::WriteBatch;
use engine::db::{SectionOwner, SectionWriter};
use engine::options::WriteOptions;
use engine::prepared::Section;
use engine::sequence::Decision;
use engine::source::resolve::Found;
use env::sync::Arc;
use format::batch::Record;

use crate::{Db, ReadOptions};

/// The sections of a transaction.
#[derive(Default)]
pub(in crate::txn) struct Sections {
    decision: Arc<Decision>,
    /// The WAL of the oldest section.
    wal: Option<FileNumber>,
    /// The first and the last sequence number of each section.
    pub ranges: Vec<(SequenceNumber, SequenceNumber)>,
    /// The keys of the sections.
    keys: BTreeSet<(FamilyId, Vec<u8>)>,
}

impl Sections {
    /// The sections that recovery found.
    ///
    /// # Errors
    /// Corruption if a record does not decode.
    pub fn recovered(section: &Section, rollback_merges: bool) -> Result<Self> {
        let mut sections = Sections {
            decision: section.decision.clone(),
            wal: Some(section.wal),
            ranges: section.parts.iter().map(|part| (part.first, part.last)).collect(),
            keys: BTreeSet::new(),
        };
        sections.add_keys(&WriteBatch::from_bytes(&section.batch())?, rollback_merges)?;
        Ok(sections)
    }

    fn owner<'a>(&'a self, name: &'a [u8]) -> SectionOwner<'a> {
        SectionOwner { name, wal: self.wal, decision: &self.decision }
    }

    /// Records the keys that a rollback puts back. RocksDB leaves merge operands in place without
    /// `rollback_merge_operands`.
    fn add_keys(&mut self, batch: &WriteBatch, rollback_merges: bool) -> Result<()> {
        for record in batch.iter() {
            let record = record?;
            let left = matches!(record, Record::Merge { .. }) && !rollback_merges;
            if let (Some(family), Some((_, key, _)), false) = (record.family(), record.entry(), left) {
                self.keys.insert((family, key.to_vec()));
            }
        }
        Ok(())
    }

    /// Writes a batch as a section.
    ///
    /// # Errors
    /// As [`crate::Db::write`].
    pub fn write(&mut self, db: &Db, batch: &WriteBatch, by: &Decider<'_>) -> Result<()> {
        let owner = self.owner(by.name);
        let written = SectionWriter::new(db.engine()).write(batch, owner, by.options)?;
        self.wal.get_or_insert(written.wal);
        self.ranges.push((written.first, written.last));
        self.add_keys(batch, by.rollback_merges)
    }

    /// Commits the sections. Returns the sequence number of the commit.
    ///
    /// # Errors
    /// As [`crate::Db::write`]. The transaction is then still prepared.
    pub fn commit(&self, db: &Db, by: &Decider<'_>) -> Result<SequenceNumber> {
        SectionWriter::new(db.engine()).commit(self.owner(by.name), by.options, None)
    }

    /// Puts back what the sections hide, and decides them.
    ///
    /// # Errors
    /// Errors of reading the values before; as [`crate::Db::write`]. The sections are then still undecided.
    pub fn roll_back(&self, db: &Db, by: &Decider<'_>) -> Result<()> {
        let undo = self.undo_batch(db)?;
        SectionWriter::new(db.engine()).roll_back(self.owner(by.name), &undo, by.options).map(|_| ())
    }

    /// The values of the keys as other readers see them: the sections are undecided. The keys are locked, so the values do
    /// not change.
    fn undo_batch(&self, db: &Db) -> Result<WriteBatch> {
        let (families, options) = (db.families(), ReadOptions::default());
        let mut undo = WriteBatch::new();
        for (id, key) in &self.keys {
            let Some(family) = families.iter().find(|family| family.id() == *id) else { continue };
            match db.engine().reads().find(family.inner(), key, &options)? {
                Some(Found::Value(value)) => undo.put_in(*id, key, &value),
                Some(Found::Entity(entity)) => undo.put_encoded_entity_in(*id, key, &entity),
                None => undo.delete_in(*id, key),
            };
        }
        Ok(undo)
    }
}

/// What the writes of a transaction's sections have in common.
pub(in crate::txn) struct Decider<'a> {
    pub name: &'a [u8],
    pub options: &'a WriteOptions,
    pub rollback_merges: bool,
}
