//! Column families, their levels and their SST files.

use serde::{Deserialize, Serialize};

/// The number of units on the key axis.
pub const AXIS: u32 = 1_000_000;

/// A key as hexadecimal digits. `None` if the key was left out (in a bundle).
pub type KeyText = Option<String>;

/// One column family of the MANIFEST.
#[derive(Clone, Debug, Default, Serialize, Deserialize)]
pub struct Family {
    pub id: u32,
    pub name: String,
    pub comparator: String,
    /// WALs with a lower number hold no unflushed data of this family.
    pub wal_number: u64,
    /// Live SST files: by level, then by key; level 0 newest first.
    pub files: Vec<SstFile>,
    pub blobs: Vec<BlobFile>,
}

/// A live blob file.
#[derive(Clone, Debug, Default, Serialize, Deserialize)]
pub struct BlobFile {
    pub number: u64,
    pub blobs: u64,
    pub bytes: u64,
    pub garbage_bytes: u64,
}

/// A live SST file.
#[derive(Clone, Debug, Default, Serialize, Deserialize)]
pub struct SstFile {
    pub number: u64,
    pub level: u32,
    /// The bytes that the MANIFEST records.
    pub size: u64,
    /// The places of the first and of the last user key on the key axis, from 0 to [`AXIS`]. The distance of two places is
    /// the share of the data of the family between them.
    pub span: (u32, u32),
    /// The first and the last user key.
    pub smallest: KeyText,
    pub largest: KeyText,
    pub smallest_seq: u64,
    pub largest_seq: u64,
    /// Seconds since 1970; 0 unknown.
    pub created: u64,
    /// Seconds since 1970 of the oldest data; 0 unknown.
    pub oldest: u64,
    pub epoch: u64,
    pub marked: bool,
    /// RocksDB's number of the temperature; 0 unknown.
    #[serde(default)]
    pub temperature: u8,
    /// The number of the path of the file in `cf_paths` or `db_paths`.
    #[serde(default)]
    pub path_id: u32,
    /// True if the file exists with the size of the MANIFEST.
    pub present: bool,
    /// True if the file is in another directory of `cf_paths` or `db_paths`. The loader does not know this directory.
    #[serde(default)]
    pub elsewhere: bool,
    pub stats: Option<TableStats>,
}

/// The properties of an SST file.
#[derive(Clone, Debug, Default, PartialEq, Eq, Serialize, Deserialize)]
pub struct TableStats {
    pub entries: u64,
    /// The number of point tombstones and range tombstones.
    pub deletions: u64,
    pub range_deletions: u64,
    pub merge_operands: u64,
    pub raw_key_bytes: u64,
    pub raw_value_bytes: u64,
    pub data_bytes: u64,
    pub index_bytes: u64,
    pub filter_bytes: u64,
    pub blocks: u64,
    pub compression: String,
    pub filter: String,
    pub prefix_extractor: String,
    pub format_version: u64,
}

/// The sums over the files of one level.
#[derive(Clone, Debug, Default, PartialEq, Eq, Serialize)]
pub struct LevelSum {
    pub level: u32,
    pub files: usize,
    pub bytes: u64,
    /// Summed over the files whose properties were read.
    pub entries: u64,
    pub deletions: u64,
    /// Seconds since 1970; 0 unknown.
    pub newest: u64,
    pub oldest: u64,
}

impl Family {
    /// Returns the bytes of the SST files.
    pub fn bytes(&self) -> u64 {
        self.files.iter().map(|file| file.size).sum()
    }

    /// Returns the files of one level.
    pub fn level(&self, level: u32) -> impl Iterator<Item = &SstFile> {
        self.files.iter().filter(move |file| file.level == level)
    }

    /// Returns the sums of each level that has files.
    pub fn levels(&self) -> Vec<LevelSum> {
        let mut sums: std::collections::BTreeMap<u32, LevelSum> = std::collections::BTreeMap::new();
        for file in &self.files {
            let sum = sums
                .entry(file.level)
                .or_insert_with(|| LevelSum { level: file.level, ..LevelSum::default() });
            sum.files += 1;
            sum.bytes += file.size;
            sum.newest = sum.newest.max(file.created);
            let age = if file.oldest == 0 { file.created } else { file.oldest };
            sum.oldest = if sum.oldest == 0 { age } else { sum.oldest.min(age) };
            if let Some(stats) = &file.stats {
                sum.entries += stats.entries;
                sum.deletions += stats.deletions;
            }
        }
        sums.into_values().collect()
    }

    /// Returns the sorted runs that a point lookup may visit: each file of level 0, and each other level with files.
    pub fn sorted_runs(&self) -> usize {
        let levels = self.levels();
        levels.iter().map(|sum| if sum.level == 0 { sum.files } else { 1 }).sum()
    }

    /// Returns all bytes divided by the bytes of the last level. Returns `None` without files.
    pub fn space_amplification(&self) -> Option<f64> {
        let levels = self.levels();
        let last = levels.last()?;
        (last.bytes > 0).then(|| self.bytes() as f64 / last.bytes as f64)
    }

    /// Returns the entries and the tombstones of the files whose properties were read.
    pub fn entries(&self) -> (u64, u64) {
        let of = |(entries, deletions): (u64, u64), stats: &TableStats| {
            (entries + stats.entries, deletions + stats.deletions)
        };
        self.files.iter().filter_map(|file| file.stats.as_ref()).fold((0, 0), of)
    }
}
