//! The handles of the snapshots of a transaction.
//!
//! The transaction owns its snapshot, as in RocksDB: `getSnapshot` and a notifier give the same handle. The handle is closed when
//! the transaction takes another snapshot, clears its snapshot, or is closed. The end of a notifier closes no handle. A save point
//! keeps the snapshot that the transaction had at the save point: the handle stays open until the save point ends.

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
    /// A leaf lock.
    snapshots: Mutex<Snapshots>,
}

#[derive(Default)]
struct Snapshots {
    /// The open handles of snapshots that the program got.
    handles: Vec<Handle>,
    /// The snapshot at each save point, oldest first.
    at_save_points: Vec<Option<Arc<Snapshot>>>,
}

impl Parts {
    /// Returns the handle of the snapshot that the transaction has now.
    fn handle_of(&self, current: &Arc<Snapshot>) -> Handle {
        let mut snapshots = self.snapshots.lock();
        let known = snapshots
            .handles
            .iter()
            .find(|handle| snapshot_of(**handle).is_some_and(|s| Arc::ptr_eq(&s, current)));
        if let Some(handle) = known {
            return *handle;
        }
        let handle = self.children.add_late(current.clone());
        snapshots.handles.push(handle);
        handle
    }

    /// Closes the handles of snapshots that neither the transaction nor a save point has. An open handle would keep the snapshot
    /// alive, and compactions would keep the entries that the snapshot needs.
    fn release_except(&self, current: Option<&Arc<Snapshot>>) {
        let mut snapshots = self.snapshots.lock();
        let Snapshots { handles, at_save_points } = &mut *snapshots;
        let mut gone = Vec::new();
        handles.retain(|handle| {
            let mut held = current.into_iter().chain(at_save_points.iter().flatten());
            let is_held =
                snapshot_of(*handle).is_some_and(|snapshot| held.any(|held| Arc::ptr_eq(held, &snapshot)));
            if !is_held {
                gone.push(*handle);
            }
            is_held
        });
        drop(snapshots);
        gone.into_iter().for_each(Handle::close);
    }

    pub fn release_old_snapshots(&self, txn: &Transaction) {
        self.release_except(txn.snapshot().map(|snapshot| snapshot.held()).as_ref());
    }

    /// Returns the handle of the snapshot of the transaction, or the null handle.
    pub fn snapshot_handle(&self, txn: &Transaction) -> Handle {
        let current = txn.snapshot().map(|snapshot| snapshot.held());
        self.release_except(current.as_ref());
        current.map_or(Handle::NULL, |current| self.handle_of(&current))
    }

    /// Records the snapshot at a new save point.
    pub fn add_save_point(&self, txn: &Transaction) {
        let current = txn.snapshot().map(|snapshot| snapshot.held());
        self.snapshots.lock().at_save_points.push(current);
    }

    /// Removes the last save point, to which the transaction went back.
    pub fn remove_save_point(&self, txn: &Transaction) {
        let removed = self.snapshots.lock().at_save_points.pop();
        drop(removed);
        self.release_old_snapshots(txn);
    }

    /// Removes all save points, after a commit or rollback.
    pub fn clear_save_points(&self, txn: &Transaction) {
        let removed = std::mem::take(&mut self.snapshots.lock().at_save_points);
        drop(removed);
        self.release_old_snapshots(txn);
    }
}

fn snapshot_of(handle: Handle) -> Option<Arc<Snapshot>> {
    handle.shared::<Arc<Snapshot>>().ok().map(|snapshot| snapshot.clone())
}

/// Receives the snapshot of the next operation. Closes the handle of the snapshot before, and then calls the notifier of Java, if
/// there is one.
pub(super) struct NextSnapshot {
    pub parts: Arc<Parts>,
    pub java: Option<Arc<JavaNotifier>>,
}

impl TransactionNotifier for NextSnapshot {
    fn snapshot_created(&self, snapshot: &ironstone::Snapshot) {
        let snapshot = snapshot.held();
        self.parts.release_except(Some(&snapshot));
        if let Some(java) = &self.java {
            java.snapshot_created(self.parts.handle_of(&snapshot));
        }
    }
}
