//! Prefetching: asks the processor for memory before it is needed.
//!
//! A prefetch is only a hint; no result depends on it. It is useful if the address is known some time before
//! the bytes are needed, and if the bytes are probably not in a cache.

/// The number of bytes of a cache line.
pub const LINE: usize = 64;

/// Prefetches every line of `bytes`. Use it for few lines: after about a dozen, further requests only wait in
/// a queue.
#[inline(always)]
pub fn read(bytes: &[u8]) {
    #[cfg(all(target_arch = "x86_64", not(miri)))]
    for at in (0..bytes.len()).step_by(LINE) {
        // SAFETY: the address is within `bytes`. The prefetch reads no data and needs only SSE, which every
        // x86-64 CPU has.
        unsafe {
            use std::arch::x86_64::{_MM_HINT_T0, _mm_prefetch};
            _mm_prefetch::<_MM_HINT_T0>(bytes.as_ptr().add(at).cast());
        }
    }
    #[cfg(all(target_arch = "aarch64", not(miri)))]
    for at in (0..bytes.len()).step_by(LINE) {
        // SAFETY: the address is within `bytes`, and `prfm` changes only the cache.
        unsafe {
            std::arch::asm!("prfm pldl1keep, [{0}]", in(reg) bytes.as_ptr().add(at), options(nostack, readonly, preserves_flags));
        }
    }
    #[cfg(any(miri, not(any(target_arch = "x86_64", target_arch = "aarch64"))))]
    let _ = bytes;
}
