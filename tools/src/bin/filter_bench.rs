//! `filter_bench`: see [`ironstone_tools::filter_bench`].

#![allow(clippy::disallowed_methods, clippy::disallowed_types, reason = "a program")]

fn main() {
    std::process::exit(ironstone_tools::filter_bench::main(std::env::args().skip(1)));
}
