//! Errors of natives as exceptions of Java.
//!
//! A native returns `Outcome` (`fault`). The frame of natives (`native`) throws the fault when the native ends:
//!
//! | fault | exception |
//! |---|---|
//! | error of the engine | `org.rocksdb.RocksDBException` with `Status`: code, subcode, state |
//! | handle of a closed object | `java.lang.IllegalStateException` |
//! | index, length | `java.lang.IndexOutOfBoundsException` |
//! | null | `java.lang.NullPointerException` |
//! | an exception is already pending | no change |
//!
//! Facts: RocksDB `java/rocksjni/portal.h` (`RocksDBExceptionJni`, `StatusJni`): the numbers of codes and subcodes.

use std::cell::{Cell, RefCell};
use std::ffi::CString;
use std::sync::atomic::{AtomicBool, Ordering};

use base::{Error, Kind, Subcode};

use env::sync::thread_local;

use crate::class::{Class, Global, Method, Value};
use crate::fault::{Fault, Outcome};
use crate::java::{JObject, JString, Java, jni};

/// Throws the exception of the fault. Does not replace an exception that is already pending.
#[cold]
pub fn throw(java: Java<'_>, fault: &Fault) {
    if java.has_exception() {
        return;
    }
    let thrown = match fault {
        Fault::Thrown => return,
        Fault::Rocks(error) => exception(java, error),
        Fault::Plain(text) => {
            java.new_text(text).and_then(|text| PLAIN.construct(java, &[text.object().into()]))
        }
        Fault::Other(class, text) => return throw_named(java, class, text),
    };
    match thrown {
        // SAFETY: the environment belongs to this thread; the object is a Throwable.
        Ok(exception) => unsafe {
            jni!(java, Throw, exception.raw());
        },
        Err(Fault::Thrown) => {}
        Err(_) => throw_named(java, "java/lang/IllegalStateException", &format!("{fault:?}")),
    }
}

thread_local! {
    /// The number of natives that run in this thread.
    static DEPTH: Cell<u32> = const { Cell::new(0) };
    /// The first exception of a callback in this thread, until the native ends.
    static KEPT: RefCell<Option<Global>> = const { RefCell::new(None) };
}

/// Counts a native while it runs, and throws the exception of a callback when the native ends.
pub struct Running<'j>(Java<'j>);

impl<'j> Running<'j> {
    /// Counts the native from now until the drop of the result.
    #[inline]
    pub fn start(java: Java<'j>) -> Self {
        DEPTH.set(DEPTH.get() + 1);
        Running(java)
    }
}

impl Drop for Running<'_> {
    #[inline]
    fn drop(&mut self) {
        DEPTH.set(DEPTH.get() - 1);
        if ANY_KEPT.load(Ordering::Relaxed) {
            rethrow(self.0);
        }
    }
}

/// Set after the first exception of a callback in the process. Until then, natives do not need to check the stored
/// exception of their thread.
static ANY_KEPT: AtomicBool = AtomicBool::new(false);

#[cold]
fn rethrow(java: Java<'_>) {
    let Some(kept) = KEPT.take() else { return };
    let exception = kept.object(java);
    // SAFETY: the environment belongs to this thread; the object is a Throwable. An exception of the native itself gives
    // way to its cause.
    unsafe {
        jni!(java, ExceptionClear);
        let exception = jni!(java, NewLocalRef, exception.raw());
        jni!(java, Throw, exception);
    }
}

/// Returns true if a stored exception of a callback will be thrown when the native of this thread ends.
pub fn has_kept() -> bool {
    ANY_KEPT.load(Ordering::Relaxed) && KEPT.with_borrow(Option::is_some)
}

/// Removes the pending exception of a callback from the JVM. Stores the exception for the native that runs in this thread. If
/// no native runs in this thread, prints the exception.
#[cold]
pub fn keep(java: Java<'_>, fault: Fault) {
    throw(java, &fault);
    // SAFETY: the environment belongs to this thread. The function may be called while an exception is pending.
    let exception = unsafe { jni!(java, ExceptionOccurred) };
    if exception.is_null() {
        return;
    }
    if DEPTH.get() == 0 {
        // SAFETY: the environment belongs to this thread. The function may be called while an exception is pending.
        unsafe { jni!(java, ExceptionDescribe) };
    }
    // SAFETY: the environment belongs to this thread. The function may be called while an exception is pending.
    unsafe { jni!(java, ExceptionClear) };
    if DEPTH.get() > 0 {
        // SAFETY: the reference is new and belongs to this call.
        let exception = unsafe { JObject::from_raw(exception) };
        if let Ok(global) = Global::new(java, exception) {
            KEPT.set(Some(global));
            ANY_KEPT.store(true, Ordering::Relaxed);
        }
    }
}

fn throw_named(java: Java<'_>, class: &str, text: &str) {
    let text: Vec<u8> = text.bytes().filter(|byte| *byte != 0 && byte.is_ascii()).collect();
    let (Ok(class), Ok(text)) = (CString::new(class), CString::new(text)) else { return };
    // SAFETY: the environment belongs to this thread; both strings end with NUL and are ASCII.
    unsafe {
        let class = jni!(java, FindClass, class.as_ptr());
        if !class.is_null() {
            jni!(java, ThrowNew, class, text.as_ptr());
        }
    }
}

static STATUS: Method = Class::new("org/rocksdb/Status").method("<init>", "(BBLjava/lang/String;)V");
static EXCEPTION: Method =
    Class::new("org/rocksdb/RocksDBException").method("<init>", "(Lorg/rocksdb/Status;)V");
static PLAIN: Method = Class::new("org/rocksdb/RocksDBException").method("<init>", "(Ljava/lang/String;)V");

/// Makes an `org.rocksdb.RocksDBException`.
///
/// # Errors
/// The exception that the JVM throws instead.
pub fn exception<'j>(java: Java<'j>, error: &Error) -> Outcome<JObject<'j>> {
    let status = status(java, Some(error))?;
    EXCEPTION.construct(java, &[status.into()])
}

/// Makes an `org.rocksdb.Status`. `None` is the status Ok.
///
/// # Errors
/// OutOfMemoryError.
pub fn status<'j>(java: Java<'j>, error: Option<&Error>) -> Outcome<JObject<'j>> {
    let state = error.map(ironstone::binding::status_state).filter(|state| !state.is_empty());
    let state = state.map_or(Ok(JString::NULL), |state| java.new_text(&state))?;
    let (code, subcode) = error.map_or((0, 0), |error| (code(error.kind()), subcode(error.subcode())));
    STATUS.construct(java, &[Value::byte(code), Value::byte(subcode), state.object().into()])
}

/// Returns the number of a code in `Status.Code` of Java. Java has no name for the newest two codes: the number is then
/// `Undefined`.
pub fn code(kind: Kind) -> i8 {
    match kind {
        Kind::CompactionTooLarge | Kind::ColumnFamilyDropped => 0x7f,
        other => other as i8,
    }
}

/// Returns the number of a subcode in `Status.SubCode` of Java. Java has no name for the newer subcodes.
fn subcode(subcode: Subcode) -> i8 {
    match subcode as u8 {
        number @ 0..=7 => number as i8,
        _ => 0x7f,
    }
}
