//! Shared parts of tests: golden databases, a reference model, random numbers, a simulated machine, pages of script and expected text.

#![forbid(unsafe_code)]
#![allow(clippy::disallowed_methods, clippy::disallowed_types, reason = "for tests")]

pub mod chance;
pub mod golden;
pub mod hex;
pub mod machine;
pub mod model;
pub mod script;
