//! Options of transactions: `TransactionDBOptions`, `TransactionOptions`, `OptimisticTransactionOptions`.
//!
//! Times are in milliseconds.

use ironstone::TxnDbWritePolicy;

use crate::comparator::ComparatorObject;
use crate::field::Field;
use crate::handle::Handle;
use crate::native::{disposers, natives, rows};

/// `TransactionDBOptions`.
#[derive(Clone, Default)]
pub struct DatabaseSettings(pub ironstone::TransactionDbOptions);

/// `TransactionOptions`.
#[derive(Clone, Default)]
pub struct Settings(pub ironstone::TransactionOptions);

/// `OptimisticTransactionOptions`.
#[derive(Clone, Default)]
pub struct OptimisticSettings(pub ironstone::OptimisticTransactionOptions);

impl Field<i8> for TxnDbWritePolicy {
    fn load(&self) -> i8 {
        match self {
            TxnDbWritePolicy::WriteCommitted => 0,
            TxnDbWritePolicy::WritePrepared => 1,
            TxnDbWritePolicy::WriteUnprepared => 2,
        }
    }

    fn store(&mut self, value: i8) -> bool {
        *self = match value {
            0 => TxnDbWritePolicy::WriteCommitted,
            1 => TxnDbWritePolicy::WritePrepared,
            2 => TxnDbWritePolicy::WriteUnprepared,
            _ => return false,
        };
        true
    }
}

rows! {
    DatabaseSettings [TransactionDBOptions] |o|;
    setMaxNumLocks getMaxNumLocks: i64 => o.0.max_num_locks;
    setNumStripes getNumStripes: i64 => o.0.num_stripes;
    setTransactionLockTimeout getTransactionLockTimeout: i64 => o.0.transaction_lock_timeout;
    setDefaultLockTimeout getDefaultLockTimeout: i64 => o.0.default_lock_timeout;
    setWritePolicy getWritePolicy: i8 => o.0.write_policy;
}

rows! {
    Settings [TransactionOptions] |o|;
    setSetSnapshot isSetSnapshot: bool => o.0.set_snapshot;
    setDeadlockDetect isDeadlockDetect: bool => o.0.deadlock_detect;
    setLockTimeout getLockTimeout: i64 => o.0.lock_timeout;
    setExpiration getExpiration: i64 => o.0.expiration;
    setDeadlockDetectDepth getDeadlockDetectDepth: i64 => o.0.deadlock_detect_depth;
    setMaxWriteBatchSize getMaxWriteBatchSize: i64 => o.0.max_write_batch_size;
}

rows! {
    OptimisticSettings [OptimisticTransactionOptions] |o|;
    setSetSnapshot isSetSnapshot: bool => o.0.set_snapshot;
}

disposers! {
    TransactionDBOptions: DatabaseSettings;
    TransactionOptions: Settings;
    OptimisticTransactionOptions: OptimisticSettings;
}

natives! {
    fn TransactionDBOptions_newTransactionDBOptions[_]() -> Handle {
        Handle::new(DatabaseSettings::default())
    }

    fn TransactionOptions_newTransactionOptions[_]() -> Handle {
        Handle::new(Settings::default())
    }

    fn OptimisticTransactionOptions_newOptimisticTransactionOptions[_]() -> Handle {
        Handle::new(OptimisticSettings::default())
    }

    /// Has no effect, but requires valid handles. The batch of a transaction always uses the comparators of its column families.
    fn OptimisticTransactionOptions_setComparator[_](options: Handle, comparator: Handle) {
        drop(options.exclusive::<OptimisticSettings>()?);
        drop(comparator.shared::<ComparatorObject>()?);
    }
}
