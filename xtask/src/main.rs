//! House rules that a machine can hold: `cargo xtask tidy`; how much `unsafe` there is: `cargo xtask unsafe`
//! ([`unsafety`]).
//!
//! `cargo xtask prose` lists sentences that are mostly pronouns ([`prose`]); `cargo xtask circles` lists circles of imports
//! between the files of a crate ([`circles`]); `cargo xtask coverage` lists what the campaigns do not reach
//! ([`coverage`]); `cargo xtask header [--check]` writes or compares the C header ([`header`]); `cargo xtask install` lays
//! out the C library ([`install`]); `cargo xtask options` writes `docs/options.md`; `cargo xtask surface` compares the items
//! of the crate `rocksdb` with rust-rocksdb ([`surface`]); `cargo xtask measure` prints the measures of the house
//! ([`measure`]).
//!
//! `tidy` fails, naming file and line, when
//! - a crate imports a neighbour or a floor above it ([`floors`]);
//! - inside `engine`, a room imports its own row or one above it ([`rooms`]);
//! - `unsafe` could appear outside the crates that may hold it, a file has no opening story, grows past
//!   the red line without being entered in `long_files.txt`, or holds words that do not belong in the
//!   project ([`text`]);
//! - more than 3 % of the long sentences of a room are mostly pronouns ([`prose`]);
//! - a type has too many methods or fields ([`sizes`]);
//! - files of a crate import each other in a circle ([`circles`]).

#![allow(clippy::disallowed_methods, clippy::disallowed_types, reason = "a program")]

mod circles;
mod coverage;
mod floors;
mod header;
mod install;
mod measure;
mod prose;
mod rooms;
mod sizes;
mod surface;
mod text;
mod unsafety;

use std::path::{Path, PathBuf};
use std::process::ExitCode;

fn main() -> ExitCode {
    let command = std::env::args().nth(1).unwrap_or_default();
    if ![
        "tidy", "unsafe", "prose", "circles", "coverage", "header", "install", "options", "surface",
        "measure",
    ]
    .contains(&command.as_str())
    {
        eprintln!(
            "usage: cargo xtask tidy | unsafe | prose | circles | coverage FILE | header [--check] | install --prefix DIR | \
             options | surface [--reference FILE] | measure [--json]"
        );
        return ExitCode::from(2);
    }
    // At run time: a binary that was built in another checkout would check the other checkout.
    let manifest_dir =
        std::env::var_os("CARGO_MANIFEST_DIR").unwrap_or_else(|| env!("CARGO_MANIFEST_DIR").into());
    let Some(root) = Path::new(&manifest_dir).parent() else {
        eprintln!("xtask: its folder has no parent");
        return ExitCode::FAILURE;
    };
    let mut faults = Vec::new();
    if command == "unsafe" {
        unsafety::report(root, &mut faults);
    } else if command == "prose" {
        prose::report(root);
    } else if command == "coverage" {
        coverage::report(root, &std::env::args().nth(2).unwrap_or_default(), &mut faults);
    } else if command == "header" {
        header::run(root, std::env::args().any(|argument| argument == "--check"), &mut faults);
    } else if command == "install" {
        install::run(root, &std::env::args().skip(2).collect::<Vec<_>>(), &mut faults);
    } else if command == "surface" {
        surface::run(root, &std::env::args().skip(2).collect::<Vec<_>>(), &mut faults);
    } else if command == "measure" {
        measure::report(root, std::env::args().any(|argument| argument == "--json"));
        return ExitCode::SUCCESS;
    } else if command == "options" {
        write_options(root, &mut faults);
    } else if command == "circles" {
        circles::check(root, &mut faults);
    } else {
        floors::check(root, &mut faults);
        rooms::check(root, &mut faults);
        text::check(root, &mut faults);
        prose::check(root, &mut faults);
        sizes::check(root, &mut faults);
        circles::check(root, &mut faults);
    }
    for fault in &faults {
        println!("{fault}");
    }
    if faults.is_empty() {
        println!("{command}: no faults");
        ExitCode::SUCCESS
    } else {
        println!("{command}: {} faults", faults.len());
        ExitCode::FAILURE
    }
}

/// Writes `docs/options.md`. A test of the crate `options` makes the text from the rows, and fails if the file differs.
fn write_options(root: &Path, faults: &mut Vec<String>) {
    let mut test = std::process::Command::new("cargo");
    test.current_dir(root).args([
        "test",
        "--quiet",
        "-p",
        "ironstone-options",
        "--lib",
        "docs_hold_every_option",
    ]);
    match test.env("IRONSTONE_WRITE_OPTIONS", "1").status() {
        Ok(status) if status.success() => {}
        Ok(status) => faults.push(format!("cargo test -p ironstone-options: {status}")),
        Err(error) => faults.push(format!("cargo: {error}")),
    }
}

/// Every `.rs` file below `dir`, in a stable order.
fn rust_files(dir: &Path) -> Vec<PathBuf> {
    let mut found = Vec::new();
    let mut waiting = vec![dir.to_path_buf()];
    while let Some(dir) = waiting.pop() {
        let Ok(entries) = std::fs::read_dir(&dir) else { continue };
        for entry in entries.flatten() {
            let path = entry.path();
            if path.is_dir() && !path.ends_with("target") {
                waiting.push(path);
            } else if path.extension().is_some_and(|e| e == "rs") {
                found.push(path);
            }
        }
    }
    found.sort();
    found
}

/// A file's path as a fault shows it.
fn shown(root: &Path, path: &Path) -> String {
    path.strip_prefix(root).unwrap_or(path).display().to_string()
}
