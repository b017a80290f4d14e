//! The check of calls that a database that is open for reading rejects, as RocksDB does.

use base::Result;

use crate::Db;

/// Checks that a database is open for writing.
///
/// # Errors
/// NotSupported for a database that is open for reading, with RocksDB's text. ShutdownInProgress after a close.
///
/// ```
/// use ironstone::binding::check_writable;
/// use ironstone::{Db, Options};
///
/// let options = Options::in_memory();
/// let db = Db::open("data", options.clone())?;
/// check_writable(&db)?;
/// assert!(check_writable(&Db::open_read_only("data", options)?).is_err());
/// # Ok::<(), ironstone::Error>(())
/// ```
pub fn check_writable(db: &Db) -> Result<()> {
    engine::db::check_writable(db.engine())
}
