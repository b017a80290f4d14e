//! The memory structures that threads share: arena, memtable, block cache, range tombstones, filter memory,
//! the write buffer manager, and the memory budget.

#![warn(missing_docs)]
#![cfg_attr(test, allow(clippy::disallowed_methods, clippy::disallowed_types))]

pub mod arena;
pub mod budget;
pub mod bytes;
pub mod cache;
pub mod memtable;
pub mod range_del;
mod rep;
pub mod shelf;
mod sync;
pub mod write_buffer;
#[cfg_attr(loom, path = "zeroed/explored.rs")]
mod zeroed;
