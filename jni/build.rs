//! Folds identical functions of the shared library: many natives compile to the same code. Runs no tool but rustc.
//!
//! Only LLD has the option. For x86-64 Linux, the toolchain of rustc contains LLD, but a toolchain of a distribution may link with
//! another linker, which rejects the option. So the library is linked with the LLD of the toolchain, and without the option if
//! there is none or if the flags of rustc choose a linker. No code of the library compares addresses of functions.

#![allow(clippy::disallowed_methods, reason = "a build script")]

use std::path::PathBuf;
use std::process::Command;

const TARGET: &str = "x86_64-unknown-linux-gnu";

/// Returns the directory in which the C compiler finds the LLD of the toolchain.
fn lld() -> Option<PathBuf> {
    let rustc = std::env::var_os("RUSTC").unwrap_or_else(|| "rustc".into());
    let output = Command::new(rustc).args(["--print", "sysroot"]).output().ok()?;
    let sysroot = PathBuf::from(String::from_utf8(output.stdout).ok()?.trim());
    let directory = sysroot.join("lib/rustlib").join(TARGET).join("bin/gcc-ld");
    directory.join("ld.lld").exists().then_some(directory)
}

fn main() {
    println!("cargo:rerun-if-changed=build.rs");
    let variable = |name| std::env::var(name).unwrap_or_default();
    let chooses_linker =
        variable("CARGO_ENCODED_RUSTFLAGS").contains("link") || !variable("RUSTC_LINKER").is_empty();
    if variable("TARGET") != TARGET || variable("PROFILE") != "release" || chooses_linker {
        return;
    }
    if let Some(directory) = lld() {
        println!("cargo:rustc-cdylib-link-arg=-B{}", directory.display());
        println!("cargo:rustc-cdylib-link-arg=-fuse-ld=lld");
        println!("cargo:rustc-cdylib-link-arg=-Wl,--icf=all");
    }
}
