//! Slices: `Slice` and `DirectSlice`.
//!
//! A `Slice` holds a copy of its bytes. A `DirectSlice` of a direct buffer shows the memory of the buffer, so a later change of the
//! buffer changes the slice. The slice keeps the buffer alive. A call that uses the slice copies the bytes first.
//!
//! Facts: RocksDB `java/rocksjni/slice.cc`.

use std::borrow::Cow;

use crate::class::{Class, Global, Method, Value};
use crate::fault::{Fault, Outcome};
use crate::handle::Handle;
use crate::java::{JBuffer, JBytes, JObject, JString, Java, Part};
use crate::native::{disposers, natives};

static ALLOCATE: Method =
    Class::new("java/nio/ByteBuffer").static_method("allocateDirect", "(I)Ljava/nio/ByteBuffer;");
static DUPLICATE: Method = Class::new("java/nio/ByteBuffer").method("duplicate", "()Ljava/nio/ByteBuffer;");
static SLICE: Method = Class::new("java/nio/ByteBuffer").method("slice", "()Ljava/nio/ByteBuffer;");
static LIMIT: Method = Class::new("java/nio/Buffer").method("limit", "(I)Ljava/nio/Buffer;");
static POSITION: Method = Class::new("java/nio/Buffer").method("position", "(I)Ljava/nio/Buffer;");

/// `Slice` and `DirectSlice`: the bytes from `start` to `end` of the source.
pub struct SliceObject {
    source: Source,
    start: usize,
    end: usize,
}

enum Source {
    Copy(Vec<u8>),
    Buffer(Memory),
}

/// The memory of a direct buffer. The reference keeps the memory alive.
struct Memory {
    buffer: Global,
    address: *const u8,
    bytes: usize,
}

// SAFETY: the reference is global; the memory belongs to the buffer and is only read.
unsafe impl Send for Memory {}
// SAFETY: threads only read the memory, and the buffer owns the memory.
unsafe impl Sync for Memory {}

impl SliceObject {
    /// Makes a slice that owns these bytes.
    pub fn copied(bytes: Vec<u8>) -> Self {
        SliceObject { start: 0, end: bytes.len(), source: Source::Copy(bytes) }
    }

    /// Makes a slice of the first `len` bytes of a direct buffer.
    fn of_buffer(java: Java<'_>, buffer: JBuffer<'_>, len: usize) -> Outcome<Self> {
        let capacity = java.direct_capacity(buffer)?;
        let part = Part { offset: 0, len: i32::try_from(capacity).unwrap_or(i32::MAX) };
        let (address, bytes) = java.with_direct(buffer, part, |bytes| Ok((bytes.as_ptr(), bytes.len())))?;
        if len > bytes {
            return Err(Fault::bounds(format!("{len} bytes are more than the buffer has")));
        }
        let memory = Memory { buffer: Global::new(java, buffer.object())?, address, bytes };
        Ok(SliceObject { source: Source::Buffer(memory), start: 0, end: len })
    }

    /// Returns the bytes. The bytes of a direct buffer are copied, because Java may change the buffer at any time.
    pub fn bytes(&self) -> Cow<'_, [u8]> {
        match &self.source {
            Source::Copy(bytes) => Cow::Borrowed(&bytes[self.start..self.end]),
            Source::Buffer(memory) => {
                // SAFETY: the buffer has `bytes` bytes and lives as long as `memory`. A program that writes the buffer during
                // the copy gets any mix of old and new bytes; no code trusts the bytes.
                let all = unsafe { std::slice::from_raw_parts(memory.address, memory.bytes) };
                Cow::Owned(all[self.start..self.end].to_vec())
            }
        }
    }

    /// Returns the length in bytes.
    fn len(&self) -> usize {
        self.end - self.start
    }

    /// Returns the bytes that the source has from the start of the slice.
    fn room(&self) -> usize {
        match &self.source {
            Source::Copy(bytes) => bytes.len() - self.start,
            Source::Buffer(memory) => memory.bytes - self.start,
        }
    }
}

disposers! {
    AbstractSlice: SliceObject;
}

natives! {
    fn AbstractSlice_createNewSliceFromString[java](text: JString) -> Handle {
        Handle::new(SliceObject::copied(java.text(text)?.into_bytes()))
    }

    fn AbstractSlice_size0[_](slice: Handle) -> i32 {
        slice.shared::<SliceObject>()?.len() as i32
    }

    fn AbstractSlice_empty0[_](slice: Handle) -> bool {
        slice.shared::<SliceObject>()?.len() == 0
    }

    fn AbstractSlice_compare0[_](slice: Handle, other: Handle) -> i32 {
        let (slice, other) = (slice.shared::<SliceObject>()?, other.shared::<SliceObject>()?);
        slice.bytes().cmp(&other.bytes()) as i32
    }

    fn AbstractSlice_startsWith0[_](slice: Handle, other: Handle) -> bool {
        let (slice, other) = (slice.shared::<SliceObject>()?, other.shared::<SliceObject>()?);
        slice.bytes().starts_with(&other.bytes())
    }

    fn AbstractSlice_toString0[java](slice: Handle, hex: bool) -> JString<'j> {
        let slice = slice.shared::<SliceObject>()?;
        let bytes = slice.bytes();
        let text = match hex {
            true => bytes.iter().map(|byte| format!("{byte:02X}")).collect(),
            false => String::from_utf8_lossy(&bytes).into_owned(),
        };
        java.new_text(&text)?
    }

    fn Slice_createNewSlice0[java](data: JBytes, offset: i32) -> Handle {
        let bytes = java.bytes(data)?;
        let start = usize::try_from(offset).ok().filter(|start| *start <= bytes.len());
        let start = start.ok_or_else(|| Fault::bounds(format!("offset {offset} of {} bytes", bytes.len())))?;
        Handle::new(SliceObject::copied(bytes[start..].to_vec()))
    }

    fn Slice_createNewSlice1[java](data: JBytes) -> Handle {
        Handle::new(SliceObject::copied(java.bytes(data)?))
    }

    fn Slice_data0[java](slice: Handle) -> JBytes<'j> {
        java.new_bytes(&slice.shared::<SliceObject>()?.bytes())?
    }

    fn Slice_clear0 | DirectSlice_clear0[_](slice: Handle, _internal: bool, _offset: i64) {
        *slice.exclusive::<SliceObject>()? = SliceObject::copied(Vec::new());
    }

    fn Slice_removePrefix0 | DirectSlice_removePrefix0[_](slice: Handle, len: i32) {
        let mut slice = slice.exclusive::<SliceObject>()?;
        let len = usize::try_from(len).ok().filter(|len| *len <= slice.len());
        slice.start += len.ok_or_else(|| Fault::bounds("the prefix is longer than the slice".to_string()))?;
    }

    /// Does nothing: the bytes are freed together with the slice.
    fn Slice_disposeInternalBuf | DirectSlice_disposeInternalBuf[_](_slice: Handle, _offset: i64) {}

    fn DirectSlice_createNewDirectSlice0[java](data: JBuffer, len: i32) -> Handle {
        let len = usize::try_from(len).map_err(|_| Fault::negative(len))?;
        Handle::new(SliceObject::of_buffer(java, data, len)?)
    }

    /// Makes a slice of the bytes before the first zero byte of the buffer, as RocksDB does.
    fn DirectSlice_createNewDirectSlice1[java](data: JBuffer) -> Handle {
        let capacity = java.direct_capacity(data)?;
        let whole = SliceObject::of_buffer(java, data, capacity)?;
        let end = whole.bytes().iter().position(|byte| *byte == 0).unwrap_or(capacity);
        Handle::new(SliceObject { end, ..whole })
    }

    /// Returns a buffer over the memory of the buffer of the slice. A slice of a text returns a copy: a buffer over the memory of
    /// the slice would be invalid after its close.
    fn DirectSlice_data0[java](slice: Handle) -> JObject<'j> {
        let slice = slice.shared::<SliceObject>()?;
        match &slice.source {
            Source::Copy(_) => {
                let len = i32::try_from(slice.len()).unwrap_or(i32::MAX);
                let buffer = ALLOCATE.call_static_object(java, &[Value::int(len)])?;
                // SAFETY: the descriptor of the method returns a ByteBuffer.
                let direct = unsafe { JBuffer::from_raw(buffer.raw()) };
                java.fill_direct(direct, Part { offset: 0, len }, &slice.bytes())?;
                buffer
            }
            Source::Buffer(memory) => {
                let view = DUPLICATE.call_object(java, memory.buffer.object(java), &[])?;
                LIMIT.call_object(java, view, &[Value::int(slice.end as i32)])?;
                POSITION.call_object(java, view, &[Value::int(slice.start as i32)])?;
                SLICE.call_object(java, view, &[])?
            }
        }
    }

    fn DirectSlice_get0[_](slice: Handle, offset: i32) -> i8 {
        let slice = slice.shared::<SliceObject>()?;
        let bytes = slice.bytes();
        let byte = usize::try_from(offset).ok().and_then(|at| bytes.get(at).copied());
        byte.ok_or_else(|| Fault::bounds(format!("offset {offset} of {} bytes", bytes.len())))? as i8
    }

    /// Sets the length. A slice of a direct buffer can become as long as the buffer.
    fn DirectSlice_setLength0[_](slice: Handle, len: i32) {
        let mut slice = slice.exclusive::<SliceObject>()?;
        let len = usize::try_from(len).ok().filter(|len| *len <= slice.room());
        let len = len.ok_or_else(|| Fault::bounds("the length is longer than the memory of the slice".to_string()))?;
        slice.end = slice.start + len;
    }
}
