//! One block of a log as it was read.
//!
//! Its memory goes to the thread's next reader: most logs and MANIFESTs are shorter than a block, and to clear 32 KiB
//! for each of the readers of an opening cost more than what they read.

use std::cell::Cell;
use std::ops::Deref;

use base::Result;

use super::BLOCK_LEN;

thread_local! {
    static SPARE: Cell<Vec<u8>> = const { Cell::new(Vec::new()) };
}

/// Reads as the bytes that are there.
#[derive(Default)]
pub(super) struct Block {
    /// Empty, or as long as a block; what is behind `len` is anything.
    bytes: Vec<u8>,
    len: usize,
}

impl Block {
    pub(super) fn clear(&mut self) {
        self.len = 0;
    }

    /// Becomes what `read` puts into the first `wanted` bytes, at most a block; it tells how many it put there.
    /// Empty after an error.
    pub(super) fn fill(
        &mut self,
        wanted: usize,
        read: impl FnOnce(&mut [u8]) -> Result<usize>,
    ) -> Result<()> {
        self.len = 0;
        if self.bytes.is_empty() {
            // A thread that is ending keeps nothing.
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
            // A thread that ends keeps nothing.
            let _ = SPARE.try_with(|spare| spare.set(std::mem::take(&mut self.bytes)));
        }
    }
}
