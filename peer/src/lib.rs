//! RocksDB's own library, loaded at run time, behind handles that cannot be misused.
//!
//! ```text
//!  table     function pointers of the C interface, looked up by name
//!  library   the loaded library, options from text, errors, listing and destroying
//!  db        an open database: families, writes, batches, maintenance, properties
//!  files     checkpoints, external SST files, backups, secondary instances
//!  read      gets, multi-gets, snapshots, iterators
//!  txn       pessimistic transactions
//!  crash     a report that names a crash of a thread of RocksDB
//! ```
//! Nothing is compiled or linked: the caller names the library as a file (the native library in the
//! `rocksdbjni` archive exports the C interface). Every handle holds references to the objects that the
//! handle needs, so handles may be dropped in any order. Errors have the text of RocksDB's
//! `Status::ToString`.
//!
//! For programs that compare; no product crate depends on it.

mod crash;
mod db;
mod files;
mod library;
mod options_file;
mod read;
mod release;
mod table;
mod trace;
mod txn;

pub use crash::{CRASHED, report_crashes};
pub use db::{Batch, Compaction, Db, Family, Writing};
pub use files::{Backups, SstWriter};
pub use library::{Library, Options, Result, VARIABLE};
pub use options_file::load_latest_options;
pub use read::{Iter, Reading, Snapshot};
pub use release::visit;
pub use txn::{LOCK_TIMEOUT_MS, Transaction, TransactionDb, WritePolicy};
