//! The options of databases with transactions, and of transactions. Times are in milliseconds.

/// Options of a transaction of a [`crate::TransactionDB`].
#[derive(Default)]
pub struct TransactionOptions {
    pub(crate) inner: ironstone::TransactionOptions,
}

impl TransactionOptions {
    /// Returns the default options.
    pub fn new() -> TransactionOptions {
        TransactionOptions::default()
    }

    /// Sets whether a named transaction may commit without `prepare`.
    pub fn set_skip_prepare(&mut self, skip_prepare: bool) {
        self.inner.skip_prepare = skip_prepare;
    }

    /// Sets whether the transaction takes a snapshot at its begin.
    pub fn set_snapshot(&mut self, snapshot: bool) {
        self.inner.set_snapshot = snapshot;
    }

    /// Sets whether a wait for a lock looks for deadlocks.
    pub fn set_deadlock_detect(&mut self, deadlock_detect: bool) {
        self.inner.deadlock_detect = deadlock_detect;
    }

    /// Sets how long the transaction waits for a lock, in milliseconds. Negative: the timeout of the database options.
    pub fn set_lock_timeout(&mut self, lock_timeout: i64) {
        self.inner.lock_timeout = lock_timeout;
    }

    /// Sets how long the transaction may hold its locks, in milliseconds. Negative: without limit.
    pub fn set_expiration(&mut self, expiration: i64) {
        self.inner.expiration = expiration;
    }

    /// Sets the maximum number of waiting transactions that the search for a deadlock follows.
    pub fn set_deadlock_detect_depth(&mut self, depth: i64) {
        self.inner.deadlock_detect_depth = depth;
    }

    /// Sets the maximum size of the write batch in bytes. 0: no limit.
    pub fn set_max_write_batch_size(&mut self, size: usize) {
        self.inner.max_write_batch_size = size;
    }
}

/// Options of a [`crate::TransactionDB`].
#[derive(Default)]
pub struct TransactionDBOptions {
    pub(crate) inner: ironstone::TransactionDbOptions,
}

impl TransactionDBOptions {
    /// Returns the default options.
    pub fn new() -> TransactionDBOptions {
        TransactionDBOptions::default()
    }

    /// Sets how long a write outside of transactions waits for a lock, in milliseconds. Negative: without limit.
    pub fn set_default_lock_timeout(&mut self, default_lock_timeout: i64) {
        self.inner.default_lock_timeout = default_lock_timeout;
    }

    /// Sets how long a transaction waits for a lock, in milliseconds. Negative: without limit.
    pub fn set_txn_lock_timeout(&mut self, txn_lock_timeout: i64) {
        self.inner.transaction_lock_timeout = txn_lock_timeout;
    }

    /// Sets the maximum number of locked keys of a column family. Negative: no limit.
    pub fn set_max_num_locks(&mut self, max_num_locks: i64) {
        self.inner.max_num_locks = max_num_locks;
    }

    /// Sets the number of stripes of the lock table of a column family. Each stripe has its own mutex.
    pub fn set_num_stripes(&mut self, num_stripes: usize) {
        self.inner.num_stripes = num_stripes;
    }
}

/// Options of a transaction of an [`crate::OptimisticTransactionDB`].
#[derive(Default)]
pub struct OptimisticTransactionOptions {
    pub(crate) inner: ironstone::OptimisticTransactionOptions,
}

impl OptimisticTransactionOptions {
    /// Returns the default options.
    pub fn new() -> OptimisticTransactionOptions {
        OptimisticTransactionOptions::default()
    }

    /// Sets whether the transaction takes a snapshot at its begin.
    pub fn set_snapshot(&mut self, snapshot: bool) {
        self.inner.set_snapshot = snapshot;
    }
}
