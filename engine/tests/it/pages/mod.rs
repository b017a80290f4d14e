//! Pages: scripts of commands with the expected answers, on one simulated machine.
//!
//! `testdata` has a directory for each subject: `options`, `iterators`, `recovery`, `calls`, `errors`, `trees`. Each page starts
//! with an empty disk and without an open database. A command that fails answers with its error.
//!
//! ```text
//! > new                        an empty disk, without a database
//! > open NAME=VALUE ..         opens again on the same disk; options of the database and of column families alike
//! > reopen                     opens again with the same options
//! > read-only                  opens for reading
//! > close | crash SURVIVORS    closes, or stops the machine: synced, everything, names, zeros, torn:SEED, sectors:SEED
//! > recover NAME=VALUE ..      opens without a flush; answers with all rows and the newest sequence number
//! > save | load                keeps the disk, and starts again with the kept disk
//! > repair
//! > put K V | delete K | single-delete K | merge K V | delete-range A B | batch put:K:V delete:K ..
//! > puts K=V ..                one write for each pair
//! > fill FROM TO BYTES         puts key FROM to key TO - 1
//! > sync on|off | wal on|off   how writes are written from here on
//! > at TIME                    the timestamp of writes and reads from here on; `-` for none
//! > get K | mget K .. | scan | scan-back | operands K
//! > snapshot NAME | release NAME
//! > iter NAME=VALUE ..         opens an iterator: lower, upper, snapshot, and the options of a read
//! > first | last | seek K | back K | next [N] | prev [N] | refresh
//! > flush [FAMILY ..] | compact [A B] | wait | sleep SECONDS | suggest A B | promote LEVEL | resume
//! > use FAMILY | create NAME [NAME=VALUE ..] | drop NAME | families
//! > tree | wals | manifest | files [SUFFIX-OR-START] | calls [OP ..] | events | log TEXT
//! > flip FILE OFFSET BIT | cut FILE LENGTH | zero FILE FROM TO | copy FROM TO | remove FILE | write FILE TEXT
//! > fail OP FILE COUNT OUTCOME | no-faults
//! > property NAME [PART] | ticker NAME | error | set NAME=VALUE .. | set-db NAME=VALUE ..
//! ```
//! A negative offset or length counts from the end of the file. `%` in a value is an empty text.

mod disk;
mod draw;
mod observe;
mod reads;
mod world;
mod writes;

use std::path::{Path, PathBuf};

use testkit::script;
use world::World;

fn testdata(name: &str) -> PathBuf {
    Path::new(env!("CARGO_MANIFEST_DIR")).join("tests/it/testdata").join(name)
}

/// Runs all pages of a directory.
fn check(dir: &str) {
    for page in script::pages(&testdata(dir)) {
        let mut world = World::new();
        script::dialogue(&page, |line| world.answer(line));
    }
}

#[test]
fn options_have_the_effects_of_their_pages() {
    check("options");
}

#[test]
fn iterators_visit_the_entries_of_their_pages() {
    check("iterators");
}

#[test]
fn recovery_decides_as_its_scripts_state() {
    check("recovery");
}

#[test]
fn files_are_called_in_the_order_of_the_pages() {
    check("calls");
}

#[test]
fn errors_stop_writes_and_resume_as_their_scripts_state() {
    check("errors");
}

#[test]
fn jobs_leave_the_trees_of_their_pages() {
    check("trees");
}
