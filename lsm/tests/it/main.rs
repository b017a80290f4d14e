//! Scripts for the deciders: commands, input, expected text. `IRONSTONE_REWRITE=1` writes the answers down.

#![allow(clippy::disallowed_methods, clippy::disallowed_types, reason = "a test")]

mod compaction_iter;
mod merging;
mod operators;
mod script;
mod tree;
