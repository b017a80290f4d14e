//! Folds identical functions of the shared library: many natives compile to the same code. Runs no tool.
//!
//! For x86-64 Linux, rustc links with its own LLD, which has the option. Another linker may reject the option, so the option is
//! not passed if the flags of rustc choose a linker. No code of the library compares addresses of functions.

#![allow(clippy::disallowed_methods, reason = "a build script")]

fn main() {
    println!("cargo:rerun-if-changed=build.rs");
    let variable = |name| std::env::var(name).unwrap_or_default();
    let has_lld = variable("TARGET") == "x86_64-unknown-linux-gnu";
    let chooses_linker =
        variable("CARGO_ENCODED_RUSTFLAGS").contains("link") || !variable("RUSTC_LINKER").is_empty();
    if has_lld && !chooses_linker && variable("PROFILE") == "release" {
        println!("cargo:rustc-cdylib-link-arg=-Wl,--icf=all");
    }
}
