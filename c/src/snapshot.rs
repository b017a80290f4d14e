//! Snapshots: fixed sequence numbers for reads.

use std::sync::Arc;

use engine::db::Db;
use engine::sequence::Snapshot;

use crate::abi::ConstOwned;
use crate::db::rocksdb_t;

/// A snapshot. `None`: the database has a column family with `inplace_update_support`. Such a column family overwrites values
/// in memtables, so older entries do not exist. Reads with such a snapshot see the newest entries, as in RocksDB.
pub struct rocksdb_snapshot_t {
    pub(crate) snapshot: Option<Arc<Snapshot>>,
}

impl rocksdb_snapshot_t {
    /// Takes a snapshot. Takes none if a column family of the database cannot be read at a snapshot.
    pub(crate) fn take(db: &Db) -> Self {
        rocksdb_snapshot_t { snapshot: (!db.updates_in_place()).then(|| db.snapshot()) }
    }
}

c_api! {
    /// Takes a snapshot. Reads with this snapshot see the entries that are visible at the time of this call.
    fn rocksdb_create_snapshot(db: at rocksdb_t) -> ConstOwned<rocksdb_snapshot_t> {
        ConstOwned(rocksdb_snapshot_t::take(&*db.db()?))
    }

    /// Destroys the handle. Iterators and transactions that use the snapshot keep it. Reads with options that name the snapshot
    /// fail after the release. Accepts null.
    fn rocksdb_release_snapshot(db: maybe rocksdb_t, snapshot: cown rocksdb_snapshot_t) {
        let _ = db;
        drop(snapshot)
    }

    /// Returns the sequence number of the snapshot. Returns 0 if the database cannot be read at a snapshot.
    fn rocksdb_snapshot_get_sequence_number(snapshot: in rocksdb_snapshot_t) -> u64 {
        snapshot.snapshot.as_ref().map_or(0, |snapshot| snapshot.sequence().get())
    }
}
