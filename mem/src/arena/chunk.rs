//! The source of the arena's chunks: anonymous mappings on Linux, on huge pages if the caller asks. On other
//! systems and under Miri, the allocator.

use std::alloc::Layout;

use parking_lot::Mutex;

/// The size of a huge page on x86-64, and on ARM with 4 KiB pages: 2 MiB.
pub(crate) const HUGE_PAGE: usize = 2 << 20;

/// Returns the size of a mapping, rounded up to 64 KiB. This is the largest page size, on some ARM systems.
#[cfg(all(target_os = "linux", not(miri)))]
fn mapped_size(layout: Layout) -> Option<usize> {
    layout.size().checked_next_multiple_of(64 << 10)
}

/// Maps memory as [`reserve`] does, and asks for huge pages if the memory is large enough.
pub(crate) fn map(layout: Layout) -> Option<*mut u8> {
    let start = reserve(layout)?;
    if layout.size() >= HUGE_PAGE {
        // SAFETY: the range is the mapping that was just made.
        unsafe { ask_huge(start, layout.size()) };
    }
    Some(start)
}

/// Returns zeroed memory, or `None` if the system has no memory.
#[cfg(all(target_os = "linux", not(miri)))]
pub(crate) fn reserve(layout: Layout) -> Option<*mut u8> {
    let (size, align) = (mapped_size(layout)?, layout.align());
    // Map more than needed, so that the start can move up to a multiple of `align`. The excess is unmapped at
    // once.
    let slack = if align > 4096 { align } else { 0 };
    let flags = libc::MAP_PRIVATE | libc::MAP_ANONYMOUS | libc::MAP_NORESERVE;
    // SAFETY: a new anonymous mapping touches no memory that exists.
    let raw = unsafe {
        libc::mmap(std::ptr::null_mut(), size + slack, libc::PROT_READ | libc::PROT_WRITE, flags, -1, 0)
    };
    if raw == libc::MAP_FAILED {
        return None;
    }
    let raw: *mut u8 = raw.cast();
    let before = raw.align_offset(align.max(1)).min(slack);
    let start = raw.wrapping_add(before);
    base::invariant!(start.align_offset(align.max(1)) == 0, "mapped memory is not aligned to {align} bytes");
    // SAFETY: both ranges are page-aligned parts of the mapping just made, outside `start..start + size`. No
    // pointer leads into them. If an unmap fails, the range stays mapped and unused, which is harmless.
    unsafe {
        if before > 0 {
            libc::munmap(raw.cast(), before);
        }
        if slack > before {
            libc::munmap(start.wrapping_add(size).cast(), slack - before);
        }
    }
    Some(start)
}

/// Asks the system for huge pages for the untouched part of a range. Ignores a refusal.
///
/// # Safety
/// The bytes must be part of one mapping of [`reserve`], and `start` must be the start of a page.
#[cfg(all(target_os = "linux", not(miri)))]
pub(crate) unsafe fn ask_huge(start: *mut u8, size: usize) {
    base::invariant!(
        start.align_offset(4096) == 0 && size > 0,
        "huge pages are asked for {size} bytes that do not begin at a page"
    );
    // SAFETY: the range is our own mapping, and the advice changes no content.
    unsafe { libc::madvise(start.cast(), size, libc::MADV_HUGEPAGE) };
}

/// Asks the system to back the untouched part of a range with pages at once. Ignores a refusal: the pages
/// then come when they are touched.
///
/// # Safety
/// As for [`ask_huge`].
#[cfg(all(target_os = "linux", not(miri)))]
pub(crate) unsafe fn populate(start: *mut u8, size: usize) {
    base::invariant!(
        start.align_offset(4096) == 0 && size > 0,
        "{size} bytes that do not begin at a page are populated"
    );
    // SAFETY: the call has the effect of reading one byte of each page and writing the same byte back. The
    // pages are mapped, and no other thread uses them yet.
    unsafe { libc::madvise(start.cast(), size, libc::MADV_POPULATE_WRITE) };
}

/// Asks the system to back the whole pages inside of new memory of the allocator at once, and leaves its content as it is.
/// Asks for huge pages before, if the memory certainly has one. Ignores a refusal. `len` bytes from `start` on must be
/// allocated; otherwise the call may populate pages that the process does not need.
#[cfg(all(target_os = "linux", not(miri)))]
pub(crate) fn populate_pages(start: *const u8, len: usize) {
    // Pages may be larger than this on some systems. The system refuses the call if the start is inside of a page.
    const PAGE: usize = 4096;
    let before = start.align_offset(PAGE).min(len);
    let size = (len - before) / PAGE * PAGE;
    if size == 0 {
        return;
    }
    let start = start.wrapping_add(before).cast_mut();
    // SAFETY: neither call changes a byte or a mapping: the first is advice, and the second makes the pages writable as a
    // write of their own content would. The system refuses a range that is not mapped.
    unsafe {
        if size >= 2 * HUGE_PAGE {
            libc::madvise(start.cast(), size, libc::MADV_HUGEPAGE);
        }
        libc::madvise(start.cast(), size, libc::MADV_POPULATE_WRITE);
    }
}

/// Does nothing. Pages come when they are touched.
#[cfg(not(all(target_os = "linux", not(miri))))]
pub(crate) fn populate_pages(_start: *const u8, _len: usize) {}

/// Does nothing, because the allocator chooses its pages.
///
/// # Safety
/// No obligation on this system; `unsafe` only for the same signature.
#[cfg(not(all(target_os = "linux", not(miri))))]
pub(crate) unsafe fn ask_huge(_start: *mut u8, _size: usize) {}

/// Does nothing. Pages come when they are touched.
///
/// # Safety
/// No obligation on this system; `unsafe` only for the same signature.
#[cfg(not(all(target_os = "linux", not(miri))))]
pub(crate) unsafe fn populate(_start: *mut u8, _size: usize) {}

/// Returns the memory of a mapping to the system. The mapping stays usable and reads as zeros. If the system
/// refuses, the content stays.
///
/// # Safety
/// `start` must come from [`reserve`] with the same layout. Concurrent users of the memory must accept zeros.
#[cfg(all(target_os = "linux", not(miri)))]
pub(crate) unsafe fn discard(start: *mut u8, layout: Layout) {
    base::invariant!(start.align_offset(4096) == 0, "memory that does not begin at a page is given back");
    // SAFETY: by the contract of this function, exactly this range is a private mapping without a file.
    unsafe { libc::madvise(start.cast(), layout.size(), libc::MADV_DONTNEED) };
}

/// Does nothing, because the allocator cannot return parts of its memory.
///
/// # Safety
/// No obligation on this system; `unsafe` only for the same signature.
#[cfg(not(all(target_os = "linux", not(miri))))]
pub(crate) unsafe fn discard(_start: *mut u8, _layout: Layout) {}

/// # Safety
/// `start` must come from [`reserve`] with the same layout, and must not be used afterwards.
#[cfg(all(target_os = "linux", not(miri)))]
pub(crate) unsafe fn unmap(start: *mut u8, layout: Layout) {
    // SAFETY: by the contract of this function, exactly this range was mapped, and no thread uses it.
    unsafe { libc::munmap(start.cast(), mapped_size(layout).unwrap_or(layout.size())) };
}

/// Returns zeroed memory, or `None` if the system has no memory.
#[cfg(not(all(target_os = "linux", not(miri))))]
pub(crate) fn reserve(layout: Layout) -> Option<*mut u8> {
    // SAFETY: the size of a chunk layout is never zero.
    let start = unsafe { std::alloc::alloc_zeroed(layout) };
    (!start.is_null()).then_some(start)
}

/// # Safety
/// `start` must come from [`reserve`] with the same layout, and must not be used afterwards.
#[cfg(not(all(target_os = "linux", not(miri))))]
pub(crate) unsafe fn unmap(start: *mut u8, layout: Layout) {
    // SAFETY: by the contract of this function, `alloc_zeroed` allocated the memory with this layout.
    unsafe { std::alloc::dealloc(start, layout) };
}

/// Zeroed small chunks of dropped arenas, for new arenas. Each open and each flush makes and drops small
/// memtables. Without this list, each small memtable would cost system calls, and a page fault for each page. This cost is
/// larger than the cost of the entries.
static SPARE: Mutex<Spares> = Mutex::new(Spares { chunks: Vec::new(), bytes: 0 });

/// The largest sum of the sizes of all spare chunks. Two memtables of 1 MiB have this size.
const SPARE_BYTES_MAX: usize = 2 << 20;

struct Spares {
    chunks: Vec<Spare>,
    /// The sizes of `chunks`, and of the chunks that [`keep`] is clearing.
    bytes: usize,
}

struct Spare {
    start: *mut u8,
    layout: Layout,
}

// SAFETY: a `Spare` is the only owner of its memory, and the memory belongs to no thread.
unsafe impl Send for Spare {}

/// Returns a spare chunk of this layout from [`keep`], or reserves a chunk.
pub(crate) fn take(layout: Layout) -> Option<*mut u8> {
    let mut spares = SPARE.lock();
    if let Some(at) = spares.chunks.iter().rposition(|spare| spare.layout == layout) {
        spares.bytes -= layout.size();
        return Some(spares.chunks.swap_remove(at).start);
    }
    drop(spares);
    reserve(layout)
}

/// Returns all spare chunks to the system.
pub(crate) fn forget() {
    let mut spares = SPARE.lock();
    let kept = std::mem::take(&mut spares.chunks);
    spares.bytes -= kept.iter().map(|spare| spare.layout.size()).sum::<usize>();
    drop(spares);
    for Spare { start, layout } in kept {
        // SAFETY: `keep` took the memory from an owner that no longer uses the memory. The memory came from
        // `reserve` with this layout. The list of spare chunks no longer has the memory, so no other thread
        // can find it.
        unsafe { unmap(start, layout) };
    }
}

/// Frees a chunk whose first `used` bytes may be other than zero. Clears the chunk and keeps it for a later
/// arena. If the spare chunks have their largest size, returns the chunk to the system.
///
/// # Safety
/// The contract of [`unmap`] holds, and no byte from `used` on was ever written.
pub(crate) unsafe fn keep(start: *mut u8, layout: Layout, used: usize) {
    let mut spares = SPARE.lock();
    if spares.bytes + layout.size() > SPARE_BYTES_MAX {
        drop(spares);
        // SAFETY: the contract of this function includes that of `unmap`.
        unsafe { unmap(start, layout) };
        return;
    }
    spares.bytes += layout.size();
    drop(spares);
    // SAFETY: the bytes are within the chunk, and by the contract of this function no thread uses the chunk.
    unsafe { std::ptr::write_bytes(start, 0, used.min(layout.size())) };
    SPARE.lock().chunks.push(Spare { start, layout });
}

/// Returns the bytes of all spare chunks.
#[cfg(test)]
pub(crate) fn spare_bytes() -> usize {
    SPARE.lock().bytes
}
