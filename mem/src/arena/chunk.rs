//! Where chunks come from: anonymous mappings, asked to lie on huge pages if wanted; elsewhere (and under Miri)
//! the allocator.

use std::alloc::Layout;

use parking_lot::Mutex;

/// 2 MiB: what x86-64 and ARM with 4 KiB pages call huge.
pub(crate) const HUGE_PAGE: usize = 2 << 20;

/// What a mapping takes up: whole pages, were they the 64 KiB of some ARM systems.
#[cfg(all(target_os = "linux", not(miri)))]
fn mapped_size(layout: Layout) -> Option<usize> {
    layout.size().checked_next_multiple_of(64 << 10)
}

/// [`reserve`] on huge pages, if it is large enough for one.
pub(crate) fn map(layout: Layout) -> Option<*mut u8> {
    let start = reserve(layout)?;
    if layout.size() >= HUGE_PAGE {
        // SAFETY: the mapping just made.
        unsafe { ask_huge(start, layout.size()) };
    }
    Some(start)
}

/// Zeroed memory, or `None` if there is none.
#[cfg(all(target_os = "linux", not(miri)))]
pub(crate) fn reserve(layout: Layout) -> Option<*mut u8> {
    let (size, align) = (mapped_size(layout)?, layout.align());
    // Room to move the start up to a multiple of `align`; what is over goes back at once.
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
    // SAFETY: both ranges are page-aligned parts of the mapping just made, outside `start..start + size`;
    // nobody has a pointer into them. A failure leaves them mapped and unused, which is harmless.
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

/// Asks for huge pages, for what is not touched yet. A refusal is fine.
///
/// # Safety
/// The bytes must be part of one mapping of [`reserve`], from the start of a page on.
#[cfg(all(target_os = "linux", not(miri)))]
pub(crate) unsafe fn ask_huge(start: *mut u8, size: usize) {
    base::invariant!(
        start.align_offset(4096) == 0 && size > 0,
        "huge pages are asked for {size} bytes that do not begin at a page"
    );
    // SAFETY: advice about our own mapping; it changes no content.
    unsafe { libc::madvise(start.cast(), size, libc::MADV_HUGEPAGE) };
}

/// Has the system put pages behind what is not touched yet, all at once. A refusal is fine: they come when touched.
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

/// Does nothing: the allocator chooses its pages.
///
/// # Safety
/// As elsewhere.
#[cfg(not(all(target_os = "linux", not(miri))))]
pub(crate) unsafe fn ask_huge(_start: *mut u8, _size: usize) {}

/// Does nothing: pages come when touched.
///
/// # Safety
/// As elsewhere.
#[cfg(not(all(target_os = "linux", not(miri))))]
pub(crate) unsafe fn populate(_start: *mut u8, _size: usize) {}

/// Takes the memory behind a mapping away: it stays usable, as zeros. A refusal leaves it as it is.
///
/// # Safety
/// `start` must come from [`reserve`] with the same layout; whoever uses it meanwhile must put up with zeros.
#[cfg(all(target_os = "linux", not(miri)))]
pub(crate) unsafe fn discard(start: *mut u8, layout: Layout) {
    base::invariant!(start.align_offset(4096) == 0, "memory that does not begin at a page is given back");
    // SAFETY: by the caller's promise exactly this range is mapped, privately and without a file behind it.
    unsafe { libc::madvise(start.cast(), layout.size(), libc::MADV_DONTNEED) };
}

/// Does nothing: the allocator's memory cannot be taken away in parts.
///
/// # Safety
/// As elsewhere.
#[cfg(not(all(target_os = "linux", not(miri))))]
pub(crate) unsafe fn discard(_start: *mut u8, _layout: Layout) {}

/// # Safety
/// `start` must come from [`reserve`] with the same layout, and be used no more.
#[cfg(all(target_os = "linux", not(miri)))]
pub(crate) unsafe fn unmap(start: *mut u8, layout: Layout) {
    // SAFETY: the caller's promise: exactly this range was mapped, and nobody uses it.
    unsafe { libc::munmap(start.cast(), mapped_size(layout).unwrap_or(layout.size())) };
}

/// Zeroed memory, or `None` if there is none.
#[cfg(not(all(target_os = "linux", not(miri))))]
pub(crate) fn reserve(layout: Layout) -> Option<*mut u8> {
    // SAFETY: chunk layouts are never of size zero.
    let start = unsafe { std::alloc::alloc_zeroed(layout) };
    (!start.is_null()).then_some(start)
}

/// # Safety
/// `start` must come from [`reserve`] with the same layout, and be used no more.
#[cfg(not(all(target_os = "linux", not(miri))))]
pub(crate) unsafe fn unmap(start: *mut u8, layout: Layout) {
    // SAFETY: the caller's promise: allocated by `alloc_zeroed` with this layout.
    unsafe { std::alloc::dealloc(start, layout) };
}

/// First chunks of arenas that are gone, all zeros, for those that come: small memtables come and go with every opening
/// and flush, and two calls of the system and a few page faults for each are more than what they hold.
static SPARE: Mutex<Vec<Spare>> = Mutex::new(Vec::new());

/// So many are kept.
const SPARE_MAX: usize = 8;

struct Spare {
    start: *mut u8,
    layout: Layout,
}

// SAFETY: the one owner of memory that belongs to no thread.
unsafe impl Send for Spare {}

/// [`reserve`], from what [`keep`] kept if there is any of this layout.
pub(crate) fn take(layout: Layout) -> Option<*mut u8> {
    let kept = SPARE.lock().pop_if(|spare| spare.layout == layout);
    kept.map(|spare| spare.start).or_else(|| reserve(layout))
}

/// Gives the system what [`keep`] kept.
pub(crate) fn forget() {
    let kept = std::mem::take(&mut *SPARE.lock());
    for Spare { start, layout } in kept {
        // SAFETY: `keep` took the memory from an owner that no longer uses the memory. The memory came from
        // `reserve` with this layout. The list of spare chunks no longer has the memory, so no other thread
        // can find it.
        unsafe { unmap(start, layout) };
    }
}

/// Gives a chunk back of which the first `used` bytes may not be zeros: to who comes next, or to the system.
///
/// # Safety
/// As for [`unmap`]; no byte from `used` on was ever written.
pub(crate) unsafe fn keep(start: *mut u8, layout: Layout, used: usize) {
    // SAFETY: within the chunk, which by the caller's promise nobody uses any more.
    unsafe { std::ptr::write_bytes(start, 0, used.min(layout.size())) };
    let mut spare = SPARE.lock();
    if spare.len() < SPARE_MAX {
        spare.push(Spare { start, layout });
        return;
    }
    drop(spare);
    // SAFETY: the caller's promise.
    unsafe { unmap(start, layout) };
}
