//! The table crate from outside.

mod support;
mod writer_vectors;
