//! Classes, constructors and methods of the Java side, found once and kept.
//!
//! Classes are found with the class loader of `org.rocksdb.RocksDB`, which `load` stores. `FindClass` would not work in a
//! thread of the engine: this thread has no Java frame, so `FindClass` would ask the system class loader. Programs such as
//! Flink and Spark load the RocksDB classes with another loader.
//!
//! Method identifiers are valid while the class is loaded. The global reference to the class keeps the class loaded.

use std::ffi::CString;

use env::sync::OnceLock;
use jni_sys::{jmethodID, jobject, jvalue};

use crate::fault::{Fault, Outcome};
use crate::java::{JClass, JLongs, JObject, JString, Java, jni};
use crate::load;

/// A class by its name, with slashes.
pub struct Class {
    name: &'static str,
    found: OnceLock<Global>,
}

/// A method or a constructor of a class.
pub struct Method {
    class: Class,
    name: &'static str,
    descriptor: &'static str,
    is_static: bool,
    found: OnceLock<MethodId>,
}

struct MethodId(jmethodID);

// SAFETY: the JNI allows the use of method identifiers in each thread.
unsafe impl Send for MethodId {}
// SAFETY: the JNI allows the use of method identifiers in each thread, and the identifier never changes.
unsafe impl Sync for MethodId {}

/// A global reference: valid in each thread, until it is dropped.
pub struct Global(jobject);

// SAFETY: the JNI allows the use of global references in each thread.
unsafe impl Send for Global {}
// SAFETY: the JNI allows the use of global references in each thread, and the reference never changes.
unsafe impl Sync for Global {}

/// An argument of a method.
#[derive(Clone, Copy)]
#[repr(transparent)]
pub struct Value(#[allow(dead_code, reason = "the JVM reads the value")] jvalue);

impl Value {
    /// Makes an argument of the Java type `byte`.
    pub fn byte(value: i8) -> Value {
        Value(jvalue { b: value })
    }

    /// Makes an argument of the Java type `int`.
    pub fn int(value: i32) -> Value {
        Value(jvalue { i: value })
    }

    /// Makes an argument of the Java type `long`.
    pub fn long(value: i64) -> Value {
        Value(jvalue { j: value })
    }

    /// Makes an argument of the Java type `double`.
    pub fn double(value: f64) -> Value {
        Value(jvalue { d: value })
    }

    /// Makes an argument of the Java type `boolean`.
    pub fn bool(value: bool) -> Value {
        Value(jvalue { z: u8::from(value) })
    }
}

impl From<JObject<'_>> for Value {
    fn from(object: JObject<'_>) -> Self {
        Value(jvalue { l: object.raw() })
    }
}

impl From<JLongs<'_>> for Value {
    fn from(array: JLongs<'_>) -> Value {
        array.object().into()
    }
}

impl From<JString<'_>> for Value {
    fn from(string: JString<'_>) -> Self {
        string.object().into()
    }
}

impl Class {
    /// Names a class in the form `java/lang/String`. The class is found at the first use.
    pub const fn new(name: &'static str) -> Class {
        Class { name, found: OnceLock::new() }
    }

    /// Names a method of the class with its JNI descriptor, such as `(I)V`. The method is found at the first
    /// use.
    pub const fn method(self, name: &'static str, descriptor: &'static str) -> Method {
        Method { class: self, name, descriptor, is_static: false, found: OnceLock::new() }
    }

    /// Names a static method of the class with its JNI descriptor. The method is found at the first use.
    pub const fn static_method(self, name: &'static str, descriptor: &'static str) -> Method {
        Method { class: self, name, descriptor, is_static: true, found: OnceLock::new() }
    }

    /// Returns the class. The first call finds the class and stores a global reference. `self` must be a static, because the
    /// result is valid only while `self` holds the reference.
    ///
    /// # Errors
    /// NoClassDefFoundError.
    pub fn get<'j>(&'static self, java: Java<'j>) -> Outcome<JClass<'j>> {
        if let Some(found) = self.found.get() {
            // SAFETY: the global reference is valid, and `self` keeps the reference.
            return Ok(unsafe { JClass::from_raw(found.0) });
        }
        let class = load::find_class(java, self.name)?;
        let global = Global::new(java, class.object())?;
        let _ = self.found.set(global);
        self.get(java)
    }
}

/// Declares calls of methods that return a number. A row is the call, the function of the JNI, the type and its name in Java.
macro_rules! calls {
    ($($visible:vis $call:ident $function:ident $answer:ty, $java_type:literal;)*) => {
        impl Method {$(
            #[doc = concat!("Calls a method that returns `", $java_type, "`.")]
            ///
            /// # Errors
            /// The exception of the method.
            $visible fn $call(
                &'static self,
                java: Java<'_>,
                object: JObject<'_>,
                arguments: &[Value],
            ) -> Outcome<$answer> {
                let id = self.id(java)?;
                // SAFETY: the environment belongs to this thread. The identifier is of a method of the class of the
                // object, and its descriptor returns this type. `Value` has the layout of `jvalue`, and the arguments
                // fit the descriptor.
                let answer = unsafe { jni!(java, $function, object.raw(), id, arguments.as_ptr().cast()) };
                java.check().map(|()| answer)
            }
        )*}
    };
}
calls! {
    pub call_int CallIntMethodA i32, "int";
    pub call_long CallLongMethodA i64, "long";
    pub call_short CallShortMethodA i16, "short";
    call_boolean CallBooleanMethodA u8, "boolean";
}

impl Method {
    fn id(&'static self, java: Java<'_>) -> Outcome<jmethodID> {
        if let Some(found) = self.found.get() {
            return Ok(found.0);
        }
        let class = self.class.get(java)?;
        let id = method_id(java, class, self.name, self.descriptor, self.is_static)?;
        let _ = self.found.set(MethodId(id));
        Ok(id)
    }

    /// Makes an object. The method is a constructor.
    ///
    /// # Errors
    /// The exception of the constructor.
    pub fn construct<'j>(&'static self, java: Java<'j>, arguments: &[Value]) -> Outcome<JObject<'j>> {
        let (class, id) = (self.class.get(java)?, self.id(java)?);
        // SAFETY: the environment belongs to this thread; the identifier is of a constructor of the class; `Value` has the
        // layout of `jvalue`, and each caller passes the arguments of the descriptor.
        let object = unsafe { jni!(java, NewObjectA, class.raw(), id, arguments.as_ptr().cast()) };
        if object.is_null() {
            return Err(Fault::Thrown);
        }
        // SAFETY: the reference is new and belongs to this native.
        Ok(unsafe { JObject::from_raw(object) })
    }

    /// Calls a method that returns nothing.
    ///
    /// # Errors
    /// The exception of the method.
    pub fn call(&'static self, java: Java<'_>, object: JObject<'_>, arguments: &[Value]) -> Outcome<()> {
        let id = self.id(java)?;
        // SAFETY: the environment belongs to this thread. The identifier is of a method of the class of the object,
        // and its descriptor returns void. `Value` has the layout of `jvalue`, and the arguments fit the descriptor.
        unsafe { jni!(java, CallVoidMethodA, object.raw(), id, arguments.as_ptr().cast()) };
        java.check()
    }

    /// Calls a method that returns `boolean`.
    ///
    /// # Errors
    /// The exception of the method.
    pub fn call_bool(
        &'static self,
        java: Java<'_>,
        object: JObject<'_>,
        arguments: &[Value],
    ) -> Outcome<bool> {
        Ok(self.call_boolean(java, object, arguments)? != 0)
    }

    /// Calls a static method that returns `int`.
    ///
    /// # Errors
    /// The exception of the method.
    pub fn call_static_int(&'static self, java: Java<'_>, arguments: &[Value]) -> Outcome<i32> {
        let (class, id) = (self.class.get(java)?, self.id(java)?);
        // SAFETY: the environment belongs to this thread. The identifier is of a static method of the class, and its
        // descriptor returns int. `Value` has the layout of `jvalue`, and the arguments fit the descriptor.
        let answer = unsafe { jni!(java, CallStaticIntMethodA, class.raw(), id, arguments.as_ptr().cast()) };
        java.check().map(|()| answer)
    }

    /// Calls a static method that returns an object.
    ///
    /// # Errors
    /// The exception of the method.
    pub fn call_static_object<'j>(
        &'static self,
        java: Java<'j>,
        arguments: &[Value],
    ) -> Outcome<JObject<'j>> {
        let (class, id) = (self.class.get(java)?, self.id(java)?);
        // SAFETY: the environment belongs to this thread. The identifier is of a static method of the class, and its
        // descriptor returns an object. `Value` has the layout of `jvalue`, and the arguments fit the descriptor.
        let answer =
            unsafe { jni!(java, CallStaticObjectMethodA, class.raw(), id, arguments.as_ptr().cast()) };
        java.check()?;
        // SAFETY: the reference is new and belongs to this native.
        Ok(unsafe { JObject::from_raw(answer) })
    }

    /// Calls a method that returns an object.
    ///
    /// # Errors
    /// The exception of the method.
    pub fn call_object<'j>(
        &'static self,
        java: Java<'j>,
        object: JObject<'_>,
        arguments: &[Value],
    ) -> Outcome<JObject<'j>> {
        let id = self.id(java)?;
        // SAFETY: the environment belongs to this thread. The identifier is of a method of the class of the object,
        // and its descriptor returns an object. `Value` has the layout of `jvalue`, and the arguments fit the
        // descriptor.
        let answer = unsafe { jni!(java, CallObjectMethodA, object.raw(), id, arguments.as_ptr().cast()) };
        java.check()?;
        // SAFETY: the reference is new and belongs to this native.
        Ok(unsafe { JObject::from_raw(answer) })
    }
}

/// Finds a method of a class.
///
/// # Errors
/// NoSuchMethodError.
pub fn method_id(
    java: Java<'_>,
    class: JClass<'_>,
    name: &str,
    descriptor: &str,
    is_static: bool,
) -> Outcome<jmethodID> {
    let (Ok(name), Ok(descriptor)) = (CString::new(name), CString::new(descriptor)) else {
        return Err(Fault::invalid("a name of a method has a NUL"));
    };
    // SAFETY: the environment belongs to this thread; `class` is a class; both strings end with NUL.
    let id = unsafe {
        if is_static {
            jni!(java, GetStaticMethodID, class.raw(), name.as_ptr(), descriptor.as_ptr())
        } else {
            jni!(java, GetMethodID, class.raw(), name.as_ptr(), descriptor.as_ptr())
        }
    };
    if id.is_null() { Err(Fault::Thrown) } else { Ok(id) }
}

impl Global {
    /// Makes a global reference.
    ///
    /// # Errors
    /// OutOfMemoryError; NullPointerException.
    pub fn new(java: Java<'_>, object: JObject<'_>) -> Outcome<Global> {
        if object.is_null() {
            return Err(Fault::null());
        }
        // SAFETY: the environment belongs to this thread; the reference is valid.
        let global = unsafe { jni!(java, NewGlobalRef, object.raw()) };
        if global.is_null() { Err(Fault::Thrown) } else { Ok(Global(global)) }
    }

    /// Makes a local reference, which the caller may delete.
    ///
    /// # Errors
    /// OutOfMemoryError.
    pub fn local<'j>(&self, java: Java<'j>) -> Outcome<JObject<'j>> {
        // SAFETY: the environment belongs to this thread; the global reference is valid.
        let local = unsafe { jni!(java, NewLocalRef, self.0) };
        if local.is_null() {
            return Err(Fault::Thrown);
        }
        // SAFETY: the reference is new and belongs to this native.
        Ok(unsafe { JObject::from_raw(local) })
    }

    /// Returns the object.
    pub fn object<'j>(&self, _java: Java<'j>) -> JObject<'j>
    where
        Self: 'j,
    {
        // SAFETY: the global reference is valid in each thread until it is dropped. Callers hold `self` during the use.
        unsafe { JObject::from_raw(self.0) }
    }
}

impl Drop for Global {
    fn drop(&mut self) {
        let reference = self.0;
        // SAFETY: the reference is global and is not used again. If the JVM has ended, there is nothing to delete.
        load::with_java(|java| unsafe { jni!(java, DeleteGlobalRef, reference) });
    }
}
