//! The newest write of one key. A transaction compares it with its snapshot, to find conflicts.

use std::ops::ControlFlow;

use base::key::{self, MAX_SEQUENCE, SequenceNumber, TYPE_FOR_SEEK, append_with_trailer, pack};
use base::{Error, Result};

use super::Reads;
use crate::family::{Family, SuperVersion};
use crate::options::ReadOptions;
use crate::source::covering;

/// The sources that [`Reads::newest_write`] may search.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Reach {
    /// Memtables, with the history of flushed memtables.
    Memory,
    /// SST files too, if the memtables do not have all writes that matter.
    Files,
}

/// The newest write of a key.
#[derive(Clone, Debug, Default, PartialEq, Eq)]
pub struct NewestWrite {
    pub seq: SequenceNumber,
    /// The timestamp of the write; empty without timestamps.
    pub timestamp: Vec<u8>,
}

impl Reads {
    /// Returns the newest write of `key` that is newer than `above`, and sometimes an older write. The result may
    /// be a write that is not visible yet. `key` has no timestamp. Cost: one lookup in each memtable. With
    /// [`Reach::Files`] and a short history, also a point lookup in SST files.
    ///
    /// # Errors
    /// TryAgain if `reach` is [`Reach::Memory`] and writes newer than `above` may have left the memory. An error of
    /// reading SST files.
    pub fn newest_write(
        &self,
        family: &Family,
        key: &[u8],
        above: SequenceNumber,
        reach: Reach,
    ) -> Result<Option<NewestWrite>> {
        let super_version = family.pin();
        let size = family.order().user.timestamp_size();
        let full = [key, &vec![0xff; size]].concat();
        let since = super_version.in_memory_since();
        if above < since && reach == Reach::Memory {
            return Err(too_short(above, since));
        }
        for mem in super_version.memtables_and_history() {
            let tombstone = mem.newest_written_tombstone(key);
            let mut newest = tombstone.map(|seq| NewestWrite { seq, timestamp: Vec::new() });
            mem.get(&full, MAX_SEQUENCE, |version| {
                if newest.as_ref().is_none_or(|newest| newest.seq < version.seq) {
                    newest = Some(found(version.seq, version.user_key, size));
                }
                ControlFlow::Break(())
            })?;
            if newest.is_some() {
                return Ok(newest);
            }
        }
        if above >= since { Ok(None) } else { self.newest_in_files(&super_version, &full, key) }
    }

    /// Returns the newest timestamp that was written to the column family; `None` if it has no entries. Only for
    /// column families whose SST files have no timestamps: memtables track their timestamps, and
    /// `full_history_ts_low` follows the newest timestamp of the SST files. Counts writes that are not visible yet.
    /// Cost: a few loads. RocksDB: `GetNewestUserDefinedTimestamp`.
    ///
    /// # Errors
    /// InvalidArgument for a column family without timestamps; NotSupported if SST files have timestamps.
    pub fn newest_timestamp(&self, family: &Family) -> Result<Option<Vec<u8>>> {
        let super_version = family.pin();
        if family.order().user.timestamp_size() == 0 {
            return Err(Error::invalid_argument("Timestamp is not enabled in this column family"));
        }
        if super_version.parts.stored.timestamps {
            return Err(Error::not_supported(
                "GetNewestUserDefinedTimestamp doesn't support the case when user-defined timestamps are persisted.",
            ));
        }
        let memtables = || std::iter::once(&super_version.mem).chain(super_version.imm.iter());
        if let Some(newest) = memtables().find_map(|mem| mem.newest_timestamp()) {
            return Ok(Some(newest.to_le_bytes().to_vec()));
        }
        let has_files = super_version.version.num_files() > 0;
        let low = super_version.full_history_ts_low.as_deref().filter(|_| has_files);
        let low = low.and_then(<[u8]>::first_chunk::<8>).map(|low| u64::from_le_bytes(*low));
        // No timestamp is below 0.
        Ok(low.map(|low| low.saturating_sub(1).to_le_bytes().to_vec()))
    }

    fn newest_in_files(
        &self,
        super_version: &SuperVersion,
        full: &[u8],
        key: &[u8],
    ) -> Result<Option<NewestWrite>> {
        let size = full.len() - key.len();
        let timestamp = (size > 0).then(|| &full[key.len()..]);
        let ctx = self.ctx(&ReadOptions::default());
        let mut seek_key = Vec::with_capacity(full.len() + 8);
        append_with_trailer(&mut seek_key, full, pack(MAX_SEQUENCE, TYPE_FOR_SEEK));
        let mut newest: Option<NewestWrite> = None;
        for (level, file) in super_version.version.candidates(full, MAX_SEQUENCE) {
            let reader = self.tables.get_for(&super_version.parts, level, file, &ctx)?;
            let tombstone = reader.tombstones().and_then(|t| covering(t, key, MAX_SEQUENCE, timestamp));
            if let Some(seq) = tombstone.filter(|seq| newest.as_ref().is_none_or(|n| n.seq < *seq)) {
                newest = Some(NewestWrite { seq, timestamp: Vec::new() });
            }
            let mut ended = newest.is_some();
            reader.get(&seek_key, &ctx, |entry| {
                ended = true;
                if newest.as_ref().is_none_or(|newest| newest.seq < entry.sequence()) {
                    newest = Some(found(entry.sequence(), entry.user_key, size));
                }
                ControlFlow::Break(())
            })?;
            if ended {
                break;
            }
        }
        Ok(newest)
    }
}

fn found(seq: SequenceNumber, user_key: &[u8], timestamp_size: usize) -> NewestWrite {
    NewestWrite { seq, timestamp: key::timestamp(user_key, timestamp_size).to_vec() }
}

#[cold]
fn too_short(above: SequenceNumber, since: SequenceNumber) -> Error {
    Error::try_again(format!(
        "Transaction could not check for conflicts for operation at SequenceNumber {above} as the MemTable only contains \
         changes newer than SequenceNumber {since}.  Increasing the value of the max_write_buffer_size_to_maintain \
         option could reduce the frequency of this error."
    ))
}
