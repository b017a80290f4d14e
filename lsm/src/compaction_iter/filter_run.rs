//! The calls of the compaction filter, for the newest entry of a key and for merge operands.

use base::Level;
use base::error::Error;
use base::iter::InternalIterator;
use base::key::{self, MAX_SEQUENCE, TYPE_FOR_SEEK, ValueType};
use base::stats::Stopwatch;

use super::state::ValueAt;
use super::{Below, CompactionIter};
use crate::filter::{CompactionFilter, Decision, FilterInput, FilterKind};

/// The error of a filter that needs the value of a blob index, without blob files. RocksDB's text.
const NO_BLOBS: &str =
    "Blob-backed value filtering requires blob read support in the current table-file creation context";

/// Returns the internal key before every entry of `user_key`. A skip ends there.
fn skip_target(user_key: &[u8]) -> Vec<u8> {
    let mut target = Vec::with_capacity(user_key.len() + key::TRAILER_LEN);
    key::append_with_trailer(&mut target, user_key, key::pack(MAX_SEQUENCE, TYPE_FOR_SEEK));
    base::invariant!(
        target.len() == user_key.len() + key::TRAILER_LEN,
        "a user key of {} bytes has an internal key of {}",
        user_key.len(),
        target.len()
    );
    target
}

impl<I: InternalIterator, B: Below> CompactionIter<I, B> {
    /// Calls the filter for the current entry. Returns `Some(target)` if all entries before the internal key
    /// `target` are dropped.
    pub(super) fn filter_current(&mut self) -> Option<Vec<u8>> {
        let filter = self.rules.config.filter.take()?;
        let began = self.rules.config.times.filters.then(Stopwatch::start);
        let decision = self.ask(&*filter);
        self.stats.times.filter_nanos += began.map_or(0, Stopwatch::nanos);
        self.rules.config.filter = Some(filter);
        self.obey(decision?)
    }

    fn ask(&mut self, filter: &dyn CompactionFilter) -> Option<Decision> {
        let kind = match self.out.value_type {
            ValueType::Value => FilterKind::Value,
            ValueType::BlobIndex => FilterKind::BlobIndex,
            ValueType::WideColumnEntity => FilterKind::WideColumnEntity,
            _ => return None,
        };
        let level = self.rules.config.compaction.map_or(Level::ZERO, |c| c.start_level);
        let user_key = key::user_key(&self.out.key);
        let mut decision = Decision::Undetermined;
        let mut blob_value = None;
        if kind == FilterKind::BlobIndex {
            decision = filter.filter_blob_by_key(&FilterInput { level, user_key, kind, value: &[] });
            if decision == Decision::Undetermined {
                blob_value = Some(self.blobs.fetch(user_key, self.input.value(), NO_BLOBS, &mut self.stats));
            }
        }
        // Filters get values instead of blob indexes.
        if kind == FilterKind::WideColumnEntity && format::wide::may_have_blobs(self.input.value()) {
            blob_value = Some(self.blobs.whole_entity(user_key, self.input.value(), &mut self.stats));
        }
        let blob_value = match blob_value.transpose() {
            Ok(value) => value,
            Err(error) => {
                self.failed = Some(error);
                return None;
            }
        };
        if decision == Decision::Undetermined {
            let (kind, value) = match &blob_value {
                Some(value) if kind == FilterKind::BlobIndex => (FilterKind::Value, value.as_slice()),
                Some(entity) => (kind, entity.as_slice()),
                None => (kind, self.input.value()),
            };
            decision = filter.filter(&FilterInput { level, user_key, kind, value });
        }
        Some(decision)
    }

    fn obey(&mut self, decision: Decision) -> Option<Vec<u8>> {
        match decision {
            Decision::Keep => None,
            Decision::Remove | Decision::Purge => {
                let value_type = if decision == Decision::Remove {
                    ValueType::Deletion
                } else {
                    ValueType::SingleDeletion
                };
                self.out.set_trailer(self.out.seq, value_type);
                self.out.clear_value();
                self.stats.num_record_drop_user += 1;
                None
            }
            Decision::ChangeValue(value) => {
                self.out.set_trailer(self.out.seq, ValueType::Value);
                self.out.buffer = value;
                self.out.value = ValueAt::Buffer;
                None
            }
            Decision::ChangeColumns(mut columns) => {
                columns.sort();
                let columns: Vec<_> =
                    columns.iter().map(|(n, v)| format::wide::Column::inline(n, v)).collect();
                self.out.buffer.clear();
                match format::wide::encode(&columns, &mut self.out.buffer) {
                    Ok(()) => {
                        self.out.set_trailer(self.out.seq, ValueType::WideColumnEntity);
                        self.out.value = ValueAt::Buffer;
                    }
                    Err(error) => self.failed = Some(error),
                }
                None
            }
            Decision::RemoveAndSkipUntil(until) => {
                // A skip must go forward. Otherwise the entry is kept.
                if self.rules.config.order.user.compare(&until, key::user_key(&self.out.key)).is_le() {
                    return None;
                }
                self.has_filter_skipped = true;
                Some(skip_target(&until))
            }
            Decision::Undetermined => {
                self.failed =
                    Some(Error::not_supported("a compaction filter's filter() must not answer Undetermined"));
                None
            }
        }
    }

    /// Calls the filter for the merge operand at the input. `Err(target)`: skip to the internal key `target`.
    pub(super) fn filter_operand(&mut self) -> Result<OperandFate, Vec<u8>> {
        base::invariant!(
            self.input.valid(),
            "a compaction filter is asked about a merge operand after the end of the input"
        );
        let Some(filter) = &self.rules.config.filter else { return Ok(OperandFate::Keep) };
        let level = self.rules.config.compaction.map_or(Level::ZERO, |c| c.start_level);
        let user_key = key::user_key(&self.out.key);
        let input =
            FilterInput { level, user_key, kind: FilterKind::MergeOperand, value: self.input.value() };
        let began = self.rules.config.times.filters.then(Stopwatch::start);
        let decision = filter.filter(&input);
        self.stats.times.filter_nanos += began.map_or(0, Stopwatch::nanos);
        match decision {
            Decision::Remove | Decision::Purge => Ok(OperandFate::Remove),
            Decision::ChangeValue(value) => Ok(OperandFate::Change(value)),
            Decision::RemoveAndSkipUntil(until) => {
                if self.rules.config.order.user.compare(&until, user_key).is_le() {
                    Ok(OperandFate::Keep)
                } else {
                    Err(skip_target(&until))
                }
            }
            Decision::Keep => Ok(OperandFate::Keep),
            // RocksDB drops an operand if the decision is impossible for operands.
            Decision::ChangeColumns(_) | Decision::Undetermined => Ok(OperandFate::Remove),
        }
    }
}

/// The result of the filter for a merge operand.
pub(super) enum OperandFate {
    Keep,
    Change(Vec<u8>),
    Remove,
}
