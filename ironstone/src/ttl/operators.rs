//! The compaction filter and the merge operator of a TTL database. Both remove the time from a value before they call the
//! filter or operator of the application.
//!
//! Follows RocksDB `utilities/ttl/db_ttl_impl.cc`.

use std::sync::Arc;
use std::sync::atomic::{AtomicI32, Ordering};

use base::{Error, Result};
use env::Clock;
use lsm::filter::{
    CompactionFilter, CompactionFilterFactory, CreationReason, Decision, FilterContext, FilterInput,
    FilterKind,
};
use lsm::merge::{Existing, Failure, FullMerge, MergeOperator, Merged};

/// The bytes of the time at the end of a value: seconds since 1970 as a little-endian 32-bit integer.
pub(super) const TIME_LEN: usize = 4;

/// The oldest time that a TTL database can have written: 9 May 2013. An older time shows that the value has no time.
const TIME_MIN: i32 = 1_368_146_402;

/// The time to live of a column family in seconds. It can change at any time. 0 and negative: values do not expire.
#[derive(Clone)]
pub(super) struct Ttl {
    seconds: Arc<AtomicI32>,
    clock: Arc<dyn Clock>,
}

impl Ttl {
    /// Makes a time to live of `seconds`. 0 and negative: values do not expire. `clock` gives the current
    /// time.
    pub fn new(seconds: i32, clock: Arc<dyn Clock>) -> Self {
        Ttl { seconds: Arc::new(AtomicI32::new(seconds)), clock }
    }

    /// Returns the time to live in seconds. 0 and negative: values do not expire.
    pub fn get(&self) -> i32 {
        self.seconds.load(Ordering::Relaxed)
    }

    /// Changes the time to live, in seconds. All clones share the new time. Values that are already stored
    /// follow the new time too.
    pub fn set(&self, seconds: i32) {
        self.seconds.store(seconds, Ordering::Relaxed);
    }

    /// Returns the bytes of the current time.
    pub fn now(&self) -> [u8; TIME_LEN] {
        (self.clock.now_seconds() as i32).to_le_bytes()
    }

    /// Returns the value with the current time at its end.
    pub fn stamped(&self, value: &[u8]) -> Vec<u8> {
        [value, &self.now()].concat()
    }

    /// Returns true if the value is older than the time to live. A value without a time does not expire.
    fn is_stale(&self, stored: &[u8]) -> bool {
        let ttl = self.get();
        match split(stored) {
            Some((_, written)) if ttl > 0 => {
                i64::from(written) + i64::from(ttl) < self.clock.now_seconds() as i64
            }
            _ => false,
        }
    }
}

/// Splits a stored value into the value of the application and the time in seconds since 1970.
fn split(stored: &[u8]) -> Option<(&[u8], i32)> {
    let (value, time) = stored.split_last_chunk::<TIME_LEN>()?;
    Some((value, i32::from_le_bytes(*time)))
}

/// Checks the time of a stored value, and returns the length of the value without the time.
///
/// # Errors
/// Corruption if the value has no time.
pub(super) fn check(stored: &[u8]) -> Result<usize> {
    match split(stored) {
        None => Err(Error::corruption("Error: value's length less than timestamp's")),
        Some((_, time)) if time < TIME_MIN => {
            Err(Error::corruption("Error: Timestamp < ttl feature release time!"))
        }
        Some((value, _)) => Ok(value.len()),
    }
}

/// Removes expired values, and calls the filter of the application for the other values.
struct TtlFilter {
    ttl: Ttl,
    user: Option<UserFilter>,
}

/// The filter of the application: from its options, or made by its factory for one job.
enum UserFilter {
    Shared(Arc<dyn CompactionFilter>),
    OfJob(Box<dyn CompactionFilter>),
}

impl CompactionFilter for TtlFilter {
    fn name(&self) -> &str {
        "Delete By TTL"
    }

    fn filter(&self, input: &FilterInput<'_>) -> Decision {
        if input.kind != FilterKind::Value {
            return Decision::Keep;
        }
        if self.ttl.is_stale(input.value) {
            return Decision::Remove;
        }
        let user: &dyn CompactionFilter = match &self.user {
            None => return Decision::Keep,
            Some(UserFilter::Shared(filter)) => &**filter,
            Some(UserFilter::OfJob(filter)) => &**filter,
        };
        let Some((value, time)) = split(input.value) else { return Decision::Keep };
        match user.filter(&FilterInput { value, ..*input }) {
            Decision::ChangeValue(mut changed) => {
                changed.extend_from_slice(&time.to_le_bytes());
                Decision::ChangeValue(changed)
            }
            decision => decision,
        }
    }
}

/// Makes a [`TtlFilter`] for each job.
struct TtlFilterFactory {
    ttl: Ttl,
    user: Option<Arc<dyn CompactionFilterFactory>>,
}

impl CompactionFilterFactory for TtlFilterFactory {
    fn name(&self) -> &str {
        "TtlCompactionFilterFactory"
    }

    fn should_filter(&self, reason: CreationReason) -> bool {
        let user = self.user.as_ref().is_some_and(|user| user.should_filter(reason));
        reason == CreationReason::Compaction || user
    }

    fn create(&self, context: &FilterContext) -> Option<Box<dyn CompactionFilter>> {
        let user = self.user.as_ref().and_then(|user| user.create(context)).map(UserFilter::OfJob);
        Some(Box::new(TtlFilter { ttl: self.ttl.clone(), user }))
    }
}

/// A merge operator that removes the times from the value and the operands, and calls the merge operator of the
/// application. The result gets the current time.
struct TtlMergeOperator {
    ttl: Ttl,
    user: Arc<dyn MergeOperator>,
}

impl MergeOperator for TtlMergeOperator {
    fn name(&self) -> &str {
        "Merge By TTL"
    }

    fn full(&self, merge: &FullMerge<'_>, out: &mut Vec<u8>) -> std::result::Result<Merged, Failure> {
        let operands = without_times(merge.operands).ok_or(Failure::Merge)?;
        let existing = match merge.existing {
            Existing::Value(value) => Existing::Value(split(value).ok_or(Failure::Merge)?.0),
            other => other,
        };
        match self.user.full(&FullMerge { key: merge.key, existing, operands: &operands }, out)? {
            Merged::New => {}
            Merged::Operand(index) => {
                let operand = operands.get(index).ok_or(Failure::Merge)?;
                out.clear();
                out.extend_from_slice(operand);
            }
            Merged::Existing => {
                let Existing::Value(value) = existing else { return Err(Failure::Merge) };
                out.clear();
                out.extend_from_slice(value);
            }
            columns @ Merged::Columns(_) => return Ok(columns),
        }
        out.extend_from_slice(&self.ttl.now());
        Ok(Merged::New)
    }

    fn partial(&self, key: &[u8], operands: &[&[u8]], out: &mut Vec<u8>) -> bool {
        let Some(operands) = without_times(operands) else { return false };
        if !self.user.partial(key, &operands, out) {
            return false;
        }
        out.extend_from_slice(&self.ttl.now());
        true
    }

    fn allow_single_operand(&self) -> bool {
        self.user.allow_single_operand()
    }
}

fn without_times<'a>(operands: &[&'a [u8]]) -> Option<Vec<&'a [u8]>> {
    operands.iter().map(|operand| split(operand).map(|(value, _)| value)).collect()
}

/// Replaces the compaction filter and the merge operator in the options by operators of a TTL database, which call the
/// original ones.
pub(super) fn wrap(options: &mut engine::options::FamilyOptions, ttl: &Ttl) {
    match options.compaction_filter.take() {
        Some(user) => {
            let user = Some(UserFilter::Shared(user));
            options.compaction_filter = Some(Arc::new(TtlFilter { ttl: ttl.clone(), user }));
        }
        None => {
            let user = options.compaction_filter_factory.take();
            options.compaction_filter_factory = Some(Arc::new(TtlFilterFactory { ttl: ttl.clone(), user }));
        }
    }
    if let Some(user) = options.merge_operator.take() {
        options.merge_operator = Some(Arc::new(TtlMergeOperator { ttl: ttl.clone(), user }));
    }
}
