//! Sets the soname of the example `ironstone_c` to RocksDB's soname, as `library/build.rs` does for the library. Runs no tool.
//!
//! Cargo has no flag for the linker that is only for a shared library of an example. A program of the tests gets the flag too,
//! and the flag has no effect there.

#![allow(clippy::disallowed_methods, reason = "a build script")]

fn main() {
    println!("cargo:rerun-if-changed=build.rs");
    if std::env::var("CARGO_CFG_TARGET_OS").as_deref() == Ok("linux") {
        println!("cargo:rustc-link-arg=-Wl,-soname,librocksdb.so.11");
    }
}
