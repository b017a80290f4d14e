//! Java objects that the engine calls: comparators, compaction filters and their factories; and built-in operators.
//!
//! A callback object holds a global reference to its Java object. The engine calls the object in a thread of Java or in its
//! own threads. `load::callback` attaches a thread of the engine as a daemon and bounds its local references.
//!
//! If a callback throws while a native runs in the same thread, `throw::keep` stores the exception, and the native throws
//! the exception when it ends. In a thread of the engine, the exception is printed. If a comparator throws, the operation or
//! the background job also fails.

use std::cmp::Ordering;
use std::sync::Arc;

use base::Error;
use base::order::{Comparator, Order};
use lsm::filter::{CompactionFilter, CompactionFilterFactory, FilterContext, RemoveEmptyValue};
use lsm::merge::MergeOperator;

use crate::class::{Class, Global, Method, Value};
use crate::fault::Outcome;
use crate::handle::Handle;
use crate::java::{JObject, JString, Java};
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

/// A compaction filter.
pub struct FilterObject(pub Arc<dyn CompactionFilter>);

/// A factory of compaction filters.
pub struct FilterFactoryObject(pub Arc<dyn CompactionFilterFactory>);

/// A merge operator.
pub struct MergeOperatorObject(pub Arc<dyn MergeOperator>);

/// `ComparatorOptions`. The options for the reuse of buffers have no effect, because each call makes new buffers.
struct ComparatorOptions {
    synchronisation: i8,
    uses_direct_buffers: bool,
    max_reused_buffer_size: i32,
}

crate::native::rows! {
    ComparatorOptions [ComparatorOptions] |o|;
    setReusedSynchronisationType reusedSynchronisationType: i8 => o.synchronisation;
    setUseDirectBuffer useDirectBuffer: bool => o.uses_direct_buffers;
    setMaxReusedBufferSize maxReusedBufferSize: i32 => o.max_reused_buffer_size;
}

disposers! {
    ComparatorOptions: ComparatorOptions;
    StringAppendOperator: MergeOperatorObject;
    UInt64AddOperator: MergeOperatorObject;
}

static COMPARE: Method = Class::new("org/rocksdb/AbstractComparatorJniBridge").static_method(
    "compareInternal",
    "(Lorg/rocksdb/AbstractComparator;Ljava/nio/ByteBuffer;ILjava/nio/ByteBuffer;I)I",
);
static COMPARATOR_NAME: Method =
    Class::new("org/rocksdb/AbstractComparator").method("name", "()Ljava/lang/String;");
static FACTORY_NAME: Method =
    Class::new("org/rocksdb/AbstractCompactionFilterFactory").method("name", "()Ljava/lang/String;");
static CREATE_FILTER: Method =
    Class::new("org/rocksdb/AbstractCompactionFilterFactory").method("createCompactionFilter", "(ZZ)J");
static WRAP: Method = Class::new("java/nio/ByteBuffer").static_method("wrap", "([B)Ljava/nio/ByteBuffer;");

/// Calls a method that returns a name.
fn name_of(java: Java<'_>, method: &'static Method, object: JObject<'_>) -> Outcome<String> {
    let name = method.call_object(java, object, &[])?;
    // SAFETY: the descriptor of the method returns a String.
    java.text(unsafe { JString::from_raw(name.raw()) })
}

/// A comparator that calls a Java object.
struct JavaComparator {
    object: Global,
    name: String,
    uses_direct_buffers: bool,
}

impl JavaComparator {
    fn buffer<'j>(&self, java: Java<'j>, bytes: &[u8]) -> Outcome<JObject<'j>> {
        if self.uses_direct_buffers {
            // SAFETY: the bytes live during the comparison. A comparator must not keep the buffer, as with RocksDB.
            return Ok(unsafe { java.new_direct(bytes.as_ptr(), bytes.len()) }?.object());
        }
        WRAP.call_static_object(java, &[java.new_bytes(bytes)?.object().into()])
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
        let answer = callback(|java| {
            let (a, b) = (self.buffer(java, a)?, self.buffer(java, b)?);
            let arguments =
                [self.object.object(java).into(), a.into(), Value::int(-1), b.into(), Value::int(-1)];
            COMPARE.call_static_int(java, &arguments)
        });
        answer.map_or_else(|| self.fail(), |answer| answer.cmp(&0))
    }
}

/// A factory that calls a Java object.
struct JavaFilterFactory {
    object: Global,
    name: String,
}

impl CompactionFilterFactory for JavaFilterFactory {
    fn name(&self) -> &str {
        &self.name
    }

    fn create(&self, context: &FilterContext) -> Option<Box<dyn CompactionFilter>> {
        let handle = callback(|java| {
            let arguments =
                [Value::bool(context.is_full_compaction), Value::bool(context.is_manual_compaction)];
            CREATE_FILTER.call_long(java, self.object.object(java), &arguments)
        })?;
        // The Java object no longer owns the handle of the filter, so this call closes the handle.
        let filter = Handle(handle).take::<FilterObject>().ok()?.0.clone();
        Some(Box::new(Delegate(filter)))
    }
}

/// A filter that shares the filter of a handle.
struct Delegate(Arc<dyn CompactionFilter>);

impl CompactionFilter for Delegate {
    fn name(&self) -> &str {
        self.0.name()
    }

    fn filter(&self, input: &lsm::filter::FilterInput<'_>) -> lsm::filter::Decision {
        self.0.filter(input)
    }

    fn filter_blob_by_key(&self, input: &lsm::filter::FilterInput<'_>) -> lsm::filter::Decision {
        self.0.filter_blob_by_key(input)
    }

    fn ignore_snapshots(&self) -> bool {
        self.0.ignore_snapshots()
    }
}

/// Makes the merge operator that appends with a delimiter.
fn string_append(delimiter: &[u8]) -> Handle {
    Handle::new(MergeOperatorObject(Arc::new(lsm::merge::StringAppend::new(delimiter))))
}

natives! {
    /// Closes a callback object of any class. Databases that use the object keep the object.
    fn RocksCallbackObject_disposeInternal[_](handle: Handle) {
        handle.close();
    }

    fn AbstractCompactionFilterFactory_disposeInternal[_](handle: Handle) {
        drop(handle.take::<FilterFactoryObject>());
    }

    fn AbstractCompactionFilter_disposeInternal[_](handle: Handle) {
        drop(handle.take::<FilterObject>());
    }

    fn NativeComparatorWrapper_disposeInternal[_](handle: Handle) {
        drop(handle.take::<ComparatorObject>());
    }

    fn ComparatorOptions_newComparatorOptions[_]() -> Handle {
        Handle::new(ComparatorOptions { synchronisation: 1, uses_direct_buffers: true, max_reused_buffer_size: 64 })
    }

    fn AbstractComparator_createNewComparator[java, this](options: Handle) -> Handle {
        let uses_direct_buffers = options.shared::<ComparatorOptions>()?.uses_direct_buffers;
        let name = name_of(java, &COMPARATOR_NAME, this)?;
        let comparator = JavaComparator { object: Global::new(java, this)?, name, uses_direct_buffers };
        Handle::new(ComparatorObject { order: Order::custom(comparator), uses_direct_buffers })
    }

    fn AbstractComparator_usingDirectBuffers[_](comparator: Handle) -> bool {
        comparator.shared::<ComparatorObject>()?.uses_direct_buffers
    }

    fn AbstractCompactionFilterFactory_createNewCompactionFilterFactory0[java, this]() -> Handle {
        let name = name_of(java, &FACTORY_NAME, this)?;
        let factory = JavaFilterFactory { object: Global::new(java, this)?, name };
        Handle::new(FilterFactoryObject(Arc::new(factory)))
    }

    fn RemoveEmptyValueCompactionFilter_createNewRemoveEmptyValueCompactionFilter0[_]() -> Handle {
        Handle::new(FilterObject(Arc::new(RemoveEmptyValue)))
    }

    fn StringAppendOperator_newSharedStringAppendOperator__C[_](delimiter: Char) -> Handle {
        string_append(&[delimiter.0 as u8])
    }

    fn StringAppendOperator_newSharedStringAppendOperator__Ljava_lang_String_2[java](delimiter: JString) -> Handle {
        string_append(java.text(delimiter)?.as_bytes())
    }

    fn UInt64AddOperator_newSharedUInt64AddOperator[_]() -> Handle {
        let operator = lsm::merge::by_name("uint64add").ok_or_else(|| Error::not_supported("uint64add"))?;
        Handle::new(MergeOperatorObject(operator))
    }
}

/// A `char` of Java: one UTF-16 unit.
#[derive(Clone, Copy)]
#[repr(transparent)]
struct Char(u16);

impl crate::native::Argument for Char {
    type Raw = u16;

    fn from_raw(raw: u16) -> Self {
        Char(raw)
    }
}
