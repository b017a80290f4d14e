//! Shared memory with a clever layout: arena, memtable, block cache.

mod arena;
pub mod cache;
pub mod memtable;
pub mod range_del;
mod rep;
pub mod shelf;
pub mod write_buffer;
