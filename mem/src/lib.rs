//! Shared memory with a clever layout: arena, memtable, block cache.

#![warn(missing_docs)]
#![cfg_attr(test, allow(clippy::disallowed_methods, clippy::disallowed_types))]

pub mod arena;
pub mod cache;
pub mod memtable;
pub mod range_del;
mod rep;
pub mod shelf;
mod sync;
pub mod write_buffer;
#[cfg_attr(loom, path = "zeroed/explored.rs")]
mod zeroed;
