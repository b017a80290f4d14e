//! What an iterator is made from.

use crate::family::Family;
use crate::sequence::LastSequence;
use crate::source::TableCache;
use crate::stats::Stats;
use crate::sync::Arc;

/// What an iterator is made from.
#[derive(Clone)]
pub struct IteratorContext {
    pub family: Arc<Family>,
    pub tables: Arc<TableCache>,
    pub sequence: Arc<LastSequence>,
    pub stats: Arc<Stats>,
}
