//! [`Transaction`]: the same calls for optimistic and for pessimistic transactions.
//!
//! `body` is the state, and `track` takes locks and checks for conflicts. `write` and `read` are the operations.
//! `finish` has prepare, commit and rollback, and `commit` is the work of a commit. `unprepared` writes large batches
//! before prepare, and `info` returns information. One thread at a time uses a transaction; calls of other threads wait.

mod body;
mod commit;
mod finish;
mod info;
mod read;
mod sections;
mod track;
mod unprepared;
mod write;

pub use body::TransactionNotifier;
pub(super) use body::{Control, Pessimistic, Settings, Shared};
pub(super) use sections::{Sections, UndecidedSections};
pub use track::Validation;
pub use write::TrackedWrite;

use base::{Error, Result};
use env::sync::Arc;

use super::indexed::Indexing;
use super::locks::TransactionState;
use super::pessimistic::Registry;
use crate::{Db, Family, Snapshot};
use body::{SavePoint, SnapshotWish};
use unprepared::LargeBatch;

/// A transaction of an [`crate::OptimisticTransactionDb`] or a [`crate::TransactionDb`].
///
/// Writes stay in the transaction until [`Transaction::commit`]. Reads see the writes of the transaction on top of
/// the database. The drop of the last handle releases the locks, and rolls back a transaction that is not prepared. A
/// prepared transaction stays in the WAL, and the next open restores it. The handle is owned, `Send` and `Sync`. A
/// clone is a second handle of the same transaction.
///
/// ```
/// use ironstone::{Db, OptimisticTransactionDb, Options};
///
/// let db = OptimisticTransactionDb::open("data", Options::in_memory())?;
/// let transaction = db.begin();
/// transaction.put(b"k", b"1")?;
/// assert_eq!(transaction.get(b"k")?.as_deref(), Some(&b"1"[..]));
/// assert_eq!(db.get(b"k")?, None);
/// transaction.commit()?;
/// assert_eq!(db.get(b"k")?.as_deref(), Some(&b"1"[..]));
/// # Ok::<(), ironstone::Error>(())
/// ```
#[derive(Clone)]
pub struct Transaction {
    // This field is dropped before the database handles, so that the locks are released first.
    shared: Arc<Shared>,
    db: Db,
    default: Family,
    /// The names of transactions, for a pessimistic transaction.
    registry: Option<Arc<Registry>>,
}

impl Transaction {
    pub(super) fn new(db: &Db, registry: Option<Arc<Registry>>, shared: Arc<Shared>) -> Self {
        Transaction { shared, db: db.clone(), default: db.default_family(), registry }
    }

    pub(super) fn shared(&self) -> &Arc<Shared> {
        &self.shared
    }

    /// Takes a snapshot. An operation on a key that was changed after the snapshot then fails: at once in a
    /// pessimistic transaction, at commit in an optimistic transaction. Reads use the snapshot only if their options
    /// have [`Transaction::snapshot`].
    ///
    /// ```
    /// # use ironstone::{Options, TransactionDb, TransactionDbOptions};
    /// # let db = TransactionDb::open("data", Options::in_memory(), TransactionDbOptions::default())?;
    /// let transaction = db.begin();
    /// transaction.set_snapshot();
    /// db.put(b"k", b"1")?;
    /// assert!(transaction.put(b"k", b"2").is_err()); // changed after the snapshot
    /// # Ok::<(), ironstone::Error>(())
    /// ```
    pub fn set_snapshot(&self) {
        self.shared.body.lock().take_snapshot(&self.db);
    }

    /// Takes a snapshot at the next write or read for update. `notifier` receives the snapshot. In a pessimistic
    /// transaction with a commit timestamp, [`Transaction::commit`] then takes a timestamped snapshot.
    ///
    /// ```
    /// # use ironstone::{Options, TransactionDb, TransactionDbOptions};
    /// # let db = TransactionDb::open("data", Options::in_memory(), TransactionDbOptions::default())?;
    /// let transaction = db.begin();
    /// transaction.set_snapshot_on_next_operation(None);
    /// assert!(transaction.snapshot().is_none());
    /// transaction.put(b"k", b"1")?;
    /// assert!(transaction.snapshot().is_some());
    /// # Ok::<(), ironstone::Error>(())
    /// ```
    pub fn set_snapshot_on_next_operation(&self, notifier: Option<Arc<dyn TransactionNotifier>>) {
        self.shared.body.lock().wish = SnapshotWish::NextOperation(notifier);
    }

    /// Returns the snapshot of the transaction, if one was taken.
    ///
    /// ```
    /// # use ironstone::{Options, TransactionDb, TransactionDbOptions};
    /// # let db = TransactionDb::open("data", Options::in_memory(), TransactionDbOptions::default())?;
    /// use ironstone::ReadOptions;
    ///
    /// # let family = db.default_family();
    /// let transaction = db.begin();
    /// transaction.set_snapshot();
    /// db.put(b"k", b"1")?;
    /// let options = ReadOptions { snapshot: transaction.snapshot().map(|s| s.held()), ..ReadOptions::default() };
    /// assert_eq!(transaction.get_in(&family, b"k", &options)?, None);
    /// # Ok::<(), ironstone::Error>(())
    /// ```
    pub fn snapshot(&self) -> Option<Snapshot> {
        let body = self.shared.body.lock();
        body.snapshot.as_ref().map(|held| Snapshot::new(self.db.clone(), held.clone()))
    }

    /// Releases the snapshot. Later operations then check only for changes after the lock of the key.
    ///
    /// ```
    /// # use ironstone::{Options, TransactionDb, TransactionDbOptions};
    /// # let db = TransactionDb::open("data", Options::in_memory(), TransactionDbOptions::default())?;
    /// let transaction = db.begin();
    /// transaction.set_snapshot();
    /// transaction.clear_snapshot();
    /// assert!(transaction.snapshot().is_none());
    /// # Ok::<(), ironstone::Error>(())
    /// ```
    pub fn clear_snapshot(&self) {
        let mut body = self.shared.body.lock();
        body.snapshot = None;
        body.wish = SnapshotWish::None;
    }

    /// Records the current state for [`Transaction::rollback_to_save_point`]. Save points nest.
    ///
    /// ```
    /// # use ironstone::{Options, TransactionDb, TransactionDbOptions};
    /// # let db = TransactionDb::open("data", Options::in_memory(), TransactionDbOptions::default())?;
    /// let transaction = db.begin();
    /// transaction.put(b"a", b"1")?;
    /// transaction.set_save_point();
    /// transaction.put(b"b", b"2")?;
    /// transaction.rollback_to_save_point()?;
    /// assert_eq!(transaction.num_puts(), 1);
    /// # Ok::<(), ironstone::Error>(())
    /// ```
    pub fn set_save_point(&self) {
        let mut body = self.shared.body.lock();
        let (snapshot, wish, counts) = (body.snapshot.clone(), body.wish.clone(), body.counts);
        body.save_points.push(SavePoint {
            snapshot,
            wish,
            counts,
            new_locks: Default::default(),
            sections: None,
        });
        self.shared.core.lock().batch.set_save_point();
    }

    /// Removes the writes since the last save point, and the save point. Releases the locks that were taken after the
    /// save point.
    ///
    /// ```
    /// # use ironstone::{Options, TransactionDb, TransactionDbOptions};
    /// # let db = TransactionDb::open("data", Options::in_memory(), TransactionDbOptions::default())?;
    /// let transaction = db.begin();
    /// assert!(transaction.rollback_to_save_point().is_err());
    /// transaction.set_save_point();
    /// transaction.put(b"k", b"1")?;
    /// transaction.rollback_to_save_point()?;
    /// assert_eq!(transaction.num_keys(), 0); // the lock is released
    /// # Ok::<(), ironstone::Error>(())
    /// ```
    ///
    /// # Errors
    /// NotFound without a save point; InvalidArgument after prepare, commit or rollback. With `WriteUnprepared`,
    /// errors of reading and writing the values before the save point; the transaction is then unchanged.
    pub fn rollback_to_save_point(&self) -> Result<()> {
        // The lock comes first: another thread may prepare the transaction.
        let mut body = self.shared.body.lock();
        if self.shared.pessimistic().is_some_and(|p| p.owner.state() != TransactionState::Started) {
            return Err(Error::invalid_argument("Transaction is beyond state for rollback."));
        }
        if let Some(pessimistic) = self.shared.pessimistic() {
            LargeBatch::new(&self.db, &self.shared, pessimistic).restore_sections(&mut body)?;
        }
        self.shared.rollback_to_save_point(&mut body)
    }

    /// Removes the last save point and keeps the writes since it.
    ///
    /// ```
    /// # use ironstone::{Options, TransactionDb, TransactionDbOptions};
    /// # let db = TransactionDb::open("data", Options::in_memory(), TransactionDbOptions::default())?;
    /// let transaction = db.begin();
    /// transaction.set_save_point();
    /// transaction.put(b"k", b"1")?;
    /// transaction.pop_save_point()?;
    /// assert_eq!(transaction.num_puts(), 1);
    /// # Ok::<(), ironstone::Error>(())
    /// ```
    ///
    /// # Errors
    /// NotFound without a save point.
    pub fn pop_save_point(&self) -> Result<()> {
        let mut body = self.shared.body.lock();
        let Some(top) = body.save_points.pop() else {
            return Err(Error::not_found("no save point is set"));
        };
        // A rollback to the next older save point must release these locks too.
        if let Some(below) = body.save_points.last_mut() {
            below.new_locks.merge(&top.new_locks);
        }
        if top.sections.is_some() { Ok(()) } else { self.shared.core.lock().batch.pop_save_point() }
    }

    /// Stops adding further writes to the index. Such writes are faster, but reads of this transaction do not see
    /// them.
    ///
    /// ```
    /// # use ironstone::{Options, TransactionDb, TransactionDbOptions};
    /// # let db = TransactionDb::open("data", Options::in_memory(), TransactionDbOptions::default())?;
    /// let transaction = db.begin();
    /// transaction.disable_indexing();
    /// transaction.put(b"k", b"1")?;
    /// assert_eq!(transaction.get(b"k")?, None); // not in the index
    /// transaction.commit()?;
    /// assert!(db.get(b"k")?.is_some());
    /// # Ok::<(), ironstone::Error>(())
    /// ```
    pub fn disable_indexing(&self) {
        self.shared.body.lock().indexing = Indexing::Off;
    }

    /// Adds further writes to the index again.
    ///
    /// ```
    /// # use ironstone::{Options, TransactionDb, TransactionDbOptions};
    /// # let db = TransactionDb::open("data", Options::in_memory(), TransactionDbOptions::default())?;
    /// let transaction = db.begin();
    /// transaction.disable_indexing();
    /// transaction.enable_indexing();
    /// transaction.put(b"k", b"1")?;
    /// assert!(transaction.get(b"k")?.is_some());
    /// # Ok::<(), ironstone::Error>(())
    /// ```
    pub fn enable_indexing(&self) {
        self.shared.body.lock().indexing = Indexing::On;
    }
}

impl std::fmt::Debug for Transaction {
    fn fmt(&self, f: &mut std::fmt::Formatter<'_>) -> std::fmt::Result {
        write!(f, "Transaction({}, {:?})", self.id(), self.state())
    }
}
