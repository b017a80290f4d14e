//! Scripts for the deciders: commands, input, expected text. `IRONSTONE_REWRITE=1` writes the answers down.

mod collapse;
mod merging;
mod script;
mod tree;
