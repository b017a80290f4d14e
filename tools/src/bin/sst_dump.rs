//! `sst_dump`: see [`ironstone_tools::sst`].

#![allow(clippy::disallowed_methods, clippy::disallowed_types, reason = "a program")]

fn main() {
    std::process::exit(ironstone_tools::sst::main());
}
