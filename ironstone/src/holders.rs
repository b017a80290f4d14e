//! Reports the holders of memory and disk space: memory as a tree, SST files by level and age, and the reasons why
//! obsolete files are not deleted.

use std::collections::{BTreeMap, BTreeSet};
use std::sync::Arc;

use base::{FileNumber, Level};
use kernel::ticks;
use lsm::version::{ReaderKind, Version};

pub use engine::db::MemoryHolder;

use crate::{Db, Family};

/// SST files of one level, age and temperature, in one column family.
///
/// ```
/// # let db = ironstone::Db::open("data", ironstone::Options::in_memory())?;
/// db.put(b"k", b"v")?;
/// db.flush()?;
/// for share in db.disk() {
///     println!("L{}: {} files with {} bytes", share.level, share.files, share.bytes);
/// }
/// assert_eq!(db.disk()[0].files, 1);
/// # Ok::<(), ironstone::Error>(())
/// ```
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct DiskShare {
    /// The level of the files.
    pub level: Level,
    /// The age of the data.
    pub age: DataAge,
    /// The temperature, by RocksDB's number. 0: unknown.
    pub temperature: u8,
    /// The number of files.
    pub files: u64,
    /// The bytes of the files.
    pub bytes: u64,
}

/// The age of the oldest data in an SST file, through all compactions.
///
/// ```
/// # let db = ironstone::Db::open("data", ironstone::Options::in_memory())?;
/// use ironstone::DataAge;
///
/// db.put(b"k", b"v")?;
/// db.flush()?;
/// assert_eq!(db.disk()[0].age, DataAge::Hour);
/// assert!(DataAge::Hour < DataAge::Older);
/// # Ok::<(), ironstone::Error>(())
/// ```
#[derive(Clone, Copy, Debug, PartialEq, Eq, PartialOrd, Ord)]
pub enum DataAge {
    /// Less than an hour.
    Hour,
    /// Less than a day.
    Day,
    /// Less than a week.
    Week,
    /// Less than thirty days.
    Month,
    /// Thirty days or more.
    Older,
    /// Unknown: the SST file stores no time.
    Unknown,
}

impl DataAge {
    fn of(oldest_ancestor_time: u64, now_s: u64) -> DataAge {
        const HOUR: u64 = 3600;
        const DAY: u64 = 24 * HOUR;
        match now_s.saturating_sub(oldest_ancestor_time) {
            _ if oldest_ancestor_time == 0 => DataAge::Unknown,
            age if age < HOUR => DataAge::Hour,
            age if age < DAY => DataAge::Day,
            age if age < 7 * DAY => DataAge::Week,
            age if age < 30 * DAY => DataAge::Month,
            _ => DataAge::Older,
        }
    }
}

/// The reasons why files that the newest version does not need are not deleted.
///
/// ```
/// # let db = ironstone::Db::open("data", ironstone::Options::in_memory())?;
/// db.disable_file_deletions();
/// let kept = db.kept_files();
/// assert!(kept.deletions_disabled && kept.versions.is_empty());
/// # Ok::<(), ironstone::Error>(())
/// ```
#[derive(Clone, Debug, Default, PartialEq, Eq)]
pub struct KeptFiles {
    /// Older versions that an iterator or a running compaction still reads. Each element lists the
    /// files of one older version that the newest version does not have.
    pub versions: Vec<KeptVersion>,
    /// The number of live snapshots. A snapshot only keeps entries: compaction does not drop the entries that the
    /// snapshot needs. A snapshot keeps no file.
    pub snapshots: u64,
    /// The time of the oldest snapshot, in seconds since 1970. `None` without snapshots.
    pub oldest_snapshot_time: Option<u64>,
    /// True if file deletions are disabled: see [`Db::disable_file_deletions`]. No obsolete file is then deleted.
    pub deletions_disabled: bool,
    /// Bytes of obsolete SST files that are not deleted yet.
    pub obsolete_bytes: u64,
}

/// The readers of one kind that keep an older version.
///
/// ```
/// # let db = ironstone::Db::open("data", ironstone::Options::in_memory())?;
/// for version in db.kept_files().versions {
///     if let Some(iterators) = version.iterators {
///         println!("{} iterators since {}", iterators.readers, iterators.since);
///     }
/// }
/// # Ok::<(), ironstone::Error>(())
/// ```
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct VersionReaders {
    /// The number of readers.
    pub readers: u64,
    /// The time since which the version has had such a reader without a break, in seconds since 1970. No reader that is
    /// counted began earlier.
    pub since: u64,
}

impl VersionReaders {
    fn of(version: &Version, reader: ReaderKind, now_s: u64) -> Option<VersionReaders> {
        let (readers, ticks) = version.readers().now(reader)?;
        let age_s = ticks::to_nanos(ticks::now().saturating_sub(ticks)) / 1_000_000_000;
        Some(VersionReaders { readers, since: now_s.saturating_sub(age_s) })
    }
}

/// An older version that still has a reader.
///
/// ```
/// # let db = ironstone::Db::open("data", ironstone::Options::in_memory())?;
/// for version in db.kept_files().versions {
///     println!("{} keeps {} files with {} bytes", version.family, version.files.len(), version.bytes);
/// }
/// # Ok::<(), ironstone::Error>(())
/// ```
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct KeptVersion {
    /// The column family.
    pub family: String,
    /// Files of the version that the newest version does not have.
    pub files: Vec<FileNumber>,
    /// The bytes of these files.
    pub bytes: u64,
    /// The iterators that read the version. A pinned value of an iterator does not keep a version.
    pub iterators: Option<VersionReaders>,
    /// The compactions that read the version. `None` for both kinds of readers: a point read, a verification of
    /// checksums or a job that ends now keeps the version for a moment.
    pub compactions: Option<VersionReaders>,
}

impl Db {
    /// Returns the memory of the database as a tree by holder, in bytes. The property `ironstone.memory` has the same tree as text. A block cache of several column families, or of
    /// several databases, counts once. Memory that is charged to a block cache but held elsewhere counts where it is held.
    ///
    /// Cost: one walk over the block caches.
    ///
    /// ```
    /// # let db = ironstone::Db::open("data", ironstone::Options::in_memory())?;
    /// db.put(b"k", b"v")?;
    /// let memory = db.memory();
    /// assert_eq!(memory.bytes, memory.parts.iter().map(|part| part.bytes).sum::<u64>());
    /// println!("{memory}");
    /// # Ok::<(), ironstone::Error>(())
    /// ```
    pub fn memory(&self) -> MemoryHolder {
        engine::db::memory(self.engine())
    }

    /// Returns the reasons why files that the newest version does not need are not deleted.
    ///
    /// ```
    /// # let db = ironstone::Db::open("data", ironstone::Options::in_memory())?;
    /// let snapshot = db.snapshot();
    /// assert_eq!(db.kept_files().snapshots, 1);
    /// # drop(snapshot);
    /// # Ok::<(), ironstone::Error>(())
    /// ```
    pub fn kept_files(&self) -> KeptFiles {
        // These properties are of the whole database. Each column family reports the same number.
        let property = |name: &str| self.int_property(name).unwrap_or(0);
        let snapshots = property("rocksdb.num-snapshots");
        KeptFiles {
            versions: self.families().iter().flat_map(kept_versions).collect(),
            snapshots,
            oldest_snapshot_time: (snapshots > 0).then(|| property("rocksdb.oldest-snapshot-time")),
            deletions_disabled: property("rocksdb.is-file-deletions-enabled") == 0,
            obsolete_bytes: property("rocksdb.obsolete-sst-files-size"),
        }
    }
}

impl Family {
    /// Returns the live SST files of the column family by level, age and temperature, in this order.
    ///
    /// ```
    /// # let db = ironstone::Db::open("data", ironstone::Options::in_memory())?;
    /// db.put(b"k", b"v")?;
    /// db.flush()?;
    /// let disk = db.disk();
    /// assert_eq!((disk.len(), disk[0].level, disk[0].files), (1, ironstone::Level::ZERO, 1));
    /// # Ok::<(), ironstone::Error>(())
    /// ```
    pub fn disk(&self) -> Vec<DiskShare> {
        let now_s = self.engine().env().clock.now_seconds();
        let pinned = self.inner().pin_owned();
        let mut sums: BTreeMap<(Level, DataAge, u8), (u64, u64)> = BTreeMap::new();
        for (level, file) in pinned.version.files() {
            let age = DataAge::of(file.times.oldest_ancester, now_s);
            let sum = sums.entry((level, age, file.temperature)).or_default();
            sum.0 += 1;
            sum.1 += file.size;
        }
        let share =
            |((level, age, temperature), (files, bytes))| DiskShare { level, age, temperature, files, bytes };
        sums.into_iter().map(share).collect()
    }
}

fn kept_versions(family: &Family) -> Vec<KeptVersion> {
    let versions = family.inner().live_versions();
    let Some((newest, older)) = versions.split_last() else { return Vec::new() };
    let live: BTreeSet<FileNumber> = newest.files().map(|(_, file)| file.number).collect();
    let now_s = family.engine().env().clock.now_seconds();
    let kept = |version: &Arc<Version>| {
        let only = version.files().filter(|(_, file)| !live.contains(&file.number));
        let (files, sizes): (Vec<_>, Vec<_>) = only.map(|(_, file)| (file.number, file.size)).unzip();
        KeptVersion {
            family: family.name().to_string(),
            files,
            bytes: sizes.iter().sum(),
            iterators: VersionReaders::of(version, ReaderKind::Iterator, now_s),
            compactions: VersionReaders::of(version, ReaderKind::Compaction, now_s),
        }
    };
    older.iter().map(kept).filter(|kept| !kept.files.is_empty()).collect()
}
