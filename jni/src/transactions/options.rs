//! Options of transactions: `TransactionDBOptions`, `TransactionOptions`, `OptimisticTransactionOptions`.
//!
//! Times are in milliseconds.

use ironstone::{OptimisticTransactionOptions, TransactionDbOptions, TransactionOptions, TxnDbWritePolicy};

use crate::comparator::ComparatorObject;
use crate::field::Field;
use crate::handle::Handle;
use crate::native::{disposers, natives, rows};

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
    TransactionDbOptions [TransactionDBOptions] |o| of TransactionDbOptions (*o);
    setMaxNumLocks getMaxNumLocks: i64 => o.max_num_locks;
    setNumStripes getNumStripes: i64 => o.num_stripes;
    setTransactionLockTimeout getTransactionLockTimeout: i64 => o.transaction_lock_timeout;
    setDefaultLockTimeout getDefaultLockTimeout: i64 => o.default_lock_timeout;
    setWritePolicy getWritePolicy: i8 => o.write_policy;
}

rows! {
    TransactionOptions [TransactionOptions] |o| of TransactionOptions (*o);
    setSetSnapshot isSetSnapshot: bool => o.set_snapshot;
    setDeadlockDetect isDeadlockDetect: bool => o.deadlock_detect;
    setLockTimeout getLockTimeout: i64 => o.lock_timeout;
    setExpiration getExpiration: i64 => o.expiration;
    setDeadlockDetectDepth getDeadlockDetectDepth: i64 => o.deadlock_detect_depth;
    setMaxWriteBatchSize getMaxWriteBatchSize: i64 => o.max_write_batch_size;
}

rows! {
    OptimisticTransactionOptions [OptimisticTransactionOptions] |o| of OptimisticTransactionOptions (*o);
    setSetSnapshot isSetSnapshot: bool => o.set_snapshot;
}

disposers! {
    TransactionDBOptions: TransactionDbOptions;
    TransactionOptions: TransactionOptions;
    OptimisticTransactionOptions: OptimisticTransactionOptions;
}

natives! {
    fn TransactionDBOptions_newTransactionDBOptions[_]() -> Handle {
        Handle::new(TransactionDbOptions::default())
    }

    fn TransactionOptions_newTransactionOptions[_]() -> Handle {
        Handle::new(TransactionOptions::default())
    }

    fn OptimisticTransactionOptions_newOptimisticTransactionOptions[_]() -> Handle {
        Handle::new(OptimisticTransactionOptions::default())
    }

    /// Has no effect, but requires valid handles. The batch of a transaction always uses the comparators of its column families.
    fn OptimisticTransactionOptions_setComparator[_](options: Handle, comparator: Handle) {
        drop(options.exclusive::<OptimisticTransactionOptions>()?);
        drop(comparator.shared::<ComparatorObject>()?);
    }
}
