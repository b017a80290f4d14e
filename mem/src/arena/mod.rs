//! The arena: memory that is handed out in pieces and freed all at once.
//!
//! Offsets count from the start of a space that is not one mapping. The first 64 KiB are chunk 0. Each later
//! chunk is as large as all earlier chunks together, and is mapped when it is first needed:
//!
//! ```text
//! offset  0     64K    128K          256K                        512K
//!         | 0   |  1   |      2      |             3             |  ...
//! ```
//! So the chunk of an offset is a count of leading zeros. A [`Ref`] of four bytes, in units of four bytes,
//! reaches 16 GiB. The table of chunks is a few cache lines that stay in the processor cache. An untouched
//! part of a chunk costs address space only.
//!
//! Chunks of 2 MiB and more are aligned to 2 MiB. When the first piece of a 2 MiB step is small, the arena
//! asks for a huge page for this step: a dependent load over a large heap then costs half as much. Large
//! pieces get small pages. They are few, so few loads would gain from huge pages. Each large piece touches
//! much memory, and the first touch of a huge page can be slow: in a virtual machine whose host takes unused
//! memory back, 100 MB cost from 8 to 330 ms on huge pages and 50 ms on small pages. For large pieces,
//! sixty-four small pages are populated at a time (40 ms for 100 MB).
//!
//! No piece is freed before the arena, so a `Ref` is valid for the life of the arena.

pub(crate) mod chunk;
#[cfg(test)]
mod tests;

use std::alloc::Layout;
use std::sync::atomic::{AtomicPtr, AtomicU64, Ordering};

use base::error::{Error, Kind, Result, Subcode};
use parking_lot::Mutex;

/// log2 of the size of chunk 0.
const FIRST_SHIFT: u32 = 16;
const CHUNKS: usize = 19;
/// The end of the offsets that a `Ref` can reach.
const LIMIT: u64 = 1 << (FIRST_SHIFT as usize + CHUNKS - 1);
/// If the arena of a memtable reaches this offset, the memtable is full. The last chunk then has room for
/// [`BATCH_BYTES_MAX`] more.
pub const SWITCH_AT: u64 = LIMIT / 2;
/// The largest memory of one write batch in a memtable. If the batch begins below [`SWITCH_AT`], the last
/// chunk of the arena can hold the whole batch.
pub const BATCH_BYTES_MAX: u64 = LIMIT / 2 - (1 << 30);
/// Offset 0 is never handed out, so that a `Ref` of 0 can mean "none".
const RESERVED: u64 = 64;

/// A piece of at least this size, half of a small page, is large.
const LARGE: usize = 2 << 10;
/// log2 of the step in which memory for large pieces is populated.
const STEP_SHIFT: u32 = 18;

/// Returns the spare chunks of dropped arenas to the system: at most 2 MiB. May be called from any thread at
/// any time.
pub fn forget_spares() {
    chunk::forget();
}

/// The offset of a piece in an arena, in units of four bytes. 0 means "none".
pub(crate) type Ref = u32;

pub(crate) struct Arena {
    /// Offset of the first byte that is not handed out.
    bump: AtomicU64,
    /// Number of bytes below `bump` that were skipped at the ends of chunks.
    skipped: AtomicU64,
    /// The start of each chunk minus the offset of the chunk, so that adding an offset gives the address.
    /// Null if the chunk is not mapped.
    biased: [AtomicPtr<u8>; CHUNKS],
    mapping: Mutex<()>,
}

#[inline]
fn chunk_of(offset: u64) -> usize {
    (64 - (offset >> FIRST_SHIFT).leading_zeros()) as usize
}

fn chunk_start(chunk: usize) -> u64 {
    if chunk == 0 { 0 } else { 1 << (FIRST_SHIFT as usize + chunk - 1) }
}

fn chunk_end(chunk: usize) -> u64 {
    1 << (FIRST_SHIFT as usize + chunk)
}

fn chunk_layout(chunk: usize) -> Layout {
    let size = (chunk_end(chunk) - chunk_start(chunk)) as usize;
    // A small chunk needs only page alignment, because no huge page fits into it.
    let align = if size < chunk::HUGE_PAGE { 4 << 10 } else { chunk::HUGE_PAGE };
    // The size is a power of two of at most 8 GiB.
    Layout::from_size_align(size, align).unwrap_or(Layout::new::<u64>())
}

/// Returns true if a dropped arena may keep a chunk of this layout for a later arena. Larger chunks have huge
/// pages.
fn is_small(layout: Layout) -> bool {
    layout.size() < chunk::HUGE_PAGE
}

impl Arena {
    pub(crate) fn new() -> Self {
        Arena {
            bump: AtomicU64::new(RESERVED),
            skipped: AtomicU64::new(0),
            biased: [const { AtomicPtr::new(std::ptr::null_mut()) }; CHUNKS],
            mapping: Mutex::new(()),
        }
    }

    /// Hands out `size` bytes (zeroed) at a multiple of `align` (a power of two from 4 to 64).
    ///
    /// # Errors
    /// Incomplete (memory limit) if the 16 GiB of the arena or the memory of the system are used up.
    #[inline]
    pub(crate) fn alloc(&self, size: usize, align: u64) -> Result<(Ref, *mut u8)> {
        let size = size as u64;
        let mut bump = self.bump.load(Ordering::Relaxed);
        loop {
            let start = Self::place(bump, size, align)?;
            let chunk = chunk_of(start);
            match self.bump.compare_exchange_weak(bump, start + size, Ordering::Relaxed, Ordering::Relaxed) {
                Ok(_) => {
                    base::invariant!(start >= bump, "memory at {start} is given below the mark {bump}");
                    base::invariant!(
                        start.is_multiple_of(align),
                        "memory at {start} is not aligned to {align}"
                    );
                    base::invariant!(
                        start + size <= chunk_end(chunk),
                        "memory from {start} to {} crosses the end of chunk {chunk}",
                        start + size
                    );
                    if start - bump >= align {
                        self.skipped.fetch_add(start - bump, Ordering::Relaxed);
                    }
                    let mut base = self.biased[chunk].load(Ordering::Acquire);
                    if base.is_null() {
                        base = self.map(chunk)?;
                    }
                    let last = start + size.max(1) - 1;
                    if last >> STEP_SHIFT != (bump - 1) >> STEP_SHIFT {
                        Self::enter(base, (bump - 1) >> STEP_SHIFT, start, last);
                    }
                    return Ok(((start >> 2) as Ref, base.wrapping_add(start as usize)));
                }
                Err(now) => bump = now,
            }
        }
    }

    /// Returns the offset of a piece that is requested when `bump` bytes are handed out. A piece lies in one chunk.
    #[inline]
    fn place(bump: u64, size: u64, align: u64) -> Result<u64> {
        let start = (bump + align - 1) & !(align - 1);
        base::invariant!(
            align.is_power_of_two() && start >= bump,
            "memory at {start} is given after the mark {bump}, with the alignment {align}"
        );
        let chunk = chunk_of(start);
        if chunk >= CHUNKS || start.saturating_add(size) > chunk_end(chunk) {
            return Self::next_fitting(chunk, size);
        }
        Ok(start)
    }

    /// Chooses the pages for the steps that a piece from `start` to `last` is the first to reach. `before` is
    /// the step in which the previous piece ends. Below 2 MiB there is nothing to choose.
    #[cold]
    fn enter(base: *mut u8, before: u64, start: u64, last: u64) {
        let first = (start >> STEP_SHIFT).max(before + 1) << STEP_SHIFT;
        let end = ((last >> STEP_SHIFT) + 1) << STEP_SHIFT;
        base::invariant!(first < end, "the memory from {start} to {last} enters no step of the arena");
        if start < chunk::HUGE_PAGE as u64 {
            return;
        }
        if last - start + 1 >= LARGE as u64 {
            // SAFETY: the range consists of whole steps of the chunk of the piece. This chunk has at least 2
            // MiB and starts on a page.
            unsafe { chunk::populate(base.wrapping_add(first as usize), (end - first) as usize) };
        } else if first.is_multiple_of(chunk::HUGE_PAGE as u64) {
            // SAFETY: the range is one huge page of the chunk of the piece, and starts on a page. A chunk of 2 MiB or
            // more does not end within a huge page.
            unsafe { chunk::ask_huge(base.wrapping_add(first as usize), chunk::HUGE_PAGE) };
        }
    }

    /// Returns the start of the first chunk after `chunk` that can hold `size` bytes.
    #[cold]
    fn next_fitting(chunk: usize, size: u64) -> Result<u64> {
        (chunk + 1..CHUNKS)
            .map(|c| (chunk_start(c), chunk_end(c)))
            .find(|(start, end)| size <= end - start && *end <= LIMIT)
            .map(|(start, _)| start)
            .ok_or_else(|| full("the memtable's 16 GiB are used up"))
    }

    #[cold]
    fn map(&self, chunk: usize) -> Result<*mut u8> {
        let _one = self.mapping.lock();
        let base = self.biased[chunk].load(Ordering::Acquire);
        if !base.is_null() {
            return Ok(base);
        }
        let layout = chunk_layout(chunk);
        base::invariant!(
            layout.size() as u64 == chunk_end(chunk) - chunk_start(chunk),
            "chunk {chunk} of an arena has {} bytes",
            layout.size()
        );
        let start = if is_small(layout) { chunk::take(layout) } else { chunk::reserve(layout) };
        let start = start.ok_or_else(|| full("no memory for the memtable"))?;
        let base = start.wrapping_sub(chunk_start(chunk) as usize);
        self.biased[chunk].store(base, Ordering::Release);
        Ok(base)
    }

    /// Returns the address of `place`. The pointer is valid as long as the arena lives.
    ///
    /// # Safety
    /// `place` must come from `alloc` of this arena, and the `alloc` must happen before this call: the `Ref`
    /// is published with Release and read with Acquire.
    #[inline]
    pub(crate) unsafe fn at(&self, place: Ref) -> *mut u8 {
        let offset = u64::from(place) << 2;
        // The chunk was mapped before the `Ref` was handed out, so a relaxed load sees the mapping. `CHUNKS -
        // 1` is the chunk of the largest `Ref`.
        self.biased[chunk_of(offset)].load(Ordering::Relaxed).wrapping_add(offset as usize)
    }

    /// Returns true if the arena may have no room for another write batch: see [`SWITCH_AT`].
    #[inline]
    pub(crate) fn is_nearly_full(&self) -> bool {
        self.bump.load(Ordering::Relaxed) >= SWITCH_AT
    }

    /// Returns the number of bytes that are handed out.
    pub(crate) fn used(&self) -> usize {
        // The subtraction saturates, because the two counters are not read at the same time.
        (self.bump.load(Ordering::Relaxed).saturating_sub(self.skipped.load(Ordering::Relaxed))) as usize
    }
}

impl Drop for Arena {
    fn drop(&mut self) {
        let used = *self.bump.get_mut();
        for (chunk, biased) in self.biased.iter_mut().enumerate() {
            let base = *biased.get_mut();
            if base.is_null() {
                continue;
            }
            let (start, layout) = (base.wrapping_add(chunk_start(chunk) as usize), chunk_layout(chunk));
            // SAFETY: the pointer and the layout come from `map`. This thread is the only owner of the
            // arena. Only memory below `bump` was handed out, so only that memory was written.
            unsafe {
                match is_small(layout) {
                    true => chunk::keep(start, layout, used.saturating_sub(chunk_start(chunk)) as usize),
                    false => chunk::unmap(start, layout),
                }
            }
        }
    }
}

#[cold]
fn full(what: &str) -> Error {
    Error::new(Kind::Incomplete, what).with_subcode(Subcode::MemoryLimit)
}
