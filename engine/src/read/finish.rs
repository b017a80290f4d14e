//! Finishes the lookups of one MultiGet: the size limit of the values, and the statistics of the call.

use base::stats::{HistogramKind, PerfCounter, Statistics, Ticker, perf_add};
use base::{Error, Result};

use super::DecidedBy;
use super::answer::Answer;
use crate::options::ReadOptions;
use crate::source::resolve::Found;

/// Returns the error of a key after the values of a call exceeded `value_size_soft_limit`.
pub fn exceeded_limit() -> Error {
    Error::aborted("the values before this one exceed value_size_soft_limit")
}

/// The keys and bytes that a call has found so far.
pub(super) struct Finish<'a> {
    statistics: Option<&'a Statistics>,
    value_size_soft_limit: u64,
    bytes: u64,
    keys: u64,
}

impl<'a> Finish<'a> {
    pub(super) fn new(statistics: Option<&'a Statistics>, options: &ReadOptions) -> Self {
        Finish { statistics, value_size_soft_limit: options.value_size_soft_limit, bytes: 0, keys: 0 }
    }

    /// Returns the result of a key and the number of its merge operands. The keys are finished in their order. The result is
    /// Aborted if the values before it exceed the limit.
    pub(super) fn result(
        &mut self,
        key: &[u8],
        answer: Answer<'_>,
        place: DecidedBy,
    ) -> (Result<Option<Found>>, usize) {
        let operands = answer.operands();
        let result =
            if self.bytes > self.value_size_soft_limit { Err(exceeded_limit()) } else { answer.finish(key) };
        if let Ok(Some(value)) = &result {
            self.bytes += value.len() as u64;
            self.keys += 1;
        }
        if let Some(statistics) = self.statistics {
            place.count(statistics, matches!(result, Ok(Some(_))));
        }
        (result, operands)
    }

    /// Counts a call of `keys` keys. Returns false if the database has no statistics.
    pub(super) fn count_call(&self, keys: usize) -> bool {
        base::invariant!(self.keys <= keys as u64, "a MultiGet of {keys} keys finds {}", self.keys);
        perf_add(PerfCounter::MultigetReadBytes, self.bytes);
        let Some(statistics) = self.statistics else { return false };
        statistics.tick(Ticker::NumberMultigetCalls);
        statistics.add(Ticker::NumberMultigetKeysRead, keys as u64);
        statistics.add(Ticker::NumberMultigetKeysFound, self.keys);
        statistics.add(Ticker::NumberMultigetBytesRead, self.bytes);
        statistics.measure(HistogramKind::BytesPerMultiget, self.bytes);
        true
    }
}
