//! The functions of a transaction that the write path calls.
//!
//! A write with a hook has a write group of its own. A synced write of a transaction can overlap other writes
//! ([`WriteHook::overlaps`]).

use base::{Result, SequenceNumber};
use format::wal::WalPosition;

use super::FilledMemtables;

/// Functions that the leader calls around one write.
pub trait WriteHook: Send + Sync {
    /// Returns which parts of the batch go to the WAL and to the memtables.
    fn parts(&self) -> Parts {
        Parts::All
    }

    /// Returns whether the batch may have range deletions if the numbering is [`Numbering::PerBatch`].
    ///
    /// [`Numbering::PerBatch`]: crate::prepared::Numbering::PerBatch
    fn range_deletions(&self) -> RangeDeletions {
        RangeDeletions::Refused
    }

    /// Returns the memtables that the leader installs instead of an insertion of the batch. Only for [`Filler::write`].
    ///
    /// [`Filler::write`]: super::Filler::write
    fn filled(&self) -> Option<&FilledMemtables<'_>> {
        None
    }

    /// Returns true if the leader may hand the lead over before the sync of this write. Other writes are then appended to the
    /// WAL during the sync, and one sync makes several writes durable. The hook is called while other writes are in
    /// progress, and [`WriteHook::check`] is not called.
    fn overlaps(&self) -> bool {
        false
    }

    /// Decides whether the write continues. Called before anything is written to the WAL. All earlier writes are in
    /// the memtables, and no other write happens until the end of this write. An error is the outcome of the write.
    ///
    /// # Errors
    /// A conflict.
    fn check(&self, _last_seq: SequenceNumber) -> Result<()> {
        Ok(())
    }

    /// Called after the write is in the WAL, before the memtables. Not called with `disableWAL`. `end` is the end of the
    /// record of the write. The write takes `seqs` sequence numbers, and `first_seq` is the first.
    fn logged(&self, _end: WalPosition, _first_seq: SequenceNumber, _seqs: u64) {}

    /// Called after the write is in the WAL and in the memtables, before it is visible. `last_seq` is its last sequence
    /// number.
    ///
    /// # Errors
    /// An error of the hook. The write returns this error although it is in the WAL and in the memtables.
    fn before_visible(&self, _last_seq: SequenceNumber) -> Result<()> {
        Ok(())
    }
}

/// Whether a batch may have range deletions.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum RangeDeletions {
    Refused,
    /// The application guarantees that no transaction uses a key of the batch.
    Allowed,
}

/// Which parts of a batch go to the WAL and to the memtables.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub enum Parts {
    /// All records go to both.
    #[default]
    All,
    /// All records go to both, and markers of a two-phase commit with them.
    Marked,
    /// Nothing goes to the memtables, and no sequence number is used: a prepared section, or a rollback.
    WalOnly,
    /// The first `len` bytes, which hold `count` counted records, go to both. The rest goes only to the memtables,
    /// because the WAL already has it as a prepared section.
    WalPrefix { len: usize, count: u32 },
}
