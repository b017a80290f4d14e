//! Opening: what the MANIFEST says becomes trees, what the logs hold becomes memtables and tables.
//!
//! ```text
//!  CURRENT ─► MANIFEST ─► families and trees, checked ─► logs replayed ─► memtables flushed
//! ```
//! Nothing on disk changes until everything has been read and checked; what replay writes are new tables
//! that nothing refers to until the new MANIFEST is in place.

mod create;
mod durable;
mod filter;
mod flush;
mod keep;
mod prepared;
mod rules;
mod separated;
mod settings;
mod tail;
mod trees;
mod wals;

pub use create::{create_database, new_db_id};
pub use durable::tell as tell_lost;
pub use flush::flush_family;
pub use keep::keep_wal;
pub use prepared::undecided;
pub use separated::encoded_parts;
pub use settings::{ReplaySettings, Replayed};
pub use tail::Tail;
pub use trees::{RequestedFamily, build_families, new_family};
pub use wals::Replay;
