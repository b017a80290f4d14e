//! The order of all locks that a thread may hold together. A thread takes locks from the top of the table to its end.
//!
//! The order is checked if the checks of [`base::invariant!`] are compiled in: see [`crate::sync::RankedMutex`]. All other
//! locks are leaves: a thread takes no ranked lock while it holds a leaf. The leadership of a write group is not a lock.
//! The leadership comes after [`PROOF`] and before [`MANIFEST`]. Locks of a condition variable have no rank yet: the stall
//! controller, then the WALs (syncing, active, closed, failed), then the event count, which a thread notifies under any lock.

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
/// `errors`: the background error.
pub static ERRORS: Rank = Rank::new(80, "background error");
