//! Sections whose entries are in memtables before the transaction is decided: the write-prepared and write-unprepared
//! policies.
//!
//! ```text
//!  write    WAL ─► hidden range ─► memtables ─► visible sequence number
//!  commit   commit record in the WAL ─► range decided ─► visible sequence number ─► range removed
//! ```
//! A rollback is a commit too: its records write the values from before the section again, with newer sequence numbers.
//! Facts: RocksDB `utilities/transactions/write_prepared_txn.cc`, `write_unprepared_txn.cc`.

use base::{Error, Result, SequenceNumber, WalNumber};
use format::batch::Marker;
use format::wal::WalPosition;

use super::{BeforeVisible, Db};
use crate::batch::WriteBatch;
use crate::options::WriteOptions;
use crate::prepared::{self, Numbering, PreparedSections, SectionKind};
use crate::sequence::{Decision, Snapshots};
use crate::sync::{Arc, Mutex};
use crate::write::{Parts, WriteHook};

/// A section that is in the WAL and in the memtables.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct WrittenSection {
    /// The WAL that holds the section.
    pub wal: WalNumber,
    /// The first and the last sequence number of its entries.
    pub first: SequenceNumber,
    pub last: SequenceNumber,
}

/// A transaction that has sections, or that will have sections.
#[derive(Clone, Copy, Debug)]
pub struct SectionOwner<'a> {
    pub name: &'a [u8],
    /// The WAL of its oldest section; `None` before the first section.
    pub wal: Option<WalNumber>,
    pub decision: &'a Arc<Decision>,
}

/// The write of one section. The entries of the section are marked as undecided before they are in a memtable. Readers skip
/// undecided entries.
struct Write<'a> {
    prepared: &'a PreparedSections,
    snapshots: &'a Arc<Snapshots>,
    owner: SectionOwner<'a>,
    written: Mutex<Option<WrittenSection>>,
}

impl WriteHook for Write<'_> {
    fn parts(&self) -> Parts {
        Parts::Marked
    }

    fn overlaps(&self) -> bool {
        true
    }

    fn logged(&self, end: WalPosition, first: SequenceNumber, seqs: u64) {
        // The WAL of the oldest section keeps all later WALs.
        self.prepared.add(self.owner.name, end, first, Numbering::PerBatch);
        base::invariant!(
            first > SequenceNumber::ZERO && seqs > 0,
            "a section has {seqs} sequence numbers from {first} on"
        );
        let last = (first + seqs).previous();
        Snapshots::add_undecided(self.snapshots, first, last, self.owner.decision);
        *self.written.lock() = Some(WrittenSection { wal: end.number, first, last });
    }
}

/// Decides the sections of a transaction: by a commit or by a rollback.
struct Decide<'a> {
    prepared: &'a PreparedSections,
    name: &'a [u8],
    wal: WalNumber,
    decision: &'a Decision,
    before_visible: Option<BeforeVisible<'a>>,
}

impl WriteHook for Decide<'_> {
    fn parts(&self) -> Parts {
        Parts::Marked
    }

    fn overlaps(&self) -> bool {
        self.before_visible.is_none()
    }

    fn logged(&self, end: WalPosition, _first_seq: SequenceNumber, _seqs: u64) {
        base::invariant!(
            self.wal <= end.number,
            "a decision is in WAL {}, and its section is in the newer WAL {}",
            end.number,
            self.wal
        );
        self.prepared.committed(self.name, end.number);
    }

    fn before_visible(&self, last_seq: SequenceNumber) -> Result<()> {
        self.decision.decide(last_seq);
        self.before_visible.map_or(Ok(()), |hook| hook(last_seq))
    }
}

/// The calls of a database for transactions with sections.
#[derive(Clone, Copy)]
pub struct SectionWriter<'a> {
    db: &'a Db,
}

impl<'a> SectionWriter<'a> {
    /// Makes a view of the database with the calls for sections. Allocates nothing.
    pub fn new(db: &'a Db) -> Self {
        SectionWriter { db }
    }
}

impl SectionWriter<'_> {
    /// Writes the records of a batch as a section of `owner` to the WAL and to the memtables. Other readers do not see its
    /// entries.
    ///
    /// # Errors
    /// The errors of [`Db::write`]. After an error of the WAL, a later recovery may find the section nevertheless.
    pub fn write(
        &self,
        records: &[u8],
        kind: SectionKind,
        owner: SectionOwner<'_>,
        options: &WriteOptions,
    ) -> Result<WrittenSection> {
        let options = WriteOptions { disableWAL: false, ..*options };
        let encoded = prepared::encode(kind.begin(), owner.name, records, SequenceNumber::ZERO);
        let mut section = WriteBatch::from_bytes(&encoded)?;
        let tools = &self.db.inner.tools;
        let hook = Write {
            prepared: self.db.inner.committer.prepared(),
            snapshots: &tools.snapshots,
            owner,
            written: Mutex::new(None),
        };
        self.db.for_transactions().write_with_hook(&mut section, &options, &hook)?;
        let written = *hook.written.lock();
        written.ok_or_else(|| Error::aborted("a section was not written to the WAL"))
    }

    /// Commits the sections of `owner`, and writes `commit_time` with the commit. `before_visible` receives the last sequence
    /// number of the commit. Returns the first sequence number.
    ///
    /// # Errors
    /// The errors of [`Db::write`]; then the transaction is still undecided.
    pub fn commit(
        &self,
        owner: SectionOwner<'_>,
        commit_time: &WriteBatch,
        options: &WriteOptions,
        before_visible: Option<BeforeVisible<'_>>,
    ) -> Result<SequenceNumber> {
        let mut batch = commit_time.clone();
        batch.marker(Marker::Commit(owner.name));
        self.decide(batch, owner, options, before_visible)
    }

    /// Rolls back the sections of `owner`. `undo` restores the value that each key of the sections had before the
    /// sections.
    ///
    /// # Errors
    /// The errors of [`Db::write`]; then the transaction is still undecided.
    pub fn roll_back(
        &self,
        owner: SectionOwner<'_>,
        undo: &WriteBatch,
        options: &WriteOptions,
    ) -> Result<SequenceNumber> {
        let mut batch = undo.clone();
        batch.marker(Marker::Rollback(owner.name));
        self.decide(batch, owner, options, None)
    }

    fn decide(
        &self,
        mut batch: WriteBatch,
        owner: SectionOwner<'_>,
        options: &WriteOptions,
        before_visible: Option<BeforeVisible<'_>>,
    ) -> Result<SequenceNumber> {
        let Some(wal) = owner.wal else {
            return Err(Error::invalid_argument("the transaction has no section"));
        };
        // A compaction drops entries that a decided transaction hides, so recovery must find the decision in the WAL.
        let options = WriteOptions { disableWAL: false, ..*options };
        let prepared = self.db.inner.committer.prepared();
        let hook = Decide { prepared, name: owner.name, wal, decision: owner.decision, before_visible };
        self.db.for_transactions().write_with_hook(&mut batch, &options, &hook)?;
        self.db.inner.tools.sequence.undecided().remove(owner.decision);
        Ok(batch.sequence())
    }
}
