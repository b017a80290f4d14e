//! The one thing a transaction may hold of the write path.

use base::{Result, SequenceNumber};

/// Functions that the leader calls around one write. Such a write has a write group of its own.
pub trait WriteHook: Send + Sync {
    /// Before anything is logged, no other write in between: whether the write may go on (conflicts are
    /// checked here). An error is the write's outcome.
    fn check(&self, last_seq: SequenceNumber) -> Result<()>;

    /// After the write is logged and in the memtables, before it is visible; `first_seq` is the sequence
    /// number of its first record.
    fn before_visible(&self, _first_seq: SequenceNumber) -> Result<()> {
        Ok(())
    }
}
