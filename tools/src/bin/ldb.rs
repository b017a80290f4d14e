//! `ldb`: see [`ironstone_tools::ldb`].

#![allow(clippy::disallowed_methods, clippy::disallowed_types, reason = "a program")]

fn main() {
    std::process::exit(ironstone_tools::ldb::main());
}
