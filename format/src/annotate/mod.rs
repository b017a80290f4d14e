//! Bytes with what they mean beside them: for golden tests, dumps and the inspector.
//!
//! A [`Tree`] covers its bytes without gaps: each leaf is a field, each branch a structure. Printed, a
//! leaf shows offset, bytes and meaning:
//!
//! ```text
//! 0000000000  batch
//! 0000000000    0100000000000000  sequence 1
//! 0000000008    01000000          count 1
//! 000000000c    Put
//! 000000000c      01              tag 1 Value
//! 000000000d      016b            key "k"
//! ```
//! Annotating is total: bytes that do not decode become a leaf with a message. No byte is left out.

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
