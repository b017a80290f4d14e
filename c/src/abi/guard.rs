//! The frame of every C function: catches panics, writes error strings and lines of the info log.

use std::any::Any;
use std::ffi::c_char;
use std::panic::{AssertUnwindSafe, catch_unwind};

use base::{Error, Result};
use ironstone::binding::{conflict_text, status_text};

use super::returns::{Return, copy_to_malloc_with_nul};
use crate::db::rocksdb_t;

/// Where a C function reports its failure: to its `errptr`, or else to the info log of its database.
#[derive(Clone, Copy)]
pub struct Report {
    errptr: *mut *mut c_char,
    has_errptr: bool,
    db: *const rocksdb_t,
}

impl Default for Report {
    /// Reports nothing.
    fn default() -> Report {
        Report { errptr: std::ptr::null_mut(), has_errptr: false, db: std::ptr::null() }
    }
}

impl Report {
    /// Reports to `errptr`. If `errptr` is null, the error is dropped.
    #[must_use]
    pub fn to(self, errptr: *mut *mut c_char) -> Report {
        Report { errptr, has_errptr: true, ..self }
    }

    /// Reports to the info log of a database, unless the function has an `errptr`. Null: reports nothing.
    #[must_use]
    pub fn or_log_of(self, db: *const rocksdb_t) -> Report {
        Report { db, ..self }
    }
}

/// Runs the body of a C function.
///
/// If the body fails, reports the error. The function then returns the neutral value of its type: zero or a null pointer. A
/// panic becomes an error with the code `Aborted` and the name of the function.
///
/// # Safety
/// The `errptr` of the report is null, or points to a null pointer, or points to a string that `malloc` allocated. The
/// database of the report is null, or is live after the body.
pub unsafe fn guard<R: Return>(
    function: &'static str,
    report: Report,
    body: impl FnOnce() -> Result<R>,
) -> R::C {
    let failure = match catch_unwind(AssertUnwindSafe(body)) {
        Ok(Ok(value)) => return value.into_c(),
        Ok(Err(error)) => Failure::Error(error),
        Err(panic) => Failure::Panic(panic),
    };
    // SAFETY: the report follows the contract of this function.
    unsafe { fail(function, report, failure) };
    R::neutral()
}

/// The reason why a body returned no value.
enum Failure {
    Error(Error),
    Panic(Box<dyn Any + Send>),
}

/// Reports a failure. Not inlined: a copy in each C function would make the library larger by a tenth.
///
/// # Safety
/// The contract of [`guard`].
#[cold]
#[inline(never)]
unsafe fn fail(function: &'static str, report: Report, failure: Failure) {
    let error = match failure {
        Failure::Error(error) => error,
        Failure::Panic(panic) => {
            let error = Error::aborted(format!("{function}: panic: {}", panic_text(&*panic)));
            // Leak the payload: its drop could panic again, and it has only a few bytes.
            std::mem::forget(panic);
            error
        }
    };
    if !report.has_errptr {
        // SAFETY: the database is null or live by the contract.
        if let Some(db) = unsafe { report.db.as_ref() } {
            // A panic of the logger is not reported again.
            let _ = catch_unwind(AssertUnwindSafe(|| db.warn(format_args!("{function} failed: {error}"))));
        }
        return;
    }
    let text = text_of(function, &error);
    // SAFETY: `errptr` follows the contract of this function.
    unsafe { report_text(report.errptr, &text) };
}

/// Returns the error string of a call: RocksDB's text of the code, then the message of this library.
///
/// The string of a conflict between transactions is exactly RocksDB's. Programs compare this string, and then try again.
pub(crate) fn text_of(function: &str, error: &Error) -> String {
    let transaction = function.contains("transaction_") || function.contains("transactiondb_");
    let conflict = transaction.then(|| conflict_text(error)).flatten();
    conflict.unwrap_or_else(|| status_text(error))
}

/// Writes an error string to `*errptr` and frees the string that was there. Does nothing if `errptr` is null.
///
/// # Safety
/// `errptr` is null, or points to a null pointer, or points to a string that `malloc` allocated.
pub unsafe fn report(errptr: *mut *mut c_char, error: &Error) {
    // SAFETY: the contract of this function has each obligation of the called function.
    unsafe { report_text(errptr, &status_text(error)) };
}

/// # Safety
/// The contract of [`report`].
unsafe fn report_text(errptr: *mut *mut c_char, text: &str) {
    if errptr.is_null() {
        return;
    }
    let text = copy_to_malloc_with_nul(text.as_bytes());
    // SAFETY: `errptr` is not null, so by the contract it points to an initialized pointer, which is null or came from
    // `malloc`. `free` accepts both.
    unsafe {
        libc::free((*errptr).cast());
        *errptr = text;
    }
}

/// The error for a null pointer where an object is needed.
#[cold]
pub fn null_argument(function: &str, argument: &str) -> Error {
    Error::invalid_argument(format!("{function}: the argument {argument} is null"))
}

/// Returns a handle that a function needs.
///
/// # Errors
/// InvalidArgument if the handle is null.
pub(crate) fn needed<'a, T>(function: &str, argument: &str, handle: Option<&'a T>) -> Result<&'a T> {
    handle.ok_or_else(|| null_argument(function, argument))
}

fn panic_text(panic: &(dyn Any + Send)) -> &str {
    match (panic.downcast_ref::<&str>(), panic.downcast_ref::<String>()) {
        (Some(text), _) => text,
        (_, Some(text)) => text,
        _ => "no message",
    }
}
