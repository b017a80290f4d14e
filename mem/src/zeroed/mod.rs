//! Large zeroed arrays, on huge pages where the system has them.
//!
//! A table of a gigabyte cache is some megabytes, touched at random: with 4 KiB pages each look-up misses
//! the TLB as well as the caches. Arrays from 2 MiB on are aligned to a huge page and the system is asked
//! to use them.
//!
//! Arrays from 64 KiB on are mapped, so that the system backs them with memory only as they are touched: a
//! segment of entries costs what of it is in use. (The allocator would clear aligned memory itself, and so
//! touch it all.)

use std::alloc::{Layout, alloc_zeroed, dealloc, handle_alloc_error};
use std::ptr::NonNull;

use crate::arena::chunk::{self, HUGE_PAGE};

/// Arrays of so many bytes are mapped.
const MAPPED: usize = 64 << 10;

/// A type for which all zero bits are a value.
///
/// # Safety
/// They must be, and the type must not need dropping.
pub(crate) unsafe trait Zeroed {}

/// A fixed array of `T`, all zeros at first.
pub(crate) struct ZeroedArray<T: Zeroed> {
    start: NonNull<T>,
    count: usize,
}

// SAFETY: the array owns its elements and hands out shared references alone, as `Box<[T]>` does.
unsafe impl<T: Zeroed + Send> Send for ZeroedArray<T> {}
// SAFETY: as above.
unsafe impl<T: Zeroed + Sync> Sync for ZeroedArray<T> {}

impl<T: Zeroed> ZeroedArray<T> {
    /// # Panics
    /// If the array would not fit the address space, or has no bytes.
    pub(crate) fn new(count: usize) -> Self {
        Self::mapped_by(chunk::map, count)
    }

    /// On pages of the system's usual size: for an array of which often little is touched.
    ///
    /// # Panics
    /// As [`ZeroedArray::new`].
    pub(crate) fn on_small_pages(count: usize) -> Self {
        Self::mapped_by(chunk::reserve, count)
    }

    fn mapped_by(map: fn(Layout) -> Option<*mut u8>, count: usize) -> Self {
        let layout = Self::layout(count);
        assert!(layout.size() > 0, "an array without bytes");
        let start = match layout.size() >= MAPPED {
            true => map(layout),
            // SAFETY: the size is not zero.
            false => Some(unsafe { alloc_zeroed(layout) }),
        };
        let Some(start) = start.and_then(NonNull::new) else { handle_alloc_error(layout) };
        let start = start.cast();
        ZeroedArray { start, count }
    }

    /// Gives the memory of a mapped array back to the system, if that can be; its elements then are zeros, each
    /// bit at a time of its own. Only for elements that are changed through atomics.
    pub(crate) fn give_back(&self) {
        let layout = Self::layout(self.count);
        if layout.size() >= MAPPED {
            // SAFETY: a mapping of `new`'s with this layout. Zeros are a value of `T`, whose users, by this
            // method's contract, expect changes by others.
            unsafe { chunk::discard(self.start.as_ptr().cast(), layout) };
        }
    }

    fn layout(count: usize) -> Layout {
        let layout = Layout::array::<T>(count).expect("an array that fits the address space");
        if layout.size() >= HUGE_PAGE {
            layout.align_to(HUGE_PAGE).expect("an array that fits the address space")
        } else {
            layout
        }
    }

    #[inline]
    pub(crate) fn as_slice(&self) -> &[T] {
        // SAFETY: an allocation of `count` elements, all initialised (zeros are a value of `T`), alive
        // as long as self; nobody is given `&mut`.
        unsafe { std::slice::from_raw_parts(self.start.as_ptr(), self.count) }
    }
}

impl<T: Zeroed> Drop for ZeroedArray<T> {
    fn drop(&mut self) {
        let (start, layout) = (self.start.as_ptr().cast(), Self::layout(self.count));
        // SAFETY: `new` allocated the memory with this layout. The size of the layout decides between
        // mapping and allocator, here and in `new`. The memory is freed once. The elements have no
        // destructors.
        unsafe {
            match layout.size() >= MAPPED {
                true => chunk::unmap(start, layout),
                false => dealloc(start, layout),
            }
        }
    }
}
