//! Chooses the MANIFEST for a repair.
//!
//! Repair takes the MANIFEST that CURRENT names. If this MANIFEST is unusable, repair takes the newest
//! complete MANIFEST by number. If this MANIFEST is older, and the proof of the last close does not name
//! it, later changes are unknown: the report says so, and SST files that the MANIFEST does not name are
//! added. If no MANIFEST is usable, the database is rebuilt from its SST files and WALs (`rebuild`).

use base::{Error, FileNumber, Result};
use format::names::{self, FileName};

use super::terms::problem;
use super::{Report, Scope, Weight};
use crate::manifest::{Lenient, read_current, read_proof, recover_leniently};

/// The chosen MANIFEST.
pub(super) struct Chosen {
    /// The number of the MANIFEST. If no MANIFEST is usable: the number in CURRENT, or the newest number.
    pub number: FileNumber,
    pub manifest: Lenient,
    /// True if version edits are missing.
    pub damaged: bool,
    pub current_damaged: bool,
    /// True if no MANIFEST is usable.
    pub rebuilt: bool,
}

/// Chooses the MANIFEST, and reports its damage.
///
/// # Errors
/// InvalidArgument if there is no database. Errors of the file system that are not damage.
pub(super) fn choose(scope: &Scope, report: &mut Report) -> Result<Chosen> {
    let env = &scope.options.env;
    if !env.fs.exists(&scope.paths.db)? {
        return Err(Error::invalid_argument(format!("{}: does not exist", scope.paths.db.display())));
    }
    let named = current(scope, report)?;
    let mut candidates = manifests(scope)?;
    let newest = candidates.first().copied();
    if let Some(named) = named {
        candidates.retain(|n| *n != named);
        candidates.insert(0, named);
    }
    for (at, number) in candidates.iter().enumerate() {
        let only = at + 1 == candidates.len();
        let Some(mut read) = read(scope, report, *number)? else { continue };
        if named.is_none() && !only && read.recovered.next_file_number == FileNumber::ZERO {
            // The snapshot is incomplete, so CURRENT never named this MANIFEST.
            let path = scope.paths.manifest(*number);
            report.problems.push(problem(Weight::Note, path, None, "this MANIFEST was never finished"));
            continue;
        }
        let older = named.or(newest).is_some_and(|latest| *number < latest) && !is_proved(scope, *number);
        let faults = report_faults(scope, report, *number, &read, named.is_none());
        if older {
            let path = scope.paths.manifest(*number);
            let what = "the newest MANIFEST cannot be read, so the repair uses this older MANIFEST: SST files that were deleted \
                        later are reported as missing, and SST files that it does not name are added";
            report.problems.push(problem(Weight::Loss, path, None, what));
            read.lost_end = true;
        } else if let Some(named) = named.filter(|named| named != number) {
            let missing = scope.paths.manifest(named);
            for found in report.problems.iter_mut().filter(|p| p.file == missing) {
                found.what = format!(
                    "CURRENT names this file, and should name {}: {}",
                    names::manifest(*number),
                    found.what
                );
                found.weight = Weight::Mendable;
            }
        }
        return Ok(Chosen {
            number: *number,
            manifest: read,
            damaged: older || faults,
            current_damaged: named != Some(*number),
            rebuilt: false,
        });
    }
    nothing(scope, report, named.or(newest))
}

/// Returns true if the proof of the last close is for this MANIFEST. Then CURRENT named this MANIFEST.
fn is_proved(scope: &Scope, number: FileNumber) -> bool {
    matches!(read_proof(&scope.options.env, &scope.paths.db, number), Ok(Some(_)))
}

fn current(scope: &Scope, report: &mut Report) -> Result<Option<FileNumber>> {
    match read_current(&scope.options.env, &scope.paths.db) {
        Ok(number) => Ok(Some(number)),
        Err(error) if error.is_corruption() || error.is_not_found() => {
            report.problems.push(problem(
                Weight::Mendable,
                scope.paths.current(),
                error.offset(),
                error.message(),
            ));
            Ok(None)
        }
        Err(error) => Err(error),
    }
}

/// Returns the MANIFESTs in the directory, newest first.
fn manifests(scope: &Scope) -> Result<Vec<FileNumber>> {
    let mut found = super::numbered(scope, &scope.paths.db, |name| match name {
        FileName::Manifest(n) => Some(n),
        _ => None,
    })?;
    found.reverse();
    Ok(found)
}

/// Reads a MANIFEST. Reports a problem and returns `None` if no record can be read.
fn read(scope: &Scope, report: &mut Report, number: FileNumber) -> Result<Option<Lenient>> {
    let env = &scope.options.env;
    let path = scope.paths.manifest(number);
    let read = match recover_leniently(env, &path, number) {
        Ok(read) => read,
        Err(error) if error.is_corruption() || error.is_not_found() => {
            report.problems.push(problem(Weight::Loss, path, error.offset(), error.message()));
            return Ok(None);
        }
        Err(error) => return Err(error),
    };
    report.num_files += 1;
    report.num_bytes += env.fs.file_size(&path)?;
    if read.recovered.edits == 0 {
        report.problems.push(problem(Weight::Loss, path, None, "no record of it can be read"));
        return Ok(None);
    }
    Ok(Some(read))
}

/// Reports the damage of the MANIFEST. If `unnamed`, also reports that CURRENT names no MANIFEST. Returns true
/// if edits are missing.
fn report_faults(
    scope: &Scope,
    report: &mut Report,
    number: FileNumber,
    read: &Lenient,
    unnamed: bool,
) -> bool {
    let path = scope.paths.manifest(number);
    let mut damaged = false;
    for fault in &read.faults {
        let weight = match (fault.lost_bytes, fault.at_end) {
            (0, _) => Weight::Mendable,
            (_, true) => Weight::Note,
            _ => Weight::Loss,
        };
        damaged |= weight != Weight::Note;
        let mut found = problem(weight, path.clone(), Some(fault.offset), &fault.what);
        found.bytes = fault.lost_bytes;
        report.problems.push(found);
    }
    if unnamed {
        let what = "CURRENT does not name a MANIFEST: the repair uses this one, the newest MANIFEST that can be read";
        report.problems.push(problem(Weight::Note, path, None, what));
    }
    damaged
}

/// Starts a rebuild, because no MANIFEST is usable.
fn nothing(scope: &Scope, report: &mut Report, number: Option<FileNumber>) -> Result<Chosen> {
    let fs = &scope.options.env.fs;
    let mut is_database = number.is_some();
    for dir in scope.paths.all() {
        // A directory that the options name may be missing.
        let found = match fs.list(dir) {
            Err(error) if error.is_not_found() => continue,
            found => found?,
        };
        is_database |= found.iter().any(|name| {
            matches!(
                FileName::parse(name),
                Some(FileName::Table(_) | FileName::LegacyTable(_) | FileName::Wal(_))
            )
        });
    }
    if !is_database {
        let path = scope.paths.db.display();
        return Err(Error::invalid_argument(format!(
            "{path}: not a database: there is no MANIFEST, SST file or WAL"
        )));
    }
    let file = number.map_or(scope.paths.db.clone(), |number| scope.paths.manifest(number));
    let number = number.unwrap_or_default();
    let what = "no MANIFEST can be read: the database is rebuilt from its SST files and WALs; the repair cannot detect \
                that an SST file or a WAL is missing";
    report.problems.push(problem(Weight::Loss, file, None, what));
    Ok(Chosen {
        number,
        manifest: Lenient::nothing(number),
        damaged: true,
        current_damaged: true,
        rebuilt: true,
    })
}
