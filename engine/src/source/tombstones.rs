//! Which tables of a moment have range tombstones, and what they are.

use base::key;
use lsm::file_meta::FileMetaData;
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
                Ok(reader) => Ok(Arc::new(fragments_of(&reader, super_version, file))),
                Err(error) => Err(error),
            };
            found.push(TableTombstones { level, file: file.clone(), fragments });
        }
        found.sort_by_key(|t| t.file.number);
        found.into_boxed_slice()
    })
}

fn fragments_of(reader: &Reader, super_version: &SuperVersion, _file: &FileMetaData) -> FragmentedTombstones {
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
