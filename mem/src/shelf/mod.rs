//! The shelf: bytes that are written once, kept long and read here and there, as filters are.
//!
//! ```text
//! board of 4 MiB:  | piece | piece |   piece   | ..  free  |      pieces start on multiples of 64 bytes
//! ```
//! Boards are mapped on huge pages, which a heap of 4 KiB pages cannot offer: a probe at random then misses
//! the cache but not the page tables as well. Pieces on 64 bytes spare a cache-local Bloom filter every
//! second line. A board goes back when the last of its pieces does, so pieces that live equally long belong
//! on one shelf; a piece above a quarter of a board has a board of its own.

use std::alloc::Layout;
use std::ops::Deref;
use std::ptr::NonNull;
use std::sync::Arc;

use parking_lot::Mutex;

use crate::arena::chunk;

const BOARD: usize = 2 * chunk::HUGE_PAGE;
const ALIGN: usize = 64;
const OWN_BOARD: usize = BOARD / 4;

/// Where pieces are put. Any thread; a lock is held while a piece's place is found, not while it is filled.
#[derive(Debug, Default)]
pub struct Shelf {
    open: Mutex<Option<(Arc<Board>, usize)>>,
}

/// Bytes on a shelf; cheap to clone, `Deref` to `[u8]`.
#[derive(Clone)]
pub struct Piece {
    /// Keeps the memory; `None` where the bytes are on the heap.
    _board: Option<Arc<Board>>,
    heap: Option<Arc<[u8]>>,
    start: NonNull<u8>,
    len: usize,
}

// SAFETY: a piece is read-only from its making on, and owns a share of the memory it points into.
unsafe impl Send for Piece {}
// SAFETY: as above.
unsafe impl Sync for Piece {}

#[derive(Debug)]
struct Board {
    start: NonNull<u8>,
    layout: Layout,
}

// SAFETY: a board hands out disjoint parts only (`Shelf::place`), each written before it is shared.
unsafe impl Send for Board {}
// SAFETY: as above.
unsafe impl Sync for Board {}

impl Drop for Board {
    fn drop(&mut self) {
        // SAFETY: mapped in `Board::new` with this layout; the last piece, and so the last reader, is gone.
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
    /// An empty shelf; it maps its first board with the first piece.
    pub const fn new() -> Shelf {
        Shelf { open: Mutex::new(None) }
    }

    /// Puts a copy of `bytes` on the shelf. Where the system gives no more memory for boards the heap is used.
    pub fn keep(&self, bytes: &[u8]) -> Piece {
        let Some((board, start)) = self.place(bytes.len()) else {
            let heap: Arc<[u8]> = bytes.into();
            let start = NonNull::from(&*heap).cast();
            return Piece { _board: None, heap: Some(heap), start, len: bytes.len() };
        };
        // SAFETY: `place` found `bytes.len()` bytes at `start` within the board, for this piece alone, and the
        // board lives as long as the piece; `bytes` lies elsewhere.
        unsafe { start.as_ptr().copy_from_nonoverlapping(bytes.as_ptr(), bytes.len()) };
        Piece { _board: Some(board), heap: None, start, len: bytes.len() }
    }

    /// A place of `len` bytes that no other piece has.
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
    /// Bytes this piece occupies.
    pub fn memory_usage_bytes(&self) -> usize {
        if self.heap.is_some() { self.len } else { self.len.next_multiple_of(ALIGN).max(ALIGN) }
    }
}

impl Deref for Piece {
    type Target = [u8];

    #[inline]
    fn deref(&self) -> &[u8] {
        // SAFETY: `start` heads `len` bytes that were written in `keep`, are never written again, and live as
        // long as the board or heap block this piece owns a share of.
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
