//! Loading of the library: stores the JVM and the class loader, and registers the natives whose descriptors differ between
//! the releases of the Java classes.
//!
//! The JVM finds a native by its name: each native is an exported symbol. Some natives have another descriptor in another
//! release of the Java classes (`variants` lists them). For these natives, [`JNI_OnLoad`] registers the function whose
//! descriptor the loaded class declares. A static method and an instance method need no distinction: the second argument is
//! a pointer for both.
//!
//! If the classes declare another set of these natives than each known release, the load throws
//! `IncompatibleClassChangeError`. RocksDB's loader catches `UnsatisfiedLinkError` and then loads the library of its jar, so this
//! class of error would hide the failure.
//!
//! While the class `RocksDB` loads the library, the static initializers of other classes wait until the load ends. An
//! initialization of such a class from here would never end, so [`JNI_OnLoad`] calls `Class.forName` without initialization.
//!
//! Facts: the JNI specification, chapter 5; RocksDB `java/src/main/java/org/rocksdb/RocksDB.java` (`loadLibrary`).

use std::cell::Cell;
use std::ffi::c_void;
use std::ptr::null_mut;

use env::sync::OnceLock;
use env::sync::thread_local;
use jni_sys::{JNI_OK, JNI_VERSION_1_8, JNIEnv, JNINativeMethod, JavaVM, jint};

use crate::class::{Global, method_id};
use crate::fault::{Fault, Outcome};
use crate::handle::in_callback;
use crate::java::{JClass, JObject, Java, jni};

/// Which of the natives that `variants` lists the classes declare.
type Release = [bool; 6];

/// The known releases: 8.10.0, 9.8.4, 10.1.3, 11.8.1.
const RELEASES: [Release; 4] = [
    [false, true, false, true, true, false],
    [false, true, true, false, true, false],
    [false, true, true, false, false, false],
    [true, false, true, false, false, true],
];

/// The exception of a load under classes of an unknown release.
const UNKNOWN_CLASSES: &str = "java/lang/IncompatibleClassChangeError";

/// The JVM and the class loader of the RocksDB classes.
struct Loaded {
    vm: *mut JavaVM,
    class: Global,
    loader: Option<Global>,
}

// SAFETY: the JNI allows the use of the JVM and of global references in each thread.
unsafe impl Send for Loaded {}
// SAFETY: the JNI allows the use of the JVM and of global references in each thread, and the fields never change.
unsafe impl Sync for Loaded {}

static LOADED: OnceLock<Loaded> = OnceLock::new();

/// A native with the descriptor that some releases of the Java classes declare.
pub struct Variant {
    pub class: &'static str,
    pub name: &'static str,
    pub descriptor: &'static str,
    pub function: *const c_void,
}

/// Called by the JVM after it mapped the library.
///
/// # Safety
/// The JVM calls this function once.
#[unsafe(no_mangle)]
pub unsafe extern "system" fn JNI_OnLoad(vm: *mut JavaVM, _reserved: *mut c_void) -> jint {
    let mut env: *mut c_void = null_mut();
    // SAFETY: `vm` is the JVM; the place is writable.
    let is_ok = unsafe { (**vm).GetEnv.map(|get| get(vm, &mut env, JNI_VERSION_1_8)) } == Some(JNI_OK);
    if is_ok {
        // SAFETY: the JVM returned the environment of this thread.
        let java = unsafe { Java::from_raw(env.cast::<JNIEnv>()) };
        let done = std::panic::catch_unwind(|| load(java, vm));
        match done {
            Ok(Ok(())) => {}
            Ok(Err(fault)) => crate::throw::throw(java, &fault),
            Err(_) => {
                crate::throw::throw(java, &Fault::Other(UNKNOWN_CLASSES, "a panic in JNI_OnLoad".into()))
            }
        }
    }
    JNI_VERSION_1_8
}

fn load(java: Java<'_>, vm: *mut JavaVM) -> Outcome<()> {
    // This class has no initializer. The JVM looks with the loader of the class that called `System.loadLibrary`.
    // SAFETY: the environment belongs to this thread; the strings end with NUL.
    let (ours, class) = unsafe {
        (
            jni!(java, FindClass, c"org/rocksdb/RocksDBException".as_ptr()),
            jni!(java, FindClass, c"java/lang/Class".as_ptr()),
        )
    };
    java.check()?;
    // SAFETY: both references are new and belong to this call.
    let (ours, class) = unsafe { (JClass::from_raw(ours), JClass::from_raw(class)) };
    let get_loader = method_id(java, class, "getClassLoader", "()Ljava/lang/ClassLoader;", false)?;
    // SAFETY: `ours` is a Class, and the method belongs to Class and has no arguments.
    let loader = unsafe { jni!(java, CallObjectMethodA, ours.raw(), get_loader, std::ptr::null()) };
    java.check()?;
    // SAFETY: the reference is new and belongs to this call.
    let loader = unsafe { JObject::from_raw(loader) };
    let loader = if loader.is_null() { None } else { Some(Global::new(java, loader)?) };
    let _ = LOADED.set(Loaded { vm, class: Global::new(java, class.object())?, loader });
    register(java, &crate::variants::all())
}

/// Registers each variant that the loaded classes declare.
fn register(java: Java<'_>, variants: &[Variant]) -> Outcome<()> {
    let mut declared = Release::default();
    for (at, variant) in variants.iter().enumerate() {
        let class = named_class(java, variant.class, false)?;
        declared[at] = register_one(java, class, variant)?;
        java.forget(class.object());
    }
    match RELEASES.iter().position(|release| *release == declared) {
        Some(0) => crate::numbers::use_old(),
        Some(_) => {}
        None => return Err(unknown_side(variants, &declared)),
    }
    Ok(())
}

fn unknown_side(variants: &[Variant], declared: &Release) -> Fault {
    let natives =
        variants.iter().zip(declared).filter(|(_, is_declared)| **is_declared).map(|(variant, _)| {
            let class = variant.class.rsplit('/').next().unwrap_or(variant.class);
            format!("{class}.{}{}", variant.name, variant.descriptor)
        });
    let text = format!(
        "the loaded classes are not those of a release that this library knows: frocksdbjni 8.10.0-ververica-1.0, rocksdbjni \
         9.8.4, 10.1.3, 11.8.1. The classes declare these natives of the compared ones: {}",
        natives.collect::<Vec<_>>().join(", ")
    );
    Fault::Other(UNKNOWN_CLASSES, text)
}

/// Registers a variant. Returns false if the class does not declare its descriptor.
fn register_one(java: Java<'_>, class: JClass<'_>, variant: &Variant) -> Outcome<bool> {
    let (name, descriptor) =
        (std::ffi::CString::new(variant.name), std::ffi::CString::new(variant.descriptor));
    let (Ok(name), Ok(descriptor)) = (name, descriptor) else { return Ok(false) };
    let method = JNINativeMethod {
        name: name.as_ptr().cast_mut(),
        signature: descriptor.as_ptr().cast_mut(),
        fnPtr: variant.function.cast_mut(),
    };
    // SAFETY: the environment belongs to this thread; the strings end with NUL and live during the call; the function has
    // the arguments of the descriptor.
    let answer = unsafe { jni!(java, RegisterNatives, class.raw(), &method, 1) };
    if answer != JNI_OK {
        // SAFETY: the environment belongs to this thread. The function may be called while an exception is pending.
        unsafe { jni!(java, ExceptionClear) };
    }
    Ok(answer == JNI_OK)
}

/// Finds a RocksDB class with the stored class loader and initializes the class.
///
/// # Errors
/// ClassNotFoundException.
pub fn find_class<'j>(java: Java<'j>, name: &str) -> Outcome<JClass<'j>> {
    named_class(java, name, true)
}

fn named_class<'j>(java: Java<'j>, name: &str, initialize: bool) -> Outcome<JClass<'j>> {
    let Some(loaded) = LOADED.get() else { return Err(Fault::invalid("the library is not loaded by a JVM")) };
    let class_object = loaded.class.object(java);
    // SAFETY: the global reference is to `java.lang.Class`.
    let class = unsafe { JClass::from_raw(class_object.raw()) };
    let descriptor = "(Ljava/lang/String;ZLjava/lang/ClassLoader;)Ljava/lang/Class;";
    let for_name = method_id(java, class, "forName", descriptor, true)?;
    let name = java.new_text(&name.replace('/', "."))?;
    let loader = loaded.loader.as_ref().map_or(JObject::NULL, |loader| loader.object(java));
    let arguments = [name.into(), crate::class::Value::bool(initialize), loader.into()];
    // SAFETY: the method is static and has these three arguments; `Value` has the layout of `jvalue`.
    let found =
        unsafe { jni!(java, CallStaticObjectMethodA, class.raw(), for_name, arguments.as_ptr().cast()) };
    java.check()?;
    java.forget(name.object());
    // SAFETY: the reference is new and belongs to this native.
    Ok(unsafe { JClass::from_raw(found) })
}

/// Detaches the thread when the thread ends.
struct Attached(Cell<bool>);

impl Drop for Attached {
    fn drop(&mut self) {
        if self.0.get()
            && let Some(loaded) = LOADED.get()
        {
            // SAFETY: `vm` is the JVM, and this thread was attached by this library and has no Java frame.
            unsafe { (**loaded.vm).DetachCurrentThread.map(|detach| detach(loaded.vm)) };
        }
    }
}

thread_local! {
    static ATTACHED: Attached = const { Attached(Cell::new(false)) };
}

/// Calls a function with the environment of this thread. If the thread is not attached to the JVM, attaches it as a daemon
/// and detaches it when the thread ends. Returns `None` if there is no JVM.
pub fn with_java<R>(call: impl FnOnce(Java<'_>) -> R) -> Option<R> {
    let loaded = LOADED.get()?;
    let mut env: *mut c_void = null_mut();
    // SAFETY: `vm` is the JVM; the place is writable.
    let mut answer = unsafe { (**loaded.vm).GetEnv?(loaded.vm, &mut env, JNI_VERSION_1_8) };
    if answer != JNI_OK {
        // SAFETY: `vm` is the JVM, and the place is writable. A null argument gives the thread a default name.
        answer = unsafe { (**loaded.vm).AttachCurrentThreadAsDaemon?(loaded.vm, &mut env, null_mut()) };
        let _ = ATTACHED.try_with(|attached| attached.0.set(answer == JNI_OK));
    }
    if answer != JNI_OK {
        return None;
    }
    // SAFETY: the JVM returned the environment of this thread; the call does not outlive this frame.
    Some(call(unsafe { Java::from_raw(env.cast::<JNIEnv>()) }))
}

/// Calls Java from a callback of the engine. Deletes the local references of the call afterwards.
///
/// Returns `None` if there is no JVM or if the call throws. If a native runs in this thread, the native throws the exception
/// when it ends, and until then this function does not call Java. In a thread of the engine, the exception is printed.
pub fn callback<R>(call: impl FnOnce(Java<'_>) -> Outcome<R>) -> Option<R> {
    let answer = with_java(|java| {
        // If an earlier callback of this native threw, do not call Java again.
        if java.has_exception() || crate::throw::has_kept() {
            return None;
        }
        // SAFETY: the environment belongs to this thread. The number of references is not negative.
        let has_frame = unsafe { jni!(java, PushLocalFrame, 32) } == JNI_OK;
        let answer = in_callback(|| call(java)).map_err(|fault| crate::throw::keep(java, fault)).ok();
        if has_frame {
            // SAFETY: the frame was pushed above; no reference of the frame is used again.
            unsafe { jni!(java, PopLocalFrame, null_mut()) };
        }
        answer
    });
    answer.flatten()
}
