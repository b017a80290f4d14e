//! Conversion between C values and Rust values. The code of all rules that hold for every C function is here.
//!
//! - [`macros`]: `c_api!` declares a C function, `accessors!` declares the setters and getters of one handle.
//! - [`guard`]: no panic leaves a function; errors become strings.
//! - [`arguments`]: pointers from C become references, slices and text.
//! - [`returns`]: Rust values become C values.
//! - [`place`]: conversion between the field of an option and its C type; shared with the Java library.
//! - [`rejected`]: option values that a setter accepts and an open rejects.
//! - [`callback`]: functions and state that the program passes.
//! - [`exception`]: no C++ exception of a function of the program leaves its call.
//!
//! Not here: the work of the functions.

#[macro_use]
pub(crate) mod macros;

pub mod arguments;
pub mod callback;
pub mod cancel;
pub mod exception;
pub mod guard;
#[cfg(test)]
pub mod listed;
pub mod rejected;
pub mod returns;

pub use ironstone::binding::place;

pub use arguments::{Keys, Out, Ranges, Slices};
pub use callback::State;
pub use guard::{Report, guard};
pub use place::Place;
pub use rejected::{HasRejected, Rejected};
pub use returns::{Buffer, ConstOwned, Flag, Owned, OwnedBox, Ref, Return, Success, Text};
