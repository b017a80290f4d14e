//! Page-aligned memory for direct I/O.

use std::alloc::{Layout, alloc_zeroed, dealloc, handle_alloc_error};
use std::ptr::NonNull;

#[cfg(test)]
mod tests;

/// The alignment of offset, length and address for direct I/O. A multiple of the block size of all common devices.
pub(super) const PAGE: usize = 4096;

/// A buffer of whole pages that starts on a page boundary. The size is fixed, and new bytes are 0.
pub(super) struct AlignedBuffer {
    start: NonNull<u8>,
    bytes: usize,
}

// SAFETY: the buffer owns its memory and gives access only through `&` and `&mut`, as `Vec<u8>` does.
unsafe impl Send for AlignedBuffer {}

impl AlignedBuffer {
    /// Rounds `bytes` up to whole pages, at least one.
    pub(super) fn new(bytes: usize) -> Self {
        let bytes = bytes.max(1).next_multiple_of(PAGE);
        let layout = layout(bytes);
        // SAFETY: the layout's size is at least one page, so not zero.
        let start = unsafe { alloc_zeroed(layout) };
        match NonNull::new(start) {
            Some(start) => AlignedBuffer { start, bytes },
            None => handle_alloc_error(layout),
        }
    }

    pub(super) fn len(&self) -> usize {
        self.bytes
    }

    pub(super) fn as_slice(&self) -> &[u8] {
        // SAFETY: `start` is an allocation of `bytes` bytes, initialised (zeroed, then only written
        // through slices), alive as long as self; `&self` excludes writers.
        unsafe { std::slice::from_raw_parts(self.start.as_ptr(), self.bytes) }
    }

    pub(super) fn as_mut_slice(&mut self) -> &mut [u8] {
        // SAFETY: `start` is an allocation of `bytes` initialised bytes that lives as long as self. `&mut self`
        // excludes every other access.
        unsafe { std::slice::from_raw_parts_mut(self.start.as_ptr(), self.bytes) }
    }
}

impl Drop for AlignedBuffer {
    fn drop(&mut self) {
        // SAFETY: allocated by `new` with this very layout, freed once.
        unsafe { dealloc(self.start.as_ptr(), layout(self.bytes)) }
    }
}

impl std::fmt::Debug for AlignedBuffer {
    fn fmt(&self, f: &mut std::fmt::Formatter<'_>) -> std::fmt::Result {
        write!(f, "AlignedBuffer({})", self.bytes)
    }
}

fn layout(bytes: usize) -> Layout {
    Layout::from_size_align(bytes, PAGE).expect("a whole number of pages that fits the address space")
}
