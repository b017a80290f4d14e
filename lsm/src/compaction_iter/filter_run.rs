//! The calls of the compaction filter, for the newest entry of a key and for merge operands.

use base::error::Error;
use base::iter::InternalIterator;
use base::key::{self, MAX_SEQUENCE, TYPE_FOR_SEEK, ValueType};
use base::stats::Stopwatch;

use super::{Below, CompactionIter, ValueAt};
use crate::filter::{CompactionFilter, Decision, FilterInput, FilterKind};

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
        let filter = self.config.filter.take()?;
        let began = self.config.times.filters.then(Stopwatch::start);
        let decision = self.ask(&*filter);
        self.stats.filter_nanos += began.map_or(0, Stopwatch::nanos);
        self.config.filter = Some(filter);
        self.obey(decision?)
    }

    fn ask(&mut self, filter: &dyn CompactionFilter) -> Option<Decision> {
        let kind = match self.kind {
            ValueType::Value => FilterKind::Value,
            ValueType::BlobIndex => FilterKind::BlobIndex,
            ValueType::WideColumnEntity => FilterKind::WideColumnEntity,
            _ => return None,
        };
        let level = self.config.compaction.map_or(0, |c| c.start_level);
        let user_key = key::user_key(&self.current);
        let mut decision = Decision::Undetermined;
        let mut blob_value = None;
        if kind == FilterKind::BlobIndex {
            decision = filter.filter_blob_by_key(&FilterInput { level, user_key, kind, value: &[] });
            if decision == Decision::Undetermined {
                blob_value = self.fetched_value();
                if self.failed.is_some() {
                    return None;
                }
            }
        }
        if kind == FilterKind::WideColumnEntity && format::wide::may_have_blobs(self.input.value()) {
            blob_value = self.whole_entity();
            if self.failed.is_some() {
                return None;
            }
        }
        let user_key = key::user_key(&self.current);
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

    /// Returns the current entity with all columns inline, because filters get values instead of blob
    /// indexes. Returns `None` and records the error if a blob cannot be read.
    fn whole_entity(&mut self) -> Option<Vec<u8>> {
        let entity = self.input.pin_value();
        match self.fetch_columns(&entity) {
            Ok(entity) => Some(entity),
            Err(error) => {
                self.failed = Some(error);
                None
            }
        }
    }

    /// Returns the value that the current blob index points to. Returns `None` and records the error if it
    /// cannot be read.
    fn fetched_value(&mut self) -> Option<Vec<u8>> {
        let Some(fetch) = &mut self.fetch else {
            self.failed = Some(Error::not_supported(
                "Blob-backed value filtering requires blob read support in the current table-file creation context",
            ));
            return None;
        };
        let mut value = Vec::new();
        match fetch.fetch(key::user_key(&self.current), self.input.value(), &mut value) {
            Ok(()) => {
                self.stats.num_blobs_read += 1;
                self.stats.total_blob_bytes_read += value.len() as u64;
                Some(value)
            }
            Err(error) => {
                self.failed = Some(error);
                None
            }
        }
    }

    fn obey(&mut self, decision: Decision) -> Option<Vec<u8>> {
        match decision {
            Decision::Keep => None,
            Decision::Remove | Decision::Purge => {
                let kind = if decision == Decision::Remove {
                    ValueType::Deletion
                } else {
                    ValueType::SingleDeletion
                };
                self.set_current_trailer(self.seq, kind);
                self.value_buf.clear();
                self.value_at = ValueAt::Buffer;
                self.stats.num_record_drop_user += 1;
                None
            }
            Decision::ChangeValue(value) => {
                self.set_current_trailer(self.seq, ValueType::Value);
                self.value_buf = value;
                self.value_at = ValueAt::Buffer;
                None
            }
            Decision::ChangeColumns(mut columns) => {
                columns.sort();
                let columns: Vec<_> =
                    columns.iter().map(|(n, v)| format::wide::Column::inline(n, v)).collect();
                self.value_buf.clear();
                match format::wide::encode(&columns, &mut self.value_buf) {
                    Ok(()) => {
                        self.set_current_trailer(self.seq, ValueType::WideColumnEntity);
                        self.value_at = ValueAt::Buffer;
                    }
                    Err(error) => self.failed = Some(error),
                }
                None
            }
            Decision::RemoveAndSkipUntil(until) => {
                // A skip must go forward. Otherwise the entry is kept.
                if self.config.order.user.compare(&until, key::user_key(&self.current)).is_le() {
                    return None;
                }
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
        let Some(filter) = &self.config.filter else { return Ok(OperandFate::Keep) };
        let level = self.config.compaction.map_or(0, |c| c.start_level);
        let user_key = key::user_key(&self.current);
        let input =
            FilterInput { level, user_key, kind: FilterKind::MergeOperand, value: self.input.value() };
        let began = self.config.times.filters.then(Stopwatch::start);
        let decision = filter.filter(&input);
        self.stats.filter_nanos += began.map_or(0, Stopwatch::nanos);
        match decision {
            Decision::Remove | Decision::Purge => Ok(OperandFate::Remove),
            Decision::ChangeValue(value) => Ok(OperandFate::Change(value)),
            Decision::RemoveAndSkipUntil(until) => {
                if self.config.order.user.compare(&until, user_key).is_le() {
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
