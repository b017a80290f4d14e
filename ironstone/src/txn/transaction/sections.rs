//! Transactions whose entries reach the memtables before the commit: the write-prepared and write-unprepared policies.
//!
//! ```text
//!  WritePrepared     prepare: one section              commit: a record        rollback: the values before, and a record
//!  WriteUnprepared   a large batch: a section          prepare: the last section; the rest is the same
//! ```
//! Other readers do not see a section before the commit. With `WritePrepared`, the batch has all writes of the
//! transaction, and the transaction reads the batch. With `WriteUnprepared`, the batch has only the writes that are
//! in no section, and the transaction reads its sections in the database (`unprepared`).
//!
//! Facts: RocksDB `utilities/transactions/write_prepared_txn.cc`, `write_unprepared_txn.cc`.

use std::collections::BTreeMap;

use base::{FamilyId, Result, SequenceNumber, WalNumber};
use engine::batch::WriteBatch;
use engine::db::{SectionOwner, SectionWriter};
use engine::options::WriteOptions;
use engine::prepared::{Section, SectionKind};
use engine::read::Reach;
use engine::sequence::{Decision, OwnRanges};
use engine::source::resolve::Found;
use env::sync::Arc;
use format::batch::{Record, Records};

use super::super::locks::TransactionState;
use super::super::options::{RollbackDeletionType, TransactionDbOptions, TxnDbWritePolicy};
use super::super::tracker::Tracker;
use crate::{Db, Family, ReadOptions};

/// The sections of a transaction.
#[derive(Default)]
pub(in crate::txn) struct Sections {
    decision: Arc<Decision>,
    /// The WAL of the oldest section.
    wal: Option<WalNumber>,
    /// The sequence numbers of the sections.
    own: Arc<OwnRanges>,
    /// The keys whose old values a rollback restores: key → the newest section with the key.
    keys: BTreeMap<(FamilyId, Vec<u8>), usize>,
    /// Decides how a rollback deletes a key that had no value.
    deletion: Option<RollbackDeletionType>,
    /// The database of a transaction that must be rolled back if its last handle is dropped.
    abandoned_in: Option<Db>,
}

/// Selects the records that a rollback restores.
#[derive(Clone, Copy, PartialEq, Eq)]
pub(in crate::txn) enum Undo {
    All,
    /// All records except merge operands, which stay. RocksDB: `rollback_merge_operands = false`.
    AllButMerges,
}

impl Undo {
    /// Returns [`Undo::All`] for the write-unprepared policy, and for other policies with
    /// `rollback_merge_operands`. Otherwise returns [`Undo::AllButMerges`].
    pub fn of(policy: TxnDbWritePolicy, rollback_merge_operands: bool) -> Self {
        let all = rollback_merge_operands || policy == TxnDbWritePolicy::WriteUnprepared;
        if all { Undo::All } else { Undo::AllButMerges }
    }
}

/// The properties that all sections of a transaction share.
pub(in crate::txn) struct SectionSettings<'a> {
    pub name: &'a [u8],
    pub options: &'a WriteOptions,
    pub undo: Undo,
    pub deletion: Option<&'a RollbackDeletionType>,
}

impl Sections {
    /// Returns the sections that recovery found.
    ///
    /// # Errors
    /// Corruption if a record does not decode.
    pub fn recovered(section: &Section, options: &TransactionDbOptions) -> Result<Self> {
        let (decision, wal) = (section.decision.clone(), Some(section.wal));
        let deletion = options.rollback_deletion_type_callback.clone();
        let mut sections = Sections { decision, wal, deletion, ..Sections::default() };
        for part in &section.parts {
            sections.add(part.first, part.last);
            let undo = Undo::of(options.write_policy, options.rollback_merge_operands);
            sections.add_keys(&part.records, undo)?;
        }
        Ok(sections)
    }

    /// Returns the sequence numbers of the sections.
    pub fn own(&self) -> &Arc<OwnRanges> {
        &self.own
    }

    /// Returns the WAL of the oldest section.
    pub fn wal(&self) -> Option<WalNumber> {
        self.wal
    }

    /// Rolls the transaction back when it is dropped before prepare. `db` is its database.
    pub fn roll_back_if_abandoned(&mut self, db: &Db) {
        self.abandoned_in = Some(db.clone());
    }

    fn owner<'a>(&'a self, name: &'a [u8]) -> SectionOwner<'a> {
        SectionOwner { name, wal: self.wal, decision: &self.decision }
    }

    fn add(&mut self, first: SequenceNumber, last: SequenceNumber) {
        Arc::make_mut(&mut self.own).push(first, last);
    }

    /// Records the keys of the newest section.
    fn add_keys(&mut self, records: &[u8], undo: Undo) -> Result<()> {
        let newest = self.own.len() - 1;
        for record in Records::behind_header(records) {
            let record = record?;
            let left = matches!(record, Record::Merge { .. }) && undo == Undo::AllButMerges;
            if let (Some(family), Some((_, key, _)), false) = (record.family(), record.entry(), left) {
                self.keys.insert((family, key.to_vec()), newest);
            }
        }
        Ok(())
    }

    /// Removes keys whose locks the transaction releases. Other transactions may now write these keys, so a rollback
    /// must not restore an older value.
    pub fn forget(&mut self, released: &Tracker) {
        for (family, key, _) in released.iter() {
            self.keys.remove(&(family, key.to_vec()));
        }
    }

    /// Writes the records of a batch as a section.
    ///
    /// # Errors
    /// The errors of [`crate::Db::write`]. After an error, the sections are unchanged.
    pub fn write(
        &mut self,
        db: &Db,
        records: &[u8],
        kind: SectionKind,
        by: &SectionSettings<'_>,
    ) -> Result<()> {
        let owner = self.owner(by.name);
        let written = SectionWriter::new(db.engine()).write(records, kind, owner, by.options)?;
        self.wal.get_or_insert(written.wal);
        self.deletion = by.deletion.cloned();
        self.add(written.first, written.last);
        self.add_keys(records, by.undo)
    }

    /// Commits the sections, and writes `commit_time` with the commit. Returns the sequence number of the commit.
    ///
    /// # Errors
    /// The errors of [`crate::Db::write`]. After an error, the transaction is still prepared.
    pub fn commit(
        &self,
        db: &Db,
        name: &[u8],
        commit_time: &WriteBatch,
        options: &WriteOptions,
    ) -> Result<SequenceNumber> {
        SectionWriter::new(db.engine()).commit(self.owner(name), commit_time, options, None)
    }

    /// Writes the old values of the keys in the sections, and ends the sections as rolled back.
    ///
    /// # Errors
    /// Errors of reading the old values. As [`crate::Db::write`]. After an error, the sections are still undecided.
    pub fn roll_back(&self, db: &Db, name: &[u8], options: &WriteOptions) -> Result<()> {
        let undo = self.values_before(db, 0)?;
        SectionWriter::new(db.engine()).roll_back(self.owner(name), &undo, options).map(|_| ())
    }

    /// Ends a transaction whose last handle is dropped in `state`. Returns the sections if the rollback failed: readers still do not
    /// see the entries, and the keys must stay locked. The next open would otherwise restore the old value of a key over the value
    /// that another transaction wrote.
    pub fn abandon(
        &mut self,
        name: &[u8],
        options: &WriteOptions,
        state: TransactionState,
    ) -> Option<UndecidedSections> {
        use TransactionState::{LocksStolen, Started};
        let db = self.abandoned_in.take()?;
        if !matches!(state, Started | LocksStolen) || self.own.is_empty() {
            return None;
        }
        let sections = std::mem::take(self);
        let undecided = UndecidedSections { sections, db, name: name.to_vec(), options: *options };
        if undecided.roll_back().is_ok() { None } else { Some(undecided) }
    }

    /// Returns the old values of all keys that the sections from number `sections` on have written: the values before
    /// these sections. Skips a key that another transaction has written after these sections: the lock of the key was released
    /// with a save point, and the sections have the old value of the key already.
    ///
    /// # Errors
    /// Errors of reading the values.
    pub fn values_before(&self, db: &Db, sections: usize) -> Result<WriteBatch> {
        let before =
            db.engine().for_transactions().snapshot_with_own(None, Arc::new(self.own.oldest(sections)));
        let options = ReadOptions { snapshot: Some(before), ..ReadOptions::default() };
        let families = db.families();
        let mut undo = WriteBatch::new();
        for ((id, key), _) in self.keys.iter().filter(|(_, newest)| **newest >= sections) {
            let Some(family) = families.iter().find(|family| family.id() == *id) else { continue };
            if self.is_written_later(db, family, key)? {
                continue;
            }
            match db.engine().reads().find(family.inner(), key, &options)? {
                Some(Found::Value(value)) => undo.put_in(*id, key, &value),
                Some(Found::Entity(entity)) => undo.put_encoded_entity_in(*id, key, &entity),
                None if self.deletes_once(family, key) => undo.single_delete_in(*id, key),
                None => undo.delete_in(*id, key),
            };
        }
        Ok(undo)
    }

    /// Returns true if the newest entry of a key of the sections is from another writer.
    fn is_written_later(&self, db: &Db, family: &Family, key: &[u8]) -> Result<bool> {
        let newest = db.engine().reads().newest_write(family.inner(), key, self.own.first(), Reach::Files)?;
        Ok(newest.is_some_and(|newest| newest.seq > self.own.first() && !self.own.contains(newest.seq)))
    }

    fn deletes_once(&self, family: &Family, key: &[u8]) -> bool {
        self.deletion.as_ref().is_some_and(|deletion| deletion.is_single(family, key))
    }
}

/// The sections of a dropped transaction whose rollback failed.
pub(in crate::txn) struct UndecidedSections {
    sections: Sections,
    db: Db,
    name: Vec<u8>,
    options: WriteOptions,
}

impl UndecidedSections {
    /// Rolls the sections back.
    ///
    /// # Errors
    /// The errors of [`Sections::roll_back`].
    pub fn roll_back(&self) -> Result<()> {
        self.sections.roll_back(&self.db, &self.name, &self.options)
    }

    /// Returns the name of the transaction.
    pub fn name(&self) -> &[u8] {
        &self.name
    }
}
