//! What tests share: golden databases, a reference model, chance.

#![forbid(unsafe_code)]

pub mod chance;
pub mod golden;
pub mod model;
