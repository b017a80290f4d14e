//! Threads, locks, WAL, MANIFEST, jobs, recovery.

#![forbid(unsafe_code)]

pub mod options;
