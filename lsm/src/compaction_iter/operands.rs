//! The collected merge operands of a key, and the calls of the merge operator.

use base::error::{Error, Result};
use base::key::{self, TRAILER_LEN, ValueType, pack};
use base::pinned::Pinned;
use base::stats::Stopwatch;

use super::config::CompactionIterStats;
use super::state::Rules;
use crate::merge::{self, Existing, FullMerge, Merged};

/// The operands of a key, newest first. After the merge: the entries for the output.
#[derive(Default)]
pub(super) struct MergeRun {
    /// Internal keys; the user keys differ at most in their timestamps.
    keys: Vec<Vec<u8>>,
    values: Vec<Pinned>,
    /// The index of the current entry of the output.
    at: usize,
    /// True if the operands stayed operands. A base value below them must then be in the output too.
    in_progress: bool,
}

/// The parts of the compaction iterator that a call of the merge operator uses.
pub(super) struct Call<'a> {
    pub rules: &'a Rules,
    pub user_key: &'a [u8],
    pub stats: &'a mut CompactionIterStats,
}

impl MergeRun {
    /// Returns true if the run has an entry for the output.
    #[inline]
    pub(super) fn valid(&self) -> bool {
        self.at < self.keys.len()
    }

    /// Returns the number of operands.
    pub(super) fn len(&self) -> usize {
        base::invariant!(
            self.keys.len() == self.values.len(),
            "{} keys of merge operands have {} values",
            self.keys.len(),
            self.values.len()
        );
        self.values.len()
    }

    /// Returns the internal key of the current entry for the output, if there is one.
    pub(super) fn key(&self) -> Option<&[u8]> {
        self.keys.get(self.at).map(Vec::as_slice)
    }

    /// Returns the value of the current entry for the output.
    pub(super) fn value(&self) -> &[u8] {
        self.values.get(self.at).map_or(&[], |v| v)
    }

    /// Moves to the next entry for the output.
    pub(super) fn step(&mut self) {
        base::invariant!(self.valid(), "a merge that gave all of its entries gives another");
        self.at += 1;
    }

    /// Returns true if the operands stayed operands.
    pub(super) fn is_in_progress(&self) -> bool {
        self.in_progress
    }

    /// Records that the operands stay operands.
    pub(super) fn keep_operands(&mut self) {
        self.in_progress = true;
    }

    /// Adds an operand. It is older than all added operands.
    pub(super) fn push(&mut self, internal_key: &[u8], value: Pinned) {
        self.keys.push(internal_key.to_vec());
        self.values.push(value);
    }

    pub(super) fn clear(&mut self) {
        self.keys.clear();
        self.values.clear();
        self.at = 0;
        self.in_progress = false;
    }

    /// Replaces the operands by one entry. It keeps the sequence number of the newest operand.
    pub(super) fn set_result(&mut self, value_type: ValueType, value: Pinned) {
        let mut key = std::mem::take(&mut self.keys[0]);
        let at = key.len() - TRAILER_LEN;
        let trailer = pack(key::sequence(&key), value_type as u8);
        key[at..].copy_from_slice(&trailer.to_le_bytes());
        self.clear();
        self.keys.push(key);
        self.values.push(value);
    }

    /// Merges the operands onto a value.
    pub(super) fn merge_onto(&mut self, call: Call<'_>, base: Pinned) -> Result<(ValueType, Pinned)> {
        match self.run_operator(call, Existing::Value(&base))? {
            (Merged::Existing, _) => Ok((ValueType::Value, base)),
            (merged, out) => self.to_entry(merged, out),
        }
    }

    /// Merges the operands onto no value, or onto the columns of an entity.
    pub(super) fn merge_all(
        &mut self,
        call: Call<'_>,
        existing: Existing<'_>,
    ) -> Result<(ValueType, Pinned)> {
        let (merged, out) = self.run_operator(call, existing)?;
        self.to_entry(merged, out)
    }

    fn run_operator(&self, call: Call<'_>, existing: Existing<'_>) -> Result<(Merged, Vec<u8>)> {
        let Some(operator) = &call.rules.config.merge_operator else {
            return Err(Error::invalid_argument("merge_operator is not properly initialized."));
        };
        let operands: Vec<&[u8]> = self.values.iter().rev().map(|v| &**v).collect();
        let mut out = Vec::new();
        let input = FullMerge { key: call.user_key, existing, operands: &operands };
        let began = call.rules.config.times.merges.then(Stopwatch::start);
        let merged = merge::full_merge(&**operator, &input, &mut out);
        call.stats.times.merge_nanos += began.map_or(0, Stopwatch::nanos);
        call.stats.num_merge_failures += u64::from(merged.is_err());
        Ok((merged?, out))
    }

    fn to_entry(&mut self, merged: Merged, out: Vec<u8>) -> Result<(ValueType, Pinned)> {
        match merged {
            Merged::New => Ok((ValueType::Value, Pinned::from_vec(out))),
            // Operands are numbered from the oldest, but are stored newest first.
            Merged::Operand(i) => {
                base::invariant!(
                    i < self.values.len(),
                    "a merge of {} operands gives operand {i}",
                    self.values.len()
                );
                let at = self.values.len() - 1 - i;
                Ok((ValueType::Value, self.values.swap_remove(at)))
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
    pub(super) fn merge_partially(&mut self, call: Call<'_>) {
        self.in_progress = true;
        let Some(operator) = &call.rules.config.merge_operator else { return };
        let n = self.values.len();
        if n < 2 && !(n == 1 && operator.allow_single_operand()) {
            return;
        }
        let operands: Vec<&[u8]> = self.values.iter().rev().map(|v| &**v).collect();
        let mut out = Vec::new();
        let began = call.rules.config.times.merges.then(Stopwatch::start);
        let merged = merge::partial_merge(&**operator, call.user_key, &operands, &mut out);
        call.stats.times.merge_nanos += began.map_or(0, Stopwatch::nanos);
        if merged {
            self.keys.truncate(1);
            self.values.clear();
            self.values.push(Pinned::from_vec(out));
            base::invariant!(self.len() == 1, "a partial merge leaves {} operands", self.len());
        }
    }
}
