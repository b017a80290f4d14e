//! `ironstone`: see [`ironstone_tools::explain`].

#![allow(clippy::disallowed_methods, clippy::disallowed_types, reason = "a program")]

fn main() {
    // The thread of the progress writes to standard error too, so this thread does not hold its lock.
    let status = ironstone_tools::explain::run(
        std::env::args_os().skip(1),
        &mut std::io::stdout().lock(),
        &mut std::io::stderr(),
    );
    std::process::exit(status);
}
