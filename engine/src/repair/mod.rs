//! Checks a damaged database, and repairs it as far as the bytes of its files allow.
//!
//! ```text
//!  survey   CURRENT ─► MANIFEST ─► every SST file, block by block ─► every WAL, record by record      reads only
//!             └ no usable MANIFEST? column families, SST files and needed WALs from SST files, WALs and OPTIONS
//!     └ a report: each problem with file, offset and the key range that is lost
//!  apply    rewrites damaged SST files and WALs with what is left; writes a new MANIFEST for the files that exist
//! ```
//! Repair deletes no file: a replaced file goes to `lost/` in the directory of the database. If one flipped
//! bit explains the damage, repair flips the bit back, and nothing is lost. If the MANIFEST lost records,
//! repair adds the SST files that no record names to level 0, unless a WAL still has their entries. The
//! other SST files of the column family move to level 0 too, ordered by sequence numbers, because only this
//! order does not depend on the lost records. SST files that fit no such order are merged into one file
//! (`order`). Deleted entries may return, and the report says so. Without a usable MANIFEST, repair treats
//! every SST file in this way (`rebuild`).
//!
//! RocksDB's repair differs (`db/repair.cc`): it never reads the MANIFEST, and moves every SST file to level 0
//! unchanged. It replays WALs even if their entries are in SST files, and skips the WALs of column families without
//! an SST file.

mod adopt;
mod apply;
mod blobs;
mod choose;
mod edges;
mod found;
mod identity;
mod order;
mod rebuild;
mod replayed;
mod shared;
mod survey;
mod terms;
mod wals;

use std::path::{Path, PathBuf};

use base::{Arrange, Result};
use format::names::FileName;

use crate::components::FamilyDescriptor;
use crate::files::Paths;
use crate::options::DbOptions;

pub use apply::run;
pub use rebuild::families_of_options;
pub use terms::descriptor_of as descriptor;
pub use wals::policy_of_sections;

/// The input of [`survey`] and [`run`].
pub struct Scope {
    pub paths: Paths,
    pub options: DbOptions,
    /// The column families that the caller knows. For any other column family of the database, the repair uses the
    /// options of the default column family, with the built-in comparator that is on record.
    pub families: Vec<FamilyDescriptor>,
}

/// The severity of a problem.
#[derive(Clone, Copy, Debug, PartialEq, Eq, PartialOrd, Ord)]
pub enum Weight {
    /// A crash leaves this, or an open corrects it.
    Note,
    /// Damage without loss: repair can correct it from the bytes of the file, or the damaged part only speeds up
    /// reads.
    Mendable,
    /// Entries are lost or may be lost, or deleted entries may be back.
    Loss,
}

impl Weight {
    /// Returns the word of the severity in lower case, as the report of a repair prints it.
    pub fn name(self) -> &'static str {
        match self {
            Weight::Note => "note",
            Weight::Mendable => "repairable",
            Weight::Loss => "loss",
        }
    }
}

/// One problem of a file.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Problem {
    /// The severity.
    pub weight: Weight,
    /// The path of the file.
    pub file: PathBuf,
    /// Bytes from the start of the file. `None`: the problem concerns the whole file.
    pub offset: Option<u64>,
    /// The number of bytes that cannot be read.
    pub bytes: u64,
    /// The column family of the file, if the repair knows it.
    pub family: Option<String>,
    /// The finding, as a sentence for the report.
    pub what: String,
    /// The user keys between which entries are lost. Outer `None`: the range is unknown. Inner `None`: the range has
    /// no bound.
    pub range: Option<(Option<Vec<u8>>, Option<Vec<u8>>)>,
}

/// The problems that were found, and the actions that repaired them.
#[derive(Clone, Debug, Default)]
pub struct Report {
    /// The number of files that were read.
    pub num_files: u64,
    /// The size of these files in bytes.
    pub num_bytes: u64,
    /// Entries that can be read, in SST files and WALs.
    pub num_rows: u64,
    /// In the order in which they were found.
    pub problems: Vec<Problem>,
    /// One sentence for each action, in order. Empty if nothing was repaired.
    pub actions: Vec<String>,
}

impl Report {
    /// Returns true if the report has only notes.
    pub fn is_sound(&self) -> bool {
        self.weight().is_none_or(|w| w == Weight::Note)
    }

    /// Returns the weight of the most severe problem.
    pub fn weight(&self) -> Option<Weight> {
        self.problems.iter().map(|p| p.weight).max()
    }
}

/// Checks every file of a database. Writes nothing and takes no lock. The database must not be open for writing.
///
/// # Errors
///
/// InvalidArgument if there is no database, or for an unknown comparator. An I/O error if the file system
/// fails. NotSupported for tables of other kinds, for SST files with embedded blobs, and, without a
/// MANIFEST, for features that an open refuses.
pub fn survey(scope: &Scope) -> Result<Report> {
    Ok(survey::look(scope)?.report)
}

/// Returns the numbers of the files of one type in a directory, ascending.
fn numbered<N: Ord + Copy>(
    scope: &Scope,
    dir: &Path,
    of_kind: impl Fn(FileName) -> Option<N>,
) -> Result<Vec<N>> {
    let names = scope.options.env.fs.list(dir)?;
    let mut found: Vec<_> = names.iter().filter_map(|name| of_kind(FileName::parse(name)?)).collect();
    found.arrange();
    Ok(found)
}
