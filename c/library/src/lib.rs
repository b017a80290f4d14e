//! The shared and the static library of the C interface. The library has each function of `ironstone_c_calls`, and no code of
//! its own.
//!
//! This file is compiled twice. The package `ironstone-c` makes the library that programs load. The example `ironstone_c` of the
//! package `ironstone-c-calls` makes the shared library for the tests of that package, because Cargo builds examples before tests.

pub use ironstone_c_calls::*;
