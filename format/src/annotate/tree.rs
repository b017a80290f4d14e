//! The tree of an annotated file, and how it is printed.

use std::fmt;

/// A structure or a field, and its bytes.
#[derive(Clone, Debug, Default, PartialEq, Eq)]
pub struct Tree {
    /// The offset from the start of the annotated bytes.
    pub offset: u64,
    /// The bytes of the structure or field.
    pub bytes: Vec<u8>,
    /// The name of the structure, or the meaning of the field with its value.
    pub label: String,
    /// The parts of a structure, in the order of their bytes. Empty for a field.
    pub children: Vec<Tree>,
    /// True if the children describe bytes that were derived from these bytes (for example a record assembled
    /// from fragments). The children's offsets then are offsets in the derived bytes.
    pub derived: bool,
}

/// The largest number of bytes of a leaf that are printed.
pub(super) const SHOWN_MAX: usize = 16;

impl Tree {
    pub(super) fn leaf(offset: u64, bytes: &[u8], label: impl Into<String>) -> Tree {
        Tree { offset, bytes: bytes.to_vec(), label: label.into(), ..Tree::default() }
    }

    pub(super) fn write(&self, f: &mut fmt::Formatter<'_>, depth: usize) -> fmt::Result {
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

/// Returns bytes as readable text in quotes: printable bytes as they are, other bytes escaped, long values
/// cut.
pub(super) fn text(bytes: &[u8]) -> String {
    let cut = &bytes[..bytes.len().min(40)];
    let dots = if cut.len() < bytes.len() { ".." } else { "" };
    format!("\"{}\"{dots}", cut.escape_ascii())
}
