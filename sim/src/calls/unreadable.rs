//! Reads whose file-system calls fail, return fewer bytes, or take a long time.
//!
//! ```text
//!  a read with a fault        returns the answer of the model, or an error that the fault or an option allows
//!  the same read without it   returns the answer of the model: the failed read left nothing behind
//! ```
//! The reads are lookups of one and of several keys, iterators, SST files without a database, checksums, updates of the WAL, and opens
//! of readers. All jobs end before a fault, so that no job meets the fault. A fault changes no row and sets no background error.

use std::path::Path;
use std::sync::Arc;
use std::sync::atomic::{AtomicU64, Ordering};
use std::time::Duration;

use base::stats::{PerfLevel, set_perf_level};
use env::clock::ManualClock;
use env::hook::{Call, Hook, Hooked, Op, Verdict};
use env::{Clock as _, FileSystem};
use ironstone::{
    BlockCache, CacheOptions, Db, Error, Family, FamilyDescriptor, FlushOptions, Iter, Kind,
    LiveFilesStorageInfoOptions, Options, ReadOptions, ReadTier, Secondary, SequenceNumber, SstFileReader,
};
use parking_lot::Mutex;
use testkit::chance::Chance;

use super::forms::change_row;
use super::indexed::rows_equal;
use super::overlay::{Change, Key, State};
use super::{FAMILIES, Setting, World, key, same, told};
use crate::sample;

/// The time that a slow call takes, in microseconds. Limits of time are shorter.
const SLOW_US: u64 = 2_000_000;

/// Error numbers of the system: a failed device, and too many open files.
const EIO: i32 = 5;
const EMFILE: i32 = 24;

/// What happens to a file-system call.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
enum Fault {
    /// The call fails with this error number.
    Errno(i32),
    /// A read returns at most this number of bytes.
    Short(usize),
    /// The call takes [`SLOW_US`].
    Slow,
}

/// The calls that a fault changes.
#[derive(Clone, Debug)]
struct Plan {
    fault: Fault,
    op: Option<Op>,
    /// The end of the names of the files; the empty text stands for all files.
    ending: &'static str,
    /// The number of matching calls before the first fault.
    skipped: u64,
    /// The number of faults.
    faults: u64,
}

impl Plan {
    fn draw(chance: &mut Chance) -> Plan {
        let fault = match chance.below(10) {
            0..5 => Fault::Errno(*chance.pick(&[EIO, EIO, EMFILE])),
            5 | 6 => Fault::Short(chance.below(60) as usize),
            _ => Fault::Slow,
        };
        let reads = [Some(Op::Read), Some(Op::Read), Some(Op::Read), Some(Op::Open), None];
        // A WAL or a MANIFEST with fewer bytes is what a crash leaves.
        let endings = match fault {
            Fault::Short(_) => [".sst", ".sst", ".sst", ".blob", ".blob"],
            _ => ["", ".sst", ".sst", ".blob", ".log"],
        };
        Plan {
            fault,
            op: *chance.pick(&reads),
            ending: chance.pick::<&str>(&endings),
            skipped: *chance.pick(&[0, 0, 0, 1, 2, 5, 20]),
            faults: *chance.pick(&[1, 1, 2, u64::MAX]),
        }
    }
}

/// Puts the faults of a plan into the calls that read.
#[derive(Debug)]
struct Faults {
    clock: Arc<ManualClock>,
    plan: Mutex<Option<Plan>>,
    /// The number of faults since the plan was set.
    fired: AtomicU64,
}

impl Hook for Faults {
    fn name(&self) -> &'static str {
        "unreadable"
    }

    fn before(&self, call: &Call<'_>) -> Verdict {
        let mut plan = self.plan.lock();
        let Some(plan) = plan.as_mut() else { return Verdict::Go };
        let is_read = matches!(call.op, Op::Open | Op::Read | Op::List | Op::Status);
        let is_named = call.path.to_string_lossy().ends_with(plan.ending);
        if !is_read || !is_named || plan.op.is_some_and(|op| op != call.op) || plan.faults == 0 {
            return Verdict::Go;
        }
        if plan.skipped > 0 {
            plan.skipped -= 1;
            return Verdict::Go;
        }
        plan.faults -= 1;
        self.fired.fetch_add(1, Ordering::Relaxed);
        match plan.fault {
            Fault::Errno(number) => Verdict::Fail(
                Error::io(call.op.name(), call.path, std::io::Error::from_raw_os_error(number))
                    .at(call.offset),
            ),
            Fault::Short(bytes) => Verdict::Part(bytes, None),
            Fault::Slow => {
                self.clock.advance(SLOW_US);
                Verdict::Go
            }
        }
    }
}

/// The result of a read: the right answer, or the error of the call. The outer error is a wrong answer.
type Read = Result<Result<(), Error>, String>;

/// A database on a disk whose reads fail, and its model.
pub(super) struct Unreadable {
    options: Options,
    clock: Arc<ManualClock>,
    faults: Arc<Faults>,
    db: Option<Db>,
    families: Vec<Family>,
    secondary: Option<Secondary>,
    /// The cache of the values of blob files, if there is one.
    blob_cache: Option<Arc<BlockCache>>,
    state: State,
}

impl Unreadable {
    /// Opens the database.
    ///
    /// # Errors
    /// The error of the open, as text.
    pub fn new(seed: u64, setting: &Setting) -> Result<Unreadable, String> {
        let mut options = setting.options.clone();
        // Readers need WAL records that are written at once.
        options
            .update(
                "recycle_log_file_num=0;manual_wal_flush=false;open_files_async=false;\
                 inplace_update_support=false;unordered_write=false;WAL_ttl_seconds=100000",
            )
            .map_err(told("options"))?;
        let clock = setting.clock.clone();
        let faults =
            Arc::new(Faults { clock: clock.clone(), plan: Mutex::new(None), fired: AtomicU64::new(0) });
        let fs: Arc<dyn FileSystem> = Arc::new(Hooked::new(options.db.env.fs.clone(), faults.clone()));
        options.db.env.fs = fs;
        options.db.statistics = sample::rare::statistics(seed);
        options.db.row_cache = sample::rare::row_cache(seed);
        let has_blob_cache = (seed / super::WORLDS).is_multiple_of(2);
        let blob_cache = has_blob_cache.then(|| BlockCache::new(CacheOptions::lru(20_000)));
        let blob_cache = blob_cache.transpose().map_err(told("blob cache"))?;
        let state = vec![Default::default(); FAMILIES.len()];
        let (db, families, secondary) = Default::default();
        let mut world = Unreadable { options, clock, faults, db, families, secondary, blob_cache, state };
        world.open()?;
        Ok(world)
    }

    fn descriptors(&self) -> Vec<FamilyDescriptor> {
        let mut families = super::families(&self.options);
        families.iter_mut().for_each(|family| family.blob_cache = self.blob_cache.clone());
        families
    }

    fn open(&mut self) -> Result<(), String> {
        let (db, families) = super::open(&self.options, self.descriptors())?;
        (self.db, self.families) = (Some(db), families);
        Ok(())
    }

    fn reopen(&mut self) -> Result<(), String> {
        self.families.clear();
        super::close(&mut self.db)?;
        self.open()
    }

    fn db(&self) -> &Db {
        self.db.as_ref().expect("open between operations")
    }

    fn write(&mut self, chance: &mut Chance) -> Result<(), String> {
        let (key, change) = (Key::draw(chance), Change::draw(chance));
        change_row(&self.families[key.family], &mut self.state[key.family], &key.bytes, &change)
    }

    fn delete_range(&mut self, chance: &mut Chance) -> Result<(), String> {
        let (at, a, b) = (chance.below(2) as usize, key(chance), key(chance));
        let (begin, end) = if a <= b { (a, b) } else { (b, a) };
        self.families[at].delete_range(&begin, &end).map_err(told("delete_range"))?;
        self.state[at].delete_range(&begin, &end);
        Ok(())
    }

    /// Draws the options of a read. A limit of time is shorter than a slow call.
    fn options(&self, chance: &mut Chance) -> ReadOptions {
        let limit = Duration::from_micros(SLOW_US / 2);
        let deadline = Duration::from_micros(self.clock.now_micros()) + limit;
        ReadOptions {
            deadline: *chance.pick(&[Duration::ZERO, Duration::ZERO, deadline]),
            io_timeout: *chance.pick(&[Duration::ZERO, Duration::ZERO, limit]),
            read_tier: if chance.percent(10) { ReadTier::BlockCache } else { ReadTier::All },
            value_size_soft_limit: *chance.pick(&[u64::MAX, u64::MAX, u64::MAX, 100]),
            verify_checksums: chance.percent(80),
            fill_cache: chance.percent(60),
            readahead_size: *chance.pick(&[0, 0, 500, 100_000]),
            adaptive_readahead: chance.percent(30),
            auto_readahead_size: chance.percent(70),
            async_io: chance.percent(30),
            optimize_multiget_for_io: chance.percent(50),
            pin_data: chance.percent(20),
            total_order_seek: true,
            ..ReadOptions::default()
        }
    }

    /// Makes a read with a fault, and makes the same read again without a fault.
    fn read(&mut self, chance: &mut Chance) -> Result<(), String> {
        while self.options.db.env.executor.help() {}
        let (plan, seed) = (Plan::draw(chance), chance.next());
        self.faults.fired.store(0, Ordering::Relaxed);
        *self.faults.plan.lock() = Some(plan.clone());
        let options = self.options(&mut Chance::new(seed));
        let (name, done) = self.read_once(seed, &options);
        *self.faults.plan.lock() = None;
        let fired = self.faults.fired.load(Ordering::Relaxed) > 0;
        let what = |words: String| format!("{words}\n{plan:?}, fired {fired}, {options:?}");
        if let Err(error) = done.map_err(what)?
            && !is_allowed(&error, &options, fired.then_some(plan.fault))
        {
            return Err(what(format!("{name}: not the error of the fault: {error}")));
        }
        let background = self.db().background_error().map(|error| error.to_string());
        same("background error", &background, &None).map_err(what)?;
        let again = self.options(&mut Chance::new(seed));
        let (_, done) = self.read_once(seed, &again);
        match done.map_err(|words| what(format!("after a fault: {words}")))? {
            Err(error) if !is_allowed(&error, &again, None) => {
                Err(what(format!("{name}: a failed read left an error behind: {error}")))
            }
            _ => Ok(()),
        }
    }

    /// Makes the read of a seed. Also returns the name of the read.
    fn read_once(&mut self, seed: u64, options: &ReadOptions) -> (&'static str, Read) {
        let chance = &mut Chance::new(seed ^ 0x7265_6164);
        let at = chance.below(2) as usize;
        set_perf_level(*chance.pick(&[PerfLevel::Disable, PerfLevel::EnableCount, PerfLevel::EnableTime]));
        let (name, read) = match chance.below(24) {
            0..8 => ("a lookup", self.get(at, options, chance)),
            8..12 => ("a lookup of several keys", self.multi_get(options, chance)),
            12..18 => ("an iterator", self.walk(at, options, chance)),
            18 => ("a look at the files", self.look_at_files(at, chance)),
            19 => ("a read of an SST file", self.read_file(at, options, chance)),
            20 | 21 => ("an open for reading", self.read_elsewhere(chance)),
            22 => ("the updates of the WAL", self.updates(chance)),
            _ => ("a secondary instance", self.catch_up()),
        };
        set_perf_level(PerfLevel::Disable);
        (name, read.map_err(|words| format!("{name}: {words}")))
    }

    /// Reads one key in one of several ways.
    fn get(&self, at: usize, options: &ReadOptions, chance: &mut Chance) -> Read {
        let (family, key) = (&self.families[at], key(chance));
        let expected = self.state[at].get(&key).map(<[u8]>::to_vec);
        let found = match chance.below(5) {
            0 => family.get_with(&key, options).map(|value| value.map(|value| value.to_vec())),
            1 => family.get_answered(&key, options).map(|found| found.value.map(|value| value.to_vec())),
            2 => family.get_entity_with(&key, options).map(|found| {
                let default = |columns: ironstone::WideColumns| {
                    columns.iter().find(|(name, _)| name.is_empty()).map(|(_, value)| value.to_vec())
                };
                found.and_then(default)
            }),
            3 => family.get_merge_operands(&key, options).map(|operands| {
                let joined = operands.iter().map(|operand| &**operand).collect::<Vec<_>>().join(&b',');
                (!operands.is_empty()).then_some(joined)
            }),
            _ => {
                let (may_exist, value) = family.key_may_exist_with(&key, options);
                same("key_may_exist", &(may_exist || expected.is_none()), &true)?;
                return match value {
                    Some(value) => same("value", &Some(value.to_vec()), &expected).map(Ok),
                    None => Ok(Ok(())),
                };
            }
        };
        answered(&format!("get of {}", key.escape_ascii()), found, &expected)
    }

    /// Reads several keys of one or of both column families.
    fn multi_get(&self, options: &ReadOptions, chance: &mut Chance) -> Read {
        let keys: Vec<Key> = (0..chance.below(30)).map(|_| Key::draw(chance)).collect();
        let expected = |key: &Key| self.state[key.family].get(&key.bytes).map(<[u8]>::to_vec);
        let mut first = Ok(());
        let mut check = |key: &Key, found: Result<Option<Vec<u8>>, Error>| {
            let done = answered(&format!("multi_get of {key:?}"), found, &expected(key))?;
            first = std::mem::replace(&mut first, Ok(())).and(done);
            Ok::<(), String>(())
        };
        if chance.percent(40) {
            let pairs: Vec<_> = keys.iter().map(|key| (&self.families[key.family], &key.bytes[..])).collect();
            let found = self.db().multi_get_families(&pairs, options);
            for (key, found) in keys.iter().zip(found) {
                check(key, found.map(|value| value.map(|value| value.to_vec())))?;
            }
            return Ok(first);
        }
        for (at, family) in self.families.iter().enumerate() {
            let own: Vec<&Key> = keys.iter().filter(|key| key.family == at).collect();
            let wanted: Vec<&[u8]> = own.iter().map(|key| &key.bytes[..]).collect();
            if chance.percent(30) {
                for (key, found) in own.iter().zip(family.multi_get_entity(&wanted, options)) {
                    let default = |columns: ironstone::WideColumns| {
                        columns.iter().find(|(name, _)| name.is_empty()).map(|(_, value)| value.to_vec())
                    };
                    check(key, found.map(|columns| columns.and_then(default)))?;
                }
                continue;
            }
            for (key, found) in own.iter().zip(family.multi_get_with(&wanted, options)) {
                check(key, found.map(|value| value.map(|value| value.to_vec())))?;
            }
        }
        Ok(first)
    }

    /// Moves an iterator. After an error, the iterator is not valid. A later seek without a fault finds the row again.
    fn walk(&self, at: usize, options: &ReadOptions, chance: &mut Chance) -> Read {
        let rows = self.state[at].rows();
        let mut options = options.clone();
        options.tailing = chance.percent(15);
        options.allow_unprepared_value = chance.percent(20);
        options.iterate_lower_bound = chance.percent(20).then(|| b"key05".to_vec());
        options.iterate_upper_bound = chance.percent(30).then(|| b"key40".to_vec());
        let is_inside = |key: &[u8]| {
            options.iterate_lower_bound.as_deref().is_none_or(|lower| lower <= key)
                && options.iterate_upper_bound.as_deref().is_none_or(|upper| key < upper)
        };
        let rows: Vec<_> = rows.into_iter().filter(|(key, _)| is_inside(key)).collect();
        let mut iter = match self.families[at].iter_with(options) {
            Ok(iter) => iter,
            Err(error) => return Ok(Err(error)),
        };
        for _ in 0..3 {
            let target = key(chance);
            let forward = chance.percent(60);
            let mut place = match (chance.percent(30), forward) {
                (true, true) => {
                    iter.seek_to_first();
                    Some(0)
                }
                (true, false) => {
                    iter.seek_to_last();
                    rows.len().checked_sub(1)
                }
                (false, true) => {
                    iter.seek(&target);
                    Some(rows.partition_point(|(key, _)| *key < target))
                }
                (false, false) => {
                    iter.seek_for_prev(&target);
                    rows.partition_point(|(key, _)| *key <= target).checked_sub(1)
                }
            };
            let mut is_forward = forward;
            for _ in 0..1 + chance.below(40) {
                let row = place.and_then(|place| rows.get(place));
                if let Err(error) = shown(&mut iter, row)? {
                    same("an iterator with an error is valid", &iter.valid(), &false)?;
                    return Ok(Err(error));
                }
                if row.is_none() {
                    break;
                }
                is_forward ^= chance.percent(10);
                if is_forward {
                    iter.next()
                } else {
                    iter.prev()
                }
                place =
                    if is_forward { place.map(|at| at + 1) } else { place.and_then(|at| at.checked_sub(1)) };
            }
        }
        if chance.percent(20) {
            if let Err(error) = iter.refresh() {
                return Ok(Err(error));
            }
            iter.seek_to_first();
            return shown(&mut iter, rows.first());
        }
        Ok(Ok(()))
    }

    /// Reads what the files of the database say of themselves.
    fn look_at_files(&self, at: usize, chance: &mut Chance) -> Read {
        let (db, family) = (self.db(), &self.families[at]);
        Ok(match chance.below(6) {
            0 => db.verify_checksum(),
            1 if self.options.db.file_checksum_gen_factory.is_some() => db.verify_file_checksums(),
            1 | 2 => {
                let live = family.live_files().len();
                match family.table_properties() {
                    Ok(found) => return same("files with properties", &found.len(), &live).map(Ok),
                    Err(error) => Err(error),
                }
            }
            // With this size, the call flushes no memtable.
            3 => {
                let options = LiveFilesStorageInfoOptions {
                    wal_size_for_flush: u64::MAX,
                    include_checksum_info: chance.percent(50),
                    ..LiveFilesStorageInfoOptions::default()
                };
                db.live_files_storage_info(&options).map(drop)
            }
            4 => family.approximate_size(b"key10", b"key40").map(drop),
            _ => db.wal_files().map(drop),
        })
    }

    /// Reads a live SST file without its database.
    fn read_file(&self, at: usize, options: &ReadOptions, chance: &mut Chance) -> Read {
        let files = self.families[at].live_files();
        if files.is_empty() {
            return Ok(Ok(()));
        }
        let file = chance.pick(&files);
        // Range tombstones can be the first or the last entries of a file.
        match self.keys_of(&file.path, options, chance) {
            Ok((Some(first), Some(last))) => {
                let is_inside = file.smallest_key <= first && last <= file.largest_key;
                same("the keys of a file are inside of its range", &is_inside, &true).map(Ok)
            }
            Ok(_) => Ok(Ok(())),
            // The value of a merge can be in a blob file, which this reader does not read.
            Err(error) if error.message().starts_with("Invalid blob file number") => Ok(Ok(())),
            Err(error) => Ok(Err(error)),
        }
    }

    /// Returns the first and the last key of an SST file, read without its database.
    fn keys_of(
        &self,
        path: &Path,
        options: &ReadOptions,
        chance: &mut Chance,
    ) -> Result<(Option<Vec<u8>>, Option<Vec<u8>>), Error> {
        let reader = SstFileReader::open(path, &self.options)?;
        if chance.percent(30) {
            reader.verify_checksums(options)?;
        }
        let mut iter = reader.iter(options.clone())?;
        let mut keys = Vec::new();
        iter.seek_to_first();
        while iter.valid() {
            keys.push(iter.key().to_vec());
            iter.next();
        }
        iter.status()?;
        Ok((keys.first().cloned(), keys.last().cloned()))
    }

    /// Opens a reader of the directory, and compares its rows.
    fn read_elsewhere(&self, chance: &mut Chance) -> Read {
        let mut options = self.options.clone();
        options.db.max_open_files = *chance.pick(&[-1, 10]);
        let opened = Db::open_read_only_with_families("/db", options, self.descriptors());
        let reader = match opened {
            Ok(reader) => reader,
            Err(error) => return Ok(Err(error)),
        };
        // A WAL record whose value is not whole in its blob file is what a crash leaves.
        if self.options.family.enable_blob_direct_write && self.is_cut_off() {
            return Ok(Ok(()));
        }
        self.scan(&reader)
    }

    /// Compares all rows of a reader.
    fn scan(&self, reader: &Db) -> Read {
        for (name, model) in FAMILIES.iter().zip(&self.state) {
            let family = reader.family(name).map_err(told("family of a reader"))?;
            let options = ReadOptions { total_order_seek: true, ..ReadOptions::default() };
            let mut iter = match family.iter_with(options) {
                Ok(iter) => iter,
                Err(error) => return Ok(Err(error)),
            };
            iter.seek_to_first();
            for row in model.rows().iter().map(Some).chain([None]) {
                if let Err(error) = shown(&mut iter, row)? {
                    return Ok(Err(error));
                }
                if row.is_some() {
                    iter.next();
                }
            }
        }
        Ok(Ok(()))
    }

    /// Reads the WALs from a drawn sequence number on. The batches follow each other.
    fn updates(&self, chance: &mut Chance) -> Read {
        let newest = self.db().latest_sequence().get();
        let from = SequenceNumber::new(newest.saturating_sub(chance.below(100)).max(1));
        let updates = match self.db().updates_since(from) {
            Ok(updates) => updates,
            Err(error) if error.kind() == Kind::NotFound && newest == 0 => return Ok(Ok(())),
            Err(error) => return Ok(Err(error)),
        };
        let mut next = None;
        for update in updates {
            let update = match update {
                Ok(update) => update,
                Err(error) => return Ok(Err(error)),
            };
            let first = update.sequence.get();
            same("the sequence numbers follow", &(first >= next.unwrap_or(0)), &true)?;
            next = Some(first + u64::from(update.batch.count()));
        }
        Ok(Ok(()))
    }

    /// Opens a secondary instance, or lets it follow the database. Then compares its rows.
    fn catch_up(&mut self) -> Read {
        let secondary = match self.secondary.take() {
            None => {
                let mut options = self.options.clone();
                options.db.max_open_files = -1;
                match Secondary::open_with_families("/db", options, self.descriptors()) {
                    Ok(secondary) => secondary,
                    Err(error) => return Ok(Err(error)),
                }
            }
            Some(secondary) => secondary,
        };
        let done = secondary.try_catch_up_with_primary();
        let view = secondary.view();
        self.secondary = Some(secondary);
        match done {
            // The view stays as it is if an SST file of the newest state is damaged.
            Ok(()) if self.is_cut_off() => Ok(Ok(())),
            Ok(()) => self.scan(&view),
            Err(error) => Ok(Err(error)),
        }
    }

    /// Returns true if a file had fewer bytes than its size since the plan was set.
    fn is_cut_off(&self) -> bool {
        let plan = self.faults.plan.lock();
        let is_short = plan.as_ref().is_some_and(|plan| matches!(plan.fault, Fault::Short(_)));
        is_short && self.faults.fired.load(Ordering::Relaxed) > 0
    }
}

/// Returns true if a fault or an option of the read allows the error.
fn is_allowed(error: &Error, options: &ReadOptions, fault: Option<Fault>) -> bool {
    let has_limit = options.deadline > Duration::ZERO || options.io_timeout > Duration::ZERO;
    match error.kind() {
        Kind::IoError => matches!(fault, Some(Fault::Errno(_) | Fault::Short(_))),
        // A file with fewer bytes than its size is corrupt.
        Kind::Corruption => matches!(fault, Some(Fault::Short(_))),
        Kind::TimedOut => has_limit && fault == Some(Fault::Slow),
        Kind::Incomplete => options.read_tier == ReadTier::BlockCache,
        Kind::Aborted => options.value_size_soft_limit < u64::MAX,
        _ => false,
    }
}

/// Compares the answer of a read, if the read succeeded.
fn answered<T: PartialEq + std::fmt::Debug>(what: &str, found: Result<T, Error>, expected: &T) -> Read {
    match found {
        Ok(found) => same(what, &found, expected).map(Ok),
        Err(error) => Ok(Err(error)),
    }
}

/// Compares the position of an iterator with a row. `None` stands for the end.
fn shown(iter: &mut Iter, row: Option<&(Vec<u8>, Vec<u8>)>) -> Read {
    if iter.valid() && !iter.prepare_value() {
        return Ok(iter.status());
    }
    if let Err(error) = iter.status() {
        return Ok(Err(error));
    }
    if iter.valid() {
        let pinned = (iter.pinned_key().to_vec(), iter.pinned_value().to_vec());
        same("a pinned row", &(&pinned.0[..], &pinned.1[..]), &(iter.key(), iter.value()))?;
        let is_pinned = iter.property("rocksdb.iterator.is-key-pinned");
        same("is-key-pinned", &is_pinned.is_some_and(|text| text == b"0" || text == b"1"), &true)?;
    }
    let found = iter.valid().then(|| (iter.key().to_vec(), iter.value().to_vec()));
    same("a row of an iterator", &found.as_ref(), &row).map(Ok)
}

impl World for Unreadable {
    fn step(&mut self, chance: &mut Chance) -> Result<(), String> {
        match chance.below(100) {
            0..50 => self.write(chance),
            50..53 => self.delete_range(chance),
            53..60 => {
                let options = FlushOptions { allow_write_stall: true, ..FlushOptions::default() };
                self.families[chance.below(2) as usize].flush_with(&options).map_err(told("flush"))
            }
            60..63 => {
                let family = &self.families[chance.below(2) as usize];
                family.compact_range(None, None, &Default::default()).map_err(told("compact"))
            }
            63..95 => self.read(chance),
            95 => self.reopen(),
            96 => {
                self.secondary = None;
                Ok(())
            }
            _ => {
                self.options.db.env.executor.help();
                Ok(())
            }
        }
    }

    fn compare(&mut self) -> Result<(), String> {
        let exists = self.options.db.env.fs.exists(Path::new("/db/CURRENT"));
        same("CURRENT", &exists.ok(), &Some(true))?;
        rows_equal(&self.families, &self.state)
    }
}
