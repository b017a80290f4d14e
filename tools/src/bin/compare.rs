//! `compare`: see [`ironstone_tools::compare`].

#![allow(clippy::disallowed_methods, clippy::disallowed_types, reason = "a program")]

fn main() {
    std::process::exit(ironstone_tools::compare::main(std::env::args().skip(1)));
}
