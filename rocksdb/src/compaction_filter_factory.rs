//! Factories of compaction filters: each compaction gets its own filter.

use std::ffi::CStr;

use env::sync::Mutex;

use crate::compaction_filter::{CompactionFilter, Filter};
use crate::shared::Shared;

/// Makes a filter for each compaction.
pub trait CompactionFilterFactory {
    /// The type of the filters.
    type Filter: CompactionFilter;

    /// Makes the filter of a compaction.
    fn create(&mut self, context: CompactionFilterContext) -> Self::Filter;

    /// Returns the name of the factory.
    fn name(&self) -> &CStr;
}

/// Describes the compaction for which a factory makes a filter.
pub struct CompactionFilterContext {
    /// True if the compaction reads all files of the column family.
    pub is_full_compaction: bool,
    /// True if the application asked for the compaction.
    pub is_manual_compaction: bool,
}

/// Adapts a factory to the trait of `ironstone`. A mutex serializes the calls of concurrent compactions.
pub(crate) struct Factory<F> {
    name: String,
    factory: Mutex<Shared<F>>,
}

impl<F: CompactionFilterFactory> Factory<F> {
    pub(crate) fn new(factory: F) -> Self {
        Factory {
            name: factory.name().to_string_lossy().into_owned(),
            factory: Mutex::new(Shared::new(Box::new(factory))),
        }
    }
}

impl<F: CompactionFilterFactory + 'static> ironstone::CompactionFilterFactory for Factory<F> {
    fn name(&self) -> &str {
        &self.name
    }

    fn create(&self, context: &ironstone::FilterContext) -> Option<Box<dyn ironstone::CompactionFilter>> {
        let context = CompactionFilterContext {
            is_full_compaction: context.is_full_compaction,
            is_manual_compaction: context.is_manual_compaction,
        };
        Some(Box::new(Filter::new(self.factory.lock().create(context))))
    }
}
