//! Compaction filters: functions of the application that keep, remove or replace the values that a compaction reads.

use std::ffi::{CStr, CString};

use env::sync::Mutex;
use ironstone::{FilterInput, FilterKind};

use crate::shared::Shared;

/// The decision of a compaction filter about a value.
pub enum Decision {
    /// The value stays.
    Keep,
    /// The entry is removed.
    Remove,
    /// The value is replaced.
    Change(&'static [u8]),
}

/// A filter that a factory makes for one compaction.
pub trait CompactionFilter {
    /// Decides whether the value of a key is kept, removed or replaced. `level` is the level that the compaction reads.
    fn filter(&mut self, level: u32, key: &[u8], value: &[u8]) -> Decision;

    /// Returns the name of the filter.
    fn name(&self) -> &CStr;
}

/// A function that can be used as a filter.
pub trait CompactionFilterFn: FnMut(u32, &[u8], &[u8]) -> Decision {}

impl<F> CompactionFilterFn for F where F: FnMut(u32, &[u8], &[u8]) -> Decision + Send + 'static {}

/// A filter made of a name and a function.
pub struct CompactionFilterCallback<F>
where
    F: CompactionFilterFn,
{
    /// The name of the filter.
    pub name: CString,
    /// The function.
    pub filter_fn: F,
}

impl<F> CompactionFilter for CompactionFilterCallback<F>
where
    F: CompactionFilterFn,
{
    fn name(&self) -> &CStr {
        &self.name
    }

    fn filter(&mut self, level: u32, key: &[u8], value: &[u8]) -> Decision {
        (self.filter_fn)(level, key, value)
    }
}

/// Adapts a filter to the trait of `ironstone`. A mutex serializes the calls of concurrent subcompactions.
pub(crate) struct Filter<F> {
    name: String,
    filter: Mutex<Shared<F>>,
}

impl<F: CompactionFilter> Filter<F> {
    pub(crate) fn new(filter: F) -> Self {
        Filter {
            name: filter.name().to_string_lossy().into_owned(),
            filter: Mutex::new(Shared::new(Box::new(filter))),
        }
    }
}

impl<F: CompactionFilter> ironstone::CompactionFilter for Filter<F> {
    fn name(&self) -> &str {
        &self.name
    }

    /// Calls the filter for plain values only. Keeps merge operands and wide-column entities, as RocksDB's C interface does.
    fn filter(&self, input: &FilterInput<'_>) -> ironstone::Decision {
        if input.kind != FilterKind::Value {
            return ironstone::Decision::Keep;
        }
        let level = u32::from(input.level.get());
        match self.filter.lock().filter(level, input.user_key, input.value) {
            Decision::Keep => ironstone::Decision::Keep,
            Decision::Remove => ironstone::Decision::Remove,
            Decision::Change(value) => ironstone::Decision::ChangeValue(value.to_vec()),
        }
    }
}
