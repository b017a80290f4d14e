//! Opens for readers that follow a writer: secondary instances and followers.

use base::Result;

use super::Db;
use super::open::open;
use crate::opening::{Before, OpenRequest, Opening, Overrides};

/// As [`Db::open_read_only`], for a reader that follows a writer. SST files and blob files that `before`, an open of the
/// same database, has open are not opened again. With `skip_wals`, the WALs are not read.
///
/// # Errors
/// As there.
pub fn open_to_follow(request: OpenRequest, before: Option<&Db>, skip_wals: bool) -> Result<Db> {
    let overrides = Overrides { skip_wals, ..Overrides::default() };
    let before =
        before.map(|before| Before { tables: before.inner.tables.clone(), db_id: before.id().to_string() });
    open(Opening::new(request, true, overrides)?.after(before))
}

/// Returns true if the writer of the database wrote nothing since this read-only open. False if this is unknown.
///
/// # Errors
/// Errors of the file system.
pub fn is_up_to_date(db: &Db) -> Result<bool> {
    let tools = &db.inner.tools;
    db.inner.read_up_to.as_ref().map_or(Ok(false), |read| read.is_everything(&tools.env, &tools.paths))
}
