//! What tests share: golden databases, a reference model, chance.

#![forbid(unsafe_code)]
#![allow(clippy::disallowed_methods, clippy::disallowed_types, reason = "for tests")]

pub mod chance;
pub mod golden;
pub mod model;
