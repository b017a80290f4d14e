//! Recovery at open: makes column families from the MANIFEST, and makes memtables and SST files from the WALs.
//!
//! ```text
//!  CURRENT ─► MANIFEST ─► column families and versions, checked ─► WALs replayed ─► memtables flushed
//! ```
//! Recovery changes no file until it has read and checked all of them. Replay writes only new SST files, and no
//! version names these files until the new MANIFEST is in place.

mod again;
mod create;
mod durable;
mod filter;
mod flush;
mod inline_blobs;
mod keep;
mod prepared;
mod rules;
mod separated;
mod settings;
mod tail;
mod timestamps;
mod trees;
mod wals;

pub use again::sections_again;
pub use create::{create_database, has_no_files, new_db_id};
pub use durable::report_lost;
pub use flush::flush_family;
pub use keep::keep_wal;
pub use prepared::undecided;
pub use separated::encoded_parts;
pub use settings::{ReplaySettings, Replayed};
pub use tail::Tail;
pub use trees::{EarlierFiles, RequestedFamily, build_families, new_family};
pub use wals::Replay;
