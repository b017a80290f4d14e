//! A damaged database looked through, and put right as far as its bytes go.
//!
//! ```text
//!  survey   CURRENT ─► MANIFEST ─► every table, block by block ─► every log, record by record      reads only
//!             └ none to go by? families, tables and what of the logs counts, from tables, logs and OPTIONS
//!     └ a report: each problem with file, offset and the key range that is gone
//!  mend     damaged tables written anew from what is left, damaged logs too; a new MANIFEST over what is there
//! ```
//! Repair deletes no file: a replaced file goes to `lost/` in the directory of the database. If one flipped
//! bit explains the damage, repair flips the bit back, and nothing is lost. If the MANIFEST lost records,
//! repair adds the SST files that no record names to level 0, unless a WAL still has their entries. The
//! other SST files of the column family move to level 0 too, ordered by sequence numbers, because only this
//! order does not depend on the lost records. SST files that fit no such order are merged into one file
//! (`order`). Deleted entries may return, and the report says so. Without a usable MANIFEST, repair treats
//! every SST file in this way (`rebuild`).
//!
//! Facts on what RocksDB does instead: `db/repair.cc` (every table to level 0 as it is, the MANIFEST never read; logs replayed
//! whether their rows are in tables or not, those of families without a table left out).

mod adopt;
mod blobs;
mod choose;
mod edges;
mod found;
mod mend;
mod order;
mod rebuild;
mod survey;
mod terms;
mod wals;
mod whose;

use std::path::{Path, PathBuf};

use base::{FileNumber, Result};
use format::names::FileName;

use crate::components::FamilyDescriptor;
use crate::files::Paths;
use crate::options::DbOptions;

pub use mend::mend;
pub use rebuild::families_of_options;
pub use terms::descriptor_of as descriptor;
pub use wals::policy_of_sections;

/// What [`survey`] and [`mend`] work on.
pub struct Scope {
    pub paths: Paths,
    pub options: DbOptions,
    /// Families that the database has and that are missing here take the default family's options, with a
    /// built-in comparator of the name on record.
    pub families: Vec<FamilyDescriptor>,
}

/// How much a problem matters.
#[derive(Clone, Copy, Debug, PartialEq, Eq, PartialOrd, Ord)]
pub enum Weight {
    /// What a crash leaves, or what opening does away with.
    Note,
    /// Damage that loses nothing: it can be put right from the file's own bytes, or only speeds things up.
    Mendable,
    /// Rows are gone, or may be, or rows that were deleted may be back.
    Loss,
}

impl Weight {
    pub fn name(self) -> &'static str {
        match self {
            Weight::Note => "note",
            Weight::Mendable => "mendable",
            Weight::Loss => "loss",
        }
    }
}

/// One thing that is not as it should be.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Problem {
    pub weight: Weight,
    pub file: PathBuf,
    /// Bytes from the file's start; `None`: the file as a whole.
    pub offset: Option<u64>,
    /// Bytes that cannot be read.
    pub bytes: u64,
    pub family: Option<String>,
    pub what: String,
    /// The user keys between which rows are gone; outer `None`: no range can be told, inner: to the end.
    pub range: Option<(Option<Vec<u8>>, Option<Vec<u8>>)>,
}

/// What was found, and what was done about it.
#[derive(Clone, Debug, Default)]
pub struct Report {
    pub num_files: u64,
    pub num_bytes: u64,
    /// Rows that can be read: of tables, and records of logs.
    pub num_rows: u64,
    /// In the order they were met.
    pub problems: Vec<Problem>,
    /// Sentences, in order; empty unless something was repaired.
    pub actions: Vec<String>,
}

impl Report {
    /// Whether nothing but notes was found.
    pub fn is_sound(&self) -> bool {
        self.weight().is_none_or(|w| w == Weight::Note)
    }

    /// The gravest problem's weight.
    pub fn weight(&self) -> Option<Weight> {
        self.problems.iter().map(|p| p.weight).max()
    }
}

/// Looks through every file of a database that is not open elsewhere for writing. Writes nothing, takes no lock.
///
/// # Errors
///
/// InvalidArgument if there is no database, or for an unknown comparator. An I/O error if the file system
/// fails. NotSupported for tables of other kinds, for SST files with embedded blobs, and, without a
/// MANIFEST, for features that an open refuses.
pub fn survey(scope: &Scope) -> Result<Report> {
    Ok(survey::look(scope)?.report)
}

/// The files of one kind in a directory, by number.
fn numbered(
    scope: &Scope,
    dir: &Path,
    of_kind: impl Fn(FileName) -> Option<FileNumber>,
) -> Result<Vec<FileNumber>> {
    let names = scope.options.env.fs.list(dir)?;
    let mut found: Vec<_> = names.iter().filter_map(|name| of_kind(FileName::parse(name)?)).collect();
    found.sort_unstable();
    Ok(found)
}
