//! Shared memory with a clever layout: arena, memtable, block cache.

pub mod cache;
pub mod memtable;
pub mod range_del;
pub mod write_buffer;
