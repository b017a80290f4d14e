//! The end of a transaction: prepare, commit and rollback.
//!
//! ```text
//!  Started ── prepare ──► Prepared ── commit ──► Committed
//!     │ commit (skip_prepare)  └── rollback ──► RolledBack
//!     └────────► Committed          Started ── rollback ──► Started, empty
//! ```
//! A commit or rollback that fails leaves a prepared transaction prepared.
//! Facts: RocksDB `pessimistic_transaction.cc`, `optimistic_transaction.cc`.

use base::key::SequenceNumber;
use base::stats::HistogramKind;
use base::{Error, Kind, Result, Subcode};
use engine::batch::WriteBatch;
use engine::db::{BeforeVisible, LargeBatches, PreparedName};
use engine::write::WriteHook;
use env::sync::{Arc, Mutex};

use super::super::locks::TransactionState;
use super::super::optimistic::shared::OptimisticShared;
use super::super::options::{OccValidationPolicy, TxnDbWritePolicy};
use super::super::pessimistic::TimestampedSnapshot;
use super::Transaction;
use super::body::{Body, Control, Pessimistic, Shared, SnapshotWish, TransactionNotifier};
use super::track::check_all;

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
            _ => self.write_last_section(&mut body, pessimistic),
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
        match &self.shared.control {
            Control::Optimistic(shared) => self.commit_optimistic(&mut body, shared),
            Control::Pessimistic(pessimistic) => self.commit_pessimistic(&mut body, pessimistic),
        }
    }

    fn commit_optimistic(&self, body: &mut Body, shared: &OptimisticShared) -> Result<()> {
        let engine = self.db.engine();
        let options = body.write_options;
        let written = match shared.policy {
            OccValidationPolicy::ValidateSerial => {
                let hook = CheckAll { transaction: self, body };
                engine.for_transactions().write_with_hook(&mut self.shared.core.lock().batch, &options, &hook)
            }
            OccValidationPolicy::ValidateParallel => {
                let seed = kernel::hash::hash64(engine.session_id().as_bytes());
                let _buckets = shared.buckets.lock(&body.tracked, seed);
                check_all(engine.reads(), &body.tracked, body)
                    .and_then(|()| engine.write(&mut self.shared.core.lock().batch, &options))
            }
        };
        written?;
        body.committed_at = self.shared.core.lock().batch.sequence();
        self.shared.clear(body);
        Ok(())
    }

    fn commit_pessimistic(&self, body: &mut Body, pessimistic: &Pessimistic) -> Result<()> {
        use TransactionState::*;
        check_not_expired(&self.shared, pessimistic)?;
        let owner = &pessimistic.owner;
        if owner.change_state(Prepared, AwaitingCommit) {
            return self.commit_after_prepare(body, pessimistic);
        }
        if owner.state() == Started && !pessimistic.settings.skip_prepare {
            let error = Error::invalid_argument("the transaction must be prepared: skip_prepare is false");
            return Err(error.with_subcode(Subcode::TxnNotPrepared));
        }
        if body.commit_time.count() > 0 && owner.state() == Started {
            return Err(Error::invalid_argument(
                "Commit-time batch contains values that will not be committed.",
            ));
        }
        if !owner.change_state(Started, AwaitingCommit) {
            return Err(if owner.state() == LocksStolen { expired() } else { wrong_state(owner.state()) });
        }
        if !body.sections.own().is_empty() {
            return self.commit_sections(body, pessimistic);
        }
        let written = self.write_without_prepare(body);
        self.unregister(body, pessimistic);
        self.shared.clear(body);
        owner.set_state(if written.is_ok() { Committed } else { RolledBack });
        body.committed_at = written?;
        Ok(())
    }

    fn commit_after_prepare(&self, body: &mut Body, pessimistic: &Pessimistic) -> Result<()> {
        let written = match pessimistic.settings.policy {
            TxnDbWritePolicy::WriteCommitted => self.write_prepared(body),
            _ if body.commit_time.count() > 0 && !pessimistic.settings.commit_time_for_recovery => {
                Err(Error::invalid_argument(
                    "Commit-time-batch can only be used if use_only_the_last_commit_time_batch_for_recovery is true",
                ))
            }
            _ => body.sections.commit(&self.db, &body.name, &body.commit_time, &body.write_options),
        };
        match written {
            Ok(seq) => body.committed_at = seq,
            Err(error) => {
                pessimistic.owner.set_state(TransactionState::Prepared);
                return Err(error);
            }
        }
        body.prepared_in = None;
        self.unregister(body, pessimistic);
        self.shared.clear(body);
        pessimistic.owner.set_state(TransactionState::Committed);
        Ok(())
    }

    /// Commits a transaction that has sections and is not prepared. Prepares the transaction first, as RocksDB does.
    fn commit_sections(&self, body: &mut Body, pessimistic: &Pessimistic) -> Result<()> {
        if let Err(error) = self.write_last_section(body, pessimistic) {
            pessimistic.owner.set_state(TransactionState::Started);
            return Err(error);
        }
        pessimistic.owner.never_expires();
        self.commit_after_prepare(body, pessimistic)
    }

    fn write_without_prepare(&self, body: &mut Body) -> Result<SequenceNumber> {
        let mut batch = self.shared.core.lock().batch.clone();
        self.stamp(body, &mut batch)?;
        let policy = self.shared.pessimistic().map(|p| p.settings.policy).unwrap_or_default();
        let stamped = match policy {
            TxnDbWritePolicy::WriteCommitted => self.timestamped_snapshot(body)?,
            _ => None,
        };
        let options = body.write_options;
        self.db.engine().for_transactions().write_unguarded(
            &mut batch,
            &options,
            stamped.as_ref().map(Created::hook),
        )?;
        self.adopt(body, stamped);
        Ok(batch.sequence())
    }

    fn write_prepared(&self, body: &mut Body) -> Result<SequenceNumber> {
        let Some(wal) = body.prepared_in else {
            return Err(Error::invalid_argument("the transaction has no prepared section"));
        };
        let mut batch = self.shared.core.lock().batch.clone();
        let timestamp = self.stamp(body, &mut batch)?;
        let stamped = self.timestamped_snapshot(body)?;
        if let Some(statistics) = self.db.engine().stats().statistics() {
            statistics.measure(HistogramKind::NumOpPerTransaction, u64::from(batch.count()));
        }
        let prepared = PreparedName { name: &body.name, wal };
        let hook = stamped.as_ref().map(Created::hook);
        if batch.data_size() > body.prepared_bytes {
            let engine = self.db.engine();
            let seq = prepared.commit_grown(engine, &body.commit_time, &batch, &body.write_options, hook)?;
            self.adopt(body, stamped);
            return Ok(seq);
        }
        let timestamp = timestamp.as_ref().map(|ts| &ts[..]);
        let engine = self.db.engine();
        // RocksDB's batch is one byte larger: it starts with a placeholder.
        let bytes = batch.data_size() as u64 + 1;
        let large = self.shared.pessimistic().map(|p| p.settings.large_commit).unwrap_or_default();
        if timestamp.is_none() && large.takes(batch.count(), bytes) {
            let options = &body.write_options;
            let large = LargeBatches::new(engine);
            let filled = large.commit_prepared(prepared, &body.commit_time, &batch, options, hook)?;
            if let Some(seq) = filled {
                self.adopt(body, stamped);
                return Ok(seq);
            }
        }
        let hook = stamped.as_ref().map(Created::hook);
        let seq = engine.for_transactions().commit_prepared(
            prepared,
            &body.commit_time,
            &batch,
            timestamp,
            &body.write_options,
            hook,
        )?;
        self.adopt(body, stamped);
        Ok(seq)
    }

    /// Sets the commit timestamp in the keys of column families with timestamps. Returns the timestamp, if there are
    /// such keys.
    fn stamp(&self, body: &Body, batch: &mut WriteBatch) -> Result<Option<[u8; 8]>> {
        let families = self.db.families();
        let size = |id| {
            let family = families.iter().find(|family| family.id() == id);
            family.map_or(0, |family| family.inner().order().user.timestamp_size())
        };
        let needs = families.iter().any(|family| size(family.id()) > 0)
            && batch.iter().flatten().filter_map(|record| record.family()).any(|id| size(id) > 0);
        if !needs {
            return Ok(None);
        }
        let Some(timestamp) = body.commit_timestamp else {
            return Err(Error::invalid_argument("Must assign a commit timestamp"));
        };
        let timestamp = timestamp.to_le_bytes();
        batch.stamp(&timestamp, size)?;
        Ok(Some(timestamp))
    }

    fn unregister(&self, body: &Body, pessimistic: &Pessimistic) {
        if let (Some(registry), false) = (&self.registry, body.name.is_empty()) {
            registry.unregister(&body.name, pessimistic.owner.id());
        }
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
        self.unregister(&body, pessimistic);
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

    /// Prepares the snapshot that the commit takes before its writes are visible, if the application asked for a
    /// snapshot.
    fn timestamped_snapshot(&self, body: &Body) -> Result<Option<Created<'_>>> {
        let SnapshotWish::NextOperation(notifier) = &body.wish else { return Ok(None) };
        let Some(timestamp) = body.commit_timestamp else {
            return Err(Error::invalid_argument("Must set transaction commit timestamp"));
        };
        let (notifier, held) = (notifier.clone(), Mutex::new(None));
        let take = move |seq: SequenceNumber| {
            let Some(registry) = &self.registry else { return Ok(None) };
            // If the snapshot cannot be taken, the commit still succeeds.
            Ok(registry.snapshots.create(&self.db, timestamp, Some(seq)).ok())
        };
        let run: RunHook<'_> = Box::new(take);
        Ok(Some(Created::new(run, held, notifier)))
    }

    /// Stores the snapshot that the commit took in the transaction.
    fn adopt(&self, body: &mut Body, created: Option<Created<'_>>) {
        let Some((held, notifier)) = created.and_then(Created::into_taken) else { return };
        body.wish = SnapshotWish::None;
        if let Some(notifier) = notifier {
            notifier.snapshot_created(&held);
        }
        body.snapshot = Some(held.held());
    }
}

fn check_not_expired(shared: &Shared, pessimistic: &Pessimistic) -> Result<()> {
    if pessimistic.owner.is_expired(shared.clock.now_micros()) { Err(expired()) } else { Ok(()) }
}

type RunHook<'a> = Box<dyn Fn(SequenceNumber) -> Result<Option<TimestampedSnapshot>> + Send + Sync + 'a>;

/// A snapshot that a commit takes.
struct Created<'a> {
    hook: Box<dyn Fn(SequenceNumber) -> Result<()> + Send + Sync + 'a>,
    taken: Arc<Mutex<Option<TimestampedSnapshot>>>,
    notifier: Option<Arc<dyn TransactionNotifier>>,
}

impl<'a> Created<'a> {
    fn new(
        run: RunHook<'a>,
        slot: Mutex<Option<TimestampedSnapshot>>,
        notifier: Option<Arc<dyn TransactionNotifier>>,
    ) -> Self {
        let taken = Arc::new(slot);
        let filled = taken.clone();
        let hook = Box::new(move |seq| {
            *filled.lock() = run(seq)?;
            Ok(())
        });
        Created { hook, taken, notifier }
    }

    fn hook(&self) -> BeforeVisible<'_> {
        &*self.hook
    }

    fn into_taken(self) -> Option<(TimestampedSnapshot, Option<Arc<dyn TransactionNotifier>>)> {
        let taken = self.taken.lock().take()?;
        Some((taken, self.notifier))
    }
}

/// The check of an optimistic transaction in the write path.
struct CheckAll<'a> {
    transaction: &'a Transaction,
    body: &'a Body,
}

impl WriteHook for CheckAll<'_> {
    fn check(&self, _last_seq: SequenceNumber) -> Result<()> {
        check_all(self.transaction.db.engine().reads(), &self.body.tracked, self.body)
    }
}

#[cold]
fn expired() -> Error {
    Error::new(Kind::Expired, "the transaction has expired")
}

#[cold]
fn wrong_state(state: TransactionState) -> Error {
    Error::invalid_argument(match state {
        TransactionState::Committed => "Transaction has already been committed.",
        TransactionState::RolledBack => "Transaction has already been rolledback.",
        _ => "Transaction is not in state for commit.",
    })
}
