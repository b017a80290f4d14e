//! The database: opening, the verbs on its default family, families, snapshots.

use std::collections::BTreeMap;
use std::ops::RangeBounds;
use std::path::Path;
use std::sync::Arc;

use base::{Error, Pinned, Result};
use engine::components::{Components, FamilyDescriptor as Descriptor};
use engine::options::{CompactRangeOptions, DbOptions, FamilyOptions, FlushOptions, WriteOptions};

use crate::iter::{Range, bounds};
use crate::{Answered, Family, FamilyDescriptor, Iter, Options, ReadOptions, Snapshot, WriteBatch};

/// An open database. Cheap to clone; the last handle of any kind to go closes it.
#[derive(Clone)]
pub struct Db {
    inner: engine::db::Db,
    default: Arc<engine::family::Family>,
}

impl Db {
    /// Opens the database at `path` with its default family. If there are other families they are opened with
    /// the same options.
    ///
    /// # Errors
    /// InvalidArgument if it does not exist and `create_if_missing` is off, or has another comparator; IoError if
    /// it is open elsewhere or the file system refuses; Corruption with file and offset; NotSupported naming
    /// a feature that is not built.
    pub fn open(path: impl AsRef<Path>, options: Options) -> Result<Db> {
        let others = Some(options.family.clone());
        Self::open_with(path.as_ref(), options, Vec::new(), others, false)
    }

    /// Opens the database at `path` with the families given; `default` is added if it is not among them.
    ///
    /// # Errors
    /// As [`Db::open`]; InvalidArgument for families that are not named here, or do not exist while
    /// `create_missing_column_families` is off.
    pub fn open_with_families(
        path: impl AsRef<Path>,
        options: Options,
        families: Vec<FamilyDescriptor>,
    ) -> Result<Db> {
        Self::open_with(path.as_ref(), options, families, None, false)
    }

    /// Opens for reading: nothing on disk changes, no lock is taken, logs are replayed into memory.
    ///
    /// # Errors
    /// As [`Db::open`], but IoError if it does not exist.
    pub fn open_read_only(path: impl AsRef<Path>, options: Options) -> Result<Db> {
        let others = Some(options.family.clone());
        Self::open_with(path.as_ref(), options, Vec::new(), others, true)
    }

    /// As [`Db::open_read_only`], with options for each family.
    ///
    /// # Errors
    /// As there.
    pub fn open_read_only_with_families(
        path: impl AsRef<Path>,
        options: Options,
        families: Vec<FamilyDescriptor>,
    ) -> Result<Db> {
        Self::open_with(path.as_ref(), options, families, None, true)
    }

    /// `others`: what families that exist and are not named get.
    fn open_with(
        path: &Path,
        options: Options,
        families: Vec<FamilyDescriptor>,
        others: Option<FamilyOptions>,
        read_only: bool,
    ) -> Result<Db> {
        let mut families: Vec<Descriptor> = families.into_iter().map(Into::into).collect();
        if !families.iter().any(|f| f.name == "default") {
            families.insert(0, Descriptor::new("default", options.family));
        }
        let request = engine::db::OpenRequest {
            path: path.to_path_buf(),
            options: options.db,
            components: Components { listeners: options.listeners, block_cache: options.block_cache },
            families,
            others,
        };
        let inner =
            if read_only { engine::db::Db::open_read_only(request)? } else { engine::db::Db::open(request)? };
        let default = inner.default_family()?;
        Ok(Db { inner, default })
    }

    /// Sets the value of a key.
    ///
    /// # Errors
    /// The background error while writes are stopped, to all families or to the default one; errors of the write-ahead
    /// log.
    #[inline]
    pub fn put(&self, key: &[u8], value: &[u8]) -> Result<()> {
        self.put_with(key, value, &WriteOptions::default())
    }

    /// As [`Self::put`], with options.
    ///
    /// # Errors
    /// As there; Incomplete if `no_slowdown` is set and the write would wait.
    #[inline]
    pub fn put_with(&self, key: &[u8], value: &[u8], options: &WriteOptions) -> Result<()> {
        self.inner.put(&self.default, key, value, options)
    }

    /// Deletes a key; one that is not there is fine.
    ///
    /// # Errors
    /// As [`Self::put`].
    pub fn delete(&self, key: &[u8]) -> Result<()> {
        self.delete_with(key, &WriteOptions::default())
    }

    /// As [`Self::delete`], with options.
    ///
    /// # Errors
    /// As there.
    pub fn delete_with(&self, key: &[u8], options: &WriteOptions) -> Result<()> {
        self.inner.delete(&self.default, key, options)
    }

    /// Deletes a key that was put exactly once since it was last deleted; cheaper to compact. On any other
    /// key the result is undefined.
    ///
    /// # Errors
    /// As [`Self::put`].
    pub fn single_delete(&self, key: &[u8]) -> Result<()> {
        self.single_delete_with(key, &WriteOptions::default())
    }

    /// As [`Self::single_delete`], with options.
    ///
    /// # Errors
    /// As there.
    pub fn single_delete_with(&self, key: &[u8], options: &WriteOptions) -> Result<()> {
        self.inner.single_delete(&self.default, key, options)
    }

    /// Adds an operand for the family's merge operator.
    ///
    /// # Errors
    /// As [`Self::put`]; NotSupported if the family has no operator.
    pub fn merge(&self, key: &[u8], operand: &[u8]) -> Result<()> {
        self.merge_with(key, operand, &WriteOptions::default())
    }

    /// As [`Self::merge`], with options.
    ///
    /// # Errors
    /// As there.
    pub fn merge_with(&self, key: &[u8], operand: &[u8], options: &WriteOptions) -> Result<()> {
        self.inner.merge(&self.default, key, operand, options)
    }

    /// Deletes the keys in `[begin, end)` with one record.
    ///
    /// # Errors
    /// As [`Self::put`]; InvalidArgument if the end is before the begin.
    pub fn delete_range(&self, begin: &[u8], end: &[u8]) -> Result<()> {
        self.delete_range_with(begin, end, &WriteOptions::default())
    }

    /// As [`Self::delete_range`], with options.
    ///
    /// # Errors
    /// As there.
    pub fn delete_range_with(&self, begin: &[u8], end: &[u8], options: &WriteOptions) -> Result<()> {
        self.inner.delete_range(&self.default, begin, end, options)
    }

    /// The value of a key as a view into the memtable or cached block it lies in; `None` if there is none.
    ///
    /// # Errors
    /// Corruption or I/O errors, naming file and offset; a failed merge.
    #[inline]
    pub fn get(&self, key: &[u8]) -> Result<Option<Pinned>> {
        self.get_with(key, &ReadOptions::default())
    }

    /// As [`Self::get`], with options.
    ///
    /// # Errors
    /// As there; Incomplete if the read tier forbids what is needed.
    #[inline]
    pub fn get_with(&self, key: &[u8], options: &ReadOptions) -> Result<Option<Pinned>> {
        self.inner.get(&self.default, key, options)
    }

    /// As [`Self::get_with`], with the subcode of the answer: whether more operands were merged than
    /// `merge_operand_count_threshold`.
    ///
    /// # Errors
    /// As there.
    pub fn get_answered(&self, key: &[u8], options: &ReadOptions) -> Result<Answered> {
        self.inner.get_answered(&self.default, key, options)
    }

    /// As [`Self::multi_get_with`], with the subcodes of the answers.
    pub fn multi_get_answered(&self, keys: &[&[u8]], options: &ReadOptions) -> Vec<Result<Answered>> {
        self.inner.multi_get_answered(&self.default, keys, options)
    }

    /// The values of several keys, looked up together; answers in the order asked.
    pub fn multi_get(&self, keys: &[&[u8]]) -> Vec<Result<Option<Pinned>>> {
        self.multi_get_with(keys, &ReadOptions::default())
    }

    /// As [`Self::multi_get`], with options.
    pub fn multi_get_with(&self, keys: &[&[u8]], options: &ReadOptions) -> Vec<Result<Option<Pinned>>> {
        self.inner.multi_get(&self.default, keys, options)
    }

    /// Whether a key may exist, told without I/O: false is certain. With the value if it was at hand.
    pub fn key_may_exist(&self, key: &[u8]) -> (bool, Option<Pinned>) {
        self.inner.key_may_exist(&self.default, key, &ReadOptions::default())
    }

    /// The merge operands of a key, oldest first; a plain value counts as the first.
    ///
    /// # Errors
    /// As [`Self::get`].
    pub fn get_merge_operands(&self, key: &[u8], options: &ReadOptions) -> Result<Vec<Pinned>> {
        self.inner.reads().operands(&self.default, key, options)
    }

    /// An iterator over what is visible now.
    ///
    /// # Errors
    /// Errors of opening tables.
    pub fn iter(&self) -> Result<Iter> {
        self.iter_with(ReadOptions::default())
    }

    /// As [`Self::iter`], with options.
    ///
    /// # Errors
    /// As there; InvalidArgument for options that do not fit the family.
    pub fn iter_with(&self, options: ReadOptions) -> Result<Iter> {
        self.inner.iter(&self.default, options)
    }

    /// A loop over a range of keys.
    ///
    /// An error of making the iterator comes as the first item.
    pub fn range<'k, K: AsRef<[u8]> + ?Sized + 'k, R: RangeBounds<&'k K>>(&self, range: R) -> Range {
        let (lower, upper, after) = bounds(range.start_bound(), range.end_bound());
        let options =
            ReadOptions { iterate_lower_bound: lower, iterate_upper_bound: upper, ..ReadOptions::default() };
        Range::new(self.iter_with(options), after)
    }

    /// A loop over all keys.
    pub fn rows(&self) -> Range {
        Range::new(self.iter(), None)
    }

    /// Writes the memtable to a table and waits for it.
    ///
    /// # Errors
    /// The background error that prevents it.
    pub fn flush(&self) -> Result<()> {
        self.inner.flush(&[self.default.clone()], &FlushOptions::default())
    }

    /// Compacts the keys in `[begin, end]`; `None` is unbounded.
    ///
    /// # Errors
    /// Those of the jobs; NotSupported for options whose feature is missing.
    pub fn compact_range(
        &self,
        begin: Option<&[u8]>,
        end: Option<&[u8]>,
        options: &CompactRangeOptions,
    ) -> Result<()> {
        self.inner.compact_range(&self.default, begin, end, options)
    }

    /// Changes options while open, by RocksDB's names.
    ///
    /// # Errors
    /// InvalidArgument for an option that does not exist or cannot change, or a bad value; nothing is changed.
    pub fn set_options(&self, changes: &[(&str, &str)]) -> Result<()> {
        self.inner.set_options(&self.default, changes)
    }

    /// Writes a batch: all of it or nothing, across families.
    ///
    /// # Errors
    /// As [`Db::put`], for any family that the batch touches; InvalidArgument for a batch that cannot be written.
    pub fn write(&self, mut batch: WriteBatch, options: &WriteOptions) -> Result<()> {
        self.inner.write(&mut batch, options)
    }

    /// As [`Db::write`], leaving the batch to be cleared and filled again. It carries its sequence number
    /// afterwards.
    ///
    /// # Errors
    /// As there.
    #[inline]
    pub fn write_with(&self, batch: &mut WriteBatch, options: &WriteOptions) -> Result<()> {
        self.inner.write(batch, options)
    }

    /// Bytes of table files that `[begin, end)` takes, about.
    ///
    /// # Errors
    /// Those of opening tables and reading their indexes.
    pub fn approximate_size(&self, begin: &[u8], end: &[u8]) -> Result<u64> {
        let options = engine::options::SizeApproximationOptions::default();
        self.inner.reads().approximate_size(&self.default, begin, end, &options)
    }

    /// Entries and bytes that the memtables hold in `[begin, end)`, estimated at the cost of about two
    /// look-ups; exact when few. An inverted range holds nothing.
    ///
    /// # Errors
    /// None now; kept for families whose memtables cannot tell.
    pub fn approximate_memtable_stats(&self, begin: &[u8], end: &[u8]) -> Result<(u64, u64)> {
        Ok(self.inner.reads().memtable_stats(&self.default, begin, end))
    }

    /// What is visible now, to read from later.
    pub fn snapshot(&self) -> Snapshot {
        Snapshot::new(self.clone(), self.inner.snapshot())
    }

    /// The default family.
    pub fn default_family(&self) -> Family {
        Family::new(self.inner.clone(), self.default.clone())
    }

    /// A family by name.
    ///
    /// # Errors
    /// NotFound if there is none of that name.
    pub fn family(&self, name: &str) -> Result<Family> {
        match self.inner.family(name) {
            Some(family) => Ok(Family::new(self.inner.clone(), family)),
            None => Err(Error::not_found(format!("column family {name}"))),
        }
    }

    /// All families, by number.
    pub fn families(&self) -> Vec<Family> {
        self.inner.families().into_iter().map(|f| Family::new(self.inner.clone(), f)).collect()
    }

    /// Creates a family.
    ///
    /// # Errors
    /// InvalidArgument if the name is taken; NotSupported for options whose feature is missing.
    pub fn create_family(&self, descriptor: FamilyDescriptor) -> Result<Family> {
        let family = self.inner.create_family(descriptor.into())?;
        Ok(Family::new(self.inner.clone(), family))
    }

    /// Drops a family. Handles to it go on reading what was there.
    ///
    /// # Errors
    /// InvalidArgument for the default family and for one dropped already.
    pub fn drop_family(&self, family: &Family) -> Result<()> {
        self.inner.drop_family(family.inner())
    }

    /// Makes every write so far durable.
    ///
    /// # Errors
    /// Those of the log; writes then stop.
    pub fn sync_wal(&self) -> Result<()> {
        self.inner.sync_wal()
    }

    /// Hands gathered log records to the system (`manual_wal_flush`), and makes them durable if `sync`.
    ///
    /// # Errors
    /// Those of the log; writes then stop.
    pub fn flush_wal(&self, sync: bool) -> Result<()> {
        self.inner.flush_wal(sync)
    }

    /// Tries to get over a background error: a full disk with room again, and the like. Each family that a failed flush has
    /// stopped goes on once it is flushed.
    ///
    /// # Errors
    /// The error, if it is still there, be it for one family.
    pub fn resume(&self) -> Result<()> {
        self.inner.resume()
    }

    /// Changes database options while open, by RocksDB's names.
    ///
    /// # Errors
    /// NotFound for an option that does not exist or cannot change, InvalidArgument for a bad value; nothing is
    /// changed.
    pub fn set_db_options(&self, changes: &[(&str, &str)]) -> Result<()> {
        self.inner.set_db_options(changes)
    }

    /// The newest visible sequence number.
    pub fn latest_sequence(&self) -> u64 {
        self.inner.latest_sequence()
    }

    /// Reads every block of every table and checks it.
    ///
    /// # Errors
    /// The first Corruption, naming file and offset.
    pub fn verify_checksum(&self) -> Result<()> {
        self.inner.verify_checksum()
    }

    /// Reads every table whole and compares its bytes with the checksum that the MANIFEST keeps of it, where files
    /// are given checksums (`file_checksum_gen_factory`).
    ///
    /// # Errors
    /// InvalidArgument if they are not; the first Corruption, naming the file.
    pub fn verify_file_checksums(&self) -> Result<()> {
        self.inner.verify_file_checksums()
    }

    /// The history of the statistics from second `start` on up to second `end`, every `stats_persist_period_sec`:
    /// the second, and how much each ticker had risen since the moment before. Empty without statistics. In memory,
    /// bounded by `stats_history_buffer_size`, or with `persist_stats_to_disk` in a hidden column family.
    pub fn stats_history(&self, start: u64, end: u64) -> engine::db::StatsHistory {
        self.inner.stats_history(start, end)
    }

    /// A property of the default family or the database, by RocksDB's name; `None` if there is none of that name.
    pub fn property(&self, name: &str) -> Option<String> {
        self.inner.property(&self.default, name)
    }

    /// A numeric property, as [`Db::property`].
    pub fn int_property(&self, name: &str) -> Option<u64> {
        self.inner.int_property(&self.default, name)
    }

    /// A numeric property summed over all families; what is the database's counts once.
    pub fn aggregated_int_property(&self, name: &str) -> Option<u64> {
        self.inner.aggregated_int_property(name)
    }

    /// A property that is a map (`rocksdb.cfstats`, `rocksdb.dbstats` ..), as [`Db::property`].
    pub fn property_map(&self, name: &str) -> Option<BTreeMap<String, String>> {
        self.inner.property_map(&self.default, name)
    }

    /// Sets the statistics behind `rocksdb.stats` back to nothing.
    ///
    /// # Errors
    /// None now.
    pub fn reset_stats(&self) -> Result<()> {
        self.inner.reset_stats();
        Ok(())
    }

    /// The directory.
    pub fn path(&self) -> &Path {
        self.inner.path()
    }

    /// Closes the database now, whatever other handles there are; their calls fail from then on.
    ///
    /// # Errors
    /// The first thing that went wrong while closing.
    pub fn close(&self) -> Result<()> {
        self.inner.close()
    }

    /// The room below, for tools that need more than the front door has.
    pub fn engine(&self) -> &engine::db::Db {
        &self.inner
    }
}

/// The names of the families of the database at `path`, without opening it.
///
/// # Errors
/// IoError if there is no database; Corruption of its MANIFEST.
pub fn list_column_families(path: impl AsRef<Path>, options: &DbOptions) -> Result<Vec<String>> {
    engine::db::list_families(&options.env, path.as_ref())
}

/// Deletes every file of the database at `path`; a directory that does not exist is fine. Tables that families keep
/// in directories of their own (`cf_paths`) stay: see [`destroy_with`].
///
/// # Errors
/// IoError if it is open somewhere; the first failure to delete.
pub fn destroy(path: impl AsRef<Path>, options: &DbOptions) -> Result<()> {
    destroy_with(path, options, &[])
}

/// As [`destroy`], with the tables in the `cf_paths` of `families`: no file of the database names these directories.
/// RocksDB: `DestroyDB` with column families.
///
/// # Errors
/// As [`destroy`].
pub fn destroy_with(path: impl AsRef<Path>, options: &DbOptions, families: &[FamilyOptions]) -> Result<()> {
    engine::db::destroy(path.as_ref(), options, families)
}

impl std::fmt::Debug for Db {
    fn fmt(&self, f: &mut std::fmt::Formatter<'_>) -> std::fmt::Result {
        write!(f, "{:?}", self.inner)
    }
}
