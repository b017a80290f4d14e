//! Scripts for the deciders: commands, input, expected text. `REWRITE=1` writes the answers down.

mod collapse;
mod merging;
mod script;
mod tree;
