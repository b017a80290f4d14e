//! The engine: threads, locks, WALs, the MANIFEST, jobs, recovery.
//!
//! The crates below this crate make decisions (`lsm`), and read and write single files (`table`). This crate performs
//! the actions in the right order. The rows of the modules, top to bottom; a module imports only from rows below its
//! own row:
//!
//! ```text
//!  db
//!  opening                        open: check, lock, recover, begin to write
//!  upkeep                         periodic work, as a table
//!  jobs                           flush, compaction, ingestion, resume, purge; one type for each kind
//!  schedule                       what is due: queues, slots, reservations, stalls
//!  sst_reader                     one SST file, without a database
//!  write  read  iter  flush  compaction  recovery  repair  ingest
//!  apply  source  output  commit
//!  family  direct
//!  wal  manifest  files  batch  errors  |  components  info_log  |  options  event  stats  |  sequence  prepared  release_notifier  |  ranks  |  sync
//! ```
//! The order of all locks is in `ranks`.

#![forbid(unsafe_code)]
#![cfg_attr(test, allow(clippy::disallowed_methods, clippy::disallowed_types))]

mod apply;
pub mod batch;
pub mod commit;
mod compaction;
pub mod components;
pub mod db;
mod direct;
mod errors;
pub mod event;
pub mod family;
pub mod files;
mod flush;
pub mod info_log;
pub mod ingest;
pub mod iter;
mod jobs;
pub mod manifest;
mod opening;
pub mod options;
mod output;
pub mod prepared;
pub mod properties;
mod ranks;
pub mod read;
mod recovery;
mod release_notifier;
pub mod remote;
pub mod repair;
mod schedule;
pub mod sequence;
pub mod source;
pub mod sst_reader;
pub mod stats;
mod sync;
mod upkeep;
pub mod wal;
pub mod write;

pub use stats::trace;
