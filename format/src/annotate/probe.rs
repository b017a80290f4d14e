//! A cursor over bytes that records the meaning of each field. After a failed read, all remaining bytes
//! become one leaf.

use base::coding::Cursor;
use base::key;

use super::tree::{Tree, text};

/// The walk over one structure.
pub(super) struct Probe<'a> {
    bytes: &'a [u8],
    cursor: Cursor<'a>,
    base: u64,
    children: Vec<Tree>,
    failed: bool,
}

impl<'a> Probe<'a> {
    /// `base` is the offset of `bytes` in the whole input.
    pub fn new(bytes: &'a [u8], base: u64) -> Self {
        Probe { bytes, cursor: Cursor::new(bytes), base, children: Vec::new(), failed: false }
    }

    /// Returns true if there are more bytes to read.
    pub fn more(&self) -> bool {
        !self.failed && !self.cursor.is_empty()
    }

    /// Returns the offset of the next unread byte in the whole input.
    pub fn offset(&self) -> u64 {
        self.base + self.cursor.offset() as u64
    }

    /// Returns the unread bytes, also after a failed read.
    pub fn rest(&self) -> &'a [u8] {
        self.cursor.rest()
    }

    /// Reads a little-endian 32-bit integer. The label shows the number. Returns `None` after a failed read.
    pub fn u32(&mut self, label: &str) -> Option<u32> {
        self.field(Cursor::u32, |n| format!("{label} {n}"))
    }

    /// Reads a little-endian 64-bit integer. The label shows the number. Returns `None` after a failed read.
    pub fn u64(&mut self, label: &str) -> Option<u64> {
        self.field(Cursor::u64, |n| format!("{label} {n}"))
    }

    /// Reads a varint of at most 32 bits. The label shows the number. Returns `None` after a failed read.
    pub fn varint32(&mut self, label: &str) -> Option<u32> {
        self.field(Cursor::varint32, |n| format!("{label} {n}"))
    }

    /// Reads a varint of at most 64 bits. The label shows the number. Returns `None` after a failed read.
    pub fn varint64(&mut self, label: &str) -> Option<u64> {
        self.field(Cursor::varint64, |n| format!("{label} {n}"))
    }

    /// Reads a length-prefixed slice.
    pub fn slice(&mut self, label: &str) -> Option<&'a [u8]> {
        self.field(Cursor::slice, |s| format!("{label} {}", text(s)))
    }

    /// Reads a length-prefixed internal key. The label shows the key in its printed form.
    pub fn internal_key(&mut self, label: &str) -> Option<&'a [u8]> {
        self.field(Cursor::slice, |s| match key::parse(s) {
            Ok(key) => format!("{label} {key}"),
            Err(_) => format!("{label}, not an internal key: {}", text(s)),
        })
    }

    /// Reads a field. `label` makes the label from the value.
    pub fn field<T>(
        &mut self,
        read: impl FnOnce(&mut Cursor<'a>) -> Option<T>,
        label: impl FnOnce(&T) -> String,
    ) -> Option<T> {
        if self.failed {
            return None;
        }
        let start = self.cursor.offset();
        let mut ahead = self.cursor;
        match read(&mut ahead) {
            Some(value) => {
                self.cursor = ahead;
                let bytes = &self.bytes[start..self.cursor.offset()];
                self.children.push(Tree::leaf(self.base + start as u64, bytes, label(&value)));
                Some(value)
            }
            None => {
                self.failed = true;
                None
            }
        }
    }

    /// Reads an inner structure: `walk` reads it from the current position and returns its name.
    pub fn group(&mut self, walk: impl FnOnce(&mut Probe<'a>) -> String) {
        let start = self.cursor.offset();
        let mut inner = Probe::new(&self.bytes[start..], self.offset());
        let label = walk(&mut inner);
        let n = inner.cursor.offset();
        self.failed |= inner.failed;
        self.cursor.take(n);
        if n > 0 {
            let bytes = self.bytes[start..start + n].to_vec();
            let offset = self.base + start as u64;
            self.children.push(Tree { offset, bytes, label, children: inner.children, derived: false });
        }
    }

    /// Adds a finished tree for the next bytes, and skips as many bytes as the tree covers.
    pub fn push(&mut self, tree: Tree) {
        self.cursor.take(tree.bytes.len());
        self.children.push(tree);
    }

    /// Ends the walk. Bytes that were not read become a leaf.
    pub fn finish(mut self, label: impl Into<String>) -> Tree {
        if !self.cursor.is_empty() {
            let label = if self.failed { "cannot be read" } else { "not read" };
            let offset = self.offset();
            self.children.push(Tree::leaf(offset, self.cursor.rest(), label));
        }
        let label = label.into();
        Tree { offset: self.base, bytes: self.bytes.to_vec(), label, children: self.children, derived: false }
    }
}
