//! Tests of the public API of the crate.

#![allow(clippy::disallowed_methods, clippy::disallowed_types, reason = "tests use the machine")]

mod callbacks;
mod conflicts;
mod handles;
#[path = "../../examples/notes.rs"]
#[allow(dead_code, reason = "the program has a main function")]
mod notes;
mod patch;
mod peers;
mod worlds;
