//! Snapshots: fixed sequence numbers for reads.
//!
//! A handle has one of two kinds. The lowest bit of its address names the kind:
//!
//! - 1: the handle of [`take`]. The address is the address of the engine's snapshot, and the handle owns one reference. A program
//!   takes and releases snapshots often, so this kind has no memory of its own.
//! - 0: a pointer to [`rocksdb_snapshot_t`], which owns no reference. A release does nothing.

use std::mem::ManuallyDrop;
use std::sync::Arc;

use engine::db::Db;
use engine::sequence::Snapshot;

use crate::abi::guard::needed;
use crate::db::rocksdb_t;

/// The content of a handle without a reference. `None`: reads with the handle see the newest entries.
pub struct rocksdb_snapshot_t {
    pub(crate) snapshot: Option<ManuallyDrop<Arc<Snapshot>>>,
}

/// The snapshot of a database with a column family with `inplace_update_support`. Such a column family overwrites values in
/// memtables, so older entries do not exist. Reads with this snapshot see the newest entries, as in RocksDB.
static NEWEST: rocksdb_snapshot_t = rocksdb_snapshot_t { snapshot: None };

/// The bit of an address that marks a handle with a reference.
const COUNTED: usize = 1;

/// Takes a snapshot. The caller releases the handle with [`release`].
pub(crate) fn take(db: &Db) -> *const rocksdb_snapshot_t {
    const { assert!(align_of::<Snapshot>() > COUNTED && align_of::<rocksdb_snapshot_t>() > COUNTED) };
    if db.updates_in_place() {
        return &raw const NEWEST;
    }
    Arc::into_raw(db.snapshot()).map_addr(|address| address | COUNTED).cast()
}

/// Returns the engine's snapshot of a handle that owns a reference.
fn counted(handle: *const rocksdb_snapshot_t) -> Option<*const Snapshot> {
    let is_counted = handle.addr() & COUNTED != 0;
    is_counted.then(|| handle.cast::<Snapshot>().map_addr(|address| address & !COUNTED))
}

/// Releases a handle of [`take`]. Does nothing for null, and for a handle that owns no reference.
///
/// # Safety
/// `handle` is null or a live handle. The program does not use the handle again.
pub(crate) unsafe fn release(handle: *const rocksdb_snapshot_t) {
    if let Some(snapshot) = counted(handle) {
        // SAFETY: the address comes from `Arc::into_raw` in `take`, and by the contract its reference is released once.
        Snapshot::release(unsafe { Arc::from_raw(snapshot) });
    }
}

/// Returns the engine's snapshot of a handle, with the reference of the handle. `None` for null, and for a handle whose reads see
/// the newest entries.
///
/// # Safety
/// `handle` is null, or a handle that stays live as long as the result.
pub(crate) unsafe fn snapshot_of(handle: *const rocksdb_snapshot_t) -> Option<ManuallyDrop<Arc<Snapshot>>> {
    let snapshot = match counted(handle) {
        Some(snapshot) => snapshot,
        // SAFETY: without the mark, the pointer is null or points to a live struct by the contract.
        None => Arc::as_ptr(unsafe { handle.as_ref() }?.snapshot.as_ref()?),
    };
    // SAFETY: the address comes from an `Arc` that lives as long as the handle. `ManuallyDrop` keeps its reference.
    Some(ManuallyDrop::new(unsafe { Arc::from_raw(snapshot) }))
}

c_api! {
    /// Takes a snapshot. Reads with this snapshot see the entries that are visible at the time of this call.
    fn rocksdb_create_snapshot(db: at rocksdb_t) -> *const rocksdb_snapshot_t {
        take(&*db.db()?)
    }

    /// Destroys the handle. Iterators and transactions that use the snapshot keep it. Reads with options that name the snapshot
    /// fail after the release. Accepts null.
    fn rocksdb_release_snapshot(db: maybe rocksdb_t, snapshot: raw(*const rocksdb_snapshot_t)) {
        let _ = db;
        // SAFETY: the header requires null, or a live handle that the program does not use again.
        unsafe { release(snapshot) }
    }

    /// Returns the sequence number of the snapshot. Returns 0 if the database cannot be read at a snapshot.
    fn rocksdb_snapshot_get_sequence_number(snapshot: raw(*const rocksdb_snapshot_t)) -> u64 {
        needed(FUNCTION, "snapshot", (!snapshot.is_null()).then_some(&()))?;
        // SAFETY: the header requires a live handle, which no thread releases during the call.
        unsafe { snapshot_of(snapshot) }.map_or(0, |snapshot| snapshot.sequence().get())
    }
}
