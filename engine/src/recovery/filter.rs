//! The WAL filter of the application: turns the filter's decision about one record into bytes to replay, or into an
//! error.
//!
//! After `StopReplay`, replay still reads and checks all later records, but applies none of them. So the open
//! reports damage of a durable WAL also with a filter. Source: RocksDB `db/db_impl/db_impl_open.cc`
//! (`InvokeWalFilterIfNeededOnWalRecord`).

use std::path::Path;

use base::{Error, Result, WalNumber};
use format::batch::{self, Batch};
use format::wal::without_marks;

use crate::components::{WalFilter, WalFilterDecision};
use crate::family::FamilySet;
use crate::sync::Arc;

/// The filter during one replay.
pub(super) struct Filtering {
    filter: Arc<dyn WalFilter>,
    stopped: bool,
}

impl Filtering {
    /// Starts a replay. The filter gets the number of the oldest WAL that each column family needs.
    pub fn new(filter: Arc<dyn WalFilter>, families: &FamilySet) -> Filtering {
        let needed = |family: &Arc<crate::family::Family>| {
            (family.id(), family.name().to_string(), family.state().wal_number.file())
        };
        filter.families(&families.all().iter().map(needed).collect::<Vec<_>>());
        Filtering { filter, stopped: false }
    }

    /// Returns the batch to replay in place of `bytes`, which is a batch that decodes. `None` means that the filter
    /// did not change the record. A skipped record becomes an empty batch. The filter gets the batch as the application
    /// wrote it, without marks. The filter gets no batch that has marks only.
    ///
    /// # Errors
    /// Corruption if the filter reports damage, or if the new batch does not decode. NotSupported if the new batch
    /// has more entries than the record.
    pub fn record(&mut self, bytes: &[u8], wal: WalNumber, path: &Path) -> Result<Option<Vec<u8>>> {
        if self.stopped {
            return Ok(Some(empty(bytes)));
        }
        let written = without_marks(bytes);
        if written.len() == batch::HEADER_LEN && bytes.len() > written.len() {
            return Ok(None);
        }
        match self.filter.record(wal.file(), path, &Batch::new(written)?) {
            WalFilterDecision::ContinueProcessing => Ok(None),
            WalFilterDecision::IgnoreCurrentRecord => Ok(Some(empty(bytes))),
            WalFilterDecision::StopReplay => {
                self.stopped = true;
                Ok(Some(empty(bytes)))
            }
            WalFilterDecision::CorruptedRecord => {
                let name = self.filter.name();
                Err(Error::corruption(format!("Corruption reported by Wal Filter : {name}")))
            }
            WalFilterDecision::Replace(new) => self.replace(bytes, new),
        }
    }

    fn replace(&self, old: &[u8], mut new: Vec<u8>) -> Result<Option<Vec<u8>>> {
        Batch::new(&new)?.verify()?;
        if batch::count(&new) > batch::count(old) {
            return Err(Error::not_supported(format!(
                "More than original # of records returned by Wal Filter : {}",
                self.filter.name()
            )));
        }
        batch::set_sequence(&mut new, batch::sequence(old));
        base::invariant!(
            batch::count(&new) <= batch::count(old),
            "a WAL filter adds entries to a batch of {}",
            batch::count(old)
        );
        Ok(Some(new))
    }
}

/// Returns an empty batch at the sequence number of `old`.
fn empty(old: &[u8]) -> Vec<u8> {
    let mut new = vec![0; batch::HEADER_LEN];
    batch::set_sequence(&mut new, batch::sequence(old));
    new
}
