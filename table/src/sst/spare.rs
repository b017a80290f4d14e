//! The memory of evicted data blocks, for the next blocks of a thread.
//!
//! A full block cache evicts a block for each inserted block, mostly a block that another thread had read.
//! An allocator with one arena for each thread, such as glibc's, does not give this memory to another
//! thread. With a cache of 477 MB, 108 MB of chunks were free, and the process requested more memory from the system.
//! So the thread that evicts a block keeps its memory for the next read of the thread. [`mem::bytes`] keeps larger memory.

use std::cell::RefCell;
use std::sync::Arc;

/// Maximum length of a piece that is kept. A block with one value of 64 KiB is a little longer than 64 KiB.
const LARGEST: usize = 80 << 10;
/// Maximum number of pieces that a thread keeps. With this number, one of them usually has the right length.
const KEPT: usize = 16;
/// Maximum number of bytes that a thread keeps.
pub(super) const KEPT_BYTES: usize = 128 << 10;
/// Lengths of pieces are multiples of this step, less [`OVERHEAD`]. Most allocators round to such lengths
/// anyway.
const STEP: usize = 16;
const OVERHEAD: usize = 3 * size_of::<usize>();
/// A block may use a piece that is longer than the block by one part in this number.
const SLACK: usize = 32;

#[derive(Default)]
struct Kept {
    pieces: Vec<Arc<[u8]>>,
    bytes: usize,
}

impl Kept {
    /// Takes the shortest piece with enough room, if it is not much too long.
    fn take(&mut self, len: usize) -> Option<Arc<[u8]>> {
        let fits = |piece: &Arc<[u8]>| (len..=len + len / SLACK + STEP).contains(&piece.len());
        let lengths = self.pieces.iter().enumerate().filter(|(_, piece)| fits(piece));
        let (at, _) = lengths.min_by_key(|(_, piece)| piece.len())?;
        let piece = self.pieces.swap_remove(at);
        base::invariant!(self.bytes >= piece.len(), "the kept pieces have fewer bytes than one of them");
        self.bytes -= piece.len();
        Some(piece)
    }

    /// Keeps a piece. The oldest piece is freed first, so that pieces of unused lengths do not stay.
    fn give(&mut self, piece: Arc<[u8]>) {
        self.bytes += piece.len();
        self.pieces.push(piece);
        while self.pieces.len() > KEPT || self.bytes > KEPT_BYTES {
            self.bytes -= self.pieces.remove(0).len();
        }
        base::invariant!(
            self.bytes == self.pieces.iter().map(|piece| piece.len()).sum::<usize>(),
            "the kept pieces have not {} bytes",
            self.bytes
        );
        base::invariant!(
            !self.pieces.is_empty() || self.bytes == 0,
            "no piece is kept, but {} bytes",
            self.bytes
        );
    }
}

thread_local! {
    static PIECES: RefCell<Kept> = RefCell::default();
}

/// Returns memory for a block of `len` bytes. It has at least this length and any content.
pub(super) fn take(len: usize) -> Arc<[u8]> {
    if len > LARGEST {
        return mem::bytes::take_block(len);
    }
    // The thread-local pieces do not exist any more while the thread ends.
    let kept = PIECES.try_with(|kept| kept.borrow_mut().take(len)).ok().flatten();
    base::invariant!(
        kept.as_ref().is_none_or(|piece| piece.len() >= len),
        "a kept piece is shorter than {len} bytes"
    );
    kept.unwrap_or_else(|| {
        let len = (len + OVERHEAD).next_multiple_of(STEP) - OVERHEAD;
        mem::bytes::zeroed(len)
    })
}

/// Keeps the memory of a block for a later `take`, if there is no other reference to it. Large memory is for all threads,
/// other memory for this thread.
pub(super) fn give(mut piece: Arc<[u8]>) {
    if piece.len() > LARGEST {
        mem::bytes::give_block(piece);
    } else if !piece.is_empty() && Arc::get_mut(&mut piece).is_some() {
        // While the thread ends, the memory is dropped.
        let _ = PIECES.try_with(|kept| kept.borrow_mut().give(piece));
    }
}

/// Frees all memory that this thread keeps.
pub(super) fn forget() {
    // While the thread ends, the pieces are dropped with the thread-local data.
    drop(PIECES.try_with(RefCell::take));
}

#[cfg(test)]
mod tests {
    use super::*;

    fn kept() -> (usize, usize) {
        PIECES.with_borrow(|kept| {
            assert_eq!(kept.bytes, kept.pieces.iter().map(|piece| piece.len()).sum::<usize>());
            (kept.pieces.len(), kept.bytes)
        })
    }

    #[test]
    fn a_block_lies_where_one_of_about_its_length_lay() {
        let piece = take(4200);
        let address = piece.as_ptr();
        assert!(piece.len() >= 4200 && piece.len() < 4200 + STEP);
        give(piece);
        assert!(take(100).as_ptr() != address && take(8000).as_ptr() != address);
        let again = take(4150);
        assert_eq!(again.as_ptr(), address);
        assert_eq!(kept(), (0, 0));
    }

    #[test]
    fn the_shortest_piece_with_room_is_taken() {
        let lengths = [4300, 4100, 4200, 4000].map(|len| {
            let piece = take(len);
            let length = piece.len();
            (piece, length)
        });
        let expected = lengths[1].1;
        lengths.into_iter().for_each(|(piece, _)| give(piece));
        assert_eq!(take(4090).len(), expected);
    }

    #[test]
    fn what_is_shared_or_large_is_not_kept_and_few_are() {
        let piece = take(4200);
        give(piece.clone());
        give(take(LARGEST + 1));
        give(Arc::default());
        assert_eq!(kept(), (0, 0));
        drop(piece);
        for len in [500, 4096, LARGEST - STEP] {
            let pieces: Vec<_> = (0..2 * KEPT).map(|_| take(len)).collect();
            pieces.into_iter().for_each(give);
            let (count, bytes) = kept();
            assert!(count > 0 && count <= KEPT && bytes <= KEPT_BYTES, "{count} pieces, {bytes} bytes");
        }
    }
}
