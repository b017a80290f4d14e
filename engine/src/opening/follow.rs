//! Records how far a read-only open read. The next open of the same reader can see that the writer has written
//! nothing since, and takes over the open SST files and blob files.

use base::{Arrange, FileNumber, Result, Subcode, WalNumber};
use env::Env;
use env::posix::Tenant;
use format::names::FileName;
use format::proof::Extent;

use crate::family::Family;
use crate::files::Paths;
use crate::manifest::{Recovered, SharedTail, read_current};
use crate::recovery::Tail;
use crate::source::TableCache;
use crate::sync::{Arc, Mutex};

/// How far a read-only open read the MANIFEST and the WALs.
#[derive(Clone, Debug, Default, PartialEq, Eq)]
pub struct ReadUpTo {
    manifest: FileNumber,
    manifest_bytes: u64,
    /// The WALs from this number on are read. `None`: no WAL is read.
    oldest_wal: Option<WalNumber>,
    /// Number and bytes of each WAL that was read, ascending.
    wals: Vec<(WalNumber, u64)>,
    /// True if the open shows an older state, because an SST file of the newest state is missing or damaged.
    is_older: bool,
}

/// The state that the next catch-up of a reader needs.
pub struct Tails {
    /// Where the replay of the WALs continues. The first catch-up takes it.
    pub wal: Mutex<Option<Tail>>,
    /// Where the next read of the MANIFEST continues, if the reader follows a writer. The views of the reader share it.
    pub manifest: Option<SharedTail>,
}

impl Tails {
    /// Makes the state after a read-only open. `manifest` is `None` if the reader does not follow a writer.
    pub fn new(wal: Option<Tail>, manifest: Option<SharedTail>) -> Tails {
        Tails { wal: Mutex::new(wal), manifest }
    }
}

/// The open files and the column families that an open takes over from an earlier open.
#[derive(Clone)]
pub struct Before {
    /// The open files.
    pub tables: Arc<TableCache>,
    /// The column families of the earlier open. If the writer dropped a column family, the next open keeps it as it is.
    pub families: Vec<Arc<Family>>,
    /// The database that the files belong to.
    pub db_id: String,
}

impl ReadUpTo {
    pub(super) fn new(recovered: &Recovered, oldest_wal: Option<WalNumber>, wals: &[Extent]) -> Self {
        let mut wals: Vec<(WalNumber, u64)> =
            wals.iter().map(|wal| (WalNumber::of_file(wal.number), wal.bytes)).collect();
        wals.arrange();
        let (manifest, manifest_bytes) = (recovered.number, recovered.size);
        ReadUpTo { manifest, manifest_bytes, oldest_wal, wals, is_older: false }
    }

    /// Returns a copy for an open that shows an older state than the newest state if `is_older`.
    pub(super) fn of_older_state(self, is_older: bool) -> Self {
        ReadUpTo { is_older, ..self }
    }

    /// Returns true if the open shows an older state than the newest state of the MANIFEST.
    pub fn is_older(&self) -> bool {
        self.is_older
    }

    /// Returns true if the MANIFEST is the same file with the same size. Cost: CURRENT and one file size.
    ///
    /// # Errors
    /// Errors of the file system.
    pub fn is_manifest_unchanged(&self, env: &Env, paths: &Paths) -> Result<bool> {
        Ok(read_current(env, &paths.db)? == self.manifest
            && env.fs.file_size(&paths.manifest(self.manifest))? == self.manifest_bytes)
    }

    /// Returns the number of the MANIFEST, and the bytes of the MANIFEST that were read.
    pub fn manifest(&self) -> (FileNumber, u64) {
        (self.manifest, self.manifest_bytes)
    }

    /// Returns the number and the bytes of each WAL that was read, ascending.
    pub fn wals(&self) -> &[(WalNumber, u64)] {
        &self.wals
    }

    /// Returns a copy with these WALs: number and bytes, ascending.
    #[must_use]
    pub fn with_wals(&self, wals: Vec<(WalNumber, u64)>) -> Self {
        base::invariant!(
            wals.is_sorted_by(|(older, _), (newer, _)| older < newer),
            "the WALs of a reader are not in the order of their numbers: {wals:?}"
        );
        ReadUpTo { wals, ..self.clone() }
    }

    /// Returns true if the files on disk end where the open stopped reading. Returns false if the open shows an older state: the files
    /// of the newest state can become readable without a change of the MANIFEST. Returns false if a WAL has bytes after
    /// its last record: if the WAL is recycled, a new record does not change the size of the file. Cost: CURRENT,
    /// one file size, a directory listing, and a size for each WAL.
    ///
    /// # Errors
    /// Errors of the file system.
    pub fn is_everything(&self, env: &Env, paths: &Paths) -> Result<bool> {
        if self.is_older || !self.is_manifest_unchanged(env, paths)? {
            return Ok(false);
        }
        let Some(oldest) = self.oldest_wal else { return Ok(true) };
        let mut wals = Vec::new();
        for name in env.fs.list(&paths.wal)? {
            match FileName::parse(&name) {
                Some(FileName::Wal(number)) if number >= oldest => match env.fs.file_size(&paths.wal(number))
                {
                    Ok(size) => wals.push((number, size)),
                    // The writer deleted the WAL after the listing.
                    Err(error) if error.subcode() == Subcode::PathNotFound => return Ok(false),
                    Err(error) => return Err(error),
                },
                _ => {}
            }
        }
        wals.arrange();
        Ok(wals == self.wals)
    }
}

/// Enters the executor. The threads of the executor free spare memory when the last database closes.
pub fn tenant(env: &Env) -> Option<Tenant> {
    let executor = &env.executor;
    executor.has_threads().then(|| Tenant::enter(executor.clone(), mem::arena::forget_spares))
}
