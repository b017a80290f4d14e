//! An embeddable, persistent, ordered key-value store that keeps RocksDB's files.

#![forbid(unsafe_code)]
