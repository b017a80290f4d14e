//! The parts of the engine that an iterator uses.

use crate::family::Family;
use crate::sequence::LastSequence;
use crate::source::TableCache;
use crate::stats::Stats;
use crate::sync::Arc;

/// The parts of the engine that an iterator uses.
#[derive(Clone)]
pub struct IteratorContext {
    pub family: Arc<Family>,
    pub tables: Arc<TableCache>,
    pub sequence: Arc<LastSequence>,
    pub stats: Arc<Stats>,
}
