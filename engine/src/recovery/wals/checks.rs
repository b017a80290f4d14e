//! Checks of a replay against other state: the SST files, and the predecessor records of WALs. No check changes the replay.

use base::{Error, Result};
use format::wal::Predecessor;

use super::Replay;
use crate::options::WalRecoveryMode;

impl Replay<'_> {
    /// Fails the open if a column family has newer SST files than the WAL where replay stopped. This column family
    /// would be in a later state than the others.
    pub(super) fn check_consistency(&self) -> Result<()> {
        let Some(stopped) = self.cut_off else { return Ok(()) };
        let ahead = self.families.all().into_iter().find(|f| {
            let state = f.state();
            state.wal_number > stopped && state.version.num_files() > 0
        });
        match ahead {
            None => Ok(()),
            Some(family) => Err(Error::corruption(format!(
                "Column family inconsistency: SST file contains data beyond the point of corruption, in {family:?}"
            ))
            .file(self.tools.paths.wal(stopped))),
        }
    }

    /// Compares the previous WAL with the predecessor record of this WAL. Returns the mismatch, if there is
    /// one.
    pub(super) fn predecessor_fault(&self, recorded: &Predecessor) -> Option<Error> {
        match &self.previous {
            _ if self.dropping => None,
            None if recorded.wal_number >= self.settings.min_wal => {
                Some(Error::corruption(format!("Missing WAL of log number {}", recorded.wal_number)))
            }
            // The file of a recycled WAL may be larger than the WAL. The WAL was read completely if its end
            // matches.
            Some((read, end))
                if recorded != read && *recorded != (Predecessor { size_bytes: *end, ..*read }) =>
            {
                Some(Error::corruption(format!(
                    "Mismatched predecessor log number of WAL: recorded {recorded}, read {read}, whole up to {end}"
                )))
            }
            _ => None,
        }
    }

    /// Returns true if a predecessor mismatch is a fault in this recovery mode. If false, the mismatch only
    /// matters to a later open with `track_and_verify_wals`.
    pub(super) fn verifies_predecessors(&self) -> bool {
        self.settings.verify_predecessors && self.settings.mode != WalRecoveryMode::SkipAnyCorruptedRecords
    }
}
