//! How C values become Rust values and back. All rules of the C interface that hold for every function are here.
//!
//! - [`macros`]: `c_api!` declares a C function, `accessors!` declares the setters and getters of one handle.
//! - [`guard`]: no panic leaves a function; errors become strings.
//! - [`arguments`]: pointers from C become references, slices and text.
//! - [`returns`]: Rust values become C values.
//! - [`place`]: the value of an option as C sees it; shared with the Java library.
//! - [`rejected`]: values that an option handle holds and an open rejects.
//! - [`callback`]: functions and state that the program hands in.
//!
//! Not here: what any function does.

#[macro_use]
pub(crate) mod macros;

pub mod arguments;
pub mod callback;
pub mod guard;
pub mod rejected;
pub mod returns;

pub use ironstone::binding::place;

pub use arguments::{Out, Ranges, Slices};
pub use callback::State;
pub use guard::guard;
pub use place::Place;
pub use rejected::{HasRejected, Rejected};
pub use returns::{Buffer, ConstOwned, Flag, Owned, Ref, Return, Success, Text};
