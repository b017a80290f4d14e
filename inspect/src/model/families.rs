//! Column families, their levels and their SST files.

use base::Level;
use serde::{Deserialize, Serialize};

use super::level_number;

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
    #[serde(with = "level_number")]
    pub level: Level,
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
    /// True if the file exists with its size, but could not be opened as a table.
    #[serde(default)]
    pub unreadable: bool,
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
    /// The largest number of data blocks that the entries of one key fill. 0 if most entries are no merge operands: the index is
    /// not read then.
    #[serde(default)]
    pub key_blocks: u64,
}

/// The sums over the files of one level.
#[derive(Clone, Debug, Default, PartialEq, Eq, Serialize)]
pub struct LevelSum {
    #[serde(with = "level_number")]
    pub level: Level,
    pub files: usize,
    pub bytes: u64,
    /// The entries and the tombstones. If the properties of some files were not read, estimates from the sizes of the files.
    pub entries: u64,
    pub deletions: u64,
    /// Seconds since 1970; 0 unknown.
    pub newest: u64,
    pub oldest: u64,
}

/// The entries and the tombstones of the files whose properties were read, the bytes of these files, and the bytes of all files that
/// exist.
#[derive(Clone, Copy, Default)]
struct Counted {
    entries: u64,
    deletions: u64,
    read_bytes: u64,
    bytes: u64,
}

impl Counted {
    fn add(&mut self, file: &SstFile) {
        if file.present && !file.unreadable || file.elsewhere || file.stats.is_some() {
            self.bytes += file.size;
        }
        if let Some(stats) = &file.stats {
            self.entries += stats.entries;
            self.deletions += stats.deletions;
            self.read_bytes += file.size;
        }
    }

    /// Returns the entries and the tombstones of `bytes`, if they are as dense as in the files that were read.
    fn in_bytes(&self, bytes: u64) -> (u64, u64) {
        let of = |count: u64| match self.read_bytes {
            0 => 0,
            read => (u128::from(count) * u128::from(bytes) / u128::from(read)) as u64,
        };
        (of(self.entries), of(self.deletions))
    }
}

impl Family {
    /// Returns the bytes of the SST files.
    pub fn bytes(&self) -> u64 {
        self.files.iter().map(|file| file.size).sum()
    }

    /// Returns the files of one level.
    pub fn level(&self, level: Level) -> impl Iterator<Item = &SstFile> {
        self.files.iter().filter(move |file| file.level == level)
    }

    /// Returns the sums of each level that has files.
    pub fn levels(&self) -> Vec<LevelSum> {
        let mut sums: std::collections::BTreeMap<Level, (LevelSum, Counted)> =
            std::collections::BTreeMap::new();
        for file in &self.files {
            let (sum, counted) = sums.entry(file.level).or_default();
            sum.level = file.level;
            counted.add(file);
            sum.files += 1;
            sum.bytes += file.size;
            sum.newest = sum.newest.max(file.created);
            let age = if file.oldest == 0 { file.created } else { file.oldest };
            sum.oldest = if sum.oldest == 0 { age } else { sum.oldest.min(age) };
        }
        let whole = self.counted();
        let estimated = |(mut sum, counted): (LevelSum, Counted)| {
            let density = if counted.read_bytes > 0 { counted } else { whole };
            (sum.entries, sum.deletions) = density.in_bytes(counted.bytes);
            sum
        };
        sums.into_values().map(estimated).collect()
    }

    /// Returns the sorted runs that a point lookup may visit: each file of level 0, and each other level with files.
    pub fn sorted_runs(&self) -> usize {
        let levels = self.levels();
        levels.iter().map(|sum| if sum.level == Level::ZERO { sum.files } else { 1 }).sum()
    }

    /// Returns all bytes divided by the bytes of the last level. Returns `None` without files.
    pub fn space_amplification(&self) -> Option<f64> {
        let levels = self.levels();
        let last = levels.last()?;
        (last.bytes > 0).then(|| self.bytes() as f64 / last.bytes as f64)
    }

    /// Returns the entries and the tombstones. If the properties of some files were not read, the numbers are estimates from the sizes
    /// of the files.
    pub fn entries(&self) -> (u64, u64) {
        let counted = self.counted();
        counted.in_bytes(counted.bytes)
    }

    fn counted(&self) -> Counted {
        let mut counted = Counted::default();
        self.files.iter().for_each(|file| counted.add(file));
        counted
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    fn file(level: u8, size: u64, entries: Option<u64>) -> SstFile {
        let stats =
            entries.map(|entries| TableStats { entries, deletions: entries / 10, ..TableStats::default() });
        SstFile { level: Level::new(level), size, present: true, stats, ..SstFile::default() }
    }

    #[test]
    fn entries_of_files_that_were_not_read_are_estimated_from_their_sizes() {
        let files =
            vec![file(0, 100, Some(10)), file(1, 100, Some(50)), file(1, 300, None), file(2, 500, None)];
        let mut family = Family { files, ..Family::default() };
        // 60 entries are in 200 of 1000 bytes.
        assert_eq!(family.entries(), (300, 30));
        let of =
            |family: &Family| family.levels().iter().map(|l| (l.entries, l.deletions)).collect::<Vec<_>>();
        assert_eq!(of(&family), [(10, 1), (200, 20), (150, 15)]);
        // A missing file has no entries.
        family.files[3].present = false;
        assert_eq!((family.entries(), of(&family)[2]), ((150, 15), (0, 0)));
        // If all files were read, the numbers are exact.
        family.files.truncate(2);
        assert_eq!(family.entries(), (60, 6));
        assert_eq!(Family::default().entries(), (0, 0));
    }
}
