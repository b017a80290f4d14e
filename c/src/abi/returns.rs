//! What C functions return: numbers, handles, and buffers of the process's `malloc`.
//!
//! The caller frees a returned buffer with `free` or `rocksdb_free`. So each buffer comes from `libc::malloc`, whatever
//! allocator Rust uses.

use std::ffi::{CString, c_char};

/// A value that a C function returns.
pub trait Return {
    /// The type that C sees.
    type C;

    fn into_c(self) -> Self::C;

    /// The value after an error: zero, or a null pointer.
    fn neutral() -> Self::C;
}

macro_rules! plain {
    ($($ty:ty = $neutral:expr),* $(,)?) => {$(
        impl Return for $ty {
            type C = $ty;

            fn into_c(self) -> $ty {
                self
            }

            fn neutral() -> $ty {
                $neutral
            }
        }
    )*};
}
plain!(() = (), u8 = 0, i32 = 0, u32 = 0, i64 = 0, u64 = 0, usize = 0, f64 = 0.0, bool = false);

/// A truth value that is returned as `unsigned char`. For C's `bool`, use Rust's `bool`.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct Flag(pub bool);

impl Return for Flag {
    type C = u8;

    fn into_c(self) -> u8 {
        u8::from(self.0)
    }

    fn neutral() -> u8 {
        0
    }
}

/// A success that is returned as `int`: 0, or -1 for a failure.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct Success(pub bool);

impl Return for Success {
    type C = i32;

    fn into_c(self) -> i32 {
        if self.0 { 0 } else { -1 }
    }

    fn neutral() -> i32 {
        -1
    }
}

/// A handle that the caller destroys.
pub struct Owned<T>(pub T);

impl<T> Return for Owned<T> {
    type C = *mut T;

    fn into_c(self) -> *mut T {
        Box::into_raw(Box::new(self.0))
    }

    fn neutral() -> *mut T {
        std::ptr::null_mut()
    }
}

/// A handle that the caller destroys, and whose memory exists already. For large objects, which are made in their place.
pub struct OwnedBox<T>(pub Box<T>);

impl<T> Return for OwnedBox<T> {
    type C = *mut T;

    fn into_c(self) -> *mut T {
        Box::into_raw(self.0)
    }

    fn neutral() -> *mut T {
        std::ptr::null_mut()
    }
}

/// A handle that the caller destroys and cannot change.
pub struct ConstOwned<T>(pub T);

impl<T> Return for ConstOwned<T> {
    type C = *const T;

    fn into_c(self) -> *const T {
        Box::into_raw(Box::new(self.0))
    }

    fn neutral() -> *const T {
        std::ptr::null()
    }
}

/// A pointer to a part of another handle. The pointer is valid until that handle is destroyed.
pub struct Ref<T>(*const T);

impl<T> Ref<T> {
    /// Makes the pointer. The caller of the C function must not use the pointer after the handle of `value` is
    /// destroyed.
    pub fn new(value: &T) -> Self {
        Ref(value)
    }
}

impl<T> Return for Ref<T> {
    type C = *const T;

    fn into_c(self) -> *const T {
        self.0
    }

    fn neutral() -> *const T {
        std::ptr::null()
    }
}

/// Bytes that belong to a handle. The bytes are valid until the handle changes or is destroyed.
pub struct Text(*const c_char);

impl Text {
    /// Bytes without a NUL at their end. The function also returns their length.
    pub fn bytes(bytes: &[u8]) -> Self {
        Text(bytes.as_ptr().cast())
    }

    /// A string with a NUL at its end.
    pub fn string(text: &CString) -> Self {
        Text(text.as_ptr())
    }
}

impl Return for Text {
    type C = *const c_char;

    fn into_c(self) -> *const c_char {
        self.0
    }

    fn neutral() -> *const c_char {
        std::ptr::null()
    }
}

/// Bytes that the caller frees.
pub struct Buffer(*mut c_char);

impl Buffer {
    /// Copies bytes without a NUL at their end. The C function also returns their length. The buffer is not null even if
    /// there are no bytes.
    pub fn bytes(bytes: &[u8]) -> Self {
        Buffer(copy_to_malloc(bytes))
    }

    /// Copies text and adds a NUL.
    pub fn string(text: &[u8]) -> Self {
        Buffer(copy_to_malloc_with_nul(text))
    }
}

impl Return for Buffer {
    type C = *mut c_char;

    fn into_c(self) -> *mut c_char {
        self.0
    }

    fn neutral() -> *mut c_char {
        std::ptr::null_mut()
    }
}

/// Returns the neutral value for `None`.
impl<R: Return> Return for Option<R> {
    type C = R::C;

    fn into_c(self) -> R::C {
        self.map_or_else(R::neutral, R::into_c)
    }

    fn neutral() -> R::C {
        R::neutral()
    }
}

macro_rules! raw_pointer {
    ($($pointer:tt),*) => {$(
        impl<T> Return for *$pointer T {
            type C = *$pointer T;

            fn into_c(self) -> Self::C {
                self
            }

            fn neutral() -> Self::C {
                std::ptr::null::<T>() as *$pointer T
            }
        }
    )*};
}
raw_pointer!(const, mut);

/// Copies bytes to memory from `malloc`. Aborts the process if the allocation fails, as Rust's allocator does.
pub fn copy_to_malloc(bytes: &[u8]) -> *mut c_char {
    malloc_copy(bytes, bytes.len().max(1))
}

/// Copies bytes and a NUL to memory from `malloc`.
pub fn copy_to_malloc_with_nul(bytes: &[u8]) -> *mut c_char {
    let copy = malloc_copy(bytes, bytes.len() + 1);
    // SAFETY: `copy` has `bytes.len() + 1` writable bytes, so the offset `bytes.len()` is inside.
    unsafe { *copy.add(bytes.len()) = 0 };
    copy
}

/// Copies a list to an array from `malloc`. The result is not null even if the list is empty.
pub fn malloc_array<T: Copy>(items: &[T]) -> *mut T {
    let size = size_of_val(items);
    let array: *mut T = malloc(size.max(size_of::<T>()).max(1)).cast();
    // SAFETY: `array` has at least `size` writable bytes, `malloc` aligns for every scalar and pointer type, and the new
    // memory overlaps nothing.
    unsafe { std::ptr::copy_nonoverlapping(items.as_ptr(), array, items.len()) };
    array
}

fn malloc_copy(bytes: &[u8], room: usize) -> *mut c_char {
    debug_assert!(room >= bytes.len());
    let copy = malloc(room);
    // SAFETY: `copy` has `room` writable bytes, which is not less than `bytes.len()`, and overlaps nothing.
    unsafe { std::ptr::copy_nonoverlapping(bytes.as_ptr().cast(), copy, bytes.len()) };
    copy
}

/// Allocates memory from `malloc`, not initialized.
pub fn malloc_bytes(size: usize) -> *mut c_char {
    malloc(size.max(1))
}

fn malloc(size: usize) -> *mut c_char {
    // SAFETY: `malloc` has no precondition.
    let memory: *mut c_char = unsafe { libc::malloc(size) }.cast();
    if memory.is_null() {
        let layout = std::alloc::Layout::from_size_align(size, 1).unwrap_or(std::alloc::Layout::new::<u8>());
        std::alloc::handle_alloc_error(layout);
    }
    memory
}

/// Frees memory from `malloc`. Accepts null.
///
/// # Safety
/// `memory` is null or came from `malloc` and was not freed.
pub unsafe fn free<T>(memory: *mut T) {
    // SAFETY: the contract of this function is the contract of `free`.
    unsafe { libc::free(memory.cast()) };
}
