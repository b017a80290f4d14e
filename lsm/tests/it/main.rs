//! Scripts for the decisions: commands, input, expected text. `IRONSTONE_REWRITE=1` writes the actual results
//! into the scripts.

#![allow(clippy::disallowed_methods, clippy::disallowed_types, reason = "a test")]

mod compaction_iter;
mod merging;
mod operators;
mod tree;
mod volume;

/// Returns the page with this name.
fn page(name: &str) -> std::path::PathBuf {
    std::path::Path::new(env!("CARGO_MANIFEST_DIR")).join("tests/it/testdata").join(name)
}
