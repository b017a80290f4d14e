//! Tests of the public interface of the crate `table`.

#![allow(clippy::disallowed_methods, clippy::disallowed_types, reason = "a test")]

mod dump_oracle;
mod external_oracle;
mod in_place;
mod memory;
mod other_tables;
mod reader_damage;
mod reader_golden;
mod reader_roads;
mod reader_support;
mod reader_vectors;
mod salvage;
mod support;
mod writer_golden;
mod writer_round_trip;
mod writer_support;
mod writer_vectors;
mod writer_watchers;
