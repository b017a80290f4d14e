//! What the caller of an open asks for.

use std::path::PathBuf;

use crate::components::{Components, FamilyDescriptor};
use crate::options::{DbOptions, FamilyOptions, WalRecoveryMode};

/// A database to open.
pub struct OpenRequest {
    pub path: PathBuf,
    pub options: DbOptions,
    pub components: Components,
    /// Must name every family that exists, unless opened for reading only. Without one, the default
    /// family with default options.
    pub families: Vec<FamilyDescriptor>,
    /// What families that exist and are not named are opened with; `None`: all must be named.
    pub others: Option<FamilyOptions>,
}

impl OpenRequest {
    /// The default family alone.
    pub fn new(path: impl Into<PathBuf>, options: DbOptions, family: FamilyOptions) -> Self {
        let families = vec![FamilyDescriptor::new("default", family)];
        OpenRequest { path: path.into(), options, components: Components::default(), families, others: None }
    }
}

/// Departures of an open from its options. The options and the OPTIONS file stay those of the caller.
#[derive(Clone, Copy, Debug, Default)]
pub struct Overrides {
    /// The database exists, whatever `error_if_exists` says.
    pub exists: bool,
    /// Recovery replays the WALs by this mode and flushes their entries. So no WAL stays at which the mode
    /// of the options would stop later.
    pub mode: Option<WalRecoveryMode>,
    /// A read-only open reads no WAL: its view ends at the last flush of each column family.
    pub skip_wals: bool,
}
