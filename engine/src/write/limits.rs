//! The limits of one write: what a write batch and a write group may hold, and which groups count as long.

use base::key::MAX_SEQUENCE;
use base::{Error, Result, SequenceNumber};
use env::rate::IoPriority;

use super::group::Group;
use super::settings::WriteSettings;
use crate::batch::WriteBatch;
use crate::options::WriteOptions;

/// Checks that sequence numbers are left for a write group. Recovery rejects a WAL record whose sequence numbers reach
/// [`MAX_SEQUENCE`], so the check comes before the WAL append.
///
/// # Errors
/// Aborted if too few numbers are left. The caller can copy the entries into a new database, which starts at 1.
#[inline]
pub(super) fn check_sequence_room(first: SequenceNumber, count: u64) -> Result<()> {
    if first + count > MAX_SEQUENCE {
        return Err(Error::aborted(format!(
            "the sequence numbers of the database end at {MAX_SEQUENCE}; a write of {count} entries cannot start at \
             {first}. Copy the entries into a new database"
        )));
    }
    Ok(())
}

/// Returns true if the inserts of a group take longer than waking the next leader. A short group is inserted before
/// the lead is handed over, also with `enable_pipelined_write`. With eight threads on two cores, handing the lead
/// to a sleeping writer before each insert gave 65,000 writes a second. Inserting first gave 390,000.
#[inline]
pub(super) fn is_long_insert(group: &Group, batch: &WriteBatch) -> bool {
    const ENTRIES: u32 = 64;
    group.count.saturating_add(batch.count()) >= ENTRIES
}

/// Rejects a write batch that may be too large for a memtable. The WAL append comes before the memtable, so a batch
/// that fails in the memtable would stop all writes.
///
/// # Errors
/// InvalidArgument above 7 GiB of memory: the bytes of the batch, and 96 bytes for each entry.
#[inline]
pub(super) fn check_memory(batch: &WriteBatch) -> Result<()> {
    const ENTRY_BYTES_MAX: u64 = 96;
    let bytes = batch.data_size() as u64 + u64::from(batch.count()) * ENTRY_BYTES_MAX;
    if bytes > mem::arena::BATCH_BYTES_MAX {
        return Err(Error::invalid_argument(format!(
            "the write batch needs {bytes} bytes in a memtable, and a memtable has room for {}. Write smaller batches",
            mem::arena::BATCH_BYTES_MAX
        )));
    }
    Ok(())
}

/// Checks `rate_limiter_priority` by the rules of RocksDB's `db/db_impl/db_impl_write.cc`.
#[inline]
pub(super) fn check_priority(settings: &WriteSettings, options: &WriteOptions) -> Result<()> {
    match options.rate_limiter_priority {
        None | Some(IoPriority::Total) => Ok(()),
        Some(IoPriority::User) if !options.disableWAL && !settings.manual_wal_flush => Ok(()),
        Some(IoPriority::User) => Err(Error::invalid_argument(
            "WriteOptions::rate_limiter_priority currently only supports rate-limiting automatic WAL flush, \
                 which requires `WriteOptions::disableWAL` and `DBOptions::manual_wal_flush` both set to false",
        )),
        Some(_) => Err(Error::invalid_argument(
            "WriteOptions::rate_limiter_priority only allows Env::IO_TOTAL and Env::IO_USER due to \
                 implementation constraints",
        )),
    }
}
