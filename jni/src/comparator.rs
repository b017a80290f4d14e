//! Comparators: Java objects, and built-in orders.
//!
//! A comparator gets each key in a `ByteBuffer`. With reused buffers, a comparison takes two buffers from a list, copies the keys
//! into the buffers, and returns the buffers to the list. Java allocated the buffers, so a program that keeps a buffer reads
//! valid memory. A longer key gets a new buffer. Threads never wait for the buffers of other threads, so the type of
//! synchronisation in `ComparatorOptions` has no effect.
//!
//! The engine asks for separators of blocks once for each block. A separator that is not between its keys is not used.
//!
//! Facts: RocksDB `java/rocksjni/comparatorjnicallback.cc`, `java/src/main/java/org/rocksdb/AbstractComparatorJniBridge.java`.

use std::cmp::Ordering;

use base::order::{Comparator, Order};
use env::sync::Mutex;

use crate::callbacks::name_of;
use crate::class::{Class, Global, Method, Value};
use crate::fault::{Fault, Outcome};
use crate::handle::Handle;
use crate::java::{JBuffer, JBytes, JObject, Java, Part};
use crate::load::callback;
use crate::native::{disposers, natives};

/// A comparator: a Java object or a built-in order.
pub struct ComparatorObject {
    pub order: Order,
    uses_direct_buffers: bool,
}

impl ComparatorObject {
    /// Returns a built-in comparator. It does not call Java.
    pub fn built_in(order: Order) -> Self {
        ComparatorObject { order, uses_direct_buffers: false }
    }
}

/// `ComparatorOptions`.
struct ComparatorOptions {
    /// Has no effect: threads share no buffer.
    synchronisation: i8,
    uses_direct_buffers: bool,
    /// The longest key in bytes for which buffers are reused. 0 and negative: no buffer is reused.
    max_reused_buffer_size: i32,
}

crate::native::rows! {
    ComparatorOptions [ComparatorOptions] |o|;
    setReusedSynchronisationType reusedSynchronisationType: i8 => o.synchronisation;
    setUseDirectBuffer useDirectBuffer: bool => o.uses_direct_buffers;
    setMaxReusedBufferSize maxReusedBufferSize: i32 => o.max_reused_buffer_size;
}

/// The largest reused buffer in bytes. A longer key gets a new buffer, also if the options name a larger size.
const REUSED_BYTES_MAX: usize = 1 << 20;

static COMPARE: Method = Class::new("org/rocksdb/AbstractComparatorJniBridge").static_method(
    "compareInternal",
    "(Lorg/rocksdb/AbstractComparator;Ljava/nio/ByteBuffer;ILjava/nio/ByteBuffer;I)I",
);
static SEPARATOR: Method = Class::new("org/rocksdb/AbstractComparatorJniBridge").static_method(
    "findShortestSeparatorInternal",
    "(Lorg/rocksdb/AbstractComparator;Ljava/nio/ByteBuffer;ILjava/nio/ByteBuffer;I)I",
);
static SUCCESSOR: Method = Class::new("org/rocksdb/AbstractComparatorJniBridge")
    .static_method("findShortSuccessorInternal", "(Lorg/rocksdb/AbstractComparator;Ljava/nio/ByteBuffer;I)I");
static COMPARATOR_NAME: Method =
    Class::new("org/rocksdb/AbstractComparator").method("name", "()Ljava/lang/String;");
static WRAP: Method = Class::new("java/nio/ByteBuffer").static_method("wrap", "([B)Ljava/nio/ByteBuffer;");
static ALLOCATE: Method =
    Class::new("java/nio/ByteBuffer").static_method("allocateDirect", "(I)Ljava/nio/ByteBuffer;");

/// The length argument of the bridge for a buffer that holds exactly its key.
const WHOLE: i32 = -1;

/// A comparator that calls a Java object.
struct JavaComparator {
    object: Global,
    name: String,
    uses_direct_buffers: bool,
    /// The longest key in bytes for which buffers are reused.
    reused_bytes: usize,
    /// The reused buffers that no running comparison uses, in pairs.
    free: Mutex<Vec<[Reused; 2]>>,
}

/// A buffer of Java for keys up to a size.
struct Reused {
    buffer: Global,
    /// The array of the buffer. `None` if the buffer is direct.
    array: Option<Global>,
}

impl Reused {
    fn new(java: Java<'_>, is_direct: bool, bytes: usize) -> Outcome<Self> {
        if is_direct {
            let buffer = ALLOCATE.call_static_object(java, &[Value::int(bytes as i32)])?;
            return Ok(Reused { buffer: Global::new(java, buffer)?, array: None });
        }
        let array = java.new_bytes(&vec![0; bytes])?.object();
        let buffer = WRAP.call_static_object(java, &[array.into()])?;
        Ok(Reused { buffer: Global::new(java, buffer)?, array: Some(Global::new(java, array)?) })
    }

    fn fill(&self, java: Java<'_>, key: &[u8]) -> Outcome<()> {
        let part = Part { offset: 0, len: key.len() as i32 };
        match &self.array {
            // SAFETY: the reference is to a `byte[]`.
            Some(array) => java.fill(unsafe { JBytes::from_raw(array.object(java).raw()) }, part, key)?,
            None => {
                // SAFETY: the reference is to a `ByteBuffer`.
                let buffer = unsafe { JBuffer::from_raw(self.buffer.object(java).raw()) };
                java.fill_direct(buffer, part, key)?
            }
        };
        Ok(())
    }
}

impl JavaComparator {
    /// Makes a buffer of a key that the comparator only reads.
    fn buffer<'j>(&self, java: Java<'j>, bytes: &[u8]) -> Outcome<JObject<'j>> {
        if self.uses_direct_buffers {
            // SAFETY: the bytes live during the comparison. A comparator must not keep the buffer, as with RocksDB.
            return Ok(unsafe { java.new_direct(bytes.as_ptr(), bytes.len()) }?.object());
        }
        WRAP.call_static_object(java, &[java.new_bytes(bytes)?.object().into()])
    }

    /// Takes a pair of reused buffers. The comparison that takes the pair returns it to the list. If the comparator throws, the
    /// pair is dropped, because its positions are unknown.
    fn pair(&self, java: Java<'_>) -> Outcome<[Reused; 2]> {
        if let Some(pair) = self.free.lock().pop() {
            return Ok(pair);
        }
        let new = || Reused::new(java, self.uses_direct_buffers, self.reused_bytes);
        Ok([new()?, new()?])
    }

    fn compare_in_java(&self, java: Java<'_>, a: &[u8], b: &[u8]) -> Outcome<i32> {
        if a.len() > self.reused_bytes && b.len() > self.reused_bytes || self.reused_bytes == 0 {
            let (a, b) = (self.buffer(java, a)?, self.buffer(java, b)?);
            let object = self.object.object(java);
            return COMPARE.call_static_int(
                java,
                &[object.into(), a.into(), Value::int(WHOLE), b.into(), Value::int(WHOLE)],
            );
        }
        let pair = self.pair(java)?;
        let argument = |reused: &Reused, key: &[u8]| -> Outcome<(Value, Value)> {
            if key.len() > self.reused_bytes {
                return Ok((self.buffer(java, key)?.into(), Value::int(WHOLE)));
            }
            reused.fill(java, key)?;
            Ok((reused.buffer.object(java).into(), Value::int(key.len() as i32)))
        };
        let ((a, a_len), (b, b_len)) = (argument(&pair[0], a)?, argument(&pair[1], b)?);
        let order = COMPARE.call_static_int(java, &[self.object.object(java).into(), a, a_len, b, b_len])?;
        self.free.lock().push(pair);
        Ok(order)
    }

    /// Calls Java with a buffer of the key that the comparator may change. `call` returns the new length. Returns the new key if it
    /// is shorter; RocksDB compares only the lengths too.
    fn changed(
        &self,
        java: Java<'_>,
        key: &[u8],
        call: impl FnOnce(JObject<'_>) -> Outcome<i32>,
    ) -> Outcome<Option<Vec<u8>>> {
        let shorter = |len: i32| usize::try_from(len).ok().filter(|len| *len < key.len()).map(|_| len);
        if !self.uses_direct_buffers {
            let array = java.new_bytes(key)?;
            let len = shorter(call(WRAP.call_static_object(java, &[array.object().into()])?)?);
            return len.map(|len| Ok(java.copy_first(array, len)?.to_vec())).transpose();
        }
        let len = i32::try_from(key.len()).map_err(|_| Fault::invalid("a key of more than 2 GiB"))?;
        let buffer = ALLOCATE.call_static_object(java, &[Value::int(len)])?;
        // SAFETY: the descriptor of the method returns a ByteBuffer.
        let direct = unsafe { JBuffer::from_raw(buffer.raw()) };
        java.fill_direct(direct, Part { offset: 0, len }, key)?;
        let len = shorter(call(buffer)?);
        len.map(|len| java.with_direct(direct, Part { offset: 0, len }, |bytes| Ok(bytes.to_vec())))
            .transpose()
    }

    /// Fails the operation because the comparator threw an exception. An invented order of the two keys could reach a file, so
    /// this function panics instead. The engine turns a panic in a write, a flush or a compaction into an error. The frame of
    /// natives catches all other panics.
    #[cold]
    fn fail(&self) -> ! {
        std::panic::resume_unwind(Box::new(format!("the comparator {} threw an exception", self.name)))
    }
}

impl Comparator for JavaComparator {
    fn name(&self) -> &str {
        &self.name
    }

    fn compare(&self, a: &[u8], b: &[u8]) -> Ordering {
        let answer = callback(|java| self.compare_in_java(java, a, b));
        answer.map_or_else(|| self.fail(), |answer| answer.cmp(&0))
    }

    fn shortest_separator(&self, start: &mut Vec<u8>, limit: &[u8]) {
        let answer = callback(|java| {
            let limit = self.buffer(java, limit)?;
            self.changed(java, start, |start| {
                let object = self.object.object(java);
                let arguments =
                    [object.into(), start.into(), Value::int(WHOLE), limit.into(), Value::int(WHOLE)];
                SEPARATOR.call_static_int(java, &arguments)
            })
        });
        let Some(answer) = answer else { self.fail() };
        // The caller checks that the separator is not before `start`.
        if let Some(separator) = answer
            && self.compare(&separator, limit).is_lt()
        {
            *start = separator;
        }
    }

    fn short_successor(&self, key: &mut Vec<u8>) {
        let answer = callback(|java| {
            self.changed(java, key, |key| {
                let arguments = [self.object.object(java).into(), key.into(), Value::int(WHOLE)];
                SUCCESSOR.call_static_int(java, &arguments)
            })
        });
        let Some(answer) = answer else { self.fail() };
        if let Some(successor) = answer {
            *key = successor;
        }
    }
}

disposers! {
    ComparatorOptions: ComparatorOptions;
}

natives! {
    fn NativeComparatorWrapper_disposeInternal[_](handle: Handle) {
        handle.close_as::<ComparatorObject>();
    }

    fn ComparatorOptions_newComparatorOptions[_]() -> Handle {
        Handle::new(ComparatorOptions { synchronisation: 1, uses_direct_buffers: true, max_reused_buffer_size: 64 })
    }

    fn AbstractComparator_createNewComparator[java, this](options: Handle) -> Handle {
        let options = options.shared::<ComparatorOptions>()?;
        let (uses_direct_buffers, reused) = (options.uses_direct_buffers, options.max_reused_buffer_size);
        let comparator = JavaComparator {
            object: Global::new(java, this)?,
            name: name_of(java, &COMPARATOR_NAME, this)?,
            uses_direct_buffers,
            reused_bytes: usize::try_from(reused).unwrap_or(0).min(REUSED_BYTES_MAX),
            free: Mutex::default(),
        };
        Handle::new(ComparatorObject { order: Order::custom(comparator), uses_direct_buffers })
    }

    fn AbstractComparator_usingDirectBuffers[_](comparator: Handle) -> bool {
        comparator.shared::<ComparatorObject>()?.uses_direct_buffers
    }
}
