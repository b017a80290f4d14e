//! A run of merge operands: merged with their base value, merged with each other, or kept as operands.
//!
//! Operands are pinned in their block or arena and are not copied until they are merged or written. The rules
//! are those of RocksDB `db/merge_helper.cc` (MergeUntil).

use base::error::{Error, Result};
use base::iter::InternalIterator;
use base::key::{self, SequenceNumber, TRAILER_LEN, ValueType, pack};
use base::pinned::Pinned;
use base::stats::Stopwatch;

use super::filter_run::OperandFate;
use super::{Below, CompactionIter, ValueAt};
use crate::merge::{self, Existing, Failure, FullMerge, Merged};

/// The result of a run of operands: entries for the output, newest first.
#[derive(Default)]
pub(super) struct MergeRun {
    /// Internal keys; the user keys differ at most in their timestamps.
    keys: Vec<Vec<u8>>,
    values: Vec<Pinned>,
    at: usize,
    /// The operands stayed operands. A base value below them must be in the output too.
    in_progress: bool,
}

impl MergeRun {
    #[inline]
    pub(super) fn valid(&self) -> bool {
        self.at < self.keys.len()
    }

    pub(super) fn value(&self) -> &[u8] {
        self.values.get(self.at).map_or(&[], |v| v)
    }

    fn clear(&mut self) {
        self.keys.clear();
        self.values.clear();
        self.at = 0;
        self.in_progress = false;
    }
}

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
    pub(super) fn run_merge(&mut self, before: SequenceNumber) {
        base::invariant!(self.kind == ValueType::Merge, "a merge begins at a {:?}", self.kind);
        if self.config.merge_operator.is_none() {
            self.failed = Some(Error::invalid_argument("merge_operator is not properly initialized."));
            return;
        }
        self.merge.clear();
        let end = match self.collect(before) {
            Ok(end) => end,
            Err(error) => return self.failed = Some(error),
        };
        base::invariant!(
            self.merge.keys.len() == self.merge.values.len(),
            "{} keys of merge operands have {} values",
            self.merge.keys.len(),
            self.merge.values.len()
        );
        if let End::SkipTo(target) = end {
            self.merge.clear();
            self.has_current_user_key = false;
            return self.skip_to(&target);
        }
        if self.merge.keys.is_empty() {
            // All operands were dropped, so they hide no older entry.
            self.has_current_user_key = false;
            return;
        }
        if let Err(error) = self.resolve(&end) {
            return self.failed = Some(error);
        }
        self.give_out_merged();
    }

    /// Collects operands, newest first.
    fn collect(&mut self, before: SequenceNumber) -> Result<End> {
        let newest_snapshot = self.config.snapshots.as_slice().last().copied().unwrap_or(0);
        let mut first = true;
        while self.input.valid() {
            let parsed = key::parse(self.input.key())?;
            let (seq, kind) = (parsed.seq, parsed.kind);
            if !first {
                if !self.input_continues_merge() {
                    return Ok(End::KeyEnds);
                }
                if before > 0 && seq <= before {
                    return Ok(End::Stripe);
                }
            }
            if kind != ValueType::Merge {
                return Ok(End::Base);
            }
            first = false;
            let mut fate = OperandFate::Keep;
            if seq > newest_snapshot {
                match self.filter_operand() {
                    Ok(answer) => fate = answer,
                    Err(target) => return Ok(End::SkipTo(target)),
                }
            }
            if self.tombstones.should_delete(self.input.key()) {
                fate = OperandFate::Remove;
            }
            match fate {
                OperandFate::Keep => {
                    self.merge.keys.push(self.input.key().to_vec());
                    self.merge.values.push(self.input.pin_value());
                }
                OperandFate::Change(value) => {
                    self.merge.keys.push(self.input.key().to_vec());
                    self.merge.values.push(Pinned::from_vec(value));
                }
                OperandFate::Remove => {}
            }
            self.advance();
        }
        self.input.status()?;
        Ok(End::KeyEnds)
    }

    /// Returns true if the entry at the input belongs to the same history as the operands.
    fn input_continues_merge(&self) -> bool {
        if !self.input_has_current_user_key() {
            return false;
        }
        if self.timestamp_size == 0 {
            return true;
        }
        let user = key::user_key(self.input.key());
        let ts = &user[user.len().saturating_sub(self.timestamp_size)..];
        let order = &self.config.order.user;
        order.compare_timestamp(ts, &self.timestamp).is_eq()
            || self.may_drop_history()
                && self
                    .config
                    .full_history_ts_low
                    .as_ref()
                    .is_some_and(|low| order.compare_timestamp(ts, low).is_lt())
    }

    /// Merges the collected operands as far as possible.
    fn resolve(&mut self, end: &End) -> Result<()> {
        base::invariant!(!self.merge.values.is_empty(), "a merge without operands is resolved");
        let seen_the_beginning = matches!(end, End::KeyEnds) && self.bottommost && self.may_drop_history();
        let answer = match end {
            End::Base => self.merge_with_base(),
            _ if seen_the_beginning => self.full_merge(Existing::None),
            _ => {
                self.merge_partially();
                return Ok(());
            }
        };
        match answer {
            Ok((kind, value)) => {
                let mut key = std::mem::take(&mut self.merge.keys[0]);
                let at = key.len() - TRAILER_LEN;
                let trailer = pack(key::sequence(&key), kind as u8);
                key[at..].copy_from_slice(&trailer.to_le_bytes());
                self.merge.clear();
                self.merge.keys.push(key);
                self.merge.values.push(value);
                if matches!(end, End::Base) {
                    self.advance();
                }
                Ok(())
            }
            Err(error) if merge::failure_scope(&error) == Failure::MustMerge => {
                self.merge.in_progress = true;
                Ok(())
            }
            Err(error) => Err(error),
        }
    }

    /// Merges the operands with the base at the input. The base is a value, or an entry that leaves no value,
    /// such as a tombstone.
    fn merge_with_base(&mut self) -> Result<(ValueType, Pinned)> {
        if self.tombstones.should_delete(self.input.key()) {
            return self.full_merge(Existing::None);
        }
        // Pin the base value, so that the operator can return it without a copy.
        let base = self.input.pin_value();
        match key::parse(self.input.key())?.kind {
            ValueType::Value => self.full_merge_onto(base),
            ValueType::ValuePreferredSeqno => {
                let len = base
                    .len()
                    .checked_sub(8)
                    .ok_or_else(|| Error::corruption("timed put without its preferred sequence number"))?;
                self.full_merge_onto(base.slice(0..len))
            }
            ValueType::BlobIndex => {
                let value = self.fetch_blob(&base)?;
                self.full_merge_onto(Pinned::from_vec(value))
            }
            ValueType::WideColumnEntity => self.full_merge_onto_entity(&base),
            _ => self.full_merge(Existing::None),
        }
    }

    fn full_merge_onto_entity(&mut self, entity: &[u8]) -> Result<(ValueType, Pinned)> {
        let whole = self.fetch_columns(entity)?;
        let columns = format::wide::decode(&whole)?;
        let columns: Vec<(&[u8], &[u8])> = columns.iter().map(|c| (c.name, c.value)).collect();
        self.full_merge(Existing::Columns(&columns))
    }

    /// Returns the entity with all columns inline. The entity is the value at the input.
    pub(super) fn fetch_columns(&mut self, entity: &[u8]) -> Result<Vec<u8>> {
        if !format::wide::may_have_blobs(entity) {
            return Ok(entity.to_vec());
        }
        let columns = format::wide::decode(entity)?;
        let mut values = Vec::new();
        for column in &columns {
            values.push(if column.is_blob { Some(self.fetch_blob(column.value)?) } else { None });
        }
        let inline: Vec<_> = columns
            .iter()
            .zip(&values)
            .map(|(c, value)| format::wide::Column::inline(c.name, value.as_deref().unwrap_or(c.value)))
            .collect();
        let mut out = Vec::new();
        format::wide::encode(&inline, &mut out)?;
        Ok(out)
    }

    fn fetch_blob(&mut self, index: &[u8]) -> Result<Vec<u8>> {
        let Some(fetch) = &mut self.fetch else {
            return Err(Error::not_supported(
                "merging onto a value in a blob file without blob read support",
            ));
        };
        let mut value = Vec::new();
        // The blob record has the key of the base, which may have an older timestamp than the operands.
        fetch.fetch(key::user_key(self.input.key()), index, &mut value)?;
        self.stats.num_blobs_read += 1;
        self.stats.total_blob_bytes_read += value.len() as u64;
        Ok(value)
    }

    fn full_merge_onto(&mut self, base: Pinned) -> Result<(ValueType, Pinned)> {
        match self.run_operator(Existing::Value(&base))? {
            (Merged::Existing, _) => Ok((ValueType::Value, base)),
            (merged, out) => self.as_row(merged, out),
        }
    }

    fn full_merge(&mut self, existing: Existing<'_>) -> Result<(ValueType, Pinned)> {
        let (merged, out) = self.run_operator(existing)?;
        self.as_row(merged, out)
    }

    fn run_operator(&mut self, existing: Existing<'_>) -> Result<(Merged, Vec<u8>)> {
        let Some(operator) = &self.config.merge_operator else {
            return Err(Error::invalid_argument("merge_operator is not properly initialized."));
        };
        let operands: Vec<&[u8]> = self.merge.values.iter().rev().map(|v| &**v).collect();
        let mut out = Vec::new();
        let key = key::user_key(&self.current);
        let began = self.config.times.merges.then(Stopwatch::start);
        let merged =
            merge::full_merge(&**operator, &FullMerge { key, existing, operands: &operands }, &mut out);
        self.stats.merge_nanos += began.map_or(0, Stopwatch::nanos);
        self.stats.num_merge_failures += u64::from(merged.is_err());
        Ok((merged?, out))
    }

    fn as_row(&mut self, merged: Merged, out: Vec<u8>) -> Result<(ValueType, Pinned)> {
        match merged {
            Merged::New => Ok((ValueType::Value, Pinned::from_vec(out))),
            // Operands are numbered from the oldest, but are stored newest first.
            Merged::Operand(i) => {
                base::invariant!(
                    i < self.merge.values.len(),
                    "a merge of {} operands gives operand {i}",
                    self.merge.values.len()
                );
                let at = self.merge.values.len() - 1 - i;
                Ok((ValueType::Value, self.merge.values.swap_remove(at)))
            }
            Merged::Existing => Err(Error::corruption("merge operator named a value that does not exist")),
            Merged::Columns(columns) => {
                let columns: Vec<_> =
                    columns.iter().map(|(n, v)| format::wide::Column::inline(n, v)).collect();
                let mut entity = Vec::new();
                format::wide::encode(&columns, &mut entity)?;
                Ok((ValueType::WideColumnEntity, Pinned::from_vec(entity)))
            }
        }
    }

    /// Merges all operands into one operand if the operator can. Otherwise the operands stay.
    fn merge_partially(&mut self) {
        self.merge.in_progress = true;
        let Some(operator) = &self.config.merge_operator else { return };
        let n = self.merge.values.len();
        if n < 2 && !(n == 1 && operator.allow_single_operand()) {
            return;
        }
        let operands: Vec<&[u8]> = self.merge.values.iter().rev().map(|v| &**v).collect();
        let mut out = Vec::new();
        let began = self.config.times.merges.then(Stopwatch::start);
        let merged = merge::partial_merge(&**operator, key::user_key(&self.current), &operands, &mut out);
        self.stats.merge_nanos += began.map_or(0, Stopwatch::nanos);
        if merged {
            drop(operands);
            self.merge.keys.truncate(1);
            self.merge.values.clear();
            self.merge.values.push(Pinned::from_vec(out));
            base::invariant!(
                self.merge.keys.len() == 1,
                "a partial merge leaves {} operands",
                self.merge.keys.len()
            );
        }
    }

    /// Makes the current entry of the merge result the current entry.
    fn give_out_merged(&mut self) {
        let Some(key) = self.merge.keys.get(self.merge.at) else { return };
        self.current.clear();
        self.current.extend_from_slice(key);
        let (_, seq, kind) = key::split(key);
        self.seq = seq;
        self.kind = ValueType::from_u8(kind).unwrap_or(ValueType::Merge);
        self.value_at = ValueAt::Merge;
        self.valid = true;
    }

    pub(super) fn next_of_merge(&mut self) {
        base::invariant!(self.merge.valid(), "a merge that gave all of its entries gives another");
        self.merge.at += 1;
        if self.merge.valid() {
            return self.give_out_merged();
        }
        if self.merge.in_progress {
            // The base, if one follows, must be in the output too, although it is in the same stripe as the
            // operands.
            self.has_current_user_key = false;
        }
        self.merge.clear();
        // The collection left the input at the first entry that it did not use.
        self.take_from_input();
    }
}
