//! Calls of functions of the program that can throw a C++ exception.
//!
//! `catch_unwind` catches panics of Rust only: it ends the process at an exception of another language. So each call of a
//! function of the program runs inside a frame of assembly. The frame has its own personality function, which catches the
//! exception:
//!
//! ```text
//!  callback of the program      throws
//!  run                          a Rust frame that may unwind
//!  enter                        assembly; `personality` catches everything, and `enter` returns the exception
//!  guarded                      deletes the exception, and panics
//! ```
//! The panic then takes the way of each panic: the C function reports an error, or the background job fails.
//!
//! `guarded` deletes an exception of C++ with `__cxa_begin_catch` and `__cxa_end_catch` of the C++ library that threw the exception, so the
//! count of `std::uncaught_exceptions()` is right afterwards. The library is not linked: the two functions are looked up in the process. If
//! the C++ library hides the functions, `_Unwind_DeleteException` deletes the exception, and the count stays one too high in the thread.
//!
//! On processors other than x86-64 and AArch64 an exception of a callback ends the process. Facts: the Itanium C++ ABI,
//! "Exception Handling", level I.

use std::ffi::c_void;
use std::mem::ManuallyDrop;
use std::panic::resume_unwind;

/// Calls a function of the program. If the function throws, panics with the name of the function.
///
/// `call` must hold no value with a drop, and must not panic itself.
#[inline]
pub fn guarded<R>(function: &'static str, call: impl FnOnce() -> R) -> R {
    match caught(call) {
        Some(value) => value,
        None => thrown(function),
    }
}

/// Calls a function of the program whose result is not needed. Ignores an exception.
#[inline]
pub fn ignored(call: impl FnOnce()) {
    let _ = caught(call);
}

/// Starts the panic without the panic hook, because the fault is not in this library.
#[cold]
fn thrown(function: &'static str) -> ! {
    resume_unwind(Box::new(format!("the function {function} of the program threw an exception")))
}

/// Calls a function of the program. Returns `None` if the function throws.
#[cfg(any(target_arch = "x86_64", target_arch = "aarch64"))]
#[inline]
fn caught<R>(call: impl FnOnce() -> R) -> Option<R> {
    let mut slot = frame::Slot { call: ManuallyDrop::new(call), result: None };
    let exception = frame::run_in(&mut slot);
    if exception.is_null() {
        return slot.result;
    }
    // SAFETY: the frame has just caught this exception, and nothing else knows the exception.
    unsafe { frame::delete(exception) };
    None
}

/// Calls a function of the program. An exception ends the process.
#[cfg(not(any(target_arch = "x86_64", target_arch = "aarch64")))]
#[inline]
fn caught<R>(call: impl FnOnce() -> R) -> Option<R> {
    Some(call())
}

#[cfg(any(target_arch = "x86_64", target_arch = "aarch64"))]
mod frame {
    use std::arch::naked_asm;
    use std::ffi::c_int;

    use super::{ManuallyDrop, c_void};

    /// Exception class of panics of Rust.
    const RUST: u64 = u64::from_be_bytes(*b"MOZ\0RUST");

    /// Actions that the unwinder requests, and the answers.
    const SEARCH_PHASE: c_int = 1;
    const HANDLER_FRAME: c_int = 4;
    const FORCE_UNWIND: c_int = 8;
    const HANDLER_FOUND: c_int = 6;
    const INSTALL_CONTEXT: c_int = 7;
    const CONTINUE_UNWIND: c_int = 8;

    /// The register in which a landing pad gets the exception: rax, or x0.
    const EXCEPTION_REGISTER: c_int = 0;

    unsafe extern "C" {
        fn _Unwind_GetLanguageSpecificData(context: *mut c_void) -> *mut c_void;
        fn _Unwind_SetGR(context: *mut c_void, register: c_int, value: usize);
        fn _Unwind_SetIP(context: *mut c_void, address: usize);
        fn _Unwind_DeleteException(exception: *mut c_void);
    }

    /// A call and the place for its result.
    pub(super) struct Slot<F, R> {
        pub call: ManuallyDrop<F>,
        pub result: Option<R>,
    }

    /// Runs the call of a slot. Returns the exception that the call threw, or null.
    #[inline]
    pub(super) fn run_in<F: FnOnce() -> R, R>(slot: &mut Slot<F, R>) -> *mut c_void {
        // SAFETY: `run::<F, R>` takes a pointer to a `Slot<F, R>` whose call was not taken; no other reference to the slot
        // exists during the call.
        unsafe { enter(run::<F, R>, (&raw mut *slot).cast()) }
    }

    /// # Safety
    /// `slot` points to a live `Slot<F, R>` whose call was not taken, and nothing else uses the slot.
    unsafe extern "C-unwind" fn run<F: FnOnce() -> R, R>(slot: *mut c_void) {
        // SAFETY: by the contract, `slot` points to a live, aligned, initialized `Slot<F, R>`, and `enter` uses the slot again only
        // after this function returns.
        let slot = unsafe { &mut *slot.cast::<Slot<F, R>>() };
        // SAFETY: the call was not taken before, and nothing takes the call afterwards.
        let call = unsafe { ManuallyDrop::take(&mut slot.call) };
        slot.result = Some(call());
    }

    /// Frees an exception that [`enter`] returned.
    ///
    /// # Safety
    /// `exception` is an exception of the unwinder that no handler uses.
    pub(super) unsafe fn delete(exception: *mut c_void) {
        // SAFETY: an exception begins with its class, a number of 64 bits.
        let class = unsafe { exception.cast::<u64>().read() };
        // A panic of another Rust library ends the process if it is deleted. Its few bytes are leaked.
        if class == RUST {
            return;
        }
        // SAFETY: by the contract, for all three calls. The functions are those of the library that made the exception.
        unsafe {
            match is_cpp(class).then(|| catch_functions(exception)).flatten() {
                Some((begin, end)) => {
                    begin(exception);
                    end();
                }
                None => _Unwind_DeleteException(exception),
            }
        }
    }

    /// Returns true for the exceptions of C++ libraries that follow the Itanium ABI. The last byte of a class tells a rethrown exception
    /// apart.
    fn is_cpp(class: u64) -> bool {
        [*b"GNUCC++\0", *b"CLNGC++\0"].iter().any(|name| class & !0xff == u64::from_be_bytes(*name))
    }

    type Begin = unsafe extern "C" fn(*mut c_void) -> *mut c_void;
    type End = unsafe extern "C" fn();

    /// Returns `__cxa_begin_catch` and `__cxa_end_catch` of the library whose function deletes the exception. Returns `None` if the process
    /// shows these functions of another library or of no library.
    ///
    /// # Safety
    /// `exception` is an exception of the unwinder.
    unsafe fn catch_functions(exception: *mut c_void) -> Option<(Begin, End)> {
        // SAFETY: after its class, an exception has the pointer of its function for deletions.
        let delete = unsafe { exception.cast::<*const c_void>().add(1).read() };
        // SAFETY: both names are literals that end with NUL. `dlsym` may be called on each thread.
        let [begin, end] = [c"__cxa_begin_catch", c"__cxa_end_catch"]
            .map(|name| unsafe { libc::dlsym(libc::RTLD_DEFAULT, name.as_ptr()) });
        if begin.is_null() || end.is_null() || library_of(begin)? != library_of(delete)? {
            return None;
        }
        // SAFETY: the functions have these types in each library of the Itanium ABI.
        unsafe {
            Some((
                std::mem::transmute::<*mut c_void, Begin>(begin),
                std::mem::transmute::<*mut c_void, End>(end),
            ))
        }
    }

    /// Returns the address of the library that has this function. `None` for a null pointer and an unknown address.
    fn library_of(function: *const c_void) -> Option<usize> {
        let mut info = std::mem::MaybeUninit::<libc::Dl_info>::uninit();
        // SAFETY: the call accepts each address, and fills the place if it returns another number than 0.
        unsafe {
            let found = libc::dladdr(function, info.as_mut_ptr()) != 0;
            found.then(|| info.assume_init().dli_fbase.addr())
        }
    }

    /// Catches each exception at the frame of [`enter`]. The end of a thread (`pthread_exit`) passes.
    ///
    /// # Safety
    /// Only the unwinder calls this function.
    unsafe extern "C" fn personality(
        _version: c_int,
        actions: c_int,
        _class: u64,
        exception: *mut c_void,
        context: *mut c_void,
    ) -> c_int {
        if actions & FORCE_UNWIND != 0 {
            return CONTINUE_UNWIND;
        }
        if actions & SEARCH_PHASE != 0 {
            return HANDLER_FOUND;
        }
        if actions & HANDLER_FRAME == 0 {
            return CONTINUE_UNWIND;
        }
        // SAFETY: the unwinder passes the context of the frame of `enter`. The language-specific data of this frame is the
        // address of its landing pad.
        unsafe {
            let landing_pad = _Unwind_GetLanguageSpecificData(context);
            _Unwind_SetGR(context, EXCEPTION_REGISTER, exception.addr());
            _Unwind_SetIP(context, landing_pad.addr());
        }
        INSTALL_CONTEXT
    }

    /// Calls `run(data)`. Returns null, or the exception that `run` threw.
    ///
    /// # Safety
    /// `run` may be called with `data`.
    #[cfg(target_arch = "x86_64")]
    #[unsafe(naked)]
    unsafe extern "C" fn enter(
        run: unsafe extern "C-unwind" fn(*mut c_void),
        data: *mut c_void,
    ) -> *mut c_void {
        // The unwinder restores rbp and rsp to their values at the call, so both ways end alike.
        naked_asm!(
            ".cfi_startproc",
            ".cfi_personality 0x1b, {personality}",
            ".cfi_lsda 0x1b, .Lironstone_c_landing_pad",
            "push rbp",
            ".cfi_def_cfa_offset 16",
            ".cfi_offset rbp, -16",
            "mov rbp, rsp",
            ".cfi_def_cfa_register rbp",
            "mov rax, rdi",
            "mov rdi, rsi",
            "call rax",
            "xor eax, eax",
            ".Lironstone_c_landing_pad:",
            "pop rbp",
            ".cfi_def_cfa rsp, 8",
            "ret",
            ".cfi_endproc",
            personality = sym personality,
        )
    }

    /// Calls `run(data)`. Returns null, or the exception that `run` threw.
    ///
    /// # Safety
    /// `run` may be called with `data`.
    #[cfg(target_arch = "aarch64")]
    #[unsafe(naked)]
    unsafe extern "C" fn enter(
        run: unsafe extern "C-unwind" fn(*mut c_void),
        data: *mut c_void,
    ) -> *mut c_void {
        // The unwinder restores x29 and sp to their values at the call, so both ways end alike.
        naked_asm!(
            ".cfi_startproc",
            ".cfi_personality 0x1b, {personality}",
            ".cfi_lsda 0x1b, .Lironstone_c_landing_pad",
            "stp x29, x30, [sp, #-16]!",
            ".cfi_def_cfa_offset 16",
            ".cfi_offset x29, -16",
            ".cfi_offset x30, -8",
            "mov x29, sp",
            ".cfi_def_cfa x29, 16",
            "mov x2, x0",
            "mov x0, x1",
            "blr x2",
            "mov x0, xzr",
            ".Lironstone_c_landing_pad:",
            "ldp x29, x30, [sp], #16",
            ".cfi_def_cfa sp, 0",
            "ret",
            ".cfi_endproc",
            personality = sym personality,
        )
    }
}

#[cfg(test)]
mod tests {
    use std::ffi::{c_int, c_void};
    use std::panic::{AssertUnwindSafe, catch_unwind};

    use super::{guarded, ignored};

    /// An exception of another language, as the unwinder knows it.
    #[repr(C, align(16))]
    struct Exception {
        class: u64,
        delete: unsafe extern "C" fn(c_int, *mut Exception),
        private: [usize; 6],
        deleted: *mut usize,
    }

    unsafe extern "C-unwind" {
        fn _Unwind_RaiseException(exception: *mut c_void) -> c_int;
    }

    unsafe extern "C" fn delete(_: c_int, exception: *mut Exception) {
        // SAFETY: the exception is of `throw`, and its counter is live.
        unsafe {
            *(*exception).deleted += 1;
            drop(Box::from_raw(exception));
        }
    }

    extern "C-unwind" fn throw(deleted: *mut usize) -> i32 {
        let exception =
            Exception { class: u64::from_be_bytes(*b"TESTTEST"), delete, private: [0; 6], deleted };
        // SAFETY: the exception is on the heap, and `delete` frees it.
        unsafe { _Unwind_RaiseException(Box::into_raw(Box::new(exception)).cast::<c_void>()) }
    }

    #[test]
    fn exception_becomes_a_panic_and_is_deleted_once() {
        let mut deleted = 0;
        let place = &raw mut deleted;
        for count in 1..=3 {
            let outcome = catch_unwind(AssertUnwindSafe(|| guarded("compare", || throw(place))));
            let text = outcome.unwrap_err().downcast::<String>().unwrap();
            assert_eq!(*text, "the function compare of the program threw an exception");
            // SAFETY: the place is live, and no reference to it exists.
            assert_eq!(unsafe { *place }, count);
        }
        ignored(|| {
            throw(place);
        });
        // SAFETY: the place is live, and no reference to it exists.
        assert_eq!(unsafe { *place }, 4);
    }

    #[test]
    fn result_of_a_call_without_exception_is_returned() {
        assert_eq!(guarded("compare", || [1u64, 2, 3, 4]), [1, 2, 3, 4]);
    }

    #[test]
    fn exception_is_caught_below_frames_that_hold_values() {
        fn below(depth: usize, deleted: *mut usize) -> usize {
            let held = vec![depth; depth];
            if depth == 0 { usize::from(throw(deleted) != 0) } else { below(depth - 1, deleted) + held.len() }
        }
        let mut deleted = 0;
        let place = &raw mut deleted;
        assert!(catch_unwind(AssertUnwindSafe(|| guarded("compare", || below(10, place)))).is_err());
        assert_eq!(deleted, 1);
    }
}
