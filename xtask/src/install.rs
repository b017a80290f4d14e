//! `cargo xtask install --prefix DIR [--debug]`: builds the C library and lays out its files as RocksDB's `make install`.
//!
//! ```text
//! DIR/include/rocksdb/c.h
//! DIR/lib/librocksdb.so -> librocksdb.so.11 -> librocksdb.so.11.8 -> librocksdb.so.11.8.1
//! DIR/lib/librocksdb.a
//! DIR/lib/pkgconfig/rocksdb.pc
//! ```

use std::path::Path;
use std::process::Command;

const VERSION: &str = "11.8.1";

/// Builds and lays out the files. `arguments` are those after `install`.
pub fn run(root: &Path, arguments: &[String], faults: &mut Vec<String>) {
    let prefix = arguments.iter().position(|a| a == "--prefix").and_then(|at| arguments.get(at + 1));
    let Some(prefix) = prefix else {
        faults.push("usage: cargo xtask install --prefix DIR [--debug]".to_string());
        return;
    };
    let profile = if arguments.iter().any(|a| a == "--debug") { "debug" } else { "release" };
    if let Err(error) = install(root, Path::new(prefix), profile) {
        faults.push(format!("install: {error}"));
    }
}

fn install(root: &Path, prefix: &Path, profile: &str) -> Result<(), String> {
    let mut build = Command::new("cargo");
    build.current_dir(root).args(["build", "-p", "ironstone-c"]);
    if profile == "release" {
        build.arg("--release");
    }
    let status = build.status().map_err(|error| format!("cargo: {error}"))?;
    if !status.success() {
        return Err("the build failed".to_string());
    }
    let target = std::env::var_os("CARGO_TARGET_DIR").map_or(root.join("target"), Into::into).join(profile);
    let (lib, include) = (prefix.join("lib"), prefix.join("include/rocksdb"));
    for dir in [&lib.join("pkgconfig"), &include] {
        std::fs::create_dir_all(dir).map_err(|error| format!("{}: {error}", dir.display()))?;
    }
    copy(&root.join("c/include/rocksdb/c.h"), &include.join("c.h"))?;
    copy(&target.join("libironstone_c.a"), &lib.join("librocksdb.a"))?;
    let shared = format!("librocksdb.so.{VERSION}");
    copy(&target.join("libironstone_c.so"), &lib.join(&shared))?;
    link(&shared, &lib.join("librocksdb.so.11.8"))?;
    link("librocksdb.so.11.8", &lib.join("librocksdb.so.11"))?;
    link("librocksdb.so.11", &lib.join("librocksdb.so"))?;
    let path = lib.join("pkgconfig/rocksdb.pc");
    std::fs::write(&path, package(prefix)).map_err(|error| format!("{}: {error}", path.display()))
}

/// Returns the text of the file for pkg-config.
fn package(prefix: &Path) -> String {
    let prefix = std::path::absolute(prefix).unwrap_or_else(|_| prefix.to_path_buf());
    format!(
        "prefix={}\nexec_prefix=${{prefix}}\nincludedir=${{prefix}}/include\nlibdir=${{exec_prefix}}/lib\n\n\
         Name: rocksdb\nDescription: RocksDB's C interface, by Ironstone\nVersion: {VERSION}\n\
         Libs: -L${{libdir}} -lrocksdb\nLibs.private: -lpthread -ldl -lm\nCflags: -I${{includedir}}\n",
        prefix.display()
    )
}

fn copy(from: &Path, to: &Path) -> Result<(), String> {
    // Remove the old file first: a running program may have mapped it, and a write to it would change the program.
    let _ = std::fs::remove_file(to);
    std::fs::copy(from, to).map(|_| ()).map_err(|error| format!("{}: {error}", from.display()))
}

fn link(target: &str, at: &Path) -> Result<(), String> {
    let _ = std::fs::remove_file(at);
    std::os::unix::fs::symlink(target, at).map_err(|error| format!("{}: {error}", at.display()))
}
