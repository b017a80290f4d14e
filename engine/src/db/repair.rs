//! Looking through a database that does not open, and repairing it.

use base::Result;

use super::{Db, OpenRequest};
use crate::files::Paths;
use crate::repair::{self, Report, Scope};

/// Looks through every file of a database. Writes nothing.
///
/// # Errors
/// See [`repair::survey`].
pub fn fsck(request: &OpenRequest) -> Result<Report> {
    repair::survey(&scope(request))
}

/// Repairs a database, then opens and closes it to show that it opens.
///
/// # Errors
/// See [`repair::mend`]; those of opening, if it still does not.
pub fn repair(mut request: OpenRequest) -> Result<Report> {
    let report = repair::mend(&scope(&request))?;
    request.options.create_if_missing = false;
    request.options.error_if_exists = false;
    // What is lost is in the report; no log stays that speaks of it.
    request.options.open_despite_lost_writes = true;
    request.options.avoid_flush_during_recovery = false;
    for name in super::list_families(&request.options.env, &request.path)? {
        if !request.families.iter().any(|f| f.name == name) {
            let recorded = comparator(&request, &name)?;
            request.families.push(repair::descriptor(&scope(&request), &name, recorded.as_deref())?);
        }
    }
    Db::open(request)?.close()?;
    Ok(report)
}

fn comparator(request: &OpenRequest, family: &str) -> Result<Option<String>> {
    let env = &request.options.env;
    let number = crate::manifest::read_current(env, &request.path)?;
    let recovered = crate::manifest::recover(env, &request.path, number)?;
    Ok(recovered.families.into_values().find(|f| f.name == family).and_then(|f| f.comparator))
}

fn scope(request: &OpenRequest) -> Scope {
    Scope {
        paths: Paths::new(&request.path, &request.options),
        options: request.options.clone(),
        families: request.families.clone(),
    }
}
