//! The state of callbacks that a program passes: comparators, merge operators, filters, listeners, loggers.
//!
//! The program promises that its functions may be called with the state on any thread. The destructor of the state runs
//! once, when the last user of the state is dropped.

use std::ffi::c_void;

use super::exception;

/// The destructor of a state.
pub type Destructor = Option<unsafe extern "C-unwind" fn(*mut c_void)>;

/// The state of a callback, with its destructor.
pub struct State {
    pointer: *mut c_void,
    destructor: Destructor,
}

impl State {
    /// Takes ownership of the state. The destructor runs when this value is dropped.
    pub fn new(pointer: *mut c_void, destructor: Destructor) -> State {
        State { pointer, destructor }
    }

    /// Returns the pointer that each callback gets as its first argument.
    pub fn pointer(&self) -> *mut c_void {
        self.pointer
    }
}

// SAFETY: the pointer is only handed to functions of the program, and the program promises (the head of `rocksdb/c.h`)
// that these functions may be called on any thread.
unsafe impl Send for State {}

// SAFETY: the pointer is only handed to functions of the program, and the program promises that these functions may
// be called on several threads at once.
unsafe impl Sync for State {}

impl Drop for State {
    fn drop(&mut self) {
        if let Some(destructor) = self.destructor.take() {
            // SAFETY: the program handed in this function for this pointer; `take` makes this the only call.
            exception::ignored(|| unsafe { destructor(self.pointer) });
        }
    }
}
