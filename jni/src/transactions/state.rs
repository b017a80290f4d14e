//! The state of a transaction: snapshots, save points, names, prepare, commit, rollback, and the properties of a transaction.

use std::sync::Arc;

use engine::options::WriteOptions;

use super::snapshot::NextSnapshot;
use super::{TransactionObject, transaction};
use crate::batch::BatchObject;
use crate::class::{Class, Method, Value};
use crate::fault::Outcome;
use crate::filters::NotifierObject;
use crate::handle::Handle;
use crate::indexed_batch::IndexedObject;
use crate::java::{JObject, JString};
use crate::native::natives;

static NEW_WAITING: Method =
    Class::new("org/rocksdb/Transaction$WaitingTransactions").method("<init>", "(JLjava/lang/String;[J)V");

impl TransactionObject {
    /// Copies the changes of the program in the commit-time batch and in the write options into the transaction.
    fn take_changes(&self) -> Outcome<()> {
        let handles = self.handles.lock();
        if let Ok(options) = handles.write_options.shared::<WriteOptions>() {
            self.txn.set_write_options(*options);
        }
        if let Ok(batch) = handles.commit_time_batch.shared::<BatchObject>() {
            let batch = batch.batch.clone();
            self.txn.with_commit_time_batch(|at_commit| *at_commit = batch);
        }
        Ok(())
    }

    /// Empties the commit-time batch of the program, after a commit or rollback. A commit that fails keeps the batch, because the
    /// program can try again.
    fn clear_commit_time_batch(&self) {
        let handles = self.handles.lock();
        if let Ok(mut batch) = handles.commit_time_batch.exclusive::<BatchObject>() {
            batch.batch.clear();
        }
    }
}

natives! {
    fn Transaction_setSnapshot[_](txn: Handle) {
        let object = transaction(txn)?;
        object.txn.set_snapshot();
        object.parts.release_old_snapshots(&object.txn);
    }

    fn Transaction_setSnapshotOnNextOperation__J[_](txn: Handle) {
        let object = transaction(txn)?;
        let next = NextSnapshot { parts: object.parts.clone(), java: None };
        object.txn.set_snapshot_on_next_operation(Some(Arc::new(next)));
    }

    /// Sets a snapshot at the next operation, and notifies the notifier then. If the notifier calls the same transaction, the
    /// call fails.
    fn Transaction_setSnapshotOnNextOperation__JJ[_](txn: Handle, notifier: Handle) {
        let java = Some(notifier.shared::<NotifierObject>()?.notifier.clone());
        let object = transaction(txn)?;
        let next = NextSnapshot { parts: object.parts.clone(), java };
        object.txn.set_snapshot_on_next_operation(Some(Arc::new(next)));
    }

    /// Returns the handle of the snapshot. Returns 0 if the transaction has no snapshot. Returns a new handle if the snapshot
    /// changed since the last call. The handle is closed when the transaction has this snapshot no longer.
    fn Transaction_getSnapshot[_](txn: Handle) -> Handle {
        let object = transaction(txn)?;
        object.parts.snapshot_handle(&object.txn)
    }

    fn Transaction_clearSnapshot[_](txn: Handle) {
        let object = transaction(txn)?;
        object.txn.clear_snapshot();
        object.parts.release_old_snapshots(&object.txn);
    }

    fn Transaction_prepare[_](txn: Handle) {
        let object = transaction(txn)?;
        if let Ok(options) = object.handles.lock().write_options.shared::<WriteOptions>() {
            object.txn.set_write_options(*options);
        }
        object.txn.prepare()?;
    }

    fn Transaction_commit[_](txn: Handle) {
        let object = transaction(txn)?;
        object.take_changes()?;
        object.txn.commit()?;
        object.clear_commit_time_batch();
        object.parts.clear_save_points(&object.txn);
    }

    fn Transaction_rollback[_](txn: Handle) {
        let object = transaction(txn)?;
        object.txn.rollback()?;
        object.clear_commit_time_batch();
        object.parts.clear_save_points(&object.txn);
    }

    fn Transaction_setSavePoint[_](txn: Handle) {
        let object = transaction(txn)?;
        object.txn.set_save_point();
        object.parts.add_save_point(&object.txn);
    }

    fn Transaction_rollbackToSavePoint[_](txn: Handle) {
        let object = transaction(txn)?;
        object.txn.rollback_to_save_point()?;
        object.parts.remove_save_point(&object.txn);
    }

    fn Transaction_disableIndexing[_](txn: Handle) {
        transaction(txn)?.txn.disable_indexing();
    }

    fn Transaction_enableIndexing[_](txn: Handle) {
        transaction(txn)?.txn.enable_indexing();
    }

    fn Transaction_getNumKeys[_](txn: Handle) -> i64 {
        transaction(txn)?.txn.num_keys() as i64
    }

    fn Transaction_getNumPuts[_](txn: Handle) -> i64 {
        transaction(txn)?.txn.num_puts() as i64
    }

    fn Transaction_getNumDeletes[_](txn: Handle) -> i64 {
        transaction(txn)?.txn.num_deletes() as i64
    }

    fn Transaction_getNumMerges[_](txn: Handle) -> i64 {
        transaction(txn)?.txn.num_merges() as i64
    }

    /// Milliseconds.
    fn Transaction_getElapsedTime[_](txn: Handle) -> i64 {
        transaction(txn)?.txn.elapsed_ms() as i64
    }

    /// Returns the batch of the transaction. The handle is closed together with the transaction; Java does not own it.
    fn Transaction_getWriteBatch[_](txn: Handle) -> Handle {
        let object = transaction(txn)?;
        let mut handles = object.handles.lock();
        if !handles.indexed_batch.is_live() {
            let batch = IndexedObject::new(object.txn.indexed_batch(), Some(object.owner.clone()));
            handles.indexed_batch = object.parts.children.add(batch);
        }
        handles.indexed_batch
    }

    /// Milliseconds.
    fn Transaction_setLockTimeout[_](txn: Handle, timeout: i64) {
        transaction(txn)?.txn.set_lock_timeout(timeout);
    }

    /// Returns the write options of the transaction. A change has an effect at the next prepare or commit.
    fn Transaction_getWriteOptions[_](txn: Handle) -> Handle {
        let object = transaction(txn)?;
        let mut handles = object.handles.lock();
        if !handles.write_options.is_live() {
            handles.write_options = object.parts.children.add(object.txn.write_options());
        }
        handles.write_options
    }

    fn Transaction_setWriteOptions[_](txn: Handle, options: Handle) {
        let (object, options) = (transaction(txn)?, *options.shared::<WriteOptions>()?);
        object.txn.set_write_options(options);
        let handles = object.handles.lock();
        if handles.write_options.is_live() {
            *handles.write_options.exclusive::<WriteOptions>()? = options;
        }
    }

    fn Transaction_rebuildFromWriteBatch[_](txn: Handle, batch: Handle) {
        let (object, mut batch) = (transaction(txn)?, batch.exclusive::<BatchObject>()?);
        object.txn.rebuild_from_batch(batch.batch_to_write()?)?;
    }

    /// Returns the commit-time batch: the commit of a prepared transaction also writes this batch.
    fn Transaction_getCommitTimeWriteBatch[_](txn: Handle) -> Handle {
        let object = transaction(txn)?;
        let mut handles = object.handles.lock();
        if !handles.commit_time_batch.is_live() {
            handles.commit_time_batch = object.parts.children.add(BatchObject::default());
        }
        handles.commit_time_batch
    }

    /// Returns the WAL number that the program set. If it set none, returns the number of the WAL that holds the prepared
    /// transaction, or 0 before the prepare.
    fn Transaction_getLogNumber[_](txn: Handle) -> i64 {
        let object = transaction(txn)?;
        let set = object.handles.lock().wal_number;
        set.unwrap_or_else(|| object.txn.wal_number() as i64)
    }

    /// Sets the number that `getLogNumber` returns. The commit does not use this number.
    fn Transaction_setLogNumber[_](txn: Handle, number: i64) {
        transaction(txn)?.handles.lock().wal_number = Some(number);
    }

    fn Transaction_setName[java](txn: Handle, name: JString) {
        let (object, name) = (transaction(txn)?, java.text(name)?);
        object.txn.set_name(name.as_bytes())?;
    }

    fn Transaction_getName[java](txn: Handle) -> JString<'j> {
        let name = transaction(txn)?.txn.name();
        java.new_text(&String::from_utf8_lossy(&name))?
    }

    /// Returns the number of the transaction. The number is unique in the process.
    fn Transaction_getID[_](txn: Handle) -> i64 {
        transaction(txn)?.txn.id().get() as i64
    }

    /// Returns the number of the transaction in lock and deadlock information. An optimistic transaction has no such number:
    /// returns the sequence number of its commit, or 0 before the commit.
    fn Transaction_getId[_](txn: Handle) -> i64 {
        let object = transaction(txn)?;
        match object.txn.id().get() {
            0 => object.txn.committed_sequence().get() as i64,
            id => id as i64,
        }
    }

    fn Transaction_isDeadlockDetect[_](txn: Handle) -> bool {
        transaction(txn)?.txn.is_deadlock_detect()
    }

    fn Transaction_getWaitingTxns[java](txn: Handle) -> JObject<'j> {
        let waiting = transaction(txn)?.txn.waiting_for();
        let ids: Vec<i64> = waiting.transactions.iter().map(|id| id.get() as i64).collect();
        let (key, ids) = (java.new_text(&String::from_utf8_lossy(&waiting.key))?, java.new_longs(&ids)?);
        let arguments = [Value::long(i64::from(waiting.family.get())), key.into(), ids.object().into()];
        NEW_WAITING.construct(java, &arguments)?
    }

    fn Transaction_getState[_](txn: Handle) -> i8 {
        transaction(txn)?.txn.state() as i8
    }

    /// Closes a transaction. A transaction that is not prepared is rolled back.
    fn Transaction_disposeInternal[_](txn: Handle) {
        txn.close_as::<TransactionObject>();
    }
}
