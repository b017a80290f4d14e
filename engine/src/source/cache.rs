//! The table cache: open tables by file number.
//!
//! The table cache has sixty-four shards, each with a read-write lock. A hit holds the read lock of one shard for a
//! hash lookup and a reference count. With `max_open_files` = -1 the cache never closes a table, and the files of the
//! versions hold their open tables after the first hit. A later lookup takes no lock. Otherwise a shard above its
//! share closes the tables that were not used since the last check (one bit for each table, second chance). A table
//! stays open while a reader uses it.

use base::map::FileMap;
use base::stats::{Cause, HistogramKind, PerfCounter, PerfTimer, Step, Ticker};
use base::{Error, FileNumber, Level, Result};
use env::Env;
use env::fs::{RandomRead, ReadHints};
use env::rate::{Direction, IoPriority, RateLimiter};
use format::names;
use lsm::file_meta::{EntryCount, FileStats};
use lsm::seqno_time::{SeqnoTimes, written_by};
use lsm::table_file::TableFile;
use table::any::AnyReader;
use table::sst::{OpenOptions, ReadCtx, ReadLimits};

use super::counted::CountedRead;
use super::{BlobSettings, OpenBlobs};
use crate::family::Parts;
use crate::options::ReadOptions;
use crate::stats::Stats;
use crate::sync::{Arc, AtomicBool, AtomicU64, AtomicUsize, Ordering, RwLock};

const SHARDS: usize = 64;

/// Settings for opening SST files.
#[derive(Clone)]
pub struct TableCacheSettings {
    /// `max_open_files` without the files that are not SST files. `None`: no limit.
    pub tables_max: Option<usize>,
    pub direct_reads: bool,
    pub advise_random: bool,
    pub verify_unique_id: bool,
    pub db_id: Arc<str>,
    pub db_session_id: Arc<str>,
    /// The rate limiter for reads with a priority.
    pub rate_limiter: Option<Arc<RateLimiter>>,
    pub stats: Arc<Stats>,
}

impl TableCacheSettings {
    fn blobs(&self) -> BlobSettings {
        BlobSettings {
            direct_reads: self.direct_reads,
            advise_random: self.advise_random,
            db_id: self.db_id.clone(),
            db_session_id: self.db_session_id.clone(),
            statistics: self.stats.statistics().cloned(),
        }
    }
}

struct Slot {
    reader: AnyReader,
    used: AtomicBool,
}

/// The open tables of one database. All threads may use them.
pub struct TableCache {
    env: Env,
    settings: TableCacheSettings,
    shards: Vec<RwLock<FileMap<Slot>>>,
    blobs: OpenBlobs,
    count: AtomicUsize,
    tables_max: AtomicUsize,
    /// True if the files of versions hold their open tables: see [`TableCache::held`].
    files_hold: bool,
    opens: AtomicU64,
}

/// How a table is opened.
#[derive(Clone, Copy)]
struct HowToOpen {
    /// Measures the reads. `None`: the histogram of user reads.
    histogram: Option<HistogramKind>,
    uses_block_cache: bool,
}

impl TableCache {
    /// Makes a cache without open tables. A table is opened at its first use.
    pub fn new(env: Env, settings: TableCacheSettings) -> Arc<Self> {
        let files_hold = settings.tables_max.is_none();
        TableCache::with(env, settings, files_hold)
    }

    fn with(env: Env, settings: TableCacheSettings, files_hold: bool) -> Arc<Self> {
        let tables_max = AtomicUsize::new(settings.tables_max.unwrap_or(usize::MAX));
        let shards = (0..SHARDS).map(|_| RwLock::default()).collect();
        let blobs = OpenBlobs::new(env.clone(), settings.blobs());
        Arc::new(TableCache {
            env,
            blobs,
            settings,
            shards,
            count: AtomicUsize::new(0),
            tables_max,
            files_hold,
            opens: AtomicU64::new(0),
        })
    }

    /// Returns the open blob files.
    #[inline]
    pub fn blobs(&self) -> &OpenBlobs {
        &self.blobs
    }

    /// Returns how many files may be open: `max_open_files` without the files that are not SST files.
    pub fn files_max(&self) -> usize {
        self.tables_max.load(Ordering::Relaxed)
    }

    /// Returns the deadline, timeout and rate limit of a read with these options. Returns `None`, without an
    /// allocation, if the read has none.
    #[inline]
    pub fn limits(&self, options: &ReadOptions) -> Option<Arc<ReadLimits>> {
        let free = options.deadline.is_zero()
            && options.io_timeout.is_zero()
            && options.rate_limiter_priority.is_none();
        if free { None } else { Some(self.limits_of(options)) }
    }

    #[cold]
    fn limits_of(&self, options: &ReadOptions) -> Arc<ReadLimits> {
        let micros = |time: std::time::Duration| u64::try_from(time.as_micros()).unwrap_or(u64::MAX);
        Arc::new(ReadLimits {
            clock: self.env.clock.clone(),
            deadline_micros: micros(options.deadline),
            timeout_micros: micros(options.io_timeout),
            charge: self.charge(options.rate_limiter_priority),
            statistics: self.settings.stats.statistics().cloned(),
        })
    }

    /// Returns the rate limit for reads of background work. Returns `None` if there is none.
    pub fn background_limits(&self, priority: IoPriority) -> Option<Arc<ReadLimits>> {
        let charge =
            self.charge(Some(priority)).filter(|(limiter, _)| limiter.is_limited(Direction::Read))?;
        Some(Arc::new(ReadLimits {
            clock: self.env.clock.clone(),
            deadline_micros: 0,
            timeout_micros: 0,
            charge: Some(charge),
            statistics: self.settings.stats.statistics().cloned(),
        }))
    }

    fn charge(&self, priority: Option<IoPriority>) -> Option<(Arc<RateLimiter>, IoPriority)> {
        Some((self.settings.rate_limiter.clone()?, priority?))
    }

    /// Returns a separate cache that opens tables for direct I/O, for the inputs of one job.
    pub fn direct(&self) -> Arc<Self> {
        let settings = TableCacheSettings { direct_reads: true, tables_max: None, ..self.settings.clone() };
        TableCache::with(self.env.clone(), settings, false)
    }

    /// Returns the open table of `file`, which is on `level` of a column family with `parts`. Opens the table if
    /// necessary.
    ///
    /// # Errors
    /// Errors of opening the table, with the path of the file.
    #[inline]
    pub fn get(&self, parts: &Parts, level: Level, file: &TableFile) -> Result<AnyReader> {
        match self.find(file) {
            Some(reader) => Ok(reader),
            None => self.open(parts, level, file, None),
        }
    }

    /// Returns a table as [`TableCache::get`] does, during the open of a database. Counts its reads as reads of the
    /// open.
    ///
    /// # Errors
    /// The errors of [`TableCache::get`].
    pub fn get_at_open(&self, parts: &Parts, level: Level, file: &TableFile) -> Result<AnyReader> {
        match self.find(file) {
            Some(reader) => Ok(reader),
            None => self.open(parts, level, file, Some(HistogramKind::FileReadDbOpenMicros)),
        }
    }

    /// Copies an open table from another reader of the same database. A table that `file` holds needs no copy. Returns false if
    /// that reader has not opened the table. The number and the size identify the file: a database uses no file number twice.
    pub fn adopt(&self, from: &TableCache, file: &TableFile) -> bool {
        base::invariant!(file.number != FileNumber::default(), "a table without a number is adopted");
        if self.held(file).is_some_and(|reader| reader.file_size() == file.size) {
            return true;
        }
        let Some(reader) = from.find(file).filter(|reader| reader.file_size() == file.size) else {
            return false;
        };
        if file.stats().is_none() {
            file.set_stats(stats_of(file, &reader));
        }
        let slot = Slot { reader, used: AtomicBool::new(true) };
        if self.shard(file.number).write().insert(file.number, slot).is_none() {
            self.count.fetch_add(1, Ordering::Relaxed);
        }
        true
    }

    /// Opens the new files of a job, as RocksDB's jobs do. Without this call the first read after a job reads and decodes
    /// the index of each file: 2 ms for a file of 64 MB. A table that does not open is reported at its first read.
    pub fn open_before_commit<'f>(&self, parts: &Parts, files: impl Iterator<Item = (Level, &'f TableFile)>) {
        for (level, file) in files {
            let _ = self.get(parts, level, file);
        }
    }

    /// Returns a table for a read, as [`TableCache::get`] does. Opens no table if the read may do no I/O.
    ///
    /// # Errors
    /// Incomplete if the table is not open and `ctx` allows no I/O. The errors of [`TableCache::get`].
    #[inline]
    pub fn get_for(&self, parts: &Parts, level: Level, file: &TableFile, ctx: &ReadCtx) -> Result<AnyReader> {
        match self.find(file) {
            Some(reader) => Ok(reader),
            None if ctx.cache_only => Err(Error::incomplete("Table not found in table_cache, no_io is set")),
            None => self.open(parts, level, file, Some(ctx.histogram)),
        }
    }

    /// Returns the open table that `file` holds, without a lock and without a reference count. A file holds its table until
    /// it is in no version, if the cache was made without a limit of open tables. RocksDB: `FileDescriptor::table_reader`.
    #[inline]
    pub fn held<'f>(&self, file: &'f TableFile) -> Option<&'f AnyReader> {
        if self.files_hold { file.held() } else { None }
    }

    /// Returns the table if it is open.
    #[inline]
    pub fn find(&self, file: &TableFile) -> Option<AnyReader> {
        match self.held(file) {
            Some(reader) => Some(reader.clone()),
            None => self.find_in_shard(file),
        }
    }

    fn find_in_shard(&self, file: &TableFile) -> Option<AnyReader> {
        let shard = self.shard(file.number).read();
        let slot = shard.get(&file.number)?;
        if !slot.used.load(Ordering::Relaxed) {
            slot.used.store(true, Ordering::Relaxed);
        }
        // A table that a file holds stays open, also if the limit falls later. RocksDB does the same.
        if self.files_hold && self.tables_max.load(Ordering::Relaxed) == usize::MAX {
            file.hold_open(slot.reader.clone());
        }
        Some(slot.reader.clone())
    }

    #[cold]
    fn open(
        &self,
        parts: &Parts,
        level: Level,
        file: &TableFile,
        histogram: Option<HistogramKind>,
    ) -> Result<AnyReader> {
        let reader = self.open_uncached(parts, level, file, histogram)?;
        let mut shard = self.shard(file.number).write();
        if let Some(slot) = shard.get(&file.number) {
            return Ok(slot.reader.clone());
        }
        shard.insert(file.number, Slot { reader: reader.clone(), used: AtomicBool::new(true) });
        let count = self.count.fetch_add(1, Ordering::Relaxed) + 1;
        base::invariant!(
            count > 0 && shard.contains_key(&file.number),
            "the table cache does not have table {}, which was added",
            file.number
        );
        let max = self.tables_max.load(Ordering::Relaxed);
        if count > max {
            self.put_out(&mut shard, file.number);
        }
        Ok(reader)
    }

    /// Opens a table without adding it to the cache. Counts its reads in `histogram`.
    fn open_uncached(
        &self,
        parts: &Parts,
        level: Level,
        file: &TableFile,
        histogram: Option<HistogramKind>,
    ) -> Result<AnyReader> {
        self.opens.fetch_add(1, Ordering::Relaxed);
        let stats = &self.settings.stats;
        let began = stats.begin();
        let _time = PerfTimer::start(PerfCounter::FindTableNanos);
        let _step = Step::begin(Cause::TableOpen);
        let handle = self.open_file(parts, file);
        let how = HowToOpen { histogram, uses_block_cache: true };
        let opened = self.open_from(handle, parts, level, file, how);
        stats.add(if opened.is_ok() { Ticker::NoFileOpens } else { Ticker::NoFileErrors }, 1);
        let reader = opened?;
        stats.end(began, HistogramKind::TableOpenIoMicros);
        Ok(reader)
    }

    /// Opens a table again, without adding it to the cache: damage after the first open is found. Also returns the file,
    /// which counts the bytes of its reads. The reader does not use the block cache: its index and filter blocks would push out
    /// blocks that reads need.
    ///
    /// # Errors
    /// The errors of [`TableCache::get`].
    pub fn open_again(
        &self,
        parts: &Parts,
        level: Level,
        file: &TableFile,
        histogram: HistogramKind,
    ) -> Result<(AnyReader, Arc<CountedRead>)> {
        let counted = CountedRead::new(self.open_file(parts, file).map_err(|e| e.doing("opening a table"))?);
        let how = HowToOpen { histogram: Some(histogram), uses_block_cache: false };
        let reader = self.open_from(Ok(counted.clone()), parts, level, file, how)?;
        Ok((reader, counted))
    }

    fn open_from(
        &self,
        handle: Result<Arc<dyn RandomRead>>,
        parts: &Parts,
        level: Level,
        file: &TableFile,
        how: HowToOpen,
    ) -> Result<AnyReader> {
        base::invariant!(level.index() < lsm::version::MAX_LEVELS, "SST file {} is on {level}", file.number);
        let path = parts.table_path(file.number, file.path_id);
        let opened = handle.and_then(|handle| {
            let size = handle.size()?;
            if size != file.size {
                return Err(Error::corruption(format!(
                    "the table is {size} bytes long, the MANIFEST says {}",
                    file.size
                ))
                .at(size.min(file.size)));
            }
            let unique_id =
                (self.settings.verify_unique_id && file.unique_id != [0, 0]).then_some(file.unique_id);
            let options = OpenOptions {
                order: parts.order.clone(),
                prefix_extractor: parts.code.prefix_extractor.clone(),
                table: parts.table.clone(),
                other: parts.other.clone(),
                cache: parts.caches.blocks.clone().filter(|_| how.uses_block_cache),
                file_number: file.number,
                level,
                last_level: level.index() + 1 == parts.pick.num_levels,
                temperature: match file.temperature {
                    0 => parts.measured.default_temperature,
                    known => known,
                },
                largest_seqno: Some(file.largest_seq),
                tail_size: file.tail_size,
                unique_id,
                db_session_id: self.settings.db_session_id.clone(),
                max_flushed_file_size: parts.pick.buffers.write_buffer_size.saturating_mul(3) / 2,
                block_protection_bytes_per_key: parts.blocks.protection_bytes_per_key,
                timestamps_persisted: file.user_defined_timestamps_persisted,
                skip_filters: parts.optimize_filters_for_hits && level.index() + 1 == parts.pick.num_levels,
                statistics: self.settings.stats.statistics().cloned(),
                tracer: Some(self.settings.stats.blocks.clone()),
                histogram: how.histogram,
            };
            let reader = AnyReader::open(handle, size, &options)?;
            parts.charge_reader(&reader)?;
            Ok(reader)
        });
        let reader = opened.map_err(|e| {
            let paths = parts.table_dirs.len();
            if e.is_not_found() && file.path_id as usize >= paths {
                // OPTIONS files do not store these paths, so every open must name them.
                return Error::invalid_argument(format!(
                    "the MANIFEST says that the SST file is in path {}, but cf_paths or db_paths has only {paths} paths; name all paths in the options",
                    file.path_id
                ))
                .file(&path);
            }
            e.doing("opening a table").file(&path)
        })?;
        base::invariant!(
            reader.file_size() == file.size,
            "the reader of table {} has {} bytes, and the table has {}",
            file.number,
            reader.file_size(),
            file.size
        );
        if file.stats().is_none() {
            file.set_stats(stats_of(file, &reader));
        }
        Ok(reader)
    }

    fn open_file(&self, parts: &Parts, file: &TableFile) -> Result<Arc<dyn RandomRead>> {
        let hints = ReadHints { direct: self.settings.direct_reads, random: self.settings.advise_random };
        let dir = parts.table_dir(file.path_id);
        match self.env.fs.open_random(&dir.join(names::table(file.number)), &hints) {
            Err(error) if error.is_not_found() => self
                .env
                .fs
                .open_random(&dir.join(names::legacy_table(file.number)), &hints)
                .map_err(|_| error),
            other => other,
        }
    }

    /// Closes a table before its file is deleted.
    pub fn evict(&self, number: FileNumber) {
        if self.shard(number).write().remove(&number).is_some() {
            self.uncount(1);
        }
    }

    /// Closes a table as [`TableCache::evict`] does. If the table is open, its blocks leave the block cache, as far as
    /// `uncache_aggressiveness` says. 0 keeps the blocks.
    pub fn evict_with_blocks(&self, file: &TableFile, uncache_aggressiveness: u32) {
        if uncache_aggressiveness > 0
            && let Some(reader) = self.find(file)
        {
            reader.uncache(uncache_aggressiveness);
        }
        self.evict(file.number);
    }

    /// Changes the limit of open tables. `None`: no limit. The next opens of tables apply the new limit.
    pub fn set_tables_max(&self, tables_max: Option<usize>) {
        self.tables_max.store(tables_max.unwrap_or(usize::MAX), Ordering::Relaxed);
    }

    /// Returns the number of open tables in the cache. If files hold their tables and the limit was lowered, a table that
    /// only its file holds does not count.
    pub fn len(&self) -> usize {
        self.count.load(Ordering::Relaxed)
    }

    /// Returns true if the cache has no open table.
    pub fn is_empty(&self) -> bool {
        self.len() == 0
    }

    /// Returns the bytes that the open table of `file` uses outside of the block cache. Returns 0 if the table is not
    /// open. The call is no use of the table.
    pub fn memory_bytes(&self, file: &TableFile) -> usize {
        match self.held(file) {
            Some(reader) => reader.memory_bytes(),
            None => {
                self.shard(file.number).read().get(&file.number).map_or(0, |slot| slot.reader.memory_bytes())
            }
        }
    }

    /// Closes all tables and blob files. A table stays open while a reader uses it.
    pub fn clear(&self) {
        self.blobs.clear();
        for shard in &self.shards {
            let mut shard = shard.write();
            self.uncount(shard.len());
            shard.clear();
        }
    }

    /// Subtracts closed tables from the count of open tables.
    fn uncount(&self, readers: usize) {
        let before = self.count.fetch_sub(readers, Ordering::Relaxed);
        base::invariant!(readers <= before, "the table cache closes {readers} of {before} readers");
    }

    fn shard(&self, number: FileNumber) -> &RwLock<FileMap<Slot>> {
        &self.shards[number.spread_over(SHARDS)]
    }

    /// Closes one table of the shard, by second chance. File numbers spread evenly over the shards, so each shard
    /// closes its own tables.
    fn put_out(&self, shard: &mut FileMap<Slot>, keep: FileNumber) {
        let unused = |shard: &FileMap<Slot>| {
            shard
                .iter()
                .find(|(n, slot)| **n != keep && !slot.used.swap(false, Ordering::Relaxed))
                .map(|(n, _)| *n)
        };
        if let Some(victim) = unused(shard).or_else(|| unused(shard)) {
            base::invariant!(victim != keep, "the table cache removes table {keep}, which a reader opens");
            shard.remove(&victim);
            self.uncount(1);
        }
    }
}

fn stats_of(file: &TableFile, reader: &AnyReader) -> FileStats {
    let p = reader.properties();
    // RocksDB 5.18 and older wrote format versions below 5 only. A file of these versions without range tombstones has
    // an exact count.
    let num_range_deletions = p.num_range_deletions.max(reader.range_tombstones().len() as u64);
    let is_old = p.format_version < 5 && num_range_deletions > 0;
    FileStats {
        num_entries: p.num_entries,
        num_deletions: p.num_deletions,
        // Some old releases wrote range tombstones, but no count of them.
        num_range_deletions,
        entry_count: if is_old { EntryCount::Unknown } else { EntryCount::WithTombstones },
        raw_key_size: p.raw_key_size,
        raw_value_size: p.raw_value_size,
        data_size: p.data_size,
        creation_time: (p.creation_time != 0).then_some(p.creation_time),
        newest_key_time: (p.newest_key_time != 0).then_some(p.newest_key_time),
        oldest_write_time: SeqnoTimes::decode(&p.seqno_to_time_mapping)
            .ok()
            .and_then(|samples| written_by(samples, file.smallest_seq)),
    }
}
