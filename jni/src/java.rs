//! The JVM as Rust values: the environment of a call, references, arrays, strings.
//!
//! [`Java`] is the environment of one call in one thread. The reference types have the layout of the pointers of the JNI, so
//! natives take and return them. A reference comes from the JVM and is valid until the native returns: the lifetime `'j`. The
//! JVM checks types: if the descriptor of a native says array, the native gets an array or null.
//!
//! Not here: direct buffers (`direct`), exceptions (`throw`), classes and methods (`class`), calls from other threads (`attach`).
//!
//! Facts: the JNI specification, chapter 4.

use std::ffi::c_void;
use std::marker::PhantomData;

use jni_sys::{JNIEnv, jobject};

use crate::fault::{Fault, Outcome};

/// The environment of a call. Belongs to one thread.
#[derive(Clone, Copy)]
pub struct Java<'j> {
    env: *mut JNIEnv,
    life: PhantomData<&'j ()>,
}

/// Calls a function of the JNI by its name.
macro_rules! jni {
    ($java:expr, $function:ident $(, $argument:expr)* $(,)?) => {{
        let env = $java.raw();
        match (**env).$function {
            Some(function) => function(env $(, $argument)*),
            None => panic!(concat!("the JVM lacks ", stringify!($function))),
        }
    }};
}
pub(crate) use jni;

macro_rules! references {
    ($($(#[$doc:meta])* $name:ident),* $(,)?) => {$(
        $(#[$doc])*
        #[derive(Clone, Copy)]
        #[repr(transparent)]
        pub struct $name<'j>(jobject, PhantomData<&'j ()>);

        impl<'j> $name<'j> {
            /// The null reference.
            pub const NULL: Self = $name(std::ptr::null_mut(), PhantomData);

            /// # Safety
            /// `object` is null, or a reference to an object of this type that is valid for `'j` in this thread.
            pub unsafe fn from_raw(object: jobject) -> Self {
                $name(object, PhantomData)
            }

            /// Returns the pointer of the JNI. The pointer is valid for `'j` only.
            pub fn raw(self) -> jobject {
                self.0
            }

            /// Returns true for the null reference of Java.
            pub fn is_null(self) -> bool {
                self.0.is_null()
            }

            /// Returns the same reference as a reference to an object of any class.
            pub fn object(self) -> JObject<'j> {
                JObject(self.0, PhantomData)
            }
        }
    )*};
}
references! {
    /// Any object.
    JObject,
    /// `java.lang.Class`.
    JClass,
    /// `java.lang.String`.
    JString,
    /// `byte[]`.
    JBytes,
    /// `int[]`.
    JInts,
    /// `long[]`.
    JLongs,
    /// An array of objects.
    JObjects,
    /// `java.nio.ByteBuffer`.
    JBuffer,
}

/// The part of a `byte[]` or `ByteBuffer`: offset and length, not yet checked.
#[derive(Clone, Copy, Debug)]
pub struct Part {
    pub offset: i32,
    pub len: i32,
}

/// Bytes copied out of a `byte[]`. Up to [`Copied::INLINE`] bytes are stored on the stack.
pub struct Copied {
    inline: [u8; Copied::INLINE],
    heap: Vec<u8>,
    len: usize,
}

impl Copied {
    const INLINE: usize = 120;
}

impl std::ops::Deref for Copied {
    type Target = [u8];

    #[inline]
    fn deref(&self) -> &[u8] {
        if self.len <= Copied::INLINE { &self.inline[..self.len] } else { &self.heap }
    }
}

impl<'j> Java<'j> {
    /// # Safety
    /// `env` is the environment of this thread for all of `'j`.
    #[inline]
    pub unsafe fn from_raw(env: *mut JNIEnv) -> Self {
        Java { env, life: PhantomData }
    }

    /// Returns the pointer of the environment. The pointer is valid in this thread only.
    #[inline]
    pub fn raw(self) -> *mut JNIEnv {
        self.env
    }

    /// Returns true if an exception is pending.
    #[inline]
    pub fn has_exception(self) -> bool {
        // SAFETY: `env` belongs to this thread. The function may be called while an exception is pending.
        let answer = unsafe { jni!(self, ExceptionCheck) };
        answer != 0
    }

    /// Removes a pending exception.
    pub fn clear_exception(self) {
        // SAFETY: `env` belongs to this thread. The function may be called while an exception is pending.
        unsafe { jni!(self, ExceptionClear) };
    }

    /// Fails if an exception is pending.
    ///
    /// # Errors
    /// [`Fault::Thrown`].
    #[inline]
    pub fn check(self) -> Outcome<()> {
        if self.has_exception() { Err(Fault::Thrown) } else { Ok(()) }
    }

    /// Returns the length of an array. Fails for null.
    ///
    /// # Errors
    /// NullPointerException.
    #[inline]
    fn length(self, array: jobject) -> Outcome<usize> {
        if array.is_null() {
            return Err(Fault::null());
        }
        // SAFETY: `env` belongs to this thread; `array` is a valid reference to an array.
        Ok(unsafe { jni!(self, GetArrayLength, array) } as usize)
    }

    /// Copies a part of a `byte[]`.
    ///
    /// # Errors
    /// IndexOutOfBoundsException if the part is not in the array; NullPointerException.
    #[inline]
    pub fn copy(self, array: JBytes<'_>, part: Part) -> Outcome<Copied> {
        if array.is_null() {
            return Err(Fault::null());
        }
        let len = usize::try_from(part.len).map_err(|_| Fault::negative(part.len))?;
        let mut copied = Copied { inline: [0; Copied::INLINE], heap: Vec::new(), len };
        if len <= Copied::INLINE {
            let place = copied.inline.as_mut_ptr();
            // SAFETY: `env` belongs to this thread; `array` is a `byte[]`; `place` has `len` writable bytes. The JVM checks
            // the part and throws.
            unsafe { jni!(self, GetByteArrayRegion, array.raw(), part.offset, part.len, place.cast()) };
            self.check()?;
        } else {
            // Check the array before the allocation, because a program can pass any length up to 2 GiB.
            if self.length(array.raw())? < len {
                return Err(Fault::bounds(format!("{len} bytes are more than the array has")));
            }
            copied.heap = self.copy_to_heap(array, part)?;
        }
        Ok(copied)
    }

    /// Copies a part of a `byte[]`. The memory is not set to zero before the copy. The length of the part is not negative.
    fn copy_to_heap(self, array: JBytes<'_>, part: Part) -> Outcome<Vec<u8>> {
        let len = part.len as usize;
        let mut bytes: Vec<u8> = Vec::with_capacity(len);
        // SAFETY: `env` belongs to this thread; `array` is a `byte[]`; `bytes` has `len` writable bytes. The JVM checks the
        // part and throws.
        unsafe {
            jni!(self, GetByteArrayRegion, array.raw(), part.offset, part.len, bytes.as_mut_ptr().cast())
        };
        self.check()?;
        // SAFETY: the JVM did not throw, so the JVM wrote `len` bytes, and the capacity is at least `len`.
        unsafe { bytes.set_len(len) };
        Ok(bytes)
    }

    /// Copies the first `len` bytes of a `byte[]`.
    ///
    /// # Errors
    /// The errors of [`Self::copy`].
    #[inline]
    pub fn copy_first(self, array: JBytes<'_>, len: i32) -> Outcome<Copied> {
        self.copy(array, Part { offset: 0, len })
    }

    /// Copies a whole `byte[]`.
    ///
    /// # Errors
    /// The errors of [`Self::copy`].
    pub fn bytes(self, array: JBytes<'_>) -> Outcome<Vec<u8>> {
        let len = self.length(array.raw())? as i32;
        self.copy_to_heap(array, Part { offset: 0, len })
    }

    /// Makes a `byte[]`.
    ///
    /// # Errors
    /// OutOfMemoryError; RocksDBException for more than 2 GiB.
    #[inline]
    pub fn new_bytes(self, bytes: &[u8]) -> Outcome<JBytes<'j>> {
        let len = i32::try_from(bytes.len()).map_err(|_| too_large(bytes.len()))?;
        // SAFETY: `env` belongs to this thread; the length is not negative.
        let array = unsafe { jni!(self, NewByteArray, len) };
        if array.is_null() {
            return Err(Fault::Thrown);
        }
        // SAFETY: `env` belongs to this thread; the array has `len` bytes, and `bytes` too.
        unsafe { jni!(self, SetByteArrayRegion, array, 0, len, bytes.as_ptr().cast()) };
        // SAFETY: the reference is new and belongs to this native.
        Ok(unsafe { JBytes::from_raw(array) })
    }

    /// Copies as many bytes as fit into a part of a `byte[]`. Returns the length of `bytes`.
    ///
    /// # Errors
    /// IndexOutOfBoundsException if the part is not in the array; NullPointerException.
    #[inline]
    pub fn fill(self, array: JBytes<'_>, part: Part, bytes: &[u8]) -> Outcome<i32> {
        if array.is_null() {
            return Err(Fault::null());
        }
        let room = usize::try_from(part.len).map_err(|_| Fault::negative(part.len))?;
        let len = bytes.len().min(room);
        // SAFETY: `env` belongs to this thread; `array` is a `byte[]`; `bytes` has `len` bytes. The JVM checks the part.
        unsafe {
            jni!(self, SetByteArrayRegion, array.raw(), part.offset, len as i32, bytes.as_ptr().cast())
        };
        self.check()?;
        i32::try_from(bytes.len()).map_err(|_| too_large(bytes.len()))
    }

    /// Returns the text of a `String`.
    ///
    /// # Errors
    /// NullPointerException.
    pub fn text(self, string: JString<'_>) -> Outcome<String> {
        if string.is_null() {
            return Err(Fault::null());
        }
        // SAFETY: `env` belongs to this thread; `string` is a valid reference to a String.
        let len = unsafe { jni!(self, GetStringLength, string.raw()) };
        let mut units = vec![0_u16; len as usize];
        // SAFETY: `env` belongs to this thread, `string` is a valid reference to a String, and `units` has room for
        // `len` units.
        unsafe { jni!(self, GetStringRegion, string.raw(), 0, len, units.as_mut_ptr()) };
        self.check()?;
        Ok(String::from_utf16_lossy(&units))
    }

    /// Returns the text of a `String`, `None` for null.
    ///
    /// # Errors
    /// The error of [`Self::text`].
    pub fn text_or_null(self, string: JString<'_>) -> Outcome<Option<String>> {
        if string.is_null() { Ok(None) } else { self.text(string).map(Some) }
    }

    /// Makes a `String`.
    ///
    /// # Errors
    /// OutOfMemoryError.
    pub fn new_text(self, text: &str) -> Outcome<JString<'j>> {
        let units: Vec<u16> = text.encode_utf16().collect();
        let len = i32::try_from(units.len()).map_err(|_| too_large(units.len()))?;
        // SAFETY: `env` belongs to this thread; `units` has `len` units.
        let string = unsafe { jni!(self, NewString, units.as_ptr(), len) };
        if string.is_null() {
            return Err(Fault::Thrown);
        }
        // SAFETY: the reference is new and belongs to this native.
        Ok(unsafe { JString::from_raw(string) })
    }

    /// Returns the length of an array of objects; 0 for null.
    ///
    /// # Errors
    /// None today.
    pub fn count(self, array: JObjects<'_>) -> Outcome<usize> {
        if array.is_null() { Ok(0) } else { self.length(array.raw()) }
    }

    /// Returns an item of an array of objects.
    ///
    /// # Errors
    /// IndexOutOfBoundsException.
    pub fn item(self, array: JObjects<'_>, at: usize) -> Outcome<JObject<'j>> {
        if array.is_null() {
            return Err(Fault::null());
        }
        // SAFETY: `env` belongs to this thread; `array` is an array of objects. The JVM checks the index.
        let item = unsafe { jni!(self, GetObjectArrayElement, array.raw(), at as i32) };
        self.check()?;
        // SAFETY: the reference is new and belongs to this native.
        Ok(unsafe { JObject::from_raw(item) })
    }

    /// Copies the items of an array of `byte[]`.
    ///
    /// # Errors
    /// The errors of [`Self::bytes`].
    pub fn byte_arrays(self, array: JObjects<'_>) -> Outcome<Vec<Vec<u8>>> {
        let mut arrays = Vec::new();
        for at in 0..self.count(array)? {
            let item = self.item(array, at)?;
            // SAFETY: the descriptor of the native says that the items are `byte[]`.
            let bytes = self.bytes(unsafe { JBytes::from_raw(item.raw()) })?;
            self.forget(item);
            arrays.push(bytes);
        }
        Ok(arrays)
    }

    /// Copies the items of an array of `byte[]`. A null item becomes `None`.
    ///
    /// # Errors
    /// OutOfMemoryError.
    pub fn byte_arrays_or_null(self, array: JObjects<'_>) -> Outcome<Vec<Option<Vec<u8>>>> {
        let mut arrays = Vec::new();
        for at in 0..self.count(array)? {
            let item = self.item(array, at)?;
            // SAFETY: the descriptor of the native says that the items are `byte[]`.
            let bytes = unsafe { JBytes::from_raw(item.raw()) };
            arrays.push(if bytes.is_null() { None } else { Some(self.bytes(bytes)?) });
            self.forget(item);
        }
        Ok(arrays)
    }

    /// Makes a `byte[][]`.
    ///
    /// # Errors
    /// OutOfMemoryError; the errors of `item`.
    pub fn new_byte_array_array(
        self,
        count: usize,
        mut item: impl FnMut(usize) -> Outcome<JBytes<'j>>,
    ) -> Outcome<JObjects<'j>> {
        // SAFETY: the environment belongs to this thread; the string ends with NUL.
        let class = unsafe { jni!(self, FindClass, c"[B".as_ptr()) };
        self.check()?;
        // SAFETY: the reference is new and belongs to this native.
        let class = unsafe { JClass::from_raw(class) };
        self.new_objects(class, count, |at| Ok(item(at)?.object()))
    }

    /// Makes a `byte[][]` of byte strings.
    ///
    /// # Errors
    /// OutOfMemoryError.
    pub fn new_byte_arrays<B: AsRef<[u8]>>(self, items: &[B]) -> Outcome<JObjects<'j>> {
        self.new_byte_array_array(items.len(), |at| self.new_bytes(items[at].as_ref()))
    }

    /// Makes a `String[]`.
    ///
    /// # Errors
    /// OutOfMemoryError.
    pub fn new_texts<S: AsRef<str>>(self, items: &[S]) -> Outcome<JObjects<'j>> {
        // SAFETY: the environment belongs to this thread; the string ends with NUL.
        let class = unsafe { jni!(self, FindClass, c"java/lang/String".as_ptr()) };
        self.check()?;
        // SAFETY: the reference is new and belongs to this native.
        let class = unsafe { JClass::from_raw(class) };
        self.new_objects(class, items.len(), |at| Ok(self.new_text(items[at].as_ref())?.object()))
    }

    /// Returns the capacity of a direct buffer.
    ///
    /// # Errors
    /// RocksDBException if the buffer is not direct.
    pub fn direct_capacity(self, buffer: JBuffer<'_>) -> Outcome<usize> {
        if buffer.is_null() {
            return Err(Fault::null());
        }
        // SAFETY: the environment belongs to this thread; `buffer` is a valid reference.
        let capacity = unsafe { jni!(self, GetDirectBufferCapacity, buffer.raw()) };
        usize::try_from(capacity).map_err(|_| Fault::invalid("Invalid value argument"))
    }

    /// Returns the texts of a `String[]`.
    ///
    /// # Errors
    /// The errors of [`Self::text`].
    pub fn texts(self, array: JObjects<'_>) -> Outcome<Vec<String>> {
        let mut texts = Vec::new();
        for at in 0..self.count(array)? {
            let item = self.item(array, at)?;
            // SAFETY: the descriptor of the native says that the items are `String`.
            texts.push(self.text(unsafe { JString::from_raw(item.raw()) })?);
            self.forget(item);
        }
        Ok(texts)
    }

    /// Makes an array of objects of a class.
    ///
    /// # Errors
    /// OutOfMemoryError; the errors of `item`.
    pub fn new_objects(
        self,
        class: JClass<'_>,
        count: usize,
        mut item: impl FnMut(usize) -> Outcome<JObject<'j>>,
    ) -> Outcome<JObjects<'j>> {
        let len = i32::try_from(count).map_err(|_| too_large(count))?;
        // SAFETY: `env` belongs to this thread; `class` is a class; a null item is allowed.
        let array = unsafe { jni!(self, NewObjectArray, len, class.raw(), std::ptr::null_mut()) };
        if array.is_null() {
            return Err(Fault::Thrown);
        }
        // SAFETY: the reference is new and belongs to this native.
        let array = unsafe { JObjects::from_raw(array) };
        for at in 0..count {
            self.set_item(array, at, item(at)?)?;
        }
        Ok(array)
    }

    /// Stores an item of an array of objects and deletes the local reference to the item.
    ///
    /// # Errors
    /// ArrayStoreException, IndexOutOfBoundsException, NullPointerException.
    pub fn set_item(self, array: JObjects<'_>, at: usize, item: JObject<'_>) -> Outcome<()> {
        if array.is_null() {
            return Err(Fault::null());
        }
        // SAFETY: `env` belongs to this thread; `array` is an array of objects. The JVM checks index and type.
        unsafe { jni!(self, SetObjectArrayElement, array.raw(), at as i32, item.raw()) };
        self.check()?;
        self.forget(item);
        Ok(())
    }

    /// Makes a direct buffer over memory of the engine.
    ///
    /// # Errors
    /// OutOfMemoryError.
    ///
    /// # Safety
    /// The memory lives until the program no longer uses the buffer.
    pub unsafe fn new_direct(self, data: *const u8, len: usize) -> Outcome<JBuffer<'j>> {
        // SAFETY: `env` belongs to this thread; the memory lives by the contract.
        let buffer = unsafe { jni!(self, NewDirectByteBuffer, data.cast_mut().cast::<c_void>(), len as i64) };
        if buffer.is_null() {
            return Err(Fault::Thrown);
        }
        // SAFETY: the reference is new and belongs to this native.
        Ok(unsafe { JBuffer::from_raw(buffer) })
    }

    /// Calls a function whose local references are deleted when the function returns, except the result.
    ///
    /// # Errors
    /// OutOfMemoryError; the function's error.
    pub fn framed(self, call: impl FnOnce(Java<'j>) -> Outcome<JObject<'j>>) -> Outcome<JObject<'j>> {
        // SAFETY: `env` belongs to this thread.
        if unsafe { jni!(self, PushLocalFrame, 64) } != jni_sys::JNI_OK {
            return Err(Fault::Thrown);
        }
        let answer = call(self);
        let result = answer.as_ref().map_or(std::ptr::null_mut(), |object| object.raw());
        // SAFETY: the frame was pushed above. `result` is null or a reference of the frame, and becomes a reference of the
        // caller's frame. An exception may wait: the function allows that.
        let result = unsafe { jni!(self, PopLocalFrame, result) };
        // SAFETY: the reference is valid in the caller's frame.
        answer.map(|_| unsafe { JObject::from_raw(result) })
    }

    /// Deletes a local reference. Loops call this function, because the JVM bounds the number of local references.
    pub fn forget(self, object: JObject<'_>) {
        if !object.is_null() {
            // SAFETY: `env` belongs to this thread; the reference is local and is not used again.
            unsafe { jni!(self, DeleteLocalRef, object.raw()) };
        }
    }
}

/// Declares the calls on arrays of numbers. A row has the type of the array, the type of an item and the name of this
/// type in Java. Then follow the three calls (copy, make, write the first items) and the three functions of the JNI.
macro_rules! number_arrays {
    ($($array:ident $item:ty, $java_type:literal: $copy:ident $make:ident $set:ident, $get:ident $new:ident $put:ident;)*) => {
        impl<'j> Java<'j> {$(
            #[doc = concat!("Copies a `", $java_type, "[]`. Null is the empty array.")]
            ///
            /// # Errors
            /// OutOfMemoryError.
            pub fn $copy(self, array: $array<'_>) -> Outcome<Vec<$item>> {
                if array.is_null() {
                    return Ok(Vec::new());
                }
                let len = self.length(array.raw())?;
                let mut items: Vec<$item> = vec![0; len];
                // SAFETY: `env` belongs to this thread; `array` is an array of this type and of `len` items; `items` has as many.
                unsafe { jni!(self, $get, array.raw(), 0, len as i32, items.as_mut_ptr()) };
                self.check()?;
                Ok(items)
            }

            #[doc = concat!("Makes a `", $java_type, "[]`.")]
            ///
            /// # Errors
            /// OutOfMemoryError.
            pub fn $make(self, items: &[$item]) -> Outcome<$array<'j>> {
                let len = i32::try_from(items.len()).map_err(|_| too_large(items.len()))?;
                // SAFETY: `env` belongs to this thread; the length is not negative.
                let array = unsafe { jni!(self, $new, len) };
                if array.is_null() {
                    return Err(Fault::Thrown);
                }
                // SAFETY: the array has `len` items, and `items` too.
                unsafe { jni!(self, $put, array, 0, len, items.as_ptr()) };
                // SAFETY: the reference is new and belongs to this native.
                Ok(unsafe { $array::from_raw(array) })
            }

            #[doc = concat!("Writes the first items of a `", $java_type, "[]`.")]
            ///
            /// # Errors
            /// IndexOutOfBoundsException if the array has fewer items; NullPointerException.
            pub fn $set(self, array: $array<'_>, items: &[$item]) -> Outcome<()> {
                if self.length(array.raw())? < items.len() {
                    return Err(Fault::bounds(format!("{} items are more than the array has", items.len())));
                }
                // SAFETY: `env` belongs to this thread; the array has at least as many items as `items`.
                unsafe { jni!(self, $put, array.raw(), 0, items.len() as i32, items.as_ptr()) };
                self.check()
            }
        )*}
    };
}
number_arrays! {
    JLongs i64, "long": longs new_longs set_longs, GetLongArrayRegion NewLongArray SetLongArrayRegion;
    JInts i32, "int": ints new_ints set_ints, GetIntArrayRegion NewIntArray SetIntArrayRegion;
}

#[cold]
pub(crate) fn too_large(len: usize) -> Fault {
    Fault::invalid(&format!("Requested array size exceeds VM limit: {len} bytes"))
}
