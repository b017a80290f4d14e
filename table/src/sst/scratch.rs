//! Buffers for bytes of short life: a block as read from the file, its payload, and the window of a short
//! scan.
//!
//! If each buffer came from the allocator, the buffers would lie between blocks that stay in the cache. The
//! holes between these blocks would fit no other block; this cost 17 MB with a cache of 300 MB. So each
//! thread keeps a few buffers. [`mem::bytes`] keeps larger buffers.

use std::cell::RefCell;

/// Maximum capacity of a buffer that is kept. A block with one value of 64 KiB is a little longer than 64 KiB.
const LARGEST: usize = 80 << 10;
/// Maximum number of buffers that a thread keeps: one for a read, one for decompression, and the windows of
/// an iterator over some tables.
const KEPT: usize = 8;
/// Maximum number of bytes that a thread keeps.
const KEPT_BYTES: usize = 128 << 10;

#[derive(Default)]
struct Kept {
    buffers: Vec<Vec<u8>>,
    bytes: usize,
}

impl Kept {
    /// Takes the last kept buffer that has enough room.
    fn take(&mut self, len: usize) -> Option<Vec<u8>> {
        let at = self.buffers.iter().rposition(|buffer| buffer.capacity() >= len)?;
        let buffer = self.buffers.remove(at);
        base::invariant!(
            self.bytes >= buffer.capacity(),
            "the kept buffers have fewer bytes than one of them"
        );
        self.bytes -= buffer.capacity();
        Some(buffer)
    }

    /// Keeps a buffer. The oldest buffers are freed first, so that buffers of unused lengths do not stay.
    fn give(&mut self, buffer: Vec<u8>) {
        self.bytes += buffer.capacity();
        self.buffers.push(buffer);
        while self.buffers.len() > KEPT || self.bytes > KEPT_BYTES {
            self.bytes -= self.buffers.remove(0).capacity();
        }
        base::invariant!(
            self.bytes == self.buffers.iter().map(Vec::capacity).sum::<usize>(),
            "the kept buffers have not {} bytes",
            self.bytes
        );
        base::invariant!(
            !self.buffers.is_empty() || self.bytes == 0,
            "no buffer is kept, but {} bytes",
            self.bytes
        );
    }
}

thread_local! {
    static BUFFERS: RefCell<Kept> = RefCell::default();
}

/// Returns a buffer of `len` bytes with any content. Its capacity is rounded up, so that the buffer can
/// serve similar lengths later.
pub(super) fn take(len: usize) -> Vec<u8> {
    let mut buffer = room(len);
    buffer.resize(len, 0);
    buffer
}

/// Returns a buffer with room for `len` bytes, and any length and content, for a read that replaces the content.
pub(super) fn room(len: usize) -> Vec<u8> {
    if len > LARGEST {
        return mem::bytes::take_buffer(len.next_multiple_of(16 << 10));
    }
    // The thread-local buffers do not exist any more while the thread ends.
    let kept = BUFFERS.try_with(|kept| kept.borrow_mut().take(len)).ok().flatten();
    kept.unwrap_or_else(|| Vec::with_capacity(len.next_multiple_of(4 << 10)))
}

/// Keeps a buffer for a later `take`. Large buffers are for all threads, other buffers for this thread.
pub(super) fn give(buffer: Vec<u8>) {
    if buffer.capacity() > LARGEST {
        mem::bytes::give_buffer(buffer);
    } else if buffer.capacity() > 0 {
        // While the thread ends, the buffer is dropped.
        let _ = BUFFERS.try_with(|kept| kept.borrow_mut().give(buffer));
    }
}

/// Frees all buffers that this thread keeps.
pub(super) fn forget() {
    // While the thread ends, the buffers are dropped with the thread-local data.
    drop(BUFFERS.try_with(RefCell::take));
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_thread_gets_its_buffers_back_and_keeps_few() {
        for len in [1, 4096, 4097, LARGEST] {
            let first = take(len);
            let address = first.as_ptr();
            assert_eq!(first.len(), len);
            give(first);
            let again = take(len);
            assert_eq!((again.as_ptr(), again.len()), (address, len));
            give(again);
        }
        for len in [4096, LARGEST] {
            (0..2 * KEPT).for_each(|_| give(Vec::with_capacity(len)));
            let (count, bytes) = BUFFERS.with_borrow(|kept| (kept.buffers.len(), kept.bytes));
            assert!(count <= KEPT && bytes <= KEPT_BYTES, "{count} buffers, {bytes} bytes");
            assert_eq!(
                bytes,
                BUFFERS.with_borrow(|kept| kept.buffers.iter().map(Vec::capacity).sum::<usize>())
            );
            assert_eq!(take(len).capacity(), len, "the latest is kept");
        }
    }

    #[test]
    fn a_buffer_too_small_is_left_for_a_shorter_one() {
        give(Vec::with_capacity(100));
        assert!(take(5000).capacity() >= 5000);
        assert_eq!(take(50).capacity(), 100);
    }

    #[test]
    fn no_thread_keeps_large_buffers() {
        give(take(LARGEST + 1));
        give(Vec::new());
        assert_eq!(BUFFERS.with_borrow(|kept| kept.buffers.len()), 0);
    }
}
