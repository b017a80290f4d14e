//! The rule for the snapshot and the timestamp of a read. Point reads and iterators share the rule.
//!
//! Not here: whether the history at the timestamp is complete. The super version knows this.

use base::{Error, Result};

use super::Family;
use crate::options::ReadOptions;
use crate::sequence::LastSequence;
use crate::sync::Arc;

impl Family {
    /// Checks that the snapshot and the timestamp of a read fit the column family.
    ///
    /// # Errors
    /// InvalidArgument for a snapshot of another database or of an earlier open. InvalidArgument if a timestamp is
    /// missing or has another length than the timestamps of the column family. NotSupported for a snapshot in a
    /// column family with `inplace_update_support`.
    pub(crate) fn check_read(&self, sequence: &Arc<LastSequence>, options: &ReadOptions) -> Result<()> {
        if let Some(snapshot) = &options.snapshot {
            if !snapshot.belongs_to(sequence) {
                return Err(Error::invalid_argument(format!(
                    "reading column family {}: the snapshot is of another database or of an earlier open",
                    self.name()
                )));
            }
            self.check_snapshot()?;
        }
        let size = self.order().user.timestamp_size();
        match &options.timestamp {
            None if size == 0 => Ok(()),
            Some(timestamp) if size > 0 && timestamp.len() == size => Ok(()),
            None => Err(Error::invalid_argument(format!(
                "cannot call this method on column family {} that enables timestamp: ReadOptions::timestamp is not set",
                self.name()
            ))),
            Some(_) if size == 0 => Err(Error::invalid_argument(format!(
                "cannot call this method on column family {} that does not enable timestamp: ReadOptions::timestamp is set",
                self.name()
            ))),
            Some(timestamp) => Err(Error::invalid_argument(format!(
                "Timestamp sizes mismatch: expect {size}, {} given: ReadOptions::timestamp for column family {}",
                timestamp.len(),
                self.name()
            ))),
        }
    }
}
