//! Shared parts of tests: golden databases, a reference model, random numbers.

#![forbid(unsafe_code)]
#![allow(clippy::disallowed_methods, clippy::disallowed_types, reason = "for tests")]

pub mod chance;
pub mod golden;
pub mod model;
