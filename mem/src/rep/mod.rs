//! The data structures that order the entries. They hold only the places of entries in the arena.
//!
//! [`tree`] is the default and stands for RocksDB's `skip_list`. [`vector`] is for bulk loads. The memtable
//! selects a structure by an enum, so that an operation makes no virtual call.

pub(crate) mod entry;
pub(crate) mod tree;
pub(crate) mod vector;

/// Prefetches the cache line at `address`. Any address is allowed.
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
