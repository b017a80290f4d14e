//! The state of a transaction: tracked keys, save points, snapshot and counters, and the control of conflicts.

use base::{Result, SequenceNumber, WalNumber};
use engine::batch::WriteBatch;
use engine::db::snapshot_for_conflicts;
use engine::family::Family as EngineFamily;
use engine::options::WriteOptions;
use engine::sequence::Snapshot as Held;
use env::Clock;
use env::sync::{Arc, Mutex, Weak};

use super::super::indexed::{Core, Indexing, Write};
use super::super::locks::{LockManager, Owner};
use super::super::optimistic::shared::OptimisticShared;
use super::super::options::{LargeCommit, RollbackDeletionType, TxnDbWritePolicy};
use super::super::pessimistic::{Abandoned, Registry};
use super::super::tracker::Tracker;
use super::sections::Sections;
use crate::{Db, Snapshot};

/// Receives a snapshot that a transaction took by itself. RocksDB: `TransactionNotifier`.
///
/// ```
/// # use ironstone::{Options, TransactionDb, TransactionDbOptions};
/// # let db = TransactionDb::open("data", Options::in_memory(), TransactionDbOptions::default())?;
/// use std::sync::{Arc, Mutex};
///
/// use ironstone::{Snapshot, TransactionNotifier};
///
/// #[derive(Default)]
/// struct Newest(Mutex<Option<Snapshot>>);
///
/// impl TransactionNotifier for Newest {
///     fn snapshot_created(&self, snapshot: &Snapshot) {
///         *self.0.lock().unwrap() = Some(snapshot.clone());
///     }
/// }
///
/// let newest = Arc::new(Newest::default());
/// let transaction = db.begin();
/// transaction.set_snapshot_on_next_operation(Some(newest.clone()));
/// transaction.put(b"k", b"1")?;
/// assert!(newest.0.lock().unwrap().is_some());
/// # Ok::<(), ironstone::Error>(())
/// ```
pub trait TransactionNotifier: Send + Sync {
    /// Receives the snapshot that [`crate::Transaction::set_snapshot_on_next_operation`] asked for.
    fn snapshot_created(&self, snapshot: &Snapshot);
}

/// A transaction without its database handle, so that the database can keep recovered transactions.
pub(in crate::txn) struct Shared {
    pub control: Control,
    pub core: Arc<Mutex<Core>>,
    pub body: Mutex<Body>,
    pub clock: Arc<dyn Clock>,
    pub began_us: u64,
}

/// The way in which a transaction detects conflicts.
pub(in crate::txn) enum Control {
    /// By a check at commit.
    Optimistic(Arc<OptimisticShared>),
    /// By locks.
    Pessimistic(Pessimistic),
}

/// The objects of the database that a pessimistic transaction needs.
pub(in crate::txn) struct Pessimistic {
    pub owner: Arc<Owner>,
    pub locks: Arc<LockManager>,
    pub registry: Weak<Registry>,
    pub settings: Settings,
    pub rollback_deletion: Option<RollbackDeletionType>,
}

/// Fixed settings of a pessimistic transaction.
#[derive(Clone, Copy)]
pub(in crate::txn) struct Settings {
    pub skip_prepare: bool,
    pub skip_concurrency_control: bool,
    pub enable_udt_validation: bool,
    pub policy: TxnDbWritePolicy,
    pub rollback_merge_operands: bool,
    /// If set, a transaction whose entries are in the memtables before the commit may have a commit-time batch.
    pub commit_time_for_recovery: bool,
    /// The batch size in bytes above which the batch is written before prepare; 0: never.
    pub flush_threshold: u64,
    /// The sizes from which a commit fills separate memtables.
    pub large_commit: LargeCommit,
}

/// The part of a transaction that its own calls change.
pub(in crate::txn) struct Body {
    pub write_options: WriteOptions,
    pub indexing: Indexing,
    pub tracked: Tracker,
    pub save_points: Vec<SavePoint>,
    pub snapshot: Option<Arc<Held>>,
    pub wish: SnapshotWish,
    pub counts: Counts,
    /// The column families that the transaction has used.
    pub families: Vec<Arc<EngineFamily>>,
    pub commit_time: WriteBatch,
    pub read_timestamp: Option<u64>,
    pub commit_timestamp: Option<u64>,
    pub name: Vec<u8>,
    /// The WAL that holds the prepared section.
    pub prepared_in: Option<WalNumber>,
    /// The bytes of the batch that the prepared section has. Later writes make the batch larger.
    pub prepared_bytes: usize,
    /// The entries that are in the memtables before the commit.
    pub sections: Sections,
    /// The sequence number of the commit; 0 before the commit.
    pub committed_at: SequenceNumber,
    /// Counts the iterators over the transaction: each iterator has a clone.
    pub iterators: Arc<()>,
}

/// Says whether the next operation takes a snapshot.
#[derive(Clone, Default)]
pub(in crate::txn) enum SnapshotWish {
    #[default]
    None,
    NextOperation(Option<Arc<dyn TransactionNotifier>>),
}

/// The numbers of operations by kind.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub(in crate::txn) struct Counts {
    pub puts: u64,
    pub put_entities: u64,
    pub deletes: u64,
    pub merges: u64,
}

impl Counts {
    /// Counts a write.
    pub fn add(&mut self, write: Write<'_>) {
        match write {
            Write::Put(_) => self.puts += 1,
            Write::Entity(_) => self.put_entities += 1,
            Write::Merge(_) => self.merges += 1,
            Write::Delete | Write::SingleDelete => self.deletes += 1,
        }
    }
}

/// The state that a rollback to the save point restores.
pub(in crate::txn) struct SavePoint {
    pub snapshot: Option<Arc<Held>>,
    pub wish: SnapshotWish,
    pub counts: Counts,
    /// The uses of keys since the save point.
    pub new_locks: Tracker,
    /// The number of sections before the save point, if all writes before the save point are in sections. `None`: the
    /// save point is in the batch.
    pub sections: Option<usize>,
}

impl Body {
    /// Makes the state of a new transaction: no snapshot, no tracked keys, no save points, and indexing on.
    pub fn new(write_options: WriteOptions) -> Self {
        Body {
            write_options,
            indexing: Indexing::On,
            tracked: Tracker::default(),
            save_points: Vec::new(),
            snapshot: None,
            wish: SnapshotWish::None,
            counts: Counts::default(),
            families: Vec::new(),
            commit_time: WriteBatch::new(),
            read_timestamp: None,
            commit_timestamp: None,
            name: Vec::new(),
            prepared_in: None,
            prepared_bytes: 0,
            sections: Sections::default(),
            committed_at: SequenceNumber::ZERO,
            iterators: Arc::default(),
        }
    }

    /// Takes a snapshot for the checks of later operations.
    pub fn take_snapshot(&mut self, db: &Db) {
        self.snapshot = Some(snapshot_for_conflicts(db.engine()));
        self.wish = SnapshotWish::None;
    }

    /// Takes the snapshot that [`crate::Transaction::set_snapshot_on_next_operation`] asked for.
    pub fn take_wished_snapshot(&mut self, db: &Db) {
        let SnapshotWish::NextOperation(notifier) = std::mem::take(&mut self.wish) else { return };
        self.take_snapshot(db);
        if let (Some(notifier), Some(held)) = (notifier, &self.snapshot) {
            notifier.snapshot_created(&Snapshot::new(db.clone(), held.clone()));
        }
    }

    /// Records a column family. A commit finds the column family by its number.
    pub fn meet(&mut self, family: &Arc<EngineFamily>) {
        if !self.families.iter().any(|known| known.id() == family.id()) {
            self.families.push(family.clone());
        }
    }
}

impl Shared {
    /// Makes a transaction that starts now, by the time of `clock`. `core` is the write batch of the
    /// transaction.
    pub fn new(control: Control, core: Core, write_options: WriteOptions, clock: Arc<dyn Clock>) -> Self {
        let began_us = clock.now_micros();
        let (core, body) = (Arc::new(Mutex::new(core)), Mutex::new(Body::new(write_options)));
        Shared { control, core, body, clock, began_us }
    }

    /// Returns the locks and settings of a pessimistic transaction. Returns `None` for an optimistic
    /// transaction.
    pub fn pessimistic(&self) -> Option<&Pessimistic> {
        match &self.control {
            Control::Pessimistic(pessimistic) => Some(pessimistic),
            Control::Optimistic(_) => None,
        }
    }

    /// Removes all records, save points and locks.
    pub fn clear(&self, body: &mut Body) {
        if let Control::Pessimistic(pessimistic) = &self.control {
            pessimistic.locks.unlock_all(&pessimistic.owner, &body.tracked);
        }
        self.core.lock().clear();
        body.save_points.clear();
        body.commit_time.clear();
        body.tracked = Tracker::default();
        body.counts = Counts::default();
        body.sections = Sections::default();
    }

    /// Returns to the last save point. Releases the locks that were taken after the save point.
    ///
    /// # Errors
    /// NotFound without a save point.
    pub fn rollback_to_save_point(&self, body: &mut Body) -> Result<()> {
        let Some(save) = body.save_points.pop() else {
            return Err(base::Error::not_found("no save point is set"));
        };
        if save.sections.is_none() {
            self.core.lock().rollback_to_save_point()?;
        }
        let gone = body.tracked.subtract(&save.new_locks);
        body.sections.forget(&gone);
        if let Control::Pessimistic(pessimistic) = &self.control {
            pessimistic.locks.unlock_all(&pessimistic.owner, &gone);
        }
        (body.snapshot, body.wish, body.counts) = (save.snapshot, save.wish, save.counts);
        Ok(())
    }
}

impl Drop for Shared {
    fn drop(&mut self) {
        let Control::Pessimistic(pessimistic) = &self.control else { return };
        let body = self.body.get_mut();
        let undecided = body.sections.abandon(&body.name, &body.write_options, pessimistic.owner.state());
        if let (Some(undecided), Some(registry)) = (undecided, pessimistic.registry.upgrade()) {
            pessimistic.owner.never_expires();
            let (owner, locks) = (pessimistic.owner.clone(), pessimistic.locks.clone());
            let tracked = std::mem::take(&mut body.tracked);
            return registry.keep_abandoned(Abandoned { undecided, owner, locks, tracked });
        }
        pessimistic.locks.unlock_all(&pessimistic.owner, &body.tracked);
        if !body.name.is_empty()
            && let Some(registry) = pessimistic.registry.upgrade()
        {
            registry.unregister(&body.name, pessimistic.owner.id());
        }
    }
}
