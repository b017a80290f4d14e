//! Shared memory with a clever layout: arena, memtable, block cache.
