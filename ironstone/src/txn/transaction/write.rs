//! The writes of a transaction.

use base::{Error, Result};
use engine::batch::WriteBatch;
use format::batch::Record;

use super::super::indexed::{Indexing, Write, target};
use super::super::locks::{LockMode, TransactionState};
use super::super::options::TxnDbWritePolicy;
use super::super::tracker::Use;
use super::Transaction;
use super::track::{Operation, Tracking};
use super::unprepared::LargeBatch;
use crate::Family;
use crate::wide::encode_entity;

/// The write of [`Transaction::write_assuming_tracked_in`].
///
/// ```
/// # use ironstone::{Options, TransactionDb, TransactionDbOptions};
/// # let db = TransactionDb::open("data", Options::in_memory(), TransactionDbOptions::default())?;
/// use ironstone::TrackedWrite;
///
/// let (family, transaction) = (db.default_family(), db.begin());
/// transaction.get_for_update(b"k")?;
/// transaction.write_assuming_tracked_in(&family, b"k", TrackedWrite::Put(b"1"))?;
/// transaction.commit()?;
/// assert_eq!(db.get(b"k")?.as_deref(), Some(&b"1"[..]));
/// # Ok::<(), ironstone::Error>(())
/// ```
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum TrackedWrite<'a> {
    /// Stores this value.
    Put(&'a [u8]),
    /// Adds this merge operand.
    Merge(&'a [u8]),
    /// Deletes the key.
    Delete,
    /// Deletes the key, which was stored once since its last deletion.
    SingleDelete,
}

impl Transaction {
    /// Sets the value of a key of the default column family. See [`Transaction::put_in`].
    ///
    /// ```
    /// # use ironstone::{Options, TransactionDb, TransactionDbOptions};
    /// # let db = TransactionDb::open("data", Options::in_memory(), TransactionDbOptions::default())?;
    /// let transaction = db.begin();
    /// transaction.put(b"k", b"1")?;
    /// assert_eq!(db.get(b"k")?, None); // not committed
    /// transaction.commit()?;
    /// assert_eq!(db.get(b"k")?.as_deref(), Some(&b"1"[..]));
    /// # Ok::<(), ironstone::Error>(())
    /// ```
    ///
    /// # Errors
    /// The errors of [`Transaction::put_in`].
    pub fn put(&self, key: &[u8], value: &[u8]) -> Result<()> {
        self.put_in(&self.default, key, value)
    }

    /// Sets the value of a key.
    ///
    /// ```
    /// # use ironstone::{Options, TransactionDb, TransactionDbOptions};
    /// # let db = TransactionDb::open("data", Options::in_memory(), TransactionDbOptions::default())?;
    /// let family = db.default_family();
    /// let transaction = db.begin();
    /// transaction.put_in(&family, b"k", b"1")?;
    /// transaction.commit()?;
    /// assert_eq!(family.get(b"k")?.as_deref(), Some(&b"1"[..]));
    /// # Ok::<(), ironstone::Error>(())
    /// ```
    ///
    /// # Errors
    /// InvalidArgument if the key or value is too large, if the column family was dropped, after commit or rollback, and after prepare with a
    /// policy other than write-committed;
    /// Aborted with `MemoryLimit` if the batch would exceed `max_write_batch_size`. In a pessimistic transaction also:
    /// TimedOut with `LockTimeout` or Busy with `Deadlock` if another transaction has the lock, Aborted with `LockLimit`,
    /// and Busy if the key was changed after the snapshot.
    pub fn put_in(&self, family: &Family, key: &[u8], value: &[u8]) -> Result<()> {
        write_in(self, family, key, Write::Put(value), Tracking::Validated)
    }

    /// Sets the columns of a key. RocksDB: `PutEntity`.
    ///
    /// ```
    /// # use ironstone::{Options, TransactionDb, TransactionDbOptions};
    /// # let db = TransactionDb::open("data", Options::in_memory(), TransactionDbOptions::default())?;
    /// # let family = db.default_family();
    /// let transaction = db.begin();
    /// transaction.put_entity_in(&family, b"k", &[(b"color", b"red"), (b"", b"1")])?;
    /// transaction.commit()?;
    /// assert_eq!(db.get(b"k")?.as_deref(), Some(&b"1"[..])); // the column without a name
    /// # Ok::<(), ironstone::Error>(())
    /// ```
    ///
    /// # Errors
    /// The errors of [`Transaction::put_in`]; Corruption if two columns have the same name.
    pub fn put_entity_in(&self, family: &Family, key: &[u8], columns: &[(&[u8], &[u8])]) -> Result<()> {
        write_in(self, family, key, Write::Entity(&encode_entity(columns)?), Tracking::Validated)
    }

    /// Adds a merge operand to a key of the default column family.
    ///
    /// ```
    /// # use ironstone::{Options, TransactionDb, TransactionDbOptions};
    /// # let mut options = Options::in_memory();
    /// # options.update("merge_operator=stringappend")?;
    /// # let db = TransactionDb::open("data", options, TransactionDbOptions::default())?;
    /// let transaction = db.begin();
    /// transaction.put(b"k", b"a")?;
    /// transaction.merge(b"k", b"b")?;
    /// transaction.commit()?;
    /// assert_eq!(db.get(b"k")?.as_deref(), Some(&b"a,b"[..]));
    /// # Ok::<(), ironstone::Error>(())
    /// ```
    ///
    /// # Errors
    /// The errors of [`Transaction::put_in`].
    pub fn merge(&self, key: &[u8], operand: &[u8]) -> Result<()> {
        self.merge_in(&self.default, key, operand)
    }

    /// Adds a merge operand to a key.
    ///
    /// ```
    /// # use ironstone::{Options, TransactionDb, TransactionDbOptions};
    /// # let mut options = Options::in_memory();
    /// # options.update("merge_operator=stringappend")?;
    /// # let db = TransactionDb::open("data", options, TransactionDbOptions::default())?;
    /// # let family = db.default_family();
    /// let transaction = db.begin();
    /// transaction.merge_in(&family, b"k", b"a")?;
    /// transaction.merge_in(&family, b"k", b"b")?;
    /// transaction.commit()?;
    /// assert_eq!(db.get(b"k")?.as_deref(), Some(&b"a,b"[..]));
    /// # Ok::<(), ironstone::Error>(())
    /// ```
    ///
    /// # Errors
    /// The errors of [`Transaction::put_in`].
    pub fn merge_in(&self, family: &Family, key: &[u8], operand: &[u8]) -> Result<()> {
        write_in(self, family, key, Write::Merge(operand), Tracking::Validated)
    }

    /// Deletes a key of the default column family.
    ///
    /// ```
    /// # use ironstone::{Options, TransactionDb, TransactionDbOptions};
    /// # let db = TransactionDb::open("data", Options::in_memory(), TransactionDbOptions::default())?;
    /// db.put(b"k", b"1")?;
    /// let transaction = db.begin();
    /// transaction.delete(b"k")?;
    /// transaction.commit()?;
    /// assert_eq!(db.get(b"k")?, None);
    /// # Ok::<(), ironstone::Error>(())
    /// ```
    ///
    /// # Errors
    /// The errors of [`Transaction::put_in`].
    pub fn delete(&self, key: &[u8]) -> Result<()> {
        self.delete_in(&self.default, key)
    }

    /// Deletes a key.
    ///
    /// ```
    /// # use ironstone::{Options, TransactionDb, TransactionDbOptions};
    /// # let db = TransactionDb::open("data", Options::in_memory(), TransactionDbOptions::default())?;
    /// # let family = db.default_family();
    /// db.put(b"k", b"1")?;
    /// let transaction = db.begin();
    /// transaction.delete_in(&family, b"k")?;
    /// assert_eq!(transaction.get(b"k")?, None);
    /// assert!(db.get(b"k")?.is_some()); // not committed
    /// # Ok::<(), ironstone::Error>(())
    /// ```
    ///
    /// # Errors
    /// The errors of [`Transaction::put_in`].
    pub fn delete_in(&self, family: &Family, key: &[u8]) -> Result<()> {
        write_in(self, family, key, Write::Delete, Tracking::Validated)
    }

    /// Deletes a key that was put exactly once since its last deletion. For other keys the result is undefined.
    ///
    /// ```
    /// # use ironstone::{Options, TransactionDb, TransactionDbOptions};
    /// # let db = TransactionDb::open("data", Options::in_memory(), TransactionDbOptions::default())?;
    /// # let family = db.default_family();
    /// db.put(b"k", b"1")?;
    /// let transaction = db.begin();
    /// transaction.single_delete_in(&family, b"k")?;
    /// transaction.commit()?;
    /// assert_eq!(db.get(b"k")?, None);
    /// # Ok::<(), ironstone::Error>(())
    /// ```
    ///
    /// # Errors
    /// The errors of [`Transaction::put_in`].
    pub fn single_delete_in(&self, family: &Family, key: &[u8]) -> Result<()> {
        write_in(self, family, key, Write::SingleDelete, Tracking::Validated)
    }

    /// Sets the value of a key without a check for conflicts. A pessimistic transaction still locks the key.
    ///
    /// ```
    /// # use ironstone::{Options, OptimisticTransactionDb};
    /// # let db = OptimisticTransactionDb::open("data", Options::in_memory())?;
    /// # let family = db.default_family();
    /// let transaction = db.begin();
    /// transaction.put_untracked_in(&family, b"k", b"1")?;
    /// assert_eq!(transaction.num_keys(), 0); // no check at the commit
    /// # Ok::<(), ironstone::Error>(())
    /// ```
    ///
    /// # Errors
    /// The errors of [`Transaction::put_in`], without the check against the snapshot.
    pub fn put_untracked_in(&self, family: &Family, key: &[u8], value: &[u8]) -> Result<()> {
        write_in(self, family, key, Write::Put(value), Tracking::Untracked)
    }

    /// Sets the columns of a key without a check for conflicts, as [`Transaction::put_untracked_in`].
    ///
    /// ```
    /// # use ironstone::{Options, OptimisticTransactionDb};
    /// # let db = OptimisticTransactionDb::open("data", Options::in_memory())?;
    /// # let family = db.default_family();
    /// let transaction = db.begin();
    /// transaction.put_entity_untracked_in(&family, b"k", &[(b"color", b"red")])?;
    /// assert_eq!(transaction.num_keys(), 0);
    /// # Ok::<(), ironstone::Error>(())
    /// ```
    ///
    /// # Errors
    /// The errors of [`Transaction::put_untracked_in`].
    pub fn put_entity_untracked_in(
        &self,
        family: &Family,
        key: &[u8],
        columns: &[(&[u8], &[u8])],
    ) -> Result<()> {
        write_in(self, family, key, Write::Entity(&encode_entity(columns)?), Tracking::Untracked)
    }

    /// Adds a merge operand without a check for conflicts, as [`Transaction::put_untracked_in`].
    ///
    /// ```
    /// # use ironstone::{Options, TransactionDb, TransactionDbOptions};
    /// # let mut options = Options::in_memory();
    /// # options.update("merge_operator=stringappend")?;
    /// # let db = TransactionDb::open("data", options, TransactionDbOptions::default())?;
    /// # let family = db.default_family();
    /// let transaction = db.begin();
    /// transaction.merge_untracked_in(&family, b"k", b"a")?;
    /// transaction.commit()?;
    /// assert_eq!(db.get(b"k")?.as_deref(), Some(&b"a"[..]));
    /// # Ok::<(), ironstone::Error>(())
    /// ```
    ///
    /// # Errors
    /// The errors of [`Transaction::put_untracked_in`].
    pub fn merge_untracked_in(&self, family: &Family, key: &[u8], operand: &[u8]) -> Result<()> {
        write_in(self, family, key, Write::Merge(operand), Tracking::Untracked)
    }

    /// Deletes a key without a check for conflicts, as [`Transaction::put_untracked_in`].
    ///
    /// ```
    /// # use ironstone::{Options, OptimisticTransactionDb};
    /// # let db = OptimisticTransactionDb::open("data", Options::in_memory())?;
    /// # let family = db.default_family();
    /// let transaction = db.begin();
    /// transaction.delete_untracked_in(&family, b"k")?;
    /// assert_eq!(transaction.num_keys(), 0);
    /// # Ok::<(), ironstone::Error>(())
    /// ```
    ///
    /// # Errors
    /// The errors of [`Transaction::put_untracked_in`].
    pub fn delete_untracked_in(&self, family: &Family, key: &[u8]) -> Result<()> {
        write_in(self, family, key, Write::Delete, Tracking::Untracked)
    }

    /// Deletes a key that was put once, without a check for conflicts, as [`Transaction::put_untracked_in`].
    ///
    /// ```
    /// # use ironstone::{Options, OptimisticTransactionDb};
    /// # let db = OptimisticTransactionDb::open("data", Options::in_memory())?;
    /// # let family = db.default_family();
    /// let transaction = db.begin();
    /// transaction.single_delete_untracked_in(&family, b"k")?;
    /// assert_eq!(transaction.num_keys(), 0);
    /// # Ok::<(), ironstone::Error>(())
    /// ```
    ///
    /// # Errors
    /// The errors of [`Transaction::put_untracked_in`].
    pub fn single_delete_untracked_in(&self, family: &Family, key: &[u8]) -> Result<()> {
        write_in(self, family, key, Write::SingleDelete, Tracking::Untracked)
    }

    /// Writes a key that the transaction has locked, without a search in the lock table. RocksDB: `assume_tracked`.
    ///
    /// ```
    /// # use ironstone::{Options, TransactionDb, TransactionDbOptions};
    /// # let db = TransactionDb::open("data", Options::in_memory(), TransactionDbOptions::default())?;
    /// # let family = db.default_family();
    /// use ironstone::TrackedWrite;
    ///
    /// let transaction = db.begin();
    /// let put = TrackedWrite::Put(b"1");
    /// assert!(transaction.write_assuming_tracked_in(&family, b"k", put).is_err()); // no lock
    /// transaction.get_for_update(b"k")?;
    /// transaction.write_assuming_tracked_in(&family, b"k", put)?;
    /// transaction.write_assuming_tracked_in(&family, b"k", TrackedWrite::Delete)?;
    /// # Ok::<(), ironstone::Error>(())
    /// ```
    ///
    /// # Errors
    /// The errors of [`Transaction::put_in`]; InvalidArgument if the transaction has no lock of the key.
    pub fn write_assuming_tracked_in(
        &self,
        family: &Family,
        key: &[u8],
        write: TrackedWrite<'_>,
    ) -> Result<()> {
        let write = match write {
            TrackedWrite::Put(value) => Write::Put(value),
            TrackedWrite::Merge(operand) => Write::Merge(operand),
            TrackedWrite::Delete => Write::Delete,
            TrackedWrite::SingleDelete => Write::SingleDelete,
        };
        write_in(self, family, key, write, Tracking::Assumed)
    }

    /// Adds bytes that are written only to the WAL.
    ///
    /// # Errors
    /// Aborted with `MemoryLimit` if the batch would exceed its largest size. The batch is then unchanged.
    ///
    /// ```
    /// # use ironstone::{Options, TransactionDb, TransactionDbOptions};
    /// # let db = TransactionDb::open("data", Options::in_memory(), TransactionDbOptions::default())?;
    /// let transaction = db.begin();
    /// transaction.put_log_data(b"request 17")?; // readable through `Db::updates_since`
    /// transaction.commit()?;
    /// # Ok::<(), ironstone::Error>(())
    /// ```
    pub fn put_log_data(&self, blob: &[u8]) -> Result<()> {
        self.shared.core.lock().put_log_data(blob)
    }

    /// Repeats the writes of a batch in this transaction, with locks and checks. RocksDB: `RebuildFromWriteBatch`.
    ///
    /// ```
    /// # use ironstone::{Options, TransactionDb, TransactionDbOptions};
    /// # let db = TransactionDb::open("data", Options::in_memory(), TransactionDbOptions::default())?;
    /// use ironstone::WriteBatch;
    ///
    /// let mut batch = WriteBatch::new();
    /// batch.put(b"k", b"1");
    /// let transaction = db.begin();
    /// transaction.rebuild_from_batch(&batch)?;
    /// assert_eq!(transaction.num_puts(), 1);
    /// # Ok::<(), ironstone::Error>(())
    /// ```
    ///
    /// # Errors
    /// The errors of [`Transaction::put_in`]; InvalidArgument for a batch with markers of a two-phase commit, for an
    /// unknown column family, and for range deletions.
    pub fn rebuild_from_batch(&self, batch: &WriteBatch) -> Result<()> {
        for record in batch.iter() {
            repeat(self, &record?)?;
        }
        Ok(())
    }

    /// Adds the writes of the batch of a recovered transaction. Records of column families that were dropped since the
    /// prepare are skipped.
    pub(in crate::txn) fn restore(&self, batch: &WriteBatch) -> Result<()> {
        let live: Vec<_> = self.db.families().iter().map(Family::id).collect();
        for record in batch.iter() {
            let record = record?;
            if record.family().is_none_or(|family| live.contains(&family)) {
                repeat(self, &record)?;
            }
        }
        Ok(())
    }

    /// Returns true if writes enter the index, so that reads of the transaction see them.
    ///
    /// ```
    /// # use ironstone::{Options, TransactionDb, TransactionDbOptions};
    /// # let db = TransactionDb::open("data", Options::in_memory(), TransactionDbOptions::default())?;
    /// let transaction = db.begin();
    /// assert!(transaction.is_indexing());
    /// transaction.disable_indexing();
    /// assert!(!transaction.is_indexing());
    /// # Ok::<(), ironstone::Error>(())
    /// ```
    pub fn is_indexing(&self) -> bool {
        self.shared.body.lock().indexing == Indexing::On
    }
}

/// Refuses writes that no commit would write: after the end of the transaction, and after prepare if the policy writes the
/// batch at prepare. RocksDB takes such writes and loses them.
fn check_takes_writes(transaction: &Transaction) -> Result<()> {
    use TransactionState::{LocksStolen, Prepared, Started};
    let policy = transaction.shared.pessimistic().map(|pessimistic| pessimistic.settings.policy);
    match transaction.state() {
        Started | LocksStolen => Ok(()),
        Prepared if policy == Some(TxnDbWritePolicy::WriteCommitted) => Ok(()),
        state => Err(Error::invalid_argument(format!("Transaction takes no writes in state {state:?}"))),
    }
}

/// Locks and checks a key, and adds a write of the key to the batch.
fn write_in(
    transaction: &Transaction,
    family: &Family,
    key: &[u8],
    write: Write<'_>,
    tracking: Tracking,
) -> Result<()> {
    let mut body = transaction.shared.body.lock();
    check_takes_writes(transaction)?;
    if let Some(pessimistic) = transaction.shared.pessimistic() {
        LargeBatch::new(&transaction.db, &transaction.shared, pessimistic).write_if_large(&mut body)?;
    }
    let operation = Operation { family, key, by: Use::Write, mode: LockMode::Exclusive, tracking };
    operation.track(transaction, &mut body)?;
    transaction.shared.core.lock().write(target(family), key, write, body.indexing)?;
    body.counts.add(write);
    Ok(())
}

/// Repeats one write of a batch in the transaction.
fn repeat(transaction: &Transaction, record: &Record<'_>) -> Result<()> {
    let Some(id) = record.family() else {
        return match record {
            Record::LogData(_) => Ok(()),
            _ => Err(Error::invalid_argument("the batch has markers of a two-phase commit")),
        };
    };
    let unknown = || Error::invalid_argument(format!("Could not access column family {id}"));
    let family =
        transaction.db.families().into_iter().find(|family| family.id() == id).ok_or_else(unknown)?;
    let stripped = |key: &'_ [u8]| key.len() - family.inner().order().user.timestamp_size().min(key.len());
    let (key, write) = match *record {
        Record::Put { key, value, .. } => (key, Write::Put(value)),
        Record::PutEntity { key, entity, .. } => (key, Write::Entity(entity)),
        Record::Delete { key, .. } => (key, Write::Delete),
        Record::SingleDelete { key, .. } => (key, Write::SingleDelete),
        Record::Merge { key, operand, .. } => (key, Write::Merge(operand)),
        _ => return Err(Error::invalid_argument("a transaction cannot take this record")),
    };
    write_in(transaction, &family, &key[..stripped(key)], write, Tracking::Validated)
}
