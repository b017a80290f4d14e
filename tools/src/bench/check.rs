//! Benchmarks that check blocks, check files, and compare the whole database with another database.

use base::{Error, Result};
use ironstone::{Db, ReadOptions};

use super::report::Op;
use super::run::{Run, Thread};
use super::setup;

/// Verifies the checksum of every block of every SST file.
pub fn checksums(thread: &mut Thread<'_>) -> Result<()> {
    thread.choose_db()?.db.verify_checksum()?;
    thread.finished(1, Op::Others);
    Ok(())
}

/// Verifies the checksum of every whole SST file.
pub fn file_checksums(thread: &mut Thread<'_>) -> Result<()> {
    thread.choose_db()?.db.verify_file_checksums()?;
    thread.finished(1, Op::Others);
    Ok(())
}

/// Compares with the database of `--truth_db`. A get must find each entry of that database, and a scan must find no
/// additional entry.
pub fn against_truth(run: &Run) -> Result<()> {
    let db = run.db()?;
    let truth = Db::open_read_only(run.flags.text("truth_db"), setup::options(&run.flags, None)?)?;
    let all = ReadOptions { total_order_seek: true, ..ReadOptions::default() };
    eprintln!("Verifying db >= truth_db with ::Get...");
    let mut expected = truth.iter_with(all.clone())?;
    expected.seek_to_first();
    while expected.valid() {
        let value = db.get(expected.key())?;
        if value.as_deref() != Some(expected.value()) {
            return Err(differs(expected.key()));
        }
        expected.next();
    }
    expected.status()?;
    eprintln!("Verifying db == truth_db...");
    let mut found = db.iter_with(all)?;
    found.seek_to_first();
    expected.seek_to_first();
    while found.valid() {
        if !expected.valid() || (expected.key(), expected.value()) != (found.key(), found.value()) {
            return Err(differs(found.key()));
        }
        found.next();
        expected.next();
    }
    found.status()?;
    if expected.valid() {
        return Err(differs(expected.key()));
    }
    eprintln!("...Verified");
    Ok(())
}

fn differs(key: &[u8]) -> Error {
    Error::corruption(format!("the database and --truth_db differ at key {}", key.escape_ascii()))
}
