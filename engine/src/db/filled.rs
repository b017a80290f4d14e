//! Large batches that become memtables of their own: the commit of a large transaction, and the ingestion of a batch.

use base::{Error, Result, SequenceNumber};
use format::batch::Marker;
use format::wal::WalPosition;

use super::{BeforeVisible, Db, PreparedName};
use crate::batch::WriteBatch;
use crate::options::WriteOptions;
use crate::prepared::PreparedSections;
use crate::write::{FilledMemtables, Filler, Parts, WriteHook};

/// Installs filled memtables. For a commit, keeps the WAL of the prepared section until the WAL of the commit is
/// obsolete.
struct Install<'a> {
    filled: FilledMemtables<'a>,
    /// The tracker of the prepared sections, and the name of the transaction that commits.
    section: Option<(&'a PreparedSections, &'a [u8])>,
    before_visible: Option<BeforeVisible<'a>>,
}

impl WriteHook for Install<'_> {
    fn parts(&self) -> Parts {
        Parts::Marked
    }

    fn filled(&self) -> Option<&FilledMemtables<'_>> {
        Some(&self.filled)
    }

    fn logged(&self, end: WalPosition, _first_seq: SequenceNumber, _seqs: u64) {
        if let Some((prepared, name)) = self.section {
            prepared.committed(name, end.number);
        }
    }

    fn before_visible(&self, last_seq: SequenceNumber) -> Result<()> {
        self.before_visible.map_or(Ok(()), |hook| hook(last_seq))
    }
}

/// The calls of a database for large batches.
#[derive(Clone, Copy)]
pub struct LargeBatches<'a> {
    db: &'a Db,
}

impl<'a> LargeBatches<'a> {
    /// Makes a view of the database with the calls for large batches. Allocates nothing.
    pub fn new(db: &'a Db) -> Self {
        LargeBatches { db }
    }

    /// Commits a prepared transaction as [`super::ForTransactions::commit_prepared`] does, but makes the records of `batch` memtables of
    /// their own. Returns `None` and writes nothing if the records must go to the active memtables. `batch` has no
    /// timestamps.
    ///
    /// # Errors
    /// The errors of [`super::ForTransactions::commit_prepared`].
    pub fn commit_prepared(
        self,
        prepared: PreparedName<'_>,
        commit_time: &WriteBatch,
        batch: &WriteBatch,
        options: &WriteOptions,
        before_visible: Option<BeforeVisible<'_>>,
    ) -> Result<Option<SequenceNumber>> {
        let filler = Filler::new(&self.db.inner.writing()?.writer);
        let snapshots = &self.db.inner.tools.snapshots;
        let Some(filled) = filler.fill(Some(commit_time), batch, options, snapshots)? else {
            return Ok(None);
        };
        let mut front = commit_time.clone();
        front.marker(Marker::Commit(prepared.name));
        let sections = self.db.inner.committer.prepared();
        let hook = Install { filled, section: Some((sections, prepared.name)), before_visible };
        filler.write(&mut front, &hook.filled, options, &hook)?;
        if options.disableWAL {
            // After a crash, recovery restores the transaction as prepared. Until then no reader needs the WAL of its
            // section.
            sections.committed(prepared.name, self.db.inner.wals.active_number());
        }
        Ok(Some(front.sequence()))
    }

    /// Writes a batch without the WAL: its records become memtables of their own, and are flushed. RocksDB's
    /// `IngestWriteBatchWithIndex`.
    ///
    /// # Errors
    /// NotSupported without `disableWAL`, with a write guard (the batch takes no locks), for range deletions, for
    /// column families with timestamps, and while a column family has `enable_blob_direct_write`. The errors of [`Db::write`].
    pub fn ingest(self, batch: &WriteBatch, options: &WriteOptions) -> Result<()> {
        if self.db.inner.guard.get().is_some() {
            return Err(Error::not_supported("IngestWriteBatchWithIndex not implemented."));
        }
        if !options.disableWAL {
            return Err(Error::not_supported("IngestWriteBatchWithIndex without disableWAL"));
        }
        if self.db.inner.families.any_direct_writes() {
            return Err(Error::not_supported(
                "IngestWriteBatchWithIndex is not supported with enable_blob_direct_write",
            ));
        }
        let filler = Filler::new(&self.db.inner.writing()?.writer);
        match filler.fill(None, batch, options, &self.db.inner.tools.snapshots)? {
            Some(filled) => {
                let hook = Install { filled, section: None, before_visible: None };
                filler.write(&mut WriteBatch::new(), &hook.filled, options, &hook)
            }
            None if batch.count() == 0 => Ok(()),
            None => Err(Error::not_supported(
                "the ingestion of a batch with range deletions or timestamps, or with the policies WritePrepared and \
                 WriteUnprepared",
            )),
        }
    }
}
