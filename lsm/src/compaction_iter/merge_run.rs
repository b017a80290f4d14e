//! A run of merge operands: merged with their base value, merged with each other, or kept as operands.
//!
//! Operands are pinned in their block or arena and are not copied until they are merged or written. The rules
//! are those of RocksDB `db/merge_helper.cc` (MergeUntil).

use base::error::{Error, Result};
use base::iter::InternalIterator;
use base::key::{self, SequenceNumber, ValueType};
use base::pinned::Pinned;

use super::filter_run::OperandFate;
use super::operands::{Call, MergeRun};
use super::state::{MERGE_WITHOUT_BLOBS, ValueAt};
use super::{Below, CompactionIter};
use crate::merge::{self, Existing, Failure};

/// The position at which the collection of operands ended.
enum End {
    /// At a base in the same stripe: an entry of the same key that is not a merge operand.
    Base,
    /// At another key or another timestamp that starts a new history, or at the end of the input.
    KeyEnds,
    /// At an entry that an older snapshot sees.
    Stripe,
    /// The filter drops all entries before this internal key.
    SkipTo(Vec<u8>),
}

impl<I: InternalIterator, B: Below> CompactionIter<I, B> {
    /// Merges operands, starting with the operand at the input. Afterwards the input is after all entries
    /// that were used.
    pub(super) fn run_merge(&mut self, before: Option<SequenceNumber>) {
        base::invariant!(
            self.out.value_type == ValueType::Merge,
            "a merge begins at a {:?}",
            self.out.value_type
        );
        if self.rules.config.merge_operator.is_none() {
            self.failed = Some(Error::invalid_argument("merge_operator is not properly initialized."));
            return;
        }
        self.merge.clear();
        let end = match self.collect(before) {
            Ok(end) => end,
            Err(error) => return self.failed = Some(error),
        };
        if let End::SkipTo(target) = end {
            self.merge.clear();
            self.history.has_key = false;
            return self.skip_to(&target);
        }
        if self.merge.len() == 0 {
            // All operands were dropped, so they hide no older entry.
            self.history.has_key = false;
            return;
        }
        if let Err(error) = self.resolve(&end) {
            return self.failed = Some(error);
        }
        self.show_merged();
    }

    /// Collects operands, newest first.
    fn collect(&mut self, before: Option<SequenceNumber>) -> Result<End> {
        let newest_snapshot =
            self.rules.config.snapshots.as_slice().last().copied().unwrap_or(SequenceNumber::ZERO);
        let mut first = true;
        while self.input.valid() {
            let parsed = key::parse(self.input.key())?;
            let (seq, value_type) = (parsed.seq, parsed.value_type);
            if !first {
                let continues = self.input_has_current_user_key()
                    && self.history.merges_with(&self.rules, parsed.user_key);
                if !continues {
                    return Ok(End::KeyEnds);
                }
                if before.is_some_and(|before| seq <= before) {
                    return Ok(End::Stripe);
                }
            }
            if value_type != ValueType::Merge {
                return Ok(End::Base);
            }
            first = false;
            let mut fate = OperandFate::Keep;
            if seq > newest_snapshot {
                match self.filter_operand() {
                    Ok(answer) => fate = answer,
                    Err(target) => {
                        self.has_filter_skipped = true;
                        return Ok(End::SkipTo(target));
                    }
                }
            }
            if self.tombstones.should_delete(self.input.key()) {
                fate = OperandFate::Remove;
            }
            match fate {
                OperandFate::Keep => {
                    self.merge.push(self.input.key(), self.input.pin_value());
                }
                OperandFate::Change(value) => {
                    self.merge.push(self.input.key(), Pinned::from_vec(value));
                }
                OperandFate::Remove => {}
            }
            self.advance();
        }
        self.input.status()?;
        Ok(End::KeyEnds)
    }

    /// Merges the collected operands as far as possible.
    fn resolve(&mut self, end: &End) -> Result<()> {
        base::invariant!(self.merge.len() > 0, "a merge without operands is resolved");
        let seen_the_beginning =
            matches!(end, End::KeyEnds) && self.rules.bottommost && self.history.may_be_dropped(&self.rules);
        let answer = match end {
            End::Base => self.merge_with_base(),
            _ if seen_the_beginning => self.merge_onto_columns(Existing::None),
            _ => {
                let (run, call) = self.operator();
                run.merge_partially(call);
                return Ok(());
            }
        };
        match answer {
            Ok((value_type, value)) => {
                self.merge.set_result(value_type, value);
                if matches!(end, End::Base) {
                    self.advance();
                }
                Ok(())
            }
            Err(error) if merge::failure_scope(&error) == Failure::MustMerge => {
                self.merge.keep_operands();
                Ok(())
            }
            Err(error) => Err(error),
        }
    }

    /// Merges the operands with the base at the input. The base is a value, or an entry that leaves no value,
    /// such as a tombstone.
    fn merge_with_base(&mut self) -> Result<(ValueType, Pinned)> {
        if self.tombstones.should_delete(self.input.key()) {
            return self.merge_onto_columns(Existing::None);
        }
        // Pin the base value, so that the operator can return it without a copy.
        let base = self.input.pin_value();
        let parsed = key::parse(self.input.key())?;
        let base = match parsed.value_type {
            ValueType::Value => base,
            ValueType::ValuePreferredSeqno => {
                let len = base
                    .len()
                    .checked_sub(8)
                    .ok_or_else(|| Error::corruption("timed put without its preferred sequence number"))?;
                base.slice(0..len)
            }
            ValueType::BlobIndex => {
                let (key, missing) = (parsed.user_key, MERGE_WITHOUT_BLOBS);
                Pinned::from_vec(self.blobs.fetch(key, &base, missing, &mut self.stats)?)
            }
            ValueType::WideColumnEntity => {
                let whole = self.blobs.whole_entity(parsed.user_key, &base, &mut self.stats)?;
                let columns = format::wide::decode(&whole)?;
                let columns: Vec<(&[u8], &[u8])> = columns.iter().map(|c| (c.name, c.value)).collect();
                return self.merge_onto_columns(Existing::Columns(&columns));
            }
            _ => return self.merge_onto_columns(Existing::None),
        };
        let (run, call) = self.operator();
        run.merge_onto(call, base)
    }

    /// Merges the operands onto no value, or onto the columns of an entity.
    fn merge_onto_columns(&mut self, existing: Existing<'_>) -> Result<(ValueType, Pinned)> {
        let (run, call) = self.operator();
        run.merge_all(call, existing)
    }

    /// Returns the operands, and the parts that a call of the merge operator uses.
    fn operator(&mut self) -> (&mut MergeRun, Call<'_>) {
        let user_key = key::user_key(&self.out.key);
        (&mut self.merge, Call { rules: &self.rules, user_key, stats: &mut self.stats })
    }

    /// Makes the current entry of the merge result the current entry.
    fn show_merged(&mut self) {
        let Some(key) = self.merge.key() else { return };
        self.out.key.clear();
        self.out.key.extend_from_slice(key);
        let (_, seq, value_type) = key::split(key);
        self.out.seq = seq;
        self.out.value_type = ValueType::from_u8(value_type).unwrap_or(ValueType::Merge);
        self.out.value = ValueAt::Merge;
        self.out.valid = true;
    }

    pub(super) fn next_of_merge(&mut self) {
        self.merge.step();
        if self.merge.valid() {
            return self.show_merged();
        }
        if self.merge.is_in_progress() {
            // The base, if one follows, must be in the output too, although it is in the same stripe as the
            // operands.
            self.history.has_key = false;
        }
        self.merge.clear();
        // The collection left the input at the first entry that it did not use.
        self.take_from_input();
    }
}
