//! Locks, atomics and threads: those of `env::sync`, which a schedule explorer can stand in for.

pub use env::sync::*;
