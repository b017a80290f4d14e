//! The space that a WAL reserves in the file system: nothing before its first sync.
//!
//! ```text
//!  append append append │ sync: reserve a piece, then sync │ append sync append sync ... │ sync: the next piece
//! ```
//! Reserved space makes the sync of a small record cheaper: the sync finds its blocks allocated. It makes an append dearer: the
//! file system looks for free blocks, and reads its map of free blocks from the disk if the map is not in memory. On a busy disk
//! one such read held all writers back for 240 ms. Without reserved space, the file system allocates when it writes the pages
//! back, and no writer waits for that. So only a writer that waits for the disk anyway reserves space.

use env::Append;

/// The reserved part of the active WAL.
#[derive(Default)]
pub(super) struct Reserved {
    /// The size of one request; 0 reserves nothing.
    piece_bytes: u64,
    /// The end of the reserved part.
    end: u64,
}

impl Reserved {
    /// Nothing is reserved yet.
    pub fn nothing(piece_bytes: u64) -> Self {
        Reserved { piece_bytes, end: 0 }
    }

    /// Before a sync of the first `size` bytes of `file`: reserves the next piece, if the file has reached the end of the
    /// reserved part. Best effort: the file system takes appends also where it reserves nothing. Returns true: the sync is
    /// wanted in each case.
    pub fn before_sync(&mut self, file: &mut dyn Append, size: u64) -> bool {
        if self.piece_bytes > 0 && size >= self.end {
            let _ = file.preallocate(size, self.piece_bytes);
            self.end = size.saturating_add(self.piece_bytes);
        }
        true
    }
}
