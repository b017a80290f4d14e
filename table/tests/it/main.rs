//! The table crate from outside.

mod dump_oracle;
mod reader_damage;
mod reader_golden;
mod reader_support;
mod reader_vectors;
mod support;
mod writer_oracle;
mod writer_vectors;
