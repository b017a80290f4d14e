//! The parts of the engine that an iterator uses.

use std::ops::Deref;

use crate::family::Family;
use crate::options::ReadOptions;
use crate::output::JobTools;
use crate::sequence::LastSequence;
use crate::source::TableCache;
use crate::stats::Stats;
use crate::sync::Arc;

/// The column family of an iterator, and the parts that all iterators of the database use.
#[derive(Clone)]
pub struct IteratorContext {
    pub family: Arc<Family>,
    tools: Arc<IteratorTools>,
}

/// The parts of the engine that the iterators of all column families use. They share one reference count, because each
/// change of a count is a tenth of the creation of an iterator.
pub struct IteratorTools {
    pub tables: Arc<TableCache>,
    pub sequence: Arc<LastSequence>,
    pub stats: Arc<Stats>,
    /// Lends the memory of iterators. `None`: there is no memory budget.
    pub lender: Option<Arc<JobTools>>,
    pub refreshes: Refreshes,
}

/// Whether `Refresh` moves the iterators of a database.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Refreshes {
    Allowed,
    /// The database is open for reading only, and does not follow a writer. RocksDB's rule is in
    /// `DBImplReadOnly::NewIterator`.
    Rejected,
}

impl IteratorTools {
    /// Returns the parts of an open database.
    pub fn new(tables: &Arc<TableCache>, tools: &Arc<JobTools>, refreshes: Refreshes) -> Arc<Self> {
        Arc::new(IteratorTools {
            tables: tables.clone(),
            sequence: tools.sequence.clone(),
            stats: tools.stats.clone(),
            lender: tools.memory_budget.is_some().then(|| tools.clone()),
            refreshes,
        })
    }
}

impl Deref for IteratorContext {
    type Target = IteratorTools;

    #[inline]
    fn deref(&self) -> &IteratorTools {
        &self.tools
    }
}

impl IteratorContext {
    /// Returns the context of iterators over one column family.
    #[inline]
    pub fn new(family: &Arc<Family>, tools: &Arc<IteratorTools>) -> Self {
        IteratorContext { family: family.clone(), tools: tools.clone() }
    }

    /// Records a seek while a trace runs. A move to an end of the data is a seek to the bound there, as in RocksDB; without a
    /// bound, the move is not recorded.
    #[inline]
    pub(super) fn trace_seek(&self, options: &ReadOptions, target: Target<'_>) {
        if self.stats.trace.is_on() {
            self.record_seek(options, target);
        }
    }

    #[cold]
    fn record_seek(&self, options: &ReadOptions, target: Target<'_>) {
        let bounds = [options.iterate_lower_bound.as_deref(), options.iterate_upper_bound.as_deref()];
        let (key, is_for_prev) = match target {
            Target::Key(key) => (Some(key), false),
            Target::KeyOrBefore(key) => (Some(key), true),
            Target::First => (bounds[0], false),
            Target::Last => (bounds[1], true),
        };
        if let Some(key) = key {
            self.stats.trace.seek(self.family.id(), key, bounds, is_for_prev);
        }
    }
}

/// The target of a positioning call.
#[derive(Clone, Copy)]
pub(super) enum Target<'a> {
    Key(&'a [u8]),
    KeyOrBefore(&'a [u8]),
    First,
    Last,
}
