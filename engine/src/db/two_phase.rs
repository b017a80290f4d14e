//! Two-phase commit: prepare, commit and rollback of a named batch, and the prepared transactions that recovery
//! found.
//!
//! The prepared section is in the WAL and in no memtable. The commit writes a record that names the section to the WAL,
//! and the records of the batch to the memtables. Facts: RocksDB `utilities/transactions/pessimistic_transaction.cc`.
//!
//! Not here: the write-prepared and write-unprepared policies (`sections`).

use base::{Result, SequenceNumber, WalNumber};
use format::batch::Marker;
use format::wal::WalPosition;

use super::Db;
use crate::batch::WriteBatch;
use crate::options::WriteOptions;
use crate::prepared::{self, Numbering, PreparedSections, Section};
use crate::sequence::{OwnRanges, Snapshot, Snapshots};
use crate::sync::{Arc, AtomicWalNumber};
use crate::write::{Parts, RangeDeletions, WriteHook};

/// A prepared transaction.
#[derive(Clone, Copy, Debug)]
pub struct PreparedName<'a> {
    pub name: &'a [u8],
    /// The WAL that held its section after the prepare. A resume may have written the section to a newer WAL.
    pub wal: WalNumber,
}

impl PreparedName<'_> {
    /// Commits a prepared transaction whose batch has records that the prepared section does not have. The record in the WAL
    /// rolls the section back and has all records of `commit_time` and `batch`, so a crash keeps all of them or none.
    /// `batch` has the commit timestamp in its keys. Returns the first sequence number.
    ///
    /// RocksDB writes the records after the prepare only to the memtables. A crash loses them.
    ///
    /// # Errors
    /// The errors of [`Db::write`]; then the transaction is still prepared.
    pub fn commit_grown(
        self,
        db: &Db,
        commit_time: &WriteBatch,
        batch: &WriteBatch,
        options: &WriteOptions,
        before_visible: Option<BeforeVisible<'_>>,
    ) -> Result<SequenceNumber> {
        let mut whole = WriteBatch::with_capacity(commit_time.data_size() + batch.data_size());
        whole.marker(Marker::Rollback(self.name));
        whole.append(commit_time);
        whole.append(batch);
        let prepared_sections = db.inner.committer.prepared();
        let hook = Commit { prepared: prepared_sections, of: self, parts: Parts::Marked, before_visible };
        db.for_transactions().write_with_hook(&mut whole, options, &hook)?;
        if options.disableWAL {
            // After a crash, recovery restores the transaction as prepared. Until then no reader needs the WAL of its
            // section.
            hook.committed(db.inner.wals.active_number());
        }
        Ok(whole.sequence())
    }
}

/// Called at a commit, before the writes are visible.
pub type BeforeVisible<'a> = &'a (dyn Fn(SequenceNumber) -> Result<()> + Send + Sync);

/// Registers the section before its WAL can become obsolete.
struct Prepare<'a> {
    prepared: &'a PreparedSections,
    name: &'a [u8],
    wal: AtomicWalNumber,
}

impl WriteHook for Prepare<'_> {
    fn parts(&self) -> Parts {
        Parts::WalOnly
    }

    fn overlaps(&self) -> bool {
        true
    }

    fn logged(&self, end: WalPosition, first_seq: SequenceNumber, _seqs: u64) {
        self.prepared.add(self.name, end, first_seq, Numbering::PerEntry);
        self.wal.swap(end.number);
    }
}

/// Keeps the WAL of the section until the WAL of the commit is obsolete.
struct Commit<'a> {
    prepared: &'a PreparedSections,
    of: PreparedName<'a>,
    parts: Parts,
    before_visible: Option<BeforeVisible<'a>>,
}

impl Commit<'_> {
    /// Records that the commit record is in the WAL `wal`.
    fn committed(&self, wal: WalNumber) {
        base::invariant!(
            self.of.wal <= wal,
            "a commit is in WAL {wal}, and its section was written to the newer WAL {}",
            self.of.wal
        );
        self.prepared.committed(self.of.name, wal);
    }
}

impl WriteHook for Commit<'_> {
    fn parts(&self) -> Parts {
        self.parts
    }

    fn overlaps(&self) -> bool {
        self.before_visible.is_none()
    }

    fn logged(&self, end: WalPosition, _first_seq: SequenceNumber, _seqs: u64) {
        self.committed(end.number);
    }

    fn before_visible(&self, last_seq: SequenceNumber) -> Result<()> {
        self.before_visible.map_or(Ok(()), |hook| hook(last_seq))
    }
}

/// Calls a function before a write outside of prepared transactions becomes visible.
struct Watched<'a> {
    before_visible: BeforeVisible<'a>,
}

impl WriteHook for Watched<'_> {
    fn before_visible(&self, last_seq: SequenceNumber) -> Result<()> {
        (self.before_visible)(last_seq)
    }
}

/// Writes only the marker, and only to the WAL: the memtables hold nothing of the transaction.
struct Rollback<'a> {
    prepared: &'a PreparedSections,
    name: &'a [u8],
}

impl WriteHook for Rollback<'_> {
    fn parts(&self) -> Parts {
        Parts::WalOnly
    }

    fn overlaps(&self) -> bool {
        true
    }

    // Before the write is published. A resume waits for the publication, so it never writes a section again whose rollback is
    // durable.
    fn logged(&self, _end: WalPosition, _first_seq: SequenceNumber, _seqs: u64) {
        self.prepared.rolled_back(self.name);
    }
}

/// What the transactions of a layer above need from a database: see [`Db::for_transactions`].
#[derive(Clone, Copy)]
pub struct ForTransactions<'a> {
    pub(super) db: &'a Db,
}

impl ForTransactions<'_> {
    /// Writes a batch as the prepared section `name`. Returns the WAL that holds the section. The batch stays as it is.
    ///
    /// # Errors
    /// The errors of [`Db::write`]. After an error of the WAL, a later recovery may find the section nevertheless.
    pub fn prepare(&self, batch: &WriteBatch, name: &[u8], options: &WriteOptions) -> Result<WalNumber> {
        let options = WriteOptions { disableWAL: false, ..*options };
        let mut section = WriteBatch::from_bytes(&prepared::encode(
            Marker::BeginPrepare,
            name,
            batch.records(),
            SequenceNumber::ZERO,
        ))?;
        let hook = Prepare {
            prepared: self.db.inner.committer.prepared(),
            name,
            wal: AtomicWalNumber::new(WalNumber::ZERO),
        };
        self.write_with_hook(&mut section, &options, &hook)?;
        let wal = hook.wal.load();
        base::invariant!(wal > WalNumber::ZERO, "a section is written, and no WAL holds the section");
        Ok(wal)
    }

    /// Commits a prepared transaction. The records of `commit_time` go to the WAL and to the memtables. The records
    /// of `batch` go only to the memtables, after `commit_time`: the WAL has them as the prepared section. `batch`
    /// has the commit timestamp in its keys. `before_visible` receives the last sequence number. Returns the first
    /// sequence number.
    ///
    /// # Errors
    /// The errors of [`Db::write`]; then the transaction is still prepared.
    pub fn commit_prepared(
        &self,
        prepared: PreparedName<'_>,
        commit_time: &WriteBatch,
        batch: &WriteBatch,
        timestamp: Option<&[u8]>,
        options: &WriteOptions,
        before_visible: Option<BeforeVisible<'_>>,
    ) -> Result<SequenceNumber> {
        let mut whole = WriteBatch::with_capacity(commit_time.data_size() + batch.data_size());
        whole.append(commit_time);
        whole.marker(match timestamp {
            None => Marker::Commit(prepared.name),
            Some(timestamp) => Marker::CommitWithTimestamp { timestamp, xid: prepared.name },
        });
        let parts = Parts::WalPrefix { len: whole.data_size(), count: whole.count() };
        whole.append(batch);
        let hook =
            Commit { prepared: self.db.inner.committer.prepared(), of: prepared, parts, before_visible };
        self.write_with_hook(&mut whole, options, &hook)?;
        if options.disableWAL {
            // After a crash, recovery restores the transaction as prepared. Until then no reader needs the WAL of its
            // section.
            hook.committed(self.db.inner.wals.active_number());
        }
        Ok(whole.sequence())
    }

    /// Rolls a prepared transaction back.
    ///
    /// # Errors
    /// The errors of [`Db::write`]; then the transaction is still prepared.
    pub fn rollback_prepared(&self, prepared: PreparedName<'_>, options: &WriteOptions) -> Result<()> {
        let mut batch = WriteBatch::new();
        batch.marker(Marker::Rollback(prepared.name));
        let hook = Rollback { prepared: self.db.inner.committer.prepared(), name: prepared.name };
        self.write_with_hook(&mut batch, options, &hook)?;
        if options.disableWAL {
            // As in `commit_prepared`: a crash brings the section back, and until then no reader needs its WAL.
            hook.prepared.rolled_back(prepared.name);
        }
        Ok(())
    }

    /// Writes a batch without the write guard, which locks keys. `before_visible` receives the last sequence number.
    ///
    /// # Errors
    /// The errors of [`Db::write`].
    pub fn write_unguarded(
        &self,
        batch: &mut WriteBatch,
        options: &WriteOptions,
        before_visible: Option<BeforeVisible<'_>>,
    ) -> Result<()> {
        match before_visible {
            None => self.db.inner.writing()?.writer.write(batch, options, None),
            Some(before_visible) => self.write_with_hook(batch, options, &Watched { before_visible }),
        }
    }

    /// Takes the prepared transactions that recovery found, oldest first. A second call returns nothing.
    pub fn take_recovered(&self) -> Vec<Section> {
        self.db.inner.committer.prepared().take_recovered()
    }

    /// Takes a snapshot at `seq`. Only [`BeforeVisible`] may call it, with the sequence number that it received.
    pub fn snapshot_at(&self, seq: SequenceNumber) -> Arc<Snapshot> {
        let tools = &self.db.inner.tools;
        Snapshots::take_at(&tools.snapshots, seq, tools.env.clock.now_seconds())
    }

    /// Returns the snapshot that a transaction with these sections reads: `base`, or a snapshot of now, and the
    /// sections.
    pub fn snapshot_with_own(&self, base: Option<Arc<Snapshot>>, own: Arc<OwnRanges>) -> Arc<Snapshot> {
        Snapshots::take_with_own(base.unwrap_or_else(|| self.db.snapshot()), own)
    }

    /// Passes all later writes outside of transactions to `guard`. Only the first call has an effect.
    pub fn set_write_guard(&self, guard: Arc<dyn WriteGuard>) {
        let _ = self.db.inner.guard.set(guard);
    }

    /// Writes a batch, and calls the hook of a transaction during the write.
    pub fn write_with_hook(
        &self,
        batch: &mut WriteBatch,
        options: &WriteOptions,
        hook: &dyn WriteHook,
    ) -> Result<()> {
        self.db.inner.writing()?.writer.write(batch, options, Some(hook))
    }
}

/// Receives the writes outside of transactions, to lock their keys.
pub trait WriteGuard: Send + Sync {
    /// Writes the batch with [`ForTransactions::write_unguarded`], under locks.
    ///
    /// # Errors
    /// The errors of [`Db::write`]; TimedOut if a key is locked.
    fn write(&self, db: &Db, batch: &mut WriteBatch, options: &WriteOptions) -> Result<()>;
}

/// Writes a batch without the write guard. The batch may have range deletions with every write policy: the application guarantees
/// that no transaction uses a key of the batch.
///
/// # Errors
/// The errors of [`Db::write`].
pub fn write_without_conflicts(db: &Db, batch: &mut WriteBatch, options: &WriteOptions) -> Result<()> {
    db.for_transactions().write_with_hook(batch, options, &WithoutConflicts)
}

/// A write whose keys no transaction uses.
struct WithoutConflicts;

impl WriteHook for WithoutConflicts {
    fn range_deletions(&self) -> RangeDeletions {
        RangeDeletions::Allowed
    }
}

/// Takes a snapshot at the visible sequence number for the conflict checks of a transaction. A flush or a compaction then keeps an
/// entry of each key that is written after the snapshot, also of a key whose value a single deletion removed.
pub fn snapshot_for_conflicts(db: &Db) -> Arc<Snapshot> {
    let tools = &db.inner.tools;
    Snapshots::take_for_conflicts(&tools.snapshots, tools.env.clock.now_seconds())
}

/// Returns a handle of the same database whose writes bypass the write guard: they lock no keys.
pub fn unguarded(db: &Db) -> Db {
    Db { inner: db.inner.clone(), unguarded: true }
}
