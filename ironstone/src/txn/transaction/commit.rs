//! The commit of a transaction, by its control of conflicts and its write policy.
//!
//! ```text
//!  Optimistic                                check all keys, then write the batch
//!  Pessimistic, not prepared, no sections    write the batch
//!  Pessimistic, prepared, WriteCommitted     write a commit record; write the batch too if it grew after the
//!                                            prepare, or if it is above the limit of a large commit
//!  Pessimistic, the other policies           the entries are in the memtables: make the sections visible
//! ```
//! Not here: the prepare and the rollback of a transaction (`finish`).

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
use super::unprepared::LargeBatch;

/// A commit that runs: the transaction, and its state under the lock.
pub(super) struct Commit<'a> {
    pub transaction: &'a Transaction,
    pub body: &'a mut Body,
}

impl<'a> Commit<'a> {
    /// Writes all changes to the database, and ends the transaction.
    ///
    /// # Errors
    /// The errors of [`Transaction::commit`].
    pub fn run(&mut self) -> Result<()> {
        match &self.transaction.shared.control {
            Control::Optimistic(shared) => self.optimistic(shared),
            Control::Pessimistic(pessimistic) => self.pessimistic(pessimistic),
        }
    }

    fn optimistic(&mut self, shared: &OptimisticShared) -> Result<()> {
        let engine = self.transaction.db.engine();
        let options = self.body.write_options;
        let written = match shared.policy {
            OccValidationPolicy::ValidateSerial => {
                let hook = CheckAll { transaction: self.transaction, body: self.body };
                engine.for_transactions().write_with_hook(
                    &mut self.transaction.shared.core.lock().batch,
                    &options,
                    &hook,
                )
            }
            OccValidationPolicy::ValidateParallel => {
                let seed = kernel::hash::hash64(engine.session_id().as_bytes());
                let _buckets = shared.buckets.lock(&self.body.tracked, seed);
                check_all(engine.reads(), &self.body.tracked, self.body)
                    .and_then(|()| engine.write(&mut self.transaction.shared.core.lock().batch, &options))
            }
        };
        written?;
        self.body.committed_at = self.transaction.shared.core.lock().batch.sequence();
        self.transaction.shared.clear(self.body);
        Ok(())
    }

    fn pessimistic(&mut self, pessimistic: &Pessimistic) -> Result<()> {
        use TransactionState::*;
        check_not_expired(&self.transaction.shared, pessimistic)?;
        let owner = &pessimistic.owner;
        if owner.change_state(Prepared, AwaitingCommit) {
            return self.after_prepare(pessimistic);
        }
        if owner.state() == Started && !pessimistic.settings.skip_prepare {
            let error = Error::invalid_argument("the transaction must be prepared: skip_prepare is false");
            return Err(error.with_subcode(Subcode::TxnNotPrepared));
        }
        if self.body.commit_time.count() > 0 && owner.state() == Started {
            return Err(Error::invalid_argument(
                "Commit-time batch contains values that will not be committed.",
            ));
        }
        if !owner.change_state(Started, AwaitingCommit) {
            return Err(if owner.state() == LocksStolen { expired() } else { wrong_state(owner.state()) });
        }
        if !self.body.sections.own().is_empty() {
            return self.sections(pessimistic);
        }
        let written = self.write_without_prepare();
        unregister(self.transaction, self.body, pessimistic);
        self.transaction.shared.clear(self.body);
        owner.set_state(if written.is_ok() { Committed } else { RolledBack });
        self.body.committed_at = written?;
        Ok(())
    }

    fn after_prepare(&mut self, pessimistic: &Pessimistic) -> Result<()> {
        let written = match pessimistic.settings.policy {
            TxnDbWritePolicy::WriteCommitted => self.write_prepared(),
            _ if self.body.commit_time.count() > 0 && !pessimistic.settings.commit_time_for_recovery => {
                Err(Error::invalid_argument(
                    "Commit-time-batch can only be used if use_only_the_last_commit_time_batch_for_recovery is true",
                ))
            }
            _ => self.body.sections.commit(
                &self.transaction.db,
                &self.body.name,
                &self.body.commit_time,
                &self.body.write_options,
            ),
        };
        match written {
            Ok(seq) => self.body.committed_at = seq,
            Err(error) => {
                pessimistic.owner.set_state(TransactionState::Prepared);
                return Err(error);
            }
        }
        self.body.prepared_in = None;
        unregister(self.transaction, self.body, pessimistic);
        self.transaction.shared.clear(self.body);
        pessimistic.owner.set_state(TransactionState::Committed);
        Ok(())
    }

    /// Commits a transaction that has sections and is not prepared. Prepares the transaction first, as RocksDB does.
    fn sections(&mut self, pessimistic: &Pessimistic) -> Result<()> {
        if let Err(error) = LargeBatch::new(&self.transaction.db, &self.transaction.shared, pessimistic)
            .write_last_section(self.body)
        {
            pessimistic.owner.set_state(TransactionState::Started);
            return Err(error);
        }
        pessimistic.owner.never_expires();
        self.after_prepare(pessimistic)
    }

    fn write_without_prepare(&mut self) -> Result<SequenceNumber> {
        let mut batch = self.transaction.shared.core.lock().batch.clone();
        self.stamp(&mut batch)?;
        let policy = self.transaction.shared.pessimistic().map(|p| p.settings.policy).unwrap_or_default();
        let stamped = match policy {
            TxnDbWritePolicy::WriteCommitted => self.timestamped_snapshot()?,
            _ => None,
        };
        let options = self.body.write_options;
        self.transaction.db.engine().for_transactions().write_unguarded(
            &mut batch,
            &options,
            stamped.as_ref().map(Created::hook),
        )?;
        self.adopt(stamped);
        Ok(batch.sequence())
    }

    fn write_prepared(&mut self) -> Result<SequenceNumber> {
        let Some(wal) = self.body.prepared_in else {
            return Err(Error::invalid_argument("the transaction has no prepared section"));
        };
        let mut batch = self.transaction.shared.core.lock().batch.clone();
        let timestamp = self.stamp(&mut batch)?;
        let stamped = self.timestamped_snapshot()?;
        if let Some(statistics) = self.transaction.db.engine().stats().statistics() {
            statistics.measure(HistogramKind::NumOpPerTransaction, u64::from(batch.count()));
        }
        let prepared = PreparedName { name: &self.body.name, wal };
        let hook = stamped.as_ref().map(Created::hook);
        if batch.data_size() > self.body.prepared_bytes {
            let engine = self.transaction.db.engine();
            let seq = prepared.commit_grown(
                engine,
                &self.body.commit_time,
                &batch,
                &self.body.write_options,
                hook,
            )?;
            self.adopt(stamped);
            return Ok(seq);
        }
        let timestamp = timestamp.as_ref().map(|ts| &ts[..]);
        let engine = self.transaction.db.engine();
        // RocksDB's batch is one byte larger: it starts with a placeholder.
        let bytes = batch.data_size() as u64 + 1;
        let large =
            self.transaction.shared.pessimistic().map(|p| p.settings.large_commit).unwrap_or_default();
        if timestamp.is_none() && large.takes(batch.count(), bytes) {
            let options = &self.body.write_options;
            let large = LargeBatches::new(engine);
            let filled = large.commit_prepared(prepared, &self.body.commit_time, &batch, options, hook)?;
            if let Some(seq) = filled {
                self.adopt(stamped);
                return Ok(seq);
            }
        }
        let hook = stamped.as_ref().map(Created::hook);
        let seq = engine.for_transactions().commit_prepared(
            prepared,
            &self.body.commit_time,
            &batch,
            timestamp,
            &self.body.write_options,
            hook,
        )?;
        self.adopt(stamped);
        Ok(seq)
    }

    /// Sets the commit timestamp in the keys of column families with timestamps. Returns the timestamp, if there are
    /// such keys.
    fn stamp(&self, batch: &mut WriteBatch) -> Result<Option<[u8; 8]>> {
        let families = self.transaction.db.families();
        let size = |id| {
            let family = families.iter().find(|family| family.id() == id);
            family.map_or(0, |family| family.inner().order().user.timestamp_size())
        };
        let needs = families.iter().any(|family| size(family.id()) > 0)
            && batch.iter().flatten().filter_map(|record| record.family()).any(|id| size(id) > 0);
        if !needs {
            return Ok(None);
        }
        let Some(timestamp) = self.body.commit_timestamp else {
            return Err(Error::invalid_argument("Must assign a commit timestamp"));
        };
        let timestamp = timestamp.to_le_bytes();
        batch.stamp(&timestamp, size)?;
        Ok(Some(timestamp))
    }

    /// Prepares the snapshot that the commit takes before its writes are visible, if the application asked for a
    /// snapshot.
    fn timestamped_snapshot(&self) -> Result<Option<Created<'a>>> {
        let SnapshotWish::NextOperation(notifier) = &self.body.wish else { return Ok(None) };
        let Some(timestamp) = self.body.commit_timestamp else {
            return Err(Error::invalid_argument("Must set transaction commit timestamp"));
        };
        let (notifier, held) = (notifier.clone(), Mutex::new(None));
        let transaction = self.transaction;
        let take = move |seq: SequenceNumber| {
            let Some(registry) = &transaction.registry else { return Ok(None) };
            // If the snapshot cannot be taken, the commit still succeeds.
            Ok(registry.snapshots.create(&transaction.db, timestamp, Some(seq)).ok())
        };
        let run: RunHook<'_> = Box::new(take);
        Ok(Some(Created::new(run, held, notifier)))
    }

    /// Stores in the transaction the snapshot that the commit took.
    fn adopt(&mut self, created: Option<Created<'_>>) {
        let Some((held, notifier)) = created.and_then(Created::into_taken) else { return };
        self.body.wish = SnapshotWish::None;
        if let Some(notifier) = notifier {
            notifier.snapshot_created(&held);
        }
        self.body.snapshot = Some(held.held());
    }
}

/// Removes the name of a transaction that has ended from the names of the database.
pub(super) fn unregister(transaction: &Transaction, body: &Body, pessimistic: &Pessimistic) {
    if let (Some(registry), false) = (&transaction.registry, body.name.is_empty()) {
        registry.unregister(&body.name, pessimistic.owner.id());
    }
}

pub(super) fn check_not_expired(shared: &Shared, pessimistic: &Pessimistic) -> Result<()> {
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
pub(super) fn expired() -> Error {
    Error::new(Kind::Expired, "the transaction has expired")
}

#[cold]
pub(super) fn wrong_state(state: TransactionState) -> Error {
    Error::invalid_argument(match state {
        TransactionState::Committed => "Transaction has already been committed.",
        TransactionState::RolledBack => "Transaction has already been rolledback.",
        _ => "Transaction is not in state for commit.",
    })
}
