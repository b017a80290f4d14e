//! The request for an open.

use std::path::PathBuf;

use crate::components::{Components, FamilyDescriptor};
use crate::options::{DbOptions, FamilyOptions, WalRecoveryMode};

/// A database to open.
pub struct OpenRequest {
    pub path: PathBuf,
    pub options: DbOptions,
    pub components: Components,
    /// The column families to open. An open for writing must name all that exist, unless `others` is set. If the
    /// list is empty, the default column family is opened with default options.
    pub families: Vec<FamilyDescriptor>,
    /// The options of existing column families that are not named. `None` means that an open for writing must name
    /// all.
    pub others: Option<FamilyOptions>,
}

impl OpenRequest {
    /// Makes a request for the default column family only.
    pub fn new(path: impl Into<PathBuf>, options: DbOptions, family: FamilyOptions) -> Self {
        let families = vec![FamilyDescriptor::new("default", family)];
        OpenRequest { path: path.into(), options, components: Components::default(), families, others: None }
    }
}

/// Exceptions of one open from its options. They change neither the options of the database nor the OPTIONS file.
#[derive(Clone, Copy, Debug, Default)]
pub struct Overrides {
    /// Opens an existing database also with `error_if_exists`.
    pub exists: bool,
    /// Recovery replays the WALs by this mode and flushes their entries. So the open leaves no WAL that a later
    /// open with the mode of the options would reject.
    pub mode: Option<WalRecoveryMode>,
    /// A read-only open reads no WAL: its view ends at the last flush of each column family.
    pub skip_wals: bool,
}
