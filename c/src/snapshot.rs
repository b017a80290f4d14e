//! Snapshots: fixed sequence numbers for reads.

use std::sync::Arc;

use engine::sequence::Snapshot;

use crate::abi::ConstOwned;
use crate::db::rocksdb_t;

/// A snapshot.
pub struct rocksdb_snapshot_t {
    pub(crate) snapshot: Arc<Snapshot>,
}

c_api! {
    /// Reads with this snapshot see what is visible now.
    fn rocksdb_create_snapshot(db: at rocksdb_t) -> ConstOwned<rocksdb_snapshot_t> {
        ConstOwned(rocksdb_snapshot_t { snapshot: db.db()?.snapshot() })
    }

    /// Destroys the handle. Read options and iterators that use the snapshot keep it. Accepts null.
    fn rocksdb_release_snapshot(db: maybe rocksdb_t, snapshot: cown rocksdb_snapshot_t) {
        let _ = db;
        drop(snapshot)
    }

    fn rocksdb_snapshot_get_sequence_number(snapshot: in rocksdb_snapshot_t) -> u64 {
        snapshot.snapshot.sequence()
    }
}
