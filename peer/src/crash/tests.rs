//! Crashes of child processes: which of them are reported as crashes of RocksDB.

#![allow(clippy::disallowed_methods, reason = "the tests of a rig")]

use std::os::unix::process::ExitStatusExt;
use std::path::{Path, PathBuf};
use std::process::Command;

const CASE: &str = "PEER_CRASH_CASE";

/// Runs `child` in a process of its own: on a thread with this name, the fault is in this place. Returns the reported thread.
fn reported(name: &str, place: &str) -> Option<String> {
    let mut command = Command::new(std::env::current_exe().unwrap());
    command.args(["crash::tests::child", "--exact", "--nocapture"]).env(CASE, format!("{name} {place}"));
    let out = command.output().unwrap();
    assert_eq!(out.status.signal(), Some(libc::SIGSEGV), "the process ends by the signal: {}", out.status);
    let text = String::from_utf8(out.stdout).unwrap();
    // The test program may have written a part of a line before.
    let line = text.lines().last().unwrap_or_default();
    line.rsplit_once("C ").map(|(_, name)| name.to_string())
}

/// Crashes, if a test has started the process for this purpose.
#[test]
fn child() {
    let Some(case) = std::env::var(CASE).ok() else { return };
    let (name, place) = case.split_once(' ').unwrap();
    let library = if place == "other-library" { "libgcc_s.so" } else { "libc.so" };
    super::report_crashes(&loaded(library));
    let fault: fn() = match place {
        "library" | "other-library" => in_library,
        _ => in_program,
    };
    let thread = std::thread::Builder::new().name(name.to_string()).spawn(fault).unwrap();
    let _ = thread.join();
}

/// Returns the path of a loaded library whose file name starts with `name`.
fn loaded(name: &str) -> PathBuf {
    let maps = std::fs::read_to_string("/proc/self/maps").unwrap();
    let paths = maps.lines().filter_map(|line| line.split_whitespace().nth(5)).map(Path::new);
    let is_it = |path: &Path| path.file_name().is_some_and(|file| file.to_string_lossy().starts_with(name));
    paths.into_iter().find(|path| is_it(path)).unwrap().to_path_buf()
}

/// Reads an address that is never mapped, in a function of the C library.
fn in_library() {
    let address = std::hint::black_box(8usize) as *const libc::c_char;
    // SAFETY: not sound on purpose. The read ends this process, which exists only for this crash.
    unsafe { libc::strlen(address) };
}

/// Reads an address that is never mapped, in this program.
fn in_program() {
    let address = std::hint::black_box(8usize) as *const u64;
    // SAFETY: not sound on purpose. The read ends this process, which exists only for this crash.
    unsafe { address.read_volatile() };
}

#[test]
fn crash_of_a_rocksdb_thread_in_the_library_is_reported() {
    assert_eq!(reported("rocksdb:low", "library").as_deref(), Some("rocksdb:low"));
}

#[test]
fn crash_of_another_thread_is_not_reported() {
    assert_eq!(reported("worker", "library"), None);
}

#[test]
fn crash_of_code_of_this_program_is_not_reported() {
    assert_eq!(reported("rocksdb:low", "program"), None);
}

/// Both engines call the C library, and both name their threads like this.
#[test]
fn crash_in_a_library_that_both_engines_call_is_not_reported() {
    assert_eq!(reported("rocksdb:low", "other-library"), None);
}
