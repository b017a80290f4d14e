//! A test rig that searches for faults of the engine. One seed determines one run.
//!
//! ```text
//!  sample   options drawn from all that must not change an answer
//!  script   operations drawn from a seed, as plain data that can be cut down
//!  stamp    timestamps of a run whose column families have them
//!  state    what must be read: the reference model of every family
//!  look     everything a reader can do, compared with a state
//!  random   script on a database that nobody harms: every answer equals the model's
//!  damage   small databases, one place damaged: right rows or an error, never else
//!  scene    scripted workloads as text; play runs one and notes what a crash may leave
//!  every    every crash and every failing call of the scenes
//!  audit    what must hold of a database just opened: rows by every way of reading, levels, files
//!  calls    calls of the front door that no other campaign makes, compared with models
//!  copies   every crash and every failing call of checkpoints, backups and the like
//!  hang     the end of a run that has none
//!  prepared prepared transactions on a disk that crashes or fails
//!  refusals families dropped under jobs, directories of other databases, threads that are refused
//!  crash    script on a disk that crashes or fails: one prefix state, between durable and attempted
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
