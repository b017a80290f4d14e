//! Promises of the shared library to the programs that load it: its exported names, its dependencies, no new thread at load, the
//! number of allocations of each call, and an install layout that `pkg-config` finds. If the tool of a test is missing, the test
//! prints a line and is skipped.

use std::path::Path;
use std::process::Command;

use crate::c_test::library_in;

/// The libraries that the library may need: of the C library, of the compiler, and the loader.
const NEEDED: [&str; 4] = ["libc.so.6", "libm.so.6", "libgcc_s.so.1", "ld-linux-"];

/// Returns the output of a tool. `None`: the tool is missing.
fn output(command: &mut Command) -> Option<String> {
    let Ok(output) = command.output() else {
        println!("skipped: no {}", command.get_program().display());
        return None;
    };
    let (text, errors) = (String::from_utf8_lossy(&output.stdout), String::from_utf8_lossy(&output.stderr));
    assert!(output.status.success(), "{command:?}: {}: {text}{errors}", output.status);
    Some(text.into_owned())
}

/// Compiles a program and returns its output. `arguments` follow the name of the source.
fn compile_and_run(dir: &Path, source: &Path, arguments: &[&str], lib: &Path) -> Option<String> {
    let program = dir.join("program");
    let mut compile = Command::new("cc");
    compile
        .args(["-std=gnu11", "-Wall", "-Wextra", "-Werror", "-o"])
        .arg(&program)
        .arg(source)
        .args(arguments);
    output(&mut compile)?;
    output(Command::new(&program).arg(dir.join("data")).env("LD_LIBRARY_PATH", lib))
}

fn program(name: &str) -> std::path::PathBuf {
    Path::new(env!("CARGO_MANIFEST_DIR")).join("tests/programs").join(name)
}

#[test]
fn library_shows_only_functions_of_rocksdb() {
    let dir = tempfile::tempdir().unwrap();
    let library = library_in(dir.path()).join("librocksdb.so");
    let Some(names) = output(Command::new("nm").args(["-D", "--defined-only"]).arg(library)) else { return };
    let names: Vec<&str> = names.lines().filter_map(|line| line.split_whitespace().last()).collect();
    let others: Vec<_> = names.iter().filter(|name| !name.starts_with("rocksdb_")).collect();
    assert!(others.is_empty(), "{others:?}");
    // 1,745 functions of `c.h`, and 4 that RocksDB exports without declaring them.
    assert_eq!(names.len(), 1749);
}

#[test]
fn library_has_the_soname_of_rocksdb_and_needs_only_libraries_of_the_system() {
    let dir = tempfile::tempdir().unwrap();
    let library = library_in(dir.path()).join("librocksdb.so");
    let Some(dynamic) = output(Command::new("readelf").args(["-d", "-W"]).arg(library)) else { return };
    let named = |kind: &str| -> Vec<String> {
        let lines = dynamic.lines().filter(|line| line.contains(kind));
        lines.filter_map(|line| Some(line.split_once('[')?.1.split_once(']')?.0.to_string())).collect()
    };
    assert_eq!(named("(SONAME)"), ["librocksdb.so.11"]);
    let needed = named("(NEEDED)");
    assert!(!needed.is_empty());
    for library in needed {
        assert!(NEEDED.iter().any(|allowed| library.starts_with(allowed)), "{library}");
    }
}

#[test]
fn load_starts_no_thread() {
    let dir = tempfile::tempdir().unwrap();
    let lib = library_in(dir.path());
    if let Some(text) = compile_and_run(dir.path(), &program("threads.c"), &["-ldl"], &lib) {
        assert_eq!(text, "threads before the load: 1\nthreads after the load: 1\n");
    }
}

#[test]
fn calls_allocate_only_what_the_caller_frees() {
    let dir = tempfile::tempdir().unwrap();
    let lib = library_in(dir.path());
    let include = Path::new(env!("CARGO_MANIFEST_DIR")).join("include");
    let (include, libs) = (format!("-I{}", include.display()), format!("-L{}", lib.display()));
    let arguments = [include.as_str(), libs.as_str(), "-lrocksdb"];
    if let Some(text) = compile_and_run(dir.path(), &program("allocations.c"), &arguments, &lib) {
        let expected = "get: 1\nget of an absent key: 0\nget_pinned: 1\nget_into_buffer: 0\nsnapshot: 0\niterator: 2\nseek: 0\n\
                        next: 0\nwrite of a batch: 0\nput: 0\n";
        assert_eq!(text, expected);
    }
}

#[test]
fn program_finds_the_installed_library_by_pkg_config() {
    if output(Command::new("pkg-config").arg("--version")).is_none() {
        return;
    }
    let dir = tempfile::tempdir().unwrap();
    let prefix = dir.path().join("prefix");
    let root = Path::new(env!("CARGO_MANIFEST_DIR")).join("..");
    let mut install = Command::new(env!("CARGO"));
    install.args(["run", "--quiet", "--package", "ironstone-xtask", "--", "install", "--debug", "--prefix"]);
    output(install.arg(&prefix).current_dir(root)).unwrap();
    let mut flags = Command::new("pkg-config");
    flags.args(["--cflags", "--libs", "rocksdb"]).env("PKG_CONFIG_PATH", prefix.join("lib/pkgconfig"));
    let flags = output(&mut flags).unwrap();
    let flags: Vec<&str> = flags.split_whitespace().collect();
    let source = Path::new(env!("CARGO_MANIFEST_DIR")).join("../examples/c/store.c");
    if let Some(text) = compile_and_run(dir.path(), &source, &flags, &prefix.join("lib")) {
        assert_eq!(text, "before: 10\nafter: sold out\nfound: 50\n");
    }
}
