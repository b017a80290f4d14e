//! A family's options turned into what the rooms use: checked once, never looked up by name again.

use base::Order;
use base::key::InternalOrder;
use base::order::PrefixExtractor;
use lsm::filter::{CompactionFilter, CompactionFilterFactory};
use lsm::merge::MergeOperator;
use mem::memtable::MemTableOptions;
use table::options::BlockBasedTableOptions;
use table::sst::BlockCache;

use crate::sync::Arc;

/// The components and derived settings of a family. Replaced as a whole by `set_options`.
#[derive(Clone)]
pub struct Parts {
    pub order: Order,
    pub merge_operator: Option<Arc<dyn MergeOperator>>,
    pub compaction_filter: Option<Arc<dyn CompactionFilter>>,
    pub compaction_filter_factory: Option<Arc<dyn CompactionFilterFactory>>,
    pub prefix_extractor: Option<Arc<dyn PrefixExtractor>>,
    pub table: Arc<BlockBasedTableOptions>,
    /// `None` with `no_block_cache`.
    pub block_cache: Option<Arc<BlockCache>>,
    /// The options pickers read.
    pub pick: lsm::pick::Options,
    /// How its memtables are made.
    pub memtable: MemTableOptions,
    pub optimize_filters_for_hits: bool,
}

impl Parts {
    pub fn internal_order(&self) -> InternalOrder {
        InternalOrder::new(self.order.clone())
    }
}
