//! The flag of C programs that cancels compactions: an `Arc<AtomicBool>` behind a pointer to one byte.

use std::sync::Arc;
use std::sync::atomic::{AtomicBool, Ordering};

/// Creates a flag with the value 0. The caller destroys the flag with [`destroy`].
pub fn create() -> *mut u8 {
    Arc::into_raw(Arc::new(AtomicBool::new(false))).cast_mut().cast()
}

/// Destroys a flag. Options that use the flag keep it. Accepts null.
///
/// # Safety
/// `flag` is null, or a flag of [`create`] that is not used again.
pub unsafe fn destroy(flag: *mut u8) {
    if !flag.is_null() {
        // SAFETY: the flag came from `create`, which made an `Arc`, and the caller does not use the flag again.
        drop(unsafe { Arc::from_raw(flag.cast_const().cast::<AtomicBool>()) });
    }
}

/// Sets a flag. Accepts null.
///
/// # Safety
/// `flag` is null, or a live flag of [`create`].
pub unsafe fn set(flag: *mut u8, value: bool) {
    // SAFETY: the flag is null, or it came from `create` and is live.
    if let Some(flag) = unsafe { flag.cast_const().cast::<AtomicBool>().as_ref() } {
        flag.store(value, Ordering::Release);
    }
}

/// Returns a second owner of a flag. `None` for null.
///
/// # Safety
/// `flag` is null, or a live flag of [`create`].
pub unsafe fn share(flag: *mut u8) -> Option<Arc<AtomicBool>> {
    if flag.is_null() {
        return None;
    }
    let flag = flag.cast_const().cast::<AtomicBool>();
    // SAFETY: the flag is live and came from `create`, which made an `Arc`. The count goes up before the second owner takes the
    // flag.
    unsafe {
        Arc::increment_strong_count(flag);
        Some(Arc::from_raw(flag))
    }
}
