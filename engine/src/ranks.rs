//! The order of all locks that a thread may hold together. A thread takes locks from the top of the table to its end.
//!
//! The order is checked if the checks of [`base::invariant!`] are compiled in: see [`crate::sync::RankedMutex`]. All other
//! locks are leaves: a thread takes no ranked lock while it holds a leaf. The locks of the write group, of its waiting
//! writers and of the event count are leaves, so a thread may notify a waiter while it holds any ranked lock. The leadership
//! of a write group is not a lock. The leadership comes after [`PROOF`] and before [`MANIFEST`].

use crate::sync::Rank;

/// `db`: creation and drop of column families, changes of options. Held during I/O.
pub static CHANGES: Rank = Rank::new(10, "db changes");
/// `upkeep`: one proof at a time. Held during I/O.
pub static PROOF: Rank = Rank::new(20, "proof");
/// `commit`: the MANIFEST. Held during I/O.
pub static MANIFEST: Rank = Rank::new(30, "MANIFEST");
/// `schedule`: the queues. Never held during I/O, except for the last attempts to place ingested files.
pub static QUEUES: Rank = Rank::new(40, "queues");
/// `family`: adds and removes column families.
pub static FAMILY_SET: Rank = Rank::new(50, "family set");
/// `family`: allows a thread to hold the states of several column families.
pub static PICKING: Rank = Rank::new(60, "picking");
/// `family`: the state of one column family. Several at once: under [`PICKING`], in the order of the ids.
pub static FAMILY: Rank = Rank::several(70, "family state");
/// `write`: the stall decisions. A writer that waits reads the background error under this lock.
pub static STALLS: Rank = Rank::new(75, "write stalls");
/// `errors`: the background error.
pub static ERRORS: Rank = Rank::new(80, "background error");
/// `wal`: one sync of the active WAL at a time. Held during I/O.
pub static ACTIVE_SYNC: Rank = Rank::new(88, "sync of the active WAL");
/// `wal`: one sync of the closed WALs at a time. Held during I/O.
pub static WAL_SYNC: Rank = Rank::new(90, "sync of closed WALs");
/// `direct`: one sync of blob files that writes append to at a time. Held during I/O.
pub static DIRECT_SYNC: Rank = Rank::new(91, "sync of blob files");
/// `wal`: the active WAL. Held during I/O.
pub static ACTIVE_WAL: Rank = Rank::new(92, "active WAL");
/// `wal`: the closed WALs.
pub static CLOSED_WALS: Rank = Rank::new(94, "closed WALs");
/// `wal`: the failure of the WALs.
pub static WAL_FAILURE: Rank = Rank::new(96, "failure of the WALs");
/// `wal`: the durable size of the MANIFEST, which the next write batch carries.
pub static MANIFEST_MARK: Rank = Rank::new(98, "mark of the MANIFEST");
