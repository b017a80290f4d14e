//! One block of a WAL or MANIFEST, as it was read.
//!
//! Its memory is kept for the next reader of the thread. Most WALs and MANIFESTs are shorter than a block.
//! Clearing 32 KiB for each reader of an open cost more than reading the files.

use std::cell::Cell;
use std::ops::Deref;

use base::Result;

use super::BLOCK_LEN;

thread_local! {
    static SPARE: Cell<Vec<u8>> = const { Cell::new(Vec::new()) };
}

/// The block. It dereferences to the bytes that were read.
#[derive(Default)]
pub(super) struct Block {
    /// Empty, or as long as a block. The bytes after `len` have any content.
    bytes: Vec<u8>,
    len: usize,
}

impl Block {
    pub(super) fn clear(&mut self) {
        self.len = 0;
    }

    /// Replaces the content by the bytes that `read` stores. `read` gets a buffer of `wanted` bytes, at most
    /// one block, and returns the number of bytes that it stored. After an error the block is empty.
    pub(super) fn fill(
        &mut self,
        wanted: usize,
        read: impl FnOnce(&mut [u8]) -> Result<usize>,
    ) -> Result<()> {
        self.len = 0;
        if self.bytes.is_empty() {
            // While the thread ends, its spare memory does not exist.
            self.bytes = SPARE.try_with(Cell::take).unwrap_or_default();
            self.bytes.resize(BLOCK_LEN, 0);
        }
        self.len = read(&mut self.bytes[..wanted])?.min(wanted);
        Ok(())
    }
}

impl Deref for Block {
    type Target = [u8];

    fn deref(&self) -> &[u8] {
        &self.bytes[..self.len]
    }
}

impl Drop for Block {
    fn drop(&mut self) {
        if !self.bytes.is_empty() {
            // While the thread ends, the memory is freed.
            let _ = SPARE.try_with(|spare| spare.set(std::mem::take(&mut self.bytes)));
        }
    }
}
