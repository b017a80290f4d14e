//! Writes that give sequence numbers to sub-batches ([`Numbering::PerBatch`]): the write-prepared and write-unprepared
//! policies.
//!
//! The batch that is written is a copy: each of its sub-batches ends with a marker. So a write group is a sequence of
//! sub-batches too, in the WAL and in the memtables.
//!
//! [`Numbering::PerBatch`]: crate::prepared::Numbering::PerBatch

use base::{Error, Result};

use super::{RangeDeletions, WriteHook, Writer};
use crate::apply;
use crate::batch::WriteBatch;
use crate::options::WriteOptions;

impl Writer {
    /// Writes a copy of the batch in which each sub-batch ends with a marker.
    ///
    /// # Errors
    /// The errors of [`Writer::write`]. InvalidArgument for range deletions, unless the hook allows them. NotSupported for a batch
    /// with a WAL termination point.
    pub(super) fn write_separated(
        &self,
        batch: &mut WriteBatch,
        options: &WriteOptions,
        hook: Option<&dyn WriteHook>,
    ) -> Result<()> {
        let ranges = hook.map_or(RangeDeletions::Refused, WriteHook::range_deletions);
        if ranges == RangeDeletions::Refused && batch.contents().range_deletions {
            return Err(Error::invalid_argument(
                "range deletions with the write policies WritePrepared and WriteUnprepared",
            ));
        }
        if batch.has_wal_end() {
            return Err(Error::not_supported(
                "a WAL termination point with the write policies WritePrepared and WriteUnprepared",
            ));
        }
        batch.status()?;
        batch.verify_protection()?;
        let separated = apply::separate(batch.records(), &self.switcher.families)?;
        let mut copy = batch.with_records(&separated.records);
        let outcome = self.write_as(&mut copy, separated.batches, options, hook);
        batch.set_sequence(copy.sequence());
        outcome
    }
}
