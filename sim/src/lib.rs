//! A test rig that searches for faults of the engine. One seed determines one run.
//!
//! ```text
//!  sample   draws options: all options that must not change a result
//!  script   draws operations from a seed, as plain data that can be shortened
//!  stamp    timestamps for column families with timestamps
//!  state    the expected rows: the reference model of every column family
//!  look     every kind of read, compared with a state
//!  random   runs a script without faults; every result equals the result of the model
//!  damage   damages one place of a small database; a read returns the right rows or an error
//!  scene    scripted workloads as text; play runs a scene and records the possible states after a crash
//!  every    every crash and every failing call of the scenes
//!  audit    checks a database after an open: rows by every kind of read, levels, files
//!  calls    calls of the public API that no other campaign makes, compared with models
//!  copies   every crash and every failing call of checkpoints, backups and similar calls
//!  hang     ends a run that does not end by itself
//!  prepared prepared transactions on a disk that crashes or fails
//!  refusals column families dropped during jobs, directories of other databases, failed starts of threads
//!  crash    runs a script on a disk that crashes or fails; recovery finds a state from durable to attempted
//! ```
//! A run is a function of its seed. A failure is reported with its seed and the command that repeats it.

#![forbid(unsafe_code)]
#![allow(clippy::disallowed_methods, clippy::disallowed_types, reason = "a rig")]

pub mod audit;
pub mod calls;
pub mod copies;
pub mod crash;
pub mod damage;
pub mod every;
pub mod hang;
pub mod life;
pub mod look;
#[cfg(test)]
mod pinned;
pub mod play;
pub mod prepared;
pub mod random;
pub mod refusals;
pub mod sample;
pub mod scene;
pub mod script;
pub mod stamp;
pub mod state;
