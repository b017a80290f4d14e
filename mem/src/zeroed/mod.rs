//! Large zeroed arrays, on huge pages if the system supports huge pages.
//!
//! The table of a cache of one gigabyte has some megabytes and is read at random. With 4 KiB pages each
//! lookup misses the TLB and the caches. Arrays of 2 MiB and more are aligned to a huge page, and the system
//! is asked to use huge pages.
//!
//! Arrays of 64 KiB and more are mapped, so that the system backs them with memory only when they are
//! touched. A segment of entries costs only the part that is in use. The allocator would clear aligned memory
//! itself, and so touch all of it.

use std::alloc::{Layout, alloc_zeroed, dealloc, handle_alloc_error};
use std::ptr::NonNull;

use crate::arena::chunk::{self, HUGE_PAGE};

/// Arrays of at least this number of bytes are mapped.
const MAPPED: usize = 64 << 10;

/// A type for which all zero bits are a value.
///
/// # Safety
/// All zero bits must be a valid value of the type, and the type must not need a drop.
pub(crate) unsafe trait Zeroed {}

/// A fixed array of `T`, all zeros at first.
pub(crate) struct ZeroedArray<T: Zeroed> {
    start: NonNull<T>,
    count: usize,
}

// SAFETY: the array owns its elements and hands out shared references only, as `Box<[T]>` does.
unsafe impl<T: Zeroed + Send> Send for ZeroedArray<T> {}
// SAFETY: a shared array hands out shared references to its elements only, and `T` is `Sync`.
unsafe impl<T: Zeroed + Sync> Sync for ZeroedArray<T> {}

impl<T: Zeroed> ZeroedArray<T> {
    /// Makes an array. Returns `None` if the system has no memory.
    ///
    /// # Panics
    /// If the array does not fit into the address space, or has no bytes.
    pub(crate) fn try_new(count: usize) -> Option<Self> {
        Self::mapped_by(chunk::map, count)
    }

    /// Makes an array on pages of the usual size, for an array that is often touched only in part.
    ///
    /// # Panics
    /// The panics of [`ZeroedArray::try_new`]. Also panics if the system has no memory.
    pub(crate) fn on_small_pages(count: usize) -> Self {
        Self::mapped_by(chunk::reserve, count).unwrap_or_else(|| handle_alloc_error(Self::layout(count)))
    }

    fn mapped_by(map: fn(Layout) -> Option<*mut u8>, count: usize) -> Option<Self> {
        let layout = Self::layout(count);
        assert!(layout.size() > 0, "an array without bytes");
        let start = match layout.size() >= MAPPED {
            true => map(layout),
            // SAFETY: the assertion above says that the size is not zero.
            false => Some(unsafe { alloc_zeroed(layout) }),
        };
        let start = start.and_then(NonNull::new)?.cast();
        Some(ZeroedArray { start, count })
    }

    /// Returns the memory of a mapped array to the system, if the system supports that. The elements then
    /// become zero, and each bit may change at another time. Only for elements that are changed through
    /// atomics.
    pub(crate) fn give_back(&self) {
        let layout = Self::layout(self.count);
        if layout.size() >= MAPPED {
            // SAFETY: `mapped_by` mapped the memory with this layout. Zero is a valid value of `T`. By the contract
            // of this method, users of `T` expect concurrent changes.
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
        // SAFETY: the allocation has `count` elements, which are all initialised, because zero is a valid
        // value of `T`. It lives as long as self, and no method returns `&mut`.
        unsafe { std::slice::from_raw_parts(self.start.as_ptr(), self.count) }
    }
}

impl<T: Zeroed> Drop for ZeroedArray<T> {
    fn drop(&mut self) {
        let (start, layout) = (self.start.as_ptr().cast(), Self::layout(self.count));
        // SAFETY: `mapped_by` allocated the memory with this layout. The size of the layout decides between
        // mapping and allocator, here and in `mapped_by`. The memory is freed once. The elements have no
        // destructors.
        unsafe {
            match layout.size() >= MAPPED {
                true => chunk::unmap(start, layout),
                false => dealloc(start, layout),
            }
        }
    }
}
