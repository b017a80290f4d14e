//! The decisions of the LSM tree, as plain data: versions, the choice of compactions, and the merge of sorted
//! sources.
//!
//! The code here uses no file, no thread and no clock. The caller passes the time as the argument `now`, and
//! implements traits for data that must be read during a decision.
//!
//! ```text
//!  file_meta ── version ── pick ── Task ┐                       ┌── merging ◄── sources
//!  (one file)   (the tree)  │           └► (engine runs it) ──► │      ▼
//!                        pressure                        cut ◄──┴── compaction_iter ◄── stripes, merge, range_del
//! ```

#![warn(missing_docs)]
#![forbid(unsafe_code)]
#![cfg_attr(test, allow(clippy::disallowed_methods, clippy::disallowed_types))]

pub mod blob_flow;
pub mod clipped;
pub mod compaction_iter;
pub mod cut;
pub mod draw;
pub mod file_meta;
pub mod filter;
pub mod merge;
pub mod merging;
pub mod pick;
pub mod pressure;
pub mod range_del;
pub mod seqno_time;
pub mod stripes;
pub mod table_file;
pub mod trimmed;
pub mod version;
