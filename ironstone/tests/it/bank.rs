//! The example `bank`: one program on Ironstone, and its twin in C on RocksDB, on the same directory.
//!
//! `IRONSTONE_PEER` names RocksDB's library, and the headers are in `include` next to the library. Without the variable
//! the test of both programs prints that it was skipped.

use std::path::{Path, PathBuf};
use std::process::Command;

#[allow(dead_code, reason = "the test runs the program through `run`")]
#[path = "../../examples/bank.rs"]
mod program;

use program::run;

#[test]
fn a_bank_continues_and_commits_prepared_transactions() {
    let scratch = tempfile::tempdir().unwrap();
    let first = run(scratch.path(), 300).unwrap();
    assert_eq!((first.recovered, first.transfers), (0, 300));
    assert!(first.views > 0 && first.in_backup <= 300, "{first:?}");
    let second = run(scratch.path(), 200).unwrap();
    // The prepared transfer of the first run, and 200 more.
    assert_eq!((second.recovered, second.transfers), (1, 501));
    assert!(second.in_backup >= 301, "{second:?}");
}

/// Compiles `bank.c` against RocksDB's library.
fn twin(scratch: &Path) -> Option<PathBuf> {
    let Some(library) = std::env::var_os("IRONSTONE_PEER").map(PathBuf::from) else {
        eprintln!("SKIPPED: set IRONSTONE_PEER to RocksDB's library");
        return None;
    };
    let source = Path::new(env!("CARGO_MANIFEST_DIR")).join("examples/bank.c");
    let (dir, program) = (library.parent().unwrap(), scratch.join("bank"));
    let made = Command::new("cc")
        .args(["-std=c11", "-Wall", "-Wextra", "-Werror", "-O1", "-o"])
        .args([&program, &source])
        .arg(format!("-I{}", dir.join("include").display()))
        .arg(&library)
        .arg(format!("-Wl,-rpath,{}", dir.display()))
        .arg("-pthread")
        .output()
        .unwrap();
    assert!(made.status.success(), "{}", String::from_utf8_lossy(&made.stderr));
    Some(program)
}

/// Runs the twin. Returns its report: recovered, transfers.
fn run_twin(program: &Path, dir: &Path, transfers: u64) -> (u64, u64) {
    let out = Command::new(program).arg(dir).arg(transfers.to_string()).output().unwrap();
    let text = String::from_utf8_lossy(&out.stdout).into_owned();
    assert!(out.status.success(), "{text}{}", String::from_utf8_lossy(&out.stderr));
    let number = |name: &str| {
        let rest = text.split(&format!("{name}: ")).nth(1).unwrap_or_else(|| panic!("{text}"));
        rest.split(|c: char| !c.is_ascii_digit()).next().unwrap().parse().unwrap()
    };
    (number("recovered"), number("transfers"))
}

#[test]
fn rocksdb_and_ironstone_continue_the_bank_of_each_other() {
    let scratch = tempfile::tempdir().unwrap();
    let Some(twin) = twin(scratch.path()) else { return };
    let ours_first = scratch.path().join("ours first");
    assert_eq!(run(&ours_first, 200).unwrap().transfers, 200);
    assert_eq!(run_twin(&twin, &ours_first, 150), (1, 351));
    let last = run(&ours_first, 100).unwrap();
    assert_eq!((last.recovered, last.transfers), (1, 452));

    let theirs_first = scratch.path().join("theirs first");
    assert_eq!(run_twin(&twin, &theirs_first, 200), (0, 200));
    let next = run(&theirs_first, 150).unwrap();
    assert_eq!((next.recovered, next.transfers), (1, 351));
    assert_eq!(run_twin(&twin, &theirs_first, 100), (1, 452));
}
