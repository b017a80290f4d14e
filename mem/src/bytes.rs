//! Memory for large blocks, and large buffers for the bytes of a file.
//!
//! ```text
//!  file ──► buffer ──decompression──► block memory ──► block cache
//!             │ freed at once           │ freed when the cache evicts the block
//!             └──────► kept here ◄──────┘
//! ```
//! A block is decompressed into its memory, so the memory must exist before its content does. Safe code can only hand out
//! initialised bytes. A loop that clears them costs as much as a fast decompression. The allocator returns zeroed memory
//! for less: pages that are new from the system are zero already.
//!
//! A block of one large value begins on new pages. Each first touch of such a page is a fault. So new memory is populated by
//! one call, and from 4 MiB on it asks for huge pages. Freed memory is kept for the next block, so a full cache needs no new
//! pages. All threads share the kept memory, because its size has one bound for the process.

use std::sync::Arc;

use parking_lot::Mutex;

use crate::arena::chunk;

/// New memory of at least this number of bytes is populated by one call. The allocator of glibc maps such memory at first.
const POPULATED: usize = 128 << 10;
/// Memory of more bytes is not kept.
const LARGEST: usize = 4 << 20;
/// Maximum number of bytes that are kept of block memory, and of buffers.
const KEPT_BYTES: usize = 4 << 20;
/// A block may use memory that is longer than the block by one part in this number.
const BLOCK_SLACK: usize = 32;
/// A buffer may be longer than its content by this factor.
const BUFFER_SLACK: usize = 2;

static BLOCKS: Mutex<Kept<Arc<[u8]>>> = Mutex::new(Kept { pieces: Vec::new(), bytes: 0 });
static BUFFERS: Mutex<Kept<Vec<u8>>> = Mutex::new(Kept { pieces: Vec::new(), bytes: 0 });

/// Returns memory for a block of `len` bytes: kept memory with any content, or new memory. It may be longer by one part
/// in 32. There is no other reference to it.
pub fn take_block(len: usize) -> Arc<[u8]> {
    let kept = BLOCKS.lock().take(len, len + len / BLOCK_SLACK);
    kept.unwrap_or_else(|| zeroed(len))
}

/// Keeps the memory of a block for a later [`take_block`] of any thread, if there is no other reference to it. Frees the
/// oldest kept memory above the bound of 4 MiB.
pub fn give_block(mut memory: Arc<[u8]>) {
    if Arc::get_mut(&mut memory).is_some() {
        Kept::give(&BLOCKS, memory);
    }
}

/// Returns a buffer with room for `len` bytes, and any length and content.
pub fn take_buffer(len: usize) -> Vec<u8> {
    let kept = BUFFERS.lock().take(len, len.saturating_mul(BUFFER_SLACK));
    kept.unwrap_or_else(|| {
        let buffer = Vec::with_capacity(len);
        if len >= POPULATED {
            chunk::populate_pages(buffer.as_ptr(), buffer.capacity());
        }
        buffer
    })
}

/// Keeps a buffer for a later [`take_buffer`] of any thread. Frees the oldest kept buffers above the bound of 4 MiB.
pub fn give_buffer(buffer: Vec<u8>) {
    Kept::give(&BUFFERS, buffer);
}

/// Returns the bytes of all kept memory.
pub fn kept_bytes() -> usize {
    BLOCKS.lock().bytes + BUFFERS.lock().bytes
}

/// Frees all kept memory.
pub fn forget() {
    let kept = (std::mem::take(&mut *BLOCKS.lock()), std::mem::take(&mut *BUFFERS.lock()));
    drop(kept);
}

/// Returns `len` zero bytes. Cost: an allocation, and the faults of its new pages.
pub fn zeroed(len: usize) -> Arc<[u8]> {
    let bytes = Arc::<[u8]>::new_zeroed_slice(len);
    // SAFETY: all bytes are zero, and zero is a value of `u8`.
    let bytes = unsafe { bytes.assume_init() };
    if len >= POPULATED {
        chunk::populate_pages(bytes.as_ptr(), len);
    }
    bytes
}

/// A piece of memory that can be kept.
trait Piece {
    /// Returns the number of bytes that the piece can hold.
    fn room(&self) -> usize;
}

impl Piece for Arc<[u8]> {
    fn room(&self) -> usize {
        self.len()
    }
}

impl Piece for Vec<u8> {
    fn room(&self) -> usize {
        self.capacity()
    }
}

/// Kept pieces, the oldest first.
struct Kept<P> {
    pieces: Vec<P>,
    bytes: usize,
}

impl<P> Default for Kept<P> {
    fn default() -> Self {
        Kept { pieces: Vec::new(), bytes: 0 }
    }
}

impl<P: Piece> Kept<P> {
    /// Takes the smallest piece with room for `len` to `most` bytes.
    fn take(&mut self, len: usize, most: usize) -> Option<P> {
        let fits = self.pieces.iter().enumerate().filter(|(_, piece)| (len..=most).contains(&piece.room()));
        let (at, _) = fits.min_by_key(|(_, piece)| piece.room())?;
        let piece = self.pieces.remove(at);
        base::invariant!(self.bytes >= piece.room(), "the kept memory has fewer bytes than one piece of it");
        self.bytes -= piece.room();
        Some(piece)
    }

    /// Adds a piece. Returns the pieces above the bound, which the caller drops after it has released the lock.
    fn add(&mut self, piece: P) -> Vec<P> {
        self.bytes += piece.room();
        self.pieces.push(piece);
        // There may be room for all pieces. The last dropped piece may be larger than the excess.
        let mut excess = self.bytes.saturating_sub(KEPT_BYTES);
        let beyond = self.pieces.iter().take_while(|piece| {
            let is_beyond = excess > 0;
            excess = excess.saturating_sub(piece.room());
            is_beyond
        });
        let count = beyond.count();
        let dropped: Vec<P> = self.pieces.drain(..count).collect();
        self.bytes -= dropped.iter().map(Piece::room).sum::<usize>();
        base::invariant!(self.bytes <= KEPT_BYTES, "{} bytes are kept", self.bytes);
        dropped
    }

    fn give(kept: &Mutex<Self>, piece: P) {
        if (1..=LARGEST).contains(&piece.room()) {
            let dropped = kept.lock().add(piece);
            drop(dropped);
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn memory_of_every_length_is_zero_and_exclusive() {
        let lengths = [0, 1, 4095, 4096, POPULATED - 1, POPULATED, POPULATED + 4097, 1 << 20, (5 << 20) + 3];
        let few = if cfg!(miri) { 4 } else { lengths.len() };
        for len in lengths.into_iter().take(few) {
            // The second round gets memory that the first round wrote and freed.
            for _ in 0..2 {
                let mut bytes = zeroed(len);
                assert_eq!(bytes.len(), len);
                assert!(bytes.iter().all(|&byte| byte == 0), "{len} bytes");
                Arc::get_mut(&mut bytes).expect("no other reference").fill(0xA5);
            }
        }
    }

    #[test]
    fn the_smallest_piece_with_room_is_taken_and_the_oldest_are_dropped() {
        let mut kept: Kept<Vec<u8>> = Kept::default();
        for room in [300 << 10, 100 << 10, 200 << 10] {
            assert!(kept.add(Vec::with_capacity(room)).is_empty());
        }
        assert_eq!(kept.take(90 << 10, 180 << 10).map(|piece| piece.room()), Some(100 << 10));
        assert_eq!(kept.take(90 << 10, 180 << 10).map(|piece| piece.room()), None);
        assert_eq!(kept.bytes, 500 << 10);
        let dropped = kept.add(Vec::with_capacity(KEPT_BYTES - (250 << 10)));
        assert_eq!(dropped.iter().map(|piece| piece.room()).collect::<Vec<_>>(), [300 << 10]);
        assert_eq!((kept.pieces.len(), kept.bytes), (2, KEPT_BYTES - (50 << 10)));
        assert_eq!(kept.add(Vec::with_capacity(KEPT_BYTES)).len(), 2);
        assert_eq!((kept.pieces.len(), kept.bytes), (1, KEPT_BYTES));
    }

    #[test]
    fn memory_that_is_shared_is_not_handed_out_again() {
        // No other test of this process takes memory of this length.
        const LEN: usize = 12_345;
        let mut first = take_block(LEN);
        Arc::get_mut(&mut first).expect("no other reference").fill(1);
        let other = first.clone();
        give_block(first);
        let mut second = take_block(LEN);
        Arc::get_mut(&mut second).expect("no other reference").fill(2);
        assert!(other.iter().all(|&byte| byte == 1));
        give_block(second);
        assert!(take_block(LEN).len() >= LEN);
        give_buffer(take_buffer(LEN));
        assert!(take_buffer(LEN).capacity() >= LEN);
        forget();
    }
}
