//! The result for one key, which is made from its entries, newest first.

use std::ops::ControlFlow;

use base::key::{SequenceNumber, ValueType};
use base::stats::{PerfCounter, Statistics, perf_add};
use base::{Error, Pinned, Result};
use lsm::merge::MergeOperator;
use table::any::AnyReader;
use table::sst::{Entry, ReadCtx};

use super::row_cache::Row;
use crate::sequence::Visibility;
use crate::source::BlobReads;
use crate::source::resolve::{self, Base, Found, Merging, Scratch};
use crate::sync::Arc;

/// The result of a lookup. The lookup passes entries to it until it is complete, and then calls
/// [`Answer::finish`].
pub struct Answer<'a> {
    operator: Option<&'a Arc<dyn MergeOperator>>,
    /// The statistics that count merges.
    statistics: Option<&'a Arc<Statistics>>,
    /// How values in blob files are read. `None` for a single SST file: a blob index is then Corruption.
    blobs: Option<BlobReads<'a>>,
    /// The sequence number of the newest range tombstone over the key; 0 if there is none. Older entries of the
    /// key are deleted.
    covering: SequenceNumber,
    /// Hides entries from the reader. `None` means that all entries are visible.
    visibility: Option<Arc<Visibility>>,
    /// The merge operands, newest first.
    operands: Vec<Pinned>,
    outcome: Option<Result<Option<Found>>>,
    /// True if the caller wants the operands and not the value.
    raw_operands: bool,
    base: Option<Base>,
}

impl<'a> Answer<'a> {
    /// Makes an incomplete result for one key. Without an operator, a key with merge operands gives an error.
    #[inline]
    pub fn new(
        operator: Option<&'a Arc<dyn MergeOperator>>,
        statistics: Option<&'a Arc<Statistics>>,
        blobs: BlobReads<'a>,
    ) -> Self {
        Answer { operator, statistics, blobs: Some(blobs), ..Answer::empty() }
    }

    #[inline]
    fn empty() -> Self {
        Answer {
            operator: None,
            statistics: None,
            blobs: None,
            covering: SequenceNumber::ZERO,
            visibility: None,
            operands: Vec::new(),
            outcome: None,
            raw_operands: false,
            base: None,
        }
    }

    /// Makes the result for one SST file, which may belong to no database.
    pub fn of_file(
        operator: Option<&'a Arc<dyn MergeOperator>>,
        statistics: Option<&'a Arc<Statistics>>,
    ) -> Self {
        Answer { operator, statistics, ..Answer::empty() }
    }

    /// Hides entries from now on.
    #[inline]
    pub fn see(&mut self, visibility: Option<Arc<Visibility>>) {
        self.visibility = visibility;
    }

    /// Returns the sequence number up to which range tombstones are visible, for a lookup at `seq`.
    #[inline]
    pub fn tombstone_seq(&self, seq: SequenceNumber) -> SequenceNumber {
        self.visibility.as_ref().map_or(seq, |visibility| visibility.sequence())
    }

    /// Makes a result that collects the operands and does not merge them.
    pub fn for_operands(blobs: BlobReads<'a>) -> Self {
        Answer { raw_operands: true, blobs: Some(blobs), ..Answer::empty() }
    }

    /// Returns the number of operands so far.
    #[inline]
    pub fn operands(&self) -> usize {
        self.operands.len()
    }

    /// Returns true if the result is complete and has a value.
    pub fn found(&self) -> bool {
        matches!(self.outcome, Some(Ok(Some(_))))
    }

    /// Returns true if the result is complete: a value, no value, or an error. Older entries cannot change it.
    #[inline]
    pub fn settled(&self) -> bool {
        self.outcome.is_some()
    }

    /// Returns true if a range tombstone deletes the key. All entries in older sources are deleted, and the lookup
    /// ends after this source. Two SST files of one level that have entries of the key are one source.
    #[inline]
    pub fn covered(&self) -> bool {
        self.covering > SequenceNumber::ZERO
    }

    /// Adds a range tombstone that deletes the key. Called before the entries of its source are added.
    #[inline]
    pub fn cover(&mut self, tombstone: Option<SequenceNumber>) {
        if let Some(seq) = tombstone {
            self.covering = self.covering.max(seq);
        }
    }

    /// Adds the next older entry, from an SST file. `key` has no timestamp.
    #[inline]
    pub fn entry(
        &mut self,
        key: &[u8],
        entry: Entry<'_>,
        reader: &AnyReader,
        ctx: &ReadCtx,
    ) -> ControlFlow<()> {
        base::invariant!(!self.settled(), "an entry is added to an answer that is complete");
        if reader.embeds_blobs() {
            match reader.resolve_embedded(entry.value_type(), &entry.value, ctx) {
                Ok(None) => {}
                Ok(Some((value_type, value))) => {
                    return self.version((key, entry.user_key), entry.sequence(), value_type as u8, || value);
                }
                Err(error) => {
                    self.fail(error);
                    return ControlFlow::Break(());
                }
            }
        }
        self.version((key, entry.user_key), entry.sequence(), entry.value_type(), || entry.value.pin())
    }

    /// Adds the next older entry, from an SST file, as [`Answer::entry`] does. Records the entry in `row`.
    #[cold]
    pub fn recorded_entry(
        &mut self,
        key: &[u8],
        entry: Entry<'_>,
        (reader, ctx): (&AnyReader, &ReadCtx),
        row: &mut Row<'_>,
    ) -> ControlFlow<()> {
        let (value_type, value) = match reader.resolve_embedded(entry.value_type(), &entry.value, ctx) {
            Ok(None) => (entry.value_type(), entry.value.pin()),
            Ok(Some((value_type, value))) => (value_type as u8, value),
            Err(error) => {
                row.spoil();
                self.fail(error);
                return ControlFlow::Break(());
            }
        };
        let decided = self.version((key, entry.user_key), entry.sequence(), value_type, || value.clone());
        row.record(entry.sequence(), value_type, entry.user_key, &value, decided);
        decided
    }

    /// Returns the sequence number up to which a lookup at `seq` sees every entry.
    #[inline]
    pub fn certain_up_to(&self, seq: SequenceNumber) -> SequenceNumber {
        self.visibility.as_ref().map_or(seq, |visibility| visibility.certain_up_to().min(seq))
    }

    /// Adds the next older entry. `stored_key` is its user key with the timestamp, as a blob file has it. `pin` is
    /// called only if the value is needed.
    #[inline]
    pub fn version(
        &mut self,
        (user_key, stored_key): (&[u8], &[u8]),
        seq: SequenceNumber,
        value_type: u8,
        pin: impl FnOnce() -> Pinned,
    ) -> ControlFlow<()> {
        const VALUE: u8 = ValueType::Value as u8;
        if self.visibility.as_ref().is_some_and(|visibility| !visibility.sees(seq)) {
            return ControlFlow::Continue(());
        }
        if seq < self.covering {
            self.settle(user_key, Ok(Base::None));
        } else if value_type == VALUE && self.operands.is_empty() && !self.raw_operands {
            self.outcome = Some(Ok(Some(Found::Value(pin()))));
        } else {
            return self.other((user_key, stored_key), value_type, pin());
        }
        ControlFlow::Break(())
    }

    #[cold]
    fn other(
        &mut self,
        (user_key, stored_key): (&[u8], &[u8]),
        value_type: u8,
        value: Pinned,
    ) -> ControlFlow<()> {
        let base = match ValueType::from_u8(value_type) {
            Some(ValueType::Merge) => {
                perf_add(PerfCounter::InternalMergePointLookupCount, 1);
                self.operands.push(value);
                if let Some(operator) = self.operator {
                    match lsm::merge::should_merge(&**operator, &self.operands) {
                        Ok(false) => {}
                        Ok(true) => {
                            self.settle(user_key, Ok(Base::None));
                            return ControlFlow::Break(());
                        }
                        Err(error) => {
                            self.fail(error);
                            return ControlFlow::Break(());
                        }
                    }
                }
                return ControlFlow::Continue(());
            }
            Some(ValueType::Value) => Ok(Base::Value(value)),
            Some(ValueType::ValuePreferredSeqno) => resolve::without_preferred_seq(value).map(Base::Value),
            Some(ValueType::WideColumnEntity) => match self.blobs {
                Some(blobs) => blobs.entity(stored_key, value).map(Base::Entity),
                None => Ok(Base::Entity(value)),
            },
            Some(ValueType::Deletion | ValueType::SingleDeletion | ValueType::DeletionWithTimestamp) => {
                Ok(Base::None)
            }
            Some(ValueType::BlobIndex) => match self.blobs {
                Some(blobs) => blobs.value(stored_key, &value).map(Base::Value),
                None => Err(resolve::value_in_blob_file()),
            },
            _ => Err(resolve::unknown_value_type(value_type)),
        };
        self.settle(user_key, base);
        ControlFlow::Break(())
    }

    /// Completes the result with the base value of the key. Older entries have no effect.
    fn settle(&mut self, user_key: &[u8], base: Result<Base>) {
        base::invariant!(self.outcome.is_none(), "an answer is settled twice");
        let outcome = match base {
            Err(error) => Err(error),
            Ok(base) if self.raw_operands => {
                self.base = Some(base);
                Ok(None)
            }
            Ok(base) if self.operands.is_empty() => Ok(match base {
                Base::None => None,
                Base::Value(value) => Some(Found::Value(value)),
                Base::Entity(entity) => Some(Found::Entity(entity)),
            }),
            Ok(base) => {
                self.operands.reverse();
                let how = Merging { operator: self.operator, statistics: self.statistics, is_read: true };
                resolve::merge(how, user_key, base, &mut self.operands, &mut Scratch::default()).map(Some)
            }
        };
        self.outcome = Some(outcome);
    }

    /// Completes the result with an error. Replaces an earlier outcome.
    pub fn fail(&mut self, error: Error) {
        self.outcome = Some(Err(error));
    }

    /// Returns the value of the key. Called after the result is complete, or after all sources were searched.
    #[inline]
    pub fn finish(mut self, user_key: &[u8]) -> Result<Option<Found>> {
        base::invariant!(!self.raw_operands, "the value of an answer that collects operands is taken");
        if self.outcome.is_none() {
            if self.operands.is_empty() {
                return Ok(None);
            }
            self.settle(user_key, Ok(Base::None));
        }
        self.outcome.unwrap_or(Ok(None))
    }

    /// Returns the operands, oldest first. A plain value is the first operand.
    pub fn finish_operands(mut self, user_key: &[u8]) -> Result<Vec<Pinned>> {
        base::invariant!(self.raw_operands, "the operands of an answer that merges are taken");
        if self.outcome.is_none() {
            self.settle(user_key, Ok(Base::None));
        }
        if let Some(Err(error)) = self.outcome {
            return Err(error);
        }
        match self.base {
            Some(Base::Value(value)) => self.operands.push(value),
            Some(Base::Entity(entity)) => self.operands.push(resolve::default_column(entity)?),
            _ => {}
        }
        self.operands.reverse();
        Ok(self.operands)
    }
}
