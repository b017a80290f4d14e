//! The front door against a reference model, a crashing disk, RocksDB's own tools, and what is bad.

mod bad_input;
mod crash;
mod handles;
mod oracle;
mod random;
