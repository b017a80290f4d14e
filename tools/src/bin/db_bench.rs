//! RocksDB's db_bench over this engine; see `tools::bench`.

#![allow(clippy::disallowed_methods, clippy::disallowed_types, reason = "a program")]

use std::process::ExitCode;

fn main() -> ExitCode {
    ironstone_tools::bench::main(std::env::args().skip(1))
}
