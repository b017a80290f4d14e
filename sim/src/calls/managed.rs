//! Two databases that share their managers and caches: the SST file manager, the write buffer manager, the block cache, the blob cache
//! and a listener.
//!
//! ```text
//!  space     the manager tracks each SST file and blob file with its size. Below the limit of space, flushes and compactions fail and
//!            writes stop. Without the limit, a resume continues, and each acknowledged row exists
//!  memory    writes wait for flushes. After the close of both databases, no byte of a memtable is counted
//!  caches    memtables, values of blob files, table readers and file metadata are charged to one block cache
//! ```
//! A rejected write changes nothing.

use std::collections::BTreeMap;
use std::path::PathBuf;
use std::sync::Arc;
use std::sync::atomic::{AtomicU64, Ordering};

use base::stats::StatsLevel;
use ironstone::env::{SstFileManager, SstFileOptions};
use ironstone::{
    BlockCache, CacheOptions, CompactRangeOptions, Db, Error, Event, Family, FamilyDescriptor, Kind, Ledger,
    Listener, LiveFileKind, Options, Statistics, Subcode, TableFactory, WaitForCompactOptions, WriteBatch,
    WriteBufferManager, WriteOptions,
};
use testkit::chance::Chance;

use super::indexed::rows_equal;
use super::overlay::{Change, Key, State};
use super::{FAMILIES, Setting, World, same, told};

/// The directories of the databases.
const PATHS: [&str; 2] = ["/one", "/two"];

/// The limits of memory: none, less than the memory of the empty memtables of both databases, and more.
const LIMITS: [usize; 4] = [0, 10_000, 30_000, 160_000];

/// Counts the events of both databases.
#[derive(Default)]
struct Events(AtomicU64);

impl Listener for Events {
    fn on_event(&self, _: &Event) {
        self.0.fetch_add(1, Ordering::Relaxed);
    }
}

/// One of the databases, and its model.
#[derive(Default)]
struct One {
    db: Option<Db>,
    families: Vec<Family>,
    state: State,
}

/// The databases, their managers and their caches.
pub(super) struct Managed {
    options: Options,
    files: Arc<SstFileManager>,
    memory: Arc<WriteBufferManager>,
    blob_cache: Option<Arc<BlockCache>>,
    events: Arc<Events>,
    both: [One; 2],
}

impl Managed {
    /// Opens the databases.
    ///
    /// # Errors
    /// The error of an open, as text.
    pub fn new(seed: u64, setting: &Setting, chance: &mut Chance) -> Result<Managed, String> {
        let mut options = setting.options.clone();
        options
            .update(
                "write_buffer_size=65536;arena_block_size=4096;\
                 manual_wal_flush=false;inplace_update_support=false;avoid_flush_during_shutdown=false;\
                 memtable_factory=skip_list;paranoid_checks=true;open_files_async=false",
            )
            .map_err(told("options"))?;
        let limit = SstFileOptions {
            rate_bytes_per_sec: *chance.pick(&[0, 0, 1 << 20]),
            max_trash_db_ratio: *chance.pick(&[0.25, 1e9]),
            bytes_max_delete_chunk: *chance.pick(&[0, 1000, 64 << 20]),
            ..SstFileOptions::default()
        };
        let files = SstFileManager::new(options.db.env.clone(), limit);
        options.db.sst_file_manager = Some(files.clone());
        let statistics = Statistics::new();
        statistics.set_level(*chance.pick(&[StatsLevel::ExceptTimers, StatsLevel::All]));
        options.db.statistics = Some(Arc::new(statistics));
        let kind = match chance.below(3) {
            0 => CacheOptions::hyper_clock(2 << 20),
            _ => CacheOptions::lru(2 << 20),
        };
        let block_cache =
            BlockCache::new(CacheOptions { num_shard_bits: 1, ..kind }).map_err(told("block cache"))?;
        let is_charged = chance.percent(70);
        if let TableFactory::BlockBased(table) = &mut options.family.table_factory {
            table.no_block_cache = false;
            if is_charged {
                table.cache_usage_options.block_based_table_reader = ironstone::Charged::Enabled;
                table.cache_usage_options.file_metadata = ironstone::Charged::Enabled;
                table.cache_usage_options.filter_construction = ironstone::Charged::Enabled;
            }
        }
        options.block_cache = Some(block_cache.clone());
        let ledger: Arc<dyn Ledger> = block_cache.clone();
        let bytes = *chance.pick(&LIMITS);
        let memory = Arc::new(WriteBufferManager::new(
            bytes,
            chance.percent(60).then_some(ledger),
            chance.percent(80),
        ));
        options.db.write_buffer_manager = Some(memory.clone());
        let blob_cache = match chance.below(4) {
            0 => None,
            1 => Some(block_cache.clone()),
            _ => Some(BlockCache::new(CacheOptions::lru(100_000)).map_err(told("blob cache"))?),
        };
        if blob_cache.is_some() {
            let text = "enable_blob_files=true;min_blob_size=20;enable_blob_garbage_collection=true;\
                        prepopulate_blob_cache=kFlushOnly";
            options.update(text).map_err(told("options"))?;
        }
        let events = Arc::new(Events::default());
        options.listeners.push(events.clone());
        let both = std::array::from_fn(|_| One {
            state: vec![Default::default(); FAMILIES.len()],
            ..One::default()
        });
        let mut world = Managed { options, files, memory, blob_cache, events, both };
        if seed.is_multiple_of(2) && is_charged {
            world.refuse_charges(&block_cache)?;
        }
        world.open(0)?;
        world.open(1)?;
        Ok(world)
    }

    /// Opens with a blob cache that cannot be charged to the block cache: each open is refused. Later opens charge the blob cache, if
    /// there is one of its own.
    fn refuse_charges(&mut self, block_cache: &Arc<BlockCache>) -> Result<(), String> {
        let Some(own) = self.blob_cache.clone() else { return Ok(()) };
        let mut charging = self.options.clone();
        let TableFactory::BlockBased(table) = &mut charging.family.table_factory else { return Ok(()) };
        table.cache_usage_options.blob_cache = ironstone::Charged::Enabled;
        let larger = BlockCache::new(CacheOptions::lru(4 << 20)).map_err(told("blob cache"))?;
        for refused in [None, Some(block_cache.clone()), Some(larger)] {
            let mut families = super::families(&charging);
            families.iter_mut().for_each(|family| family.blob_cache = refused.clone());
            let opened = Db::open_with_families(PATHS[0], charging.clone(), families);
            let kind = opened.map(drop).map_err(|error| error.kind());
            same("a blob cache that cannot be charged", &kind, &Err(Kind::InvalidArgument))?;
        }
        if !Arc::ptr_eq(&own, block_cache) {
            self.options = charging;
        }
        Ok(())
    }

    fn open(&mut self, at: usize) -> Result<(), String> {
        let mut families: Vec<FamilyDescriptor> = super::families(&self.options);
        families.iter_mut().for_each(|family| family.blob_cache = self.blob_cache.clone());
        let db = Db::open_with_families(PATHS[at], self.options.clone(), families).map_err(told("open"))?;
        let families: Result<Vec<_>, _> = FAMILIES.iter().map(|name| db.family(name)).collect();
        let one = &mut self.both[at];
        (one.db, one.families) = (Some(db), families.map_err(told("family"))?);
        Ok(())
    }

    fn close(&mut self, at: usize) -> Result<(), String> {
        self.both[at].families.clear();
        super::close(&mut self.both[at].db)
    }

    fn db(&self, at: usize) -> &Db {
        self.both[at].db.as_ref().expect("open between operations")
    }

    fn help(&self) {
        while self.options.db.env.executor.help() {}
    }

    /// Writes a batch. Returns the error of the write, if the limit of space or of memory explains the error.
    fn write(&mut self, at: usize, chance: &mut Chance) -> Result<Option<Error>, String> {
        let one = &self.both[at];
        let (mut batch, mut next) = (WriteBatch::new(), one.state.clone());
        for _ in 0..1 + chance.below(8) {
            let key = Key::draw(chance);
            let (id, model) = (one.families[key.family].id(), &mut next[key.family]);
            match Change::draw(chance) {
                Change::Put(value) | Change::Entity(value) => {
                    let large =
                        chance.percent(25).then(|| chance.bytes(chance.clone().below(30_000) as usize));
                    let value = large.unwrap_or(value);
                    batch.put_in(id, &key.bytes, &value);
                    model.put(&key.bytes, &value);
                }
                Change::Delete => {
                    batch.delete_in(id, &key.bytes);
                    model.delete(&key.bytes);
                }
                Change::Merge(operand) => {
                    batch.merge_in(id, &key.bytes, &operand);
                    model.append(&key.bytes, &operand);
                }
            }
        }
        let options = WriteOptions { no_slowdown: chance.percent(20), ..WriteOptions::default() };
        match self.db(at).write_with(batch, &options) {
            Ok(()) => {
                self.both[at].state = next;
                Ok(None)
            }
            Err(error) if error.kind() == Kind::Incomplete && options.no_slowdown => Ok(Some(error)),
            Err(error) if is_for_space(&error) => Ok(Some(error)),
            Err(error) => Err(format!("write: {error}")),
        }
    }

    /// Works below a limit of space, and then without the limit.
    fn fill(&mut self, at: usize, chance: &mut Chance) -> Result<(), String> {
        for family in self.both.iter().flat_map(|one| &one.families) {
            family.flush().map_err(told("flush before a limit"))?;
        }
        self.help();
        let before = self.files.options();
        let most = self.files.total_size() + *chance.pick(&[1, 2000, 20_000]);
        let buffer = *chance.pick(&[0, 0, 5000]);
        let limit = SstFileOptions { max_allowed_space: most, compaction_buffer_size: buffer, ..before };
        self.files.set_options(limit);
        for _ in 0..2 + chance.below(12) {
            let done = match chance.below(8) {
                0..5 => self.write(at, chance)?.map_or(Ok(()), Err),
                5 => self.both[at].families[chance.below(2) as usize].flush(),
                6 => self.db(at).compact_range(None, None, &CompactRangeOptions::default()),
                _ => {
                    self.options.db.env.executor.help();
                    Ok(())
                }
            };
            match done {
                Err(error)
                    if error.kind() == Kind::CompactionTooLarge || error.kind() == Kind::Incomplete => {}
                Err(error) if is_for_space(&error) => {
                    if chance.percent(40) {
                        // The limit is the same, so only some resumes find space.
                        let again = self.db(at).resume().err().filter(|error| !is_for_space(error));
                        same("a resume without space", &again.map(|error| error.to_string()), &None)?;
                    }
                }
                done => done.map_err(told("a call below the limit of space"))?,
            }
        }
        self.files.set_options(before);
        self.db(at).resume().map_err(told("a resume with space"))?;
        self.help();
        let error = self.db(at).background_error().map(|error| error.to_string());
        same("the background error after a resume", &error, &None)?;
        rows_equal(&self.both[at].families, &self.both[at].state)
    }

    /// Compares the tracked files with the files of the databases. All jobs have ended.
    fn compare_files(&self) -> Result<(), String> {
        let all =
            WaitForCompactOptions { wait_for_purge: true, flush: true, ..WaitForCompactOptions::default() };
        let mut expected: BTreeMap<PathBuf, u64> = BTreeMap::new();
        for at in 0..2 {
            self.db(at).wait_for_compact_with(&all).map_err(told("wait_for_compact"))?;
        }
        for at in 0..2 {
            let infos = self.db(at).live_files_storage_info(&Default::default());
            let data = infos.map_err(told("live_files_storage_info"))?.into_iter();
            let data = data.filter(|info| matches!(info.kind, LiveFileKind::Table | LiveFileKind::Blob));
            expected.extend(data.map(|info| (info.path(), info.size)));
        }
        let found: BTreeMap<PathBuf, u64> = self.files.tracked().into_iter().collect();
        same("tracked files", &found, &expected)?;
        same("bytes of tracked files", &self.files.total_size(), &expected.values().sum())?;
        let errors: Vec<_> = self.files.errors().values().map(ToString::to_string).collect();
        same("errors of deletions", &errors, &Vec::new())
    }

    /// Closes both databases, and opens them again.
    fn reopen(&mut self) -> Result<(), String> {
        self.close(0)?;
        self.close(1)?;
        self.help();
        same("bytes of memtables without a database", &self.memory.memory_usage(), &0)?;
        same("events", &(self.events.0.load(Ordering::Relaxed) > 0), &true)?;
        self.open(0)?;
        self.open(1)?;
        self.compare()
    }

    /// Reads through the caches, and then changes the limits.
    fn read(&mut self, at: usize, chance: &mut Chance) -> Result<(), String> {
        let one = &self.both[at];
        for _ in 0..1 + chance.below(8) {
            let key = Key::draw(chance);
            let found = one.families[key.family].get(&key.bytes).map_err(told("get"))?;
            same("a value", &found.as_deref(), &one.state[key.family].get(&key.bytes))?;
        }
        match chance.below(12) {
            0 => self.memory.set_buffer_size(*chance.pick(&LIMITS)),
            1 => self.memory.set_allow_stall(chance.percent(70)),
            2 => {
                if let Some(cache) = &self.blob_cache {
                    cache.erase_unreferenced();
                }
            }
            _ => {}
        }
        Ok(())
    }
}

/// Returns true if the limit of space explains the error.
fn is_for_space(error: &Error) -> bool {
    error.subcode() == Subcode::SpaceLimit
}

impl World for Managed {
    fn step(&mut self, chance: &mut Chance) -> Result<(), String> {
        let at = chance.below(2) as usize;
        match chance.below(100) {
            0..55 => self.write(at, chance).map(drop),
            55..75 => self.read(at, chance),
            75..80 => self.both[at].families[chance.below(2) as usize].flush().map_err(told("flush")),
            80..83 => self
                .db(at)
                .compact_range(None, None, &CompactRangeOptions::default())
                .map_err(told("compact_range")),
            83..87 => self.fill(at, chance),
            87..89 => self.reopen(),
            89..92 => self.compare_files(),
            _ => {
                self.options.db.env.executor.help();
                Ok(())
            }
        }
    }

    fn compare(&mut self) -> Result<(), String> {
        self.both.iter().try_for_each(|one| rows_equal(&one.families, &one.state))
    }
}
