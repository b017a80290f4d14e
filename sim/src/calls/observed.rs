//! What a database reports of itself: metrics, the history of the statistics, traces of blocks and of files, sizes of memtables, and
//! options that are derived.
//!
//! ```text
//!  metrics      the entries, files and snapshots of the model, also in the pages of the inspector, for Prometheus and OpenTelemetry
//!  history      the rises of a ticker add up to the ticker, and a sample never changes
//!  blocks       the accesses of a trace are those that the tickers count, in live files
//!  files        the appends of a trace are the bytes that the WAL grew by
//!  options      a database with derived options has all entries
//! ```
//! The model is the state of the column families, and the number of operations.

use std::collections::BTreeMap;
use std::sync::Arc;

use base::Level;
use base::coding::Cursor;
use base::stats::Ticker;
use env::clock::ManualClock;
use format::trace::{Record, RecordType};
use ironstone::metrics::Description;
use ironstone::trace::{self, BlockCacheTraceOptions, FileTraceReader, FileTraceWriter};
use ironstone::{
    BudgetGoal, Db, Family, Kind, LiveFile, Options, ReadOptions, Snapshot, Statistics, WriteBatch,
    explain_options,
};
use testkit::chance::Chance;

use super::figures;
use super::indexed::rows_equal;
use super::overlay::State;
use super::served::{Expected, compare_collectors, compare_pages};
use super::{FAMILIES, Setting, World, key, same, told, value};

/// The file of the traces.
const TRACE: &str = "/trace";

/// The seconds between two samples of the history.
const PERIOD_S: u64 = 60;

/// A sample of the history: the rise of each ticker since the sample before.
type Sample = BTreeMap<String, u64>;

/// Returns how many samples `stats_history_buffer_size` keeps in memory. The bytes are counted as in RocksDB
/// `DBImpl::EstimateInMemoryStatsHistorySize`.
fn samples_max(sample: &Sample, buffer_bytes: usize) -> usize {
    let names: usize = sample.keys().map(|name| name.len().max(15) + 32 + 8).sum();
    buffer_bytes.saturating_sub(48) / (8 + 48 + names)
}

/// A database that is observed, and its model.
pub(super) struct Observed {
    options: Options,
    clock: Arc<ManualClock>,
    statistics: Arc<Statistics>,
    db: Option<Db>,
    families: Vec<Family>,
    state: State,
    snapshots: Vec<Snapshot>,
    /// The entries of write batches since the open, or since the last reset.
    entries: u64,
    /// The number of gets.
    gets: u64,
    history: BTreeMap<u64, Sample>,
    made: u64,
}

impl Observed {
    /// Opens the database, with statistics and with a file system that records its calls.
    ///
    /// # Errors
    /// The error of the open, as text.
    pub fn new(setting: &Setting) -> Result<Observed, String> {
        let mut options = setting.options.clone();
        // A record is in the WAL when its write returns.
        options
            .update(&format!(
                "manual_wal_flush=false;inplace_update_support=false;recycle_log_file_num=0;\
                 stats_persist_period_sec={PERIOD_S};stats_dump_period_sec=0"
            ))
            .map_err(told("options"))?;
        let statistics = Arc::new(Statistics::new());
        options.db.statistics = Some(statistics.clone());
        options.db.env = trace::io_traced(&options.db.env);
        let mut world = Observed {
            options,
            clock: setting.clock.clone(),
            statistics,
            db: None,
            families: Vec::new(),
            state: vec![Default::default(); FAMILIES.len()],
            snapshots: Vec::new(),
            entries: 0,
            gets: 0,
            history: BTreeMap::new(),
            made: 0,
        };
        world.open()?;
        Ok(world)
    }

    fn open(&mut self) -> Result<(), String> {
        let (db, families) = super::open(&self.options, super::families(&self.options))?;
        (self.db, self.families) = (Some(db), families);
        Ok(())
    }

    fn reopen(&mut self) -> Result<(), String> {
        self.families.clear();
        self.snapshots.clear();
        super::close(&mut self.db)?;
        // The samples are in memory.
        self.history.clear();
        self.entries = 0;
        self.open()
    }

    fn db(&self) -> &Db {
        self.db.as_ref().expect("open between operations")
    }

    fn write(&mut self, chance: &mut Chance) -> Result<(), String> {
        let mut batch = WriteBatch::new();
        for _ in 0..1 + chance.below(8) {
            let (at, key, value) = (chance.below(2) as usize, key(chance), value(chance));
            let id = self.families[at].id();
            if chance.percent(80) {
                batch.put_in(id, &key, &value);
                self.state[at].put(&key, &value);
            } else {
                batch.delete_in(id, &key);
                self.state[at].delete(&key);
            }
        }
        if chance.percent(30) {
            self.change_once(&mut batch, chance)?;
        }
        self.entries += u64::from(batch.count());
        self.db().write(batch).map_err(told("write"))
    }

    /// Puts a key that has no value, or deletes a key that has one put. No other call changes these keys, so each single deletion
    /// meets one put.
    fn change_once(&mut self, batch: &mut WriteBatch, chance: &mut Chance) -> Result<(), String> {
        let (at, key) = (chance.below(2) as usize, format!("once{}", chance.below(4)).into_bytes());
        let value = value(chance);
        if self.state[at].get(&key).is_none() {
            batch.put_in(self.families[at].id(), &key, &value);
            self.state[at].put(&key, &value);
            return Ok(());
        }
        self.state[at].delete(&key);
        if at == 0 && chance.percent(50) {
            batch.single_delete(&key);
            return Ok(());
        }
        self.entries += 1;
        self.families[at].single_delete(&key).map_err(told("single_delete"))
    }

    fn get(&mut self, chance: &mut Chance) -> Result<(), String> {
        let (at, key) = (chance.below(2) as usize, key(chance));
        let found = self.families[at].get(&key).map_err(told("get"))?.map(|value| value.to_vec());
        self.gets += 1;
        same("get", &found, &self.state[at].get(&key).map(<[u8]>::to_vec))?;
        same("gets by the ticker", &self.statistics.ticker(Ticker::NumberKeysRead), &self.gets)
    }

    /// Compares the metrics with the model and with the files.
    fn look_at_metrics(&self) -> Result<(), String> {
        let metrics = self.db().metrics();
        same("entries of write batches", &metrics.database.user_keys, &self.entries)?;
        same("snapshots", &metrics.database.snapshots, &(self.snapshots.len() as u64))?;
        same("background errors", &metrics.database.background_errors, &0)?;
        let names: Vec<&str> = metrics.families.iter().map(|family| &family.name[..]).collect();
        same("column families", &names, &FAMILIES.to_vec())?;
        let samples = metrics.samples();
        let unknown = samples.iter().find(|sample| !Description::ALL.contains(&sample.description));
        same("samples without a description", &unknown.map(|sample| sample.description.name), &None)?;
        let value = |name: &str, labels: &[(&'static str, String)]| {
            let of = |sample: &&ironstone::metrics::Sample| {
                sample.description.name == name && sample.labels == labels
            };
            samples.iter().find(of).map(|sample| sample.value)
        };
        same("sample of the entries", &value("ironstone_user_keys", &[]), &Some(self.entries))?;
        for (family, told) in self.families.iter().zip(&metrics.families) {
            let files = family.live_files();
            for level in &told.levels {
                let own = files.iter().filter(|file| file.level == level.level);
                let (count, bytes) = own.fold((0, 0), |(count, bytes), file| (count + 1, bytes + file.size));
                same("files and bytes of a level", &(level.files, level.bytes), &(count, bytes))?;
                let labels = [("column_family", told.name.clone()), ("level", level.level.get().to_string())];
                let sample = value("ironstone_level_files", &labels);
                same("sample of the files of a level", &sample, &Some(count))?;
            }
            let usage = family.int_property("rocksdb.cur-size-active-mem-table");
            same("active memtable", &Some(told.active_memtable_bytes), &usage)?;
        }
        Ok(())
    }

    /// Compares what a browser, Prometheus and OpenTelemetry read with the model.
    fn look_from_outside(&self) -> Result<(), String> {
        let files = self.families.iter().map(|family| family.live_files().len() as u64).sum();
        let expected = Expected { entries: self.entries, files, snapshots: self.snapshots.len() as u64 };
        compare_collectors(self.db(), &expected)?;
        compare_pages(self.db(), &expected)
    }

    /// Compares the sizes of ranges of the memtables with the number of their entries.
    fn look_at_memtables(&self, chance: &mut Chance) -> Result<(), String> {
        let family = &self.families[chance.below(2) as usize];
        let count = |name: &str| family.int_property(name).unwrap_or(u64::MAX);
        let entries =
            count("rocksdb.num-entries-active-mem-table") + count("rocksdb.num-entries-imm-mem-tables");
        let end = [0xff; 9];
        let (found, bytes) = family.approximate_memtable_stats(b"", &end);
        let is_none = (entries == 0, entries == 0);
        same("memtables without entries", &(found == 0, bytes == 0), &is_none)?;
        let (a, b) = (key(chance), key(chance));
        let (low, high) = (a.clone().min(b.clone()), a.max(b));
        same("a range that ends before it begins", &family.approximate_memtable_stats(&high, &low), &(0, 0))
    }

    /// Lets time pass until a sample of the statistics is due, and runs the jobs. Returns the second of a sample that is as old as
    /// this call.
    fn sample(&mut self) -> Result<Option<u64>, String> {
        self.clock.advance(2 * PERIOD_S * 1_000_000);
        while self.options.db.env.executor.help() {}
        let now = self.options.db.env.clock.now_seconds();
        let found: Result<BTreeMap<u64, Sample>, _> = self.db().stats_history(0, u64::MAX).collect();
        let found = found.map_err(told("stats_history"))?;
        let oldest = found.keys().next().copied();
        for (second, sample) in &self.history {
            // A full history lost its oldest samples.
            let is_older = oldest.is_none_or(|oldest| *second < oldest);
            if is_older && found.len() == samples_max(sample, self.options.db.stats_history_buffer_size) {
                continue;
            }
            same(&format!("the sample of second {second}"), &found.get(second), &Some(sample))?;
        }
        same("samples of the future", &found.range(now + 1..).count(), &0)?;
        if let Some((&first, &last)) = found.keys().next().zip(found.keys().next_back()) {
            let part: Result<Vec<_>, _> = self.db().stats_history(first + 1, last).collect();
            let inside = found.range(first + 1..).filter(|(second, _)| **second < last).count();
            same("samples of a part", &part.map_err(told("stats_history"))?.len(), &inside)?;
        }
        self.history = found;
        Ok(self.history.contains_key(&now).then_some(now))
    }

    /// Takes two samples of the statistics. The rises of a ticker between them are the gets between them.
    fn look_at_history(&mut self, chance: &mut Chance) -> Result<(), String> {
        let first = self.sample()?;
        let before = self.gets;
        for _ in 0..chance.below(10) {
            self.get(chance)?;
        }
        let (Some(first), Some(second)) = (first, self.sample()?) else { return Ok(()) };
        let between = self.history.range(first + 1..=second);
        let rises: u64 =
            between.filter_map(|(_, sample)| sample.get("rocksdb.number.keys.read")).copied().sum();
        same("gets between two samples", &rises, &(self.gets - before))
    }

    fn records(&self) -> Result<Vec<Vec<u8>>, String> {
        let mut reader =
            FileTraceReader::open(&self.options.db.env, TRACE.as_ref()).map_err(told("open of a trace"))?;
        let all = |reader: &mut FileTraceReader| {
            let mut records = Vec::new();
            while let Some(record) = reader.read().map_err(told("a record of a trace"))? {
                records.push(record);
            }
            Ok::<_, String>(records)
        };
        let records = all(&mut reader)?;
        reader.reset().map_err(told("reset of a trace"))?;
        same("records after a reset", &all(&mut reader)?, &records)?;
        let first = records.first().map(|record| Record::decode(record).map(|r| r.is(RecordType::Begin)));
        same("a trace begins", &first.transpose().map_err(told("a record"))?, &Some(true))?;
        Ok(records)
    }

    fn writer(&self) -> Result<Box<FileTraceWriter>, String> {
        FileTraceWriter::create(&self.options.db.env, TRACE.as_ref()).map(Box::new).map_err(told("a trace"))
    }

    /// Traces the accesses to blocks. The tickers must count the same accesses.
    fn trace_blocks(&mut self, chance: &mut Chance) -> Result<(), String> {
        let kinds = [
            (RecordType::IndexBlock, [Ticker::BlockCacheIndexHit, Ticker::BlockCacheIndexMiss]),
            (RecordType::FilterBlock, [Ticker::BlockCacheFilterHit, Ticker::BlockCacheFilterMiss]),
            (RecordType::DataBlock, [Ticker::BlockCacheDataHit, Ticker::BlockCacheDataMiss]),
        ];
        let count = |world: &Observed| {
            kinds.map(|(_, tickers)| tickers.map(|ticker| world.statistics.ticker(ticker)))
        };
        let options = BlockCacheTraceOptions::default();
        trace::start_block_cache(self.db(), options, self.writer()?).map_err(told("start of a trace"))?;
        let other = "/other".as_ref();
        let other = FileTraceWriter::create(&self.options.db.env, other).map_err(told("a trace"))?;
        let again = trace::start_block_cache(self.db(), options, Box::new(other));
        same("a second trace", &again.map_err(|error| error.kind()), &Err(Kind::Busy))?;
        let opens = |world: &Observed| world.statistics.ticker(Ticker::NoFileOpens);
        let (before, opens_before) = (count(self), opens(self));
        for _ in 0..1 + chance.below(20) {
            self.get(chance)?;
        }
        rows_equal(&self.families, &self.state)?;
        let (after, opened) = (count(self), opens(self) - opens_before);
        trace::end_block_cache(self.db()).map_err(told("end of a trace"))?;
        let mut found = [[0; 2]; 3];
        for record in &self.records()?[1..] {
            let record = Record::decode(record).map_err(told("a record"))?;
            let kind = kinds.iter().position(|(kind, _)| record.is(*kind));
            let kind = kind.ok_or_else(|| format!("a record of type {}", record.kind))?;
            let access = Access::decode(record.payload).ok_or("an access to a block does not decode")?;
            found[kind][usize::from(!access.is_hit)] += 1;
            let family = self.families.iter().find(|family| family.name().as_bytes() == access.family_name);
            let family = family.ok_or_else(|| format!("an access of {:?}", access.family_name))?;
            // A file that was moved since its open is traced with its older level.
            let mut files = family.live_files().into_iter();
            let is_live = |file: &LiveFile| {
                file.number.get() == access.file && access.level <= u32::from(file.level.get())
            };
            same("an access to a live file", &files.any(|file| is_live(&file)), &true)?;
        }
        let counted: [[u64; 2]; 3] =
            std::array::from_fn(|kind| std::array::from_fn(|hit| after[kind][hit] - before[kind][hit]));
        // The open of a file reads its index and its filter. The trace does not have these reads. They are hits if the blocks are in
        // the block cache: a flush has put them there, or the file was closed because of `max_open_files`.
        for kind in [0, 1] {
            let (traced, hits) = (found[kind][0], counted[kind][0]);
            let is_right = traced == hits || (opened > 0 && traced < hits);
            same(&format!("{traced} traced of {hits} hits of index and filter blocks"), &is_right, &true)?;
            same("misses of index and filter blocks", &(found[kind][1] <= counted[kind][1]), &true)?;
        }
        same("hits and misses of data blocks", &found[2], &counted[2])
    }

    /// Traces the file operations of writes. The appends to WALs must be the bytes that the metrics count.
    fn trace_files(&mut self, chance: &mut Chance) -> Result<(), String> {
        let before = self.db().metrics().database;
        trace::start_io(self.db(), u64::MAX, self.writer()?).map_err(told("start of a trace"))?;
        let other = "/other".as_ref();
        let other = FileTraceWriter::create(&self.options.db.env, other).map_err(told("a trace"))?;
        let again = trace::start_io(self.db(), u64::MAX, Box::new(other));
        same("a second trace", &again.map_err(|error| error.kind()), &Err(Kind::Busy))?;
        for _ in 0..1 + chance.below(6) {
            self.write(chance)?;
        }
        self.db().sync_wal().map_err(told("sync_wal"))?;
        trace::end_io(self.db()).map_err(told("end of a trace"))?;
        let after = self.db().metrics().database;
        let (mut appended, mut syncs) = (0, 0);
        for record in &self.records()?[1..] {
            let record = Record::decode(record).map_err(told("a record"))?;
            same("type of a record", &record.is(RecordType::FileOperation), &true)?;
            let call = Operation::decode(record.payload).ok_or("a file operation does not decode")?;
            same("status of a file operation", &call.status, &&b"OK"[..])?;
            if call.file.ends_with(b".log") {
                appended += if call.name == b"Append" { call.len } else { 0 };
                syncs += u64::from(call.name == b"Sync");
            }
        }
        same("bytes of the WALs", &(appended >= after.wal_bytes - before.wal_bytes), &true)?;
        same("syncs of the WALs", &(syncs > 0), &true)
    }

    /// Opens databases with derived options, and a second handle of this database.
    fn derive(&mut self, chance: &mut Chance) -> Result<(), String> {
        self.made += 1;
        let goals = [BudgetGoal::Latency, BudgetGoal::Throughput];
        let (memory, cores, goal) =
            ((64 + chance.below(1000)) << 20, 1 + chance.below(8) as u32, *chance.pick(&goals));
        let derived = explain_options(memory, cores, goal).map_err(told("explain_options"))?;
        let options = Options::for_budget(memory, cores, goal).map_err(told("for_budget"))?;
        for option in &derived {
            let text = match option.name {
                "max_background_jobs" => options.db.max_background_jobs.to_string(),
                "write_buffer_size" => options.family.write_buffer_size.to_string(),
                _ => continue,
            };
            same(option.name, &text, &option.value)?;
        }
        same("options without a reason", &derived.iter().filter(|o| o.reason.is_empty()).count(), &0)?;
        let few = explain_options(memory, 0, goal).map_err(|error| error.kind());
        same("options for no core", &few.map(drop), &Err(Kind::InvalidArgument))?;
        let mut bulk = self.options.clone();
        bulk.prepare_for_bulk_load();
        // The trigger of a bulk load exceeds each limit of sorted runs.
        bulk.update("compaction_options_universal={max_read_amp=-1}").map_err(told("options"))?;
        bulk.db.env = Options::in_memory().db.env;
        let mut budget = options;
        budget.db.create_if_missing = true;
        budget.db.env = bulk.db.env.clone();
        for (name, options) in [("/bulk", bulk), ("/budget", budget)] {
            let no_compaction = options.family.disable_auto_compactions;
            same("automatic compactions are off", &no_compaction, &(name == "/bulk"))?;
            let db = Db::open(name, options).map_err(told(name))?;
            for (key, value) in self.state[0].rows() {
                db.put(&key, &value).map_err(told("put"))?;
                if no_compaction && key.len() % 2 == 0 {
                    db.flush().map_err(told("flush"))?;
                }
            }
            if no_compaction {
                let levels: Vec<_> = db.live_files().iter().map(|file| file.level).collect();
                same(
                    "files below level 0",
                    &levels.iter().filter(|level| **level > Level::ZERO).count(),
                    &0,
                )?;
                db.compact_range(None, None, &Default::default()).map_err(told("compact"))?;
            }
            rows_equal(&[db.default_family()], &self.state[..1].to_vec())
                .map_err(|words| format!("{name}: {words}"))?;
            db.close().map_err(told("close"))?;
        }
        let second = Db::from_engine(self.db().engine().clone()).map_err(told("from_engine"))?;
        let own = second.engine().default_family().map_err(told("default_family"))?;
        let families = [second.family_from_engine(own), self.families[1].clone()];
        rows_equal(&families, &self.state)
    }

    /// Changes options, and resets the counters.
    fn change(&mut self, chance: &mut Chance) -> Result<(), String> {
        let jobs = 1 + chance.below(8);
        let text = jobs.to_string();
        self.db().set_db_options(&[("max_background_jobs", &text)]).map_err(told("set_db_options"))?;
        same("max_background_jobs", &self.db().db_options().max_background_jobs.to_string(), &text)?;
        if chance.percent(40) {
            self.db().reset_stats();
            self.entries = 0;
        }
        self.look_at_metrics()
    }
}

/// An access to a block, as a trace has it.
struct Access<'a> {
    family_name: &'a [u8],
    level: u32,
    file: u64,
    is_hit: bool,
}

impl<'a> Access<'a> {
    fn decode(payload: &'a [u8]) -> Option<Access<'a>> {
        let mut at = Cursor::new(payload);
        let (_key, _size, _family) = (at.slice()?, at.u64()?, at.u64()?);
        let (family_name, level, file, _caller) = (at.slice()?, at.u32()?, at.u64()?, at.u8()?);
        Some(Access { family_name, level, file, is_hit: at.u8()? == 1 })
    }
}

/// A file operation, as a trace has it.
struct Operation<'a> {
    name: &'a [u8],
    status: &'a [u8],
    file: &'a [u8],
    /// The bytes of an append or a read.
    len: u64,
}

impl<'a> Operation<'a> {
    fn decode(payload: &'a [u8]) -> Option<Operation<'a>> {
        let mut at = Cursor::new(payload);
        let (map, name, _nanos) = (at.u64()?, at.slice()?, at.u64()?);
        let (status, file) = (at.slice()?, at.slice()?);
        if map & 1 != 0 {
            at.u64()?;
        }
        let len = if map & 2 != 0 { at.u64()? } else { 0 };
        Some(Operation { name, status, file, len })
    }
}

impl World for Observed {
    fn step(&mut self, chance: &mut Chance) -> Result<(), String> {
        match chance.below(100) {
            0..45 => self.write(chance),
            45..60 => self.get(chance),
            60..68 => self.look_at_history(chance),
            68..72 => self.look_at_memtables(chance),
            72..76 => self.trace_blocks(chance),
            76..80 => self.trace_files(chance),
            80..82 => self.derive(chance),
            82..86 => self.change(chance),
            86..90 => {
                if self.snapshots.len() == 3 {
                    self.snapshots.remove(0);
                }
                self.snapshots.push(self.db().snapshot());
                Ok(())
            }
            90..95 => self.families[chance.below(2) as usize].flush().map_err(told("flush")),
            95 | 96 => {
                let family = &self.families[chance.below(2) as usize];
                family.compact_range(None, None, &Default::default()).map_err(told("compact"))
            }
            97 => self.reopen(),
            98 if chance.percent(30) => self.look_from_outside(),
            _ => {
                self.options.db.env.executor.help();
                Ok(())
            }
        }
    }

    fn compare(&mut self) -> Result<(), String> {
        self.look_at_metrics()?;
        figures::compare(self.db(), &self.families)?;
        rows_equal(&self.families, &self.state)?;
        let options = ReadOptions { total_order_seek: true, ..ReadOptions::default() };
        same("iterators", &self.db().iterators(&self.families, &options).map(|all| all.len()).ok(), &Some(2))
    }
}
