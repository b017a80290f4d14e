//! Information about a transaction, and its settings.

use base::{Error, Result, SequenceNumber};
use engine::batch::WriteBatch;
use engine::options::WriteOptions;

use super::super::indexed::WriteBatchWithIndex;
use super::super::locks::{TransactionId, TransactionState, WaitingFor};
use super::super::options::TxnDbWritePolicy;
use super::Transaction;
use super::body::Shared;

impl Transaction {
    /// Returns the number of the transaction, unique in this process. 0 for an optimistic transaction. RocksDB:
    /// `GetID`.
    ///
    /// ```
    /// # use ironstone::{Options, TransactionDb, TransactionDbOptions};
    /// # let db = TransactionDb::open("data", Options::in_memory(), TransactionDbOptions::default())?;
    /// let transaction = db.begin();
    /// assert_ne!(transaction.id(), db.begin().id());
    /// # Ok::<(), ironstone::Error>(())
    /// ```
    pub fn id(&self) -> TransactionId {
        self.shared.pessimistic().map_or(TransactionId::ZERO, |p| p.owner.id())
    }

    /// Returns the state. An optimistic transaction is always [`TransactionState::Started`].
    ///
    /// ```
    /// # use ironstone::{Options, TransactionDb, TransactionDbOptions};
    /// # let db = TransactionDb::open("data", Options::in_memory(), TransactionDbOptions::default())?;
    /// # use ironstone::TransactionState;
    /// let transaction = db.begin();
    /// assert_eq!(transaction.state(), TransactionState::Started);
    /// transaction.commit()?;
    /// assert_eq!(transaction.state(), TransactionState::Committed);
    /// # Ok::<(), ironstone::Error>(())
    /// ```
    pub fn state(&self) -> TransactionState {
        self.shared.pessimistic().map_or(TransactionState::Started, |p| p.owner.state())
    }

    /// Returns the number of keys that are locked, or checked at commit.
    ///
    /// ```
    /// # use ironstone::{Options, TransactionDb, TransactionDbOptions};
    /// # let db = TransactionDb::open("data", Options::in_memory(), TransactionDbOptions::default())?;
    /// let transaction = db.begin();
    /// transaction.put(b"a", b"1")?;
    /// transaction.put(b"a", b"2")?;
    /// assert_eq!(transaction.num_keys(), 1);
    /// # Ok::<(), ironstone::Error>(())
    /// ```
    pub fn num_keys(&self) -> u64 {
        self.shared.body.lock().tracked.len() as u64
    }

    /// Returns the number of puts since the begin.
    ///
    /// ```
    /// # use ironstone::{Options, TransactionDb, TransactionDbOptions};
    /// # let db = TransactionDb::open("data", Options::in_memory(), TransactionDbOptions::default())?;
    /// let transaction = db.begin();
    /// transaction.put(b"a", b"1")?;
    /// transaction.put(b"a", b"2")?;
    /// assert_eq!(transaction.num_puts(), 2);
    /// # Ok::<(), ironstone::Error>(())
    /// ```
    pub fn num_puts(&self) -> u64 {
        self.shared.body.lock().counts.puts
    }

    /// Returns the number of entities written since the begin.
    ///
    /// ```
    /// # use ironstone::{Options, TransactionDb, TransactionDbOptions};
    /// # let db = TransactionDb::open("data", Options::in_memory(), TransactionDbOptions::default())?;
    /// # let family = db.default_family();
    /// let transaction = db.begin();
    /// transaction.put_entity_in(&family, b"k", &[(b"color", b"red")])?;
    /// assert_eq!(transaction.num_put_entities(), 1);
    /// # Ok::<(), ironstone::Error>(())
    /// ```
    pub fn num_put_entities(&self) -> u64 {
        self.shared.body.lock().counts.put_entities
    }

    /// Returns the number of deletions since the begin.
    ///
    /// ```
    /// # use ironstone::{Options, TransactionDb, TransactionDbOptions};
    /// # let db = TransactionDb::open("data", Options::in_memory(), TransactionDbOptions::default())?;
    /// let transaction = db.begin();
    /// transaction.delete(b"k")?;
    /// assert_eq!(transaction.num_deletes(), 1);
    /// # Ok::<(), ironstone::Error>(())
    /// ```
    pub fn num_deletes(&self) -> u64 {
        self.shared.body.lock().counts.deletes
    }

    /// Returns the number of merge operands since the begin.
    ///
    /// ```
    /// # use ironstone::{Options, TransactionDb, TransactionDbOptions};
    /// # let mut options = Options::in_memory();
    /// # options.update("merge_operator=stringappend")?;
    /// # let db = TransactionDb::open("data", options, TransactionDbOptions::default())?;
    /// let transaction = db.begin();
    /// transaction.merge(b"k", b"1")?;
    /// assert_eq!(transaction.num_merges(), 1);
    /// # Ok::<(), ironstone::Error>(())
    /// ```
    pub fn num_merges(&self) -> u64 {
        self.shared.body.lock().counts.merges
    }

    /// Returns the milliseconds since the begin.
    ///
    /// ```
    /// # use ironstone::{Options, TransactionDb, TransactionDbOptions};
    /// # let db = TransactionDb::open("data", Options::in_memory(), TransactionDbOptions::default())?;
    /// let transaction = db.begin();
    /// assert!(transaction.elapsed_ms() < 60_000);
    /// # Ok::<(), ironstone::Error>(())
    /// ```
    pub fn elapsed_ms(&self) -> u64 {
        self.shared.clock.now_micros().saturating_sub(self.shared.began_us) / 1000
    }

    /// Returns a copy of the writes so far.
    ///
    /// ```
    /// # use ironstone::{Options, TransactionDb, TransactionDbOptions};
    /// # let db = TransactionDb::open("data", Options::in_memory(), TransactionDbOptions::default())?;
    /// let transaction = db.begin();
    /// transaction.put(b"k", b"1")?;
    /// assert_eq!(transaction.to_batch().count(), 1);
    /// # Ok::<(), ironstone::Error>(())
    /// ```
    pub fn to_batch(&self) -> WriteBatch {
        self.shared.core.lock().batch.clone()
    }

    /// Returns the write batch of the transaction. A change of the batch changes the transaction, without locks and without
    /// checks. RocksDB: `GetWriteBatch`.
    ///
    /// ```
    /// # use ironstone::{Options, TransactionDb, TransactionDbOptions};
    /// # let db = TransactionDb::open("data", Options::in_memory(), TransactionDbOptions::default())?;
    /// let transaction = db.begin();
    /// transaction.put(b"k", b"1")?;
    /// assert_eq!(transaction.indexed_batch().count(), 1);
    /// # Ok::<(), ironstone::Error>(())
    /// ```
    pub fn indexed_batch(&self) -> WriteBatchWithIndex {
        WriteBatchWithIndex::of_core(self.shared.core.clone())
    }

    /// Returns the number of the WAL that holds the prepared section; 0 before prepare. RocksDB: `GetLogNumber`.
    ///
    /// ```
    /// # use ironstone::{Options, TransactionDb, TransactionDbOptions};
    /// # let db = TransactionDb::open("data", Options::in_memory(), TransactionDbOptions::default())?;
    /// let transaction = db.begin();
    /// assert_eq!(transaction.wal_number(), 0);
    /// transaction.set_name(b"transfer-1")?;
    /// transaction.put(b"k", b"1")?;
    /// transaction.prepare()?;
    /// assert_ne!(transaction.wal_number(), 0);
    /// # transaction.rollback()?;
    /// # Ok::<(), ironstone::Error>(())
    /// ```
    pub fn wal_number(&self) -> u64 {
        let body = self.shared.body.lock();
        body.prepared_in.or(body.sections.wal()).map_or(0, |number| number.get())
    }

    /// Returns the options with which the transaction commits.
    ///
    /// ```
    /// # use ironstone::{Options, TransactionDb, TransactionDbOptions};
    /// # let db = TransactionDb::open("data", Options::in_memory(), TransactionDbOptions::default())?;
    /// let transaction = db.begin();
    /// assert!(!transaction.write_options().sync);
    /// # Ok::<(), ironstone::Error>(())
    /// ```
    pub fn write_options(&self) -> WriteOptions {
        self.shared.body.lock().write_options
    }

    /// Changes the options with which the transaction commits.
    ///
    /// ```
    /// # use ironstone::{Options, TransactionDb, TransactionDbOptions};
    /// # let db = TransactionDb::open("data", Options::in_memory(), TransactionDbOptions::default())?;
    /// use ironstone::WriteOptions;
    ///
    /// let transaction = db.begin();
    /// transaction.set_write_options(WriteOptions { sync: true, ..WriteOptions::default() });
    /// assert!(transaction.write_options().sync);
    /// # Ok::<(), ironstone::Error>(())
    /// ```
    pub fn set_write_options(&self, options: WriteOptions) {
        self.shared.body.lock().write_options = options;
    }

    /// Changes the time that the transaction waits for a lock, in milliseconds. 0: no wait; negative: no limit. Does
    /// nothing in an optimistic transaction.
    ///
    /// ```
    /// # use ironstone::{Options, TransactionDb, TransactionDbOptions};
    /// # let db = TransactionDb::open("data", Options::in_memory(), TransactionDbOptions::default())?;
    /// use ironstone::{Kind, Subcode};
    ///
    /// let (first, second) = (db.begin(), db.begin());
    /// first.put(b"k", b"1")?;
    /// second.set_lock_timeout(0);
    /// let error = second.put(b"k", b"2").unwrap_err();
    /// assert_eq!((error.kind(), error.subcode()), (Kind::TimedOut, Subcode::LockTimeout));
    /// # Ok::<(), ironstone::Error>(())
    /// ```
    pub fn set_lock_timeout(&self, timeout_ms: i64) {
        if let Some(pessimistic) = self.shared.pessimistic() {
            pessimistic.owner.set_lock_timeout_us(timeout_ms.saturating_mul(1000));
        }
    }

    /// Changes the time that the transaction waits for a lock before it searches for a deadlock, in milliseconds.
    /// Acts with `use_per_key_point_lock_mgr`.
    ///
    /// ```
    /// # use ironstone::{Options, TransactionDb, TransactionDbOptions};
    /// # let db = TransactionDb::open("data", Options::in_memory(), TransactionDbOptions::default())?;
    /// let transaction = db.begin();
    /// transaction.set_deadlock_timeout(50);
    /// # Ok::<(), ironstone::Error>(())
    /// ```
    pub fn set_deadlock_timeout(&self, timeout_ms: i64) {
        if let Some(pessimistic) = self.shared.pessimistic() {
            pessimistic.owner.set_deadlock_timeout_us(timeout_ms.saturating_mul(1000));
        }
    }

    /// Returns true if the transaction searches for deadlocks.
    ///
    /// ```
    /// # use ironstone::{Options, TransactionDb, TransactionDbOptions};
    /// # let db = TransactionDb::open("data", Options::in_memory(), TransactionDbOptions::default())?;
    /// use ironstone::{TransactionOptions, WriteOptions};
    ///
    /// let options = TransactionOptions { deadlock_detect: true, ..TransactionOptions::default() };
    /// let transaction = db.begin_with(&WriteOptions::default(), &options)?;
    /// assert!(transaction.is_deadlock_detect());
    /// # Ok::<(), ironstone::Error>(())
    /// ```
    pub fn is_deadlock_detect(&self) -> bool {
        self.shared.pessimistic().is_some_and(|p| p.owner.patience().detect_depth.is_some())
    }

    /// Returns the lock for which the transaction waits, or for which it waited when its last wait timed out.
    /// RocksDB: `GetWaitingTxns`.
    ///
    /// ```
    /// # use ironstone::{Options, TransactionDb, TransactionDbOptions};
    /// # let db = TransactionDb::open("data", Options::in_memory(), TransactionDbOptions::default())?;
    /// let transaction = db.begin();
    /// assert!(transaction.waiting_for().transactions.is_empty());
    /// # Ok::<(), ironstone::Error>(())
    /// ```
    pub fn waiting_for(&self) -> WaitingFor {
        self.shared.pessimistic().map(|p| p.owner.waiting()).unwrap_or_default()
    }

    /// Returns the name; empty before [`Transaction::set_name`].
    ///
    /// ```
    /// # use ironstone::{Options, TransactionDb, TransactionDbOptions};
    /// # let db = TransactionDb::open("data", Options::in_memory(), TransactionDbOptions::default())?;
    /// let transaction = db.begin();
    /// transaction.set_name(b"transfer-1")?;
    /// assert_eq!(transaction.name(), b"transfer-1");
    /// # Ok::<(), ironstone::Error>(())
    /// ```
    pub fn name(&self) -> Vec<u8> {
        self.shared.body.lock().name.clone()
    }

    /// Returns the sequence number of the first record after a commit; 0 before the commit. RocksDB: `GetId`.
    ///
    /// ```
    /// # use ironstone::{Options, TransactionDb, TransactionDbOptions};
    /// # let db = TransactionDb::open("data", Options::in_memory(), TransactionDbOptions::default())?;
    /// let transaction = db.begin();
    /// transaction.put(b"k", b"1")?;
    /// assert!(transaction.committed_sequence().is_zero());
    /// transaction.commit()?;
    /// assert!(!transaction.committed_sequence().is_zero());
    /// # Ok::<(), ironstone::Error>(())
    /// ```
    pub fn committed_sequence(&self) -> SequenceNumber {
        self.shared.body.lock().committed_at
    }

    /// Sets the timestamp at which reads for update read and check for conflicts.
    ///
    /// ```
    /// # use ironstone::{Options, TransactionDb, TransactionDbOptions};
    /// # let db = TransactionDb::open("data", Options::in_memory(), TransactionDbOptions::default())?;
    /// let transaction = db.begin();
    /// transaction.set_read_timestamp_for_validation(7)?;
    /// assert!(transaction.set_read_timestamp_for_validation(6).is_err());
    /// # Ok::<(), ironstone::Error>(())
    /// ```
    ///
    /// # Errors
    /// InvalidArgument if a larger timestamp was set; NotSupported in an optimistic transaction.
    pub fn set_read_timestamp_for_validation(&self, timestamp: u64) -> Result<()> {
        check_has_timestamps(&self.shared)?;
        let mut body = self.shared.body.lock();
        if body.read_timestamp.is_some_and(|before| timestamp < before) {
            return Err(Error::invalid_argument("Cannot decrease read timestamp for validation"));
        }
        body.read_timestamp = Some(timestamp).filter(|t| *t != u64::MAX);
        Ok(())
    }

    /// Sets the timestamp that the commit stores in the keys of column families with timestamps.
    ///
    /// ```
    /// # use ironstone::{Options, TransactionDb, TransactionDbOptions};
    /// # let db = TransactionDb::open("data", Options::in_memory(), TransactionDbOptions::default())?;
    /// let transaction = db.begin();
    /// transaction.set_commit_timestamp(8)?;
    /// assert_eq!(transaction.commit_timestamp(), Some(8));
    /// # Ok::<(), ironstone::Error>(())
    /// ```
    ///
    /// # Errors
    /// InvalidArgument if the timestamp is not larger than the read timestamp; NotSupported in an optimistic transaction.
    pub fn set_commit_timestamp(&self, timestamp: u64) -> Result<()> {
        check_has_timestamps(&self.shared)?;
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

    /// Returns the commit timestamp, if one is set.
    ///
    /// ```
    /// # use ironstone::{Options, TransactionDb, TransactionDbOptions};
    /// # let db = TransactionDb::open("data", Options::in_memory(), TransactionDbOptions::default())?;
    /// assert_eq!(db.begin().commit_timestamp(), None);
    /// # Ok::<(), ironstone::Error>(())
    /// ```
    pub fn commit_timestamp(&self) -> Option<u64> {
        self.shared.body.lock().commit_timestamp
    }
}

fn check_has_timestamps(shared: &Shared) -> Result<()> {
    match shared.pessimistic() {
        Some(p) if p.settings.policy == TxnDbWritePolicy::WriteCommitted => Ok(()),
        _ => Err(Error::not_supported("timestamp not supported")),
    }
}
