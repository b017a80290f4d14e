//! Sets the soname of the shared library to RocksDB's soname, so that programs linked to RocksDB load this library. Runs no
//! tool.

#![allow(clippy::disallowed_methods, reason = "a build script")]

fn main() {
    println!("cargo:rerun-if-changed=build.rs");
    let target = std::env::var("CARGO_CFG_TARGET_OS").unwrap_or_default();
    if target == "linux" {
        println!("cargo:rustc-cdylib-link-arg=-Wl,-soname,librocksdb.so.11");
    }
}
