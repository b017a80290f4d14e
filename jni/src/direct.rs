//! Direct buffers: the calls that read and fill the memory of a `ByteBuffer` outside of the Java heap, without a copy.
//!
//! Facts: the JNI specification, chapter 4.

use std::ptr::null_mut;

use env::sync::OnceLock;
use jni_sys::{jfieldID, jlong};

use crate::fault::{Fault, Outcome};
use crate::java::{JBuffer, Java, Part, jni, too_large};

impl Java<'_> {
    /// Returns the address of a part of a direct buffer. `what` names the buffer in the text of an error.
    ///
    /// # Errors
    /// RocksDBException if the buffer is not direct or the part is not in the buffer.
    fn address(self, buffer: JBuffer<'_>, part: Part, what: &str) -> Outcome<(*mut u8, usize)> {
        if buffer.is_null() {
            return Err(Fault::null());
        }
        let memory = direct_memory(self, buffer);
        let (data, capacity) = memory.ok_or_else(|| Fault::invalid(&format!("Invalid {what} argument")))?;
        let (Ok(offset), Ok(len)) = (usize::try_from(part.offset), usize::try_from(part.len)) else {
            return Err(Fault::bounds(format!(
                "offset {} and length {} of a ByteBuffer",
                part.offset, part.len
            )));
        };
        if i64::from(part.offset) + i64::from(part.len) > capacity {
            return Err(Fault::invalid(&format!(
                "Direct buffer offset {offset} + length {len} exceeds capacity {capacity}"
            )));
        }
        // SAFETY: the offset is at most the capacity of the buffer.
        Ok((unsafe { data.add(offset) }, len))
    }

    /// Calls a function with the bytes of a part of a direct buffer, without a copy.
    ///
    /// # Errors
    /// RocksDBException if the buffer is not direct or the part is not in the buffer; the function's error.
    #[inline]
    pub fn with_direct<R>(
        self,
        buffer: JBuffer<'_>,
        part: Part,
        call: impl FnOnce(&[u8]) -> Outcome<R>,
    ) -> Outcome<R> {
        self.with_named(buffer, part, "key", call)
    }

    /// Works like [`Self::with_direct`], for the buffer of a value: the text of an error names the value.
    ///
    /// # Errors
    /// The errors of [`Self::with_direct`].
    #[inline]
    pub fn with_direct_value<R>(
        self,
        buffer: JBuffer<'_>,
        part: Part,
        call: impl FnOnce(&[u8]) -> Outcome<R>,
    ) -> Outcome<R> {
        self.with_named(buffer, part, "value", call)
    }

    #[inline]
    fn with_named<R>(
        self,
        buffer: JBuffer<'_>,
        part: Part,
        what: &str,
        call: impl FnOnce(&[u8]) -> Outcome<R>,
    ) -> Outcome<R> {
        let (data, len) = self.address(buffer, part, what)?;
        // SAFETY: the part is inside of the buffer's memory, which lives as long as the buffer. The caller's frame holds a
        // reference to the buffer. A program that writes the buffer during the call is at fault, as with RocksDB; the
        // engine reads each byte into its own memory and trusts no byte.
        call(unsafe { std::slice::from_raw_parts(data, len) })
    }

    /// Copies as many bytes as fit into a part of a direct buffer. Returns the length of `bytes`.
    ///
    /// # Errors
    /// The errors of [`Self::with_direct`].
    #[inline]
    pub fn fill_direct(self, buffer: JBuffer<'_>, part: Part, bytes: &[u8]) -> Outcome<i32> {
        let (data, room) = self.address(buffer, part, "value")?;
        let len = bytes.len().min(room);
        // SAFETY: the part has `room` writable bytes, `len` is at most `room`, and the engine's bytes are not in the
        // buffer.
        unsafe { std::ptr::copy_nonoverlapping(bytes.as_ptr(), data, len) };
        i32::try_from(bytes.len()).map_err(|_| too_large(bytes.len()))
    }
}

/// The identifier of a field of a Java class.
struct FieldId(jfieldID);

// SAFETY: the JNI allows the use of field identifiers in each thread.
unsafe impl Send for FieldId {}
// SAFETY: the JNI allows the use of field identifiers in each thread, and the identifier never changes.
unsafe impl Sync for FieldId {}

/// The field `java.nio.Buffer.capacity`. Its class is never unloaded, so the identifier stays valid. `None`: the JVM
/// has no such field, and `GetDirectBufferCapacity` gives the capacity. In HotSpot, this function checks the class of
/// the buffer, as `GetDirectBufferAddress` does too. The two checks took a tenth of the time of an iterator step with
/// direct buffers.
static CAPACITY: OnceLock<Option<FieldId>> = OnceLock::new();

/// Returns the address and the capacity of a buffer that is not null. `None` if the buffer is not direct.
#[inline]
fn direct_memory(java: Java<'_>, buffer: JBuffer<'_>) -> Option<(*mut u8, jlong)> {
    // SAFETY: `env` belongs to this thread; `buffer` is a valid reference.
    let data = unsafe { jni!(java, GetDirectBufferAddress, buffer.raw()) }.cast::<u8>();
    if data.is_null() {
        return None;
    }
    let capacity = match CAPACITY.get_or_init(|| find_capacity(java)) {
        // SAFETY: `env` belongs to this thread; `buffer` is a valid reference. The address shows that `buffer` is a `java.nio.Buffer`, so the object has this `int` field.
        Some(FieldId(field)) => jlong::from(unsafe { jni!(java, GetIntField, buffer.raw(), *field) }),
        // SAFETY: `env` belongs to this thread; `buffer` is a valid reference.
        None => unsafe { jni!(java, GetDirectBufferCapacity, buffer.raw()) },
    };
    Some((data, capacity))
}

#[cold]
fn find_capacity(java: Java<'_>) -> Option<FieldId> {
    // SAFETY: `env` belongs to this thread; the texts end with NUL; the class is a valid reference, if it is not null.
    let field = unsafe {
        let class = jni!(java, FindClass, c"java/nio/Buffer".as_ptr());
        match class.is_null() {
            true => null_mut(),
            false => jni!(java, GetFieldID, class, c"capacity".as_ptr(), c"I".as_ptr()),
        }
    };
    if field.is_null() {
        // SAFETY: `env` belongs to this thread. The exception says that there is no such class or field.
        unsafe { jni!(java, ExceptionClear) };
        return None;
    }
    Some(FieldId(field))
}
