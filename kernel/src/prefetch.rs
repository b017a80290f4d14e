//! Asking the processor for memory before it is needed.
//!
//! A hint and nothing more: no answer depends on it. Worth it where the address is known some time before
//! the bytes are wanted, and the bytes are likely not in a cache.

/// Bytes of a cache line.
pub const LINE: usize = 64;

/// Asks for every line of `bytes`. Meant for a few lines: what is asked for beyond a dozen only queues up.
#[inline(always)]
pub fn read(bytes: &[u8]) {
    #[cfg(all(target_arch = "x86_64", not(miri)))]
    for at in (0..bytes.len()).step_by(LINE) {
        // SAFETY: the address is within `bytes`; prefetching reads nothing and needs only SSE, which
        // every x86-64 has.
        unsafe {
            use std::arch::x86_64::{_MM_HINT_T0, _mm_prefetch};
            _mm_prefetch::<_MM_HINT_T0>(bytes.as_ptr().add(at).cast());
        }
    }
    #[cfg(all(target_arch = "aarch64", not(miri)))]
    for at in (0..bytes.len()).step_by(LINE) {
        // SAFETY: the address is within `bytes`, and `prfm` has no effect but on the cache.
        unsafe {
            std::arch::asm!("prfm pldl1keep, [{0}]", in(reg) bytes.as_ptr().add(at), options(nostack, readonly, preserves_flags));
        }
    }
    #[cfg(any(miri, not(any(target_arch = "x86_64", target_arch = "aarch64"))))]
    let _ = bytes;
}
