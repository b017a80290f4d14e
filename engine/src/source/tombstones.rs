//! Which tables of a moment have range tombstones, and what they are.

use base::Result;
use base::key::{self, SequenceNumber};
use mem::memtable::MemTable;
use mem::range_del::{FragmentedTombstones, Tombstone};
use table::sst::Reader;

use super::TableCache;
use crate::family::{SuperVersion, TableTombstones};
use crate::sync::Arc;

/// The tables with range tombstones, by file number. Found once for each moment: tables whose statistics
/// are not known yet are opened for it.
pub fn table_tombstones<'a>(super_version: &'a SuperVersion, tables: &TableCache) -> &'a [TableTombstones] {
    super_version.tombstones.get_or_init(|| {
        let mut found = Vec::new();
        for (level, file) in super_version.version.files() {
            if file.stats().is_some_and(|stats| stats.num_range_deletions == 0) {
                continue;
            }
            let fragments = match tables.get(&super_version.parts, level, file) {
                Ok(reader) if reader.range_tombstones().is_empty() => continue,
                Ok(reader) => Ok(Arc::new(fragments_of(&reader, super_version))),
                Err(error) => Err(error),
            };
            found.push(TableTombstones { level, file: file.clone(), fragments });
        }
        found.sort_by_key(|t| t.file.number);
        found.into_boxed_slice()
    })
}

impl TableTombstones {
    /// The tombstones. A table that could not be opened when they were gathered is tried again.
    ///
    /// # Errors
    /// Those of opening the table.
    pub fn fragments(&self, super_version: &SuperVersion, tables: &TableCache) -> Result<Arc<FragmentedTombstones>> {
        match &self.fragments {
            Ok(fragments) => Ok(fragments.clone()),
            Err(_) => {
                let reader = tables.get(&super_version.parts, self.level, &self.file)?;
                Ok(Arc::new(fragments_of(&reader, super_version)))
            }
        }
    }
}

/// The newest of `fragments` over `key` (without timestamp) that a reader at `seq`, and at `timestamp` where
/// there are any, sees.
#[inline]
pub fn covering(
    fragments: &FragmentedTombstones,
    key: &[u8],
    seq: SequenceNumber,
    timestamp: Option<&[u8]>,
) -> Option<SequenceNumber> {
    match timestamp {
        None => fragments.max_covering(key, seq),
        Some(timestamp) => fragments.max_covering_at(key, seq, timestamp).map(|(seq, _)| seq),
    }
}

/// [`covering`] in a memtable.
#[inline]
pub fn covering_in_memory(
    mem: &MemTable,
    key: &[u8],
    seq: SequenceNumber,
    timestamp: Option<&[u8]>,
) -> Option<SequenceNumber> {
    match timestamp {
        None => mem.max_covering_tombstone(key, seq),
        Some(_) if !mem.has_range_tombstones() => None,
        Some(_) => covering(&mem.range_tombstones(), key, seq, timestamp),
    }
}

fn fragments_of(reader: &Reader, super_version: &SuperVersion) -> FragmentedTombstones {
    let order = super_version.version.order().clone();
    let timestamp_size = order.user.timestamp_size();
    let bare = |key: &[u8]| key[..key.len().saturating_sub(timestamp_size)].to_vec();
    let list = reader
        .range_tombstones()
        .iter()
        .map(|(start, end)| {
            let (start, seq, _) = key::split(start);
            Tombstone {
                start: bare(start),
                end: bare(end),
                seq,
                timestamp: start[start.len().saturating_sub(timestamp_size)..].to_vec(),
            }
        })
        .collect();
    FragmentedTombstones::new(list, order)
}
