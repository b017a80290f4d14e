//! The table crate from outside.

mod support;
mod writer_oracle;
mod writer_vectors;
