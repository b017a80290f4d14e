//! Checks a database for damage, and repairs a damaged database.

use std::path::Path;

use base::Result;

use crate::open::request;
use crate::{FamilyDescriptor, Options};

pub use engine::repair::{Problem, Report, Weight};

/// Verifies every file of the database at `path`, block by block and record by record. Reports each damage with file,
/// offset, and the two user keys between which entries are lost. Writes nothing and takes no lock. No writer may have
/// the database open during the call. A column family without a descriptor gets `options.family` and the built-in
/// comparator that the MANIFEST names.
///
/// If no MANIFEST is readable, the report lists the files from which [`repair`] would rebuild the database: each SST
/// file with its entries and key range, and the column families that only SST files or the OPTIONS file name. The
/// report also lists the facts that are lost.
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
/// InvalidArgument if the directory has no database (no MANIFEST, SST file or WAL), or a comparator is unknown;
/// NotSupported for SST files of an unsupported kind; errors of the file system.
pub fn fsck(path: impl AsRef<Path>, options: Options, families: Vec<FamilyDescriptor>) -> Result<Report> {
    engine::db::fsck(&request(path.as_ref(), options, families, None))
}

/// Repairs the database at `path` and then opens the database as a check. No process may have the database open.
///
/// If one flipped bit explains a damage, `repair` flips the bit back. Damaged SST files and WALs are written again
/// from their readable parts. A lost MANIFEST record is replaced by facts from the SST files. Every entry outside of
/// damaged blocks stays. Replaced files go to `lost/` in the directory, and no file is deleted. The report names each
/// damage, as [`fsck`] does, and each repair. A sound database is not changed.
///
/// If no MANIFEST is readable, the database is rebuilt, as RocksDB's `RepairDB` does. Every SST file goes to level 0
/// of the column family that its properties name, ordered by its newest sequence number. A WAL is replayed as far as
/// its entries are in no SST file. A column family without a descriptor takes its options from the newest readable
/// OPTIONS file. All entries come back, with these limits, which the report names:
///
/// - An obsolete SST file that was not deleted yet brings back entries that were deleted or overwritten later.
/// - A missing SST file or WAL leaves no trace.
/// - A WAL can hold writes of a column family that no SST file and no OPTIONS file names. These writes stay in the WAL, and
///   the WAL goes to `lost/`.
///
/// # Errors
/// The errors of [`fsck`]; IoError if a process has the database open or the file system fails; the error of the
/// open, if the repaired database does not open.
///
/// ```
/// # use ironstone::{Db, Options};
/// let options = Options::in_memory();
/// let db = Db::open("data", options.clone())?;
/// db.put(b"k", b"v")?;
/// db.close()?;
///
/// let report = ironstone::repair("data", options.clone(), Vec::new())?;
/// assert!(Db::open("data", options)?.get(b"k")?.is_some());
/// # Ok::<(), ironstone::Error>(())
/// ```
pub fn repair(path: impl AsRef<Path>, options: Options, families: Vec<FamilyDescriptor>) -> Result<Report> {
    engine::db::repair(request(path.as_ref(), options, families, None))
}
