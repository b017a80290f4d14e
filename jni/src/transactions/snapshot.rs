//! The handle of the snapshot of a transaction.
//!
//! The transaction owns its snapshot, as in RocksDB: `getSnapshot` and a notifier give the same handle. The handle is closed when
//! the transaction takes another snapshot, clears its snapshot, or is closed. The end of a notifier closes no handle.

use std::sync::Arc;

use engine::sequence::Snapshot;
use env::sync::Mutex;
use ironstone::{Transaction, TransactionNotifier};

use crate::db::children::Children;
use crate::filters::JavaNotifier;
use crate::handle::Handle;

/// The objects that are closed together with a transaction.
#[derive(Default)]
pub(super) struct Parts {
    pub children: Children,
    /// The handle of the snapshot of the transaction. A leaf lock. 0 until the program can know the snapshot.
    snapshot: Mutex<Handle>,
}

impl Parts {
    /// Makes the handle of a snapshot, and closes the handle of the snapshot before.
    fn set_snapshot(&self, snapshot: Arc<Snapshot>) -> Handle {
        let handle = self.children.add_late(snapshot);
        let old = std::mem::replace(&mut *self.snapshot.lock(), handle);
        old.close();
        handle
    }

    /// Closes the handle of a snapshot that is no longer the snapshot of the transaction. An open handle would keep the snapshot
    /// alive, and compactions would keep the entries that the snapshot needs.
    pub fn release_old_snapshot(&self, txn: &Transaction) {
        let current = txn.snapshot().map(|snapshot| snapshot.held());
        let mut handle = self.snapshot.lock();
        let known = handle.shared::<Arc<Snapshot>>().ok().map(|known| known.clone());
        let is_same =
            matches!((&current, &known), (Some(current), Some(known)) if Arc::ptr_eq(current, known));
        if !is_same {
            let old = std::mem::take(&mut *handle);
            drop(handle);
            old.close();
        }
    }

    /// Returns the handle of the snapshot of the transaction, or the null handle.
    pub fn snapshot_handle(&self, txn: &Transaction) -> Handle {
        self.release_old_snapshot(txn);
        let Some(snapshot) = txn.snapshot() else { return Handle::NULL };
        let handle = *self.snapshot.lock();
        match handle.is_live() {
            true => handle,
            false => self.set_snapshot(snapshot.held()),
        }
    }
}

/// Receives the snapshot of the next operation. Closes the handle of the snapshot before, which is no longer the snapshot of the
/// transaction, and then calls the notifier of Java, if there is one.
pub(super) struct NextSnapshot {
    pub parts: Arc<Parts>,
    pub java: Option<Arc<JavaNotifier>>,
}

impl TransactionNotifier for NextSnapshot {
    fn snapshot_created(&self, snapshot: &ironstone::Snapshot) {
        match &self.java {
            Some(java) => java.snapshot_created(self.parts.set_snapshot(snapshot.held())),
            None => {
                let old = std::mem::take(&mut *self.parts.snapshot.lock());
                old.close();
            }
        }
    }
}
