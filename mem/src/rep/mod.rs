//! The structures that keep entries in order. They hold places of entries in the arena, nothing else.
//!
//! [`tree`] is the default (RocksDB's name for its place is `skip_list`), [`vector`] the one for bulk
//! loads. The memtable picks by an enum, so that there is no virtual call a row.

pub(crate) mod entry;
pub(crate) mod tree;
pub(crate) mod vector;

/// Asks the processor to bring in the line at `address`; any address is allowed.
#[inline(always)]
pub(crate) fn prefetch<T>(address: *const T) {
    #[cfg(all(target_arch = "x86_64", not(miri)))]
    // SAFETY: a prefetch has no architectural effect, whatever the address.
    unsafe {
        std::arch::x86_64::_mm_prefetch::<{ std::arch::x86_64::_MM_HINT_T0 }>(address.cast());
    }
    #[cfg(not(all(target_arch = "x86_64", not(miri))))]
    let _ = address;
}
