//! Locks, atomics and threads of `env::sync`. Tests can replace them by those of a schedule explorer.

pub use env::sync::*;
