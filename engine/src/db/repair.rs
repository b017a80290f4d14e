//! Checks a database that does not open, and repairs it.

use base::Result;
use env::fs::refuse_empty_path;

use super::open::open;
use crate::files::{Paths, refuse_foreign};
use crate::manifest::{read_current, recover};
use crate::opening::{OpenRequest, Opening, Overrides, family_dirs, family_gaps};
use crate::options::{WalRecoveryMode, refuse};
use crate::repair::{self, Report, Scope};

/// Checks every file of a database. Writes nothing.
///
/// # Errors
/// See [`repair::survey`].
pub fn fsck(request: &OpenRequest) -> Result<Report> {
    refuse_empty_path(&request.path)?;
    let mut scope = scope(request);
    refuse_foreign_dirs(request)?;
    scope.families.extend(repair::families_of_options(&scope)?);
    repair::survey(&scope)
}

/// Repairs a database. Then opens and closes the database, to show that it opens. A sound database opens by
/// its own `wal_recovery_mode` (`kAbsoluteConsistency` counts as `kPointInTimeRecovery`).
///
/// # Errors
/// The errors of [`repair::run`], and the errors of the open if the database still does not open.
pub fn repair(mut request: OpenRequest) -> Result<Report> {
    refuse_empty_path(&request.path)?;
    request.families.extend(repair::families_of_options(&scope(&request))?);
    for family in &request.families {
        family.options.validate(&family.name, &request.options)?;
        refuse(&family_gaps(&family.name, &family.options, false))?;
    }
    refuse_foreign_dirs(&request)?;
    let report = repair::run(&scope(&request))?;
    // The report names the losses, so the open must not fail because of lost bytes. A rewritten WAL does not match
    // the predecessor record of the next WAL, and a WAL in the middle may be gone. Recovery must replay the WALs
    // after such a WAL nevertheless. It must not replay WALs after a hole that a crash left in the WALs of a sound
    // database.
    request.options.open_despite_lost_writes = true;
    let mode = match request.options.wal_recovery_mode {
        _ if !report.actions.is_empty() => Some(WalRecoveryMode::SkipAnyCorruptedRecords),
        // A torn end is not damage. This mode stops at the torn end and recovers all records before it.
        WalRecoveryMode::AbsoluteConsistency => Some(WalRecoveryMode::PointInTimeRecovery),
        _ => None,
    };
    let overrides = Overrides { exists: true, mode, skip_wals: false };
    let env = &request.options.env;
    let recovered = recover(env, &request.path, read_current(env, &request.path)?)?;
    for family in recovered.families.into_values() {
        if !request.families.iter().any(|f| f.name == family.name) {
            let descriptor =
                repair::descriptor(&scope(&request), &family.name, family.comparator.as_deref())?;
            request.families.push(descriptor);
        }
    }
    if let Some(policy) = repair::policy_of_sections(&scope(&request))? {
        // The open keeps the prepared transactions. Their user commits or rolls them back in a `TransactionDb`.
        request.options.allow_2pc = true;
        request.components.write_policy = policy;
    }
    open(Opening::new(request, false, overrides)?)?.close()?;
    Ok(report)
}

/// Rejects a directory that belongs to another database: the repair would adopt its files.
fn refuse_foreign_dirs(request: &OpenRequest) -> Result<()> {
    let paths = Paths::new(&request.path, &request.options);
    refuse_foreign(&*request.options.env.fs, &paths, &family_dirs(&request.families))
}

fn scope(request: &OpenRequest) -> Scope {
    Scope {
        paths: Paths::new(&request.path, &request.options),
        options: request.options.clone(),
        families: request.families.clone(),
    }
}
