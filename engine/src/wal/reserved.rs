//! The space that a WAL reserves in the file system: nothing before its first sync.
//!
//! ```text
//!  append append append │ sync: reserve a piece, then sync │ append sync append sync ... │ sync: the next piece
//! ```
//! Reserved space makes the sync of a small record cheaper, because its blocks are allocated already. It makes an
//! append more expensive: the file system looks for free blocks, and reads its map of free blocks from the disk if
//! the map is not in memory. On a busy disk, one such read delayed all writers by 240 ms. Without reserved space,
//! the file system allocates the blocks when it writes the pages back, and no writer waits. So only a sync reserves
//! space: its writer waits for the disk anyway.
//!
//! A piece begins at a page. If the piece began inside of a page that has no block yet, ext4 would need 4 to 10 ms in
//! place of 0.3 ms for each later sync of the file.

use env::Append;

/// The size of a page in bytes. No block of ext4 is larger.
const PAGE: u64 = 4096;

/// The reserved part of the active WAL.
#[derive(Default)]
pub(super) struct Reserved {
    /// The size of one request; 0 reserves nothing.
    piece_bytes: u64,
    /// The end of the reserved part.
    end: u64,
}

impl Reserved {
    /// Starts without a reserved part.
    pub fn nothing(piece_bytes: u64) -> Self {
        Reserved { piece_bytes, end: 0 }
    }

    /// Reserves the next piece before a sync of the first `size` bytes of `file`, if the file has reached the end
    /// of the reserved part. Ignores an error: the file system takes appends also without reserved space. Returns
    /// true, because the sync is always wanted.
    pub fn before_sync(&mut self, file: &mut dyn Append, size: u64) -> bool {
        if self.piece_bytes > 0 && size >= self.end {
            let start = size.next_multiple_of(PAGE);
            let _ = file.preallocate(start, self.piece_bytes);
            self.end = start.saturating_add(self.piece_bytes);
            base::invariant!(
                size < self.end,
                "space is reserved up to {} in a WAL of {size} bytes",
                self.end
            );
        }
        true
    }
}

#[cfg(test)]
mod tests;
