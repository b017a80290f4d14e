//! Opens a database: checks the request, takes the LOCK, recovers, and only then changes files on disk.
//!
//! ```text
//!  context    check options ─► directories, LOCK, info log
//!  recover    IDENTITY ─► proved: CURRENT, PROOF, MANIFEST ─► column families ─► replay each WAL ─► open SST files
//!  begin      new WAL ─► version edit or new MANIFEST ─► orphan files ─► schedule, jobs, upkeep
//!  opened     the parts, from which `db` makes the handle
//! ```
//! `best` replaces the MANIFEST step of an open with `best_efforts_recovery`. `overtaken` detects that a writer
//! deleted or recycled files that a read-only open needs. Not here: reading the MANIFEST (`manifest`), and the
//! rules of replay (`recovery`).

mod begin;
mod best;
mod context;
mod follow;
mod load;
mod opened;
mod overtaken;
mod proved;
mod recover;
mod request;
mod reuse;
mod session;
mod setup;
mod shared_dirs;
mod stats_family;

pub use context::Opening;
pub use follow::{Before, ReadUpTo, Tails, tenant};
pub use opened::{Opened, Writing};
pub use request::{OpenRequest, Overrides};
pub use setup::{
    Caches, FamilyUse, check_new_name, family_dirs, family_gaps, log_family, make_dir, manifest_settings,
    request_of, tables_max,
};
pub use shared_dirs::Owner;
pub use stats_family::{NAME as STATS_FAMILY, descriptor as stats_descriptor};
