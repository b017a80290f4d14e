//! The write-unprepared policy: a large batch becomes a section before prepare.
//!
//! ```text
//!  batch     a=1 b=2 | c=3        | is a save point
//!  sections  [a=1 b=2] [c=3]      the save point is now "before the second section"
//! ```
//! The batch is empty after it is written. Reads of the transaction see its sections in the database
//! ([`engine::sequence::OwnRanges`]). A section ends at each save point, so that a rollback to the save point can
//! read the values before it. While an iterator over the transaction exists, the batch is not written, because the
//! iterator reads the batch.
//!
//! A transaction with sections keeps its locks when it expires. A rollback restores the values before the sections,
//! so no other transaction may write these keys before the rollback.
//! Facts: RocksDB `utilities/transactions/write_unprepared_txn.cc`.

use std::borrow::Cow;

use base::{Error, Result};
use engine::prepared::SectionKind;
use env::sync::Arc;
use format::batch::{HEADER_LEN, Records};

use super::super::indexed::Core;
use super::super::options::TxnDbWritePolicy;
use super::body::{Body, Pessimistic, Shared};
use super::sections::{SectionSettings, Undo};
use crate::{Db, ReadOptions};

/// The batch of a pessimistic transaction, which may become sections before the commit.
pub(super) struct LargeBatch<'a> {
    db: &'a Db,
    shared: &'a Shared,
    pessimistic: &'a Pessimistic,
}

impl<'a> LargeBatch<'a> {
    /// Returns the batch of a transaction.
    pub fn new(db: &'a Db, shared: &'a Shared, pessimistic: &'a Pessimistic) -> Self {
        LargeBatch { db, shared, pessimistic }
    }

    /// Writes the batch as sections, if it is larger than the threshold.
    ///
    /// # Errors
    /// InvalidArgument if the transaction has no name. Otherwise the errors of [`crate::Db::write`]. After an error, the records that are
    /// not written stay in the batch.
    pub fn write_if_large(&self, body: &mut Body) -> Result<()> {
        let threshold = self.pessimistic.settings.flush_threshold;
        if threshold == 0 {
            return Ok(());
        }
        let mut core = self.shared.core.lock();
        // RocksDB's batch is one byte larger: it starts with a placeholder.
        let size = core.batch.data_size() as u64 + 1;
        if core.batch.count() == 0 || size <= threshold || Arc::strong_count(&body.iterators) > 1 {
            return Ok(());
        }
        if body.name.is_empty() {
            return Err(Error::invalid_argument("Cannot write to DB without SetName."));
        }
        if !self.pessimistic.owner.keep_locks() {
            // The transaction can only be rolled back. Its batch stays in memory.
            return Ok(());
        }
        body.sections.roll_back_if_abandoned(self.db);
        while core.batch.count() > 0 || core.batch.save_point_sizes().next().is_some() {
            self.write_to_save_point(body, &mut core)?;
        }
        core.clear();
        Ok(())
    }

    /// Writes the batch up to its first save point, or the whole batch, as a section.
    fn write_to_save_point(&self, body: &mut Body, core: &mut Core) -> Result<()> {
        let end = core.batch.save_point_sizes().next().unwrap_or(core.batch.data_size());
        let reached = core.batch.save_point_sizes().take_while(|size| *size == end).count();
        let records = &core.batch.bytes()[HEADER_LEN..end];
        if Records::behind_header(records).flatten().any(|record| record.is_counted()) {
            let by = settings(&body.name, &body.write_options, self.pessimistic);
            body.sections.write(self.db, records, SectionKind::Unprepared, &by)?;
        }
        core.remove_front(end)?;
        let sections = body.sections.own().len();
        let in_batch = body.save_points.iter_mut().filter(|save| save.sections.is_none());
        in_batch.take(reached).for_each(|save| save.sections = Some(sections));
        Ok(())
    }

    /// Writes the rest of the batch as the section that prepares the transaction.
    ///
    /// # Errors
    /// The errors of [`crate::Db::write`].
    pub fn write_last_section(&self, body: &mut Body) -> Result<()> {
        let mut core = self.shared.core.lock();
        let by = settings(&body.name, &body.write_options, self.pessimistic);
        body.sections.write(self.db, core.batch.records(), SectionKind::Prepared, &by)?;
        if self.pessimistic.settings.policy == TxnDbWritePolicy::WriteUnprepared {
            core.clear();
            // The batch is empty, so no save point is in the batch. The application can still remove the save points of a
            // prepared transaction, so each of them refers to the sections now.
            let sections = body.sections.own().len();
            let in_batch = body.save_points.iter_mut().filter(|save| save.sections.is_none());
            in_batch.for_each(|save| save.sections = Some(sections));
        }
        Ok(())
    }

    /// Undoes the sections after the last save point, before the rollback to this save point. If the writes before the save point are
    /// in sections, writes the values of that time as a new section.
    ///
    /// # Errors
    /// Errors of reading the values; as [`crate::Db::write`].
    pub fn restore_sections(&self, body: &mut Body) -> Result<()> {
        let Some(sections) = body.save_points.last().and_then(|save| save.sections) else { return Ok(()) };
        let undo = body.sections.values_before(self.db, sections)?;
        if undo.count() > 0 {
            let by = settings(&body.name, &body.write_options, self.pessimistic);
            body.sections.write(self.db, undo.records(), SectionKind::Unprepared, &by)?;
        }
        self.shared.core.lock().clear();
        Ok(())
    }
}

impl Shared {
    /// Returns the options for a read of the transaction, which sees the sections of the transaction.
    pub fn with_own_sections<'a>(&self, db: &Db, options: &'a ReadOptions) -> Cow<'a, ReadOptions> {
        let policy = self.pessimistic().map(|pessimistic| pessimistic.settings.policy);
        if policy != Some(TxnDbWritePolicy::WriteUnprepared) {
            return Cow::Borrowed(options);
        }
        let own = self.body.lock().sections.own().clone();
        if own.is_empty() {
            return Cow::Borrowed(options);
        }
        let snapshot = db.engine().for_transactions().snapshot_with_own(options.snapshot.clone(), own);
        Cow::Owned(ReadOptions { snapshot: Some(snapshot), ..options.clone() })
    }
}

fn settings<'a>(
    name: &'a [u8],
    options: &'a engine::options::WriteOptions,
    pessimistic: &'a Pessimistic,
) -> SectionSettings<'a> {
    let settings = &pessimistic.settings;
    let undo = Undo::of(settings.policy, settings.rollback_merge_operands);
    SectionSettings { name, options, undo, deletion: pessimistic.rollback_deletion.as_ref() }
}
