//! Folds identical functions of the shared library: many natives compile to the same code. Runs no tool but rustc.
//!
//! For x86-64 Linux, rustc links with the LLD of its toolchain, which has the option. Another linker may reject the option. So the
//! option is not passed if the toolchain has no LLD, or if the flags of rustc choose a linker. No code of the library compares
//! addresses of functions.

#![allow(clippy::disallowed_methods, reason = "a build script")]

use std::path::PathBuf;
use std::process::Command;

const TARGET: &str = "x86_64-unknown-linux-gnu";

/// Returns true if the toolchain has the LLD that rustc passes to the C compiler.
fn has_lld() -> bool {
    let rustc = std::env::var_os("RUSTC").unwrap_or_else(|| "rustc".into());
    let Ok(output) = Command::new(rustc).args(["--print", "sysroot"]).output() else { return false };
    let Ok(sysroot) = String::from_utf8(output.stdout) else { return false };
    let rustlib = PathBuf::from(sysroot.trim()).join("lib/rustlib");
    rustlib.join(TARGET).join("bin/gcc-ld/ld.lld").exists()
}

fn main() {
    println!("cargo:rerun-if-changed=build.rs");
    let variable = |name| std::env::var(name).unwrap_or_default();
    let chooses_linker =
        variable("CARGO_ENCODED_RUSTFLAGS").contains("link") || !variable("RUSTC_LINKER").is_empty();
    if variable("TARGET") == TARGET && variable("PROFILE") == "release" && !chooses_linker && has_lld() {
        println!("cargo:rustc-cdylib-link-arg=-Wl,--icf=all");
    }
}
