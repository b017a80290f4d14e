//! The state that the transactions of one database share.

use env::sync::Arc;

use super::super::options::OccValidationPolicy;
use super::buckets::OccLockBuckets;

/// The state that the transactions of one database share.
pub(in crate::txn) struct OptimisticShared {
    pub policy: OccValidationPolicy,
    pub buckets: Arc<OccLockBuckets>,
}
