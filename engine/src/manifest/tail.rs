//! Continues the read of a MANIFEST while another process appends to the file: reads only the edits that were appended since.
//!
//! ```text
//!  first read ─► column families ─┐
//!                                 ├─► tail: reader after the last whole edit, and the state after this edit
//!  next read  ─► new edits ───────┘
//! ```
//! Only a MANIFEST that was read to its end is continued, outside of an atomic group. In all other cases, and after a roll, the
//! whole MANIFEST is read again. Cost: the state of the column families stays in memory between two reads. Source: RocksDB
//! `ReactiveVersionSet::ReadAndApply` in `db/version_set.cc`.

use std::path::{Path, PathBuf};

use base::{FileNumber, Result};
use env::Env;
use format::names;
use format::proof::Extent;
use format::wal::Reader;

use super::builder::Builder;
use super::recover::{FileSource, described, open_reader, read_all};
use super::recovered::{ManifestEnd, Recovered};
use crate::sync::{Arc, Mutex};

/// The tail that all views of one reader share.
pub type SharedTail = Arc<Mutex<Option<ManifestTail>>>;

/// The end of a read of a MANIFEST.
pub struct ManifestTail {
    number: FileNumber,
    path: PathBuf,
    /// Stands after the last whole record.
    reader: Reader<FileSource>,
    /// The state after this record.
    state: Builder,
}

/// Does the work of [`recover_proved`](super::recover_proved). If `shared` has a tail of this MANIFEST, only the edits after
/// the tail are read. Leaves the new tail in `shared`.
///
/// # Errors
/// The errors of [`recover`](super::recover).
pub fn recover_following(
    env: &Env,
    dir: &Path,
    number: FileNumber,
    claim: Option<Extent>,
    shared: &SharedTail,
) -> Result<Recovered> {
    let mut slot = shared.lock();
    if let Some(mut tail) = slot.take().filter(|tail| tail.number == number)
        && let Ok(recovered) = tail.advance(claim)
        && tail.is_at_end(&recovered)
        // The file of this name may be another file by now, if the database was destroyed and created again.
        && env.fs.file_size(&tail.path)? == recovered.size
    {
        *slot = Some(tail);
        return Ok(recovered);
    }
    let path = dir.join(names::manifest(number));
    let reader = open_reader(env, &path)?;
    let mut tail = ManifestTail { number, path, reader, state: Builder::new(number) };
    let recovered = tail.read(claim)?;
    *slot = tail.is_at_end(&recovered).then_some(tail);
    Ok(recovered)
}

impl ManifestTail {
    fn advance(&mut self, claim: Option<Extent>) -> Result<Recovered> {
        self.reader.rewind();
        self.state.begin_again();
        self.read(claim)
    }

    fn read(&mut self, claim: Option<Extent>) -> Result<Recovered> {
        let read = read_all(&mut self.reader, &mut self.state, claim);
        described(read, self.state.clone(), &self.path)
    }

    /// Returns true if the next read can continue here.
    fn is_at_end(&self, recovered: &Recovered) -> bool {
        let is_whole = matches!(recovered.end, ManifestEnd::Proved | ManifestEnd::Complete);
        is_whole && !self.state.is_in_group() && self.reader.hole().is_none()
    }
}
