//! The end of a transaction: prepare, commit and rollback.
//!
//! ```text
//!  Started ── prepare ──► Prepared ── commit ──► Committed
//!     │ commit (skip_prepare)  └── rollback ──► RolledBack
//!     └────────► Committed          Started ── rollback ──► Started, empty
//! ```
//! A commit or rollback that fails leaves a prepared transaction prepared.
//! Facts: RocksDB `pessimistic_transaction.cc`, `optimistic_transaction.cc`.

use base::{Error, Result};
use engine::batch::WriteBatch;
use engine::db::PreparedName;
use env::sync::Arc;

use super::super::locks::TransactionState;
use super::super::options::TxnDbWritePolicy;
use super::super::pessimistic::TimestampedSnapshot;
use super::Transaction;
use super::body::TransactionNotifier;
use super::commit::{Commit, check_not_expired, expired, unregister, wrong_state};
use super::unprepared::LargeBatch;

impl Transaction {
    /// Names the transaction. A name is needed for [`Transaction::prepare`] and is unique among the live transactions.
    ///
    /// ```
    /// # use ironstone::{Options, TransactionDb, TransactionDbOptions};
    /// # let db = TransactionDb::open("data", Options::in_memory(), TransactionDbOptions::default())?;
    /// let transaction = db.begin();
    /// transaction.set_name(b"transfer-1")?;
    /// assert!(db.begin().set_name(b"transfer-1").is_err()); // taken
    /// # Ok::<(), ironstone::Error>(())
    /// ```
    ///
    /// # Errors
    /// InvalidArgument for a name that is taken or is not 1 to 512 bytes long. InvalidArgument also if the transaction
    /// has a name, has left the state `Started`, or is optimistic.
    pub fn set_name(&self, name: &[u8]) -> Result<()> {
        let (Some(pessimistic), Some(registry)) = (self.shared.pessimistic(), &self.registry) else {
            return Err(Error::invalid_argument("Optimistic transactions cannot be named."));
        };
        let mut body = self.shared.body.lock();
        let problem = match pessimistic.owner.state() {
            TransactionState::Started if !body.name.is_empty() => "Transaction has already been named.",
            TransactionState::Started if name.is_empty() || name.len() > 512 => {
                "Transaction name length must be between 1 and 512 chars."
            }
            TransactionState::Started => {
                registry.register(name, pessimistic.owner.id(), &self.shared)?;
                body.name = name.to_vec();
                return Ok(());
            }
            _ => "Transaction is beyond state for naming.",
        };
        Err(Error::invalid_argument(problem))
    }

    /// Writes the transaction to the WAL as a prepared transaction. A prepared transaction survives a crash: after the next
    /// open, [`crate::TransactionDb::all_prepared_transactions`] returns it. Whether it survives a power failure depends on
    /// [`engine::options::WriteOptions::sync`]. A prepared transaction does not expire.
    ///
    /// ```
    /// # use ironstone::{Options, TransactionDb, TransactionDbOptions};
    /// # let db = TransactionDb::open("data", Options::in_memory(), TransactionDbOptions::default())?;
    /// let transaction = db.begin();
    /// transaction.set_name(b"transfer-1")?;
    /// transaction.put(b"k", b"1")?;
    /// transaction.prepare()?;
    /// assert_eq!(db.all_prepared_transactions().len(), 1);
    /// transaction.commit()?;
    /// # Ok::<(), ironstone::Error>(())
    /// ```
    ///
    /// # Errors
    /// InvalidArgument without a name, after prepare, commit or rollback, and in an optimistic transaction; Expired;
    /// errors of the WAL.
    pub fn prepare(&self) -> Result<()> {
        use TransactionState::*;
        let Some(pessimistic) = self.shared.pessimistic() else {
            return Err(Error::invalid_argument(
                "Two phase commit not supported for optimistic transactions.",
            ));
        };
        let mut body = self.shared.body.lock();
        let owner = &pessimistic.owner;
        if body.name.is_empty() {
            return Err(Error::invalid_argument("Cannot prepare a transaction that has not been named."));
        }
        check_not_expired(&self.shared, pessimistic)?;
        if !owner.change_state(Started, AwaitingPrepare) {
            return Err(match owner.state() {
                LocksStolen => expired(),
                Prepared => Error::invalid_argument("Transaction has already been prepared."),
                state => wrong_state(state),
            });
        }
        let written = match pessimistic.settings.policy {
            TxnDbWritePolicy::WriteCommitted => {
                let core = self.shared.core.lock();
                let wal =
                    self.db.engine().for_transactions().prepare(&core.batch, &body.name, &body.write_options);
                wal.map(|wal| (body.prepared_in, body.prepared_bytes) = (Some(wal), core.batch.data_size()))
            }
            _ => LargeBatch::new(&self.db, &self.shared, pessimistic).write_last_section(&mut body),
        };
        match written {
            Ok(()) => {
                owner.never_expires();
                owner.set_state(Prepared);
                Ok(())
            }
            Err(error) => {
                owner.set_state(Started);
                Err(error)
            }
        }
    }

    /// Writes all changes to the database as a whole, and ends the transaction.
    ///
    /// ```
    /// # use ironstone::{Options, TransactionDb, TransactionDbOptions};
    /// # let db = TransactionDb::open("data", Options::in_memory(), TransactionDbOptions::default())?;
    /// let transaction = db.begin();
    /// transaction.put(b"k", b"1")?;
    /// transaction.commit()?;
    /// assert!(transaction.commit().is_err()); // the transaction has ended
    /// # Ok::<(), ironstone::Error>(())
    /// ```
    ///
    /// # Errors
    /// Busy if an optimistic transaction has a conflict; TryAgain if its conflicts cannot be checked, because the history
    /// of flushed memtables is too short. InvalidArgument if the transaction is not in a state for commit (with the
    /// subcode `TxnNotPrepared` if it must be prepared), or has no commit timestamp and needs one; Expired. As
    /// [`crate::Db::write`]. After an error, an optimistic or prepared transaction is unchanged, and a pessimistic
    /// transaction that is not prepared is rolled back. With `WriteUnprepared`, a transaction that has written a part
    /// of its batch stays as it is, or is prepared.
    pub fn commit(&self) -> Result<()> {
        let mut body = self.shared.body.lock();
        Commit { transaction: self, body: &mut body }.run()
    }

    /// Ends a prepared transaction without its changes, or removes all writes of a transaction that is not prepared. The
    /// locks are released.
    ///
    /// ```
    /// # use ironstone::{Options, TransactionDb, TransactionDbOptions};
    /// # let db = TransactionDb::open("data", Options::in_memory(), TransactionDbOptions::default())?;
    /// let transaction = db.begin();
    /// transaction.put(b"k", b"1")?;
    /// transaction.rollback()?;
    /// assert_eq!(db.get(b"k")?, None);
    /// # Ok::<(), ironstone::Error>(())
    /// ```
    ///
    /// # Errors
    /// InvalidArgument after a commit. Errors of the WAL; a prepared transaction then stays prepared. With
    /// `WriteUnprepared` also errors of reading the old values; the transaction is then unchanged.
    pub fn rollback(&self) -> Result<()> {
        use TransactionState::*;
        let mut body = self.shared.body.lock();
        let Some(pessimistic) = self.shared.pessimistic() else {
            self.shared.clear(&mut body);
            return Ok(());
        };
        let owner = &pessimistic.owner;
        match owner.state() {
            Prepared => {}
            Started => {
                if !body.sections.own().is_empty() {
                    body.sections.roll_back(&self.db, &body.name, &body.write_options)?;
                    owner.let_locks_expire();
                }
                self.shared.clear(&mut body);
                return Ok(());
            }
            Committed => {
                return Err(Error::invalid_argument("This transaction has already been committed."));
            }
            _ => {
                return Err(Error::invalid_argument("Two phase transaction is not in state for rollback."));
            }
        }
        owner.set_state(AwaitingRollback);
        let rolled_back = match pessimistic.settings.policy {
            TxnDbWritePolicy::WriteCommitted => {
                let prepared = PreparedName { name: &body.name, wal: body.prepared_in.unwrap_or_default() };
                self.db.engine().for_transactions().rollback_prepared(prepared, &body.write_options)
            }
            _ => body.sections.roll_back(&self.db, &body.name, &body.write_options),
        };
        if let Err(error) = rolled_back {
            owner.set_state(Prepared);
            return Err(error);
        }
        body.prepared_in = None;
        unregister(self, &body, pessimistic);
        self.shared.clear(&mut body);
        owner.set_state(RolledBack);
        Ok(())
    }

    /// Changes the commit-time batch: writes that a prepared transaction adds at commit, without locks. They are in the WAL
    /// with the commit record. RocksDB: `GetCommitTimeWriteBatch`.
    ///
    /// ```
    /// # use ironstone::{Options, TransactionDb, TransactionDbOptions};
    /// # let db = TransactionDb::open("data", Options::in_memory(), TransactionDbOptions::default())?;
    /// let transaction = db.begin();
    /// transaction.set_name(b"transfer-1")?;
    /// transaction.prepare()?;
    /// transaction.with_commit_time_batch(|batch| {
    ///     batch.put(b"committed", b"transfer-1");
    /// });
    /// # Ok::<(), ironstone::Error>(())
    /// ```
    pub fn with_commit_time_batch<T>(&self, change: impl FnOnce(&mut WriteBatch) -> T) -> T {
        change(&mut self.shared.body.lock().commit_time)
    }

    /// Commits, and takes a snapshot of exactly this commit, with `timestamp` or the commit timestamp that is set.
    ///
    /// ```
    /// # use ironstone::{Options, TransactionDb, TransactionDbOptions};
    /// # let db = TransactionDb::open("data", Options::in_memory(), TransactionDbOptions::default())?;
    /// let transaction = db.begin();
    /// transaction.set_name(b"transfer-1")?;
    /// transaction.put(b"k", b"1")?;
    /// transaction.prepare()?;
    /// let snapshot = transaction.commit_and_try_create_snapshot(None, Some(7))?.unwrap();
    /// db.put(b"k", b"2")?;
    /// assert_eq!((snapshot.timestamp(), snapshot.get(b"k")?.as_deref()), (7, Some(&b"1"[..])));
    /// # Ok::<(), ironstone::Error>(())
    /// ```
    ///
    /// # Errors
    /// The errors of [`Transaction::commit`]; InvalidArgument without a timestamp, or if both timestamps are given
    /// and differ.
    pub fn commit_and_try_create_snapshot(
        &self,
        notifier: Option<Arc<dyn TransactionNotifier>>,
        timestamp: Option<u64>,
    ) -> Result<Option<TimestampedSnapshot>> {
        match (self.commit_timestamp(), timestamp) {
            (None, None) => return Err(Error::invalid_argument("Commit timestamp unset")),
            (None, Some(timestamp)) => self.set_commit_timestamp(timestamp)?,
            (Some(set), Some(given)) if set != given => {
                return Err(Error::invalid_argument("Different commit ts specified"));
            }
            (Some(_), _) => {}
        }
        let timestamp = self.commit_timestamp().unwrap_or_default();
        self.set_snapshot_on_next_operation(notifier);
        self.commit()?;
        Ok(self.registry.as_ref().and_then(|registry| registry.snapshots.get(timestamp, &self.db)))
    }
}
