//! The program `ironstone`: `inspect`, `doctor`, `bundle` and `plan`. See the library of this package.

#![forbid(unsafe_code)]
#![allow(clippy::disallowed_methods, reason = "a program")]

fn main() {
    let status = ironstone_inspect::cli::run(
        std::env::args_os().skip(1),
        &mut std::io::stdout().lock(),
        &mut std::io::stderr().lock(),
    );
    std::process::exit(status);
}
