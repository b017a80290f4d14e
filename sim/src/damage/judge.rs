//! Runs one case: damages a file, opens the database, reads every way, and classifies the result.
//!
//! A case can also be repaired. A repair may lose rows, and may bring back older values and deleted rows, if its report has a loss.
//! Each row after the repair is a row of some state.

use std::panic::{AssertUnwindSafe, catch_unwind};
use std::path::Path;

use engine::options::file::{self, ReadConfig};
use ironstone::{Db, Error, Family, Problem, ReadOptions, Report, Weight};
use testkit::machine::Machine;

use super::Class;
use super::cases::{Case, Damage, kind_of};
use super::fixture::{DIR, Fixture, Rows, path, write};
use crate::state::Key;

/// A class and its reason.
pub struct Verdict {
    pub class: Class,
    pub why: String,
}

fn verdict(class: Class, why: impl Into<String>) -> Verdict {
    Verdict { class, why: why.into() }
}

/// What happens to the damaged database.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum How {
    /// It is opened for reading.
    Reading,
    /// It is opened for writing.
    Writing,
    /// It is repaired, and then opened for writing.
    Repairing,
}

impl How {
    /// Returns the word for the report.
    pub fn name(self) -> &'static str {
        match self {
            How::Reading => "reading",
            How::Writing => "writing",
            How::Repairing => "repairing",
        }
    }
}

/// Damages a file of the fixture in `machine`, judges the result, and restores the file. Returns `None` if the damage
/// changes nothing. After an open for writing, the machine is made again.
pub fn case(fixture: &Fixture, machine: &mut Machine, case: &Case, how: How) -> Option<Verdict> {
    let original = fixture.files.get(&case.file)?;
    let damaged = case.damage.apply(&case.file, fixture);
    if damaged.as_ref() == Some(original) {
        return None;
    }
    if matches!((&case.damage, &damaged), (Damage::Older { .. } | Damage::Other { .. }, None)) {
        return None;
    }
    let place = path(&case.file);
    match damaged {
        None => drop(machine.env.fs.unlink(&place)),
        Some(bytes) => drop(machine.disk.damage(&place, |content| *content = bytes)),
    }
    let judged = catch_unwind(AssertUnwindSafe(|| match how {
        How::Repairing => repaired(fixture, machine),
        _ => judge(fixture, machine, case, how == How::Reading),
    }));
    let judged = judged.unwrap_or_else(|_| verdict(Class::Crash, "a panic"));
    if how != How::Reading || judged.class == Class::Crash {
        *machine = super::fixture::machine(&fixture.files);
    } else if case.damage == Damage::Missing {
        write(&machine.env, &std::iter::once((case.file.clone(), original.clone())).collect());
    } else {
        machine.disk.damage(&place, |content| content.clone_from(original));
    }
    Some(judged)
}

fn judge(fixture: &Fixture, machine: &Machine, case: &Case, read_only: bool) -> Verdict {
    if kind_of(&case.file) == "OPTIONS" {
        let options = options(fixture, machine, &case.file);
        if options.class.is_bad() || read_only {
            return options;
        }
    }
    let opened = fixture.open(machine, read_only);
    let failed = opened.is_err();
    let judged = match opened {
        Err(error) if names_removed_file(&error, case) => verdict(Class::Detected, error.to_string()),
        Err(error) => told(error),
        Ok(db) => {
            let read = rows(fixture, &db);
            // Ignore the result of the close: nothing was written.
            let _ = db.close();
            read
        }
    };
    if judged.class.is_bad() || read_only {
        return judged;
    }
    match deleted(fixture, machine, case, failed) {
        Some(name) => verdict(Class::Deleted, format!("{name} is gone; {}", judged.why)),
        None => judged,
    }
}

/// Repairs the damaged database, and judges the report and the rows. A refused repair is an error like that of an open.
fn repaired(fixture: &Fixture, machine: &Machine) -> Verdict {
    let report = match fixture.repair(machine) {
        Ok(report) => report,
        // The error of a repair can concern a whole database, which has no offset.
        Err(error) => return verdict(Class::Detected, error.to_string()),
    };
    let says_loss = report.weight() == Some(Weight::Loss);
    let what = || {
        report.problems.iter().map(|p| format!("{:?} {}", p.weight, p.what)).collect::<Vec<_>>().join("; ")
    };
    let db = match fixture.open(machine, false) {
        Ok(db) => db,
        Err(error) => return verdict(Class::Wrong, format!("after a repair: {error}; {}", what())),
    };
    let found = match db.families().iter().try_fold(Rows::new(), scan) {
        Err(error) if is_reported(&error, &report) => readable(fixture, &db, &report),
        found => found,
    };
    let found = match found {
        Ok(found) => found,
        Err(error) => return verdict(Class::Wrong, format!("after a repair: {error}; {}", what())),
    };
    // Ignore the result of the close: nothing was written.
    let _ = db.close();
    if let Some((row, _)) = found.iter().find(|(row, value)| !fixture.had(row, value)) {
        let key = row.bytes.escape_ascii();
        return verdict(Class::Wrong, format!("a repair made the row {key}; {}", what()));
    }
    if found == *fixture.base() {
        return verdict(Class::Harmless, "");
    }
    match says_loss {
        true => verdict(Class::Detected, what()),
        false => verdict(Class::Rollback, format!("a repair lost rows without a word: {}", what())),
    }
}

/// Returns true if the error is about a blob file whose loss the report names. A repair keeps the references to lost values.
fn is_reported(error: &Error, report: &Report) -> bool {
    let is_blob = |file: &Path| file.extension().is_some_and(|end| end == "blob");
    let names = |problem: &&Problem| problem.weight == Weight::Loss && Some(&*problem.file) == error.path();
    error.path().is_some_and(is_blob) && report.problems.iter().any(|problem| names(&problem))
}

/// Reads each key that a state had by itself, and leaves out the keys whose values a repair reported as lost.
///
/// # Errors
/// The error of another read.
fn readable(fixture: &Fixture, db: &Db, report: &Report) -> ironstone::Result<Rows> {
    let mut rows = Rows::new();
    for row in fixture.states.iter().flat_map(Rows::keys) {
        match db.family(&row.family)?.get_with(&row.bytes, &options_for_reading()) {
            Ok(Some(value)) => drop(rows.insert(row.clone(), value.to_vec())),
            Ok(None) => {}
            Err(error) if is_reported(&error, report) => {}
            Err(error) => return Err(error),
        }
    }
    Ok(rows)
}

/// Adds all rows of a column family.
fn scan(mut rows: Rows, family: &Family) -> ironstone::Result<Rows> {
    let mut iter = family.iter_with(options_for_reading())?;
    iter.seek_to_first();
    while iter.valid() {
        rows.insert(Key::new(family.name(), iter.key()), iter.value().to_vec());
        iter.next();
    }
    iter.status().map(|()| rows)
}

/// Judges the OPTIONS file: it must read as before, or the error must name file and offset.
fn options(fixture: &Fixture, machine: &Machine, name: &str) -> Verdict {
    match load_options(machine) {
        Ok(text) if text == fixture.loaded => verdict(Class::Harmless, ""),
        Ok(_) => verdict(Class::Wrong, format!("{name}: other options without an error")),
        Err(error) => told(error),
    }
}

/// Reads the newest OPTIONS file. Returns its options as text.
///
/// # Errors
/// The error of the read.
pub fn load_options(machine: &Machine) -> ironstone::Result<String> {
    let (_, loaded) = file::load_latest(&machine.env, Path::new(DIR), &ReadConfig::default())?;
    Ok(file::write(&loaded.db, loaded.families.iter().map(|(name, family)| (name.as_str(), family))))
}

/// Returns true if the case removed a file, and the error names exactly this file. Such an error has no offset. A missing SST
/// file is a corruption, so its error is not of the kind "not found".
fn names_removed_file(error: &Error, case: &Case) -> bool {
    case.damage == Damage::Missing && error.path() == Some(&*path(&case.file))
}

fn told(error: Error) -> Verdict {
    // The error for a missing file has no offset.
    let placed = error.path().is_some() && (error.offset().is_some() || error.is_not_found());
    verdict(if placed { Class::Detected } else { Class::Unplaced }, error.to_string())
}

/// Returns a file of the fixture that the open must keep, under its name or in `lost/`, and that is missing.
fn deleted(fixture: &Fixture, machine: &Machine, case: &Case, failed: bool) -> Option<String> {
    let aside = machine.env.fs.list(&path("lost")).unwrap_or_default();
    let gone = |name: &str| {
        let there = machine.env.fs.exists(&path(name)).unwrap_or(false);
        !there && !aside.iter().any(|moved| moved.ends_with(&format!("-{name}")))
    };
    let mut names = fixture.files.keys().filter(|name| **name != case.file);
    let found = names.find(|name| {
        let must_stay = match kind_of(name) {
            // After a successful open, the old WALs and the old MANIFEST may be deleted.
            "table" => true,
            "WAL" | "MANIFEST" | "CURRENT" | "PROOF" => failed,
            _ => false,
        };
        must_stay && gone(name)
    });
    found.cloned()
}

/// Reads every row forward, backward and by key.
fn rows(fixture: &Fixture, db: &Db) -> Verdict {
    let base = fixture.base();
    let (mut forward, mut error, mut wrong) = (Rows::new(), None, None);
    for family in db.families() {
        for backward in [false, true] {
            let mut iter = match family.iter_with(options_for_reading()) {
                Ok(iter) => iter,
                Err(e) => return told(e),
            };
            let mut seen = Rows::new();
            if backward {
                iter.seek_to_last()
            } else {
                iter.seek_to_first()
            }
            while iter.valid() {
                let row = Key::new(family.name(), iter.key());
                if base.get(&row).map(Vec::as_slice) != Some(iter.value()) {
                    wrong.get_or_insert_with(|| row.bytes.escape_ascii().to_string());
                }
                seen.insert(row, iter.value().to_vec());
                if backward { iter.prev() } else { iter.next() }
            }
            let status = iter.status();
            if let Err(e) = status {
                // The error must stay: a later call must not report the normal end of the data.
                if iter.valid() || iter.status().is_ok() {
                    return verdict(Class::Wrong, format!("an iterator forgot its error: {e}"));
                }
                error.get_or_insert(e);
            } else if backward {
                let same = forward.iter().filter(|(row, _)| row.family == family.name()).eq(seen.iter());
                if error.is_none() && !same {
                    return verdict(Class::Wrong, "backward differs from forward");
                }
            }
            if !backward {
                forward.extend(seen);
            }
        }
    }
    let mut lie = None;
    for state in [base, &fixture.states[fixture.states.len() / 2]] {
        for row in state.keys() {
            let Ok(family) = db.family(&row.family) else { continue };
            match family.get_with(&row.bytes, &options_for_reading()) {
                Ok(value) if value.as_deref() == base.get(row).map(Vec::as_slice) => {}
                Ok(_) => lie = Some(row.bytes.escape_ascii().to_string()),
                Err(e) => {
                    error.get_or_insert(e);
                }
            }
        }
    }
    if let Some(error) = error {
        let mut judged = told(error);
        if let Some(key) = wrong {
            judged = verdict(Class::WrongBeforeError, format!("{key}, before {}", judged.why));
        } else if let Some(key) = lie {
            judged = verdict(Class::GetLie, format!("{key}, in addition to {}", judged.why));
        }
        return judged;
    }
    if forward != *base {
        return match fixture.states.iter().rposition(|state| *state == forward) {
            Some(at) => verdict(Class::Rollback, format!("state {at} of {}", fixture.states.len() - 1)),
            None => verdict(Class::Wrong, format!("{} rows of {}", forward.len(), base.len())),
        };
    }
    match lie {
        Some(key) => verdict(Class::GetLie, key),
        None => verdict(Class::Harmless, ""),
    }
}

fn options_for_reading() -> ReadOptions {
    ReadOptions { verify_checksums: true, total_order_seek: true, ..ReadOptions::default() }
}
