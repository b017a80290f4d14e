//! The kind of a database, with the object that the kind needs. Not here: what each kind does (`dispatch`).

use std::sync::Arc;

use ironstone::ttl::TtlDb;
use ironstone::{OptimisticTransactionDb, Secondary, TransactionDb};

/// What a database does besides a plain database.
pub enum Kind {
    Plain,
    Ttl(TtlDb),
    Pessimistic(TransactionDb),
    Optimistic(OptimisticTransactionDb),
    Secondary(Arc<Secondary>),
}
