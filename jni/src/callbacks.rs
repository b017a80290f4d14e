//! Java objects that the engine calls: compaction filters and their factories; and built-in operators. Comparators are in
//! `comparator`.
//!
//! A callback object holds a global reference to its Java object. The engine calls the object in a thread of Java or in its
//! own threads. `load::callback` attaches a thread of the engine as a daemon and bounds its local references.
//!
//! If a callback throws while a native runs in the same thread, `throw::keep` stores the exception, and the native throws
//! the exception when it ends. In a thread of the engine, the exception is printed. If a comparator throws, the operation or
//! the background job also fails.

use std::sync::Arc;

use base::Error;
use lsm::filter::{CompactionFilter, CompactionFilterFactory, FilterContext, RemoveEmptyValue};
use lsm::merge::MergeOperator;

use crate::class::{Class, Global, Method, Value};
use crate::fault::Outcome;
use crate::handle::Handle;
use crate::java::{JObject, JString, Java};
use crate::load::callback;
use crate::native::{disposers, natives};

/// A compaction filter.
pub struct FilterObject {
    pub filter: Arc<dyn CompactionFilter>,
}

/// A factory of compaction filters.
pub struct FilterFactoryObject {
    pub factory: Arc<dyn CompactionFilterFactory>,
}

/// A merge operator.
pub struct MergeOperatorObject {
    pub operator: Arc<dyn MergeOperator>,
}

disposers! {
    StringAppendOperator: MergeOperatorObject;
    UInt64AddOperator: MergeOperatorObject;
}

static FACTORY_NAME: Method =
    Class::new("org/rocksdb/AbstractCompactionFilterFactory").method("name", "()Ljava/lang/String;");
static CREATE_FILTER: Method =
    Class::new("org/rocksdb/AbstractCompactionFilterFactory").method("createCompactionFilter", "(ZZ)J");

/// Calls a method that returns a name.
///
/// # Errors
/// The exception of the method.
pub fn name_of(java: Java<'_>, method: &'static Method, object: JObject<'_>) -> Outcome<String> {
    let name = method.call_object(java, object, &[])?;
    // SAFETY: the descriptor of the method returns a String.
    java.text(unsafe { JString::from_raw(name.raw()) })
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
        let filter = Handle::of(handle).take::<FilterObject>().ok()?.filter.clone();
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
    Handle::new(MergeOperatorObject { operator: Arc::new(lsm::merge::StringAppend::new(delimiter)) })
}

natives! {
    /// Closes a callback object of any class. Databases that use the object keep the object.
    fn RocksCallbackObject_disposeInternal[_](handle: Handle) {
        handle.close();
    }

    fn AbstractCompactionFilterFactory_disposeInternal[_](handle: Handle) {
        handle.close_as::<FilterFactoryObject>();
    }

    fn AbstractCompactionFilter_disposeInternal[_](handle: Handle) {
        handle.close_as::<FilterObject>();
    }

    fn AbstractCompactionFilterFactory_createNewCompactionFilterFactory0[java, this]() -> Handle {
        let name = name_of(java, &FACTORY_NAME, this)?;
        let factory = JavaFilterFactory { object: Global::new(java, this)?, name };
        Handle::new(FilterFactoryObject { factory: Arc::new(factory) })
    }

    fn RemoveEmptyValueCompactionFilter_createNewRemoveEmptyValueCompactionFilter0[_]() -> Handle {
        Handle::new(FilterObject { filter: Arc::new(RemoveEmptyValue) })
    }

    fn StringAppendOperator_newSharedStringAppendOperator__C[_](delimiter: Char) -> Handle {
        string_append(&[delimiter.unit as u8])
    }

    fn StringAppendOperator_newSharedStringAppendOperator__Ljava_lang_String_2[java](delimiter: JString) -> Handle {
        string_append(java.text(delimiter)?.as_bytes())
    }

    fn UInt64AddOperator_newSharedUInt64AddOperator[_]() -> Handle {
        let operator = lsm::merge::by_name("uint64add").ok_or_else(|| Error::not_supported("uint64add"))?;
        Handle::new(MergeOperatorObject { operator })
    }
}

/// A `char` of Java: one UTF-16 unit.
#[derive(Clone, Copy)]
#[repr(transparent)]
struct Char {
    unit: u16,
}

impl crate::native::Argument for Char {
    type Raw = u16;

    fn from_raw(raw: u16) -> Self {
        Char { unit: raw }
    }
}
