//! A damaged database looked through and repaired.

use std::path::Path;

use base::Result;

use crate::open::request;
use crate::{FamilyDescriptor, Options};

pub use engine::repair::{Problem, Report, Weight};

/// Looks through every file of the database at `path`, block by block and record by record, and says what is
/// damaged: file, offset, and the user keys between which rows are gone. Writes nothing and takes no lock; the
/// database must not be open for writing meanwhile. Families that are not named take `options.family` with the
/// built-in comparator on record.
///
/// Where no MANIFEST can be read it says what [`repair`] would build the database from: each table with its rows and key
/// range, families that only tables or the OPTIONS file name, and what nobody can know any more.
///
/// ```
/// # let scratch = tempfile::tempdir()?;
/// # let path = scratch.path().join("data");
/// # let mut options = ironstone::Options::default();
/// # options.db.create_if_missing = true;
/// # ironstone::Db::open(&path, options.clone())?.put(b"k", b"v")?;
/// let report = ironstone::fsck(&path, options, Vec::new())?;
/// assert!(report.is_sound(), "{:?}", report.problems);
/// # Ok::<(), Box<dyn std::error::Error>>(())
/// ```
/// Cost: one read of every file, and of a damaged block up to `8 * size` checksums.
///
/// # Errors
/// InvalidArgument if there is no database (no MANIFEST, table or log), or a family's comparator is not known;
/// NotSupported for tables that are not block-based or have blobs; errors of the file system that are not damage.
pub fn fsck(path: impl AsRef<Path>, options: Options, families: Vec<FamilyDescriptor>) -> Result<Report> {
    engine::db::fsck(&request(path.as_ref(), options, families, None))
}

/// Repairs the database at `path`, which must not be open, and shows that it opens.
///
/// What one flipped bit explains is put right; damaged tables and logs are written anew from what is left of them;
/// a lost MANIFEST record is made up for from the tables themselves. Every row outside of damaged blocks stays.
/// Files that are replaced go to `lost/` in the directory; nothing is deleted. The report names what was found, as
/// [`fsck`] does, and what was done. A sound database is left alone.
///
/// Where no MANIFEST can be read the database is built anew, as RocksDB's `RepairDB` does: every table goes to level 0 of
/// the family that its properties name, ordered by its newest sequence number, and logs are replayed as far as their rows
/// are in no table. Families that are not named here take their options from the newest OPTIONS file that reads. All rows
/// come back; but a table that the MANIFEST had done away with, and that was not deleted yet, brings back what was deleted
/// or overwritten since, and tables or logs that are gone leave no trace. Writes in logs of a family that neither a table
/// nor the OPTIONS file names stay in the log, which goes to `lost/`. The report tells each.
///
/// # Errors
/// As [`fsck`]; IoError if the database is open elsewhere or the file system refuses; the error of opening, if it
/// still does not open.
pub fn repair(path: impl AsRef<Path>, options: Options, families: Vec<FamilyDescriptor>) -> Result<Report> {
    engine::db::repair(request(path.as_ref(), options, families, None))
}
