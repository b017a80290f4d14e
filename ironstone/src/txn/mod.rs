//! Transactions, and the indexed write batch that transactions use.
//!
//! ```text
//!  indexed       WriteBatchWithIndex: a batch that can be read and iterated
//!  tracker       the keys that a transaction uses        locks        who has which key; deadlocks
//!  transaction   Transaction: writes, reads, save points, prepare, commit
//!  optimistic    OptimisticTransactionDb                 pessimistic  TransactionDb
//! ```
//! Not here: the WAL and recovery of prepared transactions (`engine::prepared`), which this module reaches by write hooks.

mod indexed;
mod locks;
mod optimistic;
mod options;
mod pessimistic;
mod tracker;
mod transaction;

pub use indexed::{BaseDeltaIter, RecordIter, WriteBatchWithIndex, WriteBatchWithIndexOptions, WriteType};
pub use locks::{
    DeadlockInfo, DeadlockPath, KeyLockInfo, LockMode, TransactionId, TransactionState, WaitingFor,
};
pub use optimistic::{OccLockBuckets, OptimisticTransactionDb};
pub use options::{
    OccValidationPolicy, OptimisticTransactionDbOptions, OptimisticTransactionOptions, RollbackDeletionType,
    TransactionDbOptions, TransactionDbWriteOptimizations, TransactionOptions, TxnDbWritePolicy,
};
pub use pessimistic::{TimestampedSnapshot, TransactionDb};
pub use transaction::{TrackedWrite, Transaction, TransactionNotifier, Validation};
