//! Tests of the crate as a program sees the crate.

#![allow(clippy::disallowed_methods, clippy::disallowed_types, reason = "tests use the machine")]

mod callbacks;
mod handles;
mod peers;
mod worlds;
