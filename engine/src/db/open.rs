//! Makes the handle of a database from the parts that `opening` made.

use base::Result;

use super::history::keep_history;
use super::reading::Reading;
use super::{Db, Inner};
use crate::iter::{IteratorTools, Refreshes};
use crate::opening::{OpenRequest, Opened, Opening, Overrides, Tails};
use crate::ranks;
use crate::sync::{Arc, AtomicBool, Mutex, OnceLock, RankedMutex};
use crate::upkeep::write_options_file;

impl Db {
    /// Opens a database for reading and writing.
    ///
    /// # Errors
    /// InvalidArgument if the database does not exist (without `create_if_missing`), or exists (with
    /// `error_if_exists`). InvalidArgument if the request lacks a column family of the database, names a column
    /// family that does not exist, or has another comparator. IoError if the database is open elsewhere. Corruption
    /// with file and offset. NotSupported with the name of a missing feature.
    pub fn open(request: OpenRequest) -> Result<Db> {
        open(Opening::new(request, false, Overrides::default())?)
    }

    /// Opens a database for reading only. The open replays the WALs into memtables. It changes nothing on disk and
    /// takes no lock.
    ///
    /// # Errors
    /// The errors of [`Db::open`], but IoError if the database does not exist.
    pub fn open_read_only(request: OpenRequest) -> Result<Db> {
        open(Opening::new(request, true, Overrides::default())?)
    }
}

/// Opens a database, creates its missing column families, and writes the OPTIONS file.
pub(super) fn open(opening: Opening) -> Result<Db> {
    opening.run(|mut opened| {
        let missing = std::mem::take(&mut opened.missing);
        let db = assemble(opened);
        if !missing.is_empty() {
            let (requests, outcome) = db.admin().request_families(&missing);
            outcome?;
            db.admin().add_families(&requests)?;
        }
        keep_history(&db)?;
        if db.inner.writing.is_some() {
            write_options_file(&db.inner.tools, &db.inner.families)?;
        }
        db.inner.tools.events.info(format_args!("DB pointer {:p}", Arc::as_ptr(&db.inner)));
        Ok(db)
    })
}

pub(super) fn assemble(opened: Opened) -> Db {
    let moves = opened.writing.is_some() || opened.manifest_tail.is_some();
    let refreshes = if moves { Refreshes::Allowed } else { Refreshes::Rejected };
    let iterator_tools = IteratorTools::new(&opened.tables, &opened.tools, refreshes);
    Db {
        inner: Arc::new(Inner {
            tools: opened.tools,
            families: opened.families,
            wals: opened.wals,
            committer: opened.committer,
            tables: opened.tables,
            iterator_tools,
            obsolete: opened.obsolete,
            errors: opened.errors,
            release_notifier: opened.release_notifier,
            reads: opened.reads,
            writing: opened.writing,
            caches: opened.caches,
            close: Default::default(),
            changes: RankedMutex::new(&ranks::CHANGES, ()),
            lock: Mutex::new(opened.lock),
            history: Default::default(),
            guard: OnceLock::new(),
            reading: Reading::new(opened.read_up_to, Tails::new(opened.tail, opened.manifest_tail)),
            shares_tables: AtomicBool::new(false),
            tenant: opened.tenant,
        }),
        unguarded: false,
    }
}
