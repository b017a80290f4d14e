//! What is not data among the options: code and shared resources, handed in beside the settings.

use base::Order;
use base::order::PrefixExtractor;
use lsm::filter::{CompactionFilter, CompactionFilterFactory};
use lsm::merge::MergeOperator;
use mem::write_buffer::WriteBufferManager;

use crate::event::Listener;
use crate::sync::Arc;

/// Components of a database. Cheap to clone; each may be shared by several databases.
#[derive(Clone)]
pub struct DbComponents {
    pub env: env::Env,
    /// Where LOG lines go; `None` makes a file logger in the database's directory.
    pub info_log: Option<Arc<dyn env::Logger>>,
    pub rate_limiter: Option<Arc<env::rate::RateLimiter>>,
    /// `None` makes one from `db_write_buffer_size`.
    pub write_buffer_manager: Option<Arc<WriteBufferManager>>,
    pub listeners: Vec<Arc<dyn Listener>>,
}

impl Default for DbComponents {
    fn default() -> Self {
        DbComponents {
            env: env::Env::default(),
            info_log: None,
            rate_limiter: None,
            write_buffer_manager: None,
            listeners: Vec::new(),
        }
    }
}

/// Components of a column family.
#[derive(Clone, Default)]
pub struct FamilyComponents {
    /// The order of user keys; checked against the database's files at open.
    pub comparator: Order,
    pub merge_operator: Option<Arc<dyn MergeOperator>>,
    /// One filter for all compactions; a factory takes its place where both are given.
    pub compaction_filter: Option<Arc<dyn CompactionFilter>>,
    pub compaction_filter_factory: Option<Arc<dyn CompactionFilterFactory>>,
    pub prefix_extractor: Option<Arc<dyn PrefixExtractor>>,
}
