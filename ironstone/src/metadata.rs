//! Reports metadata: SST files, levels, table properties, and memory.

use std::collections::BTreeMap;
use std::path::PathBuf;
use std::sync::Arc;

use base::{FileNumber, Level, Result, SequenceNumber};
use format::properties::Properties;
use table::sst::BlockCache;

use crate::{Db, Family};

/// One SST file of a column family. RocksDB: `SstFileMetaData`.
///
/// ```
/// # let db = ironstone::Db::open("data", ironstone::Options::in_memory())?;
/// db.put(b"k", b"v")?;
/// db.flush()?;
/// let file = &db.live_files()[0];
/// assert_eq!((file.level, file.num_entries), (ironstone::Level::ZERO, 1));
/// # Ok::<(), ironstone::Error>(())
/// ```
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct LiveFile {
    /// The number in the name of the file.
    pub number: FileNumber,
    /// The path of the file.
    pub path: PathBuf,
    /// The level of the file; 0 for level 0.
    pub level: Level,
    /// The size of the file in bytes.
    pub size: u64,
    /// The smallest user key. If the column family has timestamps, the key ends with a timestamp.
    pub smallest_key: Vec<u8>,
    /// The largest user key. If the column family has timestamps, the key ends with a timestamp.
    pub largest_key: Vec<u8>,
    /// The smallest sequence number of the file.
    pub smallest_sequence: SequenceNumber,
    /// The largest sequence number of the file.
    pub largest_sequence: SequenceNumber,
    /// The number of entries of all kinds. 0 until the file is opened for the first time.
    pub num_entries: u64,
    /// The number of point tombstones and range tombstones. 0 until the file is opened for the first time.
    pub num_deletions: u64,
    /// Reads of the file, by a sample. Counted only with `read_triggered_compaction_threshold`.
    pub num_reads_sampled: u64,
    /// True if the file is an input of a running compaction.
    pub being_compacted: bool,
    /// The order of the file in level 0: a larger number is newer. 0 if unknown.
    pub epoch_number: u64,
    /// The time of the oldest data, through all compactions, in seconds since 1970. 0 if unknown.
    pub oldest_ancestor_time: u64,
    /// The time when the file was written, in seconds since 1970. 0 if unknown.
    pub file_creation_time: u64,
    /// The checksum of the whole file. Empty if the file has none.
    pub file_checksum: Vec<u8>,
    /// The name of the checksum function; `Unknown` if the file has no checksum.
    pub file_checksum_func_name: String,
    /// The oldest blob file that an entry points to. `None` if no entry points to a blob file.
    pub oldest_blob_file: Option<FileNumber>,
}

/// One level of a column family. RocksDB: `LevelMetaData`.
///
/// ```
/// # let db = ironstone::Db::open("data", ironstone::Options::in_memory())?;
/// db.put(b"k", b"v")?;
/// db.flush()?;
/// let level = &db.metadata().levels[0];
/// assert_eq!(level.size, level.files.iter().map(|file| file.size).sum::<u64>());
/// # Ok::<(), ironstone::Error>(())
/// ```
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct LevelMetadata {
    /// The level; 0 for level 0.
    pub level: Level,
    /// The sum of the sizes of the files, in bytes.
    pub size: u64,
    /// The files of the level. Level 0 is newest first; other levels are in key order.
    pub files: Vec<LiveFile>,
}

/// The SST files of a column family at one time. RocksDB: `ColumnFamilyMetaData`.
///
/// ```
/// # let db = ironstone::Db::open("data", ironstone::Options::in_memory())?;
/// db.put(b"k", b"v")?;
/// db.flush()?;
/// let metadata = db.metadata();
/// assert_eq!((&metadata.name[..], metadata.file_count), ("default", 1));
/// # Ok::<(), ironstone::Error>(())
/// ```
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct FamilyMetadata {
    /// The name of the column family.
    pub name: String,
    /// The sum of the sizes of the SST files, in bytes.
    pub size: u64,
    /// The number of SST files.
    pub file_count: usize,
    /// All levels, also empty levels.
    pub levels: Vec<LevelMetadata>,
}

impl Family {
    /// Returns the SST files of this column family, level by level. Level 0 is newest first. RocksDB:
    /// `GetLiveFilesMetaData`, for one column family.
    ///
    /// ```
    /// # let db = ironstone::Db::open("data", ironstone::Options::in_memory())?;
    /// db.put(b"k", b"v")?;
    /// db.flush()?;
    /// let files = db.live_files();
    /// assert_eq!((files[0].level, &files[0].smallest_key[..]), (ironstone::Level::ZERO, &b"k"[..]));
    /// assert_eq!(files[0].num_entries, 1);
    /// # Ok::<(), ironstone::Error>(())
    /// ```
    pub fn live_files(&self) -> Vec<LiveFile> {
        self.metadata().levels.into_iter().flat_map(|level| level.files).collect()
    }

    /// Returns the levels of this column family with their SST files. RocksDB: `GetColumnFamilyMetaData`.
    ///
    /// ```
    /// # let db = ironstone::Db::open("data", ironstone::Options::in_memory())?;
    /// db.put(b"k", b"v")?;
    /// db.flush()?;
    /// let metadata = db.metadata();
    /// assert_eq!((&metadata.name[..], metadata.file_count, metadata.levels.len()), ("default", 1, 7));
    /// assert_eq!(metadata.size, metadata.levels[0].size);
    /// # Ok::<(), ironstone::Error>(())
    /// ```
    pub fn metadata(&self) -> FamilyMetadata {
        let pinned = self.inner.pin_owned();
        let version = &pinned.version;
        let file_of = |level: Level, file: &lsm::table_file::TableFile| {
            let stats = file.stats();
            LiveFile {
                number: file.number,
                path: pinned.parts.table_path(file.number, file.path_id),
                level,
                size: file.size,
                smallest_key: file.smallest_user_key().to_vec(),
                largest_key: file.largest_user_key().to_vec(),
                smallest_sequence: file.smallest_seq,
                largest_sequence: file.largest_seq,
                num_entries: stats.map_or(0, |stats| stats.num_entries),
                num_deletions: stats.map_or(0, |stats| stats.num_deletions),
                num_reads_sampled: file.reads_sampled(),
                being_compacted: file.being_compacted(),
                epoch_number: file.epoch_number.get(),
                oldest_ancestor_time: file.times.oldest_ancester,
                file_creation_time: file.times.creation,
                file_checksum: file.checksum.value.clone(),
                file_checksum_func_name: file.checksum.function.clone(),
                oldest_blob_file: file.oldest_blob_file,
            }
        };
        let levels: Vec<LevelMetadata> = version
            .levels()
            .map(|level| {
                let files: Vec<LiveFile> =
                    version.level(level).iter().map(|file| file_of(level, file)).collect();
                LevelMetadata { level, size: files.iter().map(|file| file.size).sum(), files }
            })
            .collect();
        FamilyMetadata {
            name: self.name().to_string(),
            size: levels.iter().map(|level| level.size).sum(),
            file_count: levels.iter().map(|level| level.files.len()).sum(),
            levels,
        }
    }

    /// Returns the table properties of all SST files of this column family, by path. RocksDB:
    /// `GetPropertiesOfAllTables`.
    ///
    /// # Errors
    /// Errors of opening an SST file.
    ///
    /// ```
    /// # let db = ironstone::Db::open("data", ironstone::Options::in_memory())?;
    /// db.put(b"k", b"v")?;
    /// db.flush()?;
    /// let properties = db.table_properties()?;
    /// assert_eq!(properties.values().next().unwrap().num_entries, 1);
    /// # Ok::<(), ironstone::Error>(())
    /// ```
    pub fn table_properties(&self) -> Result<BTreeMap<PathBuf, Arc<Properties>>> {
        self.db.files().table_properties(&self.inner, None)
    }

    /// Returns the table properties of the SST files that overlap one of the ranges `[begin, end]`, by path. RocksDB:
    /// `GetPropertiesOfTablesInRange`.
    ///
    /// # Errors
    /// Errors of opening an SST file.
    ///
    /// ```
    /// # let db = ironstone::Db::open("data", ironstone::Options::in_memory())?;
    /// db.put(b"k", b"v")?;
    /// db.flush()?;
    /// assert_eq!(db.table_properties_in_ranges(&[(b"a", b"k")])?.len(), 1);
    /// assert!(db.table_properties_in_ranges(&[(b"a", b"b"), (b"l", b"z")])?.is_empty());
    /// # Ok::<(), ironstone::Error>(())
    /// ```
    pub fn table_properties_in_ranges(
        &self,
        ranges: &[(&[u8], &[u8])],
    ) -> Result<BTreeMap<PathBuf, Arc<Properties>>> {
        self.db.files().table_properties(&self.inner, Some(ranges))
    }
}

impl Db {
    /// Returns the levels and SST files of all column families. RocksDB: `GetAllColumnFamilyMetaData`.
    ///
    /// ```
    /// # let db = ironstone::Db::open("data", ironstone::Options::in_memory())?;
    /// assert_eq!(db.metadata_of_all()[0].name, "default");
    /// # Ok::<(), ironstone::Error>(())
    /// ```
    pub fn metadata_of_all(&self) -> Vec<FamilyMetadata> {
        self.families().iter().map(|family| family.metadata()).collect()
    }
}

/// The memory that databases and caches use, in bytes. RocksDB: `MemoryUtil`.
///
/// ```
/// # let db = ironstone::Db::open("data", ironstone::Options::in_memory())?;
/// db.put(b"k", b"v")?;
/// let usage: ironstone::MemoryUsage = ironstone::memory_usage(&[&db], &[]);
/// assert!(usage.memtables > 0);
/// # Ok::<(), ironstone::Error>(())
/// ```
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub struct MemoryUsage {
    /// All memtables, also flushed memtables that an iterator or a snapshot keeps.
    pub memtables: u64,
    /// Memtables that are not flushed yet.
    pub unflushed_memtables: u64,
    /// Open SST files: index and filter blocks outside of the block cache.
    pub table_readers: u64,
    /// Entries of block caches, as `Cache::usage`: without the hash tables. A cache that is given twice counts once.
    pub caches: u64,
}

/// Returns the memory of databases and of block caches. RocksDB: `MemoryUtil::GetApproximateMemoryUsageByType`.
///
/// ```
/// # let db = ironstone::Db::open("data", ironstone::Options::in_memory())?;
/// db.put(b"k", b"v")?;
/// let usage = ironstone::memory_usage(&[&db], &[]);
/// assert!(usage.memtables >= usage.unflushed_memtables);
/// assert!(usage.unflushed_memtables > 0);
/// # Ok::<(), ironstone::Error>(())
/// ```
pub fn memory_usage(databases: &[&Db], caches: &[Arc<BlockCache>]) -> MemoryUsage {
    let sum =
        |name: &str| -> u64 { databases.iter().filter_map(|db| db.aggregated_int_property(name)).sum() };
    let mut counted: Vec<&Arc<BlockCache>> = Vec::new();
    for cache in caches {
        if !counted.iter().any(|other| Arc::ptr_eq(other, cache)) {
            counted.push(cache);
        }
    }
    MemoryUsage {
        memtables: sum("rocksdb.size-all-mem-tables"),
        unflushed_memtables: sum("rocksdb.cur-size-all-mem-tables"),
        table_readers: sum("rocksdb.estimate-table-readers-mem"),
        caches: counted.iter().map(|cache| cache.usage() as u64).sum(),
    }
}
