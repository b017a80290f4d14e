//! Annotation: a file's bytes together with their meaning, for golden tests, dumps and the inspector.
//!
//! A [`Tree`] covers its bytes without gaps: each leaf is a field, each branch is a structure. A printed leaf
//! shows offset, bytes and meaning:
//!
//! ```text
//! 0000000000  batch
//! 0000000000    0100000000000000  sequence 1
//! 0000000008    01000000          count 1
//! 000000000c    Put
//! 000000000c      01              tag 1 Value
//! 000000000d      016b            key "k"
//! ```
//! Annotation never fails: bytes that cannot be decoded become a leaf with a message. No byte is left out.

mod batch;
mod edit;
mod probe;
mod tree;
mod wal;

pub use batch::batch;
pub use edit::edit;
pub use tree::Tree;
pub use wal::{Content, wal};

use probe::Probe;

#[cfg(test)]
mod tests;
