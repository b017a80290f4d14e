//! RocksDB's db_bench over this engine; see `tools::bench`.

use std::process::ExitCode;

fn main() -> ExitCode {
    ironstone_tools::bench::main(std::env::args().skip(1))
}
