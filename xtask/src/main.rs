//! Checks of the house rules, and other commands for developers.
//!
//! | command | effect |
//! |---|---|
//! | `tidy` | checks the rules below |
//! | `prose` | lists sentences that are mostly pronouns ([`prose`]) |
//! | `circles` | lists circles of imports between the files of a crate ([`circles`]) |
//! | `measure` | prints measures of the source code ([`measure`]) |
//! | `unsafe` | prints the share of `unsafe` code ([`unsafety`]) |
//! | `coverage FILE [--unreached [PATH]]` | lists the code that the campaigns do not reach ([`coverage`]) |
//! | `header [--check]` | writes or compares the C header ([`header`]) |
//! | `install --prefix DIR` | builds the C library and lays out its files ([`install`]) |
//! | `options` | writes `docs/options.md` |
//! | `surface` | compares the items of the crate `rocksdb` with rust-rocksdb ([`surface`]) |
//!
//! `tidy` prints a fault with file and line, and fails, in these cases:
//! - A crate imports a crate of its own layer or of a higher layer ([`layers`]).
//! - A module of `engine` imports a module of its own row or of a higher row ([`rooms`]).
//! - A crate that must not have `unsafe` code does not forbid it; a file has no header or has a banned word; a file is
//!   too long and is not in `long_files.txt` ([`text`]).
//! - More than 3 % of the long sentences of a module are mostly pronouns ([`prose`]).
//! - A type has too many methods or fields ([`sizes`]).
//! - A type in a public signature of `ironstone` is not exported from the crate ([`exports`]).
//! - A function is too long ([`functions`]).
//! - Files of a crate import each other in a circle ([`circles`]).
//! - The page of the findings names a test or a mutant that does not exist ([`findings`]).

#![allow(clippy::disallowed_methods, clippy::disallowed_types, reason = "a program")]

mod circles;
mod coverage;
mod exports;
mod findings;
mod functions;
mod header;
mod install;
mod layers;
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
            "usage: cargo xtask tidy | unsafe | prose | circles | coverage FILE [--unreached [PATH]] | header [--check] | install --prefix DIR | \
             options | surface [--reference FILE] | measure [--json]"
        );
        return ExitCode::from(2);
    }
    // Read the variable at run time. With a constant, a binary that was built in another checkout would check that
    // checkout.
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
        coverage::report(root, &std::env::args().skip(2).collect::<Vec<_>>(), &mut faults);
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
        layers::check(root, &mut faults);
        rooms::check(root, &mut faults);
        text::check(root, &mut faults);
        prose::check(root, &mut faults);
        sizes::check(root, &mut faults);
        exports::check(root, &mut faults);
        functions::check(root, &mut faults);
        circles::check(root, &mut faults);
        findings::check(root, &mut faults);
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

/// Writes `docs/options.md`. A test of the crate `ironstone` makes the text from the rows, and fails if the file differs.
fn write_options(root: &Path, faults: &mut Vec<String>) {
    let mut test = std::process::Command::new("cargo");
    test.current_dir(root).args(["test", "--quiet", "-p", "ironstone", "--test", "it", "options_page"]);
    match test.env("IRONSTONE_WRITE_OPTIONS", "1").status() {
        Ok(status) if status.success() => {}
        Ok(status) => faults.push(format!("cargo test -p ironstone: {status}")),
        Err(error) => faults.push(format!("cargo: {error}")),
    }
}

/// Returns every `.rs` file below `dir`, in the order of the paths.
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

/// Returns the path of a file as a fault shows it.
fn shown(root: &Path, path: &Path) -> String {
    path.strip_prefix(root).unwrap_or(path).display().to_string()
}
