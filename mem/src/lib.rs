//! Shared memory with a clever layout: arena, memtable, block cache.

pub mod cache;
pub mod write_buffer;
