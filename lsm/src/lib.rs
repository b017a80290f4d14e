//! The brain of the tree: plain data in, plain data out.
//!
//! Everything here decides and nothing here acts: no file, no thread, no clock but a `now` that is
//! passed in. What must be fetched while deciding comes through a capability handed in by the caller.
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
pub mod stripes;
pub mod trimmed;
pub mod version;
