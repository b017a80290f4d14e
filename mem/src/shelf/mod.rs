//! The shelf: memory for bytes that are written once, kept long, and read at random, such as filters.
//!
//! ```text
//! board of 4 MiB:  | piece | piece |   piece   | ..  free  |      pieces start on multiples of 64 bytes
//! ```
//! Boards are mapped on huge pages, which a heap with 4 KiB pages does not offer. A random read then misses
//! the cache, but does not also miss the page tables. With pieces on multiples of 64 bytes, a probe of a
//! cache-local Bloom filter reads one cache line instead of sometimes two. A board is freed with the last of
//! its pieces, so pieces with equally long lives belong on one shelf. A piece larger than a quarter of a
//! board gets its own board.

use std::alloc::Layout;
use std::ops::Deref;
use std::ptr::NonNull;
use std::sync::Arc;

use parking_lot::Mutex;

use crate::arena::chunk;

const BOARD: usize = 2 * chunk::HUGE_PAGE;
const ALIGN: usize = 64;
const OWN_BOARD: usize = BOARD / 4;

/// Stores pieces. All methods may be called from any thread. A lock is held while the shelf finds a place for
/// a piece, but not while the piece is filled.
#[derive(Debug, Default)]
pub struct Shelf {
    open: Mutex<Option<(Arc<Board>, usize)>>,
}

/// Bytes on a shelf. A clone is cheap. Dereferences to `[u8]`.
#[derive(Clone)]
pub struct Piece {
    /// Keeps the memory alive. `None` if the bytes are on the heap.
    _board: Option<Arc<Board>>,
    heap: Option<Arc<[u8]>>,
    start: NonNull<u8>,
    len: usize,
}

// SAFETY: a piece is read-only after its construction, and owns a share of the memory that it points into.
unsafe impl Send for Piece {}
// SAFETY: a piece is read-only after its construction, so threads may share it.
unsafe impl Sync for Piece {}

#[derive(Debug)]
struct Board {
    start: NonNull<u8>,
    layout: Layout,
}

// SAFETY: a board hands out disjoint parts only (`Shelf::place`), and each part is written before it is
// shared.
unsafe impl Send for Board {}
// SAFETY: a board hands out disjoint parts only, under a lock, and each part is written before it is shared.
unsafe impl Sync for Board {}

impl Drop for Board {
    fn drop(&mut self) {
        // SAFETY: `Board::new` mapped the memory with this layout. The last piece is gone, so no reader is
        // left.
        unsafe { chunk::unmap(self.start.as_ptr(), self.layout) }
    }
}

impl Board {
    fn new(size: usize) -> Option<Arc<Board>> {
        base::invariant!(size > 0, "a board without bytes is mapped");
        let align = if size >= chunk::HUGE_PAGE { chunk::HUGE_PAGE } else { 4096 };
        let layout = Layout::from_size_align(size, align).ok()?;
        let start = NonNull::new(chunk::map(layout)?)?;
        Some(Arc::new(Board { start, layout }))
    }
}

impl Shelf {
    /// Makes an empty shelf. The first piece maps the first board.
    pub const fn new() -> Shelf {
        Shelf { open: Mutex::new(None) }
    }

    /// Stores a copy of `bytes` on the shelf. If the system has no memory for a board, the copy goes to the
    /// heap.
    pub fn keep(&self, bytes: &[u8]) -> Piece {
        let Some((board, start)) = self.place(bytes.len()) else {
            let heap: Arc<[u8]> = bytes.into();
            let start = NonNull::from(&*heap).cast();
            return Piece { _board: None, heap: Some(heap), start, len: bytes.len() };
        };
        // SAFETY: `place` found `bytes.len()` bytes at `start` in the board, for this piece only. The board
        // lives as long as the piece. `bytes` does not overlap the board.
        unsafe { start.as_ptr().copy_from_nonoverlapping(bytes.as_ptr(), bytes.len()) };
        Piece { _board: Some(board), heap: None, start, len: bytes.len() }
    }

    /// Returns a place of `len` bytes that no other piece has.
    fn place(&self, len: usize) -> Option<(Arc<Board>, NonNull<u8>)> {
        if len > OWN_BOARD {
            let board = Board::new(len.checked_next_multiple_of(4096)?)?;
            let start = board.start;
            return Some((board, start));
        }
        let mut open = self.open.lock();
        let room = len.next_multiple_of(ALIGN).max(ALIGN);
        base::invariant!(room <= BOARD, "a piece of {len} bytes does not fit on a board");
        if !matches!(&*open, Some((_, used)) if used + room <= BOARD) {
            *open = Some((Board::new(BOARD)?, 0));
        }
        let (board, used) = open.as_mut()?;
        // SAFETY: used + room ≤ BOARD, the length of the board's mapping.
        let start = unsafe { board.start.add(*used) };
        *used += room;
        base::invariant!(*used <= BOARD, "the pieces of a board have {used} bytes");
        Some((Arc::clone(board), start))
    }
}

impl Piece {
    /// Returns the number of bytes that this piece occupies.
    pub fn memory_usage_bytes(&self) -> usize {
        if self.heap.is_some() { self.len } else { self.len.next_multiple_of(ALIGN).max(ALIGN) }
    }
}

impl Deref for Piece {
    type Target = [u8];

    #[inline]
    fn deref(&self) -> &[u8] {
        // SAFETY: `keep` wrote `len` bytes at `start`. They are never written again, and they live as long as
        // the board or heap block that this piece shares.
        unsafe { std::slice::from_raw_parts(self.start.as_ptr(), self.len) }
    }
}

impl std::fmt::Debug for Piece {
    fn fmt(&self, f: &mut std::fmt::Formatter<'_>) -> std::fmt::Result {
        write!(f, "Piece({} bytes)", self.len)
    }
}

#[cfg(test)]
mod tests;
