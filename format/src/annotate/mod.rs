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
mod wal;

pub use batch::batch;
pub use edit::edit;
pub use wal::{Content, wal};

use std::fmt;

use probe::Probe;

/// A structure or a field, and the bytes it takes.
#[derive(Clone, Debug, Default, PartialEq, Eq)]
pub struct Tree {
    /// From the start of what was annotated.
    pub offset: u64,
    pub bytes: Vec<u8>,
    pub label: String,
    pub children: Vec<Tree>,
    /// The children are of bytes derived from these (a record put together from fragments), with
    /// offsets of their own.
    pub derived: bool,
}

/// The most bytes of a leaf that are shown.
const SHOWN_MAX: usize = 16;

impl Tree {
    fn leaf(offset: u64, bytes: &[u8], label: impl Into<String>) -> Tree {
        Tree { offset, bytes: bytes.to_vec(), label: label.into(), ..Tree::default() }
    }

    fn write(&self, f: &mut fmt::Formatter<'_>, depth: usize) -> fmt::Result {
        let indent = "  ".repeat(depth);
        if self.children.is_empty() {
            let mut shown: String = self.bytes.iter().take(SHOWN_MAX).map(|b| format!("{b:02x}")).collect();
            if self.bytes.len() > SHOWN_MAX {
                shown.push_str("..");
            }
            return writeln!(f, "{:010x}  {indent}{shown}  {}", self.offset, self.label);
        }
        writeln!(f, "{:010x}  {indent}{} ({} bytes)", self.offset, self.label, self.bytes.len())?;
        self.children.iter().try_for_each(|child| child.write(f, depth + 1))
    }
}

impl fmt::Display for Tree {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        self.write(f, 0)
    }
}

/// Bytes as people read them: printable ones in quotes, others escaped, long ones cut.
fn text(bytes: &[u8]) -> String {
    let cut = &bytes[..bytes.len().min(40)];
    let dots = if cut.len() < bytes.len() { ".." } else { "" };
    format!("\"{}\"{dots}", cut.escape_ascii())
}

#[cfg(test)]
mod tests;
