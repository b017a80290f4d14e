//! The kind of a database, with the object that the kind needs. Not here: the behaviour of each kind (`dispatch`).

use std::sync::Arc;

use ironstone::ttl::TtlDb;
use ironstone::{OptimisticTransactionDb, Secondary, TransactionDb};

/// The kind of a database: plain, with a time to live, with transactions, or a secondary instance.
pub enum Kind {
    Plain,
    Ttl(TtlDb),
    Pessimistic(TransactionDb),
    Optimistic(OptimisticTransactionDb),
    Secondary(Arc<Secondary>),
}
