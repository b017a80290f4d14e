//! The named transactions of a database, and its timestamped snapshots.

use std::collections::BTreeMap;
use std::ops::Deref;

use base::{Error, Result, SequenceNumber};
use engine::sequence::Snapshot as Held;
use env::sync::{Arc, AtomicBool, Mutex, Ordering, Weak};

use super::super::locks::{LockManager, Owner, TransactionId, TransactionState};
use super::super::tracker::Tracker;
use super::super::transaction::{Shared, UndecidedSections};
use crate::{Db, Snapshot};

/// The named transactions and the timestamped snapshots of a database.
#[derive(Default)]
pub(in crate::txn) struct Registry {
    names: Mutex<BTreeMap<Vec<u8>, Named>>,
    /// The dropped transactions whose rollback failed, oldest first.
    abandoned: Mutex<Vec<Abandoned>>,
    /// True if `abandoned` has transactions.
    has_abandoned: AtomicBool,
    pub snapshots: TimestampedSnapshots,
}

/// A named transaction. The registry owns a recovered transaction until the transaction is committed or rolled back.
/// Handles own all other transactions.
struct Named {
    id: TransactionId,
    weak: Weak<Shared>,
    _recovered: Option<Arc<Shared>>,
}

/// A dropped transaction whose rollback failed. Its name stays registered and its keys stay locked until a rollback succeeds. If the
/// database is closed before, the next open rolls the transaction back.
pub(in crate::txn) struct Abandoned {
    pub undecided: UndecidedSections,
    pub owner: Arc<Owner>,
    pub locks: Arc<LockManager>,
    pub tracked: Tracker,
}

impl Registry {
    /// Keeps a dropped transaction whose rollback failed, for [`Registry::roll_back_abandoned`].
    pub fn keep_abandoned(&self, abandoned: Abandoned) {
        self.abandoned.lock().push(abandoned);
        self.has_abandoned.store(true, Ordering::Release);
    }

    /// Rolls back the dropped transactions whose rollback failed, and releases their locks. A transaction whose rollback fails again
    /// is kept. Costs one load if there is none.
    #[inline]
    pub fn roll_back_abandoned(&self) {
        if self.has_abandoned.load(Ordering::Acquire) {
            self.try_abandoned();
        }
    }

    #[cold]
    fn try_abandoned(&self) {
        let mut kept = std::mem::take(&mut *self.abandoned.lock());
        kept.retain(|abandoned| {
            let rolled_back = abandoned.undecided.roll_back().is_ok();
            if rolled_back {
                abandoned.locks.unlock_all(&abandoned.owner, &abandoned.tracked);
                self.unregister(abandoned.undecided.name(), abandoned.owner.id());
            }
            !rolled_back
        });
        let mut list = self.abandoned.lock();
        list.append(&mut kept);
        self.has_abandoned.store(!list.is_empty(), Ordering::Release);
    }

    /// Registers the name of a transaction. The registry does not keep the transaction alive.
    ///
    /// # Errors
    /// InvalidArgument if the name is taken.
    pub fn register(&self, name: &[u8], id: TransactionId, shared: &Arc<Shared>) -> Result<()> {
        self.add(name, Named { id, weak: Arc::downgrade(shared), _recovered: None })
    }

    /// Registers the name of a prepared transaction that recovery found. The registry keeps the transaction alive.
    pub fn register_recovered(&self, name: &[u8], id: TransactionId, shared: Arc<Shared>) -> Result<()> {
        self.add(name, Named { id, weak: Arc::downgrade(&shared), _recovered: Some(shared) })
    }

    fn add(&self, name: &[u8], named: Named) -> Result<()> {
        let mut names = self.names.lock();
        if names.contains_key(name) {
            let name = String::from_utf8_lossy(name);
            return Err(Error::invalid_argument(format!("Duplicate txn name {name}")));
        }
        names.insert(name.to_vec(), named);
        Ok(())
    }

    /// Removes a name, if the transaction `id` has it.
    pub fn unregister(&self, name: &[u8], id: TransactionId) {
        let mut names = self.names.lock();
        let removed =
            if names.get(name).is_some_and(|named| named.id == id) { names.remove(name) } else { None };
        drop(names);
        // This drop may end the transaction, which locks `names` to remove its name. So the lock is released first.
        drop(removed);
    }

    /// Returns the transaction with this name. Returns `None` if no live transaction has the name.
    pub fn get(&self, name: &[u8]) -> Option<Arc<Shared>> {
        self.names.lock().get(name)?.weak.upgrade()
    }

    /// Returns all prepared transactions, by name.
    pub fn prepared(&self) -> Vec<Arc<Shared>> {
        let live: Vec<_> = self.names.lock().values().filter_map(|named| named.weak.upgrade()).collect();
        let prepared = |shared: &Arc<Shared>| {
            shared.pessimistic().is_some_and(|p| p.owner.state() == TransactionState::Prepared)
        };
        live.into_iter().filter(prepared).collect()
    }
}

/// A snapshot with a timestamp of the application.
///
/// ```
/// # use ironstone::{Options, TransactionDb, TransactionDbOptions};
/// # let db = TransactionDb::open("data", Options::in_memory(), TransactionDbOptions::default())?;
/// db.put(b"k", b"1")?;
/// db.create_timestamped_snapshot(7)?;
/// db.put(b"k", b"2")?;
/// let snapshot = db.timestamped_snapshot(7).unwrap();
/// assert_eq!(snapshot.get(b"k")?.as_deref(), Some(&b"1"[..]));
/// # Ok::<(), ironstone::Error>(())
/// ```
#[derive(Clone, Debug)]
pub struct TimestampedSnapshot {
    timestamp: u64,
    snapshot: Snapshot,
}

impl TimestampedSnapshot {
    /// Returns the timestamp.
    ///
    /// ```
    /// # use ironstone::{Options, TransactionDb, TransactionDbOptions};
    /// # let db = TransactionDb::open("data", Options::in_memory(), TransactionDbOptions::default())?;
    /// assert_eq!(db.create_timestamped_snapshot(7)?.timestamp(), 7);
    /// # Ok::<(), ironstone::Error>(())
    /// ```
    pub fn timestamp(&self) -> u64 {
        self.timestamp
    }
}

impl Deref for TimestampedSnapshot {
    type Target = Snapshot;

    fn deref(&self) -> &Snapshot {
        &self.snapshot
    }
}

/// The snapshots of a database by timestamp. A larger timestamp has a larger or equal sequence number.
#[derive(Default)]
pub(in crate::txn) struct TimestampedSnapshots {
    by_timestamp: Mutex<BTreeMap<u64, Arc<Held>>>,
}

impl TimestampedSnapshots {
    /// Takes a snapshot at `seq`, the sequence number that a commit will publish. `None`: takes a snapshot at the
    /// visible sequence number.
    ///
    /// # Errors
    /// InvalidArgument if a snapshot has a larger timestamp, or the same timestamp and an older sequence number.
    pub fn create(
        &self,
        db: &Db,
        timestamp: u64,
        seq: Option<SequenceNumber>,
    ) -> Result<TimestampedSnapshot> {
        let mut snapshots = self.by_timestamp.lock();
        let seq = seq.unwrap_or_else(|| db.latest_sequence());
        if let Some((latest, held)) = snapshots.last_key_value() {
            if *latest > timestamp {
                return Err(Error::invalid_argument(format!(
                    "snapshot exists with larger timestamp {latest} > {timestamp}"
                )));
            }
            if *latest == timestamp && held.sequence() < seq {
                return Err(Error::invalid_argument(format!(
                    "Allocated seq is {seq}, while snapshot exists with smaller seq {} but same timestamp {timestamp}",
                    held.sequence()
                )));
            }
            if *latest == timestamp {
                return Ok(named(db, timestamp, held));
            }
        }
        let held = db.engine().for_transactions().snapshot_at(seq);
        snapshots.insert(timestamp, held.clone());
        Ok(named(db, timestamp, &held))
    }

    /// Returns the snapshot with exactly this timestamp, if there is one.
    pub fn get(&self, timestamp: u64, db: &Db) -> Option<TimestampedSnapshot> {
        self.by_timestamp.lock().get(&timestamp).map(|held| named(db, timestamp, held))
    }

    /// Returns the snapshot with the largest timestamp. Returns `None` if there is no snapshot.
    pub fn latest(&self, db: &Db) -> Option<TimestampedSnapshot> {
        let snapshots = self.by_timestamp.lock();
        snapshots.last_key_value().map(|(timestamp, held)| named(db, *timestamp, held))
    }

    /// Returns the snapshots with `from <= timestamp < to`.
    pub fn range(&self, from: u64, to: u64, db: &Db) -> Vec<TimestampedSnapshot> {
        let snapshots = self.by_timestamp.lock();
        snapshots.range(from..to).map(|(timestamp, held)| named(db, *timestamp, held)).collect()
    }

    /// Releases the snapshots with a timestamp below `timestamp`. Snapshots that a handle still uses stay
    /// until the handle is dropped.
    pub fn release_older_than(&self, timestamp: u64) {
        let mut snapshots = self.by_timestamp.lock();
        let kept = snapshots.split_off(&timestamp);
        let released = std::mem::replace(&mut *snapshots, kept);
        drop(snapshots);
        drop(released);
    }
}

fn named(db: &Db, timestamp: u64, held: &Arc<Held>) -> TimestampedSnapshot {
    TimestampedSnapshot { timestamp, snapshot: Snapshot::new(db.clone(), held.clone()) }
}
