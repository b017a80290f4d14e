//! The copy of a fixed number of bytes, which the decoders of LZ4 and Snappy use.

/// Copies `N` bytes with registers.
///
/// # Safety
/// `from` is valid for reads and `to` for writes of `N` bytes, and the two ranges do not overlap.
#[inline(always)]
pub(crate) unsafe fn copy<const N: usize>(from: *const u8, to: *mut u8) {
    // SAFETY: the caller guarantees it. Arrays of bytes need no alignment.
    unsafe { to.cast::<[u8; N]>().write(from.cast::<[u8; N]>().read()) }
}
