//! What a transaction tells of itself.

use base::{Error, Result};
use engine::batch::WriteBatch;
use engine::options::WriteOptions;

use super::super::locks::{TransactionId, TransactionState, WaitingFor};
use super::Transaction;

impl Transaction {
    /// The number of the transaction, unique in this process. 0 for an optimistic transaction. RocksDB: `GetID`.
    pub fn id(&self) -> TransactionId {
        self.shared.pessimistic().map_or(TransactionId(0), |p| p.owner.id())
    }

    /// The state. An optimistic transaction is always [`TransactionState::Started`].
    pub fn state(&self) -> TransactionState {
        self.shared.pessimistic().map_or(TransactionState::Started, |p| p.owner.state())
    }

    /// The number of keys that are locked, or checked at commit.
    pub fn num_keys(&self) -> u64 {
        self.shared.body.lock().tracked.len() as u64
    }

    /// The number of puts since the begin.
    pub fn num_puts(&self) -> u64 {
        self.shared.body.lock().counts.puts
    }

    /// The number of entities written since the begin.
    pub fn num_put_entities(&self) -> u64 {
        self.shared.body.lock().counts.put_entities
    }

    /// The number of deletions since the begin.
    pub fn num_deletes(&self) -> u64 {
        self.shared.body.lock().counts.deletes
    }

    /// The number of merge operands since the begin.
    pub fn num_merges(&self) -> u64 {
        self.shared.body.lock().counts.merges
    }

    /// Milliseconds since the begin.
    pub fn elapsed_ms(&self) -> u64 {
        self.shared.clock.now_micros().saturating_sub(self.shared.began_us) / 1000
    }

    /// A copy of the writes so far.
    pub fn to_batch(&self) -> WriteBatch {
        self.shared.core.lock().batch.clone()
    }

    /// The options with which the transaction commits.
    pub fn write_options(&self) -> WriteOptions {
        self.shared.body.lock().write_options
    }

    /// Changes the options with which the transaction commits.
    pub fn set_write_options(&self, options: WriteOptions) {
        self.shared.body.lock().write_options = options;
    }

    /// Changes how long the transaction waits for a lock, in milliseconds. 0: no wait; negative: no limit. Does nothing in
    /// an optimistic transaction.
    pub fn set_lock_timeout(&self, timeout_ms: i64) {
        if let Some(pessimistic) = self.shared.pessimistic() {
            pessimistic.owner.set_lock_timeout_us(timeout_ms.saturating_mul(1000));
        }
    }

    /// Changes how long the transaction waits before it looks for a deadlock, in milliseconds. It acts with
    /// `use_per_key_point_lock_mgr`.
    pub fn set_deadlock_timeout(&self, timeout_ms: i64) {
        if let Some(pessimistic) = self.shared.pessimistic() {
            pessimistic.owner.set_deadlock_timeout_us(timeout_ms.saturating_mul(1000));
        }
    }

    /// Whether the transaction looks for deadlocks.
    pub fn is_deadlock_detect(&self) -> bool {
        self.shared.pessimistic().is_some_and(|p| p.owner.patience().detect_depth.is_some())
    }

    /// What the transaction waits for, or waited for when its last lock timed out. RocksDB: `GetWaitingTxns`.
    pub fn waiting_for(&self) -> WaitingFor {
        self.shared.pessimistic().map(|p| p.owner.waiting()).unwrap_or_default()
    }

    /// The name; empty until [`Transaction::set_name`].
    pub fn name(&self) -> Vec<u8> {
        self.shared.body.lock().name.clone()
    }

    /// The sequence number of the first record after a commit; 0 before. RocksDB: `GetId`.
    pub fn committed_sequence(&self) -> u64 {
        self.shared.body.lock().committed_at
    }

    /// Sets the timestamp at which reads for update read and check for conflicts.
    ///
    /// # Errors
    /// InvalidArgument if a larger timestamp was set; NotSupported in an optimistic transaction.
    pub fn set_read_timestamp_for_validation(&self, timestamp: u64) -> Result<()> {
        self.check_has_timestamps()?;
        let mut body = self.shared.body.lock();
        if body.read_timestamp.is_some_and(|before| timestamp < before) {
            return Err(Error::invalid_argument("Cannot decrease read timestamp for validation"));
        }
        body.read_timestamp = Some(timestamp).filter(|t| *t != u64::MAX);
        Ok(())
    }

    /// Sets the timestamp that the commit gives to the keys of column families with timestamps.
    ///
    /// # Errors
    /// InvalidArgument if the timestamp is not larger than the read timestamp; NotSupported in an optimistic transaction.
    pub fn set_commit_timestamp(&self, timestamp: u64) -> Result<()> {
        self.check_has_timestamps()?;
        let validates = self.shared.pessimistic().is_some_and(|p| p.settings.enable_udt_validation);
        let mut body = self.shared.body.lock();
        if validates && body.read_timestamp.is_some_and(|read| timestamp <= read) {
            return Err(Error::invalid_argument(
                "Cannot commit at timestamp smaller than or equal to read timestamp",
            ));
        }
        body.commit_timestamp = Some(timestamp).filter(|t| *t != u64::MAX);
        Ok(())
    }

    /// The commit timestamp, if one is set.
    pub fn commit_timestamp(&self) -> Option<u64> {
        self.shared.body.lock().commit_timestamp
    }

    fn check_has_timestamps(&self) -> Result<()> {
        match self.shared.pessimistic() {
            Some(_) => Ok(()),
            None => Err(Error::not_supported("timestamp not supported")),
        }
    }
}
