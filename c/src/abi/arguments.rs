//! Conversion of pointers from C to Rust values.
//!
//! The contract of every function here is the contract of the C interface (the head of `rocksdb/c.h`): a pointer is null,
//! or points to a valid object of its type that no thread changes during the call.

use std::ffi::{CStr, OsStr, c_char};
use std::mem::MaybeUninit;
use std::os::unix::ffi::OsStrExt;
use std::path::Path;

use base::{Error, Result};

/// Returns the bytes that C passes as pointer and length.
///
/// # Errors
/// InvalidArgument if the pointer is null and the length is not 0, or if the length is above the address space.
///
/// # Safety
/// `data` is null, or points to `len` initialized bytes that do not change during the call. The caller uses the result only during the
/// call.
pub unsafe fn bytes<'a>(data: *const c_char, len: usize) -> Result<&'a [u8]> {
    if len == 0 {
        return Ok(&[]);
    }
    if data.is_null() {
        return Err(Error::invalid_argument(format!("a null pointer was given for {len} bytes")));
    }
    if len > isize::MAX as usize {
        return Err(Error::invalid_argument(format!("a length of {len} bytes is above the address space")));
    }
    // SAFETY: `data` is not null and points to `len` initialized, unchanging bytes by the contract, which ends the use of the result
    // with the call; `len` is at most `isize::MAX`; bytes have no alignment.
    Ok(unsafe { std::slice::from_raw_parts(data.cast(), len) })
}

/// Returns the text of a C string.
///
/// # Errors
/// InvalidArgument if the pointer is null or the text is not UTF-8.
///
/// # Safety
/// `text` is null, or points to a string that ends with NUL and does not change during the call. The caller uses the result only
/// during the call.
pub unsafe fn text<'a>(text: *const c_char) -> Result<&'a str> {
    if text.is_null() {
        return Err(Error::invalid_argument("a null pointer was given for a string"));
    }
    // SAFETY: `text` is not null, ends with NUL, does not change, and the result is used only during the call, by the contract.
    let text = unsafe { CStr::from_ptr(text) };
    text.to_str().map_err(|_| Error::invalid_argument(format!("the string {text:?} is not UTF-8")))
}

/// Returns the path in a C string. The path can have any bytes.
///
/// # Errors
/// InvalidArgument if the pointer is null.
///
/// # Safety
/// The contract of [`text`].
pub unsafe fn path<'a>(path: *const c_char) -> Result<&'a Path> {
    if path.is_null() {
        return Err(Error::invalid_argument("a null pointer was given for a path"));
    }
    // SAFETY: `path` is not null, ends with NUL, does not change, and the result is used only during the call, by the contract.
    let path = unsafe { CStr::from_ptr(path) };
    Ok(Path::new(OsStr::from_bytes(path.to_bytes())))
}

/// Returns an array that C passes as pointer and count. A null pointer with the count 0 is the empty array.
///
/// # Errors
/// InvalidArgument if the pointer is null or not aligned and the count is not 0, or if the count is above the address
/// space.
///
/// # Safety
/// `data` is null, or points to `count` initialized values that do not change during the call. The caller uses the result only during
/// the call.
pub unsafe fn array<'a, T>(data: *const T, count: usize) -> Result<&'a [T]> {
    if count == 0 {
        return Ok(&[]);
    }
    check_array(data, count)?;
    // SAFETY: `data` is aligned, not null, and points to `count` initialized, unchanging values by the contract, which
    // ends the use of the result with the call; the size is at most `isize::MAX`.
    Ok(unsafe { std::slice::from_raw_parts(data, count) })
}

/// Returns an array that the called function fills with results.
///
/// # Errors
/// The errors of [`array`].
///
/// # Safety
/// `data` is null, or points to `count` writable places that only this call uses. The caller uses the result only during the call.
pub unsafe fn array_mut<'a, T>(data: *mut T, count: usize) -> Result<&'a mut [MaybeUninit<T>]> {
    if count == 0 {
        return Ok(&mut []);
    }
    check_array(data, count)?;
    // SAFETY: `data` is aligned, not null, and points to `count` places that only this call uses by the contract;
    // the result is used only during the call; `MaybeUninit` needs no initialized memory; the size is at most `isize::MAX`.
    Ok(unsafe { std::slice::from_raw_parts_mut(data.cast(), count) })
}

fn check_array<T>(data: *const T, count: usize) -> Result<()> {
    if data.is_null() || !data.is_aligned() {
        return Err(Error::invalid_argument(format!(
            "a null or unaligned array was given for {count} items"
        )));
    }
    if count > isize::MAX as usize / size_of::<T>().max(1) {
        return Err(Error::invalid_argument(format!("an array of {count} items is above the address space")));
    }
    Ok(())
}

/// Converts a number of items from `int`.
///
/// # Errors
/// InvalidArgument for a negative count.
pub fn count(count: i32) -> Result<usize> {
    usize::try_from(count).map_err(|_| Error::invalid_argument(format!("the count {count} is negative")))
}

/// The pointer of an output parameter. If the pointer is null, the result is dropped.
pub struct Out<T>(*mut T);

impl<T> Out<T> {
    /// Returns an output parameter that drops the result.
    pub fn none() -> Self {
        Out(std::ptr::null_mut())
    }

    /// # Safety
    /// `place` is null, or points to a writable place that only this call uses. The place outlives the value.
    pub unsafe fn new(place: *mut T) -> Self {
        Out(place)
    }

    /// Writes the result to the place of the caller. Does nothing if the pointer is null.
    pub fn set(&self, value: T) {
        if !self.0.is_null() {
            // SAFETY: the place is not null, and by the contract of `new` it is writable and used by this call only.
            unsafe { self.0.write(value) };
        }
    }

    /// Returns true if the caller passed null and wants no result.
    pub fn is_null(&self) -> bool {
        self.0.is_null()
    }
}

/// Byte strings that C passes as an array of pointers and an array of lengths.
pub struct Slices<'a> {
    pub items: Vec<&'a [u8]>,
}

impl Slices<'_> {
    /// # Errors
    /// InvalidArgument for a null array or a null item of a length above 0.
    ///
    /// # Safety
    /// Both arrays have `count` items. Each pointer points to as many initialized bytes as its length says. Nothing changes
    /// during the call, and the caller uses the result only during the call.
    pub unsafe fn new(count: usize, data: *const *const c_char, lens: *const usize) -> Result<Self> {
        // SAFETY: both arrays have `count` unchanging items by the contract.
        let (data, lens) = unsafe { (array(data, count)?, array(lens, count)?) };
        // SAFETY: each pointer has as many initialized, unchanging bytes as its length says, by the contract.
        let slices = data.iter().zip(lens).map(|(&data, &len)| unsafe { bytes(data, len) });
        Ok(Slices { items: slices.collect::<Result<_>>()? })
    }

    /// Joins the byte strings: the parts of a key or of a value.
    pub fn concat(&self) -> Vec<u8> {
        self.items.concat()
    }
}

/// The keys of a read of several keys. The count is known even if the keys are not valid: the results of all keys then get
/// the error.
pub struct Keys<'a> {
    pub count: usize,
    pub slices: Result<Slices<'a>>,
}

impl Keys<'_> {
    /// # Safety
    /// As for [`Slices::new`].
    pub unsafe fn new(count: usize, data: *const *const c_char, lens: *const usize) -> Self {
        // SAFETY: the contract of this function has each obligation of the called function.
        Keys { count, slices: unsafe { Slices::new(count, data, lens) } }
    }
}

/// Ranges of keys that C passes as four arrays.
pub struct Ranges<'a> {
    pub starts: Slices<'a>,
    pub limits: Slices<'a>,
}

impl<'a> Ranges<'a> {
    /// Returns each range as start and limit. If one array is longer, the rest of the array is left out.
    pub fn iter(&self) -> impl Iterator<Item = (&'a [u8], &'a [u8])> {
        self.starts.items.iter().copied().zip(self.limits.items.iter().copied())
    }
}
